"""Distributions of spot nodes' lifetimes and of the gaps until a replacement comes.

A place in the pool is up and down by turns: a life, the loss that ends it, a gap until a node is available again, the
next life (an alternating renewal process). Lives are exponential with a hazard per VM-hour, cut at 24 hours for
preemptible VMs, or follow lives that were observed; gaps are exponential or follow observed ones. Real lives are far
from exponential (coefficient of variation 1.8 to 3.2 in public traces: many short ones hide behind the mean), so
observed ones are worth more than any rate.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.words import duration
from planner.spot.assumptions import ASSUMED_GAP_HOURS, PREEMPTIBLE_HOURS, Assumptions, Capacity, Life

Floats = NDArray[np.float64]

NEVER_PER_HOUR = 1e-12  # a rate below that is none: one loss in a hundred million years
_AGREE = 0.02  # of the time, by which rate, gap and share of time up may differ, measured apart
_TABLE_SIZE = 4096  # equally likely lives the observed distribution is reduced to


class Lives(Record, eq=False):
    """The distribution of a node's life, bulk losses apart.

    `table`: float64[_TABLE_SIZE], hours, ascending, each equally likely; None for exponential lives.
    `cap_hours`: no life is longer (inf: no cap).
    """

    table: Floats | None
    cap_hours: float

    def draw(self, rng: np.random.Generator, hazard_per_hour: Floats) -> Floats:
        """Lives of new nodes, hours; one for each entry of `hazard_per_hour`."""
        count = hazard_per_hour.size
        if self.table is not None:
            return np.minimum(self.table[rng.integers(0, self.table.size, count)], self.cap_hours)
        with np.errstate(divide="ignore", over="ignore"):
            return np.minimum(rng.standard_exponential(count) / hazard_per_hour, self.cap_hours)

    def draw_remaining(self, rng: np.random.Generator, hazard_per_hour: Floats) -> Floats:
        """What is left of the lives of nodes that have been running for long (the equilibrium distribution)."""
        count = hazard_per_hour.size
        if self.table is not None:
            return _met(rng, np.minimum(self.table, self.cap_hours), count)
        if np.isinf(self.cap_hours):
            return self.draw(rng, hazard_per_hour)
        reached = -np.expm1(-hazard_per_hour * self.cap_hours)  # P(life < cap)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cut = -np.log1p(-rng.random(count) * reached) / hazard_per_hour
        return np.where(hazard_per_hour * self.cap_hours > 1e-9, cut, rng.random(count) * self.cap_hours)

    def survival(self, hours: Floats, hazard_per_hour: float) -> Floats:
        """P(life > hours)."""
        if self.table is not None:
            alive = 1.0 - np.searchsorted(self.table, hours, side="right") / self.table.size
        else:
            alive = np.exp(-hazard_per_hour * hours)
        return np.where(hours < self.cap_hours, alive, 0.0)

    def mean(self, hazard_per_hour: float, bulk_per_hour: float = 0.0, until: float = np.inf) -> float:
        """E[min(life, time to the next bulk loss, until)], hours: the integral of the survival function."""
        until = min(until, self.cap_hours)
        if self.table is not None:
            lives = np.minimum(self.table, until)
            return float(np.mean(lives if not bulk_per_hour else -np.expm1(-bulk_per_hour * lives) / bulk_per_hour))
        total = hazard_per_hour + bulk_per_hour
        if total < NEVER_PER_HOUR:
            return float(until)
        return float(-np.expm1(-total * until) / total)

    def lost_share(self, hazard_per_hour: Floats, bulk_per_hour: float) -> Floats:
        """The share of lives that end by a loss, and not because a node may live no longer: only a loss says that nodes are
        scarce and begins a gap."""
        if np.isinf(self.cap_hours):
            return np.ones_like(hazard_per_hour)
        alive = np.exp(-(hazard_per_hour + bulk_per_hour) * self.cap_hours)
        if self.table is not None:
            alive = np.full_like(hazard_per_hour, np.mean(self.table >= self.cap_hours)) * np.exp(
                -bulk_per_hour * self.cap_hours
            )
        return np.asarray(1.0 - alive, dtype=np.float64)

    def means(self, hazard_per_hour: Floats, bulk_per_hour: float) -> Floats:
        """`mean` for many rates at once."""
        if self.table is not None:
            return np.full(hazard_per_hour.shape, self.mean(0.0, bulk_per_hour))
        total = np.maximum(hazard_per_hour + bulk_per_hour, NEVER_PER_HOUR)
        return -np.expm1(-total * self.cap_hours) / total


class Gaps(Record, eq=False):
    """The distribution of the time from a loss until a node is available again.

    `table` as in `Lives`, None for exponential gaps; `mean_hours` may be 0 (at once) and inf (never again).
    """

    table: Floats | None
    mean_hours: float

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Gaps of new losses, hours."""
        if self.table is not None:
            return self.table[rng.integers(0, self.table.size, count)]
        if self.mean_hours in (0.0, np.inf):
            return np.full(count, self.mean_hours)
        return rng.standard_exponential(count) * self.mean_hours

    def draw_remaining(self, rng: np.random.Generator, count: int) -> Floats:
        """What is left of gaps that are met at a random moment."""
        return self.draw(rng, count) if self.table is None else _met(rng, self.table, count)


