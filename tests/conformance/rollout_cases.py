"""Recorded rollouts (`rollouts/`) against the engine: the same objects, the same change, the same questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from planner.inventory.change import WorkloadChange, apply_change
from planner.inventory.parse import Part, build_snapshot
from planner.kubernetes.records import Snapshot, Workload
from planner.rollout import run as run_module
from planner.rollout.answers import Reason
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.ties import sample
from planner.rollout.verdict import explain
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from tests.conformance.comparison import Comparison, each_case

RECORDERS_PATIENCE_MS = 5_400.0
RUNS = 15  # placements tried where ties may matter; the commonest outcome is compared

# A recording has every object there was: a kind without any is an empty list, not an unread one.
WHOLE_LISTS = (
    "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSIDriver", "CSIStorageCapacity",
    "DeviceClass", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate",
)  # fmt: skip

# What kube-scheduler's words leave as reasons for the workload that waits.
_BY_MESSAGE: tuple[tuple[str, frozenset[Reason]], ...] = (
    ("Insufficient ", frozenset({Reason.HOLD_AND_WAIT, Reason.INSUFFICIENT_RESOURCE})),
    ("Too many pods", frozenset({Reason.HOLD_AND_WAIT, Reason.TOO_MANY_PODS})),
    ("topology spread", frozenset({Reason.TOPOLOGY_SPREAD})),
    ("affinity rules", frozenset({Reason.POD_AFFINITY})),
    ("free ports", frozenset({Reason.HOLD_AND_WAIT, Reason.HOST_PORT})),
    ("PersistentVolume", frozenset({Reason.VOLUME})),
    ("persistentvolumeclaim", frozenset({Reason.VOLUME})),
    ("persistent volumes to bind", frozenset({Reason.VOLUME})),
    ("enough free storage", frozenset({Reason.VOLUME})),
    ("exceed max volume count", frozenset({Reason.VOLUME})),
    ("cannot allocate all claims", frozenset({Reason.HOLD_AND_WAIT, Reason.DEVICE})),
    ("resourceclaim not available on the node", frozenset({Reason.HOLD_AND_WAIT, Reason.DEVICE})),
    ('"DynamicResources" filter plugin', frozenset({Reason.DEVICE})),
    ("non-empty scheduling gates", frozenset({Reason.SCHEDULING_GATE})),
    ("node affinity/selector", frozenset({Reason.NO_MATCHING_NODE})),
    ("untolerated taint", frozenset({Reason.NO_MATCHING_NODE})),
    ("were unschedulable", frozenset({Reason.NO_MATCHING_NODE})),
)
# A claim that isn't there, or that a quota refused; or not kube-scheduler's pod.
_NEVER_TRIED = {Reason.MISSING_OBJECT, Reason.QUOTA, Reason.OTHER_SCHEDULER}


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
    snapshot = build_snapshot([Part(items=case["cluster"]["items"], listed=WHOLE_LISTS)], source="recording")
    cluster = Cluster(snapshot)
    revisions = revisions_of(case, snapshot)
    selectors = case.get("never_ready") or []

    def never_ready(pod: LivePod) -> bool:
        return any(all(pod.shape.labels.get(k) == v for k, v in selector.items()) for selector in selectors)

    with recorders_patience():
        first = simulate(cluster, revisions, never_ready=never_ready)
        run, _ = sample(cluster, revisions, first, seed=0, runs=RUNS, never_ready=never_ready, draws_ends=False)
    return run, revisions


@contextmanager
def recorders_patience() -> Iterator[None]:
    """The recorder says "stuck" once nobody has done anything for 5.4 s. A ReplicaSet whose pods a quota refused tries again after up to
    1,000 s, and in life somebody waits for it (README, "What a recording can't hold")."""
    with patch.object(run_module, "PATIENCE_MS", RECORDERS_PATIENCE_MS):
        yield


def _compare_case(case: Mapping[str, Any]) -> Iterator[tuple[str, object, object, bool]]:
    run, revisions = play(case)
    recorded = [case["outcome"]] + [{**case["outcome"], **also} for also in case.get("also") or []]

    def field(name: str, got: object, expected: list[Any]) -> tuple[str, object, object, bool]:
        return name, expected[0] if len(expected) == 1 else expected, got, got in expected

    yield field("verdict", "complete" if run.completed else "stuck", [r["verdict"] for r in recorded])
    yield field("ticks", run.ticks, [ticks for r in recorded for ticks in _ends(r)])
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


def _ends(recorded: Mapping[str, Any]) -> list[int]:
    """The tick at which the recorder stopped; before it the one from which on nothing happened to the changed workloads:
    where others were in flight, the recorder at times watched them to their end."""
    rows = recorded["timeline"]
    last = rows[-1]["workloads"]
    since = next(row["tick"] for i, row in enumerate(rows) if all(r["workloads"] == last for r in rows[i:]))
    return (
        list(dict.fromkeys((recorded["ticks"], max(0, since))))
        if recorded["verdict"] == "complete"
        else [recorded["ticks"]]
    )


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


# A claim made from a template: <pod>-<name in the pod>-<five random characters>.
_MADE_CLAIM = re.compile(r"claim (\S+)/\S+-([a-z0-9]+)-[a-z0-9]{5}:")


def _messages(pending: list[Any]) -> list[tuple[str, str]]:
    """(namespace, message) of recorded pods: objects in `outcome`, [owner kind, namespace, message] in `also`."""
    told = ((p["namespace"], p["message"] or "") if isinstance(p, dict) else (p[1], p[2] or "") for p in pending)
    return sorted((namespace, _MADE_CLAIM.sub(r"claim \1/\2:", message)) for namespace, message in told)


def _reasons(recorded: list[dict[str, Any]], revision: Revision) -> set[Reason]:
    """The reasons a recorded outcome leaves open.

    What the change itself says comes first (paused, OnDelete), then what the pods that wait were told, then what the API
    server refused, then pods that never got Ready.
    """
    after = revision.after
    if after.is_paused:
        return {Reason.PAUSED}
    if after.strategy.kind == "OnDelete" and revision.has_new_template:
        return {Reason.ON_DELETE}
    return {reason for outcome in recorded for reason in reasons_of(outcome, after)}


def reasons_of(outcome: Mapping[str, Any], after: Workload) -> set[Reason]:
    """Those that one outcome of a rollout that is stuck leaves open."""
    told = [
        (p["message"] or "") if isinstance(p, dict) else (p[2] or "")
        for p in outcome["pending"]
        if not isinstance(p, dict) or (p["namespace"] == after.namespace and p["name"].startswith(f"{after.name}-"))
    ]
    if told:
        texts = [message.split("preemption:")[0] for message in told]
        found = {reason for text in texts for words, reasons in _BY_MESSAGE if words in text for reason in reasons}
        return found | (_NEVER_TRIED if "" in told else set())
    final = outcome["final"][after.key]
    failed = [c for c in final.get("conditions") or () if _says_refused(c)]
    if failed:
        return {Reason.QUOTA if " quota: " in c.get("message", "") else Reason.ADMISSION for c in failed}
    if after.kind == "Deployment":
        return {Reason.NEVER_READY}
    present, wanted = (
        (final.get("replicas", 0), after.replicas)
        if after.kind == "StatefulSet"
        else (final.get("currentNumberScheduled", 0), final.get("desiredNumberScheduled", 0))
    )
    if present < wanted:
        refused = {Reason.QUOTA, Reason.ADMISSION}  # these kinds have no condition for it
        waits = after.kind == "StatefulSet" and final.get("readyReplicas", 0) < present  # for one that isn't Ready
        return refused | ({Reason.NEVER_READY, Reason.POD_MANAGEMENT} if waits else set())
    return {Reason.NEVER_READY, Reason.POD_MANAGEMENT} if after.kind == "StatefulSet" else {Reason.NEVER_READY}


def _says_refused(condition: Mapping[str, Any]) -> bool:
    """A ReplicaSet that was refused a pod, or a Deployment that was refused its ReplicaSet."""
    kind, status, reason = condition.get("type"), condition.get("status"), condition.get("reason")
    return (kind == "ReplicaFailure" and status == "True") or reason == "ReplicaSetCreateError"
