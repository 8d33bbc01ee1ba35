"""Every reason is reached by a small cluster, with its sentence."""

from __future__ import annotations

from typing import Any

import pytest

from planner.rollout.answers import Reason
from planner.rollout.unknowns import unknowns
from planner.scheduling.cluster import Cluster
from tests.builders.objects import GPU, Item, deployment, node, owner, pod_spec, snapshot
from tests.builders.volumes import DRIVER, bound, csi_driver, using
from tests.rollout.rollouts import revision, roll, rolling, stateful_set, why
from tests.rollout.test_admission import limit_range, quota
from tests.scheduling.test_storage import limits

GPU_NODE = node("gpu-0", pool="gpu", gpus=1)
SELF = {"labelSelector": {"matchLabels": {"app": "worker"}}, "topologyKey": "kubernetes.io/hostname"}


def worker(*nodes: str, spec: Item | None = None, surge: int = 1, unavailable: int = 0, **more: Any) -> list[Item]:
    return deployment("worker", list(nodes), spec or pod_spec(), strategy=rolling(surge, unavailable), **more)


def volume_spec() -> Item:
    return pod_spec(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}])


def test_hold_and_wait_with_its_circle() -> None:
    found = why(GPU_NODE, worker("gpu-0", spec=pod_spec(gpus=1)))
    assert found.reason is Reason.HOLD_AND_WAIT
    assert str(found.sentence) == (
        "stuck: the new pod needs 1 nvidia.com/gpu on a node of pool gpu; the only nvidia.com/gpu there is held by the "
        "old pods, which are kept until a new one is Ready (1 replica, maxSurge 1, maxUnavailable 0)"
    )
    assert [e.source for e in found.wait_for] == ["Deployment worker", "new pod", "nvidia.com/gpu", "old pods"]
    assert found.wait_for[-1].target == found.wait_for[0].source
    assert str(found.scheduler_message).startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")


def test_insufficient_resource() -> None:
    found = why(node("n-0"), worker("n-0"), requests={"cpu": 9_000})
    assert found.reason is Reason.INSUFFICIENT_RESOURCE
    assert "even empty, the largest of them has only 8 cpu" in str(found.sentence)
    other = deployment("other", ["gpu-0"], pod_spec(gpus=1))
    found = why(GPU_NODE, other, worker("", spec=pod_spec(gpus=1)))
    assert found.reason is Reason.INSUFFICIENT_RESOURCE
    missing = why(node("n-0"), worker("n-0"), requests={"nvidia.com/gpu": 1})
    assert str(missing.sentence).endswith("no node has nvidia.com/gpu")


def test_what_is_short_is_named_by_resource_not_by_the_message() -> None:
    full = node("n-0", extra={"pods": "1", "example.com/pods": "2"})
    found = why(full, worker("n-0"))
    assert (found.reason, found.lacking) == (Reason.HOLD_AND_WAIT, ())
    assert "room under the node's pod limit" in str(found.sentence)
    spec = pod_spec()
    spec["containers"][0]["resources"] = {"requests": {"example.com/pods": "2"}, "limits": {"example.com/pods": "2"}}
    found = why(full, worker("n-0", spec=spec))
    assert (found.reason, found.lacking) == (Reason.HOLD_AND_WAIT, ("example.com/pods",))
    assert "all 2 example.com/pods there are held by the old pods, which are kept" in str(found.sentence)


def test_old_pods_that_hold_a_part_only_are_not_what_which_means() -> None:
    other = deployment("other", ["gpu-0"], pod_spec(gpus=1))
    found = why(node("gpu-0", pool="gpu", gpus=2), other, worker("gpu-0", spec=pod_spec(gpus=1)))
    assert "1 is held by the old pods, 1 by others, and the old ones are kept until a new one is Ready" in str(
        found.sentence
    )


def test_a_refusal_is_told_without_the_words_around_it() -> None:
    found = why(node("n-0"), worker("n-0"), limit_range(type="Container", min={"cpu": "2"}))
    assert found.reason is Reason.ADMISSION
    assert str(found.sentence) == (
        "stuck: the API server refuses the new pods: minimum cpu usage per Container is 2, but request is 1"
    )
    assert "is forbidden: minimum cpu usage per Container is 2" in str(found.quota_message)


