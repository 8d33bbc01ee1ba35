"""Where somebody of the input may act by himself and may decide, nothing is proven: small clusters by hand, one for each who may."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if_syntax import parse_later
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.inventory.spot_node_lifetimes import GOING_TAINTS, TAKEN_DOWN, is_going, may_go
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, overview
from planner.questions.gate import GateSettings
from planner.questions.overview import OverviewSettings
from planner.questions.question import Inputs
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import Reason, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.serve.admission_review import Silence, WebhookReview, read_request, review
from tests.builders.objects import Item, deployment, node, owner, pod, pod_spec
from tests.conformance.rollout_cases import WHOLE_LISTS
from tests.rollout.rollouts import WORKER, rolling

GPU = "nvidia.com/gpu"
AT, NOW = "2026-11-25T12:00:00Z", 1_790_000_000.0
GPU_SPEC = pod_spec(gpus=1)
NEVER = pod_spec(gpus=1, restartPolicy="Never")
LISTED = (
    *WHOLE_LISTS,
    "CSINode",
    "LimitRange",
    "Namespace",
    "PriorityClass",
    "ResourceQuota",
    "RuntimeClass",
    "CronJob",
    "HorizontalPodAutoscaler",
)


build_snapshot_of = build_snapshot  # the doors' test looks at what it is given


def read(*items: Item | list[Item], without: tuple[str, ...] = ()) -> Snapshot:
    """Every list was given, but those `without`."""
    flat = [one for some in items for one in (some if isinstance(some, list) else [some])]
    kinds = tuple(kind for kind in LISTED if kind not in without)
    return build_snapshot_of(
        [Part(items=[i for i in flat if i["kind"] not in without], listed=kinds)], source="by hand"
    )


def asked(snapshot: Snapshot, runs: int = 10) -> RolloutResult:
    change = WorkloadChange(workload=WORKER)
    return rollout_with_remedies.rollout(snapshot, Scenario(changes=(change,), runs=runs, with_remedies=False))


def worker(*nodes: str, **spec: Any) -> list[Item]:
    """Its surge pod needs one GPU more."""
    return deployment("worker", list(nodes), pod_spec(gpus=1, **spec), strategy=rolling(1, 0))


def two_gpus(**more: Any) -> Item:
    return node("g0", gpus=2, **more)


def job(name: str, nodes: list[str], **spec: Any) -> list[Item]:
    labels, by = {"job-name": name}, {**owner("Job", name, f"j-{name}"), "apiVersion": "batch/v1"}
    body = {"parallelism": 1, "completions": 1, "template": {"metadata": {"labels": labels}, "spec": NEVER}, **spec}
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "ml", "uid": f"j-{name}"},
            "spec": body, "status": {"active": len(nodes)}}  # fmt: skip
    return [made, *(pod(f"{name}-{i}", NEVER, on=on, labels=labels, owner=by) for i, on in enumerate(nodes))]


def cron_job(spec: Item = NEVER, **more: Any) -> Item:
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "namespace": "ml", "uid": "c"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": spec}}}, **more}}  # fmt: skip


def quota(amount: str) -> Item:
    hard = {f"requests.{GPU}": amount}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ml"}, "spec": {"hard": hard},
            "status": {"hard": hard, "used": hard}}  # fmt: skip


def deleting(kind: str, items: list[Item]) -> list[Item]:
    return [
        {**one, "metadata": {**one["metadata"], "deletionTimestamp": AT}} if one["kind"] == kind else one
        for one in items
    ]


def namespace(name: str, **meta: Any) -> Item:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **meta}}


def expelling(**more: Any) -> Item:
    return node("g1", gpus=1, taints=(("maintenance", "NoExecute"),), **more)


def tolerant(seconds: int | None) -> dict[str, Any]:
    one = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}
    return {"tolerations": [one if seconds is None else {**one, "tolerationSeconds": seconds}]}


def other(on: str, **spec: Any) -> list[Item]:
    return deployment("other", [on], pod_spec(gpus=1, **spec))


RESIZER: Item = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "v", "namespace": "ml"},
           "spec": {"targetRef": {"kind": "Deployment", "name": "worker"}}}  # fmt: skip


def resizer(mode: str) -> Item:
    return {**RESIZER, "spec": {**RESIZER["spec"], "updatePolicy": {"updateMode": mode}}}


def replicated(kind: str, replicas: int, *nodes: str) -> list[Item]:
    """One without a Deployment, that shall have so many pods and has one on each of the nodes."""
    labels, version = {"app": "x"}, "v1" if kind == "ReplicationController" else "apps/v1"
    spec = {"replicas": replicas, "selector": labels if version == "v1" else {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": GPU_SPEC}}  # fmt: skip
    meta, by = {"name": "x", "namespace": "ml", "uid": "x"}, {**owner(kind, "x", "x"), "apiVersion": version}
    pods = (pod(f"x-{i}", GPU_SPEC, on=on, labels=labels, owner=by) for i, on in enumerate(nodes))
    return [{"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}, *pods]


def not_up_yet(has: int = 0, labels: dict[str, str] | None = None, slices: int = 0) -> Item:
    """A node with a GPU, by its label or by what kubelet saw before, whose device plugin offers none, or so many slices of it."""
    made = node("g1", gpus=has, labels=labels, extra={"nvidia.com/mig-1g.10gb": slices} if slices else None)
    made["status"] = {**made["status"], "allocatable": {**made["status"]["allocatable"], GPU: "0"}}
    return made


T4 = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", "cloud.google.com/gke-accelerator-count": "1"}
GOING: dict[str, Item] = {
    **{key: node("g1", gpus=1, taints=((key, "NoSchedule"),)) for key in sorted(GOING_TAINTS)},
    "a condition of AKS": node("g1", gpus=1),
    "a condition on spot": node("g1", gpus=1),
    "a label of GKE": node("g1", gpus=1, labels={"cloud.google.com/active-node-maintenance": "ONGOING"}),
}
GOING["a condition of AKS"]["status"]["conditions"].append({"type": "VMEventScheduled", "status": "True"})
GOING["a condition on spot"]["status"]["conditions"].append({"type": "Terminating", "status": "True"})
KRUISE = "apps.kruise.io/v1alpha1"
HIGH = {"priority": 10}
BARE = pod("run", GPU_SPEC, on="g0")
ONES: dict[str, tuple[Callable[[], Snapshot], str]] = {
    # Somebody may leave the room that lacks.
    "a Job runs": (lambda: read(two_gpus(), worker("g0"), job("train", ["g0"])), "Job/ml/train may end"),
    "a Job whose list is missing": (
        lambda: read(two_gpus(), worker("g0"), job("train", ["g0"]), without=("Job",)), "Job/ml/train may end"
    ),
    "a bare pod that runs once": (lambda: read(two_gpus(), worker("g0"), pod("run", NEVER, on="g0")), "Pod/ml/run may end"),
    "a pod with a deadline": (
        lambda: read(two_gpus(), worker("g0"), pod("run", pod_spec(gpus=1, activeDeadlineSeconds=60), on="g0")),
        "Pod/ml/run may end",
    ),
    "a Job holds the quota": (
        lambda: read(node("g0", gpus=4), quota("2"), worker("g0"), job("train", ["g0"])), "Job/ml/train may end"
    ),
    "its namespace goes": (
        lambda: read(namespace("old", deletionTimestamp=AT), namespace("ml"), two_gpus(), worker("g0"),
                     deployment("legacy", ["g0"], GPU_SPEC, namespace="old")),
        "namespace old is being deleted",
    ),
    "a Deployment goes": (
        lambda: read(two_gpus(), worker("g0"), deleting("Deployment", other("g0"))), "Deployment/ml/other is being deleted"
    ),
    "a node that isn't Ready yet": (
        lambda: read(node("g0", gpus=1), node("g1", gpus=1, taints=(("node.kubernetes.io/not-ready", "NoSchedule"),)), worker("g0")),
        "g1 may get Ready",
    ),
    # Somebody may take the room that there is.
    "a custom controller's pod ends": (
        lambda: read(two_gpus(), node("g9", gpus=1, cordoned=True), worker("g0"), leaving_pod(KRUISE, "CloneSet"), custom(KRUISE, "CloneSet")),
        "CloneSet/ml/other may make pods anew that leave g9: with that it is stuck",
    ),
    "a schedule": (lambda: read(two_gpus(), worker("g0"), cron_job()), "CronJob/ml/nightly may begin: with that it is stuck"),
    "a Job lacks a pod": (
        lambda: read(two_gpus(), worker("g0"), job("train", [])), "Job/ml/train may make more pods: with that it is stuck"
    ),
    "pods that a taint puts out": (
        lambda: read(two_gpus(), expelling(), worker("g0"), other("g1")),
        "Deployment/ml/other may make pods anew that leave g1: with that it is stuck",
    ),
    "pods that tolerate it for a time": (
        lambda: read(two_gpus(), expelling(), worker("g0"), other("g1", **tolerant(60))),
        "when pods are evicted from g1 may decide: with that at once it is stuck",
    ),
    "a node that goes": (
        lambda: read(two_gpus(), node("g1", gpus=1, taints=(("ToBeDeletedByClusterAutoscaler", "NoSchedule"),)), worker("g0"),
                     other("g1")),
        "Deployment/ml/other may make pods anew that leave g1: with that it is stuck",
    ),
    "a cordoned node whose pods may be moved": (
        lambda: read(two_gpus(), node("g1", gpus=1, cordoned=True), worker("g0"), other("g1")),
        "g1 is cordoned: its pods may be moved: with that it is stuck",
    ),
    "its own pods on a cordoned node": (
        lambda: read(node("g0", gpus=1), node("g1", gpus=1, cordoned=True), worker("g1")), "g1 is cordoned: its pods may be moved"
    ),
    "its new node is being deleted": (
        lambda: read(node("g0", gpus=1), deleting("Node", [node("g1", gpus=1)]), worker("g0")), "g1 is being taken away"
    ),
    "a device plugin isn't up yet": (
        lambda: read(node("g0", gpus=1), not_up_yet(labels=T4), worker("g0")),
        f"g1 may offer more {GPU} once its device plugin is up",
    ),
    "a device plugin is gone for now": (
        lambda: read(node("g0", gpus=1), not_up_yet(has=1), worker("g0")),
        f"g1 may offer more {GPU} once its device plugin is up",
    ),
    "a node that starts": (
        lambda: read(node("g0", gpus=1), node("g1", gpus=1, taints=(("node.cilium.io/agent-not-ready", "NoExecute"),)), worker("g0")),
        "g1 may get Ready",
    ),
    "a node that somebody has cordoned": (
        lambda: read(node("g0", gpus=1), node("g1", gpus=1, cordoned=True), worker("g0")), "g1 is cordoned, and may take pods again"
    ),
    "an end that may be taken back": (
        lambda: read(node("g0", gpus=1), GOING["cloud.google.com/impending-node-termination"], worker("g0")),
        "g1 may take pods again",
    ),
    "a schedule whose pods would give way, while others move": (
        lambda: read(
            node("g0", gpus=3), worker("g0", **HIGH), replicated("ReplicaSet", 1), cron_job(pod_spec(gpus=1, restartPolicy="Never", priority=5))
        ),
        "CronJob/ml/nightly may begin",
    ),
    "an autoscaler of new pods' requests": (
        lambda: read(two_gpus(), worker("g0"), resizer("Initial")), "1 VerticalPodAutoscaler that isn't read may give pods other requests"
    ),
    "two autoscalers of requests": (
        lambda: read(two_gpus(), worker("g0"), RESIZER, {**RESIZER, "metadata": {"name": "other", "namespace": "ml"}}),
        "2 VerticalPodAutoscalers that aren't read may give pods other requests",
    ),
    "an autoscaler of requests": (
        lambda: read(two_gpus(), worker("g0"), RESIZER), "1 VerticalPodAutoscaler that isn't read may give pods other requests"
    ),
}  # fmt: skip
PROVEN: dict[str, Callable[[], Snapshot]] = {
    "nobody else": lambda: read(two_gpus(), worker("g0")),
    "who holds the room stays": lambda: read(two_gpus(), worker("g0"), BARE),
    "a card that is cut into slices": lambda: read(
        node("g0", gpus=1), not_up_yet(has=1, slices=7), worker("g0")
    ),
    "a cordoned node that is too small": lambda: read(node("g0", gpus=1), node("c1", cordoned=True), worker("g0")),
    "a cordoned node's pods, for which there is room, too": lambda: read(
        node("g0", gpus=3), node("g1", gpus=1, cordoned=True), worker("g0"), other("g1")
    ),
    "a cordoned node's pods that go elsewhere": lambda: read(
        two_gpus(labels={"for": "serving"}), node("g1", gpus=1, cordoned=True), node("g2", gpus=1, labels={"for": "jobs"}),
        worker("g0", nodeSelector={"for": "serving"}), other("g1", nodeSelector={"for": "jobs"}),
    ),
    "a cordoned node's pods that nobody makes anew": lambda: read(
        two_gpus(), node("g1", gpus=1, cordoned=True), worker("g0"), pod("run", GPU_SPEC, on="g1")
    ),
    "a node that is too small when it gets Ready": lambda: read(
        node("g0", gpus=1), node("c1", taints=(("node.kubernetes.io/not-ready", "NoSchedule"),)), worker("g0")
    ),
    "a Job ends where the pods may not go": lambda: read(
        two_gpus(), node("c0", taints=(("cpu", "NoSchedule"),)), worker("g0"), BARE, job("train", ["c0"])
    ),
    "a Job leaves too little": lambda: read(
        node("g0", gpus=2, cpu="2"), worker("g0"), pod("run", pod_spec(cpu="500m"), on="g0"),
        pod("once", pod_spec(cpu="100m", restartPolicy="Never"), on="g0"),
    ),
    "a schedule that is suspended": lambda: read(two_gpus(), worker("g0"), cron_job(suspend=True)),
    "a schedule that has room beside it": lambda: read(two_gpus(), worker("g0"), cron_job(pod_spec(cpu="100m", memory="1Mi"))),
    "a schedule whose pods give way": lambda: read(
        two_gpus(), worker("g0", **HIGH), cron_job(pod_spec(gpus=1, restartPolicy="Never", priority=5))
    ),
    "a schedule that goes elsewhere": lambda: read(
        two_gpus(labels={"for": "serving"}), node("g9", gpus=1, labels={"for": "jobs"}),
        worker("g0", nodeSelector={"for": "serving"}), cron_job({**NEVER, "nodeSelector": {"for": "jobs"}}),
    ),
    "a node whose label says too few GPUs": lambda: read(
        node("g0", gpus=2), not_up_yet(labels=T4), deployment("worker", ["g0"], pod_spec(gpus=2), strategy=rolling(1, 0))
    ),
    "an autoscaler of requests that only advises": lambda: read(two_gpus(), worker("g0"), resizer("Off")),
    "a controller that has its pods": lambda: read(node("g0", gpus=3), worker("g0"), replicated("ReplicationController", 1, "g0")),
    "pods that tolerate the taint for ever": lambda: read(two_gpus(), expelling(), worker("g0"), other("g1", **tolerant(None))),
}  # fmt: skip


@pytest.mark.parametrize("name", ONES)
def test_nothing_is_proven_where_somebody_may_act(name: str) -> None:
    cluster, words = ONES[name]
    found = asked(cluster())
    assert found.ties is not None
    assert not found.ties.proven
    assert words in str(found.ties.sentence)
    assert asked(cluster(), runs=0).ties is None  # where nothing of it is played, nothing is said


@pytest.mark.parametrize("name", PROVEN)
def test_who_cannot_decide_leaves_it_proven(name: str) -> None:
    found = asked(PROVEN[name]())
    assert found.ties is not None
    assert found.ties.proven, found.ties.sentence


@pytest.mark.parametrize(
    ("cluster", "what"),
    [
        (lambda: read(namespace("ml", deletionTimestamp=AT), two_gpus(), worker("g0")), "namespace ml is being deleted"),
        (lambda: read(two_gpus(), deleting("Deployment", worker("g0"))), "it is being deleted"),
    ],
)  # fmt: skip
def test_what_is_being_deleted_rolls_nothing_out(cluster: Callable[[], Snapshot], what: str) -> None:
    found = asked(cluster())
    assert found.verdict is Verdict.UNKNOWN
    assert any(what in str(one.what) for one in found.findings)


def silent(name: str) -> Item:
    """A node whose kubelet isn't heard any more."""
    found = node(name, gpus=1, taints=(("node.kubernetes.io/unreachable", "NoSchedule"),))
    found["status"]["conditions"][0]["status"] = "Unknown"
    return found


