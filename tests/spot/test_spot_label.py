"""Spot nodes are selected by the label of who makes them, and the advised patch is put to the engine."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.inventory.change import WorkloadChange
from planner.kubernetes.clouds import BOUGHT
from planner.kubernetes.records import Snapshot
from planner.remedies.rollouts import rollout
from planner.rollout.prepared import Scenario
from planner.spot.checks import Check, CheckResult
from planner.spot.suitability import check_workload
from tests.builders.objects import Item, read_items

CASE = (
    Path(__file__).parent / "data" / "eks-karpenter-l4.json.gz"
)  # six L4 nodes on demand, two on spot, all Karpenter's
WORKER = "Deployment/ml/worker"
KARPENTER = "karpenter.sh/capacity-type"
SPOT_LABELS = [(key, value) for key, values in BOUGHT.items() for value, bought in values.items() if bought == "spot"]
"""Of whoever makes nodes, by the table of clouds: Karpenter, GKE, EKS' and AKS' node groups, OKE, and those that people write."""
OWN_TAINTS = {"cloud.google.com/gke-spot": "true", "kubernetes.azure.com/scalesetpriority": "spot"}


def made_by(label: tuple[str, str], *, taints: dict[str, str] | None = None, **more: Any) -> Snapshot:
    """The same cluster whose spot nodes have `label`, and these taints; `more` goes into the pods' spec."""
    items: list[Item] = json.loads(gzip.decompress(CASE.read_bytes()))["items"]
    for item in items:
        if item["kind"] == "Node":
            labels = item["metadata"]["labels"]
            if labels.pop(KARPENTER) == "spot":
                labels[label[0]] = label[1]
                new = [{"key": key, "value": value, "effect": "NoSchedule"} for key, value in (taints or {}).items()]
                item["spec"]["taints"] = [*item["spec"].get("taints", []), *new]
            elif label[0] == KARPENTER:
                labels[KARPENTER] = "on-demand"
        if item["kind"] == "Deployment":
            item["spec"]["template"]["spec"] |= more
    return read_items(items)


def placement(asked: Snapshot) -> CheckResult:
    workload = asked.workload(WORKER)
    assert workload is not None
    (found,) = (one for one in check_workload(asked, workload).checks if one.check is Check.PLACEMENT)
    return found


def is_refused(asked: Snapshot, patch: str) -> bool:
    """Whether the engine finds no node for the pods with this patch, however large the pools become."""
    scenario = Scenario(changes=(WorkloadChange(workload=WORKER, patch=patch),), runs=0, with_remedies=False)
    return "no node matches the new pod" in str(rollout(asked, scenario).sentence)


@pytest.mark.parametrize("label", SPOT_LABELS, ids="=".join)
def test_the_patch_finds_the_spot_nodes_of_their_maker(label: tuple[str, str]) -> None:
    key, value = label
    asked = made_by(label, taints={key: value} if key in OWN_TAINTS else None)
    patch = placement(asked).yaml
    assert yaml.safe_load(patch)["spec"]["template"]["spec"]["nodeSelector"][key] == value
    assert not is_refused(asked, patch)
    assert is_refused(asked, patch.replace(key, "example.com/another-maker"))


@pytest.mark.parametrize("label", [("cloud.google.com/gke-spot", "true"), (KARPENTER, "spot")])
def test_taints_that_somebody_gave_spot_nodes_are_tolerated(label: tuple[str, str]) -> None:
    """Without the toleration no pod gets there: the engine refuses the patch that lacks it."""
    asked = made_by(label, taints={"team": "ml", "preemptible": "yes"})
    patch = yaml.safe_load(placement(asked).yaml)
    assert not is_refused(asked, yaml.safe_dump(patch))
    of_team = [one for one in patch["spec"]["template"]["spec"]["tolerations"] if one["key"] != "team"]
    patch["spec"]["template"]["spec"]["tolerations"] = of_team
    assert is_refused(asked, yaml.safe_dump(patch))


def test_no_patch_is_offered_that_a_node_affinity_makes_useless() -> None:
    on_demand = {"key": KARPENTER, "operator": "NotIn", "values": ["spot"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [on_demand]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    found = placement(made_by((KARPENTER, "spot"), affinity=affinity))
    assert "a node affinity that lets it go to spot nodes" in found.evidence
    assert found.yaml == ""


def test_a_spot_pool_that_is_too_small_is_none() -> None:
    items: list[Item] = json.loads(gzip.decompress(CASE.read_bytes()))["items"]
    for item in items:
        if item["kind"] == "Node" and item["metadata"]["labels"][KARPENTER] == "spot":
            item["status"]["allocatable"].pop("nvidia.com/gpu")
    assert "No spot node of its kind is in the cluster" in placement(read_items(items)).evidence
    assert "No spot node of its kind" not in placement(made_by((KARPENTER, "spot"))).evidence
