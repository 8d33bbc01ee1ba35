"""Whether the latest rollout of a StatefulSet or DaemonSet came to its end, as `kubectl rollout status` would say, and whatever its pods do since."""

from __future__ import annotations

import copy
import time
from typing import Any, Final

import pytest

from planner.rollout.past_causes import HangCause, HangCure, of_event
from planner.rollout.past_report import review
from planner.rollout.past_rollouts import PastCourse, PastRollout, latest_rollout, past_rollouts
from planner.rollout.prepared_change import compiled
from planner.scheduling.cluster import Cluster
from tests.builders.objects import deployment, node, owner, pod, pod_spec, read_items
from tests.rollout.rollouts import rolling

Item = dict[str, Any]
START: Final = 1_795_000_000.0
OLD, NEW = "x-1", "x-2"


def iso(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def rolled(kind: str, pods: list[tuple[int, str, float | None]], *, at: float, current: str = OLD, update: str = NEW, more: Any = (),
           nodes: int = 3, **spec: Any) -> PastRollout:  # fmt: skip
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
    return past


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
    assert (rolled(kind, pods, at=at, **more).course is PastCourse.COMPLETED) is is_done


@pytest.mark.parametrize(
    ("node_came", "pod_came", "took"),
    [
        (20, 21, 12),  # made for its node
        (20, 30, 12),
        (None, 21, 903),  # a node that was there before: one more of the rollout's pods
        (20, 18, 903),  # before its node was: a pod that waited
    ],
)
def test_a_daemon_pod_that_came_with_its_node_is_not_of_the_rollout(
    node_came: float | None, pod_came: float, took: float
) -> None:
    """Source: kubernetes `pkg/controller/daemon/daemon_controller.go` `manage` makes a node's first pod whether or not a rollout is under way."""
    late, own = copy.deepcopy(ON_LATER), node("later")
    own["metadata"]["creationTimestamp"] = iso(START + (-8_000 if node_came is None else node_came))
    late["metadata"]["creationTimestamp"] = iso(START + pod_came)
    late["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": iso(START + pod_came)},
        {"type": "Ready", "status": "True", "lastTransitionTime": iso(START + 903)},
    ]
    pods: list[tuple[int, str, float | None]] = [(2, NEW, START + 1), (1, NEW, START + 5), (0, NEW, START + 9)]
    past = rolled("DaemonSet", pods, at=START + 2_000, nodes=4, more=[own, late], current=NEW)
    assert past.ended == iso(START + took)


