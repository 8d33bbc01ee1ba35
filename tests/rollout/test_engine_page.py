"""docs/engine.md: what it shows is what the code says."""

from __future__ import annotations

import doctest
import re

import pytest

from tests.architecture.tree import ROOT

PAGE = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")


def test_what_the_page_shows_is_what_the_code_says(capsys: pytest.CaptureFixture[str]) -> None:
    plain = "\n".join("" if line.startswith("```") else line for line in PAGE.splitlines())
    shown = doctest.DocTestParser().get_doctest(plain, {}, "engine.md", "docs/engine.md", 0)
    assert len(shown.examples) > 30
    failed = doctest.DocTestRunner().run(shown).failed
    assert not failed, capsys.readouterr().out


def test_every_module_it_names_is_there() -> None:
    rollout = {path.name for path in (ROOT / "planner" / "rollout").rglob("*.py")}
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert len(named) > 15
    assert {name.rpartition("/")[2] for name in named} <= rollout


def test_newcomers_find_the_page() -> None:
    assert "(engine.md)" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert "docs/engine.md" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
