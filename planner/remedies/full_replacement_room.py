"""Room that a full replacement needs: a RayService or a Knative Service creates all its new pods before it deletes old
ones. The rules come from those projects' source (`planner.kubernetes.operator_update_rules`), not from recordings: none
of it is proven.

Each role stands on nodes of its own, so that a head takes no worker's place: the list of pods is then the room, none of which can be left out.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Final

from planner.ground.words import Text
from planner.inventory.kubectl_apply import Object, PlacedWorkload
from planner.kubernetes.accelerator_units import units_of
from planner.kubernetes.object_records import PodsAlike
from planner.kubernetes.operator_update_rules import UpdateEffect
from planner.kubernetes.pod_template_kinds import Templated, found_sets, templated
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.workload_kinds import POD
from planner.remedies.cluster_from_manifests import Files, owner_of
from planner.remedies.needed_room import WorkloadNeed
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.clusterless_room_need import Need, PodsToPlace, RoomNeed, request_words
from planner.rollout.prepared_change import Scenario

ROLLS_NOTHING: Final = (UpdateEffect.STAYS, UpdateEffect.NEXT, UpdateEffect.REFUSED)
_ROLE: Final = "headroom/role"  # a label of made nodes


def way_of(placed: PlacedWorkload, document: Object) -> UpdateEffect:
    """What a change of the object does with its pods."""
    row = templated(placed.workload.kind, str(document.get("apiVersion") or ""))
    if row is None or row.updates is None:
        return UpdateEffect.UNKNOWN
    if placed.placed.idle:
        return UpdateEffect.STAYS
    return row.updates.way_of(row.updates.said(document))


def asked_anew(files: Files, placed: PlacedWorkload, document: Object) -> WorkloadNeed:
    """The room of an object that makes its pods anew, beside the old ones or after them."""
    row = templated(placed.workload.kind, str(document.get("apiVersion") or ""))
    assert row is not None  # `way_of` asks it
    sets = placed.placed.sets
    full = _played(files, row, document, sets, {})
    if full.verdict is Verdict.COMPLETES:
        return WorkloadNeed(need=_need(Need.NOTHING, (), full), result=full)
    places_by_role = {alike.role: alike.count * placed.placed.groups for alike in sets}
    rollout_result = _played(files, row, document, sets, places_by_role)
    fewer = (
        _played(files, row, document, sets, places_by_role | {role: number - 1}).verdict
        for role, number in places_by_role.items() if number
    )  # fmt: skip
    if rollout_result.verdict is not Verdict.COMPLETES or Verdict.COMPLETES in fewer:
        why = Text("no list of its pods was found of which none can be left out")
        return WorkloadNeed(need=RoomNeed(need=Need.UNKNOWN), result=rollout_result, why=why)
    units = units_of(files.cluster({}))
    pods = tuple(
        PodsToPlace(count=places_by_role[alike.role], role=alike.role, requests=(asks := pod_requests(alike.template.spec)),
                    words=request_words(units, asks))
        for alike in sets if places_by_role[alike.role]
    )  # fmt: skip
    return WorkloadNeed(need=_need(Need.ROOM, pods, rollout_result), result=rollout_result)


def _need(need: Need, pods: tuple[PodsToPlace, ...], rollout_result: RolloutResult) -> RoomNeed:
    return RoomNeed(need=need, places=sum(pod_set.count for pod_set in pods), pods=pods, seconds=rollout_result.seconds)


def _played(
    files: Files, row: Templated, document: Object, sets: tuple[PodsAlike, ...], places: dict[str, int]
) -> RolloutResult:
    """Its change on a cluster that holds it exactly, with so many places more of each role."""
    new_document = _on_own_nodes(row, document)
    live_object = copy.deepcopy(new_document)
    live_object["metadata"] |= {"uid": "made", "generation": 1}
    by = owner_of(live_object)
    items = [live_object]
    templates = {pod_set.role: pod_set.template for pod_set in found_sets(row, new_document)}
    for alike in sets:
        for number in range(alike.count + places.get(alike.role, 0)):
            name = f"{alike.role or 'pod'}-{number}"
            items.append(files.node(name, {_ROLE: alike.role or "pod"}, pod_requests(alike.template.spec)))
            if number < alike.count:
                template = templates[alike.role]
                items.append({
                    "apiVersion": "v1", "kind": POD.name,
                    "metadata": {"name": name, "namespace": new_document["metadata"].get("namespace"), "uid": name, "ownerReferences": [by],
                                 "labels": (template.get("metadata") or {}).get("labels") or {}},
                    "spec": {**template["spec"], "nodeName": name},
                    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
                })  # fmt: skip
    changed = copy.deepcopy(new_document)
    for template_set in found_sets(row, changed):
        for container in template_set.template["spec"]["containers"]:
            container["image"] = f"{container.get('image') or 'image'}-changed"
    scenario = Scenario(manifest=json.dumps(changed), with_remedies=False)
    return rollout(files.read([*files.beside, *items]), scenario)


def _on_own_nodes(row: Templated, document: Object) -> Object:
    """The object with a selector that keeps each role to nodes of its own."""
    manifest_object = copy.deepcopy(document)
    for pod_set in found_sets(row, manifest_object):
        spec: dict[str, Any] = pod_set.template["spec"]
        spec["nodeSelector"] = {_ROLE: pod_set.role or "pod"}
    return manifest_object
