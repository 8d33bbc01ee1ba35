"""Declares what is shown of an answer: key figures, and listings with their columns.

The terminal, pages, CSV, Markdown, facts (and with them metrics and a store's tables) are made from these; nothing of an
answer is named twice. What a program reads is raw, and a column's name says its unit (``usd_per_month``); what people read is
made from it by `planner.questions.table_wording.listed`. Money (``usd`` in a name) is in whole cents in rows, and in full in facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from msgspec.structs import force_setattr

from planner.ground.records import Record, replace
from planner.ground.table_formats import Row

A = TypeVar("A")
R = TypeVar("R")
Value = float | int | str | bool | None

USD_A_MONTH: Final = "USD/month"


class Figure(Record, Generic[A], kw_only=False):
    """One number of the whole answer.

    Attributes
    ----------
    metric, unit : of its fact
    also : labels that its fact has
    """

    metric: str
    of: Callable[[A], Value]
    unit: str = ""
    also: Mapping[str, str] = field(default_factory=dict)


class Column(Record, Generic[R], kw_only=False):
    """One column of a listing.

    Attributes
    ----------
    name : in CSV; "" is in no row, and is a fact or a label of one
    of : a row's value, raw; the attribute of that name where it isn't given
    heading : for people; "" is made from the name, None isn't shown to them
    words : the value for people, where its name and type don't say how it is written
    metric, unit : of the fact that each row's value is; "" is none
    label : as which its value names the row's facts, where it has one (not None); "" doesn't
    also : labels that this fact has beside those
    is_said_only : for people, in no row that a program reads
    """

    name: str
    of: Callable[[R], Any] | None = None
    heading: str | None = ""
    words: Callable[[R], object] | None = None
    metric: str = ""
    unit: str | Callable[[R], str] = ""
    label: str = ""
    also: Mapping[str, str] = field(default_factory=dict)
    is_said_only: bool = False

    def value(self, row: R) -> Any:
        """That row's value, raw."""
        return getattr(row, self.name) if self.of is None else self.of(row)

    def cell(self, row: R) -> Any:
        """Its value in a row: of money whole cents, of an hour's price millionths."""
        value = self.value(row)
        if isinstance(value, float) and (self.is_money or is_money(self.name)):
            return round(value, 2 if self.is_money else 6)
        return value

    @property
    def is_money(self) -> bool:
        """Whether it holds amounts in USD; an hour's price is none of those."""
        return (is_money(self.name) and not self.name.endswith("hour")) or self.unit == USD_A_MONTH

    def unit_of(self, row: R) -> str:
        """The unit of that row's fact."""
        return self.unit if isinstance(self.unit, str) else self.unit(row)


def of_first(column: Column[Any]) -> Column[Any]:
    """The same of the first of several things that stand behind a row."""
    return replace(column, of=lambda of: column.value(of[0]))


def is_money(name: str) -> bool:
    """Whether amounts of that name are in USD."""
    return "usd" in name.split("_")


class Listing(Record, Generic[A, R]):
    """Rows of one kind.

    Attributes
    ----------
    items : what stands behind the rows, in the order in which they are shown; the attribute of that name where it isn't given
    columns : may depend on the answer; without any it is no table, and people are told its lines
    title : over it, where an answer has several
    empty : what is said where there is none; "" leaves the listing out
    line : a row as a sentence, where the words are too many for columns; what stands before a tab stands in one column, what
        comes after a line's end on a line of its own
    verdict : of a row, said before its line
    code : of a row, to be copied as it is
    is_shown : to people who didn't ask for it
    told : the items that people are shown, where those aren't all
    most : of them in a terminal; None is all
    unknown : what people read where a value is None
    note : a sentence under it; of one that people aren't shown, told beside its CSV
    written : columns more in Markdown, which nothing follows that says the same in sentences
    """

    name: str
    items: Callable[[A], Sequence[R]] = None  # type: ignore[assignment]
    columns: tuple[Column[R], ...] | Callable[[A], tuple[Column[R], ...]] = ()
    title: str | Callable[[A], str] = ""
    empty: str = ""
    line: Callable[[R], str] | None = None
    verdict: Callable[[R], Any] | None = None
    code: Callable[[R], str] | None = None
    is_shown: bool = True
    told: Callable[[A], Sequence[R]] | None = None
    most: int | None = None
    unknown: str | Callable[[A], str] = "not known"
    note: Callable[[A], str] = lambda _: ""
    written: tuple[Column[R], ...] = ()

    def __post_init__(self) -> None:
        if self.items is None:
            force_setattr(self, "items", attrgetter(self.name))  # type: ignore[unreachable]

    def rows(self, answer: A) -> list[Row]:
        """One row an item, raw."""
        columns = [column for column in self.columns_of(answer) if column.name and not column.is_said_only]
        return [{column.name: column.cell(line) for column in columns} for line in self.items(answer)]

    def columns_of(self, answer: A) -> tuple[Column[R], ...]:
        return self.columns if isinstance(self.columns, tuple) else self.columns(answer)

    def seen(self, answer: A) -> Sequence[R]:
        """The items that people are shown."""
        return self.told(answer) if self.told else self.items(answer)

    def title_of(self, answer: A) -> str:
        """What stands over it."""
        return self.title if isinstance(self.title, str) else self.title(answer)

    def unknown_of(self, answer: A) -> str:
        """What people read where a value isn't known."""
        return self.unknown if isinstance(self.unknown, str) else self.unknown(answer)
