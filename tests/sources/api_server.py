"""A local server that plays the recorded answers of a real API server, and its bad days."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kubernetes import client

DATA = Path(__file__).parent / "data"
NOT_FOUND = "404 page not found\n"


@dataclass(frozen=True)
class Asked:
    path: str
    query: dict[str, str]
    authorization: str | None


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0  # bytes of the body that are announced and never sent

    def content(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


Play = Callable[[Asked], Answer]


@cache
def recordings() -> dict[str, Any]:
    return dict(json.loads(gzip.decompress((DATA / "wire.json.gz").read_bytes())))


def recorded(name: str) -> Answer:
    one = recordings()[name]
    return Answer(status=one["status"], body=one["body"])


def as_recorded(asked: Asked) -> Answer:
    """What the recorded server said to a reader; lists that weren't recorded aren't installed."""
    for name, one in recordings().items():
        request = one["request"]
        if name.startswith(("expired", "bad")) or request["user"] != "reader" or request["path"] != asked.path:
            continue
        if request["query"].get("continue") == asked.query.get("continue"):
            return recorded(name)
    return Answer(status=404, body=NOT_FOUND)


@contextmanager
def api_server(play: Play) -> Iterator[tuple[client.Configuration, list[Asked]]]:
    """A server on localhost; gives a client configuration for it and the list of what it was asked."""
    log: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = Asked(parts.path, dict(parse_qsl(parts.query)), self.headers.get("Authorization"))
            log.append(asked)
            answer = play(asked)
            content = answer.content()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content) + answer.cut))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        configuration = client.Configuration()
        configuration.host = f"http://127.0.0.1:{server.server_port}"
        yield configuration, log
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
