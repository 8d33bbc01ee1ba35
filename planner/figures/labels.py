"""Names out of a cluster, as text of a figure."""

from __future__ import annotations

import html

from planner.words import printable


def plain(text: str) -> str:
    """`text` shown as it is, in one line: Plotly reads a few HTML tags in labels, a name must never become one."""
    return html.escape(printable(text, one_line=True), quote=False)
