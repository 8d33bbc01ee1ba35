"""GPUs that pods hold and don't use: whose, since when, and what they cost; apart from those that nobody asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from planner.errors import InputError
from planner.inventory.gpu_use import GpuUse
from planner.kubernetes.kinds import NODE, POD
from planner.kubernetes.nodes import NO_POOL, gpu_count, gpu_model, node_pool
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.records import Snapshot
from planner.kubernetes.requests import requested_gpus
from planner.pricing.allocation import Share, allocated_cents
from planner.pricing.cents import shared_out
from planner.pricing.cluster import NodeCost
from planner.questions.costs import USD_A_MONTH, cost_cluster, held_by_node, known_book
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.settings import setting
from planner.tables import Row
from planner.words import Text, count, duration, moment, plural, usd


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSettings:
    """What counts as idle."""

    busy_percent: float = setting(
        5.0, least=0.0, most=99.0, unit="%", label="Busy above",
        help="A GPU is busy where a reading of its utilisation is above this.",
    )  # fmt: skip
    idle_minutes: float = setting(
        60.0, least=0.0, most=60 * 24 * 90, unit="min", label="Idle after",
        help="A GPU that wasn't busy for so long, up to now, is held and not used.",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldIdle:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleAnswer:
    """`pods` by what they cost; money is USD a month after sustained use, whole cents, None without any price.

    `gpus` = `held` + `free`; of the held ones `idle` aren't used and `unmeasured` aren't known.
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


def answer(snapshot: Snapshot, settings: IdleSettings, given: Given = NOTHING) -> IdleAnswer:
    """Pods that hold GPUs, joined with what was measured of them.

    Raises
    ------
    InputError
        Without readings of a Prometheus, or without a price book.
    """
    if given.gpu_uses is None:
        raise InputError(
            "nobody says how busy GPUs are", mend="Name a Prometheus that scrapes DCGM's or AMD's exporter"
        )
    uses: dict[tuple[str, str], list[GpuUse]] = defaultdict(list)
    for one in given.gpu_uses:
        uses[one.namespace, one.pod].append(one)
    until = max((one.last_at for one in given.gpu_uses), default=snapshot.taken_at)
    cost, nodes = cost_cluster(known_book(given), snapshot), {node.name: node for node in snapshot.nodes}
    priced = {one.node.node: one for one in cost.nodes}
    keys = workload_keys(snapshot)
    holders = [pod for pod in snapshot.pods if pod.holds_room and requested_gpus(pod.spec)]
    found, held, unmeasured = [], 0, 0
    for pod in holders:
        wanted = requested_gpus(pod.spec)
        now = [one for one in uses.get((pod.namespace, pod.name), ()) if one.last_at >= until - _GONE_SECONDS][:wanted]
        held, unmeasured = held + wanted, unmeasured + wanted - len(now)
        idle = [one for one in now if until - _idle_since(one) >= settings.idle_minutes * 60]
        node = nodes.get(pod.node_name)
        if idle and node is not None:
            found.append(
                HeldIdle(
                    workload=keys[pod.uid],
                    namespace=pod.namespace,
                    pod=pod.name,
                    node=pod.node_name,
                    node_pool=node_pool(node) or NO_POOL,
                    model=gpu_model(node) or idle[0].model,
                    held=wanted,
                    measured=len(now),
                    idle=len(idle),
                    idle_since=min(map(_idle_since, idle)),
                    is_since_before=any(one.busy_at is None for one in idle),
                    peak_percent=round(max(one.peak_percent for one in idle), 1),
                    mean_percent=round(sum(one.mean_percent for one in idle) / len(idle), 1),
                    used_bytes=_used(idle),
                    usd_per_month=_gpu_usd(priced.get(pod.node_name), gpu_count(node), len(idle)),
                )
            )
    pods = _in_cents(found)
    total = max(held, sum(gpu_count(node) for node in snapshot.nodes))
    money = [one.usd_per_month for one in pods if one.usd_per_month is not None]
    idle_usd = round(sum(money), 2) if money or (not pods and cost.nodes) else None
    result = IdleAnswer(
        sentence=Text(""),
        gpus=total,
        held=held,
        free=total - held,
        idle=sum(one.idle for one in pods),
        unmeasured=unmeasured,
        idle_usd=idle_usd,
        free_usd=_free_usd(snapshot, cost.nodes) if cost.nodes else None,
        pods=pods,
        unpriced_pods=len(pods) - len(money),
        until=until,
    )
    return replace(result, sentence=Text(_said(result)))


_GONE_SECONDS: Final = 3 * 3_600.0
"""A GPU whose last reading is older isn't measured any more: the longest step of readings."""


def _idle_since(one: GpuUse) -> float:
    return one.first_at if one.busy_at is None else one.busy_at


