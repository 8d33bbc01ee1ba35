"""CSIStorageCapacity and parts of devices, case by case, by what Kubernetes' source says (1.36).

Source: `pkg/scheduler/framework/plugins/volumebinding/binder.go` `hasEnoughCapacity`, `capacitySufficient`, `nodeHasAccess`;
`staging/src/k8s.io/dynamic-resource-allocation/structured/internal/experimental/consumable_capacity.go`
`CmpRequestOverCapacity`, `calculateConsumedCapacity`.
"""

from __future__ import annotations

from typing import Any

import pytest

from planner.inventory.change import WorkloadChange
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import Item, deployment, node, pod_spec
from tests.rollout.rollouts import WORKER
from tests.rollout.test_by_themselves import LISTED

KINDS = (
    *LISTED, "Pod", "Node", "Deployment", "ReplicaSet", "CSIDriver", "CSIStorageCapacity", "StorageClass", "PersistentVolume",
    "PersistentVolumeClaim", "DeviceClass", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate", "DeviceTaintRule",
)  # fmt: skip
RECREATE = {"type": "Recreate"}
EVERYWHERE: Item = {}


def asked(*items: Item | list[Item], without: str = "") -> RolloutResult:
    flat = [one for some in items for one in (some if isinstance(some, list) else [some])]
    part = Part(items=[i for i in flat if i["kind"] != without], listed=tuple(k for k in KINDS if k != without))
    change = WorkloadChange(workload=WORKER)
    found = build_snapshot([part], source="by hand")
    return rollout_with_remedies.rollout(found, Scenario(changes=(change,), runs=5, with_remedies=False))


# ── volumes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def storage_class(name: str = "fast", default_since: str = "", mode: str = "WaitForFirstConsumer") -> Item:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default_since else {}
    meta = {"name": name, "annotations": annotations, **({"creationTimestamp": default_since} if default_since else {})}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta, "provisioner": "csi.example",
            "volumeBindingMode": mode}  # fmt: skip


def driver(**spec: Any) -> Item:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "csi.example"}, "spec": spec}


def has(capacity: str, topology: Item | None = EVERYWHERE, *, of: str = "fast", largest: str = "") -> Item:
    """A CSIStorageCapacity."""
    given: Item = {"capacity": capacity, "nodeTopology": topology, "maximumVolumeSize": largest}
    meta = {"name": f"{of}-{capacity.lower() or 0}", "namespace": "kube-system"}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": meta, "storageClassName": of,
            **{key: value for key, value in given.items() if value is not None and value != ""}}  # fmt: skip


def zone(name: str) -> Item:
    return {"matchLabels": {"topology.kubernetes.io/zone": name}}


def wanting(size: str = "10Gi", of: str | None = "fast") -> list[Item]:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    claim |= {} if of is None else {"storageClassName": of}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    return deployment("worker", [], pod_spec(volumes=[volume]), replicas=1, strategy=RECREATE)


