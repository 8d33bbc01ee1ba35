"""Results as documents for programs: JSON with a version in it, the same from the page and from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from planner.results import RolloutResult
from planner.scenario import Scenario

ROLLOUT_FORMAT = "headroom.rollout/v1"


def rollout_document(result: RolloutResult, *, scenario: Scenario, digest: str, source: str) -> dict[str, Any]:
    """What was asked, of which snapshot, and the whole answer.

    Amounts are integers in the planner's units (millicores, bytes, devices), times are seconds.
    """
    return {
        "format": ROLLOUT_FORMAT,
        "cluster": {"source": source, "digest": digest},
        "scenario": plain(scenario),
        "result": plain(result),
    }


def plain(value: Any) -> Any:
    """A record as JSON knows it: fields by name, enums by value, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
