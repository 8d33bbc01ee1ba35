"""Properties of a pod from its own fields: whether it is pending or may leave its node, data on the node's disk, time
until Ready.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Final

from planner.ground.records import Record
from planner.ground.well_known_names import KUEUE_GROUP_COUNT, KUEUE_POD_GROUP, LWS_GROUP_INDEX, LWS_NAME, SAFE_TO_EVICT
from planner.kubernetes.object_records import PersistentVolume, PersistentVolumeClaim, Pod, PodSpec, Probe, Volume
from planner.kubernetes.qos import is_static
from planner.kubernetes.workload_kinds import kind_called

POD_GROUP_LABELS: Final = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
"""That name the PodGroup of a pod (scheduler-plugins' coscheduling)."""
GANG_LABELS: Final = (
    "training.kubeflow.org/job-name",
    LWS_NAME,
    *POD_GROUP_LABELS,
    KUEUE_POD_GROUP,
    "volcano.sh/job-name",
)
"""Of pods that only work together; the value names the group."""
_GROUP_OF_SET: Final = LWS_GROUP_INDEX


_SYSTEM: Final = (
    "/dev", "/sys", "/proc", "/run", "/var/run", "/etc", "/usr", "/lib", "/lib64", "/opt", "/boot", "/home/kubernetes",
    "/var/lib/kubelet", "/var/lib/nvidia",
)  # fmt: skip
"""Directories that every node like it has: devices, sockets, drivers, clocks. What a pod wrote isn't there."""


def system_directory(path: str) -> str:
    """The directory of the system's own that `path` is in or is; "" for all other paths.

    Examples
    --------
    >>> system_directory("/dev/shm"), system_directory("/devices"), system_directory("/mnt/data")
    ('/dev', '', '')
    """
    parts = path.rstrip("/")
    if ".." in parts.split("/"):
        return ""
    return next((directory for directory in _SYSTEM if parts == directory or parts.startswith(f"{directory}/")), "")


LATE_SECONDS: Final = 600.0
"""So long after its grace period a pod that is still there hangs: its kubelet, a volume or a finalizer keeps it."""


def ends_late(pod: Pod, now: float) -> bool:
    """Whether a pod that holds room should be gone for long: a deletionTimestamp is when its grace period is over
    (apimachinery `ObjectMeta.DeletionTimestamp`)."""
    return pod.deleted_at is not None and pod.holds_room and now - pod.deleted_at > LATE_SECONDS


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
        {pvc.name for pvc in claims if pvc.namespace == namespace and pvc.volume_name in local} if local else set()
    )
    volumes = tuple(volumes)
    return NodeData(
        kept=tuple(
            volume.name
            for volume in volumes
            if volume.kind == "local"
            or (volume.kind == "hostPath" and not volume.host_path)
            or volume.claim_name in on_local
        ),
        scratch=tuple(volume.name for volume in volumes if volume.kind == "emptyDir" and volume.medium != "Memory"),
        system=tuple((volume.name, volume.host_path) for volume in volumes if volume.host_path),
    )


def deletes_with(volumes: Iterable[Volume]) -> bool:
    """Whether ``kubectl drain`` refuses the pod without ``--delete-emptydir-data``: any emptyDir, one in memory too.

    Source: kubernetes `staging/src/k8s.io/kubectl/pkg/drain/filters.go` `localStorageFilter`, `hasLocalStorage`.
    """
    return any(volume.kind == "emptyDir" for volume in volumes)


def goes_with_its_node(pod: Pod) -> bool:
    """Whether the pod is there for the node, and goes when it does."""
    return is_static(pod) or (pod.owner is not None and kind_called(pod.owner.kind).is_per_node)


def must_not_move(pod: Pod) -> bool:
    """Whether nothing should move the pod: no controller would make it anew, its owner says so, its data or devices are the node's.

    Local PersistentVolumes bind it by their own node affinity, which placing it elsewhere finds.
    """
    says_so = pod.annotations.get(SAFE_TO_EVICT) == "false"
    return pod.owner is None or says_so or bool(node_data(pod.spec.volumes).kept) or bool(pod.spec.resource_claims)


def gang_of(pod: Pod, *, is_leader_alone: bool = False) -> str:
    """The group without which the pod doesn't work, ``ml/training.kubeflow.org/job-name=llm``; "" where nothing says so.

    A group of one is a pod: `is_leader_alone` says so of its LeaderWorkerSet (lws `pkg/controllers/pod_controller.go` `Reconcile` makes no workers
    at size 1), Kueue's annotation of the pod's own group.
    """
    of_one = {LWS_NAME} if is_leader_alone else set[str]()
    if pod.annotations.get(KUEUE_GROUP_COUNT) == "1":
        of_one.add(KUEUE_POD_GROUP)
    label = next(
        (gang_label for gang_label in GANG_LABELS if gang_label in pod.labels and gang_label not in of_one), ""
    )
    group = pod.labels.get(_GROUP_OF_SET, "")
    return f"{pod.namespace}/{label}={pod.labels[label]}/{group}" if label else ""


# ── how long they take ───────────────────────────────────────────────────────────────────────────────────────────────
DEADLINE_SECONDS = 600.0  # a Deployment's default (`pkg/apis/apps/v1/defaults.go` ``ProgressDeadlineSeconds``), for kinds that have none
LONGEST_START_SECONDS = 3 * 3600.0  # a Ready condition that changed later tells of something else than the start


class LearntStart(Record):
    """Median seconds from being placed to Ready, over `pods` pods."""

    seconds: float
    pods: int


def start_seconds(pod: Pod, since: float | None) -> float | None:
    """Seconds from `since` to the pod's Ready; None where its Ready time doesn't tell of its start.

    That is so for pods that aren't Ready, for those with restarts (Ready tells of the last one), and
    for those that became Ready again long after.
    """
    if (
        not pod.is_ready
        or pod.ready_at is None
        or since is None
        or any(container.restart_count for container in pod.containers)
    ):
        return None
    seconds = pod.ready_at - since
    return seconds if 0 <= seconds < LONGEST_START_SECONDS else None


def patience_seconds(probe: Probe) -> int:
    """How long after its start a container that never answers is left alone: the first check comes after the initial
    delay, and `failure_threshold` checks in a row have to fail. Source: kubernetes `pkg/kubelet/prober/worker.go`."""
    return probe.initial_delay_seconds + probe.failure_threshold * probe.period_seconds


def killed_after_seconds(spec: PodSpec) -> int | None:
    """How long after its start a pod that never answers is left alone: the shortest of its containers, each by its startup probe where it
    has one, else by its liveness probe; None where none has either."""
    probes = (container.startup_probe or container.liveness_probe for container in spec.containers)
    return min((patience_seconds(probe) for probe in probes if probe is not None), default=None)


def learn_start(pods: Iterable[Pod]) -> LearntStart | None:
    """What these pods took from being placed to Ready; None where none of them tells."""
    taken = [seconds for pod in pods if (seconds := start_seconds(pod, pod.scheduled_at)) is not None]
    return LearntStart(seconds=median(taken), pods=len(taken)) if taken else None
