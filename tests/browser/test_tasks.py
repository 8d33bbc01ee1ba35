"""What a new user comes to do, with the clicks that it takes: on the demo, the large example and a crowded cluster.

| task | clicks, at most |
| --- | --- |
| what is stuck, and why; a cluster of another kind; on a phone, from a link to the way out | 0 |
| where a pod of four GPUs fits; handing over; why a pod restarts; what unblocks all | 1 |
| the best surge and its patch; what spot saves, and to a manager; maxSurge by hand; which pods must move for a pending job | 2 |
| one's own dump, and F5; what changed since last week, with its file | 3 |

A live cluster is `tests.browser.test_live`'s.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.bench import crowd
from tests.browser.dashboard import Visitor
from tests.browser.test_links_and_uploads import cluster, upload
from tests.builders.objects import deployment, node, pod_spec
from tests.running_app import on, running_app

COPIES = 42  # 1,008 nodes, 635 workloads that roll out
MOST_CLICKS = 2
FIRST_PIXELS = 300


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is true of a cluster: `stuck` and `why` on the first page, a workload that is `stuck_one`, the headline of what `fits`,
    what `restarts`, the sentence of the `plan`, and of `spot`."""

    query: str
    stuck: str
    why: str
    stuck_one: str
    ways: str
    fits: str
    restarts: str
    plan: str
    spot: str


DEMO = Facts(
    query="cluster=demo",
    stuck="5 of 20 workloads would get stuck",
    why="The new pod needs 4 A100s, and the pods that it replaces hold all 8",
    stuck_one="Deployment/prod/inference-api",
    ways="kubectl patch deployment/inference-api -n prod",
    fits="1 of 27 GPUs is free",
    restarts="41 restarts: OOM-killed at its own limit.",
    plan="15 of 20 workloads can be rolled out now",
    spot="Spot for ",
)
OPENB = Facts(
    query="cluster=openb",
    stuck="7 of 330 workloads would get stuck",
    why="The new pod needs 8 GPUs on one node, and at most 5 are free",
    stuck_one="Deployment/ml/job-028-04808",
    ways="No strategy was found that completes by itself.",
    fits="2,221 of 6,212 GPUs are free",
    restarts="Nothing restarts",
    plan="323 of 330 workloads can be rolled out now",
    spot="Prices of your own",  # none of its machines can be what its label says: what lacks can be given there
)
CROWDED = Facts(
    query="",
    stuck="210 of 635 workloads would get stuck",
    why="The new pod needs 4 A100s, and the pods that it replaces hold 8 of 336",
    stuck_one="Deployment/prod-7/inference-api",
    ways="kubectl patch deployment/inference-api -n prod-7",
    fits="42 of 1,134 GPUs are free",
    restarts="41 restarts: OOM-killed at its own limit.",
    plan="425 of 635 workloads can be rolled out now",
    spot="Spot for ",
)
CLUSTERS = {"demo": DEMO, "openb": OPENB, "crowded": CROWDED}


class User:
    """Somebody at one of the clusters. Counts clicks; typing and choosing a file count as one each."""

    def __init__(self, visitor: Visitor, facts: Facts) -> None:
        self.visitor, self.facts, self.clicks = visitor, facts, 0

    def open(self, path: str = "", *, more: str = "") -> None:
        self.visitor.open(f"{path}?{'&'.join(filter(None, [self.facts.query, more]))}")

    def click(self, what: Locator) -> None:
        what.first.click()
        self.clicks += 1
        self.visitor.answered()

    def page(self, title: str) -> None:
        self.clicks += self.visitor.go(title)

    def sees(self, *said: str) -> None:
        """Each of these, after no more clicks than a task may take."""
        for one in said:
            expect(self.visitor.main().get_by_text(one).filter(visible=True).first).to_be_visible()
        assert self.clicks <= MOST_CLICKS

    def verdict_is_first(self) -> None:
        main = self.visitor.main()
        known = main.locator('[data-testid="stAlert"], .st-key-line_rollouts')
        box = known.or_(
            main.get_by_text(re.compile(r"^\? "))
        ).first.bounding_box()  # a box of what isn't known is no alert
        assert box is not None
        assert box["y"] < FIRST_PIXELS


@pytest.fixture(scope="module")
def crowded_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("crowded")
    with (folder / "crowded.json").open("wb") as file:
        file.writelines(crowd.kubectl_json(COPIES))
    with running_app(folder / "server.log", on(str(folder / "crowded.json"))) as app:
        yield app.url


@pytest.fixture(params=CLUSTERS)
def user(
    request: pytest.FixtureRequest, visit: Callable[..., Visitor], app_url: str, crowded_url: str
) -> Callable[..., User]:
    facts = CLUSTERS[request.param]

    def new(**how: int) -> User:
        return User(visit(url=crowded_url if facts is CROWDED else app_url, **how), facts)

    return new


