"""The cost of a rollout strategy: its spare GPUs against the availability lost without them.

A surge needs room. The room can be kept ready all month, on demand or on spot, or be added for each rollout by an
autoscaler and given back. A strategy that takes old pods down first needs none, and runs with fewer pods meanwhile.
"""

from __future__ import annotations

from dataclasses import fields
from math import ceil
from typing import Final

from planner.ground import words
from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import Text
from planner.kubernetes.node_properties import GPU_NODE_ARRIVAL_SECONDS
from planner.pricing.sustained_use import billed_hours

# Compute Engine bills whole seconds, at least one minute a VM: https://cloud.google.com/compute/vm-instance-pricing (2026)
MINIMUM_BILLED_SECONDS: Final = 60.0
# cluster-autoscaler removes a node that has been unneeded for 10 minutes (--scale-down-unneeded-time, its FAQ, 2026).
SCALE_DOWN_SECONDS: Final = 600.0


class StrategyUse(Record):
    """One cell of the strategy grid. `extra_gpus`: at its peak, beyond what the workload holds between rollouts."""

    name: str  # "Surge 1", "Unavailable 1", "Recreate"
    replicas: int
    lowest_ready: int
    seconds: float  # of one rollout
    extra_gpus: int
    evictions: int = 0  # pods of others that are preempted in one rollout
    killed_jobs: int = 0  # of those, pods of Jobs


class SpareTerms(Record):
    """How spare GPUs are bought. Prices are of one GPU with its share of the node; None: no price.

    `gpus_per_node` rounds spare GPUs up to whole nodes; 0 for workloads without GPUs, whose spare has no price here.
    """

    on_demand_usd_per_gpu_hour: float | None
    spot_usd_per_gpu_hour: float | None
    gpus_per_node: int
    gpu_model: str = ""
    rollouts_per_month: float = 20.0
    node_start_seconds: float = GPU_NODE_ARRIVAL_SECONDS
    scale_down_seconds: float = SCALE_DOWN_SECONDS
    minimum_billed_seconds: float = MINIMUM_BILLED_SECONDS
    sustained_use_discount: float = 0.0  # share taken off a node that runs on demand all month
    own_usd_per_gpu_hour: float | None = None  # of a pool that doesn't buy on demand: what a node that it adds costs
    usd_per_pod_hour: float | None = None  # what an hour without one of the pods costs; None: nothing says

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not 0 <= value < float("inf"):
                raise InputError(f"{field.name} is {value}", where="price of a strategy", fix="Give 0 or more")

    def added_hours(self, rollout_seconds: float) -> float:
        """Hours that a node is billed which is added for one rollout: until it takes pods, the rollout, and until the autoscaler takes it
        back, at least the minimum that is billed."""
        seconds = self.node_start_seconds + rollout_seconds + self.scale_down_seconds
        return max(self.minimum_billed_seconds, seconds) / 3600


class StrategyCost(Record):
    """USD a month in three ways of having the spare; None: no price. Without spare GPUs all three are 0.

    On demand, what is kept is after the discount for sustained use.
    """

    name: str
    billed_gpus: int  # the spare, rounded up to whole nodes
    kept_on_demand_usd: float | None
    kept_on_spot_usd: float | None
    added_usd: float | None  # a node for each rollout, bought as its pool buys
    added_hours: float  # node time billed for one rollout
    missing_pod_hours: float  # a month: at most so many pod-hours fewer than the replicas, the price in availability
    missing_usd: float | None  # … at the price that was given; None: none was
    evictions: float  # a month: pods of others that are preempted
    killed_jobs: float  # a month: of those the pods of Jobs, which begin again
    rollout_hours: float  # a month: time in which a rollout is under way
    availability: str  # the pods that serve while it rolls out: "five of six pods for 4 min"
    sentence: Text


