"""Pages where there is nothing to say: a cluster without workloads and pods, and a filter that nothing passes."""

from __future__ import annotations

import pytest

from planner.ground.records import replace
from planner.sources import demo
from tests.browser.dashboard import pages
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
