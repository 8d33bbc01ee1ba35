"""Restart loops joined with the scheduler: what a cure would take, whether the nodes have it, what its rollout does.

The rooms `memory` and `rollout` don't know each other; here a loop's suggestion becomes a change put to the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from planner.inventory.usage import Usage
from planner.kubernetes.records import Snapshot
from planner.kubernetes.requests import pod_requests
from planner.memory.suggestion import Suggestion
from planner.questions.patched import put
from planner.restarts import restarts as find_restarts
from planner.restarts.model import Loop, RestartReport
from planner.rollout.answers import RolloutResult
from planner.vocabulary import MEMORY
from planner.words import count, measured_bytes

MOST_CURES = 20  # each is a simulated rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRoom:
    """A node where pods of the loop are: `free_bytes` nobody has requested, `more_bytes` the cure needs on top."""

    node: str
    free_bytes: int
    more_bytes: int

    @property
    def fits(self) -> bool:
        return self.more_bytes <= self.free_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cure:
    """What one loop would take, and what happens when it is given.

    `rollout` is None where nothing rolls the change out (a bare pod, a Job) or the engine can't answer; `note` says so.
    """

    workload: str
    container: str
    suggestion: Suggestion
    patch_yaml: str
    command: str
    rooms: tuple[NodeRoom, ...]
    room_sentence: str
    rollout: RolloutResult | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPlan:
    report: RestartReport
    cures: tuple[Cure, ...]

    def cure_of(self, loop: Loop) -> Cure | None:
        return next(
            (cure for cure in self.cures if (cure.workload, cure.container) == (loop.workload, loop.container)), None
        )


def restarts(snapshot: Snapshot, usages: tuple[Usage, ...] | None = None) -> RestartPlan:
    """The loops of `snapshot` and, for those that more memory or CPU would help, the cure put to the engine.

    `usages` is a history of use (Prometheus) in place of the snapshot's PodMetrics.
    """
    report = find_restarts(snapshot, usages)
    wanting = [loop for loop in report.loops if loop.suggestion is not None][:MOST_CURES]
    return RestartPlan(
        report=report, cures=tuple(_cure(snapshot, loop, loop.suggestion) for loop in wanting if loop.suggestion)
    )


def _cure(snapshot: Snapshot, loop: Loop, suggestion: Suggestion) -> Cure:
    rooms = _rooms(snapshot, loop, suggestion)
    found = put(snapshot, loop.workload, suggestion.patch)
    return Cure(
        workload=loop.workload,
        container=loop.container,
        suggestion=suggestion,
        patch_yaml=found.patch_yaml,
        command=found.command,
        rooms=rooms,
        room_sentence=_room_sentence(rooms),
        rollout=found.rollout,
        note=found.note,
    )


def _rooms(snapshot: Snapshot, loop: Loop, suggestion: Suggestion) -> tuple[NodeRoom, ...]:
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


def _room_sentence(rooms: Sequence[NodeRoom]) -> str:
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
        f"{len(short)} of {count(len(rooms), 'node')} it is on lacks the room: {worst.node} has "
        f"{measured_bytes(max(0, worst.free_bytes))} not requested, and {measured_bytes(worst.more_bytes)} more is needed. "
        "The pods may go elsewhere: see the rollout."
    )
