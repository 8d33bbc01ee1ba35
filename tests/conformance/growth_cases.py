"""Recorded autoscalers (`growth/`, and Karpenter's in `growth/karpenter`) against what a rollout's answer says of growth.

Four fields: the verdict, and where the recorded autoscaler made it complete the pools that grew, by how many nodes (within
one), and by how many exactly; of `eager` cases the nodes that came unasked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.inventory.autoscaler_flags import Autoscaling, Expander
from planner.inventory.change import WorkloadChange
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.node_properties import node_pool
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import node_pool_files
from tests.conformance.comparison import Comparison, each_case
from tests.conformance.rollout_cases import WHOLE_LISTS, recorders_kubelet

# What the recorder's cloud and its autoscaler were set to: nodes come at once, GPU pods wait no longer than others.
_RECORDERS: dict[str, Any] = {"arrival_seconds": 0.0, "pod_delay_seconds": 2.0, "gpu_pod_delay_seconds": 2.0}
_SAID = {Verdict.COMPLETES: "completes", Verdict.NEEDS_GROWTH: "completes once it grows", Verdict.STUCK: "stuck"}


def compare(folder: Path) -> Iterator[Comparison]:
    """Every recording of `folder`, and of the folder ``karpenter`` in it."""
    yield from each_case(folder, _compare_case)
    yield from each_case(folder / "karpenter", _compare_case)


def play(case: Mapping[str, Any]) -> RolloutResult:
    """The product's own answer, with no more than what a person would hand over."""
    snapshot = build_snapshot([Part(items=case["cluster"]["items"], listed=WHOLE_LISTS)], source="recording")
    files = (case["node_pools"], case.get("instance_types"))
    given = [
        one for file in files if file for one in node_pool_files.read_bytes(json.dumps(file).encode(), name="file.json")
    ]
    changes = case["change"] if isinstance(case["change"], list) else [case["change"]]
    asked = tuple(
        WorkloadChange(workload=f"{c['kind']}/{c['namespace']}/{c['name']}", patch=json.dumps(c["patch"]))
        for c in changes
    )
    flags = dict(flag.removeprefix("--").split("=") for flag in case.get("flags") or () if "=" in flag)
    how = Autoscaling(expander=Expander(flags.get("expander", Expander.LEAST_WASTE)), **_RECORDERS)
    with recorders_kubelet(attaches=False):  # nothing was attached while these were recorded
        return rollout(
            snapshot,
            Scenario(changes=asked, with_remedies=False),
            growable_pools(snapshot, node_pool_files.stated(snapshot, given)),
            how,
        )


def _compare_case(name: str, case: dict[str, Any]) -> Iterator[Comparison]:
    family, outcome = case["family"], case["outcome"]
    result = play(case)
    recorded = (
        "stuck"
        if outcome["verdict"] == "stuck"
        else "completes"
        if case.get("eager") or outcome["alone"] == "complete"
        else "completes once it grows"
    )
    said = _SAID.get(result.verdict, str(result.verdict))
    yield Comparison(name, family, "verdict", recorded, said, agrees=recorded == said, is_verdict=True)
    came, expected = added(result), _by_pool(case, outcome["added"])
    if case.get("eager"):
        unasked = dict(Counter(node_pool(node) for node in result.unasked_nodes))
        yield Comparison(name, family, "added", expected, unasked, agrees=expected == unasked)
        return
    if recorded == said == "completes once it grows":
        yield Comparison(name, family, "pool", sorted(expected), sorted(came), agrees=set(expected) == set(came))
        most, number = sum(came.values()), sum(expected.values())
        yield Comparison(name, family, "number within one", number, most, agrees=abs(most - number) <= 1)
        yield Comparison(name, family, "added", expected, came, agrees=expected == came)


def added(result: RolloutResult) -> dict[str, int]:
    """Nodes that come, by pool."""
    return dict(Counter(node_pool(node) for node in result.new_nodes))


def _by_pool(case: Mapping[str, Any], by_group: Mapping[str, int]) -> dict[str, int]:
    pool_of = {group["name"]: group["pool"] for group in case["groups"]}
    found: Counter[str] = Counter()
    for group, nodes in by_group.items():
        found[pool_of.get(group, group)] += nodes
    return dict(found)
