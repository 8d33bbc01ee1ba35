"""Webhooks that aren't played, at every door: by name, unless their rules match nothing of it or a table knows what they change.

The inputs are reviews of the project: a cluster of one GPU node with room, and a webhook that sees every pod.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest

from planner.cli import main
from planner.kubernetes.known_admission_webhooks import _ROWS, HookChanges, known_hook
from planner.kubernetes.object_records import AdmissionHook, FrozenMap, PodSpec, Template
from tests.architecture.tree import ROOT
from tests.builders.objects import WHOLE, Item, node, pod, pod_spec

CASES: Final = ROOT / "tests/questions/cases"
PODS: Final = [
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "*"}
]
UNKNOWN: Final = "MutatingWebhookConfiguration gpu-toleration-adder/adder.platform.example.com"
GATEKEEPER: Final = (
    "ValidatingWebhookConfiguration gatekeeper-validating-webhook-configuration/validation.gatekeeper.sh"
)


def given(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((CASES / name).read_bytes()))
    return found


def with_hook(folder: Path, configuration: str = "", webhook: str = "", **changes: Any) -> Path:
    """The cluster with its webhook named and changed so."""
    cluster = given("mutating-webhook.json.gz")
    [hook] = [one for one in cluster["items"] if one["kind"] == "MutatingWebhookConfiguration"]
    hook["metadata"]["name"] = configuration or hook["metadata"]["name"]
    hook["webhooks"][0] |= {"name": webhook or hook["webhooks"][0]["name"], **changes}
    hook["kind"] = changes.pop("kind", hook["kind"])
    file = folder / "cluster.json"
    file.write_text(json.dumps(cluster))
    return file


def asked(capsys: pytest.CaptureFixture[str], command: str, *args: object, status: int = 0) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([command, *map(str, args)])
    assert (stopped.value.code or 0) == status
    return capsys.readouterr().out


def doubts_of(text: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(text)["result"]["doubts"]
    return found


CHANGE: Final = CASES / "mutating-webhook-deploy.json"


@pytest.mark.parametrize("command", ["gate", "rollout"])
def test_a_mutating_webhook_takes_the_proof_by_name(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster = with_hook(tmp_path)
    text = " ".join(asked(capsys, command, cluster, "-f", CHANGE).split())
    assert (
        f"could change the verdict: {UNKNOWN}: it may change or refuse its pods, and what it does isn't played" in text
    )
    assert "proven" not in text
    [doubt] = doubts_of(asked(capsys, command, cluster, "-f", CHANGE, "-o", "json"))
    assert (doubt["about"], doubt["could_change"]) == (UNKNOWN, "verdict")


@pytest.mark.parametrize(
    "changes",
    [
        {"rules": [{**PODS[0], "apiGroups": ["cert-manager.io"], "resources": ["certificaterequests"]}]},
        {"rules": [{**PODS[0], "scope": "Cluster"}]},
        {"rules": [{**PODS[0], "operations": ["DELETE"]}]},
        {"namespaceSelector": {"matchLabels": {"injected": "true"}}},
        {"objectSelector": {"matchLabels": {"injected": "true"}}},
    ],
    ids=["kinds", "scope", "operation", "namespace", "labels"],
)
def test_one_that_sees_none_of_it_is_not_spoken_of(
    changes: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster = with_hook(tmp_path, **changes)
    assert "(proven)" in asked(capsys, "rollout", cluster, "-f", CHANGE)
    gate = asked(capsys, "gate", cluster, "-f", CHANGE)
    assert "webhook" not in gate.lower()


NO_CONDITION: Final = (
    "!('system:nodes' in request.userInfo.groups)"  # Kubernetes' own example: it tells nothing of a rollout
)


@pytest.mark.parametrize(
    ("conditions", "policy", "is_asked"),
    [
        (["request.resource.resource != 'pods'"], "Fail", False),
        (["request.namespace == 'kube-system'"], "Fail", False),
        (["has(object.metadata.labels.injected)"], "Fail", False),
        (["'injected' in object.metadata.labels && object.metadata.labels['injected'] == 'true'"], "Fail", False),
        (["request.operation == 'UPDATE'"], "Fail", False),
        ([NO_CONDITION, "object.spec.schedulerName == 'other' && false"], "Fail", False),
        (["object.metadata.ownerReferences.exists(owner, owner.kind == 'DaemonSet')"], "Fail", False),
        # a label that isn't there is an error: with Ignore the webhook isn't called, with Fail the pod is refused
        (["object.metadata.labels['injected'] == 'true'"], "Ignore", False),
        (["object.metadata.labels['injected'] == 'true'"], "Fail", True),
        ([NO_CONDITION], "Fail", True),
        (["request.namespace == 'ml'", "object.kind == 'Pod'"], "Fail", True),
        (["object.metadata.labels['pod-template-hash'] == 'x'"], "Ignore", True),
        (["has(object.metadata.annotations.injected)"], "Fail", True),
        (["object.spec.containers.exists(c, 'nvidia.com/gpu' in c.resources.limits)"], "Fail", True),
        (["object.metadata.?labels.injected.orValue('') == 'true'"], "Fail", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["gate", "rollout", "make-room"])
def test_one_that_its_conditions_skip_is_not_spoken_of(
    command: str, conditions: list[str], policy: str, is_asked: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Conditions over what isn't known of a pod, or of who asks, skip nothing."""
    written = [{"name": f"c{i}", "expression": expression} for i, expression in enumerate(conditions)]
    cluster = with_hook(tmp_path, matchConditions=written, failurePolicy=policy)
    doubts = doubts_of(asked(capsys, command, cluster, "-f", CHANGE, "-o", "json"))
    assert [doubt["about"] for doubt in doubts if "Webhook" in doubt["about"]] == [UNKNOWN] * is_asked