def event(reason: str, kind: str, name: str, at: float, message: str) -> Item:
    about = {"kind": kind, "name": name, "namespace": "" if kind == "Node" else "ml"}
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.{reason.lower()}", "namespace": "ml"},
        "involvedObject": about, "reason": reason, "message": message, "type": "Warning" if reason.startswith("Failed") else "Normal",
        "firstTimestamp": iso(at), "lastTimestamp": iso(at), "count": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("registered", "reason", "cure"),
    [
        (1_790, "RegisteredNode", HangCure.NODE_ADDED),
        (1_770, "RegisteredNode", HangCure.NODE_ADDED),
        (1_790, "NodeReady", HangCure.NOT_SEEN),  # it was there before
        (60, "RegisteredNode", HangCure.NOT_SEEN),  # long before: something else let the pod in
        (1_850, "RegisteredNode", HangCure.NOT_SEEN),  # a node of that name came after: it was made anew
    ],
)
def test_a_hang_that_a_new_node_ended_is_told_though_node_and_pod_are_gone(
    registered: float, reason: str, cure: HangCure
) -> None:
    """The first new pod waits for room for half an hour; what is left of it are events."""
    items = deployment("x", ["n-0"], pod_spec(), strategy=rolling(1, 0))
    own, older, last = items
    newer = copy.deepcopy(older)
    template = {"metadata": {"labels": {"app": "x", "pod-template-hash": "2"}}, "spec": pod_spec(cpu="2")}
    newer["metadata"] |= {"name": "x-2", "uid": "rs-2", "creationTimestamp": iso(START)}
    newer["spec"] |= {"template": template, "selector": {"matchLabels": {"pod-template-hash": "2"}}}
    older["metadata"]["creationTimestamp"] = iso(START - 9_000)
    older["spec"]["replicas"] = 0
    for number, one in enumerate((older, newer), 1):
        one["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": str(number)}
    own["metadata"]["creationTimestamp"] = iso(START - 9_000)
    own["spec"]["template"] = {**template, "metadata": {"labels": {"app": "x"}}}
    done = {
        "type": "Progressing",
        "status": "True",
        "reason": "NewReplicaSetAvailable",
        "lastUpdateTime": iso(START + 1_835),
    }
    own["status"] = {
        "replicas": 1,
        "updatedReplicas": 1,
        "availableReplicas": 1,
        "readyReplicas": 1,
        "conditions": [done],
    }
    last["metadata"] |= {"name": "x-2-b", "uid": "x-2-b", "creationTimestamp": iso(START + 5_000)}
    last["metadata"]["labels"] = template["metadata"]["labels"]
    last["metadata"]["ownerReferences"] = [owner("ReplicaSet", "x-2", "rs-2")]
    events = [
        event("ScalingReplicaSet", "Deployment", "x", START, "Scaled up replica set x-2 from 0 to 1"),
        event("SuccessfulCreate", "ReplicaSet", "x-2", START, "Created pod: x-2-a"),
        event("FailedScheduling", "Pod", "x-2-a", START + 1, "0/1 nodes are available: 1 Insufficient cpu."),
        event("Scheduled", "Pod", "x-2-a", START + 1_800, "Successfully assigned ml/x-2-a to new-1"),
        event(reason, "Node", "new-1", START + registered, f"Node new-1 event: {reason}"),
    ]
    cluster = compiled(read_items([node("n-0"), own, older, newer, last, *events], taken_at=START + 7_200))
    past = latest_rollout(cluster, cluster.snapshot.workloads[0])
    assert past is not None
    assert (past.course, past.cure) == (PastCourse.HUNG_THEN_CURED, cure)


def revised(made: list[float], pods: list[Item], events: list[Item], *, at: float) -> Cluster:
    """A Deployment of which each number is when a ReplicaSet was made; the last holds its pods."""
    own, first, last = deployment("x", ["n-0"], pod_spec(), strategy=rolling(1, 0), replicas=len(pods))
    items = [node("n-0"), own, *events]
    for number, begun in enumerate(made, 1):
        one = copy.deepcopy(first)
        template = {
            "metadata": {"labels": {"app": "x", "pod-template-hash": str(number)}},
            "spec": pod_spec(cpu=str(number)),
        }
        one["metadata"] |= {"name": f"x-{number}", "uid": f"rs-{number}", "creationTimestamp": iso(begun)}
        one["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": str(number)}
        one["spec"] |= {"template": template, "selector": {"matchLabels": {"pod-template-hash": str(number)}}}
        one["spec"]["replicas"] = len(pods) if number == len(made) else 0
        items.append(one)
    own["metadata"]["creationTimestamp"] = iso(made[0])
    own["spec"]["template"] = {"metadata": {"labels": {"app": "x"}}, "spec": pod_spec(cpu=str(len(made)))}
    done = {
        "type": "Progressing",
        "status": "True",
        "reason": "NewReplicaSetAvailable",
        "lastUpdateTime": iso(at - 100),
    }
    counts = ("replicas", "updatedReplicas", "availableReplicas", "readyReplicas")
    own["status"] = {**dict.fromkeys(counts, len(pods)), "conditions": [done]}
    for one in pods:
        copied = {**copy.deepcopy(last), **one}
        copied["metadata"] = {
            **last["metadata"],
            **one["metadata"],
            "labels": {"app": "x", "pod-template-hash": str(len(made))},
        }
        copied["metadata"]["ownerReferences"] = [owner("ReplicaSet", f"x-{len(made)}", f"rs-{len(made)}")]
        items.append(copied)
    return compiled(read_items(items, taken_at=at))


def stood(name: str, made: float, scheduled: float, ready: float) -> Item:
    conditions = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": iso(scheduled)},
        {"type": "Ready", "status": "True", "lastTransitionTime": iso(ready)},
    ]
    status = {"phase": "Running", "conditions": conditions}
    return {"metadata": {"name": name, "uid": name, "creationTimestamp": iso(made)}, "status": status}