def _used(idle: list[GpuUse]) -> int | None:
    known = [one.used_bytes for one in idle if one.used_bytes is not None]
    return max(known) if known else None


def _gpu_usd(cost: NodeCost | None, gpus: int, idle: int) -> float | None:
    return None if cost is None or not gpus else cost.effective.gpu * min(idle, gpus) / gpus


def _in_cents(found: list[HeldIdle]) -> tuple[HeldIdle, ...]:
    """Whole cents that add up, dearest first."""
    known = [one for one in found if one.usd_per_month is not None]
    amounts = [one.usd_per_month or 0.0 for one in known]
    cents = shared_out(amounts, sum(amounts))
    priced = [replace(one, usd_per_month=each / 100) for one, each in zip(known, cents, strict=True)]
    every = priced + [one for one in found if one.usd_per_month is None]
    return tuple(sorted(every, key=lambda one: (-(one.usd_per_month or 0.0), one.namespace, one.pod)))


def _free_usd(snapshot: Snapshot, costs: tuple[NodeCost, ...]) -> float:
    """What GPUs cost that nobody asked for: the bill's own idle line."""
    nodes = {node.name: node for node in snapshot.nodes}
    sums = allocated_cents(costs, nodes, held_by_node(snapshot))
    return sum(gpus for (_, _, share), (gpus, _, _) in sums.items() if share is Share.IDLE) / 100


def _said(found: IdleAnswer) -> str:
    if not found.held:
        return "no pod holds a GPU"
    money = "" if found.idle_usd is None else f", {usd(found.idle_usd)} a month"
    free = "" if found.free_usd is None else f", {usd(found.free_usd)} a month"
    unknown = f"; {count(found.unmeasured, 'held one is', 'held ones are')} not measured" if found.unmeasured else ""
    whose = f" by {count(len(found.pods), 'pod')}" if found.pods else ""
    return (
        f"{found.idle:,} of {count(found.held, 'held GPU')} {plural(found.idle, 'is', 'are')} held and not used{whose}{money}"
        f"{unknown}. Nobody asked for {count(found.free, 'more GPU')}{free}"
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(found: IdleAnswer) -> Iterator[Fact]:
    """GPUs held and not used, in all and of each pod."""
    yield fact("gpus_held", found.held, "GPUs")
    yield fact("gpus_held_idle", found.idle, "GPUs")
    yield fact("gpus_held_unmeasured", found.unmeasured, "GPUs")
    yield fact("gpus_nobody_asked_for", found.free, "GPUs")
    yield fact("cost_held_idle", found.idle_usd, USD_A_MONTH)
    yield fact("cost_nobody_asked_for", found.free_usd, USD_A_MONTH)
    for one in found.pods:
        named = {"namespace": one.namespace, "pod": one.pod, "workload": one.workload, "model": one.model}
        yield fact("pod_gpus_idle", one.idle, "GPUs", **named)
        yield fact("pod_gpus_idle_since", one.idle_since, "seconds since the epoch", **named)
        yield fact("pod_cost_held_idle", one.usd_per_month, USD_A_MONTH, **named)


def pod_rows(found: IdleAnswer) -> list[Row]:
    """One row a pod, dearest first."""
    return [
        {
            "pod": f"{one.namespace}/{one.pod}",
            "workload": one.workload,
            "node": one.node,
            "node_pool": one.node_pool,
            "model": one.model,
            "gpus_held": one.held,
            "gpus_idle": one.idle,
            "gpus_not_measured": one.held - one.measured,
            "idle_since": f"{moment(one.idle_since)}{' or before' if one.is_since_before else ''}",
            "idle_for": duration(found.until - one.idle_since),
            "peak_percent": one.peak_percent,
            "memory_gib": None if one.used_bytes is None else round(one.used_bytes / 2**30, 1),
            "usd_per_month": one.usd_per_month,
        }
        for one in found.pods
    ]


def workload_rows(found: IdleAnswer) -> list[Row]:
    """One row a workload."""
    groups: dict[str, list[HeldIdle]] = defaultdict(list)
    for one in found.pods:
        groups[one.workload].append(one)
    return [
        {
            "workload": workload,
            "pods": len(some),
            "gpus_idle": sum(one.idle for one in some),
            "idle_since": moment(min(one.idle_since for one in some)),
            "usd_per_month": round(sum(one.usd_per_month or 0.0 for one in some), 2)
            if all(one.usd_per_month is not None for one in some)
            else None,
        }
        for workload, some in groups.items()
    ]


QUESTION: Final = Question(
    name="idle",
    settings=IdleSettings,
    result=IdleAnswer,
    answer=answer,
    facts=facts,
    tables={"pods": pod_rows, "workloads": workload_rows},
    hangs_on=(NODE.name, POD.name),
)
