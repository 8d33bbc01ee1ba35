"""The question *restarts*: restart loops, what a fix would need, whether the nodes have it, and its rollout.

The rooms `memory` and `rollout` don't know each other; here a loop's suggestion becomes a change put to the engine.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from planner.capacity.display_filter import Filter, Selection
from planner.capacity.rollout_readiness import filtered
from planner.ground import parallel_parts
from planner.ground.answer_layout import Figure, Listing
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting, settings_within
from planner.ground.words import Text, count
from planner.health.memory.request_suggestions import Suggestion
from planner.health.restarts import listing_columns
from planner.health.restarts.model import Activity, LineVerdict, Loop, RestartReport
from planner.health.restarts.report import restarts
from planner.health.restarts.spare_node_memory import NodeRoom, room_sentence, rooms_of
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import POD
from planner.questions.question import NOTHING, Inputs, Question, Want
from planner.remedies.patch_outcome import simulate_patch
from planner.rollout.answers import RolloutResult

MOST_CURES = 20


class RestartsSettings(Record):
    cures: int = setting(
        MOST_CURES,
        least=0,
        most=1000,
        is_everyday=True,
        help="How many cures are simulated at most: each is a rollout.",
    )
    workload: str = setting("", short="-w", form="W", is_workload=True, is_everyday=True, help="Only this workload.")
    filter: Filter = settings_within(Filter)


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

    @property
    def sentence(self) -> Text:
        return self.report.sentence

    def cure_of(self, loop: Loop) -> Cure | None:
        return next(
            (cure for cure in self.cures if (cure.workload, cure.container) == (loop.workload, loop.container)), None
        )


def with_cures(snapshot: Snapshot, plan: RestartPlan, most: int = MOST_CURES) -> RestartPlan:
    """`plan` with the cures of the first `most` of its loops that have one."""
    curable = [loop for loop in plan.report.loops if loop.suggestion is not None][:most]
    cures = parallel_parts.each(curable, partial(cure, snapshot))
    return replace(plan, cures=tuple(filter(None, cures)))


def cure(snapshot: Snapshot, loop: Loop) -> Cure | None:
    """What the values that are suggested would take and do; None where none are."""
    suggestion = loop.suggestion
    if suggestion is None:
        return None
    rooms = rooms_of(snapshot, loop, suggestion)
    rollout = simulate_patch(snapshot, loop.workload, suggestion.patch)
    return Cure(
        workload=loop.workload,
        container=loop.container,
        suggestion=suggestion,
        patch_yaml=rollout.patch_yaml,
        command=rollout.command,
        rooms=rooms,
        room_sentence=room_sentence(rooms),
        rollout=rollout.rollout,
        note=" ".join(filter(None, (rollout.note, suggestion.unproven))),
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: RestartsSettings, inputs: Inputs = NOTHING) -> RestartPlan:
    """`restarts` of what the filter lets through, with the history of use where one was given."""
    whole = RestartPlan(report=restarts(snapshot, inputs.usages), cures=())
    keys = {*(workload.key for workload in snapshot.workloads), *(loop.workload for loop in whole.report.loops)}
    selection = filtered(snapshot, settings.filter).only(settings.workload, keys)
    return with_cures(snapshot, narrowed(whole, selection), settings.cures)


def narrowed(whole: RestartPlan, selection: Selection) -> RestartPlan:
    """The loops that are let through."""
    if selection.is_all:
        return whole
    every = whole.report.loops
    loops = tuple(loop for loop in every if _passes(loop, selection))
    sentence = selection.beside(whole.report.sentence, len(loops), len(every), "loop")
    report = replace(whole.report, loops=loops, sentence=sentence)
    return replace(whole, report=report, hidden=len(every) - len(loops))


def _passes(loop: Loop, selection: Selection) -> bool:
    """Its workload passes or one of its pods; the pods of some are gone."""
    return selection.about(loop.workload) or any(selection.pod(loop.namespace, pod) for pod in loop.pods)


_LOOPS: Final[Listing[RestartPlan, Loop]] = Listing(
    name="loops", items=lambda answer: answer.report.loops, columns=listing_columns.LOOP, written=listing_columns.WHY
)
_LINES: Final[Listing[RestartPlan, listing_columns.LineOf]] = Listing(
    name="lines",
    items=lambda answer: [(loop, line) for loop in answer.report.loops for line in loop.lines],
    columns=listing_columns.LINE,
    is_shown=False,
)
_MARK: Final = {LineVerdict.NOISE: "noise", LineVerdict.ONLY_FAILING: "only here", LineVerdict.UNSURE: "unsure"}


def _why(of: tuple[Loop, Cure | None]) -> str:
    """A loop's sentence, its evidence, what would help, and the lines of its log that tell."""
    loop, cure = of
    sentences = [loop.sentence, *(f"{evidence.source.words}: {evidence.text}" for evidence in loop.diagnosis.evidence)]
    sentences.append(f"What would help: {loop.diagnosis.cure}.")
    if loop.suggestion is not None:
        sentences += [f"Suggested: {loop.suggestion.text}", f"  {loop.suggestion.rule}", f"  {loop.suggestion.source}"]
    if cure is not None:
        rollout = f"  Its rollout: {cure.rollout.sentence}" if cure.rollout else ""
        sentences += [f"  {cure.room_sentence}", *filter(None, (rollout, cure.note and f"  {cure.note}"))]
    elif loop.suggestion is not None:
        sentences.append("  Its room and rollout weren't tried: --cures says how many are.")
    for line in loop.lines:
        sentences.append(f"log, {_MARK[line.verdict]}, {count(line.lines, 'line')}: {line.template}")
        sentences.append(f"  {line.sentence}.")
    return "\n".join(map(str, sentences))


_CAUSES: Final[Listing[RestartPlan, tuple[Loop, Cure | None]]] = Listing(
    name="causes", items=lambda answer: [(loop, answer.cure_of(loop)) for loop in answer.report.loops], line=_why
)

QUESTION: Final = Question(
    name="restarts",
    settings=RestartsSettings,
    answer=answer,
    figures=(Figure("restart_loops", lambda answer: len(answer.report.loops), "loops"),),
    listings=(_LOOPS, _LINES, _CAUSES),
    notes=lambda answer: [f"Note: {gap}" for gap in answer.report.gaps],
    about="""What restarts or fails to start, since when, how often and why: evidence, noise apart, and what would help.

    Log lines are shown with times, numbers, addresses and secrets taken out. Exits 0 when the question is answered, 4
    when the pods are missing from the snapshot; --fail-on looping exits 5 when something is.
    """,
    wants=(Want.USAGE,),
    states={activity.value: ExitStatus.REFUSED for activity in Activity},
    states_of=lambda answer: {loop.activity.value for loop in answer.report.loops},
    hangs_on=(POD.name,),
)
