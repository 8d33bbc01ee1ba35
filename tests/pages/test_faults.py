"""What breaks around the pages: each says what is missing, and shows the rest."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from planner.ground.errors import SourceError
from planner.ground.records import replace
from planner.history.snapshot_rows import rows_of
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.serve import dashboard_mounts
from planner.serve.processes import answers_for_store
from planner.sources import demo, watched_cluster
from planner.sources.cluster_argument import CLUSTER_VARIABLE
from planner.sources.prices import embedded_book
from planner.sources.store import Store
from planner.ui.history_store import VARIABLE
from tests.pages.visiting import said, visit

PRICED = ("overview", "costs", "fleet_savings", "plan", "rollout")


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three days of two clusters."""
    folder, snapshot = tmp_path / "store", demo.read()
    answers = answers_for_store.answers(snapshot, Inputs(book=embedded_book()), ("overview", "costs"))
    for cluster in ("east", "west"):
        for day in range(3):
            then = replace(snapshot, taken_at=snapshot.taken_at - day * 86_400)
            Store(str(folder)).write(cluster, then, rows_of(then, answers, written_by="test"))
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


def cut_short(folder: Path, pattern: str) -> None:
    files = [path for path in folder.rglob(pattern) if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:60])


# ── the store ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_cluster_whose_files_are_damaged_is_named_and_the_others_are_shown(store: Path) -> None:
    whole = said(visit("history"))
    assert "couldn't be read" not in whole
    st.cache_resource.clear()
    cut_short(store, "*east*/**/*.parquet")
    found = said(visit("history"))
    assert "of the store couldn't be read" in found
    assert "cluster=east" in found
    assert "3 snapshots from" in found, "west is all there"


@pytest.mark.parametrize("page", ["overview", "rollout", "costs"])
def test_a_store_that_is_all_damaged_costs_no_other_page(store: Path, page: str) -> None:
    cut_short(store, "*.parquet")
    cut_short(store, "*.json")
    words = said(visit("history"))
    assert "This can't be answered" in words
    st.cache_resource.clear()
    assert "This can't be answered" not in said(visit(page))


def test_a_store_that_is_gone_says_so_and_costs_no_other_page(store: Path) -> None:
    shutil.rmtree(store)
    words = said(visit("history"))
    assert "there is no snapshot" in words or "This isn't known" in words
    assert "Stuck" in said(visit("rollout"))


# ── prices ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("page", PRICED)
def test_refreshed_prices_that_are_damaged_give_way_to_those_that_came_along(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    whole = said(visit(page))
    st.cache_resource.clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "headroom").mkdir()
    (tmp_path / "headroom" / "gcp-prices.csv").write_text("cut off in the mid")
    words = said(visit(page))
    assert "This can't be answered" not in words
    assert words.count("The refreshed prices can't be read") == 1
    left = [line for line in whole.splitlines() if line not in words.splitlines()]
    assert left == []


# ── a live cluster ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("page", ["overview", "inventory", "history"])
def test_a_live_cluster_that_was_never_reached_is_said(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(context: str) -> Snapshot:
        raise SourceError(
            "the server's certificate isn't trusted: certificate has expired", where=context, fix="Renew it"
        )

    monkeypatch.setenv(CLUSTER_VARIABLE, "context:edge")
    monkeypatch.setattr(watched_cluster, "reader", refuse)
    words = said(visit(page))
    assert "certificate has expired" in words
    assert "Renew it" in words


# ── certificates ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_certificate_that_expires_is_said_above_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        dashboard_mounts, "warning", lambda: "this server's certificate expires in 5 days (2026-11-27 09:00 UTC)"
    )
    for page in ("overview", "inventory"):
        assert "This server's certificate expires in 5 days" in said(visit(page))
    monkeypatch.setattr(dashboard_mounts, "warning", str)
    assert "certificate expires" not in said(visit("overview"))


@pytest.mark.parametrize(
    "text", ['{"kind":"List","items":[]}', '{"kind":"List","items":[{"kind":"Pod","metadata":{"na']
)
def test_a_dashboard_begun_with_a_file_that_cannot_be_read_says_which_and_what_to_do(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words as for an upload, where the page asks for another cluster."""
    file = tmp_path / "cluster.json"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv(CLUSTER_VARIABLE, str(file))
    app = visit("health")
    assert app.title[0].value == "Which cluster?"
    assert [box.proto.title for box in app.error] == ["✗ This file can't be read"]
    assert "Where: cluster.json" in app.error[0].value.replace("\\", "")
