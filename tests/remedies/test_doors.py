"""No door denies what another offers: over random stuck clusters, the demo, and clusters that showed a contradiction."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.rollout_readiness import overview
from planner.capacity.strategy_spare_gpus import spare_needs
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import parse_typed_limits
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot
from planner.questions.plan import PlanSettings
from planner.questions.plan import answer as plan_answer
from planner.questions.pool_limit_settings import PoolSettings
from planner.remedies.lever_ranges import Lever
from planner.remedies.levers.nodes import MoreNodes, added, grown_by
from planner.remedies.pareto_plans_report import certificate
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Reason, RemedyKind, Verdict
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.run import simulate
from planner.rollout.strategy_grid import strategy_grid
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from tests.builders.objects import ZONE, Item, deployment, node, pod, pod_spec, read_items, snapshot
from tests.builders.volumes import DRIVER, csi_driver
from tests.capacity.test_certificate import random_case
from tests.conformance.rollout_cases import WHOLE_LISTS, recorders_patience
from tests.conformance.test_certificate import stuck_cases
from tests.quick import floor, sample, seeds
from tests.remedies.doors import ask, ask_change, asked_of_all, contradictions, free
from tests.remedies.test_limits import full
from tests.rollout.rollouts import WORKER, rolling
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
    doors = ask_change(found, scenario, growable_pools(found, ()))
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


# ── a pool of unlike nodes ───────────────────────────────────────────────────────────────────────────────────────────
def unlike(*gpus: int, out: int | None = None, pool: str = "gpu", asks: int = 1) -> Snapshot:
    """Nodes of a pool with so many GPUs, all held, of which one is cordoned (`out`), and two pending pods of `asks` GPUs. Without `pool`
    they are Karpenter's."""
    by = {} if pool else {"karpenter.sh/nodepool": "gpu"}
    kind = "node.kubernetes.io/instance-type"
    nodes = [
        node(f"n{i}", pool=pool, gpus=of, cordoned=i == out, labels={**by, kind: f"g{of}"}) for i, of in enumerate(gpus)
    ]
    pods = [pod(f"a-{i}-{j}", pod_spec(gpus=1), on=f"n{i}") for i, of in enumerate(gpus) for j in range(of)]
    spec = {"template": {"spec": {"requirements": []}}, "limits": {"nvidia.com/gpu": "99"}}
    pools = (
        []
        if pool
        else [{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"}, "spec": spec}]
    )
    return snapshot(nodes, pods, pools, deployment("b", ["", ""], pod_spec(gpus=asks), strategy=rolling(0, 1)))


UNLIKE = {
    "small first": (unlike(1, 4), 2),
    "large first": (unlike(4, 1), 1),
    "small is cordoned": (unlike(1, 4, out=0), 1),
    "Karpenter's, the fewest": (unlike(1, 4, pool=""), 1),
    "small first, too small": (unlike(1, 4, asks=2), 0),
}
"""What a new node is like: the first of its pool that takes pods; Karpenter chooses it for the pod."""


@pytest.mark.parametrize("name", UNLIKE)
def test_what_a_pool_of_unlike_nodes_brings_is_the_same_at_every_door(name: str) -> None:
    found, nodes = UNLIKE[name]
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))
    alone, grown = rollout(found, scenario), rollout(found, scenario, free(found))
    plans = certificate(found, scenario, {Lever.NODES})
    assert [way.extra_nodes for way in alone.remedies if way.kind is RemedyKind.ADD_NODE] == [nodes] * bool(nodes)
    assert min((plan.nodes for plan in plans.plans), default=0) == nodes
    assert plan_answer(found, PlanSettings()).nodes == nodes
    assert grown.extra_nodes == nodes
    priced = spare_needs(found, scenario, strategy_grid(found, scenario, "Deployment/ml/b")).node
    assert priced == {"small is cordoned": "n1", "small first, too small": ""}.get(name, "n0")
    for why in (str([doubt.why for doubt in alone.doubts]), str(plans.why_not)):
        assert ("nodes of pool gpu aren't alike" in why) is (" first" in name)


