"""Groups of nodes as an autoscaler sees them: zones without a node, and pools that have none at all."""

from __future__ import annotations

import json
from typing import Any

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.node_groups import Sizes, node_groups, template_of
from planner.capacity.node_pools import pools
from planner.ground.well_known_names import CPU, NVIDIA_GPU, ZONE
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario, compiled
from planner.scheduling.template_node import bare_copy
from planner.sources import node_pool_files
from tests.builders.objects import deployment, node, pod_spec, snapshot


def gke(machine: str) -> list[dict[str, Any]]:
    """A pool of two L4 machines at most that has no node, beside one of fixed size."""
    config = {
        "machineType": machine,
        "diskSizeGb": 100,
        "accelerators": [{"acceleratorCount": "1", "acceleratorType": "nvidia-l4"}],
    }
    scaling = {"enabled": True, "minNodeCount": 0, "maxNodeCount": 2}
    own = {"name": "t4", "config": {"machineType": "n1-standard-4"}}
    return [own, {"name": "l4", "config": config, "autoscaling": scaling, "locations": ["europe-west4-a"]}]


def asked(cluster: Snapshot, document: list[dict[str, Any]]) -> RolloutResult:
    given = node_pool_files.read_bytes(json.dumps(document).encode(), name="pools.json")
    patch = {"spec": {"template": {"spec": {"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}}}}
    change = WorkloadChange(workload="Deployment/ml/a", patch=json.dumps(patch))
    scenario = Scenario(changes=(change,), runs=1, with_remedies=False)
    return rollout_with_remedies.rollout(
        cluster, scenario, growable_pools(cluster, node_pool_files.stated(cluster, given))
    )


def one_on_a_t4() -> Snapshot:
    return snapshot(node("n0", pool="t4", gpus=1), deployment("a", ["n0"], pod_spec(gpus=1)))


def test_a_pool_at_zero_grows_by_what_its_machine_is() -> None:
    found = asked(one_on_a_t4(), gke("g2-standard-8"))
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert str(found.growth) == "completes if pool l4 grows by 1 node (0 → 1, max 2)"
    (new,) = found.new_nodes
    assert (new.capacity[NVIDIA_GPU], new.capacity[CPU], new.labels[ZONE]) == (1, 8_000, "europe-west4-a")
    assert 7_800 < new.allocatable[CPU] < 8_000


def test_a_machine_that_nobody_knows_makes_it_unknown_with_pool_and_field() -> None:
    found = asked(one_on_a_t4(), gke("q9-mystery-8"))
    assert found.verdict is Verdict.UNKNOWN
    assert "pool l4" in str(found.sentence)
    assert "config.machineType q9-mystery-8" in str(found.sentence)


def test_a_zone_without_a_node_is_a_group_like_the_others() -> None:
    cluster = compiled(snapshot(node("n0", pool="p", zone="z-a"), node("n1", pool="p", zone="z-a")))
    limits = PoolLimits(
        name="p", source=LimitSource.GCLOUD, maximum=4, maximum_per_zone=2, is_autoscaled=True, zones=("z-a", "z-b")
    )
    found = pools(cluster, [limits])
    groups, missing = node_groups(cluster, found)
    assert ([(one.zone, one.size) for one in groups], missing) == ([("z-a", 2), ("z-b", 0)], ())
    assert groups[1].template.labels[ZONE] == "z-b"
    sizes = Sizes(cluster, found)
    assert [sizes.room(one) for one in groups] == [0, 2]
    sizes.added[groups[1].key] += 1
    assert sizes.room(groups[1]) == 1


def test_a_new_node_is_like_the_first_of_its_pool_that_takes_pods() -> None:
    cordoned, first, second = snapshot(node("a", cordoned=True), node("b"), node("c")).nodes
    assert template_of([cordoned, first, second]) is first
    assert template_of([cordoned]) is cordoned, "the last resort"
    assert template_of([bare_copy(first, "planned"), second]) is second
