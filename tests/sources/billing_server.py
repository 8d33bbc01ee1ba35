"""A local server that plays the Billing Catalog: pages of SKUs in the REST wire format, and its bad days."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class Asked:
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]


@dataclass
class BillingServer:
    """`answer` is called with the number of the request (from 0) and what was asked."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)


def page(skus: list[dict[str, Any]], next_page_token: str = "") -> Answer:
    """The key is there even when the token is empty, as in the real answers."""
    return 200, json.dumps({"skus": skus, "nextPageToken": next_page_token}).encode(), {}


def error(code: int, status: str, message: str) -> Answer:
    body = {"error": {"code": code, "message": message, "status": status}}
    return code, json.dumps(body).encode(), {}


def paged(skus: list[dict[str, Any]], size: int) -> Callable[[int, Asked], Answer]:
    """All SKUs, `size` a page; tokens are opaque to the client."""

    def answer(_: int, asked: Asked) -> Answer:
        token = asked.query.get("pageToken", ["AAA0"])[0]
        start = int(token[3:])
        rest = start + size < len(skus)
        return page(skus[start : start + size], f"AAA{start + size}" if rest else "")

    return answer


@contextmanager
def billing_server(answer: Callable[[int, Asked], Answer]) -> Iterator[BillingServer]:
    playing = BillingServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = Asked(path=parts.path, query=parse_qs(parts.query), headers={**self.headers})
            playing.asked.append(asked)
            status, body, headers = answer(len(playing.asked) - 1, asked)
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the base class's)
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    playing.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield playing
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