def numbered(kind: str, how: str, *nodes: str) -> list[Item]:
    """A StatefulSet or a DaemonSet."""
    labels, spec = {"app": "worker"}, {"selector": {"matchLabels": {"app": "worker"}}, "updateStrategy": {"type": how}}
    made = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "worker", "namespace": "ml", "uid": "w", "generation": 1},
            "spec": {**spec, **({"replicas": len(nodes)} if kind == "StatefulSet" else {}),
                     "template": {"metadata": {"labels": labels}, "spec": GPU_SPEC}}}  # fmt: skip
    by = {**owner(kind, "worker", "w"), "apiVersion": "apps/v1"}
    return [made, *(pod(f"worker-{i}", GPU_SPEC, on=on, labels=labels, owner=by) for i, on in enumerate(nodes))]


@pytest.mark.parametrize(
    ("kind", "how", "on", "verdict"),
    [
        ("Deployment", "Recreate", "g1", Verdict.STUCK),
        ("Deployment", "Recreate", "g0", Verdict.COMPLETES),
        ("Deployment", "RollingUpdate", "g1", Verdict.COMPLETES),  # whose end nobody waits for
        ("StatefulSet", "RollingUpdate", "g1", Verdict.STUCK),
        ("StatefulSet", "RollingUpdate", "g0", Verdict.COMPLETES),
        ("StatefulSet", "OnDelete", "g1", Verdict.STUCK),  # until somebody deletes it
        ("DaemonSet", "RollingUpdate", "g0 g1", Verdict.STUCK),  # it counts against maxUnavailable 1
        ("DaemonSet", "RollingUpdate", "g1", Verdict.COMPLETES),  # g1 isn't desired, and on g0 there is no old pod
    ],
)
def test_a_pod_on_a_silent_node_does_not_end(kind: str, how: str, on: str, verdict: Verdict) -> None:
    """Three doors: rollout's, the list's and the gate's."""
    made = numbered(kind, how, *on.split())
    if kind == "Deployment":
        made = deployment("worker", [on], GPU_SPEC, strategy={"type": how} if how == "Recreate" else rolling(0, 1))
    snapshot, key = replace(read(node("g0", gpus=1), silent("g1"), made), taken_at=NOW), f"{kind}/ml/worker"
    found = rollout_with_remedies.rollout(
        snapshot, Scenario(changes=(WorkloadChange(workload=key),), runs=5, with_remedies=False)
    )
    manifest = copy.deepcopy(made[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    at_gate = gate.answer(snapshot, GateSettings(manifest=json.dumps(manifest)), Inputs(now=NOW))
    listed = overview.answer(snapshot, OverviewSettings(), Inputs(now=NOW))
    assert found.verdict is verdict
    assert [one.verdict for one in at_gate.workloads] == [verdict]
    assert [one.verdict for one in listed.workloads] == [verdict]
    is_kept = verdict is Verdict.STUCK
    assert (found.reason is Reason.SILENT_NODE) is is_kept
    for said in (found.sentence, at_gate.workloads[0].sentence, listed.workloads[0].sentence):
        assert ("once node g1 answers again" in str(said)) is is_kept
    events = [event for cure in found.workloads[0].cures for event in cure.events]
    by_force = (
        f"force-delete:ml/worker-{on.split().index('g1')}"
        if is_kept and kind != "Deployment"
        else f"force-delete:ml/{made[-1]['metadata']['name']}"
    )
    assert events == (["answers:g1", by_force] if is_kept else [])
    for event in events:  # each is played, and lets it finish
        then = LaterEvents(later=parse_later(f"1h:{event}"))
        cured = rollout_with_remedies.rollout(
            snapshot, Scenario(changes=(WorkloadChange(workload=key),), runs=0), beside=then
        )
        assert cured.verdict is Verdict.COMPLETES


def apart(topology: str, app: str = "worker", **more: object) -> Item:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology, **more}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


@pytest.mark.parametrize(
    ("before", "patch", "verdict"),
    [
        (apart("zone"), {}, Verdict.STUCK),
        (apart("kubernetes.io/hostname"), {}, Verdict.COMPLETES),
        (apart("zone"), {"affinity": None}, Verdict.STUCK),  # the old pod's own counts until it has ended
        ({}, apart("zone"), Verdict.STUCK),
        (apart("zone", "db"), {}, Verdict.COMPLETES),  # of others
        (apart("zone", namespaces=["db"]), {}, Verdict.COMPLETES),
        (apart("zone", matchLabelKeys=["pod-template-hash"]), {}, Verdict.COMPLETES),  # of its own revision
    ],
)
def test_a_pod_on_a_silent_node_keeps_others_away(before: Item, patch: Item, verdict: Verdict) -> None:
    """Until it has ended (plugins/interpodaffinity asks no pod whether it is being deleted); on its own node nobody comes anyway."""
    nodes = [node("g0", gpus=1), silent("g1"), node("g2", gpus=1)]
    for one, zone in zip(nodes, "abb", strict=True):
        one["metadata"]["labels"] |= {"zone": zone, "kubernetes.io/hostname": one["metadata"]["name"]}
    mine = deployment("worker", ["g0", "g1"], pod_spec(gpus=1, **before), strategy=rolling(0, 1))
    change = WorkloadChange(
        workload="Deployment/ml/worker", patch=json.dumps({"spec": {"template": {"spec": patch}}}) if patch else ""
    )
    found = rollout_with_remedies.rollout(read(nodes, mine), Scenario(changes=(change,), runs=5, with_remedies=False))
    assert found.verdict is verdict
    assert ("once node g1 answers again" in str(found.sentence)) is (verdict is Verdict.STUCK)


@pytest.mark.parametrize("effects", [(), ("NoSchedule",), ("NoSchedule", "NoExecute")])
@pytest.mark.parametrize(
    ("status", "more", "verdict"),
    [
        ("Unknown", {"nodeName": "g1"}, Verdict.STUCK),  # until g1 is back
        ("False", {"nodeName": "g1"}, Verdict.UNKNOWN),
        ("True", {"nodeName": "g1"}, Verdict.COMPLETES),
        ("Unknown", {"tolerations": [{"operator": "Exists"}]}, Verdict.STUCK),
        # evicted, and bound again: what ends never holds its room there, so that one of the next goes to g0
        ("Unknown", {"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]}, Verdict.UNKNOWN),
        ("False", {"tolerations": [{"operator": "Exists"}]}, Verdict.UNKNOWN),
        ("Unknown", {"nodeName": "g0"}, Verdict.COMPLETES),
    ],
)
def test_on_a_node_that_is_out_of_use_no_pod_starts(
    status: str, more: Item, verdict: Verdict, effects: tuple[str, ...]
) -> None:
    """Three doors: rollout's, the list's and the gate's."""
    key = {"Unknown": "unreachable", "False": "not-ready"}.get(status)
    down = node("g1", gpus=2, taints=tuple((f"node.kubernetes.io/{key}", effect) for effect in effects if key))
    down["status"]["conditions"][0]["status"] = status
    mine = deployment("worker", ["g0"], pod_spec(gpus=1, **more), strategy=rolling(1, 0))
    snapshot = replace(read(node("g0", gpus=2), down, mine), taken_at=NOW)
    manifest = copy.deepcopy(mine[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    at_gate = gate.answer(snapshot, GateSettings(manifest=json.dumps(manifest)), Inputs(now=NOW))
    listed = overview.answer(snapshot, OverviewSettings(), Inputs(now=NOW))
    found = asked(snapshot)
    assert [found.verdict, at_gate.workloads[0].verdict, listed.workloads[0].verdict] == [verdict] * 3
    is_how = "doesn't answer" if status == "Unknown" else "is not Ready"
    said = f"node g1 {is_how}, and new pods that are bound there don't start"
    may_come_again = "effect" in str(more)  # once it was evicted
    assert any(said in str(one.what) for one in found.findings) is (verdict is Verdict.UNKNOWN)
    is_stuck = "a new pod isn't Ready, since its node g1 doesn't answer" in str(found.sentence)
    assert is_stuck is (verdict is Verdict.STUCK or may_come_again)


@pytest.mark.parametrize("is_ready", [True, False])
def test_who_refuses_pods_that_name_their_node_is_there_and_would_take_them(is_ready: bool) -> None:
    """A node that is shut to them, and one without a kubelet that says so."""
    there = node("g1", gpus=1, taints=(("maintenance", "NoExecute"),) if is_ready else ())
    there["status"]["conditions"][0]["status"] = str(is_ready)
    mine = deployment("worker", ["g1"], pod_spec(gpus=1, nodeName="g1"), strategy=rolling(1, 0))
    found = asked(read(node("g0", gpus=2), there, mine))
    assert found.verdict is Verdict.STUCK
    assert "pods-turned-away" not in {one.code for one in found.findings}


@pytest.mark.parametrize("is_moving", [True, False])
def test_who_was_not_read_and_has_pods_on_their_way_may_act(is_moving: bool) -> None:
    by = {**owner("StatefulSet", "other", "o"), "apiVersion": "apps/v1"}
    others = pod("other-0", GPU_SPEC, on="g9", labels={"app": "other"}, owner=by)
    others["metadata"] |= {"deletionTimestamp": AT} if is_moving else {}
    found = asked(read(two_gpus(), node("g9", gpus=1), worker("g0"), others, without=("StatefulSet",)))
    assert found.verdict is Verdict.COMPLETES
    assert found.ties is not None
    assert found.ties.proven is not is_moving, found.ties.sentence
    assert ("StatefulSets that weren't read may make and move pods" in str(found.ties.sentence)) is is_moving


@pytest.mark.parametrize(
    ("group", "listed", "said"),
    [
        ("apps", "", "StatefulSets that weren't read may"),
        ("apps", "part", "StatefulSets that weren't all read may"),
        ("apps.kruise.io", "", "StatefulSets of apps.kruise.io may"),  # these aren't played, read or not
        ("apps.kruise.io", "none", "StatefulSets of apps.kruise.io may"),
    ],
)
def test_who_may_act_is_told_by_what_was_read(group: str, listed: str, said: str) -> None:
    version = f"{group}/v1" if group == "apps" else f"{group}/v1beta1"
    by = {**owner("StatefulSet", "other", "o"), "apiVersion": version}
    other = pod("other-0", GPU_SPEC, on="g9", labels={"app": "other"}, owner=by)
    other["metadata"]["deletionTimestamp"] = AT
    template = {"metadata": {"labels": {"app": "other"}}, "spec": GPU_SPEC}
    made = {
        "apiVersion": version, "kind": "StatefulSet", "metadata": {"name": "other", "namespace": "ml", "uid": "o"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "other"}}, "template": template},
    }  # fmt: skip
    kinds = tuple(kind for kind in LISTED if kind != "StatefulSet")
    items = [two_gpus(), node("g9", gpus=1), *worker("g0"), other, *([made] if group != "apps" and not listed else [])]
    cut = Part(listed=("StatefulSet",), cut=("StatefulSet",)) if listed == "part" else Part()
    found = asked(build_snapshot_of([Part(items=items, listed=kinds), cut], source="by hand"))
    assert found.ties is not None
    assert not found.ties.proven
    assert f"meanwhile {said} make and move pods" in str(found.ties.sentence)


@pytest.mark.parametrize(
    ("maker", "without", "is_proven"),
    [("CronJob", ("CronJob",), False), ("Other", ("CronJob",), True), ("CronJob", (), True)],
)
def test_a_schedule_that_was_not_read_is_told_by_its_jobs(
    maker: str, without: tuple[str, ...], is_proven: bool
) -> None:
    """Where CronJobs were listed and it isn't among them, it is gone."""
    (made,) = job("nightly-1", [])
    made["metadata"]["ownerReferences"] = [{**owner(maker, "nightly", "c"), "apiVersion": "batch/v1"}]
    made["status"] = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
    others = [] if without else [cron_job(suspend=True)]
    found = asked(read(two_gpus(), worker("g0"), made, others, without=without))
    assert found.ties is not None
    assert found.ties.proven is is_proven, found.ties.sentence
    said = "CronJob/ml/nightly, which wasn't read, may begin"
    assert (said in str(found.ties.sentence)) is not is_proven


ONE_A_NODE = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"labelSelector": {"matchLabels": {"app": "worker"}}, "topologyKey": "kubernetes.io/hostname"}]}}  # fmt: skip


