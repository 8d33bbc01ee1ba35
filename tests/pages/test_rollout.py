from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from planner.ground.setting_declarations import digest_of
from planner.questions.rollout import RolloutSettings, answer
from planner.sources import cluster_dumps
from tests.pages.clusters import WORKER, full, node, snapshot
from tests.pages.visiting import said, visit

PATCH = "spec:\n  strategy:\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n"


def verdict(app: AppTest) -> str:
    boxes = [box for kind in (app.error, app.success, app.warning, app.info) for box in kind]
    texts = [(box.proto.title or str(box.value)).strip("*").replace("\\", "") for box in boxes]
    return next(text for text in texts if text[:1] in "✗✓△▽?○")


def test_full_cluster_is_stuck_and_says_why_and_what_to_do() -> None:
    app = visit("rollout", full(), steps_0="true")
    assert verdict(app).startswith("✗ Stuck: the new pod needs 1 T4, and the pods that it replaces hold ")
    assert "0/3 nodes are available: 3 Insufficient nvidia.com/gpu" in said(app)
    assert "maxSurge 0, maxUnavailable 1" in said(app)
    assert "kubectl patch deployment/worker -n ml" in said(app)
    assert not app.metric, "each figure is told once, in the verdict"
    assert len(app.get("bidi_component")) == 2  # the grid, and the film beside it


def test_all_doubts_of_an_answer_stand_beside_it() -> None:
    found = full()
    result = answer(found, RolloutSettings(workloads=(WORKER,), max_surge=0, max_unavailable=1))
    app = visit("rollout", found, max_surge="0", max_unavailable="1")
    assert result.doubts
    for doubt in result.doubts:
        assert str(doubt.why).replace("_", "\\_").partition(":")[0] in said(app)


def test_typing_another_strategy_completes() -> None:
    app = visit("rollout", full(), more_rollout="true")
    next(box for box in app.text_input if box.label == "maxSurge").set_value("0")
    next(box for box in app.text_input if box.label == "maxUnavailable").set_value("1").run()
    assert verdict(app).startswith("✓ Completes")


@pytest.mark.parametrize(
    "query",
    [
        {"max_surge": "0", "max_unavailable": "1"},
        {"max_surge": "0", "max_unavailable": "50%"},
        {"strategy": "Recreate"},
        {"patch": PATCH},
        {"gpu": "0"},
        {"replicas": "2", "scale_only": "true"},
    ],
    ids=str,
)
def test_a_link_that_completes(query: dict[str, str]) -> None:
    assert verdict(visit("rollout", full(), **query)).startswith("✓ Completes")


def test_what_happens_meanwhile_is_typed_kept_in_the_link_and_told() -> None:
    app = visit("rollout", full(), then="2m:add:gpu=1")
    assert verdict(app).startswith("✓ Completes")
    assert "meanwhile 2m:add:gpu=1" in said(app)
    assert "Meanwhile, after 2 min, pool gpu grows from 3 to 4 nodes: it may come at any time" in said(app)
    assert next(box for box in app.text_input if box.label == "What if, meanwhile, …").value == "2m:add:gpu=1"
    assert "Strategies are compared without" in said(app)
    next(one for one in app.button if one.key == "back_to_today").click().run()
    assert verdict(app).startswith("✗ Stuck")


