"""The economics of spot: the price of the same useful work on demand and on spot, minus all losses.

Hours that interruptions cost are bought again at the spot price, and what spot can't deliver is finished on demand: the
two sides of the comparison always buy the same work. So capacity that was not there is never counted as saved, and a
saving can't exceed what was spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from math import inf
from operator import add
from typing import Final

import numpy as np

from planner.ground.percentiles import percentiles
from planner.ground.records import Record
from planner.ground.words import Text, count, duration, signed, usd
from planner.pricing.price_history import MONTH_DAYS
from planner.pricing.sustained_use import billed_hours_of
from planner.spot.assumptions import Assumptions, Fallback, Work
from planner.spot.checkpoint import daly_hours, pattern_of, useful_hours_per_life, young_hours
from planner.spot.interruption import Floats, availability_of, gap_after_a_life, gaps_of, lives_of, mean_life_hours
from planner.spot.monte_carlo import OVERRUN, Months, moving_apart, simulate

_PERCENTILES: Final = (5, 50, 95)
_HISTOGRAM_BINS: Final = 40
_CURVE_POINTS: Final = 60
_MOST_HAZARD: Final = 1000.0  # per VM-hour: a life of 3.6 seconds


class Band(Record):
    """A figure over the simulated months. Means add up; percentiles of different figures don't."""

    mean: float
    p5: float
    p50: float
    p95: float


class Step(Record):
    """One step of the way from the on-demand cost to the net cost. `usd`: what it adds (or, below 0, takes off)."""

    name: str
    what: str
    usd: Band
    is_total: bool = False


