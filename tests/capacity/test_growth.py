"""The third verdict: what a pool's growth would bring, and where it ends."""

from __future__ import annotations

from typing import Any

import pytest

from planner.capacity import scale_up_simulation
from planner.capacity.node_pools import pools
from planner.capacity.scale_up_simulation import new_nodes
from planner.ground.records import replace
from planner.inventory.autoscaler_flags import Autoscaling
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import LimitSource, PoolLimits, parse_typed_limits
from planner.kubernetes.node_properties import GPU_NODE_ARRIVAL_SECONDS, NODE_ARRIVAL_SECONDS
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.remedies import rollout_with_remedies
from planner.rollout import prepared_change as prepared_question
from planner.rollout.answers import Reason, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.run import Run, simulate
from planner.scheduling.cluster import Cluster
from planner.sources import demo, node_pool_files
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot

SURGE_ONLY: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}


def asked(
    cluster: Snapshot, *limits: PoolLimits, workload: str = "Deployment/ml/a", seconds: float | None = None
) -> RolloutResult:
    scenario = Scenario(changes=(WorkloadChange(workload=workload),), runs=1, with_remedies=False)
    return rollout_with_remedies.rollout(
        cluster, scenario, pools(prepared_question.compiled(cluster), limits), Autoscaling(arrival_seconds=seconds)
    )


def full(*more: Item | list[Item]) -> Snapshot:
    nodes = [node(f"n{i}", pool="t4", gpus=1, zone="ab"[i % 2]) for i in range(2)]
    return snapshot(nodes, deployment("a", ["n0", "n1"], pod_spec(gpus=1), **SURGE_ONLY), *more)


def test_a_pool_with_room_makes_the_stuck_rollout_one_that_needs_growth() -> None:
    found = asked(full(), *parse_typed_limits("t4=5"))
    assert (found.verdict, found.reason) == (Verdict.NEEDS_GROWTH, Reason.HOLD_AND_WAIT)
    assert str(found.growth) == "completes if pool t4 grows by 1 node (2 → 3, max 5)"
    assert "Today it is stuck: the new pod needs 1 nvidia.com/gpu" in str(found.sentence)
    assert found.capacity["nvidia.com/gpu"] == 3
    assert found.workloads[0].final["updatedReplicas"] == 2


def test_without_pools_nothing_is_different() -> None:
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/a"),), runs=1, with_remedies=False)
    found = rollout_with_remedies.rollout(full(), scenario)
    assert (found.verdict, str(found.growth)) == (Verdict.STUCK, "")


def test_at_its_maximum_the_limit_is_named() -> None:
    found = asked(full(), *parse_typed_limits("t4=2"))
    assert found.verdict is Verdict.STUCK
    assert str(found.growth) == "pool t4 would need 1 more node; its maximum is 2 (typed)"
    assert str(found.sentence).endswith(str(found.growth))


def test_an_unknown_maximum_is_said_so() -> None:
    found = asked(full())
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert str(found.growth) == "completes if pool t4 grows by 1 node (2 → 3, its maximum is unknown)"


def waits(priority: int | None = None) -> list[Item]:
    spec = pod_spec(gpus=1) | ({"priority": priority} if priority is not None else {})
    return deployment("b", [""], spec)


def test_who_of_equals_gets_the_only_node_that_comes_is_chance() -> None:
    found = asked(full(waits()), *parse_typed_limits("t4=3"))
    assert found.verdict is Verdict.UNKNOWN
    assert "to Deployment/ml/b, which waits with the same priority, or to its own pods is chance" in str(found.sentence)
    assert found.ties is None


def test_a_node_that_goes_to_a_higher_priority_is_no_chance() -> None:
    found = asked(full(waits(1000)), *parse_typed_limits("t4=3"))
    assert found.verdict is Verdict.STUCK
    assert "chance" not in str(found.sentence)


def test_a_fixed_size_is_a_limit() -> None:
    fixed = PoolLimits(name="t4", source=LimitSource.GCLOUD, is_autoscaled=False)
    assert str(asked(full(), fixed).growth).endswith("; its size is fixed (gcloud node-pools list)")


def test_karpenters_limit_on_gpus_ends_the_growth() -> None:
    limit = PoolLimits(
        name="t4", source=LimitSource.KARPENTER, is_autoscaled=True, resource_limits=FrozenMap({"nvidia.com/gpu": 2})
    )
    assert "above its limits on nvidia.com/gpu (3 of 2) (Karpenter NodePool)" in str(asked(full(), limit).growth)
    more = replace(limit, resource_limits=FrozenMap({"nvidia.com/gpu": 3}))
    assert asked(full(), more).verdict is Verdict.NEEDS_GROWTH


def test_as_few_nodes_as_do() -> None:
    """Three pods wait already and are served first; so four nodes are the fewest."""
    waiting = deployment("b", ["", "", ""], pod_spec(gpus=1))
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    for pod in waiting[2:]:
        pod["spec"] = {**pod["spec"], "priority": 9, "priorityClassName": "high", "preemptionPolicy": "Never"}
    found = asked(full(high, waiting), *parse_typed_limits("t4=20"))
    assert str(found.growth) == (
        "completes if pool t4 grows by 4 nodes (2 → 6, max 20); of the new nodes go 3 to Deployment/ml/b, which waits too"
    )


def test_the_pool_that_needs_fewest_and_is_known_to_have_room_is_chosen() -> None:
    other = deployment("b", ["big", "big"], pod_spec(gpus=1))
    found = asked(full(node("big", pool="other", gpus=2), other), *parse_typed_limits("other=3"))
    assert str(found.growth) == "completes if pool other grows by 1 node (1 → 2, max 3)"


