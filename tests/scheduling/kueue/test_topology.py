"""Places in a topology, each placement worked out by hand from the rules of Kueue's `tas_flavor_snapshot.go`."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kubernetes.object_records import (
    Container,
    FrozenMap,
    Node,
    Pod,
    PodSpec,
    QueuedSet,
    ResourceFlavor,
    Taint,
    Toleration,
)
from planner.scheduling.kueue.topology import OWN_POD, TopologyNodes

HOST = "kubernetes.io/hostname"
LEVELS = ("block", "rack", HOST)
GPU = "nvidia.com/gpu"


def node(name: str, block: str, rack: str, gpus: int, **more: Any) -> Node:
    labels = FrozenMap({"block": block, "rack": rack, HOST: name, "pool": "tas"})
    amounts = FrozenMap({GPU: gpus, "pods": 110, "cpu": 64_000})
    plain = {"labels": labels, "conditions": FrozenMap({"Ready": "True"})}
    return Node(name=name, allocatable=amounts, **{**plain, **more})


def spec(gpus: int, **more: Any) -> PodSpec:
    amounts = FrozenMap({GPU: gpus})
    return PodSpec(containers=(Container(name="c", requests=amounts, limits=amounts),), **more)


def asks(pods: int, gpus: int, level: str = "", *, is_required: bool = False, **more: Any) -> QueuedSet:
    return QueuedSet(
        name="main", count=pods, spec=spec(gpus, **more), is_topological=True, level=level, is_required=is_required
    )


def running(name: str, on: str, gpus: int, *, is_own: bool) -> Pod:
    labels = FrozenMap({OWN_POD: "main"} if is_own else {})
    return Pod(namespace="a", name=name, uid=name, labels=labels, spec=spec(gpus), node_name=on, phase="Running")


def places(*nodes: Node, levels: tuple[str, ...] = LEVELS, **flavor: Any) -> TopologyNodes:
    return TopologyNodes(
        ResourceFlavor(name="tas", node_labels=FrozenMap({"pool": "tas"}), topology="dc", **flavor), levels, nodes
    )


def dc(*free: int) -> TopologyNodes:
    """Two blocks of two racks of two nodes each, with so many free GPUs."""
    return places(*(node(f"n{at}", f"b{at // 4}", f"r{at // 2}", gpus) for at, gpus in enumerate(free)))


def found(where: TopologyNodes, pods: QueuedSet) -> dict[str, int]:
    return {place[-1]: count for place, count in where.find(pods).domains.items()}


FREE = (4, 0, 4, 4, 4, 4, 2, 2)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        # rooms for one GPU: racks 4, 8, 8, 4; blocks 12 and 12
        (asks(8, 1, "rack", is_required=True), {"n2": 4, "n3": 4}),
        (asks(4, 1, "rack", is_required=True), {"n0": 4}),  # the tightest rack with room for all, the first of two
        (asks(9, 1, "rack", is_required=True), {}),
        # no rack has room: the first block; of all nodes of its racks the roomiest first, whatever each rack was to get
        (asks(9, 1, "rack"), {"n0": 4, "n2": 4, "n3": 1}),
        (asks(5, 1, "rack"), {"n2": 4, "n3": 1}),
        (asks(12, 1, "block", is_required=True), {"n0": 4, "n2": 4, "n3": 4}),
        (asks(13, 1, "block", is_required=True), {}),
        (asks(13, 1, "block"), {"n2": 4, "n3": 4, "n4": 4, "n5": 1}),  # two blocks; of all their racks the two roomiest do
        (asks(24, 1, "block"), {"n0": 4, "n2": 4, "n3": 4, "n4": 4, "n5": 4, "n6": 2, "n7": 2}),
        (asks(25, 1, "block"), {}),
        (asks(2, 2, HOST, is_required=True), {"n0": 2}),
        (asks(3, 2, HOST, is_required=True), {}),
        (asks(3, 2, HOST), {"n2": 2, "n3": 1}),  # the rack with room for three
        (asks(1, 3), {"n0": 1}),
        # any place will do: the fullest node that takes all, else the fullest ones first
        (asks(2, 1), {"n6": 2}),
        (asks(3, 1), {"n0": 3}),
        (asks(5, 1), {"n6": 2, "n7": 2, "n0": 1}),
        (asks(1, 5), {}),
    ],
)  # fmt: skip
def test_pods_get_the_fewest_domains(pods: QueuedSet, expected: dict[str, int]) -> None:
    assert found(dc(*FREE), pods) == expected


def test_how_many_would_fit_is_told() -> None:
    assert dc(*FREE).find(asks(9, 1, "rack", is_required=True)).most == 8
    assert dc(*FREE).find(asks(25, 1, "block")).most == 24


def test_pods_that_are_there_take_their_room_and_kueues_own_are_left_out_where_all_are_evicted() -> None:
    where = dc(4, 4, 0, 0, 0, 0, 0, 0)
    where.use([running("own", "n0", 2, is_own=True), running("other", "n1", 3, is_own=False)])
    pods = asks(4, 1, HOST, is_required=True)
    assert found(where, pods) == {}
    assert found(where, asks(2, 1, HOST, is_required=True)) == {"n0": 2}
    assert {place[-1]: count for place, count in where.find(pods, is_empty=True).domains.items()} == {"n0": 4}
    assert where.held(GPU) == 2


def test_places_are_taken_and_given_back() -> None:
    where, pods = dc(4, 4, 0, 0, 0, 0, 0, 0), asks(4, 1, HOST, is_required=True)
    first = where.find(pods).domains
    where.take(pods, first)
    assert found(where, pods) == {"n1": 4}
    assert not where.fits(pods, first)
    where.give_back(pods, first)
    assert found(where, pods) == {"n0": 4}


@pytest.mark.parametrize(
    "one",
    [
        node("n0", "b0", "r0", 4, is_cordoned=True), node("n0", "b0", "r0", 4, conditions=FrozenMap({"Ready": "Unknown"})),
        node("n0", "b0", "r0", 4, labels=FrozenMap({"block": "b0", HOST: "n0", "pool": "tas"})),
        node("n0", "b0", "r0", 4, labels=FrozenMap({"block": "b0", "rack": "r0", HOST: "n0", "pool": "other"})),
        node("n0", "b0", "r0", 4, taints=(Taint(key="gpu", value="", effect="NoSchedule"),)),
    ],
)  # fmt: skip
def test_nodes_that_are_not_of_the_flavor_or_not_ready_have_no_room(one: Node) -> None:
    assert found(places(node("n0", "b0", "r0", 4)), asks(1, 1)) == {"n0": 1}
    assert found(places(one), asks(1, 1)) == {}


def test_a_flavors_tolerations_count_and_a_pods_own_selector() -> None:
    tainted = node("n0", "b0", "r0", 4, taints=(Taint(key="gpu", value="", effect="NoSchedule"),))
    tolerates = (Toleration(key="gpu", operator="Exists"),)
    assert found(places(tainted, tolerations=tolerates), asks(1, 1)) == {"n0": 1}
    assert found(places(tainted), asks(1, 1, tolerations=tolerates)) == {"n0": 1}
    elsewhere = asks(1, 1, node_selector=FrozenMap({HOST: "n1"}))
    assert found(places(node("n0", "b0", "r0", 4), node("n1", "b0", "r0", 4)), elsewhere) == {"n1": 1}


def test_domains_above_nodes_add_them_up() -> None:
    two = places(node("n0", "b0", "r0", 3), node("n1", "b0", "r0", 3), levels=("block", "rack"))
    assert two.find(asks(2, 3, "rack", is_required=True)).domains == {("b0", "r0"): 2}
    assert two.find(asks(3, 2, "rack", is_required=True)).domains == {
        ("b0", "r0"): 3
    }  # 6 GPUs together, as Kueue adds them
