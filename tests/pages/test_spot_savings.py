from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from planner.ground.records import replace
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.sources import demo
from tests.pages.visiting import said, visit


def page(given: Snapshot | None = None, **query: str) -> AppTest:
    return visit("rollout", given, about="Spot", spot="true", **query)


PARTS = ("How much", "Until when it pays", "Is it fit for spot?", "Every way of buying", "What it rests on")
WORKER = {"workload": "Deployment/prod/ml-worker", "runs": "500"}


def test_the_demo_says_what_is_saved_and_what_has_to_change() -> None:
    parts = [page(None, **WORKER, part=part) for part in PARTS]
    app, words = parts[0], "\n".join(map(said, parts))
    assert "○ Spot would save, after changes" in words
    assert "6 of 6 nodes on spot: saves $" in words
    assert "△ Needs changes for spot" in words
    assert any("keeps SIGTERM to itself" in one.label for one in parts[2].expander)
    assert "kubectl delete pod/" in words
    assert "Notice: 15 s" in words
    mixes = next(one.value for one in parts[1].dataframe if "On spot" in one.value)
    assert mixes["On spot"].tolist() == list(range(7)), "from none of its 6 nodes to all"
    assert not app.metric
    assert "in nine of ten months " in said(visit("rollout", workload="Deployment/prod/ml-worker", about="Spot"))
    assert "a useful GPU-hour $" in words
    assert "jobs late" in words
    assert "with fewer than 5 nodes ready" in words
    kept = [len([one for one in part.get("download_button") if "CSV" in getattr(one, "label", "")]) for part in parts]
    assert kept == [0, 0, 0, 0, 1]


def test_a_job_is_not_patched() -> None:
    """The API server refuses another template of a Job that is there."""
    codes = {
        key: [one.value for one in page(None, workload=key, runs="500", part=PARTS[2]).code]
        for key in ("Deployment/prod/ml-worker", "Job/batch/embed-nightly")
    }
    patched = {key: any("--patch-file" in one for one in found) for key, found in codes.items()}
    assert patched == {"Deployment/prod/ml-worker": True, "Job/batch/embed-nightly": False}
    assert any("spec:" in one for one in codes["Job/batch/embed-nightly"])


def test_a_link_holds_the_assumptions() -> None:
    given = {**WORKER, "base_nodes": "2", "job_minutes": "5", "fallback": "wait", "availability": "0.5"}
    app = page(None, **given, part=PARTS[1])
    assert app.number_input(key="base_nodes").value == 2
    words = said(app)
    assert "4 of 6 nodes on spot" in words
    assert "Chosen now: 4 spot, 2 on demand" in words
    fit = page(None, **given, part=PARTS[2])
    assert any("Jobs of 5 min (as given)" in text for text in [said(fit), *(one.label for one in fit.expander)])


def test_serving_asks_for_requests_not_for_jobs() -> None:
    app = page(None, workload="Deployment/prod/inference-api", runs="500", part=PARTS[2])
    keys = {one.key for one in app.number_input}
    assert "request_seconds" in keys
    assert "job_minutes" not in keys
    assert "jobs late" not in said(app)
    assert "Keep a base on demand" in said(app)


def test_flex_start_that_is_cheaper_is_told() -> None:
    app = page(None, **WORKER, flex_start_usd_per_hour="0.2", part="Every way of buying")
    assert "Cheaper still: flex-start is expected to cost $" in said(app)
    ways = next(one.value for one in app.dataframe if "Cheapest" in one.value).set_index("Way")
    assert "none for up to 7 days" in str(ways.loc["flex-start", "Risk"])


def test_spot_that_does_not_pay_is_said_aloud() -> None:
    words = said(page(None, **WORKER, spot_usd_per_hour="0.9", part=PARTS[1]))
    assert "✗ Spot doesn't pay" in words
    assert "No share of spot is cheaper" in words


def test_a_pool_without_gpus_has_no_price_per_gpu() -> None:
    words = said(page(None, workload="Deployment/prod/web", runs="500"))
    assert "useful GPU-hour" not in words
    assert "Expected:" in words


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"base_nodes": "7"}, "7 of 6 nodes"),
        ({"committed_nodes": "1"}, "their price isn't given"),
        ({"hazard_low_per_hour": "0.5"}, "not in order"),
        ({"availability": "lots"}, "The link asks for availability"),
        ({"work": "leisure"}, "The link asks for work"),
    ],
)
def test_impossible_assumptions_get_a_sentence(query: dict[str, str], words: str) -> None:
    assert words in said(page(None, **WORKER, **query))


def test_without_prices_the_page_asks_for_them() -> None:
    def elsewhere(snapshot: Snapshot) -> Snapshot:
        away = {"topology.kubernetes.io/region": "mars", "topology.kubernetes.io/zone": "mars-a"}
        nodes = tuple(replace(node, labels=FrozenMap({**node.labels, **away})) for node in snapshot.nodes)
        return replace(snapshot, nodes=nodes, digest="mars")

    words = said(page(elsewhere(demo.read()), **WORKER))
    assert "No price" in words
    priced = said(page(elsewhere(demo.read()), **WORKER, on_demand_usd_per_hour="1", spot_usd_per_hour="0.4"))
    assert "saves $" in priced


def test_an_empty_cluster_is_a_sentence() -> None:
    empty = Snapshot(taken_at=0.0, source="empty", digest="empty")
    assert "Nothing to roll out" in said(page(empty))
    assert not page(empty).error, "it is no mistake"


def test_what_runs_on_spot_already_saves_nothing_further() -> None:
    words = said(page(None, workload="Deployment/batch/labs-runner", runs="500"))
    assert "✓ Spot saves already" in words
    assert "not a further saving" in words
    assert "not a further saving" not in said(page(None, **WORKER))
