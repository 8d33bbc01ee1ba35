"""The real app, started as a user would: for tests and benches that talk to it from outside."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
_START_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningApp:
    """Where it is (``localhost:8501``), and the server's process id."""

    address: str
    pid: int

    @property
    def url(self) -> str:
        return f"http://{self.address}"


@contextmanager
def running_app(log: Path, script: str = "app.py", **environment: str) -> Iterator[RunningApp]:
    """The app on a free port. What it logs goes to `log`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"headless": "true", "port": str(port), "address": "localhost", "fileWatcherType": "none"}
    command = [sys.executable, "-m", "streamlit", "run", script]
    command += [part for name, value in options.items() for part in (f"--server.{name}", value)]
    with log.open("w", encoding="utf-8") as output:
        server = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            app = RunningApp(address=f"localhost:{port}", pid=server.pid)
            _wait(app, server, log)
            yield app
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait(app: RunningApp, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(f"{app.url}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the app didn't start:\n{log.read_text(encoding='utf-8')[-2_000:]}")
