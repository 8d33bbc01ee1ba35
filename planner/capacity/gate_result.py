"""The gate's result for one workload of a change, judged by a policy: verdict, GPUs, money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from planner.capacity.cloud_quota import BESIDE
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record, replace
from planner.ground.words import NO_WORDS, Text, count, listing, plural, usd
from planner.inventory.kubectl_apply import Manifest, UnknownObject
from planner.kubernetes.accelerator_units import GPUS, Nouns, either, units_of
from planner.kubernetes.kueue_managed_pods import managing_reason
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import Finding, FrozenMap, Node, PodSpec, Severity, Snapshot, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_template_kinds import Idle
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.workload_kinds import NODE, POD
from planner.pricing.added_nodes import AddedNodes
from planner.pricing.node_pool_costs import cluster_cost
from planner.pricing.pod_gpu_shares import amounts_on
from planner.pricing.price_book import OwnedCommitment, PriceBook
from planner.pricing.projected_bill import owned_by_node
from planner.rollout.answers import Cutoff, DurationBand, QueueEviction, Reason, Remedy, RolloutResult, Verdict
from planner.rollout.clusterless_room_need import RoomNeed
from planner.rollout.deploy_timeouts import DeployTimeout, cutoff
from planner.rollout.doubts import Doubt, Effect, each_once
from planner.rollout.gate_policy import GateException, GatePolicy
from planner.rollout.run import Revision
from planner.rollout.run_outcomes import less_sure


class GatedWorkload(Record):
    """One workload that the change rolls.

    Attributes
    ----------
    alone, together : its verdict by itself, and with all others of the change at once
    verdict : the graver of the two; `reason`, `sentence`, `but` (what may decide otherwise) and `scheduler_message` are that one's, of
        two alike those of the one that is less sure
    lowest_ready : Ready pods at the worst moment of either; None for a workload that is new, and where nothing could be played
    more_gpus : GPUs asked for beyond today, once the change is through; negative for less
    extra_gpus : GPUs on nodes that have to be added for it
    more_usd_per_month : the share of their nodes' prices that its pods take beyond today; None where a price isn't known
    added_usd_per_month : the price of nodes that have to be added; the same
    is_told : False where what pods it makes isn't known: `more_gpus` is then what it asks for at least
    is_placement_only : how its kind rolls out isn't played, only whether its pods find nodes
    is_suspended : it makes no pods until it is resumed
    refusals : what the policy has against it
    exception : that of the policy which lets it pass, if any
    is_growth_automatic : for growth: that is an autoscaler's, within a maximum that is known
    warnings : what is told though it passes: a scale-up of that pool that failed lately
    preempted : pods of others that make way for it, alone or together
    evicts : workloads that Kueue evicts for it, alone or together
    doubts : all that its answer, alone or together, isn't sure of
    duration, cutoffs : how long it takes, as far as start-ups were seen, and what waits for it
    room : without a cluster, and where it is stuck for want of room: what its rollout needs wherever it runs
    """

    workload: str
    is_new: bool
    verdict: Verdict
    alone: Verdict
    together: Verdict
    reason: Reason
    sentence: Text
    but: Text = NO_WORDS
    scheduler_message: Text = NO_WORDS
    replicas: int = 0
    lowest_ready: int | None = None
    seconds: float = 0.0
    more_gpus: int
    extra_gpus: int = 0
    extra_nodes: int = 0
    more_usd_per_month: float | None = None
    added_usd_per_month: float | None = None
    ways_out: tuple[Remedy, ...] = ()
    is_told: bool = True
    is_placement_only: bool = False
    is_suspended: bool = False
    passes: bool = True
    refusals: tuple[Text, ...] = ()
    exception: GateException | None = None
    is_growth_automatic: bool = False
    warnings: tuple[Text, ...] = ()
    nouns: Nouns = GPUS  # what its GPUs are a number of
    rules: str = ""  # the other project that has these rules, where they weren't recorded
    preempted: tuple[str, ...] = ()  # namespace/pod
    evicts: tuple[QueueEviction, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    room: RoomNeed | None = None
    duration: DurationBand | None = None
    cutoffs: tuple[Cutoff, ...] = ()


_GRAVITY: Final = {
    Verdict.STUCK: 0,
    Verdict.UNKNOWN: 1,
    Verdict.EVICTIONS_BY_QUEUE: 2,
    Verdict.NEEDS_GROWTH: 3,
    Verdict.COMPLETES: 4,
}


def unknown_workload(gap: UnknownObject) -> GatedWorkload:
    """What isn't known may be anything."""
    return GatedWorkload(
        workload=gap.key, is_new=not gap.may_help, verdict=Verdict.UNKNOWN, alone=Verdict.UNKNOWN,
        together=Verdict.UNKNOWN, reason=Reason.UNKNOWN, sentence=Text(f"not known: {gap.what}. {gap.fix}".rstrip(". ")),
        more_gpus=gap.gpus, is_told=False,
        doubts=(Doubt(about=gap.key, why=Text(gap.what), could_change=Effect.VERDICT, advice=gap.fix),),
    )  # fmt: skip


