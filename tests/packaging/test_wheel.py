"""The wheel holds everything: built, installed into an environment of its own, and used from another folder."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, project_files
from tests.ports import reserved
from tests.seen import each


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True, capture_output=True
    )  # fmt: skip
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it. What the wheel needs is taken from this one: no package index is asked."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--prefix", folder, "--ignore-installed", wheel], check=True, capture_output=True)
    here = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in here))
    return folder


def command(environment: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {"PATH": os.environ["PATH"], "HOME": str(cwd)}
    program = [str(environment / "bin/python"), "-c", "from headroom_planner import main; main()"]
    return subprocess.run([*program, *words], cwd=cwd, env=clean, capture_output=True, text=True, check=False)


def test_everything_is_in_it(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = "headroom_planner/planner"
    wanted = {f"{inside}/_app/{path}" for path in project_files() if path.parts[0] in ("pages", "app.py", ".streamlit")}
    wanted |= {f"{inside}/_data/{path.relative_to('data')}" for path in project_files() if path.parts[0] == "data"}
    wanted |= {f"headroom_planner/{path}" for path in project_files() if path.parts[0] == "planner"}
    wanted |= {str(path) for path in project_files() if path.parts[0] == "headroom_planner"}
    assert wanted - names == set()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"headroom_planner"}, (
        "no name that others have"
    )


def test_nothing_in_it_imports_a_package_called_planner(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in each(one for one in archive.namelist() if one.endswith(".py")):
            for node in ast.walk(ast.parse(archive.read(name))):
                modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert not [one for one in modules if one.partition(".")[0] == "planner"], name


def test_metadata_says_what_is_needed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith("METADATA"))
        metadata = archive.read(name).decode()
        (scripts,) = (one for one in archive.namelist() if one.endswith("entry_points.txt"))
        entries = archive.read(scripts).decode()
    assert "Requires-Dist: streamlit" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert "headroom = headroom_planner:main" in entries
    assert "headroom-planner = headroom_planner:main" in entries, "a name that is nobody else's"
    assert "kubectl-headroom = headroom_planner:kubectl_plugin" in entries


def test_commands_answer_from_it(environment: Path, tmp_path: Path) -> None:
    told = command(environment, "overview", "demo", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("5 of 20 workloads would get stuck if changed now.")
    where = subprocess.run(
        [environment / "bin/python", "-c", "import headroom_planner; print(headroom_planner.__file__)"], cwd=tmp_path, capture_output=True, text=True, check=True
    )  # fmt: skip
    assert str(environment) in where.stdout, "the checkout is asked instead of the wheel"
    assert command(environment, "prices", "show", "--region", "us-central1", cwd=tmp_path).returncode == 0
    assert (environment / "bin/headroom").exists()
    assert (environment / "bin/kubectl-headroom").exists()


def test_it_stands_beside_others_of_its_names(environment: Path, tmp_path: Path) -> None:
    """llm-d-planner's package is called `planner` as well, headroom-ai's `headroom`: each is imported, and ours answers."""
    for name in ("planner", "headroom"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"OTHERS = {name!r}\n")
    program = (
        "import planner, headroom, headroom_planner as ours; assert planner.OTHERS and headroom.OTHERS; "
        "print(ours.rollout(ours.read('demo'), 'deployment/prod/llm-serve').verdict)"
    )
    told = subprocess.run(
        [environment / "bin/python", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.stdout == "stuck\n", told.stderr


@pytest.fixture
def dashboard(environment: Path, tmp_path: Path) -> Iterator[str]:
    """``headroom app CLUSTER`` from the wheel, in another folder."""
    port = reserved()
    program = [str(environment / "bin/python"), "-c", "from headroom_planner import main; main()"]
    words = ["app", "demo", "--no-browser", "--port", str(port)]
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    log = (tmp_path / "log").open("wb")
    with log, subprocess.Popen([*program, *words], cwd=tmp_path, env=clean, stdout=log, stderr=log) as process:
        try:
            yield _when_there(f"http://localhost:{port}", process, tmp_path / "log")
        finally:
            process.terminate()
            process.wait(20)


def _when_there(address: str, process: subprocess.Popen[bytes], log: Path) -> str:
    for _ in range(300):
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return address
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"the dashboard does not answer: {log.read_text()}")


def test_the_dashboard_runs_from_it(dashboard: str, tmp_path: Path) -> None:
    with urllib.request.urlopen(dashboard, timeout=20) as answer:
        assert b"<title>" in answer.read()
    assert "Traceback" not in (tmp_path / "log").read_text()
