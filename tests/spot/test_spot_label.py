"""Spot nodes are selected by the label of who makes them, and the advised patch is put to the engine."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from planner.inventory.change import WorkloadChange
from planner.kubernetes.records import Snapshot
from planner.remedies.rollouts import rollout
from planner.rollout.prepared import Scenario
from planner.spot.checks import Check
from planner.spot.suitability import check_workload
from tests.builders.objects import Item, read_items

CASE = (
    Path(__file__).parent / "data" / "eks-karpenter-l4.json.gz"
)  # six L4 nodes on demand, two on spot, all Karpenter's
WORKER = "Deployment/ml/worker"
KARPENTER, EKS = "karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType"


def made_by(maker: str) -> Snapshot:
    items: list[Item] = json.loads(gzip.decompress(CASE.read_bytes()))["items"]
    for item in items:
        if item["kind"] == "Node" and maker == EKS:
            labels = item["metadata"]["labels"]
            how = labels.pop(KARPENTER).upper().replace("-", "_")
            labels |= {EKS: how, "eks.amazonaws.com/nodegroup": labels.pop("karpenter.sh/nodepool")}
    return read_items(items)


def patched(asked: Snapshot) -> str:
    workload = asked.workload(WORKER)
    assert workload is not None
    (found,) = (one for one in check_workload(asked, workload).checks if one.check is Check.PLACEMENT)
    return found.yaml


@pytest.mark.parametrize(("maker", "value", "other"), [(KARPENTER, "spot", EKS), (EKS, "SPOT", KARPENTER)])
def test_the_patch_finds_the_spot_nodes_of_their_maker(maker: str, value: str, other: str) -> None:
    asked = made_by(maker)
    patch = patched(asked)
    assert f"{maker}: {value}" in patch
    assert other not in patch
    answers = [
        rollout(asked, Scenario(changes=(WorkloadChange(workload=WORKER, patch=text),), runs=0, with_remedies=False))
        for text in (patch, patch.replace(f"{maker}: {value}", f"{other}: {value}"))
    ]
    refused = ["no node matches the new pod" in str(one.sentence) for one in answers]
    assert refused == [False, True]