OPTS_IN = driver(storageCapacity=True)
OLD, NEW = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"
VOLUMES: dict[str, tuple[list[Item], list[Item], bool]] = {
    "room in one zone": (wanting(), [OPTS_IN, has("5Gi", zone("a")), has("20Gi", zone("b"))], True),
    "too little in each": (wanting(), [OPTS_IN, has("5Gi", zone("a")), has("9Gi", zone("b"))], False),
    "no capacity, and none is told": (wanting(), [OPTS_IN], False),
    "an amount that isn't given": (wanting(), [OPTS_IN, has("")], False),
    "the largest volume is what counts": (wanting(), [OPTS_IN, has("50Gi", largest="5Gi")], False),
    "and so it is where it is more": (wanting(), [OPTS_IN, has("5Gi", largest="50Gi")], True),
    "no topology is no node": (wanting(), [OPTS_IN, has("50Gi", None)], False),
    "an empty one is every node": (wanting(), [OPTS_IN, has("50Gi")], True),
    "another class's": (wanting(), [OPTS_IN, has("50Gi", of="slow")], False),
    "more than there is": (wanting("100Gi"), [OPTS_IN, has("50Gi")], False),
    "a driver that doesn't opt in": (wanting(), [driver(storageCapacity=False)], True),
    "a driver that doesn't say": (wanting(), [driver()], True),
    "no driver": (wanting(), [], True),
    "the newest default class": (
        wanting(of=None),
        [OPTS_IN, storage_class("old", OLD), storage_class("new", NEW), has("1Gi", of="old"), has("50Gi", of="new")], True,
    ),
    "not the other one": (
        wanting(of=None),
        [OPTS_IN, storage_class("old", NEW), storage_class("new", OLD), has("1Gi", of="old"), has("50Gi", of="new")], False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VOLUMES)
def test_where_there_is_room_for_a_volume(name: str) -> None:
    pods, objects, fits = VOLUMES[name]
    found = asked(node("n-a", zone="a"), node("n-b", zone="b"), storage_class(), *objects, pods)
    assert found.verdict is (Verdict.COMPLETES if fits else Verdict.STUCK)


def test_a_class_that_binds_at_once_asks_for_no_capacity() -> None:
    found = asked(node("n-a"), storage_class(mode="Immediate"), OPTS_IN, wanting())
    assert found.verdict is Verdict.COMPLETES


@pytest.mark.parametrize("kind", ["CSIDriver", "CSIStorageCapacity"])
def test_without_the_list_it_is_not_known(kind: str) -> None:
    found = asked(node("n-a"), storage_class(), OPTS_IN, has("50Gi"), wanting(), without=kind)
    assert found.verdict is Verdict.UNKNOWN


# ── devices that several may share ───────────────────────────────────────────────────────────────────────────────────
def device(name: str = "d0", policy: Item | None = None, *, shared: bool = True, what: str = "memory") -> Item:
    held = {"value": "40Gi", **({"requestPolicy": policy} if policy else {})}
    return {"name": name, "capacity": {what: held}, **({"allowMultipleAllocations": True} if shared else {})}


def shared_by(replicas: int, devices: list[Item], amount: str = "", count: int = 1) -> RolloutResult:
    spec = pod_spec(cpu="100m", memory="10Mi", resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}])
    spec["containers"][0]["resources"]["claims"] = [{"name": "g"}]
    exactly = {
        "deviceClassName": "gpu",
        "count": count,
        **({"capacity": {"requests": {"memory": amount}}} if amount else {}),
    }
    v1 = {"apiVersion": "resource.k8s.io/v1"}
    pool = {"name": "n-a", "generation": 1, "resourceSliceCount": 1}
    return asked(
        node("n-a"),
        {**v1, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
        {**v1, "kind": "ResourceSlice", "metadata": {"name": "s"},
         "spec": {"driver": "gpu.example", "nodeName": "n-a", "pool": pool, "devices": devices}},
        {**v1, "kind": "ResourceClaimTemplate", "metadata": {"name": "t", "namespace": "ml"},
         "spec": {"spec": {"devices": {"requests": [{"name": "g", "exactly": exactly}]}}}},
        deployment("worker", [], spec, replicas=replicas, strategy=RECREATE),
    )  # fmt: skip


TENS: Item = {"default": "10Gi", "validRange": {"min": "5Gi", "max": "20Gi"}}
EIGHTS: Item = {"default": "8Gi", "validRange": {"min": "0", "step": "8Gi"}}
VALUES: Item = {"default": "10Gi", "validValues": ["10Gi", "20Gi"]}


@pytest.mark.parametrize(
    ("devices", "amount", "count", "most"),
    [
        ([device()], "10Gi", 1, 4),
        ([device()], "", 1, 1),  # without a policy, and asked for nothing, it is taken whole
        ([device(policy=TENS)], "", 1, 4),  # the default
        ([device(policy=TENS)], "1Gi", 1, 8),  # up to the least
        ([device(policy=TENS)], "21Gi", 1, 0),  # past the most
        ([device(policy=EIGHTS)], "9Gi", 1, 2),  # up to the next step: 16
        ([device(policy=VALUES)], "11Gi", 1, 2),  # up to the next value: 20
        ([device(policy=VALUES)], "21Gi", 1, 0),
        ([device(shared=False)], "10Gi", 1, 1),  # one that isn't shared goes whole
        ([device(shared=False)], "50Gi", 1, 0),
        ([device("d0"), device("d1")], "20Gi", 2, 2),  # a part of each
        ([device(what="cores")], "10Gi", 1, 0),
    ],
)  # fmt: skip
def test_how_many_share_a_device(devices: list[Item], amount: str, count: int, most: int) -> None:
    if most:
        assert shared_by(most, devices, amount, count).verdict is Verdict.COMPLETES
    assert shared_by(most + 1, devices, amount, count).verdict is Verdict.STUCK
