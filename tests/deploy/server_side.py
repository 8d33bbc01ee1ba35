"""Server-side apply in few lines, to compare with: sets of owned paths, as structured-merge-diff keeps them.

Source: structured-merge-diff `merge/update.go` (`Updater.Apply`, `prune`), `typed/{merge,remove}.go`; which lists are merged by which
keys, and what is atomic: the ``listType``, ``listMapKey``, ``mapType`` and ``structType`` markers in k8s.io/api. Nulls aren't played.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

Item = dict[str, Any]
Step = tuple[str, str]
"""``("f", field)``, or ``("k", keys as JSON)`` of an element."""
Path = tuple[Step, ...]
_KEYS: Final = {
    "containers": ("name",), "initContainers": ("name",), "env": ("name",), "volumes": ("name",), "ports": ("containerPort", "protocol"),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"), "imagePullSecrets": ("name",), "resourceClaims": ("name",),
    "schedulingGates": ("name",),
}  # fmt: skip
_ATOMIC: Final = {"nodeSelector", "selector", "labelSelector", "requiredDuringSchedulingIgnoredDuringExecution"}


def _step(field: str, one: Item) -> Step:
    given = {"protocol": "TCP", **one} if field == "ports" else one
    return "k", json.dumps({key: given[key] for key in _KEYS[field]}, separators=(",", ":"))


def leaves(value: Any, field: str = "", above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each path that whoever wrote `value` owns, and what stands there; of an element itself nothing."""
    if isinstance(value, dict) and value and field not in _ATOMIC:
        for key, one in value.items():
            yield from leaves(one, key, (*above, ("f", key)))
    elif isinstance(value, list) and value and field in _KEYS:
        for one in value:
            yield (*above, _step(field, one)), None
            yield from leaves(one, "", (*above, _step(field, one)))
    else:
        yield above, value


def _said(one: Item) -> Item:
    metadata = {key: value for key, value in one["metadata"].items() if key in ("labels", "annotations")}
    return {"metadata": metadata, "spec": one["spec"]}


def entry(manager: str, operation: str, paths: Iterable[Path], subresource: str = "") -> Item:
    """An entry of ``managedFields``."""
    fields: Item = {}
    for path in paths:
        place = fields
        for kind, name in path:
            place = place.setdefault(f"{kind}:{name}", {})
        if path[-1][0] == "k":
            place["."] = {}
    told = {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**told, "subresource": subresource} if subresource else told


def owners(before: Item, filled: Item, changed: Item, scaled_by: str) -> list[Item]:
    """Who owns what, once `before` was applied, the API server has `filled` it in, and somebody `changed` it with Update, which takes
    what it changes from whoever had it; replicas through the subresource."""
    there, now = dict(leaves(_said(filled))), dict(leaves(_said(changed)))
    theirs = {path for path, one in now.items() if path not in there or there[path] != one}
    mine = {path for path, _ in leaves(_said(before)) if path in now and path not in theirs}
    replicas = {(("f", "spec"), ("f", "replicas"))} & theirs
    entries = [entry("kubectl", "Apply", mine), entry("kubectl-edit", "Update", theirs - replicas)]
    return [*entries, entry(scaled_by, "Update", replicas, "scale")] if replicas else entries


def apply(there: Item, given: Item, manager: str) -> Item:
    """The object after ``kubectl apply --server-side --force-conflicts``."""
    mine, others = set[Path](), set[Path]()
    for one in there["metadata"]["managedFields"]:
        is_own = (one["manager"], one["operation"]) == (manager, "Apply")
        (mine if is_own else others).update(_paths(one["fieldsV1"]))
    said = _said(given)
    kept = {path for path, _ in leaves(said)} | others
    gone = {path for path in mine if path not in kept and not any(one[: len(path)] == path for one in kept)}
    merged = _without(_merged(_said(there), said), gone)
    return {**there, "metadata": {**there["metadata"], **merged["metadata"]}, "spec": merged["spec"]}


def _paths(fields: Item, above: Path = ()) -> Iterator[Path]:
    for key, below in fields.items():
        if key == ".":
            yield above
        elif not below:
            yield (*above, (key[0], key[2:]))
        else:
            yield from _paths(below, (*above, (key[0], key[2:])))


def _merged(live: Any, given: Any, field: str = "") -> Any:
    if isinstance(live, dict) and isinstance(given, dict) and field not in _ATOMIC:
        return {**live, **{key: _merged(live.get(key), one, key) for key, one in given.items()}}
    if isinstance(live, list) and isinstance(given, list) and field in _KEYS:
        return _merged_elements(live, given, field)
    return given


def _merged_elements(live: list[Item], given: list[Item], field: str) -> list[Item]:
    """In the order of what is given; what only the live list has stays behind what it was behind."""
    known = {_step(field, one): one for one in live}
    asked = {_step(field, one) for one in given}
    found: list[Item] = []
    rest = list(live)
    shared = [one for one in given if _step(field, one) in known]
    for one in given:
        if one in shared:
            while rest and _step(field, rest[0]) != _step(field, one):
                other = rest.pop(0)
                if _step(field, other) not in asked:
                    found.append(other)
            rest = rest[1:]
        found.append(_merged(known.get(_step(field, one)), one))
    return found + [one for one in rest if _step(field, one) not in asked]


def _without(value: Any, gone: set[Path], above: Path = (), field: str = "") -> Any:
    """`value` without what stands at `gone`; what is emptied goes with it."""
    if not any(path[: len(above)] == above for path in gone):
        return value
    if isinstance(value, dict) and field not in _ATOMIC:
        left = {}
        for key, one in value.items():
            place = (*above, ("f", key))
            if place not in gone and (kept := _without(one, gone, place, key)) is not None:
                left[key] = kept
        return left or None
    if isinstance(value, list) and field in _KEYS:
        elements = [(one, (*above, _step(field, one))) for one in value]
        return [_without(one, gone, place) for one, place in elements if place not in gone] or None
    return value
