"""What spot saves one workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.ground.words import Text
from planner.kubernetes.records import Pod, Snapshot
from planner.pricing.model import PriceBook
from planner.spot.assumptions import Assumptions, Capacity
from planner.spot.economics import Savings, savings
from planner.spot.inputs import AssumptionRow, Derived, assume, find, table
from planner.spot.mix import Mix, mix
from planner.spot.months import simulate
from planner.spot.suitability import Fitness, Suitability, check_workload
from planner.spot.ways import Way, compare


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What spot would save, and every mix of it."""

    savings: Savings
    mix: Mix


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsLine:
    """A workload in one line; money is USD a month, None where there is no estimate: `why` says so.

    Of one workload asked for: its nodes at their price, and the saving of the median month. In the list: its share of the
    on-demand nodes' bill, and what its move saves as part of the whole (`FleetSavings`).
    """

    workload: str
    fitness: Fitness
    nodes: int | None
    on_demand_usd: float | None
    p5_usd: float | None
    saved_usd: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsDetail:
    """One workload's estimate with all it rests on."""

    derived: Derived
    assumptions: tuple[AssumptionRow, ...]
    estimate: Estimate
    suitability: Suitability
    assumed: Assumptions
    ways: tuple[Way, ...]  # every way of buying the same work

    @property
    def sentence(self) -> Text:
        """Whether it may, before what it saves."""
        saved, fitness = self.estimate.savings, self.suitability.fitness
        if fitness in (Fitness.UNSUITABLE, Fitness.OPTED_OUT):
            kept = "is unsuitable for spot" if fitness is Fitness.UNSUITABLE else "is kept off spot"
            return Text(f"{self.derived.name} {kept}: nothing is saved. If it could go there: {saved.sentence}")
        if not self.assumed.nodes:
            return Text(str(saved.sentence))
        if not self.derived.is_running:
            return Text(
                f"{self.derived.name} holds no node now: nothing of the bill is saved. Once it runs: {saved.sentence}"
            )
        if fitness is Fitness.NEEDS_CHANGES:
            return Text(f"After the changes below: {saved.sentence}")
        return Text(str(saved.sentence))


def suitability(
    snapshot: Snapshot,
    key: str,
    capacity: Capacity,
    job_minutes: float | None,
    pods: tuple[Pod, ...] | None = None,
) -> Suitability:
    """The spot checklist of one workload; `pods` are its own, where they are at hand."""
    return check_workload(snapshot, find(snapshot, key), capacity=capacity, job_minutes=job_minutes, pods=pods)


def estimate(assumptions: Assumptions) -> Estimate:
    """What spot would save, and every mix of it."""
    months = simulate(assumptions)
    return Estimate(savings=savings(assumptions, months), mix=mix(assumptions, months))


def worst_move(book: PriceBook) -> float:
    """How far the spot price rises in the dearest of twenty months."""
    moves = sorted(book.spot_moves)
    return max(0.0, moves[round(0.95 * (len(moves) - 1))]) if moves else 0.0


def savings_detail(snapshot: Snapshot, derived: Derived, asked: Mapping[str, Any]) -> SavingsDetail:
    """One workload on spot in full."""
    assumptions = assume(derived, asked)
    found = estimate(assumptions)
    return SavingsDetail(
        derived=derived,
        assumptions=table(derived, asked, assumptions),
        estimate=found,
        ways=compare(assumptions, found.savings, found.mix),
        suitability=suitability(snapshot, derived.workload, assumptions.capacity, asked.get("job_minutes")),
        assumed=assumptions,
    )


def savings_line(fitness: Suitability, derived: Derived, assumptions: Assumptions, saved: Savings) -> SavingsLine:
    """One workload on spot as a line of the fleet."""
    return SavingsLine(
        workload=derived.workload,
        fitness=fitness.fitness,
        nodes=assumptions.nodes,
        on_demand_usd=saved.on_demand_usd,
        p5_usd=saved.saved_usd.p5,
        saved_usd=saved.saved_usd.p50,
        why=f"bought now: {derived.bought_as}" + (", saves already" if derived.is_on_spot else ""),
    )
