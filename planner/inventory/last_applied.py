"""Which fields of an object were applied, as far as it says so itself: what ``kubectl apply`` takes away when a manifest leaves it
out. Paths are kept, never values.

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

from planner.ground import typed
from planner.ground.vocabulary import KEPT_ANNOTATIONS
from planner.inventory import wire
from planner.inventory.limits import LIMITS
from planner.inventory.sealed import seal
from planner.kubernetes.patches import MERGE_KEYS

Fields = dict[str, Any]
"""Field → the fields below it, a list of those of elements that have a merge key, or true."""
BY_FIELD: Final = "byField"
"""Beside the fields: server-side apply takes away single fields, not what is above them."""
_APPLY: Final = "Apply"
_BY_UPDATE: Final = ("kubectl-client-side-apply", "helm")  # managers that apply manifests and write with Update


def take_applied_fields(metadata: wire.WorkloadMetadata | None) -> str:
    """The fields of ``metadata.labels``, ``metadata.annotations`` (those that are kept) and ``spec`` that were applied, as JSON; ""
    where the object doesn't say. `metadata` loses what told it: values aren't kept, and names of environment variables are sealed
    anew in each process, so that a snapshot's digest can't hang on them."""
    if metadata is None:
        return ""
    told = _of_annotation(metadata.annotations)
    is_by_field = not told and any(map(_is_applier, metadata.managed_fields or ()))
    told = told or _of_managers(metadata.managed_fields or ())
    metadata.managed_fields = None
    if metadata.annotations is not None:
        metadata.annotations.last_applied = None
    if told is None:
        return ""
    paths = _paths(_kept(told)) | ({BY_FIELD: True} if is_by_field else {})
    return json.dumps(paths, separators=(",", ":"))


def fields_in(text: str) -> Fields:
    """What `applied_fields` wrote; {} of ""."""
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


def _of_annotation(annotations: wire.AppliedAnnotations | None) -> Fields | None:
    text = annotations.last_applied if annotations is not None else None
    if not text or len(text) > LIMITS.annotation_letters:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _of_managers(entries: Iterable[wire.ManagedFields]) -> Fields | None:
    """What the applier owns alone; of several the one that owns most."""
    own = [entry for entry in entries if isinstance(entry.fields_v1, dict)]
    updates = (managed for managed in own if managed.manager in _BY_UPDATE and not managed.subresource)
    appliers = [managed for managed in own if _is_applier(managed)] or list(updates)
    if not appliers:
        return None
    applier = max(appliers, key=lambda one: _size(one.fields_v1))
    fields = applier.fields_v1
    for managed in own:
        if managed is not applier:
            fields = _without(fields, managed.fields_v1)
    found = _of_fields(fields)
    return found if isinstance(found, dict) else {}


def applied_part(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of an object its applier owns alone, with the values that it has; {} where managedFields don't tell it. Lists are whole, as a
    custom resource's are unless its schema names their keys."""
    metadata = document.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    try:
        told = _of_managers(typed.convert(entries, list[wire.ManagedFields])) if entries else None
    except msgspec.ValidationError:
        return {}
    return _part(document, told) if told else {}


def _part(value: Any, fields: Any) -> Any:
    if not isinstance(fields, dict) or not isinstance(value, Mapping):
        return value
    return {key: _part(value[key], below) for key, below in fields.items() if key in value}


def _is_applier(one: wire.ManagedFields) -> bool:
    """Whether it wrote with server-side apply; a status is applied by controllers."""
    return one.operation == _APPLY and not one.subresource


def _size(fields: Any) -> int:
    return 1 + sum(map(_size, fields.values())) if isinstance(fields, dict) else 1


def _without(mine: Fields, others: Fields) -> Fields:
    """What of `mine` no other manager owns."""
    left = {}
    for key, below in mine.items():
        theirs = others.get(key)
        if key not in others:
            left[key] = below
        elif isinstance(below, dict) and isinstance(theirs, dict) and (inner := _without(below, theirs)):
            left[key] = inner
    return left


def _of_fields(fields: Fields) -> Any:
    """``{"f:spec": {"f:replicas": {}}}`` as ``{"spec": {"replicas": true}}``; elements of a list by the keys that name them."""
    elements = [_element(key, below) for key, below in fields.items() if key[:2] == "k:"]
    if elements:
        return [one for one in elements if one is not None]
    below = {key[2:]: _of_fields(one) for key, one in fields.items() if key[:2] == "f:" and isinstance(one, dict)}
    return below or True


def _element(key: str, below: Any) -> Fields | None:
    try:
        names = json.loads(key[2:])
    except (ValueError, RecursionError):
        return None
    inner = _of_fields(below) if isinstance(below, dict) else True
    return {**(inner if isinstance(inner, dict) else {}), **names} if isinstance(names, dict) else None


def _kept(told: Fields) -> Fields:
    """Of an object's fields those that count here, the pod template's sealed as the snapshot's is."""
    metadata, spec = told.get("metadata"), told.get("spec")
    found: Fields = {"metadata": {}, "spec": {}}
    if isinstance(metadata, dict):
        if isinstance(labels := metadata.get("labels"), dict):
            found["metadata"]["labels"] = labels
        if isinstance(annotations := metadata.get("annotations"), dict):
            kept = {key: one for key, one in annotations.items() if key in KEPT_ANNOTATIONS}
            found["metadata"]["annotations"] = kept
    if isinstance(spec, dict):
        template = spec.get("template")
        found["spec"] = {**spec, "template": seal(template)} if isinstance(template, dict) else spec
    return found


def _paths(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        read = (
            dict.fromkeys((wire.START, wire.SLEEPS), True) if "command" in value else {}
        )  # of the command, and gone with it
        return {key: _paths(one, key) for key, one in value.items()} | read
    if isinstance(value, list) and (name := MERGE_KEYS.get(field)):
        return [
            {key: one if key == name else _paths(one, key) for key, one in each.items()}
            for each in value
            if isinstance(each, dict) and isinstance(each.get(name), str | int)
        ]
    return True
