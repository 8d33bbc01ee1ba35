"""Which node has which volume that only one node can hold: the attach-detach controller, as far as pods wait for it.

kube-scheduler never looks at attachments. A pod that it puts on a node without its volume waits there in ContainerCreating until
no pod object of the node that has the volume wants it any more. First come, first served; of several nodes that want a volume
when it is free any may get it.

Sources: kubernetes `pkg/controller/volume/attachdetach/reconciler/reconciler.go` `reconcile`, `attachDesiredVolumes`;
`pkg/controller/volume/attachdetach/util/util.go` `ProcessPodVolumes`, `IsPodTerminated` (a pod that is deleted and whose
containers don't run wants nothing); `pkg/kubelet/volumemanager/volume_manager.go` `WaitForAttachAndMount`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from planner.ground.records import Record
from planner.rollout.pods import Pods
from planner.scheduling.cluster import Cluster, once_a_cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.shape import compile_shape
from planner.scheduling.volume_placement import Attached, ClaimKey, Volumes

FORCED_DETACH_SECONDS = 360.0
"""After which a volume is taken off a node that doesn't say that it has unmounted it (`ReconcilerMaxWaitForUnmountDuration`)."""

VOLUME_ELSEWHERE = "for a volume that another node has (Multi-Attach error)"


class VolumeWait(Record, eq=False):
    """A pod that has its node and waits there for a volume; `holders`: the nodes that have it, `pods` those there that want it."""

    pod: LivePod
    volume: Attached
    holders: tuple[int, ...]
    pods: tuple[LivePod, ...]


class Attachments:
    """Where volumes are, and who waits for them. Nothing is looked at before a pod that isn't Ready yet needs such a volume.

    Attributes
    ----------
    choices : times several nodes wanted a volume when it was free
    refused : what was seen to be on another node, each volume and pod once
    """

    def __init__(self, cluster: Cluster, pods: Pods, volumes: Volumes, luck: Random | None) -> None:
        self._cluster, self._pods, self._volumes, self._luck = cluster, pods, volumes, luck
        self._wants: dict[ClaimKey, dict[int, dict[int, LivePod]]] = {}  # volume → node → its pods by their numbers
        self._nodes: dict[ClaimKey, set[int]] = {}  # volume → where it is
        self._volumes_of: dict[int, tuple[Attached, ...]] = {}  # by number, of pods that want some
        self._waiting: dict[int, LivePod] = {}
        self._gone: frozenset[int] = frozenset()
        self.choices = 0
        self.refused: dict[tuple[ClaimKey, int], VolumeWait] = {}

    def begin(self, pod: LivePod) -> bool:
        """A pod that isn't Ready has its node; whether it has to wait for `settle` before it starts."""
        volumes = self._volumes.held(pod.shape.storage)
        if not volumes or pod.is_lost:
            return False
        for volume in volumes:
            self._learn(volume)
            if pod.is_running:
                self._nodes[volume.key].add(pod.node)
        self._want(pod, volumes)
        self._waiting[pod.number] = pod
        return True

    def leave(self, pod: LivePod) -> None:
        """A pod is gone: it wants nothing any more."""
        self._waiting.pop(pod.number, None)
        for volume in self._volumes_of.pop(pod.number, ()):
            self._wants[volume.key].get(pod.node, {}).pop(pod.number, None)

    def deleted(self, pod: LivePod) -> None:
        """A pod is deleted: without a running container it wants nothing any more."""
        if not pod.is_running:
            self.leave(pod)

    def keep(self, nodes: Iterable[int]) -> None:
        """These nodes go: nothing says there that a volume is unmounted, which stays attached for some minutes."""
        for volume in (
            pod_volume
            for node in nodes
            for pod in self._pods.on(node)
            for pod_volume in self._volumes.held(pod.shape.storage)
        ):
            self._learn(volume)
        self._gone = self._gone.union(nodes)

    def detach_by_force(self) -> bool:
        """Whether volumes that pods wait for are taken off nodes that don't say that they have unmounted them, and where no pod object
        wants them."""
        waited = {volume.key for pod in self._waiting.values() for volume in self._volumes_of[pod.number]}
        stale = {key: {node for node in self._nodes[key] if not self._wants[key].get(node)} for key in waited}
        for key, nodes in stale.items():
            self._nodes[key] -= nodes
        return any(stale.values())

    def settle(self) -> list[LivePod]:
        """Detach, then attach; the pods that have all their volumes now and start."""
        if not self._waiting:
            return []
        volume_keys = dict.fromkeys(volume.key for number in self._waiting for volume in self._volumes_of[number])
        for key in volume_keys:
            self._move(key)
        ready = [pod for pod in self._waiting.values() if not self.waits_of(pod)]
        for pod in ready:
            del self._waiting[pod.number]
        for pod in self._waiting.values():
            for wait in self.waits_of(pod):
                self.refused.setdefault((wait.volume.key, pod.number), wait)
        return ready

    def waits_of(self, pod: LivePod) -> list[VolumeWait]:
        """What a pod that has its node waits for."""
        if pod.number not in self._waiting:
            return []
        return [
            VolumeWait(
                pod=pod, volume=volume, holders=tuple(sorted(self._nodes[volume.key])), pods=self._holders(volume.key)
            )
            for volume in self._volumes_of[pod.number]
            if pod.node not in self._nodes[volume.key]
        ]

    @property
    def waiting(self) -> Sequence[LivePod]:
        """Pods that have their node and wait there for a volume."""
        return tuple(self._waiting.values())

    def _holders(self, key: ClaimKey) -> tuple[LivePod, ...]:
        wants = self._wants[key]
        return tuple(pod for node in sorted(self._nodes[key]) for pod in wants.get(node, {}).values())

    def _move(self, key: ClaimKey) -> None:
        wants, nodes = self._wants[key], self._nodes[key]
        nodes -= self._unwanted(key)
        asking = [node for node, pods in wants.items() if pods and not self._keeps(node)]
        if nodes or not asking:
            return
        self.choices += len(asking) > 1
        nodes.add(asking[0] if self._luck is None else self._luck.choice(asking))

    def _unwanted(self, key: ClaimKey) -> set[int]:
        """Where a volume is that no pod object wants there, and that it is taken off."""
        return {node for node in self._nodes[key] if not self._wants[key].get(node) and not self._keeps(node)}

    def _keeps(self, node: int) -> bool:
        """Whether nothing says there that a volume is unmounted, and it stays attached for some minutes, unless the node has the
        ``out-of-service`` taint (`hasOutOfServiceTaint`)."""
        return (node in self._gone or node in self._pods.silent) and node not in self._pods.out_of_service

    def _want(self, pod: LivePod, volumes: Iterable[Attached]) -> None:
        self._volumes_of[pod.number] = tuple(volumes)
        for volume in self._volumes_of[pod.number]:
            self._wants[volume.key].setdefault(pod.node, {})[pod.number] = pod

    def _learn(self, volume: Attached) -> None:
        """Where a volume is at first, and which of the snapshot's pods want it there."""
        if volume.key in self._wants:
            return
        wants: dict[int, dict[int, LivePod]] = {}
        self._wants[volume.key], nodes = wants, set(_attached_at_first(self._cluster, volume.volume))
        self._nodes[volume.key] = nodes
        for index in self._cluster.remember(_users).get(volume.key, ()):
            pod = self._pods.live(index)
            if pod.is_gone or pod.is_lost or not pod.is_bound or pod.number in self._volumes_of:
                continue
            if pod.is_terminating and not pod.is_running:
                continue
            own = self._volumes.held(pod.shape.storage)
            # A pod starts with all of its volumes or not at all: where one is decides over the others, too.
            for attached_volume in own:
                self._learn(attached_volume)
            self._want(pod, own)
            if pod.is_running:
                nodes.add(pod.node)
        nodes -= self._unwanted(volume.key)


