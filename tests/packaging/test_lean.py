"""What the action installs is enough: an environment of deploy/requirements-gate.txt only, made by the action's own step, answers every
question about a snapshot as this one does, and says which package is missing where it can't."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from planner.cli import main
from planner.sources.prices import TABLES_VARIABLE
from tests.architecture.tree import ROOT, project_files
from tests.seen import each

RESTARTS = "tests/restarts/inputs/nvidia-runtime-error.json.gz"
DEVICES = "tests/conformance/rollouts/dra-000.json.gz"
STUCK = "deployment/prod/llm-serve"
COMMANDS: tuple[tuple[str, ...], ...] = (
    *(
        (name, cluster)
        for cluster in ("demo",)
        for name in ("overview", "plan", "capacity", "seats", "make-room", "survive", "costs", "savings", "memory", "restarts", "drift", "doctor", "findings")
    ),
    ("overview", "openb"),
    ("capacity", "openb"),
    ("queues", "ml-platform"),
    ("rollout", "demo", "-w", STUCK, "--strategies", "--costs"),
    ("rollout", "demo", "-w", STUCK, "--levers", "all", "-o", "json"),
    ("rollout", "demo", "-w", STUCK, "--script"),
    ("rollout", "demo", "--in-flight"),
    ("rollout", "demo", "--peak"),
    ("gate", "demo", "-f", "docs/examples/manifests", "-o", "yaml"),
    ("capacity", "demo", "--change", "add:gpu-t4=1"),
    ("diff", "demo", "ml-platform", "-o", "csv"),
    ("fleet", "demo", "ml-platform"),
    ("fleet", "demo", "ml-platform", "--shape", "gpu=1"),
    ("restarts", RESTARTS, "-o", "markdown"),  # messages: detect-secrets
    ("overview", "packed.json.zst"),
    ("overview", "devices.json"),  # DRA's selectors: cel-python
)  # fmt: skip
CANT: tuple[tuple[tuple[str, ...], str], ...] = (
    (("app", "demo"), "streamlit"),
    (("serve", "demo", "--port", "0"), "starlette"),
    (("store", "list", "."), "pyarrow"),
    (("overview", "store:.#demo"), "pyarrow"),
)
PROGRAM = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from headroom_planner import main
told = []
for words in json.load(sys.stdin):
    out, err, status = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            status = int(ended.code or 0)
    told.append([status, out.getvalue(), err.getvalue()])
assert {"celpy", "detect_secrets"} <= set(sys.modules) or len(told) < 10
json.dump(told, sys.stdout)
"""


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment that the action's step makes, from the files of this repository and a package index."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    (install,) = [step["run"] for step in steps if step["name"] == "Install"]
    folder = tmp_path_factory.mktemp("runner")
    action = folder / "action"
    for path in project_files():
        if path.parts[0] != "tests":
            (action / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, action / path)
    words = {
        "RUNNER_TEMP": folder,
        "GITHUB_ACTION_PATH": action,
        "GITHUB_PATH": folder / "path",
        "CLUSTER": "demo",
        "HOME": folder,
    }
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PIP_") or name in ("PATH", "HTTPS_PROXY", "SSL_CERT_FILE")
    }
    made = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", install],
        env=kept | {name: str(value) for name, value in words.items()}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode and ("Could not find a version" in made.stderr or "connection" in made.stderr.lower()):
        pytest.skip(f"no package index: {made.stderr[-300:]}")
    assert made.returncode == 0, made.stderr
    (programs,) = (folder / "path").read_text().split()
    return Path(programs)


def here(words: tuple[str, ...]) -> list[Any]:
    out, err, status = StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as ended:
            status = int(ended.code or 0)
    return [status, out.getvalue(), err.getvalue()]


def asked(lean: Path, folder: Path, *commands: tuple[str, ...]) -> list[list[Any]]:
    told = subprocess.run(
        [lean / "python", "-c", PROGRAM], input=json.dumps(commands), cwd=folder,
        env={"PATH": f"{lean}:/usr/bin:/bin", "HOME": str(folder), TABLES_VARIABLE: os.environ[TABLES_VARIABLE]},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    found: list[list[Any]] = json.loads(told.stdout)
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inputs by the same names for both, and a List that is packed by zstd."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    content = gzip.decompress((ROOT / "data/demo/cluster.json.gz").read_bytes())
    (tmp_path / "packed.json.zst").write_bytes(pa.compress(content, codec="zstd", asbytes=True))
    case = json.loads(gzip.decompress((ROOT / DEVICES).read_bytes()))
    (tmp_path / "devices.json").write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": case["cluster"]["items"]})
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_holds_the_lean_locks_packages_only(lean: Path) -> None:
    told = subprocess.run(
        [lean / "python", "-m", "pip", "list", "--format", "json"], capture_output=True, text=True, check=True
    )
    there = {one["name"].lower().replace("_", "-").replace(".", "-") for one in json.loads(told.stdout)}
    pinned = {
        line.partition("==")[0]
        for line in (ROOT / "deploy/requirements-gate.txt").read_text().splitlines()
        if "==" in line
    }
    assert there - {"pip", "setuptools", "headroom-planner"} <= pinned
    assert {
        "click",
        "msgspec",
        "numpy",
        "pyyaml",
        "highspy",
        "cel-python",
        "detect-secrets",
        "headroom-planner",
    } <= there
    assert not {"pandas", "streamlit", "pyarrow", "duckdb", "kubernetes"} & there


def test_every_question_of_a_snapshot_is_answered_as_here(lean: Path, folder: Path) -> None:
    for words, found in zip(each(COMMANDS), asked(lean, folder, *COMMANDS), strict=True):
        assert "Traceback" not in found[2], words
        assert found == here(words), words


def test_what_needs_more_says_which_package(lean: Path, folder: Path) -> None:
    for (words, package), (status, out, err) in zip(
        CANT, asked(lean, folder, *(words for words, _ in CANT)), strict=True
    ):
        assert (status, out) == (1, ""), words
        assert f"headroom: the package {package} isn't installed" in err.splitlines()[-1], (words, err)
        assert "Traceback" not in err, words
