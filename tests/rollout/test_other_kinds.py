"""Kinds of other projects: what isn't modelled is not known, ways out are in their own fields, and rules of a later version are taken
where its controller is seen."""

from __future__ import annotations

import copy
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from planner.inventory.change import WorkloadChange, apply_change
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Reason, RemedyKind, Verdict
from planner.rollout.controllers.argo_counts import closest
from planner.rollout.in_flight import in_flight
from planner.rollout.prepared_change import Scenario
from planner.rollout.run import simulate
from planner.scheduling.cluster import Cluster
from tests.conformance.comparison import cases
from tests.conformance.kind_cases import _LISTS
from tests.conformance.rollout_cases import revisions_of
from tests.seen import each

HERE = Path(__file__).parents[1] / "conformance" / "kinds"
Object = dict[str, Any]


def recorded(project: str, name: str) -> Object:
    return dict(cases(HERE / project))[name]


def read(items: list[Object]) -> Snapshot:
    return build_snapshot([Part(items=items, listed=_LISTS)], source="recording")


def asked(case: Object, items: list[Object] | None = None) -> Any:
    change = case["change"]
    key = f"{change['kind']}/{change['namespace']}/{change['name']}"
    one = WorkloadChange(workload=key, patch=json.dumps(change["patch"]), new_revision=False)
    return rollout(read(items or case["cluster"]["items"]), Scenario(changes=(one,)))


def with_rollout(case: Object, **spec: Any) -> list[Object]:
    """The cluster, its Rollout with other fields."""
    return [
        {**one, "spec": {**one["spec"], **spec}} if one["kind"] == "Rollout" else one
        for one in case["cluster"]["items"]
    ]


def test_the_way_out_of_groups_is_in_their_own_fields() -> None:
    result = asked(recorded("leaderworkerset", "lws-002"))
    [line] = result.workloads
    assert line.verdict is Verdict.STUCK
    way = next(one for one in result.remedies if one.kind is RemedyKind.SWITCH_STRATEGY)
    assert "rollingUpdateConfiguration" in way.patch_yaml
    assert "--type=merge" in way.command
    assert way.lowest_ready == 4


def test_a_surge_that_is_given_back_is_named() -> None:
    [line] = asked(recorded("leaderworkerset", "lws-hand-deadlock")).workloads
    assert line.reason is Reason.SURGE_DROPPED


def test_a_promotion_is_told_with_its_plain_patch() -> None:
    result = asked(recorded("argo-rollouts", "canary-000"))
    [told] = [one for one in result.findings if one.code == "waits-for-promotion"]
    assert "2 times" in told.what
    assert "kubectl argo rollouts promote serve -n ml" in told.fix
    assert "--subresource=status" in told.fix


def test_the_steps_of_a_way_out_promote_what_pauses_on_the_way() -> None:
    """Without that the wait for Healthy ends in a timeout. Each pause is waited for by its place among the steps."""
    result = asked(recorded("argo-rollouts", "hand-full"))
    for way in result.remedies:
        *_, change = way.steps
        assert "kubectl argo rollouts promote serve -n ml does the same" in change.what
        apply, at_step, is_paused, patch, healthy = change.commands
        assert apply.startswith("kubectl apply")
        assert "{.status.currentStepIndex}=1" in at_step
        assert "{.status.phase}=Paused" in is_paused
        assert "--subresource=status" in patch
        assert json.loads(shlex.split(patch)[-1]) == {"status": {"pauseConditions": None}}
        assert "{.status.phase}=Healthy" in healthy
    no_pause = asked(recorded("argo-rollouts", "canary-007")).remedies
    assert no_pause
    assert not any("promote" in str(one.steps) for one in no_pause)


def test_a_template_of_another_workload_is_not_known() -> None:
    case = recorded("argo-rollouts", "canary-000")
    items = with_rollout(case, workloadRef={"kind": "Deployment", "name": "serve"})
    for one in items:
        if one["kind"] == "Rollout":
            one["spec"].pop("template")
    change = WorkloadChange(workload="Rollout/ml/serve", replicas=2)
    found = rollout(read(items), Scenario(changes=(change,)))
    assert found.verdict is Verdict.UNKNOWN
    assert "workloadRef" in str(found.sentence)


@pytest.mark.parametrize(
    ("canary", "said"),
    [
        ({"replicaProgressThreshold": {"type": "Pod", "value": 1}}, "replicaProgressThreshold"),
        ({"steps": [{"experiment": {"templates": [{"name": "b", "specRef": "canary"}]}}]}, "a step (experiment)"),
        ({"steps": [{"setWeight": 50}, {"makesPods": {}}]}, "a step (unknown)"),
    ],
)
def test_a_field_that_is_not_modelled_makes_it_not_known(canary: dict[str, object], said: str) -> None:
    case = recorded("argo-rollouts", "canary-000")
    found = asked(case, with_rollout(case, strategy={"canary": {"maxSurge": 0, "maxUnavailable": 1, **canary}}))
    assert found.verdict is Verdict.UNKNOWN
    assert said in str(found.sentence)


