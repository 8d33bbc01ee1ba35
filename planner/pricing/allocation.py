"""Who the bill is for: each node's price shared out over what its pods request of it, the rest idle.

A node's effective price (after negotiated discounts and sustained use) is split into GPUs, CPU and memory
(`planner.pricing.cluster`). Of each part a pod bears the share of the node's allocatable amount that it requests; what
nobody requests is idle, and what the system's own namespaces request is shared. Where more is requested than is
allocatable, the requests are what is divided by. Amounts are shared out in cents, so that every sum is the bill.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.records import Amounts, Node
from planner.pricing.cents import shared_out
from planner.pricing.cluster import NodeCost, SplitCost
from planner.vocabulary import CPU, MEMORY

PARTS: Final = ("gpu", "cpu", "memory")


class Share(StrEnum):
    """What a line of the allocation is for."""

    USED = "used"  # requested by pods
    SHARED = "shared"  # requested by the system's namespaces, for everybody
    IDLE = "idle"  # requested by nobody
    UNUSED = "unused commitment"  # paid, and covers no node


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What pods of one `name` request on a node."""

    name: str
    share: Share
    requests: Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedCost:
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


def allocate(
    costs: Sequence[NodeCost], nodes: Mapping[str, Node], held: Mapping[str, Iterable[Held]]
) -> list[AllocatedCost]:
    """A line a node and holder, and one for what is idle of the node; all lines together are the bill to the cent.

    Parameters
    ----------
    costs : nodes with a price
    nodes : node name → node
    held : node name → what its pods request, by whom
    """  # fmt: skip
    return [
        AllocatedCost(
            name=holder,
            share=share,
            node=node,
            gpu_usd=gpu / 100,
            cpu_usd=cpu / 100,
            memory_usd=memory / 100,
        )
        for node, holder, share, (gpu, cpu, memory) in allocated_cents(costs, nodes, held)
    ]


def allocated_cents(
    costs: Sequence[NodeCost], nodes: Mapping[str, Node], held: Mapping[str, Iterable[Held]]
) -> Iterator[tuple[str, str, Share, tuple[int, int, int]]]:
    """The same as (node, holder, share, cents of GPUs, CPU and memory)."""
    keys: list[tuple[str, str, Share]] = []
    amounts: list[float] = []
    for cost in costs:
        name = cost.node.node
        for holder, share, parts in _of_node(cost.effective, nodes[name], tuple(held.get(name, ()))):
            keys.append((name, holder, share))
            amounts.extend(parts)
    cents = shared_out(amounts, sum(cost.effective.total for cost in costs))
    for i, (node, holder, share) in enumerate(keys):
        yield node, holder, share, (cents[3 * i], cents[3 * i + 1], cents[3 * i + 2])


def _of_node(whole: SplitCost, node: Node, held: tuple[Held, ...]) -> Iterable[tuple[str, Share, tuple[float, ...]]]:
    gpus = tuple(name for name in node.allocatable if is_gpu_resource(name))
    left = dict.fromkeys(PARTS, 1.0)
    asked: dict[str, list[float]] = {}
    for part, names in (("gpu", gpus), ("cpu", (CPU,)), ("memory", (MEMORY,))):
        wanted = [float(sum(one.requests.get(name, 0) for name in names)) for one in held]
        there = max(float(sum(node.allocatable.get(name, 0) for name in names)), sum(wanted))
        asked[part] = [amount / there if there else 0.0 for amount in wanted]
        left[part] = 1.0 - sum(asked[part]) if there else 1.0
    for i, one in enumerate(held):
        yield one.name, one.share, tuple(asked[part][i] * getattr(whole, part) for part in PARTS)
    yield "", Share.IDLE, tuple(max(0.0, left[part]) * getattr(whole, part) for part in PARTS)


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
    return tuple(
        AllocatedCost(name=name, share=share, gpu_usd=gpu / 100, cpu_usd=cpu / 100, memory_usd=memory / 100)
        for (name, share), (gpu, cpu, memory) in ranked
    )
