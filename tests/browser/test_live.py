"""A live cluster in a real browser: webhook, metrics and dashboard of one process, which follow what changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

from tests.bench.webhook import certificate
from tests.browser.dashboard import ROOT, Visitor
from tests.builders.objects import deployment, node, pod_spec
from tests.ports import reserved
from tests.sources import kubeconfigs
from tests.sources.api_server import Answer, Asked, Tls, api_server
from tests.sources.living import LivingCluster, status

RECORDED = json.loads((ROOT / "tests/serve/recordings/admission.json").read_text())
Visit = Callable[..., Visitor]


@dataclass
class Served:
    url: str
    cluster: LivingCluster
    is_gone: list[bool]
    log: Path
    items: list[dict[str, Any]]

    def get(self, path: str, body: bytes | None = None) -> tuple[int, str]:
        with urlopen(Request(f"{self.url}{path}", body), timeout=60) as answer:
            return answer.status, answer.read().decode()


def items() -> list[dict[str, Any]]:
    spec = pod_spec(gpus=1, cpu="3", memory="6Gi")
    return [node("gpu-0", pool="gpu", gpus=1), *deployment("serve", ["gpu-0"], spec)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("live")
    cluster, is_gone = LivingCluster(bookmark_seconds=1), [False]
    cluster.put_many(items())

    def play(asked: Asked) -> Answer:
        return (
            status(503, "the server is currently unable to handle the request") if is_gone[0] else cluster.play(asked)
        )

    tls = Tls(*certificate(folder))
    with api_server(play, tls) as (configuration, _):
        config = kubeconfigs.write(folder / "config", configuration.host, certificate_authority=tls.certificate)
        port = reserved()
        command = [sys.executable, "-c", "from planner.cli import main; main()", "serve", "context:edu", "--dashboard",
                   "--port", str(port), "--workers", "1", "--within", "30"]  # fmt: skip
        log = folder / "serve.log"
        environment = {**os.environ, "KUBECONFIG": str(config)}
        with (
            log.open("wb") as output,
            subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, env=environment) as process,
        ):
            found = Served(f"http://localhost:{port}", cluster, is_gone, log, items())
            try:
                wait(found, process)
                yield found
            finally:
                process.terminate()
                process.wait(20)


def wait(served: Served, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, served.log.read_text()
        try:
            if served.get("/readyz")[0] == 200:
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(served.log.read_text())


def test_one_process_answers_all_three(served: Served, visit: Visit) -> None:
    asked = json.dumps(RECORDED["steps"][1]["reviews"][0]["body"]).encode()
    review = json.loads(served.get("/v1/rollouts?timeout=600s", asked)[1])
    assert "stuck" in review["response"]["warnings"][0]
    told = served.get("/metrics")[1]
    assert "headroom_snapshot_age_seconds" in told
    assert "headroom_api_requests_per_minute_limit 600.0" in told
    assert 0 < float(told.partition("\nheadroom_api_requests_per_minute ")[2].partition("\n")[0]) <= 600
    assert served.get("/healthz") == (200, "ok\n")
    visitor = visit(url=served.url)
    visitor.open("rollout")
    expect(visitor.page.get_by_text("Live: as it ")).to_be_visible()
    expect(visitor.main().get_by_text("stuck").first).to_be_visible()


def test_the_page_follows_and_what_is_typed_stays(served: Served, visit: Visit) -> None:
    visitor = visit(url=served.url)
    visitor.open("rollout")
    field = visitor.page.get_by_label("maxSurge", exact=True).first
    field.click()
    field.press_sequentially("1")  # not entered: still being typed
    served.cluster.put(node("gpu-1", pool="gpu", gpus=1))
    try:
        expect(visitor.page.get_by_text("2 nodes").first).to_be_visible()
        expect(visitor.main().get_by_text("completes").first).to_be_visible()
        expect(field).to_have_value("1")
        visitor.settle()
    finally:
        served.cluster.delete(node("gpu-1", pool="gpu", gpus=1))
    expect(visitor.page.get_by_text("1 node").first).to_be_visible()
    assert "digest=" not in visitor.page.url, "a link to a live cluster is to the cluster, not to a moment of it"


def test_gone_the_pages_say_so_and_show_what_was_known(served: Served, visit: Visit) -> None:
    visitor = visit(url=served.url)
    visitor.open("headroom")
    served.is_gone[0] = True
    served.cluster.cut()
    try:
        expect(visitor.page.get_by_text("Not refreshed for").first).to_be_visible()
        for page in ("rollout", "costs", "memory"):
            visitor.open(page)
            expect(visitor.page.get_by_text("What was known is shown").first).to_be_visible()
            expect(visitor.page.get_by_text("1 node").first).to_be_visible()
    finally:
        served.is_gone[0] = False
    expect(visitor.page.get_by_text("Not refreshed for")).to_have_count(0)


def test_a_phone_in_the_dark(served: Served, visit: Visit) -> None:
    visitor = visit(url=served.url, width=390, height=844, scheme="dark")
    visitor.open("rollout")
    visitor.is_within_width()