@pytest.mark.parametrize("width", [390, 1360, 1920])
def test_what_is_stuck_and_why_takes_no_click(user: Callable[..., User], width: int) -> None:
    somebody = user(width=width)
    somebody.open()
    somebody.sees(somebody.facts.stuck, somebody.facts.why)
    somebody.verdict_is_first()
    somebody.visitor.is_within_width()
    assert somebody.clicks == 0


def test_the_best_strategy_and_its_patch_take_two_clicks_from_the_workloads_link(user: Callable[..., User]) -> None:
    somebody = user(height=1600)
    somebody.open("rollout", more=f"workload={somebody.facts.stuck_one}")
    somebody.verdict_is_first()
    main = somebody.visitor.main()
    if somebody.facts is OPENB:
        somebody.sees(somebody.facts.ways)
        return
    somebody.click(main.get_by_role("button", name="Look at maxSurge"))
    somebody.sees(somebody.facts.ways, "Undo")


def test_what_spot_would_save_takes_two_clicks(user: Callable[..., User]) -> None:
    somebody = user()
    somebody.open()
    somebody.page("Money")
    somebody.sees(somebody.facts.spot)
    somebody.verdict_is_first()


def test_how_many_pods_of_four_gpus_fit_takes_one_click(user: Callable[..., User]) -> None:
    somebody = user()
    somebody.open()
    somebody.page("What fits")
    expect(somebody.visitor.main().get_by_test_id("stAlert").first).to_contain_text(somebody.facts.fits)
    somebody.verdict_is_first()
    assert somebody.clicks == 1


def test_ones_own_dump_takes_two_clicks_and_is_there_after_f5(user: Callable[..., User], tmp_path: Path) -> None:
    somebody = user()
    somebody.open()
    page = somebody.visitor.page
    somebody.click(page.get_by_role("button", name="Another cluster"))
    upload(somebody.visitor, cluster(tmp_path, "mine.json", 2))
    somebody.clicks += 1
    for _ in range(2):
        expect(page.get_by_test_id("stSidebar").get_by_text("2 nodes, 2 pods")).to_be_visible()
        somebody.sees("would get stuck")
        page.reload()
        somebody.visitor.settle()


def test_handing_over_takes_one_click(user: Callable[..., User]) -> None:
    """The link names cluster and content; the review is one click."""
    somebody = user()
    somebody.open()
    page = somebody.visitor.page
    assert "digest=" in page.url
    button = page.get_by_role("button", name="Capacity review")
    expect(button).to_be_visible()
    expect(button).to_be_enabled()


def test_what_changed_since_is_two_clicks_away(user: Callable[..., User]) -> None:
    somebody = user()
    somebody.open()
    somebody.page("Over time")
    somebody.verdict_is_first()
    assert somebody.clicks <= MOST_CLICKS


def test_why_a_pod_restarts_takes_one_click(user: Callable[..., User]) -> None:
    somebody = user()
    somebody.open()
    somebody.page("Health")
    somebody.sees(somebody.facts.restarts)
    somebody.verdict_is_first()
    assert somebody.clicks == 1


def test_the_least_that_makes_all_rollable_takes_one_click(user: Callable[..., User]) -> None:
    somebody = user()
    somebody.open()
    somebody.click(somebody.visitor.main().get_by_role("button", name="Suppose all of it"))
    dialog = somebody.visitor.page.get_by_role("dialog")
    expect(dialog.get_by_text(somebody.facts.plan).first).to_be_visible()
    assert somebody.clicks == 1


def test_a_colleague_with_the_file_gets_the_same_answer_by_the_link(
    visit: Callable[..., Visitor], tmp_path: Path
) -> None:
    file = cluster(tmp_path, "mine.json", 2)
    mine, theirs = visit(), visit()
    mine.open("inventory")
    upload(mine, file)
    expect(mine.page.get_by_test_id("stSidebar").get_by_text("2 nodes, 2 pods")).to_be_visible()
    mine.go("Workload")
    mine.page.locator(".strategies").get_by_role("slider", name="maxSurge").press("ArrowDown")
    mine.answered()
    expect(mine.main().get_by_text("✓ Completes").first).to_be_visible()
    theirs.open(mine.page.url.removeprefix(f"{mine.url}/"))
    upload(theirs, file)
    expect(theirs.main().get_by_text("maxSurge 0, maxUnavailable 1; today 1, 0")).to_be_visible()
    expect(theirs.main().get_by_text("✓ Completes").first).to_be_visible()


@pytest.fixture
def at_the_demo(visit: Callable[..., Visitor], app_url: str) -> Callable[..., User]:
    return lambda **how: User(visit(url=app_url, **how), DEMO)