class Histogram(Record):
    """Simulated months by saving: `edges` has one entry more than `counts`."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


class BreakEven(Record):
    """At which interruption rate spot costs as much as on demand; reckoned by closed forms, without a limit on retries.

    `hazard_per_hour` None: there is no such rate (`sentence` says whether spot always or never pays). `curve`: (rate per
    VM-hour, expected saving in USD a month), rising rates.
    """

    hazard_per_hour: float | None = None
    sentence: Text
    curve: tuple[tuple[float, float], ...] = ()


class Savings(Record):
    """The answer for one pool and one month; money in USD a month, hours in node-hours unless said otherwise."""

    sentence: Text
    is_worth_it: bool  # in the mean
    steps: tuple[Step, ...]
    on_demand_usd: float  # what the pool costs without spot, commitments included
    avoidable_usd: float  # of it, what isn't committed already: the most that could be saved
    net_usd: Band
    saved_usd: Band
    saved_share: Band  # of on_demand_usd
    histogram: Histogram  # of saved_usd
    interruptions: Band  # of a gang those of all its pods at once
    lost_hours: Band
    down_hours: Band  # node-hours without a ready node
    shortfall_hours: float  # hours of the month with fewer ready nodes than needed, expected
    jobs: float  # of the spot nodes
    late_jobs: Band
    failed_jobs: Band
    usd_per_useful_gpu_hour: Band | None  # None for a pool without GPUs
    on_demand_usd_per_gpu_hour: float | None
    break_even: BreakEven
    flex_start_usd: float | None  # the month on Flex-start; None: no price
    best_checkpoint_minutes: float | None  # Daly's optimum for these jobs; None where it doesn't apply
    young_checkpoint_minutes: float | None
    notes: tuple[str, ...]


class Bill(Record, eq=False):
    """Money of each run, USD a month: float64[run]. The steps add up to the net cost in every run."""

    on_demand: Floats  # without spot
    spot_discount: Floats
    unused_commitment: Floats
    checkpoints: Floats
    lost_work: Floats
    restarts: Floats
    fallback: Floats
    price_moves: Floats

    @property
    def net(self) -> Floats:
        steps: Iterator[Floats] = (getattr(self, name) for name, *_ in STEPS)
        return reduce(add, steps)


STEPS: Final = (
    ("on_demand", "On demand", "the pool without spot, commitments included"),
    ("spot_discount", "Spot discount", "the same hours at the spot price"),
    ("unused_commitment", "Unused commitment", "spot bought beside nodes that are paid for already"),
    ("checkpoints", "Checkpoints", "spot hours spent on writing them"),
    ("lost_work", "Lost work", "spot hours of work that was lost and is done again"),
    ("restarts", "Restarts", "spot hours in which nodes and pods start"),
    ("fallback", "Fallback", "on-demand hours in gaps and for work that failed or came too late"),
    ("price_moves", "Price moves", "the spot price moving within a month as it was seen to"),
)


def bill(months: Months, assumptions: Assumptions, spot_nodes: int) -> Bill:
    """What each run costs when `spot_nodes` are spot and the rest is on demand."""
    pattern, hours = months.pattern, assumptions.hours_per_month
    lanes, nodes_per_lane = _lanes_of(months, spot_nodes)
    scale = pattern.scale * nodes_per_lane
    on_demand = assumptions.on_demand_usd(hours) * assumptions.freed_share
    spot, share = assumptions.spot_usd_per_hour * assumptions.spot_share, assumptions.spot_share
    uncommitted = assumptions.nodes - assumptions.committed_nodes
    replaced = min(spot_nodes, uncommitted)  # on-demand nodes that are no longer paid for
    idle = spot_nodes - replaced  # committed nodes that stand still while spot is paid beside them

    def of(tally: Floats) -> Floats:
        return np.asarray(tally[:, :lanes].sum(axis=1) * scale)

    runs = months.spot_hours.shape[0]
    useful = pattern.useful_share
    # useful work that spot didn't do
    elsewhere = useful * (of(months.on_demand_hours) + of(months.unfinished_hours))
    stood_in = months.on_demand_hours + months.on_demand_start_hours + useful * months.unfinished_hours
    stood_in = billed_hours_of(stood_in[:, :lanes] * pattern.scale, assumptions.sustained_use_discount)
    stand_in_usd = share * assumptions.fallback_usd_per_hour * nodes_per_lane * np.asarray(stood_in.sum(axis=1))
    checkpoints = spot * (1 - useful) * of(months.spot_hours)
    lost_work, restarts = spot * of(months.lost_hours), spot * of(months.restart_hours)
    paid_for_spot = spot * hours * spot_nodes + checkpoints + lost_work + restarts - spot * elsewhere
    return Bill(
        on_demand=np.full(runs, on_demand * uncommitted + assumptions.committed_usd),
        spot_discount=np.full(runs, -(on_demand - spot * hours) * replaced),
        unused_commitment=np.full(runs, spot * hours * idle),
        checkpoints=checkpoints,
        lost_work=lost_work,
        restarts=restarts,
        fallback=stand_in_usd - spot * elsewhere,
        price_moves=(months.price_factor - 1) * paid_for_spot + months.shift_usd * spot_nodes,
    )


def _lanes_of(months: Months, spot_nodes: int) -> tuple[int, float]:
    """How many lanes stand for so many spot nodes, and how many nodes each of them is."""
    lanes = max(1, round(spot_nodes / months.group)) if spot_nodes else 0
    return lanes, spot_nodes / lanes if lanes else 0.0


def shortfall_hours(months: Months, assumptions: Assumptions, spot_nodes: int) -> float:
    """Expected hours a month with fewer ready nodes than needed, from the ready nodes at `INSTANTS` moments a run."""
    lanes, nodes_per_lane = _lanes_of(months, spot_nodes)
    up = months.ready[:, :lanes, :].sum(axis=1, dtype=np.int64) * nodes_per_lane
    ready = assumptions.nodes - spot_nodes + up
    return float((ready < assumptions.needed_nodes - 1e-9).mean()) * assumptions.hours_per_month


def band(values: Floats) -> Band:
    """Mean and percentiles of one figure over the runs."""
    p5, p50, p95 = (float(value) for value in percentiles(values, _PERCENTILES))
    return Band(mean=float(values.mean()), p5=p5, p50=p50, p95=p95)


def savings(assumptions: Assumptions, months: Months | None = None) -> Savings:
    """The answer. `months` may be given when they were simulated before: they don't depend on `base_nodes`."""
    months = months or simulate(assumptions)
    costs = bill(months, assumptions, assumptions.spot_nodes)
    net, before = costs.net, float(costs.on_demand[0])
    saved = before - net
    on_demand = assumptions.freed_share * assumptions.on_demand_usd(assumptions.hours_per_month)
    avoidable = (assumptions.nodes - assumptions.committed_nodes) * on_demand
    lanes, nodes_per_lane = _lanes_of(months, assumptions.spot_nodes)

    def tally(values: Floats, nodes: float = nodes_per_lane) -> Band:
        return band(values[:, :lanes].sum(axis=1) * nodes * months.pattern.scale)

    # all nodes of a gang run one job; otherwise each node runs its own
    jobs_a_lane = 1.0 if assumptions.works_as_gang else nodes_per_lane
    gpu_hours = assumptions.nodes * assumptions.gpus_per_node * assumptions.hours_per_month
    saved_band = band(saved)
    has_jobs = assumptions.work is Work.JOBS
    useful_optimum = has_jobs and not assumptions.saves and not assumptions.lives
    return Savings(
        sentence=Text(_sentence(assumptions, saved_band, before)),
        is_worth_it=saved_band.mean > 0,
        steps=(
            *(Step(name=name, what=what, usd=band(getattr(costs, field))) for field, name, what in STEPS),
            Step(name="Net", what="what the month costs", usd=band(net), is_total=True),
        ),
        on_demand_usd=before,
        avoidable_usd=avoidable,
        net_usd=band(net),
        saved_usd=saved_band,
        saved_share=band(saved / before) if before else band(np.zeros_like(saved)),
        histogram=_histogram(saved),
        interruptions=tally(months.interruptions, jobs_a_lane),
        lost_hours=tally(months.lost_hours),
        down_hours=tally(months.down_hours),
        shortfall_hours=shortfall_hours(months, assumptions, assumptions.spot_nodes),
        jobs=months.pattern.jobs * months.pattern.scale * lanes * jobs_a_lane if has_jobs else 0.0,
        late_jobs=tally(months.late_jobs, jobs_a_lane) if has_jobs else _NONE,
        failed_jobs=tally(months.failed_jobs, jobs_a_lane) if has_jobs else _NONE,
        usd_per_useful_gpu_hour=band(net / gpu_hours) if gpu_hours else None,
        on_demand_usd_per_gpu_hour=before / gpu_hours if gpu_hours else None,
        break_even=break_even(assumptions),
        flex_start_usd=_flex_start_usd(assumptions),
        best_checkpoint_minutes=_optimum(assumptions, daly_hours) if useful_optimum else None,
        young_checkpoint_minutes=_optimum(assumptions, young_hours) if useful_optimum else None,
        notes=_notes(assumptions, months),
    )


