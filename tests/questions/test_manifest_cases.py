"""Manifests that the API server refuses, that make no pods, or that act on pods without making some, at every door of the gate.

The inputs are reviews of the project (``cases``): typos in a Deployment, versions of before, kinds of operators, an autoscaler and a taint.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
import yaml

from planner.cli import main
from planner.ground.exit_status import ExitStatus
from planner.questions import gate
from planner.questions.gate import GateAnswer, GateSettings
from tests.architecture.tree import ROOT
from tests.builders.objects import read_items
from tests.inventory.objects import Object, gpu_container, gpu_node, named, workload

CASES: Final = ROOT / "tests/questions/cases"
FORMATS: Final = ("text", "json", "yaml", "markdown", "junit", "sarif", "github")
NODES_OF_134: Final = "four-nodes-of-134.json.gz"


def cluster_of(folder: Path, name: str) -> str:
    file = folder / "cluster.json"
    file.write_bytes(gzip.decompress((CASES / name).read_bytes()))
    return str(file)


def asked(capsys: pytest.CaptureFixture[str], cluster: str, change: str, form: str = "text", status: int = 0) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["gate", cluster, "-f", str(CASES / change), "-o", form])
    assert (stopped.value.code or 0) == status
    said = capsys.readouterr()
    return said.out or said.err


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("typo-foo-and-resource", 'unknown fields "spec.foo" and "spec.template.spec.containers[0].resource". Write "resources"'),
        ("typo-maxsurge", 'unknown field "spec.strategy.rollingUpdate.maxsurge". Write "maxSurge"'),
        ("typo-nodeselector", 'unknown field "spec.template.spec.nodeselector". Write "nodeSelector"'),
        ("typo-port-name", "ports[0].name: has to be 1 to 15 small letters"),
        ("typo-stratgy", 'unknown field "spec.stratgy". Write "strategy"'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "markdown"])
def test_typos_are_refused(change: str, said: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in asked(capsys, "demo", f"{change}.yaml", form, ExitStatus.BAD_INPUT)


def test_what_was_meant_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (CASES / "typo-maxsurge.yaml").read_text(encoding="utf-8").replace("maxsurge", "maxSurge")
    (tmp_path / "right.yaml").write_text(text)
    with pytest.raises(SystemExit) as stopped:
        main(["gate", "demo", "-f", str(tmp_path / "right.yaml")])
    assert (stopped.value.code or 0) != ExitStatus.BAD_INPUT
    assert "Deployment/ml/worker" in capsys.readouterr().out


def test_versions_that_no_server_serves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = asked(capsys, cluster_of(tmp_path, NODES_OF_134), "nobody-serves.yaml", status=ExitStatus.BAD_INPUT)
    assert "no API server since Kubernetes 1.25 takes a PodDisruptionBudget of policy/v1beta1" in said
    assert "since Kubernetes 1.22 takes an Ingress of networking.k8s.io/v1beta1" in said
    assert "since Kubernetes 1.31 takes a ResourceClaimTemplate of resource.k8s.io/v1alpha2" in said
    assert "Give apiVersion policy/v1" in said


# ── what makes no pods ───────────────────────────────────────────────────────────────────────────────────────────────
def test_what_makes_no_pods_has_no_untrue_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the five only Kubernetes' own PodGroup isn't known: pods may wait for it."""
    cluster = cluster_of(tmp_path, NODES_OF_134)
    found = json.loads(asked(capsys, cluster, "makes-no-pods.yaml", "json", ExitStatus.NOT_KNOWN))["result"]
    assert [one["workload"] for one in found["workloads"]] == ["PodGroup/default/g"]
    assert "pods that name PodGroup/default/g wait for it" in found["workloads"][0]["sentence"]
    later = {one["about"]: one["why"] for one in found["doubts"] if one["could_change"] == "nothing"}
    assert later.keys() == {"Task/default/build", "WorkflowTemplate/default/wt"}
    for form in FORMATS:
        said = asked(capsys, cluster, "makes-no-pods.yaml", form, ExitStatus.NOT_KNOWN)
        assert "may make some" not in said


