"""Reads objects of kinds that aren't simulated: digests of values (`sealed`), and Flux' timeouts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from planner.ground import typed_json
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.well_known_names import DEFAULT_NAMESPACE, LAST_APPLIED
from planner.inventory import api_types
from planner.inventory.flux_timeouts import flux_release
from planner.inventory.last_applied import applied_part
from planner.inventory.records.read_context import Shared
from planner.inventory.records.workloads import read_template
from planner.inventory.redacted_value_digests import leaves
from planner.inventory.referenced_pod_templates import runtime_of
from planner.kubernetes import object_records as model
from planner.kubernetes.composite_kinds import FoundSet
from planner.kubernetes.operator_update_rules import NOT_MODELLED, text_at
from planner.kubernetes.pod_template_kinds import Templated, found_sets, group_count, templated
from planner.kubernetes.pod_template_kinds import is_suspended as is_idle
from planner.kubernetes.unknown_kind_requests import unmodelled_requests

_NOT_SAID: Final = frozenset({"status", "metadata", "apiVersion", "kind"})


def read_unplayed(shared: Shared, document: Mapping[str, Any]) -> model.Unplayed:
    """The record of an object, of the cluster or of a manifest.

    Raises
    ------
    InputError
        When it has no name.
    msgspec.MsgspecError
        When a template in it is damaged.
    """
    kind, api_version = str(document.get("kind")), str(document.get("apiVersion") or "")
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        raise InputError("it has no metadata.name")
    row = templated(kind, api_version)
    pods = _pods(shared, row, document) if row is not None else ()
    is_told, is_suspended = (
        row is not None and not metadata.get("deletionTimestamp") and not unmodelled_requests(row, document),
        row is not None and is_idle(row, document),
    )
    counted, ready = row.status(document) if row is not None and row.status is not None else (0, 0)
    annotations = metadata.get("annotations")
    notes = dict(annotations) if isinstance(annotations, Mapping) else {}
    # The annotation repeats the object: taken out of the notes, or each apply would look like a change of them.
    noted = _noted(notes.pop(LAST_APPLIED, None)) or applied_part(document)
    updates = (row.updates if row is not None else None) or NOT_MODELLED
    pod_fields, applied, fixed_leaves = updates.hung_on(document), updates.hung_on(noted), updates.held_to(document)
    update_way, one_at_a_time = updates.said(document), text_at(document, updates.one_at_a_time[0])
    return model.Unplayed(
        kind=kind,
        api_group=api_version.rpartition("/")[0],
        namespace=shared.text(str(metadata.get("namespace") or DEFAULT_NAMESPACE)),
        name=str(metadata["name"]),
        uid=str(metadata.get("uid") or ""),
        owner=_owner(shared, metadata),
        pods=pods,
        is_told=is_told,
        is_suspended=is_suspended,
        said=_said(document),
        said_of_itself=leaves({"labels": metadata.get("labels"), "annotations": notes}),
        applied=_said(noted),
        said_of_pods=leaves(pod_fields),
        fixed_of_pods=leaves(updates.hung_on(document, is_suspended=True)) if updates.while_suspended else "",
        way=shared.text(update_way),
        runtime=runtime_of(document),
        release=flux_release(document),
        held_to=leaves(fixed_leaves),
        applied_paths=paths_of(noted) if updates is not NOT_MODELLED else "",
        paths_of_pods=leaves(_marked(pod_fields)),
        applied_of_pods=leaves(_marked(applied)),
        concurrency=shared.text(one_at_a_time),
        status_replicas=counted,
        ready_replicas=ready,
    )


def read_before(shared: Shared, document: Mapping[str, Any]) -> model.Unplayed:
    """The record of an object as the API server has it before a write: all that it says and the write doesn't goes away.

    Raises
    ------
    As `read_unplayed`.
    """
    was = read_unplayed(shared, document)
    return replace(was, applied=was.said, applied_paths=paths_of(document), applied_of_pods=was.paths_of_pods)


def read_set(shared: Shared, pod_set: FoundSet) -> model.Template:
    """The template of a set as it stands in a document; errors are `msgspec`'s."""
    whole = dict(pod_set.template)
    if pod_set.sidecars:
        spec = whole["spec"]
        whole["spec"] = {**spec, "containers": [*spec["containers"], *pod_set.sidecars]}
    return read_template(shared, typed_json.convert(whole, api_types.PodTemplate), whole, has_manifest=False)


def read_pods(shared: Shared, pod_set: FoundSet, groups: int = 1) -> model.PodsAlike:
    """The pods of a set in so many groups; errors are `msgspec`'s."""
    template, count = read_set(shared, pod_set), groups * pod_set.count
    return model.PodsAlike(role=pod_set.role, template=template, count=count, is_last=pod_set.is_last)


def _pods(shared: Shared, row: Templated, document: Mapping[str, Any]) -> tuple[model.PodsAlike, ...]:
    groups = group_count(row, document)
    return tuple(read_pods(shared, found_set, groups) for found_set in found_sets(row, document))


def _owner(shared: Shared, metadata: Mapping[str, Any]) -> model.Owner | None:
    references = metadata.get("ownerReferences")
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, Mapping) and reference.get("controller") is True:
            return shared.owner(*(str(reference.get(key) or "") for key in ("kind", "name", "uid", "apiVersion")))
    return None


def _said(document: Mapping[str, Any]) -> str:
    """What an object says, or what ``kubectl apply`` noted that it had applied; "" where it noted nothing."""
    return leaves({key: field for key, field in document.items() if key not in _NOT_SAID})


def _noted(last: object) -> Mapping[str, Any]:
    try:
        document = json.loads(last) if isinstance(last, str) else None
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def paths_of(document: Mapping[str, Any]) -> str:
    """Digests of the paths that a document gives a value to, in its spec."""
    return leaves({"spec": _marked(document.get("spec"))})


def _marked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _marked(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_marked(child) for child in value]
    return None if value is None or value == "" else 1
