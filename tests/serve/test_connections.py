"""Who gives way, who is refused, what ends by itself, and what is said of it; no time is asserted, only that and in which order."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from planner.ground.errors import InputError
from planner.serve import connections
from planner.serve.connections import BEGUN_BYTES, Connections, Quiet, listen, once_there
from planner.serve.http_server import Server
from planner.serve.request_limits import LIMITS
from tests.bench.webhook import certificate

Peer = tuple[str, int]


class Socket:
    """All that is asked of one before its handshake."""

    def __init__(self) -> None:
        self.is_open = True

    def fileno(self) -> int:
        return 9 if self.is_open else -1


def come(all_of_them: Connections, peer: Peer, ended: list[Peer] | None = None) -> bool:
    """One more, which notes in `ended` that it was ended."""
    has_room = all_of_them.came(Socket(), peer)  # type: ignore[arg-type] # it is asked for no more
    all_of_them.can_end(peer, lambda: (ended if ended is not None else []).append(peer))
    return has_room


@contextmanager
def held(most: int, peers: list[Peer]) -> Iterator[tuple[Connections, list[Peer]]]:
    """A server's connections, where these came in this order; and those it ended."""
    all_of_them, ended = Connections(most), list[Peer]()
    for peer in peers:
        assert come(all_of_them, peer, ended)
    yield all_of_them, ended


def test_who_has_waited_longest_gives_way() -> None:
    with held(4, [("a", 1), ("b", 1), ("a", 2), ("c", 1)]) as (all_of_them, ended):
        assert come(all_of_them, ("d", 1))
        assert ended == [("a", 1)], "the address that has most of them gives first"
        assert len(all_of_them) == 4
        assert all_of_them.ended == {"gave way": 1}


def test_who_is_being_answered_stays() -> None:
    with held(4, [("a", 1), ("a", 2), ("b", 1), ("c", 1)]) as (all_of_them, ended):
        all_of_them.is_answered(("a", 1))
        all_of_them.is_answered(("a", 2))
        assert come(all_of_them, ("d", 1))
        assert ended == [("b", 1)]
        all_of_them.waits(("a", 1))
        for peer in (("c", 1), ("d", 1)):
            all_of_them.is_answered(peer)
        assert come(all_of_them, ("e", 1))
        assert ended == [("b", 1), ("a", 1)]


def test_where_all_are_being_answered_new_ones_are_refused() -> None:
    peers: list[Peer] = [("a", 1), ("b", 1), ("c", 1), ("d", 1)]
    with held(4, peers) as (all_of_them, ended):
        for peer in peers:
            all_of_them.is_answered(peer)
        assert not come(all_of_them, ("e", 1))
        assert ended == []
        all_of_them.went(("a", 1))
        assert come(all_of_them, ("e", 1))
        assert all_of_them.ended == {"refused": 1}


def test_one_address_never_has_all() -> None:
    with held(8, [("a", number) for number in range(6)]) as (all_of_them, ended):
        assert come(all_of_them, ("a", 6))
        assert ended == [("a", 0)], "its own give way, though there is room for others"
        for number in range(1, 7):
            all_of_them.is_answered(("a", number))
        assert not come(all_of_them, ("a", 7))
        assert come(all_of_them, ("b", 1))


def test_what_was_closed_beside_us_is_forgotten() -> None:
    """A handshake that fails is told to nobody."""
    all_of_them, made = Connections(2), [Socket(), Socket()]
    for number, sock in enumerate(made):
        all_of_them.came(sock, ("abc"[number], 1))  # type: ignore[arg-type] # it is asked for no more
        sock.is_open = False
    assert come(all_of_them, ("c", 1))
    assert not all_of_them.ended
    assert len(all_of_them) == 1


def test_one_line_says_how_many_and_then_nothing() -> None:
    all_of_them = Connections()
    assert all_of_them.line() == ""
    for number in range(1_000):
        all_of_them.note(("10.0.0.1" if number % 4 else "10.0.0.2", number), "too slow")
    all_of_them.note(None, "broke off")
    line = all_of_them.line()
    assert "\n" not in line
    assert "1,001 connections" in line
    assert "10.0.0.1 (750)" in line
    assert all_of_them.line() == ""


def test_what_clients_do_is_not_logged_and_mistakes_are() -> None:
    def record(error: BaseException | None, said: str = "Exception in ASGI application\n") -> logging.LogRecord:
        info = (type(error), error, None) if error else None
        return logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, said, (), info)

    quiet = Quiet()
    assert not quiet.filter(record(ClientDisconnect()))
    assert not quiet.filter(record(ConnectionResetError()))
    assert not quiet.filter(record(ExceptionGroup("", [ClientDisconnect()])))
    assert not quiet.filter(record(None, "Invalid HTTP request received."))
    assert quiet.filter(record(AssertionError("of ours")))
    assert quiet.filter(record(ExceptionGroup("", [ClientDisconnect(), ValueError()])))
    assert quiet.filter(record(None, "Waiting for connections to close."))


