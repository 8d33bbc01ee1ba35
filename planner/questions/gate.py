"""May this change be merged? Every workload of a manifest that would roll, alone and all together, held against a policy.

Nothing of a rollout is worked out here: each answer is `planner.questions.rollout`'s. What the gate adds is which
workloads are asked for, what the change takes beyond today, and what the policy says to all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final

from planner.budget import LIST_UNITS, allowed
from planner.capacity.scale_ups import SCALE_UP_FAILED
from planner.errors import NotKnownError
from planner.exit_status import ExitStatus, gravest
from planner.inventory.account import get_command
from planner.inventory.manifest import AppliedWorkload, Manifest, PlacedWorkload, UnknownObject, read_manifest
from planner.kubernetes.nodes import node_pool
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.queues import queued
from planner.kubernetes.records import Finding, FrozenMap, PodSpec, Snapshot, Workload
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.pricing.cluster import cluster_cost
from planner.pricing.model import PriceBook
from planner.questions.gate_policy import GateException, GatePolicy
from planner.questions.pool_settings import PoolSettings
from planner.questions.prepared import Scenario, manifest_namespace, unread_files
from planner.questions.question import EXIT, NOTHING, Fact, Given, Question, fact
from planner.questions.rollout import growing, rollout
from planner.rollout.answers import Reason, Remedy, RolloutResult, Verdict
from planner.settings import setting, settings_within
from planner.tables import Row
from planner.words import NO_WORDS, Text, count, listing, plural, usd

Change = AppliedWorkload | PlacedWorkload


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    manifest: str = setting(
        "", on_command=False, is_private=True,
        help="What kubectl apply -f would get: several documents, new workloads too.",
    )  # fmt: skip
    namespace: str = manifest_namespace()
    unread: tuple[str, ...] = unread_files()
    pools: PoolSettings = settings_within(PoolSettings)
    policy: GatePolicy = field(default_factory=GatePolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedWorkload:
    """One workload that the change rolls.

    Attributes
    ----------
    alone, together : its verdict by itself, and with all others of the change at once
    verdict : the graver of the two; `reason`, `sentence` and `scheduler_message` are that one's
    lowest_ready : Ready pods at the worst moment of either; None for a workload that is new
    more_gpus : GPUs asked for beyond today, once the change is through; negative for less
    extra_gpus : GPUs on nodes that have to be added for it
    more_usd_per_month : the share of their nodes' prices that its pods take beyond today; None where a price isn't known
    added_usd_per_month : the price of nodes that have to be added; the same
    is_told : False where what pods it makes isn't known: `more_gpus` is then what it asks for at least
    is_placement_only : how its kind rolls out isn't played, only whether its pods find nodes
    refusals : what the policy has against it
    exception : that of the policy which lets it pass, if any
    is_growth_automatic : for growth: that is an autoscaler's, within a maximum that is known
    warnings : what is told though it passes: a scale-up of that pool that failed lately
    """

    workload: str
    is_new: bool
    verdict: Verdict
    alone: Verdict
    together: Verdict
    reason: Reason
    sentence: Text
    scheduler_message: Text
    replicas: int
    lowest_ready: int | None
    seconds: float
    more_gpus: int
    extra_gpus: int
    extra_nodes: int
    more_usd_per_month: float | None
    added_usd_per_month: float | None
    ways_out: tuple[Remedy, ...]
    is_told: bool = True
    is_placement_only: bool = False
    passes: bool = True
    refusals: tuple[Text, ...] = ()
    exception: GateException | None = None
    is_growth_automatic: bool = False
    warnings: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswer:
    """What the gate says of a change.

    `together` is the verdict of all workloads at once. `extra_gpus` and `extra_usd_per_month` are the whole change's (those
    of excepted workloads left out): what it asks for beyond today, or what has to be added for it, whichever is more.
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
    unchanged = tuple(_key(one) for one in every if not one.moves_pods)
    policy, now = settings.policy, given.now
    held = policy.holding(now)
    expired = tuple(one for one in policy.exceptions if one not in held)
    if not changes and not unknown:
        return _nothing(manifest, unchanged, expired)
    _check_listed(snapshot, manifest.workloads)
    then = manifest.snapshot
    pools = growing(then, settings.pools.known(given))
    alone = [rollout(then, Scenario(applied=(change,)), pools) for change in changes]
    together = rollout(then, Scenario(applied=(*changes, *unknown)), pools) if len(changes) > 1 else None
    parts = [
        _gated(then, change, mine, together or mine, place, given.book)
        for place, (change, mine) in enumerate(zip(changes, alone, strict=True))
    ]
    parts = [_judged(part, change, policy, held) for part, change in zip(parts, changes, strict=True)]
    parts += [_judged(_untold(one), None, policy, held) for one in unknown]
    return _answer(parts, together or (alone[0] if alone else None), policy, unchanged, expired, manifest)


