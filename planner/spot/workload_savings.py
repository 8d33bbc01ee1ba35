"""Spot savings of one workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import Text, count, duration, plural, usd
from planner.kubernetes.object_records import EMPTY, FrozenMap, Snapshot
from planner.pricing.price_book import PriceBook
from planner.spot.assumptions import Assumptions, Capacity
from planner.spot.cluster_savings import OF_ONE, InWhole, fleet_savings, in_whole
from planner.spot.economics import Savings, bill, savings
from planner.spot.fitted_node_lifetimes import OwnHistory
from planner.spot.monte_carlo import simulate
from planner.spot.purchase_option_comparison import Way, compare
from planner.spot.savings_inputs import AssumptionRow, Derived, assume, find, table
from planner.spot.spot_on_demand_mix import Mix, mix
from planner.spot.suitability import Fitness, Suitability, check_workload
from planner.spot.suitability_checks import Check, CheckResult, Refusal, Status


class Estimate(Record):
    """What spot would save, and every mix of it."""

    savings: Savings
    mix: Mix


class SavingsLine(Record):
    """A workload in one line; money is USD a month, None where there is no estimate: `why` says so.

    `on_demand_usd`: its share of the on-demand nodes' bill; `saved_usd`: its part of what all moves save, in the mean
    (`planner.spot.cluster_savings.in_whole`), the same in the list and where it is asked for by itself: 0 where it stays, whyever. Where what it
    would run on is told by the reader: its nodes at their price, and what they save.
    """

    workload: str
    fitness: Fitness
    nodes: int | None
    on_demand_usd: float | None
    p5_usd: float | None
    saved_usd: float | None
    why: str


class SavingsDetail(Record):
    """One workload's estimate with all it rests on."""

    derived: Derived
    assumptions: tuple[AssumptionRow, ...]
    estimate: Estimate
    suitability: Suitability
    assumed: Assumptions
    ways: tuple[Way, ...]  # every way of buying the same work
    in_whole: InWhole | None = (
        None  # its part of the cluster's plan; None: it isn't of it, or asked about with other nodes
    )

    @property
    def sentence(self) -> Text:
        """Whether it may, before what it saves."""
        return Text(f"{self._answer}{self._cheaper}{self._of_whole}")

    @property
    def _cheaper(self) -> str:
        """The way that is cheaper than what is said before, where there is one."""
        best, spot = next((way for way in self.ways if way.is_cheapest), None), self.estimate.savings.net_usd.mean
        if best is None or best.expected_usd is None or best.expected_usd > spot - 0.005 or not self.derived.is_running:
            return ""
        if best.expected_usd > self.estimate.savings.on_demand_usd - 0.005:  # as it is now
            return ""
        name = f"the {best.name}" if best.binds or best.name == "cheapest mix" else best.name
        cost_text = f"{name} is expected to cost {usd(best.expected_usd)} a month, {self.assumed.capacity} {usd(spot)}."
        return f" Cheaper with a commitment: {cost_text}" if best.binds else f" Cheaper still: {cost_text}"

    @property
    def _answer(self) -> str:
        saved, fitness = self.estimate.savings, self.suitability.fitness
        if fitness in (Fitness.UNSUITABLE, Fitness.OPTED_OUT):
            verdict_text = "is unsuitable for spot" if fitness is Fitness.UNSUITABLE else "is kept off spot"
            return f"{self.derived.name} {verdict_text}: nothing is saved. If it could go there{self._changed}: {saved.sentence}"
        if not self.assumed.nodes:
            return str(saved.sentence)
        if not self.derived.is_running:
            return f"{self.derived.name} holds no node now: nothing of the bill is saved. Once it runs{self._changed}: {saved.sentence}"
        if self.derived.is_on_spot:
            return f"{self.derived.name} is on {self.derived.bought_as} already: nothing more is saved. Against on-demand nodes: {saved.sentence}"
        if self.in_whole is not None and self.in_whole.why:
            return f"Moving {self.derived.name} saves nothing: no node goes for it that isn't needed by others."
        if fitness is Fitness.NEEDS_CHANGES:
            return f"A{self._changed.removeprefix(', a')}: {saved.sentence}"
        return str(saved.sentence)

    @property
    def _changed(self) -> str:
        """``, after the changes below``; where a setting was given in place of what a change would make of it, that it was."""
        checks = {check.check: check for check in self.suitability.checks if check.status is Status.CHANGE}
        setting_texts = []
        if Check.RETRIES in checks and self.assumed.retries is not None and not self.derived.is_on_spot:
            setting_texts.append(f"with {count(self.assumed.retries, 'retry', 'retries')} as given")
        if Check.JOB_LENGTH in checks:
            setting_texts.append("on preemptible VMs as given")
        return ", ".join(["", "after the changes below", *setting_texts]) if checks else ""

    @property
    def _of_whole(self) -> str:
        """Which nodes that is of, and what it would be by itself."""
        part = self.in_whole
        if part is None:
            return ""
        by_itself = [
            f"{'saves' if amount >= 0 else 'costs'} {usd(abs(amount))} {how}"
            for amount, how in (
                (part.alone_usd, "in whole nodes"),
                (part.repacked_usd, "with the rest packed more tightly"),
            )
            if amount is not None
        ]
        moved = f" Moved alone, before interruptions, it {' and '.join(by_itself)}." if by_itself else ""
        bears = f" It bears {usd(part.bears_usd)} of the on-demand nodes' bill, idle capacity apart.{moved}"
        if part.why:
            return bears
        if self.assumed.committed_nodes:
            bears += f" With nodes under commitments left where they are it saves {usd(part.expected_usd)} a month in the mean."
        return (
            f"{bears} As part of the whole plan {part.freed_nodes:g} on-demand {plural(round(part.freed_nodes, 5), 'node goes', 'nodes go')} for it ({usd(part.freed_usd)}) and "
            f"{part.spot_nodes:g} spot {plural(round(part.spot_nodes, 5), 'node comes', 'nodes come')} ({usd(part.spot_usd)}), shared ones by what it requests of them."
        )