@pytest.mark.parametrize(
    ("gpus", "surge", "more", "verdict", "is_said"),
    [
        (1, 1, {}, Verdict.STUCK, True),
        (1, 0, {}, Verdict.COMPLETES, True),  # while the old pod ends
        (3, 1, {}, Verdict.COMPLETES, False),
        (2, 1, {"priority": 1000, "priorityClassName": "high"}, Verdict.STUCK, True),  # a kubelet evicts nobody for it
        (3, 1, {"priorityClassName": "system-node-critical"}, Verdict.UNKNOWN, False),
        (3, 1, {"affinity": ONE_A_NODE}, Verdict.UNKNOWN, False),
        (None, 1, {}, Verdict.UNKNOWN, False),  # a kubelet passes over what its node doesn't list
    ],
)
def test_pods_that_name_their_node_are_refused_and_made_again(
    gpus: int | None, surge: int, more: Item, verdict: Verdict, is_said: bool
) -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    mine = deployment("worker", ["g0"], pod_spec(gpus=1, nodeName="g0", **more), strategy=rolling(surge, 1 - surge))
    there = node("g0", gpus=gpus, labels={"kubernetes.io/hostname": "g0"}) if gpus else node("g0")
    found = asked(read(there, high, mine, other("g0") if gpus and gpus > 1 else []))
    assert found.verdict is verdict
    assert ("pods-turned-away" in {one.code for one in found.findings}) is is_said


