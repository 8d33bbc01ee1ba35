"""Karpenter's choice of machine: types, limits by capacity, labels that a pod may choose, and what isn't known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.capacity.hypothetical_node_groups import autoscalers_seen, growable_pools
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.work_budget import allowed
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import with_snapshots
from planner.kubernetes.node_properties import machine_type
from planner.kubernetes.object_records import FrozenMap, Presence
from planner.questions import gate
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings, answer
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import node_pool_files
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot

FAMILY = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["g4dn"]}
TEAM = {"key": "example.com/team", "operator": "Exists"}


def kind(name: str, cpu: int, gpus: int, usd: float, zone: str = "eu-west-1a") -> dict[str, Any]:
    wanted = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]},
    ]
    resources = {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", "nvidia.com/gpu": str(gpus), "pods": "110"}
    return {
        "name": name,
        "resources": resources,
        "offerings": [{"Price": usd, "Requirements": wanted, "Available": True}],
    }


TYPES = [kind("g4dn.xlarge", 4, 1, 0.5), kind("g4dn.12xlarge", 48, 4, 3.9), kind("p4d.24xlarge", 96, 8, 32.8)]


def pool(*requirements: dict[str, Any], **limits: str) -> dict[str, Any]:
    spec = {
        "template": {"spec": {"requirements": list(requirements)}},
        "limits": {k.replace("_", "."): v for k, v in limits.items()},
    }
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"}, "spec": spec}


def asked(
    one: dict[str, Any], *more: list[Item], gpus: int = 1, types: list[dict[str, Any]] | None = None, **selector: str
) -> RolloutResult:
    cluster = snapshot(node("n0", cpu="4", gpus=1), deployment("a", ["n0"], pod_spec(gpus=1)), *more)
    known = node_pool_files.read_bytes(json.dumps(one).encode(), name="pools.json")
    known += node_pool_files.read_bytes(json.dumps(types).encode(), name="types.json") if types else ()
    container = {
        "name": "main",
        "resources": {"requests": {"nvidia.com/gpu": str(gpus)}, "limits": {"nvidia.com/gpu": str(gpus)}},
    }
    patch = {"spec": {"template": {"spec": {"nodeSelector": selector, "containers": [container]}}}}
    change = WorkloadChange(workload="Deployment/ml/a", patch=json.dumps(patch))
    scenario = Scenario(changes=(change,), runs=1, with_remedies=False)
    return rollout_with_remedies.rollout(cluster, scenario, growable_pools(cluster, known))


@pytest.mark.parametrize(("gpus", "machine"), [(2, "g4dn.12xlarge"), (4, "g4dn.12xlarge")])
def test_it_brings_the_cheapest_machine_that_holds_the_pod(gpus: int, machine: str) -> None:
    found = asked(pool(FAMILY), gpus=gpus, types=TYPES)
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert [machine_type(one) for one in found.new_nodes] == [machine]


def test_however_many_wait_a_machine_comes_for_those_it_helps() -> None:
    """Source: kubernetes-sigs/karpenter `pkg/controllers/provisioning/provisioner.go` `GetPendingPods` takes all of them."""
    nobody_helps = deployment("b", [""] * 300, pod_spec(cpu="40", nodeSelector={"no": "such"}))
    found = asked(pool(FAMILY), nobody_helps, gpus=2, types=TYPES)
    assert [machine_type(one) for one in found.new_nodes] == ["g4dn.12xlarge"]


def test_pods_with_rules_on_neighbours_cost_no_more_than_a_question_may() -> None:
    """Each of them is tried with each machine that is to come, beside all others: with the third power of how many wait."""
    term = {"labelSelector": {"matchLabels": {"app": "b"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    crowd = deployment("b", [""] * 30, pod_spec(cpu="1", affinity=apart))
    assert asked(pool(FAMILY), crowd, gpus=2, types=TYPES).verdict is Verdict.NEEDS_GROWTH
    with allowed(units=100_000):
        found = asked(pool(FAMILY), crowd, gpus=2, types=TYPES)
    assert found.verdict is Verdict.UNKNOWN
    assert "is too large to play through" in str(found.sentence)


def test_a_machine_of_another_family_it_may_not_bring() -> None:
    assert asked(pool(FAMILY), gpus=8, types=TYPES).verdict is Verdict.STUCK
    assert asked(pool(), gpus=8, types=TYPES).verdict is Verdict.NEEDS_GROWTH


@pytest.mark.parametrize(
    ("zone", "region"), [("eu-west-1a", "eu-west-1"), ("us-central1-a", "us-central1"), ("eastus-1", "eastus")]
)
def test_a_pod_that_names_the_region_gets_a_machine_there(zone: str, region: str) -> None:
    types = [kind("g4dn.12xlarge", 48, 4, 3.9, zone)]
    here = asked(pool(FAMILY), gpus=2, types=types, **{"topology.kubernetes.io/region": region})
    elsewhere = asked(pool(FAMILY), gpus=2, types=types, **{"topology.kubernetes.io/region": "elsewhere1"})
    assert (here.verdict, elsewhere.verdict) == (Verdict.NEEDS_GROWTH, Verdict.STUCK)


def test_its_limits_count_capacity() -> None:
    assert asked(pool(FAMILY, cpu="47"), gpus=2, types=TYPES).verdict is Verdict.STUCK
    assert asked(pool(FAMILY, cpu="48"), gpus=2, types=TYPES).verdict is Verdict.NEEDS_GROWTH


def test_a_label_that_it_leaves_open_is_the_pods_to_choose() -> None:
    blue = {"example.com/team": "blue"}
    assert asked(pool(FAMILY, TEAM), gpus=2, types=TYPES, **blue).verdict is Verdict.NEEDS_GROWTH
    assert asked(pool(FAMILY), gpus=2, types=TYPES, **blue).verdict is Verdict.STUCK


@pytest.mark.parametrize(("least", "verdict"), [(2, Verdict.NEEDS_GROWTH), (3, Verdict.STUCK)])
def test_it_opens_no_node_where_too_few_machines_are_left_to_choose_among(least: int, verdict: Verdict) -> None:
    """karpenter `pkg/cloudprovider/types.go` `SatisfiesMinValues`: two of the three types hold two GPUs."""
    among = {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": least}
    assert asked(pool(among), gpus=2, types=TYPES).verdict is verdict


@pytest.mark.parametrize(
    ("operator", "value", "verdict"),
    [("Gte", "4", "4"), ("Gte", "5", "8"), ("Lte", "4", "4"), ("Lte", "3", ""), ("Gt", "3", "4"), ("Lt", "4", "")],
)
def test_numbers_of_gpus_are_compared(operator: str, value: str, verdict: str) -> None:
    """`Gte` and `Lte` are Karpenter's own (`pkg/apis/v1/nodeclaim.go`)."""
    count = {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": operator, "values": [value]}
    found = asked(pool(count), gpus=2, types=TYPES)
    assert [str(one.capacity["nvidia.com/gpu"]) for one in found.new_nodes] == ([verdict] if verdict else [])


@pytest.mark.parametrize(("system", "verdict"), [("linux", Verdict.NEEDS_GROWTH), ("windows", Verdict.STUCK)])
def test_a_pod_may_call_labels_by_their_old_names(system: str, verdict: Verdict) -> None:
    assert asked(pool(FAMILY), gpus=2, types=TYPES, **{"beta.kubernetes.io/os": system}).verdict is verdict


@pytest.mark.parametrize(("category", "verdict"), [("g", Verdict.NEEDS_GROWTH), ("m", Verdict.STUCK)])
def test_machines_of_eks_auto_mode_are_chosen_by_its_labels(category: str, verdict: Verdict) -> None:
    types = [*TYPES, kind("m5.large", 2, 0, 0.1)]
    wanted = {"key": "eks.amazonaws.com/instance-category", "operator": "In", "values": [category]}
    assert asked(pool(wanted), gpus=2, types=types).verdict is verdict


def test_without_a_list_of_machines_it_is_unknown() -> None:
    found = asked(pool(FAMILY), gpus=2)
    assert found.verdict is Verdict.UNKNOWN
    assert "which machines NodePool gpu may bring isn't known" in str(found.sentence)


# ── NodePools of the dump itself ─────────────────────────────────────────────────────────────────────────────────────
SURGING: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
KARPENTERS = node(
    "n0", cpu="4", memory="16Gi", gpus=1, zone="eu-west-1a",
    labels={
        "karpenter.sh/nodepool": "gpu", "node.kubernetes.io/instance-type": "g4dn.xlarge", "karpenter.sh/capacity-type": "on-demand",
        "karpenter.k8s.aws/instance-family": "g4dn",
    },
)  # fmt: skip
GONE = "2026-01-01T00:00:00Z"


def within(*pools: dict[str, Any], given: list[dict[str, Any]] | None = None) -> RolloutResult:
    """The same rollout where the NodePools are in the snapshot, and only `given` is in files."""
    cluster = snapshot(KARPENTERS, deployment("a", ["n0"], pod_spec(gpus=1), **SURGING), list(pools))
    known = node_pool_files.read_bytes(json.dumps(given).encode(), name="given.json") if given else ()
    settings = RolloutSettings(workloads=("Deployment/ml/a",), runs=1)
    return answer(cluster, settings, Inputs(limits=known))


@pytest.mark.parametrize("limits", [{}, {"nvidia_com/gpu": "100"}, {"nvidia_com/gpu": "1"}, {"nodes": "1"}])
def test_a_node_pool_in_the_dump_says_what_it_says_in_a_file(limits: dict[str, str]) -> None:
    in_dump, in_file = within(pool(FAMILY, **limits), given=TYPES), within(given=[pool(FAMILY, **limits), *TYPES])
    assert (in_dump.verdict, in_dump.sentence) == (in_file.verdict, in_file.sentence)
    assert in_dump.verdict is (Verdict.STUCK if "1" in limits.values() else Verdict.NEEDS_GROWTH)


@pytest.mark.parametrize(
    ("key", "named", "verdict"),
    [
        ("example.com/team", {}, Verdict.STUCK),
        ("nvidia.com/gpu.product", {}, Verdict.STUCK),
        ("example.com/team", {"example.com/team": "a"}, Verdict.NEEDS_GROWTH),
        ("karpenter.k8s.aws/instance-size", {}, Verdict.NEEDS_GROWTH),
        ("topology.k8s.aws/zone-id", {}, Verdict.NEEDS_GROWTH),
    ],
)
def test_labels_that_came_after_a_node_bring_no_other(key: str, named: Item, verdict: Verdict) -> None:
    """A person's, GPU feature discovery's: Karpenter knows of its provider's and the NodePool's only (`Compatible`)."""
    there, types = (
        json.loads(json.dumps(KARPENTERS)),
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g4dn.xlarge"]},
    )
    there["metadata"]["labels"][key] = "a"
    one = pool(types)
    one["spec"]["template"]["metadata"] = {"labels": named}
    spec = pod_spec(gpus=1) | {"nodeSelector": {key: "a"}}
    cluster = snapshot(there, deployment("a", ["n0"], spec, **SURGING), [one])
    assert answer(cluster, RolloutSettings(workloads=("Deployment/ml/a",), runs=1)).verdict is verdict


@pytest.mark.parametrize(("region", "verdict"), [("eastus", Verdict.NEEDS_GROWTH), ("westus", Verdict.UNKNOWN)])
def test_nodes_tell_their_region_where_the_name_of_their_zone_does_not(region: str, verdict: Verdict) -> None:
    """AKS labels a node outside zones with zone 0. Which machines there are elsewhere isn't known without a list."""
    of_azure = {"topology.kubernetes.io/zone": "0", "topology.kubernetes.io/region": "eastus"}
    there = json.loads(json.dumps(KARPENTERS))
    there["metadata"]["labels"] |= of_azure
    spec = pod_spec(gpus=1) | {"nodeSelector": {"topology.kubernetes.io/region": region}}
    cluster = snapshot(there, deployment("a", ["n0"] if region == "eastus" else [""], spec, **SURGING), [pool(FAMILY)])
    assert answer(cluster, RolloutSettings(workloads=("Deployment/ml/a",), runs=1)).verdict is verdict


def node_claim(node_name: str = "", *, pool_name: str = "gpu", **metadata: Any) -> Item:
    """A machine of one GPU, launched for another team's pods."""
    taint = {"key": "team", "value": "blue", "effect": "NoSchedule"}
    launched = {"type": "Launched", "status": "True", "lastTransitionTime": GONE}
    has = {"cpu": "4", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "1"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "gpu-x", "labels": {"karpenter.sh/nodepool": pool_name}, **metadata},
        "spec": {"requirements": [], "taints": [taint]},
        "status": {"nodeName": node_name, "conditions": [launched], "capacity": has, "allocatable": has},
    }


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (node_claim(), Verdict.STUCK),  # its node isn't there yet, and takes what the limit leaves
        (node_claim("n1"), Verdict.STUCK),
        (node_claim("n0"), Verdict.NEEDS_GROWTH),  # n0 is counted as a node
        (node_claim(deletionTimestamp=GONE), Verdict.NEEDS_GROWTH),
        (node_claim(pool_name="other"), Verdict.NEEDS_GROWTH),
    ],
)
@pytest.mark.parametrize("limit", [{"nvidia_com/gpu": "2"}, {"nodes": "2"}])
def test_a_machine_on_its_way_counts_against_the_limits_of_its_pool(
    claim: Item, verdict: Verdict, limit: dict[str, str]
) -> None:
    """One of two is there. Source: karpenter `pkg/controllers/provisioning/provisioner.go` `Schedule` (`nodes.Active()`: NodeClaims without
    a node too, none that is deleted), `scheduling/scheduler.go` `calculateExistingNodeClaims`."""
    assert within(pool(FAMILY, **limit), claim, given=TYPES).verdict is verdict


