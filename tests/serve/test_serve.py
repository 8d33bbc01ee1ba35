"""``headroom serve`` as a process: recorded reviews over TLS, metrics, what is refused, and what it survives."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_fd_to_metric_families
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from planner.cli import serve
from planner.cli.cluster_argument import read_cluster
from planner.ground.errors import InputError, SourceError
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.serve import admission_review as admission
from planner.serve import review_processes, webhook
from planner.serve.admission_review import Silence
from planner.serve.caller_authentication import TOKENS
from planner.serve.cluster_metrics import cluster_metrics
from planner.serve.endpoint_paths import REVIEWS
from planner.serve.http_server import _body, _Places
from planner.serve.request_limits import LIMITS
from planner.serve.review_processes import LARGE
from planner.serve.snapshot_refresher import Keeper
from planner.serve.webhook import timeout_of
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.architecture.tree import ROOT
from tests.bench.webhook import certificate, connect, serving, update
from tests.builders.certificates import DAY
from tests.builders.certificates import certificate as dated
from tests.builders.objects import deployment, node, pod_spec, snapshot

RECORDED = json.loads((ROOT / "tests/serve/recordings/admission.json").read_text())
Address = tuple[int, Path]
UNHURRIED = "/v1/rollouts?timeout=600s"  # nothing here hangs on how fast the machine is


def cluster(folder: Path) -> str:
    """One GPU, held by the Deployment that the recorded client writes."""
    spec = pod_spec(gpus=1, cpu="3", memory="6Gi")
    items = [node("gpu-0", pool="gpu", gpus=1), *deployment("serve", ["gpu-0"], spec)]
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    folder = tmp_path_factory.mktemp("serve")
    with serving(cluster(folder), folder, "--workers", "1", "--within", "30") as address:
        yield address


def post(address: Address, body: bytes, path: str = UNHURRIED) -> tuple[int, Any]:
    with closing(connect(*address)) as connection:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
    return answer.status, json.loads(text) if answer.status == 200 else text.decode()


def get(address: Address, path: str, **headers: str) -> tuple[int, str, str]:
    with closing(connect(*address)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
    return answer.status, answer.headers["content-type"], text


def test_recorded_reviews_get_an_answer_over_tls(server: Address) -> None:
    warned = {}
    for step in RECORDED["steps"]:
        for sent in step["reviews"]:
            assert sent["path"].partition("?")[0] == UNHURRIED.partition("?")[0]
            status, answer = post(server, json.dumps(sent["body"]).encode())
            assert status == 200
            assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
            said = answer["response"]
            assert (said["uid"], said["allowed"]) == (sent["body"]["request"]["uid"], True)
            assert set(said) <= {"uid", "allowed", "warnings"}
            warned[step["name"]] = said.get("warnings", [])
    assert {name for name, said in warned.items() if not said} == {"create", "labels-only"}
    for said in filter(None, warned.values()):
        (warning,) = said
        assert len(warning) <= 256
        assert warning.isprintable()


def test_metrics_are_openmetrics_to_who_asks_for_them(server: Address) -> None:
    post(server, json.dumps(RECORDED["steps"][1]["reviews"][0]["body"]).encode())
    while "headroom_workloads{" not in get(server, "/metrics")[2]:
        time.sleep(0.1)  # worked out beside the server, a little after it is ready
    status, kind, text = get(server, "/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert (status, kind.split(";")[0]) == (200, "application/openmetrics-text")
    read = text_fd_to_metric_families(iter(text.splitlines(keepends=True)))  # type: ignore[no-untyped-call]
    families = {family.name: family for family in read}
    assert {"headroom_snapshot_age_seconds", "headroom_workloads", "headroom_gpus", "headroom_review_seconds"} <= set(
        families
    )
    said = {
        sample.labels["said"]: sample.value
        for sample in families["headroom_reviews"].samples
        if "said" in sample.labels
    }
    assert said["warned"] >= 1
    gpus = {sample.labels["state"]: sample.value for sample in families["headroom_gpus"].samples}
    assert (gpus["allocatable"], gpus["held"], gpus["free"]) == (1, 1, 0)
    (rollable,) = families["headroom_workload_rollable"].samples
    assert (rollable.labels["namespace"], rollable.labels["name"], rollable.value) == ("ml", "serve", 0)
    _, plain, text = get(server, "/metrics")
    assert plain.startswith("text/plain")
    assert list(text_string_to_metric_families(text))


def test_it_is_alive_and_ready(server: Address) -> None:
    assert get(server, "/healthz")[0] == get(server, "/readyz")[0] == 200
    assert get(server, "/v1/rollouts")[0] == 405
    assert get(server, "/anything")[0] == 404


def test_what_is_no_review_is_told_so(server: Address) -> None:
    status, said = post(server, b'{"kind": "Pod"}')
    assert status == 400
    assert "isn't an AdmissionReview" in said
    status, said = post(server, b" " * (LIMITS.body_bytes + 1))
    assert (status, said) == (413, "the review is too long\n")


def test_no_time_is_silence(server: Address) -> None:
    body = json.dumps(RECORDED["steps"][1]["reviews"][0]["body"]).encode()
    status, answer = post(server, body, "/v1/rollouts?timeout=0ms")
    assert (status, set(answer["response"])) == (200, {"uid", "allowed"})


def test_without_tls_nobody_gets_in(server: Address) -> None:
    with closing(http.client.HTTPConnection("localhost", server[0], timeout=10)) as connection:
        connection.request("GET", "/healthz")
        with pytest.raises((http.client.HTTPException, OSError)):
            connection.getresponse()
    with (
        closing(http.client.HTTPSConnection("localhost", server[0], timeout=10)) as connection,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        connection.request("GET", "/healthz")


def test_it_denies_only_when_told_to(tmp_path: Path) -> None:
    with serving(cluster(tmp_path), tmp_path, "--workers", "1", "--within", "30", "--deny", "stuck") as address:
        bodies = {step["name"]: json.dumps(step["reviews"][0]["body"]).encode() for step in RECORDED["steps"]}
        said = post(address, bodies["patch-image"])[1]["response"]
        assert said["allowed"] is False
        assert said["status"]["code"] == 403
        assert said["status"]["message"].startswith("headroom: this rollout would be stuck")
        assert post(address, bodies["labels-only"])[1]["response"]["allowed"] is True


def test_many_at_once_are_all_answered(server: Address) -> None:
    """More than may wait: the rest are told nothing at once, and every one gets an answer."""
    body = json.dumps(RECORDED["steps"][3]["reviews"][0]["body"]).encode()
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(post(server, body))) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [status for status, _ in answers] == [200] * 64
    assert all(answer["response"]["allowed"] for _, answer in answers)


def test_a_certificate_that_ends_soon_is_said_until_it_is_renewed(tmp_path: Path) -> None:
    now = time.time()
    pair = dated(tmp_path, now - 80 * DAY, now + 4.5 * DAY, "tls")
    with serving(cluster(tmp_path), tmp_path, "--workers", "1", pair=pair) as address:
        said = "this server's certificate expires in 4 days"
        assert get(address, "/readyz")[2].startswith(f"ok\n{said}")
        assert get(address, "/readyz")[0] == 200
        expiry = float(
            re.findall(r"(?m)^headroom_certificate_expiry_timestamp_seconds (\S+)$", get(address, "/metrics")[2])[0]
        )
        assert expiry == pytest.approx(now + 4.5 * DAY, abs=1.0)
        assert said in (tmp_path / "serve.log").read_text()
        dated(tmp_path, now - DAY, now + 89 * DAY, "tls")
        deadline = time.monotonic() + 120
        while True:
            try:
                if get(address, "/readyz")[2] == "ok\n":
                    break
            except ssl.SSLCertVerificationError:
                pass  # the file is new and what is shown isn't, for some seconds
            assert time.monotonic() < deadline, "the new one is never taken up"
            time.sleep(0.2)


def test_the_demo_is_warned_of_what_is_stuck(tmp_path: Path) -> None:
    known = demo.read()
    with serving("demo", tmp_path, "--within", "30") as address:
        for key, is_warned in (("Deployment/prod/llm-serve", True), ("Deployment/prod/web", False)):
            workload = known.workload(key)
            assert workload is not None
            for kind in ("image", "requests"):
                said = post(address, json.dumps(update(workload, 1, kind)).encode())[1]["response"]
                assert ("warnings" in said) is is_warned, (key, kind, said)


def test_a_file_is_read_anew_when_it_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    path = Path(cluster(tmp_path))

    def read(spec: str, *, is_replaced: bool) -> Snapshot:
        asked.append(spec)
        return read_cluster(spec, is_replaced=is_replaced)

    monkeypatch.setattr(serve, "read_cluster", read)
    read_anew = serve._reader(str(path))
    first = read_anew()
    assert read_anew() is first
    assert len(asked) == 1
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("other")]}))
    assert [one.name for one in read_anew().nodes] == ["other"]
    path.unlink()
    with pytest.raises(InputError):
        read_anew()
    assert serve._reader("demo")().nodes


# ── pieces ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_listing_that_fails_keeps_what_was_known() -> None:
    known, said, told = [snapshot(node("a"))], list[str](), list[Snapshot]()

    def read() -> Snapshot:
        if not known:
            raise SourceError("gone", where="the server")
        return known.pop()

    keeper = Keeper(
        read,
        lambda _: (),
        lambda found: cluster_metrics(found, Inputs()),
        every_seconds=5,
        know=lambda found, _pools: told.append(found),
        say=said.append,
    )
    keeper.list_anew()
    kept = keeper.kept
    assert kept is not None
    with pytest.raises(SourceError):
        keeper.list_anew()
    assert keeper.kept is kept
    known.append(kept.snapshot)
    keeper.list_anew()
    assert len(told) == 1, "the same cluster is sent once"
    assert keeper.kept.listed_at >= kept.listed_at
    keeper.tell()
    assert keeper.kept.metrics is not None


def test_families_are_bounded_and_say_what_they_left_out() -> None:
    found = cluster_metrics(demo.read(), Inputs(book=embedded_book()), most_series=3)
    assert all(len(family.samples) <= 3 for family in found.families)
    left = {family.name: family.left_out for family in found.families}
    assert left["workload_rollable"] == 17
    first = next(family for family in found.families if family.name == "workload_rollable")
    assert [number for _, number in first.samples] == [0, 0, 0], "those in trouble are the ones that are kept"


def test_what_is_told_of_the_demo() -> None:
    found = {
        family.name: dict(family.samples)
        for family in cluster_metrics(demo.read(), Inputs(book=embedded_book())).families
    }
    assert found["workloads"] == {
        ("completes",): 15,
        ("stuck",): 5,
        ("needs_growth",): 0,
        ("evictions_by_queue",): 0,
        ("unknown",): 0,
    }
    assert found["gpus"]["L4", "nvidia.com/gpu", "GPUs", "free"] == 1
    assert found["gpus"]["A100", "nvidia.com/gpu", "GPUs", "waited_for"] == 4
    assert sum(found["cost_usd_per_month"].values()) > 1000
    assert set(cluster_metrics(demo.read(), Inputs()).families) < set(
        cluster_metrics(demo.read(), Inputs(book=embedded_book())).families
    ), "without prices there is no cost, rather than 0"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2s", 2.0), ("1.5s", 1.5), ("500ms", 0.5), ("", None), ("1h", None), ("²s", None), ("-1s", None), ("s", None)],
)
def test_the_api_servers_timeout(text: str, seconds: float | None) -> None:
    assert timeout_of({"timeout": text}) == seconds


def test_a_certificate_without_its_key_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from planner.cli import main

    cert, key = certificate(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    _, foreign = certificate(other)
    for options, said in (
        (["--tls-cert", str(cert)], "one without the other"),
        (["--tls-cert", str(cert), "--tls-key", str(foreign)], "can't be used"),
        (["--tls-cert", str(key), "--tls-key", str(tmp_path / "none")], "can't be used"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["serve", "demo", *options])
        assert stopped.value.code == 1
        assert said in capsys.readouterr().err


# ── who asks ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_reviews_and_metrics_ask_for_a_token_or_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKENS[REVIEWS], "api-server")
    pair = certificate(tmp_path)
    body = json.dumps(RECORDED["steps"][1]["reviews"][0]["body"]).encode()
    with serving(cluster(tmp_path), tmp_path, "--workers", "1", "--client-ca", str(pair[0]), pair=pair) as (port, cert):
        assert post((port, cert), body)[0] == 401
        assert get((port, cert), "/metrics")[0] == 401
        assert get((port, cert), "/readyz")[0] == 200, "a kubelet shows nothing of itself"
        with closing(connect(port, cert)) as connection:
            connection.request("POST", UNHURRIED, body, {"Authorization": "Bearer api-server"})
            assert connection.getresponse().status == 200
        context = ssl.create_default_context(cafile=cert)
        context.load_cert_chain(*pair)
        with closing(http.client.HTTPSConnection("localhost", port, context=context, timeout=60)) as connection:
            for method, path in (("POST", UNHURRIED), ("GET", "/metrics")):
                connection.request(method, path, body if method == "POST" else None)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200, path


def test_a_client_authority_without_tls_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from planner.cli import main

    cert, _ = certificate(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "demo", "--client-ca", str(cert)])
    assert stopped.value.code == 1
    assert "come by TLS" in capsys.readouterr().err


# ── long reviews ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def _asked(parts: list[bytes], place: Callable[[], bool]) -> bytes | int:
    left = list(parts)

    async def receive() -> dict[str, Any]:
        if not left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    found = await _body(Request({"type": "http", "headers": []}, receive), place)
    return found if isinstance(found, bytes) else found.status_code


def test_long_reviews_have_so_many_places_and_short_ones_need_none() -> None:
    places = _Places()
    long = [b"x" * (LARGE // 2)] * 3
    with ExitStack() as held:
        for _ in range(LIMITS.large_bodies):
            assert asyncio.run(_asked(long, held.enter_context(places.one()))) == b"".join(long)
        with places.one() as none:
            assert asyncio.run(_asked(long, none)) == 503
            assert asyncio.run(_asked([b"short"], none)) == b"short"
    with places.one() as again:
        assert asyncio.run(_asked(long, again)) == b"".join(long)


def test_a_review_that_breaks_off_is_no_mistake() -> None:
    with _Places().one() as place:
        assert asyncio.run(_asked([], place)) == 400


def test_the_event_loop_makes_no_objects_of_a_review() -> None:
    """What isn't right within them is found where it is read, and is silence; the uid is the review's."""
    request = {"uid": "u", "object": [1]}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    assert admission.read_uid(body) == "u"
    assert not hasattr(webhook, "read_request")
    with pytest.raises(InputError):
        admission.read_request(body)
    with pytest.raises(InputError):
        admission.read_uid(body[:-3])
    found = review_processes._reviewed(demo.read(), (), body, time.monotonic() + 60)
    assert found.silence is Silence.NOT_KNOWN
