"""Searches, workload by workload, for a readiness plan's actions that cost no money."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import product

from planner.capacity.scale_up_simulation import waiting_shape
from planner.ground import parallel_parts
from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.ground.words import count, listing, short_name
from planner.ground.work_budget import part
from planner.kubernetes import kueue_managed_pods, shell_commands
from planner.kubernetes.derived import Same
from planner.kubernetes.object_records import Node, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.surge_and_unavailable import enough
from planner.remedies import limits
from planner.remedies import sequential_rollouts as in_turn
from planner.remedies.lever_outcomes import LeveredCluster
from planner.remedies.levers import pods, strategy
from planner.remedies.levers.lending import keeps_replicas, may_preempt
from planner.remedies.levers.quota import is_unstated
from planner.remedies.make_room import room_made
from planner.remedies.plan_actions import (
    Change,
    Measure,
    MeasureKind,
    loan_measure,
    order_measure,
    quota_measure,
    uncordon_measure,
    with_all,
)
from planner.remedies.player import PlanOutcome
from planner.remedies.readiness_plan_state import PlanState
from planner.remedies.single_rollout_plans import unbeaten_plans
from planner.rollout.answers import GROWING_REASONS, Pair, Reason, RemedyKind, Verdict, rolling
from planner.rollout.ownership import pods_of, workloads_by_key
from planner.rollout.rollout_equivalence import surroundings
from planner.rollout.rollout_summary import OwnRollout, OwnRollouts
from planner.rollout.run import Run
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import shape_of

_Changed = tuple[Pair, OwnRollout]
"""maxSurge and maxUnavailable, and the state with them."""


class FreeMeasures:
    """What costs no money: other strategies, larger quotas, loans, turns, moves."""

    def __init__(self, state: PlanState) -> None:
        self.state = state
        self._strategies: dict[Hashable, _Changed | None] = {}  # of what is alike in a cluster

    def look_ahead(self, wanting: Sequence[str]) -> None:
        """Computes other strategies of the workloads in advance, in parts."""
        strategies = parallel_parts.each(wanting, self._strategy_for)
        self._strategies.update(zip(map(self._asked_of, wanting), strategies, strict=True))

    def cure(self, key: str) -> None:
        if self.state.states[key].verdict is Verdict.UNKNOWN:
            return
        if not self._change_strategy(key) and self.state.states[key].reason is Reason.QUOTA:
            self._raise_quota(key)
            if not self.state.is_ready(key):
                self._change_strategy(key)
        if self.state.wants_room(key) and any(node.is_cordoned for node in self.state.world.cluster.nodes):
            self._uncordon(key)

    def _change_strategy(self, key: str) -> bool:
        """Another strategy of its own, if one keeps enough pods Ready."""
        strategy_change = self._strategy_for(key)
        change = None if strategy_change is None else self.state.with_strategy(key, rolling(*strategy_change[0]))
        if strategy_change is None or change is None:
            return False
        change[1](self.state.world).know(key, strategy_change[1])
        self.state.adopt(*change, [key])
        return True

    def _strategy_for(self, key: str) -> _Changed | None:
        """The strategy that `choose` recommends; what others' strategies are has no say in it."""
        cache_key = self._asked_of(key)
        if cache_key not in self._strategies:
            self._strategies[cache_key] = self._strategy_found(key)
        return self._strategies[cache_key]

    def _asked_of(self, key: str) -> Hashable:
        """What tells one search for another strategy from the next."""
        cluster, revision, state = self.state.world.cluster, self.state.world.revision(key), self.state.states[key]
        alike = surroundings(cluster, revision.after)
        alike = (key, revision.after.strategy) if alike is None else alike
        of = state.verdict, state.reason, state.lowest_ready, state.replicas  # not its words: they may name a namespace
        return Same(cluster), alike, revision.before and revision.before.strategy, of

    def _strategy_found(self, key: str) -> _Changed | None:
        workload, state = self.state.world.revision(key).after, self.state.states[key]
        if (
            not workload.traits.rolls_out
            or workload.traits.has_ordinals
            or not state.replicas
            or state.verdict is Verdict.UNKNOWN
            or self._holds_nothing(key)
            or (state.reason is Reason.QUOTA and self._is_unstated(key))
        ):
            return None
        cluster, least = self.state.world.cluster, enough(self.state.share, state.replicas)
        pair = strategy.recommended(cluster, self.state.world.revision(key), self._few(workload), state.replicas, least)
        if pair is None:
            return None
        then = self.state.world.more(strategies={key: rolling(*pair)}).state(key)
        return (pair, then) if then.keeps(self.state.share) else None

    def _holds_nothing(self, key: str) -> bool:
        """Whether it wants for room and none of its pods has any: no strategy gives it what it doesn't hold."""
        cluster, state = self.state.world.cluster, self.state.states[key]
        pods = (cluster.snapshot.pods[i] for i in pods_of(cluster, workloads_by_key(cluster)[key]))
        return state.reason in GROWING_REASONS and not any(pod.node_name for pod in pods)

    def _is_unstated(self, key: str) -> bool:
        with part():
            run = self.state.seen(self.state.world.cluster, self.state.world.revision(key)).run
        return run is not None and is_unstated(run, key)

    def _few(self, workload: Workload) -> list[Pair]:
        state = self.state.states[workload.key]
        replicas = workload.replicas if workload.traits.has_replicas else state.replicas
        least = enough(self.state.share, replicas)
        return strategy.few(workload, replicas, least, is_full=state.reason is Reason.HOLD_AND_WAIT)

    def strategies_that_wait(self, key: str) -> list[Change]:
        """Other strategies, which don't do by themselves: of a stuck rollout one without surge, with which fewer nodes may be enough; of one
        that completes with too few Ready one with surge, with which nodes keep them Ready."""
        workload, is_stuck = self.state.world.revision(key).after, self.state.states[key].verdict is Verdict.STUCK
        if workload.replicas == 0 or not workload.traits.surges_freely:
            return []
        pairs = [(surge, missing) for surge, missing in self._few(workload) if (surge == 0) is is_stuck][:1]
        waiting = (self.state.with_strategy(key, rolling(*pair)) for pair in pairs)
        return [measure for measure in waiting if measure is not None]

    def _raise_quota(self, key: str) -> None:
        for remedy in self.state.remedies(key, RemedyKind.RAISE_QUOTA):
            measure, effect = quota_measure(self.state.snapshot, key, remedy.quota_hard)
            if effect(self.state.world).state(key).verdict is Verdict.COMPLETES:
                self.state.take(key, [(measure, effect)])
                return

    def _uncordon(self, key: str) -> None:
        with part():
            run = self.state.seen(self.state.world.cluster, self.state.world.revision(key)).run
        world, shape = self.state.world, waiting_shape(run, key) if run else None
        for way in pods.opened(world.cluster, shape, [], workloads_by_key(world.cluster)[key]):
            changes = [uncordon_measure(key, name) for name in way.opens]
            if self.state.does(with_all(self.state.world, changes), [key]):
                self.state.take(key, changes)
                return

    def who_lends(self, wanting: Sequence[str]) -> list[tuple[str, list[Change]]]:
        """What others feel that lend, of each workload; moves come before that. In a large cluster no workload is asked any more once none
        could for so many in a row."""
        loans, in_vain = [], 0
        is_large = self.state.world.cluster.node_count > limits.LARGE_CLUSTER.most
        most = (limits.LENT_IN_VAIN if is_large else limits.LENT).most
        lacking = [key for key in wanting if self._may_be_lent_to(key)]
        for place, key in enumerate(lacking):
            if place >= limits.LENT.most or in_vain >= most:
                self.state.doubt(limits.LENT.reached(number=count(len(lacking) - place, "more workload")))
                break
            self.state.tell(f"Who could lend: {key}", 0.5 + 0.1 * place / limits.LENT.most)
            loans_of_key = self.search(key)
            loans += [(key, loan) for loan in loans_of_key]
            in_vain = 0 if loans_of_key or self.state.is_ready(key) else in_vain + 1
        return loans

    def search(self, key: str) -> list[list[Change]]:
        """What the certificate's search has without a node: others that lend, a larger quota, another strategy, or some of these. Where
        pods of others end for it, it is given back and not taken yet."""

        def does(outcome: PlanOutcome) -> bool:
            changes = self.changes_of(key, outcome)
            return bool(changes) and self.state.does(with_all(self.state.world, changes), [key])

        for outcome in self.least(key, does=does):
            if does(outcome):
                changes = self.changes_of(key, outcome)
                if any(lender.disturbed(replicas_left) for lender, replicas_left in outcome.lent):
                    return [changes]
                self.state.take(key, changes)
                break
        return []

    def _may_be_lent_to(self, key: str) -> bool:
        state = self.state.states[key]
        return self.state.wants_room(key) or (state.verdict is Verdict.STUCK and state.reason is Reason.QUOTA)

    def least(
        self, key: str, worth: Callable[[Node], int] | None = None, does: Callable[[PlanOutcome], bool] = lambda _: False
    ) -> tuple[PlanOutcome, ...]:  # fmt: skip
        """Plans of the certificate's search for one workload, with what is adopted so far. `worth`: nodes are looked at too; `does`: one that
        is taken, beside which none that disturbs more is looked for."""
        cluster, revision = self.state.world.cluster, self.state.world.revision(key)
        if not self._may_be_lent_to(key) or (worth and cluster.node_count > limits.LARGE_CLUSTER.most):
            return ()
        try:
            with part():
                glance = self.state.seen(cluster, revision)
                if glance.run is None or glance.why is None:
                    return ()
                pools, played = tuple(self.state.pools.values()), glance.run.revisions[-1]  # as Kueue lets it in
                share, in_vain = self.state.share, self.state.in_vain
                return unbeaten_plans(cluster, played, glance.run, glance.why, share, in_vain, pools, worth, does)
        except HeadroomError:
            return ()

    def changes_of(self, key: str, outcome: PlanOutcome) -> list[Change]:
        """All that such a plan does but for its nodes, in the order in which it is done."""
        today = self.state.world.revision(key).after.strategy
        hard = tuple((name, resource, most) for _, name, resource, _, most in outcome.quotas)
        changes = [quota_measure(self.state.snapshot, key, hard)] if hard else []
        strategy = outcome.revisions[0].after.strategy
        change = None if strategy == today else self.state.with_strategy(key, strategy)
        changes += [] if change is None else [change]
        if not outcome.lent:
            return changes
        lent = {lender.workload.key: replicas_left for lender, replicas_left in outcome.lent}
        # A lender without a pod on a node only gives up its place in the queue: the measure says that it is pending
        # today.
        waiting = {lender.workload.key for lender, _ in outcome.lent if not lender.bound}
        loan = loan_measure((key,), ((lender.workload, left) for lender, left in outcome.lent), waiting)
        return [*changes, (loan, partial(LeveredCluster.more, loans={key: lent}))]

    def roll_in_turn(self, wanting: Sequence[str]) -> None:
        """Who comes after whom, where that lets one through that is stuck by itself: one sequence, which is played as a whole."""
        if (number := self.state.world.cluster.node_count) > limits.LARGE_CLUSTER.most:
            if any(self.state.wants_room(key) for key in wanting):
                self.state.doubt(f"The order of rollouts isn't part of a plan among {number:,} nodes.")
            return
        tried = None
        while tried != len(self.state.turns):  # one more that is through may be what another waits for
            tried = len(self.state.turns)
            lacking = [key for key in wanting if self.state.wants_room(key) and key not in self.state.turns]
            self.state.ask_ahead("Who could be rolled out before it", 0.0, lacking, self._who_before, self._come_after)
        if self.state.turns:
            self._keep_others_ready()

    def _who_before(self, key: str) -> tuple[list[str], list[Change]] | None:
        """The workloads to roll out before the stuck one `key`, after those that are in turn already, and the changes it needs beside
        that: a loan (pending workloads at 0 replicas for a while), a strategy that waits, both or neither. None where no order lets
        `key` through."""
        world = self.state.world
        if not self.state.wants_room(key):
            return None
        idle = [(workload, 0) for workload in self._who_only_waits(key)]
        lent = {workload.key: replicas_left for workload, replicas_left in idle}
        loan = loan_measure((key,), idle, lent), partial(LeveredCluster.more, loans={key: lent})
        own = [None, *self.strategies_that_wait(key)]
        changes = [[change for change in pair if change] for pair in product((None, loan) if idle else (None,), own)]
        thens = [with_all(world, change_set) for change_set in changes]
        ways = [in_turn.RolloutTurn(revision=then.revision(key), lent=then.lent(key)) for then in thens]
        before, others = ([*map(world.revision, keys)] for keys in (self.state.turns, self.state.others_ready()))
        with part():
            order = in_turn.first_turns(world.cluster, before, others, ways, self.state.share)
        if order is None:
            return None
        turns, way = [turn.after.key for turn in order[0]], changes[ways.index(order[1])]
        # A loan lasts from the first turn to the last: each workload in turn is one that it is for.
        of_all = loan_measure((*self.state.turns, *turns, key), idle, lent), loan[1]
        return turns, [of_all if turn_measures[0].kind is MeasureKind.LEND else turn_measures for turn_measures in way]

    def _come_after(self, key: str, order: tuple[list[str], list[Change]] | None) -> None:
        if order is not None:
            first = (*self.state.turns, *order[0])
            self.state.turns = (*first, key)
            self.state.take(key, [*order[1], order_measure(key, first, self.state.share)])

    def _who_only_waits(self, key: str) -> list[Workload]:
        """Others without a pod on any node, so that scaling them down for a while disturbs no pod, and that take the place of none that
        rolls out when they come back."""
        cluster, workloads = self.state.world.cluster, workloads_by_key(self.state.world.cluster)
        turns = [shape_of(cluster, workloads[turn]) for turn in (*self.state.turns, key)]
        waiting = dict.fromkeys(workload_keys(cluster.snapshot)[cluster.snapshot.pods[i].uid] for i in cluster.waiting)
        others = waiting.keys() & workloads.keys() - {key, *self.state.turns}
        return [
            workload for workload in (workloads[other] for other in waiting if other in others)
            if workload.traits.surges_freely and keeps_replicas(cluster.snapshot, workload, 0)
            and not may_preempt(shape_of(cluster, workload), turns)
            and not any(cluster.snapshot.pods[i].holds_room for i in pods_of(cluster, workload))
        ]  # fmt: skip

    def _keep_others_ready(self) -> None:
        """Who could be rolled out before the sequence and can't be after it comes first, where the sequence still goes then."""
        world, names = self.state.world, listing([short_name(turn) for turn in self.state.turns], None)
        if any(key in world.loans for key in self.state.turns):
            self.state.doubt(f"Whether all others can still be rolled out after {names} wasn't looked at.")
            return

        def played(turns: Sequence[str]) -> Run | None:
            with part():
                return in_turn.simulated_order(world.cluster, [*map(world.revision, turns)], self.state.share)

        run = played(self.state.turns)
        if run is None:
            return
        after = OwnRollouts(Cluster(run.simulation.snapshot_now()))
        late = [key for key in self.state.others_ready() if not after.of(world.revision(key)).keeps(self.state.share)]
        if not late:
            return
        turns = (*late, *self.state.turns)
        if played(turns) is None:
            self.state.doubt(f"After {names}, {listing([short_name(name) for name in late])} can't be rolled out.")
            return
        self.state.turns = turns
        # Each order names the turns before its own: with others put first, all are made anew.
        for place, (before, _) in enumerate(self.state.taken):
            if before.kind is MeasureKind.ORDER:
                own = before.workload
                measure, effect = order_measure(own, turns[: turns.index(own)], self.state.share)
                self.state.taken[place] = replace(measure, makes=before.makes), effect
        self.state.world = with_all(self.state.today, self.state.taken)

    def make_room(self, wanting: Sequence[str]) -> None:
        """The fewest moves that start the pods that wait, where more workloads can be rolled out with them, with another strategy or not,
        and none fewer."""
        cluster = self.state.today.cluster
        keys, pods = workload_keys(self.state.snapshot), self.state.snapshot.pods
        if not any(keys[pods[number].uid] in wanting for number in cluster.waiting):
            return
        if cluster.node_count > limits.MOVES_NODES.most or kueue_managed_pods.is_there(self.state.snapshot):
            is_queued = kueue_managed_pods.is_there(self.state.snapshot)
            why = "where Kueue lets pods in" if is_queued else f"among {cluster.node_count:,} nodes"
            self.state.doubt(f"Moves aren't part of a plan {why}: make room (headroom make-room) looks for them.")
            return
        self.state.tell("Which pods could move", 0.6)
        try:
            with part():
                room_plan, after = room_made(self.state.snapshot)
        except HeadroomError:
            return
        if not room_plan.moves or room_plan.held < room_plan.draws:
            return
        before, own_place = self.state.so_far(), len(self.state.taken)
        ready = {key for key in self.state.states if self.state.is_ready(key)}
        effect = partial(replace, base=Cluster(after))
        moves = Measure(
            kind=MeasureKind.MOVES, what=room_plan.sentence, workload=wanting[0], moves=len(room_plan.moves), makes=(),
            command="headroom make-room CLUSTER --script >make-room.sh && sh make-room.sh",
            undo=shell_commands.remark("pods that were moved aren't brought back"),
        )  # fmt: skip
        self.state.adopt(moves, effect, list(self.state.states))
        for key in wanting:
            if not self.state.is_ready(key):
                self.cure(key)
        now = {key for key in self.state.states if self.state.is_ready(key)}
        if not ready < now:
            self.state.go_back(before)
            return
        makes = tuple(key for key in self.state.states if key in now - ready)
        self.state.taken[own_place] = replace(self.state.taken[own_place][0], makes=makes), effect
