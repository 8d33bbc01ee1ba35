"""Recognizes messages of container statuses by the words of their writers (``status_messages.tsv``), and quotes them.

A reason such as RunContainerError names who failed, not why: its message does. The kubelet wraps the runtime's error, the
runtime runc's, runc that of NVIDIA's hook, so that the cause stands at a message's end.
"""

from __future__ import annotations

import re
from typing import Any, Final

from planner.ground.data_files import table_beside
from planner.inventory.log_secret_masking import masked

_LINES: Final = table_beside(__name__, "status_messages.tsv").decode().splitlines()
_PATTERNS: Final = tuple(
    (group, outcome, re.compile(pattern, re.IGNORECASE))
    for group, outcome, pattern in (line.split("\t") for line in _LINES if not line.startswith("#"))
)
_LONGEST: Final = 300
_LOOKED_AT: Final = 4_000  # the end of a message that runs on counts: there the cause is
_USED: Final = re.compile(
    r"Container (?P<container>\S+) was using (?P<used>[^\s,]+), (?:request is|which exceeds its request of) "
    r"(?P<requested>[^\s,]*[^\s,.])"
)


def outcome_of_message(group: str, message: str) -> tuple[str, dict[str, Any]]:
    """The outcome that `message` tells, of those of `group`, with the words that it takes from it; ("", {}) for none."""
    end = message[-_LOOKED_AT:]
    for of, outcome, pattern in _PATTERNS:
        if of == group and (match := pattern.search(end)) is not None:
            return outcome, {name: masked(text or "").strip() for name, text in match.groupdict().items()}
    return "", {}


def quoted(message: str) -> str:
    """`message` as it is, on one line and with what may be a secret hidden; of a long one the end, which names the cause."""
    text = " ".join(masked(message[-_LOOKED_AT:]).split()).rstrip(" .")
    if len(text) <= _LONGEST:
        return text
    end = text[-_LONGEST:]
    return f"…{end[end.find(' ') :] if ' ' in end else end}"


def with_message(reason: str, message: str) -> str:
    """``RunContainerError: the message``; the reason alone where there is no message."""
    return f"{reason}: {quoted(message)}" if message.strip() else reason


def use_when_evicted(message: str) -> tuple[tuple[str, str, str], ...]:
    """Container, what it used, what it requested: of each container that an eviction's message names."""
    return tuple((use["container"], use["used"], use["requested"]) for use in _USED.finditer(message))
