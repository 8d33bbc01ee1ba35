"""``python -m tests.covered OPTIONS…``: runs pytest with these options under coverage.py, commands' processes and forked copies
included, and prints the share of lines run, a room of ``planner/`` a line.

coverage.py has a folder of its own (`make coverage` fills it), as Helm's has: nothing else needs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

from tests.architecture.tree import ROOT

FOLDER: Final = ROOT / ".trust" / "coverage"
DISTURBED: Final = (
    "tests/cli/test_faults.py::test_a_disk_that_is_full_loses_nothing_that_was_stored",  # coverage.py writes files, too
    "tests/ground/test_collector.py::test_a_command_that_ends_is_not_looked_through_and_who_imports_the_library_is",
    "tests/packaging/test_lean.py::test_it_holds_the_lean_locks_packages_only",  # it lists the packages on the path
)
"""Tests that fail because coverage.py is there: they are left out."""
_SETTINGS: Final = """[run]
source = planner
parallel = True
sigterm = True
patch =
    subprocess
    fork
    _exit
    execv
data_file = {folder}/data/covered
"""


def rooms(report: Path) -> dict[str, tuple[int, int]]:
    """Room → (lines run, lines there are), of coverage.py's JSON."""
    found: defaultdict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for file, told in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        run, there = found[Path(file).parts[1].removesuffix(".py")]
        summary = told["summary"]
        found[Path(file).parts[1].removesuffix(".py")] = (
            run + summary["covered_lines"],
            there + summary["num_statements"],
        )
    return dict(found)


def main(options: list[str]) -> int:
    (FOLDER / "data").mkdir(parents=True, exist_ok=True)
    for old in (FOLDER / "data").iterdir():
        old.unlink()
    (FOLDER / "settings").write_text(_SETTINGS.format(folder=FOLDER), encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "COVERAGE_RCFILE": str(FOLDER / "settings")}
    if sys.version_info >= (3, 12):
        environment.setdefault("COVERAGE_CORE", "sysmon")  # the interpreter's own events, which cost less than a tracer

    def coverage(*words: str) -> int:
        command = [sys.executable, "-m", "coverage", *words]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode

    left_out = [word for test in DISTURBED for word in ("--deselect", test)]
    ended = coverage("run", "-m", "pytest", *left_out, *options)
    coverage("combine", "--quiet")
    coverage("json", "--quiet", "-o", str(FOLDER / "report.json"))
    found = rooms(FOLDER / "report.json")
    for name, (run, there) in sorted(found.items()):
        print(f"{name:12}{100 * run / max(1, there):6.1f}% of {there:6,} lines")
    run, there = (sum(numbers) for numbers in zip(*found.values(), strict=True))
    print(f"{'in all':12}{100 * run / max(1, there):6.1f}% of {there:6,} lines")
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
