"""A workload's change as a user applies it: patch, YAML, difference from today, and the undo command.

All of it is the difference of two documents, so that it holds for whatever was changed: strategy, replicas, requests, a
patch, a manifest. Values that a snapshot doesn't keep (`planner.inventory.redacted_value_digests`) can be compared, not written: where one
differs, the user's own file says it, the patch or the manifest, and only its name stands here: such values may be passwords.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from textwrap import indent
from typing import Any, Final, TypeGuard

from planner.ground.errors import QuantityError
from planner.ground.quantity import parse_decimal
from planner.ground.records import Record
from planner.inventory.change import NOT_READ, WorkloadChange, apply_change, document_of
from planner.inventory.redacted_value_digests import is_sealed
from planner.kubernetes import shell_commands
from planner.kubernetes.object_records import Workload
from planner.kubernetes.strategic_merge_patch import MERGE_KEYS, Object, as_yaml, merge
from planner.kubernetes.workload_kinds import kind_called

MANIFEST: Final = "CHANGE.yaml"
"""What the user's own manifest is called in commands."""
PATCH: Final = "PATCH.yaml"
"""The same for a strategic merge patch."""
_NOWHERE: Final = "none"
_AMOUNTS: Final = ("requests", "limits")
_HELM: Final = "# Your chart decides what its keys are called; these are the usual ones.\n"


class Difference(Record):
    """One field that differs. `today` and `then` as written in a manifest; ``none`` where it isn't there."""

    field: str  # "spec.strategy.rollingUpdate.maxSurge"
    today: str
    then: str


class Applied(Record):
    """How a workload's change is applied and undone.

    `command`, `undo`: for a shell. `yaml`: the changed fields under the object's name, as ``kubectl patch --patch-file`` and
    ``kubectl apply --server-side`` take them. `kustomization`: a kustomization.yaml with that patch. `helm_values`: the
    usual keys of a chart, "" where none of them is changed. `is_whole`: False where something is changed that only the user's
    own file says; then `command` takes that file.
    """

    workload: str
    command: str
    patch_yaml: str
    yaml: str
    differences: tuple[Difference, ...]
    kustomization: str
    helm_values: str
    undo: str
    is_whole: bool = True


def applied(before: Workload, after: Workload, patch: str = "", manifest: Workload | None = None) -> Applied | None:
    """How `after` is made of `before`; None where their documents are the same (a restart needs no patch).

    `patch` is the strategic merge patch that was typed, `manifest` what a manifest made of `before` first; nothing of them that isn't
    kept is written.
    """
    old = _document(before)
    new = _spelled_as(old, _document(after))
    kind = kind_called(before.kind)
    is_custom = kind.is_custom
    change, back = difference(old, new, has_whole_lists=is_custom), difference(new, old, has_whole_lists=is_custom)
    patched, unread = _patched(manifest or before, patch)
    if not change and not unread:
        return None
    is_whole = not _has_sealed(change) and not unread
    merged = _without_sealed(change, has_whole_lists=is_custom)
    if is_whole:
        command = shell_commands.patch(before.key, merged)
    else:
        # The user's own files first, in the order in which they count; then the settings, which stand in no file.
        is_applied = manifest is not None or not patch
        files = [shell_commands.command("kubectl", "apply", "-f", MANIFEST)] if is_applied else []
        merge_type = ["--type=merge"] if is_custom else []
        files += [shell_commands.kubectl("patch", before.key, *merge_type, "--patch-file", PATCH)] if patch else []
        is_told = manifest is not None or bool(patch)
        told = _spelled_as(old, _document(patched))
        rest = difference(told, new, has_whole_lists=is_custom) if is_told else {}
        settings = _without_sealed(rest, has_whole_lists=is_custom)
        command = " && ".join([*files, *([shell_commands.patch(before.key, settings)] if settings else [])])
    # Each step with another template is a revision, and an undo goes back by one.
    steps = (before, manifest or before, patched, after)
    templates = list(groupby(document_of(step)["spec"].get("template") for step in steps))
    is_sealed_template = _has_sealed(back) or _has_sealed(change)
    document = {
        "apiVersion": f"{kind.group}/{kind.version}", "kind": before.kind,
        "metadata": {"name": before.name, "namespace": before.namespace}, **merged,
    }  # fmt: skip
    patch_yaml = as_yaml(merged) if merged else ""
    return Applied(
        workload=before.key,
        command=command,
        patch_yaml=patch_yaml,
        yaml=as_yaml(document),
        differences=tuple(_differences(old, new, "")),
        kustomization=_kustomization(before, kind.group, kind.version, document),
        helm_values=_helm(merged, kind.strategy_field),
        undo=shell_commands.no_undo(before.key) if is_sealed_template and len(templates) > 2
        else _undo(before, _without_sealed(back, has_whole_lists=is_custom), is_template_sealed=is_sealed_template),
        is_whole=is_whole,
    )  # fmt: skip