def test_the_conditions_of_a_policy_count_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for namespace, is_asked in (("kube-system", False), ("ml", True)):
        rules = {"matchConstraints": {"resourceRules": [{**PODS[0], "resources": ["pods"]}]}}
        condition = [{"name": "c", "expression": f"request.namespace == '{namespace}'"}]
        group = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
        policy = {**group, "kind": "ValidatingAdmissionPolicy", "spec": {**rules, "matchConditions": condition}}
        binding = {
            **group,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": "p", "validationActions": ["Deny"]},
        }
        cluster = given("mutating-webhook.json.gz")
        cluster["items"] = [one for one in cluster["items"] if one["kind"] != "MutatingWebhookConfiguration"]
        file = tmp_path / "cluster.json"
        file.write_text(json.dumps({**cluster, "items": [*cluster["items"], policy, binding]}))
        about = [doubt["about"] for doubt in doubts_of(asked(capsys, "gate", file, "-f", CHANGE, "-o", "json"))]
        assert ("ValidatingAdmissionPolicy p" in about) is is_asked


def test_one_that_changes_no_scheduling_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cluster = with_hook(tmp_path, "pod-identity-webhook", "iam-for-pods.amazonaws.com")
    rollout = asked(capsys, "rollout", cluster, "-f", CHANGE)
    assert "(proven)" in rollout
    assert "changes nothing: MutatingWebhookConfiguration pod-identity-webhook/iam-for-pods.amazonaws.com" in rollout
    assert sum("pod-identity" in line for line in asked(capsys, "gate", cluster, "-f", CHANGE).splitlines()) == 1


def test_its_name_alone_is_anybodys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for names in (("pod-identity-webhook", "mine.example.com"), ("mine", "iam-for-pods.amazonaws.com")):
        assert "(proven)" not in asked(capsys, "rollout", with_hook(tmp_path, *names), "-f", CHANGE)