@pytest.mark.parametrize("mark", GOING)
def test_a_node_that_somebody_marked_may_go(mark: str) -> None:
    everywhere = {"tolerations": [{"operator": "Exists"}]}
    found = asked(read(node("g0", gpus=1), GOING[mark], worker("g0", **everywhere)))
    assert found.verdict is Verdict.COMPLETES
    assert found.ties is not None
    assert not found.ties.proven
    assert "taken away" in str(found.ties.sentence)


def test_only_an_autoscalers_mark_says_that_it_was_on_purpose() -> None:
    marked = {mark for mark in GOING_TAINTS if is_going(read(GOING[mark]).nodes[0])}
    assert marked == TAKEN_DOWN
    assert all(may_go(read(one).nodes[0]) for one in GOING.values())
    assert not may_go(read(node("g1", gpus=1)).nodes[0])


@pytest.mark.parametrize("kind", ["ReplicationController", "ReplicaSet"])
@pytest.mark.parametrize(
    ("gpus", "replicas", "nodes", "verdict"),
    [
        (2, 0, [], Verdict.COMPLETES),
        (2, 1, [], Verdict.STUCK),  # the pod that it lacks takes the GPU
        (3, 2, ["g0"], Verdict.STUCK),
        (3, 1, ["g0"], Verdict.COMPLETES),
        (2, 0, ["g0"], Verdict.COMPLETES),  # it deletes the pod that it has too many
    ],
)
def test_a_controller_without_a_deployment_makes_what_it_lacks(
    kind: str, gpus: int, replicas: int, nodes: list[str], verdict: Verdict
) -> None:
    found = asked(read(node("g0", gpus=gpus), worker("g0"), replicated(kind, replicas, *nodes)))
    assert found.verdict is verdict