def taken_back(before: Workload, patch: Object) -> Object:
    """The patch that gives `before` what `patch` took from it."""
    document = _document(before)
    undone: Object = _without_sealed(difference(merge(document, patch), document))
    return undone


def as_its_kind_takes(workload: Workload, patch: Object) -> Object | None:
    """A strategic merge patch as the API server takes one of this kind: of a custom resource with whole lists, None where these have what the
    snapshot doesn't keep."""
    if not workload.traits.is_custom:
        return patch
    document = _document(workload)
    change = difference(document, merge(document, patch), has_whole_lists=True)
    return None if _has_sealed(change) else change


def _document(workload: Workload) -> Object:
    """As `document_of`, without what only a StatefulSet's strategy knows."""
    document = document_of(workload)
    traits = workload.traits
    rolling = document["spec"].get(traits.strategy_field, {}).get("rollingUpdate", {}) if traits.rolls_out else {}
    if not traits.has_ordinals:
        rolling.pop("partition", None)
    return document


def difference(old: Object, new: Object, *, has_whole_lists: bool = False) -> Object:
    """The strategic merge patch that makes `old` into `new`; null takes a field away. Lists of objects with a merge key
    are gone through by it, others are given whole; `has_whole_lists`: all are, as in the JSON merge patch that custom resources take,
    where a container of a list that says its new image alone would lose all else (`with_whole_lists`)."""
    patch: Object = {}
    for key in (*new, *(old_key for old_key in old if old_key not in new)):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            if inner := difference(before, after, has_whole_lists=has_whole_lists):
                patch[key] = inner
        elif (
            key in MERGE_KEYS
            and not has_whole_lists
            and _are_named(before, MERGE_KEYS[key])
            and _are_named(after, MERGE_KEYS[key])
        ):
            if list_patch := _of_lists(before, after, MERGE_KEYS[key]):
                patch[key] = list_patch
        else:
            patch[key] = after
    return patch


def _spelled_as(old: Any, new: Any, *, is_amount: bool = False) -> Any:
    """`new`, with amounts that are as much as `old`'s written as there (``1000m`` as ``1``): the API server keeps one form of both, so
    that they are no difference.

    Source: apimachinery `pkg/api/resource/quantity.go` `CanonicalizeBytes`.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return {
            key: _spelled_as(old.get(key), value, is_amount=is_amount or key in _AMOUNTS) for key, value in new.items()
        }
    if _are_named(old, "name") and _are_named(new, "name"):
        old_by_name = {each.get("name"): each for each in old}
        return [_spelled_as(old_by_name.get(each.get("name")), each) for each in new]
    if is_amount and old != new and isinstance(old, str | int) and isinstance(new, str | int):
        with suppress(QuantityError):
            return old if parse_decimal(str(old)) == parse_decimal(str(new)) else new
    return new


def _are_named(value: Any, name: str) -> TypeGuard[list[Object]]:
    """Whether it is a list of objects that a field `name` tells apart."""
    return isinstance(value, list) and all(
        isinstance(element, dict) and isinstance(element.get(name), str | int | None) for element in value
    )


def _of_lists(before: list[Object], after: list[Object], name: str) -> list[Object]:
    old_by_name = {element.get(name): element for element in before}
    changed = [
        {name: element[name], **difference(old_by_name[element[name]], element)}
        if element.get(name) in old_by_name
        else element
        for element in after
        if old_by_name.get(element.get(name)) != element
    ]
    remaining_names = {element.get(name) for element in after}
    return changed + [
        {"$patch": "delete", name: element_name} for element_name in old_by_name if element_name not in remaining_names
    ]


def _patched(before: Workload, patch: str) -> tuple[Workload, bool]:
    """The workload with the typed patch alone, and whether that says something that isn't read."""
    if not patch:
        return before, False
    after, _, notes = apply_change(before, WorkloadChange(workload=before.key, patch=patch))
    return after, any(note.code == NOT_READ for note in notes)


