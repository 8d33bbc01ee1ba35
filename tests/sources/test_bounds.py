"""Whatever is read has an end: files that are none, servers that never finish, more than anybody has memory for."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from planner.cli import main
from planner.ground.errors import HeadroomError, InputError, SourceError
from planner.ground.records import replace
from planner.inventory import archives, input_report
from planner.inventory.archives import LARGEST_UNPACKED_BYTES
from planner.inventory.reading_limits import LIMITS as READING
from planner.kubernetes.object_records import Severity, Snapshot
from planner.kubernetes.unplayed_kinds import LISTED
from planner.sources import bounded_reading, cluster_argument, cluster_dumps, kubernetes_api, node_pool_files, prices
from planner.sources.api_server_connection import Connection
from planner.sources.kubernetes_api import Api
from planner.sources.prometheus_usage import Bounds, Prometheus
from planner.sources.source_limits import LIMITS
from tests.sources.api_server import Answer, Asked, api_server, as_recorded

PODS = "/api/v1/pods"


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def odd_paths(tmp_path: Path) -> dict[str, str]:
    """Paths that aren't files, by what is wrong with them."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    return {
        "pipe": str(pipe),
        "device": "/dev/zero",
        "long": "x" * 5_000,
        "nul": "a\0b",
        "none": str(tmp_path / "none"),
    }


@pytest.mark.parametrize("kind", ["pipe", "device", "long", "nul", "none"])
@pytest.mark.parametrize(
    "read",
    [
        cluster_argument.read_cluster,
        cluster_dumps.read,
        bounded_reading.read_text,
        node_pool_files.read,
        lambda path: prices.load_book([Path(path)]),
    ],
    ids=["cluster", "kubectl", "text", "pools", "prices"],
)
def test_what_is_no_file_is_an_error_in_words(
    read: Callable[[str], object], kind: str, odd_paths: dict[str, str]
) -> None:
    with pytest.raises(InputError) as raised:
        read(odd_paths[kind])
    assert len(str(raised.value)) < 1_000


@pytest.mark.parametrize("kind", ["pipe", "device", "long"])
@pytest.mark.parametrize(
    "argv",
    [
        ["overview", "{}"],
        ["rollout", "demo", "-f", "{}"],
        ["rollout", "demo", "-w", "Deployment/prod/web", "--patch", "{}"],
        ["capacity", "demo", "--node-pools", "{}"],
        ["costs", "demo", "--prices", "{}"],
        ["savings", "demo", "--lives", "{}"],
        ["--accelerators", "{}", "overview", "demo"],
        ["gate", "demo", "-f", "{}"],
    ],
    ids=str,
)
def test_no_command_waits_or_fails_on_it(
    argv: list[str], kind: str, odd_paths: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([one.format(odd_paths[kind]) for one in argv])
    assert ended.value.code == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_pipe_that_a_shell_opened_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"kind": "PodList", "apiVersion": "v1", "items": []}')
    os.close(writing)
    assert cluster_dumps.read(f"/dev/fd/{reading}").presence["Pod"]
    os.close(reading)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.write(b'{"kind": "List", "items": [')
        file.truncate(10 * 2**30)  # a hole: nothing is on the disk
    monkeypatch.setattr(archives, "found_in", lambda *_, **__: pytest.fail("it was read"))
    said = "it has 10 GiB, more than 4 GiB: reading it would take up to 20 GiB of memory and about 3 min 35 s"
    with pytest.raises(InputError, match=said):
        cluster_dumps.read(large, limit_bytes=4 * 2**30)


def test_a_folder_whose_files_are_too_large_together_is_refused_before_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deeper").mkdir()
    for name in ("a.json", "deeper/b.yaml", "deeper/.hidden.json", "picture.png"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(3 * 2**30)
    with monkeypatch.context() as unread:
        unread.setattr(archives, "found_in", lambda *_, **__: pytest.fail("it was read"))
        said = "it has 6 GiB, more than 4 GiB: reading it would take up to 12 GiB of memory and about 2 min 9 s"
        with pytest.raises(InputError, match=said) as refused:
            cluster_dumps.read(tmp_path, limit_bytes=4 * 2**30)
    assert refused.value.where == str(tmp_path)
    for name in ("a.json", "deeper/b.yaml"):
        (tmp_path / name).write_text(
            '{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "NAME"}}'.replace("NAME", name[-6])
        )
    assert len(cluster_dumps.read(tmp_path, limit_bytes=2**20).nodes) == 2, (
        "what is hidden or no document doesn't count"
    )


def test_a_folder_of_too_many_files_is_not_walked_to_its_end_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        (tmp_path / f"{number}.png").touch()
    for module in (archives, cluster_dumps):
        monkeypatch.setattr(module, "LIMITS", replace(READING, files=3))
    seen: list[str] = []

    def is_hidden(name: str) -> bool:
        seen.append(name)
        return False

    monkeypatch.setattr(archives, "is_hidden", is_hidden)
    with pytest.raises(InputError, match="more than 3 files"):
        cluster_dumps.read(tmp_path)
    assert len(seen) == 7, "three to sum them up, four while they are read"


def test_one_limit_holds_for_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = tmp_path / "large.csv"
    large.write_bytes(b"a," * 40_000)
    for argv in (
        ["costs", "demo", "--prices", str(large)],
        ["rollout", "demo", "-f", str(large)],
        ["savings", "demo", "--lives", str(large)],
        ["capacity", "demo", "--node-pools", str(large)],
        ["overview", str(large)],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["--unpacked-limit", "64Ki", *argv])
        assert ended.value.code == 1
        assert "64 KiB" in capsys.readouterr().err, argv
    assert bounded_reading.limit_bytes() > 2**17, "it held for one command only"


# ── live clusters ────────────────────────────────────────────────────────────────────────────────────────────────────
def page(token: str, items: int = 0) -> Answer:
    pods = [{"metadata": {"name": f"p{n}"}, "spec": {"containers": []}} for n in range(items)]
    return Answer(body={"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": token}, "items": pods})


