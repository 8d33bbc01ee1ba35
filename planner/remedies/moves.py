"""Room made before a change: the fewest evictions after which so many more of its pods fit (`planner.remedies.make_room`)."""

from __future__ import annotations

from typing import Final

from planner.ground.budget import TooLargeError, part
from planner.ground.errors import HeadroomError
from planner.ground.records import Record
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.records import Pod
from planner.remedies.levers import Moved, PlanCase
from planner.remedies.make_room import Asked, places_for
from planner.remedies.make_room import room_made as room_for
from planner.scheduling.cluster import Cluster

_MOST_PLACES: Final = 3
_MOST_NODES: Final = 2_000  # of a cluster in which moves are looked for: each is compiled anew
_MANY_NODES: Final = 500
_UNITS: Final = 500_000


class RoomMade(Record):
    """Room for one more pod, for two, …, as far as moves make it. `doubt`: why that isn't all that moves could do; "" where they
    can do nothing, which is proven."""

    moved: tuple[Moved, ...] = ()
    doubt: str = ""


def room_made(case: PlanCase) -> RoomMade:
    """For its pods that wait, where moves start all of them; then for more and more pods of the change, as many as it has."""
    cluster, after = case.cluster, case.revisions[0].after
    if len(case.revisions) != 1 or case.revisions[0].placed is not None:
        return RoomMade(doubt="of several changes at once no moves were looked at")
    if cluster.node_count > _MOST_NODES:
        return RoomMade(doubt=f"no moves were looked at in a cluster of {cluster.node_count:,} nodes")
    shape = case.shape(0)
    pod = Pod(namespace=after.namespace, name=after.name, uid="", labels=shape.labels, spec=shape.spec)
    moved = _own_started(case)
    for number in range(1, min(_MOST_PLACES, max(1, after.pods_wanted)) + 1):
        try:
            with part(units=_UNITS):
                made, left = places_for(cluster.snapshot, pod, number)
        except TooLargeError:
            return RoomMade(moved=tuple(moved), doubt="moves were looked at as far as the work goes that they may cost")
        if len(made.starts) < number or made.held < made.draws:
            if not moved and not made.starts and made.is_most:
                return RoomMade()
            break
        if made.moves:
            moved.append(Moved(cluster=Cluster(left), moves=len(made.moves), seconds=made.seconds, steps=made.steps))
    return RoomMade(moved=tuple(moved), doubt="other moves than the fewest weren't looked at")


def _own_started(case: PlanCase) -> list[Moved]:
    """Its own pods that wait started, and all that wait, who else would take the room that its old pods leave; of many nodes only those."""
    cluster, key = case.cluster, case.revisions[0].after.key
    keys, pods = workload_keys(cluster.snapshot), cluster.snapshot.pods
    waiting = {keys[pods[number].uid] for number in cluster.waiting}
    found: list[Moved] = []
    for whose in dict.fromkeys((key, "" if waiting - {key} else key)) if key in waiting else ():
        if whose and waiting - {key} and cluster.node_count > _MANY_NODES:
            continue
        try:
            with part(units=2 * _UNITS):
                made, left = room_for(cluster.snapshot, Asked(workload=whose))
        except HeadroomError:
            continue
        if made.moves and made.held == made.draws and len(made.starts) == made.waiting:
            found.append(Moved(cluster=Cluster(left), moves=len(made.moves), seconds=made.seconds, steps=made.steps))
    return found
