"""The table of docs/speed.md is what the kept runs say, and says of each target whether it is met."""

from tests.architecture.tree import ROOT
from tests.bench import page
from tests.bench.__main__ import MEASURES
from tests.bench.inputs import DEMO, OPENB
from tests.bench.page import Run
from tests.bench.table import Figure

RUN = Run(date="2026-11-26 12:30", python="3.11.7", cores=2, load_before=0.1, load_after=1.9, minutes=14.2, figures=(
    Figure(figure="headroom plan; CPU", cluster=DEMO, seconds=0.65, beside="numpy", beside_seconds=0.13, at_most_seconds=1.0),
    Figure(figure="headroom plan; CPU", cluster=OPENB, seconds=4.4, beside="numpy", beside_seconds=0.13, at_most_seconds=2.0),
    Figure(figure="headroom plan; CPU", cluster="42 copies", seconds=3.0, beside="numpy", beside_seconds=0.13),
    Figure(figure="first visit", cluster=DEMO, one_of="Now", seconds=0.9, at_most_seconds=1.0),
    Figure(figure="first visit", cluster=DEMO, one_of="Bill", seconds=1.1, at_most_seconds=1.0),
    Figure(figure="first visit", cluster=OPENB, one_of="Now", seconds=1.2, at_most_seconds=1.5),
    Figure(figure="reading", cluster=DEMO, seconds=3.0, beside="bare", beside_seconds=1.0, at_most_ratio=2.0),
    Figure(figure="sweep", cluster="3 copies", ratio=1.65, at_least_ratio=1.7),
    Figure(figure="restarts", cluster=DEMO, at_most_seconds=1.0, failed="ValueError no"),
))  # fmt: skip


def test_a_row_a_figure_a_column_a_cluster() -> None:
    rows = [line for line in page.as_markdown({"bench": RUN}).splitlines() if line.startswith("|")]
    assert rows == [
        "| figure | demo | openb | another |",
        "| --- | --- | --- | --- |",
        "| `plan`; CPU (× numpy) | 0.65 s ≤ 1 s (5 ×) | **4.4 s > 2 s** (33.8 ×) | 42 copies: 3 s (23.1 ×) |",
        "| first visit | **0.9 s to 1.1 s > 1 s**: Bill | 1.2 s ≤ 1.5 s | |",
        "| reading (× bare) | **3 × > 2 ×** | | |",
        "| sweep | | | 3 copies: **1.65 × < 1.7 ×** |",
        "| restarts | **failed** | | |",
    ]


def test_what_is_not_met_is_listed() -> None:
    text = page.as_markdown({"bench": RUN})
    assert "`make bench`: 2026-11-26 12:30 UTC, 14 minutes, load 0.1 before and 1.9 after" in text
    assert text.partition("**Not met: 5 of 8 targets**\n\n")[2].splitlines() == [
        "- `plan`; CPU (× numpy): openb **4.4 s > 2 s** (33.8 ×)",
        "- first visit: demo **0.9 s to 1.1 s > 1 s**: Bill",
        "- reading (× bare): demo **3 × > 2 ×**",
        "- sweep: 3 copies **1.65 × < 1.7 ×**",
        "- restarts: demo **failed**",
        "",
    ]
    assert RUN.told().startswith("3 targets met, 5 missed; 14 minutes")
    assert "missed: restarts, demo: failed: ValueError no" in RUN.told()


def test_a_run_is_read_as_it_was_written() -> None:
    runs = {"bench": RUN, "browser": Run(date="2026-11-26 12:50", python="3.11.7", cores=2)}
    found = page.read(page.written(runs))
    assert found["browser"] == runs["browser"]
    assert page.as_markdown(found) == page.as_markdown(runs)
    assert len(page.written(runs).splitlines()) == len(RUN.figures) + 5


def test_the_page_is_made_of_what_was_kept() -> None:
    text = (ROOT / page.PAGE).read_text(encoding="utf-8")
    assert page.with_table(text) == text, "run `make docs`"
    assert page.as_markdown(page.read()) in text


def test_parts_can_be_asked_for_by_name() -> None:
    assert {"start", "load", "commands", "both", "questions", "sweep"} <= set(MEASURES)
