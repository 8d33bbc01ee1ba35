"""Rollouts with scale-ups: a stuck rollout once pools grow, and the nodes that a completing rollout triggers."""

from __future__ import annotations

from collections.abc import Sequence

from planner.capacity import scale_down
from planner.capacity.cloud_quota import may_not_come, unseen_quotas
from planner.capacity.hypothetical_node_groups import pools_without_limits
from planner.capacity.node_pools import NodePool
from planner.capacity.scale_up_simulation import Growth, grow, waiting_shape
from planner.capacity.unneeded_scale_ups import unneeded_scale_ups
from planner.ground.records import replace
from planner.ground.words import Text, duration, listing, plural, usd
from planner.ground.work_budget import TooLargeError
from planner.inventory.autoscaler_flags import Autoscaling
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import Finding, Node, Severity, Snapshot
from planner.pricing.price_book import PriceBook
from planner.rollout.answers import (
    RolloutResult,
    Verdict,
)
from planner.rollout.doubt_rules import standing_doubts
from planner.rollout.doubts import Doubt, Effect, each_once
from planner.rollout.prepared_change import Prepared, compiled
from planner.rollout.run import Run
from planner.rollout.run_outcomes import (
    capacity_of,
    jointly,
    peak_held,
    placement_of,
    unknown_finding,
    until_they_come,
    workload_rollout,
)
from planner.rollout.stuck_diagnosis import pending_pods
from planner.rollout.unknowns import Unknown
from planner.scheduling.cluster import Cluster
from planner.scheduling.node_facts import node_pools as pool_of_each


def unknown_if_undecided(rollout: RolloutResult, unknown: Sequence[Unknown]) -> RolloutResult:
    """`rollout`, not known where what isn't known could make it another: no placement proves anything then."""
    decisive = next((u for u in unknown if u.may_help or rollout.verdict is not Verdict.STUCK), None)
    if decisive is None or rollout.verdict is Verdict.UNKNOWN:
        return rollout
    verb = "" if len(rollout.workloads) > 1 else "it is " if rollout.verdict is Verdict.STUCK else "it "
    return replace(
        rollout,
        verdict=Verdict.UNKNOWN,
        headline=Text("whether it finishes depends on what isn't known"),
        sentence=Text(f"not known: {decisive.what}. Without that, {verb}{rollout.sentence}"),
        ties=None,
    )


def with_pool_growth(
    rollout: RolloutResult, prepared: Prepared, cluster: Cluster, run: Run, stuck: str, pools: tuple[NodePool, ...],
    keys: dict[str, str], seed: int, how: Autoscaling,
) -> RolloutResult:  # fmt: skip
    """The stuck result, or what it comes to once a pool has grown, where one may."""
    answer = grow(cluster, prepared.timed, run, waiting_shape(run, stuck), pools, seed=seed, how=how)
    if answer.growth is not None:
        return _needs_growth(rollout, prepared, answer.growth, keys, how)
    more = f"; {answer.sentence}" if answer.sentence else ""
    stays = replace(rollout, growth=answer.sentence, sentence=Text(f"{rollout.sentence}{more}"))
    fix = "Give --node-pools and --instance-types that say it, or ask again once nodes on their way are there; what is chance a higher priority of its pods decides"
    unknown = [Unknown(what=answer.unknown, may_help=True, fix=fix)]
    return unknown_if_undecided(_without_proof(stays, unknown[0], stuck), unknown) if answer.unknown else stays


def limited_to_todays_nodes(rollout: RolloutResult, snapshot: Snapshot, pools: Sequence[NodePool]) -> RolloutResult:
    """What is stuck on nodes of pools that may grow, as far as the input says: only that today's nodes won't do
    may be proven."""
    names = pools_without_limits(pools) if pools else sorted({*pool_of_each(compiled(snapshot))} - {""})
    if rollout.ties is None or not names:
        return rollout
    why = f"whether {plural(len(names), 'pool')} {listing(names)} {plural(len(names), 'grows', 'grow')} isn't known"
    about = f"node {plural(len(names), 'pool')} {listing(names)}"
    doubt = Doubt(about=about, why=Text(why), could_change=Effect.VERDICT, advice="Give --node-pools or --limits")
    ties, doubts = rollout.ties, each_once((*rollout.doubts, doubt))
    if ties.proven:
        outcome = Text(f"{ties.outcome} on today's nodes (proven)")
        sentence = Text(f"{outcome}; {why}: give --node-pools or --limits")
        ties = replace(ties, proven=False, sentence=sentence, outcome=outcome)
    return replace(rollout, ties=ties, doubts=doubts)


