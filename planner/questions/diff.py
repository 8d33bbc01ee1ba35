"""What differs between two snapshots, or between one and a what-if: only that, and a sentence on top."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from planner.capacity import overview as overviews
from planner.capacity.changes import Change, parse_changes, text_of
from planner.capacity.overview import WorkloadOverview
from planner.capacity.what_if import apply
from planner.ground import parts
from planner.ground.errors import HeadroomError, InputError
from planner.ground.records import Record, replace
from planner.ground.settings import setting
from planner.ground.sheet import Column, Figure, Listing
from planner.ground.words import Text, count, listing, usd
from planner.history.days import since
from planner.history.levels import BILL, IDLE, Streak
from planner.inventory.changed import SpecChange, changed
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.kinds import kind_in
from planner.kubernetes.records import Finding, FrozenMap, Severity, Snapshot
from planner.questions import costs, findings, overview, savings
from planner.questions.question import NOTHING, Fact, Given, Question, Want
from planner.questions.wording import heading
from planner.rollout.answers import Verdict
from planner.rollout.prepared import compiled

_NUMBERS: Final = (
    "nodes", "pods", "pods_waiting", "gpus_allocatable", "gpus_requested", "gpus_free", "gpus_out_of_use", "gpus_pending",
)  # fmt: skip
_MONEY: Final = (
    BILL,
    IDLE,
    "pool_cost_with_sustained_use",
    "pool_idle_with_sustained_use",
    "nodes_without_price",
    "spot_saving",
)
_SMALLEST_USD: Final = 0.005  # below, two sums of the same prices differ by rounding only


class DiffSettings(Record):
    changes: tuple[Change, ...] = setting(
        (),
        option="--change",
        label="Changes, in their order",
        form="TEXT",
        parse=parse_changes,
        help="Compare with the same cluster after a change, as headroom capacity --change takes it.",
    )


class WorkloadDifference(Record):
    """A workload whose own rollout goes otherwise, that is new (`before` None) or gone (`after` None). `sentence` is then's."""

    workload: str
    before: Verdict | None
    after: Verdict | None
    sentence: str


class NumberDifference(Record):
    """A number that differs; None where it isn't known, or there is none."""

    metric: str
    labels: FrozenMap[str]
    unit: str
    before: float | None
    after: float | None


class DiffAnswer(Record):
    """Only what differs. `notes` say which part is missing and why, and which change doesn't get through."""

    sentence: Text
    before: str
    after: str
    workloads: tuple[WorkloadDifference, ...]
    numbers: tuple[NumberDifference, ...]
    appeared: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    changed: tuple[SpecChange, ...] = ()  # what people changed; the rest follows from it
    since: tuple[Streak, ...] = ()  # since when workloads that differ are as they are then, where a history tells


def answer(snapshot: Snapshot, settings: DiffSettings, given: Given = NOTHING) -> DiffAnswer:
    """`snapshot` against the first of ``given.others``, or against itself after the changes.

    Raises
    ------
    InputError
        Without either, or with both.
    HeadroomError
        When a change doesn't apply.
    """
    skipped: list[str] = []
    then, named = _other_side(snapshot, settings, given, skipped)
    sides = snapshot, then
    unseen = _unseen_kinds(sides)
    workloads = _workloads(*(_lines(one, given) for one in sides), unseen=unseen)  # first: its parts go over all cores
    facts, found, notes = zip(*parts.each(sides, partial(_told, given=given)), strict=True)
    answer = DiffAnswer(
        sentence=Text(),
        before=snapshot.source,
        after=named,
        workloads=workloads,
        numbers=_differing(*facts),
        appeared=_more(found[1], found[0]),
        gone=_more(found[0], found[1]),
        notes=tuple(dict.fromkeys([*skipped, *notes[0], *notes[1]])),
        changed=changed(*sides, unseen=unseen),
        since=_since(given, workloads),
    )
    return replace(answer, sentence=QUESTION.of_those_seen(sides, Text(_sentence(answer))))


def _told(
    side: Snapshot, given: Given
) -> tuple[dict[tuple[str, FrozenMap[str]], Fact], tuple[Finding, ...], list[str]]:
    """A side's numbers and findings, and what isn't compared."""
    skipped: list[str] = []
    facts = dict(_numbers(side, given, skipped))
    return facts, findings.answer(side, findings.FindingsSettings(), Given()).findings, skipped


def _lines(side: Snapshot, given: Given) -> dict[str, WorkloadOverview]:
    limits = () if given.others else given.limits  # they are of one cluster
    return {line.workload: line for line in overviews.overview(side, limits).workloads}


def _other_side(snapshot: Snapshot, settings: DiffSettings, given: Given, skipped: list[str]) -> tuple[Snapshot, str]:
    if bool(settings.changes) == bool(given.others):
        raise InputError("there is nothing to compare with", mend="Give a second cluster, or changes: one of both")
    if given.others:
        return given.others[0], given.others[0].source
    return _changed(snapshot, settings, given, skipped)


