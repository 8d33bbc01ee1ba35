"""docs/schemas: a JSON Schema of each question's document, made from the records of its settings and its answer.

A version may get fields later, so that a reader's schema lets them pass; `closed` is what today's documents have to keep.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from planner.cli.prices import PRICES_FORMAT
from planner.ground.records import WRITTEN_NAME
from planner.ground.setting_declarations import settings_of
from planner.ground.words import Text
from planner.kubernetes.object_records import FrozenMap
from planner.pricing.price_book_listing import WAYS
from planner.questions import INDEX, question_called

FOLDER = Path("docs/schemas")
_PLAIN = {str: "string", Text: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_DIGEST = {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}
_CALLED_AGAIN = {"planner.inventory.patch_and_undo": "Applied"}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[Path, str]:
    """File → its text."""
    made = {one.format: document_schema(one) for one in map(question_called, INDEX)}
    made[PRICES_FORMAT] = _prices()
    return {path_of(name): json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in made.items()}


def path_of(document_format: str) -> Path:
    """``headroom.rollout/v1`` → docs/schemas/rollout.v1.json."""
    return FOLDER / f"{document_format.removeprefix('headroom.').replace('/', '.')}.json"


def document_schema(question: Any) -> dict[str, Any]:
    """The schema of the document of one `Question`."""
    known = _Definitions()
    cluster = {"source": _is("string"), "digest": _is("string"), "taken_at": _is("number")}
    body = {
        "format": {"const": question.format},
        "clusters": {"type": "array", "minItems": 1, "items": _object(cluster)},
        "settings": known.of(question.settings),
        "result": {"anyOf": [known.of(get_type_hints(question.answer)["return"]), _is("null")]},
        "not_seen": {
            "type": "array",
            "items": _object({"kind": _is("string"), "state": _is("string"), "lacking": _is("string")}),
        },
        "also": {"type": "array", "items": {"type": "object", "required": ["format"]}},
    }
    return {"$schema": _DIALECT, "title": question.format, **_object(body), "$defs": known.made}


class _Definitions:
    """Records by their names, each once."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}
        self._names: dict[type[Any], str] = {}

    def of(self, hint: Any) -> dict[str, Any]:
        origin, inner = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            return {"anyOf": [self.of(one) for one in inner]}
        if origin is tuple:
            return self._tuple(inner)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[-1])}
        if isinstance(origin, type) and issubclass(origin, Sequence):
            return {"type": "array", "items": self.of(inner[0])}
        if hint in _PLAIN:
            return _is(_PLAIN[hint])
        assert isinstance(hint, type), f"a document can't hold {hint}"
        if issubclass(hint, Enum):
            return {"enum": [one.value for one in hint]}
        if hint is FrozenMap:
            return _is("object")
        assert is_dataclass(hint), f"a document can't hold {hint}"
        return self._record(hint)

    def _tuple(self, inner: tuple[Any, ...]) -> dict[str, Any]:
        if len(inner) == 2 and inner[1] is Ellipsis:
            return {"type": "array", "items": self.of(inner[0])}
        return {"type": "array", "prefixItems": [self.of(one) for one in inner], "items": False}

    def _record(self, record: type[Any]) -> dict[str, Any]:
        if record not in self._names:
            name = record.__name__
            if (
                name in self.made
            ):  # two rooms may call a record the same; what is published doesn't follow a module's name
                name = f"{_CALLED_AGAIN[record.__module__]}{name}"
                assert name not in self.made, name
            self._names[record] = name
            self.made[name] = {}
            hints = get_type_hints(record)
            declared: Any = record
            private = {one.path[0] for one in settings_of(declared) if one.is_private and len(one.path) == 1}
            said = _object(
                {
                    one.metadata.get(WRITTEN_NAME, one.name): _DIGEST
                    if one.name in private
                    else self.of(hints[one.name])
                    for one in fields(record)
                }
            )
            first = (record.__doc__ or "").partition("\n\n")[0].strip()
            self.made[name] = ({"description": " ".join(first.split())} if first and not first.startswith(f"{record.__name__}(") else {}) | said  # fmt: skip
        return {"$ref": f"#/$defs/{self._names[record]}"}


def closed(schema: Any) -> Any:
    """The same schema, refusing what it doesn't name."""
    if isinstance(schema, dict):
        more = {"additionalProperties": False} if "properties" in schema and "required" in schema else {}
        return {key: closed(value) for key, value in schema.items()} | more
    return [closed(one) for one in schema] if isinstance(schema, list) else schema


def _is(kind: str) -> dict[str, Any]:
    return {"type": kind}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def _prices() -> dict[str, Any]:
    """The list of prices is no question of a cluster; its rows are those of the CSV."""
    some: dict[str, Any] = {"type": ["number", "null"]}
    row: dict[str, Any] = {"name": _is("string"), "region_id": _is("string"), "vcpus": some, "memory_gib": some}
    row |= {"gpu_model": _is("string"), "gpu_count": _is("integer")}
    row |= {f"{way.value.replace('-', '_')}_usd_per_hour": some for way in WAYS}
    row |= {"on_demand_usd_per_month": some, "spot_discount": some, "is_sold_on_demand": _is("boolean")}
    row |= {"as_of": _is("string"), "notes": {"type": "array", "items": _is("string")}}
    body = {
        "format": {"const": PRICES_FORMAT},
        "as_of": _is("string"),
        "source": _is("string"),
        "billing_currency": _is("string"),
        "discounts": {"type": "object", "additionalProperties": _is("number")},
        "prices": {"type": "array", "items": _object(row)},
    }
    return {"$schema": _DIALECT, "title": PRICES_FORMAT, **_object(body)}
