"""``headroom serve``: a warning at ``kubectl apply``, and metrics."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from planner.cli import waiting
from planner.cli.cluster import read_cluster
from planner.cli.given import FILE, pool_limits, pool_options, price_book, price_options
from planner.errors import InputError
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.records import Snapshot
from planner.questions.question import Given
from planner.sources.cluster import CONTEXT_PREFIX


@click.command("serve")
@click.argument("cluster")
@click.option("--every", "every_seconds", type=click.FloatRange(5, 86_400), default=60, show_default=True, metavar="SECONDS",
              help="Pause between two listings of the cluster; answers are of the last one.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 in a pod.")
@click.option("--port", type=click.IntRange(0, 65_535), default=9443, show_default=True, help="The port to listen on.")
@click.option("--tls-cert", type=FILE, metavar="FILE", help="Certificate in PEM, chain included; read again when it is renewed.")  # fmt: skip
@click.option("--tls-key", type=FILE, metavar="FILE", help="Its key in PEM. Without both it is plain HTTP, which no API server calls.")  # fmt: skip
@click.option("--deny", type=click.Choice(["stuck"]), help="Refuse writes whose rollout would be stuck, instead of warning.")  # fmt: skip
@click.option("--within", "within_seconds", type=click.FloatRange(0.05, 30), default=0.9, show_default=True, metavar="SECONDS",
              help="Nothing is said of a write whose answer isn't there by then.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True,
              help="Processes that answer reviews, each with a copy of the snapshot.")  # fmt: skip
@pool_options
@price_options
def command(
    cluster: str,
    every_seconds: float,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    deny: str | None,
    within_seconds: float,
    workers: int,
    pool_files: tuple[str, ...],
    gke: str | None,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
) -> int:
    """Answer an API server's validating webhook, which only warns, and Prometheus.

    POST /v1/rollouts takes AdmissionReviews: a write whose rollout would be stuck gets a warning, which kubectl prints;
    everything else, what isn't known, and what isn't answered within a second gets silence. GET /metrics is OpenMetrics.
    deploy/ has the manifests.
    """
    from planner.serve.keeper import Keeper
    from planner.serve.metrics import Metrics
    from planner.serve.reviewers import Reviewers, share_seals
    from planner.serve.server import Server, application, run
    from planner.serve.webhook import Webhook

    if (tls_cert is None) != (tls_key is None):
        raise InputError("one without the other", where="--tls-cert, --tls-key", mend="Give both, or none")
    say = partial(click.echo, err=True)
    given = Given(book=price_book(own_prices, discounts))

    def limits_of(snapshot: Snapshot) -> tuple[PoolLimits, ...]:
        return pool_limits(snapshot, pool_files, gke)

    waiting.end()
    share_seals()
    reviewers = Reviewers(workers, say)
    read = partial(read_cluster, cluster)
    keeper = Keeper(read, limits_of, given, every_seconds=every_seconds, know=reviewers.know, say=say)
    metrics = Metrics(keeper)
    is_live = cluster.startswith(CONTEXT_PREFIX)
    webhook = Webhook(
        keeper, metrics, reviewers, denies=deny is not None, is_live=is_live, within_seconds=within_seconds
    )
    app = application(keeper, metrics, webhook, reviewers)
    server = Server(app, host=host, port=port, certificate=tls_cert, key=tls_key)
    server.load()
    reviewers.start()
    try:
        keeper.start()
        run(server, say)
    finally:
        reviewers.stop()
    return 0
