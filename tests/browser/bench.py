"""``make bench-browser``: how long a page takes from a changed input to its new answer, in a real browser.

From the key that ends the input to the moment at which the new answer stands on the page, script and drawing together; the
rest of the page may follow. One session, warm: each page is visited before it is timed. First visits are a second session's. Then
twenty people who come at once, until each one's page is whole. What can't be timed is told, and the rest goes on. At its end stands
which targets were missed; the exit status is 1 then. With ``--keep`` the table of docs/speed.md is made of the run (`tests.bench.page`).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.bench import page
from tests.bench.table import Figure
from tests.browser import engine
from tests.browser.dashboard import Visitor, pages
from tests.running_app import running_app, scripted
from tests.trust import crowded_app
from tests.trust.people import hold

ROUNDS, COLD = 20, 2
TARGET_MS = {"demo": 300, "openb": 600}
FIRST_VISIT_MS = {"demo": 1_000, "openb": 1_500}
PEOPLE, PEOPLE_MS = 20, 5_000
# the number that the answer is for and the verdict's box stand there, and neither is being drawn anew
_ANSWERED = """asked => {
  const main = document.querySelector('[data-testid="stMain"]');
  if (!main || !main.innerText.includes(asked)) return false;
  const boxes = [...main.querySelectorAll('[data-testid="stAlert"], .stMarkdownColoredBackground')];
  const verdict = boxes.find(box => /[✓✗△▽?] /.test(box.innerText));
  return verdict && !verdict.closest('[data-stale="true"]');
}"""
# what Now says of rollouts, a box (grey where the answer isn't known: no alert), a figure (Streamlit's own page) or a table:
# what a page begins its answer with
_FIRST = """() => document.querySelector('[data-testid="stMain"] '
  + ':is(.st-key-line_rollouts [data-testid="stColumn"]:nth-child(2) [data-testid="stMarkdown"], [data-testid="stAlert"], '
  + '.stMarkdownColoredBackground, [data-testid="stMetric"], [data-testid="stDataFrame"])')"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One figure: what was timed where, how often, its target, and what an empty page of Streamlit took for it in the same run."""

    what: str
    cluster: str
    page: str = ""
    milliseconds: tuple[float, ...] = ()
    target: float | None = None
    empty: float | None = None
    failed: str = ""

    @property
    def late(self) -> float:
        """p95."""
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]

    @property
    def is_missed(self) -> bool:
        return self.figure.is_met is False

    @property
    def name(self) -> str:
        return ", ".join(part for part in (self.page, self.cluster, self.what) if part)

    def text(self) -> str:
        if self.failed:
            return f"{self.name:<58} FAILED: {self.failed}"
        middle, number = statistics.median(self.milliseconds), len(self.milliseconds)
        aim = "" if self.target is None else f"{'✗' if self.is_missed else '✓'} at most {self.target:,.0f} ms"
        times = "" if self.empty is None else f"({middle / self.empty:.1f} x empty)"
        return f"{self.name:<58} {middle:>8,.0f} {self.late:>8,.0f} {number:>4}  {aim:<18} {times}".rstrip()

    @property
    def figure(self) -> Figure:
        """The line as the table of docs/speed.md has it: p95, by the clock; beside it the empty page's median."""
        return Figure(
            figure=f"{self.what}; clock, p95", cluster=self.cluster, one_of=self.page, failed=self.failed,
            seconds=None if self.failed else self.late / 1000, at_most_seconds=None if self.target is None else self.target / 1000,
            beside="" if self.empty is None else "empty page", beside_seconds=None if self.empty is None else self.empty / 1000,
        )  # fmt: skip


def timed(line: Line, take: Callable[[], Iterable[float]], *, cold: int = 0) -> Line:
    """`line` with the seconds that `take` gives but for the first few; one that can't be timed says why."""
    try:
        return replace(line, milliseconds=tuple(1000 * seconds for seconds in take())[cold:])
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        return replace(line, failed=f"{type(error).__name__} {' '.join(str(error).split())}"[:200])


@contextmanager
def visiting(browser: Browser, url: str) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": 1360, "height": 900}, reduced_motion="reduce")
    try:
        yield Visitor(context.new_page(), url)
    finally:
        context.close()


def replicas_changed(visitor: Visitor, cluster: str, workload: str, numbers: Callable[[int], int]) -> Iterator[float]:
    """The Rollout page: another number of replicas, until the verdict is for it."""
    visitor.open(f"rollout?cluster={cluster}&workload={workload}&more_rollout=true")  # its field is in a fold
    visitor.page.wait_for_timeout(2_000)
    field = visitor.page.get_by_label("Replicas", exact=True).first
    for place in range(ROUNDS + COLD):
        number = numbers(place)
        field.fill(str(number))
        start = time.perf_counter()
        field.press("Enter")
        visitor.page.wait_for_function(_ANSWERED, arg=f"Replicas {number}", polling="raf", timeout=60_000)
        yield time.perf_counter() - start
        visitor.settle()