@pytest.mark.parametrize(("spread", "title"), [(["zone"], "1 more node in gpu, zone b"), ([], "1 more node in gpu")])
def test_the_zone_that_a_pod_needs_is_the_same_at_every_door(spread: list[str], title: str) -> None:
    """One pod in zone a, and one that is pending: a spread over zones takes it to zone b or c only."""
    rule = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "b"}},
    }
    spec = pod_spec(gpus=1, topologySpreadConstraints=[rule for _ in spread])
    nodes = [node(f"n{zone}", pool="gpu", gpus=1, zone=zone) for zone in "abc"]
    held = [pod(f"x{zone}", pod_spec(gpus=1), on=f"n{zone}") for zone in "bc"]
    found = snapshot(nodes, held, deployment("b", ["na", ""], spec, strategy=rolling(0, 1)))
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))
    assert [str(way.title) for way in rollout(found, scenario).remedies] == [title]
    assert title in [str(plan.title) for plan in certificate(found, scenario, {Lever.NODES}).plans]


def two_apart(first: dict[str, Any], second: dict[str, Any], **more: Any) -> Snapshot:
    """Two nodes whose GPUs are held, and a Deployment of two pending pods of one GPU."""
    nodes = [node("n0", **first), node("n1", **second)]
    held = [
        pod(f"{i}-{j}", pod_spec(gpus=1), on=f"n{i}") for i, n in enumerate((first, second)) for j in range(n["gpus"])
    ]
    return snapshot(nodes, held, deployment("b", ["", ""], pod_spec(gpus=1, **more), strategy=rolling(0, 1)))


def nodes_at_every_door(found: Snapshot) -> list[tuple[str, int]]:
    """What the ways out, all plans, the plan and the table of strategies add, as many at each door: titles of the ways out."""
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))
    ways = [way for way in rollout(found, scenario).remedies if way.kind is RemedyKind.ADD_NODE]
    every = certificate(found, scenario, {Lever.NODES})
    assert not any("looked at" in str(why) for why in every.why_not)
    fewest = min((way.extra_nodes for way in ways), default=0)
    assert min((plan.nodes for plan in every.plans), default=0) == fewest == plan_answer(found, PlanSettings()).nodes
    assert {str(way.title) for way in ways} <= {str(plan.title) for plan in every.plans}
    priced = spare_needs(found, scenario, strategy_grid(found, scenario, "Deployment/ml/b")).node
    assert bool(priced) is bool(ways)
    return [(str(way.title), way.extra_nodes) for way in ways]


def karpenters(machine: str) -> dict[str, Any]:
    return {"labels": {"karpenter.sh/nodepool": "gpu", "node.kubernetes.io/instance-type": machine}}


WORKER_ROLE: dict[str, Any] = {"labels": {"node-role.kubernetes.io/worker": ""}}
PINNED: dict[str, Any] = {"nodeSelector": {ZONE: "a"}}
APART: dict[str, tuple[Snapshot, list[tuple[str, int]]]] = {
    "a role is no template": (two_apart({"gpus": 0, **WORKER_ROLE}, {"gpus": 2, **WORKER_ROLE}), [("1 more node in worker, like n1", 1)]),
    "a pool is one": (two_apart({"gpus": 0, "pool": "gpu"}, {"gpus": 2, "pool": "gpu"}), []),
    "a pod pinned to the second zone": (two_apart({"gpus": 2, "pool": "gpu", "zone": "b"}, {"gpus": 2, "pool": "gpu"}, **PINNED), [("1 more node in gpu, zone a", 1)]),
    "a pod pinned to the first zone": (two_apart({"gpus": 2, "pool": "gpu"}, {"gpus": 2, "pool": "gpu", "zone": "b"}, **PINNED), [("1 more node in gpu, zone a", 1)]),
    "a pod pinned to the only zone": (two_apart({"gpus": 2, "pool": "gpu"}, {"gpus": 2, "pool": "gpu"}, **PINNED), [("1 more node in gpu", 1)]),
    "a pod pinned to neither": (two_apart({"gpus": 2, "pool": "gpu", "zone": "b"}, {"gpus": 2, "pool": "gpu"}), [("1 more node in gpu", 1)]),
    "a pod pinned to a zone without nodes": (two_apart({"gpus": 2, "pool": "gpu", "zone": "b"}, {"gpus": 2, "pool": "gpu", "zone": "c"}, **PINNED), []),
    "machines that Karpenter chooses among": (two_apart({"gpus": 1, **karpenters("g1")}, {"gpus": 2, **karpenters("g2")}), [("1 more node in gpu, g2", 1)]),
    "one machine of Karpenter": (two_apart({"gpus": 2, **karpenters("g2")}, {"gpus": 2, **karpenters("g2")}), [("1 more node in gpu", 1)]),
    "large and small without a pool": (two_apart({"gpus": 1}, {"gpus": 2}), [("1 more node like n1", 1)]),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_the_place_and_the_machine_of_a_new_node_are_the_same_at_every_door(name: str) -> None:
    found, titles = APART[name]
    assert nodes_at_every_door(found) == titles
    added_nodes = [measure for measure in plan_answer(found, PlanSettings()).measures if measure.nodes]
    ways = rollout(found, Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))).remedies
    assert [str(measure.what).partition(" (")[0].removesuffix(", for ml/b") for measure in added_nodes] == [
        title for title, _ in titles
    ]
    assert [measure.change for measure in added_nodes] == [way.change for way in ways if way.extra_nodes]


