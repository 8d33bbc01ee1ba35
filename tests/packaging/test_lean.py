"""What the action installs is enough: an environment of deploy/requirements-gate.txt only, made by the action's own step, answers every
question about a snapshot as this one does, and says which package is missing where it can't."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
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
DEVICES = [f"dra-{number:03}" for number in (0, 5, 10, 15)]
QUESTIONS = "tests/questions/cases"


def _paths(folder: str, suffix: str) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / folder).glob(f"*{suffix}"))]


STATUSES = _paths("tests/restarts/inputs", ".json.gz")  # messages of statuses, Events and logs
CASES = _paths(QUESTIONS, ".json.gz")
FILES = _paths("tests/remedies/no_cluster", ".yaml")
STUCK = "deployment/prod/llm-serve"
COMMANDS: tuple[tuple[str, ...], ...] = (
    *(
        (name, cluster)
        for cluster in ("demo",)
        for name in ("overview", "plan", "capacity", "seats", "make-room", "survive", "costs", "savings", "memory", "restarts", "drift", "doctor", "findings")
    ),
    *((name, "openb") for name in ("overview", "capacity", "costs", "savings", "memory", "drift", "doctor", "findings")),
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
    *((name, path) for path in STATUSES for name in ("restarts", "memory", "overview")),
    *(("overview", path) for path in CASES),
    ("gate", f"{QUESTIONS}/acts-on-pods.json.gz", "-f", f"{QUESTIONS}/acts-on-pods.yaml"),
    ("gate", f"{QUESTIONS}/mutating-webhook.json.gz", "-f", f"{QUESTIONS}/mutating-webhook-deploy.json"),
    ("gate", f"{QUESTIONS}/validating-webhook.json.gz", "-f", f"{QUESTIONS}/validating-webhook-pod.json"),
    *(("gate", "-f", path) for path in FILES),
    ("overview", "packed.json.zst"),
    *((name, f"{case}.json") for case in DEVICES for name in ("overview", "rollout", "capacity")),  # DRA's selectors: cel-python
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
    for name in each(DEVICES):
        recorded = json.loads(gzip.decompress((ROOT / f"tests/conformance/rollouts/{name}.json.gz").read_bytes()))
        items = recorded["cluster"]["items"]
        (tmp_path / f"{name}.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
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


def test_there_are_inputs_of_every_sort() -> None:
    assert min(len(STATUSES), len(CASES), len(FILES)) > 4


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


def made(folder: Path, target: str) -> str:
    """What ``make`` would do for a target."""
    words = ["make", "--no-print-directory", "-n", target, f"PYTHON={sys.executable}"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_dashboard_needs_no_developers_package(tmp_path: Path) -> None:
    """``make app`` installs what runs. The tests' packages come with ``make test``, and the dashboard takes them where they are."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "deploy/requirements.lock", "deploy/build.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert "--require-hashes -r deploy/requirements.lock -r deploy/build.lock" in made(tmp_path, "app")
    assert " -r requirements.lock" not in made(tmp_path, "app")
    assert "--require-hashes -r requirements.lock" in made(tmp_path, "test")
    assert " -r deploy/" not in made(tmp_path, "test")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("bin/python", ".headroom-ready"):
        (tmp_path / ".venv" / name).touch()
    assert "pip install" not in made(tmp_path, "app")
    assert "headroom app" in made(tmp_path, "app")
