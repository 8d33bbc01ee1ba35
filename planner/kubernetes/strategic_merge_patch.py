"""Applies strategic merge patches to plain values, as the API server does for workloads.

Lists of objects are merged by a key where Kubernetes' types say so, and replaced otherwise; null deletes; ``$patch``,
``$retainKeys`` and ``$setElementOrder`` direct.
Source: apimachinery `pkg/util/strategicpatch/patch.go`; merge keys: the ``patchMergeKey`` tags in k8s.io/api
`core/v1/types.go` of what a pod template holds.
"""

from __future__ import annotations

from typing import Any

import msgspec

from planner.ground.data_files import table_beside
from planner.ground.errors import ChangeError

MERGE_KEYS: dict[str, str] = msgspec.json.decode(table_beside(__name__, "strategic_merge_patch.json"))
"""List field → the key its objects are merged by. Lists that aren't here (tolerations, args, …) are replaced."""

_MERGED_TEXTS = frozenset({"finalizers"})
_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_RETAINED = frozenset({"strategy", "volumes", "resourceClaims"})  # fields of their elements exclude each other
_ATOMIC = frozenset({"nodeSelector", "matchLabels"})  # maps that server-side apply replaces
_ORDER = "$setElementOrder/"
_DELETE_TEXTS = "$deleteFromPrimitiveList/"
Object = dict[str, Any]


def merge(original: Object, patch: Object, where: str = "") -> Object:
    """`original` with `patch` merged into it; both stay as they are.

    Parameters
    ----------
    original, patch : dict
        Plain JSON values.
    where : str
        Path of the field they stand in, for messages.

    Raises
    ------
    ChangeError
        For a patch that doesn't have the original's shape, lacks a merge key or gives an unknown directive.
    """
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: _without_nulls(child) for key, child in patch.items() if key != _DIRECTIVE and child is not None}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise ChangeError(f'$patch is "{directive}"', where=where, fix="Use replace, delete or merge")
    merged: Object = dict(original)
    if _RETAIN in patch:
        retained = patch[_RETAIN]
        if not isinstance(retained, list):
            raise ChangeError("$retainKeys isn't a list", where=where)
        merged = {key: value for key, value in merged.items() if key in retained}
    for key, value in patch.items():
        if key in (_DIRECTIVE, _RETAIN):
            continue
        if key.startswith(_ORDER):
            key = key.removeprefix(_ORDER)
            # A patch that only orders a list names it here alone; where it also changes the list, `_merged_list` orders
            # the result.
            if key not in patch and isinstance(merged.get(key), list):
                merged[key] = _ordered(merged[key], value, merged[key], MERGE_KEYS.get(key, ""))
            continue
        place = f"{where}.{key}" if where else key
        if key.startswith(_DELETE_TEXTS):
            field = key.removeprefix(_DELETE_TEXTS)
            merged[field] = [element for element in merged.get(field) or [] if element not in (value or [])]
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged_value(key, merged.get(key), value, place, patch.get(f"{_ORDER}{key}"))
    return merged


def with_whole_lists(patch: Any) -> Any:
    """`patch` as a JSON merge patch means it, which is all that kinds of custom resources take: a list replaces the list.

    Source: RFC 7386; Kubernetes *Update API Objects in Place Using kubectl patch* (strategic merge isn't for custom resources).
    """
    if not isinstance(patch, dict):
        return patch
    lists = {
        key: [*child, {_DIRECTIVE: "replace"}]
        for key, child in patch.items()
        if key in MERGE_KEYS and isinstance(child, list)
    }
    return {key: lists[key] if key in lists else with_whole_lists(child) for key, child in patch.items()}


def of_apply(
    modified: Object, applied: Object, live: Object, *, is_by_field: bool = False, has_whole_lists: bool = False
) -> Object:
    """The patch that ``kubectl apply`` sends for a manifest: what it says otherwise, and null for what was applied before and isn't in
    it. What was not applied (the API server's defaults, replicas of an autoscaler) is in neither, and stays.

    `applied`: field → the fields below it, or elements with their merge key (`inventory.last_applied`). `is_by_field`: as
    server-side apply does it, which takes away single fields, not what lies above them, and replaces what is atomic. Source:
    apimachinery `strategicpatch.CreateThreeWayMergePatch`, structured-merge-diff `merge/update.go`; fields with retainKeys:
    ``patchStrategy`` tags in k8s.io/api. `has_whole_lists`: of a custom resource (`with_whole_lists`).
    """
    patch: Object = {
        key: _gone(fields, live.get(key), key) if is_by_field else None
        for key, fields in applied.items()
        if key not in modified
    }
    for key, value in modified.items():
        before, now = applied.get(key), live.get(key)
        if isinstance(value, dict) and _DIRECTIVE in value:
            continue  # kubectl carries out no directive of a manifest, and drops what it stands in
        if isinstance(value, dict) and isinstance(now, dict) and not (is_by_field and key in _ATOMIC):
            below = before if isinstance(before, dict) else {}
            field_patch = of_apply(value, below, now, is_by_field=is_by_field, has_whole_lists=has_whole_lists)
            retains = key in _RETAINED and not is_by_field and not has_whole_lists
            patch[key] = field_patch | {_RETAIN: list(value)} if retains else field_patch
        elif isinstance(value, list) and isinstance(now, list) and key in MERGE_KEYS and not has_whole_lists:
            patch |= _elements(key, value, before if isinstance(before, list) else [], now, is_by_field)
        elif isinstance(value, dict) and is_by_field and key in _ATOMIC:
            patch[key] = {**value, _DIRECTIVE: "replace"}
        else:
            patch[key] = value
    return patch