def _check_listed(snapshot: Snapshot, applied: Iterable[AppliedWorkload]) -> None:
    """Refuse to take a workload for new where nobody listed its kind."""
    for one in applied:
        if one.before is None and snapshot.lacks(one.after.kind):
            what = f"whether there is a {one.after.key} is not known: the snapshot doesn't list its kind"
            raise NotKnownError(what, mend=f"To add it: {get_command([one.after.kind])}")


def _after(one: Change) -> Workload:
    return one.workload if isinstance(one, PlacedWorkload) else one.after


def _key(one: Change) -> str:
    return _after(one).key


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
_GRAVITY: Final = {Verdict.STUCK: 0, Verdict.UNKNOWN: 1, Verdict.NEEDS_GROWTH: 2, Verdict.COMPLETES: 3}


def _untold(one: UnknownObject) -> GatedWorkload:
    """What isn't known may be anything."""
    return GatedWorkload(
        workload=one.key, is_new=not one.may_help, verdict=Verdict.UNKNOWN, alone=Verdict.UNKNOWN,
        together=Verdict.UNKNOWN, reason=Reason.UNKNOWN, sentence=Text(f"not known: {one.what}. {one.mend}".rstrip(". ")),
        scheduler_message=NO_WORDS, replicas=0, lowest_ready=None, seconds=0.0, more_gpus=one.gpus, extra_gpus=0,
        extra_nodes=0, more_usd_per_month=None, added_usd_per_month=None, ways_out=(), is_told=False,
    )  # fmt: skip


def _gated(
    snapshot: Snapshot,
    change: Change,
    alone: RolloutResult,
    together: RolloutResult,
    place: int,
    book: PriceBook | None,
) -> GatedWorkload:
    mine, ours = alone.workloads[0], together.workloads[place]
    shared = Verdict.UNKNOWN if alone.verdict is Verdict.UNKNOWN else ours.verdict  # what isn't known stays so together
    verdict = min((alone.verdict, shared), key=_GRAVITY.__getitem__)
    is_alone = verdict is alone.verdict
    told, source = (mine, alone) if is_alone else (ours, together)
    before = None if isinstance(change, PlacedWorkload) else change.before
    after = _after(change)
    old, new = _pods_of(snapshot, before, 0), _new_pods(snapshot, change, mine.replicas)
    gpus = sum(n * requested_gpus(spec) for spec, n in new) - sum(n * requested_gpus(spec) for spec, n in old)
    grown = [one for one, said in ((alone, alone.verdict), (together, shared)) if said is Verdict.NEEDS_GROWTH]
    growth = next(iter(grown), None)
    return GatedWorkload(
        workload=after.key,
        is_new=before is None,
        verdict=verdict,
        alone=alone.verdict,
        together=shared,
        reason=told.reason,
        sentence=Text(alone.sentence) if is_alone else Text(f"together with the others: {ours.sentence}"),
        scheduler_message=told.scheduler_message,
        replicas=told.replicas,
        lowest_ready=None if before is None else min(mine.lowest_ready, ours.lowest_ready),
        seconds=told.seconds,
        more_gpus=gpus,
        extra_gpus=growth.extra_gpus if growth else 0,
        extra_nodes=growth.extra_nodes if growth else 0,
        more_usd_per_month=_more_usd(snapshot, before, old, new, alone, book),
        added_usd_per_month=_added_usd(snapshot, growth, book),
        ways_out=source.remedies,
        is_placement_only=isinstance(change, PlacedWorkload),
        is_growth_automatic=bool(grown) and all(one.is_growth_automatic for one in grown),
        warnings=tuple(dict.fromkeys(Text(f.what) for one in grown for f in one.findings if f.code == SCALE_UP_FAILED)),
    )


Pods = list[tuple[PodSpec, int]]
"""How many pods there are of each template."""


