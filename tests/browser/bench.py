"""``make bench-browser``: how long a page takes from a changed input to its new answer, in a real browser.

From the key that ends the input to the moment at which the new answer stands on the page, script and drawing together; the
rest of the page may follow. One session, warm: each page is visited before it is timed. First visits are a second session's. Then
twenty people who come at once, until each one's page is whole. At its end stands which targets were missed; the exit status is 1 then.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser import engine
from tests.browser.dashboard import Visitor, pages
from tests.running_app import running_app, scripted
from tests.trust import crowded_app
from tests.trust.people import hold

ROUNDS = 20
TARGET_MS = {"demo": 300, "openb": 600}
FIRST_VISIT_MS = {"demo": 1_000, "openb": 1_500}
PEOPLE, PEOPLE_MS = 20, 5_000
# the number that the answer is for and the answer itself stand there, and neither is being drawn anew
_ANSWERED = """([asked, replicas]) => {
  const main = document.querySelector('[data-testid="stMain"]');
  if (!main || !main.innerText.includes(asked)) return false;
  const metrics = [...main.querySelectorAll('[data-testid="stMetric"]')];
  const ready = metrics.find(metric => metric.innerText.includes('Lowest Ready'));
  return ready && ready.innerText.includes(`of ${replicas}`) && !ready.closest('[data-stale="true"]');
}"""
# a box, a figure or a table: what a page begins its answer with
_FIRST = """() => document.querySelector('[data-testid="stMain"] '
  + ':is([data-testid="stAlert"], [data-testid="stMetric"], [data-testid="stDataFrame"])')"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One figure: what was timed, how often, and its target."""

    what: str
    milliseconds: tuple[float, ...]
    target: float | None = None

    @property
    def late(self) -> float:
        """p95."""
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]

    @property
    def is_missed(self) -> bool:
        return self.target is not None and self.late >= self.target

    def text(self) -> str:
        middle, number = statistics.median(self.milliseconds), len(self.milliseconds)
        aim = "" if self.target is None else f"{'✗' if self.is_missed else '✓'} under {self.target:,.0f} ms"
        return f"{self.what:<58} {middle:>8,.0f} {self.late:>8,.0f} {number:>4}  {aim}"


@contextmanager
def visiting(browser: Browser, url: str) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": 1360, "height": 900}, reduced_motion="reduce")
    yield Visitor(context.new_page(), url)
    context.close()


def replicas_changed(
    visitor: Visitor, cluster: str, workload: str, numbers: Callable[[int], int], named: str = ""
) -> Line:
    """The Rollout page: another number of replicas, until the verdict's figures are for it."""
    visitor.open(f"rollout?cluster={cluster}&workload={workload}")
    visitor.page.wait_for_timeout(2_000)
    field = visitor.page.get_by_label("Replicas", exact=True).first
    taken = []
    for place in range(ROUNDS + 2):
        number = numbers(place)
        field.fill(str(number))
        start = time.perf_counter()
        field.press("Enter")
        visitor.page.wait_for_function(_ANSWERED, arg=[f"Replicas {number}", number], polling="raf", timeout=60_000)
        taken.append((time.perf_counter() - start) * 1000)
        visitor.settle()
    return Line(
        what=f"Rollout, {named or cluster}: replicas changed", milliseconds=tuple(taken[2:]), target=TARGET_MS[cluster]
    )


def people(address: str, where: str, target: float | None = None) -> Line:
    """Twenty who come at once: until each one's first page is whole. They speak Streamlit's messages, without a browser each."""
    with ThreadPoolExecutor(1) as beside:  # Playwright's loop runs in this thread
        visits = beside.submit(hold, address, PEOPLE, rounds=1, think_seconds=0).result()
    assert not visits.errors, visits.errors
    return Line(
        what=f"{PEOPLE} people at once, {where}: first page", milliseconds=tuple(1000 * s for s in visits.first), target=target
    )  # fmt: skip


def empty_page(browser: Browser, folder: Path) -> tuple[Line, Line]:
    """A page of Streamlit's own with one figure on it, by the same server: what of a first visit isn't ours; and of twenty people's."""
    script = folder / "empty.py"
    script.write_text(
        "import streamlit as st\n\nst.set_page_config(layout='wide')\nst.metric('One', 1)\n", encoding="utf-8"
    )
    taken = []
    with running_app(folder / "empty.log", scripted(script)) as app:
        for _ in range(6):
            with visiting(browser, app.url) as visitor:
                start = time.perf_counter()
                visitor.page.goto(app.url)
                visitor.page.wait_for_function(_FIRST, polling="raf", timeout=120_000)
                taken.append((time.perf_counter() - start) * 1000)
        many = people(app.address, "an empty page")
    return Line(what="An empty page of Streamlit: first visit, warm", milliseconds=tuple(taken[1:])), many


def first_visits(browser: Browser, url: str, cluster: str) -> Iterator[Line]:
    """Each page in a session of its own, its answers kept by an earlier one: until the first answer stands there."""
    for path, title in pages():
        taken = []
        for _ in range(3):
            with visiting(browser, url) as visitor:
                start = time.perf_counter()
                visitor.page.goto(f"{url}/{path}?cluster={cluster}")
                visitor.page.wait_for_function(_FIRST, polling="raf", timeout=120_000)
                taken.append((time.perf_counter() - start) * 1000)
                visitor.settle()
        yield Line(
            what=f"{title}, {cluster}: first visit, warm", milliseconds=tuple(taken[1:]), target=FIRST_VISIT_MS[cluster]
        )


def measured(browser: Browser, folder: Path, only: str) -> Iterator[Line]:
    changed = {
        "demo": ("Deployment/prod/ml-worker", lambda place: 5 + place),
        "openb": ("Deployment/ml/job-000-00050", lambda place: 3 + place),
    }
    clusters = [one for one in changed if only in ("", one)]
    with running_app(folder / "server.log") as app:
        for cluster in clusters:
            with visiting(browser, app.url) as visitor:
                yield replicas_changed(visitor, cluster, *changed[cluster])
        empty, many = empty_page(browser, folder)
        yield empty
        for line in (line for cluster in clusters for line in first_visits(browser, app.url, cluster)):
            times = statistics.median(line.milliseconds) / statistics.median(empty.milliseconds)
            yield replace(line, what=f"{line.what} ({times:.1f} x empty)")
        yield many
        yield people(app.address, "the demo", PEOPLE_MS)
    if not only:
        with running_app(folder / "crowded.log", crowded_app.PROGRAM) as app, visiting(browser, app.url) as visitor:
            worker = "Deployment/prod-0/ml-worker"
            yield replicas_changed(visitor, "openb", worker, lambda place: 5 + place, named="208 copies")


def main(only: str = "") -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = engine.executable(playwright)
        if path is None:
            sys.exit(engine.MISSING)
        browser = engine.launch(playwright, path)
        sys.stdout.write(f"{'milliseconds':<58} {'p50':>8} {'p95':>8} {'n':>4}\n")
        lines = []
        for line in measured(browser, Path(folder), only):
            sys.stdout.write(f"{line.text()}\n")
            sys.stdout.flush()
            lines.append(line)
        browser.close()
    missed = [line.what for line in lines if line.is_missed]
    sys.stdout.write(
        f"{sum(line.target is not None for line in lines) - len(missed)} targets met, {len(missed)} missed\n"
    )
    sys.stdout.writelines(f"missed: {what}\n" for what in missed)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main(*sys.argv[1:2])
