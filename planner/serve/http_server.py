"""The HTTP server: TLS, paths, limits. One process, one port."""

from __future__ import annotations

import logging
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from planner.ground.errors import InputError
from planner.inventory.tls_certificate_validity import Validity, validity_of
from planner.serve import health
from planner.serve.caller_authentication import Callers
from planner.serve.connections import Connections, HandshakeLoop, Listener, listen, once_there, protocol, quieten, room
from planner.serve.endpoint_paths import METRICS, REVIEWS
from planner.serve.metrics import Metrics
from planner.serve.request_limits import LIMITS
from planner.serve.review_processes import LARGE, Reviewers
from planner.serve.snapshot_refresher import Keeper
from planner.serve.webhook import Webhook, timeout_of

_TICKS: Final = 10  # of uvicorn's loop, a second
_LOOK_TICKS: Final = 10 * _TICKS  # between two looks whether the certificate was renewed
_MINUTE_TICKS: Final = 60 * _TICKS
_SAY_TICKS: Final = 86_400 * _TICKS  # between two warnings that it expires


def application(routes: Sequence[Route], lifespan: Callable[[Any], Any]) -> Starlette:
    """The paths by themselves, without the dashboard."""
    return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(Callers)])


def stopping(keeper: Keeper) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """The lifespan of whatever serves: the keeper ends with it."""

    @asynccontextmanager
    async def while_running(_app: Any) -> AsyncIterator[None]:
        yield
        keeper.stop()

    return while_running


def paths(metrics: Metrics, webhook: Webhook, reviewers: Reviewers, warning: Callable[[], str]) -> list[Route]:
    """The webhook, the metrics, and whether it lives and is ready; `warning` is of the server's certificate."""

    places = _Places()

    async def reviews(request: Request) -> Response:
        with places.one() as place:
            body = await _body(request, place)
            if isinstance(body, Response):
                return body
            try:
                return JSONResponse(await webhook.answer(body, timeout_of(request.query_params)))
            except InputError as error:
                return PlainTextResponse(f"{error}\n", status_code=400)

    async def exposed(request: Request) -> Response:
        accept = request.headers.get("accept", "")
        text, content_type = await run_in_threadpool(metrics.exposed, accept)  # reviews go on meanwhile
        return Response(text, headers={"content-type": content_type})

    return [
        Route(REVIEWS, reviews, methods=["POST"]),
        Route(METRICS, exposed),
        *health.routes(lambda: reviewers.is_ready, warning),
    ]


class _Places:
    """How many large reviews there may be at once: each is held as long as it comes and is answered."""

    def __init__(self) -> None:
        self._taken = 0

    @contextmanager
    def one(self) -> Iterator[Callable[[], bool]]:
        """A review's; what is given takes a place, once, and says whether there is one."""
        has = False

        def take() -> bool:
            nonlocal has
            if not has and self._taken < LIMITS.large_bodies:
                self._taken, has = self._taken + 1, True
            return has

        try:
            yield take
        finally:
            self._taken -= has


