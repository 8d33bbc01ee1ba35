"""Validates the records of a stored snapshot by the rules that a dump's objects must satisfy.

A store isn't trusted (SECURITY.md). Its snapshots are records already, so that no reader looks at their names and amounts: an amount
of 10^30 would end the arithmetic, and a name like ``$(reboot)`` would reach a script.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, Final

from planner.ground.errors import InputError
from planner.ground.quantity import LARGEST
from planner.ground.records import Record
from planner.ground.words import printable
from planner.inventory.flux_timeouts import GROUPS, MOST_RETRIES, MOST_SECONDS
from planner.kubernetes import name_validation
from planner.kubernetes.field_privacy import Tells, told_by
from planner.kubernetes.object_records import Container, FluxRelease, FrozenMap, Snapshot, Taint

_LABELS: Final = ("labels", "node_selector", "match_labels")
_REFERENCES: Final = ("node_name", "priority_class_name", "runtime_class_name", "service_account_name")
_RESOURCES: Final = (
    "requests", "limits", "overhead", "pod_requests", "pod_limits", "allocatable", "hard", "used", "minimum", "maximum",
    "default_limits", "default_requests",
)  # fmt: skip


def _check_release(release: FluxRelease) -> None:
    name_validation.check_object(release.name, release.namespace)
    if release.kind not in GROUPS:
        raise InputError(f"its kind of release is {release.kind[:80]}")
    if release.seconds is not None and not 0 < release.seconds <= MOST_SECONDS:
        raise InputError(
            f"its seconds are {release.seconds:.3g}, and a time is more than 0 s and at most {MOST_SECONDS:.0e}"
        )
    if abs(release.retries) > MOST_RETRIES:
        raise InputError(f"its retries are {release.retries:.3g}, more than 32 bits hold")
    for key in release.health_checks or ():
        name_validation.check_workload_key("health_checks", key)


_OF_RECORD: Final[dict[type[Any], Callable[[Any], None]]] = {
    Container: lambda container: name_validation.check_dns_label("a container's name", container.name),
    FluxRelease: _check_release,
    Taint: lambda taint: name_validation.check_labels({taint.key: taint.value}),
}


def check(snapshot: Snapshot) -> None:
    """Refuse what no reader of a dump lets through: names and labels that Kubernetes refuses, numbers beyond 64 bits, negative
    amounts, two nodes of one name.

    Raises
    ------
    InputError
        With the object and what is wrong with it.
    """
    checked: dict[tuple[str, int], Any] = {}  # objects share their parts; kept, so that no other gets an id of theirs
    for field in fields(Snapshot):
        rows = getattr(snapshot, field.name)
        for row in rows if isinstance(rows, tuple) else ():
            try:
                if isinstance(name := getattr(row, "name", None), str):
                    name_validation.check_object(name, getattr(row, "namespace", ""), is_prefix=name.endswith("-"))
                _check("", row, checked)
            except InputError as error:
                key = "/".join(str(part) for part in (getattr(row, "namespace", ""), getattr(row, "name", "")) if part)
                where = printable(f"{type(row).__name__} {key[:200]}", one_line=True)
                raise InputError(f"the snapshot is damaged: {error}", where=where) from None
    nodes = [node.name for node in snapshot.nodes]
    if nodes != sorted(set(nodes)):
        raise InputError("the snapshot is damaged: its nodes aren't sorted, or one of them is there twice")


def _check(field: str, value: Any, checked: dict[tuple[str, int], Any]) -> None:
    """`value` of a field of that name, and all within it."""
    if isinstance(value, int):
        if not -LARGEST <= value <= LARGEST:
            raise InputError(f"its {field} is {value:.3g}, more than 64 bits hold")
    elif isinstance(value, FrozenMap):
        if checked.get((field, id(value))) is None:
            checked[field, id(value)] = value
            _check_map(field, value, checked)
    elif isinstance(value, tuple | frozenset):
        for each in value:
            _check(field, each, checked)
    elif isinstance(value, Record) and ("", id(value)) not in checked:
        # The record itself is kept: an id is another object's as soon as nothing holds this one.
        checked["", id(value)] = value
        if (rule := _OF_RECORD.get(type(value))) is not None:
            rule(value)
        kind: Any = type(value)
        for name, rule_of_text in _fields_of(kind):
            inner = getattr(value, name)
            if rule_of_text is not None and isinstance(inner, str):
                rule_of_text(name, inner)
            _check(name, inner, checked)


@cache
def _fields_of(record: Any) -> tuple[tuple[str, Callable[[str, str], object] | None], ...]:
    """Each field with what is asked of its text."""
    tells = told_by(record)
    rules: dict[str, Callable[[str, str], object]] = dict.fromkeys(_REFERENCES, name_validation.check_reference)
    rules |= {name: name_validation.check_workload_key for name, marks in tells.items() if Tells.WORKLOAD in marks}
    return tuple((name, rules.get(name)) for name in tells)


def _check_map(field: str, value: FrozenMap[Any], checked: dict[tuple[str, int], Any]) -> None:
    if field in _LABELS:
        name_validation.check_labels(value)
    for name, each in value.items():
        if field in _RESOURCES:
            name_validation.check_resource(name)
        if isinstance(each, int) and not isinstance(each, bool) and not 0 <= each <= LARGEST:
            raise InputError(f"its {field} of {name[:80]} is {each:.3g}, and an amount is 0 to 2^63 - 1")
        _check(field, each, checked)
