"""Tables on a page: rows of named values become a DataFrame here and nowhere else."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from planner.ground.tables import Rows, is_amounts, shown
from planner.ground.words import Text, capital, literal, printable, usd_cents
from planner.ui import link, object_links

T = TypeVar("T")

_PAGE_PIXELS = 890  # what a window of 1,280 pixels leaves for a table
_LINE_PIXELS, _EDGE_PIXELS = 20, 18
_LETTER_PIXELS, _CAPITAL_PIXELS, _FIRST_LETTERS = 6.4, 7.2, 10  # short words are numbers and begin with capitals
_SHORT_LETTERS = 16
_WIDE_LETTERS = 0.3  # by how much wider these are than what is left where narrow ones make up for them
_MOST_LINES, _LOW_LINES, _MARK_PIXELS = 6, 4, 34  # the last: the boxes that select a row
_NARROWED_ROWS = 50  # of more, every text would be wrapped again and again
_FEW_ROWS = 6  # are all in sight, however high they are
_MEASURED_ROWS = (
    9  # the grid measures the first nine rows and the last, and leaves out what is twice as wide as their average
)
_WORDS = re.compile(r"(?:[✗✓△○?–] )?\S+")  # a mark stays with what it marks
_SPACES, _PARTS, _ENDS = re.compile(r"\s"), re.compile(r"[/-]"), re.compile(r"(?<=[\s/.-])")
_PART = re.compile(r"[\d,]+ of [\d,]+\Z")
pd.set_option("styler.render.max_elements", 2**24)  # cells of a table with its own words: pandas stops at 262,144
_WRAPS_PIXELS = 66  # Streamlit wraps the texts of rows that are higher than 4rem, and of no others


def fitted(rows: Rows, within: int) -> tuple[dict[str, int], int]:
    """Widths of columns, in pixels, that together aren't wider than `within`, and in how many lines texts are then shown.

    Where every column has the room it asks for, only those have a width that the grid would take for narrower. Else the
    columns with the longest texts give way, none below its longest word: the grid breaks lines at spaces, and elsewhere in
    the middle of a name. Where words leave no room, or only for texts of many lines, names give way too.
    """
    names = list(rows[0])
    words = {name: list(dict.fromkeys(_said(row[name]) for row in rows if row[name] is not None)) for name in names}
    wanted_widths = {name: _pixels(max(map(_length, [name, *words[name]]))) for name in names}
    if sum(wanted_widths.values()) <= within:
        return {name: wanted_widths[name] for name in names if _is_taken_for_narrower(name, rows)}, 1
    whole, parts = (
        _shared(words, wanted_widths, _least(words, wanted_widths, in_parts=is_in_parts), within)
        for is_in_parts in (False, True)
    )
    is_low = sum(whole[0].values()) <= within and (whole[1] <= _LOW_LINES or whole[1] <= parts[1])
    widths, lines = whole if is_low else parts
    lines = min(_MOST_LINES, lines)
    if len(rows) <= _NARROWED_ROWS:
        widths = {name: _narrowest([name, *words[name]], widths[name], lines) for name in names}
    return widths, lines


def _narrowest(texts: Sequence[str], widest: int, lines: int) -> int:
    """How wide a column must be for texts of so many lines, as rows have them anyway, and for whole words in most of them: a phone
    shows more columns, and a wide page makes all of them wider."""
    longest = sorted(_pixels(max(map(_length, _WORDS.findall(text)), default=0)) for text in texts[1:])
    least = max(_pixels(_length(texts[0])), longest[len(longest) * 3 // 4] if longest else 0)
    for width in range(least, widest, 4):
        if all(_lines(broken(text, width), width) <= lines for text in texts):
            return width
    return widest


def _shared(
    words: Mapping[str, Sequence[str]], wanted_widths: Mapping[str, int], least: Mapping[str, int], within: int
) -> tuple[dict[str, int], int]:
    """`within` shared out, the widest columns giving way first, none below its `least`; how many lines the longest text takes."""
    widest = max(wanted_widths.values())
    while widest > 40 and sum(max(least[name], min(wanted_widths[name], widest)) for name in wanted_widths) > within:
        widest -= 4
    widths = {name: max(least[name], min(wanted_widths[name], widest)) for name in wanted_widths}
    tall = (
        _lines(broken(text, widths[name]), widths[name])
        for name in wanted_widths
        for text in words[name]
        if len(text) > _letters(widths[name]) or "\n" in text
    )
    return widths, max(tall, default=1)


def _is_taken_for_narrower(name: str, rows: Rows) -> bool:
    """Whether the grid, left to itself, makes the column narrower than its longest cell."""
    lengths = [0 if row[name] is None else len(_said(row[name])) for row in rows]
    measured = [*lengths[:_MEASURED_ROWS], *lengths[_MEASURED_ROWS:][-1:]]
    average = sum(measured) / len(measured)
    return max(lengths) > max(len(name), *(length for length in measured if length < 2 * average or not length))


def broken(text: str, pixels: int) -> str:
    """`text` for a column so wide: a word that is longer ends its lines after "/", "-" and ".", as far as it has any.
    A short name stays as it is: a copy has it whole.
    """
    most = _letters(pixels)
    if all(len(word) <= max(most, _SHORT_LETTERS) for word in text.split()):
        return text
    lines = [""]
    for part in _ENDS.split(text):
        if len(lines[-1]) + len(part.rstrip()) > most and lines[-1]:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _said(value: object) -> str:
    """A cell about as long as its column shows it: amounts are rounded there."""
    return f"${value:,.2f}" if isinstance(value, float) else str(value)


def _least(words: Mapping[str, Sequence[str]], wanted_widths: Mapping[str, int], *, in_parts: bool) -> dict[str, int]:
    """For each column its name, which stays in one line, or the longest word of a cell; of a long word its longest part."""

    def parts(text: str) -> Iterator[str]:
        for word in _SPACES.split(text):
            yield from _PARTS.split(word) if in_parts and len(word) > _SHORT_LETTERS else (word,)

    return {
        name: min(
            wanted_widths[name],
            _pixels(max([_length(name), *(_length(word) for text in texts for word in parts(text))])),
        )
        for name, texts in words.items()
    }


def _lines(text: str, pixels: int) -> int:
    """Lines that `text` takes in a column so wide."""
    most = _letters(pixels)
    return sum(
        1 if line.strip() and len(line.expandtabs()) <= most else len(textwrap.wrap(line, most, break_on_hyphens=False))
        for line in text.split("\n")
    )


def _length(text: str) -> float:
    """In letters of the usual width: a name with many wide ones would break at its end."""
    return len(text) + _WIDE_LETTERS * sum(map(text.count, "mwMW"))


def _pixels(letters: float) -> int:
    first = min(letters, _FIRST_LETTERS)
    return int(first * _CAPITAL_PIXELS + (letters - first) * _LETTER_PIXELS) + _EDGE_PIXELS


def _letters(pixels: int) -> int:
    """How many letters have room: what `_pixels` says of them."""
    room = pixels - _EDGE_PIXELS
    first = _FIRST_LETTERS * _CAPITAL_PIXELS
    return max(
        1, int(room / _CAPITAL_PIXELS if room <= first else _FIRST_LETTERS + (room - first + 1) / _LETTER_PIXELS)
    )


def show(
    rows: Rows,
    *,
    alt: str,
    columns: Mapping[str, Any] | None = None,
    money: Collection[str] = (),
    names: Collection[str] = (),
    empty: str = "Nothing to show.",
    placeholder: str = "–",
    within: int = _PAGE_PIXELS,
    opens: Sequence[object_links.PageLink | None] = (),
    on_pick: Callable[[int], None] | None = None,
    **more: Any,
) -> None:
    """Show `rows` (all with the same names, in the order of the columns); `empty` is said when there are none.

    `columns` is Streamlit's column configuration, `money` the columns with amounts in USD; unknown values (None) are shown
    as `placeholder`. Headings begin with a capital letter, but for `names`, the names of something. Where the columns are
    wider than `within` pixels, the widest texts wrap. `opens`: where each row leads when it is selected; `on_pick`: what is
    called with its place, before the page runs (with a `key`).
    """
    if not rows:
        st.caption(empty)
        return
    heads = {name: name if name in names else capital(name) for name in rows[0]}
    cells = [{heads[name]: _cell(cell) for name, cell in row.items()} for row in rows]
    cells = _of_one_kind(cells)
    widths, lines = fitted(cells, within - _MARK_PIXELS if opens or on_pick else within)
    if lines > 1:
        more["row_height"] = max(_WRAPS_PIXELS, 14 + _LINE_PIXELS * lines)
        if len(rows) <= _FEW_ROWS:
            more.setdefault("height", "content")
        cells = [
            {name: broken(cell, widths[name]) if isinstance(cell, str) else cell for name, cell in row.items()}
            for row in cells
        ]
    config: dict[str, Any] = {name: {"width": width} for name, width in widths.items()}
    for name in heads.values():
        if is_amounts(cells, name):  # written with their unit, they are texts to the grid
            config[name] = {**config.get(name, {}), "alignment": "right"}
    has_debts = any(isinstance(cell := row[name], int | float) and cell < 0 for row in rows for name in money)
    dollars = st.column_config.NumberColumn(format=None if has_debts else "dollar")
    for name, column_config in {**dict.fromkeys(money, dollars), **(columns or {})}.items():
        config[heads[name]] = {**config.get(heads[name], {}), **column_config}
    if opens:
        more |= {"on_select": "rerun", "selection_mode": "single-row"}
    elif on_pick is not None:
        more |= {"on_select": lambda: _picked(more["key"], on_pick), "selection_mode": "single-row"}
    frame = pd.DataFrame(cells)
    event = st.dataframe(
        _in_words(frame, [heads[name] for name in money], placeholder) if has_debts else frame,
        hide_index=True,
        column_config=config,
        alt=alt,
        width="stretch",
        placeholder=placeholder,
        **more,
    )
    if opens:
        object_links.selected(event, opens)


def grouped(
    groups: Sequence[tuple[T, ...]], show: Callable[[Sequence[tuple[T, ...]], str], None], *, key: str, few: int = 12
) -> None:
    """Things of which the same is said in one row of the table that `show` makes, and each by itself where that is asked for; few of
    them, or those that are all different, at once. `show`: groups, key."""
    every = [(member,) for row_group in groups for member in row_group]
    if len(every) <= few or len(groups) == len(every):
        show(every, key)
        return
    show(groups, f"{key}_alike")
    with link.expander(f"All {len(every):,}, one by one", key=f"every_{key}", icon=":material/table_rows:") as is_open:
        if is_open:
            show(every, key)


def _of_one_kind(cells: Rows) -> list[dict[str, Any]]:
    """Columns of numbers and texts as texts: a DataFrame's column that is both has no type, which ends in the log as a traceback."""
    kinds: dict[str, set[bool]] = {}
    for row in cells:
        for name, cell in row.items():
            if cell is not None:
                kinds.setdefault(name, set()).add(isinstance(cell, str))
    mixed = {name for name, cell_kinds in kinds.items() if len(cell_kinds) > 1}
    return [
        {name: shown(cell, "") if name in mixed and cell is not None else cell for name, cell in row.items()}
        for row in cells
    ]