async def _body(request: Request, place: Callable[[], bool]) -> bytes | Response:
    """The body, or what is said where it is too long, there are too many long ones, or it never came."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > LIMITS.body_bytes:
                return PlainTextResponse("the review is too long\n", status_code=413)
            if size >= LARGE and not place():
                return PlainTextResponse("there are too many long reviews at once\n", status_code=503)
            parts.append(part)
    except ClientDisconnect:  # no client is there who would read an answer
        return Response(status_code=400)
    return b"".join(parts)


class Server(uvicorn.Server):
    """Serves until it is told to stop; a certificate that is renewed on disk is taken up for new connections.

    Attributes
    ----------
    validity : of the certificate that it shows; None where it shows none
    """

    def __init__(
        self, app: Any, *, host: str, port: int, certificate: Path | None, key: Path | None, is_dashboard: bool = False,
        client_authority: Path | None = None, connections: Connections | None = None,
    ) -> None:  # fmt: skip
        self._files = (certificate, key) if certificate and key else None
        self.connections = Connections(room()) if connections is None else connections
        super().__init__(
            uvicorn.Config(
                once_there(app), host=host, port=port, http=protocol(self.connections, is_certified=client_authority is not None),
                ws="websockets-sansio" if is_dashboard else "none", lifespan="on", log_config=None, access_log=False,
                server_header=False, timeout_keep_alive=120, timeout_graceful_shutdown=2, loop=f"{HandshakeLoop.__module__}:{HandshakeLoop.__name__}",
                ssl_certfile=str(certificate) if certificate else None, ssl_keyfile=str(key) if key else None,
                ssl_ca_certs=str(client_authority) if client_authority else None,
                ssl_cert_reqs=ssl.CERT_OPTIONAL if client_authority else ssl.CERT_NONE,
            )
        )  # fmt: skip
        self.is_dashboard = is_dashboard
        self._listeners: list[Listener] = []
        self.when_there: Callable[[], object] = lambda: None
        self._read_at = self._written_at()
        self.validity: Validity | None = None
        self._say: Callable[[str], None] = lambda _: None

    @property
    def warning(self) -> str:
        """What has to be said of the certificate; "" where it holds for long."""
        warning_text = self.validity.warning(time.time()) if self.validity else ""
        return f"this server's certificate {warning_text}" if warning_text else ""

    def run_saying(self, say: Callable[[str], None]) -> None:
        """Serve; `say` hears of a certificate that expires, when it begins and once a day."""
        self._say = say
        self.run()

    def load(self) -> None:
        """Read the certificate, and take the port.

        Raises
        ------
        InputError
            When it can't be read, the key isn't its, or the port is taken.
        """
        logging.getLogger("uvicorn.access").disabled = True  # Streamlit gives it a handler again
        quieten()
        try:
            self.config.load()
            self._note_validity()
        except (OSError, ssl.SSLError) as error:
            where = ", ".join(map(str, self._files or ()))
            fix = "Give a certificate and its key in PEM"
            raise InputError(f"can't be used: {error.strerror or error}", where=where, fix=fix) from None
        try:
            self._listeners = listen(self.config.host, self.config.port, self.connections)
        except OSError as error:
            where = f"{self.config.host}:{self.config.port}"
            fix = "Choose another --port, or an address of this machine"
            raise InputError(f"can't be listened on: {error.strerror or error}", where=where, fix=fix) from None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, on the sockets that keep count."""
        await super().startup(sockets or [*self._listeners])
        self.when_there()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's."""
        await super().shutdown(sockets or [*self._listeners])

    async def on_tick(self, counter: int) -> bool:
        if counter % _MINUTE_TICKS == 0 and (line := self.connections.line()):
            self._say(line)
        if counter % _SAY_TICKS == 0 and (warning := self.warning):
            self._say(f"{warning}: renew {self.config.ssl_certfile}, it is read again by itself")
        if (
            counter % _LOOK_TICKS == 0
            and self._files
            and self.config.ssl
            and (now := self._written_at()) != self._read_at
        ):
            try:
                self.config.ssl.load_cert_chain(*self._files)
                self._read_at = now
                self._note_validity()
            except (OSError, ssl.SSLError):
                pass  # written by halves: the next look finds both
        return await super().on_tick(counter)

    def _note_validity(self) -> None:
        if self._files:
            with suppress(OSError):
                self.validity = validity_of(self._files[0].read_bytes())

    def _written_at(self) -> tuple[float, ...]:
        try:
            return tuple(file.stat().st_mtime for file in self._files or ())
        except OSError:
            return ()


def run(server: Server, say: Callable[[str], None]) -> None:
    """Serve; `say` tells where."""
    place = f"{'https' if server.config.is_ssl else 'http'}://{server.config.host}:{server.config.port}"
    say(
        f"{place}{REVIEWS} answers reviews, {METRICS} tells Prometheus{f', {place} shows the dashboard' if server.is_dashboard else ''}"
    )
    server.run_saying(say)
