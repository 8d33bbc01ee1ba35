"""Strategic merge patches as an API server applied or refused them (`tests/conformance/patches.json.gz`)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from planner.ground.errors import ChangeError
from planner.inventory.change import WorkloadChange, apply_change
from planner.kubernetes.object_records import Workload
from tests.builders.objects import read_items
from tests.seen import premise

RECORDED = json.loads(gzip.decompress(Path("tests/conformance/patches.json.gz").read_bytes()))
BEFORE = RECORDED["before"]


def main(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", **fields}]}


def read(spec: Any) -> Workload:
    return read_items([{**BEFORE, "spec": spec}]).workloads[0]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: str(case["name"]))
def test_a_patch_gives_what_the_api_server_gave(case: dict[str, Any]) -> None:
    before = read(BEFORE["spec"])
    asked = WorkloadChange(workload=before.key, patch=json.dumps(case["patch"]), new_revision=False)
    if not premise(case["status"] == 200):
        with pytest.raises(ChangeError):
            apply_change(before, asked)
        return
    after, is_new, _ = apply_change(before, asked)
    recorded = read(case["after"].get("spec", case["after"]))
    assert after.template.spec == recorded.template.spec
    assert (after.replicas, after.strategy, after.is_paused) == (
        recorded.replicas,
        recorded.strategy,
        recorded.is_paused,
    )
    assert after.template.makes_the_same_pods(recorded.template)
    assert is_new == (not before.template.makes_the_same_pods(recorded.template))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"tolerations": [{"operator": "Equal", "value": "x"}]}, "operator must be Exists when key is empty"),
        ({"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]}, "value must be empty"),
        ({"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 3}]}, "effect must be NoExecute"),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}},
            "must have at least one term",
        ),
        (
            {"resources": {"requests": {"cpu": "100m"}}},
            "resources.requests: cpu 100m is less than the containers'",
        ),
        ({"resourceClaims": [{"name": "g"}]}, "give one of resourceClaimName and resourceClaimTemplateName"),
        ({"activeDeadlineSeconds": 60}, "activeDeadlineSeconds is not supported"),
        (
            {"topologySpreadConstraints": [
                {"topologyKey": "zone", "maxSkew": 0, "whenUnsatisfiable": "DoNotSchedule"}
            ]},
            "maxSkew must be greater than 0",
        ),
        (
            {"containers": [{"name": "main", "resources": {"claims": [{"name": "no"}]}}]},
            "no is none of the pod's resourceClaims",
        ),
        ({"volumes": [{"name": "n", "persistentVolumeClaim": {"claimName": ""}}]}, "give a claimName"),
        (main(resources={"requests": {"gpu": "1"}}), "gpu must be a standard resource"),
        (main(resources={kind: {"amd.com/gpu": "500m"} for kind in ("requests", "limits")}), "must be an integer"),
        (main(resources={"requests": {"hugepages-2Mi": "4Mi"}}), "can't be overcommitted"),
        (main(volumeMounts=[{"name": "lost", "mountPath": "/x"}]), "names a volume that isn't there"),
        (main(ports=[{"containerPort": 81, "name": "a"}, {"containerPort": 82, "name": "a"}]), "a name is used twice"),
        (main(livenessProbe={"exec": {"command": ["x"]}, "httpGet": {"port": 80}}), "more than 1 handler type"),
        (main(readinessProbe={"periodSeconds": 3}), "must specify a handler type"),
        (main(lifecycle={"preStop": {}}), "must specify a handler type"),
        ({"initContainers": [{"name": "i", "image": "x", "startupProbe": {"exec": {}}}]}, "containers that stay"),
        ({"schedulingGates": [{"name": "A b"}]}, "is no qualified name"),
    ],
)  # fmt: skip
def test_what_the_api_server_refuses_of_a_template(spec: dict[str, Any], words: str) -> None:
    before = read(BEFORE["spec"])
    patch = json.dumps({"spec": {"template": {"spec": spec}}})
    with pytest.raises(ChangeError) as refused:
        apply_change(before, WorkloadChange(workload=before.key, patch=patch))
    assert words in refused.value.what


def test_a_mount_of_a_volume_there_is_and_a_probe_of_one_kind_are_taken() -> None:
    before = read(BEFORE["spec"])
    container = {"volumeMounts": [{"name": "v", "mountPath": "/v"}], "readinessProbe": {"tcpSocket": {"port": 80}}}
    patch = {"spec": {"template": {"spec": {"volumes": [{"name": "v", "emptyDir": {}}], **main(**container)}}}}
    after, is_new, _ = apply_change(before, WorkloadChange(workload=before.key, patch=json.dumps(patch)))
    assert is_new
    again = json.dumps({"spec": {"template": {"spec": main(readinessProbe={"httpGet": {"port": 80}})}}})
    with pytest.raises(ChangeError, match="more than 1 handler type"):
        apply_change(after, WorkloadChange(workload=before.key, patch=again))
