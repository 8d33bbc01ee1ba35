"""A ReplicaSet whose pods a quota refused tries again, after 1,000 s at most: whoever waits sees it go on.

Source: kubernetes `pkg/controller/replicaset/replica_set.go` `processNextWorkItem` (an error is added again, rate limited), client-go
`util/workqueue/default_rate_limiters.go`; users: kubernetes#89209, #98656.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Reason, RolloutResult, Verdict
from planner.rollout.clock import PATIENCE_MS
from planner.rollout.prepared_change import Scenario
from planner.rollout.run import simulate
from planner.scheduling.cluster import Cluster
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.builders.volumes import bound, csi_driver
from tests.conformance import rollout_cases
from tests.rollout.rollouts import revision, stateful_set

RECORDINGS = Path(__file__).parents[1] / "conformance" / "rollouts"


def quota(pods: int) -> Item:
    return {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "quota", "namespace": "ml"},
        "spec": {"hard": {"pods": str(pods)}}, "status": {"hard": {"pods": str(pods)}},
    }  # fmt: skip


def full(replicas: int, surge: int, unavailable: int, hard: int | None = None) -> Snapshot:
    """As many pods as the quota lets in."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    web = deployment("web", ["n-0"] * replicas, pod_spec(), strategy=strategy)
    return snapshot(web, quota(replicas if hard is None else hard), node("n-0"), node("n-1"))


def rolled_out(found: Snapshot) -> RolloutResult:
    return rollout(found, Scenario(changes=(WorkloadChange(workload="Deployment/ml/web"),)))


@pytest.mark.parametrize(("replicas", "surge", "unavailable"), [(2, 1, 1), (3, 1, 1), (4, 1, 1), (4, 1, 2), (5, 2, 1)])
def test_who_gives_up_a_pod_gets_one_into_the_quota(replicas: int, surge: int, unavailable: int) -> None:
    result = rolled_out(full(replicas, surge, unavailable))
    assert result.verdict is Verdict.COMPLETES
    assert result.workloads[0].lowest_ready >= replicas - unavailable


@pytest.mark.parametrize("is_first", [True, False])
def test_a_stateful_set_that_was_refused_tries_again_though_none_of_its_own_pods_changed(is_first: bool) -> None:
    """Another's pods give the quota back. Source: kubernetes `pkg/controller/statefulset/stateful_set.go` `processNextWorkItem` (an error is
    added again, rate limited)."""
    found = snapshot(
        node("n-0"), quota(3), stateful_set("worker", ["n-0"], pod_spec()), deployment("other", ["n-0"] * 2, pod_spec())
    )
    both = [
        revision(found, "StatefulSet/ml/worker", patch={"spec": {"replicas": 2}}),
        revision(found, "Deployment/ml/other", patch={"spec": {"replicas": 0}}),
    ]
    assert all(simulate(Cluster(found), both if is_first else both[::-1]).done.values())
    assert not all(simulate(Cluster(found), both[:1]).done.values())  # where nobody does, it is stuck


def test_a_pod_that_a_retry_makes_starts_with_its_volume() -> None:
    """Random cluster 1726 (`tests.properties.test_attaching_clusters`): the last pod was made, bound, and never Ready."""
    spec = pod_spec(nodeSelector={"kubernetes.io/hostname": "n-0"})
    spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1}}
    web = deployment("web", ["n-0"] * 2, spec, strategy=strategy)
    answer = rolled_out(snapshot(web, bound(), csi_driver(), quota(2), node("n-0"), node("n-1")))
    assert answer.verdict is Verdict.COMPLETES
    anywhere = deployment("web", ["n-0"] * 2, {**spec, "nodeSelector": {}}, strategy=strategy)
    held = rolled_out(snapshot(anywhere, bound(), csi_driver(), quota(2), node("n-0", cordoned=True), node("n-1")))
    assert (held.verdict, held.reason) == (Verdict.STUCK, Reason.VOLUME_ATTACHED), "where another node has it, it waits"


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_who_gives_up_none_never_does(replicas: int) -> None:
    result = rolled_out(full(replicas, 1, 0))
    assert result.verdict is Verdict.STUCK
    assert "quota-retried" not in {one.code for one in result.findings}


def test_that_it_may_take_longer_is_told() -> None:
    (told,) = [one for one in rolled_out(full(4, 1, 1)).findings if one.code == "quota-retried"]
    assert "17 min more than is said" in told.what
    assert not [one for one in rolled_out(full(4, 1, 1, hard=5)).findings if one.code == "quota-retried"]


@pytest.mark.parametrize("name", ["quota-005", "quota-007", "quota-019", "tight-021-anti"])
def test_a_recorder_that_stops_after_seconds_sees_it_stuck(name: str) -> None:
    """Four recordings end before the ReplicaSet's next try: what the recorder saw, and what comes of it."""
    case = json.loads(gzip.decompress((RECORDINGS / f"{name}.json.gz").read_bytes()))
    seen, _ = rollout_cases.play(case)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rollout_cases, "RECORDERS_PATIENCE_MS", PATIENCE_MS)
        in_life, _ = rollout_cases.play(case)
    assert case["outcome"]["verdict"] == "stuck"
    assert (seen.completed, in_life.completed) == (False, True)
