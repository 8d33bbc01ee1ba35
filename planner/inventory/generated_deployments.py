"""Rollouts of Deployments that an operator generates from an object of a manifest.

What the manifest says of the pods is merged into the Deployment that is there, as its controller merges it into the runtime's
containers. Only a change of one Deployment that keeps its runtime, numbers and other parts is answered; everything else isn't known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from planner.inventory import api_types
from planner.inventory.change import WorkloadChange, apply_change
from planner.inventory.records.read_context import Shared
from planner.inventory.records.unplayed_objects import paths_of, read_unplayed
from planner.inventory.redacted_value_digests import fields_of, leaves_of
from planner.kubernetes.object_records import Snapshot, Unplayed, Workload
from planner.kubernetes.operator_update_rules import Updates
from planner.kubernetes.pod_template_kinds import Templated
from planner.kubernetes.workload_kinds import DEPLOYMENT

_RESOURCES: Final = "resources"


def through(
    snapshot: Snapshot, document: Mapping[str, Any], live_object: Unplayed, row: Templated
) -> tuple[Workload, Workload, bool] | None:
    """The Deployment as it is, as it will be, and whether its pods are made anew; None where that isn't known.

    Raises
    ------
    ChangeError
        When the API server would refuse the Deployment's change.
    """
    updates = row.updates
    if updates is None or not updates.through:
        return None
    before = snapshot.workload(DEPLOYMENT.key(live_object.namespace, f"{live_object.name}-{updates.through}"))
    worker = snapshot.workload(DEPLOYMENT.key(live_object.namespace, f"{live_object.name}-{updates.through}-worker"))
    # A model on several nodes has a second Deployment that changes along with the first: that isn't followed.
    if before is None or worker is not None or before.owner is None or before.owner.uid != live_object.uid:
        return None
    manifest_object = read_unplayed(Shared(), document)
    # What kubectl applied and the manifest leaves out is taken away; what the operator's defaults make of that isn't known.
    dropped = not live_object.applied_paths or leaves_of(live_object.applied_paths) - leaves_of(paths_of(document))
    if dropped or not _stays(leaves_of(manifest_object.held_to), leaves_of(live_object.held_to)):
        return None
    part = (document.get("spec") or {}).get(updates.through)
    if not isinstance(part, Mapping) or "workerSpec" in part:
        return None
    is_new = not leaves_of(manifest_object.said_of_pods) <= leaves_of(live_object.said_of_pods)
    patch = json.dumps({"spec": _asked(part, updates)})
    after, _, _ = apply_change(before, WorkloadChange(workload=before.key, patch=patch, new_revision=False))
    if is_new:
        after, _, _ = apply_change(after, WorkloadChange(workload=before.key))
    return before, after, is_new


def lacks_applied(snapshot: Snapshot, existing: Unplayed, row: Templated) -> bool:
    """Whether all that hinders is that the object doesn't say what was applied of it: neither an annotation nor managedFields do, so that
    what a manifest takes away isn't known."""
    role = row.updates.through if row.updates is not None else ""
    deployment = snapshot.workload(DEPLOYMENT.key(existing.namespace, f"{existing.name}-{role}")) if role else None
    return (
        deployment is not None
        and deployment.owner is not None
        and deployment.owner.uid == existing.uid
        and not existing.applied_paths
    )


def _stays(manifest_leaves: frozenset[str], live_leaves: frozenset[str]) -> bool:
    """What has to stay: what the manifest leaves out is its webhook's default."""
    return manifest_leaves <= live_leaves


def _asked(part: Mapping[str, Any], updates: Updates) -> dict[str, Any]:
    """The Deployment's spec as far as a part says it. Arguments and environment are left: they move no pod elsewhere."""
    spec_fields = fields_of(api_types.PodSpec)
    spec = {key: value for key, value in part.items() if key in spec_fields and key != "containers"}
    containers = [raw_container for raw_container in part.get("containers") or () if isinstance(raw_container, Mapping)]
    model = part.get(updates.model)
    if isinstance(model, Mapping):
        containers.append({**model, "name": updates.container})
    spec["containers"] = [_container(container, updates) for container in containers]
    patch: dict[str, Any] = {"template": {"spec": spec}}
    strategy = part.get("deploymentStrategy")
    return patch | ({DEPLOYMENT.strategy_field: strategy} if isinstance(strategy, Mapping) else {})


def _container(raw_container: Mapping[str, Any], updates: Updates) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": raw_container.get("name") or updates.container}
    if isinstance(raw_container.get("image"), str):
        fields["image"] = raw_container["image"]
    resources = raw_container.get(_RESOURCES)
    if isinstance(resources, Mapping):
        limits, requests = (dict(resources.get(key) or {}) for key in ("limits", "requests"))
        fields[_RESOURCES] = {"limits": limits, "requests": {**limits, **requests}}  # as the API server fills them in
    return fields
