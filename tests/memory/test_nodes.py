import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.health.memory.kubelet import KubeletSettings, SwapBehavior, Threshold
from planner.health.memory.node_memory import NodeReport, cluster_memory
from planner.inventory.cadvisor import ContainerMemoryStats, NodeMemoryStats
from planner.kubernetes.object_records import Pod, Snapshot
from planner.kubernetes.qos import QosClass
from planner.questions.memory import QUESTION, MemoryPlan
from tests.memory.objects import GIB, MIB, container, metrics, node, pod, snapshot

OVER = pod("over", container("main", "1Gi", "4Gi"))
UNDER = pod("under", container("main", "4Gi", "4Gi"))
BEST_EFFORT = pod("best-effort")
CRITICAL = pod("critical", container("main", "1Gi"), priority=2_000_000_000)
UNKNOWN = pod("unknown", container("main", "1Gi"))
DEFAULT = KubeletSettings()


def one_node(*pods: Pod, **used: str) -> Snapshot:
    seen = [
        metrics(each, main=used[each.name.replace("-", "_")]) for each in pods if each.name.replace("-", "_") in used
    ]
    return snapshot([node()], pods, seen)


def report(*pods: Pod, settings: KubeletSettings = DEFAULT, **used: str) -> NodeReport:
    return cluster_memory(one_node(*pods, **used), settings).nodes[0]


def test_a_node_adds_up() -> None:
    found = report(OVER, UNDER, over="2Gi", under="3Gi")
    assert found.request_bytes == 5 * GIB
    assert found.limit_bytes == 8 * GIB
    assert found.unlimited_pods == 0
    assert found.working_set_bytes == 5 * GIB
    assert found.until_hard_bytes == 9 * GIB
    assert found.overcommit == pytest.approx(8 / 14)
    assert str(found.sentence) == (
        "Pods use 5 GiB of 14 GiB allocatable; evictions begin after 9 GiB more. First to go: dev/over."
    )


def test_limits_that_end_before_the_threshold_are_told() -> None:
    held = cluster_memory(one_node(OVER, UNDER, over="2Gi", under="3Gi"), DEFAULT)
    assert held.nodes[0].is_held_by_limits
    assert "on every node the pods' limits end before the threshold" in str(held.sentence)
    free = cluster_memory(one_node(OVER, BEST_EFFORT, over="2Gi", best_effort="1Gi"), DEFAULT)
    assert not free.nodes[0].is_held_by_limits  # a pod without a limit can go on growing
    assert "limits end" not in str(free.sentence)


def test_order_ranks_and_who_is_passed_over() -> None:
    found = report(UNDER, OVER, CRITICAL, over="2Gi", under="3Gi", critical="2Gi")
    assert [(one.name, one.eviction_rank) for one in found.pods] == [("over", 1), ("critical", 2), ("under", 3)]
    assert found.first_to_go is not None
    assert found.first_to_go.name == "over"
    only_critical = report(CRITICAL, critical="2Gi")
    assert only_critical.first_to_go is None
    assert str(only_critical.sentence).endswith("None of its pods can be evicted.")


def test_the_kernel_picks_by_score_and_share() -> None:
    found = report(UNDER, BEST_EFFORT, under="3Gi", best_effort="1Gi")
    ranks = {one.name: one.containers[0].oom_rank for one in found.pods}
    assert ranks == {"best-effort": 1, "under": 2}
    assert found.first_killed == ("dev/best-effort", "main")
    assert found.pods[0].containers[0].oom_score == 1000 + 1000 / 16


def test_unknown_use_is_said_and_not_counted_as_none() -> None:
    found = report(OVER, UNKNOWN, over="2Gi")
    assert [one.eviction_rank for one in found.pods] == [1, None]
    assert found.unknown_pods == 1
    assert "at most 12 GiB more (1 pod of unknown use)" in str(found.sentence)
    nothing = report(UNKNOWN)
    assert nothing.known_share is None
    assert str(nothing.sentence) == "Use unknown: no PodMetrics for its pods."


def test_past_the_threshold() -> None:
    found = report(OVER, over="15Gi")
    assert found.until_hard_bytes == -GIB
    assert "1 GiB past the hard threshold" in str(found.sentence)


