"""The least that makes every workload rollable: strategies, quotas, an order, what others lend for a while, moves, nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache, partial
from itertools import product
from math import ceil
from typing import Any, Final, TypeVar

from planner.capacity.node_pools import NodePool, capacity_of, pool_key
from planner.ground import parts
from planner.ground.budget import part
from planner.ground.errors import HeadroomError
from planner.ground.progress import tell
from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.settings import setting
from planner.ground.words import NO_WORDS, Text, count, listing, plural, short_name, spelled, usd
from planner.inventory.account import list_command
from planner.inventory.applied import applied
from planner.kubernetes import commands, queues
from planner.kubernetes.autoscalers import settled
from planner.kubernetes.budgets import kept_ready
from planner.kubernetes.derived import Same
from planner.kubernetes.kinds import NODE, POD, ROLLING_UPDATE, several
from planner.kubernetes.nodes import gpu_count, gpu_model, node_pool
from planner.kubernetes.owners import Unjudged, unjudged, workload_keys
from planner.kubernetes.records import EMPTY, FrozenMap, Node, Snapshot, Strategy, Workload
from planner.kubernetes.shares import enough, rolling_limits
from planner.pricing.model import PriceBook
from planner.remedies import limits, steps
from planner.remedies import sequential_rollouts as in_turn
from planner.remedies.least_nodes import LeastNodes, least_nodes
from planner.remedies.lending import Least, least
from planner.remedies.make_room import room_made
from planner.remedies.order import RolloutTurn, playable_order
from planner.remedies.price import price_of_nodes
from planner.remedies.ways_out import find_remedies, grown, is_unstated, preference
from planner.rollout.answers import GROWING_REASONS, GridCell, Reason, Remedy, RemedyKind, Verdict, rolling
from planner.rollout.choice import Option, Weights, choose
from planner.rollout.doubt_rules import decisive_doubts
from planner.rollout.doubts import Doubt, decisive, is_proven
from planner.rollout.glance import OwnRollout, OwnRollouts, glance, unjudged_words
from planner.rollout.grid import play_cell
from planner.rollout.ownership import pods_of, workloads_by_key
from planner.rollout.prepared import pod_times_of
from planner.rollout.run import WHEN_AT_REST, Revision
from planner.rollout.surroundings import surroundings
from planner.rollout.wording import stay_ready
from planner.scheduling.cluster import Cluster
from planner.scheduling.empty_node import empty_copy

T = TypeVar("T")

_WEIGHTS: Final = Weights(availability=10, evictions=5, time=2, extra_gpus=1, money=0)

SEARCH: Final = "the search for a plan"  # what a doubt is about that says what wasn't looked at
_CENT: Final = 0.01
_COUNTING: Final = (NODE.name, POD.name, "HorizontalPodAutoscaler")  # lists that a bound of nodes needs


class Aims(Record):
    """What a plan may cost, USD a month and nodes (None: any), and what every rollout has to keep Ready, in percent."""

    least_ready_percent: int = setting(
        0, least=0, most=100, label="Ready at least, %", option="--least-ready", form="PERCENT",
        is_everyday=True, help="No workload's rollout may have a smaller share of its pods Ready.",
    )  # fmt: skip
    most_nodes: int | None = setting(
        None,
        least=0,
        most=limits.NODES.most,
        label="Spare nodes at most",
        is_everyday=True,
        help="No more nodes than these are added.",
    )
    most_usd: float | None = setting(
        None, least=0, most=10_000_000, label="$ a month at most", is_everyday=True, help="No more is spent on nodes a month, if they are kept."
    )  # fmt: skip
    rollouts_per_month: float = setting(
        20,
        least=0,
        most=10_000,
        is_everyday=True,
        help="How often the workloads that need spare nodes are rolled out in all.",
    )


class MeasureKind(StrEnum):
    STRATEGY = "strategy"
    QUOTA = "quota"
    ORDER = "order"  # others rolled out before it
    LEND = "lend"  # others scaled down while it rolls out
    MOVES = "moves"  # pods evicted, so that those that wait find room
    NODES = "nodes"


class Measure(Record):
    """One thing to do. `makes`: the workloads that can be rolled out with it and what comes before it, and couldn't before.

    Money is of nodes bought as their pool buys: `usd_per_month` of the `kept_nodes`, which pods stay on, or of all where none is, were
    they kept; `usd_per_rollout` of those that are taken away after it; None without a price, or where all stay. `limit`: what the pool's own limit says to that.
    """

    kind: MeasureKind
    what: Text
    workload: str  # whose strategy or quota; of nodes the first that needs them
    command: str
    undo: str
    makes: tuple[str, ...]
    pool: str = ""
    moves: int = 0
    nodes: int = 0
    gpus: int = 0
    gpu_model: str = ""
    usd_per_month: float | None = 0.0
    usd_per_rollout: float | None = 0.0
    is_kept: bool = False
    kept_nodes: int = 0
    limit: Text = NO_WORDS
    alike: str = (
        ""  # what it sets and what it sets back, the same for those that may be told together; "" of what stands alone
    )


class Left(Record):
    """A workload that the plan doesn't make rollable, and why."""

    workload: str
    verdict: Verdict
    reason: Reason
    why: Text


class Turn(Record):
    """A workload's place in the order of rollouts. `needs`: numbers of the measures that have to be there before; `is_first`: it is
    rolled out before all others, so that one that comes after it is let through."""

    workload: str
    lowest_ready: int
    replicas: int
    needs: tuple[int, ...] = ()
    is_first: bool = False


class PlanAnswer(Record):
    """The plan. `ready_now`, `ready_free`, `ready_all`: workloads that can be rolled out within the budgets today, with what
    costs nothing, and with all of the plan; `unknown`: of how many that isn't known. `at_least_nodes`, `at_least_usd`: no plan that makes
    the same workloads rollable has fewer nodes, or costs less a month (`planner.remedies.least_nodes`)."""

    sentence: Text
    total: int
    ready_now: int
    ready_free: int
    ready_all: int
    unknown: int
    measures: tuple[Measure, ...]
    order: tuple[Turn, ...]
    left: tuple[Left, ...]
    nodes: int
    usd_per_month: float | None
    usd_per_rollout: float | None
    at_least_nodes: int = 0
    at_least_usd: float | None = 0.0
    uncounted: tuple[str, ...] = ()  # kinds that weren't read, without which no such bound is known
    price_note: Text = NO_WORDS
    doubt: Text = NO_WORDS  # what wasn't looked at
    doubts: tuple[Doubt, ...] = ()  # of the nodes that it adds and of their number
    is_order_played: bool = False  # as a whole, each rollout after those before it; else each completes by itself
    unjudged: tuple[Unjudged, ...] = ()  # whose rollout isn't played, so that the plan doesn't know them
    hidden: int = 0  # workloads in `order` and `left`, by the filter; measures work together, so that all of them stay


def own_rollout(verdict: Verdict, reason: Reason, headline: str, lowest: int, replicas: int) -> OwnRollout:
    """One of which no more is said than the headline."""
    said = Text(headline)
    return OwnRollout(
        verdict=verdict, reason=reason, sentence=said, headline=said, lowest_ready=lowest, replicas=replicas
    )


