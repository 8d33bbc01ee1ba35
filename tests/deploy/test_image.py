"""The image's definition: what it takes is there, by hash, and it runs as nobody. `tests/deploy/image.sh` builds and runs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import yaml

from tests.architecture.tree import ROOT
from tests.deploy.chart import DEPLOY

LINES = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text()).splitlines()


def instructions(name: str) -> list[str]:
    return [line.removeprefix(f"{name} ").strip() for line in LINES if line.startswith(f"{name} ")]


def pins(lock: Path) -> dict[str, set[str]]:
    """name==version → hashes."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in lock.read_text().splitlines():
        if match := re.match(r"^([a-z0-9][\w.-]*==[\w.!+]+)", line):
            name = match[1]
            found[name] = set()
        found.setdefault(name, set()).update(re.findall(r"--hash=(sha256:[0-9a-f]{64})", line))
    return found


def test_what_it_copies_is_there_and_is_let_in() -> None:
    let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for line in instructions("COPY"):
        if line.startswith("--from"):
            continue
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert any(fnmatch(source, one) for one in let_in), source
    taken = {source for line in instructions("COPY") for source in line.split()[:-1]}
    wheel = {"planner", "headroom_planner", "data", "app.py", "pages", ".streamlit/config.toml", "deploy/wheel.py"}
    assert wheel <= taken, "all that the wheel holds and is made by"


def test_community_cloud_installs_what_the_image_holds() -> None:
    """It reads ``requirements.txt`` at the root, and a file that is named there beside it."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == ["-r deploy/requirements.lock"]
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    named = {pin.partition("==")[0] for pin in pins(DEPLOY / "requirements.lock")}
    assert {re.split(r"[<>=]", one)[0].lower() for one in wanted} <= named
    assert not (ROOT / "packages.txt").exists()


def test_it_holds_what_the_lock_says_by_hash() -> None:
    every = pins(ROOT / "requirements.lock")
    for name in ("requirements.lock", "build.lock"):
        mine = pins(DEPLOY / name)
        assert mine
        for pin, hashes in mine.items():
            assert hashes, f"{pin} has no hash"
            assert hashes <= every[pin], pin
    assert not {
        pin for pin in pins(DEPLOY / "requirements.lock") if pin.startswith(("pytest", "playwright", "mypy", "oidc"))
    }
    installs = [line for line in instructions("RUN") if "pip install" in line and "--no-index" not in line]
    assert len(installs) == 2
    assert all("--require-hashes" in line for line in installs)


def test_it_runs_as_nobody_and_ends_at_sigterm() -> None:
    deployment = next(
        one for one in yaml.safe_load_all((DEPLOY / "headroom.yaml").read_text()) if one["kind"] == "Deployment"
    )
    security = deployment["spec"]["template"]["spec"]["securityContext"]
    assert instructions("USER") == [f"{security['runAsUser']}:{security['runAsGroup']}"]
    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    assert instructions("ENTRYPOINT") == ['["headroom"]']
    assert "HOME=/var/lib/headroom" in instructions("ENV")[0]


def test_process_1_ends_at_sigterm() -> None:
    """Process 1 gets no signal that it doesn't wait for; here another one takes itself for it."""
    script = (
        "import os; os.getpid = lambda: 1\n"
        "import planner.cli as cli, time\n"
        "cli._run = lambda argv: (print('there', flush=True), time.sleep(60))\n"
        "cli.main(['doctor'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
