"""Shows tables on a page: only here rows of named values become a DataFrame."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from math import ceil
from typing import Any, Final

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.errors import StreamlitDuplicateElementKey

from planner.ground.table_formats import Rows, is_amounts, shown
from planner.ground.words import Text, capital, literal, printable, usd_cents
from planner.ui import object_page_links

_PAGE_PIXELS = 890  # what a window of 1,280 pixels leaves for a table
_LINE_PIXELS, _EDGE_PIXELS, _LETTER_PIXELS = 20, 26, 6.4
_SHORT_LETTERS = 16  # a name so short stays in one line
_MARK_PIXELS = 34  # of the boxes that select a row
_OPENING: Final = ("workload", "shape", "service", "pod", "object")  # columns whose cells open what their row opens
_OPENING_PIXELS = 330  # a cell that opens has one line: longer names wrap, and their rows open by the box
_ROW_WIDTHS: Final = (3.2, 2.2, 5.6, 2.2)  # of `row`
_MOST_CARDS: Final = 3  # on a phone; of more rows the table has the others
_FEW_ROWS, _MOST_LINES = 6, 6  # few rows are all in sight, and as high as their texts are long
_PARTS = re.compile(r"[/-]")
_PART = re.compile(r"[\d,]+ of [\d,]+\Z")
pd.set_option("styler.render.max_elements", 2**24)  # cells of a table with its own words: pandas stops at 262,144
_WRAPS_PIXELS = 66  # two lines (Streamlit wraps in rows above 4rem only); what is longer opens by a double click


def fitted(rows: Rows, within: int, whole: str = "") -> tuple[dict[str, int], int]:
    """Widths of columns, in pixels, that together aren't wider than `within` where that can be; and how many lines the longest text takes
    then. The grid itself measures the first rows only, and scrolls to the side instead of wrapping.

    The columns with the longest texts give way, none below its heading and its longest word; of a long name the longest part counts.
    The column called `whole` gives nothing.
    """
    texts = {name: [name, *(_said(row[name]) for row in rows if row[name] is not None)] for name in rows[0]}
    wanted = {name: _pixels(column) for name, column in texts.items()}
    least = {name: min(wanted[name], _pixels([name, *_unbroken(column[1:])])) for name, column in texts.items()}
    least |= {whole: wanted[whole]} if whole else {}
    widths, most = wanted, max(wanted.values())
    while sum(widths.values()) > within and most > min(least.values()):
        most -= 4
        widths = {name: max(least[name], min(wanted[name], most)) for name in wanted}
    return widths, max(
        1 if wanted[name] <= width else 1 + wanted[name] // (width - _EDGE_PIXELS) for name, width in widths.items()
    )


def _unbroken(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for word in text.split():
            yield from _PARTS.split(word) if len(word) > _SHORT_LETTERS else (word,)


def broken(text: str, pixels: int) -> str:
    """`text` for a column so wide: a longer word ends its lines after "/", "-" and ".", where the grid would end them anywhere."""
    most = max(2, int((pixels - _EDGE_PIXELS) / _LETTER_PIXELS))
    lines = re.compile(rf"\S{{1,{most}}}$|\S{{1,{most - 1}}}[/.-]|\S{{1,{most}}}")
    return re.sub(rf"\S{{{max(most, _SHORT_LETTERS) + 1},}}", lambda word: "\n".join(lines.findall(word[0])), text)


def _said(value: object) -> str:
    """A cell about as long as its column shows it: amounts are rounded there."""
    return f"${value:,.2f}" if isinstance(value, float) else str(value)


def _pixels(texts: Iterable[str]) -> int:
    return ceil(max(map(len, texts)) * _LETTER_PIXELS) + _EDGE_PIXELS


def show(
    rows: Rows,
    *,
    alt: str,
    money: Collection[str] = (),
    names: Collection[str] = (),
    empty: str = "Nothing to show.",
    placeholder: str = "–",
    within: int = _PAGE_PIXELS,
    opens: Sequence[object_page_links.PageLink | None] = (),
    **more: Any,
) -> None:
    """Show `rows` (all with the same names, in the order of the columns); `empty` is said when there are none.

    `money`: the columns with amounts in USD; unknown values (None) are shown as `placeholder`. Headings begin with a capital
    letter, but for `names`, the names of something. Where the columns are wider than `within` pixels, the widest texts wrap.
    `opens`: where each row leads when it is selected, or its name is clicked.
    """
    if not rows:
        st.caption(empty)
        return
    heads = {name: name if name in names else capital(name) for name in rows[0]}
    cells = [{heads[name]: _cell(cell) for name, cell in row.items()} for row in rows]
    cells = _of_one_kind(cells)
    opening = next((heads[name] for name in _OPENING if opens and name in heads), "")
    if opening and _pixels(str(row[opening]) for row in cells) > _OPENING_PIXELS:
        opening = ""
    widths, lines = fitted(cells, within - _MARK_PIXELS if opens else within, opening)
    if lines > 1:
        is_few = len(rows) <= _FEW_ROWS
        more["row_height"] = max(_WRAPS_PIXELS, 14 + _LINE_PIXELS * min(_MOST_LINES, lines) if is_few else 0)
        if is_few:
            more.setdefault("height", "content")
        cells = [
            {name: broken(cell, widths[name]) if isinstance(cell, str) else cell for name, cell in row.items()}
            for row in cells
        ]
    config: dict[str, Any] = {name: {"width": width} for name, width in widths.items()}
    for name in heads.values():
        if is_amounts(cells, name):  # "16 GiB" is a text to Streamlit's grid, which aligns texts to the left
            config[name] = {**config.get(name, {}), "alignment": "right"}
    has_debts = any(isinstance(cell := row[name], int | float) and cell < 0 for row in rows for name in money)
    dollars = st.column_config.NumberColumn(format=None if has_debts else "dollar")
    for name in money:
        config[heads[name]] = {**config[heads[name]], **dollars}
    if opens:  # by the box before the row too: a name that is drawn as a button hears no key
        more |= {"on_select": "rerun", "selection_mode": "single-row"}
    frame = pd.DataFrame(cells)
    key = f"fold_table_{zlib.crc32(repr((alt.partition('.')[0], sorted(widths), more.get('key'))).encode()):x}"
    try:  # on a phone: cards, and the grid where one asks for it
        place, has_cards = st.container(key=key), True  # a wide window hides what stands first under such a key
    except StreamlitDuplicateElementKey:
        place, has_cards = st.container(), False
    with place:
        if has_cards and opening:
            config[opening] = st.column_config.ButtonColumn(
                width=widths[opening], type="tertiary", alignment="left", key=f"name_{key}"
            )
        if has_cards:
            named = [{heads[name]: cell for name, cell in row.items()} for row in rows]
            _cards(named, opens, {heads[name] for name in money}, placeholder, key)
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
        object_page_links.selected(event, st.session_state.get(f"name_{key}"), opens)


def _cards(
    rows: Rows, opens: Sequence[object_page_links.PageLink | None], money: Collection[str], unknown: str, key: str
) -> None:
    """The first rows as a phone has them (a wider window hides them): the first cell, which opens what the row does, and below it what
    is known of the others."""
    with st.container(gap="xsmall"):
        for place, row in enumerate(rows[:_MOST_CARDS]):
            (_, first), *others = row.items()
            target = opens[place] if opens else None
            parts = [
                f"{name}: {usd_cents(float(str(cell))) if name in money else shown(cell, unknown)}"
                for name, cell in others
                if cell is not None and str(cell)
            ]
            text = f":small[{literal(' · '.join(parts))}]"
            if target is not None:
                object_page_links.link(target, str(first))
                st.markdown(text)
            else:
                st.markdown(f"**{literal(shown(first, unknown))}**  \n{text}")
        st.toggle(f"All {len(rows):,} in a table" if len(rows) > _MOST_CARDS else "As a table", key=f"_{key}")


def row(target: object_page_links.PageLink | None, name: str, badge: str, color: Any, text: str, aside: str) -> None:
    """One object in columns, a card on a phone: its name, which opens its page, a badge, what is said of it (Markdown), what stands
    beside."""
    name_column, badge_column, said, right = st.columns(_ROW_WIDTHS, vertical_alignment="center", gap="small")
    with name_column:
        if target is None:
            st.markdown(f"**{literal(name)}**")
        else:
            object_page_links.link(target, name)
    badge_column.badge(badge, color=color)
    said.markdown(text)
    right.caption(literal(aside))


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
