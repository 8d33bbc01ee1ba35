"""Pages that ask a Prometheus about money: GPUs held and not used, lives of one's own spot nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.ground.records import replace
from planner.history.snapshot_rows import rows_of
from planner.sources import demo
from planner.sources.store import Store
from tests.cli.test_tokens import counters
from tests.pages.visiting import said, visit
from tests.sources.nodes_and_gpus import metrics
from tests.sources.prometheus_server import running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("prometheus"), data=metrics()) as url:
        yield url


def read(app: AppTest, key: str, url: str) -> str:
    app.text_input(key=f"{key}_url").set_value(url)
    app.selectbox(key=f"{key}_days").set_value(1)
    next(one for one in app.button if one.label == "Read").click().run()
    assert not app.exception
    return said(app)


def test_gpus_that_are_held_and_not_used(address: str) -> None:
    app = visit("costs")
    assert "A request says that a GPU is held, not that it works" in said(app)
    words = read(app, "_gpu_use", address)
    assert "4 GPUs over 1 day from http" in words
    assert "2 of 26 held GPUs are held and not used by 2 pods, $378 a month" in words
    app.number_input(key="idle_minutes").set_value(10 * 60.0).run()
    assert "1 of 26 held GPUs is held and not used" in said(app)


def test_what_a_million_tokens_cost_where_prometheus_has_the_counters_of_vllm(tmp_path: Path) -> None:
    with running(tmp_path, data=counters()) as url:
        app = visit("costs")
        read(app, "_gpu_use", url)
    (tokens,) = [one.value for one in app.dataframe if "$/million tokens" in one.value]
    assert list(tokens["Model"])[:1] == ["llama"]
    assert str(tokens["$/million tokens"].iloc[0]).startswith("$")
    assert f"${tokens['$/month'].sum():,.0f} a month" in said(app)


def test_a_prometheus_without_exporters_is_a_sentence(tmp_path: Path) -> None:
    with running(tmp_path) as url:
        words = read(visit("costs"), "_gpu_use", url)
    assert "none of DCGM_FI_PROF_GR_ENGINE_ACTIVE" in words
    assert "Who pays" in {one.label for one in visit("costs").tabs}


def test_own_nodes_count_in_the_estimate(address: str) -> None:
    query = {
        "workload": "Deployment/prod/ml-worker",
        "runs": "300",
        "about": "Spot",
        "spot": "true",
        "part": "How much",
    }
    app = visit("rollout", None, **query)
    before = next(str(one.value) for one in app.markdown if str(one.value).startswith("Expected:"))
    words = read(app, "_own_nodes", address)
    assert "2 losses in 71 watched node-hours of 5 spot nodes" in words
    assert "Back-test: fitted on the first half" in words
    assert before not in [str(one.value) for one in app.markdown]


def test_the_stores_nodes_count_where_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = demo.read()
    store = Store(str(tmp_path))
    for hours in range(5, 0, -1):
        one = replace(snapshot, taken_at=snapshot.taken_at - 3_600 * hours)
        store.write("edu", one, rows_of(one, (), written_by="test"))
    monkeypatch.setenv("HEADROOM_STORE", str(tmp_path))
    words = said(visit("fleet_savings", None, own_store="true"))
    assert f"store {tmp_path}: 0 losses in" in words
    assert "the default rate stays" in words
