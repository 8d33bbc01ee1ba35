"""Percentiles of drawn values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def percentiles(values: Sequence[float] | Floats, percentile_ranks: Sequence[float]) -> Floats:
    """As `np.percentile`, bit by bit, which loads masked arrays first, a hundredth of a report of the demo. float64[wanted]."""
    sample = np.asarray(values, dtype=np.float64)
    at = (len(sample) - 1) * (np.asarray(percentile_ranks) / 100)
    low = np.floor(at).astype(np.intp)
    high = np.minimum(low + 1, len(sample) - 1)
    ranked = np.partition(sample, sorted({*low.tolist(), *high.tolist()}))
    step, part = ranked[high] - ranked[low], at - low
    quantiles: Floats = np.where(part < 0.5, ranked[low] + step * part, ranked[high] - step * (1 - part))
    return quantiles
