from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import InputError, SourceError
from planner.sources.prometheus_usage import Bounds, Prometheus, _stretches, container_usage
from tests.ports import dead
from tests.sources.prometheus_server import END, MIB, SCRAPE_SECONDS, START, running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("prometheus"), "--query.max-samples=20000") as url:
        yield url


# ── a real Prometheus ────────────────────────────────────────────────────────────────────────────────────────────────
def requests_of(server: Prometheus, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that it asks from now on."""
    asked: list[str] = []
    post = server._session.post

    def noted(url: str, **more: Any) -> requests.Response:
        asked.append(url)
        return post(url, **more)

    monkeypatch.setattr(server._session, "post", noted)
    return asked


def test_peaks_between_the_steps_are_not_missed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Prometheus(url=address)
    asked = requests_of(server, monkeypatch)
    by_pod = {
        one.pod: one for one in container_usage(server, namespaces=["dev"], start=START, end=END, step_seconds=600)
    }
    assert by_pod["api-6c6bb8f8c6-kzqs6"].working_set_bytes == 900 * MIB
    assert by_pod["gone-7d4f98d77-7ggxb"].working_set_bytes == 64 * MIB
    assert len(asked) == 2


def test_sandboxes_and_pod_cgroups_do_not_count(address: str) -> None:
    found = container_usage(Prometheus(url=address), namespaces=["dev", "prod"], start=START, end=END)
    assert sorted((one.namespace, one.container) for one in found) == [("dev", "api"), ("dev", "gone"), ("prod", "api")]


def test_cpu_is_the_95th_percentile_in_millicores(address: str) -> None:
    found = container_usage(Prometheus(url=address), namespaces=["dev", "prod"], start=START, end=END)
    by_pod = {one.pod.partition("-")[0] + one.namespace: one for one in found}
    assert by_pod["apidev"].cpu_millicores == 1_000
    assert by_pod["apiprod"].cpu_millicores == 250
    assert by_pod["gonedev"].cpu_millicores == 50


def test_the_stretch_and_the_source_are_told(address: str) -> None:
    one = container_usage(Prometheus(url=address), namespaces=["prod"], start=START, end=END, step_seconds=300)[0]
    assert (one.started_at, one.ended_at) == (START + 300, END)
    assert one.samples == (END - START) // 300
    assert one.source == f"Prometheus at {address}"


@pytest.mark.parametrize("points", [7, 50, 1_000])
def test_pieces_give_what_one_answer_gives(address: str, points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expression = 'container_memory_working_set_bytes{container="api"}'
    asked = {"start": START, "end": END, "step_seconds": 120}
    whole = Prometheus(url=address).query_range(expression, **asked)
    pieced_server = Prometheus(url=address, bounds=Bounds(points_per_request=points))
    requested = requests_of(pieced_server, monkeypatch)
    pieced = pieced_server.query_range(expression, **asked)
    total = (END - START) // 120 + 1
    assert len(requested) == -(-total // points)
    assert {one.labels["namespace"] for one in pieced} == {"dev", "prod"}
    for one in whole:
        other = next(o for o in pieced if o.labels == one.labels)
        assert np.array_equal(one.times, other.times)
        assert np.array_equal(one.values, other.values)
        assert len(one.times) == total


def test_points_that_a_server_aligned_to_the_step_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """VictoriaMetrics begins a stretch at a multiple of the step before it, and ends it at one after it, in each piece anew; what lies a step
    away is of another stretch."""

    def aligned(_: Prometheus, path: str, form: dict[str, str]) -> bytes:
        step, start, end = int(form["step"]), float(form["start"]), float(form["end"])
        times = range(int(start // step) * step, int(-(-end // step) + 1) * step, step)
        points = [[at, "1"] for at in (*times, times[0] - 40 * step, times[-1] + 40 * step)]
        answer = {"resultType": "matrix", "result": [{"metric": {}, "values": points}]}
        return json.dumps({"status": "success", "data": answer}).encode()

    monkeypatch.setattr(Prometheus, "_post", aligned)
    server = Prometheus(url="http://prometheus.example", bounds=Bounds(points_per_request=5))
    (series,) = server.query_range("up", start=1_030, end=1_630, step_seconds=60)
    assert series.times.tolist() == [float(at) for at in range(1_020, 1_681, 60)]


def test_values_are_those_that_were_backfilled(address: str) -> None:
    series = Prometheus(url=address).query_range(
        'container_memory_working_set_bytes{namespace="prod"}',
        start=START,
        end=START + 300,
        step_seconds=SCRAPE_SECONDS,
    )
    assert series[0].values.tolist() == [(1_000 + index) * MIB for index in range(11)]


def test_a_broken_query_is_explained(address: str) -> None:
    with pytest.raises(SourceError, match=r"refused the query \(400\).*parse error"):
        Prometheus(url=address).query_range("sum(", start=START, end=END, step_seconds=60)


def test_a_query_over_the_servers_own_limit_is_explained(address: str) -> None:
    with pytest.raises(SourceError, match=r"refused the query \(422\).*too many samples"):
        Prometheus(url=address).query_range(
            "sum_over_time(container_memory_working_set_bytes[8h:1s])", start=END - 60, end=END, step_seconds=10
        )


def test_nothing_known_is_an_error_not_an_empty_list(address: str) -> None:
    with pytest.raises(SourceError, match="has no container_memory_working_set_bytes for nowhere"):
        container_usage(Prometheus(url=address), namespaces=["nowhere"], start=START, end=END)


def test_a_namespace_cannot_smuggle_in_a_query(address: str) -> None:
    with pytest.raises(SourceError, match="has no"):
        container_usage(Prometheus(url=address), namespaces=['x"} or {a="'], start=START, end=END)


def test_too_many_series_are_refused(address: str) -> None:
    server = Prometheus(url=address, bounds=Bounds(series_per_request=2))
    with pytest.raises(SourceError, match="has 5 series for one query, and at most 2"):
        server.query_range("container_memory_working_set_bytes", start=START, end=START + 60, step_seconds=60)


def test_too_many_bytes_are_refused(address: str) -> None:
    server = Prometheus(url=address, bounds=Bounds(bytes_per_request=1_000))
    with pytest.raises(SourceError, match="sends more than"):
        server.query_range("container_memory_working_set_bytes", start=START, end=END, step_seconds=60)


# ── bounds and input ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_too_many_points_are_refused_before_anything_is_asked() -> None:
    server = Prometheus(url="http://127.0.0.1:1")
    with pytest.raises(InputError, match="86,401 points"):
        server.query_range("up", start=0, end=86_400, step_seconds=1)


@pytest.mark.parametrize(("start", "end", "step"), [(10.0, 5.0, 1), (0.0, 5.0, 0), (0.0, float("inf"), 1)])
def test_no_stretch_of_time(start: float, end: float, step: int) -> None:
    with pytest.raises(InputError, match="no stretch of time"):
        Prometheus(url="http://127.0.0.1:1").query_range("up", start=start, end=end, step_seconds=step)


@pytest.mark.parametrize(
    "url", ["", "prometheus:9090", "ftp://host", "file:///etc/passwd", "http://", "http://h:9090/?q=1"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError, match="is not the address of a Prometheus server"):
        Prometheus(url=url)


def test_no_namespace() -> None:
    with pytest.raises(InputError, match="no namespace"):
        container_usage(Prometheus(url="http://127.0.0.1:1"), namespaces=[], start=0, end=10)


def test_password_and_token_are_never_shown() -> None:
    server = Prometheus(url="http://me:hunter2@127.0.0.1:1", token="s3cr3t")
    with pytest.raises(SourceError) as caught:
        server.query_range("up", start=0, end=10, step_seconds=1)
    assert "hunter2" not in f"{caught.value} {server.address}"
    assert "s3cr3t" not in f"{caught.value} {server!r}"


@given(st.integers(0, 5_000), st.integers(1, 400), st.integers(1, 50))
def test_stretches_hold_every_point_once(length: int, step: int, most: int) -> None:
    points = [
        at for first, last in _stretches(100, 100 + length, step, most) for at in range(int(first), int(last) + 1, step)
    ]
    assert points == list(range(100, 100 + length + 1, step))


# ── servers that misbehave ───────────────────────────────────────────────────────────────────────────────────────────
Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def sends(status: int, body: str, content_type: str = "application/json", **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        data = body.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        for name, value in {"Content_Length": str(len(data)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


EMPTY = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (sends(401, "no"), "wants to know who asks"),
        (sends(403, "no"), "doesn't allow this"),
        (sends(404, "404 page not found"), "has no query API there"),
        (sends(302, "", Location="https://login.example/"), "sends elsewhere"),
        (sends(429, ""), "asked too often"),
        (sends(500, "boom"), "status 500: no reason given"),
        (  # of a Prometheus whose --query.timeout is over; one with a millisecond answered in time on a good day
            sends(503, '{"status":"error","errorType":"timeout","error":"query timed out in expression evaluation"}'),
            r"not able to answer now \(503\): query timed out in expression evaluation",
        ),
        (sends(422, '{"status":"error","errorType":"execution","error":"too many"}'), r"\(422\): too many"),
        (sends(200, '{"status":"error","errorType":"internal","error":"odd"}'), "refused the query: internal: odd"),
        (sends(200, "<!DOCTYPE html><title>Sign in</title>", "text/html"), "web page"),
        (sends(200, '{"status":"success","data":{"resultType":"vector","result":[]}}'), "with a vector"),
        (sends(200, '{"status":"success"}'), "refused the query"),
        (sends(200, '{"hello":"world"}'), "isn't Prometheus' format"),
        (sends(200, EMPTY[:40]), "cut-off JSON"),
        (sends(200, '{"status":"success","data":{"result":' + "[" * 100_000), "got `array`"),
        (sends(500, '{"status":' + "[" * 100_000), "answered with status 500: no reason"),
        (sends(400, "\udcff".encode("utf-8", "surrogatepass").decode("latin-1")), r"\(400\): no reason given"),
        (
            sends(
                200, '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"pod":{}},"values":[]}]}}'
            ),
            "format",
        ),
        (
            sends(
                200, '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[["x","1"]]}]}}'
            ),
            "isn.t Prometheus. format",
        ),
        (sends(200, EMPTY, Content_Length=str(len(EMPTY) + 99)), "broke off"),
    ],
)
def test_answers_that_are_none(answer: Answer, words: str) -> None:
    with serving(answer) as url, pytest.raises(SourceError, match=words):
        Prometheus(url=url).query_range("up", start=0, end=60, step_seconds=30)


def test_a_redirect_is_not_followed_with_the_token() -> None:
    asked: list[str] = []

    def other(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        sends(200, EMPTY)(handler)

    with (
        serving(other) as elsewhere,
        serving(sends(307, "", Location=f"{elsewhere}/api/v1/query_range")) as url,
        pytest.raises(SourceError, match="sends elsewhere"),
    ):
        Prometheus(url=url, token="t").query_range("up", start=0, end=60, step_seconds=30)
    assert asked == []


def test_the_token_is_sent() -> None:
    seen: list[str | None] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers.get("Authorization"))
        sends(200, EMPTY)(handler)

    with serving(answer) as url:
        Prometheus(url=url, token="abc").query_range("up", start=0, end=60, step_seconds=30)
        Prometheus(url=url.replace("//", "//me:pw@")).query_range("up", start=0, end=60, step_seconds=30)
    assert seen == ["Bearer abc", "Basic bWU6cHc="]


def test_a_server_that_falls_silent() -> None:
    release = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b'{"status"')
        handler.wfile.flush()
        release.wait(30)

    with serving(answer) as url:
        try:
            with pytest.raises(SourceError, match="stopped answering"):
                Prometheus(url=url, bounds=Bounds(read_seconds=0.2)).query_range("up", start=0, end=60, step_seconds=30)
        finally:
            release.set()


def test_a_dead_server() -> None:
    with dead() as refusing:
        server = Prometheus(url=f"http://127.0.0.1:{refusing.getsockname()[1]}")
        with pytest.raises(SourceError, match="can't be reached"):
            server.query_range("up", start=0, end=60, step_seconds=30)


def test_numbers_that_are_none_are_left_out_and_warnings_kept() -> None:
    values = [
        [0, "1"],
        [30, "NaN"],
        [45, "1e300"],
        [50, "-5"],
        [55, "many"],
        [60, "+Inf"],
        [90, "4"],
        [1e300, "5"],
        [-30, "6"],
        [120, "7"],
    ]
    body = {
        "status": "success",
        "warnings": ["PromQL warning: partial answer"],
        "data": {"resultType": "matrix", "result": [{"metric": {"pod": "a"}, "values": values}]},
    }
    with serving(sends(200, json.dumps(body))) as url:
        server = Prometheus(url=url)
        series = server.query_range("up", start=0, end=90, step_seconds=30)
    assert series[0].values.tolist() == [1, 4]
    assert series[0].times.tolist() == [0, 90]
    assert server.warnings == ["PromQL warning: partial answer"]
