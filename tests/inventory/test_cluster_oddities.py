"""Each check finds what it is for, and is silent otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from planner.ground.records import replace
from planner.inventory import cluster_oddities
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Finding, Presence, Severity, Snapshot
from planner.kubernetes.requests import pod_request
from planner.sources import demo
from tests.builders.objects import read_items
from tests.inventory.objects import container, gpu_container, gpu_node, named, node, owned_by, pod, template, workload

Object = dict[str, Any]
NOW = 1_800_000_000.0
T4 = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", "cloud.google.com/gke-nodepool": "gpu"}


def read(*items: Object) -> Snapshot:
    snapshot = read_items(items, taken_at=NOW)
    assert snapshot.problems == ()
    return snapshot


def found(code: str, *items: Object) -> list[Finding]:
    return [finding for finding in cluster_oddities.check(read(*items)) if finding.code == code]


def gpu_pod(name: str, node_name: str = "", **spec: Any) -> Object:
    return pod(name, node_name, containers=[gpu_container()], **spec)


def gpu_workload(**spec: Any) -> Object:
    return workload(template=template("app", gpu_container()), **spec)


# ── the whole ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_problems_of_reading_come_first() -> None:
    snapshot = read_items([node(), pod(containers=3)])
    assert cluster_oddities.check(snapshot)[0].code == "object-unreadable"


def test_every_finding_says_what_and_most_say_how_to_fix() -> None:
    findings = cluster_oddities.check(demo.read())
    assert findings
    assert all(finding.what and not finding.what.endswith(".") for finding in findings)
    assert len(set(findings)) == len(findings)


def test_the_demo_says_which_gpu_pods_wait() -> None:
    snapshot = demo.read()
    waiting = [one for one in cluster_oddities.check(snapshot) if one.code == "pod-unschedulable"]
    assert {one.object for one in waiting} == {"Deployment/batch/trainer", "Deployment/llm-lab/llm-canary"}


def test_an_empty_snapshot_can_be_checked() -> None:
    findings = cluster_oddities.check(Snapshot(taken_at=0.0, source="x", digest=""))
    assert {finding.code for finding in findings} == {"kind-absent"}


# ── age ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (60.0, None),
        (-200.0, None),
        (2 * 3600.0, ("snapshot-stale", Severity.INFO, "2 h old")),
        (86_400.0, ("snapshot-stale", Severity.WARNING, "24 h old")),
        (-3600.0, ("snapshot-from-the-future", Severity.WARNING, "1 h ahead")),
    ],
)
def test_age(age: float, expected: tuple[str, Severity, str] | None) -> None:
    findings = cluster_oddities.check_age(read(node()), NOW + age)
    if expected is None:
        assert findings == ()
        return
    [finding] = findings
    assert (finding.code, finding.severity) == expected[:2]
    assert expected[2] in finding.what


def test_an_unknown_age() -> None:
    [finding] = cluster_oddities.check_age(replace(read(node()), taken_at=0.0), NOW)
    assert finding.code == "snapshot-age-unknown"


# ── kinds ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_missing_kinds_and_what_that_weakens() -> None:
    findings = {one.what.split(" in the input")[0]: one for one in found("kind-absent", node(), pod(), workload())}
    assert set(findings) == {
        f"no {kind}"
        for kind in ("ReplicaSet", "PriorityClass", "ResourceQuota", "PodDisruptionBudget", "Event", "PodMetrics")
    }
    assert findings["no ReplicaSet"].severity is Severity.WARNING
    assert findings["no ResourceQuota"].severity is Severity.INFO
    assert "resourcequotas" in findings["no ResourceQuota"].fix
    assert "priorityclasses" in findings["no PriorityClass"].fix
    assert "podmetrics" in findings["no PodMetrics"].fix


def test_without_nodes_or_pods_nothing_can_be_answered() -> None:
    errors = [one for one in cluster_oddities.check(read(workload())) if one.severity is Severity.ERROR]
    assert {one.what.split(" in the input")[0] for one in errors} == {"no Node", "no Pod"}


def test_claims_and_devices_are_missed_only_where_they_are_used() -> None:
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    kinds = {one.what.split()[1] for one in found("kind-absent", node(), pod(volumes=[claim]))}
    assert {"PersistentVolumeClaim", "PersistentVolume", "StorageClass"} <= kinds
    device = {"name": "gpu", "resourceClaimTemplateName": "one"}
    kinds = {one.what.split()[1] for one in found("kind-absent", node(), pod(resourceClaims=[device]))}
    assert {"ResourceSlice", "DeviceClass"} <= kinds


def test_revisions_are_missed_only_where_pods_are_of_several() -> None:
    owner = workload("StatefulSet")
    pods = [owned_by(owner, pod(f"app-{i}")) for i in range(2)]
    for i, one in enumerate(pods):
        one["metadata"]["labels"] = {"app": "app", "controller-revision-hash": f"app-{i}"}
    alone = [node(), owner, pods[0], owned_by(workload("StatefulSet", "other"), pods[1])]
    assert "ControllerRevision" not in {one.what.split()[1] for one in found("kind-absent", *alone)}
    [lacking] = [one for one in found("kind-absent", node(), owner, *pods) if "ControllerRevision" in one.what]
    assert lacking.severity is Severity.INFO
    assert "controllerrevisions" in lacking.fix


def test_a_refused_kind_is_not_a_missing_one() -> None:
    parts = [Part(items=[node(), pod()]), Part(refused=("ResourceQuota",))]
    snapshot = build_snapshot(parts, source="x")
    assert snapshot.presence["ResourceQuota"] is Presence.REFUSED
    [finding] = [one for one in cluster_oddities.check(snapshot) if one.code == "kind-refused"]
    assert finding.severity is Severity.WARNING
    assert "403" in finding.what


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_gpu_nodes_without_an_accelerator_label() -> None:
    pool = {"cloud.google.com/gke-nodepool": "a"}
    items = [gpu_node("g1", labels=pool), gpu_node("g2", labels=pool), gpu_node("g3", labels=T4), node("cpu")]
    [finding] = found("gpu-node-without-label", *items)
    assert finding.object == "node pool a"
    assert "2 nodes (g1, g2) have GPUs" in finding.what
    [single] = found("gpu-node-without-label", gpu_node("g1"))
    assert single.object == "Node/g1"


def test_many_nodes_are_one_line() -> None:
    [finding] = found("gpu-node-without-label", *(gpu_node(f"g{i:04}") for i in range(1000)))
    assert "1,000 nodes (g0000, g0001, g0002 and 997 more)" in finding.what


def test_gpu_nodes_that_take_no_pods() -> None:
    cordoned, unready = gpu_node("g1", 4, labels=T4), gpu_node("g2", labels=T4)
    cordoned["spec"]["unschedulable"] = True
    unready["status"]["conditions"][0]["status"] = "Unknown"
    [one] = found("gpu-node-cordoned", cordoned, unready, gpu_node("g3", labels=T4))
    assert "4 GPUs" in one.what
    [one] = found("gpu-node-not-ready", cordoned, unready, gpu_node("g3", labels=T4))
    assert one.object == "Node/g2"


def test_nodes_that_hold_more_than_they_have() -> None:
    pods = [gpu_pod("a", "g1"), gpu_pod("b", "g1")]
    [finding] = found("node-overcommitted", gpu_node("g1", labels=T4), *pods)
    assert "nvidia.com/gpu" in finding.what
    pods[1]["status"]["phase"] = "Succeeded"
    assert found("node-overcommitted", gpu_node("g1", labels=T4), *pods) == []


def test_more_pods_than_a_node_takes() -> None:
    one = node("n")
    one["status"]["allocatable"]["pods"] = "1"
    [finding] = found("node-overcommitted", one, pod("a", "n"), pod("b", "n"))
    assert "more pods than" in finding.what


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_pods_bound_to_nodes_that_are_not_there() -> None:
    [finding] = found("pod-on-unknown-node", node("n"), pod("a", "gone"), pod("b", "gone"), pod("c", "n"), pod("d"))
    assert finding.object == "Node/gone"
    assert "2 pods (prod/a, prod/b) are bound" in finding.what
    assert found("pod-on-unknown-node", pod("a", "gone")) == []  # no nodes were listed at all


def test_pods_that_do_not_go() -> None:
    stuck, leaving = pod("a", "n"), pod("b", "n")
    stuck["metadata"]["deletionTimestamp"] = "2027-01-15T07:00:00Z"  # an hour before
    leaving["metadata"]["deletionTimestamp"] = "2027-01-15T07:59:50Z"
    [finding] = found("pod-stuck-terminating", node("n"), stuck, leaving)
    assert finding.object == "Node/n"
    assert "pod prod/a" in finding.what


def test_pods_that_wait_are_told_by_workload_in_the_schedulers_words() -> None:
    owner = {"kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}
    pods = [pod(f"db-{i}") for i in range(5)]
    for one in pods:
        one["metadata"]["ownerReferences"] = [owner]
        one["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/1 nodes are available.",
            }
        ]
    [finding] = found("pod-unschedulable", node(), *pods)
    assert finding.object == "StatefulSet/prod/db"
    assert finding.what.startswith("5 pods (prod/db-0, prod/db-1, prod/db-2 and 2 more)")
    assert finding.what.endswith("0/1 nodes are available")


# ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_resource_that_no_node_has() -> None:
    wrong = container(resources={"limits": {"nvidia.com/gpus": "1"}})
    [finding] = found("pod-wants-unknown-resource", gpu_node(), workload(template=template("app", wrong)))
    assert finding.severity is Severity.ERROR
    assert finding.object == "Deployment/prod/app"
    assert "nvidia.com/gpus" in finding.what
    assert found("pod-wants-unknown-resource", gpu_node(), gpu_workload()) == []
    assert found("pod-wants-unknown-resource", node(), gpu_workload(replicas=0)) == []
    [lone] = found("pod-wants-unknown-resource", node(), gpu_pod("a"))
    assert lone.object == "Pod/prod/a"


def test_a_resource_that_devices_stand_for() -> None:
    device_class = named("DeviceClass", "gpu", api_version="resource.k8s.io/v1",
                         spec={"extendedResourceName": "nvidia.com/gpu"})  # fmt: skip
    assert found("pod-wants-unknown-resource", node(), device_class, gpu_workload()) == []


@pytest.mark.parametrize(
    ("spec", "has_finding"),
    [
        ({"replicas": 2}, True),  # 25 % of 2 rounds to surge 1, unavailable 0
        ({"replicas": 4}, False),  # … of 4 to unavailable 1
        ({"replicas": 0}, False),
        ({"replicas": 2, "strategy": {"type": "Recreate"}}, False),
        ({"replicas": 2, "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}, True),
        ({"replicas": 2, "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}}, False),
    ],
)
def test_deployments_with_no_room_to_surge(spec: Object, has_finding: bool) -> None:
    full = [gpu_node("g1", 2, labels=T4), gpu_pod("a", "g1"), gpu_pod("b", "g1")]
    assert len(found("deployment-no-room-to-surge", *full, gpu_workload(**spec))) == has_finding


def test_room_anywhere_is_room() -> None:
    full = [gpu_node("g1", 1, labels=T4), gpu_pod("a", "g1")]
    deployment = gpu_workload(replicas=1)
    [finding] = found("deployment-no-room-to-surge", *full, deployment)
    assert "keeps its pod" in finding.what
    assert "1 nvidia.com/gpu" in finding.what
    assert "maxUnavailable" not in finding.fix  # another workload may wait for the same node: only a simulation tells
    assert found("deployment-no-room-to-surge", *full, gpu_node("g2", 1, labels=T4), deployment) == []
    deployment["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "g1"}
    assert len(found("deployment-no-room-to-surge", *full, gpu_node("g2", 1, labels=T4), deployment)) == 1


def test_deployments_without_devices_are_left_to_the_engine() -> None:
    assert found("deployment-no-room-to-surge", node(pods="0"), workload(replicas=1)) == []


def test_stalled_paused_and_unobserved_workloads() -> None:
    stalled, paused, unobserved = workload(name="a"), workload(name="b", paused=True), workload(name="c")
    stalled["status"] = {
        "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]
    }
    unobserved["metadata"]["generation"] = 3
    unobserved["status"] = {"observedGeneration": 2}
    codes = {
        one.object: one.code for one in cluster_oddities.check(read(node(), stalled, paused, unobserved)) if one.object
    }
    assert codes == {
        "Deployment/prod/a": "deployment-stalled",
        "Deployment/prod/b": "deployment-paused",
        "Deployment/prod/c": "workload-not-observed",
    }


def test_selectors_that_overlap() -> None:
    mine = workload(name="a", selector={"matchLabels": {"tier": "web"}},
                    template=template("a", labels={"tier": "web"}))  # fmt: skip
    other = workload(name="b", template=template("b", labels={"tier": "web"}))
    elsewhere = workload(name="c", namespace="dev", template=template("c", labels={"tier": "web"}))
    [finding] = found("selector-overlaps", mine, other, elsewhere)
    assert finding.object == "Deployment/prod/a"
    assert "Deployment/prod/b" in finding.what


def test_selectors_by_expression_overlap_too() -> None:
    by_expression = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}
    [finding] = found("selector-overlaps", workload(name="a", selector=by_expression), workload(name="b"))
    assert "Deployment/prod/b" in finding.what


def test_priority_classes_that_do_not_exist() -> None:
    high = named("PriorityClass", "high", api_version="scheduling.k8s.io/v1", value=1)
    items = [workload(name=name, template=template(name, priorityClassName=priority)) for name, priority in
             (("a", "high"), ("b", "hihg"), ("c", "system-node-critical"))]  # fmt: skip
    [finding] = found("priority-class-missing", high, *items)
    assert finding.object == "Deployment/prod/b"
    assert found("priority-class-missing", *items) == []  # classes weren't listed: nothing is known


def test_claims_that_do_not_exist() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    mounting = workload(template=template("app", volumes=volumes))
    there = named("PersistentVolumeClaim", "data", "prod", spec={})
    elsewhere = named("PersistentVolumeClaim", "data", "dev", spec={})
    assert found("claim-missing", mounting, there) == []
    [finding] = found("claim-missing", mounting, elsewhere)
    assert '"data"' in finding.what


# ── budgets ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"maxUnavailable": 0}, "budget-blocks-always"),
        ({"maxUnavailable": "0%"}, "budget-blocks-always"),
        ({"minAvailable": "100%"}, "budget-blocks-always"),
        ({"minAvailable": 2}, "budget-blocks-always"),
        ({"minAvailable": 1}, None),
        ({"maxUnavailable": 1}, None),
        ({"maxUnavailable": 1, "selector": {"matchLabels": {"app": "none"}}}, "budget-selects-nothing"),
        ({"maxUnavailable": 1, "selector": None}, "budget-selects-nothing"),
    ],
)
def test_budgets(spec: Object, code: str | None) -> None:
    budget = named("PodDisruptionBudget", "b", "prod", "policy/v1",
                   spec={"selector": {"matchLabels": {"app": "app"}}} | spec)  # fmt: skip
    of = workload("StatefulSet", replicas=2)
    pods = [owned_by(of, pod(name, "n")) for name in ("a", "b")]
    findings = cluster_oddities.check(read(node("n"), of, *pods, pod("c", "n", namespace="dev"), budget))
    assert [one.code for one in findings if one.object.startswith("PodDisruptionBudget")] == ([code] if code else [])


def test_what_a_pod_asks_for() -> None:
    side = container("side", restartPolicy="Always", resources={"requests": {"cpu": "1"}})
    init = container("init", resources={"requests": {"cpu": "5"}})
    spec = read(pod(containers=[gpu_container()], initContainers=[side, init], overhead={"cpu": "100m"})).pods[0].spec
    assert pod_request(spec, "cpu") == 6100
    assert pod_request(spec, "nvidia.com/gpu") == 1
    level = read(pod(resources={"requests": {"cpu": "9"}})).pods[0].spec
    assert pod_request(level, "cpu") == 9000


# ── kinds that aren't modelled ───────────────────────────────────────────────────────────────────────────────────────
def test_pods_of_kinds_that_are_not_modelled_are_named_with_what_they_hold() -> None:
    def owned(name: str, kind: str, owner: str) -> Object:
        one = pod(name, "gpu-0", containers=[gpu_container(2)])
        one["metadata"]["ownerReferences"] = [{"kind": kind, "name": owner, "uid": owner, "controller": True}]
        return one

    snapshot = read_items(
        [
            gpu_node(gpus=8),
            owned("w-0", "PyTorchJob", "train"),
            owned("w-1", "PyTorchJob", "train"),
            owned("r-0", "RayCluster", "ray"),
            owned("kubelet", "Node", "gpu-0"),
            owned("s-0", "StatefulSet", "s"),
            pod("bare", "gpu-0"),
        ]
    )
    found = [finding.what for finding in cluster_oddities.unmodelled_owners(snapshot)]
    assert found == [
        "1 PyTorchJob not modelled (prod/train): its 2 pods hold 4 nvidia.com/gpu",
        "1 RayCluster not modelled (prod/ray): its 1 pod holds 2 nvidia.com/gpu",
    ]