# ── over sockets ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for _ in range(2):
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
        return
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def running(most: int = 64, *, app: Any = app, **options: Any) -> AsyncIterator[tuple[Server, int]]:
    server = Server(
        app, host="127.0.0.1", port=0, connections=Connections(most), **{"certificate": None, "key": None, **options}
    )
    server.load()
    there = asyncio.Event()
    server.when_there = there.set
    task = asyncio.ensure_future(server._serve())
    await there.wait()
    try:
        yield server, server._listeners[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task
        await asyncio.sleep(0)  # what was closed is told so


def on_own_loop(wanted: Any) -> None:
    with asyncio.Runner(loop_factory=connections.HandshakeLoop) as runner:
        runner.run(wanted)


async def whole(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether nothing comes, and nothing will."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST / HTT", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
     b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n"],
)  # fmt: skip
def test_half_a_request_ends_by_itself(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(connections, "BODY_SECONDS", 1.0)

    async def wanted() -> None:
        async with running() as (server, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            answer = await reader.read()
            assert answer.count(b"200 OK") == sent.count(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert server.connections.ended == {"too slow": 1}
            writer.close()
            assert b"200 OK" in await whole(port)

    on_own_loop(wanted())


def test_a_body_that_comes_along_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes three times as long as one that stands still may."""
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.2)
    monkeypatch.setattr(connections, "SLOWEST_BYTES_PER_SECOND", 1)

    async def wanted() -> None:
        async with running() as (server, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6000\r\nConnection: close\r\n\r\n")
            for _ in range(6):
                writer.write(b"x" * 1000)
                await asyncio.sleep(0.1)
            assert b"200 OK" in await reader.read()
            assert not server.connections.ended
            writer.close()

    on_own_loop(wanted())


def test_whole_requests_are_answered_however_many_hold_half_of_one() -> None:
    async def wanted() -> None:
        async with running(most=16) as (server, port):
            held = []
            for _ in range(60):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab")
                held.append((reader, writer))
            for _ in range(5):
                assert b"200 OK" in await whole(port)
            assert await ended(held[0][0]), "the oldest gave way"
            assert set(server.connections.ended) == {"gave way"}
            assert len(server.connections) <= 16
            for _, writer in held:
                writer.transport.abort()

    on_own_loop(wanted())


def test_half_a_request_asks_nothing_of_the_application() -> None:
    """A thousand of them cost the server a head each, and no answer: a page's own had kept /readyz waiting for a second."""
    asked: list[bytes] = []

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            asked.append(scope["path"].encode())
        await app(scope, receive, send)

    async def wanted() -> None:
        async with running(app=noted) as (_, port):
            head = b"POST /half HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nConnection: close\r\n\r\nab"
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head)
            assert b"200 OK" in await whole(port)
            assert asked == [b"/"]
            writer.write(b"cdefghi")
            assert b"200 OK" in await reader.read()
            assert asked == [b"/", b"/half"]
            writer.close()

    on_own_loop(wanted())


@pytest.mark.parametrize("sizes", [(0,), (1, 2), (BEGUN_BYTES - 1, 1, 5), (BEGUN_BYTES, 7), (9, BEGUN_BYTES, 7, 1)])
def test_a_body_comes_whole_and_a_large_one_before_its_end(sizes: tuple[int, ...]) -> None:
    pieces = [bytes([place]) * size for place, size in enumerate(sizes)]
    rest = [{"type": "http.request", "body": one, "more_body": one is not pieces[-1]} for one in pieces]
    rest.append({"type": "http.disconnect"})
    found, left = list[bytes](), list[int]()

    async def reading(_scope: Any, receive: Any, _send: Any) -> None:
        left.append(len(rest))
        while (message := await receive())["type"] == "http.request":
            found.append(message["body"])

    async def receive() -> Any:
        return rest.pop(0)

    async def nobody(_message: Any) -> None:
        pytest.fail("nothing is sent")

    async def wanted() -> None:
        await once_there(reading)({"type": "http"}, receive, nobody)

    asyncio.run(wanted())
    assert found == pieces
    assert left == [1 + sum(sum(sizes[:place]) >= BEGUN_BYTES for place in range(1, len(sizes)))]


def test_connections_that_break_off_and_nonsense_leave_no_line_each(caplog: pytest.LogCaptureFixture) -> None:
    async def wanted() -> None:
        async with running() as (server, port):
            for sent in (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab", b"\x16\x03\x01nonsense\r\n\r\n"):
                for _ in range(20):
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.write(sent)
                    await writer.drain()
                    if sent[0] == 0x16:
                        assert b"400" in await reader.read()
                    writer.transport.abort()
            for _ in range(1000):
                if server.connections.ended["broke off"] == 20:
                    break
                await asyncio.sleep(0.01)
            assert server.connections.ended["broke off"] == 20
            assert server.connections.ended["unreadable"] == 20
            assert b"200 OK" in await whole(port)

    on_own_loop(wanted())
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING and one.name == "uvicorn.error"]


def test_a_handshake_has_its_time_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 3.0)
    cert, key = certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=cert)

    async def wanted() -> None:
        async with running(most=16, certificate=cert, key=key) as (server, port):
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(30)]
            reader, writer = await asyncio.open_connection("localhost", port, ssl=trusted)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert b"200 OK" in await reader.read()
            writer.close()
            assert server.connections.ended["gave way"] >= 14
            for quiet, end in held:
                assert await ended(quiet)
                end.transport.abort()

    on_own_loop(wanted())


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = Server(app, host="127.0.0.1", port=taken.getsockname()[1], certificate=None, key=None)
        with pytest.raises(InputError, match="can't be listened on"):
            server.load()


def test_localhost_is_listened_on_at_all_its_addresses() -> None:
    made = listen("localhost", 0, Connections())
    try:
        assert len({one.getsockname()[1] for one in made}) == 1
        assert {one.getsockname()[0] for one in made} <= {"127.0.0.1", "::1"}
    finally:
        for one in made:
            one.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_there_are_fewer_connections_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    limits = [(300, 300)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, told: limits.append(told))
    assert connections.room() == 44
    limits[:] = [(256, 4096)]
    assert connections.room() == LIMITS.connections
    assert limits[-1] == (LIMITS.connections + connections.FILES, 4096)
