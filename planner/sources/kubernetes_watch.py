"""One watch of one kind: yields events until the server closes it.

Source: Kubernetes API concepts, "Efficient detection of changes", "Watch bookmarks", "410 Gone responses", v1.36; recordings of
a real API server are in tests/sources/data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import urllib3

from planner.ground import typed_json
from planner.ground.errors import SourceError
from planner.inventory.archives import in_units
from planner.sources import bounded_reading
from planner.sources.api_server_connection import Connection, retry_after_seconds

BOOKMARK: Final = "BOOKMARK"
_ERROR: Final = "ERROR"
_LONGEST_EVENT_BYTES: Final = 64 * 2**20  # an object has 1.5 MiB in etcd at most
_NOT_WATCHED: Final = frozenset({403, 404, 405})
GONE: Final = 410


class GoneError(Exception):
    """The resourceVersion is too old: the list has to be taken anew."""


class NotWatchedError(Exception):
    """This kind can't be watched; the message says why."""


class BusyError(SourceError):
    """The server asks to come back after so many `seconds` (429, 503 with Retry-After)."""

    def __init__(self, what: str, *, where: str = "", fix: str = "", seconds: float = 0.0) -> None:
        super().__init__(what, where=where, fix=fix)
        self.seconds = seconds


class WatchEvent(msgspec.Struct):
    """A line of a watch."""

    type: str
    object: msgspec.Raw


class _Metadata(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class _WatchLine(msgspec.Struct):
    """What an object or a Status says of itself."""

    metadata: _Metadata | None = None
    code: int | None = None
    message: str | None = None


_lines: Final = typed_json.decoder(WatchEvent)
_told: Final = typed_json.decoder(_WatchLine)


def version_in(body: bytes | msgspec.Raw) -> str:
    """The resourceVersion of an object or a list; "" where it doesn't say."""
    try:
        metadata = _told(body).metadata
    except msgspec.MsgspecError:
        return ""
    return metadata.resource_version if metadata else ""


def opened(
    connection: Connection, path: str, version: str, *, seconds: int, silence_seconds: float
) -> tuple[urllib3.BaseHTTPResponse, Iterator[WatchEvent]]:
    """A watch of `path` from `version` on: the answer (shut its connection down to end it) and its events.

    Parameters
    ----------
    seconds : after which the server closes it
    silence_seconds : after which it is given up: bookmarks come about every minute

    Raises
    ------
    GoneError, NotWatchedError, BusyError, SourceError
        What the server says instead of a stream, or in it.
    urllib3.exceptions.HTTPError, OSError
        When there is no connection, or it breaks.
    """
    query = [("watch", "1"), ("resourceVersion", version), ("allowWatchBookmarks", "true"), ("timeoutSeconds", seconds)]
    response = connection.get(path, list(query), read_seconds=silence_seconds)
    if response.status != 200:
        with response:
            refusal = _refusal(connection, path, response.status, response.read(2**20, decode_content=True))
            asked_seconds = retry_after_seconds(response)
            if isinstance(refusal, SourceError) and asked_seconds is not None:
                raise BusyError(refusal.what, where=refusal.where, fix=refusal.fix, seconds=asked_seconds)
            raise refusal
    return response, _events(connection, path, response)


def _events(connection: Connection, path: str, response: urllib3.BaseHTTPResponse) -> Iterator[WatchEvent]:
    with response:
        buffer = bytearray()
        for piece in bounded_reading.pieces(response):
            buffer += piece
            if b"\n" not in piece:
                if len(buffer) > _LONGEST_EVENT_BYTES:
                    what = f"an event has more than {in_units(_LONGEST_EVENT_BYTES)}"
                    raise SourceError(what, where=f"{connection.name}, {path}", fix=connection.fix)
                continue
            whole, _, after = bytes(buffer).rpartition(b"\n")
            buffer = bytearray(after)
            for line in whole.splitlines():
                if line.strip():
                    yield _event(connection, path, line)


def _event(connection: Connection, path: str, line: bytes) -> WatchEvent:
    try:
        event = _lines(line)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        what = "the watch sends what isn't an event in JSON"
        fix = "Check that the address is that of a Kubernetes API server and no proxy answers in its place"
        raise SourceError(what, where=f"{connection.name}, {path}", fix=fix) from None
    if event.type == _ERROR:
        raise _refusal(connection, path, 0, bytes(event.object))
    return event


def _refusal(connection: Connection, path: str, status: int, body: bytes) -> Exception:
    try:
        status_object = _told(body)
    except msgspec.MsgspecError:
        status_object = _WatchLine()
    status = status_object.code or status
    what = status_object.message or f"status {status}"
    if status == GONE:
        return GoneError(what)
    if status in _NOT_WATCHED:
        return NotWatchedError(what)
    if status == 401:
        what = f"the credentials aren't accepted: {what}"
    return SourceError(what, where=f"{connection.name}, {path}", fix=connection.fix)
