"""``python -m tests.trust.soak MINUTES [PEOPLE] [THINK_SECONDS]``: people clicking on `headroom app`, and what is left of it.

A line a round: sessions so far, memory of the server and of its workers, open files, threads. A session is a person who looks at a
dozen pages, thinks in between, and goes.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from planner.ground.tables import as_text
from tests.running_app import RunningApp, running_app
from tests.trust.people import Visits, hold, percentile, resident_mib

_ROUNDS = 12


@dataclass(kw_only=True)
class Soaked:
    """What was seen: a row of `left` a round, and all visits."""

    visits: Visits = field(default_factory=Visits)
    rows: list[dict[str, object]] = field(default_factory=list)


def left(pid: int) -> dict[str, float]:
    """What a server holds now."""
    memory = resident_mib(pid)
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    threads = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("Threads:"))
    return {"server MiB": memory["server"], "workers MiB": memory["workers"], "files": len(list(Path(f"/proc/{pid}/fd").iterdir())), "threads": threads}  # fmt: skip


def soak(app: RunningApp, minutes: float, people: int, think_seconds: float) -> Soaked:
    """People clicking for so long."""
    found, until, number = Soaked(), time.monotonic() + 60 * minutes, 0
    began = time.monotonic()
    while True:
        row = {
            "minute": f"{(time.monotonic() - began) / 60:.1f}",
            "sessions": number * people,
            "errors": len(found.visits.errors),
        }
        row |= {name: f"{amount:,.0f}" for name, amount in left(app.pid).items()}
        found.rows.append(row)
        print(row, flush=True)
        if time.monotonic() >= until:
            return found
        number += 1
        some = hold(app.address, people, rounds=_ROUNDS, think_seconds=think_seconds, seed=500 + number)
        found.visits.later += some.first + some.later
        found.visits.errors += some.errors


if __name__ == "__main__":
    told = [float(word) for word in sys.argv[1:]]
    log = Path(tempfile.mkdtemp()) / "server.log"
    with running_app(log) as app:
        hold(app.address, 1, rounds=_ROUNDS, think_seconds=0)
        found = soak(app, told[0], int((told[1:2] or [10])[0]), (told[2:3] or [3.0])[0])
        time.sleep(20)  # sessions of those who went are let go of
        print({name: f"{amount:,.0f}" for name, amount in left(app.pid).items()})
    print(as_text(found.rows))
    times = found.visits.later
    print(f"{len(times):,} pages, {len(found.visits.errors)} errors, p50 {percentile(times, 0.5):.2f} s, p95 {percentile(times, 0.95):.2f} s, "
          f"load {os.getloadavg()[0]:.1f}; the server's log: {len(log.read_text().splitlines())} lines")  # fmt: skip
    print("\n".join(found.visits.errors[:5]))
