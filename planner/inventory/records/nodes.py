"""Reads nodes and namespaces."""

from __future__ import annotations

import msgspec

from planner.ground import typed_json
from planner.ground.well_known_names import HAMI_REGISTER, NAMESPACE_NAME, NODE_ARGS, TAINT_UNREACHABLE
from planner.inventory import api_types
from planner.inventory.kubelet_configuration import of_arguments
from planner.inventory.records.read_context import Shared, annotations_of
from planner.inventory.records.record_layouts import CREATED, DELETING, LABELS, METADATA, UID, RecordLayout, at, of
from planner.inventory.records.selectors import read_taints
from planner.kubernetes import name_validation
from planner.kubernetes import object_records as model
from planner.kubernetes.object_records import FrozenMap, Labels


class _Card(msgspec.Struct):
    count: int = 1
    devmem: int = 0

    @property
    def text(self) -> str:
        return f"{self.count}x{self.devmem}" if self.devmem else str(self.count)


def _annotations(_: Shared, metadata: api_types.Metadata) -> Labels:
    """Of the cards that HAMi's device plugin registers only how many pods may share each, and its memory in MiB: ``10x15360,10x15360``.

    It writes JSON since 2.6; before, the fields of a card with commas (its id, that number, memory, …) and a colon behind it
    (Project-HAMi, docs/develop/protocol.md).
    """
    node_annotations = annotations_of(metadata)
    if not node_annotations.keys().isdisjoint(NODE_ARGS):
        node_annotations = FrozenMap({key: value for key, value in node_annotations.items() if key not in NODE_ARGS})
    text = node_annotations.get(HAMI_REGISTER, "")
    if not text or not text.strip("0123456789x,"):
        return node_annotations
    try:
        if text.lstrip().startswith("["):
            cards = typed_json.decode(text, list[_Card])
        else:
            fields = (card.split(",") for card in text.split(":") if card.count(",") > 1)
            cards = [_Card(count=int(each[1]), devmem=int(each[2])) for each in fields]
    except (msgspec.MsgspecError, ValueError):
        cards = []
    return FrozenMap({**node_annotations, HAMI_REGISTER: ",".join(card.text for card in cards)})


def _kubelet(_: Shared, metadata: api_types.Metadata) -> model.KubeletConfiguration | None:
    node_annotations = annotations_of(metadata)
    return next((arguments for key in NODE_ARGS if (arguments := of_arguments(node_annotations.get(key, "")))), None)


def _taints(_: Shared, taints: list[api_types.Taint]) -> tuple[model.Taint, ...]:
    for taint in taints:
        name_validation.check_labels({taint.key: taint.value or ""})
    return read_taints(taints)


def _conditions(shared: Shared, conditions: list[api_types.NodeCondition]) -> Labels:
    for condition in conditions:
        shared.seconds(condition.last_heartbeat_time)
        condition.last_heartbeat_time = None  # tells when the snapshot was taken, and nothing else
    return shared.conditions({node_condition.type: node_condition.status for node_condition in conditions})


def _silent_since(
    shared: Shared, conditions: list[api_types.NodeCondition] | None, taints: list[api_types.Taint] | None
) -> float | None:
    """Evictions are counted from the taint's own time; before there is one, from when Ready became Unknown."""
    ready = next((condition for condition in conditions or () if condition.type == "Ready"), None)
    if ready is None or ready.status != "Unknown":
        return None
    added = [t.time_added for t in taints or () if t.key == TAINT_UNREACHABLE and t.effect == "NoExecute"]
    times = [shared.seconds(moment) for moment in (*added, ready.last_transition_time)]
    return next((seconds for seconds in times if seconds is not None), None)


def _images(_: Shared, images: list[api_types.Image]) -> FrozenMap[int] | None:
    sizes = {name: image.size_bytes or 0 for image in images for name in image.names or ()}
    return FrozenMap(sizes) if sizes else None


def _namespace_labels(_: Shared, metadata: api_types.Metadata) -> Labels:
    """It always carries its name as a label (`SetDefaults_Namespace`)."""
    return FrozenMap({**(metadata.labels or {}), NAMESPACE_NAME: metadata.name or ""})


NODE = RecordLayout(
    model.Node,
    conditions=at("status.conditions", list[api_types.NodeCondition], _conditions),
    silent_since=of(
        _silent_since, ("status.conditions", list[api_types.NodeCondition]), ("spec.taints", list[api_types.Taint])
    ),
    name=of(lambda shared, metadata: shared.text(metadata.name), METADATA),
    uid=UID,
    labels=LABELS,
    annotations=of(_annotations, METADATA),
    kubelet=of(_kubelet, METADATA),
    taints=at("spec.taints", list[api_types.Taint], _taints),
    is_cordoned="spec.unschedulable",
    is_deleting=DELETING,
    allocatable=of(  # without it all of its capacity is (`SetDefaults_NodeStatus`)
        lambda shared, allocatable, capacity: shared.amounts(capacity if allocatable is None else allocatable),
        *((f"status.{name}", api_types.Quantities) for name in ("allocatable", "capacity")),
    ),
    capacity="status.capacity",
    images=at("status.images", list[api_types.Image], _images),
    provider_id=at("spec.providerID", str),
    kubelet_version="status.nodeInfo.kubeletVersion",
    created_at=CREATED,
    volumes_attached=at(
        "status.volumesAttached", list[api_types.AttachedVolume], lambda _, many: tuple(volume.name for volume in many)
    ),
)
NAMESPACE = RecordLayout(model.Namespace, labels=of(_namespace_labels, METADATA), is_deleting=DELETING)
