"""Cures put to the engine: room on the node, what isn't rolled out, what doesn't fit."""

from __future__ import annotations

from planner.capacity.display_filter import Filter
from planner.ground.records import replace
from planner.health.drift.service_differences import drift
from planner.kubernetes.object_records import PodSpec
from planner.questions import restarts as plan_restarts
from planner.questions.drift import adopt
from planner.questions.restarts import RestartPlan, RestartsSettings, answer
from planner.rollout.answers import Verdict
from tests.builders.records import amounts
from tests.restarts.cases import GIB, MIB, Cluster, container, crashed

SMALL = PodSpec(containers=(container(requests=amounts(memory="256Mi"), limits=amounts(memory="256Mi")),))
ROOMY = PodSpec(containers=(container(requests=amounts(memory="2Gi"), limits=amounts(memory="3Gi")),))


def planned(node_memory: str = "32Gi", *, kind: str = "Deployment") -> RestartPlan:
    cluster = Cluster()
    cluster.node(allocatable=amounts(cpu="8", memory=node_memory, pods="110"))
    cluster.node("node-2", allocatable=amounts(cpu="8", memory="3Gi", pods="110"))
    cluster.pod(cluster.workload("api", "dev", SMALL, kind=kind), crashed(137, "OOMKilled"), working_set=200 * MIB)
    cluster.pod(cluster.workload("api", "prod", ROOMY), working_set=2 * GIB, node="node-2")
    return answer(cluster.snapshot(), RestartsSettings())


def test_where_the_node_has_the_room() -> None:
    cure = planned().cures[0]
    assert cure.rooms[0].fits
    assert cure.rooms[0].free_bytes == 32 * GIB - 256 * MIB
    assert cure.room_sentence.startswith("The node it is on has the room")
    assert cure.rollout is not None
    assert cure.rollout.verdict is Verdict.COMPLETES


def test_where_no_node_has_the_room_the_engine_says_so() -> None:
    cure = planned("1Gi").cures[0]
    assert not cure.rooms[0].fits
    assert "lacks the room" in cure.room_sentence
    assert cure.rollout is not None
    assert cure.rollout.verdict is Verdict.STUCK


def test_the_patch_is_what_the_suggestion_says() -> None:
    cure = planned().cures[0]
    assert cure.patch_yaml == (
        "spec:\n  template:\n    spec:\n      containers:\n      - name: api\n        resources:\n"
        "          requests:\n            memory: 2432Mi\n            cpu: 60m\n          limits:\n            memory: 2432Mi\n"
    )
    assert cure.command.startswith("kubectl patch deployment/api -n dev -p '")


def test_a_job_is_not_rolled_out() -> None:
    cure = planned(kind="Job").cures[0]
    assert cure.rollout is None
    assert "isn't rolled out" in cure.note
    assert cure.command == ""


def test_a_pod_nobody_makes_anew() -> None:
    cluster = Cluster()
    cluster.node()
    pod = cluster.pod(cluster.workload("api", "dev", SMALL), crashed(137, "OOMKilled"))
    cluster.workloads.clear()
    cluster.pods[0] = replace(pod, owner=None)
    cure = answer(cluster.snapshot(), RestartsSettings()).cures[0]
    assert cure.workload == "Pod/dev/api-0"
    assert cure.rollout is None
    assert "No workload" in cure.note


def test_adopting_a_suggestion_of_drift() -> None:
    cluster = Cluster()
    cluster.node()
    cluster.pod(cluster.workload("api", "dev", SMALL), crashed(137, "OOMKilled"), working_set=200 * MIB)
    cluster.pod(cluster.workload("api", "prod", ROOMY), working_set=2 * GIB)
    snapshot = cluster.snapshot()
    suggestion = drift((snapshot,)).services[0].suggestions[0]
    adopted = adopt(snapshot, suggestion)
    assert suggestion.environment == "dev"
    assert adopted.rollout is not None
    assert adopted.rollout.verdict is Verdict.COMPLETES
    gone = adopt(Cluster().snapshot(), suggestion)
    assert gone.rollout is None
    assert gone.note


def many() -> Cluster:
    cluster = Cluster()
    cluster.node(allocatable=amounts(cpu="64", memory="256Gi", pods="110"))
    for number in range(3):
        name = f"api-{number}"
        cluster.pod(cluster.workload(name, "dev", SMALL), crashed(137, "OOMKilled"), working_set=200 * MIB)
    return cluster


def test_the_cure_of_any_loop_can_be_asked_for() -> None:
    snapshot = many().snapshot()
    plan = answer(snapshot, RestartsSettings(cures=1))
    assert len(plan.cures) == 1
    assert plan.cure_of(plan.report.loops[2]) is None
    last = plan_restarts.cure(snapshot, plan.report.loops[2])
    assert last is not None
    assert last == answer(snapshot, RestartsSettings()).cure_of(plan.report.loops[2])


def test_cures_are_of_the_loops_that_a_filter_lets_through() -> None:
    settings = RestartsSettings(cures=1, filter=Filter(search="api-2"))
    found = answer(many().snapshot(), settings)
    assert [cure.workload for cure in found.cures] == ["Deployment/dev/api-2"]
