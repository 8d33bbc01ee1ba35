"""What ``kubectl apply`` takes away and what it leaves: by the last applied configuration, and by who owns a field."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml

from planner.history import snapshot_bytes
from planner.inventory.kubectl_apply import AppliedWorkload, Manifest, read_manifest
from planner.inventory.last_applied import fields_in
from planner.kubernetes.object_records import CommandForm, Snapshot
from planner.kubernetes.strategic_merge_patch import merge, of_apply
from tests.builders.objects import read_items

Object = dict[str, Any]
LAST = "kubectl.kubernetes.io/last-applied-configuration"
GPU = "nvidia.com/gpu"
VALUE = "hunter2-applied"


def applied() -> Object:
    """As somebody applies it."""
    container = {
        "name": "main", "image": "app:1", "env": [{"name": "A", "value": VALUE}, {"name": "B", "value": "2"}],
        "resources": {"limits": {GPU: "4"}, "requests": {"cpu": "2"}}, "args": ["--serve"],
    }  # fmt: skip
    spec: Object = {
        "containers": [container, {"name": "log", "image": "log:1"}],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml", "labels": {"team": "a", "tier": "b"}},
        "spec": {"replicas": 3, "minReadySeconds": 5, "selector": {"matchLabels": {"app": "web"}}, "template": template,
                 "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}},
    }  # fmt: skip


def live(one: Object | None = None) -> Object:
    """As the API server holds it: its defaults, and what others wrote."""
    made = copy.deepcopy(one or applied())
    spec = made["spec"]
    pods = spec["template"]["spec"]
    pods |= {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "priorityClassName": "from-a-webhook"}
    pods["containers"].append({"name": "sidecar", "image": "mesh:1", "resources": {"requests": {"cpu": "100m"}}})
    pods["containers"][0] |= {"imagePullPolicy": "IfNotPresent", "terminationMessagePolicy": "File"}
    spec["strategy"]["rollingUpdate"]["maxUnavailable"] = "25%"
    spec["replicas"] = 7
    made["metadata"]["labels"]["by"] = "somebody-else"
    return made


def told_by_annotation(one: Object) -> Object:
    made = live()
    made["metadata"]["annotations"] = {LAST: json.dumps(one)}
    return made


def fields_of(value: Any, key: str = "") -> Any:
    """``fieldsV1`` of an object, as server-side apply writes it."""
    names = {"containers": "name", "env": "name", "volumes": "name", "ports": "containerPort"}
    if isinstance(value, dict):
        return {f"f:{name}": fields_of(one, name) for name, one in value.items()}
    if isinstance(value, list) and key in names:
        found: Object = {}
        for one in value:
            named = json.dumps({names[key]: one[names[key]]}, separators=(",", ":"))
            found[f"k:{named}"] = {".": {}, **fields_of(one)}
        return found
    return {}


def told_by_managers(*entries: tuple[str, str, Object]) -> Object:
    made = live()
    made["metadata"]["managedFields"] = [
        {"manager": name, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
         "fieldsV1": fields_of({key: one for key, one in said.items() if key in ("metadata", "spec")})}
        for name, operation, said in entries
    ]  # fmt: skip
    return made


def snapshot(one: Object) -> Snapshot:
    return read_items([one])


def put(there: Snapshot, given: Object) -> tuple[AppliedWorkload, Manifest]:
    manifest = read_manifest(yaml.safe_dump(given), there)
    [one] = manifest.workloads
    return one, manifest


def without(*path: str | int) -> Object:
    made = applied()
    place: Any = made
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return made


POD = ("spec", "template", "spec")
RECORDS = {
    "annotation": told_by_annotation(applied()),
    "server-side": told_by_managers(("argocd-controller", "Apply", applied()), ("hpa", "Update", {"spec": {"replicas": 1}})),
    "helm": told_by_managers(("helm", "Update", applied()), ("kube-controller-manager", "Update", {"spec": {"replicas": 1}})),
}  # fmt: skip


@pytest.mark.parametrize("record", RECORDS)
def test_the_same_manifest_changes_no_pods_and_keeps_what_others_wrote(record: str) -> None:
    one, manifest = put(snapshot(RECORDS[record]), without("spec", "replicas") if record != "annotation" else applied())
    assert not one.has_new_template
    assert one.after.replicas == (3 if record == "annotation" else 7)
    assert one.after.labels["by"] == "somebody-else"
    assert [one.name for one in one.after.template.spec.containers] == ["main", "log", "sidecar"]
    assert "apply-assumed" not in [finding.code for finding in manifest.findings]


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize(
    ("path", "gone"),
    [
        ((*POD, "containers", 0, "resources", "limits"), lambda w: GPU not in w.template.spec.containers[0].limits),
        ((*POD, "containers", 1), lambda w: [c.name for c in w.template.spec.containers] == ["main", "sidecar"]),
        ((*POD, "nodeSelector"), lambda w: not w.template.spec.node_selector),
        ((*POD, "tolerations"), lambda w: not w.template.spec.tolerations),
        ((*POD, "volumes"), lambda w: not w.template.spec.volumes),
        ((*POD, "containers", 0, "env", 1), lambda w: True),
        ((*POD, "containers", 0, "args"), lambda w: True),
    ],
    ids=["limits", "container", "nodeSelector", "tolerations", "volumes", "env", "args"],
)  # fmt: skip
def test_what_was_applied_and_is_left_out_goes(record: str, path: tuple[str | int, ...], gone: Any) -> None:
    one, _ = put(snapshot(RECORDS[record]), without(*path))
    assert one.has_new_template
    assert gone(one.after)
    assert one.after.template.spec.priority_class_name == "from-a-webhook"
    assert "sidecar" in [container.name for container in one.after.template.spec.containers]


@pytest.mark.parametrize("record", ["annotation", "server-side"])
def test_with_a_command_goes_what_it_said_of_the_start(record: str) -> None:
    """`headroom.dev/start` is a field of the snapshot's own, made of the command: left behind, a shell would still stand between."""
    shell = applied()
    shell["spec"]["template"]["spec"]["containers"][0]["command"] = ["/bin/sh", "-c", "python serve.py"]
    before = live(shell)
    if record == "annotation":
        before["metadata"]["annotations"] = {LAST: json.dumps(shell)}
    else:
        before["metadata"]["managedFields"] = [
            {"manager": "argocd-controller", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
             "fieldsV1": fields_of({key: shell[key] for key in ("metadata", "spec")})}
        ]  # fmt: skip
    there = snapshot(before)
    assert there.workloads[0].template.spec.containers[0].command_form is CommandForm.SHELL
    after, _ = put(there, applied())
    assert after.after.template.spec.containers[0].command_form is CommandForm.IMAGE


