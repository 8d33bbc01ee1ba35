"""``python -m tests.mutation FOLDER COUNT [SEED] [-- TESTS]``: plants as many faults in modules of a folder (``planner/rollout``), one at a
time in a copy of the project, and runs on each the tests that run its line: who lives is printed, and the share that was killed.

Which tests run a line is noted first, by TESTS under coverage.py; without them by the run before.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests import covered
from tests.architecture.tree import ROOT, project_files, python_files
from tests.mutation.mutants import count, mutant
from tests.mutation.passing import Passing

_MOST_SECONDS: Final = 600  # of the tests on one fault: one that never ends is killed too


def drawn(folder: str, number: int, seed: int) -> list[tuple[Path, int]]:
    """Of all faults of the folder's modules so many, by chance."""
    every = [(path, one) for path in python_files(folder) for one in range(count((ROOT / path).read_text("utf-8")))]
    return random.Random(seed).sample(every, min(number, len(every)))


def fail(copy: Path, tests: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "--quick", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        return bool(
            subprocess.run(command, cwd=copy, capture_output=True, check=False, timeout=_MOST_SECONDS).returncode
        )
    except subprocess.TimeoutExpired:
        return True


def copied(folder: Path) -> None:
    for path in project_files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


def main(arguments: list[str]) -> int:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    own, tests = arguments[:end], arguments[end + 1 :]
    if tests and covered.main(["-q", "--quick", "-p", "tests.mutation.passing", *tests]):
        print("the tests fail without any fault")
        return 1
    passing = Passing(ROOT)
    faults = drawn(own[0], int(own[1]), int(own[2]) if len(own) > 2 else 0)
    killed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copied(copy)
        for path, number in faults:
            whole = (ROOT / path).read_text(encoding="utf-8")
            planted = mutant(whole, number)
            tests = passing.tests(path, planted.line)
            (copy / path).write_text(planted.source, encoding="utf-8")
            dies = bool(tests) and fail(copy, tests)
            (copy / path).write_text(whole, encoding="utf-8")
            killed += dies
            told = f"{path}:{planted.line} {planted.before} → {planted.after}"
            print(f"killed: {told}" if dies else f"lives ({len(tests)} tests run it): {told}", flush=True)
    print(f"{killed} of {len(faults)} faults in {own[0]} were killed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
