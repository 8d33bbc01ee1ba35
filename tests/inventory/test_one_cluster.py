"""Two clusters are never read as one; one cluster may come in several files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.sources import cluster_dumps
from tests.builders import objects
from tests.pages.clusters import worker

Item = dict[str, Any]


def node(name: str, uid: str = "", gpus: int = 1) -> Item:
    found = objects.node(name, gpus=gpus)
    found["metadata"]["uid"] = uid
    return found


def provided(name: str, uid: str = "", gpus: int = 1, by: str = "aws:///z/i-1") -> Item:
    found = node(name, uid, gpus)
    found["spec"]["providerID"] = by
    return found


def system(uid: str) -> Item:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": uid}}


def bound(name: str, node: str) -> Item:
    (pod,) = [item for item in worker(1) if item["kind"] == "Pod"][:1]
    metadata = pod["metadata"] | {"name": name, "uid": name}
    return pod | {"metadata": metadata, "spec": pod["spec"] | {"nodeName": node}}


def test_files_between_two_others_join_them() -> None:
    assert read([node("a"), bound("p", "b")], [node("b"), bound("q", "c")], [node("c"), bound("r", "c")]) == 3


def read(*files: list[Item]) -> int:
    uploads = [
        (f"{place}.json", json.dumps({"kind": "List", "items": items}).encode()) for place, items in enumerate(files)
    ]
    return len(cluster_dumps.read_uploads(uploads).nodes)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ([node("a", "1"), system("x")], [system("y")], "kube-system"),
        ([node("a", "1")], [node("a", "2")], "different nodes called a"),
        ([node("a", gpus=1)], [node("a", gpus=8)], "different nodes called a"),
        ([provided("a")], [provided("a", by="aws:///z/i-2")], "different nodes called a"),
        ([provided("a", "1")], [provided("a", by="aws:///z/i-2")], "different nodes called a"),
        ([provided("a", "1")], [provided("a", "2")], "different nodes called a"),
        ([node("a"), *worker(1)], [node("b"), *worker(1)], "share no node"),
        ([node("a"), bound("p", "a")], [node("b"), bound("q", "b")], "share no node"),
        ([node("a"), bound("p", "gone")], [node("b"), bound("q", "gone")], "share no node"),
    ],
)
def test_two_clusters_are_refused(first: list[Item], second: list[Item], why: str) -> None:
    with pytest.raises(InputError, match="these are two clusters") as refused:
        read(first, second)
    assert why in refused.value.what


@pytest.mark.parametrize(
    ("first", "second", "nodes"),
    [
        ([node("a", "1"), system("x")], [node("b", "2"), system("x")], 2),
        ([node("a", "1")], [node("a", "1"), *worker(1)], 1),
        ([node("a", "1")], [node("a")], 1),  # of one the uids were taken out
        ([node("a", "1")], [provided("a", "1")], 1),  # the cloud's controller gave it its id between two dumps
        ([provided("a", gpus=1)], [provided("a", gpus=8)], 1),  # its device plugin came up between two dumps
        ([node("a"), node("b")], worker(2), 2),
        ([node("a"), *worker(1)], [node("a"), *worker(2)], 1),
        ([node("a"), bound("p", "b")], [node("b"), bound("q", "b")], 2),
        ([node("a"), bound("p", "b")], [node("b"), bound("q", "a")], 2),
    ],
)
def test_one_cluster_in_two_files_is_read(first: list[Item], second: list[Item], nodes: int) -> None:
    assert read(first, second) == nodes


def test_a_file_without_uids_does_not_hide_that_others_are_two() -> None:
    with pytest.raises(InputError, match="different nodes called a"):
        read([node("a")], [node("a", "1")], [node("a", "2")])
