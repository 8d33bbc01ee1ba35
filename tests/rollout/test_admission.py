"""What the API server does to new pods: quotas with their scopes, limit ranges, priority classes."""

from __future__ import annotations

from typing import Any

import pytest

from planner.ground.records import replace
from planner.kubernetes.object_records import (
    ClaimSpec,
    ClaimTemplate,
    Container,
    DeviceClass,
    DeviceRequest,
    FrozenMap,
    PodSpec,
    StorageClass,
    Toleration,
)
from planner.rollout.admission import (
    Admission,
    claim_usage,
    object_count,
    pod_limits,
    quota_covers,
    unknown_priority,
    unknown_security,
    usage,
    volume_claim_usage,
)
from planner.rollout.answers import Verdict
from planner.rollout.closed_form_rollout import certain_course
from planner.rollout.rollout_summary import glance, restarted
from planner.rollout.run import simulate
from planner.scheduling.cluster import Cluster
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot

GIB = 2**30


def spec(requests: dict[str, int] | None = None, limits: dict[str, int] | None = None, **more: Any) -> PodSpec:
    one = Container(name="main", requests=FrozenMap(requests or {}), limits=FrozenMap(limits or {}))
    return PodSpec(containers=(one,), **more)


def quota(hard: Item, used: Item | None = None, **more: Any) -> Item:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ml", "uid": "q"},
        "spec": {"hard": hard, **more},
        "status": {"hard": hard, "used": used or {}},
    }


def limit_range(**item: Any) -> Item:
    metadata = {"name": "lr", "namespace": "ml", "uid": "lr"}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [item]}}


def admission(*items: Item) -> Admission:
    return Admission(snapshot(node("n-0"), *items))


def refused(found: Admission, asked: PodSpec, namespace: str = "ml") -> str:
    refusal = found.refusal(namespace, "p", asked)
    return refusal.message if refusal else ""


# ── quotas ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_usage_under_every_key() -> None:
    counted = usage(spec({"cpu": 500, "nvidia.com/gpu": 2}, {"memory": GIB, "nvidia.com/gpu": 2}))
    assert counted == {
        "pods": 1, "count/pods": 1, "cpu": 500, "requests.cpu": 500, "requests.nvidia.com/gpu": 2,
        "limits.memory": GIB,
    }  # fmt: skip


def test_a_quota_is_used_up_and_given_back() -> None:
    found = admission(quota({"requests.nvidia.com/gpu": "3"}, {"requests.nvidia.com/gpu": "1"}))
    two = spec({"nvidia.com/gpu": 2})
    assert refused(found, two) == ""
    found.charge("ml", two)
    assert refused(found, spec({"nvidia.com/gpu": 1})) == (
        'pods "p" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=1, '
        "used: requests.nvidia.com/gpu=3, limited: requests.nvidia.com/gpu=3"
    )
    assert refused(found, spec({"nvidia.com/gpu": 1}), "other") == ""
    found.charge("ml", two, -1)
    assert refused(found, two) == ""


def test_a_quota_on_cpu_makes_stating_it_compulsory() -> None:
    found = admission(quota({"requests.cpu": "9", "limits.memory": "9Gi"}))
    message = 'pods "p" is forbidden: failed quota: q: must specify limits.memory for: main; requests.cpu for: main'
    assert refused(found, spec()) == message
    stated = spec({"cpu": 100}, {"memory": GIB})
    assert refused(found, stated) == ""
    beside = Container(name="beside", requests=FrozenMap({"cpu": 0}))
    assert refused(found, replace(stated, containers=(*stated.containers, beside))).endswith(
        "limits.memory for: beside"
    )
    assert refused(found, replace(stated, init_containers=(beside,))).endswith("limits.memory for: beside")
    assert refused(found, spec(pod_requests=FrozenMap({"cpu": 100}))) == ""  # stated for the pod as a whole


@pytest.mark.parametrize(
    ("scope", "asked", "covered"),
    [
        ("BestEffort", spec(), True),
        ("BestEffort", spec({"cpu": 1}), False),
        ("BestEffort", spec({"nvidia.com/gpu": 1}), True),
        ("NotBestEffort", spec({"cpu": 1}), True),
        ("NotBestEffort", spec(), False),
        ("Terminating", spec(active_deadline_seconds=60), True),
        ("Terminating", spec(), False),
        ("NotTerminating", spec(), True),
        ("PriorityClass", spec(priority_class_name="high"), True),
        ("PriorityClass", spec(), False),
        ("CrossNamespacePodAffinity", spec(), False),
    ],
)
def test_scopes(scope: str, asked: PodSpec, covered: bool) -> None:
    found = snapshot(node("n-0"), quota({"pods": "1"}, scopes=[scope])).resource_quotas[0]
    assert quota_covers(found, asked) is covered