def test_claims_of_groups_are_not_known() -> None:
    case = recorded("leaderworkerset", "lws-hand-scale")
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    for one in case["cluster"]["items"]:
        if one["kind"] == "LeaderWorkerSet":
            one["spec"]["leaderWorkerTemplate"]["volumeClaimTemplates"] = [claim]
    found = asked(case)
    assert found.verdict is Verdict.UNKNOWN
    assert "volumeClaimTemplates" in str(found.sentence)


@pytest.mark.parametrize(
    ("project", "name", "on", "is_waited_for"),
    [
        ("leaderworkerset", "lws-000", "serve-0", True),
        ("leaderworkerset", "lws-000", "serve-0-2", True),
        ("argo-rollouts", "bluegreen-012", "serve-", False),
    ],
)
def test_whose_end_is_waited_for_on_a_silent_node(project: str, name: str, on: str, is_waited_for: bool) -> None:
    """Of groups a leader's and a worker's: their successors have their names. An Argo Rollout counts Ready pods alone."""
    case = recorded(project, name)
    assert asked(case).verdict is Verdict.COMPLETES
    items = copy.deepcopy(case["cluster"]["items"])
    place = next(
        one["spec"]["nodeName"] for one in items if one["kind"] == "Pod" and one["metadata"]["name"].startswith(on)
    )
    lost = next(one for one in items if one["kind"] == "Node" and one["metadata"]["name"] == place)
    lost["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    lost["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    found = asked(case, items)
    assert (found.reason is Reason.SILENT_NODE) is is_waited_for
    assert found.workloads[0].cures[0].events[0].partition(":")[0] == "answers"


@pytest.mark.parametrize("project", ["argo-rollouts", "leaderworkerset"])
def test_one_at_rest_is_not_in_flight(project: str) -> None:
    for name, case in each(cases(HERE / project)):
        assert in_flight(Cluster(read(case["cluster"]["items"]))) == () or "competitor" in name, name


@pytest.mark.parametrize(("version", "completes"), [("v0.8.0", True), ("v0.9.0", False)])
def test_a_later_controller_counts_workers_that_are_available(version: str, completes: bool) -> None:
    case = recorded("leaderworkerset", "lws-hand-scale")
    pod: Object = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lws", "namespace": "lws-system", "uid": "lws"},
        "spec": {"nodeName": "cpu-0", "containers": [{"name": "manager", "image": f"registry.example/lws/lws:{version}"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip
    snapshot = read([*case["cluster"]["items"], pod])
    assert simulate(Cluster(snapshot), revisions_of(case, snapshot)).completed is completes


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lws-hand-scale", True),  # a worker waits for a node, and 0.8 counts its group as Ready
        ("lws-hand-half-2", True),
        ("lws-hand-deadlock", True),  # a surge of all groups, which 0.8 gives back before it is made
        ("lws-000", False),  # no pod waits
        ("lws-002", False),  # stuck by both
    ],
)
def test_a_controller_that_is_not_seen_is_a_doubt_where_versions_differ(name: str, *, says: bool) -> None:
    found = [doubt for doubt in asked(recorded("leaderworkerset", name)).doubts if "isn't seen" in str(doubt.why)]
    assert bool(found) is says
    controller: Object = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lws", "namespace": "lws-system", "uid": "lws"},
        "spec": {"nodeName": "cpu-0", "containers": [{"name": "manager", "image": "registry.example/lws/lws:v0.8.0"}]},
        "status": {"phase": "Running"},
    }  # fmt: skip
    case = recorded("leaderworkerset", name)
    seen = asked(case, [*case["cluster"]["items"], controller])
    assert not [doubt for doubt in seen.doubts if "isn't seen" in str(doubt.why)]


def test_a_merge_patch_replaces_lists() -> None:
    case = recorded("argo-rollouts", "canary-000")
    before = read(case["cluster"]["items"]).workload("Rollout/ml/serve")
    assert before is not None
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "example.com/serve:2"}]}}}}
    after, is_new, _ = apply_change(
        before, WorkloadChange(workload=before.key, patch=json.dumps(patch), new_revision=False)
    )
    assert is_new
    assert not after.template.spec.containers[0].requests, "a strategic merge would have kept them"


@pytest.mark.parametrize(
    ("replicas", "weight", "surge", "expected"),
    [
        (10, 10, 1, (1, 9)), (10, 30, 0, (3, 7)), (1, 5, 1, (1, 1)), (1, 5, 0, (0, 1)), (3, 50, 0, (2, 1)), (5, 100, 0, (5, 0)),
        (4, 0, 0, (0, 4)), (0, 50, 1, (0, 0)),
    ],
)  # fmt: skip
def test_a_weight_is_met_as_closely_as_pods_allow(
    replicas: int, weight: int, surge: int, expected: tuple[int, int]
) -> None:
    """Source: argo-rollouts `utils/replicaset/canary.go`, its comment's examples, and ties go to the larger canary."""
    assert closest(replicas, weight, 100, surge) == expected
