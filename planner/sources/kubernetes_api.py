"""Reads a live cluster through the API server, by kubeconfig context. GET requests only.

Lists are paged and their raw JSON goes straight to the snapshot's decoder: the client's own model objects would cost
ten times as long. A list that is refused (403) or not installed (404) is noted, not fatal.

Source: Kubernetes API concepts, "Retrieving large results sets in chunks" (limit, continue, 410), v1.36.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote

import msgspec
import urllib3
from kubernetes import client

from planner.ground import typed_json
from planner.ground.errors import SourceError
from planner.ground.records import Record, replace
from planner.ground.words import duration
from planner.inventory import api_types, input_report
from planner.inventory.archives import in_units
from planner.inventory.finding_texts import finding
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Finding, PodLog, Snapshot
from planner.kubernetes.unplayed_kinds import LISTED
from planner.sources import bounded_reading
from planner.sources.api_server_connection import Connection, Query, is_hopeless, retry_after_seconds
from planner.sources.kubeconfig import log_in
from planner.sources.source_limits import LIMITS

PAGE_SIZE: Final = 500  # objects; what kubectl asks for
ATTEMPTS: Final = 4  # of one request
FIRST_WAIT_SECONDS: Final = 0.5  # doubled after each attempt
LONGEST_WAIT_SECONDS: Final = 10.0  # whatever Retry-After says
LOG_LINES: Final = 2000  # the last ones of a container
LOG_BYTES: Final = 2 * 2**20
READING_SECONDS: Final = 600.0  # of one reading, all its lists together

PATHS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(
        f"/apis/{kind.group}/{version}/{kind.resource}" if kind.group else f"/api/{version}/{kind.resource}"
        for version in kind.versions
    )
    for name, kind in api_types.READ.items()
} | {name: listed.paths for name, listed in LISTED.items()}
"""kind → the lists it is read from: the first one that is installed."""

OPTIONAL: Final = frozenset({"Event", "PodMetrics", *LISTED})
"""A server that fails on these has still told where the pods are; what projects brought may be broken by their own webhooks."""
RARE: Final = {name: kind.group for name, kind in api_types.READ.items() if kind.is_rare and kind.group} | {
    name: listed.group for name, listed in LISTED.items() if "." in listed.group
}
"""kind → API group, of those that aren't asked for where the server doesn't have it."""
UNWATCHED: Final = frozenset({"PodMetrics"})  # metrics-server serves lists only
_PASSING = frozenset({429, 500, 502, 503, 504})
_GROUPS: Final = "/apis"


def may_be_served(kind: str, served: frozenset[str] | None) -> bool:
    """Whether a list is worth asking for: who may not list what isn't there is refused (403), which says nothing of it."""
    return served is None or kind not in RARE or RARE[kind] in served


class _Group(msgspec.Struct):
    name: str = ""


class _Groups(msgspec.Struct):
    """Discovery: apimachinery `pkg/apis/meta/v1/types.go` `APIGroupList`."""

    groups: list[_Group]


class _Metadata(msgspec.Struct):
    continue_: str | None = msgspec.field(name="continue", default=None)
    resource_version: str | None = msgspec.field(name="resourceVersion", default=None)


class _Page(msgspec.Struct):
    """A List, or a Status in the place of one."""

    kind: str | None = None
    api_version: str | None = msgspec.field(name="apiVersion", default=None)
    metadata: _Metadata | None = None
    items: list[msgspec.Raw] | None = None
    message: str | None = None


class _Answer(Record):
    status: int
    body: bytes
    retry_after_seconds: float | None = None

    @property
    def page(self) -> _Page | None:
        """A List, or a Status in the place of one; None for anything else."""
        try:
            return typed_json.decode(self.body, _Page)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    @property
    def message(self) -> str:
        """What the server says is wrong."""
        return (self.page or _Page()).message or f"status {self.status}"


def read(context: str) -> Snapshot:
    """The cluster of a kubeconfig `context`, as it is now.

    Raises
    ------
    SourceError
        When the context doesn't exist, its credentials don't work, or the server can't be reached or keeps failing.
    """
    return Api(connected(context)).snapshot()


