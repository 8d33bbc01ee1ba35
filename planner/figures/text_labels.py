"""Makes names of a cluster safe and short as text of a figure."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Final

from planner.ground.words import printable, shortened

LONGEST: Final = 26  # letters of a name beside a bar: more would take a phone's room from the bars


def plain(text: str) -> str:
    """`text` shown as it is, in one line: Plotly reads a few HTML tags in labels, a name must never become one."""
    return html.escape(printable(text, one_line=True), quote=False)


def short(names: Sequence[str]) -> list[str]:
    """The names with room for bars beside them, and still told apart: without their middle, else without what comes after
    their first dot (``ip-10-0-3-17.eu-west-1.compute.internal``), else whole."""
    hosts = [name.partition(".")[0] for name in names]
    for tried in (names, hosts):
        labels = [shortened(name, LONGEST) for name in tried]
        if len(set(labels)) == len(set(names)):
            return labels
    return list(names)


def ticks(names: Sequence[str]) -> dict[str, Any]:
    """For an axis with these names as categories, each `plain`: `short`, and whole where one points."""
    if all(len(name) <= LONGEST for name in names):
        return {}
    return {
        "tickmode": "array",
        "tickvals": [plain(name) for name in names],
        "ticktext": [plain(name) for name in short(names)],
    }
