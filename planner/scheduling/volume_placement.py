"""A pod's volumes and the nodes they allow: where bound volumes are, where unbound claims can be provisioned, attach
limits, exclusive disks.

A claim is bound once and then remembered: the first pod that gets a node decides where a late-binding claim's volume is.
Sources: kubernetes `pkg/scheduler/framework/plugins/volumebinding` (`binder.go` `FindPodVolumes`,
`findMatchingVolumes`, `hasEnoughCapacity`), `volumezone`, `volumerestrictions`, `nodevolumelimits/csi.go`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record, dataclass
from planner.ground.well_known_names import HOSTNAME, IN_TREE_DRIVERS, OLD_REGION, OLD_ZONE, REGION, ZONE
from planner.kubernetes.object_records import (
    ClaimTemplate,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    PodSpec,
    Presence,
    Snapshot,
    StorageClass,
    Volume,
)
from planner.kubernetes.selectors import labels_match
from planner.kubernetes.volume_attach_rules import (
    Attaching,
    attaching,
    held_by_one_node,
    inline_held_by_one_node,
    is_for_one_node,
)
from planner.kubernetes.workload_kinds import several
from planner.scheduling.cluster import BoolArray, Cluster, IntArray, once_a_cluster

NODE_CONFLICT, NO_VOLUME, ZONE_CONFLICT, VOLUME_MISSING, NO_SPACE = 1, 2, 3, 4, 5
STORAGE_REASONS = {
    NODE_CONFLICT: "node(s) didn't match PersistentVolume's node affinity",
    NO_VOLUME: "node(s) didn't find available persistent volumes to bind",
    ZONE_CONFLICT: "node(s) had no available volume zone",
    VOLUME_MISSING: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    NO_SPACE: "node(s) did not have enough free storage",
}
_SUCCESSORS = {
    OLD_ZONE: ZONE,
    OLD_REGION: REGION,
}
_ZONE_LABELS = (ZONE, REGION, *_SUCCESSORS)
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_TELL_NO_CAPACITY = frozenset(
    [
        *("pd.csi.storage.gke.io", "filestore.csi.storage.gke.io", "ebs.csi.aws.com", "efs.csi.aws.com"),
        *("disk.csi.azure.com", "file.csi.azure.com", "cinder.csi.openstack.org", "csi.vsphere.vmware.com"),
    ]
)  # disks and shares of clouds: made where they are wanted
_CONFLICTING = (
    "awsElasticBlockStore",
    "gcePersistentDisk",
    "iscsi",
    "rbd",
)  # volumerestrictions `needsRestrictionsCheck`
ClaimKey = tuple[str, str]  # namespace, name


def mark(codes: NDArray[np.uint8], refused: BoolArray, code: int) -> None:
    """Set `code` on the refused nodes that have none yet."""
    codes[refused & (codes == 0)] = code


class LateClaim(Record, eq=False):
    """A claim that is bound when a pod that uses it gets its node.

    Attributes
    ----------
    key : the claim, None for one that is made anew for each pod
    volumes : free volumes that suit it, the smallest first
    provisioned : nodes on which a volume can be made for it: bool[node]
    spacious : those where its driver says there is room for it: bool[node]; None: it doesn't say
    reach : node labels that tell which nodes reach a volume made for it
    """

    key: ClaimKey | None
    requested_bytes: int
    volumes: tuple[PersistentVolume, ...]
    provisioned: BoolArray
    reach: tuple[str, ...] = ()
    spacious: BoolArray | None = None

    @property
    def made(self) -> BoolArray:
        """Nodes on which a volume is made for it: bool[node]."""
        return self.provisioned if self.spacious is None else self.provisioned & self.spacious

    def why_not(self, node: int) -> int:
        """The code of a node on which none is made (`checkVolumeProvisions`)."""
        return NO_SPACE if self.provisioned[node] else NO_VOLUME


def default_class(snapshot: Snapshot) -> StorageClass | None:
    """The cluster's default: of several the newest, of those made at once the first by name.

    Source: kubernetes `pkg/volume/util/storageclass.go` `GetDefaultClass`.
    """
    defaults = (storage_class for storage_class in snapshot.storage_classes if storage_class.is_default)
    return min(defaults, key=lambda candidate: (-(candidate.created_at or 0.0), candidate.name), default=None)


def class_name_of(snapshot: Snapshot, claim: ClaimTemplate) -> str:
    """The class that a claim names, else the default's; "" for none."""
    if claim.storage_class_name is not None:
        return claim.storage_class_name
    default = default_class(snapshot)
    return default.name if default else ""


