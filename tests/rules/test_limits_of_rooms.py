"""Each room's table of limits: every limit of it bounds something, and counts at least one."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from planner.capacity.work_limits import CapacityLimits
from planner.inventory.reading_limits import ReadingLimits
from planner.rollout.simulation_limits import RolloutLimits
from planner.serve.request_limits import ServeLimits
from planner.sources.source_limits import SourceLimits
from tests.architecture.tree import ROOT, python_files
from tests.seen import each

TABLES = {
    "capacity": CapacityLimits,
    "inventory": ReadingLimits,
    "rollout": RolloutLimits,
    "serve": ServeLimits,
    "sources": SourceLimits,
}


def test_each_limit_is_used() -> None:
    sources = [
        path for path in python_files("planner") if path.name == "pool_limits.py" or not path.name.endswith("limits.py")
    ]
    used = set(
        re.findall(r"(?:LIMITS|limits)\.(\w+)", "".join((ROOT / path).read_text(encoding="utf-8") for path in sources))
    )
    assert {one.name for table in TABLES.values() for one in fields(table)} - used == set()


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_none_is_below_one(table: Any) -> None:
    limits = table()
    assert all(getattr(limits, one.name) >= 1 for one in each(fields(table)))