def test_soft_threshold_and_none() -> None:
    soft = report(OVER, over="2Gi", settings=KubeletSettings(soft=Threshold(amount_bytes=GIB)))
    assert soft.until_soft_bytes == 11 * GIB + 100 * MIB
    none = report(OVER, over="2Gi", settings=KubeletSettings(hard=None))
    assert none.until_hard_bytes is None
    assert "there is no hard threshold" in str(none.sentence)


def test_swap_counts_in_the_kernels_share() -> None:
    settings = KubeletSettings(swap_behavior=SwapBehavior.LIMITED_SWAP, swap_bytes=16 * GIB)
    found = report(BEST_EFFORT, best_effort="1Gi", settings=settings)
    assert found.pods[0].containers[0].oom_score == 1000 + 1000 / 32


def test_cluster_names_the_nearest_node_and_the_mix() -> None:
    far, near = node("far"), node("near", capacity="8Gi", allocatable="7Gi")
    pods = [pod("a", container("main", "1Gi", "2Gi"), node="far"), pod("b", node="near"), pod("c", node="")]
    found = cluster_memory(snapshot([far, near], pods, [metrics(one, main="2Gi") for one in pods[:2]]), DEFAULT)
    assert [one.name for one in found.nodes] == ["near", "far"]
    assert str(found.sentence) == (
        "No node is past its eviction threshold; near would be the first, after 5 GiB more. There, dev/b would go first."
    )
    mix = {line.qos: (line.pod_count, line.over_request_count) for line in found.classes}
    assert mix == {QosClass.GUARANTEED: (0, 0), QosClass.BURSTABLE: (1, 1), QosClass.BEST_EFFORT: (1, 1)}


def test_cluster_without_metrics_says_so_and_keeps_empty_nodes_out() -> None:
    found = cluster_memory(snapshot([node("a"), node("empty")], [pod("p", node="a")]), DEFAULT)
    assert "unknown" in str(found.sentence)
    some = snapshot([node("a"), node("b")], [pod("p", node="a"), pod("q", node="b")], [metrics(pod("p"), main="1Gi")])
    assert str(cluster_memory(some, DEFAULT).sentence).endswith("Of 1 node this is unknown.")
    assert "nothing to evict" in str(cluster_memory(snapshot([node("empty")]), DEFAULT).sentence)


def test_kubelets_own_metrics_tell_the_system_and_anonymous_memory() -> None:
    stats = NodeMemoryStats(
        working_set_bytes=7 * GIB,
        containers=(
            ContainerMemoryStats(
                namespace="dev", pod="over", container="main", working_set_bytes=2 * GIB, anonymous_bytes=GIB
            ),
        ),
    )
    found = cluster_memory(one_node(OVER), DEFAULT, (stats,)).nodes[0]
    assert found.working_set_bytes == 2 * GIB
    assert found.pods[0].containers[0].anonymous_bytes == GIB
    assert found.lines.system_bytes == 5 * GIB
    assert found.until_hard_bytes == 16 * GIB - 5 * GIB - 100 * MIB - 2 * GIB


def test_rows_hold_what_the_records_do() -> None:
    cluster = cluster_memory(one_node(OVER, UNKNOWN, over="2Gi"), DEFAULT)
    plan = MemoryPlan(cluster=cluster, findings=())
    assert QUESTION.rows(plan, "nodes")[0]["until_hard_bytes"] == 12 * GIB
    assert [row["eviction_rank"] for row in QUESTION.rows(plan, "pods")] == [1, None]
    assert QUESTION.rows(plan, "containers")[0]["memory_max"] == 4 * GIB


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), min_size=1, max_size=6))
def test_properties_of_any_node(given_pods: list[tuple[int, int, bool]]) -> None:
    pods = [
        pod(
            f"p{index}", container("main", f"{request}Gi" if request else ""), priority=2_000_000_000 if critical else 0
        )
        for index, (request, _, critical) in enumerate(given_pods)
    ]
    seen = [metrics(one, main=f"{used}Gi") for one, (_, used, _) in zip(pods, given_pods, strict=True)]
    found = cluster_memory(snapshot([node()], pods, seen), DEFAULT).nodes[0]
    assert found.working_set_bytes + (found.until_hard_bytes or 0) == 14 * GIB
    assert sorted(one.eviction_rank or 0 for one in found.pods) == list(range(1, len(pods) + 1))
    assert sorted(one.containers[0].oom_rank or 0 for one in found.pods) == list(range(1, len(pods) + 1))
    assert found.first_to_go is None or not found.first_to_go.is_critical
