"""Counts in sentences of a crowded cluster: from a thousand on they have separators, whoever says them."""

from __future__ import annotations

import re
from functools import cache

import pytest

from planner.capacity import rollout_readiness as overviews
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.questions import capacity, findings, memory, plan, restarts
from planner.remedies import rollout_with_remedies
from planner.rollout.prepared_change import Scenario
from tests.builders import objects

_BARE = re.compile(r"(?<![\w.,:=/'\"-])\d{4,}(?![\w/:'\"-]|\.\w)")
"""Four digits or more by themselves: no part of a name, an address, an amount with its unit, or what goes on a command line."""
_FIELD = re.compile(r"\b[a-z]+[A-Z]\w+ \d+")  # as it stands in a spec: minAvailable 1100
_MANY = 1_100


def is_bare(sentence: str) -> bool:
    return _BARE.search(_FIELD.sub("", sentence)) is not None


@cache
def crowded() -> Snapshot:
    """Every node has one GPU, which a pod of the same Deployment holds; another one waits for as many."""
    names = [f"n-{i}" for i in range(_MANY)]
    return objects.snapshot(
        [objects.node(name, gpus=1, cpu="8", memory="32Gi", pool="gpu") for name in names],
        objects.deployment("serve", names, objects.pod_spec(gpus=1)),
        objects.deployment("train", [""] * _MANY, objects.pod_spec(gpus=1)),
        objects.deployment("light", names, objects.pod_spec(), strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
        objects.budget("serve", minAvailable=_MANY),
    )  # fmt: skip


def _overview() -> list[object]:
    found = overviews.overview(crowded())
    return [found.sentence, *(one for line in found.workloads for one in (line.sentence, line.headline))]


def _findings() -> list[object]:
    found = findings.answer(crowded(), findings.FindingsSettings())
    return [found.sentence, *(f"{one.what} {one.fix}" for one in found.findings)]


def _rollout() -> list[object]:
    changes = (WorkloadChange(workload="Deployment/ml/serve"),)
    found = rollout_with_remedies.rollout(crowded(), Scenario(changes=changes))
    return [found.sentence, found.headline, *(f"{one.title} {one.sentence}" for one in found.remedies)]


def _rest() -> list[object]:
    planned = plan.answer(crowded(), plan.PlanSettings())
    return [
        capacity.answer(crowded(), capacity.CapacitySettings()).sentence,
        memory.answer(crowded(), memory.MemorySettings()).cluster.sentence,
        restarts.answer(crowded(), restarts.RestartsSettings()).report.sentence,
        planned.sentence,
        *(one.what for one in planned.measures),
        *(one.why for one in planned.left),
    ]


@pytest.mark.parametrize("said", [_overview, _findings, _rollout, _rest])
def test_thousands_have_separators(said: object) -> None:
    sentences = [str(one) for one in said()]  # type: ignore[operator]
    assert any("1,1" in one or "2,2" in one for one in sentences), "the crowd is spoken of"
    assert [one for one in sentences if is_bare(one)] == []


def test_what_is_no_count_is_left_alone() -> None:
    assert not is_bare("minAvailable 1100 --replicas=1536 1536Mi 10.0.0.1:8080 v1.2024 node-1536 300000.5Gi 1,664")
    assert is_bare("hold 8 of 1664.")
    assert is_bare("26522 of 26,522 pods")
