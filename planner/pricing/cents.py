"""Amounts shared out to the cent: what is shown adds up to the sum that is shown, exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


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
