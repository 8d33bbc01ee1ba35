"""A readiness plan's state during the search: adopted actions, and every workload's rollout with them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, TypeVar

from planner.capacity.node_pools import NodePool, pool_key
from planner.ground import parallel_parts
from planner.ground.errors import HeadroomError
from planner.ground.progress import tell
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting
from planner.ground.work_budget import part
from planner.kubernetes.derived import Same
from planner.kubernetes.object_records import Node, Snapshot, Strategy
from planner.pricing.price_book import PriceBook
from planner.remedies import limits
from planner.remedies.lever_outcomes import LeveredCluster
from planner.remedies.levers.nodes import MoreNodes
from planner.remedies.plan_actions import FOR_ALL, Change, Effect, Measure, MeasureKind, strategy_measure
from planner.remedies.ways_out import find_remedies, preference
from planner.rollout.answers import GROWING_REASONS, Remedy, RemedyKind, Verdict
from planner.rollout.prepared_change import pod_times_of
from planner.rollout.rollout_equivalence import surroundings
from planner.rollout.rollout_summary import OwnRollout, glance
from planner.scheduling.cluster import Cluster

T = TypeVar("T")


class Aims(Record):
    """What a plan may cost, USD a month and nodes (None: any), and what every rollout has to keep Ready, in percent."""

    least_ready_percent: int = setting(
        0, least=0, most=100, label="Ready at least, %", option="--least-ready", form="PERCENT",
        is_everyday=True, help="No workload's rollout may have a smaller share of its pods Ready.",
    )  # fmt: skip
    most_nodes: int | None = setting(
        None, least=0, most=limits.NODES.most, label="Spare nodes at most", is_everyday=True, help="No more nodes than these are added."
    )  # fmt: skip
    most_usd: float | None = setting(
        None, least=0, most=10_000_000, label="$ a month at most", is_everyday=True, help="No more is spent on nodes a month, if they are kept."
    )  # fmt: skip
    rollouts_per_month: float = setting(
        20, least=0, most=10_000, is_everyday=True, help="How often the workloads that need spare nodes are rolled out in all."
    )  # fmt: skip


class PlanState:
    """What is adopted so far: `world` is the cluster with it, `states` every workload's rollout there; `today` and `now` are those before."""

    def __init__(
        self, world: LeveredCluster, states: dict[str, OwnRollout], aims: Aims, book: PriceBook | None, snapshot: Snapshot,
        pools: Sequence[NodePool] = (),
    ) -> None:  # fmt: skip
        self.pools = {pool.name: pool for pool in pools}
        self.today, self.snapshot = world, snapshot
        self.now, self.world, self.states = dict(states), world, states
        self.share, self.aims, self.book = aims.least_ready_percent / 100, aims, book
        self.taken: list[Change] = []
        self.refused: dict[str, str] = {}
        self.doubts: tuple[str, ...] = ()
        self.turns: tuple[str, ...] = ()  # rolled out one after another, before all others
        self._share_done = 0.0
        # The last few with more nodes: the next workload asks for the same, and what is adopted of them is played there.
        self._held = deque[LeveredCluster](maxlen=limits.GROWN.most)
        self.seen = lru_cache(maxsize=limits.GLANCES.most)(glance)  # who is asked for lenders is asked for nodes next
        self.in_vain: set[Hashable] = set()  # searches that found nothing, in a cluster, for what is alike
        self._known: dict[Hashable, list[Remedy]] = {}  # of what is alike in a cluster
        # Of the last few whose pods wait, who are alike only in larger clusters: what was asked, these clusters, and how they are there.
        self._found = deque[tuple[Hashable, list[Cluster], Hashable, list[Remedy]]](maxlen=limits.GROWN.most)

    def tell(self, doing: str, share: float) -> None:
        """What is done now; what is done again later doesn't take the share back."""
        self._share_done = max(self._share_done, share)
        tell(doing, self._share_done)

    def doubt(self, why: str) -> None:
        self.doubts = (*self.doubts, why)

    def is_ready(self, key: str) -> bool:
        return self.states[key].keeps(self.share)

    def wants_room(self, key: str) -> bool:
        return self.states[key].verdict is Verdict.STUCK and self.states[key].reason in GROWING_REASONS

    def others_ready(self) -> list[str]:
        """Workloads that can roll out on their own, and aren't in turn yet."""
        return [key for key in self.states if self.is_ready(key) and key not in (*self.world.loans, *self.turns)]

    def with_strategy(self, key: str, strategy: Strategy) -> Change | None:
        """Another strategy than the one adopted so far; None where it is that."""
        return strategy_measure(self.today, self.world, key, strategy)

    def does(self, world: LeveredCluster, keys: Iterable[str]) -> bool:
        return all(world.state(key).keeps(self.share) for key in keys)

    def adopt(self, measure: Measure, effect: Effect, keys: Sequence[str]) -> None:
        """Take a measure; `keys` are the workloads that it may help, in the order of all."""
        lacking = [key for key in keys if not self.is_ready(key)]
        self.world = effect(self.world)
        self.states.update(self.world.states(keys))
        makes = tuple(key for key in lacking if self.is_ready(key))
        self.taken.append((replace(measure, makes=makes), effect))

    def take(self, key: str, changes: Iterable[Change]) -> None:
        """Adopt what is done for one workload, and look which others it may help."""
        space = key.split("/")[1]
        for measure, effect in changes:
            keys = [key]
            if measure.kind is MeasureKind.QUOTA:
                keys = [state for state in self.states if state.split("/")[1] == space]
            if measure.kind in FOR_ALL:
                keys = [state for state in self.states if not self.is_ready(state)]
            self.adopt(measure, effect, keys)

    def already(self, name: str) -> int:
        """Nodes that are added to a pool so far."""
        return sum(more.number for more in self.world.nodes if pool_key(more.like) == name)

    def so_far(self) -> tuple[Any, ...]:
        return self.world, dict(self.states), list(self.taken), self.turns, self.doubts

    def go_back(self, to: tuple[Any, ...]) -> None:
        self.world, states, taken, self.turns, self.doubts = to
        self.states, self.taken = dict(states), list(taken)

    def ask_ahead(
        self, what: str, takes: float, wanting: Sequence[str], ask: Callable[[str], T], take: Callable[[str, T], None]
    ) -> None:  # fmt: skip
        """One workload after another, as far as it isn't ready. As long as nothing is adopted they don't need one another, so that in
        parts more and more are asked ahead; few where a search may take long. `takes`: the share of the whole."""
        remaining_keys, ahead = list(wanting), 1
        is_large = self.today.cluster.node_count > limits.LARGE_CLUSTER.most
        most = (limits.AHEAD if is_large else limits.FEWER_AHEAD).most
        while remaining_keys:
            self.tell(f"{what}: {remaining_keys[0]}", 0.6 + takes * (len(wanting) - len(remaining_keys)) / len(wanting))
            batch, world = remaining_keys[:ahead], self.world
            ahead = min(2 * ahead, most) if parallel_parts.are_shared() else 1
            for key, part_answer in zip(batch, parallel_parts.each(batch, ask), strict=True):
                remaining_keys.remove(key)
                take(key, part_answer)
                if self.world is not world:
                    ahead = 1
                    break
            remaining_keys = [key for key in remaining_keys if not self.is_ready(key)]

    def _grown(self, world: LeveredCluster, larger: list[Cluster], _: Cluster, like: Node, number: int) -> Cluster:
        grown = world.more(nodes=(MoreNodes(like=like, number=number),))
        self._held.append(grown)
        larger.append(grown.cluster)
        return grown.cluster

    def remedies(self, key: str, kind: RemedyKind, world: LeveredCluster | None = None) -> list[Remedy]:
        world = world or self.world
        revision = world.revision(key)
        before, alike = revision.before, surroundings(world.cluster, revision.after)
        cache_key = (kind, Same(world.cluster), alike, before.strategy if before else None)
        if alike is not None and cache_key in self._known:
            return self._known[cache_key]
        try:
            with part():
                state = self.seen(world.cluster, revision)
            if state.run is None or state.why is None:
                return []
            times, larger = pod_times_of(world.cluster, revision), list[Cluster]()
            asked = (*cache_key, state.why.headline, state.answer.lowest_ready, times)
            for known, clusters, there, remedies in self._found:
                if known == asked and there == surroundings(world.cluster, revision.after, *clusters):
                    return remedies
            ways = find_remedies(
                world.cluster, state.run.revisions, key, state.run, state.why, times,
                kinds=frozenset({kind}), grown=partial(self._grown, world, larger),
            )  # fmt: skip
            remedies = sorted(ways, key=preference)
        except HeadroomError:
            return []
        if remedies and kind is not RemedyKind.ADD_NODE:
            return remedies  # they name objects of its namespace
        if alike is not None:
            self._known[cache_key] = remedies
        elif (there := surroundings(world.cluster, revision.after, *larger)) is not None:
            self._found.append((asked, larger, there, remedies))
        return remedies