def gated_workload(
    snapshot: Snapshot,
    change: Revision,
    alone: RolloutResult,
    together: RolloutResult,
    place: int,
    book: PriceBook | None,
) -> GatedWorkload:
    """One workload's rollout `alone`, and as the `place`-th of the changes `together`, with what it takes beyond today."""
    own_rollout, ours = alone.workloads[0], together.workloads[place]
    shared = Verdict.UNKNOWN if alone.verdict is Verdict.UNKNOWN else ours.verdict  # what isn't known stays so together
    verdict = min((alone.verdict, shared), key=_GRAVITY.__getitem__)
    is_alone = verdict is alone.verdict and not (verdict is shared and together.but and not alone.but)
    rollout, source = (own_rollout, alone) if is_alone else (ours, together)
    before, placed = change.before, change.placed
    old, new = _pods(snapshot, change, own_rollout.replicas)
    gpus = sum(n * requested_gpus(spec) for spec, n in new) - sum(n * requested_gpus(spec) for spec, n in old)
    grown = [
        outcome
        for outcome, run_verdict in ((alone, alone.verdict), (together, shared))
        if run_verdict is Verdict.NEEDS_GROWTH
    ]
    growth = next(iter(grown), None)
    is_suspended = placed is not None and placed.idle is Idle.SUSPENDED
    played = verdict is not Verdict.UNKNOWN or snapshot.if_known(True, NODE.name, POD.name)
    return GatedWorkload(
        workload=change.after.key,
        is_new=before is None and not (placed and placed.rules),
        verdict=verdict,
        alone=alone.verdict,
        together=shared,
        reason=rollout.reason,
        sentence=Text(alone.sentence)
        if is_alone
        else less_sure(f"together with the others: {ours.sentence}", together.but),
        but=source.but,
        scheduler_message=rollout.scheduler_message,
        replicas=rollout.replicas,
        lowest_ready=None if before is None or not played else min(own_rollout.lowest_ready, ours.lowest_ready),
        seconds=rollout.seconds,
        more_gpus=gpus,
        nouns=units_of(snapshot).nouns(name for spec, _ in (*new, *old) for name in pod_requests(spec)),
        extra_gpus=growth.extra_gpus if growth else 0,
        extra_nodes=growth.extra_nodes if growth else 0,
        more_usd_per_month=_more_usd(snapshot, before, old, new, alone, book, growth),
        added_usd_per_month=_added_usd(snapshot, growth, book),
        ways_out=source.remedies,
        is_placement_only=placed is not None and not placed.idle and not placed.rules,
        rules=placed.rules if placed else change.rules,
        is_suspended=is_suspended and not _is_queued(snapshot, change),  # Kueue resumes what it lets in
        is_growth_automatic=bool(grown) and all(rollout_result.is_growth_automatic for rollout_result in grown),
        warnings=tuple(dict.fromkeys(Text(f.what) for outcome in grown for f in outcome.findings if f.code in BESIDE)),
        preempted=tuple(dict.fromkeys((*alone.preempted, *together.preempted))),
        evicts=tuple(dict.fromkeys((*own_rollout.evicts, *ours.evicts))),
        doubts=each_once((*alone.doubts, *together.doubts)),
        duration=rollout.duration,
        cutoffs=rollout.cutoffs,
    )


