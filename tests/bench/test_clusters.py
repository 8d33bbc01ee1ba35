"""The clusters of `make bench` are what they say: full but not overfull, and the short way to a snapshot is no other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from planner.sources import kubectl
from tests.bench import clusters


def test_layout_holds_thirty_pods_a_node_and_no_node_too_much() -> None:
    layout = clusters.lay_out(100)
    assert layout.pod_count == 3000
    gpus: Counter[int] = Counter()
    millicores: Counter[int] = Counter()
    for application in layout.applications:
        for node in application.nodes:
            gpus[node] += application.gpus
            millicores[node] += application.cpu_millicores
    assert all(gpus[node] <= pool.gpus for node, pool in enumerate(layout.pool_of))
    assert all(millicores[node] <= pool.cpu_millicores for node, pool in enumerate(layout.pool_of))
    full = [node for node, pool in enumerate(layout.pool_of) if pool.name == "gpu-h100"]
    assert sum(gpus[node] for node in full) == 8 * len(full)


def test_same_size_gives_the_same_bytes() -> None:
    assert b"".join(clusters.kubectl_json(clusters.lay_out(100))) == b"".join(
        clusters.kubectl_json(clusters.lay_out(100))
    )


def test_snapshot_is_what_reading_the_json_gives() -> None:
    layout = clusters.lay_out(100)
    read = kubectl.read_bytes(b"".join(clusters.kubectl_json(layout)), name="bench")
    made = clusters.snapshot(layout)
    assert not read.problems
    assert len({(pod.namespace, pod.name) for pod in read.pods}) == layout.pod_count
    assert set(made.pods) == set(read.pods)
    assert replace(made, pods=(), digest="") == replace(read, pods=(), digest="")
