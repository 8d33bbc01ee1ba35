"""Levers on pods and nodes of a stuck rollout: delete, force delete, drain, cordon, scale to 0 and back, wait.

How far it goes: the pods and nodes that the rollout waits for, and no others. It costs the pods that end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Final

from planner.capacity.new_node_kinds import matching_when_in_use
from planner.capacity.scale_up_simulation import waiting_shape
from planner.capacity.timed_cluster_events import happening_of
from planner.capacity.what_if_syntax import Change, ChangeKind, Later, text_of
from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.ground.well_known_names import TAINT_UNSCHEDULABLE
from planner.ground.words import listing, plural
from planner.kubernetes import shell_commands
from planner.kubernetes.node_properties import is_ready
from planner.kubernetes.object_records import Node, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.workload_kinds import kind_in
from planner.remedies import limits
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.stuck_rollout_trial import StuckRollout
from planner.remedies.levers.user_change_steps import SCALE_SECONDS
from planner.rollout.answers import GROWING_REASONS, Reason, Remedy, RemedyKind, Step
from planner.rollout.independent_actors import may_be_removed
from planner.rollout.ownership import pods_of
from planner.rollout.run import WHEN_AT_REST, Revision, Run
from planner.rollout.silent_node_cures import silent_node_cures
from planner.rollout.stuck_diagnosis import Impasse, volume_waits
from planner.scheduling.cluster import PODS_ROW, Cluster
from planner.scheduling.scripted_event import Happening
from planner.scheduling.shape import Shape

_STEP_SECONDS: Final = 60  # between the end of the stuck rollout and what is done then, and from one to the next


def broken(case: StuckRollout) -> Iterator[Remedy]:
    """An ordered StatefulSet where a broken pod blocks its own cure: the pod is deleted once the change is there, and made of the new
    revision (`stateful_set_control.go` waits for it to get Ready otherwise; kubernetes.io, *Forced rollback*)."""
    old = (pod for pod in case.run.pods[case.workload.key] if pod.is_bound and not pod.is_ready and not pod.is_new)
    names = [pod.name for pod in sorted(old, key=lambda pod: (pod.ordinal, pod.name))]
    if not names:
        return
    namespace = case.workload.namespace
    event = Happening(after_seconds=WHEN_AT_REST, words="", deletes=tuple(f"{namespace}/{name}" for name in names))
    what = f"Delete {plural(len(names), 'pod')} {listing(names)} after the change"
    deleted = shell_commands.command("kubectl", "delete", "pod", *names, "-n", namespace)
    way = LeverPosition(
        kind=RemedyKind.DELETE_PODS, title=what, happenings=(event,), then=Step(what=what, commands=(deleted,)),
        costs=f"{plural(len(names), 'it is', 'they are')} not Ready today; {{}}",
    )  # fmt: skip
    yield from case.first_of([way])


def ways(cluster: Cluster, revision: Revision, run: Run, why: Impasse, cut: list[str]) -> Iterator[LeverPosition]:
    """Of a rollout with pods that wait for room, for a volume on another node, or for a node that doesn't answer. `cut`: as in `opened`."""
    if why.reason in GROWING_REASONS:
        yield from opened(cluster, waiting_shape(run, revision.after.key), cut)
    if why.reason is Reason.VOLUME_ATTACHED:
        yield from _of_volumes(cluster, revision, run)
    if why.reason is Reason.SILENT_NODE:
        yield from _of_silent_nodes(revision, run)


def opened(
    cluster: Cluster, shape: Shape | None, cut: list[str], alone: Workload | None = None
) -> Iterator[LeverPosition]:
    """Cordoned nodes that match the pod take pods again, each alone, then all of them; not those that don't answer or that a cloud takes away.

    `cut` gets why that isn't every set of them. `alone`: no pods but this workload's leave, so that a node full of others' helps nothing.
    """
    if shape is None or cluster.later:
        return
    own = {cluster.snapshot.pods[i].node_name for i in pods_of(cluster, alone)} if alone else set[str]()
    below = cluster.requested_below(shape.priority) if shape.may_preempt else 0
    free = cluster.allocatable - cluster.requested + below
    asks = [(row, amount) for row, amount in ((PODS_ROW, 1), *shape.asks) if row not in shape.delegated]

    def may_help(place: int, node: Node) -> bool:
        has_room = alone is None or node.name in own or all(free[row, place] >= amount for row, amount in asks)
        return node.is_cordoned and has_room and is_ready(node) and not may_be_removed(node)

    matching = ((place, cluster.nodes[place]) for place in matching_when_in_use(cluster, shape))
    shut = [node.name for place, node in matching if may_help(place, node)]
    yield from (_opening([name]) for name in shut[: limits.UNCORDONED.most])
    if len(shut) > 1:
        yield _opening(shut)
    if len(shut) > 2:
        cut.append(limits.UNCORDONED.reached(number=len(shut)))


