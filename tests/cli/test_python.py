"""Headroom from Python: docs/python.md says how, and is run."""

from __future__ import annotations

import doctest
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest
import yaml
from click.testing import CliRunner

import headroom_planner as headroom
from planner.cli import headroom as command
from planner.questions import INDEX
from tests.architecture import stub
from tests.architecture.tree import ROOT

NOTEBOOK = ROOT / "docs/examples/capacity-review.ipynb"


@pytest.fixture(scope="module")
def cluster() -> headroom.Cluster:
    return headroom.read("demo")


def test_the_page_is_true() -> None:
    found = doctest.testfile(
        str(ROOT / "docs/python.md"), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL
    )
    assert found.attempted > 6
    assert found.failed == 0


def test_the_notebook_runs() -> None:
    """Every cell, as a notebook runs them: one after another, and what its last line is can be shown."""
    names: dict[str, Any] = {}
    cells = [one["source"] for one in json.loads(NOTEBOOK.read_text())["cells"] if one["cell_type"] == "code"]
    assert len(cells) > 5
    for cell in cells:
        *before, last = "".join(cell).split("\n")
        exec("\n".join(before), names)
        shown = eval(last, names)
        html = getattr(shown, "_repr_html_", None)
        assert html is None or html()


def test_the_stub_is_made_from_the_index() -> None:
    assert (ROOT / stub.STUB).read_text(encoding="utf-8") == stub.stub(), "run `make docs`"


@pytest.mark.parametrize(
    "name", ["overview", "capacity", "seats", "findings", "costs", "in_flight", "peak", "memory", "restarts"]
)
def test_the_document_is_the_commands(cluster: headroom.Cluster, name: str) -> None:
    told = CliRunner().invoke(command, [name.replace("_", "-"), "demo", "-o", "json", "-q"])
    mine = json.loads(json.dumps(headroom.ask(name, cluster).document()))
    assert json.loads(told.stdout) == mine


def test_every_question_has_its_name(cluster: headroom.Cluster) -> None:
    assert set(INDEX) <= set(dir(headroom))
    assert callable(headroom.grid)
    with pytest.raises(AttributeError, match="no attribute 'rollouts'"):
        getattr(headroom, "rollouts")  # noqa: B009 - type checkers refuse it, by the stub


def test_an_answer_is_a_frame_facts_and_a_chart(cluster: headroom.Cluster) -> None:
    answer = headroom.rollout(cluster, "deployment/prod/llm-serve")
    assert (answer.verdict, answer.status) == ("stuck", 2)
    assert isinstance(answer.to_frame("timeline"), pd.DataFrame)
    assert {one["metric"] for one in answer.facts()}
    assert isinstance(answer.figure(), go.Figure)
    assert answer.sentence in answer._repr_html_().replace("&#x27;", "'")
    assert "<script>" not in headroom.overview(cluster)._repr_html_()


def test_a_path_is_read_and_a_text_is_taken(cluster: headroom.Cluster, tmp_path: Path) -> None:
    text = yaml.safe_dump(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "new", "namespace": "prod"},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "new"}},
                "template": {
                    "metadata": {"labels": {"app": "new"}},
                    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
                },
            },
        }
    )
    (tmp_path / "new.yaml").write_text(text)
    by_path = headroom.rollout(cluster, manifest=tmp_path / "new.yaml")
    assert by_path.verdict == headroom.rollout(cluster, manifest=text).verdict == "completes"


@pytest.mark.parametrize(
    ("name", "about", "settings", "said"),
    [
        ("rollout", (), {"surge": 1}, "rollout has no setting 'surge'. Give one of workload"),
        ("overview", ("deployment/prod/api",), {}, "asked of the whole cluster"),
        ("rolout", (), {}, "there is no question 'rolout'"),
        ("rollout", ("deployment/prod/llm-serve",), {"max_surge": "many"}, "many"),
    ],
)
def test_what_is_wrong_is_said(
    cluster: headroom.Cluster, name: str, about: tuple[str, ...], settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(headroom.HeadroomError, match=said):
        headroom.ask(name, cluster, *about, **settings)


def test_half_a_cluster_is_not_an_answer(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    with pytest.raises(headroom.HeadroomError):
        headroom.capacity(headroom.read(tmp_path / "nodes.json"))


def test_two_threads_that_ask_at_once_get_what_one_after_another_gets() -> None:
    """Tables of a snapshot are made once, by whichever thread is the first; each pair begins with a snapshot that nobody asked."""
    questions: tuple[tuple[str, dict[str, Any]], ...] = (
        ("overview", {}), ("rollout", {"workload": "deployment/prod/llm-serve"}), ("capacity", {}), ("restarts", {}), ("survive", {}),
        ("costs", {}), ("memory", {}), ("findings", {}),
    )  # fmt: skip

    def asked(cluster: headroom.Cluster, name: str, settings: dict[str, Any]) -> str:
        return json.dumps(headroom.ask(name, cluster, now=1.8e9, **settings).document()["result"], sort_keys=True)

    path = str(ROOT / "data/demo/cluster.json.gz")
    alone = [asked(headroom.read(path), name, settings) for name, settings in questions]
    for place in range(0, len(questions), 2):
        cluster, barrier, both = headroom.read(path), Barrier(3), (place, place, place + 1)

        def run(at: int, cluster: headroom.Cluster = cluster, barrier: Barrier = barrier) -> str:
            barrier.wait(30)
            return asked(cluster, *questions[at])

        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(run, both)) == [alone[at] for at in both], questions[place][0]
