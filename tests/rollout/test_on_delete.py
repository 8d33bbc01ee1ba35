"""OnDelete: old pods stay until somebody deletes them, and of a new workload there are none.

Source: kubernetes `pkg/controller/daemon/daemon_controller.go` `updateDaemonSet` and `manage`,
`pkg/controller/statefulset/stateful_set_utils.go` `isCurrentRevisionNeeded`.
"""

from __future__ import annotations

import copy

import pytest

from planner.ground.exit_status import ExitStatus
from planner.rollout.answers import Reason, RemedyKind, Verdict
from planner.serve.admission_review import Silence
from tests.builders.objects import Item, node, pod, pod_spec, snapshot
from tests.rollout.rollouts import daemon_set, roll, stateful_set
from tests.rules.manifest_doors import Doors, ask_doors

ON_DELETE = {"type": "OnDelete"}
SETS = {"DaemonSet": daemon_set, "StatefulSet": stateful_set}


def told(kind: str, *, is_new: bool, asks: str = "100m", nodes: tuple[str, ...] = ("a", "b")) -> Doors:
    """A workload with OnDelete on two nodes: a new one, or a new image of one with pods on `nodes`."""
    there, *pods = SETS[kind]("driver", nodes, pod_spec(cpu="100m"), updateStrategy=ON_DELETE)
    written = copy.deepcopy(there)
    del written["status"]
    written["spec"]["template"]["spec"] = pod_spec(cpu=asks)
    written["spec"]["template"]["spec"]["containers"][0]["image"] = "driver:2"
    written["spec"]["replicas"] = 2
    if kind == "DaemonSet":
        del written["spec"]["replicas"]
    beside = () if is_new else (there, *pods)
    return ask_doors(
        snapshot(node("a"), node("b"), pod("other", pod_spec(cpu="100m"), on="a"), *beside),
        written,
        None if is_new else there,
    )


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize(
    ("is_new", "nodes", "completes"),
    [(True, (), True), (False, (), True), (False, ("a",), False), (False, ("a", "b"), False)],
)
def test_only_old_pods_keep_a_change_from_completing(
    kind: str, is_new: bool, nodes: tuple[str, ...], completes: bool
) -> None:
    doors = told(kind, is_new=is_new, nodes=nodes)
    assert doors.rollout.verdict is (Verdict.COMPLETES if completes else Verdict.STUCK)
    assert doors.rollout.reason is (Reason.NONE if completes else Reason.ON_DELETE)
    assert doors.gate.exit_status == (ExitStatus.ANSWERED if completes else ExitStatus.STUCK)
    assert doors.webhook.is_stuck is not completes
    assert doors.webhook.silence is (Silence.COMPLETES if completes else None)


@pytest.mark.parametrize("kind", SETS)
def test_a_new_one_without_room_lacks_room(kind: str) -> None:
    doors = told(kind, is_new=True, asks="99")
    assert doors.rollout.reason is Reason.INSUFFICIENT_RESOURCE
    assert "OnDelete" not in str(doors.rollout.sentence)
    assert doors.gate.exit_status == ExitStatus.STUCK


@pytest.mark.parametrize("kind", SETS)
def test_old_pods_may_stay_where_the_template_does(kind: str) -> None:
    """An earlier change left pods of two revisions; what is changed now makes no new one."""
    objects = SETS[kind]("driver", ("a", "b"), pod_spec(), updateStrategy=ON_DELETE)
    objects[-1]["metadata"]["labels"]["controller-revision-hash"] = "driver-2"
    status: Item = {"currentRevision": "driver-1", "updateRevision": "driver-2"}
    objects[0]["status"] = status if kind == "StatefulSet" else {}
    kept = {"spec": {"minReadySeconds": 5}}
    run = roll(node("a"), node("b"), objects, key=f"{kind}/ml/driver", patch=kept, new_revision=False)
    assert run.completed


@pytest.mark.parametrize("kind", SETS)
def test_the_way_out_rolls_it_out_and_waits_for_the_new_pods(kind: str) -> None:
    """kubectl `pkg/polymorphichelpers/rollout_status.go` refuses OnDelete only; that old pods are Ready is no sign of the new ones."""
    remedies = told(kind, is_new=False, nodes=("a", "b")).rollout.remedies
    switched = next(remedy for remedy in remedies if remedy.kind is RemedyKind.SWITCH_STRATEGY)
    assert '"type": "RollingUpdate"' in switched.steps[0].commands[0]
    assert '"type": "OnDelete"' in switched.steps[0].undo[0]
    waits = [command for step in switched.steps for command in step.commands[1:]]
    assert [wait.split(f" {kind.lower()}/")[0] for wait in waits] == ["kubectl rollout status"]


@pytest.mark.parametrize("kind", SETS)
def test_without_old_pods_there_is_nothing_to_find_a_way_out_of(kind: str) -> None:
    assert not told(kind, is_new=False, nodes=()).rollout.remedies
