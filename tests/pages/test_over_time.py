"""History and Clusters: pages over a store, and over several clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from planner.ground.records import replace
from planner.history.snapshot_names import time_text
from planner.history.snapshot_rows import rows_of
from planner.kubernetes.object_records import Strategy
from planner.questions.question import Inputs
from planner.serve.processes import answers_for_store
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.sources.store import Store
from planner.ui import history_store, upload_cache
from planner.ui.history_store import VARIABLE
from planner.ui.uploads import ReadFiles
from tests.architecture.tree import ROOT
from tests.pages.visiting import said, visit

DAYS = 20


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Twenty days of one cluster, its L4 filling by one every two days; one day of another."""
    folder = str(tmp_path_factory.mktemp("store"))
    store, snapshot = Store(folder), demo.read()
    answers = answers_for_store.answers(snapshot, Inputs(book=embedded_book()), ("overview", "costs"))
    for day in range(DAYS):
        one = replace(snapshot, taken_at=snapshot.taken_at - 86_400 * (DAYS - 1 - day))
        rows = rows_of(one, answers, written_by="test")
        for row in rows["pools"]:
            if row["gpu_model"] == "L4" and row["resource"] == "nvidia.com/gpu":
                row.update(allocatable=7, requested=1 + day // 4, free=6 - day // 4)
        store.write("prod@eu", one, rows)
    store.write("dev", snapshot, rows_of(snapshot, answers, written_by="test"))
    return folder


@pytest.fixture
def store(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(VARIABLE, url)
    st.cache_resource.clear()
    yield url
    st.cache_resource.clear()


def test_without_a_store_the_page_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    words = said(visit("history", cluster="ml-platform"))
    assert "No store is named" in words
    assert "HEADROOM_STORE=URL" in words
    assert "Nothing to compare with" in said(visit("compare", cluster="ml-platform"))


def test_the_demo_has_a_history_that_says_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    app = visit("history", model="T4")
    words = said(app)
    assert "made up, to show this page" in words
    assert "3 snapshots from 2026-11-06" in words
    assert "$37,309 a month, $5,075 of it idle; $36,870 on 2026-11-06" in words  # made with the prices that come along
    cells = [str(cell) for frame in app.dataframe for cell in frame.value.to_numpy().ravel()]
    assert "between 2026-11-13 09:02 UTC and 2026-11-20 09:02 UTC" in cells
    app.selectbox(key="moment").set_value("2026-11-06T09:02:50Z").run()
    app.button(key="look-at-moment").click().run()
    assert app.session_state["cluster"] == "demo@2026-11-06T09:02:50Z"
    assert "3 snapshots from 2026-11-06" in said(app)


def test_the_demo_is_compared_with_a_week_before_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    app = visit("compare")
    words = said(app)
    assert "made up, to show this page" in words
    assert "1 workload became stuck (Deployment/dev/inference-api)" in words
    assert "Deployment/prod/ml-worker" in str([frame.value for frame in app.dataframe])
    assert "2026-11-13T09:02:50Z" in app.query_params["from"]
    assert "2026-11-20T09:02:50Z" in app.query_params["to"]
    older = said(visit("compare", None, **{"from": "2026-11-06T09:02:50Z", "to": "2026-11-13T09:02:50Z"}))
    assert "1 workload became stuck (Deployment/prod/llm-serve)" in older
    assert "Not every change gets through" in said(visit("compare", changes="drain:pool/gpu-t4"))


def test_history_says_when_a_model_is_full_since_when_and_what_to_commit(store: str) -> None:
    app = visit("history", clusters="prod@eu", model="L4", lead_days="30")
    words = said(app)
    assert "A100: full today" in words
    expected = next(one.value for one in app.dataframe if "What to expect" in one.value)
    sentences = "\n".join(map(str, expected["What to expect"]))
    assert "order now (by 2026-" in sentences
    assert "full in about" in sentences
    assert "20 snapshots from 2026-11-01" in words
    assert "8 held today, of which 8 would go to spot by the plan of savings" in words
    assert "$36,972 a month, $4,974 of it idle" in words


def test_a_moment_of_the_store_is_looked_at_on_every_page(store: str) -> None:
    first = time_text(demo.read().taken_at - 86_400 * (DAYS - 1))
    app = visit("history", moment_of="prod@eu", moment=first)
    app.button(key="look-at-moment").click().run()
    assert app.session_state["_clusters"][-1].source == f"prod@eu@{first}"
    assert app.session_state["cluster"] == f"prod@eu@{first}"


@pytest.mark.usefixtures("store")
def test_a_snapshot_of_the_store_is_one_record_for_all_visits() -> None:
    """Its name is worked out of all that it holds, and its tables are kept with it."""
    newest = history_store.latest("prod@eu")
    assert newest.source == f"prod@eu@{time_text(newest.taken_at)}"
    assert history_store.latest("prod@eu") is newest


@pytest.mark.parametrize(("name", "value"), [("time_zone", "Middle/Earth"), ("lead_days", "-3"), ("clusters", "none"),
                                             ("from", "soon"), ("moment", "<b>"), ("fall", "7")])  # fmt: skip
def test_what_a_link_asks_in_vain_is_said_and_nothing_breaks(store: str, name: str, value: str) -> None:
    words = said(visit("history", None, **{name: value}))
    assert "Our mistake" not in words
    assert "is no time zone" in words or "the default is used" in words.lower()


def test_a_store_that_is_gone_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nothing"))
    st.cache_resource.clear()
    words = said(visit("history"))
    assert "Our mistake" not in words
    assert "There is no snapshot" in words
    monkeypatch.setenv(VARIABLE, "ftp://nowhere")
    assert "A store is a path or a URL" in said(visit("history"))


def test_clusters_stand_side_by_side(store: str) -> None:
    app = visit("clusters", clusters="demo")
    assert "5 workloads stuck in 1 cluster" in said(app)
    app.multiselect(key="clusters").set_value(["demo", "dev (store)"]).run()
    words = said(app)
    assert "10 workloads stuck in 2 clusters" in words
    assert "$73,944 a month" in words
    workloads = next(one.value for one in app.dataframe if "Ready" in one.value)
    assert len(workloads) == 40


def test_where_something_fits_is_asked_by_its_shape() -> None:
    words = said(visit("clusters", clusters="demo", shape="cpu=1", replicas="2"))
    assert "It fits in 1 of 1 cluster: demo ($" in words
    assert "It fits nowhere" in said(visit("clusters", shape="gpu=8"))
    assert "is not an amount" in said(visit("clusters", shape="gpu"))


def test_two_times_of_the_store_are_compared_and_since_when_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, snapshot = Store(str(tmp_path)), demo.read()
    easy = tuple(
        replace(one, strategy=Strategy(max_surge=0, max_unavailable=1))
        if one.key == "Deployment/dev/inference-api"
        else one
        for one in snapshot.workloads
    )
    for day, workloads in enumerate((easy, snapshot.workloads)):
        one = replace(snapshot, workloads=workloads, digest=f"{day}" * 32, taken_at=snapshot.taken_at + 86_400 * day)
        store.write(
            "prod", one, rows_of(one, answers_for_store.answers(one, Inputs(), ("overview",)), written_by="test")
        )
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    app = visit("compare", two_times="true")
    assert "No verdict differs" not in said(app)
    assert "From prod@" in said(app)
    cells = [str(cell) for frame in app.dataframe for cell in frame.value.to_numpy().ravel()]
    assert "Deployment/dev/inference-api" in cells
    assert "between 2026-11-20 09:02 UTC and 2026-11-21 09:02 UTC" in cells


def test_two_uploads_are_a_history_which_a_link_finds_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    snapshot = demo.read()
    easy = tuple(
        replace(one, strategy=Strategy(max_surge=0, max_unavailable=1))
        if one.key == "Deployment/dev/inference-api"
        else one
        for one in snapshot.workloads
    )
    mine = replace(snapshot, source="today.json", digest="b" * 32)
    before = replace(mine, source="lastweek.json", workloads=easy, digest="a" * 32, taken_at=mine.taken_at - 604_800)
    held = {before.digest[:16]: before}
    monkeypatch.setattr(upload_cache, "find", held.get)  # what the browser gave before its page was loaded again
    label = f"lastweek.json, 2026-11-13 09:02 UTC ({'a' * 16})"
    words = said(visit("history", mine, **{"from": label}))
    assert "1 workload became stuck (Deployment/dev/inference-api)" in words
    assert "From lastweek.json" in words
    assert "Nothing to compare with" in said(visit("history", mine, **{"from": f"other.json ({'c' * 16})"}))


def test_a_manifest_is_asked_where_it_fits() -> None:
    app = visit("clusters")
    manifest = (ROOT / "docs/examples/manifests/llm-serve.yaml").read_text(encoding="utf-8")
    app.session_state["_where_manifest-kept"] = ReadFiles(names=("llm-serve.yaml",), of=None, value=manifest)
    app.run()
    assert not app.exception
    assert "read: llm-serve.yaml" in said(app)
    assert {"Where", "Verdict"} & {name for frame in app.dataframe for name in frame.value.columns}
    assert any(word in said(app) for word in ("It fits", "It fits nowhere", "Not known"))