def leaving_pod(api: str, kind: str, spec: Item = GPU_SPEC, number: int = 0, **meta: Any) -> Item:
    """A pod of `other` that is ending on g9."""
    by = {**owner(kind, "other", "o"), "apiVersion": api}
    made = pod(f"other-{number}", spec, on="g9", labels={"app": "other"}, owner=by)
    made["metadata"] |= {"deletionTimestamp": AT, **meta}
    return made


def staying(on: str) -> Item:
    by = {**owner("CloneSet", "other", "o"), "apiVersion": KRUISE}
    return pod("other-stays", GPU_SPEC, on=on, labels={"app": "other"}, owner=by)


def custom(api: str, kind: str, replicas: int = 1) -> Item:
    labels = {"app": "other"}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "other", "namespace": "ml", "uid": "o"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": GPU_SPEC}}}  # fmt: skip


def beside_one_that_ends(*items: Item | list[Item], gpus: int = 2, without: tuple[str, ...] = ()) -> RolloutResult:
    return asked(read(node("g0", gpus=gpus), node("g9", gpus=1, cordoned=True), worker("g0"), *items, without=without))


@pytest.mark.parametrize("is_read", [True, False])
@pytest.mark.parametrize(
    ("api", "kind"),
    [
        (KRUISE, "CloneSet"), (KRUISE, "StatefulSet"), (KRUISE, "DaemonSet"), ("batch.volcano.sh/v1alpha1", "Job"),
        ("example.com/v1", "Trainer"), ("example.com/v1", "ReplicaSet"),
    ],
)  # fmt: skip
def test_who_is_not_played_may_make_a_pod_that_ends_anew(api: str, kind: str, is_read: bool) -> None:
    """Where apps/v1 ones were listed, too."""
    nodes = [node("g0", gpus=2), node("g9", gpus=1, cordoned=True)]
    items = [*nodes, *worker("g0"), leaving_pod(api, kind), *([custom(api, kind)] if is_read else [])]
    every = (*LISTED, "StatefulSet", "DaemonSet", "Job", "Deployment", "ReplicaSet", "Pod", "Node")
    found = asked(build_snapshot_of([Part(items=items, listed=every)], source="by hand"))
    assert found.verdict is Verdict.COMPLETES
    assert found.ties is not None
    assert not found.ties.proven
    assert f"{kind}/ml/other may make pods anew that leave g9: with that it is stuck" in str(found.ties.sentence)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(
    ("api", "kind", "name"),
    [
        ("apps/v1", "ReplicaSet", ""), ("apps/v1", "StatefulSet", ""), ("apps/v1", "DaemonSet", ""), ("batch/v1", "Job", ""),
        (KRUISE, "CloneSet", "clonesets.apps.kruise.io"), ("ray.io/v1", "RayCluster", "rayclusters.ray.io"),
    ],
)  # fmt: skip
def test_who_is_not_among_those_listed_is_gone(api: str, kind: str, name: str, listed: bool) -> None:
    """With its pods, which nobody makes anew."""
    every = ("StatefulSet", "DaemonSet", "Job", "Deployment", "ReplicaSet", "Pod", "Node", name or kind)
    given = tuple(one for one in (*LISTED, *every) if listed or one != (name or kind))
    items = [node("g0", gpus=2), node("g9", gpus=1, cordoned=True), *worker("g0"), leaving_pod(api, kind)]
    items = [one for one in items if listed or one["kind"] != kind]
    found = asked(build_snapshot_of([Part(items=items, listed=given)], source="by hand"))
    assert found.verdict is Verdict.COMPLETES
    assert found.ties is not None
    assert found.ties.proven is listed, found.ties.sentence


