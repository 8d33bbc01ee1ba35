"""Where somebody of the input may act by himself and may decide, nothing is proven: small clusters by hand, one for each who may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planner.capacity import rollouts
from planner.inventory.change import WorkloadChange
from planner.inventory.parse import Part, build_snapshot
from planner.kubernetes.records import Snapshot
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared import Scenario
from tests.builders.objects import Item, deployment, node, owner, pod, pod_spec
from tests.conformance.rollout_cases import WHOLE_LISTS
from tests.rollout.rollouts import WORKER, rolling

GPU = "nvidia.com/gpu"
AT = "2026-11-25T12:00:00Z"
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
)


def read(*items: Item | list[Item], without: tuple[str, ...] = ()) -> Snapshot:
    """Every list was given, but those `without`."""
    flat = [one for some in items for one in (some if isinstance(some, list) else [some])]
    kinds = tuple(kind for kind in LISTED if kind not in without)
    return build_snapshot([Part(items=[i for i in flat if i["kind"] not in without], listed=kinds)], source="by hand")


def asked(snapshot: Snapshot, runs: int = 10) -> RolloutResult:
    change = WorkloadChange(workload=WORKER)
    return rollouts.rollout(snapshot, Scenario(changes=(change,), runs=runs, with_remedies=False))


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


RESIZER = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "v", "namespace": "ml"},
           "spec": {"targetRef": {"kind": "Deployment", "name": "worker"}}}  # fmt: skip
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
        "Deployment/ml/other may make pods anew that leave g1: with that it is stuck",
    ),
    "a node that goes": (
        lambda: read(two_gpus(), node("g1", gpus=1, taints=(("ToBeDeletedByClusterAutoscaler", "NoSchedule"),)), worker("g0"),
                     other("g1")),
        "Deployment/ml/other may make pods anew that leave g1: with that it is stuck",
    ),
    "its new node is being deleted": (
        lambda: read(node("g0", gpus=1), deleting("Node", [node("g1", gpus=1)]), worker("g0")), "g1 is being taken away"
    ),
    "an autoscaler of requests": (
        lambda: read(two_gpus(), worker("g0"), RESIZER), "1 VerticalPodAutoscaler that isn't read may give pods other requests"
    ),
}  # fmt: skip
PROVEN: dict[str, Callable[[], Snapshot]] = {
    "nobody else": lambda: read(two_gpus(), worker("g0")),
    "who holds the room stays": lambda: read(two_gpus(), worker("g0"), BARE),
    "a node that somebody has cordoned": lambda: read(node("g0", gpus=1), node("g1", gpus=1, cordoned=True), worker("g0")),
    "a node that is too small when it gets Ready": lambda: read(
        node("g0", gpus=1), node("c1", taints=(("node.kubernetes.io/not-ready", "NoSchedule"),)), worker("g0")
    ),
    "a Job ends where the pods may not go": lambda: read(
        two_gpus(), node("c0", taints=(("cpu", "NoSchedule"),)), worker("g0"), BARE, job("train", ["c0"])
    ),
    "a Job leaves too little": lambda: read(
        node("g0", gpus=2, cpu="2"), worker("g0"), pod("run", pod_spec(cpu="500m"), on="g0"),
        pod("once", pod_spec(cpu="100m", restartPolicy="Never"), on="g0"), BARE,
    ),
    "a schedule that is suspended": lambda: read(two_gpus(), worker("g0"), cron_job(suspend=True)),
    "a schedule that has room beside it": lambda: read(two_gpus(), worker("g0"), cron_job(pod_spec(cpu="100m", memory="1Mi"))),
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
