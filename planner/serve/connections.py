"""Limits of connections: how many at once, how long a request may take, and one log line a minute about closed ones.

A connection that waits for its own request to be complete costs nothing to its client, so that those give way first: where
there is no more room, the connection that has waited longest of the address that has most of them makes place for the new one. The
client that sends a whole request is answered, however many hold half of one. Connections that are being answered, and websockets, stay; where
there are only these, new ones are refused.

Sources: RFC 9112, 9 (closing a connection); CWE-400; the shape of Go's ``ReadHeaderTimeout`` and Apache's ``RequestReadTimeout``.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections import Counter
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any, ClassVar, Final

import h11
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from planner.ground.words import count, listing
from planner.serve.caller_authentication import CERTIFIED, Asgi, Receive, Scope, Send
from planner.serve.request_limits import LIMITS

SHARE_OF_ADDRESS: Final = 0.75  # an Ingress is one address, and so is an API server behind another one
FILES: Final = 256  # that stay free for everything else: uploads, processes, pipes
HEAD_SECONDS: Final = 5.0  # for a TLS handshake, and for a request's head
BODY_SECONDS: Final = 10.0  # for a body, and longer while it comes as fast as this:
SLOWEST_BYTES_PER_SECOND: Final = 32 * 2**10
BEGUN_BYTES: Final = 64 * 2**10  # of a body that goes on to the application before its end
ANSWER_SECONDS: Final = 60.0  # for a client to take what was sent, before it takes more
_AT_ONCE: Final = 32  # accepted before those that are there have their turn
_LEAVING: Final = 64  # told to go and not gone yet

ENDS: Final = ("too slow", "gave way", "refused", "unreadable", "broke off")
"""Why a connection ended before its time."""

Peer = tuple[Any, ...]


class Connections:
    """All of a server's.

    Attributes
    ----------
    ended : why → how many connections this server ended, or that broke off
    """

    def __init__(self, most: int = LIMITS.connections) -> None:
        self.most, self.most_of_address = most, max(1, int(most * SHARE_OF_ADDRESS))
        self._open: dict[Peer, socket.socket] = {}
        self._of: dict[str, dict[Peer, None]] = {}  # address → its connections
        self._waiting: dict[str, dict[Peer, None]] = {}  # address → those without a whole request, the oldest first
        self._end: dict[Peer, Callable[[], None]] = {}
        self._leaving: list[socket.socket] = []
        self.ended: Counter[str] = Counter()
        self._said: Counter[str] = Counter()
        self._from: Counter[str] = Counter()  # since the last line

    def __len__(self) -> int:
        return len(self._open)

    def is_crowded(self) -> bool:
        """Whether so many were told to go that the others have to wait until they have gone."""
        self._leaving = [connection for connection in self._leaving if connection.fileno() >= 0]
        return len(self._leaving) >= _LEAVING

    def came(self, sock: socket.socket, peer: Peer) -> bool:
        """A connection came; whether there is room for it."""
        address = str(peer[0])
        if self._is_full(address):
            for closed_peer in [
                connection for connection, open_socket in self._open.items() if open_socket.fileno() < 0
            ]:
                self.went(closed_peer)  # handshakes that failed are not told
        while (where := self._is_full(address)) is not None:
            if not self._give_way(where):
                self.note(peer, "refused")
                return False
        self._open[peer] = sock
        self._of.setdefault(address, {})[peer] = None
        self._end[peer] = lambda: _shut(sock)
        self.waits(peer)
        return True

    def can_end(self, peer: Peer, end: Callable[[], None]) -> None:
        """How it is ended from now on."""
        if peer in self._open:
            self._end[peer] = end

    def waits(self, peer: Peer) -> None:
        """It waits for a request of its own."""
        if peer in self._open:
            self._waiting.setdefault(str(peer[0]), {})[peer] = None

    def is_answered(self, peer: Peer) -> None:
        """Its request is whole: it stays until it has the answer."""
        self._drop(self._waiting, peer)

    def went(self, peer: Peer) -> None:
        if self._open.pop(peer, None) is not None:
            self._end.pop(peer, None)
            self._drop(self._of, peer)
            self._drop(self._waiting, peer)

    def note(self, peer: Peer | None, why: str) -> None:
        """It ended before its time."""
        self.ended[why] += 1
        if peer is not None:
            self._from[str(peer[0])] += 1

    def line(self) -> str:
        """What is to be said since the last line; "" for nothing."""
        new = self.ended - self._said
        most = self._from.most_common(1)
        self._said, self._from = self.ended.copy(), Counter()
        if not new:
            return ""
        whole = sum(new.values())
        why = listing([f"{number:,} {reason}" for reason, number in sorted(new.items())])
        of = f"; most of {most[0][0]} ({most[0][1]:,})" if most else ""
        return f"{count(whole, 'connection')} ended early in the last minute: {why}{of}"

    # ── room ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _is_full(self, address: str) -> str | None:
        """The address that has to lose a connection before one of `address` has room; None where there is room."""
        if len(self._of.get(address, ())) >= self.most_of_address:
            return address
        if len(self._open) < self.most:
            return None
        return max(self._waiting, key=lambda peer_address: len(self._waiting[peer_address]), default=address)

    def _give_way(self, address: str) -> bool:
        peer = next(iter(self._waiting.get(address, ())), None)
        if peer is None:
            return False
        self._leaving.append(self._open[peer])
        end = self._end[peer]
        self.note(peer, "gave way")
        self.went(peer)
        end()
        return True

    @staticmethod
    def _drop(of: dict[str, dict[Peer, None]], peer: Peer) -> None:
        address = str(peer[0])
        address_peers = of.get(address)
        if address_peers is not None:
            address_peers.pop(peer, None)
            if not address_peers:
                del of[address]


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def room() -> int:
    """How many connections there are files for; the limit is raised as far as it may be."""
    if sys.platform == "win32":
        return LIMITS.connections
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < (file_limit := LIMITS.connections + FILES):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(file_limit, hard) if hard >= 0 else file_limit, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(16, min(LIMITS.connections, soft - FILES))


# ── accepting ────────────────────────────────────────────────────────────────────────────────────────────────────────
class Listener(socket.socket):
    """A listening socket that keeps count, before a handshake."""

    connections: Connections
    _in_a_row = 0

    def accept(self) -> tuple[socket.socket, Any]:
        """As a socket's; BlockingIOError, the end of a row, where others shall have their turn first."""
        while True:
            self._in_a_row = (self._in_a_row + 1) % _AT_ONCE
            if self._in_a_row == 0 or self.connections.is_crowded():
                raise BlockingIOError
            sock, peer = super().accept()
            if self.connections.came(sock, peer[:2]):
                return sock, peer
            sock.close()


