"""What runs of `make bench`, `make bench ONLY=huge` and `make bench-browser` found, kept in a file, and the table of docs/speed.md made of it.

A figure is a row, a cluster a column: what was measured, its target, and in brackets how many times what stands beside it in the same
run. Figures of one name and cluster (`Figure.one_of`) share a cell: from the least to the most, and which of them miss the target.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.inputs import FIVE
from tests.bench.table import Figure, times

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("measured.json")
PAGE = Path("docs/speed.md")
RUNS = {"bench": "make bench", "huge": "make bench ONLY=huge", "browser": "make bench-browser"}
_BETWEEN = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end of figures -->)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: when it began, on what, how busy the machine was (processes that ran or wanted to, over a minute), what it found; None is not noted."""

    date: str
    python: str
    cores: int
    load_before: float | None = None
    load_after: float | None = None
    minutes: float | None = None
    figures: tuple[Figure, ...] = ()

    def how(self) -> str:
        if self.minutes is None:
            return "one by one"
        return f"{self.minutes:.0f} minutes, load {self.load_before} before and {self.load_after} after"

    def told(self) -> str:
        """How many targets were met, and which weren't."""
        states = [figure.is_met for figure in self.figures]
        lines = [f"{states.count(True)} targets met, {states.count(False)} missed; {self.how()}"]
        for figure in self.figures:
            if figure.is_met is False:
                what = f"failed: {figure.failed}" if figure.failed else f"{figure.measured}, {figure.target}"
                lines.append(f"missed: {figure.name}, {figure.cluster}: {what}")
        return "\n".join(lines)


def begun() -> Run:
    now = datetime.now(UTC)
    return Run(
        date=f"{now:%Y-%m-%d %H:%M}", python=platform.python_version(), cores=len(os.sched_getaffinity(0)), load_before=_load(),
    )  # fmt: skip


def ended(started: Run, figures: Iterable[Figure], minutes: float) -> Run:
    """`started` with what was found."""
    return replace(started, load_after=_load(), minutes=round(minutes, 1), figures=tuple(figures))


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 1)
    except OSError:  # the system doesn't tell
        return None


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def keep(name: str, run: Run) -> None:
    """In the place of the last run of that name; and the page with it."""
    kept = {**read(), name: run}
    KEPT.write_text(written({one: kept[one] for one in RUNS if one in kept}), encoding="utf-8")
    (ROOT / PAGE).write_text(with_table((ROOT / PAGE).read_text(encoding="utf-8"), read()), encoding="utf-8")
    print(f"kept: {KEPT.relative_to(ROOT)}, {PAGE}")


def written(runs: Mapping[str, Run]) -> str:
    """JSON with a figure a line."""
    parts = []
    for name, run in runs.items():
        figures = ",\n".join(f"  {json.dumps(_plain(figure), ensure_ascii=False)}" for figure in run.figures)
        head = asdict(replace(run, figures=()))
        del head["figures"]
        parts.append(f'{json.dumps(name)}: {json.dumps(head)[:-1]}, "figures": [\n{figures}\n]}}')
    return "{" + ",\n".join(parts) + "}\n"


def _plain(figure: Figure) -> dict[str, Any]:
    """Its fields but for those that say nothing, to four digits."""
    fields = {name: value for name, value in asdict(replace(figure, take=None)).items() if value not in ("", None)}
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in fields.items()}


def read(text: str | None = None) -> dict[str, Run]:
    """What `written` wrote; of the file where no text is given."""
    if text is None:
        text = KEPT.read_text(encoding="utf-8") if KEPT.exists() else "{}"
    return {
        name: Run(**{**run, "figures": tuple(Figure(**one) for one in run["figures"])})
        for name, run in json.loads(text).items()
    }


# ── the page ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def with_table(text: str, runs: Mapping[str, Run] | None = None) -> str:
    """docs/speed.md with its figures as they were kept."""
    return _BETWEEN.sub(lambda _: as_markdown(read() if runs is None else runs), text)