def _has_sealed(value: Any) -> bool:
    if isinstance(value, dict):
        return any(is_sealed(key) or _has_sealed(child) for key, child in value.items())
    return any(map(_has_sealed, value)) if isinstance(value, list) else is_sealed(value)


def _without_sealed(value: Any, *, has_whole_lists: bool = False) -> Any:
    """`value` without what isn't kept, and without objects that say nothing more than their name then; where a list replaces a list
    (`difference`), without lists that would lose something by it."""
    if isinstance(value, dict):
        fields = {
            key: _without_sealed(child, has_whole_lists=has_whole_lists)
            for key, child in value.items()
            if not is_sealed(key) and not is_sealed(child) and not _is_own(key)
            if not (has_whole_lists and isinstance(child, list) and _has_sealed(child))
        }
        return {key: child for key, child in fields.items() if child not in ({}, []) or value[key] in ({}, [])}
    if isinstance(value, list):
        return [
            cleaned_child
            for element in value
            if not is_sealed(element) and (not isinstance(element, dict) or len(_without_sealed(element)) > 1 or element == _without_sealed(element))
            for cleaned_child in [_without_sealed(element)]
        ]  # fmt: skip
    return value


def _is_own(key: str) -> bool:
    """Fields that are Headroom's own notes, not Kubernetes'."""
    return key.startswith("headroom.dev/")


def _differences(old: Any, new: Any, place: str) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*new, *(old_key for old_key in old if old_key not in new)):
            if old.get(key) != new.get(key) and not _is_own(key) and not is_sealed(key):
                yield from _differences(old.get(key), new.get(key), f"{place}.{key}" if place else key)
    # Lists of named objects are compared name by name: a new image shows as `containers[app].image`, not as a new list.
    elif (name := MERGE_KEYS.get(place.rpartition(".")[2])) and _are_named(old, name) and _are_named(new, name):
        old_by_name, then = ({element.get(name): element for element in elements} for elements in (old, new))
        for list_name in (*then, *(old_name for old_name in old_by_name if old_name not in then)):
            if old_by_name.get(list_name) != then.get(list_name):
                called = "…" if is_sealed(list_name) else list_name
                yield from _differences(old_by_name.get(list_name, {}), then.get(list_name, {}), f"{place}[{called}]")
    else:
        yield Difference(field=place, today=_written(old), then=_written(new))


def _written(value: Any) -> str:
    if value is None:
        return _NOWHERE
    if is_sealed(value) or _has_sealed(value):
        return "not kept in the snapshot"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _kustomization(workload: Workload, group: str, version: str, document: Object) -> str:
    target = {"group": group, "version": version, "kind": workload.kind, "name": workload.name}
    where = {"namespace": workload.namespace} if workload.namespace else {}
    return (
        "patches:\n"
        f"  - target:\n{indent(as_yaml(target | where), ' ' * 6)}"
        f"    patch: |-\n{indent(as_yaml(document), ' ' * 6)}"
    )


def _helm(patch: Object, strategy_field: str) -> str:
    spec = patch.get("spec") or {}
    pod = (spec.get("template") or {}).get("spec") or {}
    values: Object = {}
    if "replicas" in spec:
        values["replicaCount"] = spec["replicas"]
    if strategy_field in spec:
        values[strategy_field] = spec[strategy_field]
    containers = [
        container
        for container in pod.get("containers") or ()
        if isinstance(container, dict) and container.get("resources")
    ]
    # A chart's `resources` are its one container's; of several nothing tells which value is whose.
    if len(containers) == 1:
        values["resources"] = containers[0]["resources"]
    values |= {key: pod[key] for key in ("nodeSelector", "tolerations", "affinity") if key in pod}
    return _HELM + as_yaml(values) if values else ""


def _undo(workload: Workload, back: Object, *, is_template_sealed: bool) -> str:
    """What gives today's fields back. A template that isn't kept in full is its controller's to give back."""
    if not is_template_sealed:
        return shell_commands.patch(workload.key, back)
    spec = {key: field for key, field in (back.get("spec") or {}).items() if key != "template"}
    undone = shell_commands.undo(workload.key)
    if not workload.traits.undoes:
        return undone
    return f"{undone} && {shell_commands.patch(workload.key, {'spec': spec})}" if spec else undone
