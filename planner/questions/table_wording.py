"""Rows in words for people: words where CSV has a code, units where CSV has a plain number.

CSV and JSON are read by programs: a column's name says its unit (``working_set_bytes``), and the values are raw. Reports,
Markdown, pages and commands show the same rows through `for_people`, so that each is spelled once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

from planner.ground.answer_layout import Column, Listing, is_money
from planner.ground.table_formats import Row, Rows, columns
from planner.ground.well_known_names import CPU, MEMORY
from planner.ground.words import Text, duration, measured_bytes, moment, roughly, sentence, unit_price, usd_cents
from planner.health.restarts.model import Activity, Cause
from planner.kubernetes.object_records import Presence, Severity
from planner.rollout import verdict_wording as rollout
from planner.rollout.answers import Reason, Verdict

A = TypeVar("A")
R = TypeVar("R")

PRESENCE: Final = {
    Presence.PRESENT: "✓ read",
    Presence.ABSENT: "– not in the input",
    Presence.INFERRED: "i not in the input: told from its pods",
    Presence.PARTIAL: "△ in part: some are missing",
    Presence.REFUSED: "✗ refused (403): may not be listed",
}
SEVERITY: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}  # the gravest first
_WORDS: Final[Mapping[type[StrEnum], Mapping[Any, str]]] = {
    Verdict: {verdict: rollout.words(verdict) for verdict in Verdict},
    Reason: rollout.REASON,
    Severity: SEVERITY,
    Presence: PRESENCE,
    Activity: {activity: activity.words for activity in Activity},
    Cause: {cause: cause.words for cause in Cause},
}
_MOMENTS: Final = ("since_seconds", "last_restart_seconds")  # since 1970; other seconds are durations
_WRITTEN: Final = ("asks_", "memory_request", "memory_limit")  # in one spec: 2Gi; what is added up or measured: 2 GiB
_SENTENCES: Final = ("sentence", "headline")
_CAPITALS: Final = {
    "gpu": "GPU",
    "gpus": "GPUs",
    "cpu": "CPU",
    "oom": "OOM",
    "qos": "QoS",
    "p5": "P5",
    "mib": "MiB",
    "gib": "GiB",
}
_UNITS: Final = ("bytes", "gib", "millicores", "seconds", "percent")  # said beside the amount, so not in the heading
_SAID_UNITS: Final = {"bytes": "", "millicores": "", "seconds": "", "USD/month": "a month", "USD/h": "an hour"}


def for_people(
    rows: Rows, shown: Mapping[str, str] | None = None, raw: Collection[str] = (), unknown: Collection[str] = ()
) -> list[Row]:  # fmt: skip
    """`rows` with words, units and headings.

    Parameters
    ----------
    rows : from one of a question's tables
    shown : which columns, in this order, each with its heading ("" for its usual one); None for all of them. A column in
        which nothing is said (empty, unknown or "no" in every row) is left out, but for money: that a price is missing is said.
    raw : columns with values that stay as they are
    unknown : columns of which it is said that nothing is known
    """
    said = [{name: cell if name in raw else words_of(name, cell, row) for name, cell in row.items()} for row in rows]
    column_names = columns(said)
    headings = dict.fromkeys(column_names, "") if shown is None else shown
    names = {name: head or heading(name) for name, head in headings.items() if name in column_names}
    shown_names = [
        name
        for name in names
        if is_money(name) or name in unknown or any(_says_something(row.get(name)) for row in said)
    ]
    return [{names[name]: row.get(name) for name in shown_names} for row in said]


def _says_something(cell: object) -> bool:
    return bool(cell) if isinstance(cell, str | Text) else cell is not None and cell is not False


def listed(
    listing: Listing[A, R], answer: A, items: Sequence[R] | None = None, *, names: Sequence[str] = (),
    is_money_raw: bool = False, is_written: bool = False,
) -> list[Row]:  # fmt: skip
    """A listing's rows for people, all or `items`: those of its columns that are shown, or of these `names` in their order,
    with words, units and headings. `is_money_raw`: amounts in USD stay numbers, for a table that can be sorted; `is_written`: with the
    columns that only a document has."""
    columns = [*_shown(listing, answer), *(listing.written if is_written else ())]
    if names:
        columns = sorted((column for column in columns if column.name in names), key=lambda one: names.index(one.name))
    items = listing.items(answer) if items is None else items
    rows = [{column.name: _told(column, element, is_money_raw=is_money_raw) for column in columns} for element in items]
    raw = {one.name for one in columns if one.is_money or one.words or one.is_said_only}  # made for people already
    unknown = {column.name for column in columns if column.metric and any(column.value(item) is None for item in items)}
    return for_people(rows, {column.name: _head(column) for column in columns}, raw, unknown)


def _told(column: Column[R], listed_row: R, *, is_money_raw: bool) -> object:
    if column.words:
        return column.words(listed_row)
    if column.is_money and is_money_raw:
        return column.value(listed_row)
    cell = column.cell(listed_row)
    return cell if cell is None or not column.is_money else usd_cents(cell)


def money(listing: Listing[A, Any], answer: A) -> list[str]:
    """The headings of columns with amounts in USD that people see."""
    return [_head(column) for column in _shown(listing, answer) if column.is_money and not column.words]


def _shown(listing: Listing[A, R], answer: A) -> list[Column[R]]:
    return [column for column in listing.columns_of(answer) if column.name and column.heading is not None]


def _head(column: Column[Any]) -> str:
    return column.heading or heading(column.name)


def heading(name: str) -> str:
    """``idle_gpu_usd_per_month`` → ``idle GPU per month``: without the unit that stands beside each amount."""
    parts = [part for part in name.replace("_", " ").split(" ") if part != "usd"]
    if parts and parts[-1] in _UNITS:
        parts.pop()
    return " ".join(_CAPITALS.get(part, part) for part in parts) or name


def words_of(name: str, value: object, row: Row) -> object:
    """One cell of the column `name`; `row` has the unit where the name doesn't say it."""
    if isinstance(value, StrEnum):
        return _WORDS.get(type(value), {}).get(value, value.value.replace("_", " "))
    if isinstance(value, str | Text):
        if name == "unit":
            return _SAID_UNITS.get(str(value), value)
        if name == "what" and "unit" in row:  # a number's name
            return heading(str(value))
        if name not in _SENTENCES or not value:
            return value
        verdict = row.get("verdict", row.get("after"))  # it stands beside the sentence, which needn't begin with it
        return rollout.details(verdict, value) if isinstance(verdict, Verdict) else sentence(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if name in _MOMENTS:
        return moment(value)
    return _amount(value, _unit(name) or str(row.get("unit", "")), is_written=any(word in name for word in _WRITTEN))


def _unit(name: str) -> str:
    """``bytes`` of ``working_set_bytes``, ``USD/hour`` of ``usd_per_gpu_hour``, "" where the name says none."""
    parts = name.split("_")
    if is_money(name):
        return "USD/hour" if parts[-1] == "hour" else "USD"
    return parts[-1] if parts[-1] in _UNITS else ""


def _amount(value: float, unit: str, *, is_written: bool) -> object:
    if unit == "gib":
        return measured_bytes(value * 2**30)
    if unit == "percent":
        return f"{value:g}%"
    if unit == "bytes":
        return roughly(round(value), MEMORY) if is_written else measured_bytes(value)
    if unit == "millicores":
        return roughly(round(value), CPU)
    if unit == "seconds":
        return duration(value)
    if unit.startswith("USD"):
        return unit_price(value) if unit == "USD/hour" else usd_cents(value)
    return value
