"""The room a rollout needs without a cluster, against the second simulation and against the gate with a cluster that has that room."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import pytest

from planner.ground.records import replace
from planner.questions import rollout
from planner.questions.gate import GateSettings, answer
from planner.questions.rollout import RolloutSettings
from planner.remedies.cluster_from_manifests import Files, RoomPlace
from planner.remedies.limits import TOGETHER
from planner.remedies.manifest_room_needs import _together_words, without_cluster
from planner.remedies.needed_room import WorkloadNeed, asked_together, need_by_replicas
from planner.rollout.answers import Verdict
from planner.rollout.clusterless_room_need import Need, NeedAtReplicas, PodsToPlace, RoomNeed
from tests.quick import is_quick
from tests.reference.simulation import simulate

Object = dict[str, Any]
DRAWS: Final = 4
GPU: Final = {"nvidia.com/gpu": "1"}
ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"


def rolling(surge: int | str, unavailable: int | str) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def workload(
    replicas: int = 1, strategy: Object | None = None, *, kind: str = "Deployment", name: str = "app", requests: Object | None = None,
    port: int = 0, **pod: Any,
) -> Object:  # fmt: skip
    asks = {"cpu": "2", "memory": "8Gi"} if requests is None else requests
    container: Object = {
        "name": "main",
        "image": "app:1",
        "resources": {"requests": asks, "limits": GPU if "nvidia.com/gpu" in asks else {}},
    }
    if port:
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    labels = {"app": name}
    spec: Object = {
        "replicas": replicas, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **pod}},
    }  # fmt: skip
    if kind == "DaemonSet":
        del spec["replicas"]
    if kind == "StatefulSet":
        spec["serviceName"] = name
    given = strategy or {"Deployment": rolling("25%", "25%"), "DaemonSet": rolling(0, 1)}.get(
        kind, {"type": "RollingUpdate"}
    )
    spec["strategy" if kind == "Deployment" else "updateStrategy"] = given  # as the API server fills it in
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def claim(mode: str, **spec: Any) -> Object:
    asks = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "ml"},
        "spec": asks,
    }


def affinity(sort: str, key: str, name: str = "app") -> Object:
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": key}
    return {sort: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(key: str) -> list[Object]:
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "app"}},
        }
    ]


VOLUME: Final = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
ALL: Final = {"cpu": "2", "memory": "8Gi", **GPU}
SIDECAR: Final = [
    {"name": "proxy", "image": "x:1", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}}
]
IN_ZONES: Final = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu", "other"]}, {"key": "old", "operator": "DoesNotExist"}]}]}}}  # fmt: skip

RUNTIME: Final = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata",
                  "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}}}  # fmt: skip
PRIORITY: Final = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
}


def on_hosts(*names: str) -> Object:
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": list(names)}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def of_its_revision(key: str) -> Object:
    """Apart from pods of its own revision."""
    apart = affinity("podAntiAffinity", key)
    apart["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["matchLabelKeys"] = [
        "pod-template-hash"
    ]
    return apart


def hostile_manifests() -> dict[str, tuple[int, list[Object]]]:
    """What other rules decide: names of nodes, revisions, overhead, priority, limits that round to nothing."""
    by_revision = [{**spread(ZONE)[0], "matchLabelKeys": ["pod-template-hash"]}]
    zones = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "gpus", "operator": "Gt", "values": ["3"]}, {"key": "spot", "operator": "NotIn", "values": ["true"]}]}]}}}  # fmt: skip
    return {
        "one of two nodes by name": (1, [workload(affinity=on_hosts("a", "b"))]),
        "both nodes by name": (1, [workload(2, rolling(1, 0), affinity=on_hosts("a", "b"))]),
        "three on two nodes by name": (0, [workload(3, rolling(0, 1), affinity=on_hosts("a", "b"))]),
        "a node by name": (1, [workload(nodeSelector={HOST: "a"})]),
        "apart by revision": (1, [workload(3, rolling(1, 0), affinity=of_its_revision(HOST))]),
        "apart by revision and zone": (1, [workload(3, rolling(1, 0), affinity=of_its_revision(ZONE))]),
        "apart by zone, one goes first": (0, [workload(3, rolling(0, 1), affinity=affinity("podAntiAffinity", ZONE))]),
        "spread over five zones": (1, [workload(5, rolling(1, 0), topologySpreadConstraints=[{**spread(ZONE)[0], "minDomains": 5}])]),
        "spread by revision": (3, [workload(3, rolling(1, 0), topologySpreadConstraints=by_revision)]),
        "spread over zones and hosts": (1, [workload(3, rolling(1, 0), topologySpreadConstraints=[*spread(ZONE), *spread(HOST)])]),
        "spread where it can": (1, [workload(3, rolling(1, 0), topologySpreadConstraints=[{**spread(ZONE)[0], "whenUnsatisfiable": "ScheduleAnyway"}])]),
        "only maxSurge 0": (0, [workload(1, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}})]),
        "both round to nothing": (0, [workload(3, rolling("0%", "10%"))]),
        "no limits": (1, [workload(3, {"type": "RollingUpdate"})]),
        "overhead": (1, [RUNTIME, workload(runtimeClassName="kata")]),
        "an init container that asks for more": (1, [workload(initContainers=[{"name": "i", "image": "x", "resources": {"requests": {"cpu": "6"}}}])]),
        "requests of the pod": (1, [workload(resources={"requests": {"cpu": "5", "memory": "9Gi"}, "limits": {"cpu": "5", "memory": "9Gi"}})]),
        "a priority": (1, [PRIORITY, workload(priorityClassName="high")]),
        "labels compared": (1, [workload(2, rolling(1, 0), affinity=zones)]),
        "near by zone, apart by host": (1, [workload(3, rolling(1, 0), affinity={**affinity("podAffinity", ZONE), **affinity("podAntiAffinity", HOST)})]),
        "a daemon on two nodes by name": (0, [workload(kind="DaemonSet", affinity=on_hosts("a", "b"))]),
        "a daemon on two nodes by name that surges": (1, [workload(strategy=rolling(1, 0), kind="DaemonSet", affinity=on_hosts("a", "b"))]),
        "a claim that pods read": (1, [claim("ReadOnlyMany"), workload(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])]),
    }  # fmt: skip


CASES: Final[Mapping[str, tuple[int, list[Object]]]] = {
    **{
        f"{replicas} replicas, surge {surge}, unavailable {unavailable}": (places, [workload(replicas, rolling(surge, unavailable), requests=ALL)])
        for replicas in (1, 2, 3, 4, 7, 10)
        for surge, unavailable, places in (
            (1, 0, 1), (0, 1, 0), ("100%", 0, 1), ("50%", 0, 1), ("25%", "25%", 0 if replicas >= 4 else 1), (2, 1, 0),
        )
    },
    "defaults of one": (1, [workload()]),
    "recreate": (0, [workload(3, {"type": "Recreate"})]),
    "no requests": (0, [workload(requests={})]),
    "no requests, host port": (1, [workload(requests={}, port=80)]),
    "no requests, apart by host": (1, [workload(2, rolling(1, 0), requests={}, affinity=affinity("podAntiAffinity", HOST))]),
    "no requests, spread over hosts": (0, [workload(2, rolling(1, 0), requests={}, topologySpreadConstraints=spread(HOST))]),
    "host port": (1, [workload(port=80)]),
    "host port, one goes first": (0, [workload(3, rolling(0, 1), port=80)]),
    "spread over zones": (1, [workload(3, rolling(1, 0), topologySpreadConstraints=spread(ZONE))]),
    "apart by zone": (1, [workload(3, rolling(1, 0), affinity=affinity("podAntiAffinity", ZONE))]),
    "apart by host": (1, [workload(3, rolling(1, 0), affinity=affinity("podAntiAffinity", HOST))]),
    "together by host": (1, [workload(2, rolling(1, 0), affinity=affinity("podAffinity", HOST))]),
    "together by zone": (1, [workload(2, rolling(1, 0), affinity=affinity("podAffinity", ZONE))]),
    "a pool's nodes": (1, [workload(3, rolling(1, 0), affinity=IN_ZONES)]),
    "a selector": (1, [workload(2, rolling(1, 0), nodeSelector={"gpu": "a100"})]),
    "a sidecar": (1, [workload(initContainers=SIDECAR)]),
    "stateful": (0, [workload(3, kind="StatefulSet")]),
    "stateful, one replica": (0, [workload(1, kind="StatefulSet")]),
    "daemon": (0, [workload(kind="DaemonSet")]),
    "daemon that surges": (1, [workload(strategy=rolling(1, 0), kind="DaemonSet")]),
    "daemon that surges without requests": (0, [workload(strategy=rolling(1, 0), kind="DaemonSet", requests={})]),
    "a claim that attaches once": (1, [claim("ReadWriteOnce"), workload(volumes=VOLUME)]),
    "a claim that attaches once, recreate": (0, [claim("ReadWriteOnce"), workload(1, {"type": "Recreate"}, volumes=VOLUME)]),
    "a claim that many mount": (1, [claim("ReadWriteMany"), workload(volumes=VOLUME)]),
    **{f"hostile: {name}": case for name, case in hostile_manifests().items()},
    "a claim of one pod, one goes first": (0, [claim("ReadWriteOncePod"), workload(1, rolling(0, 1), volumes=VOLUME)]),
}  # fmt: skip
"""A manifest → the places that its rollout needs, worked out by hand."""


def test_pods_on_nodes_by_name_are_on_each_of_these() -> None:
    assert "on one node)" in str(need_of(workload(affinity=on_hosts("a", "b"))).sentence)  # the other one is a place
    assert "on the node of its pods)" in str(need_of(workload(2, rolling(1, 0), affinity=on_hosts("a", "b"))).sentence)
    daemon = need_of(workload(kind="DaemonSet", affinity=on_hosts("a", "b"))).room
    assert (daemon.lowest_ready, daemon.replicas) == (1, 2)


def files_of(objects: list[Object]) -> Files:
    return Files("\n---\n".join(map(json.dumps, objects)), namespace="default", minor=36)


def completes(items: list[Object], objects: list[Object], seed: int) -> bool:
    """Whether the second simulation completes the same rollouts on a made cluster."""
    changes = [
        {"kind": one["kind"], "namespace": "ml", "name": one["metadata"]["name"],
         "patch": {"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}}}
        for one in objects if "template" in one.get("spec", {})
    ]  # fmt: skip
    return bool(simulate(copy.deepcopy(items), changes, [], seed)["verdict"] == "complete")


@cache
def case_of(name: str) -> tuple[int, list[Object], Files, str, WorkloadNeed]:
    """What the tests here ask of a case, worked out once: none of them changes it."""
    places, objects = CASES[name]
    files = files_of(objects)
    (key,) = files.workloads
    return places, objects, files, key, need_by_replicas(files, key)


AT_DOORS = list(CASES)[:: 3 if is_quick() else 1]  # where a play takes the longest: what is needed is asked of each


@pytest.mark.parametrize("name", CASES)
def test_the_room_is_the_least_with_which_the_second_simulation_completes_in_every_draw(name: str) -> None:
    places, objects, files, key, found = case_of(name)
    assert len(found.places) == places
    counts = {key: found.need.replicas}
    enough = files.items(counts, found.places)
    assert all(completes(enough, objects, seed) for seed in range(DRAWS))
    if places:
        short = files.items(counts, found.places[1:])
        assert not all(completes(short, objects, seed) for seed in range(DRAWS))


@pytest.mark.parametrize("name", AT_DOORS)
def test_the_gate_passes_on_a_cluster_with_that_room_and_not_with_one_place_less(name: str) -> None:
    places, objects, files, key, found = case_of(name)
    changed = copy.deepcopy(next(one for one in objects if "template" in one.get("spec", {})))
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    settings = GateSettings(manifest=json.dumps(changed))
    counts = {key: found.need.replicas}
    assert answer(files.cluster(counts, found.places), settings).passes
    if places:
        short = answer(files.cluster(counts, found.places[1:]), settings)
        assert not short.passes or "is stuck in others" in str(short.workloads[0].sentence)


@pytest.mark.parametrize("name", AT_DOORS)
def test_a_cluster_without_that_room_names_it_and_one_with_it_does_not(name: str) -> None:
    places, _, files, key, found = case_of(name)
    counts = {key: found.need.replicas}
    settings = RolloutSettings(workloads=(key,))
    (stuck,) = rollout.answer(files.cluster(counts), settings).workloads
    assert (stuck.room.sentence if stuck.room else "") == (found.need.sentence if places else "")
    (enough,) = rollout.answer(files.cluster(counts, found.places), settings).workloads
    assert enough.room is None


def test_every_case_is_played_and_both_answers_are_among_them() -> None:
    needs = [places for places, _ in CASES.values()]
    assert len(needs) >= 80
    assert set(needs) == {0, 1, 3}


def need_of(*objects: Object) -> Any:
    (part,) = without_cluster("\n---\n".join(map(json.dumps, objects)), namespace="default", minor=36).parts
    return part


# ── the same node ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_new_pod_must_land_on_the_old_pods_node_where_its_claim_attaches_once() -> None:
    part = need_of(claim("ReadWriteOnce"), workload(volumes=VOLUME))
    assert part.room.needs_same_node
    assert not part.room.is_proven
    assert not need_of(claim("ReadWriteOnce"), workload(1, {"type": "Recreate"}, volumes=VOLUME)).room.needs_same_node
    assert not need_of(claim("ReadWriteMany"), workload(volumes=VOLUME)).room.needs_same_node


@pytest.mark.parametrize(
    ("provisioner", "is_same"), [("nfs.csi.k8s.io", False), ("ebs.csi.aws.com", True), ("rancher.io/local-path", True)]
)
def test_a_storage_class_whose_driver_attaches_nothing_ends_it(provisioner: str, is_same: bool) -> None:
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "mine"},
        "provisioner": provisioner,
    }
    part = need_of(storage, claim("ReadWriteOnce", storageClassName="mine"), workload(volumes=VOLUME))
    assert part.room.needs_same_node is is_same
    assert part.room.places == 1


@pytest.mark.parametrize("strategy", [{"type": "Recreate"}, rolling(0, 1)])
def test_all_pods_that_share_a_claim_must_be_on_one_node(strategy: Object) -> None:
    part = need_of(claim("ReadWriteOnce"), workload(2, strategy, volumes=VOLUME))
    assert (part.room.need, part.room.places, part.room.shares_one_node) == (Need.SAME_NODE, 0, True)
    assert "all its pods must be on one node" in str(part.sentence)
    assert part.room.cures[0].title == "required podAffinity to its own pods"
    step = NeedAtReplicas(first=1, last=None, need=Need.SAME_NODE, places=0)  # with an autoscaler
    for places, begins in (0, "needs no more room, but all its pods"), (1, "needs room while it rolls out: "):
        steps = (step, replace(step, places=places))
        assert replace(part.room, by_replicas=steps, places=places).sentence.startswith(begins)
    near = affinity("podAffinity", HOST)
    assert (
        need_of(claim("ReadWriteOnce"), workload(2, strategy, volumes=VOLUME, affinity=near)).room.need is Need.NOTHING
    )


# ── what can't be told ───────────────────────────────────────────────────────────────────────────────────────────────
def test_pods_that_have_to_be_near_to_pods_of_no_file_are_not_known() -> None:
    beside = workload(affinity=affinity("podAffinity", HOST, "cache"))
    assert need_of(beside).room.need is Need.UNKNOWN
    found = without_cluster(
        f"{json.dumps(beside)}\n---\n{json.dumps(workload(name='cache'))}", namespace="default", minor=36
    )
    assert [part.room.need for part in found.parts if part.room] == [Need.ROOM, Need.ROOM]


def test_what_stands_still_until_somebody_acts_is_not_known_and_says_so() -> None:
    paused = workload()
    paused["spec"]["paused"] = True
    part = need_of(paused)
    assert (part.verdict, part.room.need) == (Verdict.UNKNOWN, Need.UNKNOWN)
    assert str(part.sentence) == "not known: the Deployment is paused, so nothing is rolled out until it is resumed"
    assert any("resumed" in doubt.advice for doubt in part.doubts)
    paused["spec"]["paused"] = False
    assert need_of(paused).room.need is Need.ROOM
    by_hand = workload(2, {"type": "OnDelete"}, kind="StatefulSet")
    assert "each old pod stays until" in str(need_of(by_hand).sentence)
    by_hand["spec"]["updateStrategy"] = {"type": "RollingUpdate"}
    assert need_of(by_hand).room.need is Need.NOTHING
    promoted = workload(3) | {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    promoted["spec"]["strategy"] = {"blueGreen": {"activeService": "app", "autoPromotionEnabled": False}}
    assert need_of(promoted).room.places == 3  # until the promotion, which needs no more
    promoted["spec"]["paused"] = True
    assert need_of(promoted).room.need is Need.UNKNOWN


DEVICE_CLASS: Final[Object] = {
    "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]},
}  # fmt: skip
A100: Final = "device.attributes['gpu.nvidia.com'].productName == 'A100' && device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"
DEVICES: Final = [{"name": "gpu", "resourceClaimTemplateName": "two"}]


def claim_template(*selectors: str, number: int = 2, **more: Any) -> Object:
    exactly = {
        "deviceClassName": "gpu.nvidia.com",
        "count": number,
        "selectors": [{"cel": {"expression": one}} for one in selectors],
    }
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "two", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {**exactly, **more}}]}}},
    }  # fmt: skip


@pytest.mark.parametrize("strategy", [rolling(1, 0), rolling(0, 1), {"type": "Recreate"}])
@pytest.mark.parametrize("selectors", [(), (A100,)])
def test_devices_of_claims_stand_on_the_nodes_that_hold_the_pods(strategy: Object, selectors: tuple[str, ...]) -> None:
    part = need_of(DEVICE_CLASS, claim_template(*selectors), workload(2, strategy, resourceClaims=DEVICES))
    if strategy == rolling(1, 0):
        said = "needs room for 1 more pod (2 devices of DeviceClass gpu.nvidia.com, 2 CPU, 8 GiB on one node) while it rolls out"
        assert said in str(part.sentence)
        assert part.room.places == 1
    else:
        assert part.room.need is Need.NOTHING
    assert not part.room.is_proven


@pytest.mark.parametrize(
    ("objects", "lacks"),
    [
        ([], "ResourceClaimTemplate two isn't in the files"),
        ([claim_template()], "DeviceClass gpu.nvidia.com isn't in the files"),
        (
            [DEVICE_CLASS, claim_template("device.attributes['gpu.nvidia.com'].productName.matches('A.*')")],
            "which device the selectors",
        ),
        ([DEVICE_CLASS, claim_template("device.driver == 'other.example.com'")], "which device the selectors"),
    ],
)
def test_devices_that_nothing_tells_are_not_known(objects: list[Object], lacks: str) -> None:
    part = need_of(*objects, workload(resourceClaims=DEVICES))
    assert part.room.need is Need.UNKNOWN
    assert lacks in str(part.sentence)


def test_a_claim_that_pods_share_is_not_known() -> None:
    shared = workload(resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}])
    assert "ResourceClaim one is shared by its pods" in str(need_of(shared).sentence)


def test_a_limit_range_of_the_files_says_what_pods_request() -> None:
    item = {"type": "Container", "defaultRequest": {"cpu": "3"}, "default": {"cpu": "3"}}
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "ml"},
        "spec": {"limits": [item]},
    }
    part = need_of(limits, workload(requests={}))
    assert "room for 1 more pod (3 CPU on one node)" in str(part.sentence)


# ── autoscalers ──────────────────────────────────────────────────────────────────────────────────────────────────────
def autoscaler(least: int | None, most: int) -> Object:
    bounds = {"maxReplicas": most} if least is None else {"minReplicas": least, "maxReplicas": most}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
    }
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "app", "namespace": "ml"},
            "spec": {**bounds, "scaleTargetRef": target, "metrics": [metric]}}  # fmt: skip


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        (1, 8, "at 1 to 3 replicas room for 1 more pod, from 4 on none"),
        (2, 40, "at 2 to 3 replicas room for 1 more pod, from 4 on none"),
        (None, 3, "at each number of replicas room for 1 more pod"),
        (30, 50, "needs no spare room at 30 or more replicas"),
    ],
)
def test_the_answer_is_told_for_each_number_that_an_autoscaler_may_set(least: int | None, most: int, said: str) -> None:
    assert said in str(need_of(workload(5), autoscaler(least, most)).sentence)


# ── groups, and kinds of other projects ──────────────────────────────────────────────────────────────────────────────
def groups(surge: int, unavailable: int) -> Object:
    limits = {"maxSurge": surge, "maxUnavailable": unavailable, "partition": 0}
    leader, worker = (
        {
            "metadata": {"labels": {"app": "app"}},
            "spec": {"containers": [{"name": "main", "image": "x:1", "resources": {"requests": asks}}]},
        }
        for asks in ({"cpu": "1"}, {"cpu": "4"})
    )
    parts = {
        "size": 3,
        "restartPolicy": "RecreateGroupOnPodRestart",
        "leaderTemplate": leader,
        "workerTemplate": worker,
    }
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "app", "namespace": "ml"},
            "spec": {"replicas": 2, "startupPolicy": "LeaderCreated", "leaderWorkerTemplate": parts,
                     "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": limits}}}  # fmt: skip


def test_a_group_is_one_place_with_a_node_for_each_of_its_pods() -> None:
    part = need_of(groups(1, 0))
    assert "room for 1 more group (1 leader pod (1 CPU) and 2 worker pods (4 CPU))" in str(part.sentence)
    assert need_of(groups(0, 1)).room.need is Need.NOTHING


@pytest.mark.parametrize(("size", "surge", "pods"), [(1, 1, 1), (1, 2, 2), (3, 1, 3)])
def test_a_group_is_counted_in_pods_one_of_a_single_pod_too(size: int, surge: int, pods: int) -> None:
    asked = groups(surge, 0)
    asked["spec"]["leaderWorkerTemplate"]["size"], asked["spec"]["replicas"] = size, 3
    assert need_of(asked).room.pod_count == pods


def test_a_blue_green_rollout_needs_room_for_each_of_its_pods() -> None:
    rollout = workload(3)
    rollout |= {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    rollout["spec"]["strategy"] = {"blueGreen": {"activeService": "app", "autoPromotionEnabled": True}}
    assert need_of(rollout).room.places == 3
    rollout["spec"]["strategy"] = {"canary": {"maxSurge": 0, "maxUnavailable": 1}}
    assert need_of(rollout).room.places == 0


def test_a_ray_service_needs_a_list_of_pods_of_which_none_can_be_left_out() -> None:
    head, worker = (
        {"spec": {"containers": [{"name": "ray", "image": "r:1", "resources": {"requests": asks}}]}}
        for asks in ({"cpu": "2"}, {"cpu": "4"})
    )
    cluster = {
        "rayVersion": "2.40.0", "headGroupSpec": {"rayStartParams": {}, "template": head},
        "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "rayStartParams": {}, "template": worker}],
    }  # fmt: skip
    service = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "app", "namespace": "ml"},
               "spec": {"serveConfigV2": "applications: []", "rayClusterConfig": cluster}}  # fmt: skip
    part = need_of(service)
    assert "room for 3 more pods: 1 head pod (2 CPU) and 2 worker-gpu pods (4 CPU)" in str(part.sentence)
    notes = without_cluster(json.dumps(service), namespace="default", minor=36).notes
    assert "quotas, webhooks and cordoned nodes were not looked at" in str(notes[-1])
    ray = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "app", "namespace": "ml"},
        "spec": cluster,
    }
    found = without_cluster(json.dumps(ray), namespace="default", minor=36)
    assert (found.parts, found.rolls_nothing) == ((), ("RayCluster/ml/app",))  # its pods stay as they are
    ends_first = ray | {"spec": {**cluster, "upgradeStrategy": {"type": "Recreate"}}}
    assert need_of(ends_first).room.need is Need.NOTHING


def test_a_kind_whose_rollout_is_not_played_is_not_known() -> None:
    clones = workload() | {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet"}
    del clones["spec"]["strategy"]
    assert need_of(clones).verdict is Verdict.UNKNOWN


def test_more_workloads_at_once_than_are_played_are_told_each_alone() -> None:
    text = "\n---\n".join(json.dumps(workload(name=f"app-{number}")) for number in range(TOGETHER.most + 1))
    found = without_cluster(text, namespace="default", minor=36)
    assert (
        str(found.together_sentence)
        == "together: not known: of 9 workloads at once nothing is asked: 8 is the most; each alone is answered"
    )
    assert len(found.parts) == TOGETHER.most + 1
    assert found.room is None
    fewer = text.rpartition("\n---\n")[0]
    assert "they need room for 1 more pod" in str(
        without_cluster(fewer, namespace="default", minor=36).together_sentence
    )


# ── several at once ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("requests", "places"), [(None, 1), ({"cpu": "1"}, 2)])
def test_a_place_that_one_frees_counts_for_another_that_it_holds(requests: Object | None, places: int) -> None:
    objects = [workload(), workload(name="other", requests=requests)]
    files = files_of(objects)
    singles = {key: need_by_replicas(files, key) for key in files.workloads}
    found = asked_together(files, singles)
    assert found is not None
    assert found.need.places == places
    counts = dict.fromkeys(files.workloads, 1)
    assert all(completes(files.items(counts, found.places), objects, seed) for seed in range(DRAWS))
    fewer = [RoomPlace(workload=key) for key in files.workloads][: places - 1]
    assert not all(completes(files.items(counts, fewer), objects, seed) for seed in range(DRAWS))


@pytest.mark.parametrize(("surge", "of"), [(2, ", 9 if each had its own"), (1, "")])
def test_what_each_would_need_of_its_own_is_told_in_pods(surge: int, of: str) -> None:
    """A group of four is one place, and four pods to find room for."""
    pods = PodsToPlace(count=surge + 3)
    single = RoomNeed(need=Need.ROOM, places=surge + 3, pods=(pods,))
    group = RoomNeed(need=Need.ROOM, places=1, unit="group", pods=(PodsToPlace(count=1), PodsToPlace(count=3)))
    together = RoomNeed(need=Need.ROOM, places=5, pods=(replace(pods, count=4), *group.pods))
    daemons = RoomNeed(need=Need.ROOM, places=1, pods=(PodsToPlace(count=1),), is_per_node=True)
    singles = {str(at): WorkloadNeed(need=need) for at, need in enumerate((single, group, daemons))}
    assert str(_together_words(WorkloadNeed(need=together), singles)).endswith(f"(no requests){of}")


def test_a_group_that_gives_up_its_nodes_gets_them_back_though_it_is_called_available() -> None:
    """LeaderWorkerSet 0.8 counts workers that were made. With a place for the smaller Deployment alone the larger one takes a node that
    the group gave up, and a worker stays pending: that is no room."""
    larger, smaller = (
        workload(2, name="decode", requests={"cpu": "3"}),
        workload(name="prefill", requests={"cpu": "2"}),
    )
    files = files_of([larger, smaller, groups(0, 1)])
    singles = {key: need_by_replicas(files, key) for key in files.workloads}
    found = asked_together(files, singles)
    assert found is not None
    counts = {key: singles[key].need.replicas for key in singles}
    asks = RolloutSettings(workloads=tuple(files.workloads))

    def waits(places: list[RoomPlace]) -> bool:
        cluster = files.read(files.items(counts, places))
        return any("for a node all the same" in str(part.sentence) for part in rollout.answer(cluster, asks).workloads)

    assert not waits(list(found.places))
    assert waits([RoomPlace(workload="Deployment/ml/prefill")])
