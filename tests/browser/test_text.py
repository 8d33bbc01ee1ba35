"""Text out of a cluster, in a real browser: nothing of it comes alive, wherever Markdown is read."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from tests.running_app import running_app, scripted

TEXTS = (
    "https://evil.example/x", "see www.evil.example", "bob@evil.example", ":material/home:", ":material_home:", ":smile:", ":+1:",
    ":red[x]", ":blue-badge[x]", "![a](https://evil.example/x.png)", "[a](https://evil.example)", "<b>x</b>", "<img src=x>", "$x^2$",
    "# a", "a\n\nb", "&lt;b&gt;", "`a`", "**a**", "~~a~~", "| a | b |", "- a", "1. a", "> a", ":streamlit:", "http://evil.example:80/a",
)  # fmt: skip
SCRIPT = f"""
import streamlit as st
from planner.ground.words import literal
for text in {TEXTS!r}:
    shown = literal(text)
    st.markdown(f"x {{shown}}")
    st.caption(f"x {{shown}}")
    st.warning(f"x {{shown}}")
    st.metric(f"x {{shown}}", 1)
    st.badge(f"x {{shown}}")
st.title("done")
"""


def test_text_is_text(browser: Browser, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    with running_app(tmp_path / "server.log", scripted(script)) as app:
        page = browser.new_context().new_page()
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        page.goto(f"{app.url}/")
        page.get_by_role("heading", name="done").wait_for(timeout=120_000)
        main = page.get_by_test_id("stMain")
        for selector in (
            "a[href*=evil]",
            "img",
            "b",
            "strong",
            "em",
            "del",
            "table",
            "blockquote",
            ".katex",
            "li",
            "p code",
        ):
            assert main.locator(f'[data-testid="stMarkdownContainer"] {selector}').count() == 0, selector
        icons = main.locator('[data-testid="stMarkdownContainer"] [data-testid="stIconMaterial"], [translate="no"]')
        assert icons.count() == 0
        assert not [url for url in requested if "evil" in url]
        words = (main.text_content() or "").replace("\u2060", "")
        for text in TEXTS:
            assert words.count(" ".join(text.split())) >= 3, text  # of five: labels of metrics come late
        page.context.close()
