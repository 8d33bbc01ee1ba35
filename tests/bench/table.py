"""Measuring, and one line of the table for each figure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from typing import TypeVar, TypeVarTuple

Given = TypeVarTuple("Given")
Said = TypeVar("Said")
COLUMNS = "{figure:<52} {cluster:<14} {measured:>9} {beside:>26} {ratio:>8} {target:>9}  {met}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What measuring gave: seconds, or a ratio; `beside` is what the comparator took for the same in this run."""

    seconds: float | None = None
    beside: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured thing: seconds, or a ratio where `seconds` is None.

    `beside_seconds` is what the comparator took for the same in this run; None where there is none. A target is a bound of the
    seconds or of the ratio; a figure without one is told for information. `one_of` tells figures apart that documents have as one
    row. `failed` is the error of a figure that couldn't be measured. `take` measures: what it gives is put into the figure.
    """

    figure: str
    cluster: str = ""
    one_of: str = ""
    seconds: float | None = None
    beside: str = ""
    beside_seconds: float | None = None
    ratio: float | None = None
    at_most_seconds: float | None = None
    at_most_ratio: float | None = None
    at_least_ratio: float | None = None
    failed: str = ""
    take: Callable[[], Found | float] | None = None

    @property
    def quotient(self) -> float | None:
        if self.ratio is not None or self.seconds is None or not self.beside_seconds:
            return self.ratio
        return self.seconds / self.beside_seconds

    @property
    def is_met(self) -> bool | None:
        """None where there is no target. What failed isn't met."""
        if self.failed:
            return False
        if self.at_most_seconds is not None and self.seconds is not None:
            return self.seconds <= self.at_most_seconds
        if self.at_most_ratio is not None and self.quotient is not None:
            return self.quotient <= self.at_most_ratio
        if self.at_least_ratio is not None and self.quotient is not None:
            return self.quotient >= self.at_least_ratio
        return None

    @property
    def measured(self) -> str:
        """What was measured, in the unit of the target."""
        if self.seconds is None or self.at_most_ratio is not None or self.at_least_ratio is not None:
            return times(self.quotient)
        return spoken(self.seconds)

    @property
    def target(self) -> str:
        if self.at_most_seconds is not None:
            return f"≤ {spoken(self.at_most_seconds)}"
        if self.at_most_ratio is not None:
            return f"≤ {self.at_most_ratio:g} x"
        return "" if self.at_least_ratio is None else f"≥ {self.at_least_ratio:g} x"

    @property
    def name(self) -> str:
        return f"{self.figure}: {self.one_of}" if self.one_of else self.figure

    def line(self) -> str:
        """The figure as a row of what a run prints."""
        beside = f"{self.beside} {spoken(self.beside_seconds)}" if self.beside_seconds is not None else self.beside
        cells = {
            "figure": self.name, "cluster": self.cluster, "measured": spoken(self.seconds), "beside": beside,
            "ratio": times(self.quotient), "target": self.target,
            "met": f"FAILED: {self.failed}" if self.failed else {True: "met", False: "NOT MET", None: ""}[self.is_met],
        }  # fmt: skip
        return COLUMNS.format(**cells).rstrip()


def header() -> str:
    cells = {"figure": "figure", "cluster": "cluster", "measured": "measured", "beside": "beside it", "ratio": "ratio"}
    return COLUMNS.format(**cells, target="target", met="").rstrip()


def measured(figures: Iterable[Figure], part: str) -> Iterator[Figure]:
    """Each figure with what measuring it gave. One that can't be measured is told with its error, and the others go on."""
    try:
        for figure in figures:
            yield figure if figure.take is None else _taken(figure)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        yield Figure(figure=f"what {part} would have measured further", cluster="", failed=_told(error))


def _taken(figure: Figure) -> Figure:
    assert figure.take is not None
    try:
        found = figure.take()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        return replace(figure, take=None, failed=_told(error))
    if isinstance(found, float):
        return replace(figure, take=None, seconds=found)
    return replace(figure, take=None, seconds=found.seconds, beside_seconds=found.beside, ratio=found.ratio)


def kept(ask: Callable[[*Given], Said]) -> Callable[[*Given], Said]:
    """`ask`, asked once for what it is given; that it failed is kept too, and not tried again."""
    found: dict[object, Said | Exception] = {}

    @wraps(ask)
    def answer(*given: *Given) -> Said:
        if given not in found:
            try:
                found[given] = ask(*given)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is raised below
                found[given] = error
        said = found[given]
        if isinstance(said, Exception):
            raise said
        return said

    return answer


def _told(error: Exception) -> str:
    return f"{type(error).__name__} {' '.join(str(error).split())}"[:200].strip()


def spoken(seconds: float | None) -> str:
    """``"12.3 ms"``, ``"4.56 s"``; nothing for None."""
    if seconds is None:
        return ""
    return f"{seconds * 1000:.3g} ms" if seconds < 0.1 else f"{seconds:.3g} s"


def times(ratio: float | None) -> str:
    """``"3.36 x"``, ``"1,340 x"``; nothing for None."""
    if ratio is None:
        return ""
    return f"{ratio:,.0f} x" if ratio >= 100 else f"{ratio:.3g} x"


def once(call: Callable[[], object]) -> float:
    """Seconds of CPU that one call takes: what else the machine does is no property of the code."""
    start = time.process_time()
    call()
    return time.process_time() - start


def best(call: Callable[[int], object], *, runs: int = 7, budget_seconds: float = 10.0) -> float:
    """The least seconds of up to `runs` calls, each given its number; fewer calls once the budget is spent.

    The least, as `timeit` has it: what is above it is the machine's other business.
    """
    taken: list[float] = []
    while len(taken) < runs and sum(taken) < budget_seconds:
        number = len(taken) + 1
        taken.append(once(lambda number=number: call(number)))  # type: ignore[misc]
    return min(taken)
