"""A workload that is changed again while its rollout goes on: a fix on top, an undo, another strategy, fewer replicas."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if_syntax import parse_later
from planner.cli import main
from planner.ground.errors import NotKnownError
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Bearing, Reason, RolloutResult, Verdict, WorkloadRollout
from planner.rollout.in_flight import in_flight
from planner.rollout.prepared_change import Scenario, compiled
from planner.rollout.run import WHEN_AT_REST, Revision, simulate
from planner.rollout.scaled_cluster import scaled
from planner.scheduling.cluster import Cluster
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.collection.clusters import whole
from tests.rollout.rollouts import WORKER, daemon_set, revision, rolling, stateful_set
from tests.rollout.test_scaled import KINDS, gpus
from tests.stories.catalogue import _lws
from tests.stories.objects import of_rollout

SURGE, SWAP = rolling(1, 0), rolling(0, 1)


def image(items: list[Item], tag: str, **spec: Any) -> str:
    """The workload of `items` as a manifest with another image, and `spec` over its own."""
    made = copy.deepcopy(items[0])
    made.pop("status", None)
    made["spec"] |= spec
    made["spec"]["template"]["spec"]["containers"][0]["image"] = f"registry.example/app:{tag}"
    return json.dumps(made)


def again(found: Snapshot, key: str, *changes: tuple[str, str], first: str = "", **change: Any) -> RolloutResult:
    """The rollout of `key` (`first`: a manifest, else it is restarted), and what is applied at its times."""
    later = parse_later(";".join(f"{time}:apply:f.yaml" for time, _ in changes))
    beside = LaterEvents(later=later, manifests=tuple(text for _, text in changes), first=(key,))
    scenario = Scenario(manifest=first) if first else Scenario(changes=(WorkloadChange(workload=key, **change),))
    return rollout(found, scenario, beside=beside)


def full(count: int, replicas: int = 2, strategy: Item = SURGE) -> tuple[Snapshot, list[Item]]:
    """So many GPUs, `replicas` of which a Deployment has."""
    items = deployment("worker", ["gpu-0"] * replicas, pod_spec(gpus=1), strategy=strategy)
    return whole(gpus(count), items), items


def test_another_strategy_on_top_lets_a_stuck_rollout_through() -> None:
    """evapply4: two GPUs, both held, maxSurge 1: stuck until somebody applies maxUnavailable 1."""
    found, items = full(2)
    stuck = rollout(found, Scenario(changes=(WorkloadChange(workload=WORKER),)))
    assert (stuck.verdict, stuck.reason) == (Verdict.STUCK, Reason.HOLD_AND_WAIT)
    answer = again(found, WORKER, ("5m", image(items, "2", strategy=SWAP)))
    assert answer.verdict is Verdict.COMPLETES
    assert answer.workloads[0].max_unavailable == 1
    (event,) = answer.meanwhile
    assert (event.happened, event.bearing, event.completes_without) == (True, Bearing.ANY_TIME, False)


def test_an_undo_takes_the_old_pods_back_and_needs_no_room() -> None:
    """The manifest of before: its ReplicaSet is there, and the new one's pod, which waits, goes."""
    found, items = full(2)
    undone = again(found, WORKER, ("5m", image(items, "1")), first=image(items, "2"))
    assert undone.verdict is Verdict.COMPLETES
    assert undone.workloads[0].lowest_ready == 2
    other = again(
        found, WORKER, ("5m", image(items, "3")), first=image(items, "2")
    )  # the opposite: one that isn't there
    assert (other.verdict, other.reason) == (Verdict.STUCK, Reason.HOLD_AND_WAIT)


def test_a_fix_on_top_of_pods_that_never_get_ready() -> None:
    """The commonest of all: the first template's pods are broken. They go, and those of the second get Ready."""
    found, items = full(3)
    broken = rollout(found, Scenario(changes=(WorkloadChange(workload=WORKER, never_ready=True),)))
    assert (broken.verdict, broken.reason) == (Verdict.STUCK, Reason.NEVER_READY)
    fixed = again(found, WORKER, ("5m", image(items, "3")), never_ready=True)
    assert (fixed.verdict, fixed.workloads[0].lowest_ready) == (Verdict.COMPLETES, 2)


@pytest.mark.parametrize(("replicas", "verdict"), [(1, Verdict.COMPLETES), (2, Verdict.STUCK), (3, Verdict.STUCK)])
def test_fewer_replicas_with_the_second_change_leave_room(replicas: int, verdict: Verdict) -> None:
    found, items = full(2)
    answer = again(found, WORKER, ("5m", image(items, "3", replicas=replicas)), first=image(items, "2"))
    assert (answer.verdict, answer.workloads[0].replicas) == (verdict, replicas)


def test_what_is_larger_finds_no_room_any_more() -> None:
    """evapply4-002-bigger: the second asks for two GPUs a pod."""
    found, items = full(3)
    larger = json.loads(image(items, "3"))
    larger["spec"]["template"]["spec"] = pod_spec(gpus=2)
    answer = again(found, WORKER, ("10s", json.dumps(larger)), first=image(items, "2"))
    assert (answer.verdict, answer.workloads[0].requests["nvidia.com/gpu"]) == (Verdict.STUCK, 2)
    assert again(found, WORKER, ("10s", image(items, "3")), first=image(items, "2")).verdict is Verdict.COMPLETES


