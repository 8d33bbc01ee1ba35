"""Numbers, names and lists as people read them: one spelling for sentences, tables, pages and commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from planner.quantity import format_amount

_LARGEST_DENOMINATOR = 64
_MARKDOWN = re.compile(r"[\\`*_\[\]()<>#$:~|!]")
# Control characters (C0 without tab and line end, DEL, C1) and those that turn the direction of a text around.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, *, one_line: bool = False) -> str:
    r"""`text` for a terminal: what would move its cursor, colour it or talk to it is written out (``\x1b``).

    With `one_line` tabs and line ends become spaces.
    """
    plain = _UNPRINTABLE.sub(lambda found: repr(found.group())[1:-1], text.replace("\r\n", "\n"))
    return re.sub(r"[\t\n]+", " ", plain) if one_line else plain


def literal(text: str) -> str:
    """`text` for a place that reads Markdown, shown as it is: names and messages come out of clusters and files."""
    return _MARKDOWN.sub(r"\\\g<0>", text)


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 pod``, ``1,523 nodes``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def measured_bytes(amount: float) -> str:
    """Something measured, to three digits: ``241 MiB``, ``1.55 GiB``. What is written in a spec is shown exactly
    instead (`planner.quantity.format_amount`)."""
    for unit in ("B", "KiB", "MiB"):
        if abs(amount) < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:,.3g} GiB" if amount < 1000 else f"{amount / 1024:,.3g} TiB"


def duration(seconds: float) -> str:
    """``45 s``, ``4 min``, ``2 h 5 min``, ``3 d 4 h``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    if whole < 86_400:
        hours, rest = divmod(whole, 3_600)
        return f"{hours} h {rest // 60} min" if rest >= 60 else f"{hours} h"
    days, rest = divmod(whole, 86_400)
    return f"{days} d {rest // 3_600} h" if rest >= 3_600 else f"{days} d"


def written(amount: int | None, resource: str) -> str:
    """A request or limit as it stands in a spec (``256Mi``); ``none`` where there is none."""
    return "none" if amount is None else format_amount(amount, resource)


def ratio(part: int, whole: int) -> str:
    """``1/8``, ``2/3``, ``4×``, ``the same``: `part` against `whole` (positive), as a person would compare them.

    Not exact beyond simple fractions: then ``about 1/12`` or ``about 2.4×``.
    """
    if part == whole:
        return "the same"
    exact = Fraction(part, whole)
    if exact.denominator == 1:
        return f"{exact.numerator}×"
    if exact > 1:
        return f"about {part / whole:.2g}×"
    if exact.numerator == 1 and exact.denominator <= _LARGEST_DENOMINATOR:
        return f"1/{exact.denominator}"
    if exact.denominator <= 4:
        return f"{exact.numerator}/{exact.denominator}"
    if part * 2 < whole:
        return f"about 1/{round(whole / part)}" if part else "0×"
    return f"about {part / whole:.0%}"


def listing(names: Sequence[str], most: int = 3) -> str:
    """``a``, ``a and b``, ``a, b, c and 4 more``."""
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def short_name(workload: str) -> str:
    """``Deployment/dev/api`` → ``dev/api``."""
    return workload.partition("/")[2]