def _opening(names: Sequence[str]) -> LeverPosition:
    step, change = uncordoning(names), ";".join(map("uncordon:{}".format, names))
    return LeverPosition(kind=RemedyKind.UNCORDON, title=step.what, opens=tuple(names), first=step, change=change)


def uncordoning(names: Sequence[str]) -> Step:
    """``kubectl uncordon`` of these nodes; why they are cordoned only a user knows."""
    what = f"Uncordon {plural(len(names), 'node')} {listing(names)}, if nothing is being repaired there"
    return Step(what=what, commands=(shell_commands.uncordon(*names),), undo=(shell_commands.cordon(*names),))


def uncordoned(case: StuckRollout) -> Iterator[Remedy]:
    """One cordoned node that takes pods again, or as many as none can be left out of."""
    cut = list[str]()
    for way in opened(case.cluster, case.shape, cut, case.workload):
        if (found := case.in_way(way)) is not None:
            names = way.opens
            for name in names if 1 < len(names) <= limits.UNCORDONED.most else ():
                fewer = tuple(other for other in names if other != name)
                if fewer and (smaller := case.in_way(_opening(fewer))) is not None:
                    names, found = fewer, smaller
            yield found
            return
    case.reached.extend(cut)


# ── a volume that one node has at a time ─────────────────────────────────────────────────────────────────────────────
def _of_volumes(cluster: Cluster, revision: Revision, run: Run) -> Iterator[LeverPosition]:
    """The pods that hold the volume leave its node, or all of the workload's go and come back. That a pod is evicted helps no pod by itself:
    its successor is put back where the volume is before that is taken off."""
    waits, workload = volume_waits(run, revision.after.key), revision.after
    at = _at(run)
    names = [cluster.node_names[place] for place in sorted({place for wait in waits for place in wait.holders})]
    if names:
        nodes = listing([f"node {name}" for name in names])
        title = f"Drain {nodes} once it is stuck: the volume follows"
        drains = [Change(kind=ChangeKind.DRAIN, target=name) for name in names]
        drained = shell_commands.command("kubectl", "drain", *names, "--ignore-daemonsets", "--delete-emptydir-data")
        done = [(at, drain) for drain in drains]
        yield from _away(cluster, revision, RemedyKind.DRAIN_NODE, title, names, done, (drained,))
        pods = {pod.number: pod for wait in waits for pod in wait.pods}
        if pods and max(pods) <= 0:  # pods that the run made have no name that anybody could evict
            which = [f"{pod.namespace}/{pod.name}" for pod in pods.values()]
            title = f"Cordon {nodes} once it is stuck, and evict {listing(which)} there: the volume follows"
            taint = f"{TAINT_UNSCHEDULABLE}:NoSchedule"
            done = [(at, Change(kind=ChangeKind.TAINT, target=name, value=taint)) for name in names]
            done += [(at + _STEP_SECONDS, Change(kind=ChangeKind.EVICT, target=pod_key)) for pod_key in which]
            evicted = [
                shell_commands.evict(pod.namespace, pod.name, cluster.node_names[pod.node], workload.template.spec.termination_grace_period_seconds)
                for pod in pods.values()
            ]  # fmt: skip
            does = (shell_commands.cordon(*names), *evicted)
            yield from _away(cluster, revision, RemedyKind.CORDON_NODE, title, names, done, does)
    if workload.traits.has_replicas and workload.replicas:
        yield _to_zero(workload, at)


