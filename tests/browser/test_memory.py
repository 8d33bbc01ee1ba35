"""Memory in a real browser: from the pods that are evicted first to what another request would change, and the link to it."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.dashboard import Visitor

NODE = "gke-edu-default-7f3a02"
CELERY = "memory?workload=Deployment/dev/celery&container=celery&request=2Gi&limit=2Gi&equal_cpu=true"


def test_order_of_eviction_and_cgroup_values_of_a_node(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"memory?node={NODE}&soft=2Gi")
    page = visitor.page
    expect(page.get_by_text("First to go: prod/celery")).to_be_visible()
    expect(visitor.main().get_by_test_id("stDataFrame").filter(visible=True)).to_have_count(3)  # nodes, classes, order
    expect(page.get_by_text("hard 27.9 GiB · soft 26 GiB")).to_be_visible()
    page.get_by_role("tab", name="cgroup values").click()
    expect(page.get_by_text("cgroup v2, in bytes")).to_be_visible()


def test_a_change_is_typed_joined_with_the_rollout_and_shared_by_link(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("memory?workload=Deployment/dev/celery&container=celery")
    visitor.fill("Memory request", "2Gi")
    visitor.fill("Memory limit", "2Gi")
    expect(visitor.page.get_by_text(re.compile("Rollout: completes"))).to_be_visible()
    link = visitor.page.url
    assert "request=2Gi" in link
    other = visit()
    other.open(link.removeprefix(other.url).lstrip("/"))
    expect(other.page.get_by_text(re.compile("Rollout: completes"))).to_be_visible()


def test_what_the_api_server_would_refuse_is_a_sentence(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("memory?workload=Deployment/dev/celery&container=celery&request=9Gi&limit=1Gi")
    expect(visitor.page.get_by_text("would request more memory than its limit")).to_be_visible()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("dev/celery")


def test_what_if_fits_a_phone(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390, height=844)
    visitor.open(CELERY)
    expect(visitor.page.get_by_text(re.compile("Class Burstable becomes Guaranteed"))).to_be_visible()
    visitor.is_within_width()