def _met(rng: np.random.Generator, table: Floats, count: int) -> Floats:
    """What is left of spells met at a random moment: long ones are met more often than they occur, density S(x) / mean."""
    longer_more_often = np.searchsorted(np.cumsum(table), rng.random(count) * table.sum(), side="right")
    met: Floats = table[np.minimum(longer_more_often, table.size - 1)]
    return met * rng.random(count)


def lives_of(assumptions: Assumptions) -> Lives:
    """The distribution of lives that the assumptions describe."""
    cap = PREEMPTIBLE_HOURS if assumptions.capacity is Capacity.PREEMPTIBLE else np.inf
    return Lives(table=life_table(assumptions.lives) if assumptions.lives else None, cap_hours=cap)


def mean_life_hours(assumptions: Assumptions) -> float:
    """How long a node is there on average, until it or its whole zone is lost."""
    return lives_of(assumptions).mean(assumptions.hazard_per_hour, assumptions.zone_hazard_per_hour)


def mean_gap_hours(assumptions: Assumptions) -> float:
    """The mean gap after a life, hours: none follows those that end because a node may live no longer."""
    return gap_after_a_life(assumptions, assumptions.hazard_per_hour, assumptions.zone_hazard_per_hour)


def gap_after_a_life(assumptions: Assumptions, hazard_per_hour: float, bulk_per_hour: float) -> float:
    """`mean_gap_hours` at one rate."""
    lost = _lost_share(assumptions, hazard_per_hour, bulk_per_hour)
    return gaps_of(assumptions).mean_hours * lost if lost else 0.0


def _lost_share(assumptions: Assumptions, hazard_per_hour: float, bulk_per_hour: float) -> float:
    return float(lives_of(assumptions).lost_share(np.array([hazard_per_hour]), bulk_per_hour)[0])


def gaps_of(assumptions: Assumptions) -> Gaps:
    """The distribution of gaps: as observed; as long as stated; or as long as the share of time up leaves over.

    Raises
    ------
    InputError
        Where rate, gap and share of time up are all stated and contradict each other.
    """
    if assumptions.gaps:
        table = life_table(assumptions.gaps)
        return Gaps(table=table, mean_hours=float(table.mean()))
    share, stated = assumptions.availability, assumptions.stock_out_hours
    if share is None:
        return Gaps(table=None, mean_hours=ASSUMED_GAP_HOURS if stated is None else stated)
    if share in (0.0, 1.0):
        return Gaps(table=None, mean_hours=0.0 if share else np.inf)
    life = mean_life_hours(assumptions)
    lost = _lost_share(assumptions, assumptions.hazard_per_hour, assumptions.zone_hazard_per_hour)
    # share = life / (life + gap × share of lives that end in a loss), solved for the gap.
    if stated is None:
        return Gaps(table=None, mean_hours=life * (1 - share) / share / lost if life < np.inf and lost else 0.0)
    if abs(life / (life + stated * lost) - share) > _AGREE and life < np.inf:
        fix = "Give two of the three: the rate, the gap, the share of time up"
        message = (
            f"a loss each {duration(life * 3_600)} and {duration(stated * 3_600)} until the next node make a node be up"
        )
        raise InputError(
            f"{message} {life / (life + stated):.1%} of the time, not {share:.1%}", where="share of time up", fix=fix
        )
    return Gaps(table=None, mean_hours=stated)


