"""What a pod asks of a node; figures by hand, after component-helpers' resource helpers."""

from __future__ import annotations

from planner.kubernetes.object_records import Container, FrozenMap, HostPort, PodSpec
from planner.kubernetes.requests import host_ports, pod_requests, scored_requests, sum_requests

MIB = 2**20


def container(cpu: int = 0, memory: int = 0, restart_policy: str | None = None, **more: int) -> Container:
    amounts = {name: amount for name, amount in {"cpu": cpu, "memory": memory, **more}.items() if amount}
    return Container(name="c", requests=FrozenMap(amounts), restart_policy=restart_policy)


def test_containers_add_up() -> None:
    spec = PodSpec(containers=(container(100, MIB), container(200)))
    assert pod_requests(spec) == {"cpu": 300, "memory": MIB}


def test_the_largest_init_container_counts_where_it_exceeds_them() -> None:
    spec = PodSpec(containers=(container(300, MIB),), init_containers=(container(200, 5 * MIB), container(250)))
    assert pod_requests(spec) == {"cpu": 300, "memory": 5 * MIB}


def test_sidecars_run_beside_later_init_containers_and_beside_the_containers() -> None:
    sidecar = container(2_000, restart_policy="Always")
    first, last = container(4_000), container(5_000)
    assert pod_requests(PodSpec(containers=(container(1_000),), init_containers=(sidecar, last))) == {"cpu": 7_000}
    assert pod_requests(PodSpec(containers=(container(1_000),), init_containers=(first, sidecar))) == {"cpu": 4_000}
    assert pod_requests(PodSpec(containers=(container(3_000),), init_containers=(first, sidecar))) == {"cpu": 5_000}


def test_resources_of_the_pod_take_the_place_of_the_containers_and_overhead_comes_on_top() -> None:
    spec = PodSpec(
        containers=(container(100, MIB),),
        pod_requests=FrozenMap({"cpu": 1_000}),
        overhead=FrozenMap({"cpu": 250, "memory": MIB}),
    )
    assert pod_requests(spec) == {"cpu": 1_250, "memory": 2 * MIB}


def test_scores_count_a_container_without_requests_as_100m_and_200mi() -> None:
    assert scored_requests(PodSpec(containers=(container(), container(500)))) == (600, 400 * MIB)
    assert pod_requests(PodSpec(containers=(container(),))) == {}
    whole = PodSpec(containers=(container(), container()), pod_requests=FrozenMap({"cpu": 1_000}))
    assert scored_requests(whole) == (1_000, 400 * MIB)


def test_host_ports_are_held_by_what_keeps_running() -> None:
    def with_port(port: int, restart_policy: str | None = None) -> Container:
        return Container(name="c", host_ports=(HostPort(port=port),), restart_policy=restart_policy)

    spec = PodSpec(containers=(with_port(1),), init_containers=(with_port(2), with_port(3, "Always")))
    assert sorted(p.port for p in host_ports(spec)) == [1, 3]


def test_many_pods() -> None:
    spec = PodSpec(containers=(container(100, MIB, gpu=1),))
    assert sum_requests([(spec, 3), (spec, 1)]) == {"cpu": 400, "memory": 4 * MIB, "gpu": 4}
