"""More nodes don't help a pod that can only run on one that is there; what its node loses by a rollout that grows does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.capacity import scale_up_simulation
from planner.ground.exit_status import ExitStatus
from planner.inventory.pool_limits import parse_typed_limits
from planner.kubernetes.object_records import Snapshot
from planner.questions import rollout
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings
from planner.rollout.answers import Reason, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.run import Run, simulate
from planner.scheduling.cluster import Cluster
from tests.builders.objects import NODE_CRITICAL, Item, deployment, node, pod, pod_spec, snapshot
from tests.rollout.rollouts import rolling
from tests.rules.manifest_doors import Doors, ask_doors

LIMITS = parse_typed_limits("work=40")
CRITICAL = {"priorityClassName": "system-node-critical"}


def agent(cpu: str, **spec: Any) -> Item:
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": pod_spec(cpu=cpu, **spec)}
    return {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "ml"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }  # fmt: skip


def victims(node_name: str) -> list[Item]:
    """A Deployment that fills a node of 8 CPU, in pods of one."""
    return deployment(f"web-{node_name}", [node_name] * 7, pod_spec(cpu="1"))


def preempting(cpu: str) -> Snapshot:
    nodes = [node(f"n{i}", pool="work", cpu="8") for i in range(3)]
    return snapshot(*nodes, node("small", pool="work", cpu="2"), NODE_CRITICAL, *(victims(f"n{i}") for i in range(3)))


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rollouts with more nodes were played."""
    counted: list[int] = []
    play = scale_up_simulation._GrowthRequest.played

    def counting(*asked: Any, **how: Any) -> Run:
        counted.append(1)
        return play(*asked, **how)

    monkeypatch.setattr(scale_up_simulation._GrowthRequest, "played", counting)
    return counted


def said(doors: Doors) -> RolloutResult:
    """The rollout's answer, which the other doors share."""
    assert doors.gate.exit_status == {Verdict.STUCK: ExitStatus.STUCK, Verdict.COMPLETES: 0}[doors.rollout.verdict]
    assert doors.webhook.is_stuck is (doors.rollout.verdict is Verdict.STUCK)
    return doors.rollout


def test_a_daemon_set_that_preempts_looks_for_no_nodes(plays: list[int]) -> None:
    """Each new node would get one more of its pods, which preempts there again."""
    found = said(ask_doors(preempting("4"), agent("4", **CRITICAL), limits=LIMITS))
    assert found.verdict is Verdict.STUCK
    assert found.reason is Reason.INSUFFICIENT_RESOURCE
    assert str(found.growth) == "more nodes don't help: a pod of it can only run on small"
    assert found.ties is not None
    assert (found.ties.proven, found.ties.runs) == (True, 0)  # small is too small even empty, whomever it preempts
    assert not plays


def test_pods_whose_victims_end_elsewhere_are_judged_once() -> None:
    """Each pod that goes has all that preempt tried again: where nothing happened to their own node, their last refusal stands."""
    prepared = prepare(preempting("4"), Scenario(manifest=json.dumps(agent("4", **CRITICAL))))
    short, long = (simulate(Cluster(prepared.snapshot), prepared.revisions, is_thorough=way) for way in (False, True))
    for run in (short, long):
        assert len(run.preempted) == 9
    assert [p.name for p in short.preempted] == [p.name for p in long.preempted]
    assert (short.moments, short.status) == (long.moments, long.status)
    words = [sorted((p.name, p.message) for p in run.waiting) for run in (short, long)]
    assert words[0] == words[1]
    assert short.simulation.scheduler.attempts < long.simulation.scheduler.attempts / 2


@pytest.mark.parametrize("spec", [{}, {"nodeSelector": {"cloud.google.com/gke-nodepool": "work"}}])
def test_a_deployment_still_finds_nodes(plays: list[int], spec: Item) -> None:
    """The opposite case: the same pods, tied to no node."""
    body = agent("8", **spec)["spec"]
    manifest = {**agent("8"), "kind": "Deployment", "spec": {**body, "replicas": 1}}
    found = ask_doors(preempting("4"), manifest, limits=LIMITS).rollout
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert plays


def test_a_hostname_selector_ties_a_pod_too(plays: list[int]) -> None:
    body = agent("4", nodeSelector={"kubernetes.io/hostname": "small"})["spec"]
    manifest = {**agent("4"), "kind": "Deployment", "spec": {**body, "replicas": 1}}
    found = said(ask_doors(preempting("4"), manifest, limits=LIMITS))
    assert str(found.growth) == "more nodes don't help: a pod of it can only run on small"
    assert found.ties is not None
    assert (found.ties.proven, "grows" in str(found.ties.sentence)) == (True, False)
    assert not plays


def test_a_daemon_set_without_priority_that_fits_completes(plays: list[int]) -> None:
    found = said(ask_doors(preempting("1"), agent("1"), limits=LIMITS))
    assert found.verdict is Verdict.COMPLETES
    assert not plays


def test_a_daemon_set_waits_for_a_rollout_that_needs_a_node(plays: list[int]) -> None:
    """Its node is full of a Deployment's old pod, whose successor lacks a node: once that comes, the old pod leaves the room."""
    there = deployment("train", ["n0"], pod_spec(gpus=1, cpu="5"), strategy=rolling(1, 0))
    manifest = {**there[0], "metadata": {**there[0]["metadata"]}}
    manifest["spec"] = {**manifest["spec"], "template": {**manifest["spec"]["template"], "spec": pod_spec(gpus=1, cpu="5", terminationGracePeriodSeconds=9)}}  # fmt: skip
    cluster = snapshot(node("n0", pool="work", gpus=1, cpu="8"), there, pod("one", pod_spec(cpu="100m"), on="n0"))
    found = rolled(cluster, agent("3"), manifest)
    assert plays
    assert found.verdict is Verdict.NEEDS_GROWTH


def rolled(cluster: Snapshot, *manifests: Item) -> RolloutResult:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
    settings = RolloutSettings(manifest=text, pools=PoolSettings(limits=LIMITS))
    return rollout.QUESTION.answer(cluster, settings, Inputs(now=1_790_000_000.0))
