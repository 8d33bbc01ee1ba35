"""``make trust``: hostile inputs, probes, people, a soak. ``--inputs N`` and ``--minutes N`` make it shorter or longer."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.ground.table_formats import as_text
from tests.deploy import kubectl
from tests.deploy.applying import compared
from tests.fuzz.__main__ import INPUTS
from tests.fuzz.__main__ import run as fuzz
from tests.properties.gaps import flips, part
from tests.running_app import running_app
from tests.trust import crowded_app
from tests.trust.people import Visits, hold, percentile, resident_mib
from tests.trust.planted import CROSS, SECRETS, found

PROBES = (
    "tests/cli/test_terminal.py", "tests/cli/test_refused_lists.py", "tests/inventory/test_names.py", "tests/inventory/test_archives.py",
    "tests/sources/test_bounds.py", "tests/inventory/test_masking.py", "tests/rules/test_patches_and_commands.py",
    "tests/ui/test_sessions.py", "tests/ui/test_pool.py", "tests/ui/test_web_security.py", "tests/ui/test_link.py",
)  # fmt: skip
_ON_THE_SAME_CORES = "load from the same cores"


class _Count:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed += report.when == "call" and report.passed
        self.failed += report.failed


def probes() -> dict[str, object]:
    """The tests of hostile input, counted."""
    counted, started = _Count(), time.monotonic()
    pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", *PROBES], plugins=[counted])
    return {
        "what": f"probes ({len(PROBES)} files of tests)",
        "tried": counted.passed + counted.failed,
        "mishandled": counted.failed,
        "took": f"{time.monotonic() - started:,.0f} s",
    }


def inputs(count: int) -> dict[str, object]:
    """Mutated inputs of every reader."""
    tried, bad, seconds = fuzz(count)
    return {"what": "mutated inputs, all readers", "tried": tried, "mishandled": len(bad), "took": f"{seconds:,.0f} s"}


def parts(count: int = 3_000) -> dict[str, object]:
    """Clusters of which a part is gone: none may let complete, with exit status 0, what is stuck in the whole."""
    started = time.monotonic()
    bad = [one for seed in range(count) for one in flips(*part(random.Random(seed)))]
    print("\n".join(map(str, bad)), file=sys.stderr)
    took = f"{time.monotonic() - started:,.0f} s"
    return {"what": "parts of a cluster", "tried": count, "mishandled": len(bad), "took": took}


def applies(count: int = 2_000) -> dict[str, object]:
    """Manifests over what is there, put to a real kubectl: what Headroom says otherwise."""
    started = time.monotonic()
    bad = list(compared(count, seed=1)) if kubectl.folder() else [kubectl.MISSING]
    print("\n".join(bad), file=sys.stderr)
    took = f"{time.monotonic() - started:,.0f} s"
    return {"what": "kubectl apply", "tried": count, "mishandled": len(bad), "took": took}


def secrets() -> dict[str, object]:
    """Planted secrets, put to every command × format × export."""
    started, bad = time.monotonic(), []
    for command in CROSS:
        with tempfile.TemporaryDirectory() as folder:
            bad += found(command, Path(folder))
    print("\n".join(bad), file=sys.stderr)
    took = f"{time.monotonic() - started:,.0f} s"
    return {"what": f"planted secrets ({len(SECRETS)})", "tried": len(CROSS), "mishandled": len(bad), "took": took}


def people(soak_minutes: float) -> Iterator[dict[str, object]]:
    """Sessions held, on the demo and on the crowded cluster, and what they cost."""
    log = Path(tempfile.mkdtemp()) / "server.log"
    with running_app(log) as app:
        idle = resident_mib(app.pid)["server"]
        yield _row(
            "20 on the demo, think time 3 s", hold(app.address, 20, rounds=12, think_seconds=3), app.pid, idle, 20
        )
        yield _row(
            "50 on the demo, think time 3 s",
            hold(app.address, 50, rounds=6, think_seconds=3, seed=14),
            app.pid,
            idle,
            70,
        )
        before = resident_mib(app.pid)
        visits, until, number = Visits(), time.monotonic() + soak_minutes * 60, 0
        while time.monotonic() < until:
            number += 1
            some = hold(app.address, 5, rounds=6, think_seconds=0.5, seed=100 + number)
            visits.later += some.later + some.first
            visits.errors += some.errors
        after = resident_mib(app.pid)
        grown = "; ".join(f"{name} {before[name]:,.0f} → {after[name]:,.0f} MiB" for name in after)
        yield {
            **_row(f"soak, {soak_minutes:g} min, {number * 5} sessions", visits, app.pid, idle, 1),
            "MiB a session": grown,
        }
    with running_app(log, crowded_app.PROGRAM) as app:
        hold(app.address, 1, rounds=1, think_seconds=0, query="cluster=openb")
        idle = resident_mib(app.pid)["server"]
        pages = ("", "rollout", "headroom", "inventory")
        found = hold(app.address, 10, rounds=6, think_seconds=3, pages=pages, query="cluster=openb")
        yield _row("10 on the 208-copies cluster, think time 3 s", found, app.pid, idle, 10)


def _row(what: str, visits: Visits, pid: int, idle: float, sessions: int) -> dict[str, object]:
    return {
        "what": f"{what} ({_ON_THE_SAME_CORES})",
        "tried": len(visits.first) + len(visits.later),
        "mishandled": len(visits.errors),
        "first page, longest": f"{max(visits.first, default=0):.1f} s" if visits.first else None,
        "p50": f"{percentile(visits.later, 0.5):.2f} s",
        "p95": f"{percentile(visits.later, 0.95):.2f} s",
        "MiB a session": f"{(resident_mib(pid)['server'] - idle) / sessions:.1f}",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make trust", description=__doc__)
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--minutes", type=float, default=10, help="of the soak")
    parser.add_argument("--only", choices=("apply", "inputs", "parts", "probes", "secrets", "people"))
    told = parser.parse_args()
    rows: list[dict[str, object]] = []
    if told.only in (None, "probes"):
        rows.append(probes())
    if told.only in (None, "secrets"):
        rows.append(secrets())
    if told.only in (None, "apply"):
        rows.append(applies())
    if told.only in (None, "parts"):
        rows.append(parts())
    if told.only in (None, "people"):
        for row in people(told.minutes):
            rows.append(row)
            print(row, file=sys.stderr, flush=True)  # minutes lie between them
    if told.only in (None, "inputs"):
        rows.append(inputs(told.inputs))
    print(as_text(rows))
    raise SystemExit(any(row["mishandled"] for row in rows))
