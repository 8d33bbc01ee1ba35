"""``make bench``: the figures of speed and memory, each beside its target and a comparator of the same run.

``python -m tests.bench [--only WORD]…`` (``make bench ONLY=WORD``) measures a part; `huge` is measured only so. ``--keep``
(``make bench KEEP=1``) keeps a whole run's figures in ``tests/bench/measured.json`` and makes the table of docs/speed.md of them. At its end
stands which targets were missed and which figures failed, and the exit status is 1 then. A missed target on a busy machine is no fault of
the code: `tests.bench.regression` is what continuous integration asks.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import click

from planner.capacity import capacity_answer as capacity_left
from planner.capacity import gpu_holders
from planner.capacity import rollout_readiness as overviews
from planner.capacity.headroom import fit, fits
from planner.capacity.headroom_shapes import ShapeOrigin, shape_of, standard_shapes, workload_shapes
from planner.capacity.node_pools import pools
from planner.ground.records import replace
from planner.ground.well_known_names import CPU, MEMORY, NVIDIA_GPU
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.questions import drift as drift_question
from planner.questions import gate
from planner.questions import restarts as restarts_question
from planner.remedies import rollout_with_remedies
from planner.rollout import prepared_change as prepared_question
from planner.rollout import strategy_grid as grids
from planner.rollout.prepared_change import Scenario
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot import economics, monte_carlo
from planner.spot.assumptions import Assumptions
from planner.spot.cluster_savings import fleet_savings
from tests.bench import clusters, commands, crowd, history, inputs, live, page
from tests.bench import webhook as webhooks
from tests.bench.inputs import COPIES, DEMO, FIVE, HUGE, OPENB, QUIET, ROLLS, STUCK, VARIED
from tests.bench.table import Figure, Found, best, header, kept, measured, once
from tests.reference.simulation import simulate

CLUSTER_CAPACITY_SECONDS = (
    5.0  # kubernetes-sigs/cluster-capacity on openb and this shape, measured elsewhere: it needs an API server
)
MINUTES = 18  # of a whole run, on two quiet cores


# ── answers in one process, of the five clusters ─────────────────────────────────────────────────────────────────────
def questions() -> Iterator[Figure]:
    """What the pages and the webhook ask of a cluster that is read: seconds of CPU."""
    for cluster in FIVE:
        yield from _asked(cluster)


def _asked(cluster: str) -> Iterator[Figure]:
    slack = 4 if cluster == VARIED else 1  # no two shapes are alike there

    def figure(what: str, ask: Callable[[], float], target: float | None, **more: Any) -> Figure:
        return Figure(
            figure=f"{what}; CPU", cluster=cluster, at_most_seconds=target and target * slack, **{"take": ask, **more}
        )

    def first() -> float:
        snapshot = inputs.snapshot(cluster)
        return once(lambda: rollout_with_remedies.rollout(snapshot, _restart(STUCK[cluster], 0)))

    def verdict(key: str, runs: int, *, ties: bool = False) -> float:
        snapshot = inputs.snapshot(cluster)
        rollout_with_remedies.rollout(snapshot, _restart(key, 0))
        return best(lambda run: rollout_with_remedies.rollout(snapshot, _restart(key, run, ties=ties)), runs=runs)

    def grid() -> float:
        snapshot, key = inputs.snapshot(cluster), clusters.TEN if cluster == QUIET else STUCK[cluster]
        return best(lambda run: grids.strategy_grid(snapshot, _restart(key, run), key), runs=5)

    def of_snapshot(ask: Callable[[Snapshot], object], runs: int) -> Callable[[], float]:
        return lambda: best(lambda _: ask(inputs.snapshot(cluster)), runs=runs)

    yield figure("the first verdict, tables not yet made", first, None if cluster == QUIET else 0.5)
    beside = {"beside": "plain reference", "take": lambda: Found(seconds=verdict(STUCK[DEMO], 9), beside=_reference())}
    at_most = 0.005 if cluster == OPENB else 0.020
    yield figure(
        "one verdict, stuck", lambda: verdict(STUCK[cluster], 9), at_most, **(beside if cluster == DEMO else {})
    )
    yield figure("one verdict, completes", lambda: verdict(ROLLS[cluster], 9), at_most)
    yield figure("one verdict with ways out and ties", lambda: verdict(STUCK[cluster], 3, ties=True), 0.5)
    if cluster in (DEMO, OPENB):
        yield figure("the gate's answer to a DaemonSet that preempts", of_snapshot(_one_preempting, 1), 1.0)
    yield figure("strategy grid", grid, 0.100 if cluster in (COPIES, VARIED) else 0.300)
    yield figure("every workload's own rollout", of_snapshot(overviews.simulated_readiness, 2), 5.0)
    yield figure("what is left", of_snapshot(capacity_left.capacity, 3), 0.3)
    yield figure("seats", of_snapshot(gpu_holders.seats, 3), 0.3)
    if cluster in (DEMO, COPIES, VARIED):  # nothing is restarted over and over in the others, and nothing has drifted
        yield figure("restarts, and the cure of one loop", of_snapshot(_one_cure, 1), 2.0)
        yield figure("drift, and the rollout of one suggestion", of_snapshot(_one_suggestion, 1), 2.0)
    if cluster in (COPIES, QUIET):
        yield figure("fleet savings by repacking", of_snapshot(lambda s: fleet_savings(s, embedded_book(), {}), 1), 5.0)
    if cluster == OPENB:
        yield Figure(
            figure="how many more of one shape fit; CPU", cluster=cluster, beside="cluster-capacity elsewhere", at_most_seconds=0.005,
            take=lambda: Found(seconds=_one_shape(inputs.snapshot(OPENB)), beside=CLUSTER_CAPACITY_SECONDS),
        )  # fmt: skip
    if cluster == QUIET:
        yield figure("how many more of every shape fit", lambda: _all_shapes(inputs.snapshot(QUIET)), 0.3)
        yield from _replicas()
        yield from _flying()


def _restart(key: str, seed: int, *, ties: bool = False) -> Scenario:
    """A new revision of the same shape; another seed each time, so that no answer is taken from a cache."""
    return Scenario(changes=(WorkloadChange(workload=key),), seed=seed, runs=50 if ties else 1, with_remedies=ties)


def _reference() -> float:
    """The tests' plain simulation, object by object, of the verdict on the demo."""
    items: list[Any] = json.loads(inputs.file(DEMO).read_bytes())["items"]
    kind, namespace, name = STUCK[DEMO].split("/")
    patch = {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}
    return once(lambda: simulate(items, [{"kind": kind, "namespace": namespace, "name": name, "patch": patch}], []))


