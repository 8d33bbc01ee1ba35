"""Recorded rollouts (`rollouts/`) against the engine: the same objects, the same change, the same questions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from planner.capacity.timed_cluster_events import LaterEvents, timeline
from planner.capacity.what_if_syntax import Later, parse_change
from planner.inventory.change import WorkloadChange, apply_change
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot, Workload
from planner.rollout import run as run_module
from planner.rollout.answers import Reason, Ties
from planner.rollout.prepared_change import Prepared, pod_times_of
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.stuck_diagnosis import explain
from planner.rollout.tie_break_sensitivity import sample
from planner.rollout.volume_attachments import Attachments
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.scripted_event import Happening
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
_STOPS = "stops-answering:"
# A claim that isn't there, or that a quota refused; or not kube-scheduler's pod.
_NEVER_TRIED = {Reason.MISSING_OBJECT, Reason.QUOTA, Reason.OTHER_SCHEDULER}


def compare(folder: Path, *, may_be_first: Callable[[str], bool] = lambda _: False) -> Iterator[Comparison]:
    """Every field of every recorded rollout in `folder`. Of a case that `may_be_first` takes, the first placement is enough where it agrees in
    every field: the others are two thirds of the time."""
    return each_case(folder, lambda name, case: _compare_named(name, case, 1 if may_be_first(name) else RUNS))


def _compare_named(name: str, case: dict[str, Any], runs: int) -> Iterator[Comparison]:
    found = list(_compare_case(case, runs))
    if runs < RUNS and not all(agrees for *_, agrees in found):
        found = list(_compare_case(case, RUNS))
    for field, expected, got, agrees in found:
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


def play(case: Mapping[str, Any], after: str = "", runs: int = RUNS) -> tuple[Run, list[Revision]]:
    """Headroom's answer to a recorded case; with `after`, once what that cure did has been done at rest (`outcome.after`)."""
    run, revisions, _ = _play(case, after, runs)
    return run, revisions


def _play(case: Mapping[str, Any], after: str, runs: int) -> tuple[Run, list[Revision], Ties]:
    snapshot = build_snapshot([Part(items=case["cluster"]["items"], listed=WHOLE_LISTS)], source="recording")
    cluster, revisions = Cluster(snapshot), revisions_of(case, snapshot)
    came = {
        event["then"] for event in case["outcome"].get("events") or []
    }  # the recorder waits for none at rest once all is done
    events = [*(event for event in case.get("events") or [] if event["then"] in came), *_cure(case, after)]
    played = revisions
    if events:
        cluster, played = _with_events(snapshot, revisions, events)
    selectors = case.get("never_ready") or []

    def never_ready(pod: LivePod) -> bool:
        return any(all(pod.shape.labels.get(k) == v for k, v in selector.items()) for selector in selectors)

    with recorders_patience(), recorders_clock(), recorders_kubelet("waiting" in case["outcome"]):
        first = simulate(cluster, played, never_ready=never_ready)
        run, ties = sample(cluster, played, first, seed=0, runs=runs, never_ready=never_ready, draws_ends=False)
    return run, revisions, ties


def _with_events(
    snapshot: Snapshot, revisions: Sequence[Revision], events: Sequence[Mapping[str, Any]]
) -> tuple[Cluster, list[Revision]]:
    """The cluster and the changes with what happens beside them, as `--then` has it worked out; the time of an event is its tick
    (`recorders_clock`)."""
    times = tuple(pod_times_of(Cluster(snapshot), revision) for revision in revisions)
    prepared = Prepared(snapshot=snapshot, revisions=tuple(revisions), pod_times=times, findings=())
    later = tuple(
        Later(
            after_seconds=WHEN_AT_REST if event["tick"] == "rest" else float(event["tick"]),
            change=parse_change(event["then"]),
        )
        for event in events
    )
    manifests = tuple(json.dumps(event["file"]) for event in events if event.get("file"))
    found = timeline(prepared, LaterEvents(later=later, manifests=manifests))
    return found.cluster, list(found.prepared.revisions)


