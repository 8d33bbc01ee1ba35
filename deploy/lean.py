"""Print what commands on a snapshot need, a requirement a line, with the bounds of pyproject.toml: `make lock` makes
deploy/requirements-gate.txt of it. DRA's selectors are read by cel-python, logs and messages by detect-secrets."""

import re
import sys
import tomllib
from pathlib import Path

LEAN = ("click", "msgspec", "numpy", "PyYAML", "highspy", "cel-python", "detect-secrets")

if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {re.split(r"[<>=]", one)[0]: one for one in project["dependencies"]}
    lines = [*(named[name] for name in LEAN), *project["optional-dependencies"]["gate"]]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
