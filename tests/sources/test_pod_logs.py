from __future__ import annotations

from pathlib import Path

import pytest

from planner.ground.errors import InputError, SourceError
from planner.inventory import log_sections
from planner.kubernetes.object_records import PodLog
from planner.sources import kubernetes_api, pod_log_folder

FRAMED = """==== START logs for container app of pod dev/api-1 ====
hello
==== END logs for container app of pod dev/api-1 ====
==== START logs for container proxy of pod dev/api-1 ====
proxied
==== END logs for container proxy of pod dev/api-1 ====
"""


def write(root: Path, path: str, text: str | bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)


def names(logs: tuple[PodLog, ...]) -> list[tuple[str, str, str, bool, tuple[str, ...]]]:
    return [(log.namespace, log.pod, log.container, log.is_previous, log.lines) for log in logs]


def test_dump_folder(tmp_path: Path) -> None:
    write(tmp_path, "dev/api-1/logs.txt", FRAMED)
    assert names(pod_log_folder.read_folder(tmp_path)) == [
        ("dev", "api-1", "app", False, ("hello",)),
        ("dev", "api-1", "proxy", False, ("proxied",)),
    ]


def test_one_file_a_container_and_the_run_before(tmp_path: Path) -> None:
    write(tmp_path, "x/dev/api-1/app.log", "now\n")
    write(tmp_path, "x/dev/api-1/app.previous.log", "before\n")
    assert names(pod_log_folder.read_folder(tmp_path)) == [
        ("dev", "api-1", "app", False, ("now",)),
        ("dev", "api-1", "app", True, ("before",)),
    ]


def test_must_gather(tmp_path: Path) -> None:
    for which in ("current", "previous"):
        write(tmp_path, f"m/namespaces/dev/pods/api-1/app/app/logs/{which}.log", which)
    assert names(pod_log_folder.read_folder(tmp_path)) == [
        ("dev", "api-1", "app", False, ("current",)),
        ("dev", "api-1", "app", True, ("previous",)),
    ]


def test_of_a_long_log_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_sections, "LARGEST_LOG_BYTES", 20)
    write(tmp_path, "dev/api-1/app.log", "first line\nsecond line\nlast line\n")
    assert names(pod_log_folder.read_folder(tmp_path))[0][4] == ("last line",)


def test_bytes_that_are_no_text_are_kept_readable(tmp_path: Path) -> None:
    write(tmp_path, "dev/api-1/app.log", b"ok \xff\xfe\n")
    assert names(pod_log_folder.read_folder(tmp_path))[0][4] == ("ok ��",)


def test_empty_logs_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "dev/api-1/logs.txt", FRAMED.replace("hello\n", ""))
    assert [log.container for log in pod_log_folder.read_folder(tmp_path)] == ["proxy"]


@pytest.mark.parametrize("path", ["notes.txt", "dev/logs.txt", "app.log"])
def test_a_folder_without_a_log(tmp_path: Path, path: str) -> None:
    write(tmp_path, path, "hello")
    with pytest.raises(InputError, match="holds no log"):
        pod_log_folder.read_folder(tmp_path)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        pod_log_folder.read_folder(tmp_path / "gone")


def test_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_log_folder, "LARGEST_BYTES", 5)
    write(tmp_path, "dev/api-1/app.log", "more than five")
    with pytest.raises(InputError, match="of logs"):
        pod_log_folder.read_folder(tmp_path)


def test_uploads_say_themselves_whose_they_are_or_are_told() -> None:
    assert [log.container for log in pod_log_folder.of_upload(FRAMED.encode())] == ["app", "proxy"]
    assert pod_log_folder.of_upload(b"plain") == ()
    assert names(pod_log_folder.of_upload(b"plain", default="dev/api-1/app", is_previous=True)) == [
        ("dev", "api-1", "app", True, ("plain",))
    ]


def test_live_logs_that_are_gone_do_not_cost_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_log(context: str, namespace: str, pod: str, container: str, *, is_previous: bool = False) -> PodLog:
        if is_previous:
            raise SourceError("no previous container", where=context)
        return pod_log_folder.read_text("line", namespace=namespace, pod=pod, container=container)

    monkeypatch.setattr(kubernetes_api, "read_log", read_log)
    logs, problems = pod_log_folder.read_live("c", [("dev", "api-1", "app", True), ("dev", "api-1", "app", False)])
    assert [log.lines for log in logs] == [("line",)]
    assert [str(problem) for problem in problems] == ["c: no previous container"]
