"""The table behind ``make conformance``: family × field × agreement, the cases that disagree, a line per folder.

Exit status 1 where any verdict disagrees (for memory, which has no verdicts: where any field does).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from tests.conformance.comparison import Comparison

FOLDERS = {
    "rollouts": "tests.conformance.rollout_cases",
    "rollouts4": "tests.conformance.rollout_cases",
    "rollouts5": "tests.conformance.rollout_cases",
    "kinds": "tests.conformance.kind_cases",
    "headroom": "tests.conformance.headroom_cases",
    "kinds4": "tests.conformance.applied_cases",
    "queues": "tests.conformance.queue_cases",
    "drains": "tests.conformance.drain_cases",
    "growth": "tests.conformance.growth_cases",
    "memory": "tests.conformance.memory_cases",
}
_WIDEST = 400  # characters of a value that are shown


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).parent
    if not root.is_dir():
        print(f"{root}: there is no such folder. Give one laid out like tests/conformance", file=sys.stderr)
        return 1
    here = [name for name in FOLDERS if (root / name).is_dir()]
    if not here:
        print(f"{root}: none of {', '.join(FOLDERS)} is in it", file=sys.stderr)
        return 1
    lines, failed = [], False
    for name in here:
        compare: Callable[[Path], Iterable[Comparison]] = import_module(FOLDERS[name]).compare
        found = list(compare(root / name))
        _table(name, found)
        _disagreements(found)
        lines.append(summary(name, found))
        verdicts = [c for c in found if c.is_verdict] or found
        failed = failed or not found or any(not c.agrees for c in verdicts)
    print("\n".join(lines))
    return int(failed)


def summary(name: str, found: list[Comparison]) -> str:
    """``rollouts: 281 of 281 verdicts, 4,120 of 4,120 fields``."""
    verdicts = [c for c in found if c.is_verdict]
    fields = f"{sum(c.agrees for c in found):,} of {len(found):,} fields"
    if not verdicts:
        return f"{name}: {fields}"
    return f"{name}: {sum(c.agrees for c in verdicts):,} of {len(verdicts):,} verdicts, {fields}"


def _table(name: str, found: list[Comparison]) -> None:
    """Family × field: how many of how many agree."""
    total: Counter[tuple[str, str]] = Counter((c.family, c.field) for c in found)
    agree: Counter[tuple[str, str]] = Counter((c.family, c.field) for c in found if c.agrees)
    families = list(dict.fromkeys(c.family for c in found))
    fields = list(dict.fromkeys(c.field for c in found))
    rows = [["family", *fields]]
    rows += [
        [family, *(f"{agree[family, f]}/{total[family, f]}" if total[family, f] else "–" for f in fields)]
        for family in families
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print(f"\n{name}")
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def _disagreements(found: list[Comparison]) -> None:
    for c in found:
        if not c.agrees:
            print(f"  {c.case} {c.field}:")
            print(f"    recorded: {str(c.expected)[:_WIDEST]}")
            print(f"    Headroom: {str(c.got)[:_WIDEST]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