def with_unneeded_scale_ups(
    rollout: RolloutResult,
    prepared: Prepared,
    cluster: Cluster,
    pools: tuple[NodePool, ...],
    how: Autoscaling,
    seed: int,
    book: PriceBook | None,
) -> RolloutResult:
    """The result that completes, with the nodes that an autoscaler brings all the same."""
    try:
        scale_up = unneeded_scale_ups(cluster, prepared.timed, pools, how, seed=seed)
    except TooLargeError:
        return rollout
    if scale_up is None:
        return rollout
    fix = "A shorter grace period, or a strategy that waits for none (maxUnavailable 0 with room to surge), brings none"
    price = scale_up.usd(book)
    sentence = scale_up.sentence if price is None else f"{scale_up.sentence}, {usd(price)}"
    key = rollout.workloads[0].workload
    finding = Finding(severity=Severity.INFO, code="nodes-unasked", object=key, what=sentence, fix=fix)
    return replace(
        rollout, findings=(*rollout.findings, finding), sentence=Text(f"{rollout.sentence}; {sentence}"),
        unasked_nodes=scale_up.nodes, unasked_node_seconds=sum(scale_up.stays_seconds), unasked_usd=price,
    )  # fmt: skip


def _without_proof(rollout: RolloutResult, unknown: Unknown, key: str) -> RolloutResult:
    """`rollout` with what isn't known of nodes that may come, which makes the stuck ones unknown."""
    parts = tuple(
        replace(
            workload,
            verdict=Verdict.UNKNOWN,
            sentence=Text(f"not known: {unknown.what}. Without that, it is {workload.sentence}"),
        )
        if workload.verdict is Verdict.STUCK
        else workload
        for workload in rollout.workloads
    )
    return replace(rollout, workloads=parts, findings=(*rollout.findings, unknown_finding(key, unknown)))


def _like(snapshot: Snapshot, nodes: Sequence[Node]) -> str:
    """A node that is there, of the pool of the first of `nodes`; "" where that has none."""
    return next(
        (sample.name for node in nodes[:1] for sample in snapshot.nodes if node_pool(sample) == node_pool(node)), ""
    )


def _needs_growth(
    rollout: RolloutResult, prepared: Prepared, growth: Growth, keys: dict[str, str], how: Autoscaling
) -> RolloutResult:
    """The stuck result turned into what the rollout is once the pool has grown; why it is stuck today stays."""
    run, wait = growth.run, growth.arrival_seconds
    pending = pending_pods(run, keys)
    words = {happening.words for happening in run.happened}
    parts = []
    for today, revision, pod_times in zip(rollout.workloads, prepared.revisions, prepared.pod_times, strict=True):
        grown = workload_rollout(run, revision, pod_times, pending)
        # A workload that completes on today's nodes keeps its own answer: the pool doesn't grow for it.
        if today.verdict is Verdict.COMPLETES:
            parts.append(today)
            continue
        seconds = grown.seconds
        parts.append(
            replace(
                grown,
                verdict=Verdict.NEEDS_GROWTH,
                reason=today.reason,
                sentence=Text(
                    f"{growth.sentence}; about {duration(seconds)}, {duration(wait)} of it until nodes arrive. "
                    f"Today it is {today.sentence}"
                ),
                headline=Text(f"it finishes in about {duration(seconds)} once {growth.has_grown}"),
                timeline=until_they_come(grown.timeline, words),
                wait_for=today.wait_for,
                scheduler_message=today.scheduler_message,
            )
        )
    shown = next(p for p in parts if p.verdict is Verdict.NEEDS_GROWTH)
    sentence, headline = jointly(parts, shown, rollout.but)
    warnings = [
        warning
        for come in growth.comes
        for warning in may_not_come(compiled(prepared.snapshot), come.pool, growth.nodes, shown.workload)
    ]
    return replace(
        rollout,
        verdict=Verdict.NEEDS_GROWTH,
        sentence=sentence,
        headline=headline,
        workloads=tuple(parts),
        ticks=run.ticks,
        seconds=max(p.seconds for p in parts),
        peak_held=peak_held(run),
        capacity=capacity_of(run.simulation.cluster),
        pending=pending,
        timeline=parts[0].timeline,
        placement=placement_of(run),
        ties=None,
        growth=Text(growth.sentence),
        is_growth_automatic=growth.grows_by_itself,
        findings=(
            *rollout.findings,
            *warnings,
            *scale_down.removal_findings(
                scale_down.removed_nodes(run, [come.pool for come in growth.comes], how), shown.workload
            ),
        ),
        doubts=each_once(
            (
                *(
                    Doubt(about=doubt.object, why=Text(doubt.what), could_change=Effect.VERDICT, advice=doubt.fix)
                    for doubt in warnings
                ),
                *(quota for come in growth.comes for quota in unseen_quotas(come.pool, growth.nodes)),
                *standing_doubts(run.simulation.cluster, prepared.revisions, run),
                *rollout.doubts,
            )
        ),
        extra_nodes=len(growth.nodes),
        extra_gpus=growth.gpus,
        fewest_nodes=sum(pool_growth.nodes for pool_growth in growth.fewest),
        new_nodes=growth.nodes,
        node_template=_like(prepared.snapshot, growth.nodes),
    )