@pytest.mark.parametrize(
    ("operator", "values", "name", "covered"),
    [
        ("In", ["high"], "high", True),
        ("In", ["high"], "low", False),
        ("NotIn", ["high"], "low", True),
        ("Exists", [], "low", True),
        ("DoesNotExist", [], "", True),
    ],
)
def test_priority_class_selectors(operator: str, values: list[str], name: str, covered: bool) -> None:
    rule = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    item = quota({"pods": "1"}, scopeSelector={"matchExpressions": [rule]})
    found = snapshot(node("n-0"), item).resource_quotas[0]
    assert quota_covers(found, spec(priority_class_name=name)) is covered


# ── limit ranges, priority classes ───────────────────────────────────────────────────────────────────────────────────
def test_a_limit_range_fills_in_what_is_missing() -> None:
    found = admission(limit_range(type="Container", default={"memory": "2Gi"}, defaultRequest={"cpu": "250m"}))
    filled = found.prepare("ml", spec({"cpu": 100}))
    assert filled.containers[0].requests["cpu"] == 100
    assert pod_limits(filled) == {"memory": 2 * GIB}
    assert found.prepare("ml", spec()).containers[0].requests["cpu"] == 250
    assert found.prepare("other", spec()).containers == spec().containers


@pytest.mark.parametrize(
    ("item", "asked", "words"),
    [
        ({"max": {"memory": "1Gi"}}, spec(limits={"memory": 2 * GIB}), "maximum memory usage per Container is 1Gi"),
        ({"min": {"cpu": "500m"}}, spec({"cpu": 100}), "minimum cpu usage per Container is 500m, but request is 100m"),
        (
            {"type": "Pod", "max": {"cpu": "1"}},
            spec(limits={"cpu": 2_000}),
            "maximum cpu usage per Pod is 1, but limit is 2",
        ),
        ({"type": "Pod", "max": {"cpu": "1"}}, spec(), "maximum cpu usage per Pod is 1.  No limit is specified"),
        ({"type": "Pod", "min": {"cpu": "1"}}, spec(), "minimum cpu usage per Pod is 1.  No request is specified"),
        # the largest limit is the default one too: the pod is invalid before its bounds are looked at
        ({"max": {"cpu": "500m"}}, spec({"cpu": 1_000}), "must be less than or equal to cpu limit of 500m"),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            spec({"cpu": 100}, {"cpu": 300}),
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
    ],
)
def test_limit_ranges_set_bounds(item: Item, asked: PodSpec, words: str) -> None:
    found = admission(limit_range(**({"type": "Container"} | item)))
    assert words in refused(found, found.prepare("ml", asked))


def test_a_priority_class_has_to_be_there() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    found = admission(high)
    assert refused(found, spec(priority_class_name="high")) == ""
    assert refused(found, spec(priority_class_name="system-node-critical")) == ""
    assert refused(found, spec(priority_class_name="no")).endswith("no PriorityClass with name no was found")
    assert refused(admission(), spec(priority_class_name="no")) == ""  # the snapshot doesn't hold the classes


def test_quotas_look_at_the_class_that_a_pod_is_given() -> None:
    def of_classes(operator: str) -> Item:
        return quota({"pods": "0"}, scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator}]})  # fmt: skip

    usual, low = (
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in (("usual", 9), ("low", 1))
    )
    default, other = usual | {"globalDefault": True}, low | {"globalDefault": True}
    for operator, classes, is_refused in (
        ("DoesNotExist", [usual], True),
        ("DoesNotExist", [default], False),
        ("Exists", [usual], False),
        ("Exists", [default], True),
    ):
        found = admission(of_classes(operator), *classes)
        assert bool(refused(found, found.prepare("ml", spec()))) is is_refused
    found = admission(default, other)
    assert found.prepare("ml", spec()).priority_class_name == "low"  # of several defaults the lowest
    assert found.prepare("ml", spec(priority_class_name="no")).priority_class_name == "no"


