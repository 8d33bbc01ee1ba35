"""``python -m tests.history.writer URL SEED``: writes the demo again and again, says what it has written, until it is killed.

Every fifth time it joins files instead, as a cron job may at the same moment.
"""

from __future__ import annotations

import sys

from planner.ground.records import replace
from planner.history.snapshot_names import snapshot_id
from planner.history.snapshot_rows import rows_of
from planner.sources import demo
from planner.sources.store import Store


def main(url: str, seed: int) -> None:
    store, snapshot, number = Store(url), demo.read(), 0
    while True:
        number += 1
        if number % 5 == 0:
            store.compact(grace_seconds=0.05)
            continue
        one = replace(snapshot, taken_at=snapshot.taken_at + seed * 1_000 + number)
        store.write("edu", one, rows_of(one, (), written_by="test"))
        print(snapshot_id(one), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
