"""Several people at once: real websocket clients that speak Streamlit's own messages, as browsers do.

A visitor opens a page, waits until it is whole, thinks, and goes on to the next, each with other settings in its link, so
that not every answer is in the cache. The load comes from the cores that serve it.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

ROOT = Path(__file__).parents[2]
PAGES = ("", *sorted(page.stem for page in (ROOT / "pages").glob("[a-z]*.py") if page.stem != "overview"))
LONGEST_SECONDS = 180.0  # a page that takes longer is an error


@dataclass
class Visits:
    """What visitors saw: seconds of each first page and of each later one, and what went wrong."""

    first: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    by_page: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of them don't exceed; 0 without any."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * share) - 1)] if ordered else 0.0


def resident_mib(pid: int) -> dict[str, float]:
    """MiB of the server and of the processes it started: ``{"server": …, "workers": …}``."""
    found = {"server": _mib(pid), "workers": 0.0}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text(encoding="utf-8").rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found["workers"] += _mib(int(status.parent.name))
        except OSError:
            continue
    return found


def _mib(pid: int) -> float:
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE") / 2**20


def hold(
    address: str,
    sessions: int,
    *,
    rounds: int,
    think_seconds: float,
    seed: int = 13,
    pages: Sequence[str] = PAGES,
    query: str = "",
    host: str = "",
) -> Visits:
    """`sessions` visitors, all coming at once, each looking at `rounds` pages; `query` is in every link, `host` the name
    they ask for."""
    visits = Visits()

    async def one(number: int) -> None:
        drawn = random.Random(seed * 1000 + number)
        try:
            async with connect(
                f"ws://{host or address}/_stcore/stream", subprotocols=[Subprotocol("streamlit")], max_size=None,
                origin=Origin(f"http://{host or address}"),
                open_timeout=60, host="localhost", port=int(address.rpartition(":")[2]), ping_interval=None,
            ) as connection:  # fmt: skip
                for place in range(rounds):
                    page = drawn.choice(pages) if place else pages[0]
                    link = "&".join(filter(None, [query, _settings(page, drawn)]))
                    seconds = await _look(connection, visits, page, link)
                    (visits.later if place else visits.first).append(seconds)
                    visits.by_page.setdefault(page or "overview", []).append(seconds)
                    await asyncio.sleep(drawn.uniform(0.5, 1.5) * think_seconds)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            visits.errors.append(f"{type(error).__name__}: {error}")

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(sessions)))

    asyncio.run(all_of_them())
    return visits


def _settings(page: str, drawn: random.Random) -> str:
    """A link's settings: now and then some that nobody asked for before."""
    if page == "rollout":
        return urlencode({"max_surge": drawn.randint(0, 6), "max_unavailable": drawn.randint(0, 3)})
    if page == "headroom":
        return urlencode({"shape": f"gpu={drawn.randint(1, 4)},cpu={drawn.randint(1, 8)}"})
    if page == "what_if":
        return urlencode({"changes": f"add:gpu-t4={drawn.randint(1, 6)}"})
    return ""


async def _look(connection: ClientConnection, visits: Visits, page: str, query: str) -> float:
    started = time.monotonic()
    asked = BackMsg(rerun_script=ClientState(query_string=query, page_name=page))
    await connection.send(asked.SerializeToString())
    async with asyncio.timeout(LONGEST_SECONDS):
        while True:
            data = await connection.recv()
            message = ForwardMsg()
            message.ParseFromString(data if isinstance(data, bytes) else data.encode())
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.new_element.WhichOneof("type") == "exception":
                visits.errors.append(f"{page}: {message.delta.new_element.exception.message[:200]}")
            if kind == "delta" and "Our mistake" in message.delta.new_element.alert.body + str(
                message.delta.new_element.alert
            ):
                visits.errors.append(f"{page}: our mistake: {message.delta.new_element.alert.body[:200]}")
            if kind == "script_finished" and message.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
            ):  # fmt: skip
                return time.monotonic() - started
