"""Writes rows of named values as text for a terminal, as CSV, as JSON and as Markdown, for commands, reports and pages.

Cells hold numbers, texts, yes or no, lists of texts, or None where a value isn't known. Names, images and messages come
out of clusters and files, so every form takes away what the place that reads it would obey: a terminal's control
sequences, a spreadsheet's formulas, Markdown's signs.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from planner.ground.words import UNPRINTABLE, literal, printable

T = TypeVar("T")
Row = Mapping[str, object]
Rows = Sequence[Row]

UNKNOWN: Final = "–"
_CARDS: Final = 2  # rows that is not read down a column
# An amount as people write it: 12 or 1,234.5, 16 GiB, ~$3.20, 85%, 250m, 64+.
_AMOUNT: Final = re.compile(r"~? ?[-−]?\$?\d[\d.,]*(?: ?[A-Za-z]{1,3}|%|×)?\+?\Z", re.ASCII)
_FORMULA: Final = re.compile(r"\s*[=+\-@]|[\t\r\n]")
_QUOTED: Final = re.compile(r"[\",\r\n]")


def as_json(content: object) -> str:
    r"""A document as JSON, control characters and what turns a text around as ``\u001b``: the same values, safe to look at."""
    # asked to indent, it would be Python that writes, three times as long
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    half = "surrogatepass"  # half a character, which UTF-8 lacks
    text = msgspec.json.format(text.encode(errors=half), indent=2).decode(errors=half)
    return UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n"


def alike(items: Iterable[T], by: Callable[[T], Hashable]) -> list[tuple[T, ...]]:
    """Those of which the same is said together, in the order of the first of each."""
    groups: dict[Hashable, list[T]] = {}
    for element in items:
        groups.setdefault(by(element), []).append(element)
    return [tuple(group) for group in groups.values()]


def columns(rows: Rows) -> list[str]:
    """Every name that a row has, in the order in which rows bring them."""
    return list(dict.fromkeys(name for row in rows for name in row))


def as_text(rows: Rows, *, unknown: str = UNKNOWN, room: int | None = None) -> str:
    """Columns as wide as their widest cell, two spaces between them, amounts to the right; "" without rows.

    What is wider than `room` has its cells wrapped, or its columns in several tables one below the other that begin with the same
    columns, whichever takes fewer lines; a word is never broken. A row or two, and what fits neither way, are a card a row.
    """
    names = columns(rows)
    cells = [[printable(shown(row.get(name), unknown), one_line=True) for name in names] for row in rows]
    lines = [[printable(name, one_line=True) for name in names], *cells]
    right = [is_amounts(rows, name) for name in names]
    every = list(range(len(names)))
    if not rows:
        return ""
    if room is None or _width(lines, every) <= room:
        return _table(lines, every, right, None)
    cards = "".join(f"{line}\n" for row in cells for line in _card(lines[0], row, room))
    ways = [
        _table(lines, every, right, room),
        "\n".join(_table(lines, part, right, room) for part in _parts(lines, right, room)),
    ]
    shortest = min(filter(None, ways), key=_lines, default=cards)
    return cards if len(rows) <= _CARDS and _lines(cards) < _lines(shortest) else shortest


def _lines(text: str) -> int:
    return text.count("\n")


def _width(lines: Sequence[list[str]], which: Sequence[int]) -> int:
    """Letters of a line that has these columns."""
    return sum(max(len(line[place]) for line in lines) for place in which) + 2 * (len(which) - 1)


def _table(lines: Sequence[list[str]], which: Sequence[int], right: Sequence[bool], room: int | None) -> str:
    """These columns; "" where their words and amounts don't fit into `room`."""
    kept = [[line[place] for place in which] for line in lines]
    to_right = [right[place] for place in which]
    widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
    if room is not None and _width(lines, which) > room:
        widths = _narrowed(kept, widths, to_right, room - 2 * (len(which) - 1))
        kept = [part for row in kept for part in _wrapped(row, widths)] if widths else []
    return "".join(
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, to_right, strict=True)
        ).rstrip()
        + "\n"
        for line in kept
    )