def test_pods_that_end_come_back_each_as_it_was() -> None:
    """The last of them asks for no GPU."""
    head = leaving_pod("ray.io/v1", "RayCluster", pod_spec(cpu="100m"), number=1)
    found = beside_one_that_ends(leaving_pod("ray.io/v1", "RayCluster"), head)
    assert found.ties is not None
    assert "RayCluster/ml/other may make pods anew that leave g9: with that it is stuck" in str(found.ties.sentence)


@pytest.mark.parametrize("is_going", [True, False])
def test_a_job_makes_a_pod_that_ends_anew(is_going: bool) -> None:
    made, its_pod = job("train", ["g9"])
    its_pod["metadata"]["deletionTimestamp"] = AT
    made["metadata"] |= {"deletionTimestamp": AT} if is_going else {}
    found = beside_one_that_ends(made, its_pod)
    assert found.ties is not None
    assert found.ties.proven is is_going, found.ties.sentence
    assert ("Job/ml/train may make more pods: with that it is stuck" in str(found.ties.sentence)) is not is_going


@pytest.mark.parametrize("replicas", [1, 0])
def test_a_deployment_whose_replica_sets_were_not_read_makes_what_it_lacks(replicas: int) -> None:
    items = deployment("other", ["g9"], GPU_SPEC)
    for one in items:
        one["metadata"] |= {"deletionTimestamp": AT} if one["kind"] == "Pod" else {}
    items[0]["spec"]["replicas"] = replicas
    found = beside_one_that_ends(items, without=("ReplicaSet",))
    assert found.ties is not None
    assert found.ties.proven is (replicas == 0), found.ties.sentence