def _one_cure(snapshot: Snapshot) -> object:
    """What the Restarts page asks for."""
    plan = restarts_question.answer(snapshot, restarts_question.RestartsSettings(cures=0))
    return restarts_question.cure(snapshot, next(loop for loop in plan.report.loops if loop.suggestion))


def _one_preempting(snapshot: Snapshot) -> object:
    """A new DaemonSet of a high priority, too large for some nodes: each of its pods pushes others out, which then wait for nodes."""
    amounts = {"cpu": "10", "memory": "100Gi"}
    spec = {
        "priorityClassName": "system-node-critical", "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "agent", "image": "x", "resources": {"requests": amounts, "limits": amounts}}],
    }  # fmt: skip
    labels = {"app": "agent"}
    manifest = {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }  # fmt: skip
    return gate.answer(snapshot, gate.GateSettings(manifest=json.dumps(manifest)))


def _one_suggestion(snapshot: Snapshot) -> object:
    """What the Drift page asks for."""
    report = drift_question.answer(snapshot, drift_question.DriftSettings())
    return drift_question.adopt(snapshot, next(one for service in report.services for one in service.suggestions))


def _one_shape(snapshot: Snapshot) -> float:
    cluster = prepared_question.compiled(snapshot)
    shape = shape_of({NVIDIA_GPU: 1, CPU: 8000, MEMORY: 32 * 2**30}, origin=ShapeOrigin.TYPED)
    return best(lambda _: fit(cluster, shape), runs=9)


def _all_shapes(snapshot: Snapshot) -> float:
    cluster = prepared_question.compiled(snapshot)
    shapes = (*workload_shapes(cluster), *standard_shapes(cluster))
    return best(lambda _: fits(cluster, shapes), runs=5)


def _replicas() -> Iterator[Figure]:
    """Ten thousand that find room: each is placed for itself."""
    for is_new, share, what in (
        (False, None, "scaled to"),
        (True, "25%", "rolled out by quarters to"),
        (True, None, "rolled out one by one to"),
    ):
        yield Figure(
            figure=f"one verdict, {what} 10,000 that find room; CPU", cluster=QUIET, at_most_seconds=1.0, take=partial(_ten_thousand, share, is_new=is_new)
        )  # fmt: skip


