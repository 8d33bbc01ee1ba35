"""The monthly cost of a cluster by node pool and purchase option, and its unrequested part.

How idle cost is counted. A node's price is split into GPUs, CPU and memory: the GPUs' own price; the rest between CPU
and memory in the proportion of their unit prices. Of each part, the share of the node's allocatable amount that no
bound pod requests is idle. So idle means *not requested*; what pods request and don't use is not in it. Bundled local
SSD goes with CPU and memory. What the system reserves (capacity above allocatable) is not idle: no pod can request it.

OpenCost splits nodes in the same way, by CPU, RAM and GPU prices, and names the rest idle (`pkg/costmodel`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from planner.ground import words
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CPU, HOURS_PER_MONTH, MEMORY
from planner.ground.words import Text
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.object_records import EMPTY, Amounts, Node
from planner.pricing.gpu_share_of_price import GpuShares
from planner.pricing.node_price import price_node
from planner.pricing.owned_commitments import UnusedCommitment, covered, price_committed, unused
from planner.pricing.pod_gpu_shares import gpu_parts
from planner.pricing.price_book import (
    Component,
    NodePrice,
    OwnedCommitment,
    PartKind,
    Price,
    PriceBook,
    PriceReason,
    Provisioning,
)

# USD per vCPU over USD per GiB, where the family's own are not in the book (GPU families): N1's and the median of the
# eight families of the snapshot, which lie between 7.46 and 8.81.
VCPU_TO_GIB_PRICE: Final = 7.46


class SplitCost(Record):
    """USD per month by what it is paid for."""

    gpu: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0

    @property
    def total(self) -> float:
        return self.gpu + self.cpu + self.memory

    def times(self, factor: float) -> SplitCost:
        return SplitCost(gpu=self.gpu * factor, cpu=self.cpu * factor, memory=self.memory * factor)

    def __add__(self, other: SplitCost) -> SplitCost:
        return SplitCost(gpu=self.gpu + other.gpu, cpu=self.cpu + other.cpu, memory=self.memory + other.memory)


class NodeCost(Record):
    """A node with a price. `cost` and `idle` are what a whole month comes to: after negotiated discounts and sustained use."""

    node: NodePrice
    cost: SplitCost
    idle: SplitCost | None  # None: its pods weren't seen
    commitment_id: str = ""  # of the account's commitment that covers it
    on_demand_usd_per_hour: float | None = None  # what a covered node would cost without

    @property
    def list_usd_per_month(self) -> float:
        """Before sustained use."""
        return (self.node.usd_per_hour or 0.0) * HOURS_PER_MONTH


class PoolCost(Record):
    """The nodes of a pool bought in one way. Money is of the `node_count` − `unpriced_count` nodes with a price."""

    node_pool: str
    provisioning: Provisioning
    machine_types: tuple[str, ...]
    node_count: int
    unpriced_count: int
    cost: SplitCost
    idle: SplitCost | None  # None: no node has a price, or the pods weren't seen
    list_usd_per_month: float  # the same before the discount for running all month
    reason: str = ""  # the sentence of a node without a price

    @property
    def usd_per_month(self) -> float | None:
        """None where no node of the pool has a price."""
        return self.cost.total if self.node_count > self.unpriced_count else None


class UnpricedNodes(Record):
    """Nodes without a price for one reason. `sentence` is that of the first."""

    reason: PriceReason
    nodes: tuple[str, ...]
    sentence: Text


class ClusterCost(Record):
    """`usd_per_month` is None where no node has a price; nodes without one are counted in `unpriced`, never as 0. All money
    is after sustained use but `list_usd_per_month`."""

    sentence: Text
    pools: tuple[PoolCost, ...]  # by name
    nodes: tuple[NodeCost, ...]
    unpriced: tuple[UnpricedNodes, ...]
    usd_per_month: float | None
    cost: SplitCost
    idle: SplitCost | None  # as a pool's
    list_usd_per_month: float
    as_of: str  # of the oldest price used; "" without any
    prices_source: str  # of the prices used; "" without any
    notes: tuple[str, ...]
    unused_commitments: tuple[UnusedCommitment, ...] = ()


def cluster_cost(
    book: PriceBook,
    nodes: Iterable[Node],
    requested: Mapping[str, Amounts] | None,
    owned: Mapping[str, OwnedCommitment] | None = None,
) -> ClusterCost:
    """What `nodes` cost a month of 730 hours, and what of it is idle.

    Parameters
    ----------
    requested : mapping
        Node name → amounts that its bound pods request; a node that isn't in it has no pods. None: no pods were seen.
    owned : mapping, optional
        Node name → the commitment that covers it, where `nodes` are only some of the cluster's.
    """
    nodes = tuple(nodes)
    shares = GpuShares(book, nodes)
    # Which nodes a commitment covers is decided over the whole cluster, once: a caller with a part of it brings the answer.
    if owned is None:
        owned = covered(book, nodes, requested or {})
    priced: list[NodeCost] = []
    members: dict[tuple[str, Provisioning], list[tuple[NodePrice, NodeCost | None]]] = defaultdict(list)
    for node in nodes:
        own = owned.get(node.name)
        node_price = price_node(book, node) if own is None else price_committed(book, node, own)
        costed = None
        if node_price.usd_per_hour is not None:
            whole = _split(book, node, node_price.price, shares)
            idle_part = None if requested is None else _idle(node, whole, requested.get(node.name, EMPTY))
            costed = NodeCost(node=node_price, cost=whole, idle=idle_part)
            if own is not None:
                otherwise = price_node(book, node).usd_per_hour
                costed = replace(costed, commitment_id=own.commitment_id, on_demand_usd_per_hour=otherwise)
            priced.append(costed)
        members[node_price.node_pool, node_price.provisioning].append((node_price, costed))
    pools = tuple(_pool(name, bought, priced_nodes) for (name, bought), priced_nodes in sorted(members.items()))
    unpriced = _unpriced(
        priced_node for entries in members.values() for priced_node, costed in entries if costed is None
    )
    cost = sum((node_cost.cost for node_cost in priced), SplitCost())
    idle = _idle_of(priced)
    count = sum(pool.node_count for pool in pools)
    return ClusterCost(
        sentence=Text(cost_words(cost.total, idle, has_gpus=bool(cost.gpu), priced=len(priced), count=count)),
        pools=pools,
        nodes=tuple(priced),
        unpriced=unpriced,
        usd_per_month=cost.total if priced else None,
        cost=cost,
        idle=idle,
        list_usd_per_month=sum(pool.list_usd_per_month for pool in pools),
        as_of=min((node_cost.node.price.as_of for node_cost in priced if node_cost.node.price.as_of), default=""),
        prices_source="; ".join(
            dict.fromkeys(node_cost.node.price.source for node_cost in priced if node_cost.node.price.source)
        ),
        notes=tuple(dict.fromkeys(note for node_cost in priced for note in node_cost.node.price.notes)),
        unused_commitments=unused(book, nodes, owned),
    )


def _split(book: PriceBook, node: Node, price: Price, shares: GpuShares) -> SplitCost:
    month = (price.usd_per_hour or 0.0) * HOURS_PER_MONTH
    gpu = 0.0
    if price.gpu_count or any(is_gpu_resource(name) for name in node.allocatable):
        apart = price.part_usd_per_hour(PartKind.GPU)
        has_part = any(part.kind is PartKind.GPU for part in price.parts)
        gpu = apart * HOURS_PER_MONTH if apart is not None and has_part else month * shares.of(price)
    family = price.machine_type.split("-", 1)[0].replace("custom", "n1")
    core = book.unit(Component.CORE, family, price.region_id, Provisioning.ON_DEMAND)
    ram = book.unit(Component.RAM, family, price.region_id, Provisioning.ON_DEMAND)
    # A machine has one price: it is split as the family's own core and GiB cost, where it has such prices.
    ratio = core.list_unit_price / ram.list_unit_price if core and ram else VCPU_TO_GIB_PRICE
    size = node.capacity or node.allocatable
    cpu_weight = size.get(CPU, 0) / 1000 * ratio
    memory_weight = size.get(MEMORY, 0) / 2**30
    cpu_share = cpu_weight / (cpu_weight + memory_weight) if cpu_weight + memory_weight else 0.5
    whole = SplitCost(gpu=gpu, cpu=(month - gpu) * cpu_share, memory=(month - gpu) * (1 - cpu_share))
    return whole.times(1 - price.sustained_use_discount)


def _idle(node: Node, whole: SplitCost, requested: Amounts) -> SplitCost:
    def share(available: float, requested_amount: float) -> float:
        return max(0.0, 1 - requested_amount / available) if available else 0.0

    gpus, (requested_gpus,) = gpu_parts(node, (requested,))
    cpu, memory = (share(node.allocatable.get(name, 0), requested.get(name, 0)) for name in (CPU, MEMORY))
    return SplitCost(gpu=whole.gpu * share(gpus, requested_gpus), cpu=whole.cpu * cpu, memory=whole.memory * memory)


def _idle_of(costs: Iterable[NodeCost]) -> SplitCost | None:
    idle_costs = [cost.idle for cost in costs if cost.idle is not None]
    return sum(idle_costs, SplitCost()) if idle_costs else None


def _pool(name: str, bought: Provisioning, priced_nodes: list[tuple[NodePrice, NodeCost | None]]) -> PoolCost:
    costs = [cost for _, cost in priced_nodes if cost is not None]
    return PoolCost(
        node_pool=name,
        provisioning=bought,
        machine_types=tuple(sorted({node_price.price.machine_type for node_price, _ in priced_nodes})),
        node_count=len(priced_nodes),
        unpriced_count=len(priced_nodes) - len(costs),
        cost=sum((cost.cost for cost in costs), SplitCost()),
        idle=_idle_of(costs),
        list_usd_per_month=sum(cost.list_usd_per_month for cost in costs),
        reason=next((node_price.sentence for node_price, cost in priced_nodes if cost is None), ""),
    )


def _unpriced(node_prices: Iterable[NodePrice]) -> tuple[UnpricedNodes, ...]:
    by_reason: dict[PriceReason, list[NodePrice]] = defaultdict(list)
    for node_price in node_prices:
        by_reason[node_price.price.reason].append(node_price)
    return tuple(
        UnpricedNodes(
            reason=reason, nodes=tuple(priced_node.node for priced_node in entries), sentence=Text(entries[0].sentence)
        )
        for reason, entries in sorted(by_reason.items())
    )


def cost_words(
    usd: float,
    idle: SplitCost | None,
    *,
    has_gpus: bool,
    priced: int,
    count: int,
    more: str = "",
    does: str = "requested",
) -> str:
    """``$14,231 a month for 24 nodes; $3,200 of it isn't requested (22%): GPUs $2,000, CPU $900, memory $300``.

    Parameters
    ----------
    usd, idle : a month, both after sustained use; `idle` None: the pods weren't seen
    has_gpus : whether any of it is for GPUs
    priced, count : nodes with a price, and all
    more : what is paid for beside these nodes
    does : what idle capacity is not: requested, or requested or used
    """
    if not count:
        return "no nodes, so nothing to pay for"
    if not priced:
        return "no price: the price book knows none of the nodes" if count > 1 else "no price for the only node"
    missing = count - priced
    apart = (
        f"; {missing} more {words.plural(missing, 'has', 'have')} no price and {words.plural(missing, 'is', 'are')} not in it"
        if missing
        else ""
    )
    bill = f"{words.usd(usd)} a month for {words.count(priced, 'node')}{more}"
    if idle is None:
        return f"{bill}; without pods neither owners nor idle cost are known{apart}"
    share = f" ({idle.total / usd:.0%})" if usd else ""
    gpu = f"GPUs {words.usd(idle.gpu)}, " if has_gpus else ""
    return (
        f"{bill}; {words.usd(idle.total)} of it isn't {does}{share}: "
        f"{gpu}CPU {words.usd(idle.cpu)}, memory {words.usd(idle.memory)}{apart}"
    )
