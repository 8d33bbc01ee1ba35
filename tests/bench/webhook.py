"""``headroom serve`` under load: so many reviews a second over TLS, no two alike, and how long each takes.

Reviews are sent at fixed times, whether or not earlier ones are answered (an open loop), and their time counts from when they
were due: a server that falls behind shows it. Each goes by a connection that is free, or by a new one, as an API server's do, of which
as many are there at once as it lets writes in (``--max-mutating-requests-inflight``): fewer would wait here, and not there.
"""

from __future__ import annotations

import copy
import http.client
import json
import random
import re
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from planner.inventory.change import document_of
from planner.kubernetes.object_records import Snapshot, Workload
from tests.ports import reserved

PATH = "/v1/rollouts?timeout=2s"
AT_ONCE = 200  # the default of an API server
_RESOURCES = {"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What came of it. Times in milliseconds, from when a review was due."""

    reviews: int
    warned: int
    wrong: int  # not answered as an AdmissionReview
    late: int  # of which nothing was said because time was up
    p50: float
    p99: float
    slowest: float


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    cert, key = folder / "tls.crt", folder / "tls.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


@contextmanager
def serving(
    cluster: str, folder: Path, *options: str, pair: tuple[Path, Path] | None = None
) -> Iterator[tuple[int, Path]]:
    """``headroom serve`` as a process of its own; gives its port and the certificate to trust (that of `pair`, where given)."""
    cert, key = pair or certificate(folder)
    port = reserved()
    program = [sys.executable, "-c", "from planner.cli import main; main()"]
    command = [
        *program,
        "serve",
        cluster,
        "--port",
        str(port),
        "--tls-cert",
        str(cert),
        "--tls-key",
        str(key),
        *options,
    ]
    with (folder / "serve.log").open("wb") as log, subprocess.Popen(command, stderr=log, stdout=log) as process:
        try:
            _wait(port, cert, process, folder / "serve.log")
            yield port, cert
        finally:
            process.terminate()
            process.wait(10)


def _wait(port: int, cert: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if process.poll() is not None:
            break
        with suppress(OSError), closing(connect(port, cert)) as connection:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"headroom serve does not answer: {log.read_text()}")


def connect(port: int, cert: Path) -> http.client.HTTPSConnection:
    """A connection that trusts `cert`."""
    return http.client.HTTPSConnection("localhost", port, context=ssl.create_default_context(cafile=cert), timeout=60)


def update(workload: Workload, number: int, kind: str = "image") -> dict[str, Any]:
    """The review of an UPDATE; `number` makes it unlike every other one."""
    old = plain(document_of(workload))
    new = copy.deepcopy(old)
    container = new["spec"]["template"]["spec"]["containers"][0]
    container["image"] = f"registry.example/app:{number}"
    if kind == "requests":
        container.setdefault("resources", {}).setdefault("requests", {})["cpu"] = f"{200 + number % 1700}m"
        container["resources"]["requests"]["memory"] = f"{300 + number // 1700}Mi"
    request = {
        "uid": f"{number:08d}-0000-4000-8000-000000000000",
        "resource": {"group": "apps", "version": "v1", "resource": _RESOURCES[workload.kind]},
        "name": workload.name, "namespace": workload.namespace, "operation": "UPDATE", "object": new, "oldObject": old,
    }  # fmt: skip
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def plain(value: Any) -> Any:
    """`value` without what the snapshot keeps digests of: an API server sends values, and both sides have the same."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if not key.startswith(("\0", "headroom.dev"))}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.replace("\0", "x") if isinstance(value, str) else value


def load(snapshot: Snapshot, port: int, cert: Path, *, per_second: int, seconds: int, kind: str) -> Load:
    """Send reviews of changes to random workloads of `snapshot`."""
    draw = random.Random(7)
    workloads = [one for one in snapshot.workloads if one.traits.rolls_out]
    count = per_second * seconds
    bodies = [json.dumps(update(draw.choice(workloads), number, kind)).encode() for number in range(count)]
    times: list[float] = []
    warned: list[bool] = []
    wrong: list[str] = []
    own, connections, before = threading.local(), list[http.client.HTTPSConnection](), _late(port, cert)

    def send(due: float, body: bytes) -> None:
        if not hasattr(own, "connection"):
            own.connection = connect(port, cert)
            connections.append(own.connection)
        own.connection.request("POST", PATH, body, {"Content-Type": "application/json"})
        answer = json.loads(own.connection.getresponse().read())
        times.append(time.perf_counter() - due)
        if answer.get("kind") != "AdmissionReview" or not answer["response"]["allowed"]:
            wrong.append(str(answer))
        warned.append("warnings" in answer.get("response", {}))

    with ThreadPoolExecutor(AT_ONCE) as senders:
        start = time.perf_counter() + 0.2
        sent = []
        for number, body in enumerate(bodies):
            due = start + number / per_second
            time.sleep(max(0.0, due - time.perf_counter()))
            sent.append(senders.submit(send, due, body))
    for one in sent:
        one.result()
    for connection in connections:
        connection.close()
    at = np.percentile(np.array(times) * 1000, [50, 99, 100])
    return Load(
        reviews=len(times), warned=sum(warned), wrong=len(wrong), late=_late(port, cert) - before,
        p50=float(at[0]), p99=float(at[1]), slowest=float(at[2]),
    )  # fmt: skip


def _late(port: int, cert: Path) -> int:
    """How many reviews there were so far of which nothing was said because time was up."""
    with closing(connect(port, cert)) as connection:
        connection.request("GET", "/metrics")
        found = re.search(rb'headroom_reviews_total{said="time_up"} (\d+)', connection.getresponse().read())
    return int(found[1]) if found else 0


def measure(cluster: str, snapshot: Snapshot, *, per_second: int = 200, seconds: int = 20) -> dict[str, Load]:
    """The load with changed images, and with changed requests, which nothing can be kept for."""
    with TemporaryDirectory() as folder, serving(cluster, Path(folder)) as (port, cert):
        return {
            kind: load(snapshot, port, cert, per_second=per_second, seconds=seconds, kind=kind)
            for kind in ("image", "requests")
        }


if __name__ == "__main__":
    from planner.sources import demo

    for name, one in measure("demo", demo.read()).items():
        print(name, one)