APART_BY_NODE: dict[str, Any] = {
    "labelSelector": {"matchLabels": {"app": "b"}},
    "topologyKey": "kubernetes.io/hostname",
}
ANTI = pod_spec(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [APART_BY_NODE]}})
ON_TWO_NODES = {**APART_BY_NODE, "maxSkew": 1, "minDomains": 2, "whenUnsatisfiable": "DoNotSchedule"}
SPREAD = pod_spec(topologySpreadConstraints=[ON_TWO_NODES])
PORT = pod_spec()
PORT["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
CLAIM = {"storageClassName": "disk", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
EPHEMERAL = pod_spec(volumes=[{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}])


def one_volume_a_node(*pods: str) -> Snapshot:
    """A Deployment whose pods each bring a volume, on a node that takes one of its driver."""
    storage_class: Item = {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "disk"}, "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer",
    }  # fmt: skip
    limit: Item = {
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n0"},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": "n0", "allocatable": {"count": 1}}]},
    }  # fmt: skip
    rolls = deployment("b", list(pods), EPHEMERAL, strategy=rolling(1, 0))
    return snapshot(node("n0", pool="gpu"), storage_class, csi_driver(), limit, rolls)


def beside(spec: Item, *pods: str, other: Item | None = None, **more: Any) -> Snapshot:
    """A Deployment `b` with a surge of one on a node of pool gpu, beside another one's pod."""
    held = deployment("other", ["n0"], other, strategy=rolling(0, 1)) if other else []
    return snapshot(node("n0", pool="gpu", **more), held, deployment("b", list(pods), spec, strategy=rolling(1, 0)))


GROWN: dict[str, tuple[Snapshot, Reason, int]] = {
    "anti-affinity": (beside(ANTI, "n0"), Reason.POD_AFFINITY, 1),
    "topology spread": (beside(SPREAD, "n0", ""), Reason.TOPOLOGY_SPREAD, 1),
    "a host port": (beside(PORT, "", other=PORT), Reason.HOST_PORT, 2),
    "the pods of a node": (beside(pod_spec(), "", other=pod_spec(), extra={"pods": "1"}), Reason.TOO_MANY_PODS, 2),
    "the volumes of a node": (one_volume_a_node("n0"), Reason.VOLUME, 1),
    "the volumes of a node, of three pods": (one_volume_a_node("n0", "", ""), Reason.VOLUME, 3),
}
"""Stuck for want of a node for another reason than an amount, and how many more do: the new pod of the surge has one of its own."""


@pytest.mark.parametrize("name", GROWN)
def test_more_nodes_are_a_way_out_wherever_a_pool_would_grow(name: str) -> None:
    found, reason, number = GROWN[name]
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))
    alone = rollout(found, scenario)
    assert (alone.verdict, alone.reason) == (Verdict.STUCK, reason)
    assert [way.extra_nodes for way in alone.remedies if way.kind is RemedyKind.ADD_NODE] == [number]
    doors = ask(found, "Deployment/ml/b")
    assert doors.grown is not None
    assert (doors.grown.verdict, doors.grown.extra_nodes) == (Verdict.NEEDS_GROWTH, number)
    assert not list(contradictions(doors))
    cluster = Cluster(found)
    for more in range(number + 1):  # so many do, and no fewer
        run = simulate(grown_by(cluster, cluster.nodes[0], more), prepare(found, scenario).revisions)
        assert run.completed is (more == number)


