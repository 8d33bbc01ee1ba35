"""Amounts that nobody can count: refused with the object that has them, and never drawn one by one."""

from __future__ import annotations

import pytest

from planner.capacity.gpu_holders import seats
from planner.ground.errors import InputError
from planner.kubernetes.object_records import EMPTY
from planner.questions.seats import SeatsSettings, answer
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import compile_shape
from planner.scheduling.state import State
from planner.scheduling.volume_placement import StorageDemand, Volumes
from tests.builders.objects import node, pod, pod_spec, read_items

HUGE = 9 * 10**18


def test_nodes_that_do_not_add_up_are_refused_by_name() -> None:
    large = [node("small"), node("huge", memory=str(HUGE)), node("huger", memory=str(HUGE + 1))]
    with pytest.raises(InputError, match="memory is more than can be counted") as refused:
        Cluster(read_items(large))
    assert refused.value.where == "Node/huger"


def test_requests_that_do_not_add_up_are_refused_by_name() -> None:
    pods = [pod(f"p-{i}", pod_spec(memory=str(3 * 10**18)), on="n") for i in range(2)]
    with pytest.raises(InputError, match="requests for memory are more than can be counted") as refused:
        Cluster(read_items([node("n"), *pods]))
    assert refused.value.where == "Pod/ml/p-0"


def test_containers_that_do_not_add_up_are_left_out_by_name() -> None:
    spec = pod_spec(memory=str(2**62))
    spec["containers"] = [{**spec["containers"][0], "name": name} for name in ("a", "b")]
    snapshot = read_items([node("n"), pod("whale", spec), pod("shrimp", pod_spec(), on="n")])
    assert [one.name for one in snapshot.pods] == ["shrimp"]
    (problem,) = snapshot.problems
    assert problem.object == "Pod/ml/whale"
    assert "the requests of its containers for memory are more than can be counted" in problem.what
    assert seats(snapshot) == ()


def test_who_asks_for_more_than_any_node_has_waits() -> None:
    """Whatever waits is counted with every other, and nothing of it overflows."""
    specs = [pod_spec(memory=str(HUGE)), pod_spec(cpu=str(2**61))]
    waiting = [pod(f"w-{i}", spec) for i, spec in enumerate(specs)]
    cluster = Cluster(read_items([node("n"), *waiting]))
    run = Simulation(cluster)
    run.settle()
    assert sorted(one.name for one in run.queue.pods()) == ["w-0", "w-1"]


def test_a_node_of_very_many_gpus_is_not_drawn_seat_by_seat() -> None:
    shared = pod_spec(gpus=300)
    snapshot = read_items([node("n", gpus=10**18), pod("p", shared, on="n")])
    rows = seats(snapshot)
    assert len(rows[0].seats) == 256
    assert rows[0].free["nvidia.com/gpu"] == 10**18 - 300
    assert (rows[0].gpus, rows[0].gpus_free) == (10**18, 10**18 - 300)
    said = answer(snapshot, SeatsSettings()).sentence
    assert str(said).startswith("999,999,999,999,999,700 of 1,000,000,000,000,000,000 GPUs on 1 node are free")


def test_pods_bound_at_once_are_as_many_bound_one_by_one() -> None:
    spread = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "other"}}}
    ]}}  # fmt: skip
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    spec = pod_spec(affinity=spread, volumes=[volume])
    cluster = Cluster(read_items([node("n"), node("m"), pod("p", spec)]))
    shape = compile_shape(cluster, "ml", EMPTY, cluster.snapshot.pods[0].spec)
    one_by_one, at_once = State(cluster), State(cluster)
    for _ in range(3):
        one_by_one.add(shape, 1)
    at_once.add(shape, 1, 3)
    assert (one_by_one.free == at_once.free).all()
    assert (one_by_one.scored == at_once.scored).all()
    for term, counts in one_by_one.anti.items():
        assert counts.tolist() == at_once.anti[term].tolist() == [0, 3]


def test_pods_of_one_claim_attach_it_once_however_many_come_at_once() -> None:
    cluster = Cluster(read_items([node("n")]))
    demand = StorageDemand(mounts=(("driver", ("ml", "c")), ("driver", None)))
    volumes = Volumes(cluster)
    for change, attached in ((3, 4), (-2, 2), (-1, 0)):
        volumes.mount(demand, 0, change)
        assert volumes._attached["driver"].tolist() == [attached]
