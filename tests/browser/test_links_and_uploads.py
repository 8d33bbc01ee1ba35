"""What must never be answered for something else: another workload's settings, another cluster, two clusters in one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from planner.ui.web_security import BROWSER
from tests.browser.dashboard import Visitor
from tests.pages.clusters import node, worker


def asked(visitor: Visitor) -> dict[str, list[str]]:
    return parse_qs(urlparse(visitor.page.url).query)


def cluster(folder: Path, name: str, nodes: int, prefix: str = "node") -> Path:
    """A file of a cluster with as many nodes as its worker has pods."""
    items: list[dict[str, Any]] = [node(f"{prefix}-{place}", 1) for place in range(nodes)]
    for item in worker(nodes):
        if item["kind"] == "Pod":
            item["spec"] = {**item["spec"], "nodeName": item["spec"]["nodeName"].replace("node", prefix)}
        items.append(item)
    path = folder / name
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def upload(visitor: Visitor, *files: Path) -> None:
    visitor.page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(list(files))
    visitor.answered()


def test_a_card_opens_with_the_state_of_its_own_workload_and_nothing_else(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("rollout?workload=Deployment/prod/ml-worker&max_surge=0&max_unavailable=1&replicas=8")
    expect(visitor.main().get_by_text("maxSurge 0, maxUnavailable 1, Replicas 8; today 25%, 25%, 6")).to_be_visible()
    visitor.go("Now")
    visitor.main().get_by_test_id("stPageLink").filter(has_text="dev/inference-api").first.click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("dev/inference-api")
    visitor.settle()
    expect(visitor.main().get_by_text("✗ Stuck: the quota of namespace dev").first).to_be_visible()
    assert set(asked(visitor)) == {"workload", "cluster", "digest", "taken"}
    visitor.main().get_by_text("Change it: replicas").click()
    visitor.answered()
    expect(visitor.page.get_by_label("Replicas", exact=True).first).to_have_value("")


def test_the_verdict_names_its_settings_and_goes_back_to_todays(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("rollout?workload=Deployment/prod/ml-worker&max_surge=0&max_unavailable=1")
    expect(visitor.main().get_by_text("maxSurge 0, maxUnavailable 1; today 25%, 25%")).to_be_visible()
    visitor.page.get_by_role("button", name="Back to today's").click()
    visitor.answered()
    expect(visitor.main().get_by_text("with everything else as it is today").first).to_be_visible()
    assert {"max_surge", "max_unavailable"}.isdisjoint(asked(visitor))


def test_an_upload_is_there_after_f5_and_in_no_other_browser(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    """Its link opens it in the browser that it was given in; in another one the link asks for the file, and keeps the rest."""
    mine, other = cluster(tmp_path, "mine.json", 3), cluster(tmp_path, "other.json", 2)
    first = visit()
    visitor = first
    visitor.open("inventory")
    upload(visitor, mine)
    expect(visitor.page.get_by_test_id("stSidebar").get_by_text("3 nodes, 3 pods")).to_be_visible()
    visitor.go("Workload")
    visitor.main().get_by_text("Change it: replicas").click()
    visitor.answered()
    visitor.fill("Replicas", "2")
    link = asked(visitor)
    assert link["replicas"] == ["2"]
    assert link["cluster"] == ["mine.json"]
    assert len(link["digest"][0]) == 16

    first.page.reload()
    first.settle()
    expect(first.page.get_by_role("heading", level=1)).to_have_text("ml/worker")
    expect(first.page.get_by_test_id("stSidebar").get_by_text("3 nodes, 3 pods")).to_be_visible()
    expect(first.main().get_by_text("Replicas 2; today")).to_be_visible()
    assert asked(first) == link
    (cookie,) = [one for one in first.page.context.cookies() if one["name"] == BROWSER]
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Lax"
    assert first.page.evaluate("document.cookie.includes('headroom')") is False

    visitor = visit()  # another browser: the digest in the link opens nothing
    visitor.open(first.page.url.removeprefix(f"{first.url}/"))
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("This link needs its snapshot")
    for said in ("mine.json", link["digest"][0]):
        expect(visitor.main().get_by_text(said).first).to_be_visible()
    expect(visitor.main().get_by_text("Completes")).to_have_count(0)
    assert asked(visitor) == link

    upload(visitor, other)  # not the one
    expect(visitor.main().get_by_text("is another snapshot")).to_be_visible()
    assert asked(visitor) == link
    upload(visitor, mine)
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("ml/worker")
    visitor.settle()
    expect(visitor.main().get_by_text("Replicas 2; today")).to_be_visible()
    assert asked(visitor) == link


def test_a_link_names_the_demo_too_and_an_unknown_cluster_is_not_the_demo(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open()
    assert asked(visitor)["cluster"] == ["demo"]
    assert len(asked(visitor)["digest"][0]) == 16
    other = visit()
    other.open("rollout?cluster=x.json&workload=Deployment/prod/api")
    expect(other.page.get_by_role("heading", level=1)).to_have_text("This link needs its snapshot")
    expect(other.main().get_by_text("x.json").first).to_be_visible()
    other.choose("Cluster", "demo")
    expect(other.page.get_by_role("heading", level=1)).to_have_text("prod/api")
    assert asked(other)["workload"] == ["Deployment/prod/api"]


def test_a_second_upload_stands_beside_the_first(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    side = visitor.page.get_by_test_id("stSidebar")
    visitor.open("inventory")
    upload(visitor, cluster(tmp_path, "one.json", 2))
    expect(side.get_by_text("2 nodes, 2 pods")).to_be_visible()
    visitor.page.get_by_role("button", name="Another cluster").click()
    upload(visitor, cluster(tmp_path, "two.json", 3, "machine"))
    expect(side.get_by_text("3 nodes, 3 pods")).to_be_visible()
    visitor.settle()
    assert asked(visitor)["cluster"] == ["two.json"]
    visitor.choose("Cluster", "one.json")
    expect(side.get_by_text("2 nodes, 2 pods")).to_be_visible()
    assert asked(visitor)["cluster"] == ["one.json"]


def test_two_clusters_at_once_and_one_without_nodes_are_refused_and_leave_no_name(
    visit: Callable[..., Visitor], tmp_path: Path
) -> None:
    visitor = visit()
    visitor.open("inventory")
    upload(visitor, cluster(tmp_path, "one.json", 2), cluster(tmp_path, "two.json", 3, "machine"))
    expect(visitor.page.get_by_text("these are two clusters", exact=False)).to_be_visible()
    only_pods = tmp_path / "podsonly.json"
    only_pods.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": worker(1)}))
    upload(visitor, only_pods)
    expect(visitor.page.get_by_text("it has no nodes", exact=False)).to_be_visible()
    assert asked(visitor)["cluster"] == ["demo"]
    upload(visitor, cluster(tmp_path, "good.json", 1))
    expect(visitor.page.get_by_test_id("stSidebar").get_by_text("1 node, 1 pod")).to_be_visible()
    visitor.settle()
    assert asked(visitor)["cluster"] == ["good.json"]
    expect(visitor.main().get_by_text("podsonly", exact=False)).to_have_count(0)


@pytest.mark.parametrize("name", ["nodes", "pods"])
def test_the_files_of_one_cluster_may_come_together(name: str, visit: Callable[..., Visitor], tmp_path: Path) -> None:
    """Split by kind (``nodes``: the nodes apart from the rest, ``pods``: the pods apart)."""
    whole = json.loads(cluster(tmp_path, "whole.json", 2).read_text())["items"]
    apart = [item for item in whole if item["kind"].lower() + "s" == name]
    rest = [item for item in whole if item not in apart]
    files = []
    for file, items in (("a.json", apart), ("b.json", rest)):
        files.append(tmp_path / file)
        files[-1].write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    visitor = visit()
    visitor.open("inventory")
    upload(visitor, *files)
    expect(visitor.page.get_by_test_id("stSidebar").get_by_text("2 nodes, 2 pods")).to_be_visible()