Pods = list[tuple[PodSpec, int]]
"""How many pods there are of each template."""


def _pods_of(snapshot: Snapshot, workload: Workload | None, replicas: int | None = None) -> Pods:
    """The pods it has once nothing rolls, as the rollout tells; for one on every node those of today where it doesn't."""
    if workload is None:
        return []
    number = workload.replicas if replicas is None else replicas
    if workload.traits.is_per_node:
        number = replicas or len(_nodes_of(snapshot, workload))
    return [(workload.template.spec, number)]


def _pods(snapshot: Snapshot, change: Revision, replicas: int) -> tuple[Pods, Pods]:
    """The same of what it was (of a placed object: the new pods take its place) and of what it becomes, of all its templates;
    none while it is suspended, unless a queue resumes it."""
    placed = change.placed
    if placed is None:
        return _pods_of(snapshot, change.before), _pods_of(snapshot, change.after, replicas)
    is_idle = bool(placed.idle) and not _is_queued(snapshot, change)
    new = [] if is_idle else [(template.spec, n) for template, n in placed.templates]
    return [(alike.template.spec, alike.count) for alike in placed.old], new


def _is_queued(snapshot: Snapshot, change: Revision) -> bool:
    workload = change.after
    return bool(
        managing_reason(snapshot, workload.namespace, workload.labels, [template for template, _ in change.templates])
    )


def _nodes_of(snapshot: Snapshot, workload: Workload) -> list[str]:
    keys = workload_keys(snapshot)
    return [pod.node_name for pod in snapshot.pods if pod.holds_room and keys[pod.uid] == workload.key]


def _more_usd(
    snapshot: Snapshot,
    before: Workload | None,
    old: Pods,
    new: Pods,
    alone: RolloutResult,
    book: PriceBook | None,
    growth: RolloutResult | None,
) -> float | None:
    """The price of the pods' shares of nodes beyond what they take today; None where a price isn't known."""
    if [(pod_requests(spec), n) for spec, n in old] == [(pod_requests(spec), n) for spec, n in new]:
        return 0.0
    if book is None or not snapshot.if_known(True, NODE.name, POD.name):
        return None
    current_nodes = _nodes_of(snapshot, before) if before else []
    then = [node for _, _, node in alone.placement] or current_nodes
    nodes = (*snapshot.nodes, *(growth.new_nodes if growth else ()))
    pools = {node.name: node_pool(node) for node in nodes}
    if {pools.get(name) for name in current_nodes} == {pools.get(name) for name in then}:
        current_nodes = then = [
            *current_nodes,
            *then,
        ]  # new pods of the same requests stay in the same pools: which node of a pool they get doesn't change the price
    owned = owned_by_node(book, snapshot)
    was = [_usd_of_pods(book, nodes, owned, spec, current_nodes, n) for spec, n in old]
    becomes = [_usd_of_pods(book, nodes, owned, spec, then, n) for spec, n in new]
    priced = [cost for cost in (*was, *becomes) if cost is not None]
    if len(priced) < len(was) + len(becomes):
        return None
    return sum(priced[len(was) :]) - sum(priced[: len(was)])


def _added_usd(snapshot: Snapshot, growth: RolloutResult | None, book: PriceBook | None) -> float | None:
    """The price of the nodes that have to be added, but for what unused commitments cover; None where one's isn't known."""
    if growth is None:
        return 0.0
    if book is None:
        return None
    each = [1] * len(growth.new_nodes)
    price = AddedNodes(book, snapshot.nodes, growth.new_nodes).price(each, each, 0.0)
    return None if price is None else price.usd_per_month


