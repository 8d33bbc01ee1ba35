"""Child processes: the pool that computes pages' answers, the process beside `serve`, a sweep's workers, and copies
that share a command's work.
"""

from __future__ import annotations

import os
from typing import Final

from planner.serve.processes.process_limits import LIMITS

VARIABLE: Final = "HEADROOM_WORKERS"
"""How many processes work things out; 0: none beside the one that is asked."""


def workers() -> int:
    """As many as the environment says, else as this process has cores."""
    workers_text = os.environ.get(VARIABLE, "")
    if workers_text.isascii() and workers_text.isdecimal():
        return int(workers_text)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(LIMITS.workers, cores)
