"""Pages where there is nothing to say: a cluster without workloads and pods, and a filter that nothing passes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.ground.records import replace
from planner.sources import demo
from planner.sources.cluster_argument import CLUSTER_VARIABLE
from tests.browser.dashboard import pages
from tests.pages.clusters import node
from tests.pages.visiting import said, visit

PAGES = [path or "overview" for path, _ in pages()]
MISHAPS = ("Our mistake", "△ Missing", "failed here")


@pytest.mark.parametrize("page", PAGES)
def test_a_cluster_with_nothing_in_it_is_answered(page: str) -> None:
    bare = replace(demo.read(), workloads=(), pods=(), digest="0" * 64, source="bare.json")
    words = said(visit(page, bare))
    assert not [word for word in MISHAPS if word in words]


@pytest.mark.parametrize("page", PAGES)
def test_a_filter_that_nothing_passes_is_answered(page: str) -> None:
    words = said(visit(page, namespace="prod", search="nothing-is-called-so"))
    assert not [word for word in MISHAPS if word in words]


def test_a_start_with_what_cannot_be_read_offers_another_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a dead end nor another cluster in its place unasked."""
    empty = tmp_path / "empty.json"
    empty.write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    monkeypatch.setenv(CLUSTER_VARIABLE, str(empty))
    app = visit("rollout")
    assert "There is no Kubernetes object in it" in said(app)
    assert "Completes" not in said(app)
    assert "Stuck" not in said(app)
    app.selectbox(key="cluster").select("demo").run()
    assert [one.value for one in app.title] == ["prod/llm-serve"]
    again = visit("restarts")
    again.file_uploader[0].upload("node.json", json.dumps(node("node-0", 1)).encode()).run()
    assert [one.value for one in again.title] == ["Health"]
    assert "the input holds no Pods" in said(again)
