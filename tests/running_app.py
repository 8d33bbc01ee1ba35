"""The dashboard as people start it, ``headroom app``: for tests and benches that talk to it from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from planner.cli.app import STREAMLIT
from planner.cli.dashboard_server import run
from planner.ui.web_security import take_settings
from tests.ports import reserved

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


def on(cluster: str) -> tuple[str, ...]:
    """``headroom app`` on that cluster, up to its port."""
    return ("-c", "from planner.cli import main; main()", "app", cluster, "--no-browser", "--port")


def scripted(script: Path) -> tuple[str, ...]:
    """The same server with a page of a test's own, up to its port."""
    return ("-m", "tests.running_app", str(script))


@contextmanager
def running_app(
    log: Path, program: Sequence[str] = on("demo"), *, port: int | None = None, **environment: str
) -> Iterator[RunningApp]:
    """The app on that port, else on one of its own. What it logs goes to `log`."""
    port = port or reserved()
    path = os.pathsep.join(
        filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])
    )  # where `make coverage` has its tool
    with log.open("a", encoding="utf-8") as output:
        server = subprocess.Popen(
            [sys.executable, *program, str(port)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            app = RunningApp(address=f"localhost:{port}", pid=server.pid)
            _wait(app, server, log)
            yield app
        finally:
            server.terminate()
            server.wait(timeout=60)


def _wait(app: RunningApp, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(f"{app.url}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the app didn't start:\n{log.read_text(encoding='utf-8')[-2_000:]}")


if __name__ == "__main__":
    os.environ.update(STREAMLIT)
    import streamlit as st

    take_settings()
    sys.exit(run(lambda: st.App(sys.argv[1]), "localhost", int(sys.argv[2]), browser=False))
