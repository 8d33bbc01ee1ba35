"""Secrets taken out of log lines and of what a cluster's events say: what a well-kept detector knows by its form, and what stands where a secret would.

Rather too much is hidden than too little: a word lost costs a look into the log, a password shown costs a password.
Nothing here tells whether something *is* a secret.

Sources: the plugins of detect-secrets (Yelp), with forms of our own for what they leave out; RFC 7468 (PEM), RFC 3986
(userinfo), RFC 9110 11.6.2 (Authorization).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

import msgspec

from planner.kubernetes.beside import table_beside

HIDDEN: Final = "<hidden>"
_FORMATS: Final = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
)  # no ink
_MOST_KEY_LINES = 400  # of a private key: RSA of 16,384 bits has some 200; an end that never comes hides no more

_Hidden = str | Callable[[re.Match[str]], str]


class _Form(msgspec.Struct):
    """A secret by its form: `hidden` stands in the place of what `pattern` matches, or of the parts of it that `within` does."""

    pattern: str
    hidden: str = HIDDEN
    ignores_case: bool = False
    within: str = ""


class _Table(msgspec.Struct):
    """``masking.json``: forms, the `parts` that they name in braces, and what tells that one may be there."""

    parts: dict[str, str]
    forms: list[_Form]
    words: tuple[str, ...]
    hint: str
    plugins: dict[str, str]


_TABLE: Final = msgspec.json.decode(table_beside(__name__, "json"), type=_Table)
_BEGIN: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|^(?:.{0,80}\s)?Private-Lines: "
)  # PuTTY has the latter
_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}-----|Private-MAC: ")
_BASE64_LINE: Final = re.compile(r"(?:.{0,80}\s)?[A-Za-z0-9+/]{60,80}={0,2}\s*")
_BASE64_END: Final = re.compile(r"(?:.{0,80}\s)?(?=[A-Za-z]{0,80}[\d+/=])[A-Za-z0-9+/]{1,80}={0,2}\s*")

# What is in whatever `masked` changes, so that what a cluster says thousands of times isn't searched for each of its forms: a word for
# a secret, a sign between a name and a value, letters and digits without a break. Of small letters; what isn't ASCII is always looked at.
_WORDS: Final = _TABLE.words
_HINT: Final = re.compile(_TABLE.hint)

_LOGIN: Final = re.compile(r"^(?P<scheme>(?:[a-z]{1,20}://)?)[^/]*@(?=[^/]*/)", re.IGNORECASE)
# What is in whatever one of the plugins finds: they come with an HTTP client, which takes longer to load than a log to be read.
_FORM: Final = re.compile(
    r"[\w\\-]{20}|[\w+/=-]{40}|A(?:KC|P[\dA-F])[a-zA-Z0-9]{8}|://[^\s/?#]+@|(?i:xox|hooks\.slack)|:_authToken=|PRIVATE KEY"
)


def masked(line: str) -> str:
    """`line` with `HIDDEN` in the place of whatever may be a secret."""
    text = _FORMATS.sub("", unicodedata.normalize("NFKC", line))
    for pattern, hidden in _ours():
        text = pattern.sub(hidden, text)
    for plugin in _plugins() if _FORM.search(text) else ():
        for found in plugin.analyze_string(text):
            if len(found) > 1 and found not in HIDDEN:
                text = text.replace(found, HIDDEN)
    return text


@lru_cache(maxsize=65_536)  # a cluster says the same thousands of times
def said(message: str) -> str:
    """What a cluster says of its objects (an event, why a container waits), as it may be kept: `masked`."""
    return masked(message) if _may_tell(message) else message


def _may_tell(message: str) -> bool:
    """Whether there is anything in it that `masked` might change."""
    text = message.lower()
    return not text.isascii() or any(word in text for word in _WORDS) or _HINT.search(text) is not None


def without_login(image: str) -> str:
    """An image's address without a user and a password before its host; no registry takes them, and people write them."""
    return _LOGIN.sub(rf"\g<scheme>{HIDDEN}@", image) if "@" in image else image


def without_keys(lines: Iterable[str]) -> Iterator[str]:
    """`lines` with those of a private key hidden: by themselves they look like anything."""
    left = 0
    is_inside = False  # after a line of base64: what ends it is shorter
    for line in lines:
        if _BEGIN.search(line[:4_000]) and not _END.search(line[:4_000]):
            left = _MOST_KEY_LINES
            yield HIDDEN
        elif left:
            left = 0 if _END.search(line[:4_000]) else left - 1
            yield HIDDEN
        elif _BASE64_LINE.fullmatch(line[:200]):
            is_inside = True
            yield HIDDEN
        else:
            yield HIDDEN if is_inside and _BASE64_END.fullmatch(line[:200]) else line
            is_inside = False


@cache
def _ours() -> tuple[tuple[re.Pattern[str], _Hidden], ...]:
    return tuple((_compiled(form.pattern, form.ignores_case), _hidden(form)) for form in _TABLE.forms)


def _compiled(pattern: str, ignores_case: bool = False) -> re.Pattern[str]:
    def whole(named: str) -> str:
        return re.sub(r"\{([A-Z]+)\}", lambda found: whole(_TABLE.parts[found[1]]), named)

    return re.compile(whole(pattern), re.IGNORECASE if ignores_case else 0)


def _hidden(form: _Form) -> _Hidden:
    within = _compiled(form.within)
    return (lambda found: within.sub(form.hidden, found.group())) if form.within else form.hidden


@cache
def _plugins() -> tuple[Any, ...]:
    """detect-secrets' own, loaded when the first line is looked at: those that know a secret by its form. Left out: public addresses;
    entropy, and what stands after "password" and the like, which ours has too (the keyword detector takes seconds for one hostile line)."""
    return tuple(
        getattr(import_module(f"detect_secrets.plugins.{module}"), name)() for module, name in _TABLE.plugins.items()
    )