def _usd_of_pods(
    book: PriceBook,
    every: Sequence[Node],
    owned: Mapping[str, OwnedCommitment],
    spec: PodSpec,
    places: list[str],
    number: int,
) -> float | None:
    """The share that `number` such pods take of the prices of the nodes they sit on; None where one isn't known."""
    if not number:
        return 0.0
    node_names = set(places)
    nodes = [node for node in every if node.name in node_names]
    requests_by_node = FrozenMap({node.name: amounts_on(node, spec) for node in nodes})
    bill = cluster_cost(book, nodes, requests_by_node, owned)
    if not bill.nodes or bill.unpriced:
        return None
    return number * fmean(node.cost.total - node.idle.total for node in bill.nodes if node.idle is not None)


def judged_by_policy(
    part: GatedWorkload, before: Workload | None, policy: GatePolicy, exceptions: Sequence[GateException]
) -> GatedWorkload:
    """`part` with what the policy says to it; `before`: the workload today, `exceptions`: the exceptions that hold today."""
    refusals: tuple[Text, ...] = ()
    if part.lowest_ready is not None:
        too_few = policy.too_few_ready(before.replicas if before else part.replicas, part.replicas, part.lowest_ready)
        refusals = (Text(too_few),) if too_few else ()
    part = _timed(part, policy)
    refusals += policy.cut_off(part.cutoffs)
    excepted = next((exception for exception in exceptions if exception.covers(part.workload)), None)
    if part.room is not None:
        part = replace(part, room=replace(part.room, fits_spare=policy.has_spare(part.room)))
    passes = excepted is not None or not (refusals or fails(part, policy))
    # What the policy refuses is said as a refusal, and not as a warning once more.
    warnings = tuple(warning for warning in part.warnings if warning not in refusals)
    return replace(part, passes=passes, refusals=refusals, warnings=warnings, exception=excepted)


def _timed(part: GatedWorkload, policy: GatePolicy) -> GatedWorkload:
    """`part` held against what else waits for it, as the policy names it; with a warning of each that doesn't wait long enough."""
    if part.duration is None:
        return part
    named = (DeployTimeout(seconds=seconds, by=name) for name, seconds in policy.timeouts.items())
    cutoffs = (*part.cutoffs, *(cutoff(timeout, part.duration) for timeout in named))
    short = [short_cutoff.sentence for short_cutoff in cutoffs if short_cutoff.is_short]
    return replace(part, cutoffs=cutoffs, warnings=(*part.warnings, *short))


def fails(part: GatedWorkload, policy: GatePolicy) -> bool:
    """Whether the policy refuses its verdict."""
    if part.room is not None and part.verdict is Verdict.NEEDS_GROWTH:
        return policy.refuses_room(part.room)
    return policy.refuses(part.verdict, is_growth_automatic=part.is_growth_automatic)


def limits_passed(policy: GatePolicy, gpus: int, nouns: Nouns, dollars: float | None) -> tuple[Text, ...]:
    """The whole change's GPUs and USD a month, held against what the policy allows."""
    sentences = []
    if policy.most_extra_gpus is not None and gpus > policy.most_extra_gpus:
        sentences.append(f"{nouns.count(gpus)} more than today, and the policy allows {policy.most_extra_gpus}")
    if (most := policy.most_extra_usd_per_month) is not None:
        if dollars is None:
            sentences.append(f"the policy allows {usd(most)} a month more, and what the change costs isn't known")
        elif dollars > most:
            sentences.append(f"{usd(dollars)} a month more than today, and the policy allows {usd(most)}")
    return tuple(map(Text, sentences))


# ── the whole change ─────────────────────────────────────────────────────────────────────────────────────────────────
def cluster_findings(findings: list[Finding], *, passes: bool) -> tuple[Finding, ...]:
    """Each once, but those that are told with their workload. What passes although it can't work is let pass by the policy: its errors
    are warnings then."""
    once = dict.fromkeys(finding for finding in findings if finding.code not in BESIDE)
    return tuple(
        replace(finding, severity=Severity.WARNING) if passes and finding.severity is Severity.ERROR else finding
        for finding in once
    )