def test_a_stateful_set_goes_to_the_second_revision_and_back_to_the_first() -> None:
    items = stateful_set("worker", ["gpu-0"] * 3, pod_spec(gpus=1))
    found, key = whole(gpus(3), items), "StatefulSet/ml/worker"
    for tag in ("3", "1"):
        answer = again(found, key, ("45s", image(items, tag)), first=image(items, "2"))
        assert (answer.verdict, answer.workloads[0].final["updatedReplicas"]) == (Verdict.COMPLETES, 3)
    forward, back = (
        again(found, key, ("45s", image(items, tag)), first=image(items, "2")).workloads[0].ticks for tag in ("3", "1")
    )
    assert back < forward  # the pods that weren't replaced yet stay


def changed_midway(before: int | None, limit: int | None, *, shows: bool) -> WorkloadRollout:
    """Eight parallel pods of a StatefulSet with a maxUnavailable, and another one applied while the first pods are being replaced; `shows`:
    a second StatefulSet tells that the API server has the field."""

    def strategy(most: int | None) -> Item:
        own = {} if most is None else {"maxUnavailable": most}
        return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": own}}

    more = {"podManagementPolicy": "Parallel", **strategy(before)}
    items = stateful_set("worker", ["gpu-0"] * 8, pod_spec(gpus=1), **more)
    other = stateful_set("other", [], pod_spec(), **strategy(1)) if shows else []
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(items[0])}
    items[0]["metadata"]["annotations"] = applied  # so that what the second manifest leaves out goes
    found = whole(gpus(8), items, other)
    answer = again(found, "StatefulSet/ml/worker", ("10s", image(items, "2", **strategy(limit))))
    assert answer.verdict is Verdict.COMPLETES
    return answer.workloads[0]


def test_how_many_of_a_stateful_set_go_at_once_is_what_the_second_change_says() -> None:
    assert changed_midway(None, None, shows=True).lowest_ready == 7
    assert changed_midway(None, 3, shows=True).lowest_ready == 5
    assert (
        changed_midway(2, 2, shows=True).ticks < changed_midway(2, None, shows=True).ticks
    )  # 1 where it isn't there any more


def test_an_api_server_without_the_field_keeps_it_out_of_the_second_change_too() -> None:
    """Source: kubernetes `pkg/registry/apps/statefulset/strategy.go` `dropStatefulSetDisabledFields`."""
    assert changed_midway(None, 3, shows=False).lowest_ready == 7


def test_a_daemon_set_is_changed_again() -> None:
    nodes = [node(f"n-{number}") for number in range(3)]
    items = daemon_set("agent", [f"n-{number}" for number in range(3)], pod_spec())
    found, key = whole(nodes, items), "DaemonSet/ml/agent"
    answer = again(found, key, ("45s", image(items, "3")), first=image(items, "2"))
    assert (answer.verdict, answer.workloads[0].final["updatedNumberScheduled"]) == (Verdict.COMPLETES, 3)
    assert answer.ticks > rollout(found, Scenario(manifest=image(items, "2"))).ticks


def test_three_changes_are_played_and_the_last_one_counts() -> None:
    found, items = full(2)
    answer = again(
        found, WORKER, ("2m", image(items, "3")), ("4m", image(items, "4", strategy=SWAP)), first=image(items, "2")
    )
    assert answer.verdict is Verdict.COMPLETES
    assert [event.bearing for event in answer.meanwhile] == [Bearing.UNKNOWN] * 2
    back = again(
        found, WORKER, ("2m", image(items, "3", strategy=SWAP)), ("2h", image(items, "4")), first=image(items, "2")
    )
    assert back.verdict is Verdict.STUCK  # the third has maxSurge 1 again, when the second is done


