"""A local server that plays the recorded answers of a real API server, and its bad days; over TLS where asked to.

`api_server` plays whatever a function says to each request: recordings, faults, or the living cluster of `living`.
"""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
    method: str = "GET"
    body: bytes = b""
    content_type: str = ""


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0  # bytes of the body that are announced and never sent
    stream: Iterator[bytes] | None = None  # sent in chunks as they come; one that raises ConnectionError is cut off

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


@dataclass(frozen=True)
class Tls:
    """The server's certificate and key; `clients` is what signed the certificates of clients that are let in."""

    certificate: Path
    key: Path
    clients: Path | None = None


class _Handler(BaseHTTPRequestHandler):
    """What one server does; `api_server` makes a class of its own with these."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits until its headers are acknowledged: 40 ms an answer
    play: Play
    log: list[Asked]
    sockets: set[Any]
    over: threading.Event
    ahead_seconds: float

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = Asked(
            parts.path, dict(parse_qsl(parts.query)), self.headers.get("Authorization"), self.command,
            self.rfile.read(int(self.headers.get("Content-Length") or 0)), self.headers.get("Content-Type") or "",
        )  # fmt: skip
        self.log.append(asked)
        answer = type(self).play(asked)
        if self.over.is_set():
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        with suppress(OSError):  # whoever asked is gone
            self._send(answer)

    def _send(self, answer: Answer) -> None:
        if answer.stream is None:
            content = answer.content()
            self.send_header("Content-Length", str(len(content) + answer.cut))
            self.end_headers()
            self.wfile.write(content)
            self.close_connection = bool(answer.cut)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for piece in answer.stream:
                if self.over.is_set():
                    raise ConnectionError
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            self.close_connection = True

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string(int((timestamp or time.time()) + self.ahead_seconds))

    def setup(self) -> None:
        super().setup()
        self.sockets.add(self.connection)

    def finish(self) -> None:
        self.sockets.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that is refused, or goes away


@contextmanager
def api_server(
    play: Play, tls: Tls | None = None, *, port: int = 0, clock_ahead_seconds: float = 0.0
) -> Iterator[tuple[client.Configuration, list[Asked]]]:
    """A server on localhost; gives a client configuration for it and the list of what it was asked."""
    log: list[Asked] = []
    sockets: set[Any] = set()
    over = threading.Event()
    own = {
        "play": staticmethod(play),
        "log": log,
        "sockets": sockets,
        "over": over,
        "ahead_seconds": clock_ahead_seconds,
        **dict.fromkeys(("do_POST", "do_PUT", "do_PATCH", "do_DELETE"), _Handler.do_GET),
    }
    server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), own))
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.certificate, tls.key)
        if tls.clients is not None:
            context.load_verify_locations(tls.clients)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        configuration = client.Configuration()
        configuration.host = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
        if tls is not None:
            configuration.ssl_ca_cert = str(tls.certificate)
        yield configuration, log
    finally:
        over.set()
        server.shutdown()
        for connection in tuple(sockets):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        server.server_close()
        thread.join()
