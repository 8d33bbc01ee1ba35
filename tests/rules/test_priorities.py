"""The priority a pod is admitted with: engine, admission, findings and checklist know the same classes."""

from __future__ import annotations

import pytest

from planner.ground.records import replace
from planner.inventory import cluster_oddities
from planner.kubernetes.object_records import PriorityClass, Snapshot, Workload
from planner.rollout.admission import Admission
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import compile_shape
from planner.spot.suitability import check_workload
from planner.spot.suitability_checks import Check, Status
from tests.builders.objects import deployment, node, pod_spec, snapshot

LISTED = (
    PriorityClass(name="high", value=1000),
    PriorityClass(name="usual", value=70, is_global_default=True, preemption_policy="Never"),
    PriorityClass(name="usual-too", value=90, is_global_default=True),
)


def named(name: str, classes: tuple[PriorityClass, ...] = LISTED) -> tuple[Snapshot, Workload]:
    spec = pod_spec() | ({"priorityClassName": name} if name else {})
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "x"}, "value": 1}
    found = replace(snapshot(node("n0"), deployment("a", ["n0"], spec), kind), priority_classes=classes)
    return found, found.workloads[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [("high", 1000), ("", 70), ("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)],
)
def test_every_place_sees_the_same_priority(name: str, value: int) -> None:
    found, of = named(name)
    assert Cluster(found).priority_of(of.template.spec) == value
    said = next(one for one in check_workload(found, of).checks if one.check is Check.PRIORITY)
    assert f"{value:,}" in said.evidence
    assert (said.status is Status.UNSUITABLE) is (value >= 2_000_000_000)
    assert Admission(found).refusal("ml", "a-1", of.template.spec) is None
    assert not [one for one in cluster_oddities.check(found) if one.code == "priority-class-missing"]


def test_a_class_that_is_not_there_is_missed_by_findings_and_admission() -> None:
    for name in ("moon", "system-moon"):
        found, of = named(name)
        assert [one.object for one in cluster_oddities.check(found) if one.code == "priority-class-missing"] == [of.key]
        refused = Admission(found).refusal("ml", "a-1", of.template.spec)
        assert refused is not None
        assert f"no PriorityClass with name {name} was found" in refused.message


def test_the_default_class_gives_its_preemption_policy_too() -> None:
    found, of = named("")
    shape = compile_shape(Cluster(found), "ml", of.template.labels, of.template.spec, default_selector=None)
    assert (shape.priority, shape.may_preempt) == (70, False)
