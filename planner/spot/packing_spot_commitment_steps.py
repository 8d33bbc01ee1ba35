"""Savings as steps: the bill, what packing frees, what spot is expected to save, what commitments save on the rest.
Each step has dollars a month, risk, and the required work.
"""

from __future__ import annotations

from collections import Counter

from planner.ground.records import Record
from planner.ground.words import Text, count, duration, listing, plural, usd
from planner.pricing.projected_bill import ClusterBill
from planner.spot.assumptions import Work
from planner.spot.cluster_savings import FleetSavings
from planner.spot.suitability import Fitness
from planner.spot.suitability_checks import Status
from planner.spot.workload_savings import SavingsDetail


class MoneyStep(Record):
    """One step, USD a month; `saved_usd` is expected, and lies between the others in nine of ten months."""

    name: str
    detail: Text
    saved_usd: float
    low_usd: float | None = None
    high_usd: float | None = None
    risk: str = ""
    work: str = ""

    @property
    def band(self) -> str:
        """``$9,704 to $20,862``; "" where it is sure."""
        if self.low_usd is None or self.high_usd is None or self.low_usd == self.high_usd:
            return ""
        return f"{usd(self.low_usd)} to {usd(self.high_usd)}"


def staircase(
    bill: ClusterBill, fleet: FleetSavings | None, committed_usd: float, committed: str
) -> tuple[MoneyStep, ...]:
    """The steps after the bill, in the order in which they are worth doing. `committed_usd`, `committed`: what commitments save on what
    is left, and how that is known."""
    if bill.bill_usd_per_month is None or fleet is None:
        return ()
    steps = [
        _packing(fleet),
        _spot(fleet),
        MoneyStep(name="Commit what stays on demand", detail=Text(committed), saved_usd=committed_usd),
    ]
    return tuple(steps)


def left_usd(bill: ClusterBill, steps: tuple[MoneyStep, ...]) -> float:
    """What is left of the bill after them."""
    return (bill.bill_usd_per_month or 0.0) - sum(step.saved_usd for step in steps)


def _packing(fleet: FleetSavings) -> MoneyStep:
    number = len(fleet.packing_nodes)
    if not number:
        return MoneyStep(name="Pack", detail=Text("No node can go by packing pods more tightly."), saved_usd=0.0)
    drained = f"{count(number, 'node')} of {fleet.packing_of:,} can go once {plural(number, 'its', 'their')} pods move to the others."
    return MoneyStep(
        name=f"Pack: {count(number, 'node')} can go", detail=Text(drained), saved_usd=fleet.packing_usd, low_usd=fleet.packing_usd,
        high_usd=fleet.packing_usd, risk="no risk: nothing runs on spot", work=f"drain {count(number, 'node')}",
    )  # fmt: skip


def _spot(fleet: FleetSavings) -> MoneyStep:
    moves = [move for move in fleet.moves if move.is_worth_it]
    workloads = Counter[str]()
    for move in moves:
        workloads[move.workload] += round(move.expected_usd)
    if not workloads:
        return MoneyStep(name="Spot", detail=Text("No workload may move, or moving saves nothing."), saved_usd=0.0)
    named = [f"{key.partition('/')[2]} {usd(amount)}" for key, amount in workloads.most_common()]
    changing = {move.workload for move in moves if move.fitness is Fitness.NEEDS_CHANGES}
    hours = sum(move.risk_pod_hours for move in moves)
    return MoneyStep(
        name=f"Spot for {count(len(workloads), 'workload')}", detail=Text(f"{listing(named, 5)}."), saved_usd=fleet.expected_usd,
        low_usd=fleet.p5_usd, high_usd=fleet.p95_usd, risk=f"{hours:,.1f} pod-hours a month not Ready, expected",
        work=f"{len(changing):,} of {count(len(workloads), 'workload')} {plural(len(changing), 'needs', 'need')} changes first" if changing else "no changes",
    )  # fmt: skip


def summary(detail: SavingsDetail) -> Text:
    """``About $750 a month (29%), in nine of ten months $100 to $1,280; 38 interruptions, 13 min below 5 ready, after 3 changes``."""
    saved = detail.estimate.savings
    share = saved.saved_usd.mean / saved.on_demand_usd if saved.on_demand_usd else 0.0
    risks = [f"{count(round(saved.interruptions.mean), 'interruption')}"]
    if detail.assumed.needed_nodes:
        risks.append(f"{duration(saved.shortfall_hours * 3_600)} below {detail.assumed.needed_nodes:,} ready")
    if detail.assumed.work is Work.JOBS and saved.failed_jobs.mean >= 0.5:
        risks.append(f"{saved.failed_jobs.mean:,.0f} of {saved.jobs:,.0f} jobs failed")
    changes = sum(check.status is Status.CHANGE for check in detail.suitability.checks)
    after = f", after {count(changes, 'change')}" if changes else ""
    return Text(
        f"About {usd(saved.saved_usd.mean)} a month ({share:.0%}), in nine of ten months {usd(saved.saved_usd.p5)} to "
        f"{usd(saved.saved_usd.p95)}; {', '.join(risks)}{after}"
    )
