"""Whether the latest rollout of a StatefulSet or DaemonSet came to its end, as `kubectl rollout status` would say, and whatever its pods do since."""

from __future__ import annotations

import time
from typing import Any, Final

import pytest

from planner.rollout.past_rollouts import PastCourse, latest_rollout
from planner.rollout.prepared_change import compiled
from tests.builders.objects import node, owner, pod, pod_spec, read_items

Item = dict[str, Any]
START: Final = 1_795_000_000.0
OLD, NEW = "x-1", "x-2"


def iso(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def course(kind: str, pods: list[tuple[int, str, float | None]], *, at: float, current: str = OLD, update: str = NEW, more: Any = (),
           nodes: int = 3, **spec: Any) -> PastCourse:  # fmt: skip
    """Of three pods; (number, revision, when it was made, Ready 3 s later; None: it ends)."""
    by = owner(kind, "x", "x")
    numbers = {OLD: 1, NEW: 2} if update == NEW else {NEW: 2, OLD: 3}  # an undo gives the older one the highest
    revisions = [
        {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": number, "data": {},
         "metadata": {"name": name, "namespace": "ml", "uid": name, "creationTimestamp": iso(START - 9_000 if name == OLD else START),
                      "labels": {"controller-revision-hash": name}, "ownerReferences": [by]}}
        for name, number in numbers.items()
    ]  # fmt: skip
    items = []
    for number, revision, made in pods:
        item = pod(
            f"x-{number}",
            pod_spec(),
            on=f"n-{number}",
            owner=by,
            uid=f"{revision}-{number}",
            labels={"app": "x", "controller-revision-hash": revision},
        )
        since = START - 8_000 if made is None else made
        item["metadata"]["creationTimestamp"] = iso(since)
        if made is None:
            item["metadata"]["deletionTimestamp"] = iso(at)
        is_ready = since + 3 <= at
        item["status"]["conditions"] = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": iso(since)},
            {"type": "Ready", "status": "True" if is_ready else "False", "lastTransitionTime": iso(since + 3 if is_ready else since)},
        ]  # fmt: skip
        items.append(item)
    status = {
        "observedGeneration": 3, "replicas": 3, "currentRevision": current, "updateRevision": update, "desiredNumberScheduled": nodes,
        "updatedReplicas": sum(revision == update for _, revision, _ in pods),
    }  # fmt: skip
    own = {
        "selector": {"matchLabels": {"app": "x"}},
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": pod_spec()},
        **spec,
    }
    own |= {"replicas": 3, "serviceName": "x"} if kind == "StatefulSet" else {}
    meta = {"name": "x", "namespace": "ml", "uid": "x", "generation": 3, "creationTimestamp": iso(START - 9_000)}
    workload = {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": own, "status": status}
    cluster = compiled(
        read_items([workload, *revisions, *items, *(node(f"n-{i}") for i in range(3)), *more], taken_at=at)
    )
    past = latest_rollout(cluster, cluster.snapshot.workloads[0])
    assert past is not None
    return past.course


LATER: Final = {"apiVersion": "v1", **node("later")}
LATER["metadata"]["creationTimestamp"] = iso(START + 500)
NOT_FOR_IT: Final = {**LATER, "spec": {**LATER["spec"], "taints": [{"key": "web", "effect": "NoSchedule"}]}}
ON_LATER: Final = pod("x-9", pod_spec(), on="later", owner=owner("DaemonSet", "x", "x"), uid="x-2-9",
                      labels={"app": "x", "controller-revision-hash": NEW})  # fmt: skip
ON_LATER["metadata"]["creationTimestamp"] = iso(START + 501)


@pytest.mark.parametrize(
    ("kind", "pods", "more", "is_done"),
    [
        # an undo midway: both revisions are the older one, while a pod of the other stands
        ("StatefulSet", [(2, NEW, START + 1), (1, OLD, START - 8_000), (0, OLD, START - 8_000)], {"current": OLD, "update": OLD}, False),
        ("StatefulSet", [(2, OLD, START + 20), (1, OLD, START - 8_000), (0, OLD, START - 8_000)], {"current": OLD, "update": OLD}, True),
        # the last old pod ends, or has just gone
        ("StatefulSet", [(2, NEW, START + 1), (1, NEW, START + 5), (0, OLD, None)], {}, False),
        ("StatefulSet", [(2, NEW, START + 1), (1, NEW, START + 5)], {}, False),
        ("StatefulSet", [(2, NEW, START + 1), (1, NEW, START + 5), (0, NEW, START + 9)], {}, True),
        ("DaemonSet", [(2, NEW, START + 1), (1, NEW, START + 5)], {}, False),
        ("DaemonSet", [(2, NEW, START + 1), (1, NEW, START + 5), (0, NEW, START + 9)], {}, True),
        # its last pod isn't available yet
        ("DaemonSet", [(2, NEW, START + 1), (1, NEW, START + 5), (0, NEW, START + 39)], {"minReadySeconds": 30}, False),
        # it was done, and what happens since is another story: a pod that goes, one that was made anew, a node that came
        ("StatefulSet", [(2, NEW, START + 1), (1, NEW, START + 5)], {"current": NEW}, True),
        ("DaemonSet", [(2, NEW, START + 1), (1, NEW, START + 5), (0, NEW, None)], {}, True),
        ("DaemonSet", [(2, NEW, START + 1), (1, NEW, START + 5), (0, NEW, START + 9)], {"nodes": 4, "more": [LATER]}, True),
        # the last old pod has just gone, whether a node came where it doesn't run, or one that has its pod
        ("DaemonSet", [(2, NEW, START + 1), (1, NEW, START + 5)], {"more": [NOT_FOR_IT]}, False),
        ("DaemonSet", [(2, NEW, START + 1), (1, NEW, START + 5)], {"nodes": 4, "more": [LATER, ON_LATER]}, False),
        # the same in the second in which a node came: its status doesn't count that yet
        ("DaemonSet", [(2, NEW, START + 1), (1, NEW, START + 5)], {"more": [LATER]}, False),
        ("DaemonSet", [(2, NEW, START + 1), (1, NEW, START + 5), (0, NEW, START + 9)], {"more": [LATER]}, True),
    ],
)  # fmt: skip
def test_a_rollout_is_done_when_its_status_would_say_so(
    kind: str, pods: Any, more: dict[str, Any], is_done: bool
) -> None:
    at = START + 1_000 if "more" in more else START + 50
    assert (course(kind, pods, at=at, **more) is PastCourse.COMPLETED) is is_done
