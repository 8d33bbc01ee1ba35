"""What is applied makes exactly the change, and what undoes it makes today's again."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
import yaml

from planner.inventory.change import WorkloadChange, apply_change, document_of
from planner.inventory.patch_and_undo import Applied, applied
from planner.kubernetes.object_records import FrozenMap, Workload
from planner.kubernetes.strategic_merge_patch import merge
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.run_outcomes import applied_changes
from planner.sources import demo
from tests.builders.objects import pod_spec, snapshot
from tests.rollout.rollouts import daemon_set, rolling

WORKER = "Deployment/prod/ml-worker"
TEMPLATE = {"containers": [{"name": "ml-worker", "image": "x:2", "env": [{"name": "A", "value": "hunter-2"}]}]}
CHANGES: dict[str, dict[str, Any]] = {
    "strategy": {"max_surge": 0, "max_unavailable": 1},
    "share": {"max_surge": "10%"},
    "recreate": {"strategy_kind": "Recreate"},
    "replicas": {"replicas": 8},
    "requests": {"requests": FrozenMap({"cpu": 500, "nvidia.com/gpu": 2})},
    "no selector": {"node_selector": FrozenMap({})},
    "all": {
        "max_surge": 2,
        "replicas": 3,
        "requests": FrozenMap({"memory": 2**30}),
        "node_selector": FrozenMap({"a": "b"}),
    },
    "patch": {"patch": json.dumps({"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}})},
    "a patch and more": {"patch": "spec: {minReadySeconds: 30}", "replicas": 2},
}


def manifest() -> dict[str, Any]:
    """The worker's manifest, with another image and a variable whose value no snapshot keeps."""
    before = worker()
    labels = dict(before.selector.match_labels)
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": before.name, "namespace": before.namespace},
        "spec": {"replicas": before.replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": TEMPLATE}},
    }  # fmt: skip


def of(workload: Workload, **change: Any) -> tuple[Applied, Workload]:
    after, _, _ = apply_change(workload, WorkloadChange(workload=workload.key, **change))
    found = applied(workload, after, change.get("patch", ""))
    assert found is not None
    return found, after


def worker() -> Workload:
    found = demo.read().workload(WORKER)
    assert found is not None
    return found


def patch_in(command: str) -> Any:
    words = shlex.split(command)
    assert words[:5] == ["kubectl", "patch", "deployment/ml-worker", "-n", "prod"]
    return json.loads(words[6])


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_patch_makes_the_change_and_the_undo_makes_todays(change: dict[str, Any]) -> None:
    before = worker()
    found, after = of(before, **change)
    patch = patch_in(found.command)
    assert merge(document_of(before), patch) == document_of(after)
    undone, _, _ = apply_change(after, WorkloadChange(workload=WORKER, patch=json.dumps(patch_in(found.undo))))
    assert undone == before
    assert yaml.safe_load(found.patch_yaml) == patch
    document = yaml.safe_load(found.yaml)
    assert document["spec"] == patch["spec"]
    assert (document["apiVersion"], document["kind"]) == ("apps/v1", "Deployment")
    (one,) = yaml.safe_load(found.kustomization)["patches"]
    assert yaml.safe_load(one["patch"]) == document
    assert one["target"] == {
        "group": "apps", "version": "v1", "kind": "Deployment", "name": "ml-worker", "namespace": "prod"
    }  # fmt: skip


def test_the_difference_says_today_and_then() -> None:
    found, _ = of(worker(), max_surge=0, replicas=8)
    assert [(one.field, one.today, one.then) for one in found.differences] == [
        ("spec.strategy.rollingUpdate.maxSurge", "25%", "0"), ("spec.replicas", "6", "8")
    ]  # fmt: skip


def test_amounts_that_are_as_much_are_no_difference() -> None:
    """A manifest's ``1000m`` beside a dump's ``1``: the API server keeps one form of both."""
    container = worker().template.spec.containers[0]
    cpu, memory = container.requests["cpu"], container.requests["memory"]

    def asking(cpu: str, memory: str) -> str:
        requests = {"cpu": cpu, "memory": memory}
        return json.dumps(
            {
                "spec": {
                    "template": {
                        "spec": {"containers": [{"name": container.name, "resources": {"requests": requests}}]}
                    }
                }
            }
        )

    same, _ = of(worker(), patch=asking(f"{cpu}m", str(memory)), replicas=8)
    assert [one.field for one in same.differences] == ["spec.replicas"]
    assert "resources" not in same.helm_values
    other, _ = of(worker(), patch=asking(f"{cpu + 1}m", str(memory)), replicas=8)
    (first, second) = other.differences
    assert second.field == "spec.replicas" or first.field == "spec.replicas"
    assert f"{cpu + 1}m" in other.yaml


