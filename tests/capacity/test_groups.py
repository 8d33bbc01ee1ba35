"""Pods that only work together: headroom counts whole groups, a loss says which groups aren't whole."""

from __future__ import annotations

from typing import Any

import pytest

from planner.capacity.free_resources_by_pool import shape
from planner.capacity.movable_pods import Stays
from planner.kubernetes.object_records import Snapshot
from planner.questions import capacity, survive
from planner.remedies.make_room import MadeRoom, make_room
from planner.sources import demo
from tests.builders.objects import MOVED_WHOLE, deployment, node, pod, pod_spec, snapshot
from tests.stories.catalogue import _lws

KEY = "LeaderWorkerSet/ml/big"
Item = dict[str, Any]


def groups(size: int, gpus: int = 8, leader_gpus: int | None = None, metadata: Item | None = None) -> Item:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec(gpus=gpus)}
    own: Item = {"size": size, "workerTemplate": template}
    if leader_gpus is not None:
        own["leaderTemplate"] = {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec(gpus=leader_gpus)}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
        "metadata": {"name": "big", "namespace": "ml", "uid": "u", **(metadata or {})},
        "spec": {"replicas": 0, "leaderWorkerTemplate": own},
    }  # fmt: skip


def cluster(nodes: int, workload: Item, *more: Item) -> Snapshot:
    machines = [node(f"n{place}", gpus=8, cpu="64", memory="300Gi") for place in range(nodes)]
    return snapshot(*machines, pod("other", pod_spec(cpu="100m"), on="n0"), workload, *more)


@pytest.mark.parametrize(("nodes", "whole"), [(3, 0), (4, 1), (7, 1), (8, 2)])
def test_a_group_of_four_nodes_never_fits_half(nodes: int, whole: int) -> None:
    found = shape(cluster(nodes, groups(4)), KEY)
    assert (found.known_count, found.group_size) == (whole, 4)
    assert "group" in str(found.sentence) or not whole
    assert found.shape == f"{KEY} (groups of 4 pods)"


def test_leaders_and_workers_are_of_their_own_templates() -> None:
    assert shape(cluster(4, groups(3, gpus=8, leader_gpus=2)), KEY).count == 1
    assert shape(cluster(6, groups(3, gpus=8, leader_gpus=2)), KEY).count == 2
    assert shape(cluster(5, groups(1)), KEY).shape == KEY, "a group of one is a pod"


def test_where_groups_keep_each_other_away_nothing_is_said() -> None:
    apart = {"annotations": {"leaderworkerset.sigs.k8s.io/exclusive-topology": "kubernetes.io/hostname"}}
    assert shape(cluster(8, groups(2, metadata=apart)), KEY).known_count is None
    hard = {"requests.nvidia.com/gpu": "8"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ml"}, "spec": {"hard": hard}, "status": {"hard": hard, "used": {"requests.nvidia.com/gpu": "0"}}}  # fmt: skip
    assert shape(cluster(8, groups(2), quota), KEY).known_count is None


def test_the_list_of_what_fits_and_the_single_question_say_the_same() -> None:
    asked = cluster(7, groups(2))
    listed = next(one for one in capacity.answer(asked, capacity.CapacitySettings()).workloads if KEY in one.shape)
    assert (listed.count, listed.group_size) == (shape(asked, KEY).count, 2) == (3, 2)


def test_a_lost_node_tells_which_groups_are_not_whole() -> None:
    answer = survive.answer(demo.read_kinds(), survive.SurviveSettings())
    lost = next(one for one in answer.losses if one.name == "gke-ml-h100-0")
    (whose,) = lost.whose
    assert (whose.pods, whose.groups, whose.group_size) == (1, 1, 2)


def room_for_sixteen(size: int, labels: Item | None = None, named_size: int | None = None) -> MadeRoom:
    """A pod of 16 GPUs waits for the one node that has as many, of which a group's leader holds 8; others have 8 free for it."""
    lws = [one for one in _lws(1, 0, 1, size) if one.get("spec", {}).get("replicas") != 0]  # no workers' set at size 1
    lws[0]["spec"]["leaderWorkerTemplate"]["size"] = named_size or size
    leader = next(one for one in lws if one["kind"] == "Pod")
    leader["metadata"]["labels"] |= labels or {}
    leader["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": str(size)}
    machines = [node("gpu-0", gpus=16), *(node(f"gpu-{place}", gpus=8) for place in range(1, size + 1))]
    return make_room(snapshot(MOVED_WHOLE, *machines, *lws, deployment("w", [""], pod_spec(gpus=16))))


def test_a_group_of_one_moves_as_the_pod_that_it_is() -> None:
    found = room_for_sixteen(1)
    assert [(one.pod, one.node, one.to) for one in found.moves] == [("ml/app-0", "gpu-0", "gpu-1")]
    assert (len(found.starts), found.held, found.kept) == (1, found.draws, ())


@pytest.mark.parametrize(
    ("size", "labels", "named_size"),
    [
        (2, {}, 2),
        (2, {}, 1),  # the size is changed, and this group is of before
        (1, {}, 2),
        (1, {"scheduling.x-k8s.io/pod-group": "all"}, 1),  # with others, as coscheduling has it
    ],
)
def test_pods_that_only_work_together_stay(size: int, labels: Item, named_size: int) -> None:
    found = room_for_sixteen(size, labels, named_size)
    assert (found.moves, found.starts) == ((), ())
    assert (Stays.GANG, size) in [(one.why, one.pods) for one in found.kept]


def test_a_pod_group_of_one_pod_is_that_pod() -> None:
    assert room_for_sixteen(1, {"kueue.x-k8s.io/pod-group-name": "app"}).moves
