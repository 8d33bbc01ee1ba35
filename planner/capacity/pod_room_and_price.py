"""How many pods of one shape fit a cluster, and what one of them costs there."""

from __future__ import annotations

from planner.capacity.headroom import Fit
from planner.ground.records import Record
from planner.ground.well_known_names import CPU, MEMORY
from planner.ground.words import Text
from planner.kubernetes.object_records import EMPTY, Amounts, Node, Snapshot
from planner.pricing.node_pool_costs import SplitCost, cluster_cost
from planner.pricing.pod_gpu_shares import gpu_parts
from planner.pricing.price_book import PriceBook
from planner.pricing.projected_bill import owned_by_node
from planner.rollout.answers import Verdict


class Room(Record):
    """How many more pods of one kind fit now. `usd_per_month`: one pod's part of the cheapest node it fits on, by GPU, CPU
    and memory; None where it fits on none with a price."""

    pods: str
    more: int
    is_at_least: bool
    usd_per_month: float | None
    node_pool: str  # of that node; "" without a price
    is_known: bool = True  # `more`; else it is what the nodes' sums leave room for


class ClusterRoom(Record):
    """One cluster's answer; `room` has an entry for each kind of pod."""

    cluster: str
    verdict: Verdict
    sentence: Text
    room: tuple[Room, ...]
    usd_per_month: float | None  # all pods that are asked for; None where one has no price

    @property
    def fits_more(self) -> int:
        """Of the kind that has least room."""
        return min((room.more for room in self.room), default=0)


def room_of(snapshot: Snapshot, fit: Fit, book: PriceBook | None) -> Room:
    """How many more pods fit, as quotas let them in, and what one costs."""
    price, pool = _price(snapshot, fit, book)
    return Room(
        pods=fit.shape, more=fit.count, is_at_least=fit.is_at_least, usd_per_month=price, node_pool=pool,
        is_known=not fit.unknown,
    )  # fmt: skip


def _price(snapshot: Snapshot, fit: Fit, book: PriceBook | None) -> tuple[float | None, str]:
    """The cheapest node's, of those on which the pods would be placed; and its pool."""
    if book is None:
        return None, ""
    taken = {node for node, _ in fit.by_node}
    nodes = {node.name: node for node in snapshot.nodes if node.name in taken}
    costs = [
        (
            _part(node.cost, fit.requests, nodes[node.node.node]),
            node.node.node_pool,
        )
        for node in cluster_cost(book, nodes.values(), EMPTY, owned_by_node(book, snapshot)).nodes
    ]
    return min(costs, default=(None, ""))


def _part(cost: SplitCost, requests: Amounts, node: Node) -> float:
    """USD a month of a pod's share of each part of a node's price."""

    def share(requested: float, available: float) -> float:
        return requested / available if available else 0.0

    gpus, (requested_gpus,) = gpu_parts(node, (requests,))
    cpu, memory = (share(requests.get(name, 0), node.allocatable.get(name, 0)) for name in (CPU, MEMORY))
    return cost.gpu * share(requested_gpus, gpus) + cost.cpu * cpu + cost.memory * memory
