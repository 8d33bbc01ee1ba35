from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.clusters import WORKER, full, node, snapshot
from tests.pages.visiting import said, visit

PATCH = "spec:\n  strategy:\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n"


def verdict(app: AppTest) -> str:
    boxes = [box.proto.title for kind in (app.error, app.success, app.warning, app.info) for box in kind]
    return next(title for title in boxes if title)


def test_full_cluster_is_stuck_and_says_why_and_what_to_do() -> None:
    app = visit("rollout", full())
    assert verdict(app) == "✗ Stuck: hold and wait"
    assert "0/3 nodes are available: 3 Insufficient nvidia.com/gpu" in said(app)
    assert "maxSurge 0, maxUnavailable 1" in said(app)
    assert "kubectl patch deployment worker -n ml" in said(app)
    assert [chart.proto.id.rsplit("-", 1)[-1] for chart in app.get("plotly_chart")] == ["timeline", "wait_for", "grid"]


def test_typing_another_strategy_completes() -> None:
    app = visit("rollout", full())
    next(box for box in app.text_input if box.label == "maxSurge").set_value("0")
    next(box for box in app.text_input if box.label == "maxUnavailable").set_value("1").run()
    assert verdict(app) == "✓ Completes"


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
    assert verdict(visit("rollout", full(), **query)) == "✓ Completes"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"node_selector": "disk=ssd"}, "no matching node"),
        ({"max_surge": "0", "max_unavailable": "1", "never_ready": "true"}, "never Ready"),
        ({"strategy": "Recreate", "cpu": "64"}, "not enough left"),
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
        ({"by": "manifest"}, "no manifest is given"),
        ({"by": "manifest", "manifest": "kind: [}"}, "This can't be answered"),
        ({"max_surge": "0", "max_unavailable": "0"}, "This can't be answered"),
    ],
    ids=str,
)
def test_what_cannot_be_read_gets_a_sentence_and_the_inputs_stay(query: dict[str, str], words: str) -> None:
    app = visit("rollout", full(), **query)
    assert words in said(app)
    assert app.segmented_control[0].label == "Change"
    if query.get("by") != "manifest":
        assert {"maxSurge", "Node selector"} <= {box.label for box in app.text_input}
        assert [area.label for area in app.text_area] == ["Strategic merge patch"]
    assert not app.get("plotly_chart")


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
    assert verdict(app) == "✗ Stuck: hold and wait"


def test_another_workload_starts_from_its_own_strategy() -> None:
    app = visit("rollout", workload="Deployment/prod/ml-worker", max_surge="1", max_unavailable="0")
    assert verdict(app) == "✗ Stuck: hold and wait"
    next(box for box in app.selectbox if box.label == "Workload").select("Deployment/prod/api").run()
    assert verdict(app) == "✓ Completes"
    assert next(box for box in app.text_input if box.label == "maxSurge").value == ""


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
    assert verdict(visit("rollout", full(), by="manifest", manifest=manifest)) == "✓ Completes"


def test_a_cluster_without_workloads_says_what_to_do() -> None:
    assert "this cluster has no Deployment" in said(visit("rollout", snapshot(node("node-0", 1))))


def test_a_workload_scaled_to_nothing_has_no_grid() -> None:
    app = visit("rollout", full(), replicas="0", scale_only="true", workload=WORKER)
    assert verdict(app) == "✓ Completes"
    assert "Every strategy" not in {heading.value for heading in app.subheader}