def test_a_readiness_gate_is_a_matter_of_time(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cluster = with_hook(tmp_path, "aws-load-balancer-webhook", "mpod.elbv2.k8s.aws")
    rollout = asked(capsys, "rollout", cluster, "-f", CHANGE)
    assert "(proven)" in rollout
    assert "could change the time: MutatingWebhookConfiguration aws-load-balancer-webhook/mpod.elbv2.k8s.aws" in rollout


def test_what_only_annotated_pods_get() -> None:
    hook = AdmissionHook(
        kind="MutatingWebhookConfiguration", name="dapr-sidecar-injector/sidecar-injector.dapr.io", is_required=True
    )
    plain = Template(labels=FrozenMap(), spec=PodSpec())
    annotated = Template(labels=FrozenMap(), spec=PodSpec(), annotations=FrozenMap({"dapr.io/enabled": "true"}))
    assert known_hook(hook, (plain,)) is not None
    assert known_hook(hook, (plain, annotated)) is None


def test_every_row_has_a_source_and_names_of_its_own() -> None:
    assert all(row.source and row.does and row.webhooks for row in _ROWS)
    assert len({row.configuration for row in _ROWS}) == len(_ROWS)
    anybody = [row.configuration for row in _ROWS if "*" in row.webhooks and row.changes is not HookChanges.PLAYED]
    assert not anybody


def test_what_a_webhook_may_change_no_moves_are_proven_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for resource, proven in (("pods", False), ("services", True)):
        cluster = with_hook(tmp_path, rules=[{**PODS[0], "resources": [resource]}])
        document = asked(capsys, "make-room", cluster, "-f", CHANGE, "-o", "json")
        assert json.loads(document)["result"]["is_proven"] is proven


@pytest.fixture
def gatekeeper(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(given("validating-webhook.json.gz")))
    return file


@pytest.mark.parametrize("change", ["validating-webhook-pod.json", "mutating-webhook-deploy.json"])
@pytest.mark.parametrize("output", ["text", "json", "markdown", "junit", "sarif", "github"])
def test_each_format_of_the_gate_tells_all_doubts(
    change: str, output: str, gatekeeper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = asked(capsys, "gate", gatekeeper, "-f", CASES / change, "-o", output)
    about = {one["about"] for one in doubts_of(asked(capsys, "gate", gatekeeper, "-f", CASES / change, "-o", "json"))}
    assert {GATEKEEPER, "ResourceQuotas and LimitRanges"} <= about
    if output == "junit":
        said = "".join(one.text or "" for one in ET.fromstring(said).iter("system-out"))
    if output == "sarif":
        results = json.loads(said)["runs"][0]["results"]
        assert {one["level"] for one in results} == {"warning"}
        said = "\n".join(one["message"]["text"] for one in results)
    said = said.replace("%3A", ":").replace("\\", "")
    assert "validation.gatekeeper.sh" in said
    assert "ResourceQuotas and LimitRanges" in said
    assert "proven" not in said


def test_what_may_only_refuse_lets_no_stuck_rollout_through(
    gatekeeper: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    large = json.loads(CHANGE.read_text())
    large["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 99
    change = tmp_path / "change.json"
    change.write_text(json.dumps(large))
    document = asked(capsys, "gate", gatekeeper, "-f", change, "-o", "json", status=2)
    told = {one["about"]: one["could_change"] for one in doubts_of(document)}
    assert told[GATEKEEPER] == "nothing"


# ── pods that make way ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("output", ["text", "json", "markdown", "junit", "sarif", "github"])
def test_pods_that_are_preempted_are_named_in_each_format(
    output: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    high: Item = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }
    change = json.loads(CHANGE.read_text())
    spec = change["spec"]["template"]["spec"]
    cluster, manifest = tmp_path / "cluster.json", tmp_path / "change.json"
    manifest.write_text(json.dumps(change))
    for is_high in (True, False):
        victim = pod("victim", pod_spec(gpus=1), on="gpu-0")
        items = [*WHOLE, high, node("gpu-0", gpus=1), victim]
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        spec["priorityClassName"] = "high" if is_high else ""
        manifest.write_text(json.dumps(change))
        said = asked(capsys, "gate", cluster, "-f", manifest, "-o", output, status=0 if is_high else 2)
        assert ("ml/victim" in said) is is_high


def test_room_for_a_manifest_tells_all_doubts_though_nothing_moves(
    gatekeeper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = asked(capsys, "make-room", gatekeeper, "-f", CHANGE)
    assert said.startswith("The place needs no move.")
    for about in ("validation.gatekeeper.sh", "ResourceQuotas and LimitRanges"):
        assert about in said
    document = json.loads(asked(capsys, "make-room", gatekeeper, "-f", CHANGE, "-o", "json"))
    assert {one["about"] for one in document["result"]["doubts"]} == {GATEKEEPER, "ResourceQuotas and LimitRanges"}
