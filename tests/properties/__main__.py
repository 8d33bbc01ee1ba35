"""``python -m tests.properties [COUNT [FIRST]]``: random clusters, as many that rules beside the scheduler's core decide, in which
others are in flight, in which pods of every priority and autoscalers meet these, in which nodes don't answer, in which they put pods
out after a time, and in which pods share volumes, played by the engine and by the reference: how often each was tried, and every case
in which they say another verdict."""

from __future__ import annotations

import collections
import random
import sys
import time
from collections.abc import Iterator

from tests.properties import test_changes_on_top as on_top
from tests.properties import test_events_beside as events
from tests.properties.random_rollouts import verdicts_differ
from tests.reference.attaching_clusters import attaching_case
from tests.reference.flying_clusters import crowded_case, flying_case
from tests.reference.objects import Object, is_bound
from tests.reference.random_clusters import Case, random_case
from tests.reference.ruled_clusters import RULES, ruled_case
from tests.reference.silent_clusters import silent_case, tainted_case


def cases(seed: int) -> dict[str, tuple[Case, tuple[str, ...]]]:
    """What is played of a seed, with what it was made to try."""
    ruled, flying, crowded = ruled_case(seed), flying_case(seed), crowded_case(seed)
    return {
        "random": (random_case(seed), ()),
        "ruled": (ruled, ruled.rules),
        "flying": (flying.case, tuple(f"another {does}" for does in flying.what)),
        "crowded": (crowded.case, tuple(f"another {does}" for does in crowded.what)),
        "silent": (silent_case(seed), ()),
        "tainted": (tainted_case(seed), ()),
        "attaching": (attaching_case(seed), ()),
    }


def whoever_meets(case: Case) -> set[str]:
    """Who else is there: autoscalers, and pods that wait, by their priority."""
    met = {"an autoscaler" for item in case.items if item["kind"] == "HorizontalPodAutoscaler"}
    waiting = [item for item in case.items if item["kind"] == "Pod" and not is_bound(item)]
    return met | {f"waits at priority {priority(pod):,}" for pod in waiting}


def priority(pod: Object) -> int:
    return int(pod["spec"].get("priority", 0))


def with_events(case: Case, seed: int) -> Iterator[tuple[str, str, str]]:
    """The random cluster of a seed with an event, and with a second change of its workload, each at several times: what it is, the engine's
    verdict, and what the reference says instead."""
    happens, event = events.drawn(case, seed)
    for moment in events.moments(case, event):
        verdict = "complete" if moment.run.completed else "stuck"
        yield f"event {happens}", verdict, events.differs(case, event, moment)
    what, change = on_top.second_change(case, random.Random(f"second change {seed}"))
    for moment in on_top.moments(case, change):
        verdict = "complete" if moment.run.completed else "stuck"
        yield f"second change, {what}", verdict, on_top.differs(case, change, moment)


def main(arguments: list[str]) -> int:
    count, first = (int(arguments[0]) if arguments else 5_000), (int(arguments[1]) if len(arguments) > 1 else 0)
    started = time.monotonic()
    tried: collections.Counter[tuple[str, str]] = collections.Counter()
    wrong, played = [], 0
    for seed in range(first, first + count):
        every = cases(seed)
        for kind, (case, rules) in every.items():
            verdict, difference = verdicts_differ(case)
            tried.update((rule, verdict) for rule in {kind, *rules, *whoever_meets(case)})
            if difference:
                wrong.append(seed)
                print(f"{kind} {seed}: {difference} ({', '.join(rules)})", flush=True)
        for kind, verdict, difference in with_events(every["random"][0], seed):
            played += 1
            tried[kind, verdict] += 1
            if difference:
                wrong.append(seed)
                print(f"{kind} {seed}: {difference}", flush=True)
        if (seed - first + 1) % 500 == 0:
            print(f"… {seed - first + 1:,} of each played", flush=True)
    print(f"{'rule':34}{'cases':>8}{'complete':>10}{'stuck':>8}")
    for rule in [*RULES, *sorted({rule for rule, _ in tried} - set(RULES))]:
        complete, stuck = tried[rule, "complete"], tried[rule, "stuck"]
        print(f"{rule:34}{complete + stuck:8}{complete:10}{stuck:8}")
    took = time.monotonic() - started
    total = len(cases(first)) * count + played
    print(f"{total - len(wrong):,} of {total:,} clusters agree in the verdict, in {took:,.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