def test_no_matching_node() -> None:
    nodes = [node("n-0"), node("n-1", cordoned=True), node("n-2", taints=(("gpu", "NoSchedule"),))]
    found = why(nodes, worker("n-0"), node_selector={"disk": "ssd"})
    assert found.reason is Reason.NO_MATCHING_NODE
    assert str(found.sentence) == (
        "stuck: no node matches the new pod (1 cordoned, 1 with a taint the pod doesn't tolerate, "
        "1 that its node selector or affinity rules out)"
    )


@pytest.mark.parametrize(
    ("where", "more", "completes"),
    [
        (node("n-0", cordoned=True, taints=(("gpu", "NoSchedule"),)), {}, True),
        (node("n-0", taints=(("gpu", "NoExecute"),)), {}, False),
        (node("n-0"), {"nodeSelector": {"disk": "ssd"}}, False),
        (node("n-0", cpu="1"), {}, False),
    ],
)
def test_a_template_that_names_its_node_is_its_kubelets(where: Item, more: Item, completes: bool) -> None:
    """kube-scheduler never sees its pods; a kubelet looks at NoExecute taints, labels and amounts, not at cordons (`AdmissionCheck`)."""
    named = worker("n-0", spec=pod_spec(nodeName="n-0", **more))
    assert roll(where, named).completed is completes


def test_never_ready() -> None:
    found = why(node("n-0"), worker("n-0", "n-0"), never_ready=True)
    assert found.reason is Reason.NEVER_READY
    assert "1 new pod started and never became Ready" in str(found.sentence)


def test_quota_and_admission() -> None:
    found = why(node("n-0"), worker("n-0"), quota({"pods": "1"}))
    assert found.reason is Reason.QUOTA
    assert "exceeded quota: q" in str(found.quota_message)
    assert str(found.headline) == "the quota of namespace ml has no room for one more pod beside the old ones"
    found = why(node("n-0"), worker("n-0"), limit_range(type="Container", min={"cpu": "2"}))
    assert found.reason is Reason.ADMISSION


def test_a_quota_that_takes_no_such_pod_is_not_used_up_by_the_old_ones() -> None:
    """Nothing is freed by who goes: the quota counts none of them (its scope is of priority classes), or is smaller than one pod."""
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1}
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    scoped = quota({"pods": "0"}, scopeSelector={"matchExpressions": [scope]})
    patch = {"spec": {"template": {"spec": {"priorityClassName": "high"}}}}
    for found in (
        why(node("n-0"), high, worker("n-0"), scoped, patch=patch),
        why(node("n-0"), worker("n-0"), quota({"requests.cpu": "500m"}, {"requests.cpu": "1"})),
    ):
        assert found.reason is Reason.QUOTA
        assert str(found.headline) == "the quota of namespace ml has no room for one more pod"
        assert "the old pods count too" not in str(found.sentence)
        assert not found.wait_for


def test_old_pods_are_named_beside_a_quota_only_where_they_go_when_new_ones_are_ready() -> None:
    """More replicas wait for nobody's going, nor do pods of a workload that had none; the claims that a quota counts beside pods aren't pods."""
    full, one = quota({"pods": "1"}, {"pods": "1"}), deployment("other", ["n-0"], pod_spec())
    surged = one_of_two_devices("worker-1-0-extended-resources-x", "container-0-request-0")
    key = "count/resourceclaims.resource.k8s.io"
    for found in (
        why(node("n-0"), worker("n-0"), full, new_revision=False, replicas=2),
        why(node("n-0"), one, worker(replicas=1), full),
        why(surged, worker("n-0", spec=pod_spec(gpus=1)), quota({key: "1"}, {key: "1"})),
    ):
        assert (found.reason, found.wait_for) == (Reason.QUOTA, ())
        assert "beside the old ones" not in str(found.headline)
    assert why(node("n-0"), worker("n-0"), full).wait_for