_NONE: Final = Band(mean=0.0, p5=0.0, p50=0.0, p95=0.0)


def _flex_start_usd(assumptions: Assumptions) -> float | None:
    """The spot nodes of the pool on Flex-start instead, base and commitments as they are."""
    price = assumptions.flex_start_usd_per_hour
    if price is None:
        return None
    uncommitted_nodes = max(0, assumptions.base_nodes - assumptions.committed_nodes)
    flex = assumptions.spot_nodes * price * assumptions.hours_per_month * assumptions.spot_share
    on_demand = assumptions.freed_share * assumptions.on_demand_usd(assumptions.hours_per_month)
    return uncommitted_nodes * on_demand + flex + assumptions.committed_usd


def _optimum(assumptions: Assumptions, formula: Callable[[float, float], float]) -> float | None:
    """Minutes between checkpoints by a formula of the time to write one and the mean time between losses."""
    losses = assumptions.hazard_likely_per_hour + assumptions.zone_hazard_per_hour
    if not losses or not assumptions.checkpoint_seconds:
        return None
    return formula(assumptions.checkpoint_seconds / 3600, 1 / losses) * 60


def _histogram(values: Floats) -> Histogram:
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-6 * max(1.0, abs(high)):  # every month is the same
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(values, bins=_HISTOGRAM_BINS, range=(low, high))
    return Histogram(edges=tuple(float(edge) for edge in edges), counts=tuple(int(count) for count in counts))


