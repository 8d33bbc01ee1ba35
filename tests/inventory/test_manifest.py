"""Manifests against a snapshot."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from planner.ground.errors import ChangeError
from planner.inventory.kubectl_apply import Manifest, read_manifest
from planner.kubernetes.object_records import Presence, Snapshot, Strategy
from planner.kubernetes.pod_template_kinds import Idle
from planner.sources import demo
from planner.sources.shipped_files import data_folder
from tests.builders.objects import deployment, node, pod_spec, read_items, snapshot
from tests.inventory.objects import a_list, container, gpu_node, named, template, workload
from tests.seen import each

Object = dict[str, Any]


def plain(image: str = "registry.example/app:1", **spec: Any) -> Object:
    """A manifest without anything that can't be compared."""
    return workload(template=template("app", {"name": "main", "image": image}), **spec)


QUOTA = named("ResourceQuota", namespace="prod", spec={"hard": {"pods": "5"}}, status={"used": {"pods": "3"}})
BUDGET = named("PodDisruptionBudget", namespace="prod", api_version="policy/v1", spec={"minAvailable": 1, "selector": {}},
               status={"disruptionsAllowed": 2, "currentHealthy": 3})  # fmt: skip
CLAIM = named("PersistentVolumeClaim", namespace="prod", spec={"volumeName": "pv-1"})
SNAPSHOT = read_items(
    [gpu_node(), plain(replicas=3, strategy={"type": "Recreate"}), workload("Job", "train"), QUOTA, BUDGET, CLAIM]
)


def read(*objects: Object, snapshot: Snapshot = SNAPSHOT) -> Manifest:
    return read_manifest(yaml.safe_dump_all(objects), snapshot)


def test_the_same_manifest_changes_nothing() -> None:
    manifest = read(plain())
    [one] = manifest.workloads
    assert (one.before, one.after) == (SNAPSHOT.workloads[0], SNAPSHOT.workloads[0])
    assert not one.has_new_template
    assert not one.is_changed
    assert manifest.snapshot is SNAPSHOT
    assert manifest.findings == ()


def test_fields_that_are_not_given_stay() -> None:
    [one] = read(plain()).workloads
    assert (one.after.replicas, one.after.strategy) == (3, Strategy(kind="Recreate"))
    [one] = read(plain(replicas=5)).workloads
    assert (one.after.replicas, one.has_new_template, one.is_changed) == (5, False, True)


def test_what_nobody_is_known_to_have_applied_stays_and_that_is_said() -> None:
    selector = template("app", {"name": "main", "image": "registry.example/app:1"}, nodeSelector={"a": "b"})
    snapshot = read_items([workload(template=selector)])
    manifest = read(plain(), snapshot=snapshot)
    [one] = manifest.workloads
    assert one.after.template.spec.node_selector == {"a": "b"}
    assert not one.has_new_template
    assert [finding.code for finding in manifest.findings] == ["apply-assumed"]


def test_a_new_image_is_a_new_template() -> None:
    [one] = read(plain("registry.example/app:2")).workloads
    assert one.has_new_template
    assert one.after.uid == SNAPSHOT.workloads[0].uid


@pytest.mark.parametrize(
    ("fields", "is_new"),
    [
        ({"env": [{"name": "A", "value": "SECRET"}]}, True),
        ({"args": ["SECRET"]}, True),
        ({"imagePullPolicy": "Always"}, True),
        ({"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log"}, False),
        ({"securityContext": {}, "env": None}, False),
    ],
)
def test_fields_whose_values_are_not_kept(fields: Object, is_new: bool) -> None:
    manifest = read(workload(template=template("app", container("main", **fields))))
    [one] = manifest.workloads
    assert one.has_new_template == is_new
    assert manifest.findings == ()
    assert "SECRET" not in repr(manifest)


def test_a_new_workload() -> None:
    manifest = read(workload(name="new"))
    [one] = manifest.workloads
    assert one.before is None
    assert one.after.key == "Deployment/prod/new"
    assert one.after.strategy == Strategy(max_surge="25%", max_unavailable="25%")
    assert one.has_new_template
    assert one.is_changed
    assert manifest.findings == ()


def test_without_a_namespace_it_is_the_default_one_and_a_namesake_is_told() -> None:
    item = plain()
    del item["metadata"]["namespace"]
    manifest = read(item)
    assert [one.after.key for one in manifest.workloads] == ["Deployment/default/app"]
    [finding] = manifest.findings
    assert finding.code == "manifest-new-namesake"
    assert "prod" in finding.what