def test_a_users_own_label_makes_no_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = cluster_of(tmp_path, NODES_OF_134)
    assert "passes: its pods are placed" in asked(capsys, cluster, "user-label.yaml")
    given = yaml.safe_load((CASES / "user-label.yaml").read_text(encoding="utf-8"))
    given["metadata"]["labels"] = {"workflows.argoproj.io/controller-instanceid": "other"}
    another = gate.answer(read_items([gpu_node("g")]), GateSettings(manifest=yaml.safe_dump(given)))
    assert another.exit_status == ExitStatus.NOT_KNOWN  # another controller may carry it out, or none


def answered(*documents: Object, there: tuple[Object, ...] = ()) -> GateAnswer:
    return gate.answer(read_items([gpu_node("gpu-0"), *there]), GateSettings(manifest=yaml.safe_dump_all(documents)))


def running(name: str = "llm", node: str = "gpu-0", **spec: Any) -> Object:
    own = {"nodeName": node, "containers": [gpu_container(1)], **spec}
    return named("Pod", name, "ml", spec=own, status={"phase": "Running"})


@pytest.mark.parametrize(
    ("kind", "version", "said"),
    [
        ("ClusterServingRuntime", "ome.io/v1beta1", "defines what other objects run: which of their pods it changes isn't known"),
        ("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1", "defines what other objects run"),
        ("PodGroup", "scheduling.x-k8s.io/v1alpha1", "wait for it: which of them begin isn't known"),
        ("Gadget", "example.com/v1", "whether Gadget/ml/x makes pods isn't known: example.com/v1 Gadget isn't in the table"),
    ],
)  # fmt: skip
def test_what_is_not_known_says_why(kind: str, version: str, said: str) -> None:
    found = answered(named(kind, "x", "ml", version, spec={}))
    assert found.exit_status == ExitStatus.NOT_KNOWN
    assert said in str(found.workloads[0].sentence)
    assert said in str(found.doubts[0].sentence)


# ── what acts on pods without making some ────────────────────────────────────────────────────────────────────────────
def test_an_autoscaler_and_a_taint_act_on_running_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = cluster_of(tmp_path, "acts-on-pods.json.gz")
    for form in FORMATS:
        said = asked(capsys, cluster, "acts-on-pods.yaml", form, ExitStatus.NOT_KNOWN)
        assert "may evict pods of Deployment/ml/llm" in " ".join(said.split())
        assert "which evicts 1 pod" in " ".join(said.split())
    found = json.loads(asked(capsys, cluster, "acts-on-pods.yaml", "json", ExitStatus.NOT_KNOWN))["result"]
    assert "at least 500Gi memory (the largest node has 128Gi)" in found["workloads"][0]["sentence"]
    report = ET.fromstring(asked(capsys, cluster, "acts-on-pods.yaml", "junit", ExitStatus.NOT_KNOWN))
    assert len(report.findall(".//failure")) >= 2


def vertical(mode: str, target: str = "llm") -> Object:
    spec = {
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
        "updatePolicy": {"updateMode": mode},
    }
    return named("VerticalPodAutoscaler", "v", "ml", "autoscaling.k8s.io/v1", spec=spec)


@pytest.mark.parametrize(
    ("mode", "target", "status", "doubts"),
    [
        ("Recreate", "llm", ExitStatus.NOT_KNOWN, 1), ("Auto", "llm", ExitStatus.NOT_KNOWN, 1),
        ("InPlaceOrRecreate", "llm", ExitStatus.NOT_KNOWN, 1), ("Off", "llm", ExitStatus.ANSWERED, 0),
        ("Initial", "llm", ExitStatus.ANSWERED, 1), ("Recreate", "absent", ExitStatus.ANSWERED, 1),
    ],
)  # fmt: skip
def test_what_a_vertical_autoscaler_does(mode: str, target: str, status: ExitStatus, doubts: int) -> None:
    found = answered(vertical(mode, target), there=(workload("Deployment", "llm", "ml"),))
    assert (found.exit_status, len(found.doubts)) == (status, doubts)


