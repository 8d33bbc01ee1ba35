"""Fits a trend to a growing quantity, and says when it is full: a band of weeks, or no trend.

**The model.** A day's value is a straight line in time, plus one step for weekends, plus an error that remembers the day
before: ``e(d) = phi e(d-1) + sqrt(1-phi²) s z``. With phi near 1 that is a random walk, so that a walk which merely drifted
is less often taken for a trend. Nothing is estimated and then believed: phi has its posterior on a grid (prior: half for a
walk, phi 0.995, the rest even; the marginal likelihood of a regression with known correlation, Harville 1974, *Biometrika*
61), and given phi the line and s have theirs (Student's t). Paths are drawn from all of it and go on from today's error; the
band is the P10 to P90 of the first day that reaches the limit.

**No trend** is said unless the slope is above 0 (or below) with a probability of `SURE`. Nothing is said of less than
`LEAST_DAYS` days, or of a time further ahead than `AHEAD` times the history.

**Back-test.** On the history itself: from each week's end on, the band of the value a week later, and how often it held.
In tests: on seeded processes that are known (`tests/history/test_trend.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record

LEAST_DAYS: Final = 14
AHEAD: Final = 4  # times the history's length
LONGEST_DAYS: Final = 365
SURE: Final = 0.95
BAND: Final = (0.1, 0.5, 0.9)
PATHS: Final = 2_000
_PHIS: Final = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.995])
_PRIOR: Final = np.append(np.full(len(_PHIS) - 1, 0.5 / (len(_PHIS) - 1)), 0.5)
_ROUNDED: Final = 1 / 12  # the variance of rounding to whole devices: a straight line of counts is not exact
_WEEK: Final = 7

Floats = NDArray[np.float64]


class Outlook(StrEnum):
    FULL = "full"  # today
    FILLS = "fills"  # within what can be told
    NOT_SOON = "not soon"  # it grows, and isn't full within what can be told
    FALLS = "falls"
    NO_TREND = "no trend"
    TOO_SHORT = "too short"  # less than `LEAST_DAYS` days


class Trend(Record):
    """What is to be expected. Weeks are from the last day on; None is later than `told_weeks`.

    `per_week` is the slope's mean, `per_week_low` and `_high` its P10 and P90. `held` of `tried` weeks of the past had a value
    within the band that was drawn for them a week before.
    """

    outlook: Outlook
    days: int
    today: float
    limit: float
    per_week: float | None = None
    per_week_low: float | None = None
    per_week_high: float | None = None
    early_weeks: float | None = None
    typical_weeks: float | None = None
    late_weeks: float | None = None
    told_weeks: float = 0.0
    held: int = 0
    tried: int = 0


def trend(days: Sequence[int], values: Sequence[float], limit: float, *, seed: int = 0) -> Trend:
    """What `values` (one a day; `days` are day numbers as `date.toordinal` gives them, rising, with gaps) make expect.

    `limit`: the value that is full.
    """
    when, observations = np.asarray(days, dtype=np.int64), np.asarray(values, dtype=np.float64)
    today = float(observations[-1]) if len(observations) else 0.0
    if len(observations) < LEAST_DAYS or when[-1] - when[0] + 1 < LEAST_DAYS:
        outlook = Outlook.FULL if len(observations) and today >= limit else Outlook.TOO_SHORT
        return Trend(outlook=outlook, days=len(observations), today=today, limit=limit)
    ahead = int(min(LONGEST_DAYS, AHEAD * (when[-1] - when[0] + 1)))
    model = _Model(when, observations, np.random.default_rng(seed))
    slope = model.slope * _WEEK
    rises = float((slope > 0).mean())
    hits, tried = _back_test(when, observations, seed)
    early = typical = late = None
    if rises >= SURE and today < limit:
        reached = model.paths(ahead) >= limit
        first = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, np.inf)  # days; 1 is tomorrow
        early, typical, late = (_weeks(first, share, ahead) for share in BAND)
    if today >= limit:
        outlook = Outlook.FULL
    elif rises <= 1 - SURE:
        outlook = Outlook.FALLS
    elif rises < SURE:
        outlook = Outlook.NO_TREND
    else:
        outlook = Outlook.FILLS if typical is not None else Outlook.NOT_SOON
    low, _, high = np.quantile(slope, BAND)
    return Trend(
        outlook=outlook,
        days=len(observations),
        today=today,
        limit=limit,
        per_week=float(slope.mean()),
        per_week_low=float(low),
        per_week_high=float(high),
        early_weeks=early,
        typical_weeks=typical,
        late_weeks=late,
        told_weeks=ahead / _WEEK,
        held=hits,
        tried=tried,
    )


def band_after(
    days: Sequence[int], values: Sequence[float], ahead: int, *, seed: int = 0
) -> tuple[float, float, float]:
    """The P10, P50 and P90 of the value `ahead` days after the last."""
    model = _Model(np.asarray(days), np.asarray(values, dtype=np.float64), np.random.default_rng(seed))
    low, middle, high = np.quantile(model.paths(ahead)[:, -1], BAND)
    return float(low), float(middle), float(high)


class _Model:
    """`PATHS` draws of everything that isn't known, given the days seen."""

    def __init__(self, when: NDArray[np.int64], observations: Floats, draw: np.random.Generator) -> None:
        self._last, self._draw = int(when[-1]), draw
        self._start, n = int(when[0]), len(observations)
        design = self._design(when)
        gaps = np.diff(when)
        fits = [_given(phi, gaps, design, observations) for phi in _PHIS]
        weights = _PRIOR * np.exp([fit.log_likelihood - max(fit.log_likelihood for fit in fits) for fit in fits])
        chosen = draw.choice(len(fits), PATHS, p=weights / weights.sum())
        free = n - design.shape[1]
        scale2 = np.array([fits[i].rss for i in chosen]) / draw.chisquare(free, PATHS)
        roots = np.array([fit.root for fit in fits])[chosen]
        normal = draw.standard_normal((PATHS, design.shape[1]))
        self._line = np.array([fit.line for fit in fits])[chosen] + np.sqrt(scale2)[:, None] * np.einsum(
            "pij,pj->pi", roots, normal
        )
        self._sigma, self._phi = np.sqrt(scale2), _PHIS[chosen]
        self._error = observations[-1] - self._line @ design[-1]
        self.slope: Floats = self._line[:, 1]

    def _design(self, when: NDArray[np.int64]) -> Floats:
        """Columns: 1, days since the first, weekend (where both kinds of days are seen often enough to tell)."""
        weekend = ((when - 1) % 7 >= 5).astype(np.float64)  # ordinal 1 was a Monday
        columns = [np.ones(len(when)), (when - self._start).astype(np.float64), weekend]
        if not hasattr(self, "_has_weekends"):
            self._has_weekends = min(weekend.sum(), len(when) - weekend.sum()) >= 4
        return np.column_stack(columns if self._has_weekends else columns[:2])

    def paths(self, ahead: int) -> Floats:
        """Paths × days after the last."""
        expected = self._line @ self._design(np.arange(self._last + 1, self._last + ahead + 1)).T
        errors, noise = self._error, self._draw.standard_normal((ahead, PATHS))
        noise *= np.sqrt(1 - self._phi**2) * self._sigma
        for day in range(ahead):
            errors = noise[day] = self._phi * errors + noise[day]
        paths: Floats = expected + noise.T
        return paths


