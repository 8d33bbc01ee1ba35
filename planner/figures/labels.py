"""Names out of a cluster, as text of a figure."""

from __future__ import annotations

import html


def plain(text: str) -> str:
    """`text` shown as it is: Plotly reads a few HTML tags in labels, a name must never become one."""
    return html.escape(text, quote=False)