def test_an_upgrade_meanwhile_has_its_steps() -> None:
    app = visit("rollout", full(), then="2m:upgrade:gpu")
    assert "Meanwhile, after 2 min, pool gpu is upgraded in 3 steps (surge 1, unavailable 0)" in said(app)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"node_selector": "disk=ssd"}, "no node is one that the new pod may run on"),
        ({"max_surge": "0", "max_unavailable": "1", "never_ready": "true"}, "1 new pod started and never became Ready"),
        ({"strategy": "Recreate", "cpu": "64"}, "the new pod needs 64 CPU on one node, and the largest has 8"),
    ],
    ids=str,
)
def test_a_link_that_is_stuck_for_another_reason(query: dict[str, str], words: str) -> None:
    assert words in verdict(visit("rollout", full(), **query))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"max_surge": "many"}, "neither a number nor a percentage"),
        ({"memory": "NaN"}, "is not a Kubernetes quantity"),
        ({"cpu": "-1"}, "is negative"),
        ({"node_selector": "disk"}, "is not a node selector"),
        ({"patch": "{"}, "This can't be answered"),
        ({"then": "add:gpu=1"}, "begins with no time"),
        ({"then": "2m:add:web=1"}, "There is no pool web"),
        ({"then": "2m:apply:x.yaml"}, "No file is read here"),
        ({"by": "manifest"}, "Nothing asked yet"),
        ({"by": "manifest", "manifest": "kind: [}"}, "This can't be answered"),
        ({"max_surge": "0", "max_unavailable": "0"}, "This can't be answered"),
    ],
    ids=str,
)
def test_what_cannot_be_read_gets_a_sentence_and_the_inputs_stay(query: dict[str, str], words: str) -> None:
    app = visit("rollout", full(), **query, more_rollout="true")
    assert words in said(app)
    assert [one.label for one in app.segmented_control].index("Change") == 0
    assert ("Nothing asked yet" in said(app)) == (not app.error), "what isn't asked is no mistake"
    if query.get("by") != "manifest":
        assert {"maxSurge", "Node selector"} <= {box.label for box in app.text_input}
        assert [area.label for area in app.text_area] == ["Strategic merge patch"]
    assert not app.get("bidi_component")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"workload": "Deployment/ml/other"}, 'asks for workload "Deployment/ml/other"'),
        ({"replicas": "-1"}, 'asks for replicas "-1"'),
        ({"replicas": "1e9"}, 'asks for replicas "1e9"'),
        ({"strategy": "OnDelete"}, 'asks for strategy "OnDelete"'),
        ({"never_ready": "perhaps"}, 'asks for never_ready "perhaps"'),
        ({"startup_seconds": "soon"}, 'asks for startup_seconds "soon"'),
    ],
    ids=str,
)
def test_what_a_widget_refuses_is_told_and_the_default_used(query: dict[str, str], words: str) -> None:
    app = visit("rollout", full(), **query)
    assert words in said(app)
    assert verdict(app).startswith("✗ Stuck: the new pod needs 1 T4, and the pods that it replaces hold ")


def test_another_workload_starts_from_its_own_strategy() -> None:
    app = visit("rollout", workload="Deployment/prod/ml-worker", max_surge="1", max_unavailable="0")
    assert app.title[0].value.replace("\\", "") == "prod/ml-worker"
    assert verdict(app).startswith("✗ Stuck: the new pod needs 1 T4, and the pods that it replaces hold ")
    next(box for box in app.selectbox if box.label == "Workload").select("Deployment/prod/api").run()
    assert verdict(app).startswith("✓ Completes")
    assert not [box.value for box in app.text_input if box.label == "maxSurge" and box.value]


def test_several_workloads_roll_out_together() -> None:
    app = visit("rollout", workload="Deployment/prod/api", also="Deployment/prod/llm-serve")
    assert verdict(app).startswith("✗ Stuck")
    assert "Deployment/prod/llm-serve" in said(app)
    assert any(control.label == "Timeline of" for control in app.segmented_control)


def test_a_manifest_is_worked_out_against_the_cluster() -> None:
    manifest = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: worker, namespace: ml}\n"
        "spec:\n  replicas: 3\n  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n"
        "  selector: {matchLabels: {app: worker}}\n  template:\n    metadata: {labels: {app: worker}}\n"
        "    spec:\n      containers:\n      - name: main\n        image: worker:2\n"
        '        resources: {requests: {cpu: "1", nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}\n'
    )
    assert verdict(visit("rollout", full(), by="manifest", manifest=manifest)).startswith("✓ Completes")


def test_a_cluster_without_workloads_says_what_to_do() -> None:
    app = visit("rollout", snapshot(node("node-0", 1)))
    assert "Nothing to roll out" in said(app)
    assert "This snapshot has no Deployment" in said(app)
    assert not app.error, "it is no mistake"


def test_a_workload_scaled_to_nothing_has_no_grid() -> None:
    app = visit("rollout", full(), replicas="0", scale_only="true", workload=WORKER)
    assert verdict(app).startswith("✓ Completes")
    assert len(app.get("bidi_component")) <= 1  # the film alone
    assert "that has pods has other strategies to choose from" in said(app)