# ── objects that aren't pods ─────────────────────────────────────────────────────────────────────────────────────────
def test_a_quota_counts_other_objects() -> None:
    found = admission(quota({"count/replicasets.apps": "2"}, {"count/replicasets.apps": "1"}))
    one = object_count("replicasets.apps")
    assert found.object_refusal("ReplicaSet", "ml", "web-2", one) is None
    found.charge_object("ml", one)
    refusal = found.object_refusal("ReplicaSet", "ml", "web-3", one)
    assert refusal is not None
    assert (refusal.what, refusal.quota) == ("ReplicaSet", "q")
    assert refusal.message == (
        'replicasets.apps "web-3" is forbidden: exceeded quota: q, requested: count/replicasets.apps=1, '
        "used: count/replicasets.apps=2, limited: count/replicasets.apps=2"
    )
    assert found.object_refusal("ReplicaSet", "prod", "web-3", one) is None


def test_a_quota_with_scopes_counts_pods_only() -> None:
    found = admission(quota({"count/replicasets.apps": "0"}, scopes=["NotTerminating"]))
    assert found.object_refusal("ReplicaSet", "ml", "web-1", object_count("replicasets.apps")) is None


def test_a_claim_counts_its_devices_by_class() -> None:
    request = DeviceRequest(name="gpu", device_class_name="gpu", count=2)
    every = DeviceRequest(name="nic", device_class_name="nic", allocation_mode="All")
    known = replace(snapshot(), device_classes=(DeviceClass(name="gpu", extended_resource_name="nvidia.com/gpu"),))
    assert claim_usage(known, ClaimSpec(requests=(request, every))) == {
        "count/resourceclaims.resource.k8s.io": 1,
        "gpu.deviceclass.resource.k8s.io/devices": 2,
        "requests.deviceclass.resource.kubernetes.io/gpu": 2,
        "requests.nvidia.com/gpu": 2,
        "nic.deviceclass.resource.k8s.io/devices": 32,
        "requests.deviceclass.resource.kubernetes.io/nic": 32,
    }


def test_what_the_pod_counts_already_its_claim_does_not() -> None:
    request = DeviceRequest(name="gpu", device_class_name="gpu", count=2)
    known = replace(snapshot(), device_classes=(DeviceClass(name="gpu", extended_resource_name="nvidia.com/gpu"),))
    counted = claim_usage(known, ClaimSpec(requests=(request,)), {"pods": 1, "requests.nvidia.com/gpu": 2})
    assert counted == {
        "count/resourceclaims.resource.k8s.io": 1,
        "gpu.deviceclass.resource.k8s.io/devices": 2,
        "requests.deviceclass.resource.kubernetes.io/gpu": 2,
        "requests.nvidia.com/gpu": 0,
    }


def test_of_alternatives_the_most_of_each_class_counts() -> None:
    alternatives = (
        DeviceRequest(name="two", device_class_name="gpu", count=2),
        DeviceRequest(name="one", device_class_name="gpu", count=1),
        DeviceRequest(name="nic", device_class_name="nic", count=1),
    )
    counted = claim_usage(snapshot(), ClaimSpec(requests=(DeviceRequest(name="any", first_available=alternatives),)))
    assert counted["gpu.deviceclass.resource.k8s.io/devices"] == 2
    assert counted["nic.deviceclass.resource.k8s.io/devices"] == 1


def test_a_volume_claim_counts_itself_and_its_storage_by_class() -> None:
    known = replace(snapshot(), storage_classes=(StorageClass(name="fast", is_default=True),))
    assert volume_claim_usage(known, ClaimTemplate(requested_bytes=5, storage_class_name=None)) == {
        "count/persistentvolumeclaims": 1,
        "persistentvolumeclaims": 1,
        "requests.storage": 5,
        "fast.storageclass.storage.k8s.io/persistentvolumeclaims": 1,
        "fast.storageclass.storage.k8s.io/requests.storage": 5,
    }
    assert "fast.storageclass.storage.k8s.io/requests.storage" not in volume_claim_usage(
        known, ClaimTemplate(requested_bytes=5, storage_class_name="")
    )


