"""``python -m tests.stories.making`` writes each story as a folder that any tool can read: story.json, cluster.json, change.json, node-pools.json."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.stories.catalogue import ALL, PARTS, UNCOUNTED, Story

HERE = Path(__file__).parent


def files(story: Story) -> dict[str, str]:
    """Name → content."""
    said = {
        "name": story.name, "group": story.group, "link": f"https://github.com/{story.link.replace('#', '/issues/')}", "why": story.why,
        "question": story.question, **({"about": story.about} if story.about else {}),
        **({"thread_asks_too": PARTS[story.name]} if story.name in PARTS else {}),
        **({"is_counted": False} if story.name in UNCOUNTED else {}), "verdict": story.verdict,
        "made": "by tests/stories/catalogue.py; no cluster of anybody's",
    }  # fmt: skip
    found = {"story.json": said, "cluster.json": _list(story.cluster)}
    if story.change:
        found["change.json"] = _list(story.change)
    if story.pools is not None:
        found["node-pools.json"] = story.pools
    return {
        name: json.dumps(content, indent=1, sort_keys=name != "story.json") + "\n" for name, content in found.items()
    }


def _list(items: list[Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": items}


if __name__ == "__main__":
    for folder in HERE.iterdir():
        if (folder / "story.json").exists():
            shutil.rmtree(folder)
    for story in ALL:
        (HERE / story.name).mkdir()
        for name, content in files(story).items():
            (HERE / story.name / name).write_text(content)
