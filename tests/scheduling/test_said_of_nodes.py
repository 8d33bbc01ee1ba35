"""What is said of some nodes is what is said of each of them."""

from __future__ import annotations

from random import Random

import numpy as np

from planner.ground.well_known_names import NVIDIA_GPU
from planner.scheduling.cluster import Cluster
from planner.scheduling.node_facts import gpu_models, node_pools, offers_by_node, said_of, zones
from planner.sources import demo


def test_some_nodes_say_what_each_of_them_says_asked_again_too() -> None:
    cluster, luck = Cluster(demo.read()), Random(11)
    for share in (0.0, 0.1, 0.5, 1.0):
        nodes = np.array([luck.random() < share for _ in cluster.nodes], dtype=np.bool_)
        some = np.flatnonzero(nodes).tolist()
        for _ in range(2):
            for each in (gpu_models, node_pools, zones):
                assert said_of(cluster, nodes, each) == {each(cluster)[node] for node in some}
            offers = offers_by_node(cluster, NVIDIA_GPU)
            assert said_of(cluster, nodes, offers_by_node, NVIDIA_GPU) == {offers[node] for node in some}
