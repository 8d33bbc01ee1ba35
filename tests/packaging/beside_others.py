"""``python -m tests.packaging.beside_others FOLDER``: the wheel beside the real llm-d-planner and headroom-ai of PyPI, in each order.

Not a test: it downloads. FOLDER gets the wheels and an environment for each order; the others come without their dependencies (what
collides is files), ours runs with those of this environment. What it said last stands in docs/decisions/0017-one-package-in-the-wheel.md.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from itertools import combinations, permutations
from pathlib import Path

from tests.architecture.tree import ROOT

OTHERS = ("llm-d-planner", "headroom-ai")
ASKED = "import headroom_planner as h; print(h.rollout(h.read('demo'), 'deployment/prod/llm-serve').verdict)"
CHANGED = """
import importlib.metadata, sys
files = [one for name in sys.argv[1:] for one in importlib.metadata.files(name)]
changed = [one for one in files if not one.locate().exists() or one.size not in (None, one.locate().stat().st_size)]
print(", ".join(sorted({one.name for one in changed})) or "nothing")
"""


def _run(*words: str | Path, cwd: Path | None = None) -> str:
    return subprocess.run([str(word) for word in words], cwd=cwd, check=True, capture_output=True, text=True).stdout


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip"]
    _run(*pip, "download", "-q", "--no-deps", "-d", wheels, *OTHERS)
    _run(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", wheels, ROOT)
    found = sorted(wheels.glob("*.whl"))
    names = {one: {name for name in zipfile.ZipFile(one).namelist() if ".dist-info/" not in name} for one in found}
    for one, other in combinations(found, 2):
        sys.stdout.write(f"{one.name} and {other.name}: {len(names[one] & names[other])} files of one name\n")
    for place, order in enumerate(permutations(found)):
        home = folder / f"order-{place}"
        venv.create(home, with_pip=False, clear=True)
        python = home / "bin/python"
        for wheel in order:
            _run(*pip, "--python", python, "install", "-q", "--no-deps", wheel)
        (inside,) = (home / "lib").glob("python*/site-packages")
        (inside / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        verdict = _run(python, "-c", ASKED, cwd=home).strip()
        look = f"import sys; sys.path.insert(0, {str(inside)!r})\n{CHANGED}"
        changed = _run(python, "-S", "-c", look, *OTHERS, "headroom-planner").strip()
        command = (home / "bin/headroom").read_text(encoding="utf-8")
        whose = "headroom-planner's" if "headroom_planner" in command else "headroom-ai's"
        own = _run(home / "bin/headroom-planner", "--version", cwd=home).strip()
        sys.stdout.write(
            f"{', '.join(one.name.split('-')[0] for one in order)}: {verdict}; overwritten: {changed}; `headroom` is {whose}; {own}\n"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
