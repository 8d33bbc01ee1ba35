"""What all spot nodes of a pool share: bulk losses of their zone, and times in which no new node is to be had."""

from __future__ import annotations

from math import ceil, inf, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.spot.assumptions import Assumptions
from planner.spot.interruption import Floats

Ints = NDArray[np.int64]
Booleans = NDArray[np.bool_]

_MOST_EVENTS: Final = 120  # per run; stock-outs that follow each other faster than this are drawn one by one


def _enough(mean: float) -> int:
    """So many events that a Poisson count with this mean practically never has more (six standard deviations)."""
    return ceil(mean + 6 * sqrt(mean) + 4)


class Moments:
    """Each lane's way along a row of ascending moments (the last is inf), never back.

    `row_of`: int64[lane], the row each lane follows. `upcoming`: float64[lane], the first moment after the last one
    asked for.
    """

    def __init__(self, moments: Floats, row_of: Ints) -> None:
        self._moments = moments
        self.row, self.place = row_of, np.zeros(row_of.size, dtype=np.int64)
        self.upcoming: Floats = moments[row_of, 0]

    def pass_over(self, now: Floats) -> Ints:
        """Move on to the first moment after `now`; the lanes that had to."""
        behind = moved = np.flatnonzero(self.upcoming <= now)
        while behind.size:
            self.place[behind] += 1
            self.upcoming[behind] = self._moments[self.row[behind], self.place[behind]]
            behind = behind[self.upcoming[behind] <= now[behind]]
        return moved

    def keep(self, lanes: Booleans) -> None:
        self.row, self.place, self.upcoming = self.row[lanes], self.place[lanes], self.upcoming[lanes]


_NEVER = 1e-9  # events expected in all the time simulated, below which there are none


class BulkLosses:
    """Moments at which all spot nodes of a zone are taken: Poisson, per run and zone (a row each)."""

    def __init__(self, rng: np.random.Generator, rows: int, per_hour: float, until: float, row_of: Ints) -> None:
        count = _enough(per_hour * until) if per_hour * until > _NEVER else 0
        gaps = rng.standard_exponential((rows, count)) / (per_hour if count else 1.0)
        never = np.full((rows, 1), inf)
        self._losses = Moments(np.concatenate([np.cumsum(gaps, axis=1), never], axis=1), row_of)

    def next_after(self, now: Floats) -> Floats:
        """The first loss after each lane's `now`; inf when there is none any more."""
        self._losses.pass_over(now)
        return self._losses.upcoming

    def keep(self, lanes: Booleans) -> None:
        self._losses.keep(lanes)


class StockOuts:
    """Times without capacity, shared by all lanes of a run: exponential lengths, the stated share of the time in all.

    `row_of`: int64[lane], the lane's run. Moments asked for never go back. `begins_out`: bool[lane].
    """

    def __init__(
        self, rng: np.random.Generator, runs: int, assumptions: Assumptions, until: float, row_of: Ints
    ) -> None:
        share = assumptions.availability
        self._rng, self._out_share = rng, 1.0 - share
        self.mean_hours = 0.0 if share >= 1 else assumptions.stock_out_hours if share > 0 else inf
        between = 0.0 if share >= 1 else assumptions.stock_out_hours * share / (1.0 - share)
        cycles = until / (between + self.mean_hours) if self.mean_hours else 0.0
        self._count = min(_MOST_EVENTS, _enough(cycles)) if self.mean_hours else 0
        out_first = rng.random(runs) < self._out_share
        gaps = rng.standard_exponential((runs, self._count)) * between
        lengths = np.full_like(gaps, inf) if share <= 0 else rng.standard_exponential(gaps.shape) * self.mean_hours
        if self._count:
            gaps[out_first, 0] = 0.0
        never = np.full((runs, 1), inf)
        ends = np.cumsum(gaps + lengths, axis=1)
        self._begins: Floats = np.concatenate([np.cumsum(gaps, axis=1) + _shifted(lengths), never], axis=1)
        self._ends = Moments(np.concatenate([ends, never], axis=1), row_of)
        self._begin: Floats = self._begins[row_of, 0]  # of the stock-out whose end comes next
        self.begins_out: Booleans = out_first[row_of]

    def wait_at(self, now: Floats) -> Floats:
        """Hours until a node can be had again; 0 while there is no stock-out."""
        moved = self._ends.pass_over(now)
        self._begin[moved] = self._begins[self._ends.row[moved], self._ends.place[moved]]
        wait = np.where(self._begin <= now, self._ends.upcoming - now, 0.0)
        if self._count == _MOST_EVENTS and (beyond := self._ends.place == self._count).any():
            is_out = self._rng.random(now.size) < self._out_share
            alone = self._rng.standard_exponential(now.size) * self.mean_hours
            wait = np.where(beyond, np.where(is_out, alone, 0.0), wait)
        return wait

    def keep(self, lanes: Booleans) -> None:
        self._ends.keep(lanes)
        self._begin = self._begin[lanes]


def _shifted(lengths: Floats) -> Floats:
    """The sum of all earlier lengths in each row."""
    total = np.cumsum(lengths, axis=1)
    return np.concatenate([np.zeros((lengths.shape[0], min(1, lengths.shape[1]))), total[:, :-1]], axis=1)