class Attached(Record):
    """A volume that is attached to one node at a time before a pod starts there.

    `key`: what pods that share it have in common: a claim, or an inline disk (its namespace is ""). `how`: whether its driver
    attaches is read, presumed or not known. `driver`: its CSI driver, "" for Kubernetes' own plugins. `volume`: the
    PersistentVolume that the claim is bound to, "" for none.
    """

    key: ClaimKey
    how: Attaching
    driver: str = ""
    volume: str = ""


class StorageDemand(Record, eq=False):
    """`codes`: uint8[node], 0 or the conflict on that node; None when no volume that is bound already restricts nodes."""

    codes: NDArray[np.uint8] | None = None
    late: tuple[LateClaim, ...] = ()
    mounts: tuple[tuple[str, ClaimKey | None], ...] = ()
    """(CSI driver that has limits, claim; None: one of the pod's own)."""
    exclusive_claims: tuple[ClaimKey, ...] = ()  # with ReadWriteOncePod
    disks: tuple[tuple[str, bool], ...] = ()  # (disk, read-only): disks one node can mount only once for writing
    attached: tuple[
        Attached, ...
    ] = ()  # that one node holds at a time; of unbound claims those that may come to be such
    blocked: str = ""
    unknown: str = ""  # what the snapshot lacks to judge

    @property
    def is_in_motion(self) -> bool:
        """Whether what other pods do changes where the pod's volumes can be had."""
        return bool(self.late or self.mounts or self.exclusive_claims or self.disks)


def claims_by_key(cluster: Cluster) -> dict[ClaimKey, PersistentVolumeClaim]:
    """The snapshot's PersistentVolumeClaims."""
    return {(c.namespace, c.name): c for c in cluster.snapshot.persistent_volume_claims}


def _volumes(cluster: Cluster) -> dict[str, PersistentVolume]:
    return {v.name: v for v in cluster.snapshot.persistent_volumes}


@once_a_cluster
def _reached(cluster: Cluster, volume: str) -> BoolArray:
    """Nodes that reach a volume: bool[node]."""
    terms = cluster.remember(_volumes)[volume].node_affinity
    if terms is None:
        return np.ones(cluster.node_count, dtype=np.bool_)
    return cluster.selected(terms)


