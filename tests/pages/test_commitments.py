"""The account's commitments on the Costs page: given once, they count on every page of the session."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st

from planner.pricing.owned_commitments import parse_commitments
from planner.ui import session_prices
from planner.ui.uploads import ReadFiles
from tests.pages.visiting import said, visit
from tests.questions.test_owned_commitments import EIGHT, HEAD


def test_commitments_of_the_session_count_in_the_bill() -> None:
    app = visit("costs")
    assert "unused commitment" not in said(app)
    owned = parse_commitments(HEAD + EIGHT, where="owned.csv")
    app.session_state[f"{session_prices.COMMITMENTS}-kept"] = ReadFiles(names=("owned.csv",), of=None, value=owned)
    app.run()
    assert not app.exception
    words = said(app)
    assert "seoul: 8 nodes of n1-standard-8 in asia-northeast3, commitment-3y" in words
    assert "CommitmentDiscountStatus" not in words
    assert "$36,679 a month" in words  # 36,971.90 − 6 × 730 h × ($0.60026 − $0.40) + 2 × 730 h × $0.40


def test_the_dashboard_may_be_started_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "owned.csv"
    file.write_text(HEAD + EIGHT)
    monkeypatch.setenv("HEADROOM_COMMITMENTS", str(file))
    st.cache_resource.clear()
    try:
        assert "seoul: 8 nodes" in said(visit("costs"))
    finally:
        st.cache_resource.clear()
