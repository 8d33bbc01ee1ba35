"""Rules the recordings don't reach: pod-level resources, the groups above, and the feature switched off."""

from typing import Any

import pytest

from planner.health.memory.cgroup import class_cgroups, container_cgroup, oom_score_adj, pod_cgroup
from planner.health.memory.kubelet import KubeletSettings, NodeMemory, ReservationPolicy, SwapBehavior
from planner.kubernetes.object_records import Container, Owner, Pod
from planner.kubernetes.qos import QosClass
from tests.builders.records import amounts
from tests.memory.objects import GIB, MIB, container, pod

NODE = NodeMemory(capacity_bytes=16 * GIB, allocatable_bytes=14 * GIB, swap_bytes=8 * GIB)
OFF = KubeletSettings()
TIERED = KubeletSettings(memory_qos=True, reservation_policy=ReservationPolicy.TIERED)
SWAP = KubeletSettings(swap_behavior=SwapBehavior.LIMITED_SWAP)


def test_without_the_feature_only_limit_swap_and_oom_score_are_written() -> None:
    main = container("main", "1Gi", "2Gi")
    values = container_cgroup(pod("a", main), main, NODE, OFF)
    assert (values.memory_max, values.memory_swap_max, values.oom_score_adj) == (2 * GIB, 0, 938)
    assert values.memory_min is values.memory_low is values.memory_high is None


def test_high_goes_by_allocatable_where_there_is_no_limit() -> None:
    main = container("main", "1Gi")
    values = container_cgroup(pod("a", main), main, NODE, TIERED)
    assert values.memory_high == int((GIB + 0.9 * 13 * GIB) // 4096) * 4096
    assert values.memory_low == GIB


def test_high_is_left_out_where_it_could_not_exceed_the_request() -> None:
    huge = container("main", "15Gi")  # more than allocatable
    assert container_cgroup(pod("a", huge), huge, NODE, TIERED).memory_high is None


def test_a_container_without_a_limit_is_held_by_the_pods() -> None:
    main = container("main", "1Gi")
    one = pod("a", main, pod_limits=amounts({"memory": "3Gi"}))
    assert container_cgroup(one, main, NODE, OFF).memory_max == 3 * GIB
    with_cpu_only = pod("a", main, pod_limits=amounts({"cpu": "1"}))
    assert container_cgroup(with_cpu_only, main, NODE, OFF).memory_max is None
    # memory.high still goes by the container's own limit, so by allocatable
    assert (container_cgroup(one, main, NODE, TIERED).memory_high or 0) > 3 * GIB


def test_swap_is_the_requests_share() -> None:
    main = container("main", "2Gi", "4Gi")
    assert container_cgroup(pod("a", main), main, NODE, OFF).memory_swap_max == 0
    assert _swap(pod("a", main), main) == GIB


@pytest.mark.parametrize(
    ("main", "more"),
    [
        (container("main", "2Gi", "2Gi"), {}),  # request equals limit
        (container("main"), {"pod_requests": amounts({"memory": "1Gi"})}),  # asks for none
        (container("main", "2Gi", "4Gi"), {"priority": 2_000_000_000}),
        (container("main", "2Gi", "4Gi"), {"owner": Owner(kind="Node", name="n", uid="n")}),
        (container("main", "20Gi"), {}),  # more than the node has
        (container("main", "2Gi", "2Gi", cpu="1"), {}),  # Guaranteed
    ],
)
def test_containers_that_get_no_swap(main: Container, more: dict[str, Any]) -> None:
    assert _swap(pod("a", main, **more), main) == 0


def _swap(one: Pod, main: Container) -> int | None:
    return container_cgroup(one, main, NODE, SWAP).memory_swap_max


# Values from the kubelet's own unit tests: kubernetes 1.36 pkg/kubelet/qos/policy_test.go, 4 GB node.
LEVEL: dict[str, Any] = {
    "pod_requests": amounts({"cpu": "5m", "memory": "2000000000"}),
    "pod_limits": amounts({"cpu": "5m"}),
}


def test_what_the_pod_asks_for_beyond_its_containers_is_shared() -> None:
    first = container("burstable-container-1", "1000000000")
    second = container("burstable-container-2", "500000000")
    sidecar = container("burstable-sidecar", "200000000", restart_policy="Always")
    one = pod("a", first, second, init=[sidecar], **LEVEL)
    scores = {main.name: oom_score_adj(one, main, 4_000_000_000) for main in (first, second, sidecar)}
    assert scores == {"burstable-container-1": 725, "burstable-container-2": 850, "burstable-sidecar": 850}


def test_pod_level_request_without_any_in_containers() -> None:
    first, second = container("no-request-limit-1"), container("no-request-limit-2")
    one = pod("a", first, second, **LEVEL)
    assert oom_score_adj(one, first, 4_000_000_000) == 750
    sidecar = container("no-request-limit-sidecar", restart_policy="Always")
    assert oom_score_adj(pod("a", first, init=[sidecar], **LEVEL), sidecar, 4_000_000_000) == 750


@pytest.mark.parametrize(
    ("one", "capacity", "expected"),
    [
        (pod("a", Container(name="c", limits=amounts({"cpu": "10"}))), 4_000_000_000, 999),
        (pod("a", container("c", "", "0")), 7_230_457_451, 1000),
        (pod("a", container("c", "10G", "10G", cpu="5m")), 123_456_789, -997),
        (pod("a", container("c", "7999999999")), 8_000_000_000, 3),
        (pod("a", priority=2_000_000_000, priority_class_name="system-cluster-critical"), 4_000_000_000, 1000),
        (pod("a", priority=2_000_001_000, priority_class_name="system-node-critical"), 4_000_000_000, -997),
        (pod("a", container("c", "1Gi")), 0, 999),  # capacity unknown
    ],
)
def test_oom_score_of_one_container(one: Pod, capacity: int, expected: int) -> None:
    assert oom_score_adj(one, one.spec.containers[0], capacity) == expected


def test_a_pods_own_group() -> None:
    burstable = pod("a", container("m", "1Gi", "2Gi"), overhead=amounts({"memory": "64Mi"}))
    assert pod_cgroup(burstable, OFF).memory_max == 2 * GIB + 64 * MIB
    assert pod_cgroup(burstable, OFF).memory_low is None
    assert pod_cgroup(burstable, TIERED).memory_low == GIB + 64 * MIB
    assert pod_cgroup(burstable, TIERED).memory_min is None
    guaranteed = pod("a", container("m", "1Gi", "1Gi", cpu="1"))
    assert pod_cgroup(guaranteed, TIERED).memory_min == GIB
    assert pod_cgroup(pod("a"), TIERED).memory_max is None


def test_the_groups_above_hold_what_is_below_them() -> None:
    pods = [pod("a", container("m", "1Gi", "1Gi", cpu="1")), pod("b", container("m", "2Gi")), pod("c")]
    groups = class_cgroups(pods, TIERED)
    assert groups[QosClass.GUARANTEED].memory_min == 3 * GIB
    assert groups[QosClass.BURSTABLE].memory_low == 2 * GIB
    assert class_cgroups(pods, KubeletSettings(memory_qos=True))[QosClass.GUARANTEED].memory_min == 0
    assert class_cgroups(pods, OFF) == {}
