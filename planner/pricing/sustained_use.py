"""Sustained use discounts of Compute Engine: the longer a machine runs in a month, the lower its price.

A month has four quarters of usage, each billed at a lower rate than the one before: for a family with 30% off a whole
month at 100, 80, 60 and 40% of the price, for one with 20% at 100, 86.7, 73.3 and 60%. Hours of machines alike are
added up over the billing account, so that it doesn't matter which node ran them. Nothing is taken off Spot,
commitments, and GPUs that are built into their machine.

Source: https://docs.cloud.google.com/compute/docs/sustained-use-discounts (2026); the maxima are those of
data/prices/README.md.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.ground.well_known_names import HOURS_PER_MONTH

# "N1 up to 30%, N2, N2D, C2 20% for a full month, GPUs attached to N1 up to 30%" (prices/README.md, 2026-07-16); M1 and M2 30%, as
# a month of them beside 730 hours in the same source (gcp_totals_more_families.csv).
SUSTAINED_USE_DISCOUNT: Final = {"m1": 0.30, "m2": 0.30, "n1": 0.30, "n2": 0.20, "n2d": 0.20, "c2": 0.20}

_QUARTERS: Final = 4


def billed_hours(hours: float, discount: float) -> float:
    """Hours at the full price that cost as much as `hours` of one machine in a month, `discount` off a whole one.

    More than a month's hours are whole months and a rest.

    Examples
    --------
    >>> billed_hours(200.0, 0.30), billed_hours(730.0, 0.30)
    (196.5, 511.0)
    """
    return float(billed_hours_of(np.asarray(hours, dtype=np.float64), discount))


def billed_hours_of(hours: NDArray[np.float64], discount: float) -> Any:
    """`billed_hours` of many at once: float64 of the same shape."""
    quarter = HOURS_PER_MONTH / _QUARTERS
    # each quarter costs `step` less of the price than the one before: their mean is 1 - discount
    step = discount / (sum(range(_QUARTERS)) / _QUARTERS)
    marks = [quarter * i for i in range(_QUARTERS + 1)]
    billed = [sum(quarter * (1 - step * j) for j in range(i)) for i in range(_QUARTERS + 1)]
    months = np.floor_divide(hours, HOURS_PER_MONTH)
    return months * billed[-1] + np.interp(hours - months * HOURS_PER_MONTH, marks, billed)
