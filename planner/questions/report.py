"""The question *report* (capacity review): every question of a review meeting, in one document.

`CHAPTERS` is the list: a chapter is a title, a question, and which rows of its answer are shown. A question that the list
names twice is asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from planner.capacity.capacity_answer import CapacityAnswer
from planner.capacity.gpu_inventory import free_words, supplies_of, unoffered_words
from planner.capacity.survival import Survival, survival
from planner.ground import parallel_parts
from planner.ground.errors import HeadroomError
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import settings_within
from planner.ground.table_formats import Row, Rows
from planner.ground.words import Text, count, listing, moment, sentence
from planner.health.drift.listing_rows import name_of, text_of
from planner.health.drift.model import DriftReport
from planner.kubernetes.object_records import Presence, Snapshot
from planner.questions import doctor, question_called
from planner.questions.diff import DiffAnswer
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import NOTHING, Fact, Inputs, Question, document, fact
from planner.questions.savings import SavingsAnswer, SavingsSettings
from planner.questions.table_wording import for_people, listed
from planner.remedies.rollout_with_remedies import stuck_film
from planner.rollout.film import Film

MOST_ROWS: Final = 200
"""Rows of a table that are shown; JSON and CSV have all of them."""
_ENVIRONMENTS: Final = 6  # that are told side by side
_MOST_LOST: Final = 500  # nodes that are lost one by one beside everything else


class ReportSettings(Record):
    pools: PoolSettings = settings_within(PoolSettings)


class ChapterAnswer(Record):
    """One chapter: which rows of which question, and why there are none where it can't be answered."""

    title: str
    question: str
    table: str
    sentence: Text
    rows: int
    not_known: str = ""


class InputAge(Record):
    """An input of the review and of when it is; `taken` is text, "" where it isn't known."""

    name: str
    taken: str = ""
    age_seconds: float | None = None


class ReportAnswer(Record):
    """What the review says; the chapters' own documents stand beside it (`also`)."""

    sentence: Text
    chapters: tuple[ChapterAnswer, ...]
    inputs: tuple[InputAge, ...]
    not_known: tuple[str, ...]


class Chapter(Record):
    """A chapter as it is listed.

    Attributes
    ----------
    rows : of the answer, where none of the question's tables is meant
    people : rows for people alone, where those of JSON and CSV are long
    shown : the columns that people get, each with its heading, where they aren't those of the question's listing; JSON and CSV
        have all of them
    said : the answer in a sentence; one that an earlier chapter has said isn't said again
    closer : for a chapter that asks again, of one thing in the first answer: its settings, None where there is none
    """

    title: str
    question: str
    table: str = ""
    shown: Mapping[str, str] | None = None
    rows: Callable[[Any], Rows] | None = None
    people: Callable[[Any], Rows] | None = None
    said: Callable[[Any], object] = lambda answer: getattr(answer, "sentence", "")
    closer: Callable[[Any], Any] | None = None


def _stranded_rows(capacity: CapacityAnswer) -> list[Row]:
    return [
        {
            "pods of": size.gpus,
            "free": size.free,
            "usable": size.free - size.stranded,
            "stranded": size.stranded,
            "why": "; ".join(f"{gpus} {reason}" for reason, gpus, _ in size.by_reason),
        }
        for size in (capacity.fragments.sizes[1:] if capacity.fragments else ())
    ]


def _most_saving(savings: SavingsAnswer) -> SavingsSettings | None:
    lines = [line for line in savings.lines if line.saved_usd is not None]
    best = max(lines, key=lambda line: line.saved_usd or 0.0, default=None)
    return SavingsSettings(workload=best.workload) if best else None


def _drift_rows(drift_report: DriftReport) -> list[Row]:
    """One row an aspect: what it is in the reference, which stands first, and in the others."""
    return [
        {
            "service": service.service,
            "what": name_of(row),
            "in each environment": _side_by_side(
                [f"{environment}: {text_of(row, place)}" for place, environment in enumerate(service.environments)]
            ),
        }
        for service in drift_report.services
        for row in service.differences
    ]


def _side_by_side(sentences: list[str]) -> list[str]:
    more = len(sentences) - _ENVIRONMENTS
    return [*sentences[:_ENVIRONMENTS], f"and {more:,} more"] if more > 0 else sentences


