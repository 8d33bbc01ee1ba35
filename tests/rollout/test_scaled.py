"""The cluster once a workload was scaled: what its controller, kube-scheduler and quotas leave, so that a second question may be asked of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from planner.ground.records import replace
from planner.ground.well_known_names import DESIRED_REPLICAS, MAX_REPLICAS
from planner.kubernetes.object_records import EMPTY, Snapshot
from planner.questions import gate, peak
from planner.questions import rollout as rollout_question
from planner.questions.gate import GateSettings
from planner.questions.question import NOTHING
from planner.questions.rollout import RolloutSettings
from planner.rollout.admission import Admission
from planner.rollout.answers import Reason, RolloutResult, Verdict
from planner.rollout.in_flight import in_flight
from planner.rollout.scaled_cluster import At, scaled
from planner.scheduling.cluster import Cluster
from tests.builders.objects import Item, deployment, node, pod_spec
from tests.collection.clusters import whole
from tests.questions.test_peak import autoscaler, keda
from tests.rollout.rollouts import WORKER, rolling, stateful_set
from tests.rollout.test_admission import quota
from tests.stories.catalogue import _lws
from tests.stories.objects import of_rollout


def annotated(nodes: list[str], *, desired: int | None = None) -> list[Item]:
    """A Deployment whose ReplicaSet says how many replicas it was scaled to, as every one in a cluster does."""
    items = deployment("worker", nodes, pod_spec(gpus=1), strategy=rolling(2, 1))
    said = len(nodes) if desired is None else desired
    items[1]["metadata"]["annotations"] = {DESIRED_REPLICAS: str(said), MAX_REPLICAS: str(said + 2)}
    return items


def gpus(count: int) -> Item:
    return node("gpu-0", pool="gpu", gpus=count, cpu="64", memory="256Gi")


def at_highest(found: Snapshot, workload: str = WORKER, **more: Any) -> RolloutResult:
    return rollout_question.answer(found, RolloutSettings(workloads=(workload,), at=At.HIGHEST, **more))


@pytest.mark.parametrize(("count", "verdict"), [(8, Verdict.COMPLETES), (5, Verdict.COMPLETES), (4, Verdict.STUCK)])
def test_a_deployment_is_asked_at_its_highest_replicas_as_its_controller_leaves_it(
    count: int, verdict: Verdict
) -> None:
    """real-peak-stale-annotation: its ReplicaSet's annotation said 1 still, and every sync was a scaling that came to nothing."""
    found = whole(gpus(count), annotated(["gpu-0"]), autoscaler(1, 5))
    (line,) = peak.answer(found, peak.PeakSettings(), NOTHING).lines
    assert (line.highest.verdict, line.today.verdict) == (verdict, Verdict.COMPLETES)
    assert line.highest.reason is not Reason.STALE_ANNOTATION
    assert at_highest(found).verdict is verdict
    assert at_highest(found, WORKER.lower()).verdict is verdict  # real-at-highest-lower-case


def test_an_annotation_that_is_stale_in_the_cluster_is_told_of_all_the_same() -> None:
    """The opposite: nobody scales it here, and the cluster's own ReplicaSet says another number (kubernetes#138036)."""
    found = whole(gpus(8), annotated(["gpu-0", "gpu-0"], desired=1))
    asked = rollout_question.answer(found, RolloutSettings(workloads=(WORKER,)))
    assert (asked.verdict, asked.reason) == (Verdict.STUCK, Reason.STALE_ANNOTATION)


@pytest.mark.parametrize(("count", "verdict", "holder"), [(8, Verdict.COMPLETES, ""), (5, Verdict.STUCK, "all 5")])
def test_pods_that_scaling_from_zero_makes_are_its_own(count: int, verdict: Verdict, holder: str) -> None:
    """real-peak-from-zero: they had no owner, so they counted as others', and the rollout could never replace them."""
    items = deployment("worker", [], pod_spec(gpus=1), strategy=rolling(2, 0))
    (line,) = peak.answer(whole(gpus(count), items, keda(maxReplicaCount=5)), peak.PeakSettings(), NOTHING).lines
    assert (line.highest.replicas, line.highest.reached, line.highest.verdict) == (5, 5, verdict)
    assert holder in str(line.highest.sentence)
    assert "by others" not in str(line.highest.sentence)


def test_pods_that_an_autoscaler_makes_meanwhile_are_not_others() -> None:
    """real-autoscaled-pods-are-others: a manifest raises minReplicas to 6, on 2 GPUs."""
    found = whole(gpus(2), annotated(["gpu-0"]), autoscaler(1, 10))
    changed = json.loads(json.dumps(annotated(["gpu-0"])[0]))
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/app:2"
    changed["spec"]["strategy"] = rolling(1, 0)
    del changed["spec"]["replicas"]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [changed, autoscaler(6, 10)]})
    (line,) = gate.answer(found, GateSettings(manifest=text)).workloads
    assert line.verdict is Verdict.STUCK
    assert "by new ones" in str(line.sentence)
    assert "others" not in str(line.sentence)


KINDS: dict[str, tuple[str, Callable[[], list[Item]]]] = {
    "Deployment": (WORKER, lambda: annotated(["gpu-0"] * 3)),
    "StatefulSet": ("StatefulSet/ml/worker", lambda: stateful_set("worker", ["gpu-0"] * 3, pod_spec(gpus=1))),
    "Rollout": ("Rollout/ml/app", lambda: of_rollout(["gpu-0"] * 3, {"canary": {"maxSurge": 1}}, gpus=1)),
}


@pytest.mark.parametrize("replicas", [0, 1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_a_scaled_workload_is_at_rest_and_quotas_count_its_pods(kind: str, replicas: int) -> None:
    """Nobody who is at rest has anything left to do, and what a quota counts is what counting its pods anew gives."""
    key, made = KINDS[kind]
    found = whole(gpus(8), made(), quota({"pods": "20"}, {"pods": "3"}))
    workload = found.workload(key)
    assert workload is not None
    assert not in_flight(Cluster(found))
    then, bound = scaled(found, workload, replicas)
    assert bound == replicas
    assert [one.key for one in in_flight(Cluster(then))] == []
    after = then.workload(key)
    assert after is not None
    assert (after.replicas, after.status_replicas, after.available_replicas) == (replicas, replicas, replicas)
    (counted,) = then.resource_quotas
    anew = Admission(replace(then, resource_quotas=(replace(counted, used=EMPTY),)))
    counted_anew = anew.quotas_now()[counted.namespace, counted.name].used
    assert counted.used.get("pods", 0) == replicas == counted_anew.get("pods", 0)
    owners = {(pod.owner.kind, pod.owner.uid) for pod in then.pods if pod.owner}
    assert len(owners) <= 1
    assert all(pod.is_ready and pod.owner for pod in then.pods)


@pytest.mark.parametrize("groups", [1, 3])
def test_a_scaled_leader_worker_set_has_the_sets_of_its_leaders_and_workers(groups: int) -> None:
    nodes = [node(f"gpu-{number}", pool="gpu", gpus=8, cpu="64", memory="256Gi") for number in range(8)]
    found = whole(nodes, _lws(2, 0, 1))
    workload = found.workload("LeaderWorkerSet/ml/app")
    assert workload is not None
    assert not in_flight(Cluster(found))
    then, bound = scaled(found, workload, groups)
    assert bound == 2 * groups
    assert [one.key for one in in_flight(Cluster(then))] == []
    changed = replace(workload, replicas=groups)
    assert rollout_question.answer(then, RolloutSettings(workloads=(changed.key,))).verdict is Verdict.COMPLETES
