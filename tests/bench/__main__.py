"""``make bench``: the figures of speed and memory, each beside its target and a comparator of the same run.

``python -m tests.bench [--nodes N]… [--only WORD]…`` (``make bench ONLY=WORD``) measures less; ``--markdown`` prints rows as documents
have them. At its end stands which targets were missed, and the exit status is 1 then. A missed target on a busy machine is no fault of the
code: `tests.bench.regression` is what continuous integration asks.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import click

from planner.capacity import left as capacity_left
from planner.capacity import overview as overviews
from planner.capacity import rollouts, seats
from planner.capacity.headroom import fit, fits
from planner.capacity.node_pools import pools
from planner.capacity.pod_shapes import ShapeOrigin, shape_of, standard_shapes, workload_shapes
from planner.capacity.strategy_prices import costs_of
from planner.ground.records import replace
from planner.ground.vocabulary import CPU, MEMORY, NVIDIA_GPU
from planner.inventory.change import WorkloadChange
from planner.kubernetes.records import Snapshot
from planner.questions import drift as drift_question
from planner.questions import plan as plan_question
from planner.questions import restarts as restarts_question
from planner.rollout import grid as grids
from planner.rollout import prepared as prepared_question
from planner.rollout.prepared import Scenario
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot import economics, months
from planner.spot.assumptions import Assumptions
from planner.spot.fleet import fleet_savings
from tests.bench import clusters, commands, crowd, history, live
from tests.bench import webhook as webhooks
from tests.bench.table import Figure, best, header, once
from tests.reference.simulation import simulate

SIZES = (100, 1_000, 5_000, 65_000)
LARGEST_AS_JSON = 5_000  # nodes; 65,000 would have 8 GB
LARGEST_OVERVIEW = 5_000  # nodes; 19,500 workloads are no question for a page
CLUSTER_CAPACITY_SECONDS = 5.0  # kubernetes-sigs/cluster-capacity on this cluster and shape, measured elsewhere
LARGEST_FOR_REFERENCE = 100  # nodes; the reference works object by object, half a minute for one verdict here


# ── loading ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def load(nodes: int) -> Iterator[Figure]:
    """Time and memory of reading a dump, beside a bare decode of the same bytes; each in a process of its own."""
    yield from _load(_cluster(nodes), clusters.kubectl_json(layout(nodes)), is_target=nodes == 5_000)


def _load(cluster: str, dump: Iterable[bytes], *, is_target: bool) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as folder:
        path = Path(folder) / "cluster.json"
        with path.open("wb") as file:
            file.writelines(dump)
        size = path.stat().st_size
        bare = min((_loaded(path, "bare") for _ in range(3)), key=lambda run: run["seconds"])
        ours = min((_loaded(path, "headroom") for _ in range(3)), key=lambda run: run["seconds"])
    yield Figure(
        figure=f"load a kubectl dump of {size / 1e6:,.0f} MB",
        cluster=cluster,
        seconds=ours["seconds"],
        beside="bare decode, gc off",
        beside_seconds=bare["seconds"],
        at_most_ratio=2.0 if is_target else None,
    )
    peak = f"bare decode {bare['peak_bytes'] / size:.3g} x"
    yield Figure(
        figure="peak memory of that process / the file",
        cluster=cluster,
        beside=peak,
        ratio=ours["peak_bytes"] / size,
        at_most_ratio=3.0 if is_target else None,
    )


def _loaded(path: Path, way: str) -> dict[str, float]:
    run = subprocess.run(
        [sys.executable, "-m", "tests.bench.load", str(path), way], check=True, capture_output=True, text=True
    )
    figures: dict[str, float] = json.loads(run.stdout)
    return figures


# ── verdicts ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def rollout(nodes: int) -> Iterator[Figure]:
    """The four questions of the Rollout and Overview pages."""
    snapshot, cluster, is_target = made(nodes), _cluster(nodes), nodes == 5_000
    yield Figure(
        figure="first verdict, tables not yet made",
        cluster=cluster,
        seconds=once(lambda: rollouts.rollout(snapshot, _restart(clusters.FIFTY, 0))),
    )
    for key, what in ((clusters.FIFTY, "completes"), (clusters.HELD, "stuck")):
        replicas = next(w.replicas for w in snapshot.workloads if w.key == key)
        yield Figure(
            figure=f"one verdict, {replicas} replicas, {what}",
            cluster=cluster,
            seconds=_verdict_seconds(nodes, key),
            beside="reference" if nodes <= LARGEST_FOR_REFERENCE else "",
            beside_seconds=_reference_seconds(nodes, key),
            at_most_seconds=0.020 if is_target else None,
        )
    yield Figure(
        figure="the same with remedies and ties",
        cluster=cluster,
        seconds=best(lambda run: rollouts.rollout(snapshot, _restart(clusters.HELD, run, ties=True)), runs=3),
    )
    yield Figure(
        figure="strategy grid 11 x 11",
        cluster=cluster,
        seconds=best(lambda run: grids.strategy_grid(snapshot, _restart(clusters.TEN, run), clusters.TEN), runs=5),
        at_most_seconds=0.300 if is_target else None,
    )
    if nodes <= LARGEST_OVERVIEW:
        yield Figure(
            figure=f"every workload's own rollout ({len(snapshot.workloads):,})",
            cluster=cluster,
            seconds=best(lambda _: overviews.played(snapshot), runs=3),
            at_most_seconds=5.0 if is_target else None,
        )
    if nodes == 65_000:
        yield Figure(
            figure="one verdict at 65,000 nodes / at 5,000",
            cluster=cluster,
            seconds=_verdict_seconds(65_000, clusters.FIFTY),
            beside="5,000 nodes",
            beside_seconds=_verdict_seconds(5_000, clusters.FIFTY),
            at_most_ratio=10,
        )


def flying(_: int) -> Iterator[Figure]:
    """Verdicts beside others in flight: of the workloads that `rollout` asks about, and of some drawn ones."""
    for nodes, count in ((1_000, 20), (5_000, 200)):
        snapshot, cluster = clusters.in_flight(made(nodes), count), f"{_cluster(nodes)}, {count} in flight"
        rolling = [one.key for one in snapshot.workloads if one.traits.has_replicas and one.replicas > 1]
        keys = [clusters.FIFTY, clusters.HELD, clusters.TEN, *random.Random(nodes).sample(rolling, 40)]
        rollouts.rollout(snapshot, _restart(clusters.FIFTY, 0))
        taken = sorted(
            best(lambda run, k=key, s=snapshot: rollouts.rollout(s, _restart(k, run)), runs=3)  # type: ignore[misc]
            for key in keys
        )
        target = 0.050 if nodes == 5_000 else None
        for what, seconds in (
            ("median", median(taken)),
            ("nine tenths", taken[len(taken) * 9 // 10]),
            ("slowest", taken[-1]),
        ):
            yield Figure(
                figure=f"one verdict, of {len(keys)}: {what}", cluster=cluster, seconds=seconds, at_most_seconds=target
            )
        if nodes == 1_000:
            yield Figure(
                figure=f"every workload's own rollout ({len(snapshot.workloads):,})",
                cluster=cluster,
                seconds=best(lambda _, s=snapshot: overviews.played(s), runs=2),  # type: ignore[misc]
                beside="nothing in flight",
                beside_seconds=_quiet_seconds(nodes, "overview"),
            )


def _restart(key: str, seed: int, *, ties: bool = False) -> Scenario:
    """A new revision of the same shape; another seed each time, so that no answer is taken from a cache."""
    return Scenario(changes=(WorkloadChange(workload=key),), seed=seed, runs=50 if ties else 1, with_remedies=ties)


@cache
def _verdict_seconds(nodes: int, key: str) -> float:
    snapshot = made(nodes)
    rollouts.rollout(snapshot, _restart(key, 0))
    return best(lambda run: rollouts.rollout(snapshot, _restart(key, run)), runs=9)


def _reference_seconds(nodes: int, key: str) -> float | None:
    if nodes > LARGEST_FOR_REFERENCE:
        return None
    items: list[Any] = json.loads(b"".join(clusters.kubectl_json(layout(nodes))))["items"]
    kind, namespace, name = key.split("/")
    patch = {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}
    return once(lambda: simulate(items, [{"kind": kind, "namespace": namespace, "name": name, "patch": patch}], []))


def crowded(_: int) -> Iterator[Figure]:
    """The same questions where pods wait, preempt and are spread: copies of the demo, beside the quiet cluster."""
    for copies, quiet in ((42, 1_000), (208, 5_000)):
        for varied in (False, True):
            yield from _crowded(copies, quiet, varied=varied)
    yield from _load("208 copies", crowd.kubectl_json(208), is_target=True)
    yield from _waiting()
    yield from _many_replicas()
    yield from _compiled()


def _crowded(copies: int, quiet: int, *, varied: bool) -> Iterator[Figure]:
    snapshot = crowd.snapshot(copies, varied=varied)
    is_target, slack = copies == 208, 4 if varied else 1
    cluster = f"{copies} {'varied' if varied else 'copies'}"

    def figure(what: str, seconds: float, beside: Callable[[], float] | None, target: float) -> Figure:
        return Figure(
            figure=what,
            cluster=cluster,
            seconds=seconds,
            beside="quiet" if beside else "",
            beside_seconds=beside() if beside else None,
            at_most_seconds=target * slack if is_target else None,
        )

    def ask(key: str, run: int, *, ties: bool = False) -> object:
        return rollouts.rollout(snapshot, _restart(key, run, ties=ties))

    yield figure("first verdict, tables not yet made", once(lambda: ask(crowd.STUCK, 0)), None, 0.5)
    yield figure(
        "one verdict, stuck",
        best(lambda run: ask(crowd.STUCK, run)),
        lambda: _verdict_seconds(quiet, clusters.HELD),
        0.020,
    )
    yield figure(
        "the same with remedies and ties",
        best(lambda run: ask(crowd.STUCK, run, ties=True), runs=3),
        lambda: _quiet_seconds(quiet, "ties"),
        0.500,
    )
    yield figure(
        "strategy grid",
        best(lambda run: grids.strategy_grid(snapshot, _restart(crowd.STUCK, run), crowd.STUCK), runs=5),
        lambda: _quiet_seconds(quiet, "grid"),
        0.100,
    )
    rolling = sum(w.traits.rolls_out for w in snapshot.workloads)
    yield figure(
        f"every workload's own rollout ({rolling:,})",
        best(lambda _: overviews.played(snapshot), runs=2),
        lambda: _quiet_seconds(quiet, "overview"),
        5.0,
    )
    yield figure(
        "readiness plan",
        once(lambda: plan_question.answer(snapshot, plan_question.PlanSettings())),
        lambda: _quiet_seconds(quiet, "plan"),
        10.0,
    )
    yield figure("restarts, and the cure of one loop", once(lambda: _one_cure(snapshot)), None, 2.0)
    yield figure("drift, and the rollout of one suggestion", once(lambda: _one_suggestion(snapshot)), None, 2.0)
    yield figure(
        "seats", best(lambda _: seats.seats(snapshot), runs=3), lambda: _quiet_seconds(quiet, "seats"), 0.300,
    )  # fmt: skip
    yield figure(
        "capacity", best(lambda _: capacity_left.capacity(snapshot), runs=3),
        lambda: _quiet_seconds(quiet, "capacity"), 0.300,
    )  # fmt: skip


def _one_cure(snapshot: Snapshot) -> object:
    """What the Restarts page asks for."""
    plan = restarts_question.answer(snapshot, restarts_question.RestartsSettings(cures=0))
    return restarts_question.cure(snapshot, next(loop for loop in plan.report.loops if loop.suggestion))


def _one_suggestion(snapshot: Snapshot) -> object:
    """What the Drift page asks for."""
    report = drift_question.answer(snapshot, drift_question.DriftSettings())
    return drift_question.adopt(snapshot, next(one for service in report.services for one in service.suggestions))


@cache
def _quiet_seconds(nodes: int, question: str) -> float:
    """What a question takes of the quiet cluster: once, as it stands beside several figures."""
    calm = made(nodes)
    match question:
        case "ties":
            return best(lambda run: rollouts.rollout(calm, _restart(clusters.HELD, run, ties=True)), runs=3)
        case "grid":
            return best(lambda run: grids.strategy_grid(calm, _restart(clusters.TEN, run), clusters.TEN), runs=5)
        case "overview":
            return best(lambda _: overviews.played(calm), runs=2)
        case "plan":
            return once(lambda: plan_question.answer(calm, plan_question.PlanSettings()))
        case "seats":
            return best(lambda _: seats.seats(calm), runs=3)
    return best(lambda _: capacity_left.capacity(calm), runs=3)


def _waiting() -> Iterator[Figure]:
    """One verdict against how many pods wait that are alike."""
    for waiting in (0, 100, 1_000, 10_000):
        snapshot = crowd.waiting(waiting)
        key = crowd.STUCK
        rollouts.rollout(snapshot, _restart(key, 0))
        yield Figure(
            figure="one verdict",
            cluster=f"{waiting:,} wait",
            seconds=best(lambda run, s=snapshot: rollouts.rollout(s, _restart(crowd.STUCK, run)), runs=5),  # type: ignore[misc]
        )


def _many_replicas() -> Iterator[Figure]:
    """Ten thousand that wait, and ten thousand that find room: then each is placed for itself."""
    snapshot = demo.read()
    for replicas in (1_000, 10_000):
        change = WorkloadChange(workload="Deployment/prod/web", replicas=replicas)
        yield Figure(
            figure=f"one verdict, {replicas:,} replicas",
            cluster="demo",
            seconds=best(
                lambda run, c=change: rollouts.rollout(  # type: ignore[misc]
                    snapshot, Scenario(changes=(c,), seed=run, runs=1, with_remedies=False)
                ),
                runs=3,
            ),
            at_most_seconds=1.0,
        )
    growing = pools(prepared_question.compiled(snapshot))
    for workload in ("Deployment/prod/web", "Deployment/prod/llm-serve"):
        for replicas in (1_000, 10_000):
            change = WorkloadChange(workload=workload, replicas=replicas)
            yield Figure(
                figure=f"whole answer: ways out, growth, {workload.rpartition('/')[2]} at {replicas:,} replicas",
                cluster="demo",
                seconds=best(
                    lambda run, c=change: rollouts.rollout(snapshot, Scenario(changes=(c,), seed=run), growing),  # type: ignore[misc]
                    runs=2,
                ),
                at_most_seconds=1.0,
            )
            yield Figure(
                figure=f"every strategy and its price, {workload.rpartition('/')[2]} at {replicas:,} replicas",
                cluster="demo",
                seconds=best(
                    lambda run, c=change: costs_of(  # type: ignore[misc]
                        snapshot, Scenario(changes=(c,), seed=run), c.workload, embedded_book(), {}
                    ),
                    runs=1,
                ),
            )

    snapshot = made(5_000)
    key = next(one.key for one in snapshot.workloads if one.kind == "Deployment" and one.name.startswith("general-0"))
    for replicas in (1_000, 10_000):
        for is_new, share, what in (
            (False, None, "scaled to"),
            (True, "25%", "rolled out by quarters to"),
            (True, None, "rolled out to"),
        ):
            change = WorkloadChange(
                workload=key, replicas=replicas, new_revision=is_new, max_surge=share, max_unavailable=share
            )
            yield Figure(
                figure=f"one verdict, {what} {replicas:,} that find room",
                cluster=_cluster(5_000),
                seconds=best(
                    lambda run, c=change: rollouts.rollout(  # type: ignore[misc]
                        snapshot, Scenario(changes=(c,), seed=run, runs=1, with_remedies=False)
                    ),
                    runs=2,
                ),
                at_most_seconds=1.0,
            )


def _compiled() -> Iterator[Figure]:
    """Microseconds of compiling a pod: the time is linear in pods."""
    of_a_pod = {}
    for nodes in (5_000, 65_000):
        snapshot = made(nodes)
        seconds = best(lambda _, s=snapshot: Cluster(s), runs=3)  # type: ignore[misc]
        of_a_pod[nodes] = seconds / len(snapshot.pods)
        yield Figure(figure=f"compiling {len(snapshot.pods):,} pods", cluster=_cluster(nodes), seconds=seconds)
    yield Figure(
        figure="compiling a pod at 65,000 nodes / at 5,000",
        cluster=_cluster(65_000),
        ratio=of_a_pod[65_000] / of_a_pod[5_000],
        at_most_ratio=3.0,
    )


def openb(_: int) -> Iterator[Figure]:
    """The same questions on the recorded production cluster."""
    snapshot = demo.read_large()
    cluster = "openb"
    biggest = max(snapshot.workloads, key=lambda workload: workload.replicas)
    tenfold = next(workload for workload in snapshot.workloads if workload.replicas == 10)
    yield Figure(
        figure="first verdict, tables not yet made",
        cluster=cluster,
        seconds=once(lambda: rollouts.rollout(snapshot, _restart(biggest.key, 0))),
    )
    for workload in (biggest, tenfold):
        yield Figure(
            figure=f"one verdict, {workload.replicas:,} replicas",
            cluster=cluster,
            seconds=best(lambda run, key=workload.key: rollouts.rollout(snapshot, _restart(key, run)), runs=5),  # type: ignore[misc]
        )
    yield Figure(
        figure="strategy grid 11 x 11",
        cluster=cluster,
        seconds=best(lambda run: grids.strategy_grid(snapshot, _restart(tenfold.key, run), tenfold.key), runs=3),
    )
    yield Figure(
        figure=f"every workload's own rollout ({len(snapshot.workloads):,})",
        cluster=cluster,
        seconds=best(lambda _: overviews.played(snapshot), runs=2),
    )


# ── capacity ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def capacity(_: int) -> Iterator[Figure]:
    """How many more pods of a shape fit."""
    cluster = prepared_question.compiled(demo.read_large())
    shape = shape_of({NVIDIA_GPU: 1, CPU: 8000, MEMORY: 32 * 2**30}, origin=ShapeOrigin.TYPED)
    yield Figure(
        figure=f"one shape: {fit(cluster, shape).count:,} more fit",
        cluster="openb",
        seconds=best(lambda _: fit(cluster, shape), runs=9),
        beside="cluster-capacity",
        beside_seconds=CLUSTER_CAPACITY_SECONDS,
        at_most_seconds=0.005,
    )
    large = prepared_question.compiled(made(5_000))
    shapes = (*workload_shapes(large), *standard_shapes(large))
    yield Figure(
        figure=f"all shapes ({len(shapes):,})",
        cluster=_cluster(5_000),
        seconds=best(lambda _: fits(large, shapes), runs=5),
        at_most_seconds=0.300,
    )


# ── spot ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def spot(_: int) -> Iterator[Figure]:
    """Ten thousand months of 30 days of one pool, and what is told from them."""
    for nodes, minutes in ((6, 5.0), (6, 480.0), (32, 5.0), (32, 480.0)):
        case = _case(nodes, minutes)
        yield Figure(
            figure=f"savings, 10,000 runs, jobs of {minutes:g} min",
            cluster=f"{nodes} spot nodes",
            seconds=best(lambda run, case=case: _savings(replace(case, seed=run)), runs=7),  # type: ignore[misc]
            at_most_seconds=0.300,
        )

    often = replace(_case(6, 5.0), hazard_low_per_hour=0.5, hazard_likely_per_hour=0.5, hazard_high_per_hour=0.5)
    yield Figure(
        figure="savings, 10,000 runs, a loss each 2 h",
        cluster="6 spot nodes",
        seconds=best(lambda run: _savings(replace(often, seed=run)), runs=3),
        at_most_seconds=3.0,
    )
    whole, book = made(5_000), embedded_book()
    yield Figure(
        figure="fleet savings by repacking",
        cluster=_cluster(5_000),
        seconds=best(lambda _: fleet_savings(whole, book, {}), runs=1),
        at_most_seconds=5.0,
    )


def _case(nodes: int, job_minutes: float) -> Assumptions:
    return Assumptions(
        nodes=nodes,
        needed_nodes=nodes - 1,
        on_demand_usd_per_hour=0.90,
        spot_usd_per_hour=0.45,
        hours_per_month=720.0,
        job_minutes=job_minutes,
        runs=10_000,
    )


def _savings(assumptions: Assumptions) -> object:
    return economics.savings(assumptions, months.simulate(assumptions))


# ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@cache
def layout(nodes: int) -> clusters.Layout:
    return clusters.lay_out(nodes)


@cache
def made(nodes: int) -> Snapshot:
    return clusters.snapshot(layout(nodes))


def _cluster(nodes: int) -> str:
    return f"{nodes:,} nodes"


def webhook(_: int) -> Iterator[Figure]:
    """Reviews a second over TLS, no two alike, on the demo: from when each was due."""
    for kind, found in webhooks.measure("demo", demo.read()).items():
        yield Figure(
            figure=f"webhook, p99 of 200 reviews a second: {kind}",
            cluster="demo",
            seconds=found.p99 / 1000,
            beside="p50",
            beside_seconds=found.p50 / 1000,
            at_most_seconds=0.100,
        )


MEASURES = {
    "start": commands.start,
    "commands": commands.commands,
    "huge": commands.huge,
    "webhook": webhook,
    "load": load,
    "rollout": rollout,
    "crowded": crowded,
    "flying": flying,
    "openb": openb,
    "capacity": capacity,
    "spot": spot,
    "history": history.measure,
    "live": live.figures,
}
OF_GENERATED_CLUSTERS: dict[Callable[[int], Iterator[Figure]], int] = {
    load: LARGEST_AS_JSON,
    rollout: max(SIZES),
}  # and up to how many nodes


@click.command()
@click.option("--nodes", type=click.Choice([str(size) for size in SIZES]), multiple=True, help="Only these sizes.")
@click.option("--only", type=click.Choice(list(MEASURES)), multiple=True, help="Only these figures.")
@click.option("--markdown", "is_markdown", is_flag=True, help="The table in Markdown.")
def bench(nodes: tuple[str, ...], only: tuple[str, ...], *, is_markdown: bool) -> None:
    """Measure and print the table."""
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n")
    print(header(is_markdown=is_markdown))
    figures = []
    for measure in (MEASURES[name] for name in only or MEASURES):
        largest = OF_GENERATED_CLUSTERS.get(measure)
        sizes = [0] if largest is None else [size for size in map(int, nodes or SIZES) if size <= largest]
        for figure in (figure for size in sizes for figure in measure(size)):
            print(figure.line(is_markdown=is_markdown), flush=True)
            figures.append(figure)
    missed = [figure for figure in figures if figure.is_met is False]
    print(f"\n{sum(figure.is_met is True for figure in figures)} targets met, {len(missed)} missed")
    for figure in missed:
        print(
            f"missed: {figure.figure}, {figure.cluster}: {figure.cells['measured'] or figure.cells['ratio']}, {figure.cells['target']}"
        )
    sys.exit(bool(missed))


if __name__ == "__main__":
    bench()