_WORKLOADS: Final = {
    "workload": "", "verdict": "its rollout now", "reason": "cause", "headline": "why", "replicas": "", "ready": "Ready",
    "gpus": "", "gpu_model": "", "node_pools": "",
}  # fmt: skip
CHAPTERS: Final = (
    Chapter(
        title="Unblock all",
        question="plan",
        table="measures",
        shown={
            "number": "no.",
            "what": "",
            "makes": "unblocks",
            "usd_per_month": "kept all month",
            "usd_per_rollout": "for one rollout",
            "command": "",
            "undo": "",
        },
    ),
    Chapter(
        title="Workloads that would get stuck if changed now, and all others",
        question="overview",
        table="workloads",
        shown=_WORKLOADS,
    ),
    Chapter(
        title="GPUs by model",
        question="overview",
        table="gpus",
        said=lambda capacity: "".join(
            f"{words}. " for words in (free_words(supplies_of(capacity.gpus)), unoffered_words(capacity.gpus)) if words
        ).strip(),
    ),
    Chapter(title="Node pools", question="capacity", table="pools"),
    Chapter(
        title="What still fits",
        question="capacity",
        table="fits",
        shown={
            "shape": "",
            "fits": "more fit",
            "at_least": "at least",
            "stops": "what stops the next",
            "where": "",
            "quota_lets_in": "",
        },
    ),
    Chapter(
        title="Stranded GPUs",
        question="capacity",
        table="stranded",
        rows=_stranded_rows,
        said=lambda capacity: capacity.fragments.sentence if capacity.fragments else capacity.sentence,
    ),
    Chapter(
        title="Cost by pool",
        question="costs",
        table="pools",
    ),
    Chapter(
        title="Allocation by namespace",
        question="costs",
        table="allocation",
    ),
    Chapter(
        title="Spot savings",
        question="savings",
        table="workloads",
        shown={
            "workload": "",
            "fit": "",
            "nodes": "",
            "on_demand_usd": "on demand, a month",
            "saved_usd": "saved, a month",
            "p5_usd": "saved at least, in 19 of 20 months",
            "why": "",
        },
    ),
    Chapter(
        title="What spot savings assume, for the workload that saves most",
        question="savings",
        table="assumptions",
        shown=dict.fromkeys(("assumption", "value", "unit", "source"), ""),
        closer=_most_saving,
    ),
    Chapter(
        title="Memory risks",
        question="memory",
        table="nodes",
        shown={
            "node": "",
            "node_pool": "",
            "pods": "",
            "allocatable_bytes": "",
            "request_bytes": "requested",
            "limit_bytes": "limits",
            "pods_without_limit": "",
            "working_set_bytes": "used",
            "until_hard_bytes": "until eviction",
            "first_to_go": "evicted first",
        },
        said=lambda memory: memory.cluster.sentence,
    ),
    Chapter(
        title="Restarts",
        question="restarts",
        table="loops",
        shown={
            "workload": "",
            "container": "",
            "activity": "state",
            "cause": "",
            "restarts": "",
            "sentence": "what",
            "cure": "what would help",
        },
        said=lambda restarts_answer: restarts_answer.report.sentence,
    ),
    Chapter(title="Drift between environments", question="drift", table="differences", people=_drift_rows),
    Chapter(
        title="Findings",
        question="findings",
        table="findings",
    ),
    Chapter(
        title="What could be read",
        question="doctor",
        table="kinds",
    ),
)
COMPARISON: Final = (
    Chapter(title="What changed: workloads", question="diff", table="workloads"),
    Chapter(title="What changed: numbers", question="diff", table="numbers"),
    Chapter(title="What changed: findings", question="diff", table="findings"),
)


class AnsweredQuestion(Record):
    """A question that was asked, with everything that is made of its answer."""

    name: str  # in the index
    settings: Any
    answer: Any

    @property
    def question(self) -> Question[Any, Any]:
        """What was asked."""
        question: Question[Any, Any] = question_called(self.name)
        return question


class Written(Record):
    """A chapter with its rows, and what people see of it.

    Attributes
    ----------
    said : its sentence, "" where an earlier chapter says the same
    shown : the first `MOST_ROWS` rows, in words and units
    more : how many aren't shown
    """

    chapter: ChapterAnswer
    rows: Rows
    said: str
    shown: Rows
    more: int


class Report(Record):
    """A report ready to be written in any form."""

    snapshot: Snapshot
    answer: ReportAnswer
    chapters: tuple[Written, ...]
    asked: dict[str, AnsweredQuestion] = field(default_factory=dict)
    film: Film | None = None  # of a rollout that is stuck
    losses: Survival | None = None

    def documents(self) -> list[dict[str, Any]]:
        """The documents of every question that was answered."""
        return [document(asked.question, self.snapshot, asked.settings, asked.answer) for asked in self.asked.values()]


