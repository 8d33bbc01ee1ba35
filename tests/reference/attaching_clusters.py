"""Clusters whose pods share volumes of every access mode and source, for properties: ``attaching_case(seed)`` gives what ``simulate`` takes.

A case is drafted as a random one is, with claims for its workloads and for bare pods beside them, and grows by the reference: some pods
wait for a volume from the beginning.
"""

from __future__ import annotations

import random

from tests.reference.objects import Object
from tests.reference.random_clusters import NAMESPACE, Case, draft, grow, neighbour

MODES: tuple[list[str], ...] = (
    ["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadWriteMany"], ["ReadOnlyMany"], ["ReadWriteOnce", "ReadOnlyMany"],
    ["ReadWriteOncePod"], [],
)  # fmt: skip
SOURCES: tuple[Object, ...] = (
    {"csi": {"driver": "attaching.example", "volumeHandle": ""}},
    {"csi": {"driver": "attaching.example", "volumeHandle": ""}},
    {"csi": {"driver": "silent.example", "volumeHandle": ""}},
    {"csi": {"driver": "unlisted.example", "volumeHandle": ""}},
    {"csi": {"driver": "sharing.example", "volumeHandle": ""}},
    {"gcePersistentDisk": {"pdName": "disk"}},
    {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2026-11.com.example:1", "lun": 1}},
    {"nfs": {"server": "10.0.0.1", "path": "/"}},
)
FLEX: Object = {"flexVolume": {"driver": "example.com/lvm"}}
CLAIMS = ("data", "more")


def attaching_case(seed: int) -> Case:
    """A small cluster with shared claims, and a rollout to play on it; the same for the same seed."""
    rng = random.Random(f"attaching {seed}")
    ground, items, workloads, changes, neighbours, never_ready = draft(rng)
    items += [*drivers(), *(one for name in CLAIMS for one in bound(rng, name))]
    shows_flex(seed, items)
    if rng.random() < 0.4:
        beside = neighbour(rng, 7, ground)
        beside["metadata"]["namespace"] = NAMESPACE
        mount(beside["spec"], rng.choice(CLAIMS))
        neighbours.append(beside)
    for workload, change in zip(workloads, changes, strict=True):
        claim = rng.choice((*CLAIMS, "data"))
        mount(workload["spec"]["template"]["spec"], claim)
        if rng.random() < 0.3:
            near(workload)
        if workload["kind"] == "Deployment" and rng.random() < 0.5:
            workload["spec"]["replicas"] = 1
        template = change["patch"]["spec"].setdefault("template", {})
        if rng.random() < 0.15:
            mount(template.setdefault("spec", {}), rng.choice(CLAIMS))
    return Case(grow(items, neighbours, seed), changes, never_ready)


def shows_flex(seed: int, items: list[Object]) -> None:
    """In one case of four the first volume is a FlexVolume, of a driver that has attached something somewhere."""
    rng = random.Random(f"flex {seed}")  # its own, so that the other cases stay as they are
    if rng.random() < 0.25:
        volume = next(one["spec"] for one in items if one["kind"] == "PersistentVolume")
        for source in ("csi", "gcePersistentDisk", "iscsi", "nfs"):
            volume.pop(source, None)
        volume.update(FLEX)
        node = rng.choice([one for one in items if one["kind"] == "Node"])
        node["status"]["volumesAttached"] = [{"name": "flexvolume-example.com/lvm/another", "devicePath": ""}]


def drivers() -> list[Object]:
    told: dict[str, Object] = {
        "attaching.example": {"attachRequired": True},
        "silent.example": {},
        "sharing.example": {"attachRequired": False},
    }
    return [
        {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}
        for name, spec in told.items()
    ]


def bound(rng: random.Random, claim: str) -> list[Object]:
    """A claim and the volume that it is bound to; a claim's modes are some of the volume's."""
    modes, source = list(rng.choice(MODES)), rng.choice(SOURCES)
    if "csi" in source:
        source = {"csi": {**source["csi"], "volumeHandle": f"handle-{claim}"}}
    shared = {"storageClassName": "disk", "volumeMode": "Filesystem"}
    where: Object = {}
    if rng.random() < 0.2:
        expression = {
            "key": "topology.kubernetes.io/zone",
            "operator": "In",
            "values": [rng.choice(("zone-a", "zone-b"))],
        }
        where = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}
    reference = {"kind": "PersistentVolumeClaim", "namespace": NAMESPACE, "name": claim}
    return [
        {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{claim}"},
            "spec": {"capacity": {"storage": "10Gi"}, "accessModes": modes, "claimRef": reference, **shared, **source, **where},
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim, "namespace": NAMESPACE},
            "spec": {
                "accessModes": modes[:1] or ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}},
                "volumeName": f"pv-{claim}", **shared,
            },
            "status": {"phase": "Bound"},
        },
    ]  # fmt: skip


def mount(spec: Object, claim: str) -> None:
    spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


def near(workload: Object) -> None:
    """Its pods have to be on one node."""
    term = {"labelSelector": workload["spec"]["selector"], "topologyKey": "kubernetes.io/hostname"}
    workload["spec"]["template"]["spec"]["affinity"] = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    }
