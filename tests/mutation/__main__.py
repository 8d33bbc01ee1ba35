"""``python -m tests.mutation FOLDER COUNT [SEED] -- TESTS``: plants as many faults in modules of a folder (``planner/rollout``), one at a
time in a copy of the project, and runs the tests on each: who lives is printed, and the share that was killed."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.architecture.tree import ROOT, project_files, python_files
from tests.mutation.mutants import Mutant, mutants

_MOST_SECONDS = 900  # of the tests on one fault: one that never ends is killed too


def drawn(folder: str, count: int, seed: int) -> list[tuple[Path, Mutant]]:
    """Of all faults of the folder's modules so many, by chance."""
    every = [
        (path, mutant) for path in python_files(folder) for mutant in mutants((ROOT / path).read_text(encoding="utf-8"))
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


def is_killed(copy: Path, tests: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        return bool(
            subprocess.run(command, cwd=copy, capture_output=True, check=False, timeout=_MOST_SECONDS).returncode
        )
    except subprocess.TimeoutExpired:
        return True


def main(arguments: list[str]) -> int:
    own, tests = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    faults = drawn(own[0], int(own[1]), int(own[2]) if len(own) > 2 else 0)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for path in project_files():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, copy / path)
        subprocess.run(["git", "init", "-q"], cwd=copy, check=True)
        if is_killed(copy, tests):
            print("the tests fail without any fault")
            return 1
        killed = 0
        for path, mutant in faults:
            whole = (copy / path).read_text(encoding="utf-8")
            (copy / path).write_text(mutant.source, encoding="utf-8")
            dies = is_killed(copy, tests)
            killed += dies
            if not dies:
                print(f"lives: {path}:{mutant.line} {mutant.before} → {mutant.after}", flush=True)
            (copy / path).write_text(whole, encoding="utf-8")
    print(f"{killed} of {len(faults)} faults in {own[0]} were killed by {' '.join(tests)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