def _pods_of(snapshot: Snapshot, workload: Workload | None, told: int) -> Pods:
    """The pods it has once nothing rolls; for one on every node those of today, or what the rollout tells."""
    if workload is None:
        return []
    number = workload.replicas
    if workload.traits.is_per_node:
        number = told or len(_nodes_of(snapshot, workload))
    return [(workload.template.spec, number)]


def _new_pods(snapshot: Snapshot, change: Change, told: int) -> Pods:
    """The same of what it becomes, of all its templates; none while it is suspended, unless a queue resumes it."""
    if isinstance(change, AppliedWorkload):
        return _pods_of(snapshot, change.after, told)
    placed = change.placed
    is_queued = queued(change.workload.labels, [template for template, _ in placed.templates])
    return [] if placed.idle and not is_queued else [(template.spec, n) for template, n in placed.templates]


def _nodes_of(snapshot: Snapshot, workload: Workload) -> list[str]:
    keys = workload_keys(snapshot)
    return [pod.node_name for pod in snapshot.pods if pod.holds_room and keys[pod.uid] == workload.key]


def _more_usd(
    snapshot: Snapshot, before: Workload | None, old: Pods, new: Pods, alone: RolloutResult, book: PriceBook | None
) -> float | None:
    """What its pods take of their nodes' prices beyond what they take today; None where a price isn't known."""
    if [(pod_requests(spec), n) for spec, n in old] == [(pod_requests(spec), n) for spec, n in new]:
        return 0.0
    if book is None:
        return None
    there = _nodes_of(snapshot, before) if before else []
    then = [node for _, _, node in alone.placement] or there
    pools = {node.name: node_pool(node) for node in snapshot.nodes}
    if {pools.get(name) for name in there} == {pools.get(name) for name in then}:
        there = then = [*there, *then]  # it stays in its pools: where the scheduler happens to put it costs nothing
    was = [_usd_of_pods(book, snapshot, spec, there, n) for spec, n in old]
    becomes = [_usd_of_pods(book, snapshot, spec, then, n) for spec, n in new]
    known = [one for one in (*was, *becomes) if one is not None]
    if len(known) < len(was) + len(becomes):
        return None
    return sum(known[len(was) :]) - sum(known[: len(was)])


def _added_usd(snapshot: Snapshot, growth: RolloutResult | None, book: PriceBook | None) -> float | None:
    """The price of the nodes that have to be added; None where it isn't known."""
    if growth is None:
        return 0.0
    nodes = [node for node in snapshot.nodes if node.name == growth.node_template]
    month = cluster_cost(book, nodes, {}).usd_per_month if book else None
    return None if month is None else month * growth.extra_nodes


def _usd_of_pods(book: PriceBook, snapshot: Snapshot, spec: PodSpec, places: list[str], number: int) -> float | None:
    """The share that `number` such pods take of the prices of the nodes they sit on; None where one isn't known."""
    if not number:
        return 0.0
    wanted = set(places)
    nodes = [node for node in snapshot.nodes if node.name in wanted]
    found = cluster_cost(book, nodes, FrozenMap({node.name: pod_requests(spec) for node in nodes}))
    if not found.nodes or found.unpriced:
        return None
    return number * fmean(one.cost.total - one.idle.total for one in found.nodes if one.idle is not None)


# ── the policy ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _judged(
    part: GatedWorkload, change: Change | None, policy: GatePolicy, held: Sequence[GateException]
) -> GatedWorkload:
    before = change.before if isinstance(change, AppliedWorkload) else None
    refusals: tuple[Text, ...] = ()
    if part.lowest_ready is not None:
        too_few = policy.too_few_ready(before.replicas if before else part.replicas, part.replicas, part.lowest_ready)
        refusals = (Text(too_few),) if too_few else ()
    excepted = next((one for one in held if one.covers(part.workload)), None)
    passes = excepted is not None or not (refusals or _fails(part, policy))
    return replace(part, passes=passes, refusals=refusals, exception=excepted)


