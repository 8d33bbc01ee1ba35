"""The running dashboard and one visitor of it: what the browser tests talk to."""

from __future__ import annotations

import ast
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, WebSocket, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ALL_DRAWN = """() => {
  const main = document.querySelector('[data-testid="stMain"]');
  const seen = what => [...main.querySelectorAll(what)]
    .filter(one => one.checkVisibility() && one.getBoundingClientRect().top < window.innerHeight);
  return !seen('[data-testid="stSkeleton"]').length
    && seen('[data-testid="stDataFrame"]').every(table => table.querySelector('[role="columnheader"]'))
    && seen('[data-testid="stVegaLiteChart"]').every(chart => chart.querySelector('svg, canvas'));
}"""
"""Whether the tables and charts in the window are drawn, at its width: each is when it comes into sight."""
WITHIN_WIDTH = """() => {
  const main = document.querySelector('[data-testid="stMain"]');
  return document.documentElement.scrollWidth <= window.innerWidth && main.scrollWidth <= main.clientWidth;
}"""
"""Whether nothing makes the page wider than the window."""
AT_REST = """() => document.getAnimations()
  .every(one => one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)"""
"""Whether nothing moves that comes to an end: an expander that opens takes half a second and moves what is below it."""
ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "docs" / "screenshots"  # what the documents show
OUTPUT = Path(__file__).parent / "output"  # for a person to look at, not kept
SCREENSHOTS_ASKED = "HEADROOM_SCREENSHOTS"
_ENDED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
ANSWER_MS = 240_000
"""How long anything is waited for: no test here asserts a time, and the first question to a crowded cluster takes as long as the
machine is busy."""
WIDTH_MS = 30_000
"""How long a page may be too wide until it counts as too wide."""


def rooms() -> dict[str, list[tuple[str, str]]]:
    """Room → (path, title) of its views, as the router's table has them; the home page's path is empty, and what stands in no
    room is under ""."""
    tree = ast.parse((ROOT / "pages" / "_router.py").read_text(encoding="utf-8"))
    table = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "PAGES"
    )
    return {
        room: [("" if file == "overview.py" else Path(file).stem, title) for file, title, *_ in views]
        for room, views in table.items()
    }


def heading(path: str) -> re.Pattern[str]:
    """The first heading of a page: its room, a workload's name, or the page's own where it stands in no room."""
    room, title = next((room, title) for room, views in rooms().items() for one, title in views if one == path)
    return re.compile(r"^\S+/\S+$" if path == "rollout" else f"^{room or title}$")


def pages() -> list[tuple[str, str]]:
    """(path, title) of every page."""
    return [view for views in rooms().values() for view in views]