def test_helms_usual_keys() -> None:
    found, _ = of(worker(), replicas=8, max_surge=0, requests=FrozenMap({"cpu": 500}))
    values = yaml.safe_load(found.helm_values)
    assert values["replicaCount"] == 8
    assert values["strategy"] == {"rollingUpdate": {"maxSurge": 0}}
    assert values["resources"] == {"requests": {"cpu": "500m"}}
    assert "Your chart decides" in found.helm_values


def test_values_that_are_not_kept_stay_in_the_patch_that_was_typed_and_go_by_an_undo() -> None:
    found, _ = of(worker(), patch=json.dumps({"spec": {"template": {"spec": TEMPLATE}}}), replicas=2)
    first, second = found.command.split(" && ")
    assert first == "kubectl patch deployment/ml-worker -n prod --patch-file PATCH.yaml"
    assert patch_in(second) == {"spec": {"replicas": 2}}
    assert not found.is_whole
    assert "hunter-2" not in repr(found)
    assert found.undo.startswith("kubectl rollout undo deployment/ml-worker -n prod && kubectl patch ")
    assert "\0" not in found.command + found.undo + found.yaml + "".join(
        one.field + one.then for one in found.differences
    )


@pytest.mark.parametrize(
    ("change", "files", "settings"),
    [
        ({"patch": "spec: {minReadySeconds: 5}"}, ["patch deployment/ml-worker -n prod --patch-file PATCH.yaml"], {}),
        ({"replicas": 2}, [], {"spec": {"replicas": 2}}),
        (
            {"patch": "spec: {minReadySeconds: 5}", "replicas": 2},
            ["patch deployment/ml-worker -n prod --patch-file PATCH.yaml"],
            {"spec": {"replicas": 2}},
        ),
    ],
    ids=["patch", "setting", "both"],
)
def test_a_change_on_top_of_a_manifest_is_applied_after_it(
    change: dict[str, Any], files: list[str], settings: dict[str, Any]
) -> None:
    """What isn't kept of the manifest stands in no command: `kubectl apply` has it."""
    cluster = demo.read()
    scenario = Scenario(manifest=json.dumps(manifest()), changes=(WorkloadChange(workload=WORKER, **change),))
    prepared = prepare(cluster, scenario)
    (found,) = applied_changes(prepared.snapshot, scenario, prepared.revisions)
    commands = found.command.split(" && ")
    assert commands[: len(files) + 1] == ["kubectl apply -f CHANGE.yaml", *(f"kubectl {file}" for file in files)]
    assert [patch_in(command) for command in commands[len(files) + 1 :]] == ([settings] if settings else [])
    assert "\\u0000" not in found.command + found.undo
    assert found.undo.startswith("kubectl rollout undo deployment/ml-worker -n prod")


def test_no_undo_goes_back_over_two_revisions() -> None:
    cluster = demo.read()
    patch = json.dumps({"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}})
    scenario = Scenario(manifest=json.dumps(manifest()), changes=(WorkloadChange(workload=WORKER, patch=patch),))
    prepared = prepare(cluster, scenario)
    (found,) = applied_changes(prepared.snapshot, scenario, prepared.revisions)
    assert found.undo == f"# apply the manifest that {WORKER} had before"


def test_no_digest_is_ever_part_of_a_command() -> None:
    """Whatever made `after`, which nobody told: neither a manifest nor the typed patch has its values."""
    before = worker()
    template = json.dumps({"spec": {"template": {"spec": TEMPLATE}}})
    after, _, _ = apply_change(before, WorkloadChange(workload=WORKER, patch=template, replicas=2))
    found = applied(before, after, "spec: {replicas: 2}")
    assert found is not None
    assert "\\u0000" not in found.command


def test_what_only_a_manifest_says_is_applied_with_it() -> None:
    before = worker()
    after, _, _ = apply_change(
        before, WorkloadChange(workload=WORKER, patch=json.dumps({"spec": {"template": {"spec": TEMPLATE}}}))
    )
    found = applied(before, after)
    assert found is not None
    assert not found.is_whole
    assert found.command == "kubectl apply -f CHANGE.yaml"
    assert "\0" not in found.yaml + found.kustomization


def test_a_restart_needs_no_patch() -> None:
    before = worker()
    assert applied(before, apply_change(before, WorkloadChange(workload=WORKER))[0]) is None


def test_a_daemon_set_is_undone_in_its_own_field() -> None:
    made = snapshot(daemon_set("agent", ["n-0"], pod_spec(), updateStrategy=rolling(0, 1)))
    workload = made.workload("DaemonSet/ml/agent")
    assert workload is not None
    found, _ = of(workload, strategy_kind="OnDelete")
    assert '{"spec": {"updateStrategy": {"type": "OnDelete"' in found.command
    assert "partition" not in found.undo
