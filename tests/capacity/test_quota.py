"""Quotas and tries that failed: said beside the verdict, never in place of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.capacity.node_pools import pools
from planner.inventory.change import WorkloadChange
from planner.inventory.cloud_quotas import Quota
from planner.inventory.pool_limits import PoolLimits, parse_typed_limits
from planner.kubernetes.object_records import Finding, Snapshot
from planner.questions import gate
from planner.questions.question import Inputs
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario, compiled
from planner.sources import node_pool_files
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot

SURGE_ONLY: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
T4 = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", "topology.kubernetes.io/region": "europe-west4"}


def read(document: Any) -> tuple[PoolLimits, ...]:
    return node_pool_files.read_bytes(json.dumps(document).encode(), name="quotas.json")


def quotas(document: Any) -> tuple[Quota, ...]:
    return read(document)[0].quotas


def gcloud(limit: float, usage: float, name: str = "europe-west4") -> Any:
    quota = {"metric": "NVIDIA_T4_GPUS", "limit": limit, "usage": usage}
    return {"kind": "compute#region", "name": name, "quotas": [quota, {"metric": "SNAPSHOTS", "limit": 9, "usage": 0}]}


def two_nodes() -> Snapshot:
    nodes = [node(f"n{i}", pool="t4", gpus=1, labels=T4) for i in range(2)]
    return snapshot(nodes, deployment("a", ["n0", "n1"], pod_spec(gpus=1), **SURGE_ONLY))


def asked(*limits: PoolLimits) -> RolloutResult:
    cluster = two_nodes()
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/a"),), runs=1, with_remedies=False)
    return rollout_with_remedies.rollout(
        cluster, scenario, pools(compiled(cluster), (*parse_typed_limits("t4=5"), *limits))
    )


def said(found: RolloutResult) -> list[Finding]:
    return [one for one in found.findings if one.code == "quota-short"]


def test_a_quota_that_is_used_up_stands_beside_the_verdict() -> None:
    found = asked(*read(gcloud(2, 2)))
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert [one.what for one in said(found)] == [
        "quota NVIDIA_T4_GPUS of europe-west4 has 0 of 2 GPUs left, the 1 node of pool t4 needs 1 (gcloud compute regions describe)"
    ]


def test_the_gate_says_the_same_beside_the_same_verdict() -> None:
    cluster, limits = two_nodes(), (*parse_typed_limits("t4=5"), *read(gcloud(2, 2)))
    items: list[Any] = deployment("a", ["n0", "n1"], pod_spec(gpus=1), **SURGE_ONLY)
    changed = next(one for one in items if one["kind"] == "Deployment")
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "another"
    gated = gate.answer(cluster, gate.GateSettings(manifest=json.dumps(changed)), Inputs(limits=limits))
    [part], [told] = gated.workloads, said(asked(*read(gcloud(2, 2))))
    assert part.verdict is Verdict.NEEDS_GROWTH
    assert [str(one) for one in part.warnings] == [told.what]
    assert "quota-short" not in {one.code for one in gated.findings}


def test_one_with_room_or_of_another_region_is_no_doubt() -> None:
    assert said(asked(*read(gcloud(3, 2)))) == []
    assert said(asked(*read(gcloud(2, 2, "us-central1")))) == []


def unseen(found: RolloutResult) -> list[str]:
    return [str(one.why) for one in found.doubts if one.about == "node pool t4"]


def test_a_quota_that_nobody_told_of_may_be_used_up() -> None:
    found = asked()
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert unseen(found) == ["whether the cloud's quota lets the node come isn't known: none was given"]
    [doubt] = [one for one in found.doubts if one.about == "node pool t4"]
    assert "gcloud compute regions describe europe-west4 --format=json" in doubt.advice
    assert unseen(asked(*read(gcloud(9, 2, "us-central1"))))  # another region's
    cpus = {"kind": "compute#region", "name": "europe-west4", "quotas": [{"metric": "CPUS", "limit": 99, "usage": 0}]}
    assert unseen(asked(*read(cpus)))  # not that of the GPUs


@pytest.mark.parametrize("usage", [2, 9])
def test_one_that_was_told_of_is_no_unseen_one(usage: int) -> None:
    assert unseen(asked(*read(gcloud(9, usage)))) == []


def test_who_has_no_cloud_has_no_quota() -> None:
    nodes = [node(f"n{i}", pool="t4", gpus=1, labels={"cloud.google.com/gke-nodepool": ""}) for i in range(2)]
    plain = [{**one, "metadata": {**one["metadata"], "labels": {"node-pool": "t4"}}} for one in nodes]
    cluster = snapshot(*plain, deployment("a", ["n0", "n1"], pod_spec(gpus=1), **SURGE_ONLY))
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/a"),), runs=1, with_remedies=False)
    found = rollout_with_remedies.rollout(cluster, scenario, pools(compiled(cluster), parse_typed_limits("t4=5")))
    assert not [one for one in found.doubts if "quota" in str(one.why)]


def counts(quota: Quota, machine_type: str, *, is_spot: bool = False) -> bool:
    return quota.counts(machine_type=machine_type, accelerator="", is_spot=is_spot)


def test_ec2s_classes_are_letters_or_families() -> None:
    names = [
        "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "Running On-Demand G and VT instances",
        "All P4, P3 and P2 Spot Instance Requests", "EC2-VPC Elastic IPs",
    ]  # fmt: skip
    document = {
        "Quotas": [
            {
                "QuotaCode": f"L-{i}",
                "QuotaName": name,
                "Value": 64.0,
                "QuotaArn": "arn:aws:servicequotas:us-east-1:1:ec2/L",
            }
            for i, name in enumerate(names)
        ]
    }
    standard, g, p_spot = quotas(document)
    assert (g.region, g.used, g.limit) == ("us-east-1", None, 64.0)
    assert [counts(g, "g5.xlarge"), counts(g, "g5.xlarge", is_spot=True), counts(g, "m5.large")] == [True, False, False]
    assert [counts(standard, "m5.large"), counts(standard, "g5.xlarge")] == [True, False]
    assert [counts(p_spot, "p4d.24xlarge", is_spot=True), counts(p_spot, "p5.48xlarge", is_spot=True)] == [True, False]


@pytest.mark.parametrize(
    ("family", "size"),
    [
        ("standardNCSv3Family", "Standard_NC24rs_v3"), ("StandardNCASv3_T4Family", "Standard_NC64as_T4_v3"),
        ("StandardNCADSA100v4Family", "Standard_NC24ads_A100_v4"), ("standardNDAMSv4_A100Family", "Standard_ND96amsr_A100_v4"),
        ("StandardNDASv4_A100Family", "Standard_ND96asr_v4"), ("StandardNVADSA10v5Family", "Standard_NV36adms_A10_v5"),
        ("StandardNCadsH100v5Family", "Standard_NC80adis_H100_v5"), ("standardNDSH100v5Family", "Standard_ND96isr_H100_v5"),
        ("standardNDSv2Family", "Standard_ND40rs_v2"),
    ],
)  # fmt: skip
def test_azures_gpu_families_by_the_names_that_it_gives(family: str, size: str) -> None:
    """The names are those of ``az vm list-skus`` as skypilot's catalogue has them (`sky/catalog/data_fetchers/fetch_azure.py`)."""
    (one,) = quotas([{"currentValue": "4", "limit": "100", "name": {"value": family}}])
    (other,) = quotas([{"currentValue": "4", "limit": "100", "name": {"value": "standardDSv3Family"}}])
    assert (counts(one, size), counts(other, size)) == (True, False)


