"""The answer of *rollout*: will these changes finish, also with scale-ups, and if not, what would help?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from planner.capacity import capacity_buffers
from planner.capacity.grown_rollouts import (
    limited_to_todays_nodes,
    unknown_if_undecided,
    with_pool_growth,
    with_unneeded_scale_ups,
)
from planner.capacity.node_pools import NodePool
from planner.capacity.recent_scale_up_attempts import on_their_way
from planner.capacity.rollout_readiness import ClusterOverview
from planner.capacity.scale_up_simulation import tied_to
from planner.capacity.simulation_films import rollout_film
from planner.capacity.timed_cluster_events import LaterEvents, event_outcomes, timeline
from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.ground.words import Text, listing
from planner.ground.work_budget import part
from planner.inventory.autoscaler_flags import Autoscaling
from planner.inventory.change import WorkloadChange
from planner.inventory.past_durations import PastDurations
from planner.kubernetes.feature_gates import version_findings
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import EMPTY, Severity, Snapshot
from planner.pricing.price_book import PriceBook
from planner.remedies.levers.nodes import within_limit
from planner.remedies.price import with_price
from planner.remedies.ways_out import VOLUME_CURES, find_remedies, preference
from planner.rollout import run_outcomes as telling
from planner.rollout.answers import GROWING_REASONS, OtherInFlight, Reason, Remedy, RolloutResult, Verdict, VolumeCure
from planner.rollout.deploy_timeouts import with_duration
from planner.rollout.doubt_rules import standing_doubts
from planner.rollout.doubts import Doubt, Effect, each_once
from planner.rollout.effects_on_other_pods import blocked_by, preemption_findings, promoted
from planner.rollout.film import Film
from planner.rollout.in_flight import flight_words as told_of
from planner.rollout.kueue_admission import crowded, found_of_queues
from planner.rollout.kueue_evictions import GROWTH_BESIDE
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.race_doubts import (
    IndependentActor,
    OtherClocks,
    doubts_of_acting,
    doubts_of_chance,
    is_open,
    on_other_clocks,
    racing_autoscalers,
    scaled_at_once,
    ties_beside,
)
from planner.rollout.rollout_duration_bands import ComingNodes
from planner.rollout.rollout_summary import held_by_unknown
from planner.rollout.run import simulate
from planner.rollout.stuck_diagnosis import explain, pending_pods
from planner.rollout.tie_break_sensitivity import sample
from planner.rollout.unknowns import Unknown, is_blind, unknown_drivers, unknowns

_QUEUES: Final = "See who waits: headroom capacity --queues"


@part()
def rollout(
    snapshot: Snapshot, scenario: Scenario, pools: tuple[NodePool, ...] = (), how: Autoscaling | None = None,
    beside: LaterEvents | None = None, book: PriceBook | None = None, seen: PastDurations = EMPTY,
) -> RolloutResult:  # fmt: skip
    """Will these changes finish, why not, and what would help.

    `pools`: that may grow within their limits; without any, the cluster stays as it is. `how`: how autoscalers are set up, and how long a
    new node takes. `beside`: what happens beside it. `book`: for what nodes cost that come. `seen`: how long pods and nodes took, of
    earlier looks.

    Raises
    ------
    ChangeError
        When the scenario doesn't apply to the snapshot.
    """
    how = how or Autoscaling()
    prepared_scenario = prepare(snapshot, scenario)
    planned = timeline(prepared_scenario, beside or LaterEvents(), namespace=scenario.namespace)
    prepared, cluster = planned.prepared, planned.cluster
    first = simulate(cluster, prepared.revisions, seed=scenario.seed, may_count=True)
    run, ties = sample(cluster, prepared.revisions, first, seed=scenario.seed, runs=scenario.runs)
    is_queued = any(revision.queued is not None for revision in prepared.revisions)
    limit = "as Kueue's queues stand" if is_queued else ""
    if run.completed and any(revision.placed and revision.placed.assumes for revision in prepared.revisions):
        limit = limit or "of what is counted of its pods"
    if ties.proven and limit:
        outcome = Text(f"{ties.outcome}, {limit}")
        ties = replace(ties, proven=False, sentence=outcome, outcome=outcome)
    clocks, moves = OtherClocks(), tuple[IndependentActor, ...]()
    if not run.is_cut and scenario.runs:
        clocks = on_other_clocks(cluster, prepared.revisions, run, seed=scenario.seed)
        moves = racing_autoscalers(cluster, prepared.revisions, run, seed=scenario.seed)
    doubts = [*doubts_of_chance(run, ties, clocks), *standing_doubts(cluster, prepared.revisions, run)]
    doubts += doubts_of_acting(moves, run.completed)
    keys = telling.workload_keys_by_owner(run)
    pending = pending_pods(run, keys)
    which = "it" if len(prepared.revisions) == 1 else "the whole change"  # one may complete whatever others come to
    buts = [f"{which} {ties.outcome}"] if 0 < ties.completed_runs < ties.runs else []
    buts += [str(clocks.sentence)] if clocks.sentence else []
    but = ". ".join(f"But {caveat}" for caveat in buts)
    timed_revisions = zip(prepared.revisions, prepared.pod_times, strict=True)
    parts = tuple(
        telling.workload_rollout(run, run.changed[r.after.key], times, pending, but, ties)
        for r, times in timed_revisions
    )
    stuck = next((p for p in parts if p.verdict in (Verdict.STUCK, Verdict.UNKNOWN)), None)
    is_evicting = any(revision.evicts for revision in prepared.revisions)
    every = [revision for first in prepared.revisions for revision in (first, *first.changes)]
    unknown = [(r.after.key, u) for r in every for u in unknowns(cluster, r, run.new_shapes.get(r.after.key))]
    gaps = prepared.unknown
    unknown += [(gap.key, Unknown(what=gap.what, may_help=gap.may_help, fix=gap.fix)) for gap in gaps]
    unknown += dict.fromkeys(unknown_drivers(run, run.done))
    if (run.completed or pools) and (queue_sentence := crowded(cluster, prepared.revisions)):
        unknown.append((prepared.revisions[0].after.key, Unknown(what=queue_sentence, fix=_QUEUES)))
    remedies: list[Remedy] = []
    reached: list[str] = []
    is_sure = not any(u.may_help for _, u in unknown)  # what isn't known may be the way out, or stand in it
    is_sure &= not any(r.changes for r in prepared.revisions)  # a way out of the first change isn't one of the second
    if stuck is not None and stuck.verdict is Verdict.STUCK and scenario.with_remedies and is_sure:
        place = parts.index(stuck)
        why = explain(run, prepared.revisions[place])
        ways = find_remedies(
            cluster, prepared.revisions, stuck.workload, run, why, prepared.pod_times[place], seed=scenario.seed, reached=reached,
            arrival=how.arrival_seconds,
        )  # fmt: skip
        priced_ways = (with_price(prepared.snapshot, book, way) for way in ways)
        remedies = [within_limit(way, pools, cluster) for way in sorted(priced_ways, key=preference)]
        doubts += [_doubt_of_limits(reached)] if reached else []
    cures = tuple(_as_cure(remedy) for remedy in remedies if remedy.kind in VOLUME_CURES)
    evicting = next((p for p in parts if p.verdict is Verdict.EVICTIONS_BY_QUEUE), None)
    shown = stuck or evicting or max(parts, key=lambda p: p.seconds)
    sentence, headline = telling.jointly(parts, shown, but)
    findings = (
        *prepared.findings,
        *version_findings(prepared.snapshot),
        *telling.volumes_elsewhere(run, prepared.revisions, cures),
        *scaled_at_once(run, prepared.revisions),
        *telling.others_in_flight(cluster, run),
        *telling.retried_quota_run(run, prepared.revisions),
        *telling.turned_away(run, prepared.revisions),
        *telling.unsimulated_admission(prepared.snapshot, prepared.revisions),
        *telling.owned_by(prepared.snapshot, prepared.revisions),
        *found_of_queues(prepared.snapshot, prepared.revisions),
        *(telling.unknown_finding(key, u) for key, u in unknown),
        *blocked_by(cluster, run, prepared.revisions),
        *promoted(run),
        *telling.left_out_nodes(cluster, prepared.revisions),
        *(held_by_unknown(prepared.snapshot) if stuck is not None else ()),
        *(on_their_way(prepared.snapshot, stuck.workload) if stuck is not None else ()),
        *(capacity_buffers.unsimulated_buffers(prepared.snapshot) if pools else ()),
    )
    ties = ties_beside(ties, doubts, findings)
    rollout_result = RolloutResult(
        verdict=shown.verdict, reason=shown.reason, sentence=sentence, but=Text(but), headline=headline, workloads=parts, ticks=run.ticks,
        seconds=max(run.waited[p.workload] + p.seconds for p in parts), peak_held=telling.peak_held(run),
        capacity=telling.capacity_of(cluster), pending=pending, timeline=parts[0].timeline, placement=telling.placement_of(run),
        ties=ties if scenario.runs or not is_open(cluster, prepared.revisions, run) else None,
        remedies=tuple(remedies), volume_cures=cures, findings=tuple(f for f in findings if f.severity is not Severity.ERROR),
        doubts=each_once(doubts), preempted=preemption_findings(run, prepared.revisions), in_flight=tuple(
            OtherInFlight(workload=of.key, since=of.since, is_overdue=of.is_overdue, sentence=told_of(cluster, of))
            for of in run.others
        ),
        meanwhile=event_outcomes(planned, run, first, seed=scenario.seed, is_asked=scenario.runs > 0),
        apply=telling.applied_changes(prepared.snapshot, scenario, planned.asked),
    )  # fmt: skip
    if stuck is not None and pools and stuck.reason in GROWING_REASONS and is_evicting:
        unknown.append((stuck.workload, Unknown(what=GROWTH_BESIDE, may_help=True, fix=_QUEUES)))
    elif stuck is not None and pools and stuck.reason in GROWING_REASONS:
        rollout_result = with_pool_growth(
            rollout_result, prepared, cluster, run, stuck.workload, pools, keys, scenario.seed, how
        )
    # Nodes may also come for pods of others: those that it preempts, buffers that it uses up, pods that were pending
    # for a moment only.
    may_be_asked = (
        run.preempted or snapshot.capacity_buffers or any(m.pending for moment in run.moments.values() for m in moment)
    )
    if stuck is None and pools and may_be_asked:
        rollout_result = with_unneeded_scale_ups(rollout_result, prepared, cluster, pools, how, scenario.seed, book)
    may_grow = rollout_result.verdict is Verdict.STUCK and rollout_result.reason in GROWING_REASONS
    if may_grow and not tied_to(run, prepared.revisions):
        rollout_result = limited_to_todays_nodes(rollout_result, snapshot, pools)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    lacking = [gap for _, gap in unknown] + [Unknown(what=error.what, fix=error.fix) for error in errors]
    limited_result = unknown_if_undecided(rollout_result, lacking)
    if any(is_blind(cluster, revision) for revision in prepared.revisions):
        limited_result = telling.unplayed(limited_result, unknown)
    each = zip(prepared.revisions, limited_result.workloads, strict=True)
    pools_that_grow = tuple(dict.fromkeys(map(node_pool, limited_result.new_nodes)))
    coming = ComingNodes(pools=pools_that_grow, is_given=how.arrival_seconds is not None)
    timed = tuple(with_duration(cluster, revision.after, course, seen, coming) for revision, course in each)
    return telling.with_unknowns(replace(limited_result, workloads=timed), unknown, errors)


def _as_cure(remedy: Remedy) -> VolumeCure:
    """A way out in a document's older field."""
    from planner.inventory.yaml_text import yaml_documents  # only cures with a patch pay for its library

    patch = json.dumps(next(yaml_documents(remedy.patch_yaml, "patch"))) if remedy.patch_yaml else ""
    return VolumeCure(sentence=Text(remedy.title), then=remedy.events, patch=patch)


def _doubt_of_limits(reached: Sequence[str]) -> Doubt:
    """That there may be more ways out than were found."""
    return Doubt(
        about="the search for ways out", could_change=Effect.NOTHING, advice="Ask for all plans: headroom rollout --levers all",
        why=Text(f"the search for ways out isn't complete: {listing(list(dict.fromkeys(reached)), None)}"),
    )  # fmt: skip


def stuck_film(snapshot: Snapshot, overview: ClusterOverview | None) -> Film | None:
    """The film of a workload that is stuck, were it restarted now: one with a circle of who waits for whom, where there is any."""
    stuck = [workload for workload in overview.workloads if workload.verdict is Verdict.STUCK] if overview else []
    first = min(stuck, key=lambda workload: workload.reason is not Reason.HOLD_AND_WAIT, default=None)
    if first is None:
        return None
    scenario = Scenario(changes=(WorkloadChange(workload=first.workload),), with_remedies=False)
    try:
        return rollout_film(snapshot, scenario, rollout(snapshot, scenario).workloads[0])
    except HeadroomError:  # a review says what it can
        return None