def _ten_thousand(share: str | None, *, is_new: bool) -> float:
    workloads = inputs.snapshot(QUIET).workloads
    key = next(one.key for one in workloads if one.kind == "Deployment" and one.name.startswith("general-0"))
    change = WorkloadChange(workload=key, replicas=10_000, new_revision=is_new, max_surge=share, max_unavailable=share)
    return _changed(QUIET, change)


def _changed(cluster: str, change: WorkloadChange) -> float:
    snapshot = inputs.snapshot(cluster)
    return best(
        lambda run: rollout_with_remedies.rollout(
            snapshot, Scenario(changes=(change,), seed=run, runs=1, with_remedies=False)
        ),
        runs=3,
    )


def _flying() -> Iterator[Figure]:
    """Verdicts beside 200 others in flight: of the three that this cluster has for it, and of forty drawn ones."""
    for what, share in (("median", 0.5), ("nine tenths", 0.9), ("slowest", 1.0)):
        yield Figure(
            figure=f"one verdict of 43 beside 200 in flight, {what}; CPU", cluster=QUIET, at_most_seconds=0.050,
            take=lambda share=share: sorted(_in_flight())[min(42, int(43 * share))],  # type: ignore[misc]
        )  # fmt: skip


@kept
def _in_flight() -> tuple[float, ...]:
    calm = inputs.snapshot(QUIET)
    snapshot = clusters.in_flight(calm, 200)
    rolling = [one.key for one in calm.workloads if one.traits.has_replicas and one.replicas > 1]
    keys = [clusters.FIFTY, clusters.HELD, clusters.TEN, *random.Random(5_000).sample(rolling, 40)]
    rollout_with_remedies.rollout(snapshot, _restart(clusters.FIFTY, 0))
    return tuple(best(partial(_restarted, snapshot, key), runs=3) for key in keys)


def _restarted(snapshot: Snapshot, key: str, run: int) -> object:
    return rollout_with_remedies.rollout(snapshot, _restart(key, run))


# ── what isn't of the five clusters ──────────────────────────────────────────────────────────────────────────────────
def many() -> Iterator[Figure]:
    """Many that wait, beside none; and ten thousand replicas asked of the demo."""
    for waiting in (0, 10_000):
        yield Figure(
            figure=f"one verdict where {waiting:,} more wait; CPU", cluster=DEMO, take=partial(_beside, waiting)
        )
    for workload in ("Deployment/prod/web", "Deployment/prod/llm-serve"):
        change = WorkloadChange(workload=workload, replicas=10_000)
        name = workload.rpartition("/")[2]
        yield Figure(
            figure=f"one verdict, {name} at 10,000 replicas; CPU", cluster=DEMO, at_most_seconds=1.0, take=partial(_changed, DEMO, change)
        )  # fmt: skip
        yield Figure(
            figure=f"the same with ways out and growth, {name}; CPU", cluster=DEMO, at_most_seconds=1.0, take=partial(_whole, change)
        )  # fmt: skip


def _beside(waiting: int) -> float:
    snapshot = crowd.waiting(waiting)
    rollout_with_remedies.rollout(snapshot, _restart(crowd.STUCK, 0))
    return best(lambda run: rollout_with_remedies.rollout(snapshot, _restart(crowd.STUCK, run)), runs=5)


def _whole(change: WorkloadChange) -> float:
    snapshot = demo.read()
    growing = pools(prepared_question.compiled(snapshot))
    return best(
        lambda run: rollout_with_remedies.rollout(snapshot, Scenario(changes=(change,), seed=run), growing), runs=2
    )


def spot() -> Iterator[Figure]:
    """Ten thousand months of 30 days of one pool, and what is told from them."""
    for nodes, minutes in ((6, 5.0), (6, 480.0), (32, 5.0), (32, 480.0)):
        yield Figure(
            figure="savings, 10,000 runs; CPU", cluster=f"{nodes} spot nodes", one_of=f"jobs of {minutes:g} min", at_most_seconds=0.3,
            take=partial(_savings, _case(nodes, minutes)),
        )  # fmt: skip
    often = replace(_case(6, 5.0), hazard_low_per_hour=0.5, hazard_likely_per_hour=0.5, hazard_high_per_hour=0.5)
    yield Figure(
        figure="savings, 10,000 runs, a loss each 2 h; CPU", cluster="6 spot nodes", at_most_seconds=3.0, take=partial(_savings, often)
    )  # fmt: skip


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


