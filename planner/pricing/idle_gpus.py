"""GPUs that pods reserve but don't use: their owners and cost. Apart from these, GPUs that no pod requested."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from planner.ground.records import Record, replace
from planner.ground.words import NO_WORDS, Text, count, listing, plural, usd
from planner.inventory.gpu_use import GpuUse
from planner.inventory.token_use import TokenUse
from planner.kubernetes.accelerator_units import GPUS, Nouns, units_among, units_of
from planner.kubernetes.accelerators import model_named, once
from planner.kubernetes.node_properties import NO_POOL, gpu_model, is_virtual, node_pool
from planner.kubernetes.object_records import Node, Pod, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.pricing.allocation import AllocationKind, allocated_cents
from planner.pricing.cent_rounding import shared_out
from planner.pricing.node_pool_costs import NodeCost
from planner.pricing.pod_gpu_shares import amounts_on, gpu_parts
from planner.pricing.price_book import PriceBook
from planner.pricing.projected_bill import NAMESPACE, held_by_node
from planner.pricing.token_cost import TokenCost, token_costs, tokens_sentence


class HeldIdle(Record):
    """A pod with GPUs that it holds and doesn't use. `idle_since`: seconds since the epoch, of the GPU idle longest.

    `is_since_before`: it was idle in all readings, so that it began then or earlier. `usd_per_month`: the GPUs' own part of
    the node's effective price; None where the node has none.
    """

    workload: str
    namespace: str
    pod: str
    node: str
    node_pool: str
    model: str
    held: int
    measured: int
    idle: int
    idle_since: float
    is_since_before: bool
    peak_percent: float
    mean_percent: float
    used_bytes: int | None
    usd_per_month: float | None
    nouns: Nouns = GPUS  # what is held


class IdleUnits(Record):
    """The sums of `IdleAnswer`, of what is offered in one way: whole GPUs, time slices, MIG slices."""

    nouns: Nouns
    gpus: int
    held: int
    free: int
    idle: int
    unmeasured: int
    pods: int  # that hold idle ones


class IdleAnswer(Record):
    """`pods` by what they cost; money is USD a month after sustained use, whole cents, None without any price.

    `gpus` = `held` + `free`; of the held ones `idle` aren't used and `unmeasured` aren't known. They are sums over `units`, which
    tell devices, slices and shares apart.
    """

    sentence: Text
    gpus: int
    held: int
    free: int
    idle: int
    unmeasured: int
    idle_usd: float | None
    free_usd: float | None
    pods: tuple[HeldIdle, ...]
    unpriced_pods: int  # idle ones without a price: in no sum
    until: float
    units: tuple[IdleUnits, ...] = ()
    tokens: tuple[TokenCost, ...] = ()  # what tokens cost, where they were counted


def idle_gpus(
    snapshot: Snapshot, measured: Iterable[GpuUse], costs: tuple[NodeCost, ...], idle_seconds: float
) -> IdleAnswer:
    """Pods that hold GPUs, joined with what was measured of them; a GPU is idle that wasn't busy for `idle_seconds`."""
    uses: dict[tuple[str, str], list[GpuUse]] = defaultdict(list)
    for gpu_use in measured:
        uses[gpu_use.namespace, gpu_use.pod].append(gpu_use)
    until = max((gpu_use.last_at for gpu_uses in uses.values() for gpu_use in gpu_uses), default=snapshot.taken_at)
    nodes = {node.name: node for node in snapshot.nodes}
    priced = {cost.node.node: cost for cost in costs}
    keys = workload_keys(snapshot)
    idle_pods: list[HeldIdle] = []
    gpus_held, unmeasured = Counter[Nouns](), Counter[Nouns]()
    for pod in snapshot.pods:
        gpus_wanted, node = requested_gpus(pod.spec) if pod.holds_room else 0, nodes.get(pod.node_name)
        if not gpus_wanted or (node is not None and is_virtual(node)):
            continue
        nouns = units_among([node] if node else []).nouns(once(pod_requests(pod.spec)))  # as its node offers it
        now = [use for use in uses.get((pod.namespace, pod.name), ()) if use.last_at >= until - _GONE_SECONDS][
            :gpus_wanted
        ]
        gpus_held[nouns] += gpus_wanted
        unmeasured[nouns] += gpus_wanted - len(now)
        idle = [gpu_use for gpu_use in now if until - _idle_since(gpu_use) >= idle_seconds]
        if idle and node is not None:
            idle_pods.append(_held_idle(pod, keys[pod.uid], node, len(now), idle, priced.get(pod.node_name), nouns))
    pods = _in_cents(idle_pods)
    units = _units(snapshot, gpus_held, unmeasured, pods)
    money = [held_idle.usd_per_month for held_idle in pods if held_idle.usd_per_month is not None]
    sums = allocated_cents(costs, nodes, held_by_node(snapshot, NAMESPACE)) if costs else {}
    free = sum(
        gpus for (_, _, share), (gpus, _, _) in sums.items() if share is AllocationKind.IDLE
    )  # the bill's own idle line
    idle_answer = IdleAnswer(
        sentence=NO_WORDS,
        units=units,
        **{name: sum(getattr(unit, name) for unit in units) for name in ("gpus", "held", "free", "idle", "unmeasured")},
        idle_usd=round(sum(money), 2) if money or (not pods and costs) else None,
        free_usd=free / 100 if costs else None,
        pods=pods,
        unpriced_pods=len(pods) - len(money),
        until=until,
    )
    return replace(idle_answer, sentence=Text(_said(idle_answer)))