# ── break-even ───────────────────────────────────────────────────────────────────────────────────────────────────────
def expected_saved_usd(assumptions: Assumptions, hazard_per_hour: float) -> float:
    """Expected saving a month at one interruption rate, by renewal theory: no simulation, no limit on retries.

    Each life of a node leaves some useful hours behind; its loss begins a gap of the mean length, which an on-demand
    node fills where one stands in. Work that doesn't fit into `OVERRUN` months is finished on demand. Gaps of one node
    in those of its whole zone are not told apart.
    """
    pattern, lives = pattern_of(assumptions), lives_of(assumptions)
    bulk, restart = assumptions.zone_hazard_per_hour, assumptions.restart_hours
    hours, spot = assumptions.hours_per_month, assumptions.spot_usd_per_hour
    if assumptions.price_moves:
        spot *= 1 + sum(assumptions.price_moves) / len(assumptions.price_moves)
    alone, zones = (moving_apart(assumptions), assumptions.zones) if assumptions.works_as_gang else (1, 1)
    rate, bulk = hazard_per_hour * alone, bulk * zones
    share_lost = 1 / alone
    life, gap = lives.mean(rate, bulk), gap_after_a_life(assumptions, rate, bulk)
    covers = assumptions.fallback is Fallback.ON_DEMAND
    if life == inf and gap < inf:
        usd = spot * hours / pattern.useful_share
    elif gap == inf:
        usd = assumptions.on_demand_usd(hours)
    else:
        useful_hours = useful_hours_per_life(pattern, lives, rate, bulk, restart)
        stand_in = gap if covers else 0.0
        per_life = useful_hours + stand_in * pattern.useful_share
        needed = hours / per_life if per_life > 0 else inf
        possible = min(1.0, OVERRUN * hours / (needed * (life + gap))) if needed < inf else 0.0
        lived = min(needed, OVERRUN * hours / (life + gap))
        start = restart if covers and gap else 0.0
        on_demand_hours = lived * share_lost * (stand_in + start) + (1 - possible) * hours
        waiting = lived * (1 - share_lost) * (gap + start)  # of the other nodes of a gang, at the spot price
        usd = lived * spot * life + waiting * spot + assumptions.on_demand_usd(on_demand_hours)
    uncommitted = assumptions.nodes - assumptions.committed_nodes
    replaced = min(assumptions.spot_nodes, uncommitted)
    before = assumptions.freed_share * assumptions.on_demand_usd(hours)
    return float(replaced * before - assumptions.spot_nodes * assumptions.spot_share * usd)


def break_even(assumptions: Assumptions) -> BreakEven:
    """The interruption rate at which the expected saving is 0, by bisection."""
    if assumptions.lives:
        return BreakEven(sentence=Text("Lives were observed: there is no rate to vary."))
    if not assumptions.spot_nodes:
        return BreakEven(sentence=Text("No node is spot."))
    best, worst = expected_saved_usd(assumptions, 0.0), expected_saved_usd(assumptions, _MOST_HAZARD)
    if best <= 0 or worst >= 0:
        sentence = "Spot costs more than on demand even if no node is lost one by one."
        if best > 0:
            sentence = "Spot costs less than on demand at any interruption rate: what is lost is covered on demand."
        return BreakEven(sentence=Text(sentence), curve=_curve(assumptions, None))
    low, high = 0.0, _MOST_HAZARD
    for _ in range(60):
        # Halved on a logarithmic scale: rates from once a minute to once in years differ by orders of magnitude.
        middle = (low + high) / 2 if low == 0 and high < 1e-6 else (max(low, 1e-9) * high) ** 0.5
        if expected_saved_usd(assumptions, middle) > 0:
            low = middle
        else:
            high = middle
    likely = assumptions.hazard_likely_per_hour
    times = f", {high / likely:,.0f} times the likely rate" if likely else ""
    sentence = (
        f"Spot pays until a node is lost every {duration(3_600 / high)} on average ({high:.3g} per VM-hour{times})."
    )
    return BreakEven(hazard_per_hour=high, sentence=Text(sentence), curve=_curve(assumptions, high))