def test_a_file_stands_above_the_dump() -> None:
    assert within(pool(FAMILY), given=[pool(FAMILY, nodes="1"), *TYPES]).verdict is Verdict.STUCK
    assert within(pool(FAMILY, nodes="1"), given=[pool(FAMILY), *TYPES]).verdict is Verdict.NEEDS_GROWTH


def test_without_types_of_machines_it_is_not_known() -> None:
    static, other = pool(FAMILY), {**pool({**FAMILY, "values": ["p4d"]}), "metadata": {"name": "other"}}
    static["spec"]["replicas"] = 1
    found = within(static, other)
    assert found.verdict is Verdict.UNKNOWN
    assert "other" in str(found.sentence)


def test_the_gate_asks_it_too() -> None:
    cluster = snapshot(KARPENTERS, deployment("a", ["n0"], pod_spec(gpus=1), **SURGING), pool(FAMILY))
    assert "NodePool" not in cluster.other_kinds
    types = Inputs(limits=node_pool_files.read_bytes(json.dumps(TYPES).encode(), name="types.json"))
    rolled = answer(cluster, RolloutSettings(workloads=("Deployment/ml/a",), runs=1), types)
    manifest = json.dumps(deployment("a", ["n0"], pod_spec(gpus=1, cpu="2"), **SURGING)[0])
    gated = gate.answer(cluster, gate.GateSettings(manifest=manifest), types)
    assert rolled.verdict is gated.together is Verdict.NEEDS_GROWTH


