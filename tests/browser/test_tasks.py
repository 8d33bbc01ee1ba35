"""What a new user comes to do, with the clicks that it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.dashboard import Visitor
from tests.browser.test_links_and_uploads import cluster, upload


class Counted:
    """Clicks of one visitor; typing and choosing a file count as one each."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.clicks = visitor, 0

    def click(self, what: Locator) -> None:
        what.first.click()
        self.clicks += 1
        self.visitor.answered()

    def page(self, title: str) -> None:
        self.clicks += self.visitor.go(title)


def test_what_is_stuck_and_why_takes_no_click(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open()
    expect(visitor.main().get_by_text("5 of 20 workloads could not be rolled out now").first).to_be_visible()
    expect(
        visitor.main().get_by_text("The new pod needs 4 A100s, and the pods that it replaces hold all 8").first
    ).to_be_visible()


def test_the_best_strategy_and_its_patch_take_two_clicks_from_the_workloads_link(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=1600)
    visitor.open("rollout?workload=Deployment/prod/inference-api")
    user = Counted(visitor)
    user.click(visitor.main().get_by_text("Every strategy", exact=True))
    user.click(visitor.main().get_by_role("button", name="Look at maxSurge"))
    expect(visitor.main().get_by_text("kubectl patch deployment/inference-api -n prod").first).to_be_visible()
    expect(visitor.main().get_by_text("Undo:").first).to_be_visible()
    assert user.clicks == 2


def test_what_spot_would_save_takes_two_clicks(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open()
    user = Counted(visitor)
    user.page("What spot saves")
    expect(visitor.main().get_by_test_id("stMetric").first).to_be_visible()
    assert user.clicks == 2


def test_how_many_pods_of_four_gpus_fit_takes_one_click(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open()
    user = Counted(visitor)
    user.page("What fits")
    expect(visitor.main().get_by_test_id("stAlert").first).to_contain_text("1 of 27 GPUs is free")
    assert user.clicks == 1


def test_ones_own_dump_takes_two_clicks(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    visitor.open()
    user = Counted(visitor)
    user.click(visitor.page.get_by_role("button", name="Another cluster"))
    upload(visitor, cluster(tmp_path, "mine.json", 2))
    user.clicks += 1
    expect(visitor.page.get_by_test_id("stSidebar").get_by_text("2 nodes, 2 pods")).to_be_visible()
    expect(visitor.main().get_by_text("could not be rolled out now").first).to_be_visible()
    assert user.clicks == 2


def test_a_colleague_with_the_file_gets_the_same_answer_by_the_link(
    visit: Callable[..., Visitor], tmp_path: Path
) -> None:
    file = cluster(tmp_path, "mine.json", 2)
    mine, theirs = visit(), visit()
    mine.open("inventory")
    upload(mine, file)
    expect(mine.page.get_by_test_id("stSidebar").get_by_text("2 nodes, 2 pods")).to_be_visible()
    mine.go("Rollout")
    mine.fill("maxSurge", "0")
    mine.fill("maxUnavailable", "1")
    expect(mine.main().get_by_text("✓ Completes").first).to_be_visible()
    theirs.open(mine.page.url.removeprefix(f"{mine.url}/"))
    upload(theirs, file)
    expect(theirs.main().get_by_text("maxSurge 0, maxUnavailable 1; today 1, 0")).to_be_visible()
    expect(theirs.main().get_by_text("✓ Completes").first).to_be_visible()


def test_why_a_pod_restarts_takes_one_click(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open()
    user = Counted(visitor)
    user.page("Restarts")
    expect(visitor.main().get_by_role("heading", name="Why: the evidence")).to_be_visible()
    assert user.clicks == 1
