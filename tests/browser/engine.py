"""The browser the tests drive: the system's Chromium or Chrome, else the one Playwright can download."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

SYSTEM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MACOS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
MISSING = (
    "No browser: neither Chromium nor Chrome is installed, and Playwright's own could not be had. "
    "Install one (Debian: apt install chromium) or run: .venv/bin/playwright install chromium"
)


def executable(playwright: Playwright) -> str | None:
    """Where the browser is: the system's, else Playwright's own, else None."""
    candidates = [*map(shutil.which, SYSTEM), *MACOS, playwright.chromium.executable_path]
    return next((path for path in candidates if path and Path(path).exists()), None)


def launch(playwright: Playwright, path: str) -> Browser:
    """A headless browser; root (a container) can't use Chromium's sandbox."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if is_root else [])
