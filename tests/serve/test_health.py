"""Alive and ready: the same two paths for every way Headroom serves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from planner.serve import endpoint_paths, health


def status(path: str, *, is_ready: bool) -> int:
    return int(answer_of(health.routes(lambda: is_ready), path)[0]["status"])


def answer_of(routes: list[Route], path: str) -> list[Any]:
    app, sent = Starlette(routes=routes), list[Any]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [], "root_path": ""}
    asyncio.run(app(scope, receive, send))
    return sent


def test_the_dashboard_alone_has_no_metrics_and_says_so() -> None:
    routes = health.routes_of_pages(lambda: True)
    head, body = answer_of(routes, endpoint_paths.METRICS)
    assert head["status"] == 404
    assert b"headroom serve --dashboard" in body["body"]
    assert answer_of(routes, endpoint_paths.ALIVE)[0]["status"] == 200


@pytest.mark.parametrize("is_ready", [True, False])
def test_alive_is_not_ready(is_ready: bool) -> None:
    assert status(endpoint_paths.ALIVE, is_ready=is_ready) == 200
    assert status(endpoint_paths.READY, is_ready=is_ready) == (200 if is_ready else 503)