@pytest.mark.parametrize(
    ("gpus", "items"),
    [
        (3, [leaving_pod(KRUISE, "CloneSet")]),  # there is room for both
        (4, [leaving_pod(KRUISE, "CloneSet"), staying("g0")]),  # one of its two stays
        (2, [leaving_pod(KRUISE, "CloneSet"), custom(KRUISE, "CloneSet", 0)]),  # it wants none
        (2, [leaving_pod(KRUISE, "CloneSet", pod_spec(gpus=1, nodeSelector={"for": "jobs"}))]),
        (2, [leaving_pod(KRUISE, "CloneSet", pod_spec(cpu="100m", memory="1Mi"))]),
        (2, [namespace("ml"), namespace("old", deletionTimestamp=AT),
             leaving_pod(KRUISE, "CloneSet", namespace="old")]),
        (2, [leaving_pod(KRUISE, "CloneSet", ownerReferences=[])]),
    ],
)  # fmt: skip
def test_a_pod_made_anew_that_cannot_matter_leaves_it_proven(gpus: int, items: list[Item]) -> None:
    found = beside_one_that_ends(items, gpus=gpus)
    assert found.ties is not None
    assert found.ties.proven, found.ties.sentence


def reviewed(snapshot: Snapshot, there: Item) -> tuple[WebhookReview, str]:
    """What the webhook says of another image of the Deployment, and the manifest of that."""
    manifest = copy.deepcopy(there)
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    request = {"uid": "1", "operation": "UPDATE", "namespace": "ml", "name": "worker", "object": manifest, "oldObject": there,
               "resource": {"group": "apps", "version": "v1", "resource": "deployments"}}  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    return review(snapshot, read_request(body.encode()), now=NOW), json.dumps(manifest)