# ── ExtendedResourceToleration ───────────────────────────────────────────────────────────────────────────────────────
GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("pool", "of_the_pod", "is_on"),
    [("", [], False), ("", [GPU_TOLERATION], True), ("gpu", [], False), ("gpu", [GPU_TOLERATION], True)],
)
def test_the_pods_there_are_tell_whether_taints_of_extended_resources_are_tolerated(
    pool: str, of_the_pod: list[Item], is_on: bool
) -> None:
    own, replica_set, pod = deployment("worker", ["n-0"], pod_spec(gpus=1))
    pod["spec"] = {**pod["spec"], "tolerations": of_the_pod}
    found = Admission(snapshot(node("n-0", pool=pool, gpus=1), [own, replica_set, pod]))
    tolerations = found.prepare("ml", spec({"cpu": 1, "nvidia.com/gpu": 1})).tolerations
    assert (Toleration(key="nvidia.com/gpu", operator="Exists", effect="NoSchedule") in tolerations) is is_on


@pytest.mark.parametrize(("pool", "is_on"), [("", False), ("gpu", True)])
def test_without_such_pods_gke_tolerates_them(pool: str, is_on: bool) -> None:
    found = Admission(snapshot(node("n-0", pool=pool)))

    def tolerated(resource: str) -> set[str]:
        return {one.key for one in found.prepare("ml", spec({resource: 1})).tolerations}

    assert ("nvidia.com/gpu" in tolerated("nvidia.com/gpu")) is is_on
    assert "cpu" not in tolerated("cpu")


