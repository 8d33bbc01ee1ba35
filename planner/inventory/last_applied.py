"""Fields of an object that were applied before (last-applied annotation, managed fields): ``kubectl apply`` removes
them if a manifest omits them. Paths are kept, never values.

Sources: kubectl's annotation ``last-applied-configuration`` (`pkg/cmd/apply/patcher.go`: its three-way merge looks there); field
ownership of server-side apply (structured-merge-diff `fieldpath/serialize-pe.go`, apimachinery `meta/v1/types.go`
`ManagedFieldsEntry`): an applier takes away what it owns alone. Helm writes fields as the manager ``helm``
(helm `pkg/kube/client.go`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from planner.ground import typed_json
from planner.ground.well_known_names import KEPT_ANNOTATIONS
from planner.inventory import api_types
from planner.inventory.reading_limits import LIMITS
from planner.inventory.redacted_value_digests import seal
from planner.kubernetes.strategic_merge_patch import MERGE_KEYS

Fields = dict[str, Any]
"""Field → the fields below it, a list of those of elements that have a merge key, or true."""
BY_FIELD: Final = "byField"
"""Beside the fields: server-side apply takes away single fields, not what is above them."""
_APPLY: Final = "Apply"
_BY_UPDATE: Final = ("kubectl-client-side-apply", "helm")  # managers that apply manifests and write with Update


def take_applied_fields(metadata: api_types.WorkloadMetadata | None) -> str:
    """The fields of ``metadata.labels``, ``metadata.annotations`` (those that are kept) and ``spec`` that were applied, as JSON; ""
    where the object doesn't say. `metadata` loses what told it: values aren't kept, and names of environment variables are sealed
    anew in each process, so that a snapshot's digest can't depend on them."""
    if metadata is None:
        return ""
    applied_fields = _of_annotation(metadata.annotations)
    is_by_field = not applied_fields and any(map(_is_applier, metadata.managed_fields or ()))
    applied_fields = applied_fields or _of_managers(metadata.managed_fields or ())
    metadata.managed_fields = None
    if metadata.annotations is not None:
        metadata.annotations.last_applied = None
    if applied_fields is None:
        return ""
    paths = _paths(_kept(applied_fields)) | ({BY_FIELD: True} if is_by_field else {})
    return json.dumps(paths, separators=(",", ":"))


def fields_in(text: str) -> Fields:
    """What `applied_fields` wrote; {} of ""."""
    fields = json.loads(text) if text else {}
    return fields if isinstance(fields, dict) else {}


def _of_annotation(annotations: api_types.AppliedAnnotations | None) -> Fields | None:
    text = annotations.last_applied if annotations is not None else None
    if not text or len(text) > LIMITS.annotation_letters:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _of_managers(entries: Iterable[api_types.ManagedFields]) -> Fields | None:
    """What the applier owns alone; of several the one that owns most."""
    own = [managed_fields for managed_fields in entries if isinstance(managed_fields.fields_v1, dict)]
    updates = (managed for managed in own if managed.manager in _BY_UPDATE and not managed.subresource)
    appliers = [managed for managed in own if _is_applier(managed)] or list(updates)
    if not appliers:
        return None
    applier = max(appliers, key=lambda managed_fields: _size(managed_fields.fields_v1))
    fields = applier.fields_v1
    for managed in own:
        if managed is not applier:
            fields = _without(fields, managed.fields_v1)
    applied_fields = _of_fields(fields)
    return applied_fields if isinstance(applied_fields, dict) else {}


def applied_part(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of an object its applier owns alone, with the values that it has; {} where managedFields don't tell it. Lists are whole, as a
    custom resource's are unless its schema names their keys."""
    metadata = document.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    try:
        managed_fields = _of_managers(typed_json.convert(entries, list[api_types.ManagedFields])) if entries else None
    except msgspec.ValidationError:
        return {}
    return _part(document, managed_fields) if managed_fields else {}


def _part(value: Any, fields: Any) -> Any:
    if not isinstance(fields, dict) or not isinstance(value, Mapping):
        return value
    return {key: _part(value[key], below) for key, below in fields.items() if key in value}


def _is_applier(managed_fields: api_types.ManagedFields) -> bool:
    """Whether it wrote with server-side apply; a status is applied by controllers."""
    return managed_fields.operation == _APPLY and not managed_fields.subresource


def _size(fields: Any) -> int:
    return 1 + sum(map(_size, fields.values())) if isinstance(fields, dict) else 1


def _without(own_fields: Fields, others: Fields) -> Fields:
    """What of `own_fields` no other manager owns."""
    remaining_fields = {}
    for key, below in own_fields.items():
        theirs = others.get(key)
        if key not in others:
            remaining_fields[key] = below
        elif isinstance(below, dict) and isinstance(theirs, dict) and (inner := _without(below, theirs)):
            remaining_fields[key] = inner
    return remaining_fields


def _of_fields(fields: Fields) -> Any:
    """``{"f:spec": {"f:replicas": {}}}`` as ``{"spec": {"replicas": true}}``; elements of a list by the keys that name them."""
    elements = [_element(key, below) for key, below in fields.items() if key[:2] == "k:"]
    if elements:
        return [element for element in elements if element is not None]
    below = {key[2:]: _of_fields(child) for key, child in fields.items() if key[:2] == "f:" and isinstance(child, dict)}
    return below or True


def _element(key: str, below: Any) -> Fields | None:
    try:
        names = json.loads(key[2:])
    except (ValueError, RecursionError):
        return None
    inner = _of_fields(below) if isinstance(below, dict) else True
    return {**(inner if isinstance(inner, dict) else {}), **names} if isinstance(names, dict) else None


def _kept(applied_fields: Fields) -> Fields:
    """Of an object's fields those that count here, the pod template's sealed as the snapshot's is."""
    metadata, spec = applied_fields.get("metadata"), applied_fields.get("spec")
    fields: Fields = {"metadata": {}, "spec": {}}
    if isinstance(metadata, dict):
        if isinstance(labels := metadata.get("labels"), dict):
            fields["metadata"]["labels"] = labels
        if isinstance(annotations := metadata.get("annotations"), dict):
            kept_annotations = {key: annotation for key, annotation in annotations.items() if key in KEPT_ANNOTATIONS}
            fields["metadata"]["annotations"] = kept_annotations
    if isinstance(spec, dict):
        template = spec.get("template")
        fields["spec"] = {**spec, "template": seal(template)} if isinstance(template, dict) else spec
    return fields


def _paths(value: Any, field: str = "") -> Any:
    """The fields that `value` has: True for a leaf and a list without a merge key, which are taken away whole."""
    if isinstance(value, dict):
        # Headroom's own fields say how a command starts and sleeps: who takes the command away takes them along
        read = dict.fromkeys((api_types.START, api_types.SLEEPS), True) if "command" in value else {}
        return {key: _paths(child, key) for key, child in value.items()} | read
    if isinstance(value, list) and (name := MERGE_KEYS.get(field)):
        return [
            _paths(each) | {name: each[name]}  # the merge key keeps its value: by it items are found again
            for each in value
            if isinstance(each, dict) and isinstance(each.get(name), str | int)
        ]
    return True