def endless(asked: Asked) -> Answer:
    return page(asked.query.get("continue", "") + "x") if asked.path == PODS else as_recorded(asked)


def test_continue_tokens_without_an_end() -> None:
    with api_server(endless) as (configuration, asked), pytest.raises(SourceError, match="no end"):
        Api(Connection(configuration, name="live")).snapshot()
    assert sum(one.path == PODS for one in asked) <= LIMITS.empty_pages + 2


def said_of_pods(answer: Callable[[Asked], Answer]) -> Snapshot:
    """What is read of a server that says this of pods, and the rest as it was recorded."""
    with api_server(lambda asked: answer(asked) if asked.path == PODS else as_recorded(asked)) as (configuration, _):
        return Api(Connection(configuration, name="live"), sleep=lambda _: None).snapshot()


SECRETS = {"kind": "SecretList", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": {"name": "s"}}]}
BOMB = Answer(headers={"Content-Encoding": "gzip"}, stream=iter([gzip.compress(b" " * (300 * 2**20))]))
LIES: dict[str, tuple[Callable[[Asked], Answer], str]] = {
    "another kind": (lambda _: Answer(body=SECRETS), "of kind SecretList, not a PodList"),
    "another kind without items": (lambda _: Answer(body=SECRETS | {"items": []}), "of kind SecretList, not a PodList"),
    "a Status that succeeded": (
        lambda _: Answer(body={"kind": "Status", "apiVersion": "v1"}),
        "of kind Status, not a PodList",
    ),
    "nothing in braces": (lambda _: Answer(body={}), "no list, not a PodList"),
    "the same token": (lambda _: page("again", items=1), "a continue token came twice"),
    "two tokens in turn": (
        lambda asked: page("b" if asked.query.get("continue") == "a" else "a", items=1),
        "came twice",
    ),
    "one page without an end": (lambda _: Answer(body="[" + " " * (2 * 2**20)), "one answer has more than 1 MiB"),
    "a bomb": (lambda _: BOMB, "one answer has more than 1 MiB"),
    "nested deeply": (lambda _: Answer(body='{"kind": "PodList", "items": ' + "[" * 200_000), "isn't a list in JSON"),
    "many headers": (lambda _: Answer(body=SECRETS, headers={f"X-{n}": "a" for n in range(500)}), "no answer after"),
    "items as a text": (lambda _: Answer(body={"kind": "PodList", "items": "none"}), "isn't a list in JSON"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_lies_about_its_pods_is_an_error_and_never_a_cluster_without_pods(
    lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_api, "LIMITS", replace(LIMITS, page_bytes=2**20))
    answer, says = LIES[lie]
    with pytest.raises(SourceError, match=says):
        said_of_pods(answer)


def test_pods_that_are_odd_cost_themselves_only() -> None:
    good = {"metadata": {"name": "good", "namespace": "a"}, "spec": {"containers": [{"name": "main"}]}}
    deep: Any = {}
    for _ in range(300):
        deep = {"x": deep}
    odd = [{"metadata": {"name": "deep", "namespace": "a"}, "spec": {"containers": [{"name": "main"}], "x": deep}}]
    text = json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [good, *odd]})
    huge = text.replace(
        '"items": [', '"items": [{"metadata": {"name": "huge", "namespace": "a"}, "spec": {"priority": 1e999}}, '
    )
    found = said_of_pods(lambda _: Answer(body=huge))
    assert "good" in {pod.name for pod in found.pods}
    assert "huge" not in {pod.name for pod in found.pods}
    assert found.reading.unreadable == 1


def test_an_empty_list_is_one_and_other_projects_call_theirs_as_they_like() -> None:
    empty = said_of_pods(lambda _: Answer(body={"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": None}))
    assert empty.pods == ()
    assert empty.nodes
    path = LISTED["rayclusters.ray.io"].paths[0]
    listed = {"kind": "QueuedThings", "apiVersion": "ray.io/v1", "metadata": {}, "items": []}

    def play(asked: Asked) -> Answer:
        if asked.path == "/apis":
            return Answer(body={"kind": "APIGroupList", "groups": [{"name": "ray.io"}]})
        return Answer(body=listed) if asked.path == path else as_recorded(asked)

    with api_server(play) as (configuration, _):
        assert not Api(Connection(configuration, name="live")).snapshot().lacks("rayclusters.ray.io")


def test_a_body_beyond_the_limit() -> None:
    def play(asked: Asked) -> Answer:
        return Answer(body="x" * 3_000_000) if asked.path == PODS else as_recorded(asked)

    with api_server(play) as (configuration, _), pytest.raises(SourceError, match="more than 2 MiB"):
        Api(Connection(configuration, name="live"), limit_bytes=2 * 2**20).snapshot()


def test_the_limit_is_that_of_all_lists_together() -> None:
    with api_server(as_recorded) as (configuration, _), pytest.raises(SourceError, match="more than 64 KiB"):
        Api(Connection(configuration, name="live"), limit_bytes=2**16).snapshot()


@contextmanager
def dripping(start: bytes, drop: bytes) -> Iterator[str]:
    """A server that answers with `start` and then a `drop` every few milliseconds, for ever."""
    server = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65_536)
                connection.sendall(start)
                while not over.wait(0.01):
                    connection.sendall(drop)
            except OSError:
                pass

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=drip, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        over.set()
        server.close()


