"""How much page cache a memory limit leaves a container, and how fast a file is then read again.

A cgroup's limit holds anonymous memory and file cache together. What anonymous memory leaves is cache; when a file is
larger than that and read from start to end, the kernel has dropped every page by the time it is wanted again (least
recently used first), so that all of it comes from disk each time, not only what doesn't fit.

Sources: Linux `Documentation/admin-guide/cgroup-v2.rst` (memory.stat, memory.max) and `mm/workingset.c`; the measured
cases of `tests/memory/test_page_cache.py`, which docs/memory.md tells. The kubelet's working set is use minus inactive file cache (kubernetes
`staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go`, cadvisor), so it may still hold active file cache:
without a figure for anonymous memory the room is an estimate from below.
"""

from __future__ import annotations

from enum import StrEnum

from planner.ground.records import Record


class ReadSource(StrEnum):
    """Where a file comes from when it is read again."""

    CACHED = "cached"
    FROM_DISK = "from_disk"
    UNKNOWN = "unknown"  # no figure for the container's use


class Fate(StrEnum):
    """What becomes of a container when its anonymous memory grows to some size."""

    FITS = "fits"
    SWAPS = "swaps"  # alive, and writing to disk all the time
    OOM_KILLED = "oom_killed"


class CacheRoom(Record):
    """Room for file cache under a limit. `room_bytes` is None where use is unknown, and a lower bound by the working set."""

    room_bytes: int | None
    reason: str


def cache_room(
    limit_bytes: int | None,
    working_set_bytes: int | None,
    *,
    node_free_bytes: int | None = None,
    anonymous_bytes: int | None = None,
) -> CacheRoom:
    """The room for cache of one container.

    Parameters
    ----------
    limit_bytes : int or None
        Its memory.max; None: no limit, so the node's free memory (`node_free_bytes`) is the room.
    working_set_bytes : int or None
        As PodMetrics has it; None: unknown.
    anonymous_bytes : int or None
        ``container_memory_rss``, where someone has it; better than the working set, which may hold cache.
    """
    used = working_set_bytes if anonymous_bytes is None else anonymous_bytes
    if used is None:
        return CacheRoom(room_bytes=None, reason="its use isn't known: no PodMetrics")
    if limit_bytes is not None:
        basis = "limit minus working set" if anonymous_bytes is None else "limit minus anonymous memory"
        return CacheRoom(room_bytes=max(0, limit_bytes - used), reason=f"estimate: {basis}")
    if node_free_bytes is None:
        return CacheRoom(room_bytes=None, reason="no limit, and the node's use isn't known")
    return CacheRoom(room_bytes=max(0, node_free_bytes), reason="estimate: no limit, so what its node has left")


def read_again(file_bytes: int, room: CacheRoom) -> ReadSource:
    """Where a second reading of `file_bytes`, in sequence, comes from: of what is larger than the room all from disk."""
    if room.room_bytes is None:
        return ReadSource.UNKNOWN
    return ReadSource.CACHED if file_bytes <= room.room_bytes else ReadSource.FROM_DISK


def heap_fate(heap_bytes: int, limit_bytes: int | None, swap_bytes: int | None) -> Fate:
    """What becomes of a heap of `heap_bytes` under memory.max and memory.swap.max (None: no limit)."""
    if limit_bytes is None or heap_bytes <= limit_bytes:
        return Fate.FITS
    if swap_bytes is None or heap_bytes <= limit_bytes + swap_bytes:
        return Fate.SWAPS
    return Fate.OOM_KILLED
