"""No door denies what another offers: over random stuck clusters, the demo, and clusters that showed a contradiction."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner.capacity.overview import overview
from planner.capacity.unseen_node_groups import growing
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.parse import Part, build_snapshot
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import demo
from tests.builders.objects import Item, read_items
from tests.capacity.test_certificate import random_case
from tests.conformance.rollout_cases import WHOLE_LISTS, recorders_patience
from tests.conformance.test_certificate import stuck_cases
from tests.quick import floor, sample, seeds
from tests.remedies.doors import ask, ask_change, asked_of_all, contradictions
from tests.remedies.test_limits import full
from tests.rollout.rollouts import WORKER
from tests.seen import each

SEEDS = int(os.environ.get("HEADROOM_DOORS_CASES", "30"))  # a longer run names more
RECORDINGS = int(os.environ.get("HEADROOM_DOORS_RECORDINGS", "40"))
LARGE = 3  # workloads of openb that are asked
WAYS: dict[str, Item] = json.loads(gzip.decompress((Path(__file__).parent / "data" / "ways.json.gz").read_bytes()))
"""Clusters and manifests of which a door once denied what another offered: shared by those who found them, synthetic."""


def test_random_stuck_clusters() -> None:
    stuck = 0
    for seed in seeds(SEEDS):
        doors = ask(random_case(seed), WORKER)
        stuck += doors.alone.verdict is Verdict.STUCK
        assert not list(contradictions(doors)), f"seed {seed}"
    assert stuck > floor(SEEDS // 4), "else nothing was asked"


@pytest.mark.parametrize(
    ("cluster", "change", "namespace"),
    [
        ("nine", "new8", "ml"), ("nine", "new9", "ml"), ("lend", "big4", "ml"), ("lend", "big5", "ml"), ("trap", "trap-change", "data"),
        ("only", "only-change", "edge"), ("karpenter", "karpenter-change", "ml"),
    ],
)  # fmt: skip
def test_what_once_was_contradicted(cluster: str, change: str, namespace: str) -> None:
    found = read_items(WAYS[cluster]["items"])
    scenario = Scenario(manifest=json.dumps(WAYS[change]), namespace=namespace)
    doors = ask_change(found, scenario, growing(found, ()))
    assert doors.alone.remedies
    assert not list(contradictions(doors))


def recorded() -> list[tuple[str, dict[str, Any]]]:
    """Recorded changes of one workload that got stuck, drawn once."""
    every = [(name, case) for name, case in stuck_cases() if isinstance(case["change"], dict)]
    return Random(53).sample(every, RECORDINGS)


CASES = sample(recorded())


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_recorded_changes_that_got_stuck(case: dict[str, Any]) -> None:
    found = build_snapshot([Part(items=case["cluster"]["items"], listed=WHOLE_LISTS)], source="recording")
    change = case["change"]
    key, patch = f"{change['kind']}/{change['namespace']}/{change['name']}", json.dumps(change["patch"])
    asked = WorkloadChange(workload=key, patch=patch, new_revision=False)
    with recorders_patience():
        doors = ask_change(found, Scenario(changes=(asked,)))
    assert not list(contradictions(doors))


def test_a_large_cluster() -> None:
    found = demo.read_large()
    stuck = [row.workload for row in overview(found).workloads if row.verdict is Verdict.STUCK]
    for key in each(Random(53).sample(stuck, LARGE)):
        doors = ask_change(found, Scenario(changes=(WorkloadChange(workload=key),)))
        assert not list(contradictions(doors)), key


@pytest.mark.parametrize("pods", [8, 9])
def test_nine_nodes_of_one_gpu(pods: int) -> None:
    assert not list(contradictions(ask(full(pods), "Deployment/ml/b")))


def test_the_demo() -> None:
    found = asked_of_all(demo.read())
    assert len(found) >= 4
    assert not {key: some for key, some in found.items() if some}


def test_a_contradiction_is_seen() -> None:
    """What the check is for: a door that stops looking, one that calls that proven, another undo."""
    doors = ask(full(9), "Deployment/ml/b")
    blind = replace(doors.all_plans, plans=(), is_proven=True, why_not=())
    assert any("none exists (proven)" in said for said in contradictions(doors._replace(all_plans=blind)))
    fewer = replace(doors.all_plans, plans=(), is_proven=False, why_not=(), total=doors.all_plans.looked_at)
    assert any("no plan is as good" in said for said in contradictions(doors._replace(all_plans=fewer)))
    (way,) = (one for one in doors.alone.remedies if one.extra_nodes)
    other = replace(way, steps=tuple(replace(step, undo=("another",)) if step.target else step for step in way.steps))
    twice = replace(doors.alone, remedies=(way, other))
    assert any("is taken back by" in said for said in contradictions(doors._replace(alone=twice)))
    assert doors.plan is not None
    left = replace(doors.plan, order=())
    assert any("plan leaves it" in said for said in contradictions(doors._replace(plan=left)))