class World:
    """The cluster with measures applied: workloads with other strategies, larger quotas, more nodes."""

    def __init__(
        self, cluster: Cluster, strategies: Mapping[str, Strategy] = EMPTY, quotas: Mapping[tuple[str, str, str], int] | None = None,
        templates: tuple[Node, ...] = (), loans: Mapping[str, Mapping[str, int]] = EMPTY,
        turns: Mapping[str, tuple[tuple[str, ...], float]] = EMPTY,
    ) -> None:  # fmt: skip
        self._base, self.strategies, self.quotas, self.templates = cluster, strategies, quotas or {}, templates
        self.loans = loans  # workload → who is scaled to what while it rolls out
        self.turns = turns  # workload → who is rolled out before it, in that order, and what share each keeps
        self._answers: OwnRollouts | None = None  # of many workloads: those that are alike have one
        self._known: dict[Hashable, OwnRollout] = {}  # of this cluster, whose worlds share it

    @cached_property
    def cluster(self) -> Cluster:
        cluster, snapshot = self._base, self._base.snapshot
        if self.quotas:
            larger = tuple(
                replace(
                    quota,
                    hard=FrozenMap(
                        {key: self.quotas.get((quota.namespace, quota.name, key), n) for key, n in quota.hard.items()}
                    ),
                )
                for quota in snapshot.resource_quotas
            )
            cluster = cluster.with_snapshot(replace(snapshot, resource_quotas=larger))
        new = tuple(empty_copy(cluster, node, i) for i, node in enumerate(self.templates))
        return cluster.grown(new) if new else cluster

    def revision(self, key: str) -> Revision:
        """The workload's own rollout, with the strategy that it has then."""
        workload = workloads_by_key(self._base)[key]
        strategy = self.strategies.get(key)
        after = workload if strategy is None else replace(workload, strategy=strategy)
        return Revision(before=workload, after=after, has_new_template=True)

    def with_room(self, after: Cluster) -> World:
        """Once pods were moved."""
        return World(after, self.strategies, self.quotas, self.templates, self.loans, self.turns)

    def more(
        self, strategies: Mapping[str, Strategy] = EMPTY, quotas: Mapping[tuple[str, str, str], int] | None = None,
        templates: tuple[Node, ...] = (), loans: Mapping[str, Mapping[str, int]] = EMPTY,
        turns: Mapping[str, tuple[tuple[str, ...], float]] = EMPTY,
    ) -> World:  # fmt: skip
        """With these beside what is applied already, or in its place."""
        other = World(
            self._base, {**self.strategies, **strategies}, {**self.quotas, **(quotas or {})}, (*self.templates, *templates),
            {**self.loans, **loans}, {**self.turns, **turns},
        )  # fmt: skip
        if not (quotas or templates) and "cluster" in self.__dict__:
            other.__dict__["cluster"] = self.cluster  # strategies are the revisions' matter
            other._answers, other._known = self._answers, self._known
        return other

    def states(self, keys: Iterable[str]) -> dict[str, OwnRollout]:
        """Of many workloads."""
        self._answers = self._answers or OwnRollouts(self.cluster)
        return {key: self.state(key) for key in keys}

    def state(self, key: str) -> OwnRollout:
        revision = self.revision(key)
        try:
            if key in self.turns:
                return self._in_turn(revision, *self.turns[key])
            if (known := self._known.get(self._asked_of(key))) is not None:
                return known
            found = self._answers.of(revision) if self._answers and key not in self.loans else self._asked(revision)
        except HeadroomError as error:
            return own_rollout(Verdict.UNKNOWN, Reason.UNKNOWN, error.what, 0, revision.after.replicas)
        self.know(key, found)
        return found

    def know(self, key: str, state: OwnRollout) -> None:
        """So that it needn't be played again."""
        self._known[self._asked_of(key)] = state

    def _asked_of(self, key: str) -> Hashable:
        return key, self.strategies.get(key), frozenset(self.loans.get(key, {}).items()), self.turns.get(key)

    def _in_turn(self, revision: Revision, before: Sequence[str], share: float) -> OwnRollout:
        """Once others are rolled out."""
        after = revision.after
        with part():
            turns = [*map(self.revision, before), revision]
            run = in_turn.played(self.cluster, turns, share, self.lent(after.key))
        if run is None:
            return own_rollout(Verdict.STUCK, Reason.HOLD_AND_WAIT, "isn't through after them", 0, after.pods_wanted)
        lowest = in_turn.lowest(run, revision)
        return own_rollout(
            Verdict.COMPLETES, Reason.NONE, stay_ready(lowest, after.pods_wanted), lowest, after.pods_wanted
        )

    def lent(self, key: str) -> tuple[Revision, ...]:
        """Who is scaled down while it rolls out."""
        workloads, lent = workloads_by_key(self._base), self.loans.get(key, {})
        return tuple(
            Revision(before=workloads[one], after=replace(workloads[one], replicas=left), has_new_template=False)
            for one, left in lent.items()
        )

    def _asked(self, revision: Revision) -> OwnRollout:
        """Once who lends to it is at rest."""
        lent = self.lent(revision.after.key)
        revision = replace(revision, after_seconds=WHEN_AT_REST) if lent else revision
        with part():
            return glance(self.cluster, revision, lent).answer


Effect = Callable[[World], World]
Change = tuple[Measure, Effect]
_Changed = tuple[tuple[int, int], OwnRollout]
"""maxSurge and maxUnavailable, and the state with them."""


def _with_all(world: World, changes: Iterable[Change]) -> World:
    for _, effect in changes:
        world = effect(world)
    return world


class _Offer(Record, kw_only=False):
    """More nodes, so many like each, of which `kept` stay, with what is done first. `seconds`: of the rollout once they are there."""

    changes: tuple[Change, ...]
    nodes: tuple[tuple[Node, int], ...]
    seconds: float
    kept: tuple[int, ...]
    usd_per_month: float | None

    @property
    def number(self) -> int:
        return sum(number for _, number in self.nodes)

    @property
    def rank(self) -> tuple[bool, float, int, bool]:
        """The cheapest first, then the fewest."""
        return (self.usd_per_month is None, self.usd_per_month or 0.0, self.number, bool(self.changes))