DRIPS = {
    "headers": (b"HTTP/1.1 200 OK\r\nX-A: ", b"a"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", b" "),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "nothing at all": (b"", b""),
    "half a body, then nothing": (b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"kind": "PodL', b""),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets that are given up, not closed
@pytest.mark.parametrize("drip", DRIPS)
def test_a_server_that_drips(drip: str) -> None:
    with dripping(*DRIPS[drip]) as address:
        configuration = client.Configuration()
        configuration.host = address
        with pytest.raises(SourceError, match="took longer than"):
            Api(Connection(configuration, name="live"), seconds_in_all=0.3).snapshot()
        server = Prometheus(url=address, bounds=Bounds(seconds_in_all=0.3))
        with pytest.raises(SourceError, match="took longer than"):
            server.query_range("up", start=0, end=60, step_seconds=60)


def test_an_unchecked_certificate_is_said_once() -> None:
    with api_server(as_recorded) as (configuration, _), warnings.catch_warnings(record=True) as caught:
        configuration.verify_ssl = False
        snapshot = Api(Connection(configuration, name="live")).snapshot()
    assert caught == []
    (said,) = (one for one in snapshot.problems if one.code == input_report.UNCHECKED)
    assert said.severity is Severity.WARNING


def test_errors_of_another_kind_come_through() -> None:
    def fail() -> None:
        raise HeadroomError("so")

    with pytest.raises(HeadroomError, match="so"):
        bounded_reading.within(5, fail)
    assert bounded_reading.within(5, lambda: 7) == 7


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("told", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "3221225472\n"}, 3 * 2**30),  # in a container, cgroup v2
        ("0::/a/b\n", {"a/memory.max": "1073741824\n", "a/b/memory.max": "max\n", "memory.max": "max\n"}, 2**30),
        ("0::/kubepods/pod1/c1\n", {"memory.max": "2147483648\n"}, 2**31),  # the host's path in a container
        ("4:memory:/x\n0::/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/x/memory.limit_in_bytes": "4096\n"}, 4096),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {}, None),
        ("", {}, None),
        ("nonsense", {}, None),
        ("0::/../../etc\n", {"memory.max": "12\n"}, 12),
    ],
)  # fmt: skip
def test_the_limit_of_the_cgroup(tmp_path: Path, told: str, files: dict[str, str], limit: int | None) -> None:
    for name, text in files.items():
        (tmp_path / "fs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fs" / name).write_text(text)
    (tmp_path / "cgroup").write_text(told)
    assert bounded_reading.cgroup_memory_bytes(tmp_path / "cgroup", tmp_path / "fs") == limit
    assert bounded_reading.cgroup_memory_bytes(tmp_path / "none", tmp_path / "fs") is None


def test_no_more_is_unpacked_than_a_third_of_what_the_cgroup_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_reading, "cgroup_memory_bytes", lambda: 3 * 2**30)
    assert bounded_reading.limit_bytes() == 2**30
    assert bounded_reading.limit_bytes("2Gi") == 2**31, "who says how much is meant"
    monkeypatch.setattr(bounded_reading, "cgroup_memory_bytes", lambda: None)
    assert bounded_reading.limit_bytes() == LARGEST_UNPACKED_BYTES


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux tells how much there is")
def test_what_needs_more_memory_than_it_may_have_is_an_error() -> None:
    with pytest.raises(InputError, match="more memory"), bounded_reading.memory(2**28):
        bytearray(2**30)
    assert len(bytearray(2**29)) == 2**29, "the bound stayed"
