"""``headroom store sweep``: answers about all workloads of many snapshots, on all cores or Dask, into a store."""

from __future__ import annotations

from collections.abc import Iterator

import click

from planner.cli import progress_line
from planner.cli.cluster_argument import one_reader_of_stdin, read_cluster
from planner.cli.store_snapshot import cluster_name
from planner.ground import words
from planner.ground.errors import InputError
from planner.history import snapshot_names
from planner.serve.processes.parameter_sweep_tasks import ASKED
from planner.serve.processes.resumable_batch_run import Crew, Local, OnDask, SweepCase, sweep
from planner.sources.store import Store


@click.command("sweep")
@click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER...")
@click.option("--store", "url", required=True, envvar="HEADROOM_STORE", metavar="URL", help="Where the answers go.")
@click.option("--run", "run", default="sweep", show_default=True, metavar="NAME",
              help="The sweep's name. What it has written already isn't asked again.")  # fmt: skip
@click.option("--ask", default=",".join(ASKED), show_default=True, metavar="NAMES",
              help="What is asked of each workload: rollout (verdict and ways out), grid, savings; and plan, the readiness plan of each snapshot.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Processes on this machine; else one a core.")
@click.option("--on", "address", metavar="tcp://HOST:PORT", help="A Dask cluster instead, by its scheduler's address.")
def command(clusters: tuple[str, ...], url: str, run: str, ask: str, workers: int | None, address: str | None) -> None:
    """Every workload of every CLUSTER: verdict, ways out, strategies and savings, and each snapshot's readiness plan, into the table "sweep" of a store.

    store:URL is every snapshot of a store, store:URL#cluster every one of a cluster, store:URL#cluster@time one. Ctrl-C
    stops; the same command goes on where it was.
    """
    one_reader_of_stdin(*clusters)
    questions = tuple(dict.fromkeys(part.strip() for part in ask.split(",") if part.strip()))
    if not questions or set(questions) - set(ASKED):
        raise InputError(f'"{ask[:40]}" isn\'t asked of workloads', where="--ask", fix=f"Choose of {', '.join(ASKED)}")
    if "/" in run or not run:
        raise InputError("it is no name", where="--run", fix="Give a word without /")
    store = Store(url)
    crew: Crew = OnDask(address) if address else Local(workers or 0)
    total, asked_so_far = sum(1 for _ in _places(clusters)), 0

    def every() -> Iterator[SweepCase]:
        for number, (cluster, spec) in enumerate(_places(clusters), 1):
            progress_line.doing(f"reads {spec} ({number} of {total})")
            snapshot = read_cluster(spec)
            yield SweepCase(cluster=cluster or cluster_name(spec, snapshot), snapshot=snapshot)

    def told(doing: str, by: int) -> None:
        nonlocal asked_so_far
        asked_so_far += by
        progress_line.doing(f"{words.count(asked_so_far, 'workload')} done; {doing} (Ctrl-C stops)")

    done = sweep(every(), store, crew, run=run, asked=questions, told=told)
    before = f", {done.before:,} were there" if done.before else ""
    click.echo(
        f"asked {words.count(done.done, 'workload')}{before}; wrote {words.count(done.rows, 'fact')} to {store.url}"
    )


def _places(specs: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(cluster's name, CLUSTER) of each; "" where the snapshot tells the name."""
    for spec in specs:
        if not snapshot_names.is_place(spec) or "@" in spec.rpartition("#")[2]:
            yield "", spec
            continue
        place = snapshot_names.read_place(spec)
        store = Store(place.url)
        for snapshot in store.snapshots((place.cluster,) if place.cluster else ()):
            moment = snapshot_names.SnapshotAddress(
                url=place.url, cluster=snapshot.cluster, time=snapshot_names.time_text(snapshot.taken_at)
            )
            yield snapshot.cluster, str(moment)