class Planner:
    """Makes the plan: `states` are those of `world`, the cluster with the measures so far."""

    def __init__(
        self, world: World, states: dict[str, OwnRollout], aims: Aims, book: PriceBook | None, snapshot: Snapshot,
        pools: Sequence[NodePool] = (),
    ) -> None:  # fmt: skip
        self.pools = {pool.name: pool for pool in pools}
        self.today, self.snapshot = world, snapshot
        self.now = dict(states)
        self.world, self.states = world, states
        self.share, self.aims, self.book = aims.least_ready_percent / 100, aims, book
        self.taken: list[Change] = []
        self.refused: dict[str, str] = {}
        self.doubts: tuple[str, ...] = ()
        self._share_done = 0.0
        self.turns: tuple[str, ...] = ()  # rolled out one after another, before all others
        self._grown = lru_cache(maxsize=limits.GROWN.most)(grown)
        self._sought_in_vain: dict[Same[Cluster], set[Hashable]] = {}
        self._ahead: tuple[Cluster | None, dict[str, _Changed | None]] = None, {}  # strategies, of a cluster
        self._seen = lru_cache(maxsize=limits.GLANCES.most)(glance)  # who is asked for lenders is asked for nodes next
        self._found_before: dict[Hashable, _Changed | None] = {}  # strategies, of whoever is alike in a cluster
        self._in_vain: set[Hashable] = set()  # searches of ways out that found none, in a cluster, for whoever is alike

    def plan(self) -> PlanAnswer:
        wanting = sorted(  # those with most pods first, so that what is found for them may do for others
            (key for key in self.states if not self._is_ready(key)), key=lambda key: (-self.states[key].replicas, key)
        )
        if len(wanting) > limits.CURED.most:
            self._doubt(limits.CURED.reached(number=len(wanting) - limits.CURED.most))
            del wanting[limits.CURED.most :]
        self._tell("What costs nothing: other strategies", 0.2)
        self._ahead = self.world.cluster, dict(zip(wanting, parts.each(wanting, self._strategy_for), strict=True))
        for place, key in enumerate(wanting):
            self._tell(f"What costs nothing: {key}", 0.2 + 0.3 * place / len(wanting))
            if not self._is_ready(key):
                self._cure_for_nothing(key)
        loans = self._who_lends(wanting)
        self._roll_in_turn([key for key in wanting if not self._is_ready(key)])
        self._make_room([key for key in wanting if not self._is_ready(key)])
        for key, changes in loans:
            if not self._is_ready(key) and self._does(changes, key):
                self._take(key, changes)
        before = self._so_far()
        lacking = [key for key in wanting if not self._is_ready(key)]
        self._ask_ahead("Spare nodes", 0.2, lacking, self._nodes_for, self._add_nodes)
        self._do_with_fewer_nodes(before)
        self._tell("Whether all of it is needed", 0.8)
        self._take_back()
        self._tell("All together: every workload's rollout is played", 0.9)
        free = [(measure, effect) for measure, effect in self.taken if measure.kind is not MeasureKind.NODES]
        nodes = [(measure, effect) for measure, effect in self.taken if measure.kind is MeasureKind.NODES]
        for_nothing = self._played(free, self.now)
        self.states = self._played(nodes, for_nothing, free) if nodes else for_nothing
        found = self._answer(for_nothing)
        self._tell("Done", 1.0)
        return found

    def _played(
        self,
        taken: Sequence[Change],
        before: dict[str, OwnRollout],
        base: Sequence[Change] = (),
    ) -> dict[str, OwnRollout]:
        """Every workload's rollout with `base` and `taken`; those that nothing of `taken` touches are as `before`."""
        if not taken:
            return dict(before)
        world = _with_all(self.today, (*base, *taken))
        is_of_all = any(measure.kind in (MeasureKind.NODES, MeasureKind.MOVES) for measure, _ in taken)
        own = {measure.workload for measure, _ in taken}
        spaces = {measure.workload.split("/")[1] for measure, _ in taken if measure.kind is MeasureKind.QUOTA}
        return before | world.states([key for key in before if is_of_all or key in own or key.split("/")[1] in spaces])

    def _tell(self, doing: str, share: float) -> None:
        """What is done now; what is done again later doesn't take the share back."""
        self._share_done = max(self._share_done, share)
        tell(doing, self._share_done)

    # ── the state of things ──────────────────────────────────────────────────────────────────────────────────────────
    def _is_ready(self, key: str) -> bool:
        return self.states[key].keeps(self.share)

    def _adopt(self, measure: Measure, effect: Effect, keys: Sequence[str]) -> None:
        """Take a measure; `keys` are the workloads whose rollout it may mend, in the order of all."""
        lacking = [key for key in keys if not self._is_ready(key)]
        self.world = effect(self.world)
        self.states.update(self.world.states(keys))
        makes = tuple(key for key in lacking if self._is_ready(key))
        self.taken.append((replace(measure, makes=makes), effect))

    # ── what costs nothing ───────────────────────────────────────────────────────────────────────────────────────────
    def _cure_for_nothing(self, key: str) -> None:
        if self.states[key].verdict is Verdict.UNKNOWN:
            return
        if not self._change_strategy(key) and self.states[key].reason is Reason.QUOTA:
            self._raise_quota(key)
            if not self._is_ready(key):
                self._change_strategy(key)

    def _change_strategy(self, key: str) -> bool:
        """Another strategy of its own, if one keeps enough pods Ready."""
        cluster, ahead = self._ahead
        found = ahead.get(key) if self.world.cluster is cluster else self._strategy_for(key)
        change = None if found is None else self._strategy_measure(key, rolling(*found[0]))
        if found is None or change is None:
            return False
        change[1](self.world).know(key, found[1])
        self._adopt(*change, [key])
        return True

    def _strategy_for(self, key: str) -> _Changed | None:
        """The strategy that `choose` recommends; what others' strategies are has no say in it."""
        revision, state = self.world.revision(key), self.states[key]
        workload, before = revision.after, revision.before
        alike = surroundings(self.world.cluster, workload)
        if alike is None:
            return self._strategy_found(key, workload, state)
        of = state.verdict, state.reason, state.lowest_ready, state.replicas  # not its words: they may name a namespace
        asked = (Same(self.world.cluster), alike, before and before.strategy, of)
        if asked not in self._found_before:
            self._found_before[asked] = self._strategy_found(key, workload, state)
        return self._found_before[asked]

    def _strategy_found(self, key: str, workload: Workload, state: OwnRollout) -> _Changed | None:
        if (
            not workload.traits.rolls_out
            or workload.traits.has_ordinals
            or not state.replicas
            or state.verdict is Verdict.UNKNOWN
            or self._holds_nothing(key)
            or (state.reason is Reason.QUOTA and self._is_unstated(key))
        ):
            return None
        pairs = self._pairs(workload)
        found: Option | None = None
        for missing in sorted({pair[1] for pair in pairs}):  # the fewest missing first, and no more than do
            cells = [cell for pair in pairs if pair[1] == missing and (cell := self._cell(workload, *pair)) is not None]
            ready = [cell for cell in cells if cell.lowest_ready >= enough(self.share, state.replicas)]
            keep = kept_ready(self.snapshot, workload)
            found = choose(ready, state.replicas, _WEIGHTS, keep_ready=keep).recommended
            if found is not None:
                break
        if found is None:
            return None
        pair = found.max_surge, found.max_unavailable
        then = self.world.more(strategies={key: rolling(*pair)}).state(key)
        return (pair, then) if then.keeps(self.share) else None

    def _holds_nothing(self, key: str) -> bool:
        """Whether it wants for room and none of its pods has any: no strategy gives it what it doesn't hold."""
        cluster, state = self.world.cluster, self.states[key]
        pods = (cluster.snapshot.pods[i] for i in pods_of(cluster, workloads_by_key(cluster)[key]))
        return state.reason in GROWING_REASONS and not any(pod.node_name for pod in pods)

    def _is_unstated(self, key: str) -> bool:
        with part():
            run = self._seen(self.world.cluster, self.world.revision(key)).run
        return run is not None and is_unstated(run, key)

    def _pairs(self, workload: Workload) -> list[tuple[int, int]]:
        """Few strategies that differ in kind: none missing, as many missing as may be, and both."""
        if workload.traits.is_custom:
            return []  # its steps are its own to say: `planner.rollout.own_ways`
        replicas = workload.replicas if workload.traits.has_replicas else self.states[workload.key].replicas
        may_miss = replicas - enough(self.share, replicas)
        missing = sorted({0, min(1, may_miss), may_miss if may_miss <= 1 else max(1, may_miss // 2), may_miss})
        surges = (0, 1) if not workload.traits.surges_freely else (0, 1, max(1, ceil(replicas / 4)))
        today = rolling_limits(workload) if workload.strategy.kind == ROLLING_UPDATE else None
        pairs = {(surge, miss) for surge in surges for miss in missing if (surge or miss)}
        if today is not None and today[1] == 0 and self.states[workload.key].reason is Reason.HOLD_AND_WAIT:
            pairs = {pair for pair in pairs if pair[1]}  # not one more pod finds room: no surge by itself does
        if workload.traits.is_per_node:
            pairs = {pair for pair in pairs if not (pair[0] and pair[1])}
        return sorted(pairs - {today})

    def _cell(self, workload: Workload, surge: int, missing: int) -> GridCell | None:
        revision = self.world.revision(workload.key)
        try:
            return play_cell(
                self.world.cluster, [revision], workload.key, rolling(surge, missing), surge, missing, seed=0,
                pod_times=pod_times_of(self.world.cluster, revision),
            )  # fmt: skip
        except HeadroomError:
            return None

    def _raise_quota(self, key: str) -> None:
        for remedy in self._remedies(key, RemedyKind.RAISE_QUOTA):
            measure, effect = self._quota_measure(key, remedy.quota_hard)
            if effect(self.world).state(key).verdict is Verdict.COMPLETES:
                self._take(key, [(measure, effect)])
                return

    def _quota_measure(self, key: str, hard: Sequence[tuple[str, str, int]]) -> Change:
        """`hard`: quota of the workload's namespace, resource, and what it is raised to."""
        space = key.split("/")[1]
        today = {quota.name: quota.hard for quota in self.snapshot.resource_quotas if quota.namespace == space}
        step = steps.quota_raised(
            space, [(name, resource, today[name][resource], most) for name, resource, most in hard]
        )
        amounts = ", ".join(f"{key} to {format_amount(amount, key)}" for _, key, amount in hard)
        measure = Measure(
            kind=MeasureKind.QUOTA, what=Text(f"{step.what}: {amounts}"), workload=key, makes=(),
            command=" && ".join(step.commands), undo=" && ".join(step.undo),
        )  # fmt: skip
        return measure, partial(World.more, quotas={(space, name, key): amount for name, key, amount in hard})

    def _take(self, key: str, changes: Iterable[Change]) -> None:
        """Adopt what is done for one workload, and look whom else it may mend."""
        space = key.split("/")[1]
        for measure, effect in changes:
            keys = [key]
            if measure.kind is MeasureKind.QUOTA:
                keys = [state for state in self.states if state.split("/")[1] == space]
            if measure.kind is MeasureKind.NODES:
                keys = [state for state in self.states if not self._is_ready(state)]
            self._adopt(measure, effect, keys)

    # ── what others lend ─────────────────────────────────────────────────────────────────────────────────────────────
    def _who_lends(self, wanting: Sequence[str]) -> list[tuple[str, list[Change]]]:
        """What others feel that lend, of each workload; moves come before that. In a large cluster nobody is asked any more once nobody
        could for so many in a row."""
        loans, in_vain = [], 0
        most = (
            limits.LENT.most if self.world.cluster.node_count <= limits.LARGE_CLUSTER.most else limits.LENT_IN_VAIN.most
        )
        lacking = [key for key in wanting if self._may_be_lent_to(key)]
        for place, key in enumerate(lacking):
            if place >= limits.LENT.most or in_vain >= most:
                self._doubt(limits.LENT.reached(number=count(len(lacking) - place, "more workload")))
                break
            self._tell(f"Who could lend: {key}", 0.5 + 0.1 * place / limits.LENT.most)
            found = self._search_for_nothing(key)
            loans += [(key, one) for one in found]
            in_vain = 0 if found or self._is_ready(key) else in_vain + 1
        return loans

    def _search_for_nothing(self, key: str) -> list[list[Change]]:
        """What the certificate's search has without a node: others that lend, a larger quota, another strategy, or some of these. Where
        pods of others end for it, it is given back and not taken yet."""

        def does(one: Least) -> bool:
            changes = self._changes_of(key, one)
            return bool(changes) and self._does(changes, key)

        for one in self._least(key, does=does):
            if does(one):
                changes = self._changes_of(key, one)
                if any(lender.disturbed(left) for lender, left in one.outcome.lent):
                    return [changes]
                self._take(key, changes)
                break
        return []

    def _may_be_lent_to(self, key: str) -> bool:
        return self._wants_room(key) or (
            self.states[key].verdict is Verdict.STUCK and self.states[key].reason is Reason.QUOTA
        )

    def _least(
        self, key: str, worth: Callable[[Node], int] | None = None, does: Callable[[Least], bool] = lambda _: False
    ) -> tuple[Least, ...]:
        """Plans of the certificate's search for one workload, with what is adopted so far. `worth`: nodes are looked at too; `does`: one that
        is taken, beside which none that disturbs more is looked for."""
        if not self._may_be_lent_to(key):
            return ()
        cluster, revision = self.world.cluster, self.world.revision(key)
        try:
            with part():
                seen = self._seen(cluster, revision)
                if seen.run is None or seen.why is None:
                    return ()
                in_vain = self._sought_in_vain.setdefault(Same(cluster), set())
                pools, played = tuple(self.pools.values()), seen.run.revisions[-1]  # as Kueue lets it in
                return least(cluster, played, seen.run, seen.why, self.share, in_vain, pools, worth, does)
        except HeadroomError:
            return ()

    def _changes_of(self, key: str, one: Least) -> list[Change]:
        """All that such a plan does but for its nodes, in the order in which it is done."""
        hard = tuple((name, resource, most) for _, name, resource, _, most in one.quota)
        changes = [self._quota_measure(key, hard)] if hard else []
        change = None if one.strategy is None else self._strategy_measure(key, one.strategy)
        changes += [] if change is None else [change]
        if not one.lent:
            return changes
        lent = one.outcome.lent
        waiting = {lender.workload.key for lender, _ in lent if not lender.bound}
        loan = self._loan((key,), ((lender.workload, left) for lender, left in lent), waiting)
        return [*changes, (loan, partial(World.more, loans={key: one.lent}))]

    def _does(self, changes: Iterable[Change], key: str) -> bool:
        return _with_all(self.world, changes).state(key).keeps(self.share)

    def _loan(self, whose: Sequence[str], lent: Iterable[tuple[Workload, int]], waiting: Collection[str]) -> Measure:
        """Who lends while those roll out, as a measure of the last. `waiting`: those of them none of whose pods is on a node."""
        parts, commands_, undo = [], list[str](), list[str]()
        for workload, left in lent:
            is_pending = ", which is only pending today" if workload.key in waiting else ""
            parts.append(f"{short_name(workload.key)} at {left:,} of {count(workload.replicas, 'replica')}{is_pending}")
            step = steps.scaled(workload, left)
            commands_ += step.commands
            undo += step.undo
        names = listing([short_name(one) for one in whose], None)
        what = f"while {names} {plural(len(whose), 'rolls', 'roll')} out: {listing(parts, None)}"
        return Measure(
            kind=MeasureKind.LEND, what=Text(what), workload=whose[-1], command=" && ".join(commands_),
            undo=" && ".join(undo), makes=(),
        )  # fmt: skip

    # ── one after another ────────────────────────────────────────────────────────────────────────────────────────────
    def _roll_in_turn(self, wanting: Sequence[str]) -> None:
        """Who comes after whom, where that lets one through that is stuck by itself: one sequence, which is played as a whole."""
        if (number := self.world.cluster.node_count) > limits.LARGE_CLUSTER.most:
            if any(self._wants_room(key) for key in wanting):
                self._doubt(f"Who could come after whom isn't part of a plan among {number:,} nodes.")
            return
        tried = None
        while tried != len(self.turns):  # one more that is through may be what another waits for
            tried = len(self.turns)
            lacking = [key for key in wanting if self._wants_room(key) and key not in self.turns]
            self._ask_ahead("Who could be rolled out before it", 0.0, lacking, self._who_before, self._come_after)
        if self.turns:
            self._keep_others_ready()

    def _wants_room(self, key: str) -> bool:
        return self.states[key].verdict is Verdict.STUCK and self.states[key].reason in GROWING_REASONS

    def _doubt(self, why: str) -> None:
        self.doubts = (*self.doubts, why)

    def _who_before(self, key: str) -> tuple[list[str], list[Change]] | None:
        """Others that let it through when they come before it, after those that are in turn; and what else it needs."""
        world = self.world
        if not self._wants_room(key):
            return None
        idle = [(workload, 0) for workload in self._who_only_waits(key)]
        lent = {workload.key: left for workload, left in idle}
        loan = self._loan((key,), idle, {workload.key for workload, _ in idle}), partial(World.more, loans={key: lent})
        own = [None, *self._strategies_that_wait(key)]
        changes = [[one for one in pair if one] for pair in product((None, loan) if idle else (None,), own)]
        ways = [(then.revision(key), then.lent(key)) for then in (_with_all(world, some) for some in changes)]
        before, others = ([*map(world.revision, some)] for some in (self.turns, self._others_ready()))
        with part():
            found = in_turn.first_turns(world.cluster, before, others, ways, self.share)
        if found is None:
            return None
        turns, way = [turn.after.key for turn in found[0]], changes[ways.index(found[1])]
        whose = (*self.turns, *turns, key)  # they lend for all of them
        return turns, [
            (self._loan(whose, idle, {workload.key for workload, _ in idle}), loan[1])
            if one[0].kind is MeasureKind.LEND
            else one
            for one in way
        ]

    def _come_after(self, key: str, found: tuple[list[str], list[Change]] | None) -> None:
        if found is not None:
            first = (*self.turns, *found[0])
            self.turns = (*first, key)
            self._take(key, [*found[1], self._after(key, first)])

    def _others_ready(self) -> list[str]:
        """Who can be rolled out by himself, and isn't in turn yet."""
        return [one for one in self.states if self._is_ready(one) and one not in (*self.world.loans, *self.turns)]

    def _who_only_waits(self, key: str) -> list[Workload]:
        """Others none of whose pods is on a node, so that scaling them down for a while disturbs nobody."""
        cluster, known = self.world.cluster, workloads_by_key(self.world.cluster)
        waiting = dict.fromkeys(workload_keys(cluster.snapshot)[cluster.snapshot.pods[i].uid] for i in cluster.waiting)
        others = (known[one] for one in waiting if one in known and one != key and one not in self.turns)
        return [
            workload for workload in others
            if workload.traits.surges_freely and settled(cluster.snapshot, replace(workload, replicas=0)) == 0
            and not any(cluster.snapshot.pods[i].holds_room for i in pods_of(cluster, workload))
        ]  # fmt: skip

    def _after(self, key: str, before: tuple[str, ...]) -> Change:
        """That others are rolled out before it, as a measure."""
        others, own = listing([short_name(one) for one in before], None), short_name(key)
        measure = Measure(
            kind=MeasureKind.ORDER, what=Text(f"{own} after {others}: what they leave lets it through"), workload=key, makes=(),
            command=commands.comment(f"roll out {others}, each once the one before is complete, then {own}").strip(),
            undo=commands.comment("an order leaves nothing to undo").strip(),
        )  # fmt: skip
        return measure, partial(World.more, turns={key: (before, self.share)})

    def _keep_others_ready(self) -> None:
        """Who could be rolled out before the sequence and can't be after it comes first, where the sequence still goes then."""
        world, names = self.world, listing([short_name(turn) for turn in self.turns], None)
        if any(key in world.loans for key in self.turns):
            self._doubt(f"Whether all others can still be rolled out after {names} wasn't looked at.")
            return
        with part():
            run = in_turn.played(world.cluster, [world.revision(turn) for turn in self.turns], self.share)
        if run is None:
            return
        after = OwnRollouts(Cluster(run.simulation.snapshot_now()))
        late = [key for key in self._others_ready() if not after.of(world.revision(key)).keeps(self.share)]
        if not late:
            return
        turns = (*late, *self.turns)
        with part():
            if in_turn.played(world.cluster, [world.revision(turn) for turn in turns], self.share) is None:
                self._doubt(f"After {names}, {listing([short_name(one) for one in late])} can't be rolled out.")
                return
        self.turns = turns
        for place, (one, _) in enumerate(self.taken):
            if one.kind is MeasureKind.ORDER:
                measure, effect = self._after(one.workload, turns[: turns.index(one.workload)])
                self.taken[place] = replace(measure, makes=one.makes), effect
        self.world = _with_all(self.today, self.taken)

    # ── moves ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _make_room(self, wanting: Sequence[str]) -> None:
        """The fewest moves that start the pods that wait, where more workloads can be rolled out with them, with another strategy or not,
        and none fewer."""
        cluster = self.today.cluster
        keys, pods = workload_keys(self.snapshot), self.snapshot.pods
        if not any(keys[pods[number].uid] in wanting for number in cluster.waiting):
            return
        if cluster.node_count > limits.MOVES_NODES.most or queues.is_there(self.snapshot):
            why = (
                "where Kueue lets pods in" if queues.is_there(self.snapshot) else f"among {cluster.node_count:,} nodes"
            )
            self._doubt(f"Moves aren't part of a plan {why}: make room (headroom make-room) looks for them.")
            return
        self._tell("Which pods could move", 0.6)
        try:
            with part():
                made, after = room_made(self.snapshot)
        except HeadroomError:
            return
        if not made.moves or made.held < made.draws:
            return
        before, mine = self._so_far(), len(self.taken)
        ready = {key for key in self.states if self._is_ready(key)}
        effect = partial(World.with_room, after=Cluster(after))
        moves = Measure(
            kind=MeasureKind.MOVES, what=made.sentence, workload=wanting[0], moves=len(made.moves), makes=(),
            command="headroom make-room CLUSTER --script >make-room.sh && sh make-room.sh",
            undo=commands.comment("pods that were moved aren't brought back").strip(),
        )  # fmt: skip
        self._adopt(moves, effect, list(self.states))
        for key in wanting:
            if not self._is_ready(key):
                self._cure_for_nothing(key)
        now = {key for key in self.states if self._is_ready(key)}
        if not ready < now:
            self._go_back(before)
            return
        makes = tuple(key for key in self.states if key in now - ready)
        self.taken[mine] = replace(self.taken[mine][0], makes=makes), effect

    # ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _ask_ahead(
        self, what: str, takes: float, wanting: Sequence[str], ask: Callable[[str], T], take: Callable[[str, T], None]
    ) -> None:  # fmt: skip
        """One workload after another, as far as it isn't ready. As long as nothing is adopted they don't need one another, so that in
        parts more and more are asked ahead; few where a search may take long. `takes`: the share of the whole."""
        left, ahead = list(wanting), 1
        is_large = self.today.cluster.node_count > limits.LARGE_CLUSTER.most
        most = (limits.AHEAD if is_large else limits.FEWER_AHEAD).most
        while left:
            self._tell(f"{what}: {left[0]}", 0.6 + takes * (len(wanting) - len(left)) / len(wanting))
            some, world = left[:ahead], self.world
            ahead = min(2 * ahead, most) if parts.are_shared() else 1
            for key, found in zip(some, parts.each(some, ask), strict=True):
                left.remove(key)
                take(key, found)
                if self.world is not world:
                    ahead = 1
                    break
            left = [key for key in left if not self._is_ready(key)]

    def _so_far(self) -> tuple[Any, ...]:
        return self.world, dict(self.states), list(self.taken), self.turns, self.doubts

    def _go_back(self, to: tuple[Any, ...]) -> None:
        self.world, states, taken, self.turns, self.doubts = to
        self.states, self.taken = dict(states), list(taken)

    def _do_with_fewer_nodes(self, before: tuple[Any, ...]) -> None:
        """Nodes that were found for one workload after another may be more than all need: cheaper ones are tried, with all that costs
        nothing anew beside them. `before`: what was adopted before any of them."""
        mine = [measure for measure, _ in self.taken if measure.kind is MeasureKind.NODES]
        if not mine or self.today.cluster.node_count > limits.LARGE_CLUSTER.most:
            return
        number, month = sum(measure.nodes for measure in mine), _sum([measure.usd_per_month for measure in mine])
        after = self._so_far()
        wanted = [key for key in self.states if self._is_ready(key)]
        least_of_all = max(self._at_least(key).nodes for one in mine for key in one.makes or (one.workload,))
        likes = {pool_key(template): template for template in self.world.templates}
        most = [sum(pool_key(template) == pool for template in self.world.templates) for pool in likes]
        stay = [sum(measure.kept_nodes for measure in mine if measure.pool == _pool(like)) for like in likes.values()]

        def offer_of(numbers: Sequence[int]) -> _Offer:
            some = [(like, n, min(n, k)) for like, n, k in zip(likes.values(), numbers, stay, strict=True) if n]
            return self._offer((), [(like, n) for like, n, _ in some], 0.0, [k for *_, k in some])

        offers = [
            offer_of(some)
            for some in product(*(range(n + 1) for n in most[: limits.FEWER_POOLS.most]))
            if max(1, least_of_all) <= sum(some) < number
        ]
        for offer in sorted(offers, key=lambda one: one.rank)[: limits.FEWER_NODES.most]:
            if month is not None and (offer.usd_per_month or 0.0) >= month:
                break
            self._go_back(before)
            if self._does_with(offer, wanted):
                return
        self._go_back(after)

    def _does_with(self, offer: _Offer, wanted: Sequence[str]) -> bool:
        """Adopt those nodes, and what costs nothing with them; whether all who are wanted are ready then."""
        first = len(self.taken)
        lacking = [key for key in wanted if not self._is_ready(key)]
        for pair in offer.nodes:
            self._take(lacking[0], [self._nodes(lacking[0], offer, *pair)])
        for key in lacking:
            if not self._is_ready(key):
                self._cure_for_nothing(key)
        for key in lacking:
            for changes in self._search_for_nothing(key) if not self._is_ready(key) else ():
                self._take(key, changes)
        self._roll_in_turn([key for key in lacking if not self._is_ready(key)])
        if not all(map(self._is_ready, wanted)):
            return False
        new = [(replace(measure, makes=()), effect) for measure, effect in self.taken[first:]]
        nodes = [one for one in new if one[0].kind is MeasureKind.NODES]
        last, effect = nodes.pop()
        free = [one for one in new if one[0].kind is not MeasureKind.NODES]
        self.taken[first:] = [*free, *nodes, (replace(last, makes=tuple(lacking)), effect)]
        return True

    def _nodes_for(self, key: str) -> tuple[_Offer | None, str]:
        """As few more nodes as make the rollout go, within the budgets: with the strategy it has, or with another one that
        needs fewer; and why dearer or fewer ones don't."""
        node_of = {node.name: node for node in self.snapshot.nodes}
        offers = []
        for changes in ([], *([change] for change in self._strategies_that_wait(key))):
            for one in self._remedies(key, RemedyKind.ADD_NODE, _with_all(self.world, changes)):
                nodes = [(node_of[one.node_template], one.extra_nodes)]
                offers.append(self._offer(changes, nodes, one.seconds - one.arrival_seconds, [one.kept_nodes]))
        taken, refused = self._first_that_does(key, offers)

        def worth(template: Node) -> int:
            """How many of them cost less than what is found already; of a pool whose nodes cost nothing known, fewer."""
            numbers = range(1, limits.NODES.most + 1)
            cheaper = (n for n in numbers if taken is None or self._offer([], [(template, n)], 0.0).rank < taken.rank)
            return max(cheaper, default=0)

        searched = (
            self._offer(
                self._changes_of(key, one),
                one.nodes,
                one.outcome.seconds - one.outcome.arrival_seconds,
                [stay for stay, number in zip(one.outcome.kept, one.outcome.plan.nodes, strict=True) if number],
            )
            for one in self._least(key, worth)
            if one.nodes
        )
        better, why = self._first_that_does(key, [one for one in searched if taken is None or one.rank < taken.rank])
        return better or taken, refused or why

    def _add_nodes(self, key: str, found: tuple[_Offer | None, str]) -> None:
        taken, why = found
        if taken is not None:
            self._take(key, self._all_of(key, taken))
        elif why:
            self.refused[key] = why

    def _all_of(self, key: str, offer: _Offer) -> list[Change]:
        return [*offer.changes, *(self._nodes(key, offer, *pair) for pair in offer.nodes)]

    def _offer(
        self, changes: Iterable[Change], nodes: Sequence[tuple[Node, int]], seconds: float, kept: Sequence[int] = ()
    ) -> _Offer:  # fmt: skip
        kept = kept or (0,) * len(nodes)
        months = [self._price(*pair, seconds, stay)[0] for pair, stay in zip(nodes, kept, strict=True)]
        return _Offer(tuple(changes), tuple(nodes), seconds, tuple(kept), _sum(months))

    def _price(self, like: Node, number: int, seconds: float, kept: int) -> tuple[float | None, float | None]:
        """USD a month, and for one rollout, of so many nodes beside all that there are by now (`NodesPrice`)."""
        there = [*self.snapshot.nodes, *self.world.templates]
        price = price_of_nodes(self.book, there, like, number, seconds, kept=kept)
        return (price.usd_per_month, price.usd_per_rollout) if price else (None, None)

    def _first_that_does(self, key: str, offers: Iterable[_Offer]) -> tuple[_Offer | None, str]:
        """The cheapest within the budgets that makes the rollout go, and why the first of those cheaper isn't it."""
        refused = ""
        for offer in sorted(offers, key=lambda one: one.rank):
            why = self._over_budget(offer)
            if not why and self._does(self._all_of(key, offer), key):
                return offer, refused
            refused = refused or why or "more nodes make it complete, but not with enough pods Ready"
        return None, refused

    def _over_budget(self, offer: _Offer) -> str:
        """Why the nodes may not be had; "" where they may."""
        room = (limits.NODES.most if self.aims.most_nodes is None else self.aims.most_nodes) - len(self.world.templates)
        pools = listing([node_pool(template) or template.name for template, _ in offer.nodes])
        for template, number in offer.nodes:
            if past := self._past_limit(pool_key(template), number):
                return past
        if offer.number > room:
            return f"needs {count(offer.number, 'more spare node')} in {pools}, past the budget"
        if self.aims.most_usd is None:
            return ""
        if offer.usd_per_month is None:
            return (
                f"needs nodes like {listing([template.name for template, _ in offer.nodes])}, whose price isn't known"
            )
        kept = sum(measure.usd_per_month or 0.0 for measure, _ in self.taken)
        if kept + offer.usd_per_month > self.aims.most_usd:
            return f"needs nodes for {usd(offer.usd_per_month)} a month, past the budget"
        return ""

    def _past_limit(self, name: str, number: int) -> str:
        """``needs 1 more node in gpu-t4 (8 → 9), past its maximum of 8 (gcloud node-pools list)``; "" within it. A fixed size is no
        limit to a plan, which resizes pools by hand."""
        pool = self.pools.get(name)
        if pool is None or pool.is_autoscaled is False:
            return ""
        already = self._already(name)
        past = pool.past(number, capacity_of(self.today.cluster, pool), already)
        if not past:
            return ""
        now = pool.node_count + already
        if pool.maximum is not None and now + number > pool.maximum:
            past = f"past its maximum of {pool.maximum} ({pool.source})"
        return f"needs {count(number, 'more node')} in {name} ({now} → {now + number}), {past}"

    def _strategies_that_wait(self, key: str) -> list[Change]:
        """Other strategies, which don't do by themselves: with one of them fewer nodes may be enough."""
        workload = self.world.revision(key).after
        if workload.replicas == 0 or not workload.traits.surges_freely:
            return []
        pairs = [(surge, missing) for surge, missing in self._pairs(workload) if surge == 0][:1]
        found = (self._strategy_measure(key, rolling(*pair)) for pair in pairs)
        return [one for one in found if one is not None]

    def _strategy_measure(self, key: str, strategy: Strategy) -> Change | None:
        """Another strategy as a measure; None where it is today's."""
        workload = self.world.revision(key).after
        how = applied(self.today.revision(key).after, replace(workload, strategy=strategy))
        if how is None:
            return None
        is_rolling, before = strategy.kind == ROLLING_UPDATE, self.today.revision(key).after.strategy
        limits = f"maxSurge {strategy.max_surge}, maxUnavailable {strategy.max_unavailable}"
        what = f"{short_name(key)}: {limits if is_rolling else strategy.kind}{_instead(workload.strategy)}"
        measure = Measure(
            kind=MeasureKind.STRATEGY, what=Text(what), workload=key, command=how.command, undo=how.undo, makes=(),
            alike=f"{how.patch_yaml}instead of {before.kind} {before.max_surge} {before.max_unavailable}" if how.is_whole else "",
        )  # fmt: skip
        return measure, partial(World.more, strategies={key: strategy})

    def _nodes(self, key: str, offer: _Offer, template: Node, number: int) -> Change:
        """More nodes of a pool, of an offer, as a measure."""
        pool = _pool(template)
        step = steps.nodes_added(self.world.cluster, template, number)
        kept = offer.kept[offer.nodes.index((template, number))]
        month, once = self._price(template, number, offer.seconds, kept)
        known, name = self.pools.get(pool_key(template)), pool_key(template)
        limit = (
            "" if known is None else known.grows(number, capacity_of(self.today.cluster, known), self._already(name))
        )
        sizes = f" ({step.before} → {step.after})" if step.target else ""
        what = f"{step.what}{sizes}, for {short_name(key)}"
        measure = Measure(
            kind=MeasureKind.NODES, what=Text(what), workload=key, command=step.commands[0], undo=step.undo[0],
            makes=(), pool=pool, nodes=number, gpus=gpu_count(template) * number, gpu_model=gpu_model(template),
            usd_per_month=month, is_kept=kept > 0, kept_nodes=kept, limit=Text(limit),
            usd_per_rollout=once,
        )  # fmt: skip
        return measure, partial(World.more, templates=(template,) * number)

    def _already(self, name: str) -> int:
        """Nodes that are added to a pool so far."""
        return sum(pool_key(template) == name for template in self.world.templates)

    def _remedies(self, key: str, kind: RemedyKind, world: World | None = None) -> list[Remedy]:
        world = world or self.world
        revision = world.revision(key)
        before, alike = revision.before, surroundings(world.cluster, revision.after)
        asked = (kind, Same(world.cluster), alike, before.strategy if before else None)
        if alike is not None and asked in self._in_vain:
            return []
        try:
            with part():
                found = self._seen(world.cluster, revision)
            if found.run is None or found.why is None:
                return []
            ways = find_remedies(
                world.cluster, found.run.revisions, key, found.run, found.why, pod_times_of(world.cluster, revision),
                kinds=frozenset({kind}), grown=self._grown,
            )  # fmt: skip
            remedies = sorted(ways, key=preference)
        except HeadroomError:
            return []
        if alike is not None and not remedies:
            self._in_vain.add(asked)
        return remedies

    # ── what isn't needed after all ──────────────────────────────────────────────────────────────────────────────────
    def _take_back(self) -> None:
        """Each measure left out once, the dearest first: what all the others do without it isn't needed."""
        wanted = [key for key in self.states if self._is_ready(key)]
        touched = {key for measure, _ in self.taken for key in (*measure.makes, measure.workload)}
        free = [one for one in self.taken if one[0].kind is not MeasureKind.NODES]
        is_shared = any(measure.kind is not MeasureKind.STRATEGY for measure, _ in self.taken)
        for own in sorted(self.taken, key=lambda t: (t[0].kind is not MeasureKind.NODES, -(t[0].usd_per_month or 0.0))):
            is_strategy = own[0].kind is MeasureKind.STRATEGY
            if is_strategy and not is_shared:
                continue  # nothing else has changed for that workload since
            rest = [one for one in self.taken if one is not own]
            asked = [key for key in wanted if key in touched]
            if is_strategy:  # counts for its own rollout, and for those that come after it
                turns = self.world.turns
                asked = [key for key in wanted if own[0].workload in (key, *turns.get(key, ((), 0.0))[0])]
            if self._does_without(rest, asked) and (own not in free or self._is_spare(own, free)):
                self.taken, self.world = rest, _with_all(self.today, rest)
                free = [one for one in free if one is not own]

    def _does_without(self, rest: Sequence[Change], asked: Iterable[str]) -> bool:
        world = _with_all(self.today, rest)
        return all(world.state(key).keeps(self.share) for key in asked)

    def _is_spare(self, own: Change, free: Sequence[Change]) -> bool:
        """Whether what costs nothing isn't needed before the nodes are there either."""
        world = _with_all(self.today, free)
        touched = {key for measure, _ in free for key in (*measure.makes, measure.workload)}
        ready = [key for key in touched if world.state(key).keeps(self.share)]
        return self._does_without([one for one in free if one is not own], ready)

    # ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _answer(self, for_nothing: dict[str, OwnRollout]) -> PlanAnswer:
        measures = tuple(measure for measure, _ in self.taken)
        nodes = [measure for measure in measures if measure.kind is MeasureKind.NODES]
        numbers = [sum(s.keeps(self.share) for s in some.values()) for some in (self.now, for_nothing, self.states)]
        month = _sum([node.usd_per_month for node in nodes])
        staying = [node for node in nodes if node.is_kept]  # then the month holds the other measures' nodes, too
        once = (
            _sum([node.usd_per_rollout or 0.0 for node in staying]) or None
            if staying
            else _sum([node.usd_per_rollout for node in nodes])
        )
        order, is_order_played = self._order(measures)
        of_nodes = list(dict.fromkeys(key for node in nodes for key in node.makes))
        bounds = [self._at_least(key) for key in of_nodes]
        found = PlanAnswer(
            sentence=Text(), total=len(self.states), ready_now=numbers[0], ready_free=numbers[1], ready_all=numbers[2],
            unknown=sum(state.verdict is Verdict.UNKNOWN for state in self.states.values()), measures=measures,
            order=order, left=tuple(self._left()), nodes=sum(node.nodes for node in nodes),
            usd_per_month=month, usd_per_rollout=once,
            uncounted=self._uncounted if nodes else (),
            at_least_nodes=max((bound.nodes for bound in bounds), default=0),
            at_least_usd=None if month is None else max((bound.usd_per_month or 0.0 for bound in bounds), default=0.0),
            doubt=Text(" ".join(self.doubts)), doubts=tuple(self._doubts(of_nodes)), is_order_played=is_order_played,
            unjudged=unjudged(self.snapshot), price_note=Text("" if not nodes or self.book else "No prices were given, so what nodes cost isn't known."),
        )  # fmt: skip
        return replace(found, sentence=Text(_sentence(found, self.aims)))

    def _order(self, measures: Sequence[Measure]) -> tuple[tuple[Turn, ...], bool]:
        """The turns in an order that was played as a whole, with all measures (True); where none was found that completes, each by itself."""
        turns = {turn.workload: turn for turn in self._turns(measures)}
        if not measures:
            return tuple(turns.values()), False
        asked = [RolloutTurn(revision=self.world.revision(key), lent=self.world.lent(key)) for key in turns]
        found = playable_order(self.world.cluster, asked, self.share)
        if not found.is_played:
            self._doubt(found.why)
        return tuple(turns[turn.revision.after.key] for turn in found.turns), found.is_played

    def _doubts(self, keys: Sequence[str]) -> Iterator[Doubt]:
        """What could make another number of nodes of it: what every rule doubts of the pods of the workloads that need them, lists without
        which no bound is known, and what the search didn't look at."""
        if not keys:
            return
        yield from decisive_doubts(self.world.cluster, [self.world.revision(key) for key in keys])
        if self._uncounted:
            names = listing([several(kind) for kind in self._uncounted])
            lists = [kind for kind in self._uncounted if kind in _COUNTING]
            commands_of = "; ".join(map(list_command, lists))
            advice = f"To add them, also where they are empty: {commands_of}" if lists else ""
            yield decisive(names, f"whether fewer nodes do isn't known without {names}", advice)
        for said in self.doubts:
            yield decisive(SEARCH, said.rstrip("."))

    @cached_property
    def _uncounted(self) -> tuple[str, ...]:
        """Kinds without which nobody knows who leaves his room to others."""
        vertical = ("VerticalPodAutoscaler",) if "VerticalPodAutoscaler" in self.snapshot.other_kinds else ()
        return (*filter(self.snapshot.lacks, _COUNTING), *vertical)

    def _at_least(self, key: str) -> LeastNodes:
        def price(node: Node, number: int) -> float | None:
            price = price_of_nodes(self.book, self.snapshot.nodes, node, number, 0.0)
            return price.usd_per_month if price else None

        if self._uncounted:
            return LeastNodes(nodes=0, usd_per_month=0.0)
        return least_nodes(self.today.cluster, self.today.revision(key).after, price)

    def _turns(self, measures: Sequence[Measure]) -> Iterator[Turn]:
        """Those that let one another through first, as they were played; then who needs nothing, who needs what costs nothing, and pool by
        pool who needs spare nodes, so that these are there once and for as short as can be; in each those with fewest pods first."""
        needs: dict[str, tuple[int, ...]] = {}
        for place, one in enumerate(measures, 1):
            for key in dict.fromkeys((*one.makes, *([one.workload] if one.kind is not MeasureKind.NODES else []))):
                needs[key] = (*needs.get(key, ()), place)
        pools = {place: measure.pool for place, measure in enumerate(measures, 1)}

        played = {key for own, (before, _) in self.world.turns.items() for key in (own, *before)}
        turns = [key for key in self.turns if key in played]

        def rank(key: str) -> tuple[int, int, str, int, str]:
            mine = needs.get(key, ())
            pool = max((pools[place] for place in mine), default="")
            turn = turns.index(key) - len(turns) if key in turns else 0
            return (turn, 2 if pool else 1 if mine else 0, pool, self.states[key].replicas, key)

        for key in sorted((key for key in self.states if self._is_ready(key)), key=rank):
            state = self.states[key]
            yield Turn(
                workload=key, lowest_ready=state.lowest_ready, replicas=state.replicas, needs=needs.get(key, ()), is_first=key in turns
            )  # fmt: skip

    def _left(self) -> Iterator[Left]:
        for key, state in self.states.items():
            if not self._is_ready(key):
                why = self.refused.get(key, "")
                if not why and state.verdict is Verdict.COMPLETES:
                    why = (
                        f"at worst {state.lowest_ready:,} of {state.replicas:,} Ready, and no strategy tried keeps more"
                    )
                yield Left(workload=key, verdict=state.verdict, reason=state.reason, why=Text(why or state.headline))


def _sentence(found: PlanAnswer, aims: Aims) -> str:
    """``15 of 20 now; 19 with two strategy changes and no money; 20 with one A100 node, $11,825 a month or …``."""
    beside = unjudged_words(found.unjudged)
    if not found.total:
        return (
            f"there is no workload whose rollout is played; {beside}"
            if beside
            else "there is no workload that rolls out"
        )
    kept = f" with {aims.least_ready_percent}% Ready at all times" if aims.least_ready_percent else ""
    parts = [f"{found.ready_now:,} of {count(found.total, 'workload')} can be rolled out now{kept}"]
    for_nothing = {one.workload for one in found.measures if one.kind is not MeasureKind.NODES and one.makes}
    free = _changes([one for one in found.measures if one.makes or one.workload in for_nothing])
    if free:
        parts.append(f"{found.ready_free:,} with {listing(free)} and no money")
    nodes = [measure for measure in found.measures if measure.kind is MeasureKind.NODES]
    if nodes:
        price = _node_price(found, nodes, aims)
        rest = [one for one in found.measures if not one.makes and one.workload not in for_nothing]
        more = [f"{change} more" for change in _changes(rest)]
        pools = [_node_words(nodes, pool) for pool in dict.fromkeys(node.pool for node in nodes)]
        parts.append(f"{found.ready_all:,} with {listing([*more, *pools], None)}, {price}; {_least_words(found)}")
    if not free and not nodes and found.ready_all < found.total:
        parts.append("no measure was found that would make it more")
    if found.unknown:
        parts.append(f"of {found.unknown:,} it isn't known")
    return "; ".join([*parts, beside] if beside else parts)


def _least_words(found: PlanAnswer) -> str:
    """How far that is from the least: what no plan for the same workloads can do without."""
    sure = " (proven)" if is_proven(found.doubts, ()) else ", as far as is known"
    counts_peak = all(one.kept_nodes in (0, one.nodes) for one in found.measures)  # as the bound does, kept all month
    if counts_peak and found.usd_per_month is not None and (found.at_least_usd or 0.0) >= found.usd_per_month - _CENT:
        return f"no plan for them costs less{sure}"
    if found.at_least_nodes >= found.nodes:
        return f"no plan for them needs fewer nodes{sure}"
    if found.uncounted:
        return f"whether fewer do isn't known without {listing([several(kind) for kind in found.uncounted])}"
    if not found.at_least_nodes:
        return "that none does with fewer isn't proven"
    more = f", {usd(found.at_least_usd)} a month" if found.at_least_usd and counts_peak else ""
    return f"any plan for them needs at least {count(found.at_least_nodes, 'node')}{more}"


def _node_price(found: PlanAnswer, nodes: Sequence[Measure], aims: Aims) -> str:
    """``$438 a month, or $4.57 if added for each of 20 rollouts``; of nodes that pods stay on, only the month."""
    if found.usd_per_month is None:
        return "whose price isn't known"
    if any(node.is_kept for node in nodes):
        going = sum(node.nodes - node.kept_nodes for node in nodes if node.is_kept)
        on = f"{found.nodes - going:,} of them" if going else plural(found.nodes, "it", "them")
        each = "" if found.usd_per_rollout is None else f", and {usd(found.usd_per_rollout)} for one rollout"
        return f"{usd(found.usd_per_month)} a month, since pods that have no other node stay on {on}{each}"
    once = 0.0 if found.usd_per_rollout is None else found.usd_per_rollout
    added = f"if added for each of {aims.rollouts_per_month:g} {plural(aims.rollouts_per_month, 'rollout')}"
    return f"{usd(found.usd_per_month)} a month, or {usd(once * aims.rollouts_per_month)} {added}"


def _changes(measures: Sequence[Measure]) -> list[str]:
    """``two strategy changes``, ``one larger quota``, ``two loans``: others scaled down for a while."""
    names = {
        MeasureKind.STRATEGY: "strategy change", MeasureKind.QUOTA: "larger quota", MeasureKind.ORDER: "later turn",
        MeasureKind.LEND: "loan",
    }  # fmt: skip
    means = {MeasureKind.ORDER: " (after other rollouts)", MeasureKind.LEND: " (others scaled down for a while)"}
    counts = [(sum(measure.kind is kind for measure in measures), kind) for kind in names]
    said = [f"{spelled(n)} {plural(n, names[kind])}{means.get(kind, '')}" for n, kind in counts if n]
    moves = sum(measure.moves for measure in measures)
    return [f"{count(moves, 'move')} of pods", *said] if moves else said


def _node_words(nodes: Sequence[Measure], pool: str) -> str:
    mine = [node for node in nodes if node.pool == pool]
    number = sum(measure.nodes for measure in mine)
    model = mine[0].gpu_model
    return f"{spelled(number)} {f'{model} ' if model else ''}{plural(number, 'node')} more in {pool}"


def _instead(strategy: Strategy) -> str:
    if strategy.kind != ROLLING_UPDATE:
        return f" instead of {strategy.kind}"
    known = [str(one) for one in (strategy.max_surge, strategy.max_unavailable) if one is not None]
    return f" instead of {', '.join(known)}"


def _pool(node: Node) -> str:
    """Its pool, or itself."""
    return node_pool(node) or node.name


def _sum(amounts: Sequence[float | None]) -> float | None:
    return None if any(amount is None for amount in amounts) else sum(amount or 0.0 for amount in amounts)
