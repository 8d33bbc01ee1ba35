"""What kubelets do once pods are bound, as the snapshot tells: pods that they refuse, and images that they have to pull first."""

from __future__ import annotations

import copy
import json

import pytest

from planner.kubernetes.records import Snapshot
from planner.questions import gate
from planner.questions.gate import GateAnswer, GateSettings
from planner.questions.question import Given
from planner.rollout.answers import Verdict
from planner.rollout.doubts import Effect
from tests.builders.objects import WHOLE, Item, deployment, node, owner, pod, pod_spec
from tests.builders.objects import snapshot as read

BY = owner("ReplicaSet", "worker-1", "rs-worker")


def refused(reason: str, *, on: str = "g0", count: int = 1, by: Item = BY, phase: str = "Failed") -> list[Item]:
    made = [pod(f"refused-{on}-{i}", pod_spec(gpus=1), on=on, owner=by) for i in range(count)]
    for one in made:
        one["status"] = {"phase": phase, "reason": reason, "message": "Pod was rejected: no NUMA node has them"}
    return made


def asked(
    *items: Item | list[Item], image: str = "app:2", nodes: list[Item] | None = None
) -> tuple[Snapshot, GateAnswer]:
    mine = deployment("worker", ["g0"], pod_spec(gpus=1))
    found = read(WHOLE, *(nodes or [node("g0", gpus=8)]), mine, *items)
    manifest = copy.deepcopy(mine[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return found, gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Given(now=found.taken_at))


def said(answer: GateAnswer, effect: Effect = Effect.VERDICT) -> list[str]:
    return [str(one.why) for one in answer.doubts if one.could_change is effect]


# ── refused ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "reason",
    [
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "OutOfephemeral-storage",
        "OutOfcpu",
        "NodeAffinity",
        "SMTAlignmentError",
    ],
)
def test_pods_that_a_kubelet_refused_take_the_proof_away(reason: str) -> None:
    _, answer = asked(refused(reason))
    assert answer.workloads[0].verdict is Verdict.COMPLETES
    (why,) = said(answer)
    assert why.startswith(f"the kubelet of g0 refused 1 pod of Deployment/ml/worker ({reason}: Pod was rejected")
    assert "in a loop" not in why


def test_pods_refused_and_made_again_are_a_loop() -> None:
    (why,) = said(asked(refused("TopologyAffinityError", count=4))[1])
    assert "refused 4 pods" in why
    assert why.endswith("; ReplicaSet worker-1 makes each anew at once, in a loop")


def test_others_that_were_refused_count_where_the_new_pods_are() -> None:
    elsewhere = deployment("other", ["g1"], pod_spec())
    by = owner("ReplicaSet", "other-1", "rs-other")
    nodes = [node("g0", gpus=8), node("g1")]
    _, near = asked(elsewhere, refused("TopologyAffinityError", on="g0", by=by), nodes=nodes)
    (why,) = said(near)
    assert "refused 1 pod of Deployment/ml/other" in why
    _, far = asked(elsewhere, refused("TopologyAffinityError", on="g1", by=by), nodes=nodes)
    assert said(far) == []


@pytest.mark.parametrize(
    "items", [refused("Evicted"), refused("DeadlineExceeded"), refused("", phase="Succeeded"), []], ids=["evicted", "late", "done", "none"]
)  # fmt: skip
def test_pods_that_ended_otherwise_take_no_proof_away(items: list[Item]) -> None:
    assert said(asked(items)[1]) == []


# ── pulled ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def listing(name: str, *images: str, gigabytes: int = 7, gpus: int = 8) -> Item:
    made = node(name, gpus=gpus)
    made["status"]["images"] = [{"names": [one], "sizeBytes": gigabytes * 10**9} for one in images]
    return made


@pytest.mark.parametrize(
    ("image", "here", "there", "size"),
    [
        ("app:2", ["docker.io/library/app:1"], ["docker.io/library/app:2"], ", 6.52 GiB,"),
        ("app:2", ["docker.io/library/app:1"], ["other:1"], ""),  # nobody tells how large it is
        ("app:2", ["docker.io/library/app:2"], [], None),  # it is there
        ("app", ["docker.io/library/app:latest"], [], None),
        ("reg.example.com/app:2", ["reg.example.com/app:2"], [], None),
        ("app:2", [], ["docker.io/library/app:2"], None),  # the node tells of no images
        ("app:2", [f"other:{i}" for i in range(50)], [], None),  # it may have more than it lists
    ],
)
def test_a_pull_is_named_where_it_will_happen(image: str, here: list[str], there: list[str], size: str | None) -> None:
    """It changes no verdict and takes no proof away: only the time."""
    _, answer = asked(image=image, nodes=[listing("g0", *here), listing("g1", *there, gpus=0)])
    assert answer.workloads[0].verdict is Verdict.COMPLETES
    assert said(answer) == []
    found = said(answer, Effect.TIME)
    assert found == ([] if size is None else [f"new pods pull {image}{size} where they come to g0, which lacks it"])


@pytest.mark.parametrize(
    ("image", "reason", "is_said"),
    [
        ("app:2", "ErrImagePull", True),
        ("app:2", "ImagePullBackOff", True),
        ("app:3", "ErrImagePull", False),
        ("app:2", "CrashLoopBackOff", False),
    ],
)
def test_an_image_that_cannot_be_pulled_today_takes_the_proof_away(image: str, reason: str, is_said: bool) -> None:
    """Of the revision in flight, or of anybody: a change to the same image is the same pull."""
    spec = pod_spec(gpus=1)
    spec["containers"][0] |= {"name": "main", "image": "app:2"}
    failing = pod("other-0", spec, on="g0")
    container = {
        "name": "main",
        "ready": False,
        "restartCount": 0,
        "image": "app:2",
        "imageID": "",
        "state": {"waiting": {"reason": reason}},
    }
    failing["status"] |= {"phase": "Pending", "containerStatuses": [container]}
    failing["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    _, answer = asked(failing, image=image)
    assert answer.workloads[0].verdict is Verdict.COMPLETES
    words = f"app:2 can't be pulled for pod ml/other-0 on g0 ({reason})"
    assert said(answer) == ([words] if is_said else [])
