"""Alive and ready: the same two paths for every way Headroom serves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette

from planner.serve import health, paths


def status(path: str, *, is_ready: bool) -> int:
    app, sent = Starlette(routes=health.routes(lambda: is_ready)), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [], "root_path": ""}
    asyncio.run(app(scope, receive, send))
    return int(sent[0]["status"])


@pytest.mark.parametrize("is_ready", [True, False])
def test_alive_is_not_ready(is_ready: bool) -> None:
    assert status(paths.ALIVE, is_ready=is_ready) == 200
    assert status(paths.READY, is_ready=is_ready) == (200 if is_ready else 503)