def _cure(case: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The events of a cure that the recorder tried at rest."""
    if not name:
        return []
    nodes = [item for item in case["cluster"]["items"] if item["kind"] == "Node"]
    silent = [node["metadata"]["name"] for node in nodes if _is_silent(node)]
    silent += [
        event["then"].partition(":")[2] for event in case.get("events") or [] if event["then"].startswith(_STOPS)
    ]
    wanted = {
        "comes back": [f"answers:{node}" for node in silent],
        "out-of-service taint": [f"taint:{node}=node.kubernetes.io/out-of-service:NoExecute" for node in silent],
        "pod force-deleted": [f"force-delete:{ns}/{pod}" for ns, pod, _ in case["outcome"]["terminating"]],
    }
    return [{"tick": "rest", "then": then} for then in wanted[name]]


def _is_silent(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "Unknown" for one in conditions)


@contextmanager
def recorders_patience() -> Iterator[None]:
    """The recorder says "stuck" once nobody has done anything for 5.4 s. A ReplicaSet whose pods a quota refused tries again after up to
    1,000 s, and in life somebody waits for it (README, "What a recording can't hold")."""
    with patch.object(run_module, "PATIENCE_MS", RECORDERS_PATIENCE_MS):
        yield


@contextmanager
def recorders_kubelet(attaches: bool) -> Iterator[None]:
    """In recordings before `rollouts5` nothing was attached: the recorder made every pod Ready that had its node. In life some of those
    wait for their volume (README, "What a recording can't hold")."""
    with nullcontext() if attaches else patch.object(Attachments, "begin", lambda _, __: False):
        yield


@contextmanager
def recorders_clock() -> Iterator[None]:
    """The recorder's events come after so many ticks, or at rest without one more: no time passes until then."""

    def comes(run: Run, *, is_at_rest: bool) -> Revision | Happening | None:
        is_due = run.later and (is_at_rest or run.later[0].after_seconds <= run.simulation.clock.tick)
        return run.later.pop(0) if is_due else None

    def passes(_run: Run, _event: Revision | Happening) -> None:
        return None

    with patch.object(Run, "_due", comes), patch.object(Run, "_wait_for", passes):
        yield


def _compare_case(case: Mapping[str, Any], runs: int) -> Iterator[tuple[str, object, object, bool]]:
    run, revisions, ties = _play(case, "", runs)
    recorded = [case["outcome"]] + [{**case["outcome"], **also} for also in case.get("also") or []]

    def field(name: str, got: object, expected: list[Any]) -> tuple[str, object, object, bool]:
        return name, expected[0] if len(expected) == 1 else expected, got, got in expected

    keys = [revision.after.key for revision in revisions]
    every = list(run.done)  # those that events change, too
    yield field("verdict", _verdict(run, every), [r["verdict"] for r in recorded])
    yield field("ticks", run.ticks, [ticks for r in recorded for ticks in _ends(r)])
    yield field("peak_held", _peak_held(run), [_without_zeros(r["peak_held"]) for r in recorded])
    for revision in revisions:
        key = revision.after.key
        worst, is_bound = ties.extremes[key], bool(case.get("events")) and not ties.proven
        peaks, lows = ([r["workloads"][key][name] for r in recorded] for name in ("peak_pods", "min_ready"))
        most, lowest = run.most_pods(key), run.lowest_ready(key)
        if is_bound:  # where events meet a draw they are told of all placements tried: no fewer Ready, no more pods
            most = min(max(peaks), worst.peak_pods)
            lowest = max(min(lows), worst.lowest_ready)
        yield field("peak_pods", most, peaks)
        yield field("min_ready", lowest, lows)
        got = _without_zeros(run.status[key])
        yield field("final", got, [_final(r["final"][key], run.status[key]) for r in recorded])
        if not run.done[key]:
            reason = explain(run, run.changed[key]).reason
            allowed = _reasons(recorded, run.changed[key])
            yield "reason", " or ".join(sorted(allowed)), reason.value, reason in allowed
    yield field("pending", len(run.waiting), [len(r["pending"]) for r in recorded])
    waiting = sorted((p.namespace, p.message or "") for p in run.waiting)
    yield field("messages", waiting, [_messages(r["pending"]) for r in recorded])
    if "waiting" in case["outcome"]:  # for a volume, though bound
        yield field("waiting", len(run.simulation.attachments.waiting), [len(r["waiting"]) for r in recorded])
        yield from _multi_attach(run, recorded, case["cluster"]["items"])
    for cure in case["outcome"].get("after") or []:
        cured, _ = play(case, cure["name"], runs)
        yield f"after: {cure['name']}", cure["verdict"], _verdict(cured, keys), _verdict(cured, keys) == cure["verdict"]


def _verdict(run: Run, keys: Sequence[str]) -> str:
    return "complete" if all(run.done[key] for key in keys) else "stuck"


_VOLUME = re.compile(r'volume "([^"]+)"')


def _multi_attach(
    run: Run, recorded: list[Mapping[str, Any]], objects: list[Mapping[str, Any]]
) -> Iterator[tuple[str, object, object, bool]]:
    """The claims of which the attach-detach controller said that another node has their volumes. It says so too in the moment in
    which it takes one off: so where nobody waits in the end, that it isn't said is no disagreement."""
    claims = {o["metadata"]["name"]: o["spec"]["claimRef"]["name"] for o in objects if o["kind"] == "PersistentVolume"}
    got = sorted({key[1] for key, _ in run.simulation.attachments.refused})
    alike = [outcome for outcome in recorded if outcome["verdict"] == _verdict(run, list(run.done))]
    names = [_VOLUME.findall(text) for outcome in alike for _, text in outcome["multi_attach"]]
    expected = sorted({claims[name] for found in names for name in found if name in claims})
    is_same = got == expected or len(got) == len(
        names
    )  # of a claim that is bound meanwhile the volume's name isn't known
    yield "multi_attach", expected, got, is_same or (set(got) <= set(expected) and not any(o["waiting"] for o in alike))


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
    if any(
        namespace == after.namespace and name.startswith(f"{after.name}-")
        for namespace, name, _ in outcome.get("waiting") or ()
    ):
        return {Reason.VOLUME_ATTACHED}
    if told:
        texts = [message.split("preemption:")[0] for message in told]
        found = {reason for text in texts for words, reasons in _BY_MESSAGE if words in text for reason in reasons}
        return found | (_NEVER_TRIED if "" in told else set())
    final = outcome["final"][after.key]
    failed = [c for c in final.get("conditions") or () if _says_refused(c)]
    if failed:
        return {Reason.QUOTA if " quota: " in c.get("message", "") else Reason.ADMISSION for c in failed}
    if outcome.get("terminating"):  # on a node that doesn't answer
        return {Reason.SILENT_NODE}
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