class _Compiler:
    """A pod's volumes against the cluster's claims and volumes."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace
        snapshot = cluster.snapshot
        self.claims = cluster.remember(claims_by_key)
        self.volumes = cluster.remember(_volumes)
        self.classes = {c.name: c for c in snapshot.storage_classes}
        self.limited = {driver for node in snapshot.csi_nodes for driver in node.limits}
        self.codes = np.zeros(cluster.node_count, dtype=np.uint8)
        self.late: list[LateClaim] = []
        self.mounts: list[tuple[str, ClaimKey | None]] = []
        self.exclusive: list[ClaimKey] = []
        self.attached: list[Attached] = []
        self.blocked = self.unknown = ""

    def knows(self, kind: str) -> bool:
        return self.cluster.snapshot.presence.get(kind) is Presence.PRESENT

    def lacks(self, kind: str) -> None:
        self.unknown = self.unknown or f"the pods use volumes, and the snapshot doesn't hold {several(kind)}"

    def take(self, volume: Volume) -> None:
        key = (self.namespace, volume.claim_name)
        claim = self.claims.get(key) if volume.claim_name else None
        if claim is not None:
            self._named(key, claim)
        elif volume.claim_template is not None:  # a controller makes it
            own = key if volume.claim_name else None
            self._unbound(own, volume.claim_template)
        elif not self.knows("PersistentVolumeClaim"):
            self.lacks("PersistentVolumeClaim")
        else:
            self.block(f'persistentvolumeclaim "{volume.claim_name}" not found')

    def block(self, why: str) -> None:
        self.blocked = self.blocked or why

    def attach(self, key: ClaimKey, how: Attaching, driver: str, volume: str = "") -> None:
        if how is not Attaching.NO:
            self.attached.append(Attached(key=key, how=how, driver=driver, volume=volume))

    def _named(self, key: ClaimKey, claim: PersistentVolumeClaim) -> None:
        if claim.phase == "Lost":
            self.block(
                f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume "{claim.volume_name}"'
            )
        if claim.is_deleting:
            self.block(f'persistentvolumeclaim "{claim.name}" is being deleted')
        if "ReadWriteOncePod" in claim.access_modes:
            self.exclusive.append(key)
        if not claim.volume_name:
            self._unbound(key, claim.template, claim.selected_node)
            return
        volume = self.volumes.get(claim.volume_name)
        if volume is None and not self.knows("PersistentVolume"):
            self.lacks("PersistentVolume")
            return
        self._bound(volume)
        if volume is not None:
            if volume.csi_driver in self.limited:
                self.mounts.append((volume.csi_driver, key))
            self.attach(key, held_by_one_node(self.cluster.snapshot, volume), volume.csi_driver, volume.name)

    def _bound(self, volume: PersistentVolume | None) -> None:
        if volume is None:
            self.codes[self.codes == 0] = VOLUME_MISSING
            return
        if volume.node_affinity is not None:
            mark(self.codes, ~self.cluster.selected(volume.node_affinity), NODE_CONFLICT)
        for key in _ZONE_LABELS:
            if key in volume.labels:
                in_zone = partial(_in_zone, key, volume.labels[key].split("__"))
                mark(self.codes, ~self.cluster.where(in_zone, (HOSTNAME,)), ZONE_CONFLICT)

    def _unbound(self, key: ClaimKey | None, claim: ClaimTemplate, selected_node: str = "") -> None:
        if not self.knows("StorageClass") and claim.storage_class_name not in ("", *self.classes):
            self.lacks("StorageClass")
            return
        storage_class = self.classes.get(class_name_of(self.cluster.snapshot, claim))
        provisions = storage_class is not None and storage_class.provisioner not in ("", _NO_PROVISIONER)
        is_made = key is not None and key in self.claims and not self.claims[key].is_new
        if key is not None and provisions and is_for_one_node(claim.access_modes):  # its volume gets the claim's modes
            assert storage_class is not None
            driver = storage_class.provisioner
            self.attach(key, attaching(self.cluster.snapshot, driver), driver)
        if storage_class is None or storage_class.volume_binding_mode != "WaitForFirstConsumer":
            # With binding mode Immediate the volume is made as soon as the claim is, before the pod is tried.
            if provisions and not is_made:
                return  # one that is still to be made is bound at once
            if is_made or self.knows("PersistentVolume"):
                class_name = storage_class.name if storage_class else claim.storage_class_name or ""
                free = () if is_made else tuple(self._suiting(key, claim, class_name))
                if not free:
                    self.block("pod has unbound immediate PersistentVolumeClaims")
                    return
                nowhere = np.zeros_like(self.codes, dtype=np.bool_)
                self.late.append(
                    LateClaim(key=key, requested_bytes=claim.requested_bytes, volumes=free, provisioned=nowhere)
                )
                return
        if not provisions and not self.knows("PersistentVolume"):
            self.lacks("PersistentVolume")
            return
        assert storage_class is not None
        # The scheduler chose a node for this claim before (its annotation selected-node): the volume will be made
        # there.
        if selected_node:
            mark(self.codes, ~self.cluster.where(lambda node: node.name == selected_node, (HOSTNAME,)), NO_VOLUME)
        if storage_class.provisioner in self.limited:
            self.mounts.append((storage_class.provisioner, key))
        terms = storage_class.allowed_topologies
        anywhere = np.full_like(self.codes, provisions, dtype=np.bool_)
        late = LateClaim(
            key=key,
            requested_bytes=claim.requested_bytes,
            volumes=tuple(self._suiting(key, claim, storage_class.name)),
            provisioned=self.cluster.selected(terms) if terms and provisions else anywhere,
            reach=self._reach(storage_class),
            spacious=self._spacious(storage_class, claim) if provisions else None,
        )
        if not late.volumes and key is None:  # no other rule has a say
            mark(self.codes, ~late.provisioned, NO_VOLUME)
            mark(self.codes, ~late.made, NO_SPACE)
        else:
            self.late.append(late)

    def _suiting(self, key: ClaimKey | None, claim: ClaimTemplate, class_name: str) -> Iterable[PersistentVolume]:
        """Source: component-helpers `storage/volume/pv_helpers.go` `FindMatchingVolume`."""
        volumes = [
            v
            for v in self.volumes.values()
            if v.storage_class_name == class_name
            and (v.claim is None or v.claim == key)
            and v.phase not in ("Released", "Failed")
            and v.capacity_bytes >= claim.requested_bytes
            and set(claim.access_modes) <= set(v.access_modes)
            and v.volume_mode == claim.volume_mode
            and (claim.selector is None or labels_match(claim.selector, v.labels))
        ]
        # A volume that names this claim goes before free ones, then the smallest that is large enough.
        return sorted(volumes, key=lambda v: (v.claim is None, v.capacity_bytes))

    def _spacious(self, storage_class: StorageClass, claim_template: ClaimTemplate) -> BoolArray | None:
        """Source: `hasEnoughCapacity`, `capacitySufficient`, `nodeHasAccess`."""
        snapshot, driver = self.cluster.snapshot, storage_class.provisioner
        driver_record = next((csi_driver for csi_driver in snapshot.csi_drivers if csi_driver.driver == driver), None)
        if not claim_template.requested_bytes or (driver_record is not None and not driver_record.tells_capacity):
            return None
        if driver_record is None and (not snapshot.lacks("CSIDriver") or driver in _TELL_NO_CAPACITY):
            return None
        if driver_record is None or snapshot.lacks("CSIStorageCapacity"):
            self.lacks("CSIDriver" if driver_record is None else "CSIStorageCapacity")
            return None
        enough = [
            capacity.nodes
            for capacity in snapshot.csi_storage_capacities
            if capacity.storage_class_name == storage_class.name
            and capacity.nodes is not None
            and (capacity.largest_bytes or -1) >= claim_template.requested_bytes
        ]
        # Nodes are asked once per class of equal labels, and only these labels can tell two nodes apart here.
        keys = {
            key for selector in enough for key in (*selector.match_labels, *(e.key for e in selector.match_expressions))
        }
        return self.cluster.where(lambda n: any(labels_match(selector, n.labels) for selector in enough), keys)

    def _reach(self, storage_class: StorageClass) -> tuple[str, ...]:
        """Node labels a volume of the class is tied to: those of the volumes it has made, else the zone."""
        for volume in self.volumes.values():
            if volume.storage_class_name == storage_class.name and volume.node_affinity:
                keys = {e.key for term in volume.node_affinity for e in term.match_expressions}
                if keys:
                    return tuple(sorted(keys))
        return (ZONE,)


def storage_demand(cluster: Cluster, namespace: str, spec: PodSpec) -> StorageDemand:
    """Compile a pod's volumes against the cluster's claims and volumes."""
    disks = disks_of(spec)
    claimed = [v for v in spec.volumes if v.claim_name or v.claim_template is not None]
    inline = [v for v in spec.volumes if v.disk_id]
    if not claimed and not inline:
        return StorageDemand()
    compiler = _Compiler(cluster, namespace)
    for volume in inline:
        driver = IN_TREE_DRIVERS.get(volume.kind)
        if driver in compiler.limited:
            compiler.mounts.append((driver, ("", volume.disk_id)))
        how = inline_held_by_one_node(cluster.snapshot, volume)
        compiler.attach(("", f"{volume.kind}/{volume.disk_id}"), how, driver or "")
    for volume in claimed:
        compiler.take(volume)
    codes = compiler.codes
    return StorageDemand(
        codes=codes if codes.any() else None,
        # The smallest claim first, as kube-scheduler matches them: each gets the smallest volume that fits
        # (kubernetes `volumebinding/binder.go` `findMatchingVolumes`).
        late=tuple(sorted(compiler.late, key=lambda c: c.requested_bytes)),
        mounts=tuple(compiler.mounts),
        exclusive_claims=tuple(compiler.exclusive),
        disks=disks,
        attached=tuple(compiler.attached),
        blocked=compiler.blocked,
        unknown=compiler.unknown,
    )


def disks_of(spec: PodSpec) -> tuple[tuple[str, bool], ...]:
    """(disk, whether others may read it too) of the disks that pods of one node can't share freely (`isVolumeConflict`): an
    EBS volume not even for reading."""
    return tuple(
        (f"{volume.kind}/{volume.disk_id}", volume.read_only and volume.kind != "awsElasticBlockStore")
        for volume in spec.volumes
        if volume.disk_id and volume.kind in _CONFLICTING
    )


def _in_zone(key: str, zones: list[str], node: Node) -> bool:
    """Nodes without any topology label aren't restricted; a label's older name is met by the newer one (volumezone
    `Filter`, `translateToGALabel`)."""
    if not any(label in node.labels for label in _ZONE_LABELS):
        return True
    return node.labels.get(key, node.labels.get(_SUCCESSORS.get(key, key))) in zones


# ── in motion ────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(slots=True, eq=False)
class Volumes:
    """Claims bound during a run, and how many volumes each CSI driver has attached to each node."""

    cluster: Cluster
    bound: dict[ClaimKey, BoolArray] = field(default_factory=dict)  # claim → nodes that reach its volume
    taken: set[str] = field(default_factory=set)  # PersistentVolumes claimed during the run
    _given: dict[ClaimKey, PersistentVolume] = field(default_factory=dict)  # claim → the one that it was bound to
    _mounted: Counter[tuple[str, ClaimKey | None, int]] = field(default_factory=Counter)  # change since the snapshot
    _attached: dict[str, IntArray] = field(default_factory=dict)

    # ── binding ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def codes(self, demand: StorageDemand) -> NDArray[np.uint8]:
        """uint8[node]: what keeps the pod's volumes from being had there now, 0 where nothing does."""
        count = self.cluster.node_count
        codes = np.zeros(count, dtype=np.uint8) if demand.codes is None else demand.codes.copy()
        unbound = []
        for claim in demand.late:
            reached = self.bound.get(claim.key) if claim.key is not None else None
            if reached is None:
                unbound.append(claim)
            else:
                mark(codes, ~reached, NODE_CONFLICT)
        # One unbound claim is judged for all nodes at once; several compete for the same volumes, so that each node is
        # tried.
        if len(unbound) == 1:
            claim = unbound[0]
            reached_nodes = claim.made.copy()
            for volume in claim.volumes:
                if volume.name not in self.taken:
                    reached_nodes |= _reached(self.cluster, volume.name)
            lacks = ~reached_nodes & (codes == 0)
            codes[lacks] = np.where(claim.provisioned[lacks], NO_SPACE, NO_VOLUME)
        elif unbound:
            for node in np.flatnonzero(codes == 0).tolist():
                chosen = self._choose(unbound, node)
                if isinstance(chosen, int):
                    codes[node] = chosen
        return codes

    def _choose(self, claims: list[LateClaim], node: int) -> list[PersistentVolume | None] | int:
        """A volume for each claim on the node, None for one that is made there; the conflict where a claim gets neither."""
        chosen: list[PersistentVolume | None] = []
        taken = set(self.taken)
        for claim in claims:
            volume = next(
                (v for v in claim.volumes if v.name not in taken and _reached(self.cluster, v.name)[node]), None
            )
            if volume is None and not claim.made[node]:
                return claim.why_not(node)
            if volume is not None:
                taken.add(volume.name)
            chosen.append(volume)
        return chosen

    def bind(self, demand: StorageDemand, node: int) -> None:
        """Bind the pod's late claims as the scheduler does once the pod has its node."""
        # One without a key is the pod's own (a generic ephemeral volume), which no other pod shares: it is never among the bound ones.
        claims = [c for c in demand.late if c.key not in self.bound]
        # A number says why none fits: of a pod that was bound without being tried here.
        chosen = self._choose(claims, node)
        for claim, volume in zip(claims, () if isinstance(chosen, int) else chosen, strict=False):
            if volume is not None:
                self.taken.add(volume.name)
                if claim.key is not None:
                    self._given[claim.key] = volume
            if claim.key is not None:
                self.bound[claim.key] = (
                    _reached(self.cluster, volume.name) if volume is not None else self._made(claim, node)
                )

    def _made(self, claim: LateClaim, node: int) -> BoolArray:
        """Nodes that reach a volume made for a pod on `node`: those that agree in the labels it is tied to."""
        here = self.cluster.nodes[node].labels
        reach_labels = [(key, here[key]) for key in claim.reach if key in here]
        return self.cluster.where(lambda n: all(n.labels.get(key) == value for key, value in reach_labels), claim.reach)

    def held(self, demand: StorageDemand) -> tuple[Attached, ...]:
        """The volumes that one node holds at a time of a pod that has its node, so that all its claims are bound."""
        if not self._given or not (demand.attached or demand.late):
            return demand.attached
        attachments = [attached_volume for attached_volume in demand.attached if attached_volume.key not in self._given]
        for key in dict.fromkeys(claim.key for claim in demand.late if claim.key in self._given):
            assert key is not None
            volume = self._given[key]
            how = held_by_one_node(self.cluster.snapshot, volume)
            if how is not Attaching.NO:
                attachments.append(Attached(key=key, how=how, driver=volume.csi_driver, volume=volume.name))
        return tuple(attachments)

    # ── attaching ───────────────────────────────────────────────────────────────────────────────────────────────────
    def mount(self, demand: StorageDemand, node: int, change: int) -> None:
        """So many pods with these volumes came to `node`, or left it where `change` is negative; those of a claim share it."""
        for driver, claim in demand.mounts:
            before = self._count(driver, claim, node)
            self._mounted[driver, claim, node] += change
            attached = change if claim is None else (before + change > 0) - (before > 0)
            if attached:
                if driver not in self._attached:
                    self._attached[driver] = self.cluster.remember(_attached_at_first, driver).copy()
                self._attached[driver][node] += attached

    def _count(self, driver: str, claim: ClaimKey | None, node: int) -> int:
        """Pods on the node that use the claim."""
        return self.cluster.remember(_snapshot_mounts)[driver, claim, node] + self._mounted[driver, claim, node]

    def over_limit(self, demand: StorageDemand) -> BoolArray:
        """bool[node]: nodes with CSI drivers that can't attach as many volumes more as the pod needs."""
        refused = np.zeros(self.cluster.node_count, dtype=np.bool_)
        for driver in dict.fromkeys(driver for driver, _ in demand.mounts):
            limit = self.cluster.remember(_limits, driver)
            claims = [claim for of, claim in demand.mounts if of == driver]
            new = np.full(self.cluster.node_count, sum(claim is None for claim in claims), dtype=np.int64)
            for named in {c for c in claims if c is not None}:
                # A volume that a pod of the node uses already is attached once: it doesn't count again there.
                limited_nodes = [n for n in np.flatnonzero(limit >= 0).tolist() if self._count(driver, named, n)]
                new += 1
                new[limited_nodes] -= 1
            attached = self._attached.get(driver)
            if attached is None:
                attached = self.cluster.remember(_attached_at_first, driver)
            refused |= (limit >= 0) & (new > 0) & (attached + new > limit)
        return refused