def test_one_that_is_not_ready_is_not_known_and_one_that_goes_brings_none() -> None:
    waits = {**pool(FAMILY), "status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    for found in (within(waits, given=TYPES), within(given=[waits, *TYPES])):
        assert found.verdict is Verdict.UNKNOWN
        assert "NodePool gpu isn't Ready" in str(found.sentence)
    goes = pool(FAMILY)
    goes["metadata"] = {"name": "gpu", "deletionTimestamp": GONE}
    assert within(goes, given=TYPES).verdict is Verdict.STUCK


def test_a_damaged_node_pool_in_a_file_is_said() -> None:
    damaged = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": {"weight": "x"},
    }
    with pytest.raises(InputError, match="as Karpenter writes it"):
        node_pool_files.read_bytes(json.dumps(damaged).encode(), name="pools.json")


def test_of_a_list_that_is_not_whole_nothing_is_taken() -> None:
    cluster = snapshot(KARPENTERS, pool(FAMILY))
    assert [one.name for one in with_snapshots(cluster, ())] == ["gpu"]
    cut = replace(cluster, presence=FrozenMap({**cluster.presence, "NodePool": Presence.PARTIAL}))
    assert with_snapshots(cut, ()) == ()
    assert autoscalers_seen(cut)["karpenter"] == "node n0 is Karpenter's"


def test_a_pool_that_cannot_take_the_pod_leaves_nothing_unknown() -> None:
    """Which machines it may bring doesn't matter then."""
    blue = {"example.com/team": "blue"}
    assert asked(pool(FAMILY), gpus=2, types=None, **blue).verdict is Verdict.STUCK
    assert asked(pool(FAMILY, TEAM), gpus=2, types=None, **blue).verdict is Verdict.UNKNOWN