def read_log(
    context: str, namespace: str, pod: str, container: str, *, is_previous: bool = False, lines: int = LOG_LINES
) -> PodLog:
    """The last lines a container wrote; with `is_previous` those of the container before its last restart.

    Raises
    ------
    SourceError
        As `read`; also when there is no such container, or no previous one.
    """
    return Api(connected(context), limit_bytes=2 * LOG_BYTES).log(namespace, pod, container, is_previous, lines)


def connected(context: str) -> Connection:
    """A connection with the credentials of `context`, which are asked for again when they expire.

    Raises
    ------
    SourceError
        When the context can't be used.
    """
    return Connection(log_in(context), name=context, log_in=lambda: log_in(context))


def findings(connection: Connection) -> list[Finding]:
    """What is wrong between us and the server: who isn't checked, clocks that differ, certificates that end."""
    findings_made = [] if connection.is_checked else [finding(input_report.UNCHECKED)]
    if (off := connection.clock_off) is not None:  # the server's is ahead where positive
        findings_made.append(
            finding("clocks-differ", off=duration(abs(round(off))), how="behind" if off > 0 else "ahead of")
        )
    now = time.time()
    for row, validity in (("", connection.server_validity), (":own", connection.own_validity)):
        if validity is not None and (warning_text := validity.warning(now)):
            findings_made.append(finding(f"{input_report.EXPIRES}{row}", said=warning_text))
    return findings_made


