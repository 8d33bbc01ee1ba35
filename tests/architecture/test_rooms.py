"""Who may know what: import-linter holds the order of the rooms, `tests.house.rooms` what it can't see; and how the app is found."""

from __future__ import annotations

from streamlit.web.server.app_discovery import discover_asgi_app

from tests.architecture.tree import ROOT


def test_streamlit_run_finds_the_app_and_not_the_folder_of_pages() -> None:
    """It looks for the assignment in the source; without it ``pages/`` is run as an old-style multipage app."""
    found = discover_asgi_app(ROOT / "app.py")
    assert found.is_asgi_app
    assert found.app_name == "app"