class _Fit(Record):
    """The regression for one phi: the line, what is left (in units of the error's own variance), how likely it is."""

    line: Floats
    root: Floats  # root @ root.T is the line's covariance for an error of variance 1
    rss: float
    log_likelihood: float


def _given(phi: float, gaps: NDArray[np.int64], design: Floats, observations: Floats) -> _Fit:
    """Least squares after taking off what each day remembers of the one before (Prais and Winsten 1954)."""
    memory = phi**gaps
    fresh = np.sqrt(1 - memory**2)

    def whitened(matrix: Any) -> Any:
        innovations = matrix[1:] - (memory * matrix[:-1].T).T
        return np.concatenate([matrix[:1], (innovations.T / fresh).T])

    x, y = whitened(design), whitened(observations)
    inner = x.T @ x
    line = np.linalg.solve(inner, x.T @ y)
    rss = float(((y - x @ line) ** 2).sum()) + _ROUNDED
    free = len(observations) - design.shape[1]
    likelihood = -np.log(fresh).sum() - np.linalg.slogdet(inner)[1] / 2 - free / 2 * np.log(rss)
    return _Fit(line=line, root=np.linalg.cholesky(np.linalg.inv(inner)), rss=rss, log_likelihood=float(likelihood))


def _weeks(first: Floats, share: float, ahead: int) -> float | None:
    day = float(np.quantile(first, share, method="inverted_cdf"))
    return day / _WEEK if day <= ahead else None


def _back_test(when: NDArray[np.int64], observations: Floats, seed: int) -> tuple[int, int]:
    hits = tried = 0
    for end in range(int(when[0]) + LEAST_DAYS - 1, int(when[-1]) - _WEEK + 1, _WEEK):
        past, week = when <= end, np.flatnonzero((when > end) & (when <= end + _WEEK))
        if past.sum() < LEAST_DAYS or not len(week):
            continue
        then = week[-1]  # of working days a Friday
        ahead = int(when[then] - when[past][-1])
        low, _, high = band_after(when[past].tolist(), observations[past].tolist(), ahead, seed=seed)
        tried += 1
        hits += bool(low - 0.5 <= observations[then] <= high + 0.5)  # a count stands for what rounds to it
    return hits, tried