TAINT: Final = {"key": "x", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("spec", "status", "said"),
    [
        ({"taints": [TAINT]}, ExitStatus.NOT_KNOWN, "evicts 1 pod (ml/llm)"),
        ({"taints": [TAINT | {"effect": "NoSchedule"}]}, ExitStatus.ANSWERED, "takes no new pods then (x:NoSchedule)"),
        ({"unschedulable": True}, ExitStatus.ANSWERED, "takes no new pods then (unschedulable)"),
        ({}, ExitStatus.ANSWERED, ""),
    ],
)
def test_what_a_node_does(spec: Object, status: ExitStatus, said: str) -> None:
    """A pod that tolerates the taint stays; a node that nobody has evicts nothing."""
    found = answered(named("Node", "gpu-0", "", spec=spec), there=(running(),))
    assert found.exit_status == status
    assert [said in str(one.sentence) for one in found.doubts] == ([True] if said else [])
    tolerant = running(tolerations=[{"operator": "Exists"}])
    assert answered(named("Node", "gpu-0", "", spec=spec), there=(tolerant,)).exit_status == ExitStatus.ANSWERED
    assert answered(named("Node", "gpu-9", "", spec=spec), there=(running(),)).doubts == ()


def test_daemon_sets_follow_a_nodes_labels() -> None:
    template = {
        "metadata": {"labels": {"app": "d"}},
        "spec": {"nodeSelector": {"pool": "a"}, "containers": [gpu_container(1)]},
    }
    follower = workload("DaemonSet", "d", "ml", selector={"matchLabels": {"app": "d"}}, template=template)
    labeled = named("Node", "gpu-0", "")
    labeled["metadata"]["labels"] = {"pool": "a"}
    found = answered(labeled, there=(follower,))
    assert "which DaemonSet/ml/d select" in str(found.doubts[0].sentence)
    labeled["metadata"]["labels"] = {"team": "a"}
    assert answered(labeled, there=(follower,)).passes


def test_karpenter_replaces_nodes_of_a_pool_that_changes() -> None:
    node = gpu_node("k-0")
    node["metadata"].setdefault("labels", {})["karpenter.sh/nodepool"] = "gpu"
    pool = named("NodePool", "gpu", "", "karpenter.sh/v1", spec={"template": {}})
    assert "replace 1 node (drift)" in str(answered(pool, there=(node,)).doubts[0].sentence)
    other = named("NodePool", "other", "", "karpenter.sh/v1", spec={"template": {}})
    assert answered(other, there=(node,)).passes


def autoscaler(most: int) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llm"}
    return named(
        "HorizontalPodAutoscaler", "h", "ml", "autoscaling/v2", spec={"scaleTargetRef": target, "maxReplicas": most}
    )


def test_an_autoscaler_that_may_set_more_replicas_says_how_many() -> None:
    there = (workload("Deployment", "llm", "ml", replicas=2), autoscaler(5))
    found = answered(autoscaler(50), there=there)
    assert (found.passes, len(found.doubts)) == (True, 1)
    assert "may scale Deployment/ml/llm to 50 pods (5 so far)" in str(found.doubts[0].sentence)
    assert answered(autoscaler(5), there=there).doubts == ()


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (named("LimitRange", "l", "ml", spec={"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}), "holds for new pods of ml"),
        (named("ResourceQuota", "q", "ml", spec={"hard": {"pods": "1"}}), "holds for new pods of ml"),
        (named("PriorityClass", "p", "", "scheduling.k8s.io/v1", value=5), "gives its priority to pods"),
        (named("PriorityClass", "new", "", "scheduling.k8s.io/v1", value=5), ""),
        (named("LimitRange", "l", "elsewhere", spec={"limits": []}), ""),
    ],
)  # fmt: skip
def test_what_admission_reads_from_then_on(one: Object, said: str) -> None:
    there = (running(), named("PriorityClass", "p", "", "scheduling.k8s.io/v1", value=1))
    found = answered(one, there=there)
    assert found.passes
    assert [said in str(doubt.sentence) for doubt in found.doubts] == ([True] if said else [])
