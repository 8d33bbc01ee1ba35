"""Simulates one plan: its outcome, and a lower bound before any simulation.

The engine is the successor function. Who lends is scaled down first and waited for, then the change comes (`WHEN_AT_REST`), as the
printed steps do it; new nodes are there at the start, and their arrival is added to the time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from math import ceil, inf
from typing import Final

import numpy as np

from planner.capacity.eviction_simulation import with_uncordoned
from planner.capacity.node_count_lower_bound import staying
from planner.ground.records import Record, replace
from planner.kubernetes.autoscaler_replica_bounds import settled_replicas
from planner.kubernetes.object_records import Workload
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import DEPLOYMENT, RECREATE
from planner.pricing.added_nodes import AddedNodes, NodesPrice
from planner.pricing.price_book import PriceBook
from planner.remedies.lever_ranges import Knobs, Plan
from planner.remedies.levers import lending, nodes, quota
from planner.remedies.levers.lending import Lender
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.nodes import MoreNodes
from planner.remedies.random_draw_checks import PlanCase, other_draws, placements, preempted_of_others
from planner.rollout.in_flight import is_midway
from planner.rollout.pod_durations import seconds_at
from planner.rollout.race_doubts import on_other_clocks, racing_autoscalers
from planner.rollout.room_when_empty import RoomWhenEmpty, has_room, kept_nodes
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.tie_break_sensitivity import holds_in_every_placement
from planner.scheduling.cluster import Cluster, IntArray

_PRECISION: Final = 6

Costs = tuple[float, ...]
"""Of each change pods Ready at worst (negated), then money (USD; nodes a pool where no price is known), pods of others disturbed,
seconds, pods that don't get the change: less is better in each."""


class PlanOutcome(Record, eq=False):
    """What a plan came to.

    Attributes
    ----------
    completes : whether every change did, in everything that was tried
    lowest : of each change, pods Ready at worst
    seconds : until the last change is complete: others scaled down, nodes come, and the rollout
    arrival_seconds : of them until new nodes take pods
    usd : what its nodes cost: for the time of the rollout those that go again, a month those that are kept; None without a price
    quotas : that stood in the way, where it lifts them, with the most that is used
    nodes : that it adds, and of them those that have pods at the end which find no other place
    disturbed : pods of others that end: scaled down, moved, or preempted
    left : pods that don't get the change
    down_seconds : how long no pod of a change is Ready that has some today
    is_proven : whether neither chance nor others could make it another
    runs : placements in which it does what it says
    """

    plan: Plan
    completes: bool
    is_proven: bool
    costs: Costs = ()
    lowest: tuple[int, ...] = ()
    seconds: float = 0.0
    usd: float | None = 0.0
    price: NodesPrice | None = None
    quotas: tuple[quota.Raised, ...] = ()
    nodes: tuple[MoreNodes, ...] = ()
    arrival_seconds: float = 0.0
    disturbed: int = 0
    left: int = 0
    preempted: int = 0
    down_seconds: float = 0.0
    runs: int = 1
    run: Run | None = None
    revisions: tuple[Revision, ...] = ()
    lent: tuple[tuple[Lender, int], ...] = ()

    @property
    def kept(self) -> int:
        """How many nodes stay in use."""
        return sum(more.kept for more in self.nodes)


