"""Rollouts nobody recorded, played by the engine and by the reference (`tests.reference`)."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from planner.rollout.run import Revision, Run, simulate
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.sources import kubectl
from tests.conformance.rollout_cases import revisions_of
from tests.reference.objects import Object
from tests.reference.random_clusters import Case, random_case
from tests.reference.simulation import simulate as play_reference

case_of = lru_cache(maxsize=None)(random_case)


class Outcome(NamedTuple):
    """What both oracles say; per changed workload where there may be several."""

    verdict: str
    ticks: int
    peak_pods: tuple[int, ...]
    min_ready: tuple[int, ...]
    pending: int
    messages: tuple[tuple[str, str], ...]


class Played(NamedTuple):
    run: Run
    revisions: Sequence[Revision]

    @property
    def outcome(self) -> Outcome:
        moments = [self.run.moments[r.after.key][1:] for r in self.revisions]
        return Outcome(
            verdict="complete" if self.run.completed else "stuck",
            ticks=self.run.ticks,
            peak_pods=tuple(max(m.pods for m in seen) for seen in moments),
            min_ready=tuple(min(m.ready for m in seen) for seen in moments),
            pending=len(self.run.waiting),
            messages=tuple(sorted((p.namespace, p.message or "") for p in self.run.waiting)),
        )


def engine(case: Case, seed: int = 0) -> Played:
    snapshot = kubectl.read_items(copy.deepcopy(case.items))
    revisions = revisions_of({"change": case.changes}, snapshot)

    def never_ready(pod: LivePod) -> bool:
        return any(all(pod.shape.labels.get(k) == v for k, v in s.items()) for s in case.never_ready)

    return Played(simulate(Cluster(snapshot), revisions, seed=seed, never_ready=never_ready), revisions)


def reference(case: Case, seed: int = 0) -> Outcome:
    outcome = play_reference(copy.deepcopy(case.items), case.changes, case.never_ready, seed)
    keys = [f"{c['kind']}/{c['namespace']}/{c['name']}" for c in case.changes]
    return Outcome(
        verdict=outcome["verdict"],
        ticks=outcome["ticks"],
        peak_pods=tuple(outcome["workloads"][key]["peak_pods"] for key in keys),
        min_ready=tuple(outcome["workloads"][key]["min_ready"] for key in keys),
        pending=len(outcome["pending"]),
        messages=tuple(sorted((p["namespace"], p["message"] or "") for p in outcome["pending"])),
    )


def renamed(case: Case) -> Case:
    """The same case with other names for nodes (in another order) and workloads."""
    text = json.dumps([case.items, case.changes, case.never_ready])
    text = re.sub(r"\b(gpu|cpu)-(\d)\b", lambda m: f"{'z' if m[1] == 'cpu' else 'a'}node-{9 - int(m[2])}", text)
    text = re.sub(r"\bworker\b", "zeta", text)
    text = re.sub(r"\bserver\b", "alpha", text)
    return Case(*json.loads(text))


def with_empty_node(case: Case, template: Object) -> Case:
    """The case with one more node, like `template` but for its name, and nothing on it."""
    node = copy.deepcopy(template)
    name = f"{node['metadata']['name']}-more"
    node["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    node["metadata"]["labels"] = {**node["metadata"]["labels"], "kubernetes.io/hostname": name}
    return Case([*case.items, node], case.changes, case.never_ready)
