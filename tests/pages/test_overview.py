import pytest

from tests.pages.clusters import WORKER, full, node, snapshot, worker
from tests.pages.visiting import said, visit


def test_the_demo_tells_its_story_at_once() -> None:
    app = visit("overview")
    assert "could not be rolled out now" in app.error[0].proto.title
    assert "nvidia.com/gpu" in app.error[0].value
    assert {one.label for one in app.metric} >= {"Could be rolled out", "GPUs free", "Pods waiting"}
    assert "taken 2026-" in said(app)


def test_a_cluster_with_room_is_good_news() -> None:
    app = visit("overview", full(unavailable=1))
    assert app.success[0].proto.title == "✓ All 1 workload could be rolled out now"
    assert not app.error


def test_trouble_is_told_with_a_link_to_its_rollout() -> None:
    app = visit("overview", full())
    assert app.error[0].proto.title == "✗ 1 of 1 workload could not be rolled out now"
    links = [link.proto for link in app.get("page_link")]
    assert any(WORKER in link.label for link in links)
    assert any("workload=Deployment" in link.query_string for link in links)


def test_an_empty_cluster_says_so() -> None:
    app = visit("overview", snapshot(node("node-0", 0)))
    assert "Nothing to roll out" in said(app)
    assert "no GPUs" in {one.value for one in app.metric}


def test_names_out_of_a_cluster_stay_names() -> None:
    given = snapshot(node("node-0", 0), *worker(1), source="[a](http://elsewhere.example) <b>")
    app = visit("overview", given)
    assert not [text.value for text in app.caption if "[a](http" in text.value]


def test_the_month_is_priced_by_pool_and_way_of_buying_and_what_is_idle() -> None:
    app = visit("overview")
    assert {("Cost a month", "$38,390"), ("Nodes without a price", "0 of 24")} <= {
        (one.label, one.value) for one in app.metric
    }
    table = next(one.value for one in app.dataframe if "bought" in one.value).set_index("node pool")
    assert table.loc["gpu-l4-spot", "bought"] == "spot"
    assert table.loc["gpu-t4", "$/month"] == pytest.approx(6 * 0.857514 * 730)
    assert table.loc["gpu-l4-spot", "of that GPUs"] == pytest.approx(0.1951 * 730)
    assert "Prices are of 2026-07-16" in said(app)


def test_nodes_without_a_price_are_no_money() -> None:
    app = visit("overview", full())
    assert ("Cost a month", "no price") in {(one.label, one.value) for one in app.metric}
    assert "△ 3 nodes: no price: node node-0 has no label" in said(app)
    table = next(one.value for one in app.dataframe if "bought" in one.value)
    assert table["$/month"].isna().all()
