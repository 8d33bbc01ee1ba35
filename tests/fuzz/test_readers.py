"""Whatever the other readers are given ends in an answer or in an error of ours."""

from __future__ import annotations

import random

import pytest

from planner.ground.errors import ChangeError, InputError
from planner.inventory.change import WorkloadChange
from planner.inventory.kubectl_apply import read_manifest
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.prepared_change import Scenario
from planner.sources import demo, node_pool_files
from tests.fuzz.check import check
from tests.fuzz.readers import READERS, changed

PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_they_are_given_is_handled(part: int) -> None:
    """Every second seed is one of theirs; 50,000 by `make trust`."""
    bad = [found for seed in range(1_000_000 + 2 * part, 1_001_200, 2 * PARTS) if (found := check(seed)) is not None]
    assert bad == []


def test_eleven_readers_and_the_dumps() -> None:
    assert len({one.__name__ for one in READERS}) == 11


def test_a_change_is_one_of_the_seed() -> None:
    value = {"a": [1, {"b": "c"}], "d": "e"}
    assert changed(value, random.Random(3)) == changed(value, random.Random(3))
    assert value == {"a": [1, {"b": "c"}], "d": "e"}


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "p", "locations": 5, "config": {}}]',
        '[{"name": "p", "locations": {"a": 1}, "config": {}}]',
        '[{"name": "p", "config": {"accelerators": "x"}}]',
        '[{"name": "p", "config": {"accelerators": [5]}}]',
        '[{"name": "p", "config": {"reservationAffinity": {"values": 7}}}]',
        '[{"name": "p", "config": {"taints": true}}]',
    ],
)
def test_node_pools_of_another_shape_are_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match="node pool p"):
        node_pool_files.read_bytes(text.encode(), name="pools.json")


@pytest.mark.parametrize(
    "patch",
    [
        '{"spec":{"template":{"metadata":"x"}}}',
        '{"spec":{"template":{"metadata":{"annotations":"x"}}}}',
        '{"spec":{"template":"x"}}',
        '{"spec":{"template":{"spec":{"containers":"x"}}}}',
        '{"spec":{"template":{"spec":{"containers":["x"]}}}}',
        '{"metadata":{"labels":"x"}}',
    ],
)
def test_a_patch_with_a_text_where_an_object_belongs_is_refused(patch: str) -> None:
    snapshot = demo.read()
    key = next(one.key for one in snapshot.workloads if one.kind == "Deployment")
    with pytest.raises(ChangeError):
        rollout(snapshot, Scenario(changes=(WorkloadChange(workload=key, patch=patch),), runs=1))


@pytest.mark.parametrize(
    "kind", ["Deployment", "Job", "CronJob", "PodDisruptionBudget", "Widget", "Pod", "ResourceQuota"]
)
@pytest.mark.parametrize(
    "metadata", ['"x"', "5", '{"name": 5}', '{"name": "a", "namespace": {}}', '{"name": "a", "labels": "x"}']
)
def test_a_manifest_whose_metadata_are_none_is_refused(kind: str, metadata: str) -> None:
    version = {
        "Deployment": "apps/v1",
        "Job": "batch/v1",
        "CronJob": "batch/v1",
        "PodDisruptionBudget": "policy/v1",
    }.get(kind, "v1")
    text = f'{{"apiVersion": "{version}", "kind": "{kind}", "metadata": {metadata}, "spec": {{}}}}'
    with pytest.raises(ChangeError, match="metadata"):
        read_manifest(text, demo.read())


@pytest.mark.parametrize("seed", [19_092, 32_416, 37_438, 40_200, 47_438])
def test_what_was_mishandled_once(seed: int) -> None:
    assert check(seed) is None
