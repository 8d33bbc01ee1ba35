"""What a manifest brings exists by the time its pods are made; what Helm makes at another time doesn't stand beside them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from planner.ground.exit_status import ExitStatus
from planner.kubernetes.object_records import Snapshot
from planner.questions.gate import GateAnswer, GateSettings, answer
from planner.rollout.answers import Verdict
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot

NODES = [node("n-0", gpus=1), node("n-1", gpus=1), *deployment("base", ["n-1"], pod_spec(cpu="100m"))]


def named(kind: str, name: str, version: str = "v1", namespace: str = "ml", **more: Any) -> Item:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}


def of_cluster(kind: str, name: str, version: str, **more: Any) -> Item:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}


def new(name: str = "web", replicas: int = 1, **spec: Any) -> Item:
    made = next(one for one in deployment(name, [], pod_spec(**spec), replicas=replicas) if one["kind"] == "Deployment")
    del made["metadata"]["uid"]
    return made


def gate(cluster: Snapshot, *items: Item) -> GateAnswer:
    return answer(cluster, GateSettings(manifest=yaml.safe_dump_all(items)))


def hooked(one: Item, *events: str, **annotations: str) -> Item:
    one["metadata"]["annotations"] = {"helm.sh/hook": ",".join(events), **annotations}
    return one


def codes(found: GateAnswer) -> list[str]:
    return [one.code for one in found.findings]


def test_a_service_account_of_the_manifest_exists() -> None:
    cluster, web = snapshot(NODES), new(serviceAccountName="mine")
    assert gate(cluster, web).together is Verdict.UNKNOWN
    assert gate(cluster, web, named("ServiceAccount", "other")).together is Verdict.UNKNOWN
    assert gate(cluster, web, named("ServiceAccount", "mine", namespace="other")).together is Verdict.UNKNOWN
    assert gate(cluster, web, named("ServiceAccount", "mine")).together is Verdict.COMPLETES


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ({"readyReplicas": 1}, Verdict.COMPLETES),
        ({"readyReplicas": 1, "replicas": 1, "updatedReplicas": 1}, Verdict.COMPLETES),
        ({"readyReplicas": 1, "replicas": 1}, Verdict.UNKNOWN),  # of an older template: another account, perhaps
        ({}, Verdict.UNKNOWN),
    ],
)
def test_a_service_account_of_a_workload_that_is_ready_exists(status: dict[str, int], verdict: Verdict) -> None:
    there, *_ = deployment("there", [], pod_spec(serviceAccountName="mine"))
    cluster = snapshot(NODES, {**there, "status": status})
    assert gate(cluster, new(serviceAccountName="mine")).together is verdict


def test_a_quota_of_the_manifest_counts() -> None:
    quota = named("ResourceQuota", "few", spec={"hard": {"pods": "1"}})
    assert gate(snapshot(NODES), new(replicas=2)).together is Verdict.COMPLETES
    assert gate(snapshot(NODES), new(replicas=2), quota).together is Verdict.STUCK


def test_a_limit_range_of_the_manifest_counts() -> None:
    limits = named("LimitRange", "small", spec={"limits": [{"type": "Container", "max": {"cpu": "500m"}}]})
    assert gate(snapshot(NODES), new(), limits).together is Verdict.STUCK


@pytest.mark.parametrize(
    ("field", "brought"),
    [
        ("priorityClassName", of_cluster("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)),
        ("runtimeClassName", of_cluster("RuntimeClass", "fast", "node.k8s.io/v1", handler="runc")),
    ],
    ids=["PriorityClass", "RuntimeClass"],
)
def test_a_class_of_the_manifest_exists_and_says_nothing_of_others(field: str, brought: Item) -> None:
    cluster = snapshot(NODES)
    spec: dict[str, Any] = {field: brought["metadata"]["name"]}
    assert cluster.lacks(brought["kind"])
    assert gate(cluster, new(**spec)).together is Verdict.UNKNOWN
    assert gate(cluster, new(**spec), brought).together is Verdict.COMPLETES
    other: dict[str, Any] = {field: "other"}
    assert gate(cluster, new(**other), brought).together is Verdict.UNKNOWN


@pytest.mark.parametrize("mode", ["Immediate", "WaitForFirstConsumer"])
def test_a_claim_and_its_class_of_the_manifest_are_made(mode: str) -> None:
    """One that waits in the cluster with nobody to bind it stays as it is."""
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    made = of_cluster(
        "StorageClass", "quick", "storage.k8s.io/v1", provisioner="pd.csi.storage.gke.io", volumeBindingMode=mode
    )
    asked = {"storageClassName": "quick", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}  # fmt: skip
    claim = named("PersistentVolumeClaim", "data", spec=asked)
    web = new(volumes=volumes)
    assert gate(snapshot(NODES), web).together is Verdict.UNKNOWN
    assert gate(snapshot(NODES), web, claim, made).together is Verdict.COMPLETES
    if mode == "Immediate":
        waits = {**claim, "status": {"phase": "Pending"}}
        assert gate(snapshot(NODES, waits, made), web, claim).together is Verdict.STUCK


def test_a_namespace_of_the_manifest_says_what_it_enforces_and_keeps_what_others_said() -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    there = of_cluster("Namespace", "ml", "v1")
    strict = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": labels}}
    assert gate(snapshot(NODES, there), new(), there).together is Verdict.COMPLETES
    assert gate(snapshot(NODES, there), new(), strict).together is Verdict.STUCK
    assert gate(snapshot(NODES, strict), new(), there).together is Verdict.STUCK
    assert gate(snapshot(NODES), new(), strict).together is Verdict.STUCK


def test_a_namespace_that_is_nowhere_is_told() -> None:
    other = of_cluster("Namespace", "other", "v1")
    assert "namespace-missing" in codes(gate(snapshot(NODES, other), new()))
    assert "namespace-missing" not in codes(gate(snapshot(NODES, other), new(), of_cluster("Namespace", "ml", "v1")))
    assert "namespace-missing" not in codes(gate(snapshot(NODES), new()))  # nobody listed them


@pytest.mark.parametrize("event", ["test", "test-success", "pre-install", "post-install,post-upgrade", "pre-delete", "post-delete", "pre-rollback"])  # fmt: skip
def test_a_hook_of_helm_is_not_applied_with_the_rest(event: str) -> None:
    big = named("Pod", "check", spec=pod_spec(gpus=8))
    assert gate(snapshot(NODES), new(), big).together is Verdict.STUCK
    found = gate(snapshot(NODES), new(), hooked(big, event))
    assert found.together is Verdict.COMPLETES
    assert [one.object for one in found.findings if one.code == "helm-hook"] == ["Pod/ml/check"]


def test_what_helm_makes_before_the_rest_is_there() -> None:
    web = new(serviceAccountName="mine")
    account = named("ServiceAccount", "mine")
    assert gate(snapshot(NODES), web, hooked(account, "pre-install")).together is Verdict.COMPLETES
    gone = {"helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded"}
    assert gate(snapshot(NODES), web, hooked(account, "pre-install", **gone)).together is Verdict.UNKNOWN
    assert gate(snapshot(NODES), web, hooked(account, "post-install")).together is Verdict.UNKNOWN
    assert (
        gate(snapshot(NODES), web, hooked(account, "crd-install")).together is Verdict.COMPLETES
    )  # no hook of today's


@pytest.mark.parametrize("kind", ["Deployment", "Pod", "ResourceQuota"])
def test_of_an_object_that_is_there_twice_the_last_counts(kind: str) -> None:
    def made(count: int) -> Item:
        if kind == "Pod":
            return named("Pod", "alone", spec=pod_spec(gpus=count))
        return (
            new(replicas=count) if kind == "Deployment" else named(kind, "q", spec={"hard": {"pods": str(5 - count)}})
        )

    beside = [] if kind != "ResourceQuota" else [new(replicas=2)]
    verdicts = [gate(snapshot(NODES), *beside, *(made(one) for one in counts)) for counts in ((4, 1), (1, 4))]
    assert [codes(one).count("manifest-twice") for one in verdicts] == [1, 1]
    if kind == "Deployment":
        assert [one.workloads[0].replicas for one in verdicts] == [1, 4]
    else:
        assert [one.together for one in verdicts][1] is Verdict.STUCK if kind == "Pod" else verdicts[0].together
    same_name = gate(snapshot(NODES), new(), {**named("Thing", "web"), "apiVersion": "example.com/v1"})
    assert "manifest-twice" not in codes(same_name)


def test_a_warning_stands_under_its_own_workload() -> None:
    found = gate(snapshot(NODES), new("a"), new("b", serviceAccountName="mine"))
    assert {one.object for one in found.findings if one.code == "answer-incomplete"} == {"Deployment/ml/b"}
    assert found.exit_status is ExitStatus.NOT_KNOWN
