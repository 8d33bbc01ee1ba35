"""A question to many files: what holds of each, which there are, and where it doesn't hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from re import Pattern
from typing import Generic, TypeVar

from tests.architecture.tree import ROOT

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[T]):
    holds: str
    """What holds of each, as a sentence without its full stop."""
    subjects: Callable[[], Sequence[T]]
    faults: Callable[[T], Iterable[str]]
    """``path:line what`` of each place of a subject where it doesn't hold."""
    advice: str = ""

    def run(self) -> tuple[int, list[str]]:
        """(how many it looked at, what it found); a check that looks at nothing is a fault of its own."""
        every = self.subjects()
        found = [fault for one in every for fault in self.faults(one)]
        return len(every), found if every else ["it looked at nothing"]


def lines(path: Path, *patterns: Pattern[str]) -> Iterator[str]:
    """Where a line of the file has one of the patterns."""
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
        for pattern in patterns:
            for match in pattern.finditer(line):
                yield f"{path}:{number} {match.group().strip()}"