def _users(cluster: Cluster) -> dict[ClaimKey, list[int]]:
    """Volume → indices of the bound pods that use it and aren't done."""
    users: dict[ClaimKey, list[int]] = {}
    for group in cluster.groups:
        for volume in group.spec.volumes:
            if volume.claim_name or volume.disk_id:
                key = (
                    (group.namespace, volume.claim_name)
                    if volume.claim_name
                    else ("", f"{volume.kind}/{volume.disk_id}")
                )
                users.setdefault(key, []).extend(group.pods)
    return users


@once_a_cluster
def sharing(cluster: Cluster) -> frozenset[int]:
    """The snapshot's pods on nodes with a shared volume that one node has at a time: of two such pods that come
    to different nodes one waits forever."""
    pods, volumes, sharers = cluster.snapshot.pods, Volumes(cluster), set[int]()
    for key, indices in cluster.remember(_users).items():
        pod = pods[indices[0]]
        if len(indices) > 1:
            shape = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
            sharers.update(indices if any(volume.key == key for volume in volumes.held(shape.storage)) else ())
    return frozenset(sharers)


@once_a_cluster
def _attached_at_first(cluster: Cluster, volume: str) -> frozenset[int]:
    """Nodes that a PersistentVolume is attached to, as VolumeAttachments and the nodes' status say."""
    if not volume:
        return frozenset()
    return cluster.remember(_attached).get(volume, frozenset())


def _attached(cluster: Cluster) -> dict[str, frozenset[int]]:
    snapshot, nodes_by_volume = cluster.snapshot, dict[str, set[int]]()
    by_name = {disk.attached_name: disk.name for disk in snapshot.persistent_volumes if disk.attached_name}
    pairs = [
        (attachment.volume_name, attachment.node_name)
        for attachment in snapshot.volume_attachments
        if attachment.is_attached
    ]
    pairs += [(by_name[v], node.name) for node in snapshot.nodes for v in node.volumes_attached if v in by_name]
    for volume, node in pairs:
        if node in cluster.node_index:
            nodes_by_volume.setdefault(volume, set()).add(cluster.node_index[node])
    return {volume: frozenset(nodes) for volume, nodes in nodes_by_volume.items()}
