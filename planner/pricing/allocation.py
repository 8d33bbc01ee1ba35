"""Allocates the bill: each node's price is shared among its pods' requests; the rest is idle.

A node's effective price (after negotiated discounts and sustained use) is split into GPUs, CPU and memory
(`planner.pricing.node_pool_costs`). Of each part a pod bears the share of the node's allocatable amount that it requests, of GPUs that are
shared by size (`planner.pricing.pod_gpu_shares`); what is not requested is idle, and what the system's own namespaces request is shared. Where more is requested than is
allocatable, the requests are what is divided by.

Amounts are whole cents, rounded once for each line of the bill (who, bought in which way, for what): every line is right to
a cent, all add up to the bill, and what is told of some of the nodes adds up with what is told of the others. A node's part
of a line is what the line's running sum grows by there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import numpy as np

from planner.ground.records import Record
from planner.ground.well_known_names import CPU, HOURS_PER_MONTH, MEMORY
from planner.kubernetes.object_records import Amounts, Node
from planner.pricing.cent_rounding import shared_out, spread
from planner.pricing.node_pool_costs import NodeCost, SplitCost
from planner.pricing.pod_gpu_shares import gpu_parts
from planner.pricing.price_book import Provisioning

PARTS: Final = ("gpu", "cpu", "memory")


class AllocationKind(StrEnum):
    """What a line of the allocation is for."""

    USED = "used"  # requested by pods
    SHARED = "shared"  # requested by the system's namespaces, for everybody
    IDLE = "idle"  # not requested
    UNUSED = "unused commitment"  # paid, and covers no node
    UNKNOWN = "not known"  # the pods weren't seen


class Bought(StrEnum):
    """How a node is paid for, as far as a change of spot tells nodes apart."""

    ON_DEMAND = "on-demand"
    COMMITTED = "committed"  # paid either way
    OTHER = "other"


def bought(cost: NodeCost) -> Bought:
    """How the node is paid for."""
    if cost.commitment_id:
        return Bought.COMMITTED
    return Bought.ON_DEMAND if cost.node.provisioning is Provisioning.ON_DEMAND else Bought.OTHER


class RequestedShare(Record):
    """What pods of one `name` request on a node."""

    name: str
    share: AllocationKind
    requests: Amounts


class AllocatedCost(Record):
    """A line of the bill, whole cents: USD a month. `node` and `pool` are "" where several are added up."""

    name: str  # of the namespace, team, pool or workload; "" for what is idle everywhere
    share: AllocationKind
    gpu_usd: float
    cpu_usd: float
    memory_usd: float
    node: str = ""

    @property
    def usd(self) -> float:
        return round(self.gpu_usd + self.cpu_usd + self.memory_usd, 2)


Cents = tuple[int, int, int]
"""Of GPUs, CPU and memory."""
Holdings = Mapping[str, Iterable[RequestedShare]]
"""Node name → what its pods request, by whom."""


def allocate(
    costs: Sequence[NodeCost],
    nodes: Mapping[str, Node],
    holdings: Holdings | None,
    name_of: Mapping[str, str] | None = None,
) -> list[AllocatedCost]:
    """A line a node and holder, and one for what is idle of the node; all lines together are the bill to the cent.

    Parameters
    ----------
    costs : nodes with a price
    nodes : node name → node
    holdings : None where the pods weren't seen: the nodes' owners aren't known
    name_of : node name → what lines are added up by in place of the holder (a pool)
    """
    return [_line(name, share, cents, node) for node, name, share, cents in shares(costs, nodes, holdings, name_of)]


def shares(
    costs: Sequence[NodeCost],
    nodes: Mapping[str, Node],
    holdings: Holdings | None,
    name_of: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, str, AllocationKind, Sequence[int]]]:
    """`allocate`'s lines as (node, holder, share, cents)."""
    entries = list(_entries(costs, nodes, holdings))
    lines, of_entry = _lines(entries, name_of)
    line_cents = _in_cents(lines)
    place = {key: 3 * i for i, key in enumerate(lines)}
    of_line = (np.array([place[key] for key in of_entry], dtype=np.intp)[:, None] + np.arange(3)).ravel()
    cents = spread(
        [amount for *_, parts in entries for amount in parts],
        of_line,
        [cent for key in lines for cent in line_cents[key]],
    )
    for i, (cost, name, share, _) in enumerate(entries):
        yield cost.node.node, name, share, cents[3 * i : 3 * i + 3]


def _line(name: str, share: AllocationKind, cents: Sequence[int], node: str = "") -> AllocatedCost:
    gpu, cpu, memory = (each / 100 for each in cents)
    return AllocatedCost(name=name, share=share, node=node, gpu_usd=gpu, cpu_usd=cpu, memory_usd=memory)