def estimate(assumptions: Assumptions, expected_usd: float | None = None) -> Estimate:
    """What spot would save, and every mix of it. `expected_usd`: what the whole cluster's plan says that it saves in the mean; the drawn
    months have it for their mean, so that one figure stands at every door (they differ by what is drawn: some dollars in a thousand)."""
    months = simulate(assumptions)
    if expected_usd is not None and assumptions.spot_nodes:
        costs = bill(months, assumptions, assumptions.spot_nodes)
        drawn = float(costs.on_demand[0] - costs.net.mean())
        months = replace(months, shift_usd=(drawn - expected_usd) / assumptions.spot_nodes)
    return Estimate(savings=savings(assumptions, months), mix=mix(assumptions, months))


# what says that other nodes are asked about than those that the cluster has
_OTHER_NODES: Final = frozenset({"nodes", "hours_per_month", "committed_nodes"})


def planned(
    snapshot: Snapshot, book: PriceBook, derived: Derived, assumptions: Mapping[str, Any], of_all: Mapping[str, Any]
) -> InWhole | None:
    """What the whole cluster's plan says of the workload, moved or not; None where other nodes are asked about. `of_all`: what is
    asked, as of every workload."""
    if assumptions.keys() & _OTHER_NODES or derived.problem:
        return None
    return in_whole(fleet_savings(snapshot, book, of_all), [derived.workload])[derived.workload]


def savings_detail(
    snapshot: Snapshot,
    derived: Derived,
    settings: Mapping[str, Any],
    part: InWhole | None = None,
    refusal: Refusal | None = None,
) -> SavingsDetail:
    """One workload on spot in full; `part`: what it has of the whole plan; the plan's nodes count if they are its own;
    `refusal`: why the engine finds no node with a patch."""
    part = part if part is not None and part.node_pools else None
    if part is not None and "hours_per_month" in derived.values:
        derived = _all_month(derived)
    assumptions = assume(derived, settings)
    if part is not None and assumptions.nodes and not assumptions.committed_nodes:  # those aren't in the plan
        hours, nodes = assumptions.hours_per_month, assumptions.nodes
        before, then = assumptions.on_demand_usd(hours) * nodes, assumptions.spot_usd_per_hour * hours * nodes
        if before and then and not settings.keys() & _PRICES:
            assumptions = replace(assumptions, freed_share=part.freed_usd / before, spot_share=part.spot_usd / then)
    # a page gives what the list takes anyhow, such as "spot": what is given as it is derived asks nothing else
    is_as_listed = (
        part is not None and not part.why and not assumptions.committed_nodes
        and all(_is_as_derived(derived, name, settings[name]) for name in settings.keys() & _NOT_LISTED)
    )  # fmt: skip
    spot_savings = estimate(assumptions, part.expected_usd if part is not None and is_as_listed else None)
    return SavingsDetail(
        derived=derived,
        assumptions=table(derived, settings, assumptions),
        estimate=spot_savings,
        ways=compare(
            assumptions,
            spot_savings.savings,
            spot_savings.mix,
            derived.unsold,
            EMPTY if settings.keys() & _PRICES else derived.flexible,
        ),
        suitability=_with_worths(
            check_workload(
                snapshot,
                find(snapshot, derived.workload),
                capacity=assumptions.capacity,
                job_minutes=settings.get("job_minutes"),
                window_seconds=settings.get("window_seconds"),
                refusal=refusal,
            ),
            spot_savings.savings,
            assumptions,
            derived.counted_retries,
        ),
        assumed=assumptions,
        in_whole=part,
    )


