"""The filter on every page: said where it holds, said where it doesn't, and kept while a headline is the cluster's."""

from __future__ import annotations

import pytest

from planner.ui.page_filter import WITHOUT
from tests.browser.dashboard import pages
from tests.pages.visiting import said, visit

PAGES = [path or "overview" for path, _ in pages()]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_that_it_is_filtered_or_that_it_is_not(page: str) -> None:
    words = said(visit(page, namespace="prod"))
    if page in WITHOUT:
        assert "The filter is not used on this page" in words
    else:
        assert "7 workloads in namespace prod; 13 hidden" in words


def test_the_overview_lists_the_part_and_its_figures_are_named_the_clusters() -> None:
    words = said(visit("overview", namespace="prod"))
    assert "1 of 7 workloads in namespace prod would get stuck" in words
    assert "Pending pods, losses and money are the whole cluster's." in words
    assert "dev/celery" not in words


@pytest.mark.parametrize(
    ("page", "query", "title"),
    [
        ("restarts", {"namespace": "prod"}, "✓ Nothing restarts (only in namespace prod)"),
        ("memory", {"pool": "gpu-t4"}, "✓ Nothing restarts (only on pool gpu-t4)"),
        ("overview", {"verdict": "completes"}, "All 15 workloads with verdict completes can roll out"),
        ("headroom", {"search": "api"}, "Whole cluster: 1 of 27 GPUs is free"),
        (
            "overview",
            {"search": "nothing-is-called-so"},
            "No workload with “nothing-is-called-so” in the name; 20 hidden.",
        ),
    ],
)
def test_a_headline_names_its_part(page: str, query: dict[str, str], title: str) -> None:
    assert title in said(visit(page, None, **query))


def test_rollout_offers_what_passes_and_what_a_link_names() -> None:
    app = visit("rollout", namespace="dev", workload="Deployment/prod/api")
    offered = app.selectbox(key="workload")
    assert offered.value == "Deployment/prod/api"
    assert {key.split("/")[1] for key in offered.options} == {"dev", "prod"}
    assert len([key for key in offered.options if "/prod/" in key]) == 1


def test_a_selector_that_cannot_be_read_is_a_sentence_and_filters_nothing() -> None:
    words = said(visit("overview", labels="app==="))
    assert "is no label selector" in words
    assert "5 of 20 workloads" in words