def test_a_pool_that_would_not_take_the_pod_is_left_alone() -> None:
    found = asked(full(node("c0", pool="cpu")), *parse_typed_limits("t4=2,cpu=50"))
    assert found.verdict is Verdict.STUCK


def test_waiting_for_the_node_is_in_the_duration() -> None:
    found = asked(full(), *parse_typed_limits("t4=5"))
    with_gpu = found.workloads[0].seconds
    assert with_gpu == pytest.approx(
        asked(full(), *parse_typed_limits("t4=5"), seconds=0).seconds + GPU_NODE_ARRIVAL_SECONDS
    )
    assert found.timeline[-1].seconds == with_gpu
    assert GPU_NODE_ARRIVAL_SECONDS > NODE_ARRIVAL_SECONDS
    until = [row for row in found.timeline if row.seconds < GPU_NODE_ARRIVAL_SECONDS]
    assert [row.counts["pending"] for row in until] == [0, 1]
    assert until[-1].event.endswith("nodes are on their way")


def test_quota_is_nothing_growth_can_fix() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ml"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "2"}},
        "status": {"hard": {"requests.nvidia.com/gpu": "2"}, "used": {"requests.nvidia.com/gpu": "2"}},
    }
    assert asked(full(quota), *parse_typed_limits("t4=5")).verdict is Verdict.STUCK


def test_new_nodes_balance_zones_and_keep_a_zones_limit() -> None:
    cluster = Cluster(
        snapshot(node("n0", pool="p", zone="a"), node("n1", pool="p", zone="a"), node("n2", pool="p", zone="b"))
    )
    (pool,) = pools(cluster)
    made = [n.labels["topology.kubernetes.io/zone"] for n in new_nodes(cluster, pool, 3)]
    assert made == ["b", "a", "b"]
    capped = replace(pool, maximum_per_zone=2)
    assert [n.labels["topology.kubernetes.io/zone"] for n in new_nodes(cluster, capped, 2)] == ["b", "a"]


def test_a_new_nodes_daemons_are_set_aside() -> None:
    daemon: Item = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "ml", "uid": "agent"},
        "spec": {"selector": {}, "template": {"metadata": {}, "spec": pod_spec(cpu="500m")}},
    }
    cluster = Cluster(snapshot(node("n0", pool="p"), daemon))
    (made,) = new_nodes(cluster, pools(cluster)[0], 1)
    assert (made.allocatable["cpu"], made.allocatable["pods"]) == (7_500, 109)


def test_the_demos_a100_pool_is_at_its_maximum() -> None:
    limits = node_pool_files.read(demo.node_pools_file())
    found = asked(demo.read(), *limits, workload="Deployment/prod/llm-serve")
    assert found.verdict is Verdict.STUCK
    assert "its maximum is 2 (gcloud node-pools list)" in str(found.sentence)


def test_a_joint_rollout_says_which_part_needs_growth() -> None:
    cluster = full(node("c0"), deployment("web", ["c0"], pod_spec()))
    scenario = Scenario(
        changes=(WorkloadChange(workload="Deployment/ml/web"), WorkloadChange(workload="Deployment/ml/a")),
        runs=1,
        with_remedies=False,
    )
    found = rollout_with_remedies.rollout(
        cluster, scenario, pools(prepared_question.compiled(cluster), parse_typed_limits("t4=5"))
    )
    assert [part.verdict for part in found.workloads] == [Verdict.COMPLETES, Verdict.NEEDS_GROWTH]
    assert str(found.sentence).startswith("1 of 2 rollouts finish; Deployment/ml/a completes if")


def test_a_growth_too_large_to_play_is_said_to_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*given: Any, **more: Any) -> Run:
        run = simulate(*given, **more)
        run.is_cut, run.completed = True, False
        return run

    monkeypatch.setattr(scale_up_simulation, "simulate", cut)
    found = asked(full(), *parse_typed_limits("t4=5"))
    assert found.verdict is Verdict.UNKNOWN
    assert str(found.sentence).startswith(
        "not known: whether it completes once pool t4 has grown is too large to play through. Without that, it is stuck"
    )
    assert found.ties is None


def test_more_nodes_than_are_played_are_not_known_to_be_too_few() -> None:
    crowd = deployment("b", [""] * 600, pod_spec(gpus=1))
    found = asked(full(crowd), *parse_typed_limits("t4=900"))
    assert found.verdict is Verdict.UNKNOWN
    assert "is too large to play through" in str(found.sentence)


def test_however_many_wait_a_node_comes_for_those_it_helps() -> None:
    """Source: kubernetes/autoscaler `core/scaleup/orchestrator/orchestrator.go` `ScaleUp` takes all of them."""
    nobody_helps = deployment("b", [""] * 600, pod_spec(gpus=1, nodeSelector={"no": "such"}) | {"priority": 9})
    found = asked(full(nobody_helps), *parse_typed_limits("t4=5"))
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert str(found.growth) == "completes if pool t4 grows by 1 node (2 → 3, max 5)"


def test_all_that_wait_at_once_have_their_nodes_at_once() -> None:
    nodes = [node("n0", pool="t4", gpus=8)]
    cluster = snapshot(nodes, deployment("a", ["n0"], pod_spec(gpus=1), **SURGE_ONLY))
    change = WorkloadChange(workload="Deployment/ml/a", replicas=600, new_revision=False)
    limits = pools(prepared_question.compiled(cluster), parse_typed_limits("t4=100"))
    found = rollout_with_remedies.rollout(cluster, Scenario(changes=(change,), runs=1, with_remedies=False), limits)
    assert str(found.growth) == "completes if pool t4 grows by 74 nodes (1 → 75, max 100)"
    assert sum("nodes of pool t4 come" in row.event for row in found.timeline) == 1
