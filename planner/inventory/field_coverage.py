"""How Headroom handles every field of the specs that decide a rollout.

Held against the API schema of Kubernetes 1.36 by tests/inventory/test_fields.py, so that a new field can't pass
silently; docs/rollout.md's table is made from it. Keys are the API's types; a type is listed when a field that leads to it
is modeled.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from planner.ground import typed_json
from planner.ground.data_files import table_beside


class Standing(StrEnum):
    """What becomes of a field."""

    MODELLED = "modelled"
    HARMLESS = "cannot matter"
    UNKNOWN = "verdict becomes unknown"


class Field(NamedTuple):
    standing: Standing
    why: str = ""


FIELDS: Final[Mapping[str, Mapping[str, Field]]] = {
    type_: {
        name: Field(standing, why)
        for standing, reasons in standings.items()
        for why, names in reasons.items()
        for name in names
    }
    for type_, standings in typed_json.decode(
        table_beside(__name__, "field_coverage.json"), dict[str, dict[Standing, dict[str, list[str]]]]
    ).items()
}
"""Type → field → what becomes of it; in ``field_coverage.json`` by type, standing and reason."""