def test_one_that_is_rolling_out_in_the_snapshot_is_changed_on_top() -> None:
    """Its new ReplicaSet is there already, with a pod that waits; another Deployment is what is asked about."""
    items = deployment("worker", ["gpu-0"] * 2, pod_spec(gpus=1), strategy=SURGE)
    newer = copy.deepcopy(items[1])
    newer["metadata"] |= {"name": "worker-2", "uid": "rs-worker-2"}
    for labels in (newer["spec"]["selector"]["matchLabels"], newer["spec"]["template"]["metadata"]["labels"]):
        labels["pod-template-hash"] = "2"
    newer["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/app:2"
    newer["spec"]["replicas"] = 1
    items[0]["spec"]["template"] = copy.deepcopy(newer["spec"]["template"])
    other = deployment("other", ["cpu-0"], pod_spec())
    found = whole(gpus(2), node("cpu-0", cpu="8"), items, newer, other)
    text = image(items, "3", strategy=SWAP)
    answer = again(found, "Deployment/ml/other", ("5m", text))
    assert {one.workload: one.verdict for one in answer.workloads} == {
        "Deployment/ml/other": Verdict.COMPLETES, WORKER: Verdict.COMPLETES
    }  # fmt: skip
    stays = again(found, "Deployment/ml/other", ("5m", image(items, "3")))
    assert {one.workload: one.verdict for one in stays.workloads}[WORKER] is Verdict.STUCK


@pytest.mark.parametrize("kind", ["Rollout", "LeaderWorkerSet"])
def test_of_other_kinds_it_is_not_known(kind: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    items = of_rollout(["gpu-0"] * 2, {"canary": {}}, gpus=1) if kind == "Rollout" else _lws(1, 0, 1)
    nodes = [node(f"gpu-{number}", pool="gpu", gpus=16, cpu="64", memory="256Gi") for number in range(2)]
    key, text = f"{kind}/ml/app", json.dumps({k: v for k, v in items[0].items() if k != "status"})
    with pytest.raises(NotKnownError, match="two changes of such a workload aren't played"):
        again(whole(nodes, items), key, ("5m", text))
    for name, content in (
        ("c.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *items]})),
        ("m.json", text),
    ):
        (tmp_path / name).write_text(content)
    with pytest.raises(SystemExit) as ended:
        main(["rollout", str(tmp_path / "c.json"), "-w", key, "--then", f"5m:apply:{tmp_path / 'm.json'}"])
    assert ended.value.code == 4
    written = capsys.readouterr()
    assert "two changes of such a workload aren't played" in written.out + written.err


@pytest.mark.parametrize("replicas", [0, 1, 2, 4, 6])
@pytest.mark.parametrize("count", [4, 6, 9])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_rollout_of_what_was_scaled_is_that_after_scaling_it_in_one_run(kind: str, count: int, replicas: int) -> None:
    """The state after `scaled` is what the engine leaves: asked of it, a restart comes to what it comes to in the same run."""
    key, made = KINDS[kind]
    found = whole(gpus(count), made())
    workload = found.workload(key)
    assert workload is not None
    there, _ = scaled(found, workload, replicas)
    apart = simulate(compiled(there), [revision(there, key)])
    scaling = revision(found, key, replicas=replicas, new_revision=False)
    restart = revision(there, key)
    after = Revision(before=scaling.after, after=scaling.after, has_new_template=True, after_seconds=WHEN_AT_REST)
    assert restart.has_new_template
    together = simulate(
        compiled(found), [Revision(before=workload, after=scaling.after, has_new_template=False, changes=(after,))]
    )
    assert (apart.done[key], dict(apart.status[key])) == (together.done[key], dict(together.status[key]))
    assert len(apart.waiting) == len(together.waiting)


def test_it_is_told_in_the_timeline_and_nothing_left_only_at_the_end() -> None:
    found, items = full(2)
    answer = again(found, WORKER, ("5m", image(items, "3", strategy=SWAP)), first=image(items, "2"))
    events = [row.event for row in answer.timeline]
    assert sum("meanwhile f.yaml is applied" in event for event in events) == 1
    assert not any("nothing left to do" in event for event in events[:-1])
    assert [row.tick for row in answer.timeline] == sorted(row.tick for row in answer.timeline)
    assert (
        answer.ticks == rollout(found, Scenario(manifest=image(items, "3", strategy=SWAP))).ticks
    )  # waiting is no step


@pytest.mark.parametrize(("says", "replicas"), [(True, 2), (False, 1)])
def test_a_second_change_that_says_nothing_of_replicas_leaves_those_there_are_then(says: bool, replicas: int) -> None:
    """Somebody scales it to 1 in between; a manifest with replicas sets them back, one without leaves them."""
    found, items = full(4)
    manifest = json.loads(image(items, "3"))
    if not says:
        del manifest["spec"]["replicas"]
    events = parse_later(f"1m:replicas:{WORKER}=1;3m:apply:f.yaml")
    beside = LaterEvents(later=events, manifests=(json.dumps(manifest),), first=(WORKER,))
    answer = rollout(found, Scenario(changes=(WorkloadChange(workload=WORKER),)), beside=beside)
    assert (answer.verdict, answer.workloads[0].final["replicas"]) == (Verdict.COMPLETES, replicas)


def test_what_was_restarted_is_at_rest_whatever_is_asked_next() -> None:
    """`kubectl rollout restart` makes another template: scaled afterwards, a Deployment adds pods to its new ReplicaSet, and rolls nothing
    back to the oldest with the template that it has."""
    found = snapshot(node("n-0", gpus=3), deployment("a", ["n-0", "n-0"], pod_spec(gpus=1)))
    (before,) = found.workloads
    restarted = simulate(Cluster(found), [Revision(before=before, after=before, has_new_template=True)])
    after = Cluster(restarted.simulation.snapshot_now())
    assert not in_flight(after)
    (own,) = after.snapshot.workloads
    more = simulate(after, [Revision(before=own, after=replace(own, replicas=3), has_new_template=False)])
    assert more.done[own.key]
    names = {pod.name for pod in restarted.simulation.snapshot_now().pods}
    assert names < {pod.name for pod in more.simulation.snapshot_now().pods}, "those that it had are kept"
