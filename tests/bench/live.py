"""Ten people on the Rollout page of a live cluster of 5,000 nodes in which 50 objects change a second.

Three processes: the cluster (an API server of the tests, with lists in pages and watches), the dashboard as a user starts it,
and this one, whose websocket clients do what browsers do: they look every other second whether there is something newer, and
change an input now and then. ``python -m tests.bench --only live``.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import msgspec
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from planner.inventory import api_types
from tests.bench import clusters
from tests.bench.inputs import QUIET
from tests.bench.table import Figure
from tests.running_app import RunningApp, on, running_app
from tests.sources import kubeconfigs
from tests.trust.people import percentile

NODES, SESSIONS, CHANGES_A_SECOND = 5_000, 10, 50
THINK_SECONDS = 6.0  # between two changes of a person
_WORKLOADS = (clusters.FIFTY, clusters.HELD, clusters.TEN)
_AGE = re.compile(r"newest snapshot is ([\d.]+) s old")
_OWN = re.compile(r"Live: as it was (.*) ago|Live: as it is now")
_VERDICT = re.compile(r"\*\*[✓✗△▽] ")  # how its box begins
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass
class Seen:
    """Seconds: from a changed input to the verdict and to the whole page; ages of the newest snapshot and of what is shown."""

    verdicts: list[float] = field(default_factory=list)
    wholes: list[float] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    reruns: int = 0
    errors: list[str] = field(default_factory=list)


# ── the cluster, in a process of its own ─────────────────────────────────────────────────────────────────────────────
def live_cluster(config: str, nodes: int, per_second: int) -> None:
    """Serve, say so, and let the cluster live until this process is ended."""
    from tests.sources.api_server import api_server
    from tests.sources.living import LivingCluster

    cluster = LivingCluster(bookmark_seconds=5)
    pods: list[dict[str, Any]] = []
    text = b"".join(clusters.kubectl_json(clusters.lay_out(nodes)))
    for one in msgspec.json.decode(text, type=api_types.List).items or ():
        item = json.loads(bytes(one))
        cluster.put_many([item])
        if item["kind"] == "Pod" and len(pods) < 20_000:
            pods.append(item)
    draw = random.Random(7)
    with api_server(cluster.play) as (configuration, asked):
        kubeconfigs.write(Path(config), configuration.host)
        print("ready", flush=True)
        began, done = time.monotonic(), 0
        while True:
            while done < (time.monotonic() - began) * per_second:
                _change(cluster, pods, draw, done)
                done += 1
            time.sleep(0.02)
            asked.clear()


def _change(cluster: Any, pods: list[dict[str, Any]], draw: random.Random, number: int) -> None:
    """A pod restarts, is labelled anew, or is replaced by another one of another name."""
    place = draw.randrange(len(pods))
    pod = pods[place]
    if number % 5:
        pod["metadata"].setdefault("labels", {})["changed"] = str(number)
        cluster.put(pod)
        return
    cluster.delete(pod)
    name = f"{pod['metadata']['name'].rsplit('-', 1)[0]}-{number:05x}"
    pods[place] = {**pod, "metadata": {**pod["metadata"], "name": name, "uid": f"uid-live-{number}"}}
    cluster.put(pods[place])


@contextmanager
def living(folder: Path, nodes: int, per_second: int) -> Iterator[Path]:
    """The cluster's process; the kubeconfig that leads to it."""
    config = folder / "config"
    command = [sys.executable, "-m", "tests.bench.live", "cluster", str(config), str(nodes), str(per_second)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield config
        finally:
            process.kill()
            process.wait()


# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────────
class Person:
    """One session: what a browser does."""

    def __init__(self, connection: ClientConnection, seen: Seen, number: int) -> None:
        self._connection, self._seen = connection, seen
        self._draw = random.Random(number)
        self._workload = _WORKLOADS[number % len(_WORKLOADS)]
        self._finished = asyncio.Event()
        self._verdict_at = 0.0
        self._looks: dict[str, asyncio.Task[None]] = {}
        self._query = self._page = ""

    async def live(self, begun: asyncio.Barrier, seconds: float) -> None:
        """Come, wait until everybody is there, and change an input now and then."""
        listening = asyncio.create_task(self._listen())
        try:
            await self._ask(is_first=True)
            await begun.wait()
            self._seen.ages.clear()
            self._seen.shown.clear()
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                await asyncio.sleep(self._draw.uniform(0.5, 1.5) * THINK_SECONDS)
                await self._ask()
        finally:
            for task in (listening, *self._looks.values()):
                task.cancel()

    async def _ask(self, *, is_first: bool = False) -> None:
        surge, missing = self._draw.randint(1, 20), self._draw.randint(0, 9)
        self._query = urlencode({"workload": self._workload, "max_surge": surge, "max_unavailable": missing})
        self._finished.clear()
        self._verdict_at, began = 0.0, time.monotonic()
        await self._send(ClientState(query_string=self._query, page_name="rollout"))
        await asyncio.wait_for(self._finished.wait(), 600)
        if not is_first:
            self._seen.verdicts.append((self._verdict_at or time.monotonic()) - began)
            self._seen.wholes.append(time.monotonic() - began)

    async def _send(self, state: ClientState) -> None:
        await self._connection.send(BackMsg(rerun_script=state).SerializeToString())

    async def _listen(self) -> None:
        async for data in self._connection:
            message = ForwardMsg()
            message.ParseFromString(data if isinstance(data, bytes) else data.encode())
            self._hear(message)

    def _hear(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "navigation":
            self._page = message.navigation.page_script_hash  # a browser names its page by it whenever it asks
        elif kind == "auto_rerun":
            asked = message.auto_rerun
            if asked.fragment_id not in self._looks:
                self._looks[asked.fragment_id] = asyncio.create_task(self._look(asked.fragment_id, asked.interval))
        elif kind == "delta":
            self._note(message)
        elif kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
            self._seen.reruns += 1
            self._finished.set()

    def _note(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        if element.WhichOneof("type") == "exception":
            self._seen.errors.append(element.exception.message[:200])
        elif element.WhichOneof("type") == "alert" and "Our mistake" in str(element.alert):
            self._seen.errors.append(str(element.alert)[:200])
        elif element.WhichOneof("type") == "alert" and _VERDICT.match(element.alert.body) and not self._verdict_at:
            self._verdict_at = time.monotonic()
        elif element.WhichOneof("type") == "markdown":
            if found := _AGE.search(element.markdown.help):
                self._seen.ages.append(float(found[1]))
            if found := _OWN.search(element.markdown.body):
                self._seen.shown.append(_seconds(found[1] or "now"))

    async def _look(self, fragment: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            await self._send(
                ClientState(
                    query_string=self._query,
                    fragment_id=fragment,
                    is_auto_rerun=True,
                    page_name="rollout",
                    page_script_hash=self._page,
                )
            )


def _seconds(text: str) -> float:
    words = text.split()
    return sum(float(number) * _UNITS.get(unit, 0.0) for number, unit in zip(words[::2], words[1::2], strict=False))


async def _hold(address: str, seconds: float) -> Seen:
    seen, begun = Seen(), asyncio.Barrier(SESSIONS)

    async def one(number: int) -> None:
        try:
            async with connect(
                f"ws://{address}/_stcore/stream", subprotocols=[Subprotocol("streamlit")], max_size=None,
                origin=Origin(f"http://{address}"), open_timeout=60, ping_interval=None,
            ) as connection:  # fmt: skip
                await Person(connection, seen, number).live(begun, seconds)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            seen.errors.append(f"{type(error).__name__}: {error}")

    await asyncio.gather(*(one(number) for number in range(SESSIONS)))
    return seen


def figures() -> Iterator[Figure]:
    """The targets of a live cluster; wall time, so that a machine with other work on it shows worse ones."""
    found = measure(seconds=40.0)
    assert not found.errors, found.errors
    for what, values, most in (
        ("live, 10 people, 50 changes a second: p95 of a change, to its verdict", found.verdicts, 1.0),
        ("live, 10 people, 50 changes a second: p95 of a change, to the whole page", found.wholes, None),
        ("live, 10 people, 50 changes a second: oldest that the newest snapshot was in 40 s", found.ages, 5.0),
        ("live, 10 people, 50 changes a second: p95 age of what a page shows", found.shown, None),
    ):
        share = 1.0 if "oldest" in what else 0.95
        yield Figure(
            figure=f"{what}; clock", cluster=QUIET, seconds=percentile(values, share), beside="p50",
            beside_seconds=percentile(values, 0.5), at_most_seconds=most,
        )  # fmt: skip


def measure(*, nodes: int = NODES, per_second: int = CHANGES_A_SECOND, seconds: float = 60.0) -> Seen:
    """What ten people see."""
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as name:
        folder = Path(name)
        with (
            living(folder, nodes, per_second) as config,
            running_app(folder / "app.log", on("context:edu"), KUBECONFIG=str(config)) as app,
        ):
            wait_until_read(app)
            return asyncio.run(_hold(app.address, seconds))


def wait_until_read(app: RunningApp) -> None:
    """Until its first snapshot is there."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        try:
            with urlopen(f"{app.url}/readyz", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the cluster was not read")


if __name__ == "__main__":
    live_cluster(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
