from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from planner.ground.errors import SourceError
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.sources import kubeconfig, watched_cluster
from tests.pages.clusters import full, node, worker
from tests.pages.visiting import said, visit

GOOD = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("node-0", 1), *worker(1)]}).encode()


def read(app: AppTest) -> Any:
    """How each kind was read."""
    return next(one.value for one in app.dataframe if "State" in one.value).set_index("Kind")


def upload(data: bytes, name: str = "mine.json") -> AppTest:
    return visit("inventory").file_uploader[0].upload(name, data).run()


def test_the_demo_says_what_was_read() -> None:
    app = visit("inventory")
    kinds = read(app)
    assert kinds.loc["Node", "Objects"] == 24
    assert kinds.loc["Node", "State"] == "✓ read"
    assert "Not in the input, and nothing that was read asks for them: " in said(app)
    assert "kubectl get nodes" in said(app)
    assert any("How to fix it" in one.value for one in app.dataframe)


def test_an_upload_is_looked_at_from_then_on() -> None:
    app = upload(gzip.compress(GOOD), "mine.json.gz")
    assert "dialog" not in app.query_params, "it closes over what was read"
    assert app.selectbox(key="cluster").value == "mine.json.gz"
    assert "1 workload would get stuck" in said(app)
    app.selectbox(key="cluster").select("demo").run()
    app.switch_page("rollouts.py").run()
    assert len(app.dataframe[-1].value) > 10


def test_an_upload_that_cannot_be_read_keeps_what_was_there() -> None:
    for data in (b"not a cluster", b"\x1f\x8b broken", b"", b"[1, 2"):
        app = upload(data)
        assert app.error[0].proto.title == "✗ This file can't be read"
        assert "Still looking at demo" in said(app)
        assert app.selectbox(key="cluster").value == "demo"


def test_a_damaged_part_is_used_but_not_silently() -> None:
    broken = node("node-1", 1)
    broken["status"]["allocatable"]["cpu"] = "NaN"
    items = [node("node-0", 1), broken, *worker(1)]
    app = upload(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode())
    assert "1 part could not be used" in said(app)
    found = next(one.value for one in app.dataframe if "How to fix it" in one.value)
    assert any("NaN" in str(cell) for cell in found["What"])


@pytest.fixture
def one_context(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    st.cache_data.clear()  # the list of contexts is kept for a minute
    monkeypatch.setattr(kubeconfig, "contexts", lambda: ("prod-cluster",))
    yield monkeypatch
    st.cache_data.clear()


class Still:
    """A reader of a cluster in which nothing happens."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def first(self, _seconds: float) -> Snapshot:
        return self.snapshot

    def age_seconds(self, _snapshot: Snapshot) -> float:
        return 3_600.0


def test_a_context_that_does_not_answer_keeps_what_was_there(one_context: pytest.MonkeyPatch) -> None:
    def refuse(context: str) -> Still:
        raise SourceError("The API server doesn't answer", where=f"context:{context}", fix="Check the VPN")

    one_context.setattr(watched_cluster, "reader", refuse)
    app = visit("inventory")
    next(button for button in app.button if button.label == "Read it").click().run()
    assert "The API server doesn't answer" in said(app)
    assert "context:prod-cluster" in said(app)
    assert "Still looking at demo" in said(app)


def test_a_context_is_read_and_looked_at(one_context: pytest.MonkeyPatch) -> None:
    one_context.setattr(watched_cluster, "reader", lambda _: Still(full()))
    app = visit("inventory")
    next(button for button in app.button if button.label == "Read it").click().run()
    assert app.selectbox(key="cluster").value == "small.json"


def test_refused_is_not_empty() -> None:
    given = Snapshot(
        taken_at=1.0, source="live", digest="0", presence=FrozenMap({"Node": Presence.REFUSED, "Pod": Presence.PRESENT})
    )
    kinds = read(visit("inventory", given))
    assert "refused (403)" in str(kinds.loc["Node", "State"])
    assert kinds["Objects"].isna()["Node"]


def test_an_old_snapshot_of_ones_own_is_told_to_be_old() -> None:
    given = Snapshot(taken_at=1_700_000_000.0, source="old.json", digest="0")
    assert " d old: the cluster may look different now" in said(visit("inventory", given))