@pytest.mark.parametrize(("left", "course"), [(0, PastCourse.COMPLETED), (1, PastCourse.OVERTAKEN)])
def test_a_rollout_that_another_followed_was_complete_once_its_events_say_that_all_old_pods_went(
    left: int, course: PastCourse
) -> None:
    """Source: kubernetes `pkg/controller/deployment/sync.go` `scaleReplicaSet` writes from how many pods to how many."""
    events = [
        event("ScalingReplicaSet", "Deployment", "x", START, "Scaled up replica set x-2 from 0 to 1"),
        event("SuccessfulCreate", "ReplicaSet", "x-2", START, "Created pod: x-2-a"),
        event("Started", "Pod", "x-2-a", START + 3, "Started container main"),
        event("ScalingReplicaSet", "Deployment", "x", START + 4, f"Scaled down replica set x-1 from 2 to {left}"),
    ]
    for number, one in enumerate(events):
        one["metadata"]["name"] = f"told-{number}"
    pods = [stood("x-3-a", START + 15, START + 15, START + 18)]
    found = {
        one.revision: one
        for one in past_rollouts(revised([START - 9_000, START, START + 15], pods, events, at=START + 900))
    }
    assert found[2].course is course


@pytest.mark.parametrize(
    ("first_ready", "cure"),
    [
        (1_806, HangCure.STRATEGY_CHANGED),  # after the old one had gone: it made the room
        (3, HangCure.NOT_SEEN),  # before: an old one goes for each that got Ready, as the strategy always allowed
    ],
)
def test_old_pods_that_went_before_a_new_one_was_ready_tell_of_another_strategy(
    first_ready: float, cure: HangCure
) -> None:
    """Of two new pods one waits for half an hour. Source: kubernetes `pkg/controller/deployment/rolling.go` `reconcileOldReplicaSets`."""
    events = [
        event("ScalingReplicaSet", "Deployment", "x", START, "Scaled up replica set x-2 from 0 to 2"),
        event("FailedScheduling", "Pod", "x-2-b", START + 1, "0/1 nodes are available: 1 Insufficient cpu."),
        event("ScalingReplicaSet", "Deployment", "x", START + 1_800, "Scaled down replica set x-1 from 2 to 0"),
    ]
    for number, one in enumerate(events):
        one["metadata"]["name"] = f"told-{number}"
    pods = [
        stood("x-2-a", START, START + (1_801 if first_ready > 1_800 else 0), START + first_ready),
        stood("x-2-b", START, START + 1_801, START + 1_806),
    ]
    cluster = revised([START - 9_000, START], pods, events, at=START + 7_200)
    past = latest_rollout(cluster, cluster.snapshot.workloads[0])
    assert past is not None
    assert (past.course, past.cure) == (PastCourse.HUNG_THEN_CURED, cure)


def test_the_time_that_is_looked_back_begins_with_the_first_rollout() -> None:
    pods = [stood("x-3-a", START + 3_600, START + 3_600, START + 3_603)]
    found = review(revised([START - 9_000, START, START + 3_600], pods, [], at=START + 7_200))
    assert len({one.began for one in found.rollouts}) == 2
    assert str(found.sentence).startswith("in what this snapshot still shows (2 h): 2 rollouts")
    none = review(revised([START - 9_000], [stood("x-1-a", START, START, START + 3)], [], at=START + 7_200))
    assert str(none.sentence) == "this snapshot shows no past rollout"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("Error: InvalidImageName", HangCause.IMAGE_PULL),
        ('Failed to pull image "app:2": not found', HangCause.IMAGE_PULL),
        ("Error: CreateContainerError", HangCause.CRASH_LOOP),
        ('Error: secret "token" not found', HangCause.CRASH_LOOP),
    ],
)
def test_of_failed_containers_those_without_their_image_are_told_apart(message: str, cause: HangCause) -> None:
    """Source: kubernetes `pkg/kubelet/images/types.go`: the errors of a pull; the rest is of the container's start."""
    failed = event("Failed", "Pod", "x-1", START, message)
    assert [of_event(one) for one in read_items([failed]).events] == [cause]