def with_tokens(idle_answer: IdleAnswer, snapshot: Snapshot, uses: Iterable[TokenUse], book: PriceBook) -> IdleAnswer:
    """The answer with what tokens cost, where any were served."""
    lines = token_costs(snapshot, uses, book)
    token_sentence = tokens_sentence(lines)
    return (
        replace(idle_answer, tokens=lines, sentence=Text(f"{idle_answer.sentence}. {token_sentence}"))
        if token_sentence
        else idle_answer
    )


def _units(
    snapshot: Snapshot, gpus_held: Counter[Nouns], unmeasured: Counter[Nouns], pods: tuple[HeldIdle, ...]
) -> tuple[IdleUnits, ...]:
    """The sums by what is offered: all of it, and what pods hold beyond that."""
    capacity: Counter[Nouns] = Counter()
    for offer, amount in units_of(snapshot).offered.items():
        capacity[Nouns(one=offer.noun(1), many=offer.noun(0))] += amount
    units = []
    for nouns in dict.fromkeys((*capacity, *gpus_held)):
        total, noun_pods = max(capacity[nouns], gpus_held[nouns]), [pod for pod in pods if pod.nouns == nouns]
        units.append(
            IdleUnits(
                nouns=nouns, gpus=total, held=gpus_held[nouns], free=total - gpus_held[nouns], idle=sum(pod_idle.idle for pod_idle in noun_pods),
                unmeasured=unmeasured[nouns], pods=len(noun_pods),
            )
        )  # fmt: skip
    return tuple(units)


def _held_idle(
    pod: Pod, workload: str, node: Node, measured: int, idle: list[GpuUse], cost: NodeCost | None, nouns: Nouns
) -> HeldIdle:
    node_gpus, (requested_parts,) = gpu_parts(node, (amounts_on(node, pod.spec),))
    number = requested_gpus(pod.spec)
    return HeldIdle(
        workload=workload,
        namespace=pod.namespace,
        pod=pod.name,
        node=pod.node_name,
        node_pool=node_pool(node) or NO_POOL,
        model=gpu_model(node) or model_named(idle[0].model),
        held=number,
        measured=measured,
        idle=len(idle),
        idle_since=min(map(_idle_since, idle)),
        is_since_before=any(gpu_use.busy_at is None for gpu_use in idle),
        peak_percent=round(max(gpu_use.peak_percent for gpu_use in idle), 1),
        mean_percent=round(sum(gpu_use.mean_percent for gpu_use in idle) / len(idle), 1),
        used_bytes=max((gpu_use.used_bytes for gpu_use in idle if gpu_use.used_bytes is not None), default=None),
        usd_per_month=cost.cost.gpu * min(1.0, requested_parts / node_gpus) * len(idle) / number
        if cost is not None and node_gpus
        else None,
        nouns=nouns,
    )


_GONE_SECONDS: Final = 3 * 3_600.0
"""A GPU with an older last reading isn't measured any more: the longest step of readings."""


def _idle_since(gpu_use: GpuUse) -> float:
    return gpu_use.first_at if gpu_use.busy_at is None else gpu_use.busy_at


def _in_cents(idle_pods: list[HeldIdle]) -> tuple[HeldIdle, ...]:
    """Whole cents that add up, dearest first."""
    priced_pods = [held_idle for held_idle in idle_pods if held_idle.usd_per_month is not None]
    amounts = [held_idle.usd_per_month or 0.0 for held_idle in priced_pods]
    cents = shared_out(amounts, sum(amounts))
    priced = [replace(held_idle, usd_per_month=each / 100) for held_idle, each in zip(priced_pods, cents, strict=True)]
    every = priced + [held_idle for held_idle in idle_pods if held_idle.usd_per_month is None]
    return tuple(sorted(every, key=lambda holding: (-(holding.usd_per_month or 0.0), holding.namespace, holding.pod)))


def _said(idle_answer: IdleAnswer) -> str:
    if not idle_answer.held:
        return "no pod holds a GPU"
    money = "" if idle_answer.idle_usd is None else f", {usd(idle_answer.idle_usd)} a month"
    free_money = "" if idle_answer.free_usd is None else f", {usd(idle_answer.free_usd)} a month"
    idle_text = "; ".join(
        f"{unit.idle:,} of {unit.held:,} held {_noun(unit.nouns, unit.held)} {plural(unit.idle, 'is', 'are')} held and not used"
        + (f" by {count(unit.pods, 'pod')}" if unit.pods else "")
        for unit in idle_answer.units
        if unit.held
    )
    free = listing([f"{idle.free:,} more {_noun(idle.nouns, idle.free)}" for idle in idle_answer.units], most=None)
    unknown = (
        f"; {count(idle_answer.unmeasured, 'held one is', 'held ones are')} not measured"
        if idle_answer.unmeasured
        else ""
    )
    return f"{idle_text}{money}{unknown}. Not requested: {free}{free_money}"


def _noun(nouns: Nouns, number: int) -> str:
    return nouns.one if number == 1 else nouns.many
