"""Whether a server lives, and whether it can answer: what a kubelet probes, the same for every way Headroom serves.

``/healthz`` is 200 while the process serves. ``/readyz`` is 200 once it can answer, 503 before; what was known when a cluster
stops answering goes on being answered from, so that it doesn't become unready again.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from planner.serve.paths import ALIVE, READY


def routes(is_ready: Callable[[], bool]) -> list[Route]:
    """The two paths."""

    async def healthy(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_request: Request) -> Response:
        found = is_ready()
        return PlainTextResponse("ok\n" if found else "not yet\n", status_code=200 if found else 503)

    return [Route(ALIVE, healthy), Route(READY, ready)]
