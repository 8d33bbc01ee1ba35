from __future__ import annotations

from planner.drift.services import drift
from planner.figures import drift_memory, restarts_memory
from planner.kubernetes.records import PodSpec
from planner.restarts.report import restarts
from tests.builders.records import amounts
from tests.drift.test_drift import dev_and_prod
from tests.restarts.cases import GIB, MIB, Cluster, container, crashed, single


def test_memory_of_loops_given_used_and_used_where_it_works() -> None:
    loops = restarts(dev_and_prod().snapshot()).loops
    drawn = restarts_memory.figure(loops)
    by_name = {trace.name: list(trace.x) for trace in drawn.data}
    assert by_name["limit here"] == [0.25]
    assert by_name["used here"] == [200 / 1024]
    assert by_name["used where it works"] == [1.0]
    assert by_name["suggested"][0] > 1
    assert drawn.layout.xaxis.title.text == "memory, GiB"
    assert restarts_memory.alt(loops) == (
        "Memory of 1 workload that restart. dev/api: limit 256 MiB, used 200 MiB, used where it works 1 GiB, "
        "suggested 1.25 GiB."
    )


def test_loops_without_memory_are_not_drawn() -> None:
    assert restarts_memory.drawn_loops(restarts(single(crashed(127))[0].snapshot()).loops) == ()


def test_memory_of_a_service_in_each_environment() -> None:
    service = drift((dev_and_prod().snapshot(),)).services[0]
    drawn = drift_memory.figure(service)
    assert {trace.name: list(trace.y) for trace in drawn.data}["limit"] == ["prod", "dev"]
    assert {trace.name: list(trace.x) for trace in drawn.data}["limit"] == [2.0, 0.25]
    assert "limit: prod 2 GiB, dev 256 MiB" in drift_memory.alt(service)
    assert drift_memory.has_memory(service)


def test_names_are_not_markup() -> None:
    cluster = Cluster()
    cluster.node()
    spec = PodSpec(containers=(container(limits=amounts(memory="1Gi")), container("<b>side</b>", "registry/side:1")))
    for namespace in ("dev", "prod"):
        cluster.pod(cluster.workload("api", namespace, spec), working_set=GIB - 200 * MIB)
    drawn = drift_memory.figure(drift((cluster.snapshot(),)).services[0])
    assert not [label for trace in drawn.data for label in trace.y if "<b>" in label]
