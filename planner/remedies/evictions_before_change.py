"""The fewest evictions before a change after which its new pods fit (`planner.remedies.make_room`)."""

from __future__ import annotations

from planner.ground.errors import HeadroomError
from planner.ground.records import Record
from planner.ground.words import with_article
from planner.ground.work_budget import TooLargeError, part
from planner.kubernetes.object_records import Pod, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.remedies import limits
from planner.remedies.levers.moves import Moved
from planner.remedies.make_room import MadeRoom, RoomRequest
from planner.remedies.make_room import room_made as room_for
from planner.remedies.random_draw_checks import PlanCase
from planner.scheduling.cluster import Cluster


class RoomMade(Record):
    """Room for one more pod, for two, …, as far as moves make it. `doubt`: why that isn't all that moves could do; "" where they
    can do nothing, which is proven."""

    moved: tuple[Moved, ...] = ()
    doubt: str = ""


def room_made(case: PlanCase) -> RoomMade:
    """For its pods that wait, where moves start all of them; then for more and more pods of the change, as many as it has."""
    cluster, after = case.cluster, case.revisions[0].after
    is_joint = len(case.revisions) != 1
    if is_joint or case.revisions[0].placed is not None:
        what = "several changes at once" if is_joint else with_article(after.kind)
        return RoomMade(doubt=f"of {what} no moves were looked at")
    if cluster.node_count > limits.MOVES_NODES.most:
        return RoomMade(doubt=limits.MOVES_NODES.reached(number=cluster.node_count))
    shape = case.shape(0)
    pod = Pod(namespace=after.namespace, name=after.name, uid="", labels=shape.labels, spec=shape.spec)
    moved = _own_started(case)
    for number in range(1, min(limits.PLACES.most, max(1, after.pods_wanted)) + 1):
        try:
            with part(units=limits.MOVES_UNITS.most):
                room_plan, snapshot_after = room_for(cluster.snapshot, RoomRequest(like=pod, number=number))
        except TooLargeError:
            return RoomMade(moved=tuple(moved), doubt=limits.MOVES_UNITS.reached())
        # Where so many places can't be made in every draw, more can't either.
        if len(room_plan.starts) < number or room_plan.held < room_plan.draws:
            if not moved and not room_plan.starts and (room_plan.is_most or room_plan.doubts):
                return RoomMade(doubt="; ".join(str(doubt.why) for doubt in room_plan.doubts))
            break
        if room_plan.moves:
            moved.append(_moved(room_plan, snapshot_after))
    return RoomMade(moved=tuple(moved), doubt=limits.PLACES.reached())


def _own_started(case: PlanCase) -> list[Moved]:
    """Its own pods that wait started, and all that wait, who else would take the room that its old pods leave; of many nodes only those."""
    cluster, key = case.cluster, case.revisions[0].after.key
    keys, pods = workload_keys(cluster.snapshot), cluster.snapshot.pods
    waiting = {keys[pods[number].uid] for number in cluster.waiting}
    moves: list[Moved] = []
    for whose in dict.fromkeys((key, "" if waiting - {key} else key)) if key in waiting else ():
        if whose and waiting - {key} and cluster.node_count > limits.MOVES_OF_ALL.most:
            continue
        try:
            with part(units=2 * limits.MOVES_UNITS.most):
                room_plan, snapshot_after = room_for(cluster.snapshot, RoomRequest(workload=whose))
        except HeadroomError:
            continue
        if room_plan.moves and room_plan.held == room_plan.draws and len(room_plan.starts) == room_plan.waiting:
            moves.append(_moved(room_plan, snapshot_after))
    return moves


def _moved(plan: MadeRoom, after: Snapshot) -> Moved:
    return Moved(cluster=Cluster(after), moves=len(plan.moves), seconds=plan.seconds, steps=plan.steps)