def test_outside_the_template_too() -> None:
    """Replicas that were applied and are left out become the API server's default; a label goes, and another's stays."""
    there = snapshot(RECORDS["annotation"])
    assert put(there, without("spec", "replicas"))[0].after.replicas == 1
    assert put(there, without("spec", "minReadySeconds"))[0].after.min_ready_seconds == 0
    labels = put(there, without("metadata", "labels", "tier"))[0].after.labels
    assert dict(labels) == {"team": "a", "by": "somebody-else"}
    never = applied()
    del never["spec"]["replicas"]
    assert put(snapshot(told_by_annotation(never)), never)[0].after.replicas == 7  # an autoscaler's


def test_what_another_manager_owns_too_stays() -> None:
    there = told_by_managers(("kubectl", "Apply", applied()), ("a-team", "Update", {"spec": {"minReadySeconds": 1}}))
    given = without("spec", "minReadySeconds")
    del given["spec"]["template"]["spec"]["nodeSelector"]
    one, _ = put(snapshot(there), given)
    assert one.after.min_ready_seconds == 5
    assert not one.after.template.spec.node_selector


def test_managers_that_apply_no_manifest_say_nothing() -> None:
    there = snapshot(told_by_managers(("kubectl-edit", "Update", applied()), ("kubectl-create", "Update", applied())))
    assert there.workloads[0].applied == ""
    one, manifest = put(there, without(*POD, "nodeSelector"))
    assert not one.has_new_template
    assert [finding.code for finding in manifest.findings] == ["apply-assumed"]


