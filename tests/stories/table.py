"""docs/stories.md: of each group how many stories are answered, and of how many the case is only a part of what the thread asks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.stories.__main__ import state_of
from tests.stories.catalogue import GROUPS, PARTS, UNCOUNTED, Story

PAGE = "docs/stories.md"
_COLUMNS = {
    "right": "right",
    "right in part": "right, of a part of the thread's question",
    "not answered": "not answered",
    "wrong": "wrong",
}
__all__ = ["PAGE", "Story", "with_table"]


def with_table(text: str, found: Sequence[tuple[dict[str, Any], str]]) -> str:
    """The page with its table as it is now."""
    counted: dict[str, Counter[str]] = {group: Counter() for group in GROUPS}
    for story, said in found:
        if story["name"] in UNCOUNTED:
            continue
        state = state_of(story, said)
        counted[story["group"]][f"{state} in part" if story["name"] in PARTS and state == "right" else state] += 1
    head = ["group", "stories", *_COLUMNS.values()]
    lines = [f"| {' | '.join(head)} |", f"| --- {'| ---: ' * (len(head) - 1)}|"]
    lines += [_line(f"{group}: {words}", counted[group]) for group, words in GROUPS.items()]
    lines.append(_line("all", sum(counted.values(), Counter())))
    lacking = [f"`{story['name']}`" for story, said in found if state_of(story, said) != "right"]
    lines += ["", f"Not answered, or wrong: {', '.join(lacking)}."]
    names = ", ".join(f"`{name}`" for name in sorted(UNCOUNTED))
    lines += ["", f"Not counted, since the thread asks something else: {names}."]
    made = "\n".join(["", *lines, ""])
    return re.sub(r"(?<=<!-- table -->\n).*?(?=\n<!-- end of table -->)", lambda _: made, text, flags=re.DOTALL)


def _line(words: str, counted: Counter[str]) -> str:
    numbers = [counted.total(), *(counted[state] for state in _COLUMNS)]
    return f"| {words} | {' | '.join(map(str, numbers))} |"
