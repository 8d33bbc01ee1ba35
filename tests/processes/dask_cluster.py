"""A Dask scheduler and its workers, each a process of its own, as ``dask scheduler`` and ``dask worker`` start them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.architecture.tree import ROOT
from tests.ports import reserved

Workers = list[subprocess.Popen[bytes]]


@contextmanager
def dask_cluster(number: int) -> Iterator[tuple[str, Workers]]:
    """The scheduler's address, and the workers, of one thread each; all of them there."""
    address = f"tcp://127.0.0.1:{reserved()}"
    host, port = address.removeprefix("tcp://").split(":")
    scheduler = _start("distributed.cli.dask_scheduler", "--host", host, "--port", port, "--no-dashboard", "--no-show")
    workers = [
        _start("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        for _ in range(number)
    ]
    try:
        _wait(address, number)
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def _wait(address: str, number: int) -> None:
    """Ask in a process of its own: the client's warnings aren't ours."""
    ask = f"from distributed import Client; Client({address!r}, timeout='60s').wait_for_workers({number}, timeout=60)"
    for _ in range(3):
        if (
            subprocess.run([sys.executable, "-W", "ignore", "-c", ask], check=False, capture_output=True).returncode
            == 0
        ):
            return
        time.sleep(1)
    raise AssertionError("the Dask cluster doesn't start")


def _start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
