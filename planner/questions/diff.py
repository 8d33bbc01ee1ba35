"""The question *diff*: what differs between two snapshots, or between a snapshot and a what-if."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from planner.capacity import rollout_readiness as overviews
from planner.capacity.rollout_readiness import WorkloadOverview
from planner.capacity.what_if import apply
from planner.capacity.what_if_syntax import Change, parse_changes, text_of
from planner.ground import parallel_parts
from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.errors import HeadroomError, InputError
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting
from planner.ground.words import Text, count, listing, usd
from planner.history.daily_series import since
from planner.history.store_queries import BILL, IDLE, Streak
from planner.inventory.snapshot_changes import SpecChange, changed
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.object_records import Finding, FrozenMap, Severity, Snapshot
from planner.kubernetes.workload_kinds import kind_in
from planner.questions import costs, findings, overview, savings
from planner.questions.question import NOTHING, Fact, Inputs, Question, Want
from planner.questions.table_wording import heading
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import compiled

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
    """A workload with another verdict than before, that is new (`before` None) or gone (`after` None). `sentence` is then's."""

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


def answer(snapshot: Snapshot, settings: DiffSettings, inputs: Inputs = NOTHING) -> DiffAnswer:
    """`snapshot` against the first of ``inputs.others``, or against itself after the changes.

    Raises
    ------
    InputError
        Without either, or with both.
    HeadroomError
        When a change doesn't apply.
    """
    skipped: list[str] = []
    then, named = _other_side(snapshot, settings, inputs, skipped)
    sides = snapshot, then
    unseen = _unseen_kinds(sides)
    workloads = _workloads(*(_lines(end, inputs) for end in sides), unseen=unseen)  # first: its parts go over all cores
    facts, findings_by_side, notes = zip(*parallel_parts.each(sides, partial(_told, given=inputs)), strict=True)
    answer = DiffAnswer(
        sentence=Text(),
        before=snapshot.source,
        after=named,
        workloads=workloads,
        numbers=_differing(*facts),
        appeared=_more(findings_by_side[1], findings_by_side[0]),
        gone=_more(findings_by_side[0], findings_by_side[1]),
        notes=tuple(dict.fromkeys([*skipped, *notes[0], *notes[1]])),
        changed=changed(*sides, unseen=unseen),
        since=_since(inputs, workloads),
    )
    return replace(answer, sentence=QUESTION.of_those_seen(sides, Text(" ".join(sentences(answer)))))


def _told(
    side: Snapshot, given: Inputs
) -> tuple[dict[tuple[str, FrozenMap[str]], Fact], tuple[Finding, ...], list[str]]:
    """A side's numbers and findings, and what isn't compared."""
    skipped: list[str] = []
    facts = dict(_numbers(side, given, skipped))
    return facts, findings.answer(side, findings.FindingsSettings(), Inputs()).findings, skipped


def _lines(side: Snapshot, inputs: Inputs) -> dict[str, WorkloadOverview]:
    limits = () if inputs.others else inputs.limits  # they are of one cluster
    return {line.workload: line for line in overviews.overview(side, limits).workloads}


def _other_side(snapshot: Snapshot, settings: DiffSettings, inputs: Inputs, skipped: list[str]) -> tuple[Snapshot, str]:
    if bool(settings.changes) == bool(inputs.others):
        raise InputError("there is nothing to compare with", fix="Give a second cluster, or changes: one of both")
    if inputs.others:
        return inputs.others[0], inputs.others[0].source
    return _changed(snapshot, settings, inputs, skipped)


def _since(inputs: Inputs, workloads: Iterable[WorkloadDifference]) -> tuple[Streak, ...]:
    differing = {workload.workload for workload in workloads}
    streaks = inputs.history.streaks if inputs.history else ()
    return tuple(streak for streak in streaks if streak.workload in differing)


def _unseen_kinds(sides: Iterable[Snapshot]) -> frozenset[str]:
    """Kinds that one of the sides didn't list, or not to the end."""
    return frozenset(kind for side in sides for kind, state in side.presence.items() if state.is_lacking)