class Api:
    """One reading of an API server: its lists, or a log.

    Parameters
    ----------
    connection : Connection
        Whom to ask.
    page_size : int
        Objects asked for at a time.
    sleep : callable
        How to wait between attempts, in seconds.
    limit_bytes : int, optional
        What all answers together may have; else `bounded_reading.limit_bytes`.
    seconds_in_all : float
        How long everything asked of this may take.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        page_size: int = PAGE_SIZE,
        sleep: Callable[[float], None] = time.sleep,
        limit_bytes: int | None = None,
        seconds_in_all: float = READING_SECONDS,
    ) -> None:
        self._connection = connection
        self._name = connection.name
        self._page_size = page_size
        self._sleep = sleep
        self._problems: list[Finding] = []
        self._left_bytes = self._limit_bytes = bounded_reading.limit_bytes() if limit_bytes is None else limit_bytes
        self._seconds = seconds_in_all
        self._deadline = time.monotonic() + seconds_in_all
        self._pages_read = 0
        self.versions: dict[str, str] = {}  # kind → resourceVersion of its list
        if not connection.is_checked:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # said here, once

    def snapshot(self) -> Snapshot:
        """Every list the planner knows, read now."""
        began = time.time()
        snapshot = build_snapshot(
            self._parts(), source=self._name, taken_at=began, problems=self._problems, versions=self.versions
        )
        return replace(snapshot, taken_at=began + (self._connection.clock_off or 0.0))

    def log(self, namespace: str, pod: str, container: str, is_previous: bool, lines: int = LOG_LINES) -> PodLog:
        """The last `lines` of a container's log, `LOG_BYTES` at most."""
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/log"
        query: Query = [("container", container), ("tailLines", lines), ("limitBytes", LOG_BYTES)]
        if is_previous:
            query.append(("previous", "true"))
        answer = self._get(path, query)
        if answer.status != 200:
            what = f"no log of container {container}: {answer.message}"
            raise SourceError(what, where=f"{self._name}, pod {namespace}/{pod}", fix=_fix(answer.status))
        text = answer.body.decode("utf-8", "replace")
        return PodLog(
            namespace=namespace,
            pod=pod,
            container=container,
            is_previous=is_previous,
            lines=tuple(text.splitlines()),
        )

    # ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _parts(self) -> Iterator[Part]:
        served = self.served()
        for kind, paths in PATHS.items():
            if not may_be_served(kind, served):
                continue
            try:
                yield from self.list_pages(kind, paths)
            except SourceError as error:
                if kind not in OPTIONAL:
                    raise
                self._problems.append(finding("kind-unread", kind=kind, why=error.what, how=error.fix))
        self._problems += findings(self._connection)

    def served(self) -> frozenset[str] | None:
        """The API groups that the server has; None where it doesn't tell them, and each list has to be tried."""
        answer = self._get(_GROUPS, [])
        try:
            groups = typed_json.decode(answer.body, _Groups) if answer.status == 200 else None
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        return frozenset(group.name for group in groups.groups) if groups is not None and groups.groups else None

    def list_pages(self, kind: str, paths: tuple[str, ...]) -> list[Part]:
        """All pages of the first list in `paths` that is installed; none when no one is.

        Raises
        ------
        SourceError
            When the credentials don't work or the server keeps failing.
        """
        for path in paths:
            first = self._get(path, self._query())
            if first.status == 404:
                continue
            if first.status == 403:
                return [Part(where=path, refused=(kind,))]
            return self._pages(kind, path, first)
        return []

    def _pages(self, kind: str, path: str, first: _Answer) -> list[Part]:
        """The list that `first` is the first page of.

        A continue token that expires (410) starts the list again, once. After that the token in the 410's body is
        taken: it goes on from the same place, with the objects of a later moment.
        """
        parts, expired_answer = self._follow(kind, path, first, 1)
        if expired_answer is not None:
            parts, expired_answer = self._follow(kind, path, self._get(path, self._query()), 1)
        while expired_answer is not None:
            list_metadata = expired_answer.page.metadata if expired_answer.page is not None else None
            token = list_metadata.continue_ if list_metadata is not None else None
            if not token:
                raise self._failure(path, expired_answer)
            mixed = finding("list-of-two-moments", kind=kind)
            self._problems += [mixed] if mixed not in self._problems else []
            number = sum(len(part.items) for part in parts) + 1
            more, expired_answer = self._follow(kind, path, self._get(path, self._query(token)), number)
            if expired_answer is not None and not more:
                raise self._failure(path, expired_answer)
            parts += more
        return parts

    def _follow(self, kind: str, path: str, answer: _Answer, number: int) -> tuple[list[Part], _Answer | None]:
        """The pages from `answer` on; its first item has `number`; with the 410 that ended them too early, or None."""
        parts: list[Part] = []
        empty, tokens = 0, set[str]()
        while answer.status == 200:
            page = answer.page
            if page is None:
                what = "the answer isn't a list in JSON"
                fix = "Check that the address is that of a Kubernetes API server and no proxy answers in its place"
                raise SourceError(what, where=f"{self._name}, {path}", fix=fix)
            self._check_kind(kind, path, page)
            items = page.items or []
            empty = 0 if items else empty + 1
            self._pages_read += 1
            if empty > LIMITS.empty_pages or self._pages_read > LIMITS.pages:
                raise self._endless(path, "its list has no end")
            if number == 1 and page.metadata is not None and page.metadata.resource_version:
                self.versions[kind] = page.metadata.resource_version
            version = page.api_version or ""
            name = LISTED[kind].kind if kind in LISTED else kind
            parts.append(Part(where=path, items=items, first=number, kind=name, api_version=version, listed=(kind,)))
            number += len(items)
            token = page.metadata.continue_ if page.metadata else None
            if not token:
                return parts, None
            if token in tokens:  # it names a place in the list: who comes to it again goes round forever
                raise self._endless(path, "its list has no end: a continue token came twice")
            tokens.add(token)
            answer = self._get(path, self._query(token))
        if answer.status == 410:
            return parts, answer
        raise self._failure(path, answer)

    def _check_kind(self, kind: str, path: str, page: _Page) -> None:
        """Refuse a list of something else, or none at all: its objects would be passed over, and the list be taken for an empty one.

        Source: apimachinery `pkg/apis/meta/v1/types.go` `List`; kinds of other projects may call their lists as they like
        (`CustomResourceDefinitionNames.listKind`).
        """
        list_kind = f"{LISTED[kind].kind if kind in LISTED else kind}List"
        is_it = page.kind == list_kind or (kind in LISTED and page.kind is not None and page.items is not None)
        if not is_it and (page.kind is not None or page.items is None):
            what = f"the answer is {f'of kind {page.kind[:80]}' if page.kind else 'no list'}, not a {list_kind}"
            fix = "Check that the address is that of a Kubernetes API server and no proxy answers in its place"
            raise SourceError(what, where=f"{self._name}, {path}", fix=fix)

    def _endless(self, path: str, what: str) -> SourceError:
        fix = "Check that the address is that of a Kubernetes API server; else give a file that kubectl get wrote"
        return SourceError(what, where=f"{self._name}, {path}", fix=fix)

    def _query(self, token: str | None = None) -> Query:
        query: Query = [("limit", self._page_size)]
        return [*query, ("continue", token)] if token else query

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def _get(self, path: str, query: Query) -> _Answer:
        """The answer to a request, whatever its status but 401; tried again while that may help."""
        wait = FIRST_WAIT_SECONDS
        failure = ""
        for attempt in range(1, ATTEMPTS + 1):
            answer: _Answer | None = None
            try:
                answer = bounded_reading.within(self._left_seconds(), lambda: self._request(path, query))
            except bounded_reading.OutOfTimeError:
                raise self._endless(path, f"it took longer than {duration(self._seconds)} in all") from None
            except (urllib3.exceptions.HTTPError, client.ApiException, OSError) as error:
                failure = self._connection.problem(error)
                if is_hopeless(error):
                    raise SourceError(failure, where=self._name, fix=self._connection.fix) from None
            if answer is not None:
                if answer.status == 401:
                    # A client certificate that ran out gets a plain 401: only its own dates tell why.
                    own = self._connection.own_validity
                    expired = own.warning(time.time()) if own is not None else ""
                    what = f"the credentials aren't accepted: {answer.message}" + (
                        f"; the client certificate {expired}" if expired else ""
                    )
                    raise SourceError(what, where=self._name, fix=_fix(401))
                if answer.status not in _PASSING:
                    return answer
                failure = answer.message
            if attempt < ATTEMPTS:
                retry_after = answer.retry_after_seconds if answer is not None else None
                self._sleep(
                    min(LONGEST_WAIT_SECONDS, self._left_seconds(), wait if retry_after is None else retry_after)
                )
                wait *= 2
        what = f"no answer after {ATTEMPTS} attempts: {failure}"
        raise SourceError(what, where=f"{self._name}, {path}", fix=self._connection.fix)

    def _request(self, path: str, query: Query) -> _Answer:
        body = bytearray()
        with self._connection.get(path, query) as stream:  # closed whatever happens
            for piece in bounded_reading.pieces(stream, self._deadline):
                body += piece
                if len(body) > LIMITS.page_bytes:
                    what = f"one answer has more than {in_units(LIMITS.page_bytes)}, which no page of {self._page_size} objects has"
                    raise self._endless(path, what)
                self._left_bytes -= len(piece)
                if self._left_bytes < 0:
                    what = f"its answers have more than {in_units(self._limit_bytes)}"
                    fix = "Raise --unpacked-limit (or HEADROOM_UNPACKED_LIMIT) if this machine has the memory"
                    raise SourceError(what, where=f"{self._name}, {path}", fix=fix)
        return _Answer(status=stream.status, body=bytes(body), retry_after_seconds=retry_after_seconds(stream))

    def _left_seconds(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _failure(self, path: str, answer: _Answer) -> SourceError:
        return SourceError(answer.message, where=f"{self._name}, {path}", fix=_fix(answer.status))


def _fix(status: int) -> str:
    return {
        401: "Log in again (for GKE: gcloud auth login), or check the user of the context",
        403: "Ask for the right to get and list it",
        410: "Try again; if it goes on, take a dump with kubectl get -o json",
    }.get(status, "Try again; see the API server's log if it goes on")