def listen(host: str, port: int, connections: Connections) -> list[Listener]:
    """Sockets at all addresses of `host`.

    Raises
    ------
    OSError
        Where one of them is taken, or isn't this machine's.
    """
    listeners: list[Listener] = []
    try:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, number, _, address in dict.fromkeys(addresses):
            listener = Listener(family, kind, number)
            listeners.append(listener)
            listener.connections = connections
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(
                (address[0], listeners[0].getsockname()[1] if port == 0 and len(listeners) > 1 else port, *address[2:])
            )
            listener.setblocking(False)
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    return listeners


class HandshakeLoop(asyncio.SelectorEventLoop):
    """The event loop, with a time for handshakes."""

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
        """As asyncio's."""
        if options.get("ssl") is not None:
            options = {"ssl_handshake_timeout": HEAD_SECONDS, "ssl_shutdown_timeout": HEAD_SECONDS, **options}
        return await super().create_server(*args, **options)


# ── a connection ─────────────────────────────────────────────────────────────────────────────────────────────────────
class Timed(H11Protocol):
    """uvicorn's HTTP/1.1 with a time for a request's head and body; `protocol` makes one of a server's own."""

    all_of_them: ClassVar[Connections]
    is_certified: ClassVar[bool]
    _peer: Peer | None = None
    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _awaited: object = None  # h11's state: what is waited for
    _since = 0.0
    _received = 0
    _is_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        peer_name = transport.get_extra_info("peername")
        self._peer = tuple(peer_name[:2]) if isinstance(peer_name, tuple) else None
        if self._peer is not None:
            self.all_of_them.can_end(self._peer, self._give_way)
        if self.is_certified:
            self.app_state = {**self.app_state, CERTIFIED: bool(transport.get_extra_info("peercert"))}
        self._look()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._look(is_idle=self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0])

    def connection_lost(self, exc: Exception | None) -> None:
        is_half = not getattr(self.cycle, "response_complete", True)
        if is_half and not self._is_ended:
            self.all_of_them.note(self._peer, "broke off")
        self._rest()
        self._unset_keepalive_if_required()
        if self._stalled is not None:
            self._stalled.cancel()
        if self._peer is not None:
            self.all_of_them.went(self._peer)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(ANSWER_SECONDS, self._finish, "too slow")

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def send_400_response(self, msg: str) -> None:
        self._is_ended = True
        self.all_of_them.note(self._peer, "unreadable")
        super().send_400_response(msg)

    def _look(self, *, is_idle: bool = False) -> None:
        """Begin or end to wait for a head or a body."""
        state = self.conn.their_state
        is_upgraded = self.transport.get_protocol() is not self and self._awaited is not None
        if is_idle or state not in (h11.IDLE, h11.SEND_BODY) or is_upgraded:
            self._rest()
            self._awaited = h11.DONE
            self._received = 0 if is_idle else self._received
            if self._peer is not None:
                (self.all_of_them.waits if is_idle else self.all_of_them.is_answered)(self._peer)
            return
        if self._awaited is not state:
            self._rest()
            self._awaited, self._since = state, self.loop.time()
            seconds = HEAD_SECONDS if state is h11.IDLE else BODY_SECONDS
            self._timer = self.loop.call_later(seconds, self._is_late)
            if self._peer is not None:
                self.all_of_them.waits(self._peer)

    def _is_late(self) -> None:
        """The time is up; a body that comes along, or that waits for this server, has more."""
        if self._awaited is h11.SEND_BODY:
            seconds_left = self._since + BODY_SECONDS + self._received / SLOWEST_BYTES_PER_SECOND - self.loop.time()
            if seconds_left > 0 or self.flow.read_paused:
                self._timer = self.loop.call_later(seconds_left if seconds_left > 0 else BODY_SECONDS, self._is_late)
                return
        self._finish("too slow")

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_way(self) -> None:
        self._is_ended = True
        self.transport.abort()

    def _finish(self, why: str) -> None:
        if not self._is_ended and not self.transport.is_closing():
            self.all_of_them.note(self._peer, why)
            self._give_way()


