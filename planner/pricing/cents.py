"""Amounts shared out to the cent: what is shown adds up to the sum that is shown, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor


def shared_out(amounts: Sequence[float], total: float | None = None) -> list[int]:
    """`amounts` in cents, so that they add up to `total` (their sum) in cents: the largest remainders are rounded up.

    Examples
    --------
    >>> shared_out([1 / 3, 1 / 3, 1 / 3])
    [34, 33, 33]
    """
    whole = round(100 * (sum(amounts) if total is None else total))
    cents = [floor(100 * amount) for amount in amounts]
    left = whole - sum(cents)
    by_remainder = sorted(range(len(amounts)), key=lambda i: cents[i] - 100 * amounts[i])
    for i in by_remainder[: max(0, left)]:
        cents[i] += 1
    return cents
