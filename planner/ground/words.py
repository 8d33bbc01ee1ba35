"""Formats numbers, names and lists as people read them, the same for sentences, tables, pages and commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Final

from planner.ground.quantity import format_amount

_LARGEST_DENOMINATOR = 64
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_UNITS = (("d", 86_400, 172_800), ("h", 3_600, 3_600), ("min", 60, 60), ("s", 1, 1))  # name, seconds, used from
_STEPS = ((600, 1), (172_800, 60), (864_000, 3_600), (inf, 86_400))  # below so many seconds, rounded to so many
_COMMAND: Final = re.compile(r": kubectl [^:;]*\Z")
# A parenthesis or "!" means nothing where no bracket stands beside it, and those are escaped; one after a bracket is, too: a
# badge takes the bracket's escape away. A colon where :name[…] or an address may be read.
_MARKDOWN = re.compile(r"[\\`*_\[\]<>#$~|&@]|:(?=[^\W\d]|/)|(?<=\])\(")
# What Streamlit and GFM look for in the text after the escapes are read: addresses (not after a letter), e-mail, :icons:.
_ALIVE = re.compile(r"(?i)(?=https?:)|(?=www\.)|(?<=@)|(?<=:)(?=[\w+-]*[a-z][\w+/-]*:|[+-]1:)")
_JOINER = "\u2060"  # of no width: it parts what would be read as one
_LINES = re.compile("[\t\n\x0b\x0c\r\x85\u2028\u2029]+")
# Control characters (C0 without tab and line end, DEL, C1) and those that turn the direction of a text around.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Text:
    """Words for people, made last from what was decided: they can be shown and joined, and nothing can be read out of them.

    There is no ``in``, no ``split`` and no ``startswith``, so that mypy and Python refuse a decision that depends on a
    sentence: the fact stands in a field beside it. `str` and f-strings give the words to what shows them; empty words are
    false.
    """

    __slots__ = ("_words",)

    def __init__(self, words: object = "") -> None:
        self._words = str(words)

    def __str__(self) -> str:
        return self._words

    def __repr__(self) -> str:
        return f"Text({self._words!r})"

    def __format__(self, spec: str) -> str:
        return format(self._words, spec)

    def __bool__(self) -> bool:
        return bool(self._words)

    def __hash__(self) -> int:
        return hash(self._words)

    def __reduce__(self) -> tuple[type[Text], tuple[str]]:  # caches pickle answers, Streamlit's in an old protocol
        return Text, (self._words,)

    if not TYPE_CHECKING:  # mypy then refuses ``text == "…"`` too

        def __eq__(self, other: object) -> bool:
            if isinstance(other, str):
                raise TypeError("words for people don't decide anything: compare the field beside them")
            return self._words == other._words if isinstance(other, Text) else NotImplemented


NO_WORDS: Final = Text()


def printable(text: str, *, one_line: bool = False) -> str:
    r"""`text` for a terminal: what would move its cursor, colour it or talk to it is written out (``\x1b``).

    With `one_line` tabs and line ends become spaces.
    """
    plain = UNPRINTABLE.sub(lambda match: repr(match.group())[1:-1], text.replace("\r\n", "\n"))
    return re.sub(r"[\t\n]+", " ", plain) if one_line else plain


def literal(text: str | Text) -> str:
    """`text` for a place that reads Markdown, shown as it is, in one line: names and messages come out of clusters, files
    and links. No link, icon, picture, formula or line of its own comes of it."""
    parted = _ALIVE.sub(_JOINER, printable(_LINES.sub(" ", str(text))))
    return _MARKDOWN.sub(r"\\\g<0>", parted)


def sentence(words: str | Text) -> str:
    """`words` as `capital` has them, with a full stop; a command at the end is copied, and gets none."""
    text = capital(str(words)).rstrip(".")
    return text if _COMMAND.search(text) else f"{text}."


def capital(words: str) -> str:
    """`words` with a capital letter, unless they begin with a name (``prod/api needs …``, ``maxSurge``)."""
    first = words.partition(" ")[0]
    is_name = any(sign in first for sign in "/.-_") or any(letter.isupper() for letter in first)
    return words if is_name else words[:1].upper() + words[1:]


def begin_with(name: str, noun: str) -> str:
    """A name where a sentence begins: with its noun before it where a capital letter would make it another's (``node sp0``)."""
    return name if capital(name) == name else f"{noun} {name}"


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def plural(number: float, singular: str, many: str = "") -> str:
    """``pod`` or ``pods``, ``has`` or ``have``: `many` where it isn't `singular` with an s."""
    return singular if number == 1 else many or f"{singular}s"


_SPELLED: Final = ("HTTP", "MPI", "MX", "XGB")  # kinds that begin with a letter that is spoken with a vowel first


def with_article(name: str) -> str:
    """``a Deployment``, ``an Ingress``, ``an HTTPRoute``: as the name is said."""
    is_vowel = name[:1].upper() in tuple("AEIO") or name.startswith(_SPELLED)
    return f"{'an' if is_vowel else 'a'} {name}"


def count(number: int, singular: str, many: str = "") -> str:
    """``1 pod``, ``1,523 nodes``, ``2 pods are`` (of ``pod is``, ``pods are``)."""
    return f"{number:,} {plural(number, singular, many)}"


def some(number: int | None) -> str | None:
    """``1,234``; "" for none, None for not known."""
    return None if number is None else f"{number:,}" if number else ""


def percent(part: int | None, whole: int) -> int | None:
    """A share in percent; None where it isn't known, or of nothing."""
    return round(100 * part / whole) if whole and part is not None else None