def of_pods(cost: NodeCost, node: Node, requests: Mapping[str, Amounts]) -> dict[str, float]:
    """Pod on the node → what it bears of it, USD an hour, as the bill shares it out."""
    holdings = tuple(
        RequestedShare(name=pod, share=AllocationKind.USED, requests=amounts) for pod, amounts in requests.items()
    )
    parts = _of_node(cost.cost, node, holdings)
    return {pod: sum(each) / HOURS_PER_MONTH for pod, share, each in parts if share is not AllocationKind.IDLE}


def allocated_cents(
    costs: Sequence[NodeCost], nodes: Mapping[str, Node], holdings: Holdings | None
) -> dict[tuple[Bought, str, AllocationKind], Cents]:
    """The sums of the same lines over all nodes, by the way in which the nodes are bought."""
    return _in_cents(_lines(_entries(costs, nodes, holdings))[0])


Parts = tuple[float, float, float]
"""USD for GPUs, CPU and memory."""
_Entry = tuple[NodeCost, str, AllocationKind, Parts]
_Key = tuple[Bought, str, AllocationKind]


def _entries(costs: Sequence[NodeCost], nodes: Mapping[str, Node], holdings: Holdings | None) -> Iterator[_Entry]:
    for cost in costs:
        whole, name = cost.cost, cost.node.node
        if holdings is None:
            yield cost, "", AllocationKind.UNKNOWN, (whole.gpu, whole.cpu, whole.memory)
            continue
        for holder, share, parts in _of_node(whole, nodes[name], tuple(holdings.get(name, ()))):
            yield cost, holder, share, parts


def _lines(
    entries: Iterable[_Entry], name_of: Mapping[str, str] | None = None
) -> tuple[dict[_Key, list[float]], list[_Key]]:
    """What each line comes to, USD, and which line each entry is part of."""
    sums: dict[_Key, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    of_entry: list[_Key] = []
    last, way = None, Bought.OTHER
    for cost, name, share, (gpu, cpu, memory) in entries:
        if cost is not last:
            last, way = cost, bought(cost)
        key = way, name if name_of is None else name_of[cost.node.node], share
        own = sums[key]
        own[0] += gpu
        own[1] += cpu
        own[2] += memory
        of_entry.append(key)
    return sums, of_entry


def _in_cents(lines: Mapping[_Key, Sequence[float]]) -> dict[_Key, Cents]:
    """Lines in whole cents: those of each way add up to it, and the ways to the bill."""
    ways = {way: [key for key in lines if key[0] is way] for way in Bought}
    totals = shared_out([sum(sum(lines[key]) for key in keys) for keys in ways.values()])
    cents_by_key: dict[_Key, Cents] = {}
    for keys, total in zip(ways.values(), totals, strict=True):
        cents = shared_out([amount for key in keys for amount in lines[key]], total / 100)
        cents_by_key |= {key: (cents[3 * i], cents[3 * i + 1], cents[3 * i + 2]) for i, key in enumerate(keys)}
    return cents_by_key


def _of_node(
    whole: SplitCost, node: Node, holders: tuple[RequestedShare, ...]
) -> Iterator[tuple[str, AllocationKind, Parts]]:
    """Who bears which parts of the node, and what of each is idle."""
    parts: list[list[float]] = []
    requests = [holder.requests for holder in holders]
    held_of: list[tuple[float, float, Sequence[float]]] = [(whole.gpu, *gpu_parts(node, requests))]
    for amount, name in ((whole.cpu, CPU), (whole.memory, MEMORY)):
        held_of.append((amount, node.allocatable.get(name, 0), [each.get(name, 0) for each in requests]))
    for amount, offered, requested_amounts in held_of:
        # Requests may be more than the node offers (it was made smaller, a device is away): the shares add up to 1 all
        # the same.
        capacity = max(offered, sum(requested_amounts))
        shares = [float(each) / capacity if capacity else 0.0 for each in requested_amounts]
        shares.append(max(0.0, 1.0 - sum(shares)))
        parts.append([share * amount for share in shares])
    gpu, cpu, memory = parts
    for i, held_share in enumerate(holders):
        yield held_share.name, held_share.share, (gpu[i], cpu[i], memory[i])
    yield "", AllocationKind.IDLE, (gpu[-1], cpu[-1], memory[-1])


def added_up(lines: Iterable[AllocatedCost], name_of: Mapping[str, str] | None = None) -> tuple[AllocatedCost, ...]:
    """Lines of all nodes added up by name and share, dearest first, what is idle last.

    `name_of`: node → a name that stands in place of the line's (a pool), so that idle cost has one too.
    """
    sums: dict[tuple[str, AllocationKind], list[int]] = defaultdict(lambda: [0, 0, 0])
    for line in lines:
        own = sums[line.name if name_of is None else name_of[line.node], line.share]
        for i, amount in enumerate((line.gpu_usd, line.cpu_usd, line.memory_usd)):
            own[i] += round(100 * amount)
    order = list(AllocationKind)
    ranked = sorted(
        sums.items(), key=lambda share_sum: (order.index(share_sum[0][1]), -sum(share_sum[1]), share_sum[0][0])
    )
    return tuple(_line(name, share, cents) for (name, share), cents in ranked)
