"""``python -m tests.trust.soak MINUTES [--people N] [--think SECONDS] [--live NODES]``: people clicking on `headroom app`, and what is left of it.

A line a round: sessions so far, memory of the server and of its workers, open files, threads. A session is a person who looks at a
dozen pages, thinks in between, and goes. With ``--live`` the app watches a cluster of so many nodes (`tests.bench.live`), of which some
objects change each second.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from planner.ground.table_formats import as_text
from tests.bench import live
from tests.running_app import RunningApp, on, running_app
from tests.trust.people import Visits, hold, percentile, resident_mib

_ROUNDS = 12
_CHANGES_A_SECOND = 5


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


@contextmanager
def watching(folder: Path, nodes: int) -> Iterator[RunningApp]:
    """The app on a cluster that changes, or on the demo where it has no nodes."""
    log = folder / "server.log"
    if not nodes:
        with running_app(log) as app:
            yield app
        return
    with (
        live.living(folder, nodes, _CHANGES_A_SECOND) as config,
        running_app(log, on("context:edu"), KUBECONFIG=str(config)) as app,
    ):
        live.wait_until_read(app)
        yield app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.trust.soak", description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--think", type=float, default=3.0, help="seconds between two pages")
    parser.add_argument("--live", type=int, default=0, metavar="NODES", help="watch a cluster of so many nodes")
    told = parser.parse_args()
    place = Path(tempfile.mkdtemp())
    with watching(place, told.live) as app:
        hold(app.address, 1, rounds=_ROUNDS, think_seconds=0)
        found = soak(app, told.minutes, told.people, told.think)
        time.sleep(20)  # sessions of those who went are let go of
        print({name: f"{amount:,.0f}" for name, amount in left(app.pid).items()})
    print(as_text(found.rows))
    times = found.visits.later
    print(f"{len(times):,} pages, {len(found.visits.errors)} errors, p50 {percentile(times, 0.5):.2f} s, p95 {percentile(times, 0.95):.2f} s, "
          f"load {os.getloadavg()[0]:.1f}; the server's log: {len((place / 'server.log').read_text().splitlines())} lines")  # fmt: skip
    print("\n".join(found.visits.errors[:5]))
