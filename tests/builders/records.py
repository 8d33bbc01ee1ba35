"""The planner's records in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.ground.quantity import parse
from planner.kubernetes.object_records import EMPTY, Amounts, FrozenMap, Node


def amounts(given: Mapping[str, str | int] | None = None, /, **more: str | int) -> Amounts:
    """Quantities as people write them: ``amounts(cpu="500m", memory="1Gi")``."""
    found = {**(given or {}), **more}
    return FrozenMap({name: parse(text, name) for name, text in found.items()}) if found else EMPTY


def node(name: str = "node", has: Amounts | None = None, labels: Mapping[str, str] | None = None, **more: Any) -> Node:
    """A node whose capacity and allocatable are `has`: 8 CPUs, 32 GiB and 110 pods where nothing is said."""
    there = amounts(cpu="8", memory="32Gi", pods="110") if has is None else has
    given: dict[str, Any] = {"capacity": there, "allocatable": there} | more
    return Node(name=name, labels=FrozenMap({key: value for key, value in (labels or {}).items() if value}), **given)
