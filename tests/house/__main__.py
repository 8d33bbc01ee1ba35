"""``python -m tests.house [WORD …]``: every check, or those whose sentence has one of the words; what was found, by file and line."""

from __future__ import annotations

import sys
import time

from tests.house import clouds, documents, empty, files, kinds, limits, names, pages, rooms
from tests.house.check import Check

CHECKS: tuple[Check[object], ...] = tuple(
    check for module in (files, documents, rooms, limits, pages, clouds, kinds, names, empty) for check in module.CHECKS
)


def main(words: list[str]) -> int:
    started, looked, broken = time.monotonic(), 0, 0
    wanted = [check for check in CHECKS if not words or any(word in check.holds for word in words)]
    for check in wanted:
        seen, found = check.run()
        looked += seen
        if found:
            broken += 1
            print(f"Not so: {check.holds}{check.advice and f' ({check.advice})'}")
            print("".join(f"  {fault}\n" for fault in found), end="")
    took = time.monotonic() - started
    print(
        f"{len(wanted) - broken} of {len(wanted)} checks hold, of {looked:,} places: {rooms.figures()} ({took:.1f} s)"
    )
    return 1 if broken or not wanted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
