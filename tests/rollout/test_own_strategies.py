"""Every strategy of an Argo Rollout and a LeaderWorkerSet in their own fields, held against what was recorded: today's is among those that
complete where it did, and the patch that is printed for the recommended one makes the rollout complete."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from planner.ground.records import replace
from planner.inventory.change import WorkloadChange, document_of
from planner.inventory.patch_and_undo import applied
from planner.kubernetes.strategic_merge_patch import merge, with_whole_lists
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.argo_and_lws_strategies import own_strategies
from planner.rollout.prepared_change import Scenario
from planner.rollout.strategy_choice import Weights
from planner.rollout.tie_break_sensitivity import PLACEMENTS
from tests.conformance.comparison import cases
from tests.rollout.test_other_kinds import HERE, read
from tests.seen import premise

RECORDED = {
    name: case
    for project in ("argo-rollouts", "leaderworkerset")
    for name, case in cases(HERE / project)
    if not isinstance(case["change"], list) and case["outcome"]["verdict"] in ("complete", "stuck")
}


def asked(case: Any, patch: Any) -> tuple[str, Scenario]:
    change = case["change"]
    key = f"{change['kind']}/{change['namespace']}/{change['name']}"
    return key, Scenario(
        changes=(WorkloadChange(workload=key, patch=json.dumps(patch), new_revision=False),), runs=PLACEMENTS
    )


@pytest.mark.parametrize("name", RECORDED)
def test_strategies_agree_with_the_recording_and_the_patch_does_what_it_says(name: str) -> None:
    case = RECORDED[name]
    snapshot = read(case["cluster"]["items"])
    key, scenario = asked(case, case["change"]["patch"])
    before = snapshot.workload(key)
    assert before is not None
    if not premise(rollout(snapshot, scenario).verdict is not Verdict.UNKNOWN):
        found = own_strategies(snapshot, scenario, key, Weights())
        assert not found.choice.options
        return
    found = own_strategies(snapshot, scenario, key, Weights())
    todays = [one for one in found.choice.options if one.is_current]
    assert bool(todays) is (case["outcome"]["verdict"] == "complete")
    best = found.choice.recommended
    if not premise(best is not None and not best.is_current):
        return
    assert best is not None
    shown = applied(before, replace(before, strategy=found.strategies[best.pair]))
    assert shown is not None
    assert "--type=merge" in shown.command
    own = json.loads(shlex.split(shown.command)[-1])
    both = merge(with_whole_lists(case["change"]["patch"]), with_whole_lists(own))
    again = rollout(snapshot, asked(case, both)[1])
    assert again.verdict is Verdict.COMPLETES, best.name
    assert again.workloads[0].lowest_ready == best.lowest_ready


def test_a_router_is_told_by_its_own_fields() -> None:
    titles = set()
    for name, case in RECORDED.items():
        if name.startswith("routed"):
            key, scenario = asked(case, case["change"]["patch"])
            snapshot = read(case["cluster"]["items"])
            titles |= {one.name for one in own_strategies(snapshot, scenario, key, Weights()).choice.options}
    assert any("dynamicStableScale: true" in one for one in titles)
    assert not any("maxSurge" in one for one in titles), "with a router maxSurge says nothing of the stable set"


def as_json_merge(original: Any, patch: Any) -> Any:
    """RFC 7386, by its own pseudocode: all that a custom resource takes."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(original) if isinstance(original, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = as_json_merge(merged.get(key), value)
    return merged


@pytest.mark.parametrize("has_env", [False, True])
@pytest.mark.parametrize(("project", "name"), [("argo-rollouts", "canary-000"), ("leaderworkerset", "lws-000")])
def test_a_new_image_of_a_custom_resource_keeps_the_rest_of_its_container(
    project: str, name: str, *, has_env: bool
) -> None:
    """A list of a JSON merge patch replaces the list: a container that says its image alone has no GPU afterwards. One with a value that no
    snapshot keeps is the user's own file's to change."""
    case = next(case for found, case in cases(HERE / project) if found == name)
    key, _ = asked(case, {})
    (live,) = [one for one in case["cluster"]["items"] if f"{one['kind']}/ml/{one['metadata']['name']}" == key]
    live = json.loads(json.dumps(live))
    path = ("leaderWorkerTemplate", "workerTemplate") if live["kind"] == "LeaderWorkerSet" else ("template",)

    def container(document: Any) -> Any:
        found = document["spec"]
        for step in path:
            found = found[step]
        (only,) = found["spec"]["containers"]
        return only

    if not has_env:
        del container(live)["env"]
    before = read([live]).workload(key)
    container(live)["image"] = "example.com/serve:9"
    after = read([live]).workload(key)
    assert before is not None
    assert after is not None
    shown = applied(before, after)
    assert shown is not None
    assert shown.is_whole is not has_env
    if has_env:
        assert shown.command == "kubectl apply -f CHANGE.yaml"
        assert "containers" not in shown.patch_yaml
        return
    merged = as_json_merge(document_of(before), json.loads(shlex.split(shown.command)[-1]))
    assert merged == document_of(after)
    assert container(merged)["resources"]["requests"]["nvidia.com/gpu"] == "1"
    assert as_json_merge(merged, json.loads(shlex.split(shown.undo)[-1])) == document_of(before)