def added_gpus_and_cost(parts: list[GatedWorkload]) -> tuple[int, Nouns, float | None]:
    """GPUs, what these are a number of, and USD a month: what the whole change asks for, or what has to be added for it, whichever is
    more."""
    nouns = either(part.nouns for part in parts if part.more_gpus or part.extra_gpus)
    gpus = max(0, sum(part.more_gpus for part in parts), *(part.extra_gpus for part in parts))
    more, added = [part.more_usd_per_month for part in parts], [part.added_usd_per_month for part in parts]
    # One unknown price makes the sum unknown: the rest is only a lower bound, and would read like the cost.
    priced = [cost for cost in (*more, *added) if cost is not None]
    return (
        gpus,
        nouns,
        None if len(priced) < len(more + added) else max(0.0, sum(priced[: len(more)]), *priced[len(more) :]),
    )


def held_to_limits(
    parts: list[GatedWorkload], dollars: float | None, policy: GatePolicy, *, is_refused: bool
) -> ExitStatus:
    """The exit status of a change that passes by its verdicts: money or GPUs may still be more than the policy allows, or not known."""
    is_unpriced = policy.most_extra_usd_per_month is not None and dollars is None
    is_uncounted = policy.most_extra_gpus is not None and not all(part.is_told for part in parts)
    if is_unpriced or is_uncounted:
        return ExitStatus.NOT_KNOWN
    return ExitStatus.REFUSED if is_refused or any(part.refusals for part in parts) else ExitStatus.ANSWERED


def verdict_of_all(together: RolloutResult | None, manifest: Manifest) -> Verdict:
    """The verdict of all at once, those that aren't known among them."""
    if together is None or (manifest.unknown and together.verdict is not Verdict.STUCK):
        return Verdict.UNKNOWN
    return together.verdict


def gate_sentence(parts: list[GatedWorkload], counted: list[GatedWorkload], status: ExitStatus) -> str:
    """``fails: 1 of 3 workloads would be stuck: Deployment/prod/api``; the gravest first."""
    whole = count(len(parts), "workload")
    lead = {
        ExitStatus.ANSWERED: "passes", ExitStatus.NOT_KNOWN: "not known", ExitStatus.REFUSED: "refused by the policy",
    }.get(status, "fails")  # fmt: skip
    verbs = {
        Verdict.STUCK: "stuck",
        Verdict.EVICTIONS_BY_QUEUE: "complete once Kueue has evicted other workloads",
        Verdict.NEEDS_GROWTH: "complete once a pool has grown",
        Verdict.UNKNOWN: "not known",
    }
    sentences = []
    # Asked without a cluster, how much is free isn't known: what needs growth needs room there, and what is stuck
    # would be on any.
    if any(part.room for part in parts):
        verbs[Verdict.NEEDS_GROWTH] = plural(
            sum(part.verdict is Verdict.NEEDS_GROWTH for part in parts), "needs room", "need room"
        )
        verbs[Verdict.STUCK] = "stuck on every cluster"
    for verdict, verb in verbs.items():
        names = [part.workload for part in parts if part.verdict is verdict]
        if names:
            sentences.append(f"{len(names):,} of {whole} {verb} ({listing(names)})")
    placed = sum(part.is_placement_only for part in parts)
    rules = sorted({part.rules for part in parts if part.rules})
    suspended = sum(part.is_suspended for part in parts)
    if not sentences and suspended < len(parts):
        alone = "its pods are placed" if placed else "the rollout completes"
        alone = "the rollout needs no spare room" if any(part.room for part in parts) else alone
        sentences.append(alone if len(parts) == 1 else f"all {whole} complete, alone and together")
    if placed:
        sentences.append("placement only" if len(parts) == 1 else f"{placed:,} of them placement only")
    if rules:
        sentences.append(f"by the rules of {listing(rules)}, not recorded")
    if suspended:
        who = "it is" if len(parts) == 1 else f"{suspended:,} of {len(parts):,} {plural(suspended, 'is', 'are')}"
        sentences.append(f"{who} suspended and {plural(suspended, 'makes', 'make')} no pods until resumed")
    excepted = len(parts) - len(counted)
    if excepted:
        sentences.append(f"{excepted} excepted")
    return f"{lead}: {'; '.join(sentences)}"
