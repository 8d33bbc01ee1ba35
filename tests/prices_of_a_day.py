"""The price tables of one day, which figures worked out by hand stand on: those that come with the planner are newer now and then.

What is shipped is asked about by `tests/pricing/test_shipped_prices.py`.
"""

from __future__ import annotations

import atexit
import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from planner.cli import python_api
from planner.sources import prices
from planner.sources.prices import TABLES_VARIABLE

FOLDER: Final = Path(__file__).parent / "pricing" / "data" / "tables-2026-07-16"


def pin() -> None:
    """Let this process, and those that it starts, reckon with them: called before the first price is looked up."""
    if os.environ.get(TABLES_VARIABLE):
        return
    folder, process = Path(tempfile.mkdtemp(prefix="headroom-prices-")), os.getpid()

    def take_away() -> None:
        if os.getpid() == process:  # no process that was forked of it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(take_away)
    for packed in FOLDER.iterdir():
        (folder / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    os.environ[TABLES_VARIABLE] = str(folder)


@contextmanager
def shipped() -> Iterator[None]:
    """The tables that come with the planner, which documents tell."""
    pinned = os.environ.pop(TABLES_VARIABLE, "")
    _forget()
    try:
        yield
    finally:
        os.environ[TABLES_VARIABLE] = pinned
        _forget()


def _forget() -> None:
    """Whatever was read of other tables."""
    kept = [one for module in (prices, python_api) for one in vars(module).values() if hasattr(one, "cache_clear")]
    assert len(kept) > 5
    for one in kept:
        one.cache_clear()
    if (
        "streamlit" in sys.modules
    ):  # the pages keep price books for hours: one visited before would tell the other day's
        sys.modules["streamlit"].cache_resource.clear()
