"""``headroom serve``: warns at ``kubectl apply`` (admission webhook), and serves metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from planner.cli import options_from_settings, progress_line, question_commands
from planner.cli.app import absolute, folder
from planner.cli.cluster_argument import read_cluster
from planner.cli.input_options import FILE, policy_of, policy_option, pool_options, price_options
from planner.ground.errors import InputError, SourceError
from planner.ground.words import duration
from planner.inventory.lists_from_watch_events import NOTHING_TOLD, WatchedChanges
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.sources.append_only_journal import VARIABLE, Journal
from planner.sources.cluster_argument import CLUSTER_VARIABLE, CONTEXT_PREFIX

LOOK_SECONDS: Final = 5.0  # between two looks whether a live cluster changed: each is sent to every process
OLD_SECONDS: Final = 30.0  # what is known of a live cluster and isn't refreshed for so long is said to be old


@click.command("serve", cls=options_from_settings.ShortHelp)
@click.argument("cluster")
@options_from_settings.option("", "--every", "every_seconds", type=click.FloatRange(5, 86_400), default=60, show_default=True, metavar="SECONDS",
              is_everyday=True, help="Pause between two computations of metrics, and between two reads of a cluster from a file.")  # fmt: skip
@options_from_settings.option(
    "",
    "--host",
    default="127.0.0.1",
    show_default=True,
    is_everyday=True,
    help="The address to listen on; 0.0.0.0 in a pod.",
)
@options_from_settings.option(
    "",
    "--port",
    type=click.IntRange(0, 65_535),
    default=9443,
    show_default=True,
    is_everyday=True,
    help="The port to listen on.",
)
@options_from_settings.option("", "--tls-cert", type=FILE, metavar="FILE", is_everyday=True, help="Certificate in PEM, chain included; read again when it is renewed.")  # fmt: skip
@options_from_settings.option("", "--tls-key", type=FILE, metavar="FILE", is_everyday=True, help="Its key in PEM. Without both it is plain HTTP, which no API server calls.")  # fmt: skip
@click.option("--client-ca", type=FILE, metavar="FILE",
              help="Authority in PEM: reviews and metrics are answered to client certificates of it, or to a token.")  # fmt: skip
@options_from_settings.option("", "--deny", type=click.Choice(["stuck"]), is_everyday=True, help="Refuse writes that would get a rollout stuck, instead of warning.")  # fmt: skip
@click.option("--within", "within_seconds", type=click.FloatRange(0.05, 30), default=0.9, show_default=True, metavar="SECONDS",
              help="A write gets no warning if its answer takes longer.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True,
              help="Processes that answer reviews, each with a copy of the snapshot.")  # fmt: skip
@options_from_settings.option(
    "",
    "--dashboard",
    is_flag=True,
    is_everyday=True,
    help="The dashboard too, on the same port and of the same cluster.",
)
@click.option("--predictions", "predictions_store", metavar="STORE", envvar=VARIABLE,
              help="Keep each rollout's prediction, and what came of it, in this folder; nothing leaves the machine.")  # fmt: skip
@policy_option
@pool_options
@price_options
def command(
    cluster: str,
    every_seconds: float,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    client_ca: Path | None,
    deny: str | None,
    within_seconds: float,
    workers: int,
    dashboard: bool,
    predictions_store: str | None,
    policy_file: str | None,
    **values: Any,
) -> int:
    """Answer an API server's validating webhook, which only warns, and Prometheus.

    A live cluster (context:NAME) is watched: listed once, then told of what changes. POST /v1/rollouts takes AdmissionReviews: a write that would get stuck, or break the gate's policy, gets a warning in kubectl;
    everything else, what isn't known, and what isn't answered within a second gets silence. GET /metrics is OpenMetrics.
    deploy/ has the manifests.
    """
    from planner.serve import dashboard_mounts
    from planner.serve.connections import Connections, room
    from planner.serve.http_server import Server, application, paths, run, stopping
    from planner.serve.metrics import Metrics
    from planner.serve.metrics_process import Teller
    from planner.serve.prediction_recorder import PredictionWatch
    from planner.serve.review_processes import Reviewers
    from planner.serve.snapshot_refresher import Keeper
    from planner.serve.webhook import Webhook

    if (tls_cert is None) != (tls_key is None):
        raise InputError("one without the other", where="--tls-cert, --tls-key", fix="Give both, or none")
    if client_ca is not None and tls_cert is None:
        raise InputError(
            "client certificates come by TLS", where="--client-ca", fix="Give --tls-cert and --tls-key too"
        )
    if dashboard:  # it works in another folder
        cluster = absolute(cluster)
        values |= {
            name: [str(Path(path).resolve()) for path in values[name]] for name in ("pool_files", "instance_types")
        }
        tls_cert, tls_key = tls_cert and tls_cert.resolve(), tls_key and tls_key.resolve()
        client_ca = client_ca and client_ca.resolve()
    policy = policy_of(policy_file)
    say = partial(click.echo, err=True)
    inputs, limits_of = (
        Inputs(book=question_commands.book_of(values)),
        partial(question_commands.limits_of, values=values),
    )
    progress_line.end()
    reviewers = Reviewers(workers, say, policy, keeps=bool(predictions_store))
    teller = Teller(inputs, limits_of)
    is_live, context = cluster.startswith(CONTEXT_PREFIX), cluster.removeprefix(CONTEXT_PREFIX)
    if is_live:
        from planner.sources import watched_cluster

        keeper = Keeper(
            partial(watched, context), limits_of, teller.metrics, every_seconds=every_seconds, look_seconds=LOOK_SECONDS,
            age=lambda: watched_cluster.reader(context).condition.age_seconds, know=reviewers.know, say=say,
        )  # fmt: skip
    else:
        keeper = Keeper(
            _reader(cluster), limits_of, teller.metrics, every_seconds=every_seconds, know=reviewers.know, say=say
        )
    connections = Connections(room())
    predictions: PredictionWatch | None = None
    if predictions_store:
        if not is_live:
            raise InputError("only a live cluster's rollouts end", where="--predictions", fix="Name one: context:NAME")
        journal = Journal(predictions_store, context)
        predictions = PredictionWatch(
            journal, partial(followed, context), lambda: keeper.kept.pools if keeper.kept else (), say, look_seconds=LOOK_SECONDS
        )  # fmt: skip
    load = partial(_load, context) if is_live else None
    metrics = Metrics(keeper, load, lambda: server.validity, connections, predictions)
    webhook = Webhook(
        keeper, metrics, reviewers, denies=deny is not None, is_live=is_live, within_seconds=within_seconds,
        keep=predictions.keep if predictions is not None else lambda _: None,
    )  # fmt: skip
    routes, lifespan = paths(metrics, webhook, reviewers, lambda: server.warning), stopping(keeper)
    dashboard_mounts.warning = lambda: server.warning
    app = _with_dashboard(cluster, routes, lifespan) if dashboard else application(routes, lifespan)
    server = Server(
        app,
        host=host,
        port=port,
        certificate=tls_cert,
        key=tls_key,
        is_dashboard=dashboard,
        client_authority=client_ca,
        connections=connections,
    )
    server.load()
    reviewers.start()
    teller.start()
    try:
        keeper.start()
        if predictions is not None:
            predictions.start()
        run(server, say)
    finally:
        if predictions is not None:
            predictions.stop()
        reviewers.stop()
        teller.stop()
    return 0


def _reader(cluster: str) -> Callable[[], Snapshot]:
    """Reads what isn't live. A file that is the same wouldn't be another cluster, and reading a large one holds reviews up."""
    read: tuple[tuple[int, ...], Snapshot] | None = None

    def read_anew() -> Snapshot:
        nonlocal read
        try:
            file_stat = Path(cluster).stat()
        except (OSError, ValueError):
            return read_cluster(cluster, is_replaced=True)
        now = (file_stat.st_ino, file_stat.st_mtime_ns, file_stat.st_size)
        if read is None or read[0] != now or not Path(cluster).is_file():
            read = now, read_cluster(cluster, is_replaced=True)
        return read[1]

    return read_anew


def watched(context: str) -> Snapshot:
    """What is known of a live cluster.

    Raises
    ------
    SourceError
        When it wasn't read yet, or what is known is old and isn't refreshed.
    """
    from planner.sources import watched_cluster

    reader = watched_cluster.reader(context)
    snapshot, condition = reader.wait(), reader.condition
    if condition.failing and condition.age_seconds > OLD_SECONDS:
        fix = f"What is known is {duration(round(condition.age_seconds))} old; it is tried again all the time"
        raise SourceError(condition.failing, where=context, fix=fix)
    return snapshot


def followed(context: str) -> tuple[Snapshot, WatchedChanges]:
    """As `watched`, with what its watch told since this was asked last."""
    from planner.sources import watched_cluster

    known = watched(context)
    snapshot, changes = watched_cluster.reader(context).followed()
    return (known, NOTHING_TOLD) if snapshot is None else (snapshot, changes)


def _load(context: str) -> tuple[int, int]:
    """Requests to the API server in the last minute, and the most there can be."""
    from planner.sources import watched_cluster

    condition = watched_cluster.reader(context).condition
    return condition.requests, condition.most_requests


def _with_dashboard(cluster: str, routes: Sequence[Any], lifespan: Callable[[Any], Any]) -> Any:
    """The dashboard, looking at `cluster`, with the paths beside its pages."""
    from planner.cli.dashboard_server import load
    from planner.serve import dashboard_mounts
    from planner.sources import dashboard_access

    if dashboard_access.configured() is None:
        click.echo(
            "No sign-in is configured: the dashboard answers on localhost only; webhook and probes aren't people.",
            err=True,
        )
    dashboard_mounts.routes, dashboard_mounts.lifespan = routes, lifespan
    os.environ[CLUSTER_VARIABLE] = cluster
    return load(folder())
