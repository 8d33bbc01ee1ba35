"""Which environments are shown of very many."""

from __future__ import annotations

from collections.abc import Container

from planner.health.drift import shown_environments
from planner.health.drift.model import DriftReport, Rule
from planner.health.drift.service_differences import drift
from planner.kubernetes.object_records import PodSpec
from tests.builders.records import amounts
from tests.restarts.cases import GIB, Cluster, container, crashed


def spec(memory: str) -> PodSpec:
    return PodSpec(containers=(container(requests=amounts(memory=memory), limits=amounts(memory=memory)),))


def many(number: int = 40, *, in_trouble: Container[int] = (30,)) -> Cluster:
    """Service api in prod and in so many of dev, alike but for those that have less memory and are killed for it, and
    dev-20, which has more."""
    cluster = Cluster()
    cluster.node(allocatable=amounts(cpu="640", memory="2560Gi", pods="1100"))
    cluster.pod(cluster.workload("api", "prod", spec("2Gi")), working_set=GIB)
    for place in range(number):
        crash = [crashed(137, "OOMKilled")] if place in in_trouble else []
        memory = "256Mi" if crash else "4Gi" if place == 20 else "1Gi"
        cluster.pod(cluster.workload("api", f"dev-{place:02}", spec(memory)), *crash)
    return cluster


def compared(cluster: Cluster) -> DriftReport:
    return drift((cluster.snapshot(),), Rule())


def test_the_reference_and_those_in_trouble_are_shown_and_one_of_each_kind() -> None:
    (service,) = compared(many()).services
    told = shown_environments.of_service(service, most=4)
    assert told.environments == ("prod", "dev-00", "dev-20", "dev-30")
    assert told.workloads == tuple(f"Deployment/{name}/api" for name in told.environments)
    for row, whole in zip(told.rows, service.rows, strict=True):
        cells = dict(zip(service.environments, whole.cells, strict=True))
        assert row.cells == tuple(cells[name] for name in told.environments)
    assert told.restarts == tuple(service.restarts[service.environments.index(name)] for name in told.environments)
    assert (told.explanations, told.suggestions) == (service.explanations, service.suggestions)
    assert shown_environments.of_service(service, most=2).environments == ("prod", "dev-30")


def test_few_are_shown_as_they_are() -> None:
    (service,) = compared(many(3)).services
    assert shown_environments.of_service(service) is service
    assert not shown_environments.said_of(4, 4)


def test_how_many_are_shown_is_said() -> None:
    assert str(shown_environments.said_of(12, 1_041)).startswith("12 of 1,041 environments are shown")