def spelled(number: int) -> str:
    """``no``, ``five``, ``11``: small numbers in letters, for a sentence that reads as one."""
    return _SMALL[number] if 0 <= number < len(_SMALL) else f"{number:,}"


def usd(amount: float) -> str:
    """``$1,234``, ``$12.30``, ``−$5.00``, ``$0``: whole dollars from 100 on."""
    return _dollars(amount, 0 if abs(amount) >= 99.5 or amount == 0 else 2)


def usd_cents(amount: float) -> str:
    """``$28,975.81``, ``$0.00``: where amounts stand below each other and add up."""
    return _dollars(amount, 2)


def _dollars(amount: float, places: int) -> str:
    digits = f"{abs(amount):,.{places}f}"
    return f"{'−' if amount < 0 and float(digits.replace(',', '')) else ''}${digits}"


def signed(share: float) -> str:
    """A change as a percentage with its sign: ``+19.5%``, ``−9.3%``."""
    return f"{share:+.1%}".replace("-", "−")


def unit_price(usd_per_hour: float) -> str:
    """``$0.3500``: a price of one hour, to the digits that lists have."""
    return f"${usd_per_hour:,.4f}"


def measured_bytes(amount: float) -> str:
    """Something measured, three digits or the whole number: ``241 MiB``, ``1,010 MiB``, ``1.55 GiB``. What is written in
    a spec is shown as `written` and `roughly` do."""
    units = ["PiB", "TiB", "GiB", "MiB", "KiB", "B"]
    while (unit := units.pop()) and units and abs(amount) >= 1024:
        amount /= 1024
    return f"{amount:.3g} {unit}" if abs(amount) < 100 else f"{amount:,.0f} {unit}"


def written(amount: int | None, resource: str) -> str:
    """A request or limit as it stands in a spec (``256Mi``); ``none`` where there is none."""
    return "none" if amount is None else format_amount(amount, resource)


def roughly(amount: int, resource: str) -> str:
    """An amount for a sentence: as in a spec where that is short, else rounded (``9.6Gi``, ``3.7`` cpu, ``2,640`` pods)."""
    if amount < 0:
        return f"−{roughly(-amount, resource)}"
    is_cpu = resource == "cpu" or resource.endswith(".cpu")
    if not (is_cpu or "memory" in resource or "storage" in resource or "hugepages" in resource):
        return f"{amount:,}"
    exact = format_amount(amount, resource)
    if len(exact) <= 5 and not (is_cpu and amount >= 1_000_000):
        return exact
    if is_cpu:
        return f"{amount / 1000:.1f}" if amount < 1_000_000 else f"{amount / 1000:,.0f}"
    for suffix, factor in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount >= factor:
            return f"{amount / factor:.1f}{suffix}"
    return exact


# ── times ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def duration(seconds: float) -> str:
    """``45 s``, ``4 min 10 s``, ``15 min``, ``1 h 23 min``, ``3 d 4 h``, ``20 d``: two units at most, rounded.

    Seconds below 10 minutes, minutes below 2 days, hours below 10 days; days from 2 days on.
    """
    step = next(unit for below, unit in _STEPS if abs(seconds) < below)
    remaining_seconds = round(seconds / step) * step
    parts = []
    for unit, size, least in _UNITS:
        if remaining_seconds >= least:
            parts.append(f"{remaining_seconds // size} {unit}")
            remaining_seconds %= size
    return " ".join(parts[:2]) or "0 s"


def duration_between(least: float, most: float) -> str:
    """``14 min to 22 min``; ``about 12 min`` where both read the same."""
    first, last = duration(least), duration(most)
    return f"about {last}" if first == last else f"{first} to {last}"


def about(seconds: float) -> str:
    """``~ 15 min``: an estimate, as `duration` has it."""
    return f"~ {duration(seconds)}"


def moment(taken_at: float) -> str:
    """``2026-07-16 09:30 UTC``; 0 is a time that isn't known."""
    if taken_at <= 0:
        return "at a time the input doesn't tell"
    return datetime.fromtimestamp(taken_at, UTC).strftime("%Y-%m-%d %H:%M UTC")


# ── several ──────────────────────────────────────────────────────────────────────────────────────────────────────────
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


def listing(names: Sequence[str], most: int | None = 3) -> str:
    """``a``, ``a and b``, ``a, b, c and 4 more``; all of them where `most` is None."""
    shown = list(names[:most])
    if len(names) > len(shown):
        return f"{', '.join(shown)} and {len(names) - len(shown):,} more"
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def numbered(numbers: Iterable[int]) -> str:
    """``1.``, ``2., 5. to 9.``: numbers of a list, of more than two in a row the ends."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(
        f"{some[0]}. to {some[-1]}." if len(some) > 2 else ", ".join(f"{number}." for number in some) for some in parts
    )


def choice(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to write in the place of a name that isn't `known`: ``Did you mean prod?``, else `otherwise`, or which names there are."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, 3, 0.75)
    return f"Did you mean {' or '.join(near)}?" if near else otherwise or f"Choose of {listing(names, 8)}"


def shortened(name: str, most: int) -> str:
    """`name` in at most so many letters, for where it can't wrap: the middle goes, since both ends tell names apart."""
    end = most // 2
    return name if len(name) <= most else f"{name[: most - end - 1]}…{name[-end:]}"


def without_own_names(workload: str, text: str) -> str:
    """What is said of a workload without its own names: the same text then says the same of two."""
    own = "|".join(re.escape(name) for name in workload.split("/")[1:] if name)
    return re.sub(rf"(?<![\w.-])({own})(?![\w-])", "", text) if own else text


def short_name(workload: str) -> str:
    """``Deployment/dev/api`` → ``dev/api``."""
    return workload.partition("/")[2]
