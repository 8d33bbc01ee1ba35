"""May this change be merged? Every workload of a manifest that would roll, alone and all together, held against a policy.

Nothing of a rollout is worked out here: each answer is `planner.questions.rollout`'s. What the gate adds is which
workloads are asked for, what the change takes beyond today, and what the policy says to all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from planner.capacity.gated import Change, GatedWorkload, fails, gated, judged, key_of, limits_passed, untold
from planner.capacity.rollouts import growing, rollout
from planner.capacity.scale_ups import SCALE_UP_FAILED
from planner.ground.budget import LIST_UNITS, allowed
from planner.ground.exit_status import ExitStatus, gravest
from planner.ground.settings import setting, settings_within
from planner.ground.tables import Row
from planner.ground.words import NO_WORDS, Text, count, listing, plural
from planner.inventory.manifest import Manifest, UnknownObject, read_manifest
from planner.kubernetes.records import Finding, Snapshot
from planner.kubernetes.units import GPUS, Nouns, either
from planner.questions.meanwhile_settings import MeanwhileSettings, rows_of_events
from planner.questions.pool_settings import PoolSettings
from planner.questions.question import EXIT, NOTHING, Fact, Given, Question, fact
from planner.rollout.answers import EventBeside, RolloutResult, Verdict
from planner.rollout.policy import GateException, GatePolicy
from planner.rollout.prepared import Scenario, manifest_namespace, unread_files


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    manifest: str = setting(
        "", on_command=False, is_private=True,
        help="What kubectl apply -f would get: several documents, new workloads too.",
    )  # fmt: skip
    namespace: str = manifest_namespace()
    unread: tuple[str, ...] = unread_files()
    meanwhile: MeanwhileSettings = settings_within(MeanwhileSettings)
    pools: PoolSettings = settings_within(PoolSettings)
    policy: GatePolicy = field(default_factory=GatePolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswer:
    """What the gate says of a change.

    `together` is the verdict of all workloads at once. `extra_gpus` and `extra_usd_per_month` are the whole change's (those
    of excepted workloads left out): what it asks for beyond today, or what has to be added for it, whichever is more.
    `meanwhile`: what was to happen beside all of them.
    """

    sentence: Text
    passes: bool
    exit_status: int
    workloads: tuple[GatedWorkload, ...]
    together: Verdict
    together_sentence: Text
    unchanged: tuple[str, ...]
    refusals: tuple[Text, ...]
    extra_gpus: int
    extra_usd_per_month: float | None
    expired: tuple[GateException, ...]
    findings: tuple[Finding, ...]
    meanwhile: tuple[EventBeside, ...] = ()
    nouns: Nouns = GPUS  # what `extra_gpus` are a number of


@allowed(units=LIST_UNITS)
def answer(snapshot: Snapshot, settings: GateSettings, given: Given = NOTHING) -> GateAnswer:
    """Every workload that the manifest rolls, alone and all together, held against the policy.

    Raises
    ------
    ChangeError
        When the manifest can't be read, or the API server would refuse it.
    """
    manifest = read_manifest(settings.manifest, snapshot, namespace=settings.namespace, unread=settings.unread)
    every: list[Change] = [*manifest.workloads, *manifest.placed]
    changes, unknown = [one for one in every if one.moves_pods], manifest.unknown
    unchanged = tuple(key_of(one) for one in every if not one.moves_pods)
    policy, now = settings.policy, given.now
    held = policy.holding(now)
    expired = tuple(one for one in policy.exceptions if one not in held)
    if not changes and not unknown:
        return _nothing(manifest, unchanged, expired)
    then = manifest.snapshot
    played = _player(then, settings, given)
    alone = [played(change) for change in changes]
    together = played(*changes, *unknown) if len(changes) > 1 else None
    parts = [
        gated(then, change, mine, together or mine, place, given.book)
        for place, (change, mine) in enumerate(zip(changes, alone, strict=True))
    ]
    parts = [judged(part, change, policy, held) for part, change in zip(parts, changes, strict=True)]
    parts += [judged(untold(one), None, policy, held) for one in unknown]
    return _answer(parts, together or (alone[0] if alone else None), policy, unchanged, expired, manifest)


def _player(snapshot: Snapshot, settings: GateSettings, given: Given) -> Callable[..., RolloutResult]:
    """What plays some of the changes, with what happens beside them."""
    known = settings.pools.known(given)
    pools, beside = growing(snapshot, known), settings.meanwhile.beside(known)

    def played(*changes: Change | UnknownObject) -> RolloutResult:
        return rollout(snapshot, Scenario(applied=changes, namespace=settings.namespace), pools, beside=beside)

    return played


def _nothing(manifest: Manifest, unchanged: tuple[str, ...], expired: tuple[GateException, ...]) -> GateAnswer:
    """A change that rolls nothing passes."""
    stay = plural(len(unchanged), "stays as it is", "stay as they are")
    also = f" ({count(len(unchanged), 'workload')} {stay})" if unchanged else ""
    return GateAnswer(
        sentence=Text(f"passes: the change rolls nothing{also}"), passes=True, exit_status=ExitStatus.ANSWERED,
        workloads=(), together=Verdict.COMPLETES, together_sentence=NO_WORDS, unchanged=unchanged, refusals=(),
        extra_gpus=0, extra_usd_per_month=0.0, expired=expired, findings=manifest.findings,
    )  # fmt: skip


# ── one workload ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _answer(
    parts: list[GatedWorkload], together: RolloutResult | None, policy: GatePolicy, unchanged: tuple[str, ...],
    expired: tuple[GateException, ...], manifest: Manifest,
) -> GateAnswer:  # fmt: skip
    counted = [part for part in parts if part.exception is None]
    gpus, dollars = _beyond_today(counted)
    refusals = limits_passed(policy, gpus, nouns := _nouns(counted), dollars)
    verdicts = [part.verdict for part in counted if fails(part, policy)]
    if together is not None and together.verdict is Verdict.UNKNOWN and len(counted) == len(parts):
        verdicts += [Verdict.UNKNOWN] if policy.refuses(Verdict.UNKNOWN, is_growth_automatic=False) else []
    status = gravest(EXIT[verdict] for verdict in verdicts)
    if status is ExitStatus.ANSWERED:
        status = _held_to_limits(counted, dollars, policy, is_refused=bool(refusals))
    findings = [*(together.findings if together is not None else ()), *manifest.findings]
    return GateAnswer(
        sentence=Text(_sentence(parts, counted, status)),
        passes=status is ExitStatus.ANSWERED,
        exit_status=status,
        workloads=tuple(parts),
        together=_with(together, manifest),
        together_sentence=together.sentence if together else NO_WORDS,
        unchanged=unchanged,
        refusals=refusals,
        extra_gpus=gpus,
        nouns=nouns,
        extra_usd_per_month=dollars,
        expired=expired,
        findings=_apart(findings),
        meanwhile=together.meanwhile if together is not None else (),
    )


def _nouns(parts: list[GatedWorkload]) -> Nouns:
    """What `_beyond_today` counts of GPUs."""
    return either(part.nouns for part in parts if part.more_gpus or part.extra_gpus)


def _apart(findings: list[Finding]) -> tuple[Finding, ...]:
    """Each once, but those that are told with their workload."""
    return tuple(dict.fromkeys(one for one in findings if one.code != SCALE_UP_FAILED))


def _beyond_today(parts: list[GatedWorkload]) -> tuple[int, float | None]:
    """GPUs and USD a month: what the whole change asks for, or what has to be added for it, whichever is more."""
    gpus = max(0, sum(part.more_gpus for part in parts), *(part.extra_gpus for part in parts))
    more, added = [part.more_usd_per_month for part in parts], [part.added_usd_per_month for part in parts]
    known = [one for one in (*more, *added) if one is not None]
    return gpus, None if len(known) < len(more + added) else max(0.0, sum(known[: len(more)]), *known[len(more) :])


def _held_to_limits(
    parts: list[GatedWorkload], dollars: float | None, policy: GatePolicy, *, is_refused: bool
) -> ExitStatus:
    """The exit status of a change whose verdicts pass: what the policy limits may not be known, or be too much."""
    is_unpriced = policy.most_extra_usd_per_month is not None and dollars is None
    is_uncounted = policy.most_extra_gpus is not None and not all(part.is_told for part in parts)
    if is_unpriced or is_uncounted:
        return ExitStatus.NOT_KNOWN
    return ExitStatus.REFUSED if is_refused or any(part.refusals for part in parts) else ExitStatus.ANSWERED


def _with(together: RolloutResult | None, manifest: Manifest) -> Verdict:
    """The verdict of all at once, those that aren't known among them."""
    if together is None or (manifest.unknown and together.verdict is not Verdict.STUCK):
        return Verdict.UNKNOWN
    return together.verdict