@pytest.mark.parametrize("is_own", [True, False])
def test_a_nodes_limit_of_volumes_is_no_volume_in_use(is_own: bool) -> None:
    """`pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`: what is short is a place for one more volume on the node."""
    holder = [] if is_own else deployment("other", ["n-0"], using("theirs"))
    beside = [*bound("data"), *bound("new"), *bound("theirs"), csi_driver(), limits("n-0", 1, DRIVER)]
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "new"}}
    patch = {"spec": {"template": {"spec": {"volumes": [volume]}}}}
    found = why(node("n-0"), worker("n-0", spec=using("data")), holder, beside, patch=patch)
    own = "the new pod needs room under the node's limit of volumes, which the pods that it replaces hold"
    assert found.reason is Reason.VOLUME
    assert str(found.headline) == (own if is_own else "the nodes that match have as many volumes as they may")


def one_of_two_devices(claim: str, request: str) -> list[Item]:
    """A node with two GPUs, of which `claim` of the worker's pod has one."""
    api = "resource.k8s.io/v1"
    device_class = {"apiVersion": api, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"extendedResourceName": GPU}}  # fmt: skip
    devices = [{"name": f"gpu-{i}"} for i in range(2)]
    spec = {"driver": "d", "nodeName": "n-0", "devices": devices, "pool": {"name": "n-0", "generation": 1, "resourceSliceCount": 1}}  # fmt: skip
    part = {"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    held = {"request": request, "driver": "d", "pool": "n-0", "device": "gpu-0"}
    made = {
        "apiVersion": api,
        "kind": "ResourceClaim",
        "metadata": {"name": claim, "namespace": "ml", "ownerReferences": [owner("Pod", "worker-1-0", "p-worker-0")]},
        "spec": {"devices": {"requests": [{"name": request, "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {"allocation": {"devices": {"results": [held]}}},
    }
    return [node("n-0"), device_class, part, made]


def test_a_quota_counts_the_claims_made_for_extended_resources() -> None:
    ground = one_of_two_devices("worker-1-0-extended-resources-x", "container-0-request-0")
    _, device_class, part, _ = ground
    for key in ("count/resourceclaims.resource.k8s.io", "gpu.deviceclass.resource.k8s.io/devices"):
        surging, full = worker("n-0", spec=pod_spec(gpus=1)), quota({key: "1"}, {key: "1"})
        found = why(ground, surging, full)
        assert found.reason is Reason.QUOTA
        assert "exceeded quota: q" in str(found.quota_message)
        assert roll(ground, surging, quota({key: "2"}, {key: "1"})).completed
        in_place = worker("n-0", spec=pod_spec(gpus=1), surge=0, unavailable=1)
        assert roll(ground, in_place, full).completed  # the old pod's claim goes with it
        for objects, is_known in (((*ground, full), True), ((node("n-0"), device_class, part, full), False)):
            read = snapshot(*objects, *surging)
            lacking = unknowns(Cluster(read), revision(read))
            assert any("stand for the pods' extended resources" in one.what for one in lacking) is not is_known
    for hard, matters in (
        ({"requests.deviceclass.resource.kubernetes.io/gpu": "2"}, True),  # counted through the claim alone
        ({f"requests.{GPU}": "2"}, False),  # the pod is counted itself
        ({"other.deviceclass.resource.k8s.io/devices": "2"}, False),
    ):
        read = snapshot(node("n-0"), device_class, part, quota(hard, hard), *worker("n-0", spec=pod_spec(gpus=1)))
        lacking = unknowns(Cluster(read), revision(read))
        assert any("stand for the pods' extended resources" in one.what for one in lacking) is matters, hard


def test_affinity_and_spread() -> None:
    anti = pod_spec(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [SELF]}})
    assert why(node("n-0"), worker("n-0", spec=anti)).reason is Reason.POD_AFFINITY
    constraint = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **SELF}
    missing = pod_spec(topologySpreadConstraints=[{**constraint, "topologyKey": "rack"}])
    template = {"spec": {"template": {"spec": missing}}}
    assert why(node("n-0"), worker("n-0"), patch=template).reason is Reason.TOPOLOGY_SPREAD


def test_host_port_and_pod_limit() -> None:
    port = {"containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    found = why(node("n-0"), worker("n-0", spec=port))
    assert found.reason is Reason.HOLD_AND_WAIT
    assert "its host port" in str(found.sentence)
    other = deployment("other", ["n-0"], port)
    assert why(node("n-0"), other, worker("", spec=port)).reason is Reason.HOST_PORT
    full = node("n-0", extra={"pods": "1"})
    assert "room under the node's pod limit" in str(why(full, worker("n-0")).sentence)
    assert why(full, deployment("other", ["n-0"], pod_spec()), worker("")).reason is Reason.TOO_MANY_PODS


def test_volume_device_and_missing_object() -> None:
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x", "namespace": "ml", "uid": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"]}, "status": {},
    }  # fmt: skip
    found = why(node("n-0"), worker("n-0", spec=volume_spec()), claim)
    assert found.reason is Reason.VOLUME
    assert 'persistentvolumeclaim "d" not found' in str(found.sentence)
    assert str(found.headline) == "the new pod's volume keeps it from every node"
    claims = pod_spec(resourceClaims=[{"name": "g", "resourceClaimTemplateName": "g"}])
    template = {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": "g", "namespace": "ml", "uid": "t"},
        "spec": {"spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}}},
    }  # fmt: skip
    device_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    waiting = deployment("worker", [""], claims, strategy=rolling(1, 0))
    assert why(node("n-0"), waiting, template, device_class).reason is Reason.DEVICE
    elsewhere = {**device_class, "metadata": {"name": "other"}}
    found = why(node("n-0"), waiting, template, elsewhere)
    assert found.reason is Reason.DEVICE
    assert str(found.headline) == "a DeviceClass that the new pod asks for doesn't exist"
    assert "request one: device class gpu does not exist" in str(found.sentence)
    other = {**template, "metadata": {"name": "other", "namespace": "ml", "uid": "t"}}
    assert why(node("n-0"), waiting, other, device_class).reason is Reason.MISSING_OBJECT


def test_gates_pause_on_delete_and_pod_management() -> None:
    gated = worker("n-0", spec=pod_spec(schedulingGates=[{"name": "example.com/wait"}]))
    found = why(node("n-0"), gated)
    assert found.reason is Reason.SCHEDULING_GATE
    assert "example.com/wait" in str(found.sentence)
    paused = why(node("n-0"), worker("n-0", paused=True))
    assert paused.reason is Reason.PAUSED
    assert "the Deployment is paused" in str(paused.sentence)
    key = "StatefulSet/ml/worker"
    on_delete = stateful_set("worker", ["n-0"], pod_spec(), updateStrategy={"type": "OnDelete"})
    assert why(node("n-0"), on_delete, key=key).reason is Reason.ON_DELETE
    broken = stateful_set("worker", ["n-0", "n-0"], pod_spec(), ready=(False, True))
    assert why(node("n-0"), broken, key=key).reason is Reason.POD_MANAGEMENT


def test_tolerations_that_compare_are_unknown_where_nothing_shows_that_they_are_taken() -> None:
    """Source: kubernetes `pkg/apis/core/validation/validation.go` `ValidateTolerations`; the gate
    TaintTolerationComparisonOperators is off by default in 1.36."""
    compares = pod_spec(tolerations=[{"key": "slo", "operator": "Gt", "value": "950", "effect": "NoSchedule"}])
    patch = {"spec": {"template": {"spec": {"tolerations": compares["tolerations"]}}}}
    for there, is_known in ((pod_spec(), False), (compares, True)):
        read = snapshot(node("n-0"), *worker("n-0", spec=there))
        lacking = unknowns(Cluster(read), revision(read, patch=patch))
        assert any("compare numbers" in one.what for one in lacking) is not is_known


def test_what_the_snapshot_lacks_for_an_answer() -> None:
    items = [node("n-0"), *worker("n-0", spec=volume_spec())]
    asked = revision(snapshot(items))
    run = roll(items)
    assert [u.what for u in unknowns(run.simulation.cluster, asked, run.new_shapes[asked.after.key])] == [
        "the pods use volumes, and the snapshot doesn't hold PersistentVolumeClaims"
    ]
    alone = [item for item in items if item["kind"] in ("Node", "Deployment")]
    lacking = unknowns(roll(alone).simulation.cluster, asked)[0]
    assert (lacking.what, lacking.may_help) == ("the snapshot doesn't hold Pods and ReplicaSets", True)
