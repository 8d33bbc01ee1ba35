"""The glossary of the pages and docs/glossary.md, from the file beside this module. It explains every word of a verdict
and of a reason (`planner.rollout.verdict_wording`).
"""

from __future__ import annotations

import json
from typing import Final

from planner.ground.data_files import table_beside

TERMS: Final[dict[str, str]] = json.loads(table_beside(__name__, "glossary.json"))
"""Every term by the alphabet, and what it means in a sentence or two, for a user who doesn't run Kubernetes."""


def as_markdown() -> str:
    """The terms as a list in Markdown."""
    return "\n".join(f"- **{word}**: {meaning}" for word, meaning in TERMS.items())
