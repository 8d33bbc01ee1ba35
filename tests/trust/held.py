"""``python -m tests.trust.held``: half-open connections and large reviews against `headroom serve`, and how long others wait.

Nothing here is a test of time: it prints what was measured, and counts what wasn't answered.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from planner.ground.table_formats import as_text
from planner.kubernetes.object_records import Workload
from planner.sources import demo
from tests.bench.webhook import PATH, connect, serving, update
from tests.trust.people import percentile

HALF_OPEN, LARGE_BYTES, CLIENTS = 1_100, 2_500_000, 4
_HEAD = b"POST /v1/rollouts HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"


def good(workload: Workload, number: int, padding: int = 0) -> bytes:
    """A review of a change to `workload`, no two alike; with so many bytes of annotations on either side."""
    document = update(workload, number)
    for side in ("object", "oldObject"):
        document["request"][side]["metadata"].setdefault("annotations", {})["padding"] = "x" * (padding // 2)
    return json.dumps(document).encode()


def ask(port: int, cert: Path, body: bytes | None) -> tuple[float, bool]:
    """Seconds from the connection to the answer of /readyz, or of a review; and whether it was one that says something."""
    began = time.perf_counter()
    with closing(connect(port, cert)) as connection:
        connection.request("GET" if body is None else "POST", "/readyz" if body is None else PATH, body)
        answer = connection.getresponse()
        text = answer.read()
    seconds = time.perf_counter() - began
    return seconds, answer.status == 200 and (body is None or b"warnings" in text)


@contextmanager
def half_open(port: int, count: int, begin: Callable[[socket.socket], object]) -> Iterator[None]:
    """So many connections that begin something and never end it."""
    held: list[socket.socket] = []
    try:
        for _ in range(count):
            with suppress(OSError):
                held.append(socket.create_connection(("127.0.0.1", port), timeout=5))
                begin(held[-1])
        yield
    finally:
        for one in held:
            one.close()


def measured(
    what: str, port: int, cert: Path, workload: Workload, *, seconds: float, every: float
) -> dict[str, object]:
    """/readyz and a good review, one after the other, for so long."""
    times: dict[str, list[float]] = {"readyz": [], "review": []}
    silent, number, until = 0, 0, time.monotonic() + seconds
    while time.monotonic() < until:
        number += 1
        for name, body in (("readyz", None), ("review", good(workload, number))):
            try:
                took, is_right = ask(port, cert, body)
                times[name].append(took)
                silent += not is_right
            except (OSError, http.client.HTTPException):
                silent += 1
        time.sleep(every)
    row: dict[str, object] = {"what": what, "asked": 2 * number, "not answered": silent}
    for name, found in times.items():
        row |= {f"{name} p50": f"{percentile(found, 0.5):.3f} s", f"{name} p99": f"{percentile(found, 0.99):.3f} s"}
    return row


def large(port: int, cert: Path, workload: Workload, is_over: threading.Event) -> None:
    """One client that sends large reviews, one after another."""
    body = good(workload, 0, LARGE_BYTES)
    while not is_over.is_set():
        with suppress(OSError, http.client.HTTPException):
            ask(port, cert, body)


def rows(seconds: float) -> Iterator[dict[str, object]]:
    """What is printed."""
    workload = demo.read().workload("Deployment/prod/llm-serve")
    assert workload is not None
    with TemporaryDirectory() as folder, serving("demo", Path(folder)) as (port, cert):
        own = {"seconds": seconds, "every": 0.2}
        yield measured("nobody else", port, cert, workload, **own)
        with half_open(port, HALF_OPEN, lambda _: None):
            yield measured(f"{HALF_OPEN:,} connections that say nothing", port, cert, workload, **own)
        context = connect(port, cert)._context  # type: ignore[attr-defined] # http.client's

        def begin(one: socket.socket) -> None:
            wrapped = context.wrap_socket(one, server_hostname="localhost")
            wrapped.send(_HEAD + b'{"a')
            kept.append(wrapped)

        kept: list[socket.socket] = []
        with half_open(port, HALF_OPEN, begin):
            yield measured(f"{HALF_OPEN:,} half reviews", port, cert, workload, **own)
        for one in kept:
            one.close()
        is_over = threading.Event()
        clients = [threading.Thread(target=large, args=(port, cert, workload, is_over)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        yield measured(f"{CLIENTS} clients with reviews of {LARGE_BYTES / 1e6:g} MB", port, cert, workload, **own)
        is_over.set()
        for client in clients:
            client.join()
        print((Path(folder) / "serve.log").read_text()[-1500:], file=sys.stderr)


if __name__ == "__main__":
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(as_text(list(rows(float(sys.argv[1]) if sys.argv[1:] else 15.0))))
