"""What a pod's own fields say of its place: whether it waits for one, may leave it, and what it has on its node's disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planner.ground.records import Record
from planner.ground.vocabulary import KUEUE_POD_GROUP, LWS_GROUP_INDEX, LWS_NAME, SAFE_TO_EVICT
from planner.kubernetes.kinds import kind_called
from planner.kubernetes.qos import is_static
from planner.kubernetes.records import PersistentVolume, PersistentVolumeClaim, Pod, Volume

GANG_LABELS: Final = (
    "training.kubeflow.org/job-name",
    LWS_NAME,
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    KUEUE_POD_GROUP,
    "volcano.sh/job-name",
)
"""Of pods that only work together; the value names the group."""
_GROUP_OF_SET: Final = LWS_GROUP_INDEX


class NodeData(Record):
    """Names of volumes whose data is on the node, by what becomes of it when the pod goes elsewhere.

    Attributes
    ----------
    kept : stays behind with the node, and the pod's successor elsewhere lacks it: a directory of the node, a local volume
    scratch : emptyDir on disk: gone with the pod, wherever the next one runs
    system : a directory of the system's own (`Volume.host_path`), which every node like it has too; with the directory
    """

    kept: tuple[str, ...] = ()
    scratch: tuple[str, ...] = ()
    system: tuple[tuple[str, str], ...] = ()


def node_data(
    volumes: Iterable[Volume],
    namespace: str = "",
    claims: Iterable[PersistentVolumeClaim] = (),
    disks: Iterable[PersistentVolume] = (),
) -> NodeData:
    """What pods with these `volumes` have on their node's disk. `claims` and `disks` tell which claims are of local volumes.

    Sources: Kubernetes' concepts, *Volumes*: an emptyDir lives as long as its pod, a hostPath and a local PersistentVolume as
    long as the node's disk; an emptyDir of medium Memory is on no disk.
    """
    local = {disk.name for disk in disks if disk.is_local}
    on_local = (
        {one.name for one in claims if one.namespace == namespace and one.volume_name in local} if local else set()
    )
    volumes = tuple(volumes)
    return NodeData(
        kept=tuple(
            one.name
            for one in volumes
            if one.kind == "local" or (one.kind == "hostPath" and not one.host_path) or one.claim_name in on_local
        ),
        scratch=tuple(one.name for one in volumes if one.kind == "emptyDir" and one.medium != "Memory"),
        system=tuple((one.name, one.host_path) for one in volumes if one.host_path),
    )


def deletes_with(volumes: Iterable[Volume]) -> bool:
    """Whether ``kubectl drain`` refuses the pod without ``--delete-emptydir-data``: any emptyDir, one in memory too.

    Source: kubernetes `staging/src/k8s.io/kubectl/pkg/drain/filters.go` `localStorageFilter`, `hasLocalStorage`.
    """
    return any(one.kind == "emptyDir" for one in volumes)


def goes_with_its_node(pod: Pod) -> bool:
    """Whether the pod is there for the node, and goes when it does."""
    return is_static(pod) or (pod.owner is not None and kind_called(pod.owner.kind).is_per_node)


def stays(pod: Pod) -> bool:
    """Whether nothing should move the pod: nobody would make it anew, its owner says so, its data or devices are the node's.

    Local PersistentVolumes bind it by their own node affinity, which placing it elsewhere finds.
    """
    says_so = pod.annotations.get(SAFE_TO_EVICT) == "false"
    return pod.owner is None or says_so or bool(node_data(pod.spec.volumes).kept) or bool(pod.spec.resource_claims)


def gang_of(pod: Pod) -> str:
    """The group without which the pod doesn't work, ``ml/training.kubeflow.org/job-name=llm``; "" where nothing says so."""
    label = next((one for one in GANG_LABELS if one in pod.labels), "")
    group = pod.labels.get(_GROUP_OF_SET, "")
    return f"{pod.namespace}/{label}={pod.labels[label]}/{group}" if label else ""
