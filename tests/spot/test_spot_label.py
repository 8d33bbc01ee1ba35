"""Spot nodes are selected by the label of who makes them, and the advised patch is put to the engine."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.cli import main
from planner.inventory.change import WorkloadChange
from planner.kubernetes.clouds import BOUGHT, CLOUDS
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.questions.savings import SavingsSettings, answer, detail_of
from planner.remedies.patch_outcome import refusal
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.prepared_change import Scenario
from planner.sources.prices import embedded_book
from planner.spot.assumptions import SpotSettings
from planner.spot.suitability import Suitability, check_workload
from planner.spot.suitability_checks import Check, CheckResult
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


# ── put to the engine before it is offered ───────────────────────────────────────────────────────────────────────────
def of_engine(asked: Snapshot) -> Suitability:
    """The checklist as `costs --spot` has it, with the engine behind it."""
    spot = SpotSettings(runs=100, on_demand_usd_per_hour=1.0, spot_usd_per_hour=0.4)
    found = answer(asked, SavingsSettings(workload=WORKER, spot=spot), Inputs(book=embedded_book()))
    return detail_of(found).suitability


def near(topology: str) -> dict[str, Any]:
    """Pods that run only beside others of the worker: on one node, each of which has one GPU, or in one region."""
    term = {"labelSelector": {"matchLabels": {"app": "worker"}}, "topologyKey": topology}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize("label", SPOT_LABELS, ids="=".join)
def test_a_patch_under_which_the_engine_finds_no_node_is_not_offered(label: tuple[str, str]) -> None:
    taints = {label[0]: label[1]} if label[0] in OWN_TAINTS else None
    together = of_engine(made_by(label, taints=taints, affinity=near("kubernetes.io/hostname")))
    assert together.patch_yaml == ""
    (place,) = (one for one in together.checks if one.check is Check.PLACEMENT)
    assert "No patch is offered: with it and 7 more spot nodes, 0/15 nodes are available: " in place.evidence
    assert "7 node(s) didn't match pod affinity rules." in place.evidence
    apart = of_engine(made_by(label, taints=taints, affinity=near("topology.kubernetes.io/region")))
    assert yaml.safe_load(apart.patch_yaml)["spec"]["template"]["spec"]["nodeSelector"][label[0]] == label[1]
    assert not any("No patch is offered" in one.evidence for one in apart.checks)


def without_spot_nodes(provider_labels: dict[str, str], **more: Any) -> Snapshot:
    """The cluster before a spot pool is added, its nodes of another maker than Karpenter where labels are given."""
    items: list[Item] = json.loads(gzip.decompress(CASE.read_bytes()))["items"]
    kept = []
    for item in items:
        if item["kind"] == "Node":
            labels = item["metadata"]["labels"]
            if labels[KARPENTER] == "spot":
                continue
            if provider_labels:
                for key in [key for key in labels if key.startswith("karpenter")]:
                    del labels[key]
                labels |= provider_labels
        if item["metadata"]["name"] == "worker":
            spec = item["spec"]["template"]["spec"]
            spec["nodeSelector"] = provider_labels or spec["nodeSelector"]
            spec |= more
        kept.append(item)
    names = {item["metadata"]["name"] for item in kept if item["kind"] == "Node"}
    return read_items([one for one in kept if one["kind"] != "Pod" or one["spec"]["nodeName"] in names])


POOLS = {cloud.name: {cloud.pool[0]: "gpu"} for cloud in CLOUDS if cloud.spot_label is not None} | {"Karpenter": {}}


@pytest.mark.parametrize("maker", POOLS)
def test_the_patch_fits_the_pool_that_is_advised(maker: str) -> None:
    """Where the cluster has no spot node yet, the engine is asked about the pool to be added, with its maker's label and taint. A node
    affinity for the pool of today rules the new one out: no patch is offered, and the reason is said."""
    pool = POOLS[maker]
    found = of_engine(without_spot_nodes(pool))
    label = next((one.spot_label for one in CLOUDS if one.name == maker and one.spot_label), (KARPENTER, "spot"))
    assert yaml.safe_load(found.patch_yaml)["spec"]["template"]["spec"]["nodeSelector"][label[0]] == label[1]
    key, value = next(iter(pool.items()), (KARPENTER, "on-demand"))
    expression = {"key": key, "operator": "In", "values": [value]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    kept = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    tied = of_engine(without_spot_nodes(pool, affinity=kept))
    assert "nodeSelector" not in tied.patch_yaml
    (place,) = (one for one in tied.checks if one.check is Check.PLACEMENT)
    assert "a node affinity that lets it go to spot nodes" in place.evidence


def test_the_engine_refuses_a_selector_that_no_node_has() -> None:
    """The first review's patch, on the cluster it was offered for."""
    asked = made_by((KARPENTER, "spot"))
    patch = {"spec": {"template": {"spec": {"nodeSelector": {"eks.amazonaws.com/capacityType": "SPOT"}}}}}
    said = refusal(asked, yaml.safe_dump(patch), key=WORKER)
    assert said == "0/8 nodes are available: 8 node(s) didn't match Pod's node affinity/selector"
    assert refusal(asked, yaml.safe_dump({"spec": {"paused": False}}), key="Job/ml/none") == ""


def test_the_terminal_says_why_no_patch_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items: list[Item] = json.loads(gzip.decompress(CASE.read_bytes()))["items"]
    prices = ("--on-demand-usd-per-hour", "1", "--spot-usd-per-hour", "0.4", "--runs", "100")
    said = []
    for topology in ("kubernetes.io/hostname", "topology.kubernetes.io/region"):
        for item in items:
            if item["metadata"]["name"] == "worker":
                item["spec"]["template"]["spec"]["affinity"] = near(topology)
        file = tmp_path / "cluster.json"
        file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
        with pytest.raises(SystemExit):
            main(["costs", "--spot", str(file), "--workload", "deployment/ml/worker", *prices])
        said.append(capsys.readouterr().out)
    assert "No patch is offered" in said[0]
    assert "Patch of" not in said[0]
    assert "No patch is offered" not in said[1]
    assert "Patch of" in said[1]
