"""Processes beside this one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from planner.questions.question import Inputs
from planner.serve.metrics_process import Teller
from tests.builders.objects import node, snapshot


def test_the_page_that_was_visited_last_is_not_run_in_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit puts the page that runs into `sys.modules` as ``__main__`` and leaves it there."""
    page, trace = tmp_path / "page.py", tmp_path / "it-ran"
    page.write_text(f"open({str(trace)!r}, 'w').close()\nraise SystemExit(1)\n", encoding="utf-8")
    main = ModuleType("__main__")
    main.__file__ = str(page)
    monkeypatch.setitem(sys.modules, "__main__", main)
    teller = Teller(Inputs())
    try:
        assert teller.metrics(snapshot(node("gpu-0", gpus=1))).families
    finally:
        teller.stop()
    assert not trace.exists()
