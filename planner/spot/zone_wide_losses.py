"""Zone-wide losses of spot nodes: events that take all at once, and the gap until capacity returns."""

from __future__ import annotations

from math import ceil, inf, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.spot.interruption import Floats, Gaps

Ints = NDArray[np.int64]
Booleans = NDArray[np.bool_]


_NEVER: Final = 1e-9  # events expected in all the time simulated, below which there are none


def most_losses(per_hour: float, until: float) -> int:
    """Moments that are drawn for each run and zone: a Poisson count practically never has more (six standard deviations)."""
    mean = per_hour * until
    return ceil(mean + 6 * sqrt(mean) + 4) if mean > _NEVER else 0


class BulkLosses:
    """Moments at which all spot nodes of a zone are taken: Poisson, per run and zone (a row each); each begins a gap.

    Each lane goes along its row (`row_of`: int64[lane]) and never back. `upcoming`: float64[lane], the first loss after
    the last moment asked for; inf when there is none any more. `gap_pace`: float64[row], by which gaps are longer.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        rows: int,
        per_hour: float,
        until: float,
        row_of: Ints,
        gaps: Gaps,
        gap_pace: Floats,
    ) -> None:
        count = most_losses(per_hour, until)
        begins = np.cumsum(rng.standard_exponential((rows, count)) / (per_hour if count else 1.0), axis=1)
        ends = begins + gaps.draw(rng, begins.size).reshape(begins.shape) * gap_pace[:, None]
        self._moments: Floats = np.concatenate([begins, np.full((rows, 1), inf)], axis=1)
        # by place: when the gaps of all losses before it are over, and those of losses that come before they are
        over = np.maximum.accumulate(ends, axis=1)
        for place in range(count - 2, -1, -1):
            over[:, place] = np.where(begins[:, place + 1] <= over[:, place], over[:, place + 1], over[:, place])
        self._over: Floats = np.concatenate([np.zeros((rows, 1)), over], axis=1)
        self.are_any = count > 0
        self._row, self._place = row_of, np.zeros(row_of.size, dtype=np.int64)
        self.upcoming: Floats = self._moments[row_of, 0]

    def next_after(self, now: Floats) -> Floats:
        """The first loss after each lane's `now`; inf when there is none any more."""
        self._pass_over(now)
        return self.upcoming

    def over_after(self, now: Floats) -> Floats:
        """When the gaps of all losses up to `now` are over."""
        self._pass_over(now)
        return self._over[self._row, self._place]

    def _pass_over(self, now: Floats) -> None:
        behind = np.flatnonzero(self.upcoming <= now)
        while behind.size:
            self._place[behind] += 1
            self.upcoming[behind] = self._moments[self._row[behind], self._place[behind]]
            behind = behind[self.upcoming[behind] <= now[behind]]

    def keep(self, lanes: NDArray[np.intp]) -> None:
        self._row, self._place, self.upcoming = self._row[lanes], self._place[lanes], self.upcoming[lanes]
