"""Parses what-if changes as people write them, in lists, links and command line arguments. A change may come some time
after another: ``2m:add:gpu-t4=1``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from planner.capacity.work_limits import LIMITS
from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.errors import ChangeError
from planner.ground.records import Record


class ChangeKind(StrEnum):
    ADD = "add"
    DRAIN = "drain"
    UNCORDON = "uncordon"
    EVICT = "evict"
    MOVE = "move"
    DELETE = "delete"
    UPGRADE = "upgrade"
    REMOVE_ZONE = "remove-zone"
    STOPS_ANSWERING = "stops-answering"
    ANSWERS = "answers"
    FORCE_DELETE = "force-delete"
    TAINT = "taint"
    UNTAINT = "untaint"
    RESIZE = "resize"
    REPLICAS = "replicas"
    ROLLOUT = "rollout"
    QUOTA = "quota"
    JOB_ENDS = "job-ends"
    UNGATE = "ungate"
    APPLY = "apply"


class _Form(Record):
    """How a change of one kind is written, and what it does: shown in help, in the page and in errors. `parts`: of a name."""

    form: str
    what: str
    needs_value: bool = False
    parts: int | None = None


_KINDS: Final = typed_json.decode(table_beside(__name__, "what_if_syntax.json"), dict[ChangeKind, _Form])
FORMS: Final = {kind: (change_kind.form, change_kind.what) for kind, change_kind in _KINDS.items()}
ALL = "all"  # the changes that are asked about, in place of a workload's name
_LONGEST = 86_400  # seconds after which something may come
_DURATION = re.compile(r"(?:(\d{1,2})h)?(?:(\d{1,4})m)?(?:(\d{1,5})s)?", re.ASCII)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NAME = re.compile(r"[\w./ -]{1,320}\Z", re.ASCII)


class Change(Record):
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
        settings = {}
        for part in filter(None, (piece.strip() for piece in self.value.split(","))):
            name, colon, value = (piece.strip() for piece in part.partition(":"))
            if not colon or not name or not value:
                raise _refused(self.kind, str(self))
            settings[name] = value
        return settings


def parse_changes(text: str) -> tuple[Change, ...]:
    """Changes separated by ``;``, in the order they are made.

    Raises
    ------
    ChangeError
        For a text that isn't a change.
    """
    return tuple(map(parse_change, _listed(text, "changes")))


def _listed(text: str, called: str) -> list[str]:
    parts = [part for part in (piece.strip() for piece in text.split(";")) if part]
    if len(parts) > LIMITS.changes:
        raise ChangeError(f"there are {len(parts)} {called}", fix=f"Give {LIMITS.changes} at most")
    return parts


def parse_change(text: str) -> Change:
    """One change, such as ``add:gpu-t4=2`` or ``drain:gke-edu-gpu-t4-1``."""
    word, colon, suffix = text.strip().partition(":")
    try:
        kind = ChangeKind(word.strip())
    except ValueError:
        near = next((kind for kind in ChangeKind if re.match(rf"{kind}\b", word)), None)
        fix = f"Write it like {_KINDS[near].form}" if near else f"Begin with one of {', '.join(sorted(ChangeKind))}"
        raise ChangeError(f'"{text[:60]}" is not a change', fix=fix) from None
    is_file = kind is ChangeKind.APPLY
    target, equals, value = (suffix.strip(), "", "") if is_file else (piece.strip() for piece in suffix.partition("="))
    if (
        not colon
        or not (target if is_file else _NAME.match(target))
        or (_KINDS[kind].needs_value and not value)
        or (equals and not value)
    ):
        raise _refused(kind, text)
    change = Change(kind=kind, target=target, value=value)
    _check(change)
    return change


class Later(Record):
    """A change that comes so many seconds after another; `str` gives the text it is read from."""

    after_seconds: float
    change: Change

    def __str__(self) -> str:
        return f"{_duration_text(self.after_seconds)}:{self.change}"


def parse_later(text: str) -> tuple[Later, ...]:
    """``2m:add:gpu-t4=1;1h30m:job-ends:ml/nightly``, each after the time it begins with.

    Raises
    ------
    ChangeError
        For a text that isn't such a list.
    """
    return tuple(map(_later, _listed(text, "events")))


def _later(text: str) -> Later:
    time, _, change_text = text.partition(":")
    parts = _DURATION.fullmatch(time.strip())
    if parts is None or not any(parts.groups()):
        raise ChangeError(
            f'"{text[:80]}" begins with no time', fix="Write it like 2m:add:POOL=1, with 90s, 2m or 1h30m"
        )
    hours, minutes, seconds = (int(group or 0) for group in parts.groups())
    after = 3600 * hours + 60 * minutes + seconds
    if after > _LONGEST:
        raise ChangeError(f"{time} is more than a day", where=text[:120], fix="Give 24h at most")
    return Later(after_seconds=float(after), change=parse_change(change_text))


def _duration_text(seconds: float) -> str:
    minutes, seconds_part = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{amount}{unit}" for amount, unit in ((hours, "h"), (minutes, "m"), (seconds_part, "s")) if amount]
    return "".join(parts) or "0s"


def _check(change: Change) -> None:
    value = change.value
    if change.kind is ChangeKind.QUOTA and change.target.count("/") in (
        2,
        3,
    ):  # of a ClusterQueue; RESOURCE may have a slash
        return
    parts = [part for part in change.target.split("/") if part]
    part_count = _KINDS[change.kind].parts
    if part_count not in (None, len(parts)) and not (change.kind is ChangeKind.ROLLOUT and parts == [ALL]):
        raise _refused(change.kind, str(change))
    if change.kind is ChangeKind.ADD:
        whole_number(change, value, LIMITS.nodes_of_a_change)
    elif change.kind is ChangeKind.TAINT:
        key, _, effect = value.rpartition(":")
        if not key or effect not in _EFFECTS:
            raise _refused(change.kind, str(change))
    elif change.kind is ChangeKind.UPGRADE:
        for name, nodes in change.settings().items():
            if name not in ("surge", "unavailable", "quota"):
                raise _refused(change.kind, str(change))
            whole_number(change, nodes, LIMITS.nodes_of_a_change, least=0)
    elif change.kind in (ChangeKind.RESIZE, ChangeKind.QUOTA):
        if not change.settings():
            raise _refused(change.kind, str(change))
    elif change.kind is ChangeKind.REPLICAS:
        whole_number(change, value, LIMITS.replicas_of_a_change, least=0)
    elif change.kind not in (ChangeKind.UNTAINT, ChangeKind.MOVE) and value:
        raise _refused(change.kind, str(change))


def whole_number(change: Change, text: str, most: int, *, least: int = 1) -> int:
    """`text` as a number from `least` to `most`."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 6 and least <= int(text) <= most):
        raise ChangeError(f'"{text[:40]}" is not a number from {least} to {most:,}', where=str(change)[:120])
    return int(text)


def _refused(kind: ChangeKind, text: str) -> ChangeError:
    return ChangeError(f'"{text[:80]}" can\'t be read', fix=f"Write it like {FORMS[kind][0]}")


def text_of(changes: Sequence[Change | Later]) -> str:
    """The list as one text, for a link."""
    return ";".join(str(change) for change in changes)
