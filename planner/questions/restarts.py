"""Restart loops joined with the scheduler: what a cure would take, whether the nodes have it, what its rollout does.

The rooms `memory` and `rollout` don't know each other; here a loop's suggestion becomes a change put to the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

from planner.capacity.filters import Filter, Kept
from planner.capacity.overview import kept_by
from planner.capacity.patched import put
from planner.ground import parts
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record, replace
from planner.ground.settings import setting, settings_within
from planner.ground.sheet import Figure, Listing
from planner.ground.vocabulary import MEMORY
from planner.ground.words import count, measured_bytes
from planner.inventory.usage import Usage
from planner.kubernetes.kinds import POD
from planner.kubernetes.records import Snapshot
from planner.kubernetes.requests import pod_requests
from planner.memory.suggestion import Suggestion
from planner.questions.question import NOTHING, Given, Question
from planner.restarts import rows
from planner.restarts.model import Activity, Loop, RestartReport
from planner.restarts.report import restarts as find_restarts
from planner.rollout.answers import RolloutResult

MOST_CURES = 20


class RestartsSettings(Record):
    cures: int = setting(
        MOST_CURES, least=0, most=1000, help="Cures put to the engine at most: each is a simulated rollout."
    )
    filter: Filter = settings_within(Filter)


class NodeRoom(Record):
    """A node where pods of the loop are: `free_bytes` nobody has requested, `more_bytes` the cure needs on top."""

    node: str
    free_bytes: int
    more_bytes: int

    @property
    def fits(self) -> bool:
        return self.more_bytes <= self.free_bytes


class Cure(Record):
    """What one loop would take, and what happens when it is given.

    `rollout` is None where nothing rolls the change out (a bare pod, a Job) or the engine can't answer; `note` says so, and where
    that the rollout ends isn't that the cure holds.
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


class RestartPlan(Record):
    report: RestartReport
    cures: tuple[Cure, ...]
    hidden: int = 0  # loops, by the filter

    def cure_of(self, loop: Loop) -> Cure | None:
        return next(
            (cure for cure in self.cures if (cure.workload, cure.container) == (loop.workload, loop.container)), None
        )


def restarts(snapshot: Snapshot, usages: tuple[Usage, ...] | None = None, most_cures: int = MOST_CURES) -> RestartPlan:
    """The loops of `snapshot` and, for those that more memory or CPU would help, the cure put to the engine.

    `usages` is a history of use (Prometheus) in place of the snapshot's PodMetrics.
    """
    return with_cures(snapshot, RestartPlan(report=find_restarts(snapshot, usages), cures=()), most_cures)


def with_cures(snapshot: Snapshot, plan: RestartPlan, most: int = MOST_CURES) -> RestartPlan:
    """`plan` with the cures of the first `most` of its loops that have one."""
    curable = [loop for loop in plan.report.loops if loop.suggestion is not None][:most]
    return replace(plan, cures=tuple(parts.each(curable, partial(_cure, snapshot))))


def cure(snapshot: Snapshot, loop: Loop) -> Cure | None:
    """What the values that are suggested would take and do; None where none are."""
    return None if loop.suggestion is None else _cure(snapshot, loop)


def _cure(snapshot: Snapshot, loop: Loop) -> Cure:
    suggestion = loop.suggestion
    assert suggestion is not None
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
        note=" ".join(filter(None, (found.note, suggestion.unproven))),
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
        f"{len(short):,} of {count(len(rooms), 'node')} it is on lacks the room: {worst.node} has "
        f"{measured_bytes(max(0, worst.free_bytes))} not requested, and {measured_bytes(worst.more_bytes)} more is needed. "
        "The pods may go elsewhere: see the rollout."
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: RestartsSettings, given: Given = NOTHING) -> RestartPlan:
    """`restarts` of what the filter lets through, with the history of use where one was given."""
    whole = restarts(snapshot, given.usages, most_cures=0)
    return with_cures(snapshot, narrowed(whole, kept_by(snapshot, settings.filter)), settings.cures)


def narrowed(whole: RestartPlan, kept: Kept) -> RestartPlan:
    """The loops that are let through."""
    if kept.is_all:
        return whole
    every = whole.report.loops
    loops = tuple(loop for loop in every if _passes(loop, kept))
    sentence = kept.beside(whole.report.sentence, len(loops), len(every), "loop")
    report = replace(whole.report, loops=loops, sentence=sentence)
    return replace(whole, report=report, hidden=len(every) - len(loops))


def _passes(loop: Loop, kept: Kept) -> bool:
    """Its workload passes or one of its pods; the pods of some are gone."""
    return kept.about(loop.workload) or any(kept.pod(loop.namespace, pod) for pod in loop.pods)


LOOPS: Final[Listing[RestartPlan, Loop]] = Listing(
    name="loops", items=lambda answer: answer.report.loops, columns=rows.LOOP
)
LINES: Final[Listing[RestartPlan, rows.LineOf]] = Listing(
    name="lines",
    items=lambda answer: [(loop, line) for loop in answer.report.loops for line in loop.lines],
    columns=rows.LINE,
    is_shown=False,
)

QUESTION: Final = Question(
    name="restarts",
    settings=RestartsSettings,
    result=RestartPlan,
    answer=answer,
    figures=(Figure("restart_loops", lambda answer: len(answer.report.loops), "loops"),),
    listings=(LOOPS, LINES),
    states={activity.value: ExitStatus.REFUSED for activity in Activity},
    states_of=lambda answer: {loop.activity.value for loop in answer.report.loops},
    hangs_on=(POD.name,),
)
