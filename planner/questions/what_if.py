"""The cluster after a list of changes, answered like today's, beside it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from planner.capacity.changes import FORMS, Change, parse_changes, text_of
from planner.capacity.gpu_lines import supplies_of
from planner.capacity.headroom import Fit, fits
from planner.capacity.pod_shapes import standard_shapes
from planner.capacity.room import shape
from planner.capacity.what_if import Step, apply
from planner.ground.budget import allowed
from planner.ground.errors import ChangeError, InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.settings import setting, settings_within
from planner.ground.tables import Row
from planner.ground.words import count, usd
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.kinds import NODE, POD, ROLLING
from planner.kubernetes.records import Snapshot
from planner.pricing.bill import USD_A_MONTH, cost_cluster
from planner.pricing.model import PriceBook
from planner.questions import overview as overview_question
from planner.questions.capacity import CapacityAnswer, capacity
from planner.questions.pool_settings import PoolSettings
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.rollout import prepared as prepared_question
from planner.rollout.answers import Verdict

_FORMS: Final = "; ".join(f"{form} ({what})" for form, what in FORMS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfSettings:
    changes: tuple[Change, ...] = setting(
        (),
        option="--change",
        label="Changes, in their order",
        form="TEXT",
        parse=parse_changes,
        help=f"A change to look beyond: {_FORMS}.",
    )
    shape: str = setting("", form="TEXT", help="A pod shape to fit before and after: gpu=2,cpu=8,memory=64Gi.")
    with_rollouts: bool = setting(
        True,
        name="rollouts",
        label="Compare every workload's rollout too",
        help="Play every workload's rollout before and after: seconds, on a cluster of thousands of nodes.",
    )
    pools: PoolSettings = settings_within(PoolSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """A workload whose own rollout would go otherwise."""

    workload: str
    before: Verdict
    after: Verdict
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FitChange:
    """How many more pods of a shape fit, today and then."""

    shape: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfAnswer:
    """The same answers for the changed cluster, beside today's."""

    sentence: str
    changes: str
    steps: tuple[Step, ...]
    before: CapacityAnswer
    after: CapacityAnswer
    fits: tuple[FitChange, ...]
    verdicts: tuple[VerdictChange, ...] = ()
    completing_before: int | None = None  # None where rollouts were not played
    completing_after: int | None = None
    unknown_before: int | None = None  # rollouts of which it isn't known
    unknown_after: int | None = None
    waiting_before: int
    waiting_after: int
    usd_per_month_before: float | None = (
        None  # list prices less discounts; None without a price book, or with gaps in it
    )
    usd_per_month_after: float | None = None


def what_if(
    snapshot: Snapshot, changes: tuple[Change, ...], limits: tuple[PoolLimits, ...] = (), shape_text: str = "",
    with_rollouts: bool = True, book: PriceBook | None = None,
) -> WhatIfAnswer:  # fmt: skip
    """The cluster after `changes`, answered like today's.

    `with_rollouts`: every workload's own rollout is played on both clusters too (seconds, on one of thousands of nodes).
    Raises what `apply` and `shape` do.
    """
    today = prepared_question.compiled(snapshot)
    made = apply(today, changes, limits)
    then = replace(made.snapshot, digest=_digest(snapshot, changes))
    before = snapshot.derived.once(capacity, snapshot, limits)
    after = capacity(then, limits)
    shapes = _fit_changes(before, after, fits(prepared_question.compiled(then), standard_shapes(today)))
    answer = WhatIfAnswer(
        sentence="",
        changes=text_of(changes),
        steps=made.steps,
        before=before,
        after=after,
        fits=(*_typed(snapshot, then, shape_text), *shapes),
        waiting_before=made.waiting_before,
        waiting_after=len(prepared_question.compiled(then).waiting),
        usd_per_month_before=cost_cluster(book, snapshot).usd_per_month if book else None,
        usd_per_month_after=cost_cluster(book, then).usd_per_month if book else None,
    )
    answer = _with_rollouts(answer, snapshot, then) if with_rollouts else answer
    return replace(answer, sentence=_what_if_sentence(answer))


