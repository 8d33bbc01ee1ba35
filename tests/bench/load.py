"""Reads one file in a process of its own, and says how long that took and how much memory the process ever held.

``python -m tests.bench.load FILE bare|json|headroom``: `bare` decodes the bytes with msgspec, `json` with Python's own, and keeps the
result, with Python's cyclic garbage collector off, which would make it several times slower; `headroom` makes the snapshot, as
any caller would. Either prints ``{"seconds": …, "peak_bytes": …}``, seconds of CPU.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from planner.sources import cluster_dumps


def main(path: str, way: str) -> None:
    data = Path(path).read_bytes()
    if way != "headroom":
        gc.disable()
    ways: dict[str, Callable[[bytes], object]] = {
        "bare": msgspec.json.decode,
        "json": json.loads,
        "headroom": lambda data: cluster_dumps.read_bytes(data, name=Path(path).name),
    }
    start = time.process_time()
    kept = ways[way](data)
    seconds = time.process_time() - start
    peak = _peak_bytes()
    assert kept
    print(json.dumps({"seconds": seconds, "peak_bytes": peak}))


def _peak_bytes() -> int:
    """The most memory this program held; Linux' `ru_maxrss` begins with what the process held that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * next(
            int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM:")
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main(*sys.argv[1:])