def _curve(assumptions: Assumptions, at: float | None) -> tuple[tuple[float, float], ...]:
    """Expected saving from a tenth of the low rate to three times the break-even rate (or the high rate)."""
    first = max(assumptions.hazard_low_per_hour, 1e-4) / 10
    last = 3 * max(at or 0.0, assumptions.hazard_high_per_hour, 10 * first)
    rates = np.geomspace(first, last, _CURVE_POINTS)
    return tuple((float(rate), expected_saved_usd(assumptions, float(rate))) for rate in rates)


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _sentence(assumptions: Assumptions, saved: Band, before: float) -> str:
    if not assumptions.nodes:
        return "It runs on no node: there is nothing to save."
    if not assumptions.spot_nodes:
        return f"Nothing is bought on {assumptions.capacity}: the month costs {usd(before)}."
    nodes = f"{assumptions.spot_nodes:,} of {count(assumptions.nodes, 'node')} on {assumptions.capacity}"
    likely = f"in 9 of 10 months between {usd(saved.p5)} and {usd(saved.p95)}"
    paid = " (commitments already paid for are not counted as saved)" if assumptions.committed_nodes else ""
    share = f"{saved.mean / before:.0%} of {usd(before)}" if before else "of nothing"
    if saved.mean > 0:
        return f"{nodes}: saves {usd(saved.mean)} a month in the mean, {share}, {likely}{paid}."
    return f"{nodes}: costs {usd(-saved.mean)} a month more than on demand in the mean, {likely} saved{paid}."


def _moves_text(assumptions: Assumptions) -> str:
    """``moves of the spot price within a month (−9.5% to +20% in 9 of 10, …)``: there is no other cloud's log."""
    if not assumptions.price_moves:
        return "no move of the spot price, of which no log is there"
    low, high = percentiles(assumptions.price_moves, (5, 95))
    within = (
        "a month"
        if assumptions.move_days <= MONTH_DAYS
        else f"{assumptions.move_days} days, the price's age and the month"
    )
    moved = f"{signed(low)} to {signed(high)} in 9 of 10, as Google's did in the last year"
    return f"moves of the spot price within {within} ({moved})"


def _up_text(assumptions: Assumptions) -> str:
    """What rate and gap come to."""
    if not assumptions.spot_nodes:
        return ""
    life, gap = mean_life_hours(assumptions), gaps_of(assumptions).mean_hours
    if gap == inf:
        return "No spot node is ever available."
    if life == inf:
        return "No node is ever lost."
    until = (
        f"it takes {duration(gap * 3_600)} until the next one is available"
        if gap
        else "the next one is available at once"
    )
    return (
        f"On average a node is lost every {duration(life * 3_600)}, and {until}: up {availability_of(assumptions):.1%} of "
        "the time."
    )


def _notes(assumptions: Assumptions, months: Months) -> tuple[str, ...]:
    """What the reader has to know beside the numbers."""
    notes = [
        (
            f"{assumptions.runs:,} simulated months, seed {assumptions.seed}. The band holds what is lost, what can't be "
            f"had, and {_moves_text(assumptions)}."
        ),
        _up_text(assumptions),
    ]
    if months.group > 1:
        lanes = months.spot_hours.shape[1]
        notes.append(
            f"The {assumptions.nodes} nodes are simulated in {lanes} groups: the band is wider than it would be."
        )
    lives, rates = lives_of(assumptions), (assumptions.hazard_likely_per_hour, assumptions.zone_hazard_per_hour)
    useful = useful_hours_per_life(pattern_of(assumptions), lives, *rates, assumptions.restart_hours)
    if useful <= 0 and assumptions.work is Work.JOBS:
        notes.append(
            f"A job of {duration(assumptions.job_minutes / 60 * 3_600)} without checkpoints never ends on a node that lives at most {duration(lives.cap_hours * 3_600)}: "
            "it is finished on demand."
            if lives.cap_hours < inf
            else "No job ends on spot: the work is finished on demand."
        )
    if assumptions.saves_on_notice and not assumptions.saves:
        notes.append(
            f"A checkpoint takes {duration(assumptions.checkpoint_seconds)}, the notice is {duration(assumptions.window_seconds)}: "
            "there is no time to write one when the node is lost."
        )
    if assumptions.lives:
        losses = sum(life.ended for life in assumptions.lives)
        notes.append(
            f"Lives are drawn from {len(assumptions.lives)} observed ones ({losses} ended), not from the rate."
        )
    if assumptions.base_nodes < assumptions.committed_nodes:
        unused = assumptions.committed_nodes - assumptions.base_nodes
        notes.append(f"{unused} committed nodes would stand unused: they are paid for either way.")
    flex = _flex_start_usd(assumptions)
    if flex is not None:
        notes.append(
            f"With Flex-start in place of {assumptions.capacity} the month costs {usd(flex)}: it queues for capacity and "
            "isn't preempted for up to 7 days."
        )
    return tuple(note for note in notes if note)