def test_what_changed_since_an_earlier_snapshot_takes_two_clicks_and_a_file_and_is_there_after_f5(
    at_the_demo: Callable[..., User], tmp_path: Path
) -> None:
    somebody = at_the_demo()
    somebody.open()
    page = somebody.visitor.page
    somebody.click(page.get_by_role("button", name="Another cluster"))
    upload(somebody.visitor, cluster(tmp_path, "today.json", 3))  # one's own
    somebody.clicks = 0
    somebody.page("Over time")
    somebody.visitor.main().get_by_text(
        "Upload an earlier snapshot"
    ).first.click()  # a fold: nothing is asked of the server
    somebody.clicks += 1
    upload(somebody.visitor, cluster(tmp_path, "lastweek.json", 2))
    for _ in range(2):
        somebody.sees("Deployment/ml/worker")
        expect(somebody.visitor.main().get_by_role("combobox", name="Changed since")).to_have_value(
            re.compile("lastweek.json")
        )
        page.reload()
        somebody.visitor.settle()
    assert somebody.clicks == 2


def test_choosing_maxsurge_by_hand_takes_one_click_and_says_why_it_changes_nothing(
    at_the_demo: Callable[..., User],
) -> None:
    """Six T4 replicas: the cell is the choice, its patch and the way back stand below it."""
    somebody = at_the_demo(height=1600)
    somebody.open("rollout", more="workload=Deployment/prod/ml-worker")
    main = somebody.visitor.main()
    somebody.sees("no T4 is free to surge into")
    somebody.click(main.locator(".strategies").get_by_role("button", name="maxSurge 0, maxUnavailable 1"))
    ways = main.get_by_role("radiogroup", name="Apply this as")
    ways.scroll_into_view_if_needed()
    assert ways.evaluate("group => group.scrollWidth <= group.clientWidth"), "Undo is cut off"
    somebody.sees("kubectl patch deployment/ml-worker -n prod", "Undo", "Completes in ")
    assert somebody.clicks == 1


def test_which_pods_must_move_for_the_pending_job_takes_one_click(at_the_demo: Callable[..., User]) -> None:
    """None do, proven: and what starts it instead."""
    somebody = at_the_demo()
    somebody.open()
    somebody.page("What fits")
    pending = somebody.visitor.main().locator(".map aside")
    expect(pending).to_contain_text("batch/trainer")
    expect(pending).to_contain_text("No move of other pods starts it (proven).")
    expect(pending).to_contain_text("One more gpu-t4 node does")
    assert somebody.clicks == 1


def test_what_spot_saves_is_a_slide_for_a_manager_after_two_clicks(at_the_demo: Callable[..., User]) -> None:
    somebody = at_the_demo()
    somebody.open()
    somebody.page("Money")
    with somebody.visitor.page.expect_download() as download:
        somebody.visitor.main().get_by_role("button", name="One slide").click()
    somebody.clicks += 1
    slide = download.value.path().read_text(encoding="utf-8")
    assert "a month less (" in slide
    assert "prod/ml-worker" in slide
    assert somebody.clicks == MOST_CLICKS


AMD = node("a", extra={"amd.com/gpu": 8}, labels={"amd.com/gpu.product-name": "AMD_Instinct_MI300X"})
PODS = deployment("serve", ["a"], pod_spec(cpu="1", memory="1Gi"))
OTHERS = {  # → what Now says of such a cluster, and what it doesn't
    "no GPUs": ([node("a"), *PODS], "All 1 workload can roll out", "GPU"),
    "AMD": ([AMD, *PODS], "All 1 workload can roll out", "AMD_Instinct"),
    "nodes only": ([node("a", gpus=4)], "Not known: the list of pods is missing or cut off.", "Not known: Not known"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_kind_of_cluster_is_told_without_a_click(
    at_the_demo: Callable[..., User], tmp_path: Path, name: str
) -> None:
    items, said, never = OTHERS[name]
    file = tmp_path / "other.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    somebody = at_the_demo()
    somebody.open(more="dialog=cluster")
    upload(somebody.visitor, file)
    somebody.sees(said)
    expect(somebody.visitor.main().get_by_text(never)).to_have_count(0)
    assert somebody.clicks == 0


def test_on_a_phone_a_link_leads_to_verdict_and_way_out_without_a_click(at_the_demo: Callable[..., User]) -> None:
    somebody = at_the_demo(width=390, height=844)
    somebody.open("rollout", more="workload=Deployment/prod/llm-serve")
    somebody.verdict_is_first()
    somebody.sees("Stuck: the new pod needs 4 A100s", "Ways out", "Steps and script")
    somebody.visitor.is_within_width()
    assert somebody.clicks == 0