def _with_rollouts(answer: WhatIfAnswer, snapshot: Snapshot, then: Snapshot) -> WhatIfAnswer:
    now = snapshot.derived.once(overview_question.overview, snapshot).workloads
    later = overview_question.overview(then).workloads
    before = {line.workload: line.verdict for line in now}
    todays, thens = (Counter(line.verdict for line in lines) for lines in (now, later))
    return replace(
        answer,
        verdicts=tuple(
            VerdictChange(workload=one.workload, before=before[one.workload], after=one.verdict, sentence=one.sentence)
            for one in later
            if before.get(one.workload, one.verdict) is not one.verdict
        ),
        completing_before=todays[Verdict.COMPLETES],
        completing_after=thens[Verdict.COMPLETES],
        unknown_before=todays[Verdict.UNKNOWN],
        unknown_after=thens[Verdict.UNKNOWN],
    )


def _typed(snapshot: Snapshot, then: Snapshot, text: str) -> Iterator[FitChange]:
    if text:
        typed = shape(snapshot, text)
        yield FitChange(shape=typed.shape, before=typed.count, after=shape(then, text).count)


def _digest(snapshot: Snapshot, changes: tuple[Change, ...]) -> str:
    return hashlib.blake2b(f"{snapshot.digest}\n{text_of(changes)}".encode(), digest_size=16).hexdigest()


def _fit_changes(before: CapacityAnswer, after: CapacityAnswer, standard: tuple[Fit, ...]) -> tuple[FitChange, ...]:
    """Standard shapes are those of today's mix on both sides; workloads by name."""
    then = {one.shape: one.count for one in (*standard, *after.workloads) if not one.unknown}
    return tuple(
        FitChange(shape=one.shape, before=one.count, after=then[one.shape])
        for one in (*before.standard, *before.workloads)
        if one.shape in then and not one.unknown
    )


def _what_if_sentence(answer: WhatIfAnswer) -> str:
    """What the changes come to, the troubles first."""
    failed = [step for step in answer.steps if not step.is_done]
    if not answer.steps:
        return "nothing is changed"
    parts = [str(step.sentence) for step in (failed or answer.steps[:1])]
    worse = sum(one.before is Verdict.COMPLETES for one in answer.verdicts)
    better = sum(one.after is Verdict.COMPLETES and one.before is not Verdict.UNKNOWN for one in answer.verdicts)
    if worse:
        parts.append(f"{count(worse, 'rollout that completes', 'rollouts that complete')} today would not")
    if better:
        parts.append(f"{count(better, 'rollout that does not complete', 'rollouts that do not complete')} today would")
    today, then = answer.usd_per_month_before, answer.usd_per_month_after
    if today is not None and then is not None and abs(then - today) >= 1:
        parts.append(
            f"{usd(abs(then - today))} a month {'more' if then > today else 'less'} at list price: {usd(then)} instead of "
            f"{usd(today)}"
        )
    return "; ".join(parts)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
@allowed()
def answer(snapshot: Snapshot, settings: WhatIfSettings, given: Given = NOTHING) -> WhatIfAnswer:
    """`what_if` of what was asked.

    Raises
    ------
    HeadroomError
        When a change doesn't apply to the snapshot, or the shape can't be read.
    """
    if not settings.changes:
        raise ChangeError("nothing is changed", mend="Give a change, such as drain:NODE")
    known = settings.pools.known(given)
    try:
        return what_if(snapshot, settings.changes, known, settings.shape, settings.with_rollouts, given.book)
    except InputError as error:  # "there is no pool" of nodes that weren't listed is no bad input
        raise QUESTION.not_known(snapshot) or error from None


