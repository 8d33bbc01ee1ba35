"""What asks that its pods are scheduled as a group isn't known, by whatever field, in the versions that have it."""

from __future__ import annotations

from typing import Any

import pytest

from planner.ground.exit_status import ExitStatus
from planner.rollout.answers import Verdict
from planner.serve.admission_review import Silence
from tests.builders.objects import Item, node, pod, pod_spec, snapshot
from tests.rules.manifest_doors import ask_doors

GANG: Item = {"schedulingPolicy": {"gang": {"minCount": 2}}}
REFERENCE: Item = {"name": "train", "podGroup": "workers"}


def asking(api_version: str, kind: str, spec: Item) -> Item:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "train", "namespace": "ml"}, "spec": spec}


def job(**spec: Any) -> Item:
    template = {"spec": {**pod_spec(), "restartPolicy": "Never", **spec.pop("pods", {})}}
    return asking("batch/v1", "Job", {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": template, **spec})  # fmt: skip


def deployment(**spec: Any) -> Item:
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {**pod_spec(), **spec.pop("pods", {})}}
    return asking("apps/v1", "Deployment", {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "template": template, **spec})  # fmt: skip


@pytest.mark.parametrize(
    ("manifest", "minor", "said"),
    [
        (job(scheduling=GANG), 37, "spec.scheduling of Job/ml/train asks for its pods to be scheduled as a group"),
        (job(scheduling=GANG), 36, "spec.scheduling (is a field since Kubernetes 1.37)"),  # a server may be newer than the kubelets
        (deployment(scheduling=GANG), 36, "spec.scheduling (is a field of KEP-6276)"),
        (deployment(scheduling=GANG), 37, "spec.scheduling (is a field of KEP-6276)"),
        (job(pods={"workloadRef": REFERENCE}), 35, "spec.template.spec.workloadRef of Job/ml/train asks"),
        (deployment(pods={"workloadRef": REFERENCE}), 35, "spec.template.spec.workloadRef of Deployment/ml/train asks"),
        (deployment(pods={"schedulingGroup": {"podGroupName": "g"}}), 36, "spec.template.spec.schedulingGroup of Deployment"),
        (job(), 37, ""),
        (deployment(), 37, ""),
    ],
)  # fmt: skip
def test_a_gang_that_is_asked_for_is_not_known_at_any_door(manifest: Item, minor: int, said: str) -> None:
    here = node("a")
    here["status"]["nodeInfo"] = {"kubeletVersion": f"v1.{minor}.1"}
    doors = ask_doors(snapshot(here, pod("other", pod_spec(cpu="100m"), on="a")), manifest)
    assert doors.gate.exit_status == (ExitStatus.NOT_KNOWN if said else ExitStatus.ANSWERED)
    is_reviewed = manifest["kind"] == "Deployment"  # of Jobs the webhook isn't asked
    assert doors.webhook.silence is (
        (Silence.NOT_KNOWN if said else Silence.COMPLETES) if is_reviewed else Silence.NO_ROLLOUT
    )
    assert said in doors.not_known
    assert (doors.played is None) is bool(said)
    assert said or doors.rollout.verdict is Verdict.COMPLETES
