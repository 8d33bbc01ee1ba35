"""Memory joined with the engine, on objects as kubectl gives them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.ground.errors import ChangeError
from planner.ground.records import replace
from planner.health.memory.kubelet import KubeletSettings
from planner.health.memory.what_if import MemoryChange
from planner.kubernetes.object_records import FrozenMap, PodSpec, Snapshot, Template
from planner.questions.memory import MemorySettings, answer, memory_what_if
from planner.rollout.answers import Verdict
from tests.builders.objects import read_items
from tests.memory.objects import GIB, container

DEFAULT = KubeletSettings()
LABELS = {"app": "api", "pod-template-hash": "1"}


def cluster() -> Snapshot:
    """A Deployment of one pod and a bare pod on one node of 14Gi."""
    template = {"metadata": {"labels": {"app": "api"}}, "spec": _spec("api", "1Gi", "4Gi")}
    return read_items(
        [
            _object("v1", "Node", "node", status={"capacity": _ROOM, "allocatable": {**_ROOM, "memory": "14Gi"}}),
            _object(
                "apps/v1",
                "Deployment",
                "api",
                spec={"replicas": 1, "selector": {"matchLabels": {"app": "api"}}, "template": template},
            ),
            _object(
                "apps/v1",
                "ReplicaSet",
                "api-1",
                owner=("Deployment", "api"),
                labels=LABELS,
                spec={
                    "replicas": 1,
                    "selector": {"matchLabels": LABELS},
                    "template": {**template, "metadata": {"labels": LABELS}},
                },
            ),
            _pod("api-1-a", _spec("api", "1Gi", "4Gi"), owner=("ReplicaSet", "api-1"), labels=LABELS),
            _pod("bare", _spec("main", "1Gi", "2Gi")),
            _metrics("api-1-a", "api", "2Gi"),
            _metrics("bare", "main", "512Mi"),
        ]
    )


_ROOM = {"cpu": "8", "memory": "16Gi", "pods": "110"}


def _spec(name: str, request: str, limit: str) -> dict[str, Any]:
    resources = {"requests": {"memory": request, "cpu": "100m"}, "limits": {"memory": limit, "cpu": "100m"}}
    return {"containers": [{"name": name, "image": "example.com/x", "resources": resources}]}


def _object(
    api: str, kind: str, name: str, owner: tuple[str, str] | None = None, labels: Any = None, **more: Any
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "labels": labels or {}}
    if kind != "Node":
        metadata["namespace"] = "dev"
    if owner:
        metadata["ownerReferences"] = [
            {"kind": owner[0], "name": owner[1], "uid": f"uid-{owner[1]}", "apiVersion": "apps/v1", "controller": True}
        ]
    if kind == "ReplicaSet":
        metadata["annotations"] = {"deployment.kubernetes.io/revision": "1"}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def _pod(name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return _object("v1", "Pod", name, spec={**spec, "nodeName": "node"}, status=status, **more)


def _metrics(name: str, container_name: str, memory_used: str) -> dict[str, Any]:
    usage = {"cpu": "50m", "memory": memory_used}
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": {"name": name, "namespace": "dev"},
        "timestamp": "2026-11-20T09:00:00Z",
        "window": "15s",
        "containers": [{"name": container_name, "usage": usage}],
    }


def change(container_name: str = "api", workload: str = "Deployment/dev/api", **values: Any) -> MemoryChange:
    return MemoryChange(workload=workload, container=container_name, **values)


def test_risks_come_with_the_cluster() -> None:
    found = answer(cluster(), MemorySettings())
    assert [one.code for one in found.findings] == ["memory-evicted-first-within-limit"]


def test_a_request_that_fits_rolls_out_and_cures() -> None:
    answer = memory_what_if(cluster(), DEFAULT, change(request_bytes=3 * GIB))
    assert answer.rollout is not None
    assert answer.rollout.verdict is Verdict.COMPLETES
    assert [one.code for one in answer.cured] == ["memory-evicted-first-within-limit"]
    assert answer.caused == ()
    assert "the first pod to be evicted becomes dev/bare (was dev/api-1-a)" in answer.sentence
    assert json.loads(answer.command.split(" -p ")[1].strip("'"))["spec"]["template"]


def test_a_request_that_no_node_has_is_stuck() -> None:
    answer = memory_what_if(cluster(), DEFAULT, change(request_bytes=20 * GIB, limit_bytes=20 * GIB))
    assert answer.rollout is not None
    assert answer.rollout.verdict is Verdict.STUCK
    assert "Rollout: stuck" in answer.sentence


def test_a_bare_pod_has_no_rollout() -> None:
    answer = memory_what_if(cluster(), DEFAULT, change("main", "Pod/dev/bare", request_bytes=2 * GIB))
    assert answer.rollout is None
    assert answer.command == ""
    assert {one.object for one in answer.differences} == {"dev/bare", "Node/node"}


def test_without_a_change_nothing_changes() -> None:
    nothing = memory_what_if(cluster(), DEFAULT, None)
    assert (nothing.rollout, nothing.sentence) == (None, "No value changes.")


def test_a_container_that_only_the_template_lacks() -> None:
    given = cluster()
    spec = PodSpec(containers=(container("other"),))
    changed = replace(given, workloads=(replace(given.workloads[0], template=Template(labels=FrozenMap(), spec=spec)),))
    with pytest.raises(ChangeError, match='no container "api"'):
        memory_what_if(changed, DEFAULT, change(request_bytes=GIB))
