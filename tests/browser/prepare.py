"""``python -m tests.browser.prepare``: a browser for the tests, downloaded by Playwright where the system has none."""

from __future__ import annotations

import os
import subprocess
import sys

from playwright.sync_api import sync_playwright

from tests.browser import engine


def main() -> None:
    with sync_playwright() as playwright:
        found = engine.executable(playwright)
    if found is None:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
        with sync_playwright() as playwright:
            found = engine.executable(playwright)
    if found is None:
        sys.stderr.write(f"{engine.MISSING}\n")
        sys.exit(1 if os.environ.get("CI") == "true" else 0)


if __name__ == "__main__":
    main()
