"""What axe-core finds on every page, light, dark and on a phone: nothing that our theme and elements can change.

What is left out is a rule and the one element of Streamlit's that breaks it, each looked at and found in its own markup: the
same rule broken elsewhere is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.dashboard import Visitor, pages

STREAMLITS_OWN: Final = {
    "presentation-role-conflict": "stFileUploaderDropzone",  # role="presentation" on what takes the focus
}
"""Rule → the test id of the element that breaks it, or that holds what does. No argument of its function changes that."""
_WITHIN: Final = "([target, id]) => Boolean(document.querySelector(target)?.closest(`[data-testid='${id}']`))"


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
        for node in one["nodes"]
        if not _is_streamlits(visitor, one["id"], node["target"][0])
    ]
    assert not ours, f"{title}:\n" + "\n".join(ours[:8])


def _is_streamlits(visitor: Visitor, rule: str, target: str) -> bool:
    return rule in STREAMLITS_OWN and bool(visitor.page.evaluate(_WITHIN, [target, STREAMLITS_OWN[rule]]))