def test_objects_that_name_no_namespace_go_to_the_one_given() -> None:
    items = [
        plain(),
        named("ResourceQuota", spec={"hard": {"pods": "9"}}),
        named("PriorityClass", "high", api_version="scheduling.k8s.io/v1", value=1),
    ]
    for item in items:
        item["metadata"].pop("namespace", None)
    manifest = read_manifest(yaml.safe_dump_all(items), SNAPSHOT, namespace="prod")
    [one] = manifest.workloads
    assert (one.after.key, one.is_changed) == ("Deployment/prod/app", False)
    assert {quota.namespace for quota in manifest.snapshot.resource_quotas} == {"prod"}
    assert [one.name for one in manifest.snapshot.priority_classes] == ["high"]


def test_a_job_that_is_there_already_is_not_run_again() -> None:
    """Nor is another template of it taken: the API server refuses to change it."""
    [one] = read(workload("Job", "train")).placed
    assert (one.workload.key, one.placed.idle, one.placed.pods) == ("Job/prod/train", Idle.THERE, 0)
    [other] = read(workload("Job", "train", template=template("train", container(env=[{"name": "A"}])))).unknown
    assert "refuses to change a Job's" in other.what


def test_lists_and_several_documents_json_and_yaml() -> None:
    items = [plain(), workload("StatefulSet", "db"), named("Lease", api_version="coordination.k8s.io/v1")]
    texts = [json.dumps(a_list(*items)), yaml.safe_dump_all(items), "\n---\n".join(json.dumps(one) for one in items)]
    for text in each(texts):
        manifest = read_manifest(text, SNAPSHOT)
        assert [one.after.key for one in manifest.workloads] == ["Deployment/prod/app", "StatefulSet/prod/db"]
        assert manifest.other_kinds == {"Lease": 1}
        assert [finding.code for finding in manifest.findings] == ["manifest-not-applied"]


def test_objects_beside_workloads_go_into_a_snapshot_of_their_own() -> None:
    quota = named("ResourceQuota", namespace="prod", spec={"hard": {"pods": "9"}})
    budget = named("PodDisruptionBudget", namespace="prod", api_version="policy/v1", spec={"maxUnavailable": 1})
    claim = named("PersistentVolumeClaim", namespace="prod", spec={"volumeName": "other"})
    priority = named("PriorityClass", "high", api_version="scheduling.k8s.io/v1", value=1000)
    after = read(quota, budget, claim, priority, named("Namespace", "prod")).snapshot
    assert after.resource_quotas[0].hard == {"pods": 9}
    assert after.resource_quotas[0].used == {"pods": 3}
    assert after.pod_disruption_budgets[0].max_unavailable == 1
    assert after.pod_disruption_budgets[0].disruptions_allowed == 2
    assert after.persistent_volume_claims == SNAPSHOT.persistent_volume_claims  # bound claims don't move
    assert [one.value for one in after.priority_classes] == [1000]
    assert (
        after.presence["PriorityClass"] is SNAPSHOT.presence["PriorityClass"] is Presence.ABSENT
    )  # others may be there
    assert after.workloads == SNAPSHOT.workloads
    assert after.digest != SNAPSHOT.digest
    assert after.digest == read(quota, budget, claim, priority, named("Namespace", "prod")).snapshot.digest


def test_the_demos_own_objects_change_nothing_that_is_kept() -> None:
    import gzip

    snapshot = demo.read()
    text = gzip.decompress((data_folder() / "demo" / "cluster.json.gz").read_bytes()).decode()
    items = [
        one for one in json.loads(text)["items"] if one["kind"] in ("Deployment", "StatefulSet", "DaemonSet", "Job")
    ]
    manifest = read_manifest(json.dumps(a_list(*items)), snapshot)
    assert len(manifest.workloads) + len(manifest.placed) == len(snapshot.workloads)
    assert all(one.before == one.after for one in manifest.workloads)
    assert {one.placed.idle for one in manifest.placed} == {Idle.THERE}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "it is empty"),
        ("---\n---\n", "it is empty"),
        ("a: [", "isn't YAML"),
        ('{"kind": ', "isn't JSON"),
        ("- 1", "isn't a Kubernetes object"),
        ("hello", "isn't a Kubernetes object"),
        ("metadata: {name: a}", "no kind"),
        ("replicaCount: 1\nimage: {tag: x}", "it is Helm's values, and no manifest"),
        ("replicaCount: 1\nresources: {limits: {cpu: 1}}", "it is Helm's values, and no manifest"),
        ("resources: [a.yaml]\nnamePrefix: x", "it is a kustomization, and no manifest"),
        ("services: {web: {image: x}}", "it is a file of Docker Compose, and no manifest"),
        (yaml.safe_dump(plain(replicas=-1)), "spec.replicas"),
        (yaml.safe_dump(plain(replicas="x")), "spec.replicas"),
        (yaml.safe_dump(plain() | {"metadata": {}}), "no metadata.name"),
        (yaml.safe_dump(plain(selector={"matchLabels": {"app": "other"}})), "spec.selector can't be changed"),
        (yaml.safe_dump(workload(name="new", template=template("other"))), "doesn't select its own pod template"),
        (yaml.safe_dump(workload(name="new", template={})), "doesn't select"),
        (
            yaml.safe_dump(workload(name="new", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}})),
            "both 0",
        ),
        (yaml.safe_dump(named("ResourceQuota", spec={"hard": {"cpu": "1K"}})), "not a Kubernetes quantity"),
        (yaml.safe_dump(named("ResourceQuota", spec=3)), "spec: expected an object, got a number"),
    ],
)
def test_manifests_that_are_refused(text: str, what: str) -> None:
    with pytest.raises(ChangeError, match=what) as refused:
        read_manifest(text, SNAPSHOT)
    assert refused.value.where.startswith(("manifest", "Deployment"))