def _sentence(parts: list[GatedWorkload], counted: list[GatedWorkload], status: ExitStatus) -> str:
    """``fails: 1 of 3 workloads would be stuck: Deployment/prod/api``; the gravest first."""
    whole = count(len(parts), "workload")
    lead = {
        ExitStatus.ANSWERED: "passes", ExitStatus.NOT_KNOWN: "not known", ExitStatus.REFUSED: "refused by the policy",
    }.get(status, "fails")  # fmt: skip
    verbs = {
        Verdict.STUCK: "stuck",
        Verdict.NEEDS_GROWTH: "complete once a pool has grown",
        Verdict.UNKNOWN: "not known",
    }
    said = []
    for verdict, verb in verbs.items():
        names = [part.workload for part in parts if part.verdict is verdict]
        if names:
            said.append(f"{len(names):,} of {whole} {verb} ({listing(names)})")
    placed = sum(part.is_placement_only for part in parts)
    suspended = sum(part.is_suspended for part in parts)
    if not said and suspended < len(parts):
        alone = "its pods are placed" if placed else "the rollout completes"
        said.append(alone if len(parts) == 1 else f"all {whole} complete, alone and together")
    if placed:
        said.append("placement only" if len(parts) == 1 else f"{placed:,} of them placement only")
    if suspended:
        who = "it is" if len(parts) == 1 else f"{suspended:,} of {len(parts):,} {plural(suspended, 'is', 'are')}"
        said.append(f"{who} suspended and {plural(suspended, 'makes', 'make')} no pods until resumed")
    excepted = len(parts) - len(counted)
    if excepted:
        said.append(f"{excepted} excepted")
    return f"{lead}: {'; '.join(said)}"


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(found: GateAnswer) -> Iterator[Fact]:
    """Whether it passes, what it takes beyond today, each workload's verdicts."""
    yield fact("gate_passes", found.passes)
    yield fact("gate_together", found.together.value)
    yield fact("gate_extra_gpus", found.extra_gpus, found.nouns.many)
    yield fact("gate_extra_cost", found.extra_usd_per_month, "USD/month")
    for part in found.workloads:
        named = {"workload": part.workload}
        yield fact("workload_verdict", part.verdict.value, **named)
        yield fact("workload_verdict_alone", part.alone.value, **named)
        yield fact("workload_verdict_together", part.together.value, **named)
        yield fact("workload_lowest_ready", part.lowest_ready, "pods", **named)
        yield fact("workload_more_gpus", part.more_gpus, part.nouns.many, **named)
        yield fact("workload_is_excepted", part.exception is not None, **named)


