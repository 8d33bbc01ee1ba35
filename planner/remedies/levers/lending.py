"""The lever *lend*: another workload, or the one that rolls out, is scaled down for a while and back afterwards.

How far it goes: `limits.LENDERS` workloads that hold what is short, each down to 0 where no autoscaler sets it back, and its own pods by
`limits.OWN_PODS`. It costs the pods that end; a lender that gets no room back has given them up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from planner.ground.records import Record, replace
from planner.ground.well_known_names import is_extended_resource
from planner.ground.words import listing
from planner.kubernetes.autoscaler_replica_bounds import autoscalers_of, moves_between, settled_replicas
from planner.kubernetes.object_records import Snapshot, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests
from planner.remedies import limits
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.strategy import ONE_BY_ONE, position_of
from planner.remedies.levers.stuck_rollout_trial import StuckRollout
from planner.remedies.levers.user_change_steps import scale, scale_back
from planner.remedies.random_draw_checks import fewest
from planner.rollout.answers import Remedy, RemedyKind
from planner.rollout.ownership import pods_of, workloads_by_key
from planner.rollout.room_when_empty import find_room, has_room
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.stuck_diagnosis import rivals, workload_of
from planner.scheduling.cluster import BoolArray, Cluster
from planner.scheduling.shape import Shape, Static, compile_shape, shape_of


# ── what it makes of a cluster ───────────────────────────────────────────────────────────────────────────────────────
def scaled(workload: Workload, replicas: int) -> Revision:
    """A workload with other replicas, and nothing else."""
    return Revision(before=workload, after=replace(workload, replicas=replicas), has_new_template=False)


# ── how far it goes ──────────────────────────────────────────────────────────────────────────────────────────────────
class Lender(Record):
    """Another workload, and the replicas it may be scaled to, the most first. `bound`: its pods that are on nodes."""

    workload: Workload
    replicas: tuple[int, ...]
    bound: int

    def disturbed(self, replicas: int) -> int:
        """Pods that end: those that wait go first (`deletion_order`)."""
        return max(0, self.bound - replicas)


def lenders(
    cluster: Cluster, own: Iterable[str], shapes: Sequence[Shape], lacking: Sequence[str], cut: list[str],
    may: Callable[[Workload], bool] = lambda _: True,
) -> Iterator[Lender]:  # fmt: skip
    """Workloads besides `own` with pods on, or pending for, nodes of the new pods, that hold what is `lacking`, as far as they `may`; the
    fewest pods first. None that another object made (a Deployment of an operator): the operator would scale it back."""
    own_nodes = np.zeros(cluster.node_count, dtype=np.bool_)
    for shape in shapes:
        own_nodes |= shape.static == Static.PASSES
    keys, pods = workload_keys(cluster.snapshot), cluster.snapshot.pods
    near = {keys[pod.uid] for pod in pods if (n := cluster.node_index.get(pod.node_name)) is not None and own_nodes[n]}
    # Pods that wait for these nodes are as near: they would take what another lender frees.
    near |= {keys[pods[i].uid] for i in cluster.waiting if _meets(cluster, i, own_nodes)}
    candidates = []
    for other in cluster.snapshot.workloads:
        if other.key in own or other.key not in near or not other.traits.surges_freely or not other.replicas:
            continue
        asks = pod_requests(other.template.spec)
        if other.owner is not None or (lacking and not any(name in asks for name in lacking)) or not may(other):
            continue
        fewer = range(other.replicas - 1, -1, -1)
        replicas_left = tuple(number for number in fewer if keeps_replicas(cluster.snapshot, other, number))
        if replicas_left:
            candidates.append(Lender(workload=other, replicas=replicas_left, bound=_bound(cluster, other)))
    candidates.sort(key=lambda lender: (lender.bound, lender.workload.key))
    if len(candidates) > limits.LENDERS.most:
        cut.append(limits.LENDERS.reached(number=len(candidates)))
    yield from candidates[: limits.LENDERS.most]


def _meets(cluster: Cluster, number: int, candidate_nodes: BoolArray) -> bool:
    pod = cluster.snapshot.pods[number]
    shape = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
    return bool(candidate_nodes[shape.candidates].any())


def _bound(cluster: Cluster, workload: Workload) -> int:
    """Pods of the workload that are on nodes."""
    pods = cluster.snapshot.pods
    return sum(pods[i].holds_room for i in pods_of(cluster, workload))


def ways(cluster: Cluster, revision: Revision, cut: list[str], *, is_alone: bool) -> Iterator[LeverPosition]:
    """The workload that rolls out scaled down first, where no other changes."""
    before, workload = revision.before, revision.after
    if before is not None and before.replicas != workload.replicas:
        cut.append(f"{workload.name} gets other replicas too, so that scaling it down first isn't looked at")
        return
    if before is None or not is_alone or not workload.traits.surges_freely or workload.replicas <= 1:
        return
    fewer = range(workload.replicas - 1, 0, -1)
    if len(fewer) > limits.OWN_PODS.most:
        fewer = fewer[: limits.OWN_PODS.most]
        cut.append(limits.OWN_PODS.reached(workload=workload.name, number=workload.replicas))
    for number in fewer:
        if keeps_replicas(cluster.snapshot, workload, number):
            yield LeverPosition(title=f"scaled to {number} first, and back afterwards", replicas=number)


def keeps_replicas(snapshot: Snapshot, workload: Workload, replicas: int) -> bool:
    """Whether no autoscaler sets other replicas as soon as it looks."""
    return settled_replicas(snapshot, replace(workload, replicas=replicas)) == replicas


def may_be_moved(snapshot: Snapshot, workload: Workload, replicas: int) -> bool:
    """Whether its autoscaler may scale it back meanwhile."""
    return moves_between(autoscalers_of(snapshot, workload.key), replicas) is not None


def given_back(run: Run | None, lent: Iterable[tuple[Lender, int]]) -> list[bool]:
    """Of each loan whether its pods find room again once the rollout is through, beside those given back before it, or only waited. Where they
    would preempt the change's own pods for it, that one is pending again: such a loan gets no rollout through, and isn't given back."""
    assert run is not None, "a plan that completes was played"
    wanted = list[tuple[Shape, int]]()
    for lender, left in lent:
        shape = shape_of(run.simulation.cluster, lender.workload)
        # Those that only waited come back to wait, unless they may take the place of a new pod: then all need room.
        is_before_new = may_preempt(shape, run.new_shapes.values())
        wanted.append((shape, lender.workload.replicas - left if is_before_new else lender.disturbed(left)))
    return find_room(run, wanted)


def may_preempt(shape: Shape, others: Iterable[Shape]) -> bool:
    """Whether a pod that waits may take the place of one of these, since its priority is higher (`pkg/scheduler/framework/preemption`)."""
    return shape.may_preempt and any(other.priority < shape.priority for other in others)


# ── alone ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def own_pods(case: StuckRollout) -> Iterator[Remedy]:
    """Scale down, roll out, scale up again: for teams that may not touch the strategy.

    Not where a pod waits for the same nodes: it would take the place before the new pods come, or before the scaling back. Those
    of lower priority are pushed out again by pods that may.
    """
    workload, before, shape = case.workload, case.revision.before, case.shape
    way = next(ways(case.cluster, case.revision, [], is_alone=True), None)
    if way is None or way.replicas is None or before is None or shape is None:
        return
    fewer, least = way.replicas, shape.priority if shape.may_preempt else None
    if rivals(case.run, workload.key, shape, least_priority=least):
        return
    run = case.attempt(way.changed(workload))
    if run is None or not has_room(run, shape, workload.replicas - fewer):  # for those that come back
        return
    if _comes_to_rest(case, before, fewer):
        yield case.remedy(
            replace(way, kind=RemedyKind.SCALE_DOWN_FIRST, title=f"Scale to {fewer} first, and back afterwards"),
            f"{fewer} of {workload.replicas} pods during the rollout, {case.at_worst(run)}{_autoscaled(case, workload, fewer)}",
            run, last_seconds=case.pod_times.startup_seconds,
        )  # fmt: skip


def _comes_to_rest(case: StuckRollout, workload: Workload, replicas: int) -> bool:
    """Whether a workload as it is today has so many pods Ready once it is scaled: that is waited for before the change is made. Pods
    that fail never are, and a Deployment that is midway may never go on (kubernetes#138036)."""
    return simulate(case.cluster, [scaled(workload, replicas)], seed=case.seed).done[workload.key]


def _autoscaled(case: StuckRollout, workload: Workload, replicas: int) -> str:
    is_moved = may_be_moved(case.cluster.snapshot, workload, replicas)
    return "; its autoscaler may scale it back meanwhile" if is_moved else ""


def pods_of_others(case: StuckRollout) -> Iterator[Remedy]:
    """Another workload on the matching nodes, scaled down by as little as does."""
    shape = case.shape
    scarce = [name for name in case.why.lacking if is_extended_resource(name)][:1]
    if shape is None or not scarce:
        return
    makes_room = partial(_makes_room, case, shape)
    for lender in lenders(case.cluster, case.run.moments, [shape], scarce, case.reached, makes_room):
        other, placed = lender.workload, case.revision.placed

        def without(number: int, other: Workload = other) -> Run | None:
            return case.lent([scaled(other, other.replicas - number)], draws=False)

        fewest_pods = fewest([other.replicas - left for left in lender.replicas], without, case.holds)
        if fewest_pods is not None and _comes_to_rest(case, other, other.replicas - fewest_pods[0]):
            count, run = fewest_pods
            replicas_left, pods = other.replicas - count, "One pod" if count == 1 else f"{count:,} pods"
            can_wait = placed is None or bool(placed.resource and placed.waits)
            is_lent = can_wait and all(given_back(run, [(lender, replicas_left)]))
            until = "while rolling out" if is_lent else "until there is other room"
            yield case.remedy(
                LeverPosition(kind=RemedyKind.FREE_CAPACITY, title=f"{pods} of {other.namespace}/{other.name} fewer {until}"),
                f"{replicas_left:,} of {other.replicas:,} {other.namespace}/{other.name}; {case.at_worst(run)}{_autoscaled(case, other, replicas_left)}",
                run, first=(scale(other, replicas_left),), last=(scale_back(other),) if is_lent else (),
                disturbs=lender.disturbed(replicas_left), lenders=1,
            )  # fmt: skip
            return


def _makes_room(case: StuckRollout, shape: Shape, other: Workload) -> bool:
    """Whether the waiting pod would fit on a node of `other` if all of its pods there went."""
    cluster, free = case.cluster, case.run.simulation.state.free
    names = Counter(cluster.snapshot.pods[i].node_name for i in pods_of(cluster, other))
    freed_amounts = {cluster.row[n]: a for n, a in pod_requests(other.template.spec).items() if n in cluster.row}
    places = ((cluster.node_index.get(name), count) for name, count in names.items())
    rooms = [(node, count) for node, count in places if node is not None and node in shape.candidates]
    return any(
        all(int(free[row, node]) + count * freed_amounts.get(row, 0) >= amount for row, amount in shape.asks)
        for node, count in rooms
    )


def rivals_at_rest(case: StuckRollout) -> Iterator[Remedy]:
    """Workloads that wait for the same nodes and would take what is freed, scaled to 0 while rolling out."""
    workload, shape = case.workload, case.shape
    if not workload.traits.surges_freely or shape is None:
        return
    workload_by_key = workloads_by_key(case.cluster)
    keys = dict.fromkeys(workload_of(case.run, p) for p in rivals(case.run, workload.key, shape))
    others = [w for key in keys if (w := workload_by_key.get(key)) is not None and w.traits.part and w.owner is None]
    then = replace(workload, strategy=ONE_BY_ONE.strategy)
    # If one-by-one completes beside them, the lever *strategy* offers it, and no workload has to be scaled down.
    if not others or len(others) < len(keys) or case.attempt(then) is not None:
        return
    run = case.lent([scaled(other, 0) for other in others], case.with_workload(then))
    if run is not None and all(_comes_to_rest(case, rival, 0) for rival in others):
        lent = [Lender(workload=rival, replicas=(0,), bound=_bound(case.cluster, rival)) for rival in others]
        is_lent = all(given_back(run, [(lender, 0) for lender in lent]))
        names = listing([f"{r.namespace}/{r.name}" for r in others])
        rivals_text = f"{len(others):,} workloads of others" if len(others) > limits.LENDERS_ALONE.most else names
        yield case.remedy(
            replace(position_of(workload, ONE_BY_ONE), kind=RemedyKind.FREE_CAPACITY, change=""),
            f"{case.at_worst(run)}; without that, {names} may take the place of the first old pod", run,
            title=f"{ONE_BY_ONE.title}, with {rivals_text} at 0 replicas {'meanwhile' if is_lent else 'until there is other room'}",
            first=tuple(scale(rival, 0) for rival in others), last=tuple(map(scale_back, others)) if is_lent else (),
            disturbs=sum(lender.bound for lender in lent), lenders=len(others),
        )  # fmt: skip