def _changed(snapshot: Snapshot, settings: DiffSettings, inputs: Inputs, skipped: list[str]) -> tuple[Snapshot, str]:
    changes_text = text_of(settings.changes)
    made = apply(compiled(snapshot), settings.changes, inputs.limits)
    words = {True: "doesn't get through", False: "may not get through"}
    skipped += [f"{step.change} {words[step.is_known]}: {step.sentence}" for step in made.steps if not step.is_done]
    digest = hashlib.blake2b(f"{snapshot.digest}\n{changes_text}".encode(), digest_size=16).hexdigest()
    return replace(made.snapshot, digest=digest), f"{snapshot.source}, after {changes_text}"


def _workloads(
    before: Mapping[str, WorkloadOverview], after: Mapping[str, WorkloadOverview], *, unseen: frozenset[str]
) -> tuple[WorkloadDifference, ...]:
    """Those that became stuck first. One of a kind that one side didn't list is neither new nor gone."""
    diffs = []
    for key in sorted({*before, *after}):
        then, now = before.get(key), after.get(key)
        if (then is None or now is None) and kind_in(key).name in unseen:
            continue
        was, is_now = then.verdict if then else None, now.verdict if now else None
        if was is not is_now:
            latest = now or then
            assert latest is not None
            diffs.append(WorkloadDifference(workload=key, before=was, after=is_now, sentence=str(latest.sentence)))
    return tuple(sorted(diffs, key=lambda row: (row.after is not Verdict.STUCK, row.after is None, row.before is None)))


def _numbers(
    snapshot: Snapshot, given: Inputs, skipped: list[str]
) -> Iterator[tuple[tuple[str, FrozenMap[str]], Fact]]:
    overview_facts = list(overview.QUESTION.facts(overviews.on_todays_nodes(snapshot)))
    compared_facts = [fact for fact in overview_facts if fact.metric in _NUMBERS]
    if given.book is not None:
        alone = replace(given, others=(), limits=())
        further_questions: tuple[tuple[Any, Any], ...] = (
            (costs.QUESTION, costs.CostsSettings()),
            (savings.QUESTION, savings.SavingsSettings()),
        )
        for question, settings in further_questions:
            try:
                question_facts = question.facts(question.answer(snapshot, settings, alone))
                compared_facts += [fact for fact in question_facts if fact.metric in _MONEY]
            except HeadroomError as error:
                skipped.append(f"{question.name}: not compared: {error}")
    return (((fact.metric, fact.labels), fact) for fact in compared_facts)


def _differing(
    before: Mapping[tuple[str, FrozenMap[str]], Fact], after: Mapping[tuple[str, FrozenMap[str]], Fact]
) -> tuple[NumberDifference, ...]:
    differences = []
    for key in dict.fromkeys([*before, *after]):
        was, now = _number(key[0], before.get(key)), _number(key[0], after.get(key))
        if was == now or (was is not None and now is not None and abs(was - now) < _SMALLEST_USD):
            continue
        fact = after.get(key) or before[key]
        differences.append(NumberDifference(metric=key[0], labels=key[1], unit=fact.unit, before=was, after=now))
    return tuple(differences)


def _number(metric: str, fact: Fact | None) -> float | None:
    """The fact's number; where there is no such fact, nothing of that kind is there, and no price of it is known."""
    if fact is None:
        return 0 if metric in _NUMBERS else None
    return None if isinstance(fact.value, str | bool) else fact.value


