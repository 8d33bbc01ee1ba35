"""The order in which the kernel's OOM killer kills containers when a node is out of memory.

The kernel gives every process points: the pages it holds in memory and in swap, plus ``oom_score_adj`` thousandths of
all pages there are (memory and swap), and kills the one with most points; a container's other processes go with it,
because the kubelet sets ``memory.oom.group`` (its default on cgroup v2).

Sources: Linux 6.12 `mm/oom_kill.c` (`oom_badness`, `oom_kill_process`); kubernetes 1.36
`pkg/kubelet/kuberuntime/kuberuntime_container_linux.go` (`calculateLinuxResources`, ``singleProcessOOMKill``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.health.memory.cgroup import PAGE_BYTES

NEVER_KILLED: Final = -1000  # OOM_SCORE_ADJ_MIN


def badness(held_bytes: int, oom_score_adj: int, total_bytes: int) -> int | None:
    """Points in pages of a process that holds `held_bytes`, on a node of `total_bytes` (memory and swap).

    None for a process that is never chosen. A container's working set stands for one process holding all of it: an
    upper bound where it has several, and where part of the working set is file cache.
    """
    if oom_score_adj == NEVER_KILLED:
        return None
    total_pages = total_bytes // PAGE_BYTES
    # C's integer division cuts toward zero
    adjustment = abs(oom_score_adj) * total_pages // 1000
    return held_bytes // PAGE_BYTES + (adjustment if oom_score_adj >= 0 else -adjustment)


def share_per_mille(held_bytes: int, total_bytes: int) -> float:
    """The part of the points that is use, in the unit of ``oom_score_adj``: thousandths of all memory and swap."""
    return 1000 * held_bytes / total_bytes if total_bytes else 0.0


def kill_order(points: Sequence[int | None]) -> tuple[int, ...]:
    """Indices into `points`, the first to be killed first; None (never chosen, or unknown) is left out."""
    known_points = [(-value, index) for index, value in enumerate(points) if value is not None]
    return tuple(index for _, index in sorted(known_points))