def _answer(
    parts: list[GatedWorkload],
    together: RolloutResult | None,
    policy: GatePolicy,
    unchanged: tuple[str, ...],
    expired: tuple[GateException, ...],
    manifest: Manifest,
) -> GateAnswer:
    counted = [part for part in parts if part.exception is None]
    gpus = max(0, sum(part.more_gpus for part in counted), *(part.extra_gpus for part in counted))
    more, added = [part.more_usd_per_month for part in counted], [part.added_usd_per_month for part in counted]
    known = [one for one in (*more, *added) if one is not None]
    dollars = None if len(known) < len(more + added) else max(0.0, sum(known[: len(more)]), *known[len(more) :])
    refusals = _limits_passed(policy, gpus, dollars)
    verdicts = [part.verdict for part in counted if _fails(part, policy)]
    if together is not None and together.verdict is Verdict.UNKNOWN and len(counted) == len(parts):
        verdicts += [Verdict.UNKNOWN] if policy.refuses(Verdict.UNKNOWN, is_growth_automatic=False) else []
    status = gravest(EXIT[verdict] for verdict in verdicts)
    unpriced = policy.most_extra_usd_per_month is not None and dollars is None
    uncounted = policy.most_extra_gpus is not None and not all(part.is_told for part in counted)
    if status is ExitStatus.ANSWERED and (unpriced or uncounted):
        status = ExitStatus.NOT_KNOWN
    if status is ExitStatus.ANSWERED and (refusals or any(part.refusals for part in counted)):
        status = ExitStatus.REFUSED
    findings = [
        one
        for one in (*(together.findings if together is not None else ()), *manifest.findings)
        if one.code != SCALE_UP_FAILED  # told beside its workload
    ]
    return GateAnswer(
        sentence=Text(_sentence(parts, counted, status)),
        passes=status is ExitStatus.ANSWERED,
        exit_status=status,
        workloads=tuple(parts),
        together=_with(together, manifest),
        together_sentence=together.sentence if together is not None else NO_WORDS,
        unchanged=unchanged,
        refusals=refusals,
        extra_gpus=gpus,
        extra_usd_per_month=dollars,
        expired=expired,
        findings=tuple(dict.fromkeys(findings)),
    )


def _with(together: RolloutResult | None, manifest: Manifest) -> Verdict:
    """The verdict of all at once, those that aren't known among them."""
    if together is None or (manifest.unknown and together.verdict is not Verdict.STUCK):
        return Verdict.UNKNOWN
    return together.verdict


def _fails(part: GatedWorkload, policy: GatePolicy) -> bool:
    return policy.refuses(part.verdict, is_growth_automatic=part.is_growth_automatic)


def _limits_passed(policy: GatePolicy, gpus: int, dollars: float | None) -> tuple[Text, ...]:
    said = []
    if policy.most_extra_gpus is not None and gpus > policy.most_extra_gpus:
        said.append(f"{count(gpus, 'GPU')} more than today, and the policy allows {policy.most_extra_gpus}")
    if (most := policy.most_extra_usd_per_month) is not None:
        if dollars is None:
            said.append(f"the policy allows {usd(most)} a month more, and what the change costs isn't known")
        elif dollars > most:
            said.append(f"{usd(dollars)} a month more than today, and the policy allows {usd(most)}")
    return tuple(map(Text, said))


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
    if not said:
        alone = "its pods are placed" if placed else "the rollout completes"
        said.append(alone if len(parts) == 1 else f"all {whole} complete, alone and together")
    if placed:
        said.append("placement only" if len(parts) == 1 else f"{placed:,} of them placement only")
    excepted = len(parts) - len(counted)
    if excepted:
        said.append(f"{excepted} excepted")
    return f"{lead}: {'; '.join(said)}"


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(found: GateAnswer) -> Iterator[Fact]:
    """Whether it passes, what it takes beyond today, each workload's verdicts."""
    yield fact("gate_passes", found.passes)
    yield fact("gate_together", found.together.value)
    yield fact("gate_extra_gpus", found.extra_gpus, "GPUs")
    yield fact("gate_extra_cost", found.extra_usd_per_month, "USD/month")
    for part in found.workloads:
        named = {"workload": part.workload}
        yield fact("workload_verdict", part.verdict.value, **named)
        yield fact("workload_verdict_alone", part.alone.value, **named)
        yield fact("workload_verdict_together", part.together.value, **named)
        yield fact("workload_lowest_ready", part.lowest_ready, "pods", **named)
        yield fact("workload_more_gpus", part.more_gpus, "GPUs", **named)
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


QUESTION: Final = Question(
    name="gate",
    version="v2",  # v1 held manifests and patches as they were given
    settings=GateSettings,
    result=GateAnswer,
    answer=answer,
    facts=facts,
    tables={"workloads": workload_rows, "remedies": remedy_rows},
    status=lambda found: ExitStatus(found.exit_status),
)
