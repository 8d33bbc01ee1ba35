"""Disks that are full or may not be written, and writers that are killed: what was said to be stored is stored, and stays.

A full disk is a process whose files may not grow (RLIMIT_FSIZE): the writes fail in the middle, as on a disk.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.sources.prices import embedded_book
from planner.sources.store import Store
from tests.pricing.catalogue import catalogue_of
from tests.sources.billing_server import billing_server, paged

CATALOGUE = paged(catalogue_of(embedded_book()), 5_000)
READ_ONLY = "/sys/headroom"  # a file system that nobody makes a folder in, not even root


def headroom(*words: str, most_bytes: int | None = None, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    def full() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **({"XDG_CACHE_HOME": str(cache)} if cache else {})}
    return subprocess.run(
        [sys.executable, "-c", "from planner.cli import main; main()", *words],
        capture_output=True, text=True, preexec_fn=full, env=environment, check=False, timeout=300,
    )  # fmt: skip


def snapshots(folder: Path) -> int:
    return len(Store(str(folder)).snapshots())


def whole(folder: Path) -> None:
    """Every table of the store can be read."""
    rows = Store(str(folder)).query("SELECT cluster, snapshot, count(*) AS n FROM pods GROUP BY cluster, snapshot")
    assert {row["n"] for row in rows} <= {133}
    for one in Store(str(folder)).snapshots():
        assert len(Store(str(folder)).snapshot(one).pods) == 133


@pytest.mark.parametrize("most_bytes", [0, 2_000, 20_000])
def test_a_disk_that_is_full_loses_nothing_that_was_stored(tmp_path: Path, most_bytes: int) -> None:
    store = tmp_path / "store"
    first = headroom("store", "snapshot", "demo", "--store", str(store))
    assert first.returncode == 0, first.stderr
    again = headroom("store", "snapshot", "demo", "--store", str(store), "--name", "other", most_bytes=most_bytes)
    assert again.returncode == 1
    assert "File too large" in again.stderr
    assert "Traceback" not in again.stderr
    assert snapshots(store) == 1, "what wasn't said to be stored isn't"
    assert not list(store.rglob("*cluster=other*/**/*.parquet")), "and takes no room"
    whole(store)
    later = headroom("store", "snapshot", "demo", "--store", str(store), "--name", "other")
    assert later.returncode == 0, later.stderr
    assert snapshots(store) == 2
    whole(store)


@pytest.mark.parametrize(
    "words", [("overview", "demo"), ("overview", "demo", "-o", "json"), ("completion", "bash"), ("--help",)]
)
def test_output_that_finds_no_room_is_an_error_and_no_traceback(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [sys.executable, "-c", "from planner.cli import main; main()", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert found.returncode == 1
    assert found.stderr == "headroom: the output can't be written: No space left on device. Make room where it goes\n"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """``headroom`` as a shell starts it, with its redirections."""
    program = f"{sys.executable} -c 'from planner.cli import main; main()'"
    return subprocess.run(
        ["sh", "-c", line.replace("headroom", program, 1)], capture_output=True, text=True, check=False, timeout=300
    )


def test_a_closed_output_is_a_sentence_and_no_traceback() -> None:
    closed = shell("headroom overview demo >&-")
    assert closed.returncode == 1
    assert closed.stderr == "headroom: standard output is closed. Send it to /dev/null if you don't need it\n"
    assert shell("headroom overview demo >/dev/null").returncode == 0
    unread = shell("headroom overview - <&-")
    assert (unread.returncode, unread.stderr.count("\n")) == (1, 1), unread.stderr
    assert "standard input: it is empty" in unread.stderr
    without_errors = shell("headroom overview demo 2>&-")
    assert without_errors.returncode == 0
    assert without_errors.stdout.startswith("5 of 20 workloads")


def test_a_question_to_a_store_ends_without_words_of_a_library(tmp_path: Path) -> None:
    """nanobind writes a line of each of DuckDB's objects that is there at the end."""
    store = str(tmp_path / "store")
    assert headroom("store", "snapshot", "demo", "--store", store).returncode == 0
    for words, status in (
        (("query", store, "SELECT 1"), 0),
        (("query", store, "SELEC"), 1),
        (("commitments", store), 4),  # too short a history to say
        (("query", str(tmp_path / "nowhere"), "SELECT 1"), 1),
    ):
        told = headroom("store", *words)
        assert told.returncode == status, told.stderr
        assert "leaked" not in told.stderr, words
        assert bool(told.stderr) == (status == 1), words


def test_a_place_that_may_not_be_written_is_said() -> None:
    found = headroom("store", "snapshot", "demo", "--store", READ_ONLY)
    assert found.returncode == 1
    assert READ_ONLY in found.stderr
    assert "Traceback" not in found.stderr
    assert headroom("overview", "demo").returncode == 0


def test_prices_on_a_full_disk_are_those_of_before(tmp_path: Path) -> None:
    with billing_server(CATALOGUE) as server:
        words = ("prices", "refresh", "--api-key", "made-up", "--endpoint", server.url)
        assert headroom(*words, cache=tmp_path).returncode == 0
        file = tmp_path / "headroom" / "gcp-prices.csv"
        before = file.read_bytes()
        found = headroom(*words, cache=tmp_path, most_bytes=1_000)
    assert found.returncode == 1
    assert "can't be written" in found.stderr
    assert file.read_bytes() == before
    assert headroom("costs", "demo", cache=tmp_path).returncode == 0


def test_a_billing_api_that_is_dead_leaves_the_prices_that_are_there(tmp_path: Path) -> None:
    with billing_server(CATALOGUE) as server:
        words = ("prices", "refresh", "--api-key", "made-up", "--endpoint", server.url)
        assert headroom(*words, cache=tmp_path).returncode == 0
        before = headroom("costs", "demo", cache=tmp_path).stdout
    found = headroom(*words, cache=tmp_path)
    assert found.returncode == 1
    assert "Traceback" not in found.stderr
    assert found.stderr.strip()
    assert headroom("costs", "demo", cache=tmp_path).stdout == before


def test_killed_while_it_writes_prices_the_old_ones_stay(tmp_path: Path) -> None:
    with billing_server(CATALOGUE) as server:
        words = ["prices", "refresh", "--api-key", "made-up", "--endpoint", server.url]
        assert headroom(*words, cache=tmp_path).returncode == 0
        file = tmp_path / "headroom" / "gcp-prices.csv"
        size = file.stat().st_size
        for moment in (0.2, 0.6, 1.0):
            process = subprocess.Popen(
                [sys.executable, "-c", "from planner.cli import main; main()", *words],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
            )  # fmt: skip
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert file.stat().st_size == size
    assert headroom("costs", "demo", cache=tmp_path).returncode == 0