def _more(those: tuple[Finding, ...], than: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Findings that the others don't have: by code and object, so that a number in the words is no difference."""
    earlier_counts = Counter((finding.code, finding.object) for finding in than)
    more = []
    for finding in those:
        key = finding.code, finding.object
        if earlier_counts[key]:
            earlier_counts[key] -= 1
        else:
            more.append(finding)
    return tuple(more)


# ── the sentence ─────────────────────────────────────────────────────────────────────────────────────────────────────
def sentences(diff: DiffAnswer) -> list[str]:
    """What was changed and the gravest that follows; then, in a sentence of its own, all else, where there is any."""
    verdicts = [*_verdict_words(diff)]
    first = [*_changed_words(diff), *verdicts[:1]]
    others = [*verdicts[1:], *_gpu_words(diff), *_money_words(diff), *_finding_words(diff)]
    return [f"{'; '.join(parts)}." for parts in (first, others) if parts] or ["Nothing that is compared differs."]


def _verdict_words(diff: DiffAnswer) -> Iterator[str]:
    def named(is_one: list[str], verb: str) -> Iterator[str]:
        if is_one:
            yield f"{count(len(is_one), 'workload')} {verb} ({listing(is_one)})"

    both = [workload for workload in diff.workloads if workload.before is not None and workload.after is not None]
    known = [difference for difference in both if difference.before is not Verdict.UNKNOWN]
    yield from named([difference.workload for difference in known if difference.after is Verdict.STUCK], "became stuck")
    yield from named([one.workload for one in both if one.before is Verdict.STUCK and one.after is Verdict.COMPLETES], "can roll out now")  # fmt: skip
    yield from named([difference.workload for difference in both if difference not in known], "not known before")
    yield from named([change.workload for change in known if change.after is Verdict.UNKNOWN], "no longer known")
    yield from named([workload.workload for workload in diff.workloads if workload.before is None], "appeared")
    yield from named([workload.workload for workload in diff.workloads if workload.after is None], "gone")


def _changed_words(diff: DiffAnswer) -> Iterator[str]:
    change_texts = [f"{change.object}: {change.what} {change.before} → {change.after}" for change in diff.changed]
    if change_texts:
        yield f"{count(len(change_texts), 'change')} ({listing(change_texts, 2 if len(change_texts) == 2 else 1)})"


def _gpu_words(diff: DiffAnswer) -> Iterator[str]:
    nouns = {"gpus_allocatable": "", "gpus_free": " free", "gpus_out_of_use": " out of use"}
    for metric, noun in nouns.items():
        for number in diff.numbers:
            if number.metric == metric and is_gpu_resource(number.labels.get("resource", "")):
                change = round((number.after or 0) - (number.before or 0))
                name = number.labels.get("model") or number.labels["resource"]
                yield f"{abs(change):,} {'more' if change > 0 else 'fewer'} {name}{noun}"


def _money_words(diff: DiffAnswer) -> Iterator[str]:
    for number in diff.numbers:
        if number.metric == BILL and number.before is not None and number.after is not None:
            change = number.after - number.before
            yield f"{usd(abs(change))} {'more' if change > 0 else 'less'} a month"


def _finding_words(diff: DiffAnswer) -> Iterator[str]:
    for those, verb in ((diff.appeared, "new"), (diff.gone, "gone")):
        grave = [finding for finding in those if finding.severity is not Severity.INFO]
        if grave:
            yield f"{count(len(grave), 'finding')} {verb}"


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
Altered = tuple[str, Finding]


def _changes(diff: DiffAnswer) -> list[Altered]:
    return [(change, finding) for change, group in (("new", diff.appeared), ("gone", diff.gone)) for finding in group]


_CHANGED: Final[Listing[DiffAnswer, SpecChange]] = Listing(
    name="changed",
    title="what was changed",
    items=lambda diff: diff.changed,
    columns=(Column("object"), Column("what"), Column("before"), Column("after")),
)
_WORKLOADS: Final[Listing[DiffAnswer, WorkloadDifference]] = Listing(
    name="workloads",
    title="workloads",
    items=lambda diff: diff.workloads,
    columns=(Column("workload"), Column("before"), Column("after"), Column("sentence")),
    unknown="not there",
)
_DIFFERENT: Final[Listing[DiffAnswer, NumberDifference]] = Listing(
    name="numbers",
    title="GPUs, cost and savings",
    items=lambda diff: diff.numbers,
    columns=(
        Column("what", lambda difference: difference.metric.replace("_", " ")),
        Column(
            "of",
            lambda row: ", ".join(f"{heading(name)} {value}" for name, value in sorted(row.labels.items()) if value),
        ),
        Column("before"),
        Column("after"),
        Column("change", lambda row: None if row.before is None or row.after is None else row.after - row.before),
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
    items=lambda diff: diff.since,
    columns=(Column("workload"), Column("verdict"), Column("since", since)),
)

QUESTION: Final = Question(
    name="diff",
    settings=DiffSettings,
    answer=answer,
    figures=(
        Figure("workloads_differing", lambda diff: len(diff.workloads), "workloads"),
        Figure("numbers_differing", lambda diff: len(diff.numbers), "numbers"),
        Figure("findings_appeared", lambda diff: len(diff.appeared), "findings"),
        Figure("findings_gone", lambda diff: len(diff.gone), "findings"),
    ),
    first_rows="workloads",
    listings=(_CHANGED, _WORKLOADS, _DIFFERENT, _FINDINGS, _SINCE),
    notes=lambda diff: [*(f"note: {note}" for note in diff.notes), f"from {diff.before} to {diff.after}"],
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