def _savings(assumptions: Assumptions) -> float:
    def ask(run: int) -> object:
        case = replace(assumptions, seed=run)
        return economics.savings(case, monte_carlo.simulate(case))

    return best(ask, runs=5)


def webhook() -> Iterator[Figure]:
    """Reviews a second over TLS, no two alike, on the demo: from when each was due."""
    for kind, found in webhooks.measure("demo", demo.read(), seconds=10).items():
        yield Figure(
            figure="webhook, 200 reviews a second for 10 s: p99; clock", cluster=DEMO, one_of=f"another {kind}", seconds=found.p99 / 1000,
            beside="p50", beside_seconds=found.p50 / 1000, at_most_seconds=0.100,
        )  # fmt: skip
        yield Figure(
            figure="webhook, 200 reviews a second for 10 s: share of which nothing was said in time", cluster=DEMO,
            one_of=f"another {kind}", ratio=found.late / found.reviews, at_most_ratio=0.01,
        )  # fmt: skip


def huge() -> Iterator[Figure]:
    """65,000 nodes: whole commands; one verdict and making tables of pods, beside 5,000 nodes.

    The commands read three to four pods a node, as a file of thirty a node would have 8 GB; what stands beside 5,000 nodes has thirty.
    """
    yield from commands.huge()
    for place, (what, most) in enumerate((("one verdict", 10), ("making tables, a pod", 3))):
        yield Figure(
            figure=f"{what}, 30 pods a node / at 5,000 nodes; CPU", cluster=HUGE, beside="5,000 nodes", at_most_ratio=most,
            take=lambda place=place: Found(seconds=_dense(65_000)[place], beside=_dense(5_000)[place]),  # type: ignore[misc]
        )  # fmt: skip


@kept
def _dense(nodes: int) -> tuple[float, float]:
    """Seconds of one verdict, and of making tables for each pod, with thirty pods a node."""
    snapshot = clusters.snapshot(clusters.lay_out(nodes))
    tables = best(lambda _: Cluster(snapshot), runs=3) / len(snapshot.pods)
    rollout_with_remedies.rollout(snapshot, _restart(clusters.FIFTY, 0))
    return best(lambda run: rollout_with_remedies.rollout(snapshot, _restart(clusters.FIFTY, run)), runs=9), tables


# ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────
MEASURES: dict[str, Callable[[], Iterator[Figure]]] = {
    "start": commands.start,
    "load": commands.load,
    "commands": commands.waited,
    "both": commands.both,
    "questions": questions,
    "many": many,
    "spot": spot,
    "history": history.measure,
    "sweep": history.sweeps,
    "webhook": webhook,
    "live": live.figures,
}
APART = {"huge": huge}
"""What a run of all leaves out: some minutes more, and 8 GB for the bare decode beside it."""


@click.command()
@click.option("--only", type=click.Choice([*MEASURES, *APART]), multiple=True, help="Only these figures.")
@click.option("--keep", is_flag=True, help="Make the table of docs/speed.md of this run: of all, or of `huge`.")
def bench(only: tuple[str, ...], *, keep: bool) -> None:
    """Measure and print the table."""
    if keep and only not in ((), ("huge",)):
        raise click.UsageError("only a whole run is kept, or that of huge")
    started, start = page.begun(), time.monotonic()
    if not only:
        print(f"About {MINUTES} minutes on two quiet cores; ONLY={'|'.join([*MEASURES, *APART])} measures a part.")
    print(f"Python {started.python}, {started.cores} cores, load {started.load_before}\n\n{header()}")
    figures = []
    for name in only or MEASURES:
        begin = time.monotonic()
        for figure in measured({**MEASURES, **APART}[name](), name):
            print(figure.line(), flush=True)
            figures.append(figure)
        print(f"({name}: {(time.monotonic() - begin) / 60:.1f} minutes)", flush=True)
    run = page.ended(started, figures, (time.monotonic() - start) / 60)
    print(f"\n{run.told()}")
    if keep:
        page.keep("huge" if only else "bench", run)
    sys.exit(any(figure.is_met is False for figure in figures))


if __name__ == "__main__":
    bench()