@pytest.mark.parametrize(("gpus", "like"), [((0, 2), "n1"), ((2, 0), "n0")])
def test_a_role_grows_by_a_node_that_takes_the_pod_whichever_stands_first(gpus: tuple[int, int], like: str) -> None:
    """No template makes the nodes of a role: an autoscaler grows the group that takes the pod, as the way out does."""
    found = two_apart(*({"gpus": number, **WORKER_ROLE} for number in gpus))
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))
    answer = rollout(found, scenario, growable_pools(found, parse_typed_limits("worker=1-5")))
    assert answer.verdict is Verdict.NEEDS_GROWTH
    assert str(answer.sentence).startswith(f"completes if pool worker grows by 1 node like {like} (2 → 3, max 5)")
    pool = two_apart(*({"gpus": number, "pool": "gpu"} for number in gpus))
    of_pool = rollout(pool, scenario, growable_pools(pool, parse_typed_limits("gpu=1-5")))
    assert (of_pool.verdict is Verdict.NEEDS_GROWTH) is bool(gpus[0]), "a pool's new node is like the first"
    assert " like " not in str(of_pool.sentence)


def test_without_prices_a_large_node_is_another_plan_than_a_small_one() -> None:
    """Of nodes of one kind in two zones one plan is enough."""
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))

    def titles(found: Snapshot) -> set[str]:
        return {str(plan.title) for plan in certificate(found, scenario, {Lever.NODES}).plans}

    assert {"1 more node like n1", "2 more nodes like n0"} <= titles(APART["large and small without a pool"][0])
    rule = {
        "topologyKey": ZONE,
        "maxSkew": 5,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "b"}},
    }
    zones = two_apart(
        {"gpus": 2, "pool": "gpu", "zone": "b"}, {"gpus": 2, "pool": "gpu"}, topologySpreadConstraints=[rule]
    )
    assert all("zone b" not in title for title in titles(zones))
    assert any("zone a" in title for title in titles(zones))


def one_in_each_zone() -> Snapshot:
    """Two pods that wait, of which each zone takes one: the pool has to grow in both."""
    rule = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "b"}},
    }
    zones = [{"gpus": 1, "pool": "gpu", "zone": zone} for zone in "ab"]
    return two_apart(*zones, topologySpreadConstraints=[rule])


def test_the_limit_of_a_pool_is_of_all_its_places() -> None:
    found, scenario = one_in_each_zone(), Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))

    def measures(limit: str) -> list[str]:
        settings = PlanSettings(pools=PoolSettings(limits=parse_typed_limits(limit)))
        return [str(measure.what) for measure in plan_answer(found, settings).measures if measure.nodes]

    def nearest(limit: str) -> str:
        pools = growable_pools(found, parse_typed_limits(limit))
        return str(certificate(found, scenario, {Lever.NODES}, pools).nearest)

    assert (
        nearest("gpu=1-3")
        == "with 1 more node in gpu, zone b, 1 more node in gpu, zone a, above the pool's limit: 1 to 3 nodes (typed): 3 plans"
    )
    assert nearest("gpu=1-4") == ""
    assert measures("gpu=1-3") == []
    assert measures("gpu=1-4") == [
        "1 more node in gpu, zone b (2 → 3), for ml/b",
        "1 more node in gpu, zone a (3 → 4), for ml/b",
    ]


def test_bare_metal_whose_sizes_differ_by_a_little_is_looked_at_whole() -> None:
    nodes = [node(f"n{i}", gpus=1, memory=f"{33_000_000 + i}Ki") for i in range(9)]
    held = [pod(f"x{i}", pod_spec(gpus=1), on=f"n{i}") for i in range(9)]
    found = snapshot(nodes, held, deployment("b", ["", ""], pod_spec(gpus=1), strategy=rolling(0, 1)))
    assert nodes_at_every_door(found) == [("2 more nodes like n0", 2)]


def test_steps_for_two_places_of_a_pool_add_up() -> None:
    cluster = Cluster(unlike(1, 1))
    like = cluster.nodes[0]
    first, second = MoreNodes(like=like, number=1), MoreNodes(like=like, number=2, place="zone b")
    steps = [added(cluster, first), added(cluster, second, already=1)]
    assert [(step.before, step.after) for step in steps] == [("2", "3"), ("3", "5")]
