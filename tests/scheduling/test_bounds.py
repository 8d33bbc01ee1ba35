"""Amounts that nobody can count: refused with the object that has them, and never drawn one by one."""

from __future__ import annotations

import pytest

from planner.errors import InputError
from planner.questions.seats import seats
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster
from planner.sources import kubectl
from tests.builders.objects import node, pod, pod_spec

HUGE = 9 * 10**18


def test_nodes_that_do_not_add_up_are_refused_by_name() -> None:
    large = [node("small"), node("huge", memory=str(HUGE)), node("huger", memory=str(HUGE + 1))]
    with pytest.raises(InputError, match="memory is more than can be counted") as refused:
        Cluster(kubectl.read_items(large))
    assert refused.value.where == "Node/huger"


def test_requests_that_do_not_add_up_are_refused_by_name() -> None:
    pods = [pod(f"p-{i}", pod_spec(memory=str(3 * 10**18)), on="n") for i in range(2)]
    with pytest.raises(InputError, match="requests for memory are more than can be counted") as refused:
        Cluster(kubectl.read_items([node("n"), *pods]))
    assert refused.value.where == "Pod/ml/p-0"


def test_containers_that_do_not_add_up_are_left_out_by_name() -> None:
    spec = pod_spec(memory=str(2**62))
    spec["containers"] = [{**spec["containers"][0], "name": name} for name in ("a", "b")]
    snapshot = kubectl.read_items([node("n"), pod("whale", spec), pod("shrimp", pod_spec(), on="n")])
    assert [one.name for one in snapshot.pods] == ["shrimp"]
    (problem,) = snapshot.problems
    assert problem.object == "Pod/ml/whale"
    assert "the requests of its containers for memory are more than can be counted" in problem.what
    assert seats(snapshot) == ()


def test_who_asks_for_more_than_any_node_has_waits() -> None:
    """Whatever waits is counted with every other, and nothing of it overflows."""
    specs = [pod_spec(memory=str(HUGE)), pod_spec(cpu=str(2**61))]
    waiting = [pod(f"w-{i}", spec) for i, spec in enumerate(specs)]
    cluster = Cluster(kubectl.read_items([node("n"), *waiting]))
    run = Simulation(cluster)
    run.settle()
    assert sorted(one.name for one in run.queue) == ["w-0", "w-1"]


def test_a_node_of_very_many_gpus_is_not_drawn_seat_by_seat() -> None:
    rows = seats(kubectl.read_items([node("n", gpus=10**18)]))
    assert len(rows[0].seats) == 256
    assert rows[0].free["nvidia.com/gpu"] == 10**18
