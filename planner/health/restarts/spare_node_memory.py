"""Whether a restart loop's nodes have room for the memory that would fix it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.ground.records import Record
from planner.ground.well_known_names import MEMORY
from planner.ground.words import count, measured_bytes
from planner.health.memory.request_suggestions import Suggestion
from planner.health.restarts.model import Loop
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.requests import pod_requests


class NodeRoom(Record):
    """A node where pods of the loop are: `free_bytes` not requested, `more_bytes` the cure needs on top."""

    node: str
    free_bytes: int
    more_bytes: int

    @property
    def fits(self) -> bool:
        return self.more_bytes <= self.free_bytes


def rooms_of(snapshot: Snapshot, loop: Loop, suggestion: Suggestion) -> tuple[NodeRoom, ...]:
    """For each node where the loop's pods are: requested and free memory, and what the cure adds there."""
    allocatable = {node.name: node.allocatable.get(MEMORY, 0) for node in snapshot.nodes}
    requested: Counter[str] = Counter()
    more: Counter[str] = Counter()
    for pod in snapshot.pods:
        if not pod.holds_room or pod.node_name not in allocatable:
            continue
        requested[pod.node_name] += pod_requests(pod.spec).get(MEMORY, 0)
        if pod.namespace == loop.namespace and pod.name in loop.pods:
            today = next((c.requests.get(MEMORY, 0) for c in pod.spec.containers if c.name == loop.container), 0)
            more[pod.node_name] += max(0, suggestion.memory_request_bytes - today)
    return tuple(
        NodeRoom(node=node, free_bytes=allocatable[node] - requested[node], more_bytes=more[node])
        for node in sorted(more)
    )


def room_sentence(rooms: Sequence[NodeRoom]) -> str:
    """Which node is the tightest, or lacks most."""
    if not rooms:
        return "None of its pods is on a node of this snapshot."
    short = [room for room in rooms if not room.fits]
    if not short:
        tightest = min(rooms, key=lambda room: room.free_bytes - room.more_bytes)
        where = "The node it is on has" if len(rooms) == 1 else f"Its {count(len(rooms), 'node')} have"
        return (
            f"{where} the room: {measured_bytes(tightest.free_bytes)} is not requested"
            f"{f' on {tightest.node}, the tightest' if len(rooms) > 1 else f' on {tightest.node}'}, "
            f"and {measured_bytes(tightest.more_bytes)} more is needed there."
        )
    worst = max(short, key=lambda room: room.more_bytes - room.free_bytes)
    return (
        f"{len(short):,} of {count(len(rooms), 'node')} it is on lacks the room: {worst.node} has "
        f"{measured_bytes(max(0, worst.free_bytes))} not requested, and {measured_bytes(worst.more_bytes)} more is needed. "
        "The pods may go elsewhere: see the rollout."
    )