class Visitor:
    """One browser window on the dashboard. It remembers what must never happen: errors and requests to elsewhere."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        self._ears: dict[Any, Callable[[Any], None]] = {
            "console": lambda message: self._hear(message.type, message.text, message.location),
            "pageerror": lambda error: self.complaints.append(f"page error: {error}"),
            "request": lambda request: self._see(request.url),
            "websocket": self._listen,
        }
        for event, ear in self._ears.items():
            page.on(event, ear)
        self._asked = 0  # runs of the script that this window has asked for
        self._settled = 0  # of them those asked for before the last time that it had settled
        self._ended = 0  # when the last run ended: how many had been asked for

    def leave(self) -> None:
        """Nothing of this visitor stays in the window; what it has read of Streamlit's own files does."""
        for event, ear in self._ears.items():
            self.page.remove_listener(event, ear)
        if self.page.url.startswith(self.url):
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.goto("about:blank")
        self.page.context.clear_cookies()

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)

    def _sent(self, frame: str | bytes) -> None:
        if isinstance(frame, bytes) and BackMsg.FromString(frame).HasField("rerun_script"):
            self._asked += 1

    def _received(self, frame: str | bytes) -> None:
        told = ForwardMsg.FromString(frame) if isinstance(frame, bytes) else ForwardMsg()
        if told.HasField("script_finished") and told.script_finished in _ENDED:
            self._ended = self._asked

    def _hear(self, kind: str, text: str, location: Any) -> None:
        if kind == "error":
            self.complaints.append(f"console: {text} {location}")

    def _see(self, url: str) -> None:
        if not url.startswith((self.url, self.url.replace("http", "ws"), "data:", "blob:")):
            self.complaints.append(f"request to elsewhere: {url}")

    def open(self, path: str = "") -> None:
        """Go to a page of the dashboard, given its path and query, and wait until it is all there."""
        self.page.goto(f"{self.url}/{path}")
        self.settle()

    def settle(self) -> None:
        """Wait until the script has run to its end, nothing is stale, every part of the page is there, and none moves.

        A button that moves between a click's two halves isn't clicked.
        """
        self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=ANSWER_MS)
        self.page.wait_for_selector('[data-testid="stMain"] :is(h1, [data-testid="stAlert"])', timeout=ANSWER_MS)
        assert not self.page.get_by_text("Our mistake").count(), "the page failed: see the server's log"
        expect(self.page.locator('[data-stale="true"]')).to_have_count(0)
        skeletons = self.page.locator('[data-testid="stMain"] [data-testid="stSkeleton"]')
        expect(skeletons).to_have_count(0)  # parts whose code the browser is still fetching
        self.page.wait_for_function(AT_REST, timeout=ANSWER_MS)
        self._settled = self._asked

    def room(self, name: str) -> Locator:
        """The link to a room, in the sidebar."""
        link = self.page.get_by_test_id("stSidebar").get_by_test_id("stPageLink")
        return link.filter(has_text=re.compile(rf"{name}$")).first

    def view(self, title: str) -> Locator:
        """The link to a view of the room that one is in."""
        return self.page.locator(".st-key-views").get_by_test_id("stPageLink").filter(has_text=re.compile(rf"{title}$"))

    def go(self, title: str) -> int:
        """To a page, as people go: its room, then its view; returns the clicks it took."""
        room, views = next((name, views) for name, views in rooms().items() if title in {one for _, one in views})
        first = views[0][1]
        steps = [(self.room(room), first), *([(self.view(title), title)] if title != first else [])]
        for link, called in steps:
            self.page.keyboard.press("Escape")  # a page that draws itself anew every second may keep a tooltip open
            link.click()
            self.page.mouse.move(700, 5)  # its tooltip may lie over what is clicked next
            here = self.view(called) if len(views) > 1 else self.room(room)
            expect(here.locator("strong").filter(visible=True).first).to_be_visible()
            self.settle()
        return len(steps)

    def main(self) -> Locator:
        return self.page.get_by_test_id("stMain")

    def fill(self, label: str, text: str) -> None:
        """Type into the text or number field named `label` and wait for the answer."""
        field = self.page.get_by_label(label, exact=True).first
        field.fill(text)
        field.press("Enter")
        self.answered()

    def choose(self, label: str, option: str) -> None:
        """Open a select box by the keyboard, type, and take the option.

        A run that ends meanwhile draws the box anew and closes its list, so it is opened again until the option is taken.
        """
        self.settle()
        box = self.page.get_by_role("combobox", name=label, exact=True)
        wanted = self.page.get_by_role("option", name=option, exact=True)
        for _ in range(6):
            box.focus()
            box.press("ArrowDown")
            box.fill(option)
            try:
                wanted.click(timeout=5_000)
                break
            except PlaywrightTimeoutError:
                box.press("Escape")
                self.settle()
        expect(box).to_have_value(option)
        self.answered()

    def answered(self) -> None:
        """Wait for the run that an input set off: one that was asked for since the page had settled, to its end."""
        deadline = time.monotonic() + ANSWER_MS / 1000
        while self._ended <= self._settled:
            assert time.monotonic() < deadline, "no input set off a run, or it didn't end"
            self.page.wait_for_timeout(20)  # what the window sends and hears is told meanwhile
        self.settle()

    def is_healthy(self) -> None:
        """No exception, no mistake of ours, nothing heard or seen that must not be."""
        expect(self.page.get_by_test_id("stException")).to_have_count(0)
        expect(self.page.get_by_text("Our mistake")).to_have_count(0)
        assert self.complaints == []

    def is_within_width(self) -> None:
        """Nothing makes the page wider than the window, once charts and tables have heard of the window's new width.

        They hear of it a moment later than the page, and nothing tells when the last of them has.
        """
        self.page.wait_for_function(WITHIN_WIDTH, timeout=WIDTH_MS)

    def screenshot(self, name: str, folder: Path = SCREENSHOTS) -> None:
        """`name`.png of the whole page, when it is asked for (``make screenshots``)."""
        if os.environ.get(SCREENSHOTS_ASKED):
            size = self.page.viewport_size or {"width": 1360, "height": 900}
            height = self.main().evaluate("main => main.scrollHeight")
            self.page.set_viewport_size({"width": size["width"], "height": min(height + 16, 4000)})
            self.page.wait_for_function(ALL_DRAWN)
            folder.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=folder / f"{name}.png")
            self.page.set_viewport_size(size)