def _away(
    cluster: Cluster, revision: Revision, kind: RemedyKind, title: str, names: Sequence[str], done: Sequence[tuple[float, Change]],
    does: tuple[str, ...],
) -> Iterator[LeverPosition]:  # fmt: skip
    """Nodes closed and pods sent away from them; nothing where that isn't played beside a rollout. The nodes are opened afterwards."""
    try:
        happenings = [happening_of(cluster, change, [revision], WHEN_AT_REST) for _, change in done]
    except HeadroomError:
        return
    opened = (shell_commands.uncordon(*names),)
    cure = Step(what=title, commands=does, undo=opened, is_lent=True)
    last = Step(what=f"Uncordon {listing([f'node {name}' for name in names])}", commands=opened)
    yield LeverPosition(
        title=title, kind=kind, then=cure, last=(last,), happenings=_in_turn(happenings),
        events=text_of([Later(after_seconds=at, change=change) for at, change in done]),
        disturbs=_others_on(cluster, revision.after, names) if kind is RemedyKind.DRAIN_NODE else 0,
    )  # fmt: skip


def _in_turn(happenings: Sequence[Happening]) -> tuple[Happening, ...]:
    return tuple(replace(happening, turn=turn) for turn, happening in enumerate(happenings, 1))


def _others_on(cluster: Cluster, workload: Workload, names: Sequence[str]) -> int:
    """Pods of others on these nodes that a drain evicts."""
    keys = workload_keys(cluster.snapshot)
    there = (p for p in cluster.snapshot.pods if p.node_name in names and p.holds_room and p.owner is not None)
    return sum(keys[pod.uid] != workload.key and not kind_in(keys[pod.uid]).is_per_node for pod in there)


def _to_zero(workload: Workload, at: float) -> LeverPosition:
    title = f"Scale it to 0 once it is stuck, and back to {workload.replicas:,} when its pods are gone"
    numbers = (0, workload.replicas)
    changes = [Change(kind=ChangeKind.REPLICAS, target=workload.key, value=str(number)) for number in numbers]
    wait_command = shell_commands.wait(workload.key, SCALE_SECONDS, pods=0, strategy=workload.strategy.kind)
    does = (shell_commands.scale(workload.key, 0), wait_command, shell_commands.scale(workload.key, workload.replicas))
    scale = Happening(after_seconds=WHEN_AT_REST, words="", scales=workload.key)
    happenings = [replace(scale, replicas=number) for number in numbers]
    return LeverPosition(
        title=title, kind=RemedyKind.SCALE_TO_ZERO, then=Step(what=title, commands=does, undo=does[-1:], is_lent=True),
        happenings=_in_turn(happenings),
        events=text_of([Later(after_seconds=at + wait, change=change) for wait, change in zip((0, 2 * _STEP_SECONDS), changes, strict=True)]),
    )  # fmt: skip


# ── a node that doesn't answer ───────────────────────────────────────────────────────────────────────────────────────
def _of_silent_nodes(revision: Revision, run: Run) -> Iterator[LeverPosition]:
    """The node answers again, or its pods are deleted by force."""
    at = _at(run)
    for silence in silent_node_cures(run, revision):
        nodes = f"{plural(len(silence.nodes), 'node')} {listing(silence.nodes)}"
        changes = [Change(kind=ChangeKind.ANSWERS, target=name) for name in silence.answers]
        if silence.answers:
            title, kind = f"Get {nodes} to answer again", RemedyKind.NODE_BACK
            does = shell_commands.remark(f"get {nodes} to answer again: its kubelet, its network or the machine")
        else:
            which = [f"{pod.namespace}/{pod.name}" for pod in silence.pods]
            changes = [Change(kind=ChangeKind.FORCE_DELETE, target=name) for name in which]
            are = plural(len(silence.nodes), "is", "are")
            title = f"Delete {listing(which)} by force, if {nodes} {are} surely down"
            does, kind = silence.command, RemedyKind.FORCE_DELETE
        yield LeverPosition(
            title=title, kind=kind, then=Step(what=title, commands=(does,)), happenings=(silence.happening,),
            answers=silence.answers, events=text_of([Later(after_seconds=at, change=change) for change in changes]),
        )  # fmt: skip


def _at(run: Run) -> float:
    """When a stuck rollout is over, and a user has seen it."""
    return float(ceil(run.tick_ends[-1] if run.tick_ends else 0) + _STEP_SECONDS)
