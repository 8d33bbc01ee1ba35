"""Volumes, claims and storage classes: wire → record."""

from __future__ import annotations

import msgspec

from planner.ground.vocabulary import (
    DEFAULT_NAMESPACE,
    DEFAULT_STORAGE_CLASS,
    IN_TREE_DRIVERS,
    IN_TREE_PROVISIONERS,
    SELECTED_NODE,
)
from planner.inventory import wire
from planner.inventory.records.selectors import read_selector, read_terms
from planner.inventory.records.shared import Shared, amount, annotations_of, metadata_of
from planner.kubernetes import records as model
from planner.kubernetes.records import EMPTY, FrozenMap


def read_persistent_volume(shared: Shared, volume: wire.PersistentVolume) -> model.PersistentVolume:
    """A PersistentVolume."""
    metadata = metadata_of(volume)
    spec = volume.spec or wire.PersistentVolumeSpec()
    claim = spec.claim_ref
    return model.PersistentVolume(
        name=metadata.name or "",
        labels=shared.labels(metadata.labels),
        node_affinity=read_terms(spec.node_affinity.required) if spec.node_affinity else None,
        claim=(claim.namespace or DEFAULT_NAMESPACE, claim.name or "") if claim else None,
        storage_class_name=spec.storage_class_name or "",
        capacity_bytes=shared.amounts(spec.capacity).get("storage", 0),
        access_modes=tuple(spec.access_modes or ()),
        phase=(volume.status.phase or "") if volume.status else "",
        csi_driver=spec.csi.driver if spec.csi else _migrated(spec),
        is_local=spec.local is not None,
        volume_mode=spec.volume_mode or "Filesystem",
    )


_FIELDS = {one.encode_name: one.name for one in msgspec.structs.fields(wire.PersistentVolumeSpec)}


def _migrated(spec: wire.PersistentVolumeSpec) -> str:
    """The CSI driver that stands in for a volume's in-tree plugin; "" for other volumes."""
    sources = (driver for source, driver in IN_TREE_DRIVERS.items() if getattr(spec, _FIELDS[source]) is not None)
    return next(sources, "")


def read_persistent_volume_claim(shared: Shared, claim: wire.PersistentVolumeClaim) -> model.PersistentVolumeClaim:
    """A PersistentVolumeClaim."""
    metadata = metadata_of(claim)
    spec = claim.spec or wire.PersistentVolumeClaimSpec()
    return model.PersistentVolumeClaim(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        volume_name=spec.volume_name or "",
        template=read_claim_template(shared, spec),
        phase=(claim.status.phase or "") if claim.status else "",
        selected_node=annotations_of(metadata).get(SELECTED_NODE, ""),
        is_deleting=metadata.deletion_timestamp is not None,
    )


def read_claim_template(
    shared: Shared, spec: wire.PersistentVolumeClaimSpec | None, name: str = ""
) -> model.ClaimTemplate:
    """What a claim's spec asks for."""
    spec = spec or wire.PersistentVolumeClaimSpec()
    requests = shared.amounts(spec.resources.requests) if spec.resources else EMPTY
    return model.ClaimTemplate(
        name=name,
        storage_class_name=spec.storage_class_name,
        requested_bytes=requests.get("storage", 0),
        access_modes=tuple(spec.access_modes or ()),
        selector=read_selector(shared, spec.selector),
        volume_mode=spec.volume_mode or "Filesystem",
    )


def read_storage_class(shared: Shared, storage_class: wire.StorageClass) -> model.StorageClass:
    """A StorageClass."""
    terms = []
    for topology in storage_class.allowed_topologies or ():
        expressions = tuple(
            model.Requirement(key=e.key, operator="In", values=tuple(e.values or ()))
            for e in topology.match_label_expressions or ()
        )
        terms.append(model.NodeSelectorTerm(match_expressions=expressions))
    metadata = metadata_of(storage_class)
    return model.StorageClass(
        name=metadata.name or "",
        is_default=any(annotations_of(metadata).get(one) == "true" for one in DEFAULT_STORAGE_CLASS),
        created_at=shared.seconds(metadata.creation_timestamp),
        provisioner=IN_TREE_PROVISIONERS.get(storage_class.provisioner or "", storage_class.provisioner or ""),
        volume_binding_mode=storage_class.volume_binding_mode or "Immediate",
        allowed_topologies=tuple(terms),
    )


def read_csi_node(_: Shared, csi_node: wire.CsiNode) -> model.CsiNode:
    """A CSINode: how many volumes each CSI driver attaches to the node."""
    drivers = (csi_node.spec.drivers or ()) if csi_node.spec else ()
    limits = {d.name: d.allocatable.count for d in drivers if d.allocatable and d.allocatable.count is not None}
    return model.CsiNode(name=metadata_of(csi_node).name or "", limits=FrozenMap(limits))


def read_csi_driver(_: Shared, driver: wire.CsiDriver) -> model.CsiDriver:
    """A CSIDriver: whether it says how much can be made where."""
    name = metadata_of(driver).name or ""
    return model.CsiDriver(
        name=name,
        driver=name,
        tells_capacity=driver.spec is not None and driver.spec.storage_capacity is True,
    )


def read_csi_storage_capacity(shared: Shared, found: wire.CsiStorageCapacity) -> model.CsiStorageCapacity:
    """A CSIStorageCapacity; the largest volume counts where it is said (`capacitySufficient`)."""
    metadata = metadata_of(found)
    largest = found.capacity if found.maximum_volume_size is None else found.maximum_volume_size
    return model.CsiStorageCapacity(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        storage_class_name=found.storage_class_name or "",
        nodes=None if found.node_topology is None else read_selector(shared, found.node_topology),
        largest_bytes=None if largest is None else amount(largest, "storage"),
    )
