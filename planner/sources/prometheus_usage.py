"""Containers' use over time from Prometheus (or its HTTP API: Thanos, Mimir, managed services).

Every request is bounded: points, series, bytes and seconds. A long stretch is asked for piece by piece, and namespace
by namespace, because the API has no pages of its own.
Source: https://prometheus.io/docs/prometheus/latest/querying/api/ (read 2026-11-20); the limit of 11,000 points a series
is in prometheus `web/api/v1/api.go`. The metrics are cAdvisor's, as the kubelet serves them at /metrics/cadvisor.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from urllib.parse import urlsplit, urlunsplit

import msgspec
import numpy as np
import requests
import urllib3
from numpy.typing import NDArray

from planner.ground import typed_json
from planner.ground.errors import InputError, SourceError
from planner.ground.quantity import LARGEST
from planner.ground.records import Record, dataclass
from planner.ground.well_known_names import SYSTEM_NAMESPACES
from planner.ground.words import duration
from planner.inventory.usage import Usage
from planner.kubernetes.object_records import FrozenMap, Labels, Snapshot
from planner.sources import bounded_reading
from planner.sources.source_limits import LIMITS

WORKING_SET = "container_memory_working_set_bytes"
CPU_SECONDS = "container_cpu_usage_seconds_total"
CPU_PERCENTILE = 95
_DAY = 86_400
_STEPS = (300, 600, 900, 1_800, 3_600, 7_200, 10_800)  # seconds
_REFUSALS = {
    401: ("wants to know who asks", "Give a token, or user and password"),
    403: ("doesn't allow this", "Ask for the right to query, or use another token"),
    404: ("has no query API there", "Give the address up to, and without, /api/v1"),
    429: ("is asked too often", "Wait a little"),
}
_BROKEN_OFF = (
    requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError,
    urllib3.exceptions.ProtocolError, urllib3.exceptions.DecodeError,
)  # fmt: skip
_SHORTEST_RATE_SECONDS = 300  # a rate needs several scrapes; scrape intervals are seconds to a minute or two


class Bounds(Record):
    """What one answer may cost."""

    points_per_request: int = 2_000  # of one series; Prometheus itself refuses more than 11,000
    points_in_all: int = 20_000  # of one series
    series_per_request: int = 5_000
    bytes_per_request: int = 64 * 2**20
    connect_seconds: float = 5.0
    read_seconds: float = 30.0  # between two pieces of an answer
    seconds_in_all: float = 120.0


class Series(Record):
    """One series: `times` (seconds since the epoch, rising) and `values`, float64 arrays of one length; no NaN."""

    labels: Labels
    times: NDArray[np.float64]
    values: NDArray[np.float64]


class _Result(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: list[_Result]


class _Answer(msgspec.Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error_type: str = ""
    error: str = ""
    warnings: list[str] = []


@dataclass(slots=True)
class Prometheus:
    """A server, asked within `bounds`.

    Parameters
    ----------
    url : str
        ``http://host:9090``, with a path where it lives under one. A user and password in it are sent as basic
        authentication and never shown.
    token : str
        Sent as a bearer token, never shown.
    """

    url: str
    token: str = field(default="", repr=False)
    bounds: Bounds = field(default_factory=Bounds)
    warnings: list[str] = field(default_factory=list)  # what the server said about its own answers, each once
    _session: requests.Session = field(default_factory=requests.Session, repr=False)
    _deadline: float = -math.inf  # of everything that is asked for one answer

    def __post_init__(self) -> None:
        parts = urlsplit(self.url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise InputError(
                f'"{self.address}" is not the address of a Prometheus server',
                fix="Write it like http://prometheus.example:9090",
            )

    @property
    def address(self) -> str:
        """The URL without user and password, for people."""
        parts = urlsplit(self.url.strip())
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")).rstrip("/")

    def query_range(self, expression: str, *, start: float, end: float, step_seconds: int) -> tuple[Series, ...]:
        """Every series of `expression` from `start` to `end` (seconds since the epoch), one point each step.

        Raises
        ------
        InputError
            When the stretch is empty or asks for more points than `bounds` allow.
        SourceError
            When the server can't be reached, refuses, or answers with something else.
        """
        points = _count_points(start, end, step_seconds)
        if points > self.bounds.points_in_all:
            raise InputError(
                f"{points:,} points a series are asked for, and at most {self.bounds.points_in_all:,} are taken",
                where=self.address,
                fix="Choose a shorter stretch or a longer step",
            )
        self._begin()
        pieces: dict[Labels, list[_Result]] = {}
        for first, last in _stretches(start, end, step_seconds, self.bounds.points_per_request):
            for partial_series in self._ask(expression, first, last, step_seconds):
                pieces.setdefault(FrozenMap(partial_series.metric), []).append(partial_series)
        return tuple(
            _joined(labels, results, start - step_seconds, end + step_seconds) for labels, results in pieces.items()
        )

    def _begin(self) -> None:
        if time.monotonic() > self._deadline:
            self._deadline = time.monotonic() + self.bounds.seconds_in_all

    def _ask(self, expression: str, start: float, end: float, step_seconds: int) -> list[_Result]:
        body = self._post(
            "/api/v1/query_range",
            {"query": expression, "start": repr(start), "end": repr(end), "step": str(step_seconds)},
        )
        answer = self._decoded(body)
        if answer.status != "success" or answer.data is None:
            raise self._error(f"refused the query: {answer.error_type or 'unknown'}: {_short(answer.error)}")
        if answer.data.result_type != "matrix":
            raise self._error(f"answered with a {answer.data.result_type}, not with series over time")
        if len(answer.data.result) > self.bounds.series_per_request:
            raise self._error(
                f"has {len(answer.data.result):,} series for one query, and at most {self.bounds.series_per_request:,} are taken",
                "Choose fewer namespaces",
            )
        self.warnings += [warning for warning in answer.warnings if warning not in self.warnings]
        return answer.data.result

    def _post(self, path: str, form: dict[str, str]) -> bytes:
        try:
            return bounded_reading.within(self._deadline - time.monotonic(), lambda: self._posted(path, form))
        except bounded_reading.OutOfTimeError:
            what = f"took longer than {duration(self.bounds.seconds_in_all)} in all"
            raise self._error(what, "Choose a shorter stretch or fewer namespaces") from None

    def _posted(self, path: str, form: dict[str, str]) -> bytes:
        parts = urlsplit(self.url.strip())
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        try:
            with self._session.post(
                self.address + path,
                data=form,
                headers=headers,
                auth=(parts.username, parts.password or "") if parts.username and not self.token else None,
                timeout=(self.bounds.connect_seconds, self.bounds.read_seconds),
                allow_redirects=False,  # a redirect leads to a login page, or the token to another host
                stream=True,
            ) as response:
                body = self._read(response)
                self._check(response, body)
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
            raise self._error(*self._failure(error)) from None
        return body

    def _failure(self, error: Exception) -> tuple[str, str]:
        """What went wrong, and what to do about it."""
        if isinstance(error, requests.exceptions.ConnectTimeout):
            return f"didn't answer within {duration(self.bounds.connect_seconds)}", "Check the address"
        is_silent = isinstance(error, requests.exceptions.Timeout | urllib3.exceptions.ReadTimeoutError)
        if is_silent or "Read timed out" in str(error):
            fix = "Choose a shorter stretch or fewer namespaces"
            return f"stopped answering for {duration(self.bounds.read_seconds)}", fix
        if isinstance(error, requests.exceptions.SSLError):
            return "has a certificate this machine doesn't trust", "Check the address and REQUESTS_CA_BUNDLE"
        if isinstance(error, _BROKEN_OFF):
            return "broke off in the middle of its answer", "Try again"
        if isinstance(error, requests.exceptions.ConnectionError):
            return "can't be reached", "Check the address, and that the server runs"
        return f"can't be asked: {type(error).__name__}", "Check the address"

    def _read(self, response: requests.Response) -> bytes:
        body = bytearray()
        for piece in bounded_reading.pieces(response.raw, self._deadline):
            body += piece
            if len(body) > self.bounds.bytes_per_request:
                raise self._error(
                    f"sends more than {self.bounds.bytes_per_request // 2**20} MiB for one query",
                    "Choose fewer namespaces or a longer step",
                )
        expected = response.headers.get("Content-Length", "")
        if expected.isdigit() and not response.headers.get("Content-Encoding") and len(body) < int(expected):
            raise self._error("broke off in the middle of its answer", "Try again")
        return bytes(body)

    def _check(self, response: requests.Response, body: bytes) -> None:
        code = response.status_code
        if code == 200:
            return
        error_text = _error_text(body)
        if 300 <= code < 400:
            what = f"sends elsewhere ({code}), usually to a login page"
            raise self._error(what, "Use the address behind the login, with a token")
        if code in _REFUSALS:
            what, fix = _REFUSALS[code]
            raise self._error(f"{what} ({code})", fix)
        # Time that is up while series are read is 422 with Go's words for it, while they are reckoned with 503.
        is_late = code == 422 and "context deadline exceeded" in str(error_text)
        if code in (400, 422) and not is_late:
            raise self._error(f"refused the query ({code}): {error_text}", "Choose a shorter stretch or a longer step")
        if is_late or code in (502, 503, 504):
            raise self._error(f"is not able to answer now ({code}): {error_text}", "Try again, with a shorter stretch")
        raise self._error(f"answered with status {code}: {error_text}", "Check the address")

    def _decoded(self, body: bytes) -> _Answer:
        if body[:512].lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
            raise self._error(
                "answered with a web page, not with data", "Use the address behind the login page, with a token"
            )
        try:
            return typed_json.decode(body, _Answer)
        except msgspec.ValidationError as error:
            raise self._error(
                f"answered with something that isn't Prometheus' format: {_short(str(error))}", "Check the address"
            ) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._error(
                "answered with broken or cut-off JSON", "Try again; if it stays so, check the proxy before it"
            ) from None

    def _error(self, what: str, fix: str = "") -> SourceError:
        return SourceError(f"the Prometheus server {what}", where=self.address, fix=fix)


def step_seconds(days: int) -> int:
    """The step in which a history of `days` is asked for: at most 720 points a series up to 90 days."""
    return next((step for step in _STEPS if days * _DAY <= step * LIMITS.points), _STEPS[-1])


def usage_before(server: Prometheus, snapshot: Snapshot, days: int) -> tuple[Usage, ...]:
    """What the server knows of the containers in the snapshot's namespaces, the system's apart, over the days before it.

    Raises
    ------
    InputError, SourceError
        As `container_usage`.
    """
    return container_usage(
        server,
        namespaces={workload.namespace for workload in snapshot.workloads} - SYSTEM_NAMESPACES,
        start=snapshot.taken_at - days * _DAY,
        end=snapshot.taken_at,
        step_seconds=step_seconds(days),
    )


def container_usage(
    server: Prometheus, *, namespaces: Iterable[str], start: float, end: float, step_seconds: int = 300
) -> tuple[Usage, ...]:
    """Largest working set and 95th percentile of CPU of every container in `namespaces` from `start` to `end`.

    Each step's value is the largest reading within the step, so no peak that was scraped is missed. One query a
    namespace, metric and stretch.

    Raises
    ------
    InputError
        When no namespace is given or the stretch is impossible.
    SourceError
        When the server can't answer, or knows nothing about these containers.
    """
    names = sorted(set(namespaces))
    if not names:
        raise InputError("no namespace is chosen", where=server.address, fix="Name one at least")
    usages: list[Usage] = []
    for namespace in names:
        usages += _namespace_usage(server, namespace, start, end, step_seconds)
    if not usages:
        raise SourceError(
            f"the Prometheus server has no {WORKING_SET} for {', '.join(names[:5])}{'…' if len(names) > 5 else ''}",
            where=server.address,
            fix="Check that it scrapes the kubelets' /metrics/cadvisor, and the stretch of time",
        )
    return tuple(usages)


def _namespace_usage(
    server: Prometheus, namespace: str, start: float, end: float, step_seconds: int
) -> Iterator[Usage]:
    # a namespace can't hold quotes, but an input may
    quoted = namespace.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    chosen = f'namespace="{quoted}",container!="",container!="POD"'
    group = "max by (namespace, pod, container)"
    memory = server.query_range(
        f"{group} (max_over_time({WORKING_SET}{{{chosen}}}[{step_seconds}s]))",
        start=min(start + step_seconds, end), end=end, step_seconds=step_seconds,
    )  # fmt: skip
    window = max(step_seconds, _SHORTEST_RATE_SECONDS)
    cpu = server.query_range(
        f"{group} (rate({CPU_SECONDS}{{{chosen}}}[{window}s]))",
        start=min(start + step_seconds, end), end=end, step_seconds=step_seconds,
    )  # fmt: skip
    by_container = {_name(cpu_series.labels): cpu_series for cpu_series in cpu}
    for series in memory:
        busy = by_container.get(_name(series.labels))
        _, pod, container = _name(series.labels)
        if not len(series.values) or not pod or not container:
            continue
        yield Usage(
            namespace=namespace,
            pod=pod,
            container=container,
            working_set_bytes=math.ceil(float(series.values.max())),
            cpu_millicores=_percentile_millicores(busy),
            samples=len(series.values),
            started_at=float(series.times[0]),
            ended_at=float(series.times[-1]),
            source=f"Prometheus at {server.address}",
        )


def _percentile_millicores(series: Series | None) -> int | None:
    if series is None or not len(series.values):
        return None
    return math.ceil(float(np.percentile(series.values, CPU_PERCENTILE)) * 1000 - 1e-9)


def _name(labels: Labels) -> tuple[str, str, str]:
    return labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", "")


def _count_points(start: float, end: float, step_seconds: int) -> int:
    if step_seconds < 1 or not math.isfinite(start) or not math.isfinite(end) or end < start:
        raise InputError(
            f"from {start:g} to {end:g} in steps of {step_seconds} s is no stretch of time",
            fix="Let it end after it starts",
        )
    return int((end - start) // step_seconds) + 1


def _stretches(start: float, end: float, step_seconds: int, most_points: int) -> Iterator[tuple[float, float]]:
    """Pieces of at most `most_points` points that together hold each point of the whole exactly once."""
    points = _count_points(start, end, step_seconds)
    for first in range(0, points, most_points):
        last = min(first + most_points, points) - 1
        yield start + first * step_seconds, start + last * step_seconds


def _joined(labels: Labels, results: Sequence[_Result], start: float, end: float) -> Series:
    """The points of a series after `start` and before `end`, each moment once, without NaN, what is below 0 and what no container uses:
    sums and suggestions are whole numbers of 64 bits."""
    times = np.array([at for partial_series in results for at, _ in partial_series.values], dtype=np.float64)
    values = np.array([_number(text) for series_piece in results for _, text in series_piece.values], dtype=np.float64)
    times, place = np.unique(times, return_index=True)  # pieces that a server aligns to the step share a point
    values = values[place]
    is_reading = (values >= 0) & (values <= LARGEST) & (times > start) & (times < end)
    return Series(labels=labels, times=times[is_reading], values=values[is_reading])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _error_text(body: bytes) -> str:
    try:
        answer = typed_json.decode(body, _Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "no reason given"
    return _short(answer.error) or "no reason given"


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"