def workload_rows(found: GateAnswer) -> list[Row]:
    """One row a workload that rolls."""
    return [
        {
            "workload": part.workload,
            "alone": part.alone,
            "together": part.together,
            "lowest_ready": part.lowest_ready,
            "replicas": part.replicas,
            "more_gpus": part.more_gpus,
            "gpus_are": part.nouns.many if part.more_gpus else "",
            "more_usd_per_month": part.more_usd_per_month,
            "passes": part.passes,
            "exception": part.exception.reason if part.exception else "",
            "sentence": part.sentence,
        }
        for part in found.workloads
    ]


def remedy_rows(found: GateAnswer) -> list[Row]:
    """One row a way out."""
    return [
        {
            "workload": part.workload,
            "title": remedy.title,
            "lowest_ready": remedy.lowest_ready,
            "replicas": remedy.replicas,
            "seconds": remedy.seconds,
            "extra_gpus": remedy.extra_gpus,
            "sentence": remedy.sentence,
            "command": remedy.command,
        }
        for part in found.workloads
        for remedy in part.ways_out
    ]


def meanwhile_rows(found: GateAnswer) -> list[Row]:
    """One row an event beside the change."""
    return rows_of_events(found.meanwhile)


QUESTION: Final = Question(
    name="gate",
    version="v2",  # v1 held manifests and patches as they were given
    settings=GateSettings,
    result=GateAnswer,
    answer=answer,
    facts=facts,
    tables={"workloads": workload_rows, "remedies": remedy_rows, "meanwhile": meanwhile_rows},
    status=lambda found: ExitStatus(found.exit_status),
)
