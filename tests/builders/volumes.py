"""Claims, volumes and drivers, as kubectl would list them."""

from __future__ import annotations

from typing import Any

from tests.builders.objects import Item, deployment, node, pod_spec

DRIVER = "pd.csi.storage.gke.io"


def csi_driver(name: str = DRIVER, **spec: Any) -> Item:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name, "uid": name},
        "spec": spec,
    }


def bound(claim: str = "data", *modes: str, namespace: str = "ml", of: Item | None = None, **spec: Any) -> list[Item]:
    """A claim (ReadWriteOnce) and the volume that it is bound to; `modes` are the volume's, `of` its source."""
    name, source = f"pv-{claim}", of or {"csi": {"driver": DRIVER, "volumeHandle": f"disk-{claim}"}}
    shared = {"storageClassName": "disk", "volumeMode": "Filesystem"}
    reference = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim}
    return [
        {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "uid": name},
            "spec": {"capacity": {"storage": "10Gi"}, "accessModes": list(modes or ("ReadWriteOnce",)), "claimRef": reference, **shared, **source, **spec},
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim, "namespace": namespace, "uid": claim},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}, "volumeName": name, **shared},
            "status": {"phase": "Bound"},
        },
    ]  # fmt: skip


def attachment(volume: str, on: str, *, attached: bool = True) -> Item:
    return {
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": f"csi-{volume}-{on}", "uid": f"{volume}-{on}"},
        "spec": {"attacher": DRIVER, "nodeName": on, "source": {"persistentVolumeName": volume}}, "status": {"attached": attached},
    }  # fmt: skip


def using(*claims: str, cpu: str = "1", **more: Any) -> Item:
    """A pod spec with these claims."""
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims or ("data",)]
    return pod_spec(cpu=cpu, volumes=volumes, **more)


def rolling(surge: int | str = 1, unavailable: int | str = 0) -> Item:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def only_room_elsewhere(spec: Item | None = None, **more: Any) -> list[Item]:
    """A Deployment with one pod on node a, which is full, and node b with room: two nodes, and nothing of its volume."""
    given = {"strategy": rolling(), **more}
    return [node("a", cpu="1"), node("b", cpu="4"), *deployment("store", ["a"], spec or using(), **given)]


def alone_on_its_node(spec: Item | None = None, **more: Any) -> list[Item]:
    """The same Deployment, with room on node a alone."""
    given = {"strategy": rolling(), **more}
    return [node("a", cpu="4"), node("b", cpu="0"), *deployment("store", ["a"], spec or using(), **given)]
