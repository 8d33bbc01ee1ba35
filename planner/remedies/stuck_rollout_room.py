"""Adds to a stuck rollout's answer the room that it needs on any cluster, as the gate says it.

The objects are written anew out of the snapshot, with what its pods request once they are admitted; then all goes the way of a manifest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.ground.well_known_names import DEFAULT_NAMESPACE, IN_TREE_DRIVERS, STORAGE_API
from planner.ground.words import NO_WORDS, Text
from planner.inventory.change import claim_document, document_of
from planner.inventory.kubectl_apply import Object
from planner.kubernetes.feature_gates import RECORDED, minor_of
from planner.kubernetes.object_records import FLEX_VOLUME, PersistentVolume, Snapshot, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.workload_kinds import PLAYED
from planner.remedies.cluster_from_manifests import SOURCE, Files, admitted_template
from planner.remedies.needed_room import need_by_replicas, needed_by_change
from planner.rollout.admission import Admission
from planner.rollout.answers import GROWING_REASONS, Reason, RolloutResult, Verdict, WorkloadRollout
from planner.rollout.clusterless_room_need import Need, RoomNeed
from planner.rollout.doubts import has_error
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.run import Revision

if TYPE_CHECKING:  # the gate's answer has prices, which a rollout's doesn't load
    from planner.capacity.gate_result import GatedWorkload

_OF_POD: Final = {
    "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "hostNetwork", "priorityClassName", "runtimeClassName",
    "nodeName", "resourceClaims", "schedulerName", "resources",
}  # fmt: skip
_OF_VOLUME: Final = {"name", "persistentVolumeClaim", "ephemeral", *IN_TREE_DRIVERS}
_OF_CONTAINER: Final = {"name", "resources", "restartPolicy"}
_OF_PORT: Final = {"containerPort", "hostPort", "protocol"}
_REASONS: Final = (*GROWING_REASONS, Reason.VOLUME_ATTACHED)


def with_room(rollout_result: RolloutResult, snapshot: Snapshot, scenario: Scenario) -> RolloutResult:
    """`rollout_result` with the room of each workload that is stuck for want of room; of others it isn't worked out. On the tightest cluster of a
    manifest, where no cluster was given, such a workload isn't stuck: it needs that room."""
    is_made = snapshot.source == SOURCE
    is_short = rollout_result.verdict is Verdict.STUCK and rollout_result.reason in _REASONS
    if not is_short or not (scenario.with_remedies or is_made):
        return rollout_result
    prepared = prepare(snapshot, scenario)
    revisions = {revision.after.key: revision for revision in prepared.revisions}
    stuck = (part for part in rollout_result.workloads if part.verdict is Verdict.STUCK and part.reason in _REASONS)
    keys = [part.workload for part in stuck if part.workload in revisions]
    rooms: Mapping[str, RoomNeed | None] = {}
    if is_made:
        rooms = _on_made(snapshot, scenario, revisions, keys)
    else:
        rooms = {key: _room(prepared.snapshot, revisions[key]) for key in keys}
    parts = tuple(replace(part, room=rooms.get(part.workload)) for part in rollout_result.workloads)
    rollout_result = replace(rollout_result, workloads=parts)
    return _needing_room(rollout_result) if is_made else rollout_result


def _on_made(
    snapshot: Snapshot, scenario: Scenario, revisions: Mapping[str, Revision], keys: Sequence[str]
) -> Mapping[str, RoomNeed]:
    """What stuck workloads need beyond the tightest cluster of a manifest: there other requests and replicas are asked about too, and the
    workloads that their pods have to be near to stand beside them."""
    try:
        files = files_of(snapshot, revisions)
        return needed_by_change(files, snapshot, scenario, [key for key in keys if key in files.stands])
    except HeadroomError:  # a change that an API server refuses
        return {}


def files_of(snapshot: Snapshot, revisions: Mapping[str, Revision]) -> Files:
    """The workloads of the tightest cluster of a manifest as they are after `revisions`, as files of their own.

    Raises
    ------
    ChangeError
        Where an API server refuses one of them.
    """
    documents: dict[tuple[str, str, str], Object] = {}
    for workload in snapshot.workloads:
        if workload.traits in PLAYED and not workload.template_of:
            after = revisions[workload.key].after if workload.key in revisions else workload
            for document in _objects(snapshot, after):  # a claim that several share once
                metadata = document["metadata"]
                documents[document["kind"], metadata.get("namespace", ""), metadata["name"]] = document
    return _files(snapshot, documents.values())


def _files(snapshot: Snapshot, items: Iterable[Object]) -> Files:
    """Objects of the snapshot as files; each names its namespace."""
    text = json.dumps({"kind": "List", "items": list(items)})
    return Files(text, namespace=DEFAULT_NAMESPACE, minor=minor_of(snapshot) or RECORDED)


def _needing_room(result: RolloutResult) -> RolloutResult:
    """Workloads that complete once there is room, as the gate tells of them without a cluster: with that room."""
    parts = tuple(map(_needing, result.workloads))
    first = next((part for part in parts if part.verdict is Verdict.NEEDS_GROWTH), None)
    if first is None or has_error(result.findings) or any(part.verdict is Verdict.STUCK for part in parts):
        return result
    return replace(
        result, workloads=parts, verdict=first.verdict, reason=first.reason, sentence=first.sentence, headline=first.headline, but=NO_WORDS,
        seconds=max(part.seconds for part in parts),
    )  # fmt: skip


