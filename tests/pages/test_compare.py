"""The Compare page: nothing to compare with, and this cluster after changes."""

from __future__ import annotations

from tests.pages.visiting import said, visit


def test_it_says_what_to_give_first() -> None:
    assert "Nothing to compare with" in said(visit("compare", cluster="ml-platform"))


def test_a_link_with_changes_shows_what_differs() -> None:
    text = said(visit("compare", changes="drain:pool/gpu-t4"))
    assert "1 workload became stuck" in text
    assert "From demo to demo, after drain:pool/gpu-t4" in text.replace("\\", "")
