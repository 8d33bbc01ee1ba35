"""The record of observed GPU use, each GPU with the pod that held it."""

from __future__ import annotations

from planner.ground.records import Record


class GpuUse(Record):
    """One GPU (or slice of one) while one pod held it. Times are seconds since the epoch.

    `busy_at`: the last reading above what counts as busy, None where there was none; `peak_percent` and `mean_percent` of
    the steps' highest readings; `used_bytes`: the most of its memory that was in use, None: not measured.
    """

    namespace: str
    pod: str
    gpu: str  # UUID, else number; with the slice's number
    node: str
    model: str
    samples: int
    first_at: float
    last_at: float
    busy_at: float | None
    peak_percent: float
    mean_percent: float
    used_bytes: int | None = None