def _limits(cluster: Cluster, driver: str) -> IntArray:
    """Volumes the driver can attach to each node: int64[node], −1 without a limit. A node that isn't there yet has the limit of those like
    it: its kubelet registers the same driver, whose CSINode kube-scheduler asks (`nodevolumelimits/csi.go` `Filter`)."""
    by_name = {of.name: of.limits[driver] for of in cluster.snapshot.csi_nodes if driver in of.limits}
    new = [node for node in cluster.nodes if not node.uid and node.name not in by_name]
    # Of nodes that are alike and have different limits the lowest counts: it is the last one put in.
    known = sorted(
        (node for node in cluster.nodes if new and node.name in by_name), key=lambda node: -by_name[node.name]
    )
    alike = {_of_any_zone(node): by_name[node.name] for node in known}
    by_name |= {node.name: alike.get(_of_any_zone(node), -1) for node in new}
    return np.array([by_name.get(node.name, -1) for node in cluster.nodes], dtype=np.int64)


def _of_any_zone(node: Node) -> frozenset[tuple[str, str]]:
    """What its labels say but for its own name and its zone: of a node that a pool adds the same as of those it is like, also where it is the
    first of its zone (`planner.capacity.node_groups.labels_in_zone`)."""
    return frozenset(label for label in node.labels.items() if label[0] != HOSTNAME and not label[0].endswith("/zone"))


def _attached_at_first(cluster: Cluster, driver: str) -> IntArray:
    """Volumes the driver has attached to each node: int64[node]."""
    attached = np.zeros(cluster.node_count, dtype=np.int64)
    for (of, claim, node), pods in cluster.remember(_snapshot_mounts).items():
        if of == driver:
            attached[node] += pods if claim is None else 1
    return attached


def _snapshot_mounts(cluster: Cluster) -> Counter[tuple[str, ClaimKey | None, int]]:
    """(driver, claim, node) → the snapshot's pods there that use it."""
    mounts: Counter[tuple[str, ClaimKey | None, int]] = Counter()
    # Only limits of a CSINode ask for these counts.
    if not any(csi_node.limits for csi_node in cluster.snapshot.csi_nodes):
        return mounts
    for group in cluster.groups:
        if any(v.claim_name or v.claim_template is not None or v.disk_id for v in group.spec.volumes):
            for driver, claim in cluster.remember(storage_demand, group.namespace, group.spec).mounts:
                for node in group.nodes.tolist():
                    mounts[driver, claim, node] += 1
    return mounts
