"""Kinds of projects that came after the others: their pods are counted and placed by the table, each case made from its CRD."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

import pytest

from planner.kubernetes.pod_templates import templated
from planner.kubernetes.records import Snapshot
from planner.questions.gate import GatedWorkload, GateSettings, answer
from planner.rollout.answers import Verdict
from tests.capacity.teams import GPU, node, read

Object = dict[str, Any]


def pod_spec(gpus: int) -> Object:
    return {"containers": [{"name": "c", "image": "x", "resources": {"limits": {GPU: str(gpus)}}}]}


def made(api_version: str, kind: str, spec: Object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "a"}, "spec": spec}


def cliques(sets: int, **more: Any) -> Object:
    """Two roles, of 2 pods and of one."""
    some = [{"name": "p", "spec": {"roleName": "p", "replicas": 2, "minAvailable": 1, "podSpec": pod_spec(1)}},
            {"name": "d", "spec": {"roleName": "d", "podSpec": pod_spec(1)}}]  # fmt: skip
    return made("grove.io/v1alpha1", "PodCliqueSet", {"replicas": sets, "template": {"cliques": some, **more}})


def roles(version: str, replicas: int, **role: Any) -> Object:
    return made(
        f"workloads.x-k8s.io/{version}", "RoleBasedGroup", {"roles": [{"name": "r", "replicas": replicas, **role}]}
    )


SERVING: Final = made("workload.serving.volcano.sh/v1alpha1", "ModelServing", {"replicas": 2, "template": {"roles": [
    {"name": "p", "replicas": 2, "entryTemplate": {"spec": pod_spec(1)}, "workerReplicas": 1, "workerTemplate": {"spec": pod_spec(1)}},
]}})  # fmt: skip


def cluster(*objects: Object) -> Snapshot:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    return read([node("n", 8), space, *objects])


def asked(one: Object, *there: Object) -> GatedWorkload:
    [found] = answer(cluster(*there), GateSettings(manifest=json.dumps(one))).workloads
    return found


@pytest.mark.parametrize(
    ("given", "gpus", "verdict"),
    [
        (cliques(2), 6, Verdict.COMPLETES),
        (cliques(3), 9, Verdict.STUCK),
        (roles("v1alpha1", 4, template={"spec": pod_spec(2)}), 8, Verdict.COMPLETES),
        (roles("v1alpha2", 5, standalonePattern={"template": {"spec": pod_spec(2)}}), 10, Verdict.STUCK),
        (SERVING, 8, Verdict.UNKNOWN),  # Volcano places them
    ],
)
def test_pods_and_gpus_are_counted_and_placed(given: Object, gpus: int, verdict: Verdict) -> None:
    found = asked(given)
    assert (found.more_gpus, found.is_told, found.verdict) == (gpus, True, verdict), found.sentence


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (cliques(1, podCliqueScalingGroups=[{"name": "s", "cliqueNames": ["p"], "replicas": 2}]), "podCliqueScalingGroups"),
        (roles("v1alpha2", 1, leaderWorkerPattern={"size": 2, "template": {"spec": pod_spec(2)}}), "leaderWorkerPattern"),
        (roles("v1alpha1", 1, template={"spec": pod_spec(2)}, engineRuntimes=[{"profileName": "e"}]), "engineRuntimes"),
    ],
)  # fmt: skip
def test_what_makes_other_pods_is_named(given: Object, place: str) -> None:
    found = asked(given)
    assert (found.verdict, found.is_told) == (Verdict.UNKNOWN, False)
    assert place in str(found.sentence)


@pytest.mark.parametrize(
    "given", [cliques(2), roles("v1alpha2", 4, standalonePattern={"template": {"spec": pod_spec(2)}})]
)
def test_a_change_of_one_that_is_there_is_not_played(given: Object) -> None:
    other = deepcopy(given)
    other["spec"]["replicas" if given["kind"] == "PodCliqueSet" else "roles"] = (
        1 if given["kind"] == "PodCliqueSet" else [{**given["spec"]["roles"][0], "replicas": 1}]
    )
    found = asked(other, given)
    assert found.verdict is Verdict.UNKNOWN
    assert "isn't played" in str(found.sentence) or "isn't modelled" in str(found.sentence)


@pytest.mark.parametrize("one", [cliques(1), roles("v1alpha2", 1), SERVING])
def test_the_projects_version_is_named(one: Object) -> None:
    row = templated(one["kind"], one["apiVersion"])
    assert row is not None
    assert row.schema