def _in_words(frame: pd.DataFrame, money: list[Hashable], unknown: str) -> Styler:
    """Money as `usd_cents` has it, sorted as numbers all the same: the grid's own format for dollars has a hyphen for a minus."""
    others = frame.style.format(lambda cell: shown(cell, unknown), na_rep=unknown)
    return others.format(lambda amount: usd_cents(float(str(amount))), subset=money, na_rep=unknown)


def _picked(key: str, on_pick: Callable[[int], None]) -> None:
    rows = st.session_state[key].selection.rows
    if rows:
        on_pick(rows[0])


def small(rows: Rows, *, names: Collection[str] = (), empty: str = "", unknown: str = "–") -> None:
    """A few rows as words in columns: wrapped to the page, readable by a screen reader; what is too wide for a phone scrolls
    within the table, not with the page. Unknown cells (None) say `unknown`."""
    if rows:
        heads = {name: literal(name if name in names else capital(name)) for name in rows[0]}
        cell_texts = {head: [literal(shown(row[name], unknown)) for row in rows] for name, head in heads.items()}
        # Only numbers stand to the right there, so an amount is the number of its row, shown as its words.
        amounts = {
            head
            for name, head in heads.items()
            if is_amounts(rows, name) or all(_PART.match(str(row[name])) for row in rows)
        }
        frame = pd.DataFrame(
            {name: range(len(rows)) if name in amounts else cells for name, cells in cell_texts.items()}
        )
        styled = frame.style.format({name: _at(cell_texts[name]) for name in amounts})
        st.table(styled, hide_index=True, border="horizontal")
    elif empty:
        st.caption(empty)


def _at(cells: Sequence[str]) -> Callable[[object], str]:
    return lambda place: cells[int(str(place))]


def _cell(value: object) -> object:
    """Texts in one line and without what would turn their direction around; other values as they are."""
    return printable(str(value), one_line=True) if isinstance(value, str | Text) else value
