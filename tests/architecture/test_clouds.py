"""A cloud is a row: what is known of one stands in `planner.kubernetes.clouds`, and everybody else asks the row."""

from __future__ import annotations

import ast
import json
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

from planner.ground import well_known_names
from planner.kubernetes.clouds import CLOUDS, Cloud
from tests.house.clouds import named

ROWS: Final = Path("planner/kubernetes/clouds.json")


def test_a_row_says_nothing_that_nobody_reads() -> None:
    known = {one.name for one in fields(Cloud)} | {"note"}
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    assert len(rows) == len(CLOUDS) > 20
    assert [(row["name"], key) for row in rows for key in row if key not in known] == []


LABELS_READ: Final = (
    "GKE_ACCELERATOR", "GKE_ACCELERATOR_COUNT", "GKE_NODE_POOL", "GKE_PROVISIONING", "GKE_SPOT", "INSTANCE_TYPE", "KARPENTER_CAPACITY_TYPE",
    "KARPENTER_GPU_NAME", "KARPENTER_NODE_POOL", "NVIDIA_GPU_COUNT", "NVIDIA_GPU_PRODUCT", "OLD_REGION", "OLD_ZONE", "REGION", "ZONE",
)  # fmt: skip


def test_labels_that_code_reads_are_spelt_in_the_rows_as_in_the_vocabulary() -> None:
    text = ROWS.read_text(encoding="utf-8")
    assert [name for name in LABELS_READ if f'"{getattr(well_known_names, name)}"' not in text] == []


@pytest.mark.parametrize(
    "code",
    [
        "from planner.ground.well_known_names import GKE_SPOT",
        "from planner.kubernetes.clouds import GKE",
        "vocabulary.KARPENTER_NODE_POOL",
        "Provider.AKS",
        'name.startswith("eks-")',
        'f"aks-{pool}-"',
        'cloud.name == "GKE"',
        'scheme in ("gce", "aws")',
    ],
)
def test_a_cloud_named_in_code_is_found(code: str) -> None:
    assert list(named(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ['"""GKE alone has it"""', 'help("Needs GKE")', "from x import GKEeper", 'print("gke")']
)
def test_words_for_people_are_not(code: str) -> None:
    assert not list(named(ast.parse(code)))
