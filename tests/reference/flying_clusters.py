"""Clusters in which others are midway, for properties: ``flying_case(seed)`` gives what ``simulate`` takes.

A case grows as a random one does; then templates of others change, or they are scaled, or pods of theirs are deleted; some
ticks pass; and the change that is asked about comes.
"""

from __future__ import annotations

import copy
import random
from typing import NamedTuple

from tests.reference.objects import key, labels
from tests.reference.random_clusters import Case, Restless, change, draft, dump_midway, grow, workload
from tests.reference.simulation import Simulation

MOST_TICKS = 4


class Flying(NamedTuple):
    case: Case
    what: tuple[str, ...]  # was done to others


def flying_case(seed: int) -> Flying:
    """A small cluster with others in flight and a rollout to play on it; the same for the same seed."""
    rng = random.Random(f"flying {seed}")
    ground, items, workloads, changes, neighbours, never_ready = draft(rng)
    names = ["first", "second"][: rng.choice((1, 1, 2))]
    others = [workload(rng, name, ground) for name in names]
    items += others
    taken = {key(item) for item in workloads}
    assert not taken & {key(item) for item in others}
    try:
        grown = grow(items, neighbours[: rng.choice((0, 0, 1, len(neighbours)))], seed)
    except Restless:
        return flying_case(seed + 1_000_000)
    simulation = Simulation(grown, [], seed)
    what, broken = [], list[dict[str, str]]()
    for other in others:
        does = rng.choice(("rolls", "rolls", "rolls", "breaks", "scales", "loses pods"))
        what.append(does)
        if does in ("rolls", "breaks"):
            made = change(rng, other, ground)
            made["patch"]["spec"]["template"].setdefault("metadata", {})["labels"] = {"rev": "two"}
            if does == "breaks":
                broken.append({"app": other["metadata"]["name"], "rev": "two"})
            simulation.never_ready = broken
            simulation.apply([made])
        elif does == "scales" and other["kind"] != "DaemonSet":
            named = {
                "kind": other["kind"],
                "namespace": other["metadata"]["namespace"],
                "name": other["metadata"]["name"],
            }
            simulation.apply([{**named, "patch": {"spec": {"replicas": rng.randint(0, 8)}}}])
        else:
            owned = [pod for pod in simulation.cluster.of("Pod") if labels(pod).get("app") == other["metadata"]["name"]]
            for pod in rng.sample(owned, min(len(owned), rng.choice((1, 2)))):
                simulation.cluster.delete_pod(pod)
        simulation.settle()
        for _ in range(rng.randrange(MOST_TICKS)):
            if not simulation.advance():
                break
            simulation.settle()
    return Flying(Case(dump_midway(simulation), copy.deepcopy(changes), [*never_ready, *broken]), tuple(what))