def strategy_cost(use: StrategyUse, terms: SpareTerms) -> StrategyCost:
    """What one strategy costs a month.

    Kept: billed GPUs × price × 730 h. Added: billed GPUs × price × rollouts × `SpareTerms.added_hours`.
    """
    per_node = max(1, terms.gpus_per_node)
    billed = ceil(use.extra_gpus / per_node) * per_node if use.extra_gpus > 0 else 0
    added_hours = terms.added_hours(use.seconds) if billed else 0.0

    def usd(price: float | None, hours: float, discount: float = 0.0) -> float | None:
        if not billed:
            return 0.0
        return None if price is None else billed * price * billed_hours(hours, discount)

    off, own = terms.sustained_use_discount, terms.own_usd_per_gpu_hour
    added, added_off = (terms.on_demand_usd_per_gpu_hour, off) if own is None else (own, 0.0)
    missing = max(0, use.replicas - use.lowest_ready) * use.seconds / 3600 * terms.rollouts_per_month

    cost = StrategyCost(
        name=use.name,
        billed_gpus=billed,
        kept_on_demand_usd=usd(terms.on_demand_usd_per_gpu_hour, HOURS_PER_MONTH, off),
        kept_on_spot_usd=usd(terms.spot_usd_per_gpu_hour, HOURS_PER_MONTH),
        added_usd=usd(added, added_hours * terms.rollouts_per_month, added_off),
        added_hours=added_hours,
        missing_pod_hours=missing,
        missing_usd=None if terms.usd_per_pod_hour is None else missing * terms.usd_per_pod_hour,
        evictions=use.evictions * terms.rollouts_per_month,
        killed_jobs=use.killed_jobs * terms.rollouts_per_month,
        rollout_hours=use.seconds / 3600 * terms.rollouts_per_month,
        availability=_availability(use),
        sentence=Text(),
    )
    return replace(cost, sentence=Text(f"{_claim(cost, terms)}."))


def compare_strategies(spare: StrategyCost, none: StrategyCost, terms: SpareTerms) -> str:
    """A strategy with spare GPUs against one without, in one sentence.

    Examples
    --------
    >>> terms = SpareTerms(on_demand_usd_per_gpu_hour=0.35, spot_usd_per_gpu_hour=0.19, gpus_per_node=1, gpu_model="T4",
    ...                    node_start_seconds=0, scale_down_seconds=0)
    >>> surge = StrategyUse(name="Surge 1", replicas=6, lowest_ready=6, seconds=206, extra_gpus=1)
    >>> swap = StrategyUse(name="Unavailable 1", replicas=6, lowest_ready=5, seconds=240, extra_gpus=0)
    >>> print(compare_strategies(strategy_cost(surge, terms), strategy_cost(swap, terms), terms))
    Surge 1 costs $255 a month as a spare T4, $139 as a spare T4 on spot, $0.40 a month as a node added for each of 20 rollouts; or nothing with unavailable 1: five of six pods for 4 min.
    """
    first = none.name[:1].lower() + none.name[1:]
    return f"{_claim(spare, terms)}; or {_without(none)} with {first}: {none.availability}."


def _without(cost: StrategyCost) -> str:
    """What a strategy without spare GPUs costs: ``nothing``, ``$12 in missing pod-hours``."""
    return f"{words.usd(cost.missing_usd)} in missing pod-hours" if cost.missing_usd else "nothing"


def _availability(use: StrategyUse) -> str:
    if not use.evictions:
        return _served(use)
    jobs = f", {words.count(use.killed_jobs, 'job')} killed by it" if use.killed_jobs else ""
    return f"{_served(use)}, and {words.count(use.evictions, 'pod')} of others preempted each time{jobs}"


def _served(use: StrategyUse) -> str:
    if use.lowest_ready >= use.replicas:
        return "its pod stays up" if use.replicas == 1 else f"all {words.spelled(use.replicas)} pods stay up"
    lowest = words.spelled(use.lowest_ready) if use.lowest_ready else "none"
    return f"{lowest} of {words.spelled(use.replicas)} {words.plural(use.replicas, 'pod')} for {words.duration(use.seconds)}"


def _claim(cost: StrategyCost, terms: SpareTerms) -> str:
    if not cost.billed_gpus:
        return f"{cost.name} costs {_without(cost)}: {cost.availability}"
    if cost.kept_on_demand_usd is None or cost.added_usd is None:
        return f"{cost.name} needs {_spare(cost, terms)}; there is no price for it"
    spot = f", {words.usd(cost.kept_on_spot_usd)} as {_spare(cost, terms)} on spot" if cost.kept_on_spot_usd else ""
    nodes = cost.billed_gpus // max(1, terms.gpus_per_node)
    added = "a node" if nodes == 1 else f"{words.spelled(nodes)} nodes"
    return (
        f"{cost.name} costs {words.usd(cost.kept_on_demand_usd)} a month as {_spare(cost, terms)}{spot}, "
        f"{words.usd(cost.added_usd)} a month as {added} added for each of {terms.rollouts_per_month:g} {words.plural(terms.rollouts_per_month, 'rollout')}"
    )


def _spare(cost: StrategyCost, terms: SpareTerms) -> str:
    model = terms.gpu_model or "GPU"
    return f"a spare {model}" if cost.billed_gpus == 1 else f"{words.spelled(cost.billed_gpus)} spare {model}s"
