"""``python -m tests.browser.screenshots``: take docs/screenshots anew, by running the browser tests that show a page."""

from __future__ import annotations

import os
import subprocess
import sys

from PIL import Image

from tests.browser.dashboard import SCREENSHOTS, SCREENSHOTS_ASKED

COLOURS = 160  # pages have few; the pictures get a third of their size, and each stays in the repository for ever


def main() -> int:
    command = [sys.executable, "-m", "pytest", "tests/browser", "-k", "screenshot or beside_todays", "-q"]
    status = subprocess.run(command, env={**os.environ, SCREENSHOTS_ASKED: "1"}, check=False).returncode
    for path in SCREENSHOTS.glob("*.png"):
        with Image.open(path) as picture:
            small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(path, optimize=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
