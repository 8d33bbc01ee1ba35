"""Who the bill is for: each node's price shared out over what its pods request of it, the rest idle.

A node's effective price (after negotiated discounts and sustained use) is split into GPUs, CPU and memory
(`planner.pricing.cluster`). Of each part a pod bears the share of the node's allocatable amount that it requests, of GPUs that are
shared by size (`planner.pricing.gpu_parts`); what is not requested is idle, and what the system's own namespaces request is shared. Where more is requested than is
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
from planner.ground.vocabulary import CPU, HOURS_PER_MONTH, MEMORY
from planner.kubernetes.records import Amounts, Node
from planner.pricing.cents import shared_out, spread
from planner.pricing.cluster import NodeCost, SplitCost
from planner.pricing.gpu_parts import gpu_parts
from planner.pricing.model import Provisioning

PARTS: Final = ("gpu", "cpu", "memory")


class Share(StrEnum):
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


class Held(Record):
    """What pods of one `name` request on a node."""

    name: str
    share: Share
    requests: Amounts


class AllocatedCost(Record):
    """A line of the bill, whole cents: USD a month. `node` and `pool` are "" where several are added up."""

    name: str  # of the namespace, team, pool or workload; "" for what is idle everywhere
    share: Share
    gpu_usd: float
    cpu_usd: float
    memory_usd: float
    node: str = ""

    @property
    def usd(self) -> float:
        return round(self.gpu_usd + self.cpu_usd + self.memory_usd, 2)


Cents = tuple[int, int, int]
"""Of GPUs, CPU and memory."""
Holdings = Mapping[str, Iterable[Held]]
"""Node name → what its pods request, by whom."""


def allocate(
    costs: Sequence[NodeCost],
    nodes: Mapping[str, Node],
    held: Holdings | None,
    name_of: Mapping[str, str] | None = None,
) -> list[AllocatedCost]:
    """A line a node and holder, and one for what is idle of the node; all lines together are the bill to the cent.

    Parameters
    ----------
    costs : nodes with a price
    nodes : node name → node
    held : None where the pods weren't seen: whose the nodes are isn't known
    name_of : node name → what lines are added up by in place of the holder (a pool)
    """
    return [_line(name, share, cents, node) for node, name, share, cents in shares(costs, nodes, held, name_of)]


def shares(
    costs: Sequence[NodeCost],
    nodes: Mapping[str, Node],
    held: Holdings | None,
    name_of: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, str, Share, Sequence[int]]]:
    """`allocate`'s lines as (node, holder, share, cents)."""
    entries = list(_entries(costs, nodes, held))
    lines, of_entry = _lines(entries, name_of)
    wanted = _in_cents(lines)
    place = {key: 3 * i for i, key in enumerate(lines)}
    of_line = (np.array([place[key] for key in of_entry], dtype=np.intp)[:, None] + np.arange(3)).ravel()
    cents = spread(
        [amount for *_, parts in entries for amount in parts], of_line, [cent for key in lines for cent in wanted[key]]
    )
    for i, (cost, name, share, _) in enumerate(entries):
        yield cost.node.node, name, share, cents[3 * i : 3 * i + 3]


def _line(name: str, share: Share, cents: Sequence[int], node: str = "") -> AllocatedCost:
    gpu, cpu, memory = (each / 100 for each in cents)
    return AllocatedCost(name=name, share=share, node=node, gpu_usd=gpu, cpu_usd=cpu, memory_usd=memory)


def of_pods(cost: NodeCost, node: Node, requests: Mapping[str, Amounts]) -> dict[str, float]:
    """Pod on the node → what it bears of it, USD an hour, as the bill shares it out."""
    held = tuple(Held(name=pod, share=Share.USED, requests=amounts) for pod, amounts in requests.items())
    parts = _of_node(cost.cost, node, held)
    return {pod: sum(each) / HOURS_PER_MONTH for pod, share, each in parts if share is not Share.IDLE}


def allocated_cents(
    costs: Sequence[NodeCost], nodes: Mapping[str, Node], held: Holdings | None
) -> dict[tuple[Bought, str, Share], Cents]:
    """The sums of the same lines over all nodes, by the way in which the nodes are bought."""
    return _in_cents(_lines(_entries(costs, nodes, held))[0])


Parts = tuple[float, float, float]
"""USD for GPUs, CPU and memory."""
_Entry = tuple[NodeCost, str, Share, Parts]
_Key = tuple[Bought, str, Share]


def _entries(costs: Sequence[NodeCost], nodes: Mapping[str, Node], held: Holdings | None) -> Iterator[_Entry]:
    for cost in costs:
        whole, name = cost.cost, cost.node.node
        if held is None:
            yield cost, "", Share.UNKNOWN, (whole.gpu, whole.cpu, whole.memory)
            continue
        for holder, share, parts in _of_node(whole, nodes[name], tuple(held.get(name, ()))):
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
    found: dict[_Key, Cents] = {}
    for keys, total in zip(ways.values(), totals, strict=True):
        cents = shared_out([amount for key in keys for amount in lines[key]], total / 100)
        found |= {key: (cents[3 * i], cents[3 * i + 1], cents[3 * i + 2]) for i, key in enumerate(keys)}
    return found


def _of_node(whole: SplitCost, node: Node, held: tuple[Held, ...]) -> Iterator[tuple[str, Share, Parts]]:
    """Who bears which parts of the node, and what of each is idle."""
    parts: list[list[float]] = []
    requests = [one.requests for one in held]
    held_of: list[tuple[float, float, Sequence[float]]] = [(whole.gpu, *gpu_parts(node, requests))]
    for amount, name in ((whole.cpu, CPU), (whole.memory, MEMORY)):
        held_of.append((amount, node.allocatable.get(name, 0), [each.get(name, 0) for each in requests]))
    for amount, offered, wanted in held_of:
        there = max(offered, sum(wanted))
        shares = [float(each) / there if there else 0.0 for each in wanted]
        shares.append(max(0.0, 1.0 - sum(shares)))
        parts.append([share * amount for share in shares])
    gpu, cpu, memory = parts
    for i, one in enumerate(held):
        yield one.name, one.share, (gpu[i], cpu[i], memory[i])
    yield "", Share.IDLE, (gpu[-1], cpu[-1], memory[-1])


def added_up(lines: Iterable[AllocatedCost], name_of: Mapping[str, str] | None = None) -> tuple[AllocatedCost, ...]:
    """Lines of all nodes added up by name and share, dearest first, what is idle last.

    `name_of`: node → a name that stands in place of the line's (a pool), so that idle cost has one too.
    """
    sums: dict[tuple[str, Share], list[int]] = defaultdict(lambda: [0, 0, 0])
    for line in lines:
        own = sums[line.name if name_of is None else name_of[line.node], line.share]
        for i, amount in enumerate((line.gpu_usd, line.cpu_usd, line.memory_usd)):
            own[i] += round(100 * amount)
    order = list(Share)
    ranked = sorted(sums.items(), key=lambda item: (order.index(item[0][1]), -sum(item[1]), item[0][0]))
    return tuple(_line(name, share, cents) for (name, share), cents in ranked)
