"""Recorded rollouts of other projects' kinds (`kinds/`) against the engine: the same objects, the same change, the same questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.ground.records import replace
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.tie_break_sensitivity import sample
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from tests.conformance.comparison import Comparison, each_case
from tests.conformance.rollout_cases import (
    RUNS,
    WHOLE_LISTS,
    _ends,
    _messages,
    _peak_held,
    _without_zeros,
    revisions_of,
)

# A kind nobody has is an empty list: every recording has every object there was.
_LISTS = (
    *WHOLE_LISTS,
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "ControllerRevision",
    "Service",
    "ResourceQuota",
)
_NUMBERS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")


def compare(folder: Path) -> Iterator[Comparison]:
    """Every field of every recording in the folders of `folder`, one a project."""
    for project in sorted(path for path in folder.iterdir() if path.is_dir()):
        yield from each_case(project, _compare_named)


def _compare_named(name: str, case: dict[str, Any]) -> Iterator[Comparison]:
    family = f"{case['change']['kind']}: {case.get('family', '')}"
    for field, expected, got, agrees in _compare_case(case):
        yield Comparison(name, family, field, expected, got, agrees, field == "verdict")


def play(case: Mapping[str, Any]) -> tuple[Run, list[Revision]]:
    """Headroom's answer to a recorded case. Where nobody promoted it in the recording, nobody does here."""
    snapshot = build_snapshot([Part(items=case["cluster"]["items"], listed=_LISTS)], source="recording")
    cluster = Cluster(snapshot)
    is_promoted = case["outcome"]["verdict"] != "paused"
    revisions = [replace(one, is_promoted=is_promoted) for one in revisions_of(case, snapshot)]
    selectors = case.get("never_ready") or []

    def never_ready(pod: LivePod) -> bool:
        return any(all(pod.shape.labels.get(k) == v for k, v in selector.items()) for selector in selectors)

    first = simulate(cluster, revisions, never_ready=never_ready)
    run, _ = sample(cluster, revisions, first, seed=0, runs=RUNS, never_ready=never_ready)
    return run, revisions


def _compare_case(case: Mapping[str, Any]) -> Iterator[tuple[str, object, object, bool]]:
    run, revisions = play(case)
    recorded = case["outcome"]

    def field(name: str, got: object, *expected: object) -> tuple[str, object, object, bool]:
        return name, expected[0] if len(expected) == 1 else list(expected), got, got in expected

    key = revisions[0].after.key
    verdict = "complete" if run.completed else "paused" if run.waits_for.get(key) else "stuck"
    yield field("verdict", verdict, recorded["verdict"])
    yield field("ticks", run.ticks, *_ends(recorded))
    yield field("peak_held", _peak_held(run), _without_zeros(recorded["peak_held"]))
    told, moments = recorded["workloads"][key], run.moments[key][1:]
    yield field("peak_pods", max(m.pods for m in moments), told["peak_pods"])
    yield field("min_ready", min(m.ready for m in moments), told["min_ready"])
    got = {name: run.status[key].get(name, 0) for name in _NUMBERS if name in recorded["final"]}
    yield field("final", _without_zeros(got), _without_zeros({name: recorded["final"][name] for name in got}))
    if "promotions" in recorded:
        yield field("promotions", run.promotions.get(key, 0), recorded["promotions"])
    yield field("pending", len(run.waiting), len(recorded["pending"]))
    waiting = sorted((p.namespace, p.message or "") for p in run.waiting)
    yield field("messages", waiting, _messages(recorded["pending"]))