def protocol(connections: Connections, *, is_certified: bool) -> type[Timed]:
    """The protocol of a server with these connections.

    Parameters
    ----------
    is_certified : bool
        Whether requests say if a client certificate came with them (`caller_authentication.CERTIFIED`).
    """
    return type("OwnTimed", (Timed,), {"all_of_them": connections, "is_certified": is_certified})


def once_there(app: Asgi) -> Asgi:
    """`app`, asked once a request's body is there, or `BEGUN_BYTES` of it: half a request costs its head, and no answer."""

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        messages, size, is_whole = list[MutableMapping[str, Any]](), 0, False
        while not is_whole and size < BEGUN_BYTES:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            messages.append(message)
            size, is_whole = size + len(message.get("body", b"")), not message.get("more_body", False)
        messages.reverse()

        async def again() -> MutableMapping[str, Any]:
            return messages.pop() if messages else await receive()

        await app(scope, again, send)

    return asked


# ── what is said ─────────────────────────────────────────────────────────────────────────────────────────────────────
class Quiet(logging.Filter):
    """Lets no line through that anybody can make this server write as often as they like: `Connections.line` has them."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is logged."""
        if record.levelno < logging.WARNING:  # one for each websocket
            return False
        error = record.exc_info[1] if record.exc_info else None
        return not (_is_of_client(error) or "Invalid HTTP request" in str(record.msg) or "upgrade request" in str(record.msg)
                    or "WebSocket library" in str(record.msg))  # fmt: skip


def _is_of_client(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_is_of_client(exception) for exception in error.exceptions)
    return isinstance(error, ClientDisconnect | ConnectionError | EOFError) or type(error).__module__.startswith(
        ("websockets", "uvicorn.protocols")
    )


def quieten() -> None:
    """Let `Quiet` see what uvicorn logs."""
    logger = logging.getLogger("uvicorn.error")
    if not any(isinstance(log_filter, Quiet) for log_filter in logger.filters):
        logger.addFilter(Quiet())