def _parts(lines: Sequence[list[str]], right: Sequence[bool], room: int) -> list[list[int]]:
    """Columns that stand side by side in `room`, each time after those that tell the rows apart; none where one can't stand beside these."""
    first = list(range(_telling(lines, room // 2)))
    parts: list[list[int]] = []
    for place in range(len(first), len(right)):
        if parts and _width(lines, [*parts[-1], place]) <= room:
            parts[-1].append(place)
        elif _table(lines, [*first, place], right, room):
            parts.append([*first, place])
        else:
            return []
    return parts


def _telling(lines: Sequence[list[str]], room: int) -> int:
    """How many of the first columns tell one row from another; the first alone where all of these don't, or are wider than `room`."""
    for number in range(1, len(lines[0])):
        which = list(range(number))
        if len({tuple(line[:number]) for line in lines}) == len(lines) and _width(lines, which) <= room:
            return number
    return 1


def _narrowed(lines: Sequence[list[str]], widths: Sequence[int], right: Sequence[bool], room: int) -> list[int]:
    """Widths that fit into `room`, the widest column narrowed first; none where words or amounts would be broken."""
    least = [
        max(max(map(len, head.split()), default=0), *(len(cell) if whole else len(word) for cell in cells for word in cell.split()), 0)
        for (head, *cells), whole in zip(zip(*lines, strict=True), right, strict=True)
    ]  # fmt: skip
    column_widths = list(widths)
    while sum(column_widths) > room:
        slack = [place for place, width in enumerate(column_widths) if width > least[place]]
        if not slack:
            return []
        column_widths[max(slack, key=column_widths.__getitem__)] -= 1
    return column_widths


def _fill(text: str, room: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _wrapped(cells: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """A row as the rows of a terminal."""
    parts = [_fill(cell, max(1, width)) or [""] for cell, width in zip(cells, widths, strict=True)]
    return [[part[place] if place < len(part) else "" for part in parts] for place in range(max(map(len, parts)))]


def _card(names: Sequence[str], cells: Sequence[str], room: int) -> list[str]:
    """A row as its first cell and what the others say, as many on a line as go; empty ones are left out."""
    card_lines = [
        f"{name}: {cell}" if name else cell for name, cell in zip(names[1:], cells[1:], strict=True) if cell.strip()
    ]
    first, *more_lines = [cells[0], *card_lines] if cells[0].strip() else (card_lines or [""])
    lines = [first]
    for segment in more_lines:
        if len(lines[-1]) + len(segment) + 3 <= room:
            lines[-1] += f" · {segment}"
        else:
            lines.append(f"  {segment}")
    return [part for line in lines for part in _fill(line, room, "    ")]


def as_csv(rows: Rows) -> str:
    """RFC 4180 with Unix line ends: numbers in full, unknown values empty, "" without rows.

    A text that a spreadsheet would take for a formula (it begins with ``=``, ``+``, ``-``, ``@``, a tab or a line end)
    gets an apostrophe before it, as OWASP's "CSV Injection" has it; numbers stay numbers.
    """
    if not rows:
        return ""
    names = columns(rows)
    lines = [[_field(name) for name in names], *([_field(row.get(name)) for name in names] for row in rows)]
    return "".join(f"{','.join(line)}\n" for line in lines)


def as_markdown(rows: Rows, *, unknown: str = UNKNOWN) -> str:
    """A table of GitHub's Markdown, amounts to the right; "" without rows."""
    if not rows:
        return ""
    names = columns(rows)
    ruler = ["---:" if is_amounts(rows, name) else "---" for name in names]
    body = [[literal(printable(shown(row.get(name), unknown), one_line=True)) for name in names] for row in rows]
    head = [literal(printable(name, one_line=True)) for name in names]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ruler, *body))


def is_amounts(rows: Rows, name: str) -> bool:
    """Whether every cell of the column that is known is an amount, so that it stands to the right."""
    cells = [row.get(name) for row in rows]
    texts = [text for cell in cells if (text := shown(cell, ""))]
    return bool(texts) and all(map(_AMOUNT.match, texts))


def shown(value: object, unknown: str) -> str:
    """As people read it: ``1,523``, ``0.25``, ``yes``, ``a; b``."""
    if value is None:
        return unknown
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.2f}".removesuffix(".00")
    return _joined(value)


def _field(value: object) -> str:
    if value is None or isinstance(value, bool | int | float):
        return "" if value is None else str(value)
    text = printable(_joined(value))
    if _FORMULA.match(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def _joined(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
