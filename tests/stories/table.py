"""docs/stories.md: of each group how many stories are answered, by whom."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.stories.__main__ import state_of
from tests.stories.catalogue import ALL, GROUPS, Story

PAGE = "docs/stories.md"
PROMISED = {"cluster-capacity": ("fits",), "kubectl drain --dry-run=server": ("drain",)}
"""What a tool's documentation says that it answers: kinds of question."""

__all__ = ["PAGE", "Story", "with_table"]


def with_table(text: str, found: Sequence[tuple[dict[str, Any], str]]) -> str:
    """The page with its table as it is now."""
    counted: dict[str, Counter[str]] = {group: Counter() for group in GROUPS}
    for story, said in found:
        counted[story["group"]][state_of(story, said)] += 1
    head = [
        "group",
        "stories",
        "Headroom: right",
        "not answered",
        "wrong",
        *(f"{name} (by its documents)" for name in PROMISED),
    ]
    lines = [f"| {' | '.join(head)} |", f"| --- {'| ---: ' * (len(head) - 1)}|"]
    for group, words in GROUPS.items():
        lines.append(_line(f"{group}: {words}", counted[group], [one for one in ALL if one.group == group]))
    lines.append(_line("all", sum(counted.values(), Counter()), ALL))
    lacking = [f"`{story['name']}`" for story, said in found if state_of(story, said) != "right"]
    lines += ["", f"Not answered, or wrong: {', '.join(lacking)}."]
    made = "\n".join(["", *lines, ""])
    return re.sub(r"(?<=<!-- table -->\n).*?(?=\n<!-- end of table -->)", lambda _: made, text, flags=re.DOTALL)


def _line(words: str, counted: Counter[str], stories: Sequence[Story]) -> str:
    promised = [sum(one.question in kinds for one in stories) for kinds in PROMISED.values()]
    numbers = [counted.total(), counted["right"], counted["not answered"], counted["wrong"], *promised]
    return f"| {words} | {' | '.join(map(str, numbers))} |"