def _needing(part: WorkloadRollout) -> WorkloadRollout:
    need = part.room
    if part.verdict is not Verdict.STUCK or need is None or need.need is Need.NEVER:
        return part
    return replace(
        part, verdict=Verdict.NEEDS_GROWTH, reason=Reason.NONE, sentence=Text(need.sentence), headline=Text(need.headline),
        lowest_ready=part.lowest_ready if need.lowest_ready is None else need.lowest_ready * need.size, seconds=need.seconds, exceeds_deadline=False,
    )  # fmt: skip


def with_room_of_part(part: GatedWorkload, snapshot: Snapshot, revision: Revision) -> GatedWorkload:
    """The gate's part of one workload with the room that its rollout needs."""
    is_asked = part.verdict is Verdict.STUCK and part.reason in _REASONS
    return replace(part, room=_room(snapshot, revision)) if is_asked else part


def _room(snapshot: Snapshot, revision: Revision) -> RoomNeed | None:
    """What its rollout needs beyond the nodes that hold it exactly; None where that isn't known, and where it needs nothing.

    The tightest cluster's old pods request what its new ones do: of a change of requests or replicas it would say too little.
    """
    before, after = revision.before, revision.after
    if before is None or revision.placed is not None or after.traits not in PLAYED or after.template_of:
        return None
    if before.replicas != after.replicas or _asks(before) != _asks(after):
        return None
    try:
        need = need_by_replicas(_files(snapshot, _objects(snapshot, after)), after.key, with_cures=False).need
    except HeadroomError:  # an object that the cluster has and an API server of today refuses
        return None
    return need if need.need in (Need.ROOM, Need.SAME_NODE, Need.NEVER) else None


def _asks(workload: Workload) -> list[dict[str, int]]:
    return [dict(pod_requests(template.spec)) for template, _ in workload.templates]


# ── the objects ──────────────────────────────────────────────────────────────────────────────────────────────────────
def _objects(snapshot: Snapshot, workload: Workload) -> Iterator[Object]:
    """The workload, and the claims that its pods share, each with its volume, class and driver."""
    kind = workload.traits
    document = {"apiVersion": f"{kind.group}/{kind.version}", **document_of(workload)}
    admission = Admission(snapshot)
    holders = [document["spec"]]
    if workload.groups is not None:
        parts = document["spec"]["leaderWorkerTemplate"]
        templates = (parts.get("leaderTemplate"), parts["workerTemplate"])
        holders = [{"template": pod_template} for pod_template in templates if pod_template]
    for holder, (template, _) in zip(holders, workload.templates, strict=False):
        spec = admission.prepare(workload.namespace, template.spec, template.labels)
        # As admission makes its pods in this cluster: a LimitRange's defaults and a RuntimeClass's overhead need room
        # that the manifest doesn't show.
        holder["template"]["spec"] = admitted_template(_placed(holder["template"]["spec"]), spec)
    yield document
    names = {volume.claim_name for volume in workload.template.spec.volumes if volume.claim_name}
    classes = set[str]()
    for claim in snapshot.persistent_volume_claims:
        if claim.namespace == workload.namespace and claim.name in names:
            metadata = {"name": claim.name, "namespace": claim.namespace}
            spec_of = {**claim_document(claim.template)["spec"], "volumeName": claim.volume_name}
            yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec_of}
            yield from (_volume(disk) for disk in snapshot.persistent_volumes if disk.name == claim.volume_name)
            classes.add(claim.template.storage_class_name or "")
    for storage in snapshot.storage_classes:
        if storage.name in classes:
            yield {"apiVersion": STORAGE_API, "kind": "StorageClass", "metadata": {"name": storage.name},
                   "provisioner": storage.provisioner, "volumeBindingMode": storage.volume_binding_mode}  # fmt: skip
    for driver in snapshot.csi_drivers if names else ():
        yield {"apiVersion": STORAGE_API, "kind": "CSIDriver", "metadata": {"name": driver.name},
               "spec": {"attachRequired": driver.attaches}}  # fmt: skip


def _placed(spec: Object) -> Object:
    """Of a pod's spec what tells where it may run: a snapshot has the rest sealed, which an API server would refuse."""
    pod_spec_fields = {name: pod_field for name, pod_field in spec.items() if name in _OF_POD}
    pod_spec_fields["volumes"] = [
        {key: volume_field for key, volume_field in volume.items() if key in _OF_VOLUME}
        for volume in spec.get("volumes") or ()
        if len(_OF_VOLUME & set(volume)) > 1
    ]
    for field in ("containers", "initContainers"):
        pod_spec_fields[field] = [
            {"image": "image", **{name: content for name, content in container.items() if name in _OF_CONTAINER},
             "ports": [{name: port_field for name, port_field in port.items() if name in _OF_PORT} for port in container.get("ports") or ()]}
            for container in spec.get(field) or ()
        ]  # fmt: skip
    return pod_spec_fields


def _volume(volume: PersistentVolume) -> Object:
    spec: Object = {"accessModes": list(volume.access_modes), "capacity": {"storage": str(volume.capacity_bytes)}}
    if volume.is_local:
        spec["local"] = {"path": "/made"}
    elif volume.is_san:
        spec["iscsi"] = {"targetPortal": "made", "iqn": volume.handle or "made", "lun": 0}
    elif volume.csi_driver.startswith(FLEX_VOLUME):
        spec["flexVolume"] = {"driver": volume.csi_driver.removeprefix(FLEX_VOLUME)}
    elif volume.csi_driver:
        spec["csi"] = {"driver": volume.csi_driver, "volumeHandle": volume.handle or volume.name}
    else:
        spec["nfs"] = {"server": "made", "path": "/"}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume.name}, "spec": spec}
