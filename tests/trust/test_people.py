"""Several people at once on the running app, at a size that continuous integration bears; `make trust` holds more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.running_app import RunningApp, running_app
from tests.trust.people import PAGES, hold, percentile, resident_mib


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningApp, Path]]:
    log = tmp_path_factory.mktemp("app") / "server.log"
    with running_app(log) as running:
        yield running, log


def test_all_pages_for_several_at_once(app: tuple[RunningApp, Path]) -> None:
    running, log = app
    visits = hold(running.address, 4, rounds=4, think_seconds=0.1)
    assert visits.errors == []
    assert len(visits.first) + len(visits.later) == 16
    assert resident_mib(running.pid)["workers"] > 0, "heavy work is done beside the server"
    assert "Traceback" not in log.read_text(encoding="utf-8")


def test_every_page_answers_a_websocket(app: tuple[RunningApp, Path]) -> None:
    running, _ = app
    for page in PAGES:
        assert hold(running.address, 1, rounds=1, think_seconds=0, pages=[page]).errors == [], page


def test_the_server_guards_itself(app: tuple[RunningApp, Path]) -> None:
    running, _ = app
    with urlopen(f"{running.url}/", timeout=20) as answer:
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    with pytest.raises(OSError, match="421"):
        urlopen(Request(f"{running.url}/", headers={"Host": "rebound.example"}), timeout=20)
    evil = hold(running.address, 1, rounds=1, think_seconds=0, host="rebound.example")
    assert len(evil.errors) == 1
    assert "403" in evil.errors[0]


def test_percentiles() -> None:
    assert percentile([], 0.95) == 0
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95
