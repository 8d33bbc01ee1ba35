"""Large clusters of one command are read beside one another: the same answer, the same words in the same order, whatever
becomes of a copy."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.cli import cluster_argument as reading
from planner.cli import main
from planner.ground import parallel_parts
from planner.kubernetes.object_records import Snapshot
from planner.serve.processes import VARIABLE
from planner.sources import cluster_argument as source
from tests.builders.objects import deployment, node, pod_spec

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(str(stopped.value.code or 0)), out, err


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two clusters, each with a damaged object; they are worth a copy."""
    monkeypatch.setattr(reading, "_WORTH_BYTES", 1)
    found = []
    for name, replicas in (("before", 1), ("after", 2)):
        items: list[Any] = [node("a"), *deployment("web", ["a"] * replicas, pod_spec())]
        items += [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": 5}}]
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        found.append(str(path))
    return found


def read_in(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Each reading notes its process in `path`."""
    read = source.read_cluster

    def noted(spec: str, **more: Any) -> Snapshot:
        with path.open("a") as told:
            told.write(f"{os.getpid()} {spec}\n")
        return read(spec, **more)

    monkeypatch.setattr(source, "read_cluster", noted)


def long_parts(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What is given out at once from now on."""
    given: list[list[str]] = []
    each = parallel_parts.each

    def noted(items: Any, do: Any, *, are_long: bool = False) -> list[Any]:
        given.extend([list(items)] if are_long else [])
        return each(items, do, are_long=are_long)

    monkeypatch.setattr(parallel_parts, "each", noted)
    return given


@pytest.mark.parametrize("arguments", [("diff",), ("fleet",), ("drift",)])
def test_the_same_is_said_as_by_one_process(
    files: list[str], arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], tmp_path: Path,
) -> None:  # fmt: skip
    said = []
    for workers in ("0", "2"):
        monkeypatch.setenv(VARIABLE, workers)
        said.append(run(capsys, *arguments, *files, "-o", "json"))
    assert said[0] == said[1]
    assert said[0][2].index("before") < said[0][2].index("after")


def test_each_is_read_once_and_one_may_be_by_a_copy(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    asked = long_parts(monkeypatch)
    read_in(monkeypatch, tmp_path / "who")
    run(capsys, "diff", *files)
    assert sorted(line.split(" ")[1] for line in (tmp_path / "who").read_text().splitlines()) == sorted(files)
    assert asked == [files]


def test_what_a_killed_copy_read_is_read_here(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    alone = run(capsys, "diff", *files, "-o", "json")
    read, parent = source.read_cluster, os.getpid()

    def killed(spec: str, **more: Any) -> Snapshot:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return read(spec, **more)

    monkeypatch.setattr(source, "read_cluster", killed)
    monkeypatch.setenv(VARIABLE, "2")
    assert run(capsys, "diff", *files, "-o", "json") == alone


@pytest.mark.parametrize("broken", [0, 1])
def test_an_error_comes_after_what_is_said_of_those_before(
    broken: int, files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(files[broken]).write_text("this is no cluster: [")
    said = []
    for workers in ("0", "2"):
        monkeypatch.setenv(VARIABLE, workers)
        said.append(run(capsys, "diff", *files))
    assert said[0] == said[1]
    assert said[0][0] != 0


@pytest.mark.parametrize(
    "name", ["-", "demo", "context:prod", "store:history.duckdb#a", "none.json", "folder", "packed.gz"]
)
def test_only_plain_files_are_read_by_copies(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input and what a shell opens can be read once; a server is asked by one process; what is packed is longer than it
    looks. A file called so is named with its folder."""
    monkeypatch.chdir(tmp_path)
    for called in ("-", "demo", "plain.json"):
        Path(called).write_text("{}")
    Path("packed.gz").write_bytes(b"\x1f\x8b\x08")
    Path("folder").mkdir()
    assert source.bytes_to_read("plain.json") == 2
    assert source.bytes_to_read("plain.json,./demo") == 4
    assert source.bytes_to_read(name) == 0
    assert source.bytes_to_read(f"plain.json,{name}") == 0


def test_as_much_as_may_be_read_is_the_limit_of_all(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Together they need the memory that one of them may need."""
    monkeypatch.setenv(VARIABLE, "2")
    asked = long_parts(monkeypatch)
    largest = max(Path(name).stat().st_size for name in files)
    said = run(capsys, "--unpacked-limit", str(largest), "diff", *files)
    assert asked == []
    assert said == run(capsys, "diff", *files)
    assert asked == [files]
