"""A real Prometheus on localhost with backfilled data, for the tests of `planner.sources.prometheus_usage`."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.ports import reserved

START = 1_795_046_400  # 2026-11-19 00:00 UTC
HOURS = 8
END = START + HOURS * 3_600
SCRAPE_SECONDS = 30
MIB = 2**20


def programs() -> tuple[str, str]:
    """(prometheus, promtool); where they are missing the tests are skipped, in continuous integration they fail."""
    found = shutil.which("prometheus"), shutil.which("promtool")
    if found[0] is None or found[1] is None:
        say = "prometheus and promtool are not installed (Debian: apt-get install prometheus)"
        if os.environ.get("CI"):
            pytest.fail(say)
        pytest.skip(say)
    return found[0], found[1]


def openmetrics() -> str:
    """Two namespaces, three containers: `api` of dev with one spike of a single scrape, `api` of prod rising, a sandbox
    (container="POD") and a pod's own cgroup (no container) that must not count."""
    memory = ["# TYPE container_memory_working_set_bytes gauge"]
    cpu = ["# TYPE container_cpu_usage_seconds counter"]
    for index, at in enumerate(range(START, END + 1, SCRAPE_SECONDS)):
        spike = index == 401
        for namespace, pod, container, amount, seconds in (
            ("dev", "api-6c6bb8f8c6-kzqs6", "api", (900 if spike else 200) * MIB, at - START),  # one core
            ("dev", "api-6c6bb8f8c6-kzqs6", "POD", 4_000 * MIB, 0),
            ("dev", "api-6c6bb8f8c6-kzqs6", "", 4_900 * MIB, 0),
            ("dev", "gone-7d4f98d77-7ggxb", "gone", 64 * MIB, (at - START) * 0.05),
            ("prod", "api-9cd6b4d87-7c2zf", "api", (1_000 + index) * MIB, (at - START) * 0.25),
        ):
            labels = f'namespace="{namespace}",pod="{pod}",container="{container}"'
            memory.append(f"container_memory_working_set_bytes{{{labels}}} {amount} {at}")
            cpu.append(f"container_cpu_usage_seconds_total{{{labels}}} {seconds:.3f} {at}")
    return "\n".join([*sorted(memory[:1]), *memory[1:], *cpu, "# EOF", ""])


@contextmanager
def running(folder: Path, *options: str, data: str = "") -> Iterator[str]:
    """Backfill (`data`: OpenMetrics), start on a free port, wait until ready; yields the address, ends the process."""
    prometheus, promtool = programs()
    (folder / "data.om").write_text(data or openmetrics())
    backfill = [
        promtool,
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        "--quiet",
        str(folder / "data.om"),
        str(folder / "tsdb"),
    ]
    subprocess.run(backfill, check=True, capture_output=True, timeout=120)
    (folder / "prometheus.yml").write_text("scrape_configs: []\n")
    port = reserved()
    command = [
        prometheus,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
        *options,
    ]
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(process, address, folder / "prometheus.log")
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"prometheus ended: {log.read_text()[-2_000:]}")
        try:
            if requests.get(f"{address}/-/ready", timeout=2).ok:
                return
        except requests.RequestException:
            pass
        time.sleep(0.1)
    pytest.fail("prometheus didn't get ready within 60 s")