def _gone(fields: Any, live: Any, field: str) -> Any:
    """The patch that takes `fields` away and nothing beside them; null where nothing is left then."""
    if isinstance(fields, list) and isinstance(live, list):
        named = MERGE_KEYS[field]
        return [{_DIRECTIVE: "delete", named: element[named]} for element in fields]
    if not fields or not isinstance(fields, dict) or not isinstance(live, dict):
        return None
    patch = {key: _gone(child, live[key], key) for key, child in fields.items() if key in live}
    # Where every live key goes the field itself is deleted: an empty object would stay behind.
    return patch if len(patch) < len(live) or any(patch.values()) else None


def _elements(field: str, given_elements: list[Any], applied: list[Any], live: list[Any], is_by_field: bool) -> Object:
    """The patch of a list that is merged by a key: the elements that differ, those that go, and the order. Of several with one key
    kubectl sends the first."""
    named = MERGE_KEYS[field]
    if not all(_is_named(element, named) for element in given_elements):
        return {field: given_elements}  # `merge` says what is wrong with it
    new_by_name, before, live_by_name = (
        {element[named]: element for element in reversed(elements) if _is_named(element, named)}
        for elements in (given_elements, applied, live)
    )
    patch: list[Any] = [{_DIRECTIVE: "delete", named: name} for name in before if name not in new_by_name]
    for name, member in new_by_name.items():
        element_patch = of_apply(member, before.get(name, {}), live_by_name.get(name, {}), is_by_field=is_by_field)
        if _DIRECTIVE not in member and merge(live_by_name.get(name, {}), element_patch) != live_by_name.get(name):
            patch.append(
                element_patch | {_RETAIN: list(member)} if field in _RETAINED and not is_by_field else element_patch
            )
    return {field: patch, f"{_ORDER}{field}": [element[named] for element in given_elements]}


def _is_named(element: Any, merge_key: str) -> bool:
    """Whether it is an object that its merge key tells from others."""
    return isinstance(element, dict) and merge_key in element and not isinstance(element[merge_key], dict | list)


def _merged_value(key: str, old: Any, new: Any, where: str, order: Any) -> Any:
    if not isinstance(old, dict | list):
        old = None
    elif type(old) is not type(new):
        expected = "an object" if isinstance(old, dict) else "a list"
        raise ChangeError(f"it has to be {expected}", where=where, fix="Give the patch the shape of the workload")
    if isinstance(new, dict):
        return merge(old or {}, new, where)
    if not isinstance(new, list):
        return new
    if key in MERGE_KEYS:
        return _merged_list(old or [], new, MERGE_KEYS[key], where, order)
    # A patch only adds to such a list (patchStrategy merge): what it leaves out stays.
    if key in _MERGED_TEXTS:
        return [*(old or []), *(element for element in new if element not in (old or []))]
    return _without_nulls(new)


def _merged_list(old: list[Any], new: list[Any], merge_key: str, where: str, order: Any) -> list[Any]:
    for element in new:
        if not isinstance(element, dict):
            raise ChangeError("an element isn't an object", where=where, fix=f"Give objects with {merge_key}")
    # The element `$patch: replace`, alone in its object, means the whole list.
    if any(member == {_DIRECTIVE: "replace"} for member in new):
        return [_without_nulls(member) for member in new if member != {_DIRECTIVE: "replace"}]
    if not all(_is_named(member, merge_key) for member in new):
        fix = f"Say which element is meant: give its {merge_key}, a word or a number"
        raise ChangeError(f"an element has no {merge_key}", where=where, fix=fix)
    if not old:  # nothing to merge with, so the key isn't asked for: a list may hold port 53 twice, for TCP and UDP
        return [merge({}, member, where) for member in new if member.get(_DIRECTIVE) != "delete"]
    merged = [dict(member) for member in old]
    for element in new:
        name = element[merge_key]
        index = next((i for i, merged_element in enumerate(merged) if merged_element.get(merge_key) == name), None)
        place = f"{where}[{name}]"
        if element.get(_DIRECTIVE) == "delete":
            merged = [merged_element for merged_element in merged if merged_element.get(merge_key) != name]
        elif index is None:
            merged.append(merge({}, element, place))
        else:
            merged[index] = merge(merged[index], element, place)
    return _ordered(merged, order if isinstance(order, list) else new, old, merge_key)


def _ordered(merged: list[Any], order: list[Any], old: list[Any], merge_key: str) -> list[Any]:
    """`merged` as the API server orders it: what the patch names in the patch's order, before what it doesn't name, except
    where that was in front of it (`normalizeElementOrder`, `mergeSortedSlice`)."""

    def place(element: Any, among: list[Any]) -> int:
        name = element.get(merge_key) if isinstance(element, dict) else element
        names = [other.get(merge_key) if isinstance(other, dict) else other for other in among]
        return names.index(name) if name in names else -1

    named = sorted(
        (element for element in merged if place(element, order) >= 0), key=lambda element: place(element, order)
    )
    others = [element for element in merged if place(element, order) < 0]
    ordered_elements: list[Any] = []
    while named and others:
        was_before = 0 <= place(others[0], old) < place(named[0], old)
        ordered_elements.append((others if was_before else named).pop(0))
    return ordered_elements + named + others


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return [_without_nulls(child) for child in value]
    return value


def container_patch(container: str, resources: Object, *, is_init: bool = False) -> Object:
    """The patch of a workload that gives one container of its pods other `resources`."""
    container_resources = {"name": container, "resources": resources}
    return {"spec": {"template": {"spec": {"initContainers" if is_init else "containers": [container_resources]}}}}


def as_yaml(document: Object) -> str:
    """A document as YAML, in the order it was written."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml's where it is there
    text: str = yaml.dump(document, Dumper=dumper, sort_keys=False, default_flow_style=False, width=120)
    return text
