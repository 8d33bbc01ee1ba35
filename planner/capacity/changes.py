"""What-if changes as people write them: short texts that make a list, a link and a command line argument."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.ground.errors import ChangeError

MOST_CHANGES = 12  # in one list
_MOST_NODES = 1_000  # added by one change


class ChangeKind(StrEnum):
    ADD = "add"
    DRAIN = "drain"
    DELETE = "delete"
    UPGRADE = "upgrade"
    REMOVE_ZONE = "remove-zone"
    TAINT = "taint"
    UNTAINT = "untaint"
    RESIZE = "resize"


# kind → (form, what it does): shown in help, in the page and in errors
FORMS = {
    ChangeKind.ADD: ("add:POOL=N", "N more nodes in a pool"),
    ChangeKind.DRAIN: ("drain:NODE or drain:pool/POOL", "cordon and evict, budgets respected"),
    ChangeKind.DELETE: ("delete:NODE or delete:pool/POOL", "nodes gone at once, budgets not asked"),
    ChangeKind.UPGRADE: ("upgrade:POOL or upgrade:POOL=surge:1,unavailable:0,quota:2", "replace every node of a pool"),
    ChangeKind.REMOVE_ZONE: ("remove-zone:ZONE", "every node of a zone gone at once"),
    ChangeKind.TAINT: ("taint:POOL=key:NoSchedule", "a taint on every node of a pool"),
    ChangeKind.UNTAINT: ("untaint:POOL=key", "a taint taken off a pool"),
    ChangeKind.RESIZE: (
        "resize:KIND/NAMESPACE/NAME=cpu:2,memory:8Gi,replicas:4",
        "other requests or replicas, rolled out",
    ),
}
_NEEDS_VALUE = {ChangeKind.ADD, ChangeKind.TAINT, ChangeKind.UNTAINT, ChangeKind.RESIZE}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NAME = re.compile(r"[\w./ -]{1,320}\Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change; `str` gives the text it is read from."""

    kind: ChangeKind
    target: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}" + (f"={self.value}" if self.value else "")

    def settings(self) -> dict[str, str]:
        """``surge:1,quota:2`` → ``{"surge": "1", "quota": "2"}``.

        Raises
        ------
        ChangeError
            For a part that isn't ``name:value``.
        """
        found = {}
        for part in filter(None, (piece.strip() for piece in self.value.split(","))):
            name, colon, value = (piece.strip() for piece in part.partition(":"))
            if not colon or not name or not value:
                raise _refused(self.kind, str(self))
            found[name] = value
        return found


def parse_changes(text: str) -> tuple[Change, ...]:
    """Changes separated by ``;``, in the order they are made.

    Raises
    ------
    ChangeError
        For a text that isn't a change.
    """
    found = tuple(parse_change(part) for part in (piece.strip() for piece in text.split(";")) if part)
    if len(found) > MOST_CHANGES:
        raise ChangeError(f"there are {len(found)} changes", mend=f"Give {MOST_CHANGES} at most")
    return found


def parse_change(text: str) -> Change:
    """One change, such as ``add:gpu-t4=2`` or ``drain:gke-edu-gpu-t4-1``."""
    word, colon, rest = text.strip().partition(":")
    try:
        kind = ChangeKind(word.strip())
    except ValueError:
        forms = ", ".join(sorted(ChangeKind))
        raise ChangeError(f'"{text[:60]}" is not a change', mend=f"Begin with one of {forms}") from None
    target, equals, value = (piece.strip() for piece in rest.partition("="))
    if not colon or not _NAME.match(target) or (kind in _NEEDS_VALUE and not value) or (equals and not value):
        raise _refused(kind, text)
    change = Change(kind=kind, target=target, value=value)
    _check(change)
    return change


def _check(change: Change) -> None:
    value = change.value
    if change.kind is ChangeKind.ADD:
        node_number(change, value, _MOST_NODES)
    elif change.kind is ChangeKind.TAINT:
        key, _, effect = value.rpartition(":")
        if not key or effect not in _EFFECTS:
            raise _refused(change.kind, str(change))
    elif change.kind is ChangeKind.UPGRADE:
        for name, number in change.settings().items():
            if name not in ("surge", "unavailable", "quota"):
                raise _refused(change.kind, str(change))
            node_number(change, number, _MOST_NODES, least=0)
    elif change.kind is ChangeKind.RESIZE:
        if not change.settings() or change.target.count("/") != 2:
            raise _refused(change.kind, str(change))
    elif change.kind is not ChangeKind.UNTAINT and value:
        raise _refused(change.kind, str(change))


def node_number(change: Change, text: str, most: int, *, least: int = 1) -> int:
    """`text` as a number of nodes from `least` to `most`."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 6 and least <= int(text) <= most):
        raise ChangeError(f'"{text[:40]}" is not a number from {least} to {most:,}', where=str(change)[:120])
    return int(text)


def _refused(kind: ChangeKind, text: str) -> ChangeError:
    return ChangeError(f'"{text[:80]}" can\'t be read', mend=f"Write it like {FORMS[kind][0]}")


def text_of(changes: Sequence[Change]) -> str:
    """The list as one text, for a link."""
    return ";".join(str(change) for change in changes)