def test_a_strategy_and_a_volume_of_another_kind_lose_the_fields_of_the_old() -> None:
    for there in (snapshot(live()), snapshot(RECORDS["annotation"])):
        given = applied()
        given["spec"]["strategy"] = {"type": "Recreate"}
        given["spec"]["template"]["spec"]["volumes"] = [{"name": "scratch", "hostPath": {"path": "/tmp"}}]
        one, _ = put(there, given)
        assert (one.after.strategy.kind, one.after.strategy.max_surge) == ("Recreate", None)
        assert [volume.kind for volume in one.after.template.spec.volumes] == ["hostPath"]


@pytest.mark.parametrize("record", [*RECORDS, "none"])
def test_a_part_of_an_object_is_a_patch_of_what_is_there(record: str) -> None:
    """No selector, no labels, one field: what kubectl apply makes of it is the change of that field."""
    there = copy.deepcopy(RECORDS.get(record, live()))
    there["metadata"].get("annotations", {}).pop(LAST, None)
    there["metadata"].pop("managedFields", None)
    containers = [{"name": "main", "image": "app:2"}]
    part = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "ml"},
            "spec": {"template": {"spec": {"containers": containers}}}}  # fmt: skip
    one, manifest = put(snapshot(there), part)
    assert one.has_new_template
    assert one.after.template.spec.containers[0].image == "app:2"
    assert one.after.template.spec.containers[0].limits[GPU] == 4
    assert one.after.replicas == 7
    assert "apply-assumed" not in [finding.code for finding in manifest.findings]


@pytest.mark.parametrize("record", RECORDS)
def test_paths_are_kept_and_no_values(record: str) -> None:
    there = snapshot(RECORDS[record])
    text = there.workloads[0].applied
    assert fields_in(text)["spec"]["template"]["spec"]["containers"][0]["image"] is True
    assert VALUE not in repr(there)
    assert VALUE not in snapshot_bytes.encode(there).decode()
    assert "--serve" not in text
    assert snapshot_bytes.decode(snapshot_bytes.encode(there), "x").workloads == there.workloads


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"spec": 3}', '{"metadata": [], "spec": {"template": []}}', "[" * 100_000]
)
def test_an_annotation_that_says_nothing_is_passed_over(text: str) -> None:
    made = live()
    made["metadata"]["annotations"] = {LAST: text}
    made["metadata"]["managedFields"] = [
        {"manager": "x", "operation": "Apply", "fieldsV1": {"f:spec": {"k:{": {}, "f:a": 3}}}
    ]
    one, _ = put(snapshot(made), without(*POD, "nodeSelector"))
    assert one.after.template.spec.node_selector == {"disk": "ssd"}


def test_the_three_ways() -> None:
    """Applied, given, live → result; each field of a map by itself."""
    live_now = {"kept": 1, "gone": 2, "changed": 3, "inner": {"gone": 1, "kept": 2}, "tolerations": [1], "null": 5}
    given = {"changed": 4, "new": 5, "inner": {}, "tolerations": [2], "null": None}
    applied = {"gone": True, "changed": True, "inner": {"gone": True}, "tolerations": True, "never": True}
    patch = of_apply(given, applied, live_now)
    assert merge(live_now, patch) == {"kept": 1, "changed": 4, "new": 5, "inner": {"kept": 2}, "tolerations": [2]}