def by_chance() -> tuple[Snapshot, Item]:
    """Whether the new pod or another controller's is first to have what is left of the quota."""
    mine = deployment("worker", ["g0"], pod_spec(gpus=1, priority=5), strategy={"type": "Recreate"})
    return replace(read(two_gpus(), mine, replicated("ReplicaSet", 2, "g0"), quota("2")), taken_at=NOW), mine[0]


def test_where_chance_decides_rollout_gate_and_webhook_say_so() -> None:
    snapshot, there = by_chance()
    at_webhook, manifest = reviewed(snapshot, there)
    at_gate = gate.answer(snapshot, GateSettings(manifest=manifest), Inputs(now=NOW))
    found = asked(snapshot)
    assert found.ties is not None
    assert 0 < found.ties.completed_runs < found.ties.runs
    assert f". But it {found.ties.outcome}" in str(found.sentence)
    assert at_gate.workloads[0].verdict is Verdict.STUCK
    assert ". But it depends on whose controller is first: " in str(at_gate.workloads[0].sentence)
    assert at_webhook.warning.startswith("headroom: this rollout would be stuck, but placement may decide otherwise: ")


def test_the_webhook_goes_by_the_commonest_placement_as_the_gate_does(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, there = by_chance()
    found = asked(snapshot)
    assert found.ties is not None
    assert found.verdict is Verdict.COMPLETES  # in most of so many
    monkeypatch.setattr("planner.serve.admission_review.RUNS", found.ties.runs)
    assert reviewed(snapshot, there)[0].silence is Silence.COMPLETES


def test_placements_too_large_to_try_beside_a_review_may_decide_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.serve.admission_review._OTHERWISE_UNITS", 1)
    said, _ = reviewed(*by_chance())
    assert said.warning.startswith("headroom: this rollout would be stuck, but placement may decide otherwise: ")


# ── the other doors ──────────────────────────────────────────────────────────────────────────────────────────────────
DOORS: dict[str, Callable[[], Snapshot]] = {name: cluster for name, (cluster, _) in ONES.items()} | PROVEN


@pytest.mark.parametrize("name", DOORS)
def test_gate_and_webhook_say_what_rollout_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same image at three doors: the same verdict, and none says proven where `rollout` doesn't."""
    given: list[Item] = []

    def keep(parts: list[Part], *, source: str) -> Snapshot:
        given.extend(cast("list[Item]", parts[0].items))
        return build_snapshot(parts, source=source)

    monkeypatch.setattr(f"{__name__}.build_snapshot_of", keep)
    snapshot = replace(DOORS[name](), taken_at=NOW)
    there = next(one for one in given if one["kind"] == "Deployment" and one["metadata"]["name"] == "worker")
    at_webhook, text = reviewed(snapshot, there)
    one = rollout_with_remedies.rollout(snapshot, Scenario(manifest=text, runs=10, with_remedies=False))
    at_gate = gate.answer(snapshot, GateSettings(manifest=text), Inputs(now=NOW))
    assert [part.verdict for part in at_gate.workloads] == [one.verdict]
    assert at_webhook.is_stuck is (one.verdict is Verdict.STUCK)
    assert one.ties is not None
    assert one.ties.proven is (name in PROVEN)
    if not one.ties.proven:  # which room it needs wherever it runs is a claim of its own
        parts = tuple(replace(part, room=None) for part in at_gate.workloads)
        words = f"{at_webhook.warning} {replace(at_gate, workloads=parts)}"
        assert not re.search(r"\bproven\b", words)  # no field's name, such as is_proven


def test_an_autoscaler_that_only_advises_is_counted_apart() -> None:
    texts = [json.dumps(one).encode() for one in (RESIZER, resizer("Off"), resizer("Auto"))]
    found = build_snapshot([Part(items=[msgspec.Raw(one) for one in texts], listed=())], source="by hand")
    assert found.other_kinds == {"VerticalPodAutoscaler": 2, "VerticalPodAutoscaler (Off)": 1}


LATER = pod("young", pod_spec(), on="g0")
LATER["metadata"]["creationTimestamp"] = "2026-11-25T12:20:00Z"
"""So the snapshot is twenty minutes younger than `AT`, when the grace period of what is `deleting` was over."""
GONE = deleting("Pod", [pod("gone", GPU_SPEC, on="g0")])


@pytest.mark.parametrize(
    ("items", "names", "is_proven"),
    [
        ([two_gpus(), *worker("g0"), *GONE, LATER], "ml/gone", False),
        ([two_gpus(), *worker("g0"), *GONE], "", True),  # it ends in its time
        ([node("g0", gpus=3), *worker("g0"), *GONE, LATER], "", True),  # nobody needs its room
        ([two_gpus(), *deleting("Pod", deployment("worker", ["g0"], GPU_SPEC, strategy={"type": "Recreate"})), LATER], "ml/worker-", False),
        ([node("g0", gpus=1), *worker("g0"), *GONE, LATER], "", True),  # stuck, whether it ends or not
    ],
)  # fmt: skip
def test_a_pod_that_should_have_ended_long_ago_may_stay(items: list[Item], names: str, is_proven: bool) -> None:
    """A finalizer, a volume or the kubelet keeps it, and it keeps its room (`Recreate` waits for it): what needs that it ends isn't proven."""
    answer = asked(read(*items))
    whys = [str(doubt.why) for doubt in answer.doubts]
    assert answer.ties is not None
    assert answer.ties.proven is is_proven
    assert any("should have ended long ago" in why and names in why for why in whys) is bool(names)