def test_a_projects_quota_counts_in_every_region_and_only_accelerators() -> None:
    metrics = [{"metric": f"{one}_ALL_REGIONS", "limit": 1, "usage": 0} for one in ("GPUS", "CPUS")]
    gpus, cpus = quotas({"kind": "compute#project", "name": "edu", "quotas": metrics})
    assert (gpus.region, gpus.is_of_spot, cpus.is_of_spot) == ("", None, None)
    assert [counts(one, "n1-standard-8") for one in (gpus, cpus)] == [False, True]
    assert gpus.counts(machine_type="n1-standard-8", accelerator="nvidia-tesla-t4", is_spot=True)


def test_azures_families_are_found_by_the_machines_size() -> None:
    names = ["cores", "lowPriorityCores", "standardNCASv3_T4Family", "standardDSv3Family", "virtualMachines"]
    document = [{"currentValue": "4", "limit": "100", "name": {"value": name}} for name in names]
    cores, spot, t4, ds = quotas(document)
    assert [counts(one, "Standard_NC4as_T4_v3") for one in (cores, spot, t4, ds)] == [True, False, True, False]
    assert [counts(one, "Standard_D4s_v3") for one in (cores, spot, t4, ds)] == [True, False, False, True]
    assert [counts(one, "Standard_D4s_v3", is_spot=True) for one in (cores, spot, t4, ds)] == [
        False,
        True,
        False,
        False,
    ]  # a quota of its own