# ── Pod Security ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_namespace_refuses_what_its_level_forbids() -> None:
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    found = admission({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": labels}})
    words = 'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    assert refused(found, spec(host_network=True)) == f'pods "p" is forbidden: {words}'
    assert refused(found, spec()) == ""
    assert refused(found, spec(host_network=True), "other") == ""


# ── what the snapshot doesn't tell ───────────────────────────────────────────────────────────────────────────────────
def unknown(*items: Item | list[Item], **of_template: Any) -> list[str]:
    found = snapshot(*items)
    worker = next(one for one in found.workloads if one.name == "worker")
    worker = replace(worker, template=replace(worker.template, spec=replace(worker.template.spec, **of_template)))
    cluster = Cluster(found)
    return [words for words in (unknown_priority(cluster, worker), unknown_security(cluster, worker)) if words]


def test_a_priority_class_that_nothing_shows_is_unknown() -> None:
    worker = deployment("worker", ["n-0"], pod_spec())
    shown = deployment("other", ["n-0"], pod_spec(priorityClassName="high", priority=7))
    [words] = unknown(node("n-0"), worker, priority_class_name="high")
    assert words == "the pods are of PriorityClass high, and the snapshot doesn't hold PriorityClasses"
    assert unknown(node("n-0"), worker, shown, priority_class_name="high") == []
    assert unknown(node("n-0"), worker, priority_class_name="system-node-critical") == []
    cluster = Cluster(snapshot(node("n-0"), worker, shown))
    assert cluster.priority_of(spec(priority_class_name="high")) == 7


def test_the_default_priority_class_is_told_by_pods_that_name_none() -> None:
    default: dict[str, Any] = {"priorityClassName": "usual", "priority": 9}
    worker = deployment("worker", ["n-0"], pod_spec(**default))
    for item in worker:
        if item["kind"] != "Pod":
            item["spec"]["template"]["spec"] = pod_spec()
    shown = Cluster(snapshot(node("n-0"), worker))
    assert shown.priority_of(spec()) == 9
    assert Cluster(snapshot(node("n-0"), deployment("worker", ["n-0"], pod_spec(**default)))).priority_of(spec()) == 0
    untold = unknown(node("n-0"), deployment("worker", ["n-0"], pod_spec(**default)), priority_class_name="")
    assert untold == [
        "the pods get the default PriorityClass if there is one, and the snapshot doesn't hold PriorityClasses"
    ]
    assert unknown(node("n-0"), worker, priority_class_name="") == []


def test_without_namespaces_in_one_without_pods_anything_may_be_forbidden() -> None:
    [words] = unknown(node("n-0"), deployment("worker", [], pod_spec()))
    assert "allowPrivilegeEscalation != false" in words


def test_without_namespaces_what_no_pod_there_does_may_be_forbidden() -> None:
    worker, other = deployment("worker", ["n-0"], pod_spec()), deployment("other", ["n-0"], pod_spec(hostNetwork=True))
    [words] = unknown(node("n-0"), worker, host_network=True)
    assert words.startswith(
        "Pod Security may forbid the pods (host namespaces), and the snapshot doesn't hold Namespaces"
    )
    assert unknown(node("n-0"), worker) == []
    assert unknown(node("n-0"), worker, other, host_network=True) == []
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    assert unknown(node("n-0"), namespace, worker, host_network=True) == []


# ── limit ranges and what isn't a container's ────────────────────────────────────────────────────────────────────────
def test_overhead_counts_for_limits_there_are_and_never_in_a_limit_range() -> None:
    """Source: component-helpers `resource/helpers.go` `PodLimits`; limitranger `podRequests`, `podLimits`."""
    overhead = FrozenMap({"cpu": 250, "memory": GIB})
    asked = spec({"cpu": 1_000}, {"cpu": 1_000}, overhead=overhead)
    assert pod_limits(asked) == {"cpu": 1_250}
    gate = admission(limit_range(type="Pod", max={"cpu": "1"}))
    assert gate.refusal("ml", "x", asked) is None
    assert gate.refusal("ml", "x", spec({"cpu": 1_001}, {"cpu": 1_001}, overhead=overhead)) is not None


def test_a_limit_range_bounds_volume_claims() -> None:
    """Source: limitranger `PersistentVolumeClaimValidateLimitFunc`."""
    gate = admission(limit_range(type="PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"}))

    def words(size_bytes: int) -> str:
        found = gate.object_refusal("PersistentVolumeClaim", "ml", "data-0", {
            "count/persistentvolumeclaims": 1, "requests.storage": size_bytes,
        })  # fmt: skip
        return found.message if found else ""

    assert words(GIB) == words(2 * GIB) == ""
    start = 'persistentvolumeclaims "data-0" is forbidden: '
    assert words(3 * GIB) == f"{start}maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"
    assert words(GIB // 2) == f"{start}minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi"
    assert gate.object_refusal("ReplicaSet", "ml", "x", object_count("replicasets.apps")) is None


def test_defaults_that_ask_for_more_than_the_pod_make_it_invalid() -> None:
    """Source: kubernetes `pkg/apis/core/validation/validation.go` `validatePodResourceConsistency`."""
    gate = admission(limit_range(type="Container", default={"cpu": "2"}, defaultRequest={"cpu": "500m"}))
    for requests, limits, problem in (
        ({"cpu": 400}, {"cpu": 2_000}, "aggregate container requests of 500m"),
        ({"cpu": 500}, {"cpu": 1_000}, "pod limits of 1"),
        ({"cpu": 500}, {"cpu": 2_000}, ""),
    ):
        one = gate.prepare("ml", spec(pod_requests=FrozenMap(requests), pod_limits=FrozenMap(limits)))
        found = gate.refusal("ml", "x", one)
        assert (problem in found.message and found.is_invalid) if found else not problem


def test_pods_tolerate_nodes_that_are_not_ready_for_a_while() -> None:
    """Source: kubernetes `plugin/pkg/admission/defaulttolerationseconds/admission.go`."""
    keys = [f"node.kubernetes.io/{name}" for name in ("not-ready", "unreachable")]
    gate = admission()
    assert [(t.key, t.operator, t.effect) for t in gate.prepare("ml", spec()).tolerations] == [
        (key, "Exists", "NoExecute") for key in keys
    ]
    own = Toleration(key=keys[0], operator="Exists", effect="NoExecute")
    assert [t.key for t in gate.prepare("ml", spec(tolerations=(own,))).tolerations] == keys
    everything = spec(tolerations=(Toleration(operator="Exists"),))
    assert gate.prepare("ml", everything).tolerations == everything.tolerations


@pytest.mark.parametrize("more", [{"priorityClassName": "gone", "priority": 0}, {"preemptionPolicy": "Never"}])
def test_a_rollout_whose_pods_are_refused_completes_at_no_door(more: Item) -> None:
    """Neither where it is played nor where its course would be counted."""
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    items = [node("n-0"), node("n-1"), high, *deployment("b", ["n-0"], pod_spec())]
    found = snapshot(*items, *deployment("a", ["n-0", "n-1"], pod_spec(**more)))
    cluster = Cluster(found)
    a, b = (restarted(one) for one in sorted(found.workloads, key=lambda one: one.name))
    assert [certain_course(cluster, one.after) is None for one in (a, b)] == [True, False]
    assert [glance(cluster, one).answer.verdict is Verdict.COMPLETES for one in (a, b)] == [False, True]
    assert [simulate(cluster, [one]).completed for one in (a, b)] == [False, True]
