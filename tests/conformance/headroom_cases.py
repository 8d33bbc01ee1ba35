"""Recorded headroom (`headroom/`, by kubernetes-sigs/cluster-capacity) against what Headroom counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.capacity.headroom import Fit, fit, fits
from planner.capacity.headroom_shapes import PodShape, ShapeOrigin
from planner.ground.records import replace
from planner.scheduling.cluster import Cluster
from tests.builders.objects import read_items
from tests.conformance.comparison import Comparison, each_case

SEEDS = 10  # placements tried where ties decide which node a pod goes to
_TAINT = re.compile(r"(\d+) node\(s\) had untolerated taint \{[^}]*\}")


def compare(folder: Path) -> Iterator[Comparison]:
    """Number, nodes and the scheduler's words for every recorded shape in `folder`."""
    return each_case(folder, _compare_case)


def _compare_case(name: str, case: dict[str, Any]) -> Iterator[Comparison]:
    cluster = Cluster(read_items(case["cluster"]["items"]))
    family = name.split("-", 1)[0]
    for recorded in case["headroom"]:
        shape = shape_of(recorded["pod"])
        label = f"{name}/{shape.name}"
        found = fit(cluster, shape)
        many = fits(cluster, [shape])[0].count
        yield Comparison(label, family, "fits", recorded["fits"], found.count, found.count == recorded["fits"], True)
        yield Comparison(label, family, "fits, of many", recorded["fits"], many, many == recorded["fits"])
        placed = _by_node(cluster, shape, found, recorded["by_node"])
        yield Comparison(label, family, "by_node", recorded["by_node"], placed, placed == recorded["by_node"])
        words = _as_1_36(recorded["stops_because"])
        yield Comparison(label, family, "stops_because", words, found.message, words == found.message)


def shape_of(pod: Mapping[str, Any]) -> PodShape:
    """The recorded pod. cluster-capacity runs no admission: without a priority it has priority 0."""
    manifest = {**pod, "kind": "Pod", "status": {"phase": "Pending"}}
    (read,) = read_items([manifest]).pods
    spec = read.spec if read.spec.priority is not None else replace(read.spec, priority=0)
    return PodShape(name=read.name, origin=ShapeOrigin.TYPED, spec=spec, namespace=read.namespace, labels=read.labels)


def _by_node(cluster: Cluster, shape: PodShape, first: Fit, recorded: Mapping[str, int]) -> dict[str, int]:
    """Where the pods go: the placement that was recorded where ties give it, else the first."""
    for seed in range(SEEDS):
        placed = dict(fit(cluster, shape, seed=seed).by_node)
        if placed == recorded:
            return placed
    return dict(first.by_node)


def _as_1_36(message: str) -> str:
    """The recorded words (Kubernetes 1.34 names each taint) as 1.36 says them: taints counted together."""
    head, colon, rest = message.partition("nodes are available: ")
    reasons, stop, tail = rest.partition(". ")
    total = sum(int(number) for number in _TAINT.findall(reasons))
    if not total:
        return message
    kept = [part for part in re.split(r", (?=\d+ )", reasons.removesuffix(".")) if not _TAINT.fullmatch(part)]
    listed = ", ".join(sorted([*kept, f"{total} node(s) had untolerated taint(s)"]))
    return f"{head}{colon}{listed}" + (stop + tail if stop else ".")
