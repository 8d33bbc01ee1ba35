"""``python -m tests.stories [--tool headroom|COMMAND] [NAME …]``: each story's verdict beside a tool's, and a table by group.

Exit status 1 where an answer is wrong: `unknown` isn't one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from tests.stories.catalogue import GROUPS
from tests.stories.tools import TOOLS, UNKNOWN, by_command

HERE = Path(__file__).parent


def folders() -> list[Path]:
    """Every story, by name."""
    return sorted(one.parent for one in HERE.glob("*/story.json"))


def state_of(story: dict[str, Any], said: str) -> str:
    """``right``, ``not answered`` or ``wrong``."""
    return "right" if said == story["verdict"] else "not answered" if said == UNKNOWN else "wrong"


def asked_all(ask: Callable[[Path], str], names: Collection[str] = ()) -> Iterator[tuple[dict[str, Any], str]]:
    """Each story, and what the tool says of it."""
    for folder in folders():
        if not names or folder.name in names:
            yield json.loads((folder / "story.json").read_text()), ask(folder)


def main() -> int:
    given = argparse.ArgumentParser(prog="python -m tests.stories", description=__doc__)
    given.add_argument(
        "--tool", default="headroom", help="headroom, or a command that gets a story's folder and prints a verdict"
    )
    given.add_argument("names", nargs="*", help="stories; else all")
    asked = given.parse_args()
    counted: dict[str, Counter[str]] = {group: Counter() for group in GROUPS}
    for story, said in asked_all(TOOLS.get(asked.tool) or by_command(asked.tool), asked.names):
        state = state_of(story, said)
        counted[story["group"]][state] += story.get("is_counted", True)
        if state != "right":
            print(
                f"{state:12}  {story['name']}: {story['verdict']}, said {said}\n              {story['why']}  {story['link']}"
            )
    print(f"\n{'group':60} stories  right  not answered  wrong")
    for group, found in counted.items():
        print(f"{group}  {GROUPS[group]:57} {_numbers(found)}")
    whole = sum(counted.values(), Counter())
    print(f"{'all':60} {_numbers(whole)}")
    return 1 if whole["wrong"] else 0


def _numbers(found: Counter[str]) -> str:
    return f"{found.total():7}  {found['right']:5}  {found['not answered']:12}  {found['wrong']:5}"


if __name__ == "__main__":
    raise SystemExit(main())