class Player:
    """Plays the plans of a case."""

    def __init__(self, case: PlanCase, knobs: Knobs, book: PriceBook | None = None) -> None:
        self.case, self.knobs = case, knobs
        self._clusters: dict[Hashable, Cluster] = {}
        self._room: dict[tuple[int, int, tuple[int, ...]], bool] = {}
        self._lacking: dict[Hashable, bool] = {}
        self._bests: dict[tuple[int, int], tuple[float, float, int]] = {}
        templates = [pool.new.template for pool in knobs.pools]
        self.prices = AddedNodes(book, case.cluster.snapshot.nodes, templates, start_seconds=case.arrival_seconds)
        self.played = 0

    # ── the bound ────────────────────────────────────────────────────────────────────────────────────────────────────
    def bound(self, plan: Plan) -> Costs:
        """What no run of the plan can be better than; of a plan without ways, whatever the changes' own are.

        Of a Deployment with all pods Ready that only gets a new template: the controller ends as many pods as may miss
        as its first step (`reconcileOldReplicaSets`), and each new pod is one of those missing, or of the surge, while it starts. For
        all others only that no more can be Ready than are today.
        """
        # A plan without ways stands for all of them: the best of each change's ways bounds every combination.
        ways = [[way] for way in self.knobs.ways_of(plan)] if plan.ways else self.knobs.ways
        each = [[self._best(place, way) for way in workload_ways] for place, workload_ways in enumerate(ways)]
        lowest = tuple(-max(most for most, _, _ in workload_bests) for workload_bests in each)
        seconds = max(min(least for _, least, _ in workload_bests) for workload_bests in each) + self._moving(plan)
        remaining_old = sum(min(old_count for *_, old_count in workload_bests) for workload_bests in each)
        return self._costs(lowest, seconds, plan, self._lent_disturbed(plan), remaining_old, self._price(plan, seconds))

    def _best(self, place: int, way: LeverPosition) -> tuple[float, float, int]:
        """Of one change pods Ready at worst at most, seconds at least, and pods that stay as they are: below a StatefulSet's partition."""
        key = (place, id(way))
        if key not in self._bests:
            revision = self.case.revisions[place]
            after = way.changed(revision.after)
            old_pods = min(after.strategy.partition, after.replicas) if revision.has_new_template else 0
            self._bests[key] = (*self._ready_and_seconds(place, way, after), old_pods)
        return self._bests[key]

    def _ready_and_seconds(self, place: int, way: LeverPosition, after: Workload) -> tuple[float, float]:
        times = self.case.pod_times[place]
        if not self._is_plain[place] or way.happenings:
            return (inf, 0.0)
        # It is scaled down first: no more pods are Ready than today, and how long it takes isn't bounded.
        if way.replicas is not None:
            return (float(self.case.run.moments[after.key][0].ready), 0.0)
        if after.strategy.kind == RECREATE:
            return (0.0, times.startup_seconds)
        surge, missing = rolling_limits(after)
        missing = min(missing, after.replicas)
        # No more pods than surge and missing ones start at a time: it takes at least so many start-ups.
        waves = ceil(after.replicas / (surge + missing)) if surge + missing else 1
        return (float(after.replicas - missing), waves * times.startup_seconds)

    @cached_property
    def _is_plain(self) -> tuple[bool, ...]:
        """Of each change, whether it is a Deployment's, with all pods Ready, that gets a new template and nothing else, with
        no pod waiting who could preempt them."""
        cluster, plain_flags = self.case.cluster, list[bool]()
        for place, revision in enumerate(self.case.revisions):
            before, after = revision.before, revision.after
            first = self.case.run.moments[after.key][0]
            is_same = before is not None and before.replicas == after.replicas and revision.placed is None
            is_restarted = after.kind == DEPLOYMENT.name and revision.has_new_template and not revision.never_ready
            at_rest = first.old_ready == first.pods == after.replicas and not self.case.run.others
            is_left = settled_replicas(cluster.snapshot, after) == after.replicas
            level = self.case.shape(place).priority
            # A pending pod of higher priority could preempt the change's pods, below what its controller keeps Ready.
            is_safe = all(cluster.priority_of(cluster.snapshot.pods[i].spec) <= level for i in cluster.waiting)
            plain_flags.append(is_same and is_restarted and at_rest and is_left and is_safe)
        return tuple(plain_flags)

    # ── played ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def play(self, plan: Plan) -> PlanOutcome:
        """What the plan comes to.

        Raises
        ------
        TooLargeError
            When the search may cost no more.
        """
        cluster, revisions, lent = self._cluster(plan), self._revisions(plan), self._lent(plan)
        if self.is_refused or self._is_short(plan, cluster):
            return PlanOutcome(plan=plan, completes=False, is_proven=True)
        self.played += 1
        changes = [*self._scaled(lent), *revisions]
        run = simulate(cluster, changes, seed=self.case.seed).whole()
        # Which of the pods that wait comes to a node that opens is played in one placement.
        is_sure = not (self._opens(plan) and self.case.cluster.waiting) and self._is_sure(cluster, changes, run, lent)
        if not all(run.done.values()) or not self._comes_back(plan, run):  # those scaled for it are among them, too
            return PlanOutcome(plan=plan, completes=False, is_proven=is_sure, run=run)
        preempted = preempted_of_others(run, [r.after.key for r in self.case.revisions])
        lowest, rolling, down = self._times(plan, run)
        staying_nodes = self._kept(plan, run)
        price = self._price(plan, rolling, staying_nodes)
        seconds = round(rolling + self._arrival(plan), _PRECISION)
        disturbed = self._lent_disturbed(plan) + preempted
        binding = quota.binding_quotas(self.case.cluster.snapshot, run, self.case.namespaces) if plan.quota else ()
        old_pods = sum(self._best(place, way)[2] for place, way in enumerate(self.knobs.ways_of(plan)))
        return PlanOutcome(
            plan=plan, completes=True, is_proven=is_sure, costs=self._costs(
                tuple(-ready_count for ready_count in lowest), rolling, plan, disturbed, old_pods, price),
            lowest=lowest, seconds=seconds, usd=None if price is None else round(price.usd, _PRECISION), price=price,
            quotas=tuple(binding), nodes=self.knobs.more_nodes(plan, staying_nodes), arrival_seconds=self._arrival(plan),
            disturbed=disturbed, left=old_pods, preempted=preempted, down_seconds=down, run=run, revisions=tuple(revisions),
            lent=tuple(lent),
        )  # fmt: skip

    def confirmed(self, outcome: PlanOutcome) -> PlanOutcome:
        """A plan that completes, once it did in other placements, where chance has a say; it completes in all of them or not."""
        if outcome.is_proven or outcome.run is None:
            return outcome
        cluster = self._cluster(outcome.plan)
        changes = [*self._scaled(outcome.lent), *outcome.revisions]
        for draw, other in enumerate(other_draws(cluster, changes, outcome.run, seed=self.case.seed), 1):
            if not all(other.whole().done.values()):
                return replace(outcome, completes=False, costs=(), runs=draw + 1)
        return replace(outcome, runs=placements(outcome.run.work))

    def _is_sure(
        self, cluster: Cluster, changes: Sequence[Revision], run: Run, lent: Sequence[tuple[Lender, int]]
    ) -> bool:
        """Whether neither ties, others in flight, autoscalers nor seconds could make the run another; what stands in doubt of every plan
        is the certificate's (`pareto_plans_report`)."""
        if self._may_be_moved or not holds_in_every_placement(run, changes):
            return False
        if any(lending.may_be_moved(cluster.snapshot, lender.workload, replicas) for lender, replicas in lent):
            return False
        clocks = on_other_clocks(cluster, changes, run, seed=self.case.seed)
        return clocks.is_proven and not clocks.sentence

    @cached_property
    def _may_be_moved(self) -> bool:
        """Whether autoscalers may move replicas that matter, the changes' or others'."""
        return bool(racing_autoscalers(self.case.cluster, self.case.revisions, self.case.run, seed=self.case.seed))

    def _is_short(self, plan: Plan, cluster: Cluster) -> bool:
        """Whether the plan's nodes couldn't hold all new pods even if nothing else were on them: nothing that it changes helps then."""
        key = (plan.moves, plan.quota, plan.nodes)
        if len(self.case.revisions) != 1:
            return False
        way = self.knobs.ways[0][plan.ways[0]]
        if way.replicas is not None or way.opens or way.template is not None:
            return False
        if key not in self._room:
            room = RoomWhenEmpty.of(self.case.run, self.case.revisions[0])
            self._room[key] = room.is_short(cluster, self.case.revisions[0].after)
        return self._room[key]

    def lacks_room(self, plan: Plan) -> bool:
        """Whether, whatever its way is, the only change's new pods don't fit beside those that stay where they are in any run of the plan."""
        if len(self.case.revisions) != 1 or plan.moves or self.case.cluster.later:
            return False
        # others may be sent away, or nodes opened
        if any(way.happenings or way.opens or way.template is not None for way in self.knobs.ways[0]):
            return False
        lent = {lender.workload.key for lender, _ in self._lent(plan)}
        key = (plan.nodes, *sorted(lent))
        if key not in self._lacking:
            cluster, after = self._cluster(plan), self.case.revisions[0].after
            kept = np.zeros_like(cluster.allocatable)
            staying_amounts = (held for own, held in self._staying.items() if own not in lent)
            kept[:, : self.case.cluster.node_count] = sum(staying_amounts)
            self._lacking[key] = RoomWhenEmpty.of(self.case.run, self.case.revisions[0]).is_short(cluster, after, kept)
        return self._lacking[key]

    @cached_property
    def _staying(self) -> dict[str, IntArray]:
        lenders = [lender.workload.key for lender in self.knobs.lenders if lender.bound]
        return staying(self.case.cluster, self.case.revisions[0].after, self.case.shape(0), lenders)

    @cached_property
    def is_refused(self) -> bool:
        """Whether the API server takes no new pod of a change, however large quotas are: no lever helps there."""
        revisions = [r for r in self.case.revisions if r.has_new_template and r.placed is None and r.after.pods_wanted]
        if all(r.after.key in self.case.run.new_shapes for r in revisions):
            return False
        # Quotas are lifted in this run. A refusal that stays (a LimitRange, say) is beyond every lever.
        lifted = Plan(ways=(0,) * len(self.case.revisions), lent=(0,) * len(self.knobs.lenders), quota=1,
            nodes=(0,) * len(self.knobs.pools))  # fmt: skip
        run = simulate(self._cluster(lifted), self.case.revisions, seed=self.case.seed)
        return not run.is_cut and bool(run.refusals) and any(r.after.key not in run.new_shapes for r in revisions)

    def made_none(self, run: Run) -> bool:
        """Whether quotas or admission let no pod of any change be made, so that kube-scheduler never saw one."""
        return bool(run.refusals) and not any(r.after.key in run.new_shapes for r in self.case.revisions)

    def _comes_back(self, plan: Plan, run: Run) -> bool:
        """Whether a workload that was scaled down first has room for the rest of its pods, once it is through."""
        for place, way in enumerate(self.knobs.ways_of(plan)):
            after = self.case.revisions[place].after
            if way.replicas is not None:
                shape = run.new_shapes.get(after.key) or self.case.shape(place)
                if not has_room(run, shape, after.replicas - way.replicas):
                    return False
        return True

    # ── what it is made of ───────────────────────────────────────────────────────────────────────────────────────────
    def _cluster(self, plan: Plan) -> Cluster:
        key, opens = (plan.moves, plan.quota, plan.nodes), self._opens(plan)
        cluster = self._clusters.get((key, opens))
        if cluster is None:
            moved = self.knobs.moves_of(plan)
            cluster = with_uncordoned(moved.cluster if moved else self.case.cluster, opens)
            if plan.quota:
                cluster = quota.without_quotas(cluster, self.case.namespaces)
            likes = [more.like for more in self.knobs.more_nodes(plan) for _ in range(more.number)]
            cluster = self._clusters[key, opens] = nodes.with_more_nodes(cluster, likes)
        for way in self.knobs.ways_of(plan) if plan.ways else ():
            cluster = way.happens_to(cluster)
        return cluster

    def _opens(self, plan: Plan) -> frozenset[str]:
        """Nodes that take pods again."""
        return frozenset(name for way in (self.knobs.ways_of(plan) if plan.ways else ()) for name in way.opens)

    def _lent(self, plan: Plan) -> list[tuple[Lender, int]]:
        pairs = zip(self.knobs.lenders, plan.lent, strict=True)
        return [(lender, lender.replicas[position - 1]) for lender, position in pairs if position]

    @staticmethod
    def _scaled(lent: Sequence[tuple[Lender, int]]) -> list[Revision]:
        return [lending.scaled(lender.workload, replicas_left) for lender, replicas_left in lent]

    def _lent_disturbed(self, plan: Plan) -> int:
        moved = self.knobs.moves_of(plan)
        away = sum(way.disturbs for way in self.knobs.ways_of(plan)) if plan.ways else 0
        lent = sum(lender.disturbed(replicas_left) for lender, replicas_left in self._lent(plan))
        return (moved.moves if moved else 0) + away + lent

    def _revisions(self, plan: Plan) -> list[Revision]:
        ways = zip(self.case.revisions, self.knobs.ways_of(plan), strict=True)
        revisions = [way.revised(revision) for revision, way in ways]
        order, keys = self.knobs.orders[plan.order], [revision.after.key for revision in revisions]
        waits = any(plan.lent) and not is_midway(self.case.cluster, keys)
        waits = waits if order else order is None or (waits and len(revisions) == 1)
        return [
            replace(revision, after_seconds=WHEN_AT_REST) if waits or (order and turn) else revision
            for turn, revision in enumerate(revisions[place] for place in order or range(len(revisions)))
        ]

    def _times(self, plan: Plan, run: Run) -> tuple[tuple[int, ...], float, float]:
        """Of each change its lowest Ready; seconds until all are complete, and how many of them some has no pod Ready."""
        lowest, seconds, down = [], 0.0, 0.0
        for place, revision in enumerate(self.case.revisions):
            key, times = revision.after.key, self.case.pod_times[place]
            moments = run.moments[key]
            at = seconds_at(moments, times, run.tick_ends)
            lowest.append(run.lowest_ready(key))
            took = run.waited[key] + at[-1]
            if self.knobs.ways[place][plan.ways[place]].replicas is not None:
                took += times.startup_seconds  # until those that come back are there
            seconds = max(seconds, took)
            if self.case.run.moments[key][0].ready:
                missing = (b - a for a, b, moment in zip(at, at[1:], moments, strict=False) if not moment.ready)
                down = max(down, sum(missing))
        if any(plan.lent) and self.knobs.orders[plan.order] is not None:
            # who lends is scaled down while the nodes start: the longer of the two is waited for
            waits = min(run.waited[revision.after.key] for revision in self.case.revisions)
            seconds -= min(waits, self._arrival(plan))
        return tuple(lowest), seconds + self._moving(plan), down

    def _arrival(self, plan: Plan) -> float:
        """Until new nodes take pods."""
        return self.prices.arrival_seconds(plan.nodes)

    def _moving(self, plan: Plan) -> float:
        """Until pods have moved."""
        moved = self.knobs.moves_of(plan)
        return moved.seconds if moved else 0.0

    def _kept(self, plan: Plan, run: Run) -> tuple[int, ...]:
        """Nodes of each pool that pods stay on; they come pool by pool (`_cluster`)."""
        if not any(plan.nodes):
            return ()
        pools = [pool for pool, number in enumerate(plan.nodes) for _ in range(number)]
        staying = [pools[place] for place in kept_nodes(run, len(pools))]
        return tuple(staying.count(pool) for pool in range(len(plan.nodes)))

    def _price(self, plan: Plan, rollout_seconds: float, staying_nodes: Sequence[int] = ()) -> NodesPrice | None:
        return self.prices.price(plan.nodes, staying_nodes or (0,) * len(plan.nodes), rollout_seconds)

    def _costs(
        self, lowest: Costs, rollout_seconds: float, plan: Plan, disturbed: int, old_pods: int, price: NodesPrice | None
    ) -> Costs:  # fmt: skip
        usd = 0.0 if price is None else round(price.usd, _PRECISION)
        money = (usd,) if self.prices.is_priced else tuple(map(float, self.knobs.by_kind(plan).values()))
        seconds = round(rollout_seconds + self._arrival(plan), _PRECISION)
        return (*lowest, *money, float(disturbed), seconds, float(old_pods))
