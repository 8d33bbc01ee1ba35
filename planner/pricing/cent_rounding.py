"""Rounds shares of an amount to cents so that the shown shares add up to the shown sum exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def shared_out(amounts: Sequence[float], total: float | None = None) -> list[int]:
    """`amounts` in cents, so that they add up to `total` (their sum) in cents: the largest remainders are rounded up.

    Examples
    --------
    >>> shared_out([1 / 3, 1 / 3, 1 / 3])
    [34, 33, 33]
    """
    whole = round(100 * (sum(amounts) if total is None else total))
    exact = 100 * np.array(amounts, dtype=np.float64)
    cents = np.floor(exact).astype(np.int64)
    by_remainder = np.argsort(cents - exact, kind="stable")
    cents[by_remainder[: max(0, whole - int(cents.sum()))]] += 1
    shared: list[int] = cents.tolist()
    return shared


def spread(amounts: Sequence[float], of_line: NDArray[np.intp], cents: Sequence[int]) -> list[int]:
    """Each amount's part of its line's cents: those of a line add up to it, and its running sum is never off by a cent.

    Examples
    --------
    >>> spread([0.004, 0.004, 0.004, 0.5], np.array([0, 0, 0, 1]), [1, 50])
    [0, 1, 0, 50]
    """
    order = np.argsort(of_line, kind="stable")
    line, each = of_line[order], np.array(amounts, dtype=np.float64)[order]
    whole = np.array(cents, dtype=np.float64)
    sums = np.bincount(line, weights=each, minlength=len(whole))
    running = np.cumsum(each) - (np.cumsum(sums) - sums)[line]
    share = np.where(sums[line] > 0, running / np.maximum(sums[line], np.finfo(float).tiny), 1.0)
    is_last = np.append(line[1:] != line[:-1], True) if len(line) else np.zeros(0, dtype=np.bool_)
    reached = np.where(is_last, whole[line], np.rint(np.clip(share, 0.0, 1.0) * whole[line]))
    reached = np.maximum.accumulate(reached + (np.cumsum(whole) - whole)[line])
    shares = np.empty(len(line), dtype=np.int64)
    shares[order] = np.diff(reached, prepend=0.0).astype(np.int64)
    shared: list[int] = shares.tolist()
    return shared
