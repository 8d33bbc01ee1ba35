"""``python -m tests.properties [COUNT [FIRST]]``: random clusters that rules beside the scheduler's core decide, and as many in
which others are in flight, played by the engine and by the reference: how often each rule was tried, what was done to others,
and every case in which they say another verdict."""

from __future__ import annotations

import collections
import sys
import time

from tests.properties.random_rollouts import verdicts_differ
from tests.reference.flying_clusters import flying_case
from tests.reference.ruled_clusters import RULES, ruled_case


def main(arguments: list[str]) -> int:
    count, first = (int(arguments[0]) if arguments else 5_000), (int(arguments[1]) if len(arguments) > 1 else 0)
    started = time.monotonic()
    tried: collections.Counter[tuple[str, str]] = collections.Counter()
    wrong = []
    for seed in range(first, first + count):
        ruled, flying = ruled_case(seed), flying_case(seed)
        for case, rules in ((ruled, ruled.rules), (flying.case, [f"another {does}" for does in flying.what])):
            verdict, difference = verdicts_differ(case)
            tried.update((rule, verdict) for rule in rules)
            if difference:
                wrong.append(seed)
                print(f"{seed}: {difference} ({', '.join(rules)})", flush=True)
        if (seed - first + 1) % 500 == 0:
            print(f"… {seed - first + 1:,} of each played", flush=True)
    print(f"{'rule':34}{'cases':>8}{'complete':>10}{'stuck':>8}")
    for rule in [*RULES, *sorted({rule for rule, _ in tried} - set(RULES))]:
        complete, stuck = tried[rule, "complete"], tried[rule, "stuck"]
        print(f"{rule:34}{complete + stuck:8}{complete:10}{stuck:8}")
    took = time.monotonic() - started
    print(f"{2 * count - len(wrong):,} of {2 * count:,} clusters agree in the verdict, in {took:,.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
