"""Validates custom resources as the API server does, with a CustomResourceDefinition of the input.

Source: kubernetes `staging/src/k8s.io/apiextensions-apiserver` `pkg/apiserver/schema/pruning/algorithm.go` (which fields are unknown),
`pkg/apiserver/schema/objectmeta`, `pkg/apiserver/validation`. Patterns, formats and CEL rules aren't evaluated.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from planner.ground.records import Record
from planner.inventory.field_validation import (
    REQUIRED,
    FieldProblem,
    Object,
    called,
    is_whole,
    nearest,
    problems_of,
)
from planner.inventory.reading_limits import LIMITS

DEFINITION: Final = "CustomResourceDefinition"
_OF_EVERY_OBJECT: Final = ("apiVersion", "kind", "metadata")
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,), "integer": (int, float), "number": (int, float), "boolean": (bool,), "array": (list,), "object": (dict,),
}  # fmt: skip
_CALLED: Final = {
    "string": "a text in quotes", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list",
    "object": "an object",
}  # fmt: skip


class CustomKind(Record):
    """A version of a custom kind. `schema`: None where it has none, or keeps unknown fields."""

    is_served: bool
    schema: Object | None


def custom_kinds(definitions: Iterable[Object]) -> dict[str, CustomKind]:
    """``group/version/Kind`` → what CustomResourceDefinitions of ``apiextensions.k8s.io/v1`` say of it."""
    kinds: dict[str, CustomKind] = {}
    for definition in definitions:
        spec = definition.get("spec")
        if definition.get("apiVersion") != "apiextensions.k8s.io/v1" or not isinstance(spec, dict):
            continue
        kind = _object(spec, "names").get("kind")
        keeps = spec.get("preserveUnknownFields") is True
        for version in spec.get("versions") or ():
            if not isinstance(version, dict):
                continue
            schema = _object(version, "schema").get("openAPIV3Schema")
            key = f"{spec.get('group')}/{version.get('name')}/{kind}"
            is_schema = isinstance(schema, dict) and not keeps
            kinds[key] = CustomKind(is_served=version.get("served") is True, schema=schema if is_schema else None)
    return kinds


def packed_schemas(definition: Object) -> dict[str, bytes]:
    """The same of one definition, each version packed."""
    return {
        key: zlib.compress(msgspec.json.encode((custom_kind.is_served, custom_kind.schema)), 1)
        for key, custom_kind in custom_kinds([definition]).items()
    }


def unpacked(packed: bytes) -> CustomKind:
    """The opposite of `packed_schemas`, of one version."""
    is_served, schema = msgspec.json.decode(zlib.decompress(packed))
    return CustomKind(is_served=is_served, schema=schema)


def custom_problems(document: Object, schema: Object, *, is_there: bool) -> list[FieldProblem]:
    """What a server refuses of `document` by the structural `schema` of its version; `is_there` as in `problems_of`."""
    problems: list[FieldProblem] = []
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        problems += [
            FieldProblem(
                path=f"metadata.{field_problem.path}",
                what=field_problem.what,
                nearest=field_problem.nearest,
                is_unknown_field=field_problem.is_unknown_field,
            )
            for field_problem in problems_of(metadata, "meta.v1.ObjectMeta", None, is_there=True)
        ]
    for problem in _of_object(document, schema, "", _FieldReading(is_whole=not is_there, is_object=True)):
        problems.append(problem)
        if len(problems) >= LIMITS.problems:
            break
    return problems


class _FieldReading(Record):
    """`is_object`: the value is an object of its own, with a kind and metadata; `is_kept`: fields that are not specified are kept."""

    is_whole: bool
    is_object: bool = False
    is_kept: bool = False
    is_status: bool = False


def _object(of: Object, name: str) -> Object:
    value = of.get(name)
    return value if isinstance(value, dict) else {}


def _of_value(value: Any, schema: Object, path: str, reading: _FieldReading) -> Iterator[FieldProblem]:
    if value is None:
        return
    is_kept = schema.get("x-kubernetes-preserve-unknown-fields") is True
    inner = _FieldReading(
        is_whole=reading.is_whole, is_object=schema.get("x-kubernetes-embedded-resource") is True, is_kept=is_kept,
        is_status=reading.is_status,
    )  # fmt: skip
    if not reading.is_status:
        yield from _of_scalar(value, schema, path)
    if isinstance(value, dict):
        yield from _of_object(value, schema, path, inner)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for number, each in enumerate(value):
            yield from _of_value(each, schema["items"], f"{path}[{number}]", reading)


def _of_object(value: Object, schema: Object, path: str, reading: _FieldReading) -> Iterator[FieldProblem]:
    properties, more = _object(schema, "properties"), schema.get("additionalProperties")
    keeps = reading.is_kept or more is True or schema.get("x-kubernetes-preserve-unknown-fields") is True
    for name, each in value.items():
        place = f"{path}.{name}" if path else name
        if name in properties and isinstance(properties[name], dict):
            if reading.is_object and name == "metadata":
                continue
            is_status = reading.is_status or (name == "status" and not path)
            inner = _FieldReading(is_whole=reading.is_whole and not is_status, is_status=is_status)
            yield from _of_value(each, properties[name], place, inner)
        elif isinstance(more, dict):
            yield from _of_value(
                each, more, f"{path}[{name}]", _FieldReading(is_whole=reading.is_whole, is_status=reading.is_status)
            )
        elif not keeps and not (reading.is_object and name in _OF_EVERY_OBJECT) and not name.startswith("$"):
            yield FieldProblem(path=place, what="", nearest=nearest(name, properties), is_unknown_field=True)
    if reading.is_whole:
        for name in schema.get("required") or ():
            # The API server fills in defaults first (structural defaulting), and only then checks `required`.
            if value.get(name) is None and "default" not in _object(properties, str(name)):
                yield FieldProblem(path=f"{path}.{name}" if path else str(name), what=REQUIRED)


def _of_scalar(value: Any, schema: Object, path: str) -> Iterator[FieldProblem]:
    kind = str(schema.get("type"))
    if schema.get("x-kubernetes-int-or-string") is True:
        if not isinstance(value, str | int) or isinstance(value, bool):
            yield FieldProblem(path=path, what=f"expected a whole number or a text, got {called(value)}")
    elif kind in _TYPES and not _is_of(value, kind):
        yield FieldProblem(path=path, what=f"expected {_CALLED[kind]}, got {called(value)}")
        return
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and value not in choices:
        shown = ", ".join(map(str, choices[:10]))
        yield FieldProblem(path=path, what=f"has to be one of {shown}{', …' if len(choices) > 10 else ''}")
    for names, size in ((("minimum", "maximum"), _number_of(value)), (_SIZES.get(type(value), ()), _size_of(value))):
        for name in names if size is not None else ():
            bound = schema.get(name)
            if (
                isinstance(bound, int | float)
                and size is not None
                and (size < bound if name.startswith("min") else size > bound)
            ):
                yield FieldProblem(path=path, what=f"is beyond {name}, which is {bound}")


_SIZES: Final[Mapping[type, tuple[str, ...]]] = {
    str: ("minLength", "maxLength"), list: ("minItems", "maxItems"), dict: ("minProperties", "maxProperties"),
}  # fmt: skip


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind]) and (kind != "integer" or is_whole(value))


def _number_of(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _size_of(value: Any) -> int | None:
    return len(value) if isinstance(value, str | list | dict) else None
