"""Nodes and namespaces: wire → record."""

from __future__ import annotations

import msgspec

from planner.ground.vocabulary import HAMI_REGISTER, NAMESPACE_NAME
from planner.inventory import wire
from planner.inventory.records.selectors import read_taint
from planner.inventory.records.shared import Shared, annotations_of, metadata_of
from planner.kubernetes import names
from planner.kubernetes import records as model
from planner.kubernetes.records import EMPTY, FrozenMap, Labels


def read_node(shared: Shared, node: wire.Node) -> model.Node:
    """A Node; without allocatable all of its capacity is (`SetDefaults_NodeStatus`).

    The heartbeats of its conditions tell when the snapshot was taken and are not kept.
    """
    metadata = metadata_of(node)
    spec, status = node.spec or wire.NodeSpec(), node.status or wire.NodeStatus()
    images = {name: image.size_bytes or 0 for image in status.images or () for name in image.names or ()}
    for condition in status.conditions or ():
        shared.seconds(condition.last_heartbeat_time)
        condition.last_heartbeat_time = None  # tells when the snapshot was taken, and nothing else
    for taint in spec.taints or ():
        names.check_labels({taint.key: taint.value or ""})
    return model.Node(
        name=shared.text(metadata.name),
        uid=metadata.uid or "",
        labels=shared.labels(metadata.labels),
        annotations=_annotations(annotations_of(metadata)),
        taints=tuple(read_taint(taint) for taint in spec.taints or ()),
        is_cordoned=bool(spec.unschedulable),
        is_deleting=metadata.deletion_timestamp is not None,
        allocatable=shared.amounts(status.capacity if status.allocatable is None else status.allocatable),
        capacity=shared.amounts(status.capacity),
        conditions=shared.conditions({c.type: c.status for c in status.conditions or ()}),
        images=FrozenMap(images) if images else EMPTY,
        provider_id=spec.provider_id or "",
        kubelet_version=shared.text(status.node_info.kubelet_version) if status.node_info else "",
        created_at=shared.seconds(metadata.creation_timestamp),
    )


class _Card(msgspec.Struct):
    count: int = 1


def _annotations(given: Labels) -> Labels:
    """Of the cards that HAMi's device plugin registers only how many pods may share each: ``10,10``.

    It writes JSON since 2.6; before, the fields of a card with commas (its id, that number, memory, …) and a colon behind it
    (Project-HAMi, docs/develop/protocol.md).
    """
    text = given.get(HAMI_REGISTER, "")
    if not text or not text.strip("0123456789,"):
        return given
    try:
        if text.lstrip().startswith("["):
            counts = [one.count for one in msgspec.json.decode(text, type=list[_Card])]
        else:
            counts = [int(card.split(",")[1]) for card in text.split(":") if card.count(",") > 1]
    except (msgspec.MsgspecError, ValueError):
        counts = []
    return FrozenMap({**given, HAMI_REGISTER: ",".join(map(str, counts))})


def read_namespace(_: Shared, namespace: wire.Namespace) -> model.Namespace:
    """A Namespace; it always carries its name as a label (`SetDefaults_Namespace`)."""
    metadata = metadata_of(namespace)
    name = metadata.name or ""
    labels = FrozenMap({**(metadata.labels or {}), NAMESPACE_NAME: name})
    return model.Namespace(name=name, labels=labels, is_deleting=metadata.deletion_timestamp is not None)