def _since(given: Given, workloads: Iterable[WorkloadDifference]) -> tuple[Streak, ...]:
    differing = {workload.workload for workload in workloads}
    streaks = given.history.streaks if given.history else ()
    return tuple(streak for streak in streaks if streak.workload in differing)


def _unseen_kinds(sides: Iterable[Snapshot]) -> frozenset[str]:
    """Kinds that one of the sides didn't list, or not to the end."""
    return frozenset(kind for side in sides for kind, state in side.presence.items() if state.is_lacking)


def _changed(snapshot: Snapshot, settings: DiffSettings, given: Given, skipped: list[str]) -> tuple[Snapshot, str]:
    said = text_of(settings.changes)
    made = apply(compiled(snapshot), settings.changes, given.limits)
    words = {True: "doesn't get through", False: "may not get through"}
    skipped += [f"{step.change} {words[step.is_known]}: {step.sentence}" for step in made.steps if not step.is_done]
    digest = hashlib.blake2b(f"{snapshot.digest}\n{said}".encode(), digest_size=16).hexdigest()
    return replace(made.snapshot, digest=digest), f"{snapshot.source}, after {said}"


def _workloads(
    before: Mapping[str, WorkloadOverview], after: Mapping[str, WorkloadOverview], *, unseen: frozenset[str]
) -> tuple[WorkloadDifference, ...]:
    """Those that became stuck first. One of a kind that one side didn't list is neither new nor gone."""
    found = []
    for key in sorted({*before, *after}):
        then, now = before.get(key), after.get(key)
        if (then is None or now is None) and kind_in(key).name in unseen:
            continue
        was, is_now = then.verdict if then else None, now.verdict if now else None
        if was is not is_now:
            told = now or then
            assert told is not None
            found.append(WorkloadDifference(workload=key, before=was, after=is_now, sentence=str(told.sentence)))
    return tuple(sorted(found, key=lambda one: (one.after is not Verdict.STUCK, one.after is None, one.before is None)))


def _numbers(snapshot: Snapshot, given: Given, skipped: list[str]) -> Iterator[tuple[tuple[str, FrozenMap[str]], Fact]]:
    told = list(overview.QUESTION.facts(overviews.on_todays_nodes(snapshot)))
    kept = [fact for fact in told if fact.metric in _NUMBERS]
    if given.book is not None:
        alone = replace(given, others=(), limits=())
        asked: tuple[tuple[Any, Any], ...] = (
            (costs.QUESTION, costs.CostsSettings()),
            (savings.QUESTION, savings.SavingsSettings()),
        )
        for question, settings in asked:
            try:
                said = question.facts(question.answer(snapshot, settings, alone))
                kept += [one for one in said if one.metric in _MONEY]
            except HeadroomError as error:
                skipped.append(f"{question.name}: not compared: {error}")
    return (((fact.metric, fact.labels), fact) for fact in kept)


def _differing(
    before: Mapping[tuple[str, FrozenMap[str]], Fact], after: Mapping[tuple[str, FrozenMap[str]], Fact]
) -> tuple[NumberDifference, ...]:
    found = []
    for key in dict.fromkeys([*before, *after]):
        was, now = _number(key[0], before.get(key)), _number(key[0], after.get(key))
        if was == now or (was is not None and now is not None and abs(was - now) < _SMALLEST_USD):
            continue
        told = after.get(key) or before[key]
        found.append(NumberDifference(metric=key[0], labels=key[1], unit=told.unit, before=was, after=now))
    return tuple(found)


def _number(metric: str, one: Fact | None) -> float | None:
    """The fact's number; where there is no such fact, nothing of that kind is there, and no price of it is known."""
    if one is None:
        return 0 if metric in _NUMBERS else None
    return None if isinstance(one.value, str | bool) else one.value


