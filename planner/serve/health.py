"""Liveness and readiness endpoints for kubelet probes, the same for every way to serve Headroom.

``/healthz`` is 200 while the process serves. ``/readyz`` is 200 once it can answer, 503 before; what was known when a cluster
stops answering goes on being answered from, so that it doesn't become unready again.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from planner.serve.endpoint_paths import ALIVE, METRICS, READY


def routes(is_ready: Callable[[], bool], warning: Callable[[], str] = str) -> list[Route]:
    """The two paths; a `warning` stands below what ``/readyz`` says, which starting anew wouldn't fix."""

    async def healthy(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_request: Request) -> Response:
        is_serving = is_ready()
        status_text = "\n".join(filter(None, ("ok" if is_serving else "not yet", warning())))
        return PlainTextResponse(f"{status_text}\n", status_code=200 if is_serving else 503)

    return [Route(ALIVE, healthy), Route(READY, ready)]


def routes_of_pages(is_ready: Callable[[], bool]) -> list[Route]:
    """The same of the dashboard by itself, which has no metrics: else its pages would answer a scraper with 200 and HTML."""

    async def no_metrics(_request: Request) -> Response:
        return PlainTextResponse("headroom app has no metrics; headroom serve --dashboard has\n", status_code=404)

    return [*routes(is_ready), Route(METRICS, no_metrics)]
