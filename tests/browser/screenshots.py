"""``python -m tests.browser.screenshots``: take docs/screenshots anew, by running the browser tests that show a page."""

from __future__ import annotations

import os
import sys

import pytest

from tests.browser.dashboard import SCREENSHOTS_ASKED

if __name__ == "__main__":
    os.environ[SCREENSHOTS_ASKED] = "1"
    sys.exit(pytest.main(["tests/browser", "-k", "screenshot", "-q"]))
