"""What axe-core finds on a page that our theme and elements can change.

What is left out is a rule and the one element of Streamlit's that breaks it, each looked at and found in its own markup: the
same rule broken elsewhere is ours.
"""

from __future__ import annotations

from typing import Any, Final

from axe_playwright_python.sync_playwright import Axe

from tests.browser.dashboard import Visitor

STREAMLITS_OWN: Final = {
    "presentation-role-conflict": "stFileUploaderDropzone",  # role="presentation" on what takes the focus
}
"""Rule → the test id of the element that breaks it, or that holds what does. No argument of its function changes that."""
_WITHIN: Final = "([target, id]) => Boolean(document.querySelector(target)?.closest(`[data-testid='${id}']`))"


def accessibility_faults(visitor: Visitor) -> list[str]:
    """A line each: the rule, the element's HTML and what is wrong with it."""
    options = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}}
    found: Any = Axe().run(visitor.page, options=options).response["violations"]
    return [
        f"{one['id']}: {node['html'][:120]} ({(node.get('any') or [{}])[0].get('message', '')[:120]})"
        for one in found
        for node in one["nodes"]
        if not _is_streamlits(visitor, one["id"], node["target"][0])
    ]


def _is_streamlits(visitor: Visitor, rule: str, target: str) -> bool:
    return rule in STREAMLITS_OWN and bool(visitor.page.evaluate(_WITHIN, [target, STREAMLITS_OWN[rule]]))
