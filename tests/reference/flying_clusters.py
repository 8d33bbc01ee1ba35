"""Clusters in which others are midway, for properties: ``flying_case(seed)`` gives what ``simulate`` takes.

A case grows as a random one does; then templates of others change, or they are scaled, or pods of theirs are deleted; some
ticks pass; and the change that is asked about comes. In ``crowded_case(seed)`` pods of every priority wait, too, and autoscalers
hold replicas between bounds: of the changed, and of others, some of which were just scaled beyond them.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.reference.objects import Object, copied, key, labels
from tests.reference.random_clusters import (
    Case,
    Restless,
    autoscaler,
    autoscalers,
    change,
    draft,
    dump_midway,
    grow,
    some_are_patient,
    waiters,
    workload,
)
from tests.reference.simulation import Simulation

MOST_TICKS = 4
OTHERS = ("first", "second")


class Flying(NamedTuple):
    case: Case
    what: tuple[str, ...]  # was done to others


def crowded_case(seed: int) -> Flying:
    """A cluster with others in flight, pods that wait, and autoscalers; the same for the same seed."""
    return flying_case(seed, random.Random(f"crowded {seed}"))


def flying_case(seed: int, crowd: random.Random | None = None) -> Flying:
    """A small cluster with others in flight and a rollout to play on it; the same for the same seed."""
    rng = random.Random(f"flying {seed}")
    ground, items, workloads, changes, neighbours, never_ready = draft(rng)
    names = OTHERS[: rng.choice((1, 1, 2))]
    others = [workload(rng, name, ground) for name in names]
    items += others
    taken = {key(item) for item in workloads}
    assert not taken & {key(item) for item in others}
    scalers = list[Object]()
    neighbours = neighbours[: rng.choice((0, 0, 1, len(neighbours)))]
    if crowd:
        neighbours += waiters(crowd, ground)
        some_are_patient(crowd, [*workloads, *others])
        scalers = [autoscaler(crowd, one) for one in others if one["spec"].get("replicas") and crowd.random() < 0.4]
        scalers += autoscalers(crowd, workloads, changes)
    try:
        grown = grow(items, neighbours, seed)
    except Restless:
        return flying_case(seed + 1_000_000, crowd)
    simulation = Simulation([*grown, *scalers], [], seed)
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
    if crowd:
        what += ["is out of bounds" for one in scalers if leaves_bounds(crowd, simulation, one)]
    return Flying(Case(dump_midway(simulation), copied(changes), [*never_ready, *broken]), tuple(what))


def leaves_bounds(rng: random.Random, simulation: Simulation, scaler: Object) -> bool:
    """Whether somebody has just scaled the autoscaler's own workload beyond what it allows: controllers have seen it, and the
    autoscaler, which looks every 15 s, hasn't."""
    target = scaler["spec"]["scaleTargetRef"]
    if target["name"] not in OTHERS or rng.random() > 0.4:
        return False
    named = {"kind": target["kind"], "namespace": scaler["metadata"]["namespace"], "name": target["name"]}
    beyond = [scaler["spec"]["maxReplicas"] + 2, *([1] if scaler["spec"]["minReplicas"] > 1 else [])]
    simulation.apply([{**named, "patch": {"spec": {"replicas": rng.choice(beyond)}}}])
    while simulation.round():
        pass
    return True
