"""What axe-core finds on every page, light, dark and on a phone: nothing that our theme and elements can change.

What Streamlit's own markup does wrong is left out by its rule, each with what it is about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.dashboard import Visitor, pages

STREAMLITS_OWN = {
    "list": "the navigation's sections are lists within lists",
    "listitem": "the same",
    "presentation-role-conflict": "the file uploader's drop zone",
    "region": "the header's menu is outside of the landmarks",
    "landmark-unique": "its main blocks",
    "aria-allowed-role": "its segmented controls and tables",
    "nested-interactive": "its file uploader and select boxes",
    "aria-input-field-name": "its select boxes' lists",
    "aria-required-children": "its tables, drawn on a canvas",
    "scrollable-region-focusable": "its tables' and charts' scrollers",
    "svg-img-alt": "Plotly's drawing, inside a figure that has its name",
}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
@pytest.mark.parametrize(("path", "title"), pages(), ids=[title for _, title in pages()])
def test_axe_finds_nothing_of_ours(
    path: str, title: str, scheme: str, width: int, visit: Callable[..., Visitor]
) -> None:
    visitor = visit(width=width, scheme=scheme)
    visitor.open(path)
    options = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}}
    found: Any = Axe().run(visitor.page, options=options).response["violations"]
    ours = [
        f"{one['id']}: {node['html'][:120]} ({(node.get('any') or [{}])[0].get('message', '')[:120]})"
        for one in found
        if one["id"] not in STREAMLITS_OWN
        for node in one["nodes"]
    ]
    assert not ours, f"{title}:\n" + "\n".join(ours[:8])
