from hypothesis import given
from hypothesis import strategies as st

from planner.ground.well_known_names import MEMORY
from planner.kubernetes.object_records import Container, FrozenMap, Owner, PodSpec
from planner.kubernetes.qos import (
    QosClass,
    is_critical,
    is_node_critical,
    pod_limit,
    pod_qos_class,
    qos_class,
    ranked_request,
)
from planner.kubernetes.requests import pod_request, pod_requests
from tests.builders.records import amounts
from tests.memory.objects import GIB, MIB, container, pod


def spec(*containers: Container, **more: object) -> PodSpec:
    return PodSpec(containers=containers, **more)  # type: ignore[arg-type]


def test_class_is_decided_over_all_containers() -> None:
    equal = container("a", "1Gi", "1Gi", cpu="1")
    assert qos_class(spec(equal)) is QosClass.GUARANTEED
    assert qos_class(spec(container("a"))) is QosClass.BEST_EFFORT
    assert qos_class(spec(equal, container("b"))) is QosClass.BURSTABLE
    assert qos_class(spec(equal, init_containers=(container("i", "1Gi"),))) is QosClass.BURSTABLE
    assert qos_class(spec(container("a", "1Gi", "1Gi"))) is QosClass.BURSTABLE  # no CPU limit


def test_only_cpu_and_memory_count() -> None:
    gpu = Container(name="a", requests=amounts({"nvidia.com/gpu": "1"}), limits=amounts({"nvidia.com/gpu": "1"}))
    assert qos_class(spec(gpu)) is QosClass.BEST_EFFORT
    zero = Container(name="a", requests=amounts({"memory": "0", "cpu": "0"}))
    assert qos_class(spec(zero)) is QosClass.BEST_EFFORT


def test_pod_level_resources_decide_alone() -> None:
    best_effort = container("a")
    both = amounts({"cpu": "1", "memory": "1Gi"})
    assert qos_class(spec(best_effort, pod_requests=both, pod_limits=both)) is QosClass.GUARANTEED
    assert qos_class(spec(best_effort, pod_requests=both)) is QosClass.BURSTABLE
    memory = amounts({"memory": "1Gi"})
    assert qos_class(spec(best_effort, pod_requests=memory, pod_limits=memory)) is QosClass.BURSTABLE


def test_the_status_is_believed() -> None:
    assert pod_qos_class(pod("a", qos_class="Guaranteed")) is QosClass.GUARANTEED
    assert pod_qos_class(pod("a", qos_class="odd")) is QosClass.BEST_EFFORT


def test_critical_pods() -> None:
    high = pod("a", priority=2_000_000_000)
    assert is_critical(high)
    assert not is_node_critical(high)
    assert is_node_critical(pod("a", priority=2_000_001_000, priority_class_name="system-node-critical"))
    assert not is_node_critical(pod("a", priority=0, priority_class_name="system-node-critical"))
    assert is_critical(pod("a", owner=Owner(kind="Node", name="n", uid="n")))
    assert not is_critical(pod("a", priority=1_000_000_000))


def test_requests_with_sidecars_init_containers_and_overhead() -> None:
    main, sidecar = container("m", "1Gi"), container("s", "512Mi", restart_policy="Always")
    init = container("i", "4Gi")
    one = spec(main, init_containers=(sidecar, init), overhead=amounts({"memory": "64Mi"}))
    assert pod_request(one, MEMORY) == 4 * GIB + 512 * MIB + 64 * MIB
    assert pod_request(spec(main, init_containers=(init, sidecar)), MEMORY) == 4 * GIB
    assert ranked_request(spec(container("m"), overhead=amounts({"memory": "64Mi"}))) == 0


def test_ranking_looks_at_pod_level_resources_only_when_there_are_any() -> None:
    main = container("m", "1Gi")
    assert ranked_request(spec(main, pod_requests=amounts({"cpu": "1"}))) == 0
    assert ranked_request(spec(main, pod_requests=amounts({"memory": "2Gi"}))) == 2 * GIB
    assert pod_request(spec(main, pod_requests=amounts({"cpu": "1"})), MEMORY) == GIB


def test_limit_is_open_while_one_container_has_none() -> None:
    limited, free = container("a", "1Gi", "2Gi"), container("b", "1Gi")
    assert pod_limit(spec(limited)) == 2 * GIB
    assert pod_limit(spec(limited, free)) is None
    assert pod_limit(spec(limited, free, pod_limits=amounts({"memory": "3Gi"}))) == 3 * GIB
    assert pod_limit(spec(limited, init_containers=(container("i", "1Gi"),))) is None
    sidecar = container("s", "1Gi", "1Gi", restart_policy="Always")
    assert pod_limit(spec(limited, init_containers=(sidecar, container("i", "1Gi")))) == 3 * GIB
    assert pod_limit(spec(limited, overhead=amounts({"memory": "1Gi"}))) == 3 * GIB


SIZES = st.integers(0, 8).map(lambda n: n * 256 * MIB)
CONTAINERS = st.builds(
    lambda size, kind: Container(name="c", requests=FrozenMap({MEMORY: size}), restart_policy=kind),
    SIZES,
    st.sampled_from([None, "Always"]),
)


@given(st.lists(SIZES, min_size=1, max_size=3), st.lists(CONTAINERS, max_size=4), SIZES)
def test_the_scheduler_adds_up_the_same(mains: list[int], inits: list[Container], overhead: int) -> None:
    one = PodSpec(
        containers=tuple(Container(name=str(i), requests=FrozenMap({MEMORY: size})) for i, size in enumerate(mains)),
        init_containers=tuple(inits),
        overhead=FrozenMap({MEMORY: overhead}),
    )
    assert pod_request(one, MEMORY) == pod_requests(one).get(MEMORY, 0)
