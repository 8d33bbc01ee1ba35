"""What is shown of an answer, described once: key figures, and listings with their columns.

The terminal, pages, CSV, Markdown, facts (and with them metrics and a store's tables) are made from these; nothing of an
answer is named twice. What a program reads is raw, and a column's name says its unit (``usd_per_month``); what people read is
made from it by `planner.questions.wording.listed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from planner.ground.tables import Row

A = TypeVar("A")
R = TypeVar("R")
Value = float | int | str | bool | None


@dataclass(frozen=True, slots=True)
class Figure(Generic[A]):
    """One number of the whole answer.

    Attributes
    ----------
    metric, unit : of its fact; without a metric it is none
    label : its words on a page; "" isn't shown there
    whole : what it is a part of
    """

    metric: str
    of: Callable[[A], Value]
    unit: str = ""
    label: str = ""
    whole: Callable[[A], int] | None = None


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """One column of a listing.

    Attributes
    ----------
    name : in CSV and documents
    of : a row's value, raw
    heading : for people; "" is made from the name, None isn't shown to them
    words : the value for people, where its name and type don't say how it is written
    metric, unit : of the fact that each row's value is; "" is none
    label : as which its value names the row's facts; "" doesn't
    """

    name: str
    of: Callable[[R], Any]
    heading: str | None = ""
    words: Callable[[R], str] | None = None
    metric: str = ""
    unit: str | Callable[[R], str] = ""
    label: str = ""

    def unit_of(self, row: R) -> str:
        """The unit of that row's fact."""
        return self.unit if isinstance(self.unit, str) else self.unit(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[A, R]):
    """Rows of one kind.

    Attributes
    ----------
    items : what stands behind the rows, in the order in which they are shown
    title : over it, where an answer has several
    empty : what is said where there is none; "" leaves the listing out
    line : a row as a sentence, where the words are too many for columns
    is_shown : to people who didn't ask for it
    """

    name: str
    items: Callable[[A], Sequence[R]]
    columns: tuple[Column[R], ...]
    title: str = ""
    empty: str = ""
    line: Callable[[R], str] | None = None
    is_shown: bool = True

    def rows(self, answer: A) -> list[Row]:
        """One row an item, raw."""
        return [{column.name: column.of(one) for column in self.columns} for one in self.items(answer)]
