"""Ticks of an axis that counts things: whole numbers, each once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def whole(values: Iterable[float], few: int = 10) -> dict[str, Any]:
    """The axis' settings: below `few` things every number has its tick, else Plotly would put one at 0.5 and write it as 1 or 0."""
    return {"tickformat": ",d", "dtick": 1 if max(values, default=0) < few else None}
