"""What a pod's volumes ask of a node: where bound volumes are, which disks can't be shared.

Sources: kubernetes `pkg/scheduler/framework/plugins/volumebinding`, `volumezone`, `volumerestrictions`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from planner.kubernetes.records import (
    Node,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PodSpec,
    Presence,
    StorageClass,
)
from planner.kubernetes.selectors import terms_match
from planner.scheduling.cluster import Cluster
from planner.vocabulary import HOSTNAME, REGION, ZONE

NODE_CONFLICT, NO_VOLUME, ZONE_CONFLICT, VOLUME_MISSING = 1, 2, 3, 4
STORAGE_REASONS = {
    NODE_CONFLICT: "node(s) didn't match PersistentVolume's node affinity",
    NO_VOLUME: "node(s) didn't find available persistent volumes to bind",
    ZONE_CONFLICT: "node(s) had no available volume zone",
    VOLUME_MISSING: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
_ZONE_LABELS = (
    ZONE,
    REGION,
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StorageDemand:
    """`codes`: uint8[node], 0 or the conflict on that node; None when no volume restricts nodes."""

    codes: NDArray[np.uint8] | None = None
    exclusive_claims: tuple[tuple[str, str], ...] = ()  # (namespace, claim) with ReadWriteOncePod
    disks: tuple[tuple[str, bool], ...] = ()  # (disk, read-only): disks one node can mount only once for writing
    blocked: str = ""
    unknown: bool = False  # the snapshot doesn't hold the claims it would take to judge


def storage_demand(cluster: Cluster, namespace: str, spec: PodSpec) -> StorageDemand:
    """Compile a pod's volumes against the cluster's claims and volumes."""
    disks = tuple((v.disk_id, v.read_only) for v in spec.volumes if v.disk_id)
    names = [v.claim_name for v in spec.volumes if v.kind == "persistentVolumeClaim"]
    ephemeral = [v for v in spec.volumes if v.kind == "ephemeral"]
    if not names and not ephemeral:
        return StorageDemand(disks=disks)
    if cluster.snapshot.presence.get("PersistentVolumeClaim") is not Presence.PRESENT:
        return StorageDemand(disks=disks, unknown=True)
    snapshot = cluster.snapshot
    claims = {(c.namespace, c.name): c for c in snapshot.persistent_volume_claims}
    volumes = {v.name: v for v in snapshot.persistent_volumes}
    classes = {c.name: c for c in snapshot.storage_classes}
    codes = np.zeros(cluster.node_count, dtype=np.uint8)
    exclusive = []
    blocked = ""
    for name in names:
        claim = claims.get((namespace, name))
        if claim is None:
            blocked = f'persistentvolumeclaim "{name}" not found'
            break
        if "ReadWriteOncePod" in claim.access_modes:
            exclusive.append((namespace, name))
        if claim.volume_name:
            _mark_bound(cluster, codes, volumes.get(claim.volume_name))
        elif _binds_late(classes.get(claim.storage_class_name or "")):
            _mark_unbound(cluster, codes, claim, classes[claim.storage_class_name or ""], volumes)
        elif claim.storage_class_name in classes or claim.storage_class_name == "":
            blocked = "pod has unbound immediate PersistentVolumeClaims"
    for volume in ephemeral:
        storage_class = classes.get(volume.storage_class_name or "")
        if storage_class is not None and storage_class.allowed_topologies:
            _mark(cluster, codes, NO_VOLUME, partial(_in_topologies, storage_class.allowed_topologies))
    return StorageDemand(
        codes=codes if codes.any() else None, exclusive_claims=tuple(exclusive), disks=disks, blocked=blocked
    )


def _binds_late(storage_class: StorageClass | None) -> bool:
    return storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"


def _in_topologies(terms: tuple[NodeSelectorTerm, ...], node: Node) -> bool:
    return terms_match(terms, node.labels, node.name)


def _mark(cluster: Cluster, codes: NDArray[np.uint8], code: int, allows: Callable[[Node], bool]) -> None:
    """Set `code` on nodes that `allows` refuses and that have none yet."""
    refused = cluster.by_node(lambda n: not allows(n), (HOSTNAME,)).astype(np.bool_)
    codes[refused & (codes == 0)] = code


def _mark_bound(cluster: Cluster, codes: NDArray[np.uint8], volume: PersistentVolume | None) -> None:
    if volume is None:
        codes[codes == 0] = VOLUME_MISSING
        return
    terms = volume.node_affinity
    if terms is not None:
        _mark(cluster, codes, NODE_CONFLICT, partial(_in_topologies, terms))
    for key in _ZONE_LABELS:
        if key in volume.labels:
            zones = volume.labels[key].split("__")
            _mark(cluster, codes, ZONE_CONFLICT, partial(_in_zone, key, zones))


def _in_zone(key: str, zones: list[str], node: Node) -> bool:
    """Nodes without any topology label aren't restricted (volumezone `Filter`)."""
    if not any(label in node.labels for label in _ZONE_LABELS):
        return True
    return node.labels.get(key) in zones


def _mark_unbound(
    cluster: Cluster,
    codes: NDArray[np.uint8],
    claim: PersistentVolumeClaim,
    storage_class: StorageClass,
    volumes: dict[str, PersistentVolume],
) -> None:
    """A claim bound at first use goes where a free volume matches or, with a provisioner, where topology allows."""
    if storage_class.provisioner and storage_class.provisioner != "kubernetes.io/no-provisioner":
        topologies = storage_class.allowed_topologies
        if topologies:
            _mark(cluster, codes, NO_VOLUME, partial(_in_topologies, topologies))
        return
    free = [
        v
        for v in volumes.values()
        if v.storage_class_name == storage_class.name
        and (v.claim is None or v.claim == (claim.namespace, claim.name))
        and v.capacity_bytes >= claim.requested_bytes
        and set(claim.access_modes) <= set(v.access_modes)
    ]
    _mark(
        cluster,
        codes,
        NO_VOLUME,
        lambda n: any(v.node_affinity is None or terms_match(v.node_affinity, n.labels, n.name) for v in free),
    )
