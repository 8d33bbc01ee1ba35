"""Numbers as people say them."""

from __future__ import annotations

from datetime import UTC, datetime

from planner import words
from planner.quantity import format_amount

literal = words.literal


def sentence(text: str) -> str:
    """`text` with a capital letter and a full stop, unless it begins with a name (``prod/api needs …``)."""
    first = text.partition(" ")[0]
    is_name = any(sign in first for sign in "/.-_") or any(letter.isupper() for letter in first)
    return f"{text if is_name else text[:1].upper() + text[1:]}".rstrip(".") + "."


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 pod``, ``2 pods``, ``1,523 nodes``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """``45 s``, ``4 min 10 s``, ``2 h 5 min``, ``3 d 4 h``: two units at most."""
    whole = round(seconds)
    for unit, size, smaller, smaller_size in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // smaller_size
            return f"{whole // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"


def about(seconds: float) -> str:
    """``~ 45 s``, ``~ 15 min``, ``~ 3.2 h``: an estimate has one unit."""
    for unit, size in (("s", 1), ("min", 60), ("h", 3_600)):
        if seconds < 90 * size:  # as the sentences of planner.questions.rollout have it
            return f"~ {seconds / size:.2g} {unit}" if unit == "h" else f"~ {seconds / size:.0f} {unit}"
    return f"~ {seconds / 86_400:.0f} d"


def moment(taken_at: float) -> str:
    """``2026-07-16 09:30 UTC``; 0 is a time that isn't known."""
    if taken_at <= 0:
        return "at a time the input doesn't tell"
    return datetime.fromtimestamp(taken_at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def amount(value: int, resource: str) -> str:
    """An amount with its resource: ``1500m cpu``, ``16 GiB memory``, ``2 nvidia.com/gpu``."""
    if "memory" in resource or "storage" in resource:
        return f"{bytes_text(value)} {resource}"
    return f"{format_amount(value, resource)} {resource}"


def bytes_text(value: float) -> str:
    """``512 MiB``, ``15.6 GiB``: three digits or the whole number, binary units."""
    units = ["PiB", "TiB", "GiB", "MiB", "KiB", "B"]
    while (unit := units.pop()) and units and abs(value) >= 1024:
        value /= 1024
    return f"{value:.3g} {unit}" if abs(value) < 100 else f"{value:,.0f} {unit}"
