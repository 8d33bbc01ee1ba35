"""Key figures of the largest clusters in a real browser: none is cut, on a wide screen or a phone."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from tests.running_app import running_app, scripted

SCRIPT = """
import streamlit as st
from planner.ui import answer_view
st.set_page_config(layout="wide")
st.title("done")
with st.grid(min_column_width=150):
    answer_view.tile("Could be rolled out", 122_293, "of 123,125")
    answer_view.tile("GPUs free", 112, "of 105,616")
    answer_view.tile("GPUs overcommitted", 11_208)
    answer_view.tile("The bill", "$27,690,156")
    answer_view.tile("Takes about", "12 min 30 s")
    st.metric("cut", "122,293 of 123,125", border=True)
"""
CUT = """() => [...document.querySelectorAll('[data-testid="stMetric"]')]
  .filter(tile => [...tile.querySelectorAll('*')].some(one => one.clientWidth && one.scrollWidth > one.clientWidth + 1))
  .map(tile => tile.innerText.split('\\n')[0])"""


def test_no_figure_is_cut(browser: Browser, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    with running_app(tmp_path / "server.log", scripted(script)) as app:
        page = browser.new_page()
        for width in (1360, 1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{app.url}/")
            page.get_by_text("122,293 of 123,125").wait_for(timeout=120_000)
            assert page.evaluate(CUT) == ["cut"], f"only what isn't a tile, {width} pixels wide"
        page.close()
