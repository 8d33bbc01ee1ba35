"""What `make coverage` and `make mutation` say is so: of a small report, of a small module."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import quick
from tests.architecture.tree import ROOT
from tests.covered import rooms
from tests.mutation.mutants import count, mutant


def test_lines_are_counted_by_room(tmp_path: Path) -> None:
    lines = {"planner/a/x.py": (3, 4), "planner/a/b/y.py": (1, 4), "planner/c.py": (0, 2)}
    report = tmp_path / "report.json"
    files = {name: {"summary": {"covered_lines": run, "num_statements": there}} for name, (run, there) in lines.items()}
    report.write_text(json.dumps({"files": files}))
    assert rooms(report) == {"a": (4, 8), "c": (0, 2)}


def test_each_fault_is_planted_by_itself() -> None:
    code = (
        "def f(a, b):\n    if a < b and not a:\n        return max(a, 1)\n    b += 1\n    return [x for x in a if x]\n"
    )
    found = [mutant(code, one) for one in range(count(code))]
    assert {(one.line, one.before, one.after) for one in found} == {
        (2, "a < b and (not a)", "a < b or not a"), (2, "a < b and (not a)", "a < b"), (2, "a < b and (not a)", "not a"),
        (2, "a < b", "a <= b"), (2, "not a", "a"),
        (3, "return max(a, 1)", "pass"), (3, "max(a, 1)", "min(a, 1)"), (3, "1", "2"),
        (4, "b += 1", "pass"), (4, "1", "2"), (5, "[x for x in a if x]", "[x for x in a]"),
    }  # fmt: skip
    assert len({one.source for one in found} - {code}) == len(found)


@pytest.mark.parametrize("later", quick.LATER)
def test_what_make_test_leaves_out_is_there(later: str) -> None:
    """A name that moved would be run again by `make test`, or a check of it by nobody who reads here."""
    file, _, name = later.partition("::")
    assert (ROOT / file).exists()
    assert not name or f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("smoke", quick.SMOKE)
def test_what_make_test_picks_is_there(smoke: str) -> None:
    """A name that no test has would leave the smoke out in silence."""
    file, _, name = smoke.partition("::")
    assert any(file == left or file.startswith(f"{left}/") for left in quick.LATER)
    assert not name or f"def {name.partition('[')[0]}" in (ROOT / file).read_text(encoding="utf-8")


def test_a_smoke_that_no_test_is_called_is_seen() -> None:
    file, _, _ = quick.SMOKE[0].partition("::")
    assert quick.picking_nothing([f"{file}::test_a_page[now-1360-900-x]"]) == [quick.SMOKE[0]]
    assert quick.picking_nothing(["tests/ground/test_words.py::test_x"]) == []
    named = quick.SMOKE[0].replace("[", "[now-")
    assert quick.picking_nothing([f"{named}schemes]"]) == []
    assert not quick.is_left_out(f"{named}schemes]")
    assert quick.is_left_out(f"{named.partition('[')[0]}[now-390-844-schemes]")
