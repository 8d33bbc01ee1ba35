"""Rollouts nobody recorded, played by the engine and by the reference (`tests.reference`)."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.rollout.run import Revision, Run, simulate
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from tests.conformance.rollout_cases import WHOLE_LISTS, revisions_of
from tests.reference.objects import Object, copied
from tests.reference.random_clusters import GPU, Case, random_case
from tests.reference.simulation import simulate as play_reference

case_of = lru_cache(maxsize=None)(random_case)
_COMPILED: list[tuple[Case, Cluster]] = []  # of the case that was asked for last


def cluster_of(case: Case) -> Cluster:
    """The compiled cluster of a case, made once for all its runs, one after another."""
    if not _COMPILED or _COMPILED[0][0] is not case:
        snapshot = build_snapshot([Part(items=copied(case.items), listed=LISTED)], source="random cluster")
        _COMPILED[:] = [(case, Cluster(snapshot))]
    return _COMPILED[0][1]


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


# A case has every object there is: a kind without any is an empty list, not an unread one.
LISTED = (*WHOLE_LISTS, "CSINode", "LimitRange", "Namespace", "PriorityClass", "ResourceQuota", "RuntimeClass")


def engine(
    case: Case,
    seed: int = 0,
    *,
    is_thorough: bool = False,
    backs_off: int = 0,
    tries_again: bool = False,
    may_count: bool = False,
) -> Played:
    cluster = cluster_of(case)
    revisions = revisions_of({"change": case.changes}, cluster.snapshot)

    def never_ready(pod: LivePod) -> bool:
        return any(all(pod.shape.labels.get(k) == v for k, v in s.items()) for s in case.never_ready)

    return Played(
        simulate(
            cluster,
            revisions,
            seed=seed,
            never_ready=never_ready,
            is_thorough=is_thorough,
            backs_off=backs_off,
            tries_again=tries_again,
            draws_order=seed > 0,
            draws_ends=seed > 0,
            may_count=may_count,
        ),
        revisions,
    )


def reference(case: Case, seed: int = 0, *, tries_again: bool = False) -> Outcome:
    outcome = play_reference(case.items, case.changes, case.never_ready, seed, tries_again=tries_again)
    keys = [f"{c['kind']}/{c['namespace']}/{c['name']}" for c in case.changes]
    return Outcome(
        verdict=outcome["verdict"],
        ticks=outcome["ticks"],
        peak_pods=tuple(outcome["workloads"][key]["peak_pods"] for key in keys),
        min_ready=tuple(outcome["workloads"][key]["min_ready"] for key in keys),
        pending=len(outcome["pending"]),
        messages=tuple(sorted((p["namespace"], p["message"] or "") for p in outcome["pending"])),
    )


MOST_SEEDS = 30  # seeds of the reference tried where its first answer differs: its ties fall one way or the other


def verdicts_differ(case: Case) -> tuple[str, str]:
    """The engine's verdict, and what the reference says instead in every placement tried ("" where they agree)."""
    ours, theirs = engine(case).outcome.verdict, reference(case).verdict
    if ours != theirs:
        placements = range(1, MOST_SEEDS)
        if not any(reference(case, seed).verdict == ours for seed in placements):
            if not any(engine(case, seed).outcome.verdict == theirs for seed in placements):
                return ours, f"the engine says {ours}, the reference {theirs}"
    return ours, ""


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


def crowded(case: Case, seed: int) -> Case:
    """The case with a dozen more pods that wait, alike by threes: of two sizes and priorities, some kept apart."""
    luck = random.Random(seed)
    more: list[Object] = []
    for index in range(12):
        kind = index // 3
        spec: Object = {
            "containers": [{"name": "main", "resources": {"requests": {GPU: str(1 + kind % 2), "cpu": "1"}}}],
            "priority": (0, 0, 1000, -5)[kind],
        }
        labels = {"app": f"crowd-{kind}"}
        if kind == 3:
            term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if luck.random() < 0.7:
            spec["tolerations"] = [{"operator": "Exists"}]
        refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/9 nodes."}
        more.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"crowd-{index}", "namespace": f"crowd-{index % 2}", "uid": f"crowd-{index}", "labels": labels,
                    "creationTimestamp": f"2026-01-01T00:00:{luck.randrange(60):02}Z",
                    "resourceVersion": str(index),
                },
                "spec": spec,
                "status": {"phase": "Pending", "conditions": [refused] if luck.random() < 0.8 else []},
            }
        )  # fmt: skip
    return Case([*case.items, *more], case.changes, case.never_ready)