def availability_of(assumptions: Assumptions) -> float:
    """The share of time a place has a spot node, in the long run: mean life / (mean life + mean gap)."""
    life, gap = mean_life_hours(assumptions), mean_gap_hours(assumptions)
    if gap == np.inf:
        return 0.0
    return 1.0 if life == np.inf else life / (life + gap)


def parse_lives(text: str, *, where: str = "lifetimes") -> tuple[Life, ...]:
    """Observed lives from CSV: ``hours,ended`` with a header; ``ended`` (yes, no, true, false, 1, 0) may be left out.

    Raises
    ------
    InputError
        For a missing column, a value that isn't a positive number, or no life that ended.
    """
    rows = csv.DictReader(text.lstrip("\ufeff").splitlines())
    try:
        if not rows.fieldnames or "hours" not in rows.fieldnames:
            raise InputError('there is no column "hours"', where=where, fix='Begin with the line "hours,ended"')
        lives = tuple(_parse_life(row, f"{where}, line {rows.line_num}") for row in rows)
    except csv.Error as error:
        raise InputError(f"it isn't CSV: {error}", where=where, fix='Begin with the line "hours,ended"') from None
    if not any(life.ended for life in lives):
        raise InputError("no life in it ended", where=where, fix="Give at least one VM that was lost")
    return lives


def _parse_life(row: dict[str, str | None], where: str) -> Life:
    ended = (row.get("ended") or "yes").strip().lower()
    if ended not in ("yes", "true", "1", "no", "false", "0"):
        raise InputError(f'"{ended[:40]}" is neither yes nor no', where=where, fix="Write yes or no under ended")
    try:
        hours = float(row.get("hours") or "")
    except ValueError:
        hours = np.nan
    if not 0 < hours < np.inf:
        raise InputError(f'"{(row.get("hours") or "")[:40]}" is not a number of hours', where=where, fix="Write 7.5")
    return Life(hours=hours, ended=ended in ("yes", "true", "1"))


def life_table(lives: Iterable[Life]) -> Floats:
    """Equally likely lives from the product-limit estimator, so that VMs still running are not taken for lost ones.

    A life that was met when it was `since` hours old counts from there on only, else long ones would count too often;
    then steps are Breslow's exp(−losses / at risk), which a few young lives can't bring to nothing. Beyond the longest
    observation that ended, lives go on exponentially with the pooled rate (losses / VM-hours).
    Sources: Kaplan and Meier, "Nonparametric estimation from incomplete observations", JASA 53 (1958); late entry:
    Klein and Moeschberger, "Survival Analysis" (2003), 4.6.
    """
    every = list(lives)
    ages = np.array([life.hours for life in every])
    begun = np.sort([life.since for life in every])
    ended = np.array([life.ended for life in every])
    hours, losses = np.unique(ages[ended], return_counts=True)
    at_risk = np.searchsorted(begun, hours, side="left") - np.searchsorted(np.sort(ages), hours, side="left")
    if begun[-1] > 0:
        survival = np.exp(-np.cumsum(losses / np.maximum(at_risk, losses)))
    else:
        survival = np.cumprod(1 - losses / at_risk)
    pooled_mean = float(np.sum(ages - np.array([life.since for life in every]))) / int(losses.sum())
    chances = 1 - (np.arange(_TABLE_SIZE) + 0.5) / _TABLE_SIZE  # P(life > x) looked up, descending
    steps = np.searchsorted(-survival, -chances, side="left")
    table = np.append(hours, hours[-1])[steps]
    beyond = steps == len(hours)
    table[beyond] += pooled_mean * np.log(max(float(survival[-1]), 1e-300) / chances[beyond])
    return np.asarray(table, dtype=np.float64)