def review(
    snapshot: Snapshot,
    settings: ReportSettings,
    inputs: Inputs = NOTHING,
    doing: Callable[[str], None] = lambda _: None,
) -> Report:
    """Ask everything; the first of ``inputs.others`` is what the cluster was before, `doing` is told each chapter."""
    chapters = (*(COMPARISON if inputs.others else ()), *CHAPTERS)
    titles = {chapter.question: chapter.title for chapter in reversed(chapters)}

    def ask(name: str) -> _Tried:
        doing(titles[name])
        return _tried(snapshot, settings, inputs, name)

    in_order = dict.fromkeys(chapter.question for chapter in chapters)  # what one holds another need not work out again
    tries, closer = _all_asked(in_order, ask, lambda first: _closer(snapshot, inputs, first[0]))
    questions = {name: question for name, (question, _) in tries.items() if question}
    failed, written = {name: why for name, (question, why) in tries.items() if not question}, list[Written]()
    for chapter in chapters:
        question, why = closer if chapter.closer and tries[chapter.question][0] else tries[chapter.question]
        written.append(_written(chapter, question, why, told={before.said for before in written}))
    answer = ReportAnswer(
        sentence=Text(_sentence(questions)),
        chapters=tuple(written_chapter.chapter for written_chapter in written),
        inputs=_inputs(snapshot, inputs),
        not_known=_not_known(snapshot, questions, failed),
    )
    overview = questions.get("overview")
    film, losses = (stuck_film(snapshot, overview.answer), _losses(snapshot, inputs)) if overview else (None, None)
    return Report(snapshot=snapshot, answer=answer, chapters=tuple(written), asked=questions, film=film, losses=losses)


def _losses(snapshot: Snapshot, inputs: Inputs) -> Survival | None:
    """What each loss would break, for the first page; None of a cluster too large for that beside everything else."""
    try:
        is_small = len(snapshot.nodes) <= _MOST_LOST
        return survival(snapshot, limits=inputs.limits, book=inputs.book, is_brief=True) if is_small else None
    except HeadroomError:
        return None


_Tried = tuple[AnsweredQuestion | None, str]
"""A question's answer, or why there is none."""
_ALONE: Final = ("overview", "plan")  # others stand on it; both have parts over all processes
_LONGEST: Final = "savings"  # it has parts, one of them long
_ALONG: Final = (("memory", "findings"),)  # what is asked together has something in common


def _all_asked(
    names: Collection[str], ask: Callable[[str], _Tried], closer: Callable[[_Tried], _Tried]
) -> tuple[dict[str, _Tried], _Tried]:
    """Question → what came of it; and the closer look at the longest of them, which the rest goes beside."""

    def each(together: Collection[str]) -> dict[str, _Tried]:
        return {name: ask(name) for name in together}

    tries = each(_ALONE)
    tries[_LONGEST], others = parallel_parts.along(lambda: ask(_LONGEST), _ALONG, each)
    tries |= {name: attempt for answered_group in others for name, attempt in answered_group.items()}
    rest = [name for name in names if name not in tries]
    looked, *more = parallel_parts.each(
        [_LONGEST, *rest], lambda name: closer(tries[name]) if name == _LONGEST else ask(name)
    )
    tries |= zip(rest, more, strict=True)
    return {name: tries[name] for name in ("overview", *names)}, looked


def _tried(snapshot: Snapshot, settings: ReportSettings, inputs: Inputs, name: str) -> _Tried:
    try:
        return _ask(snapshot, settings, inputs, name), ""
    except HeadroomError as error:
        return None, str(error)


def _ask(snapshot: Snapshot, settings: ReportSettings, inputs: Inputs, name: str) -> AnsweredQuestion:
    question = question_called(name)
    question_settings = question.settings()
    if hasattr(question_settings, "pools"):
        question_settings = question.settings(pools=settings.pools)
    if name == "diff":  # what was before comes first
        diff = question.answer(inputs.others[0], question_settings, Inputs(book=inputs.book, others=(snapshot,)))
    else:
        diff = question.answer(snapshot, question_settings, replace(inputs, others=()))
    lacking = question.not_known(snapshot, diff)
    if lacking is not None:
        raise lacking
    return AnsweredQuestion(name=name, settings=question_settings, answer=diff)


def _closer(snapshot: Snapshot, inputs: Inputs, first: AnsweredQuestion | None) -> _Tried:
    look = next(chapter.closer for chapter in CHAPTERS if chapter.closer and chapter.question == _LONGEST)
    settings = look(first.answer) if first else None
    if first is None or settings is None:
        return None, ""
    try:
        closer_answer = first.question.answer(snapshot, settings, Inputs(book=inputs.book))
    except HeadroomError as error:
        return None, str(error)
    return AnsweredQuestion(name=first.name, settings=settings, answer=closer_answer), ""


