"""The quick packing against the plain one, on random clusters: every node that goes or comes, every pod's place."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from planner.ground.records import replace
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.owners import workload_keys
from planner.rollout.prepared_change import compiled
from planner.scheduling.cluster import Cluster
from planner.sources.prices import embedded_book
from planner.spot import cluster_savings as fleet_savings
from planner.spot.node_consolidation import Packing, nodes_alike
from tests.bench import clusters, crowd
from tests.builders.objects import read_items
from tests.capacity.plain_packing import PlainPacking
from tests.quick import is_quick
from tests.reference.random_clusters import random_case
from tests.reference.ruled_clusters import ruled_case
from tests.seen import each


def _thinned(whole: Snapshot, seed: int) -> Snapshot:
    """A part of the cluster's pods and nodes, so that there is room to pack."""
    rng = random.Random(seed)
    nodes = tuple(node for node in whole.nodes if rng.random() < 0.9)
    pods = tuple(pod for pod in whole.pods if rng.random() < 0.7)
    return replace(whole, nodes=nodes, pods=pods, digest=f"{whole.digest}{seed}")


def _of_reference(seed: int) -> Snapshot:
    return read_items(random_case(seed).items)


def _ruled(seed: int) -> Snapshot:
    return read_items(ruled_case(seed).items)


def _crowded(seed: int) -> Snapshot:
    return _thinned(crowd.snapshot(2, varied=seed % 2 == 1), seed)


def _generated(seed: int) -> Snapshot:
    return _thinned(clusters.snapshot(clusters.lay_out(100)), seed)


CASES: list[tuple[Callable[[int], Snapshot], int]] = [
    *((_of_reference, seed) for seed in range(12)),
    *((_ruled, seed) for seed in range(24)),
    *((_crowded, seed) for seed in range(4)),
    *((_generated, seed) for seed in range(2)),
]


@pytest.mark.parametrize(
    ("make", "seed"), CASES[:: 3 if is_quick() else 1], ids=lambda case: getattr(case, "__name__", str(case))
)
def test_the_quick_way_is_the_plain_way(make: Callable[[int], Snapshot], seed: int) -> None:
    """Pools are tightened, workloads leave in batches, by themselves and with nothing else moved, and it is taken back."""
    snapshot = make(seed)
    rng, cluster = random.Random(seed), Cluster(snapshot)
    keys = workload_keys(snapshot)
    for pool in each(nodes_alike(snapshot.nodes, {node.name: node_pool(node) for node in snapshot.nodes})):
        names = {snapshot.nodes[i].name for i in pool}
        here = sorted({keys[pod.uid] for pod in snapshot.pods if pod.node_name in names and pod.owner})
        movers = [key for key in here if rng.random() < 0.6]
        most = {key: rng.randint(1, 4) for key in movers if rng.random() < 0.3}
        quick, plain = Packing(cluster, pool, movers, most), PlainPacking(cluster, pool, movers, most)
        quick.state.requested_below(100)  # kept up to date from now on; of the plain one it is counted at the end
        assert (tightened := quick.tighten()) == plain.tighten()
        marks, steps = [(quick.mark, plain.mark)], []
        for key in movers[:3]:
            repacks = rng.random() < 0.5
            assert quick.alone(key, repacks=repacks) == plain.alone(key, repacks=repacks)
        rng.shuffle(movers)
        while movers:
            size = rng.randint(1, 5)
            batch, movers = movers[:size], movers[size:]
            steps.append(quick.leave(*batch))
            assert steps[-1] == plain.leave(*batch)
            marks.append((quick.mark, plain.mark))
        assert quick.result(tightened, steps) == plain.result(tightened, steps)
        kept = rng.randrange(len(marks))
        quick.undo(marks[kept][0])
        plain.undo(marks[kept][1])
        assert quick.result(tightened, steps[:kept]) == plain.result(tightened, steps[:kept])
        assert (quick.state.free == plain.state.free).all()
        assert (quick.state.used == plain.state.used).all()
        assert (quick.state.scored == plain.state.scored).all()
        assert quick.state.held == plain.state.held
        assert (quick.state.requested_below(100) == plain.state.requested_below(100)).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_whole_answer_is_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, book = _crowded(seed), embedded_book()
    quick = fleet_savings.fleet_savings(snapshot, book, {})
    monkeypatch.setattr(fleet_savings, "Packing", PlainPacking)
    assert fleet_savings.fleet_savings(replace(snapshot, digest="again"), book, {}) == quick
    assert quick.moves
    assert compiled(snapshot).node_count == len(snapshot.nodes)
