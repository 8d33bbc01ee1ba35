"""``python -m tests.history.killed TIMES``: two writers at once, one killed with -9 at any moment, again and again.

What a writer said to be written has to be there: whole, once, and readable as a snapshot.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from planner.sources import demo
from planner.sources.store import Store

ROOT = Path(__file__).parents[2]


def main(times: int) -> int:
    with tempfile.TemporaryDirectory(prefix="headroom-killed-") as folder:
        said = kill(folder, times)
        lost = lost_of(folder, said)
    print(f"killed {times} times: {len(said):,} snapshots were said to be written, {len(lost)} lost")  # noqa: T201
    return 1 if lost else 0


def kill(folder: str, times: int) -> set[str]:
    """Start writers, two at a time, and kill each; the ids of the snapshots that they said were written."""
    draw, said = random.Random(times), set[str]()
    running = [_start(folder, 0)]
    for seed in range(1, times + 1):
        running.append(_start(folder, seed))
        victim = running.pop(0)
        assert victim.stdout is not None
        said.add(victim.stdout.readline().strip())  # it is at work
        time.sleep(draw.uniform(0.0, 0.3))
        said |= _killed(victim)
    return (said | _killed(running.pop())) - {""}


def lost_of(folder: str, said: set[str]) -> set[str]:
    """What was said and isn't there whole and once; after joining too."""
    store, lost, there = Store(folder), set[str](), {}
    for _ in range(2):
        there = {one.snapshot: one for one in store.snapshots()}
        lost |= said - set(there)
        rows = store.query("SELECT snapshot, count(*) AS n, count(DISTINCT node) AS nodes FROM nodes GROUP BY snapshot")
        whole = {row["snapshot"] for row in rows if row["n"] == row["nodes"] == len(demo.read().nodes)}
        assert {row["snapshot"] for row in rows} == whole, "a part of a snapshot is read"
        lost |= said - whole
        store.compact(grace_seconds=0)
    nodes = demo.read().nodes
    return lost | {name for name in random.Random(0).sample(sorted(said), min(20, len(said)))
                   if store.snapshot(there[name]).nodes != nodes}  # fmt: skip


def _start(folder: str, seed: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.history.writer", folder, str(seed)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def _killed(process: subprocess.Popen[str]) -> set[str]:
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    return {line for line in rest.split("\n")[:-1] if line}


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
