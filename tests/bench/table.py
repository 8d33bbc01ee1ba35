"""Measuring, and one line of the table for each figure."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

COLUMNS = "{figure:<44} {cluster:<14} {measured:>10} {beside:>28} {ratio:>8} {target:>10}  {met}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured thing: seconds, or a ratio where `seconds` is None.

    `beside_seconds` is what the comparator took for the same in this run; None where there is none. A target is an upper
    bound of the seconds or of the ratio; a figure without one is told for information.
    """

    figure: str
    cluster: str
    seconds: float | None = None
    beside: str = ""
    beside_seconds: float | None = None
    ratio: float | None = None
    at_most_seconds: float | None = None
    at_most_ratio: float | None = None

    @property
    def quotient(self) -> float | None:
        if self.ratio is not None or self.seconds is None or not self.beside_seconds:
            return self.ratio
        return self.seconds / self.beside_seconds

    @property
    def is_met(self) -> bool | None:
        """None where there is no target."""
        if self.at_most_seconds is not None and self.seconds is not None:
            return self.seconds <= self.at_most_seconds
        if self.at_most_ratio is not None and self.quotient is not None:
            return self.quotient <= self.at_most_ratio
        return None

    @property
    def cells(self) -> dict[str, str]:
        """What the table has of it, by column."""
        target = ""
        if self.at_most_seconds is not None:
            target = f"<= {spoken(self.at_most_seconds)}"
        elif self.at_most_ratio is not None:
            target = f"<= {self.at_most_ratio:g} x"
        beside = f"{self.beside} {spoken(self.beside_seconds)}" if self.beside_seconds is not None else self.beside
        return {
            "figure": self.figure,
            "cluster": self.cluster,
            "measured": spoken(self.seconds),
            "beside": beside,
            "ratio": "" if self.quotient is None else f"{self.quotient:.3g} x",
            "target": target,
            "met": {True: "met", False: "NOT MET", None: ""}[self.is_met],
        }

    def line(self, *, is_markdown: bool = False) -> str:
        """The figure as a row of the table."""
        return _row(self.cells, is_markdown)


_HEADINGS = {
    "figure": "figure",
    "cluster": "cluster",
    "measured": "measured",
    "beside": "beside it",
    "ratio": "ratio",
    "target": "target",
    "met": "",
}


def header(*, is_markdown: bool = False) -> str:
    return _row(_HEADINGS, is_markdown) + ("\n" + "| --- " * len(_HEADINGS) + "|" if is_markdown else "")


def _row(cells: dict[str, str], is_markdown: bool) -> str:
    return f"| {' | '.join(cells.values())} |" if is_markdown else COLUMNS.format(**cells).rstrip()


def spoken(seconds: float | None) -> str:
    """``"12.3 ms"``, ``"4.56 s"``; nothing for None."""
    if seconds is None:
        return ""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def once(call: Callable[[], object]) -> float:
    """Seconds of CPU that one call takes: what else the machine does is no property of the code."""
    start = time.process_time()
    call()
    return time.process_time() - start


def best(call: Callable[[int], object], *, runs: int = 7, budget_seconds: float = 20.0) -> float:
    """The least seconds of up to `runs` calls, each given its number; fewer calls once the budget is spent.

    The least, as `timeit` has it: what is above it is the machine's other business.
    """
    taken: list[float] = []
    while len(taken) < runs and sum(taken) < budget_seconds:
        number = len(taken) + 1
        taken.append(once(lambda number=number: call(number)))  # type: ignore[misc]
    return min(taken)
