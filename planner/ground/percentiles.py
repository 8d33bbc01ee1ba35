"""Percentiles of drawn values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def percentiles(values: Sequence[float] | Floats, wanted: Sequence[float]) -> Floats:
    """As `np.percentile`, bit by bit, which loads masked arrays first, a hundredth of a report of the demo. float64[wanted]."""
    known = np.asarray(values, dtype=np.float64)
    at = (len(known) - 1) * (np.asarray(wanted) / 100)
    low = np.floor(at).astype(np.intp)
    high = np.minimum(low + 1, len(known) - 1)
    ranked = np.partition(known, sorted({*low.tolist(), *high.tolist()}))
    step, part = ranked[high] - ranked[low], at - low
    found: Floats = np.where(part < 0.5, ranked[low] + step * part, ranked[high] - step * (1 - part))
    return found