def sentence_of_costs(app: AppTest) -> str:
    return next((str(one.value).replace("\\", "") for one in app.markdown if "costs" in str(one.value)), "")


def test_strategies_have_their_price_and_ways_out_that_add_a_node() -> None:
    asked = {"workload": "Deployment/prod/ml-worker", "max_surge": "1", "max_unavailable": "0"}
    app = visit("rollout", None, **asked, **COSTS)
    assert sentence_of_costs(app).startswith("Surge 1 costs $438 a month as a spare T4, $273 as a spare T4 on spot")
    said_of_node = said(visit("rollout", None, **asked))
    assert ":blue-badge[$438 a month]" in said_of_node
    assert "the node stays in use afterwards" in said_of_node, "batch/trainer takes the place that it leaves free"
    table = next(one.value for one in app.dataframe if "Today" in one.value)
    row = table[table["Strategy"] == "Surge 1"].iloc[0]
    assert (row["Today"], row["Lowest Ready"], row["Extra GPUs"]) == ("✗ Stuck: waits for itself", "6 of 6", "1")
    assert row["$/month on demand"] == pytest.approx(438.19, abs=0.01)
    assert len(table) < 48


COSTS = {"spares_open": "true"}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"rollouts_per_month": "4"}, "$1.63 a month as a node added for each of 4 rollouts"),
        ({"on_demand_usd_per_gpu_hour": "0.35"}, "Surge 1 costs $255 a month"),
        ({"limits": "gpu-t4=6-6", "arrival_seconds": "0", "scale_down_seconds": "0"}, "$3.89 a month as a node added"),
    ],
    ids=str,
)
def test_a_link_keeps_what_spare_gpus_are_assumed_to_cost(query: dict[str, str], words: str) -> None:
    assert words in sentence_of_costs(visit("rollout", None, workload="Deployment/prod/ml-worker", **COSTS, **query))


def test_a_price_nobody_knows_is_said_and_can_be_given() -> None:
    app = visit("rollout", full(), **COSTS)
    assert "needs a spare GPU; there is no price for it" in said(app)
    table = next(one.value for one in app.dataframe if "Today" in one.value)
    assert table[table["Strategy"] == "Surge 1 (now)"]["$/month on demand"].isna().all()
    given = visit("rollout", full(), on_demand_usd_per_gpu_hour="0.35", **COSTS)
    assert sentence_of_costs(given).startswith("Surge 1 costs $255 a month as a spare GPU")


def test_prices_that_cannot_be_read_leave_the_rest_of_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    damaged = tmp_path / "headroom" / "gcp-prices.csv"
    damaged.parent.mkdir()
    damaged.write_text("not prices", "utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    st.cache_resource.clear()
    app = visit("rollout", full(), **COSTS)
    assert 'was not written by "headroom costs --price-list refresh"' in said(app)
    assert len(app.get("bidi_component")) == 2
    assert "Workloads" in {heading.value for heading in visit("overview", full()).header}
    st.cache_resource.clear()


def test_a_patch_that_is_only_a_part_of_the_cure_is_not_tried_alone() -> None:
    app = visit("rollout", workload="Deployment/prod/llm-serve")
    assert "with llm-lab/llm-canary at 0 replicas meanwhile" in said(app)
    assert not [button for button in app.button if button.label == "Suppose it" and str(button.key) == "try-0"]


def test_a_link_may_write_the_workload_as_the_command_line_does() -> None:
    app = visit("rollout", workload="deployment/prod/ml-worker")
    [box] = [one for one in app.selectbox if one.label == "Workload"]
    assert box.value == "Deployment/prod/ml-worker"
    assert "there is no such choice" not in said(app)


def test_pods_of_a_kind_that_is_not_rolled_out_are_placed() -> None:
    template = "{spec: {containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}"
    manifest = (
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: llm, namespace: ml}\n"
        f"spec: {{replicas: 2, leaderWorkerTemplate: {{size: 2, workerTemplate: {template}}}}}\n"
    )
    app = visit("rollout", full(), by="manifest", manifest=manifest)
    assert verdict(app).startswith("✗ Stuck")
    assert "0 of its 2 groups are placed whole" in said(app)
    assert "Placement only" in said(app)