def facts(answer: WhatIfAnswer) -> Iterator[Fact]:
    """Each step, what fits, pods that wait and rollouts that complete, today and then."""
    for place, step in enumerate(answer.steps, start=1):
        yield fact("step_is_done", step.is_done, step=place, change=step.change)
    for one in answer.fits:
        yield fact("fits_today", one.before, "pods", shape=one.shape)
        yield fact("fits_then", one.after, "pods", shape=one.shape)
    yield fact("pods_waiting_today", answer.waiting_before, "pods")
    yield fact("pods_waiting_then", answer.waiting_after, "pods")
    yield fact("cost_today", answer.usd_per_month_before, USD_A_MONTH)
    yield fact("cost_then", answer.usd_per_month_after, USD_A_MONTH)
    yield fact("rollouts_completing_today", answer.completing_before, "workloads")
    yield fact("rollouts_completing_then", answer.completing_after, "workloads")
    for changed in answer.verdicts:
        yield fact("workload_verdict_today", changed.before.value, workload=changed.workload)
        yield fact("workload_verdict_then", changed.after.value, workload=changed.workload)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFigure:
    """A number of one resource of GPUs today and then; `field` of `Supply`, and what people call it."""

    noun: str
    resource: str
    field: str
    called: str
    today: int
    then: int

    @property
    def name(self) -> str:
        return self.noun if self.field == "allocatable" else f"{self.noun} {self.called}"


_GPU_FIGURES: Final = {"allocatable": "in all", "free": "free", "out_of_use": "out of use", "pending": "wanted"}


def gpu_figures(answer: WhatIfAnswer) -> Iterator[GpuFigure]:
    """GPUs in all, free, wanted, and out of use where some are: each resource of either side by itself."""
    sides = (answer.before, answer.after)
    today, then = ({(one.resource, one.sharing, one.profile): one for one in supplies_of(side.gpus)} for side in sides)
    for key, one in {**then, **today}.items():
        for field, called in _GPU_FIGURES.items():
            now, later = (getattr(side.get(key), field, 0) for side in (today, then))
            if now or later or field != "out_of_use":
                yield GpuFigure(noun=one.noun, resource=one.resource, field=field, called=called, today=now, then=later)


def figure_rows(answer: WhatIfAnswer) -> list[Row]:
    """The key figures today and then, one a row; empty where one isn't known."""
    rows: list[Row] = []

    def row(figure: str, unit: str, today: float | None, then: float | None) -> None:
        known = today is not None and then is not None
        change = (then or 0) - (today or 0) if known else None
        rows.append({"figure": figure, "unit": unit, "today": today, "then": then, "change": change})

    sides = (answer.before, answer.after)
    row("nodes", "nodes", *(sum(line.pool.node_count for line in side.pools) for side in sides))
    for one in gpu_figures(answer):
        if one.field != "pending":
            row(one.name, one.resource, one.today, one.then)
    row("pods waiting", "pods", answer.waiting_before, answer.waiting_after)
    row("rollouts that complete", "workloads", answer.completing_before, answer.completing_after)
    if answer.unknown_before or answer.unknown_after:
        row("rollouts not known", "workloads", answer.unknown_before, answer.unknown_after)
    row("cost", USD_A_MONTH, answer.usd_per_month_before, answer.usd_per_month_after)
    return rows


def fit_rows(answer: WhatIfAnswer) -> list[Row]:
    """How many more of each shape fit, today and then."""
    return [{"shape": one.shape, "today": one.before, "then": one.after} for one in answer.fits]


def step_rows(answer: WhatIfAnswer) -> list[Row]:
    """One row a change."""
    return [{"change": str(step.change), "done": step.is_done, "sentence": step.sentence} for step in answer.steps]


def verdict_rows(answer: WhatIfAnswer) -> list[Row]:
    """One row a workload whose rollout goes otherwise."""
    return [
        {"workload": one.workload, "today": one.before.value, "then": one.after.value, "sentence": one.sentence}
        for one in answer.verdicts
    ]


def _status(answer: WhatIfAnswer) -> ExitStatus:
    """A change that doesn't get through is stuck."""
    return ExitStatus.ANSWERED if all(step.is_done for step in answer.steps) else ExitStatus.STUCK


QUESTION: Final = Question(
    name="what_if",
    settings=WhatIfSettings,
    result=WhatIfAnswer,
    answer=answer,
    facts=facts,
    tables={"figures": figure_rows, "fits": fit_rows, "steps": step_rows, "verdicts": verdict_rows},
    status=_status,
    leaves_open=lambda answer: bool(answer.unknown_before or answer.unknown_after),
    hangs_on=(NODE.name, POD.name),
    lists=("PodDisruptionBudget", *(kind.name for kind in ROLLING)),
    is_of_lists=True,
)
