"""Reads volumes, claims and storage classes."""

from __future__ import annotations

from planner.ground.well_known_names import (
    DEFAULT_NAMESPACE,
    DEFAULT_STORAGE_CLASS,
    IN_TREE_DRIVERS,
    IN_TREE_PROVISIONERS,
    SELECTED_NODE,
)
from planner.inventory import api_types
from planner.inventory.records.read_context import Shared, amount_or_none, annotations_of
from planner.inventory.records.record_layouts import (
    CREATED,
    DELETING,
    LABELS,
    METADATA,
    RecordLayout,
    at,
    each,
    is_there,
    of,
)
from planner.inventory.records.selectors import read_selector, read_terms
from planner.kubernetes import object_records as model
from planner.kubernetes.object_records import EMPTY, FrozenMap


def read_claim_template(
    shared: Shared, spec: api_types.PersistentVolumeClaimSpec | None, name: str = ""
) -> model.ClaimTemplate:
    """What a claim's spec asks for."""
    spec = spec or api_types.PersistentVolumeClaimSpec()
    requests = shared.amounts(spec.resources.requests) if spec.resources else EMPTY
    return model.ClaimTemplate(
        name=name,
        storage_class_name=spec.storage_class_name,
        requested_bytes=requests.get("storage", 0),
        access_modes=tuple(spec.access_modes or ()),
        selector=read_selector(shared, spec.selector),
        volume_mode=spec.volume_mode or "Filesystem",
    )


def _csi_driver(_: Shared, csi: api_types.CsiSource | None, flex: api_types.FlexSource | None, *in_tree: object) -> str:
    """Its CSI driver, or the one that stands in for its in-tree plugin, or a FlexVolume's; "" for other volumes."""
    if flex is not None:
        return f"{model.FLEX_VOLUME}{flex.driver}"
    drivers = (driver for driver, source in zip(IN_TREE_DRIVERS.values(), in_tree, strict=True) if source is not None)
    return csi.driver if csi is not None else next(drivers, "")


def _handle(_: Shared, csi: api_types.CsiSource | None, iscsi: api_types.IscsiSource | None) -> str:
    """What its plugin tells it apart by: a CSI driver's handle, or an iSCSI portal, target and unit."""
    if csi is not None:
        return csi.volume_handle
    return f"{iscsi.target_portal}:{iscsi.iqn}:{iscsi.lun}" if iscsi is not None else ""


PERSISTENT_VOLUME = RecordLayout(
    model.PersistentVolume,
    labels=LABELS,
    node_affinity=at(
        "spec.nodeAffinity", api_types.VolumeNodeAffinity, lambda _, affinity: read_terms(affinity.required)
    ),
    claim=at(
        "spec.claimRef",
        api_types.ObjectReference,
        lambda _, claim: (claim.namespace or DEFAULT_NAMESPACE, claim.name or ""),
    ),
    storage_class_name="spec.storageClassName",
    capacity_bytes=at(
        "spec.capacity", api_types.Quantities, lambda shared, amounts: shared.amounts(amounts).get("storage")
    ),
    access_modes="spec.accessModes",
    phase="status.phase",
    csi_driver=of(
        _csi_driver,
        ("spec.csi", api_types.CsiSource),
        ("spec.flexVolume", api_types.FlexSource),
        *((f"spec.{source}", api_types.Present) for source in IN_TREE_DRIVERS),
    ),
    handle=of(_handle, ("spec.csi", api_types.CsiSource), ("spec.iscsi", api_types.IscsiSource)),
    is_local=is_there("spec.local"),
    is_san=of(
        lambda _, *sources: any(source is not None for source in sources),
        ("spec.iscsi", api_types.IscsiSource),
        ("spec.fc", api_types.Present),
    ),
    volume_mode="spec.volumeMode",
)
PERSISTENT_VOLUME_CLAIM = RecordLayout(
    model.PersistentVolumeClaim,
    volume_name=at("spec", api_types.PersistentVolumeClaimSpec, lambda _, spec: spec.volume_name or ""),
    template=at("spec", api_types.PersistentVolumeClaimSpec, read_claim_template),
    phase="status.phase",
    selected_node=of(lambda _, metadata: annotations_of(metadata).get(SELECTED_NODE), METADATA),
    is_deleting=DELETING,
)
_TOPOLOGY = RecordLayout(model.Requirement, is_object=False, key="key", operator=of(lambda _: "In"), values="values")
_TERM = RecordLayout(
    model.NodeSelectorTerm, is_object=False, match_expressions=each("matchLabelExpressions", _TOPOLOGY)
)


STORAGE_CLASS = RecordLayout(
    model.StorageClass,
    is_default=of(
        lambda _, metadata: any(
            annotations_of(metadata).get(annotation) == "true" for annotation in DEFAULT_STORAGE_CLASS
        ),
        METADATA,
    ),
    created_at=CREATED,
    provisioner=at("provisioner", str, lambda _, name: IN_TREE_PROVISIONERS.get(name, name)),
    volume_binding_mode="volumeBindingMode",
    allowed_topologies=each("allowedTopologies", _TERM),
)


def _limits(_: Shared, drivers: list[api_types.CsiNodeDriver]) -> FrozenMap[int]:
    """How many volumes each CSI driver attaches to the node."""
    return FrozenMap(
        {
            driver.name: driver.allocatable.count
            for driver in drivers
            if driver.allocatable and driver.allocatable.count is not None
        }
    )


CSI_NODE = RecordLayout(model.CsiNode, limits=at("spec.drivers", list[api_types.CsiNodeDriver], _limits))
CSI_DRIVER = RecordLayout(
    model.CsiDriver,
    driver=of(lambda _, metadata: metadata.name, METADATA),
    tells_capacity="spec.storageCapacity",
    attaches="spec.attachRequired",
)
VOLUME_ATTACHMENT = RecordLayout(
    model.VolumeAttachment,
    volume_name=at("spec.source", api_types.AttachedSource, lambda _, source: source.persistent_volume_name),
    node_name="spec.nodeName",
    is_attached="status.attached",
)


CSI_STORAGE_CAPACITY = RecordLayout(
    model.CsiStorageCapacity,
    storage_class_name="storageClassName",
    nodes="nodeTopology",
    largest_bytes=of(  # the largest volume counts where it is said (`capacitySufficient`)
        lambda _, capacity, maximum: amount_or_none(capacity if maximum is None else maximum, "storage"),
        ("capacity", api_types.Quantity),
        ("maximumVolumeSize", api_types.Quantity),
    ),
)
