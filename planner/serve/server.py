"""The HTTP in front: TLS, paths, bounds. One process, one port."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from planner.errors import InputError
from planner.inventory.certificates import Validity, validity_of
from planner.serve import health
from planner.serve.keeper import Keeper
from planner.serve.metrics import Metrics
from planner.serve.paths import METRICS, REVIEWS
from planner.serve.reviewers import Reviewers
from planner.serve.webhook import Webhook, timeout_of

_TICKS: Final = 10  # of uvicorn's loop, a second
_LOOK_TICKS: Final = 10 * _TICKS  # between two looks whether the certificate was renewed
_SAY_TICKS: Final = 86_400 * _TICKS  # between two warnings that it expires
MOST_BYTES: Final = 8 * 2**20  # two objects of what etcd takes (1.5 MiB) as JSON, with room


def application(routes: Sequence[Route], lifespan: Callable[[Any], Any]) -> Starlette:
    """The paths by themselves, without the dashboard."""
    return Starlette(routes=routes, lifespan=lifespan)


def stopping(keeper: Keeper) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """The lifespan of whatever serves: the keeper ends with it."""

    @asynccontextmanager
    async def while_running(_app: Any) -> AsyncIterator[None]:
        yield
        keeper.stop()

    return while_running


def paths(metrics: Metrics, webhook: Webhook, reviewers: Reviewers, warning: Callable[[], str]) -> list[Route]:
    """The webhook, the metrics, and whether it lives and is ready; `warning` is of the server's certificate."""

    async def reviews(request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return PlainTextResponse("the review is too long\n", status_code=413)
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


async def _body(request: Request) -> bytes | None:
    """The body, None for one beyond `MOST_BYTES`."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


class Server(uvicorn.Server):
    """Serves until it is told to stop; a certificate that is renewed on disk is taken up for new connections.

    Attributes
    ----------
    validity : of the certificate that it shows; None where it shows none
    """

    def __init__(
        self, app: Any, *, host: str, port: int, certificate: Path | None, key: Path | None, is_dashboard: bool = False
    ) -> None:
        self._files = (certificate, key) if certificate and key else None
        super().__init__(
            uvicorn.Config(
                app, host=host, port=port, http="h11", ws="websockets-sansio" if is_dashboard else "none", lifespan="on", log_config=None, access_log=False,
                server_header=False, timeout_keep_alive=120, timeout_graceful_shutdown=2,
                ssl_certfile=str(certificate) if certificate else None, ssl_keyfile=str(key) if key else None,
            )
        )  # fmt: skip
        self.is_dashboard = is_dashboard
        self._read_at = self._written_at()
        self.validity: Validity | None = None
        self._say: Callable[[str], None] = lambda _: None

    @property
    def warning(self) -> str:
        """What has to be said of the certificate; "" where it holds for long."""
        said = self.validity.warning(time.time()) if self.validity else ""
        return f"this server's certificate {said}" if said else ""

    def run_saying(self, say: Callable[[str], None]) -> None:
        """Serve; `say` hears of a certificate that expires, when it begins and once a day."""
        self._say = say
        self.run()

    def load(self) -> None:
        """Read the certificate.

        Raises
        ------
        InputError
            When it can't be read, or the key isn't its.
        """
        logging.getLogger("uvicorn.access").disabled = True  # Streamlit gives it a handler again
        try:
            self.config.load()
            self._note_validity()
        except (OSError, ssl.SSLError) as error:
            where = ", ".join(map(str, self._files or ()))
            mend = "Give a certificate and its key in PEM"
            raise InputError(f"can't be used: {error.strerror or error}", where=where, mend=mend) from None

    async def on_tick(self, counter: int) -> bool:
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