def _written(chapter: Chapter, question: AnsweredQuestion | None, failed: str, told: Container[str]) -> Written:
    """A chapter as it is written; `told`: the sentences of the chapters before it, which it doesn't repeat."""
    rows: Rows = []
    said = ""
    if question is not None:
        rows = chapter.rows(question.answer) if chapter.rows else question.question.rows(question.answer, chapter.table)
        said = str(chapter.said(question.answer))
    answer = ChapterAnswer(
        title=chapter.title, question=chapter.question, table=chapter.table, sentence=Text(said), rows=len(rows),
        not_known=failed,
    )  # fmt: skip
    whole = sentence(said) if said else ""
    people = chapter.people(question.answer) if question is not None and chapter.people else rows
    is_plain = not (chapter.shown or chapter.rows or chapter.people)
    listing = question.question.listing(chapter.table) if question is not None and is_plain else None
    if question is not None and listing is not None:
        shown = listed(listing, question.answer, listing.items(question.answer)[:MOST_ROWS])
    else:
        shown = for_people(people[:MOST_ROWS], chapter.shown)
    return Written(
        chapter=answer,
        rows=rows,
        said="" if whole in told else whole,
        shown=shown,
        more=max(0, len(people) - MOST_ROWS),
    )


def _sentence(questions: dict[str, AnsweredQuestion]) -> str:
    """What changed, what would get stuck, what it costs, what to look at: one line of each."""
    order = ("diff", "overview", "capacity", "costs", "savings", "findings")
    texts = [str(getattr(questions[name].answer, "sentence", "")).rstrip(".") for name in order if name in questions]
    return f"{'. '.join(phrase[:1].upper() + phrase[1:] for phrase in texts if phrase)}."


def _inputs(snapshot: Snapshot, given: Inputs) -> tuple[InputAge, ...]:
    def cluster(name: str, at: float) -> InputAge:
        age = None if given.now is None or at <= 0 else max(0.0, given.now - at)
        return InputAge(name=name, taken=moment(at), age_seconds=age)

    used = "the snapshot's one moment of metrics-server" if given.usages is None else "Prometheus"
    is_there = given.usages is not None or snapshot.presence.get("PodMetrics") is Presence.PRESENT
    return (
        cluster(f"snapshot {snapshot.source}", snapshot.taken_at),
        *(cluster(f"before: {other_cluster.source}", other_cluster.taken_at) for other_cluster in given.others),
        InputAge(
            name=f"prices: {given.book.source if given.book else 'none'}", taken=given.book.as_of if given.book else ""
        ),
        InputAge(name=f"use of memory and CPU: {used if is_there else 'none'}"),
        InputAge(name=f"limits of node pools: of {count(len(given.limits), 'pool')}"),
    )


def _not_known(snapshot: Snapshot, asked: dict[str, AnsweredQuestion], failed: dict[str, str]) -> tuple[str, ...]:
    """Everything that an answer lacks: what wasn't seen, what couldn't be asked, what has no price, what isn't compared."""
    said = [f"{name}: {why}" for name, why in failed.items()]
    if "doctor" in asked:
        answer: doctor.DoctorAnswer = asked["doctor"].answer
        lacking = [kind for kind in answer.kinds if kind.objects is None and kind.weight is not doctor.Weight.NOTHING]
        said += [f"{one.kind} {'was refused' if one.presence is Presence.REFUSED else 'is not in the input'}: {one.costs}" for one in lacking]  # fmt: skip
        said += [str(problem.what) for problem in answer.problems]
    if "overview" in asked:
        unknown = [line.workload for line in asked["overview"].answer.workloads if line.verdict.value == "unknown"]
        if unknown:
            said.append(f"the verdict of {count(len(unknown), 'workload')}: {listing(unknown)}")
    if "costs" in asked:
        said += [f"{count(len(group.nodes), 'node')} without a price: {group.sentence}" for group in asked["costs"].answer.unpriced]  # fmt: skip
    if "diff" in asked:
        compared: DiffAnswer = asked["diff"].answer
        said += compared.notes
    if not snapshot.taken_at:
        said.append("when the snapshot was taken")
    return tuple(dict.fromkeys(said))


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: ReportSettings, inputs: Inputs = NOTHING) -> ReportAnswer:
    """`review`, without its chapters' rows."""
    return review(snapshot, settings, inputs).answer


def facts(report: ReportAnswer) -> Iterator[Fact]:
    """How much there is in each chapter."""
    for place, chapter_answer in enumerate(report.chapters, start=1):
        yield fact("chapter_rows", chapter_answer.rows, "rows", chapter=place, title=chapter_answer.title)
    yield fact("not_known", len(report.not_known), "inputs")


def chapter_rows(found: ReportAnswer) -> list[Row]:
    """One row a chapter."""
    names = ("question", "rows", "sentence", "not_known")
    return [{"chapter": chapter.title} | {name: getattr(chapter, name) for name in names} for chapter in found.chapters]


QUESTION: Final = Question(
    name="report",
    settings=ReportSettings,
    answer=answer,
    facts=facts,
    tables={"chapters": chapter_rows},
)
