"""The stories stand as they are made, and the table in the documents is what came of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.stories import table
from tests.stories.__main__ import HERE, asked_all, folders, state_of
from tests.stories.catalogue import ALL
from tests.stories.making import files
from tests.stories.tools import TOOLS, by_command


def test_there_are_a_hundred() -> None:
    assert len(ALL) >= 100
    assert [one.name for one in folders()] == sorted(one.name for one in ALL)


@pytest.mark.parametrize("story", ALL, ids=lambda one: one.name)
def test_a_folder_is_as_it_is_made(story: table.Story) -> None:
    made = files(story)
    assert {one.name for one in (HERE / story.name).iterdir()} == set(made)
    assert all((HERE / story.name / name).read_text() == content for name, content in made.items())


def test_the_table_is_what_came_of_them() -> None:
    """Nothing that is answered is wrong, and a story that was answered stays answered."""
    found = [(story, said) for story, said in asked_all(TOOLS["headroom"])]
    assert [(story["name"], said) for story, said in found if state_of(story, said) == "wrong"] == []
    written = (ROOT / table.PAGE).read_text(encoding="utf-8")
    assert table.with_table(written, found) == written, "run `make docs`"


def test_another_tool_is_a_command(tmp_path: Path) -> None:
    tool = tmp_path / "tool.py"
    tool.write_text("import sys; print('stuck' if 'a03' in sys.argv[-1] else '')")
    ask = by_command(f"{sys.executable} {tool}")
    said = {
        story["name"]: state_of(story, word or "unknown")
        for story, word in asked_all(ask, ["a03-one-replica-one-gpu", "a33-recreate"])
    }
    assert said == {"a03-one-replica-one-gpu": "right", "a33-recreate": "not answered"}