SECRET = "hunter2-of-the-patch"
PRIVATE = f"spec: {{template: {{spec: {{containers: [{{name: worker, env: [{{name: P, value: {SECRET}}}]}}]}}}}}}"


def linked(app: AppTest) -> str:
    found = app.query_params["patch"]
    return found if isinstance(found, str) else found[0]


def test_a_patch_that_was_typed_stands_in_the_link_as_its_digest() -> None:
    app = visit("rollout", full(), more_rollout="true")
    app.text_area[0].set_value(PRIVATE).run()
    assert not app.exception
    assert linked(app) == digest_of(PRIVATE)
    assert SECRET not in said(app)
    app.text_area[0].set_value("").run()
    assert "patch" not in app.query_params


@pytest.mark.parametrize(
    "query", [{"patch": digest_of(PRIVATE)}, {"by": "manifest", "manifest": digest_of(PRIVATE)}], ids=str
)
def test_a_link_that_names_a_text_asks_for_it(query: dict[str, str]) -> None:
    """Nothing is answered without it: the question was another one."""
    app = visit("rollout", full(), **query)
    assert "and doesn't hold it" in said(app)
    assert not app.get("bidi_component")
    app.text_area[0].set_value(PRIVATE if "patch" in query else "kind: [}").run()
    assert "and doesn't hold it" not in said(app)


def test_a_link_that_names_a_text_can_be_answered_without_it() -> None:
    app = visit("rollout", full(), patch=digest_of(PRIVATE), max_surge="0", max_unavailable="1")
    app.button(key="patch_without").click().run()
    assert "patch" not in app.query_params
    assert verdict(app).startswith("✓ Completes")


def test_a_text_in_a_link_of_an_earlier_release_is_read_and_goes_from_the_address() -> None:
    app = visit("rollout", full(), patch=PATCH)
    assert verdict(app).startswith("✓ Completes")
    assert linked(app) == digest_of(PATCH.strip())


def test_a_manifest_is_answered_in_a_cluster_where_nothing_rolls_out() -> None:
    examples = Path(__file__).parents[2] / "docs" / "examples"
    teams = cluster_dumps.read_bytes((examples / "teams.json").read_bytes(), name="teams.json")
    assert not [one for one in teams.workloads if one.traits.rolls_out]
    app = visit("rollout", teams)
    assert "Nothing to roll out" in said(app)
    next(one for one in app.text_area if one.label == "Manifest").set_value(
        (examples / "teams-job.yaml").read_text(encoding="utf-8")
    ).run()
    assert not app.exception
    assert "Nothing to roll out" not in said(app)
    assert "Job/" in said(app)
    assert "Ready of" not in said(app), "a Job has none to keep"


def test_the_table_of_strategies_has_its_columns_for_all() -> None:
    """Nodes that an autoscaler brings are told of those that complete: the rows of the others broke the table."""
    words = said(visit("rollout", workload="Deployment/prod/inference-api", spares_open="true"))
    assert "△ Missing" not in words


def test_a_way_out_by_nodes_is_supposed_on_every_page() -> None:
    app = visit("rollout", workload="Deployment/batch/trainer")
    button = next(one for one in app.button if str(one.key).startswith("suppose-way-"))
    button.click().run()
    assert app.query_params["as_if"] == "add:gpu-t4=1"
    assert "✓ Completes" in said(app)


def test_one_list_of_ways_out_says_ready_minutes_money_and_what_is_proven() -> None:
    app = visit("rollout", full())
    ways = [str(one.value) for one in app.markdown if str(one.value).startswith("**1. ")]
    assert len(ways) == 1
    assert "2 of 3 Ready" in ways[0]
    assert ":blue-badge[proven]" not in ways[0], "what the input doesn't tell could change the verdict"
    assert ":blue-badge[proven]" in said(visit("rollout", workload="Deployment/prod/llm-serve"))
    assert "All plans" not in said(app)
    button = next(one for one in app.button if one.key == "suppose-way-0")
    button.click().run()
    assert app.query_params["as_if"] == f"resize:{WORKER}=maxSurge:0,maxUnavailable:1"
    assert verdict(app).startswith("✓ Completes")