def test_a_template_that_nobody_rendered_is_called_one() -> None:
    with pytest.raises(ChangeError) as refused:
        read_manifest("kind: Pod\nmetadata:\n  {{- include x . }}\n", SNAPSHOT)
    assert "helm template" in refused.value.fix
    with pytest.raises(ChangeError) as refused:
        read_manifest("kind: Pod\nmetadata: [", SNAPSHOT)
    assert "helm template" not in refused.value.fix


def test_lists_in_lists_are_taken_apart_and_a_kind_that_only_ends_so_is_an_object() -> None:
    nested = a_list(
        a_list(plain(), named("Lease", api_version="coordination.k8s.io/v1")), workload("StatefulSet", "db")
    )
    allowed = named("AllowList", "x", api_version="example.com/v1")
    manifest = read(nested, allowed)
    assert [one.after.key for one in manifest.workloads] == ["Deployment/prod/app", "StatefulSet/prod/db"]
    assert manifest.other_kinds == {"Lease": 1}
    assert [one.key for one in manifest.unknown] == ["AllowList/default/x"]


def test_json_and_yaml_may_follow_one_another() -> None:
    one, other = json.dumps(plain(), indent="\t"), yaml.safe_dump(workload("StatefulSet", "db"))
    for text in (f"{one}\n---\n{other}", f"# first\n{other}---\n{one}", f"{other}---\n{one}\n---\n{one and ''}"):
        found = read_manifest(text, SNAPSHOT).workloads
        assert {one.after.key for one in found} == {"Deployment/prod/app", "StatefulSet/prod/db"}
    with pytest.raises(ChangeError, match=r"\(line 5\)"):
        read_manifest('{"a":\n1}\n---\nb: c\nd: ]\ne: f\n', SNAPSHOT)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"minAvailable": "150%"}, "minAvailable is 150%"),
        ({"maxUnavailable": "101%"}, "maxUnavailable is 101%"),
        ({"minAvailable": "-5%"}, 'minAvailable is "-5%"'),
        ({"maxUnavailable": "9x%"}, 'maxUnavailable is "9x%"'),
        ({"minAvailable": -1}, 'minAvailable is "-1"'),
        ({"minAvailable": "1"}, 'minAvailable is "1"'),
        ({"minAvailable": 1, "maxUnavailable": 1}, "both set"),
    ],
)
def test_a_budget_that_the_api_server_refuses(spec: Object, said: str) -> None:
    with pytest.raises(ChangeError) as refused:
        read(named("PodDisruptionBudget", "few", namespace="prod", api_version="policy/v1", spec=spec))
    assert said in str(refused.value)
    assert "PodDisruptionBudget/prod/few" in str(refused.value)


def test_what_is_for_kustomize_applies_nothing() -> None:
    with pytest.raises(ChangeError, match="for kustomize"):
        read(named("Kustomization", "", api_version="kustomize.config.k8s.io/v1beta1", resources=["a.yaml"]))


@pytest.mark.parametrize(
    ("kubelet", "is_refused"), [("", True), ("v1.31.2-gke.1", True), ("v1.16.0", True), ("v1.15.9", False)]
)
def test_an_api_version_is_refused_where_no_api_server_takes_it(kubelet: str, is_refused: bool) -> None:
    """Deprecated API Migration Guide: apps/v1beta1, apps/v1beta2 and extensions/v1beta1 ended with 1.16."""
    one = node("n0")
    one["status"]["nodeInfo"] = {"kubeletVersion": kubelet}
    found = snapshot(one)
    old = json.dumps(deployment("old", [], pod_spec())[0] | {"apiVersion": "apps/v1beta2"})
    if is_refused:
        with pytest.raises(
            ChangeError, match=r"no API server since Kubernetes 1\.16 takes a Deployment of apps/v1beta2"
        ):
            read_manifest(old, found)
    else:
        assert len(read_manifest(old, found).workloads) == 1
