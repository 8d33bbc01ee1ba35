"""``python -m tests.properties [COUNT [FIRST]]``: random clusters that rules beside the scheduler's core decide, played by the
engine and by the reference: how often each rule was tried, and every case in which they say another verdict."""

from __future__ import annotations

import collections
import sys
import time

from tests.properties.random_rollouts import verdicts_differ
from tests.reference.ruled_clusters import RULES, ruled_case


def main(arguments: list[str]) -> int:
    count, first = (int(arguments[0]) if arguments else 5_000), (int(arguments[1]) if len(arguments) > 1 else 0)
    started = time.monotonic()
    tried: collections.Counter[tuple[str, str]] = collections.Counter()
    wrong = []
    for seed in range(first, first + count):
        case = ruled_case(seed)
        verdict, difference = verdicts_differ(case)
        tried.update((rule, verdict) for rule in case.rules)
        if difference:
            wrong.append(seed)
            print(f"{seed}: {difference} ({', '.join(case.rules)})", flush=True)
        if (seed - first + 1) % 500 == 0:
            print(f"… {seed - first + 1:,} played", flush=True)
    print(f"{'rule':34}{'cases':>8}{'complete':>10}{'stuck':>8}")
    for rule in RULES:
        complete, stuck = tried[rule, "complete"], tried[rule, "stuck"]
        print(f"{rule:34}{complete + stuck:8}{complete:10}{stuck:8}")
    took = time.monotonic() - started
    print(f"{count - len(wrong):,} of {count:,} clusters agree in the verdict, in {took:,.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