def people(address: str) -> tuple[float, ...]:
    """Twenty who come at once: until each one's first page is whole. They speak Streamlit's messages, without a browser each."""
    with ThreadPoolExecutor(1) as beside:  # Playwright's loop runs in this thread
        visits = beside.submit(hold, address, PEOPLE, rounds=1, think_seconds=0).result()
    assert not visits.errors, visits.errors
    return tuple(visits.first)


def first_visits(browser: Browser, url: str, path: str, count: int, *, is_ours: bool = True) -> Iterator[float]:
    """A page in sessions of its own, its answers kept by the first: until the first answer stands there."""
    for _ in range(count):
        with visiting(browser, url) as visitor:
            start = time.perf_counter()
            visitor.page.goto(f"{url}/{path}")
            visitor.page.wait_for_function(_FIRST, polling="raf", timeout=120_000)
            yield time.perf_counter() - start
            if is_ours:
                visitor.settle()


EMPTY = "import streamlit as st\n\nst.set_page_config(layout='wide')\nst.metric('One', 1)\n"
PLAIN = f"{EMPTY}st.text('Some text')\nst.dataframe({{'name': ['a', 'b'], 'pods': [1, 2]}})\nst.bar_chart([3, 1, 2])\n"
"""Beside the figure a text, a table and a chart, nothing of ours."""


def streamlits_page(browser: Browser, folder: Path, named: str, text: str) -> Iterator[Line]:
    """A page of Streamlit's own, by the same server: what of a first visit isn't ours; and of twenty people's."""
    script = folder / "script.py"
    script.write_text(text, encoding="utf-8")
    with running_app(folder / "script.log", scripted(script)) as app:
        line = Line(what=f"{named} page of Streamlit", cluster="")
        yield timed(
            replace(line, what=f"first visit of {line.what}, warm"),
            lambda: first_visits(browser, app.url, "", 6, is_ours=False),
            cold=1,
        )
        yield timed(replace(line, what=f"20 people's first page at once, {line.what}"), lambda: people(app.address))


def measured(browser: Browser, folder: Path, only: str) -> Iterator[Line]:
    changed = {
        "demo": ("Deployment/prod/ml-worker", lambda place: 5 + place),
        "openb": ("Deployment/ml/job-000-00050", lambda place: 3 + place),
    }
    clusters = [one for one in changed if only in ("", one)]
    change = Line(what="a change of replicas on Rollout", cluster="demo", target=TARGET_MS["openb"])
    with running_app(folder / "server.log") as app:
        for cluster in clusters:
            with visiting(browser, app.url) as visitor:
                yield timed(
                    replace(change, cluster=cluster, target=TARGET_MS[cluster]),
                    lambda: replicas_changed(visitor, cluster, *changed[cluster]),  # noqa: B023 - taken at once
                    cold=COLD,
                )
        yield from streamlits_page(browser, folder, "a plain", PLAIN)
        empty, many = streamlits_page(browser, folder, "an empty", EMPTY)
        yield empty
        beside = None if empty.failed else statistics.median(empty.milliseconds)
        for cluster in clusters:
            for path, title in pages():
                yield timed(
                    Line(
                        what="first visit of a page, warm",
                        cluster=cluster,
                        page=title,
                        target=FIRST_VISIT_MS[cluster],
                        empty=beside,
                    ),
                    lambda: first_visits(browser, app.url, f"{path}?cluster={cluster}", 3),  # noqa: B023 - taken at once
                    cold=1,
                )
        yield many
        beside = None if many.failed else statistics.median(many.milliseconds)
        yield timed(
            Line(what="20 people's first page at once", cluster="demo", target=PEOPLE_MS, empty=beside),
            lambda: people(app.address),
        )
    if not only:
        with running_app(folder / "crowded.log", crowded_app.PROGRAM) as app, visiting(browser, app.url) as visitor:
            yield timed(
                replace(change, cluster="208 copies"),
                lambda: replicas_changed(visitor, "openb", "Deployment/prod-0/ml-worker", lambda place: 5 + place),
                cold=COLD,
            )


def main(*arguments: str) -> None:
    only, is_kept = " ".join(one for one in arguments if one != "--keep"), "--keep" in arguments
    if only not in ("", *TARGET_MS):
        sys.exit(f"ONLY={only}: there is {' and '.join(TARGET_MS)}")
    if only and is_kept:
        sys.exit("only a whole run is kept: KEEP=1 goes without ONLY")
    started, start = page.begun(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = engine.executable(playwright)
        if path is None:
            sys.exit(engine.MISSING)
        browser = engine.launch(playwright, path)
        sys.stdout.write("About 6 minutes on two quiet cores\n")
        sys.stdout.write(f"{'milliseconds':<58} {'p50':>8} {'p95':>8} {'n':>4}\n")
        figures = []
        for line in measured(browser, Path(folder), only):
            sys.stdout.write(f"{line.text()}\n")
            sys.stdout.flush()
            figures.append(line.figure)
        browser.close()
    run = page.ended(started, figures, (time.monotonic() - start) / 60)
    sys.stdout.write(f"{run.told()}\n")
    if is_kept:
        page.keep("browser", run)
    sys.exit(any(figure.is_met is False for figure in run.figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