def as_markdown(runs: Mapping[str, Run]) -> str:
    """When each run was, the table, and what isn't met."""
    found = [runs[name] for name in RUNS if name in runs]
    figures = [figure for run in found for figure in run.figures]
    states = [figure.is_met for figure in figures]
    when = "; ".join(_when(name, runs[name]) for name in RUNS if name in runs)
    head = f"Python {', '.join(sorted({run.python for run in found}))}, {', '.join(sorted({str(run.cores) for run in found}))} cores. {when}.\n"
    cells = {key: one for key, one in _cells(figures).items() if any(figure.is_met is False for figure in one)}
    missed = [
        f"- {_row_name(*row)}: {', '.join(f'{key[2]} {_cell(one)}'.strip() for key, one in cells.items() if key[:2] == row)}\n"
        for row in dict.fromkeys(key[:2] for key in cells)
    ]
    count = f"\n**Not met: {states.count(False)} of {states.count(False) + states.count(True)} targets**\n\n"
    return f"\n{head}\n{_table(figures)}{count}{''.join(missed)}\n"


def _when(name: str, run: Run) -> str:
    return f"`{RUNS[name]}`: {run.date} UTC, {run.how()}"


Key = tuple[str, str, str]
"""A figure's name, what stands beside it, its cluster."""


def _cells(figures: Iterable[Figure]) -> dict[Key, list[Figure]]:
    cells: dict[Key, list[Figure]] = {}
    for figure in figures:
        cells.setdefault((figure.figure, figure.beside, figure.cluster), []).append(figure)
    return cells


def _table(figures: list[Figure]) -> str:
    cells = _cells(figures)
    columns = [cluster for cluster in FIVE if any(key[2] == cluster for key in cells)]
    lines = [f"| figure | {' | '.join(columns)} | another |", f"| --- {'| --- ' * len(columns)}| --- |"]
    for name, beside in dict.fromkeys(key[:2] for key in cells):
        others = (
            f"{cluster}: {_cell(one)}".removeprefix(": ")
            for (figure, by, cluster), one in cells.items()
            if (figure, by) == (name, beside) and cluster not in columns
        )
        row = [_cell(cells.get((name, beside, cluster), [])) for cluster in columns]
        lines.append(f"| {' | '.join([_row_name(name, beside), *row, '; '.join(others)])} |")
    return "\n".join(line.replace("|  |", "| |").replace("|  |", "| |") for line in lines) + "\n"


def _row_name(name: str, beside: str) -> str:
    command, sign, rest = name.removeprefix("headroom ").partition(";")
    name = f"`{command}`{sign}{rest}" if name.startswith("headroom ") else name
    return f"{name} (× {beside})" if beside else name


def _cell(figures: list[Figure]) -> str:
    """``0.57 s ≤ 1 s (3.2 ×)``; what misses its target is bold: ``**1.2 s > 1 s** (10 ×)``."""
    failed = [f"**failed{f': {one.one_of}' if one.one_of else ''}**" for one in figures if one.failed]
    found = sorted((one for one in figures if not one.failed), key=lambda one: one.seconds or one.quotient or 0.0)
    if not found:
        return ", ".join(failed)
    least, most = found[0], found[-1]
    missed = [one for one in found if one.is_met is False]
    value = most.measured if len(found) == 1 else f"{least.measured} to {most.measured}"
    target = most.target
    if missed:
        target = target.translate({ord("≤"): ">", ord("≥"): "<"})
        names = (
            ""
            if len(found) == 1
            else f": {', '.join(one.one_of for one in missed)}"
            if len(missed) < len(found)
            else ", each"
        )
        text = f"**{value} {target}**{names}"
    else:
        text = f"{value} {target}".strip()
    beside = (
        ""
        if most.seconds is None or most.quotient is None or most.measured.endswith("x")
        else f" ({times(most.quotient)})"
    )
    return ", ".join([(text + beside).replace(" x", " ×"), *failed])
