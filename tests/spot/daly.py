"""How long a job takes with its interruptions, by the formula that the simulation is held against."""

from __future__ import annotations

from math import inf

import numpy as np

from planner.spot.checkpoint import Pattern, useful_hours_per_life
from planner.spot.interruption import Lives


def wall_hours(pattern: Pattern, lives: Lives, hazard: float, bulk: float, restart: float) -> float:
    """Expected node-hours for one job, lost work and restarts included; inf when it never ends.

    For exponential lives without checkpoints M e^(R/M) (e^(T/M) − 1), with checkpoints Daly's
    M e^(R/M) (e^((tau+delta)/M) − 1) T/tau (Daly 2006, eq. 20).
    """
    useful = useful_hours_per_life(pattern, lives, hazard, bulk, restart)
    if useful == inf or np.isinf(lives.mean(hazard, bulk)):
        return pattern.span_hours
    return pattern.work_hours * lives.mean(hazard, bulk) / useful if useful else inf