def _more(those: tuple[Finding, ...], than: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Findings that the others don't have: by code and object, so that a number in the words is no difference."""
    known = Counter((finding.code, finding.object) for finding in than)
    more = []
    for finding in those:
        key = finding.code, finding.object
        if known[key]:
            known[key] -= 1
        else:
            more.append(finding)
    return tuple(more)


# ── the sentence ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _sentence(found: DiffAnswer) -> str:
    said = [
        *_changed_words(found),
        *_verdict_words(found),
        *_gpu_words(found),
        *_money_words(found),
        *_finding_words(found),
    ]
    return f"{'; '.join(said)}." if said else "Nothing that is compared differs."


def _verdict_words(found: DiffAnswer) -> Iterator[str]:
    def named(is_one: list[str], verb: str) -> Iterator[str]:
        if is_one:
            yield f"{count(len(is_one), 'workload')} {verb} ({listing(is_one)})"

    both = [workload for workload in found.workloads if workload.before is not None and workload.after is not None]
    known = [difference for difference in both if difference.before is not Verdict.UNKNOWN]
    yield from named([difference.workload for difference in known if difference.after is Verdict.STUCK], "became stuck")
    yield from named([one.workload for one in both if one.before is Verdict.STUCK and one.after is Verdict.COMPLETES], "can roll out now")  # fmt: skip
    yield from named([difference.workload for difference in both if difference not in known], "not known before")
    yield from named([one.workload for one in known if one.after is Verdict.UNKNOWN], "no longer known")
    yield from named([workload.workload for workload in found.workloads if workload.before is None], "appeared")
    yield from named([workload.workload for workload in found.workloads if workload.after is None], "gone")


def _changed_words(found: DiffAnswer) -> Iterator[str]:
    said = [f"{one.object}: {one.what} {one.before} → {one.after}" for one in found.changed]
    if said:
        yield f"{count(len(said), 'change')} ({listing(said)})"


def _gpu_words(found: DiffAnswer) -> Iterator[str]:
    nouns = {"gpus_allocatable": "", "gpus_free": " free", "gpus_out_of_use": " out of use"}
    for metric, noun in nouns.items():
        for number in found.numbers:
            if number.metric == metric and is_gpu_resource(number.labels.get("resource", "")):
                change = round((number.after or 0) - (number.before or 0))
                name = number.labels.get("model") or number.labels["resource"]
                yield f"{abs(change):,} {'more' if change > 0 else 'fewer'} {name}{noun}"


def _money_words(found: DiffAnswer) -> Iterator[str]:
    for number in found.numbers:
        if number.metric == BILL and number.before is not None and number.after is not None:
            change = number.after - number.before
            yield f"{usd(abs(change))} {'more' if change > 0 else 'less'} a month"


def _finding_words(found: DiffAnswer) -> Iterator[str]:
    for those, verb in ((found.appeared, "new"), (found.gone, "gone")):
        grave = [finding for finding in those if finding.severity is not Severity.INFO]
        if grave:
            yield f"{count(len(grave), 'finding')} {verb}"


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
Altered = tuple[str, Finding]


def _changes(found: DiffAnswer) -> list[Altered]:
    return [(change, finding) for change, some in (("new", found.appeared), ("gone", found.gone)) for finding in some]


_CHANGED: Final[Listing[DiffAnswer, SpecChange]] = Listing(
    name="changed",
    title="what was changed",
    items=lambda found: found.changed,
    columns=(Column("object"), Column("what"), Column("before"), Column("after")),
)
_WORKLOADS: Final[Listing[DiffAnswer, WorkloadDifference]] = Listing(
    name="workloads",
    title="workloads",
    items=lambda found: found.workloads,
    columns=(Column("workload"), Column("before"), Column("after"), Column("sentence")),
)
_DIFFERENT: Final[Listing[DiffAnswer, NumberDifference]] = Listing(
    name="numbers",
    title="GPUs, cost and savings",
    items=lambda found: found.numbers,
    columns=(
        Column("what", lambda one: one.metric.replace("_", " ")),
        Column(
            "of",
            lambda one: ", ".join(f"{heading(name)} {value}" for name, value in sorted(one.labels.items()) if value),
        ),
        Column("before"),
        Column("after"),
        Column("change", lambda one: None if one.before is None or one.after is None else one.after - one.before),
        Column("unit"),
    ),
)
_FINDINGS: Final[Listing[DiffAnswer, Altered]] = Listing(
    name="findings",
    title="findings",
    items=_changes,
    columns=(
        Column("change", lambda of: of[0]),
        Column("severity", lambda of: of[1].severity),
        Column("code", lambda of: of[1].code, heading=None),
        Column("object", lambda of: of[1].object),
        Column("what", lambda of: of[1].what),
    ),
)
_SINCE: Final[Listing[DiffAnswer, Streak]] = Listing(
    name="since",
    title="since when, by the store's snapshots",
    items=lambda found: found.since,
    columns=(Column("workload"), Column("verdict"), Column("since", since)),
)

QUESTION: Final = Question(
    name="diff",
    settings=DiffSettings,
    answer=answer,
    figures=(
        Figure("workloads_differing", lambda found: len(found.workloads), "workloads"),
        Figure("numbers_differing", lambda found: len(found.numbers), "numbers"),
        Figure("findings_appeared", lambda found: len(found.appeared), "findings"),
        Figure("findings_gone", lambda found: len(found.gone), "findings"),
    ),
    first_rows="workloads",
    listings=(_CHANGED, _WORKLOADS, _DIFFERENT, _FINDINGS, _SINCE),
    notes=lambda found: [*(f"note: {note}" for note in found.notes), f"from {found.before} to {found.after}"],
    about="""What differs between CLUSTER and OTHER, or between CLUSTER and itself after --change.

    First what was changed: replicas, strategies, images, requests, nodes. Then what follows: workloads that became stuck or
    can roll out now, GPUs by model, cost, savings and findings; nothing that is the same. Workloads are compared by kind, namespace
    and name.
    """,
    wants=(Want.ANOTHER, Want.POOLS, Want.PRICES),
    leaves_open=lambda answer: any(Verdict.UNKNOWN in (one.before, one.after) for one in answer.workloads),
    hangs_on=overview.QUESTION.hangs_on,
    lists=overview.QUESTION.lists,
)
