"""Names of clusters, days and snapshots in a store, and the argument ``store:URL#cluster@time``."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.kubernetes.object_records import Snapshot

PREFIX: Final = "store:"
FORMAT: Final = "headroom.snapshot/v1"  # with what a kept snapshot begins (`kept`)
LATEST: Final = "latest"
_FORM: Final = (
    "Write it as store:URL#cluster@time, the cluster percent-encoded, such as store:file:///data#prod@2026-11-17"
)
_TIMES: Final = "Give a day (2026-11-17), a moment (2026-11-17T09:30Z), how long ago (7d, 36h) or latest"
_BEFORE_SECONDS: Final = 0.001  # the last moment of a span; a microsecond is lost in a float of a far year
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")  # RFC 3986, 2.3
_ENCODED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_SECONDS: Final = re.compile(r"[T ]\d\d:?\d\d:?\d\d")
_SNAPSHOT: Final = re.compile(r"[0-9TZ.]+-[0-9A-Za-z]*", re.ASCII)
_AGO: Final = re.compile(r"(\d{1,6})([dh])\Z", re.ASCII)


class SnapshotAddress(Record):
    """One moment of one cluster in the store at `url`; `cluster` "" is its only one. `time` as it was written."""

    url: str
    cluster: str = ""
    time: str = LATEST

    def __str__(self) -> str:
        return f"{PREFIX}{self.url}#{encoded(self.cluster)}@{self.time}"


class Partition(Record, kw_only=False, order=True):
    """What is written together: one cluster's snapshots of one day (UTC)."""

    cluster: str
    day: str  # 2026-11-17

    @property
    def path(self) -> str:
        return f"cluster={encoded(self.cluster)}/day={self.day}"

    @classmethod
    def in_path(cls, path: str) -> Partition | None:
        """The partition that a file's path names, None where it names none."""
        fields = dict(part.split("=", 1) for part in path.split("/") if "=" in part)
        if "cluster" not in fields or "day" not in fields:
            return None
        return cls(decoded(fields["cluster"]), fields["day"])


def encoded(cluster: str) -> str:
    """A cluster's name as one part of a path and of a URL: contexts hold ``@``, ``/`` and ``:``."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in cluster.encode(errors="replace"))


def decoded(text: str) -> str:
    """What `encoded` was given."""
    return _ENCODED.sub(lambda match: bytes([int(match[1], 16)]), text.encode(errors="replace")).decode(
        errors="replace"
    )


def day_of(taken_at: float) -> str:
    """The day (UTC) of a moment in seconds since the epoch."""
    return datetime.fromtimestamp(taken_at, UTC).date().isoformat()


def snapshot_id(snapshot: Snapshot) -> str:
    """What a snapshot is called in a store: its moment, then its content. The same one written twice is one."""
    moment = datetime.fromtimestamp(snapshot.taken_at, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return f"{moment}-{snapshot.digest[:16]}"


def moment_of(snapshot: str) -> float:
    """When a snapshot of that id was taken, seconds since the epoch."""
    return datetime.strptime(snapshot.partition("-")[0], "%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC).timestamp()


def is_snapshot_id(text: str) -> bool:
    """Whether `snapshot_id` could have said it."""
    try:
        moment_of(text)
    except ValueError:
        return False
    return _SNAPSHOT.fullmatch(text) is not None


def time_text(taken_at: float) -> str:
    """A moment as `read_place` takes it: ``2026-11-17T09:30:00Z``, which includes the whole second."""
    return datetime.fromtimestamp(taken_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_place(spec: str) -> bool:
    """Whether CLUSTER names something in a store."""
    return spec.startswith(PREFIX)


def read_place(spec: str) -> SnapshotAddress:
    """``store:URL#cluster@time``; without ``@time`` the latest, without ``#cluster`` the only cluster.

    Raises
    ------
    InputError
        Without a URL, or where the time can't be one.
    """
    url, hash_, anchor = spec.removeprefix(PREFIX).rpartition("#")
    if not hash_:
        url, anchor = anchor, ""
    name, at, time = anchor.rpartition("@")
    if not at:
        name, time = anchor, LATEST
    if not url:
        raise InputError("it names no store", where=spec, fix=_FORM)
    place = SnapshotAddress(url=url, cluster=decoded(name), time=time or LATEST)
    latest_moment(place.time, now=0.0)
    return place


def latest_moment(time: str, *, now: float) -> float:
    """The last moment (seconds since the epoch) that `time` includes: of a day its end, in UTC.

    Raises
    ------
    InputError
        When it is no time.
    """
    start, seconds = span(time, now=now)
    return start + seconds - _BEFORE_SECONDS if seconds else start


def span(time: str, *, now: float) -> tuple[float, float]:
    """The first moment that `time` means, and for how many seconds: of a day its beginning in UTC and a day.

    Raises
    ------
    InputError
        When it is no time.
    """
    if time == LATEST:
        return float("inf"), 0.0
    if ago := _AGO.match(time):
        return now - timedelta(**{"d": {"days": 1}, "h": {"hours": 1}}[ago[2]]).total_seconds() * int(ago[1]), 0.0
    try:
        if len(time) == len("2026-11-17"):
            return datetime.combine(date.fromisoformat(time), datetime.min.time(), UTC).timestamp(), 86_400.0
        moment = datetime.fromisoformat(time)
    except ValueError:
        raise InputError(f'"{time[:40]}" is no time', where="store", fix=_TIMES) from None
    start = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return start, 1.0 if _SECONDS.search(time) else 60.0
