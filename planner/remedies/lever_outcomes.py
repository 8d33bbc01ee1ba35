"""A cluster with levers pulled, and the outcome of each workload's own rollout in it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from planner.capacity.eviction_simulation import with_uncordoned
from planner.ground.errors import HeadroomError
from planner.ground.records import Record, replace
from planner.ground.words import Text
from planner.ground.work_budget import part
from planner.kubernetes.derived import Same
from planner.kubernetes.object_records import EMPTY, Node, Snapshot, Strategy
from planner.remedies import sequential_rollouts as in_turn
from planner.remedies.levers import lending, quota
from planner.remedies.levers.nodes import MoreNodes, with_more_nodes
from planner.rollout.answers import Reason, Verdict
from planner.rollout.ownership import workloads_by_key
from planner.rollout.rollout_summary import OwnRollout, OwnRollouts, glance
from planner.rollout.run import WHEN_AT_REST, Revision
from planner.rollout.verdict_wording import stay_ready
from planner.scheduling.cluster import Cluster


def own_rollout(verdict: Verdict, reason: Reason, headline: str, lowest: int, replicas: int) -> OwnRollout:
    """One of which no more is said than the headline."""
    sentence = Text(headline)
    return OwnRollout(verdict=verdict, reason=reason, sentence=sentence, headline=sentence, lowest_ready=lowest, replicas=replicas)  # fmt: skip


class _Played:
    """A cluster and what is known of the rollouts in it: `own` of many workloads, of which those that are alike have one; `known`, each as
    it was asked."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.own: OwnRollouts | None = None
        self.known: dict[Hashable, OwnRollout] = {}


def _played_with(
    _: Snapshot, base: Same[Cluster], quotas: frozenset[tuple[tuple[str, str, str], int]], likes: tuple[Same[Node], ...],
    opens: frozenset[str],
) -> _Played:  # fmt: skip
    """What levers make of a cluster: the same make the same, where the same is played."""
    bounded = quota.with_bounds(with_uncordoned(base.value, opens), dict(quotas))
    return _Played(with_more_nodes(bounded, [like.value for like in likes]))


class LeveredCluster(Record, kw_only=False, eq=False, dict=True):
    """A cluster with levers pulled: workloads with other strategies, larger quotas, more nodes, others that lend, turns.

    Attributes
    ----------
    base : the cluster without them, once pods were moved
    quotas : namespace, quota and resource → what it lets in
    opens : names of cordoned nodes that take pods again
    loans : workload → who is scaled to what while it rolls out
    turns : workload → who is rolled out before it, in that order, and what share each keeps
    """

    base: Cluster
    strategies: Mapping[str, Strategy] = EMPTY
    quotas: quota.Bounds = field(default_factory=dict)
    nodes: tuple[MoreNodes, ...] = ()
    opens: frozenset[str] = frozenset()
    loans: Mapping[str, Mapping[str, int]] = EMPTY
    turns: Mapping[str, tuple[tuple[str, ...], float]] = EMPTY

    @property
    def cluster(self) -> Cluster:
        return self._played.cluster

    @cached_property
    def _played(self) -> _Played:
        snapshot, likes = self.base.snapshot, tuple(map(Same, self.likes))  # strategies are the revisions' matter
        quotas = frozenset(self.quotas.items())
        return snapshot.derived.while_held(_played_with, snapshot, Same(self.base), quotas, likes, self.opens)

    @property
    def likes(self) -> list[Node]:
        """For each added node one that it is like."""
        return [more.like for more in self.nodes for _ in range(more.number)]

    def revision(self, key: str) -> Revision:
        """The workload's own rollout, with the strategy that it has then."""
        workload = workloads_by_key(self.base)[key]
        strategy = self.strategies.get(key)
        after = workload if strategy is None else replace(workload, strategy=strategy)
        return Revision(before=workload, after=after, has_new_template=True)

    def more(self, nodes: tuple[MoreNodes, ...] = (), opens: Iterable[str] = (), **levers: Mapping[Any, Any]) -> LeveredCluster:  # fmt: skip
        """With these beside what is applied already, or in its place: `nodes`, `opens`, or more of a field of its name."""
        merged: dict[str, Any] = {name: {**getattr(self, name), **more} for name, more in levers.items()}
        other = replace(self, nodes=(*self.nodes, *nodes), opens=self.opens.union(opens), **merged)
        # The same cluster is handed on, not looked up: nobody may have this one by then, and what was played in it would be gone.
        if not nodes and not opens and "quotas" not in levers and "_played" in self.__dict__:
            other.__dict__["_played"] = self._played
        return other

    def states(self, keys: Iterable[str]) -> dict[str, OwnRollout]:
        """Of many workloads."""
        self._played.own = self._played.own or OwnRollouts(self.cluster, is_brief=True)
        return {key: self.state(key) for key in keys}

    def state(self, key: str) -> OwnRollout:
        revision = self.revision(key)
        try:
            if key in self.turns:
                return self._in_turn(revision, *self.turns[key])
            if (cached_rollout := self._played.known.get(self._asked_of(key))) is not None:
                return cached_rollout
            own = self._played.own
            state = own.of(revision) if own and key not in self.loans else self._asked(revision)
        except HeadroomError as error:
            return own_rollout(Verdict.UNKNOWN, Reason.UNKNOWN, error.what, 0, revision.after.replicas)
        self.know(key, state)
        return state

    def know(self, key: str, state: OwnRollout) -> None:
        """So that it needn't be played again."""
        self._played.known[self._asked_of(key)] = state

    def _asked_of(self, key: str) -> Hashable:
        return key, self.strategies.get(key), frozenset(self.loans.get(key, {}).items()), self.turns.get(key)

    def _in_turn(self, revision: Revision, before: Sequence[str], share: float) -> OwnRollout:
        """Once others are rolled out."""
        after = revision.after
        with part():
            turns = [*map(self.revision, before), revision]
            run = in_turn.simulated_order(self.cluster, turns, share, self.lent(after.key))
        if run is None:
            return own_rollout(Verdict.STUCK, Reason.HOLD_AND_WAIT, "isn't through after them", 0, after.pods_wanted)
        lowest = run.lowest_ready(after.key)
        stay = stay_ready(lowest, after.pods_wanted)
        return own_rollout(Verdict.COMPLETES, Reason.NONE, stay, lowest, after.pods_wanted)

    def lent(self, key: str) -> tuple[Revision, ...]:
        """Workloads that are scaled down while it rolls out."""
        workloads, lent = workloads_by_key(self.base), self.loans.get(key, {})
        return tuple(lending.scaled(workloads[lender], replicas_left) for lender, replicas_left in lent.items())

    def _asked(self, revision: Revision) -> OwnRollout:
        """Once who lends to it is at rest."""
        lent = self.lent(revision.after.key)
        revision = replace(revision, after_seconds=WHEN_AT_REST) if lent else revision
        with part():
            return glance(self.cluster, revision, lent).answer
