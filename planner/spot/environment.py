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


class BulkLosses:
    """Moments at which all spot nodes of a zone are taken: Poisson, per run and zone.

    `row_of`: int64[lane], the row (run × zone) whose losses the lane sees. Moments asked for never go back.
    """

    def __init__(self, rng: np.random.Generator, rows: int, per_hour: float, until: float, row_of: Ints) -> None:
        count = _enough(per_hour * until) if per_hour else 0
        gaps = rng.standard_exponential((rows, count)) / (per_hour or 1.0)
        self._moments: Floats = np.concatenate([np.cumsum(gaps, axis=1), np.full((rows, 1), inf)], axis=1)
        self._row, self._next = row_of, np.zeros(row_of.size, dtype=np.int64)

    def next_after(self, now: Floats) -> Floats:
        """The first loss after each lane's `now`; inf when there is none any more."""
        _catch_up(self._moments, self._row, self._next, now)
        return self._moments[self._row, self._next]

    def keep(self, lanes: Booleans) -> None:
        self._row, self._next = self._row[lanes], self._next[lanes]


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
        self._ends: Floats = np.concatenate([ends, never], axis=1)
        self._starts: Floats = np.concatenate([np.cumsum(gaps, axis=1) + _shifted(lengths), never], axis=1)
        self._row, self._next = row_of, np.zeros(row_of.size, dtype=np.int64)
        self.begins_out: Booleans = out_first[row_of]

    def wait_at(self, now: Floats) -> Floats:
        """Hours until a node can be had again; 0 while there is no stock-out."""
        _catch_up(self._ends, self._row, self._next, now)
        started = self._starts[self._row, self._next] <= now
        wait = np.where(started, self._ends[self._row, self._next] - now, 0.0)
        if (beyond := self._next == self._count).any() and self._count == _MOST_EVENTS:
            is_out = self._rng.random(now.size) < self._out_share
            alone = self._rng.standard_exponential(now.size) * self.mean_hours
            wait = np.where(beyond, np.where(is_out, alone, 0.0), wait)
        return wait

    def keep(self, lanes: Booleans) -> None:
        self._row, self._next = self._row[lanes], self._next[lanes]


def _catch_up(moments: Floats, row: Ints, following: Ints, now: Floats) -> None:
    """Move each lane's place in its row of `moments` on to the first that is after `now`."""
    behind = np.flatnonzero(moments[row, following] <= now)
    while behind.size:
        following[behind] += 1
        behind = behind[moments[row[behind], following[behind]] <= now[behind]]


def _shifted(lengths: Floats) -> Floats:
    """The sum of all earlier lengths in each row."""
    total = np.cumsum(lengths, axis=1)
    return np.concatenate([np.zeros((lengths.shape[0], min(1, lengths.shape[1]))), total[:, :-1]], axis=1)
