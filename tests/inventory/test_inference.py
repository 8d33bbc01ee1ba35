"""ReplicaSets that are told by the pods they own."""

from __future__ import annotations

import pytest

from planner.capacity.rollout_readiness import overview
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Presence, Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import cluster_dumps
from tests.builders.objects import read_items
from tests.inventory.objects import Object, node, pod, workload


def owned(name: str, template_hash: str, app: str = "app", is_ready: bool = True) -> Object:
    one = pod(name, "gpu-0")
    one["metadata"] |= {
        "labels": {"app": app, "pod-template-hash": template_hash},
        "ownerReferences": [
            {"kind": "ReplicaSet", "name": f"{app}-{template_hash}", "uid": f"rs-{template_hash}", "controller": True}
        ],
    }
    one["status"]["conditions"] = [{"type": "Ready", "status": str(is_ready)}]
    return one


def read(*items: Object) -> Snapshot:
    return read_items([node(), *items])


def verdict(snapshot: Snapshot) -> Verdict:
    change = WorkloadChange(workload="Deployment/prod/app")
    return rollout(snapshot, Scenario(changes=(change,), with_remedies=False)).verdict


def test_the_pods_tell_their_replica_set() -> None:
    snapshot = read(workload(replicas=2), owned("app-1", "abc"), owned("app-2", "abc", is_ready=False))
    [one] = snapshot.replica_sets
    assert (one.namespace, one.name, one.uid, one.replicas, one.ready_replicas) == ("prod", "app-abc", "rs-abc", 2, 1)
    assert one.owner is not None
    assert one.owner.uid == "uid-Deployment-prod-app"
    assert one.selector.match_labels == {"app": "app", "pod-template-hash": "abc"}
    assert snapshot.presence["ReplicaSet"] is Presence.INFERRED
    assert [problem.code for problem in snapshot.problems] == ["replica-sets-inferred"]


def test_an_answer_goes_by_them() -> None:
    told = read(workload(replicas=1), owned("app-1", "abc"))
    assert verdict(told) is Verdict.COMPLETES
    assert overview(told).workloads[0].verdict is Verdict.COMPLETES


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([owned("app-1", "abc"), owned("app-2", "def")], id="two revisions"),
        pytest.param([pod("other", "gpu-0")], id="none of its pods"),
    ],
)
def test_what_the_pods_do_not_tell_is_not_known(pods: list[Object]) -> None:
    snapshot = read(workload(replicas=2), *pods)
    assert verdict(snapshot) is Verdict.UNKNOWN


def test_pods_of_one_deployment_tell_nothing_of_another() -> None:
    silent = workload(name="silent", replicas=1) | {"status": {"replicas": 1}}
    snapshot = read(workload(replicas=1), silent, owned("app-1", "abc"))
    verdicts = {one.workload: one.verdict for one in overview(snapshot).workloads}
    assert verdicts == {"Deployment/prod/app": Verdict.COMPLETES, "Deployment/prod/silent": Verdict.UNKNOWN}


def test_replica_sets_that_are_there_are_not_told_anew() -> None:
    there = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "other", "namespace": "prod"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}}},
    }  # fmt: skip
    snapshot = read(workload(), owned("app-1", "abc"), there)
    assert [one.name for one in snapshot.replica_sets] == ["other"]
    empty = cluster_dumps.read_bytes(
        b'{"kind": "ReplicaSetList", "apiVersion": "apps/v1", "items": []}', name="none.json"
    )
    assert empty.presence["ReplicaSet"] is Presence.PRESENT
    assert empty.replica_sets == ()


@pytest.mark.parametrize("labels", [{}, {"pod-template-hash": "xyz"}, {"pod-template-hash": ""}])
def test_a_replica_set_that_is_not_a_deployments_is_left_alone(labels: dict[str, str]) -> None:
    one = owned("app-1", "abc")
    one["metadata"]["labels"] = labels
    assert read(workload(), one).replica_sets == ()


def test_what_is_not_known_is_in_the_headline_with_what_adds_it() -> None:
    bare = [workload(name=f"d{number}") | {"status": {"replicas": 1}} for number in range(3)]
    items = [node(), pod("p", "gpu-0"), *bare]
    assert str(overview(read_items(items)).sentence) == (
        "0 known to complete, 3 not known: no ReplicaSets. To add them: "
        "kubectl get replicasets --all-namespaces --output json"
    )


def test_pods_whose_workloads_are_not_in_the_input_say_so() -> None:
    assert str(overview(read(owned("app-1", "abc"))).sentence) == (
        "Not known: the input holds no Deployments, StatefulSets and DaemonSets; its pods are of 1 workload. To add them: "
        "kubectl get deployments,statefulsets,daemonsets --all-namespaces --output json"
    )
    assert str(overview(read(pod("bare", "gpu-0"))).sentence) == "The snapshot holds no workload that rolls out."
