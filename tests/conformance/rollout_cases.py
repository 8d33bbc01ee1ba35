"""Recorded rollouts (`rollouts/`) against the engine: the same objects, the same change, the same questions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.inventory.change import WorkloadChange, apply_change
from planner.kubernetes.records import Snapshot, Workload
from planner.rollout.answers import Reason
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.ties import sample
from planner.rollout.verdict import explain
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.sources import kubectl
from tests.conformance.comparison import Comparison, each_case

RUNS = 15  # placements tried where luck may matter; the commonest outcome is compared

# What kube-scheduler's words leave as reasons for the workload that waits.
_BY_MESSAGE: tuple[tuple[str, frozenset[Reason]], ...] = (
    ("Insufficient ", frozenset({Reason.HOLD_AND_WAIT, Reason.INSUFFICIENT_RESOURCE})),
    ("Too many pods", frozenset({Reason.HOLD_AND_WAIT, Reason.TOO_MANY_PODS})),
    ("topology spread", frozenset({Reason.TOPOLOGY_SPREAD})),
    ("affinity rules", frozenset({Reason.POD_AFFINITY})),
    ("free ports", frozenset({Reason.HOLD_AND_WAIT, Reason.HOST_PORT})),
    ("PersistentVolume", frozenset({Reason.VOLUME})),
    ("cannot allocate all claims", frozenset({Reason.HOLD_AND_WAIT, Reason.DEVICE})),
    ("node affinity/selector", frozenset({Reason.NO_MATCHING_NODE})),
    ("untolerated taint", frozenset({Reason.NO_MATCHING_NODE})),
    ("were unschedulable", frozenset({Reason.NO_MATCHING_NODE})),
)


def compare(folder: Path) -> Iterator[Comparison]:
    """Every field of every recorded rollout in `folder`."""
    return each_case(folder, _compare_named)


def _compare_named(name: str, case: dict[str, Any]) -> Iterator[Comparison]:
    for field, expected, got, agrees in _compare_case(case):
        yield Comparison(name, case.get("family", ""), field, expected, got, agrees, field == "verdict")


def revisions_of(case: Mapping[str, Any], snapshot: Snapshot) -> list[Revision]:
    """The recorded change, worked out by the product's own code; patches of one workload are applied in turn."""
    changes = case["change"] if isinstance(case["change"], list) else [case["change"]]
    found: dict[str, tuple[Workload, Workload, bool]] = {}
    for change in changes:
        key = f"{change['kind']}/{change['namespace']}/{change['name']}"
        before = snapshot.workload(key)
        assert before is not None, key
        current = found[key][1] if key in found else before
        asked = WorkloadChange(workload=key, patch=json.dumps(change["patch"]), new_revision=False)
        after, is_new, _ = apply_change(current, asked)
        found[key] = (before, after, is_new or (key in found and found[key][2]))
    return [Revision(before=b, after=a, has_new_template=n) for b, a, n in found.values()]


def play(case: Mapping[str, Any]) -> tuple[Run, list[Revision]]:
    """Headroom's answer to a recorded case."""
    snapshot = kubectl.read_items(case["cluster"]["items"])
    cluster = Cluster(snapshot)
    revisions = revisions_of(case, snapshot)
    selectors = case.get("never_ready") or []

    def never_ready(pod: LivePod) -> bool:
        return any(all(pod.shape.labels.get(k) == v for k, v in selector.items()) for selector in selectors)

    first = simulate(cluster, revisions, never_ready=never_ready)
    run, _ = sample(cluster, revisions, first, seed=0, runs=RUNS, never_ready=never_ready)
    return run, revisions


def _compare_case(case: Mapping[str, Any]) -> Iterator[tuple[str, object, object, bool]]:
    run, revisions = play(case)
    recorded = [case["outcome"]] + [{**case["outcome"], **also} for also in case.get("also") or []]

    def field(name: str, got: object, expected: list[Any]) -> tuple[str, object, object, bool]:
        return name, expected[0] if len(expected) == 1 else expected, got, got in expected

    yield field("verdict", "complete" if run.completed else "stuck", [r["verdict"] for r in recorded])
    yield field("ticks", run.ticks, [r["ticks"] for r in recorded])
    yield field("peak_held", _peak_held(run), [_without_zeros(r["peak_held"]) for r in recorded])
    for revision in revisions:
        key = revision.after.key
        moments = run.moments[key][1:]
        yield field("peak_pods", max(m.pods for m in moments), [r["workloads"][key]["peak_pods"] for r in recorded])
        yield field("min_ready", min(m.ready for m in moments), [r["workloads"][key]["min_ready"] for r in recorded])
        got = _without_zeros(run.status[key])
        yield field("final", got, [_final(r["final"][key], run.status[key]) for r in recorded])
        if not run.done[key]:
            reason = explain(run, revision).reason
            allowed = _reasons(recorded, revision)
            yield "reason", " or ".join(sorted(allowed)), reason.value, reason in allowed
    yield field("pending", len(run.waiting), [len(r["pending"]) for r in recorded])
    waiting = sorted((p.namespace, p.message or "") for p in run.waiting)
    yield field("messages", waiting, [_messages(r["pending"]) for r in recorded])


def _peak_held(run: Run) -> dict[str, int]:
    peak: dict[str, int] = {}
    for moment in next(iter(run.moments.values())):
        for name, amount in moment.held.items():
            peak[name] = max(peak.get(name, 0), amount)
    return _without_zeros(peak)


def _without_zeros(amounts: Mapping[str, float]) -> dict[str, int]:
    return {name: int(amount) for name, amount in sorted(amounts.items()) if amount}


def _final(recorded: Mapping[str, Any], ours: Mapping[str, int]) -> dict[str, int]:
    """The recorded status' numbers; ``collisionCount`` and the like are not a rollout's business."""
    return _without_zeros({k: v for k, v in recorded.items() if isinstance(v, int | float) and k in ours})


def _messages(pending: list[Any]) -> list[tuple[str, str]]:
    """(namespace, message) of recorded pods: objects in `outcome`, [owner kind, namespace, message] in `also`."""
    return sorted((p["namespace"], p["message"] or "") if isinstance(p, dict) else (p[1], p[2] or "") for p in pending)


def _reasons(recorded: list[dict[str, Any]], revision: Revision) -> set[Reason]:
    """The reasons a recorded outcome leaves open: what the pods that wait were told, else quota, else never Ready."""
    namespace, name = revision.after.namespace, revision.after.name
    allowed: set[Reason] = set()
    for outcome in recorded:
        told = [
            (p["message"] or "") if isinstance(p, dict) else (p[2] or "")
            for p in outcome["pending"]
            if not isinstance(p, dict) or (p["namespace"] == namespace and p["name"].startswith(f"{name}-"))
        ]
        for message in told:
            text = message.split("preemption:")[0]
            for words, reasons in _BY_MESSAGE:
                if words in text:
                    allowed |= reasons
        if not told:
            final = outcome["final"][revision.after.key]
            refused = any(
                c.get("type") == "ReplicaFailure" and c.get("status") == "True" for c in final.get("conditions") or ()
            )
            allowed.add(Reason.QUOTA if refused else Reason.NEVER_READY)
    return allowed
