"""Finds one more node with which pending pods start: tries a node of each pool in a simulation."""

from __future__ import annotations

from collections import Counter

from planner.capacity.eviction_simulation import at_rest
from planner.capacity.node_pools import NodePool, pools
from planner.capacity.what_if import apply
from planner.capacity.what_if_syntax import Change, ChangeKind
from planner.ground.records import Record
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.owners import workload_keys
from planner.pricing.added_nodes import price_of_nodes
from planner.pricing.price_book import PriceBook
from planner.rollout.prepared_change import compiled
from planner.scheduling.cluster import Cluster


class PendingNode(Record):
    """What one more node of `pool` does to pending pods.

    Attributes
    ----------
    started : workloads with pods that start, each with how many
    usd_per_month : what the node adds to the bill; None without a price
    is_within_limit : whether the pool may grow by it, as far as its limit is known; a fixed size is resized by hand
    """

    pool: str
    started: tuple[tuple[str, int], ...]
    usd_per_month: float | None
    is_within_limit: bool

    @property
    def change(self) -> str:
        """As ``--change`` takes it."""
        return str(Change(kind=ChangeKind.ADD, target=self.pool, value="1"))

    @property
    def pods(self) -> int:
        return sum(number for _, number in self.started)


def pending_nodes(
    snapshot: Snapshot, limits: tuple[PoolLimits, ...] = (), book: PriceBook | None = None
) -> tuple[PendingNode, ...]:
    """A node of each pool with which pending pods start, the most per dollar first, those within their pool's limit before any other."""
    today = at_rest(compiled(snapshot).snapshot)  # who finds room without it isn't started by it
    nodes = (
        node
        for pool in pools(today, limits)
        if pool.name and pool.nodes and (node := _with_one_more(today, pool, limits, book)).started
    )
    return tuple(sorted(nodes, key=_rank))


def _rank(node: PendingNode) -> tuple[bool, bool, float, int, str]:
    usd = node.usd_per_month
    return not node.is_within_limit, usd is None, (usd or 0.0) / node.pods, -node.pods, node.pool


def _with_one_more(
    today: Cluster, pool: NodePool, limits: tuple[PoolLimits, ...], book: PriceBook | None
) -> PendingNode:
    changed_state = apply(today, (Change(kind=ChangeKind.ADD, target=pool.name, value="1"),), limits, is_at_rest=True)
    fewer = _pending(today.snapshot) - _pending(changed_state.snapshot)
    (new,) = (node for node in changed_state.snapshot.nodes if node.name not in today.node_index)
    price = price_of_nodes(book, today.snapshot.nodes, new, 1, 0.0, kept=1)
    return PendingNode(
        pool=pool.name,
        started=tuple(fewer.most_common()),
        usd_per_month=price.usd_per_month if price else None,
        is_within_limit=changed_state.steps[0].is_done,
    )


def _pending(snapshot: Snapshot) -> Counter[str]:
    """Pending pods by the workload that made them."""
    owners = workload_keys(snapshot)
    return Counter(owners[pod.uid] for pod in snapshot.pods if pod.waits)
