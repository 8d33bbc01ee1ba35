"""What a command loads before it answers: a verdict is asked for by plugins, pipelines and shells, thousands of times."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

# Libraries of pages, stores, live clusters and selectors of devices, and what only other questions need.
PAGES = ("streamlit", "plotly", "pandas", "pyarrow", "altair", "planner.ui", "planner.figures", "pages")
OUTSIDE = (
    "kubernetes",
    "google",
    "dask",
    "fsspec",
    "mcp",
)  # requests comes with detect-secrets, where an event may hold a secret
SPOT = ("planner.spot",)
BILL = tuple(
    f"planner.pricing.{name}" for name in ("allocation", "projected_bill", "focus_export", "gpu_share_of_price")
)
OTHERS = (
    "planner.health.restarts.report",
    "planner.health.drift",
    "planner.health.memory.eviction",
    "planner.history.trend",
)
SELECTORS = ("celpy", "lark", "pendulum")
KEPT = ("planner.history.snapshot_bytes", "logging", "numpy.ma")
CHANCE = ("numpy.random",)  # a rollout that completes draws how long it takes

ANSWERED = (0, 2, 3, 4)
SAID = """
import sys
from planner.cli import main
try:
    main(sys.argv[1:])
finally:
    print("\\n".join(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*command: str) -> set[str]:
    """The modules that are there when `command` has ended, in this one process: on a slow machine a copy of it may take a part of the work,
    and what only the copy loads isn't seen."""
    alone = os.environ | {"HEADROOM_WORKERS": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", SAID, *command], cwd=ROOT, env=alone, capture_output=True, text=True, check=False
    )
    found = set(ran.stderr.split("\n"))
    assert "planner.cli" in found, ran.stderr
    assert ran.returncode in ANSWERED, ran.stderr  # what is refused loads little, whatever an answer would load
    return found


def test_what_is_looked_for_is_there() -> None:
    """A module that was renamed would never be found loaded."""
    own = [name for names in (PAGES, SPOT, BILL, OTHERS, KEPT) for name in names if name.startswith("planner")]
    assert [name for name in own if find_spec(name) is None] == []
    assert len(own) > 8


def under(modules: set[str], *roots: str) -> list[str]:
    return sorted(name for name in modules if any(name == root or name.startswith(f"{root}.") for root in roots))


@pytest.mark.parametrize(
    "command",
    [
        ("rollout", "--help"),
        ("rollout", "demo"),
        ("rollout", "demo", "--workload", "deployment/prod/llm-serve"),
        ("overview", "demo"),
        ("capacity", "demo"),
    ],
    ids=" ".join,
)
def test_a_verdict_loads_no_pages_no_clouds_and_no_bill(command: tuple[str, ...]) -> None:
    found = loaded(*command)
    assert "planner.rollout.run" in found or "planner.capacity.headroom" in found  # it is the engine that was loaded
    assert not under(found, *PAGES, *OUTSIDE, *SPOT, *BILL, *OTHERS, *SELECTORS, *KEPT, *CHANCE)


@pytest.mark.parametrize(
    "command",
    [
        ("gate", "demo", "-f", "docs/examples/manifests"),
        ("capacity", "demo", "--change", "add:gpu-t4=1"),
    ],
    ids=" ".join,
)
def test_a_verdict_with_its_price_loads_the_bill_and_nothing_else(command: tuple[str, ...]) -> None:
    found = loaded(*command)
    assert under(found, "planner.pricing.projected_bill")
    is_drawn = command[0] == "gate"
    assert not under(found, *PAGES, *OUTSIDE, *SPOT, *OTHERS, *SELECTORS, *KEPT, *(() if is_drawn else CHANCE))


def test_the_list_of_commands_loads_no_engine() -> None:
    assert not under(loaded("--help"), "numpy", "planner.rollout", "planner.capacity", *PAGES, *OUTSIDE)


def test_what_is_looked_for_is_found_where_it_is_used() -> None:
    """So that no line above is true for want of the name: `costs` loads the bill, `drift` what compares."""
    assert under(loaded("costs", "demo"), "planner.pricing.projected_bill")
    assert under(loaded("drift", "demo"), "planner.health.drift")


def test_a_report_draws_by_chance_without_masked_arrays(tmp_path: Path) -> None:
    found = loaded("report", "demo", "--to", str(tmp_path / "report.md"))
    assert under(found, "numpy.random")
    assert not under(found, "numpy.ma")
