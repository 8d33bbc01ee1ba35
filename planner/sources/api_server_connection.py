"""GET requests to one API server: renews credentials, follows no redirect, limits requests a minute."""

from __future__ import annotations

import shlex
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from kubernetes import client

from planner.ground.errors import SourceError
from planner.ground.words import duration
from planner.inventory.tls_certificate_validity import Validity, validity_of
from planner.sources.source_limits import LIMITS

CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 60.0
RENEW_SECONDS: Final = 30.0  # credentials that were just renewed and aren't accepted aren't renewed again
CLOCK_SECONDS: Final = 30.0  # clocks that differ by less agree: Date has whole seconds, and answers take a while
_AUTH: Final = ("BearerToken",)
Query = list[tuple[str, Any]]


class Pace:
    """So many requests in any minute, the caller; those beyond wait."""

    def __init__(self, most_per_minute: int) -> None:
        self.most_per_minute = most_per_minute
        self._times: deque[float] = deque()
        self._lock = threading.Lock()

    def wait(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Come back when the next request may go."""
        while True:
            with self._lock:
                now = time.monotonic()
                self._forget(now)
                if len(self._times) < self.most_per_minute:
                    self._times.append(now)
                    return
                remaining_seconds = self._times[0] + 60.0 - now
            sleep(max(remaining_seconds, 0.01))

    @property
    def last_minute(self) -> int:
        """Requests of the last 60 s."""
        with self._lock:
            self._forget(time.monotonic())
            return len(self._times)

    def _forget(self, now: float) -> None:
        while self._times and self._times[0] <= now - 60.0:
            self._times.popleft()


_paces: Final[dict[str, Pace]] = {}
_one_at_a_time: Final = threading.Lock()


def requests_last_minute() -> int:
    """What this process asked of API servers in the last 60 s."""
    return sum(pace.last_minute for pace in tuple(_paces.values()))


class Connection:
    """One API server. All connections of a process to it share its `pace`.

    Parameters
    ----------
    configuration : kubernetes.client.Configuration
        Host and credentials.
    name : str
        The context's name, for people.
    log_in : callable, optional
        Gives host and credentials anew: asked once when the server no longer accepts those it has (401).

    Attributes
    ----------
    skew_seconds : what the server's clock is ahead of this machine's, as its last answer told; None before
    server_validity, own_validity : of the server's certificate, as it last showed it, and of ours; None where there is none
    """

    def __init__(
        self,
        configuration: client.Configuration,
        *,
        name: str,
        log_in: Callable[[], client.Configuration] | None = None,
    ) -> None:
        self.name = name
        self.skew_seconds: float | None = None
        self.is_checked = bool(configuration.verify_ssl)
        self.host = configuration.host
        with _one_at_a_time:  # one pace for all that this process asks of an API server: reader, single readings, logs
            self.pace = _paces.setdefault(self.host.rstrip("/").lower(), Pace(LIMITS.requests_per_minute))
        self._log_in = log_in
        self._lock = threading.Lock()
        self._renewed_at = -RENEW_SECONDS
        self.server_validity: Validity | None = None
        self._shown = b""  # the server's certificate
        self._client = self._client_of(configuration)

    def get(self, path: str, query: Query, *, read_seconds: float = READ_SECONDS) -> urllib3.BaseHTTPResponse:
        """The answer, its body unread: the caller closes it.

        Raises
        ------
        SourceError
            For a redirect, and when new credentials can't be had.
        urllib3.exceptions.HTTPError, OSError, client.ApiException
            When no answer came; `problem` puts it into words.
        """
        used = self._client
        response = self._asked(used, path, query, read_seconds)
        if response.status == 401 and self._has_renewed(used):
            response.close()
            response = self._asked(self._client, path, query, read_seconds)
        if 300 <= response.status < 400:
            response.close()
            to = urlsplit(response.headers.get("Location", ""))
            what = f"the server redirects to {to.scheme}://{to.netloc}" if to.netloc else "the server redirects"
            fix = "Give the API server's own address in the kubeconfig; a proxy that wants a login can't be used"
            raise SourceError(f"{what}: not followed, the credentials would go with it", where=self.name, fix=fix)
        return response

    def _asked(self, used: client.ApiClient, path: str, query: Query, read_seconds: float) -> urllib3.BaseHTTPResponse:
        self.pace.wait()
        serialized = used.param_serialize(
            method="GET",
            resource_path=path,
            query_params=query,
            header_params={"Accept": "application/json"},
            auth_settings=list(_AUTH),
        )
        answer = used.call_api(*serialized, _request_timeout=(CONNECT_SECONDS, read_seconds))
        response: urllib3.BaseHTTPResponse = answer.response
        with suppress(ValueError, TypeError):
            self.skew_seconds = parsedate_to_datetime(response.headers.get("Date", "")).timestamp() - time.time()
        self._note_certificate(response)
        return response

    def _has_renewed(self, used: client.ApiClient) -> bool:
        """Whether there are other credentials than those of `used` now."""
        with self._lock:
            if self._client is not used:
                return True
            if self._log_in is None or time.monotonic() - self._renewed_at < RENEW_SECONDS:
                return False
            self._client = self._client_of(self._log_in())
            self._renewed_at = time.monotonic()
            return True

    @property
    def clock_off(self) -> float | None:
        """What the server's clock is ahead of this machine's, in seconds, where that is more than a request takes."""
        skew = self.skew_seconds
        return None if skew is None or abs(skew) < CLOCK_SECONDS else skew

    def _note_certificate(self, response: urllib3.BaseHTTPResponse) -> None:
        with suppress(
            AttributeError, OSError, ValueError
        ):  # plain HTTP, or an answer that was so short that it is over
            shown: bytes = response.connection.sock.getpeercert(binary_form=True)  # type: ignore[union-attr]
            if shown != self._shown:
                self._shown, self.server_validity = shown, validity_of(shown)

    def _client_of(self, configuration: client.Configuration) -> client.ApiClient:
        self.own_validity: Validity | None = None
        if configuration.cert_file:
            with suppress(OSError):
                self.own_validity = validity_of(Path(configuration.cert_file).read_bytes())
        return _client(configuration)

    def problem(self, error: Exception) -> str:
        """Why no answer came, in words."""
        match cause := _cause(error):
            case urllib3.exceptions.SSLError():
                return _of_certificates(cause)
            case urllib3.exceptions.NameResolutionError():
                return "the server's name is unknown"
            case urllib3.exceptions.NewConnectionError():  # itself a ConnectTimeoutError
                return "nothing listens at the server's address"
            case urllib3.exceptions.ConnectTimeoutError():
                return f"the server can't be reached (waited {duration(CONNECT_SECONDS)})"
            case urllib3.exceptions.ReadTimeoutError():
                return f"the server sent nothing for {duration(READ_SECONDS)}"
            case urllib3.exceptions.ProtocolError():
                return "the connection broke off"
        return f"{type(cause).__name__}"

    @property
    def fix(self) -> str:
        """What to look at when no answer comes."""
        return f"Check that kubectl works with --context {shlex.quote(self.name)}, and try again"


def _client(configuration: client.Configuration) -> client.ApiClient:
    # The caller tries again, and knows what is worth it; a redirect is an answer.
    configuration.retries = urllib3.Retry(0, redirect=False)
    configuration.connection_pool_maxsize = LIMITS.connections
    return client.ApiClient(configuration)


def _of_certificates(error: BaseException) -> str:
    """What is wrong with which certificate, in OpenSSL's words."""
    cause = next((argument for argument in error.args if isinstance(argument, ssl.SSLError)), error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the server's certificate isn't trusted: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError) and "ALERT" in str(cause.reason or ""):
        return f"the server refuses our certificate: {str(cause.reason).lower().replace('_', ' ')}"
    if isinstance(cause, ssl.SSLEOFError):
        return "the server broke the secure connection off: it may want another client certificate, or speak no TLS"
    return "no secure connection can be made with the server" + (
        f": {str(cause.reason).lower().replace('_', ' ')}" if isinstance(cause, ssl.SSLError) and cause.reason else ""
    )


def retry_after_seconds(response: urllib3.BaseHTTPResponse) -> float | None:
    """How long the server asks to wait, in seconds from now; None where it doesn't, or not in a way of RFC 9110, 10.2.3."""
    header = response.headers.get("Retry-After", "")
    if header.isascii() and header.isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def is_hopeless(error: Exception) -> bool:
    """Whether asking again right away can't help: a certificate stays what it is."""
    return isinstance(_cause(error), urllib3.exceptions.SSLError)


def _cause(error: BaseException) -> BaseException:
    """What the last of several attempts failed by."""
    while isinstance(error, urllib3.exceptions.MaxRetryError) and error.reason is not None:
        error = error.reason
    return error
