"""Declares where a record's fields are in a Kubernetes object: one line a field, for the decoder and for the reader.

A place is a path of JSON names (``spec.selector``). What is decoded there follows from the type of the record's field, or is said
(`at`, `each`, `of`); nothing else of the object is decoded. What isn't there, is null or an empty text leaves the field its default.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from types import GenericAlias
from typing import Any, NamedTuple, get_type_hints

import msgspec

from planner.ground.well_known_names import DEFAULT_NAMESPACE
from planner.inventory import api_types
from planner.inventory.records.read_context import Shared, metadata_of, read_owner
from planner.inventory.records.selectors import read_requirements, read_selector, read_taints, read_tolerations
from planner.kubernetes import object_records as model
from planner.kubernetes.object_records import Amounts, Labels


class FieldPath(NamedTuple):
    """(path, type of what is there) of each value that a field is read of, and how; None stands for what isn't there."""

    values: tuple[tuple[str, Any], ...]
    read: Callable[..., Any]
    is_asked_of_none: bool = True


def of(read: Callable[..., Any], *values: tuple[str, Any]) -> FieldPath:
    """``read(shared, value, …)``, of what is at several paths, or perhaps at none."""
    return FieldPath(values, read)


def at(path: str, kind: Any, read: Callable[[Shared, Any], Any] = lambda _, value: value) -> FieldPath:
    """``read(shared, value)`` of what is at `path`; of `RecordLayout` its record."""
    return FieldPath(((path, kind),), kind.read if isinstance(kind, RecordLayout) else read, is_asked_of_none=False)


class Many(NamedTuple):
    """The type of a list of what `kind` says: `RecordLayout` (its struct is made when the first object comes), or a type."""

    kind: Any

    @property
    def type(self) -> Any:
        return GenericAlias(list, (self.kind.wire if isinstance(self.kind, RecordLayout) else self.kind,))


def each(path: str, kind: Any, read: Callable[[Shared, Any], Any] | None = None) -> FieldPath:
    """A tuple of what is read of each of a list: `kind` is `RecordLayout`, or the type of one."""
    read_one = read or kind.read
    return at(path, Many(kind), lambda shared, many: tuple(read_one(shared, element) for element in many))


def first(*paths: str) -> FieldPath:
    """The first text of several."""
    return of(
        lambda shared, *texts: shared.text(next(filter(None, texts), None)) or None, *((path, str) for path in paths)
    )


def is_there(path: str) -> FieldPath:
    """Whether anything is there."""
    return at(path, api_types.Present, lambda *_: True)


METADATA = ("metadata", api_types.Metadata)
LABELS = of(lambda shared, metadata: shared.labels(metadata.labels), METADATA)
UID = of(lambda _, metadata: metadata.uid, METADATA)
OWNER = of(lambda shared, metadata: read_owner(shared, metadata.owner_references), METADATA)
CREATED = of(lambda shared, metadata: shared.seconds(metadata.creation_timestamp), METADATA)
DELETING = of(lambda _, metadata: metadata.deletion_timestamp is not None, METADATA)
_NAME = of(lambda _, metadata: metadata.name, METADATA)
_NAMESPACE = of(lambda shared, metadata: shared.text(metadata.namespace or DEFAULT_NAMESPACE), METADATA)


class _Form(NamedTuple):
    """What is decoded for a field of some type, and how it is read."""

    kind: Any
    read: Callable[[Shared, Any], Any]


_FORMS: dict[Any, _Form] = {
    str: _Form(str, lambda shared, text: shared.text(text) or None),
    bool: _Form(bool, lambda _, value: value),
    int: _Form(api_types.Count, lambda _, value: value),
    int | None: _Form(api_types.Count, lambda _, value: value),
    float | None: _Form(datetime, lambda shared, moment: shared.seconds(moment)),
    int | str | None: _Form(api_types.IntOrString, lambda _, value: value),
    Labels: _Form(dict[str, str], Shared.labels),
    Amounts: _Form(api_types.Quantities, Shared.amounts),
    tuple[str, ...]: _Form(list[str], lambda _, texts: tuple(texts)),
    model.LabelSelector | None: _Form(api_types.LabelSelector, read_selector),
    tuple[model.Requirement, ...]: _Form(list[api_types.Requirement], lambda _, many: read_requirements(many)),
    tuple[model.Taint, ...]: _Form(list[api_types.Taint], lambda _, many: read_taints(many)),
    tuple[model.Toleration, ...]: _Form(list[api_types.Toleration], lambda _, many: read_tolerations(many)),
}


class RecordLayout:
    """How a record is read. `name` and `namespace` of an object are its metadata's; of a part of one (`is_object` False) they have
    places as well."""

    def __init__(self, record: Any, *, is_object: bool = True, **places: str | FieldPath) -> None:
        self._record, self._is_object, self._given = record, is_object, places

    @cached_property
    def _places(self) -> tuple[tuple[str, tuple[tuple[str, ...], ...], FieldPath], ...]:
        """(field, the names on the path of each of its values, its place)."""
        hints = get_type_hints(self._record)
        own = {"name": _NAME, "namespace": _NAMESPACE} if self._is_object else {}
        places = {field: place for field, place in own.items() if field in hints}
        places |= {
            field: at(place, *_FORMS[hints[field]]) if isinstance(place, str) else place
            for field, place in self._given.items()
        }
        return tuple(
            (field, tuple(tuple(path.split(".")) for path, _ in place.values), place) for field, place in places.items()
        )

    @cached_property
    def wire(self) -> type[msgspec.Struct]:
        """What is decoded of the object."""
        tree: dict[str, Any] = {}
        for _, paths, place in self._places:
            for (*above, last), (_, kind) in zip(paths, place.values, strict=True):
                inside = tree
                for name in above:
                    inside = inside.setdefault(name, {})
                inside[last] = kind
        return _struct(self._record.__name__, tree, api_types.Object if self._is_object else api_types.Wire)

    def read(self, shared: Shared, decoded: Any) -> Any:
        """The record of what was decoded."""
        if self._is_object:
            metadata_of(decoded)
        fields: dict[str, Any] = {}
        for field, paths, (_, read, is_asked_of_none) in self._places:
            if is_asked_of_none:
                value = read(shared, *[_value(decoded, path) for path in paths])
            else:
                value = _value(decoded, paths[0])
                value = read(shared, value) if value is not None else None
            if value is not None:
                fields[field] = value
        return self._record(**fields)


class ByHand(NamedTuple):
    """What is decoded of a kind's objects, and how they are read by hand."""

    wire: type[msgspec.Struct]
    read: Callable[[Shared, Any], Any]


def _struct(name: str, tree: dict[str, Any], base: type[msgspec.Struct] = api_types.Wire) -> type[msgspec.Struct]:
    """A struct with the JSON names of its fields; what `base` has, it has."""
    fields: list[Any] = []
    for field, below in tree.items():
        kind = _struct(f"{name}.{field}", below) if isinstance(below, dict) else below
        kind = kind.type if isinstance(kind, Many) else kind.wire if isinstance(kind, RecordLayout) else kind
        if field not in base.__struct_fields__:
            fields.append((field, kind | None, None))
    return msgspec.defstruct(name, fields, bases=(base,), kw_only=True, omit_defaults=True, gc=False)


def _value(decoded: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        decoded = getattr(decoded, name, None)
    return decoded


CONDITIONS = at(
    "status.conditions",
    list[api_types.TypedCondition],
    lambda shared, many: shared.conditions(
        {condition.type: f"{condition.status}/{condition.reason or ''}" for condition in many}
    ),
)
"""Type → "status/reason"."""