def _is_as_derived(derived: Derived, name: str, value: Any) -> bool:
    """Whether the assumption is given as the cluster and the prices have it."""
    return bool(value == derived.values.get(name, getattr(derived, name, None)))


def _with_worths(
    fitness: Suitability, spot_savings: Savings, assumptions: Assumptions, retries: int | None
) -> Suitability:
    """Each cure that the estimate depends on with what it is worth alone: what is saved with all of them, less what is saved with
    all the others. `retries`: the limit that stands without its cure."""
    sides: dict[Check, tuple[Assumptions, Assumptions]] = {
        Check.RETRIES: (replace(assumptions, retries=retries), replace(assumptions, retries=None)),
        Check.JOB_LENGTH: (assumptions, replace(assumptions, capacity=Capacity.SPOT)),
    }

    def with_worth(check: CheckResult) -> CheckResult:
        if check.status is not Status.CHANGE or not assumptions.spot_nodes:
            return check
        if check.check is Check.PLACEMENT:  # without it no pod gets to a spot node
            return replace(check, worth_usd=round(spot_savings.saved_usd.mean, 2))
        if check.check not in sides:
            return check
        without, cured = (savings(side).saved_usd.mean for side in sides[check.check])
        return replace(check, worth_usd=round(cured - without, 2))

    return replace(fitness, checks=tuple(map(with_worth, fitness.checks)))


# what only one workload is asked about: the plan of all doesn't know it
_NOT_LISTED: Final = OF_ONE | {"retries"}
# … and what other prices: of whole nodes
_PRICES: Final = frozenset({"on_demand_usd_per_hour", "spot_usd_per_hour"})


def _all_month(derived: Derived) -> Derived:
    """A Job's nodes as the bill of a snapshot has them: all month."""
    runs = derived.sources.get("hours_per_month", "")
    hours = derived.values.get("hours_per_month")
    hours_text = f": {duration(3_600 * hours)} a month, {runs}" if hours is not None else f" ({runs})"
    return replace(
        derived,
        values=FrozenMap({**derived.values, "hours_per_month": HOURS_PER_MONTH}),
        sources=FrozenMap({
            **derived.sources,
            "hours_per_month": f"its node is billed all month, as the cluster's bill has it. How long it runs{hours_text}",
        }),
    )  # fmt: skip


def line_of(workload: str, fitness: Fitness, part: InWhole) -> SavingsLine:
    """A workload's part of the whole plan as a line."""
    return SavingsLine(
        workload=workload,
        fitness=fitness,
        nodes=None,
        on_demand_usd=part.bears_usd,
        p5_usd=part.p5_usd,
        saved_usd=part.expected_usd,
        why=part.why or f"{count(len(part.node_pools), 'pool')} left: {', '.join(part.node_pools)}",
    )


def savings_line(
    fitness: Suitability, derived: Derived, assumptions: Assumptions, saved: Savings, part: InWhole | None = None
) -> SavingsLine:
    """One workload on spot as a line: what the whole plan says of it, else its nodes."""
    if part is not None:
        return line_of(derived.workload, fitness.fitness, part)
    return SavingsLine(
        workload=derived.workload,
        fitness=fitness.fitness,
        nodes=assumptions.nodes,
        on_demand_usd=saved.on_demand_usd,
        p5_usd=saved.saved_usd.p5,
        saved_usd=saved.saved_usd.mean,
        why=f"bought now: {derived.bought_as}",
    )


def with_sources(derived: Derived, own: OwnHistory | None, *, has_lives: bool, has_gaps: bool) -> Derived:
    """Says where lives and gaps come from that were not given as such; `has_lives`, `has_gaps`: a user gave them."""
    from_own = {"zone_losses_per_month": "among the given lives"} if has_lives else {}
    if own and own.lives and not has_lives:
        counted = "losses of a whole zone, counted apart" if own.zone_losses_per_month else "among the lives"
        from_own |= {"lives": own.source, "zone_losses_per_month": f"{counted} of {own.source}"}
    if own and own.gaps and not has_gaps:
        from_own["gaps"] = own.source
    return replace(derived, sources=FrozenMap({**derived.sources, **from_own}))
