"""What people changed between two snapshots is named before what follows from it."""

from __future__ import annotations

from planner.ground.records import replace
from planner.inventory.snapshot_changes import changed
from planner.kubernetes.object_records import Snapshot
from planner.questions import diff
from planner.questions.diff import DiffSettings
from planner.questions.question import Inputs
from planner.sources import demo
from tests.pages.clusters import node, snapshot, worker


def named(before: Snapshot, after: Snapshot, *unseen: str) -> list[tuple[str, str, str, str]]:
    return [(one.object, one.what, one.before, one.after) for one in changed(before, after, unseen=unseen)]


def with_replicas(given: Snapshot, key: str, replicas: int, max_surge: int) -> Snapshot:
    return replace(
        given,
        workloads=tuple(
            replace(one, replicas=replicas, strategy=replace(one.strategy, max_surge=max_surge))
            if one.key == key
            else one
            for one in given.workloads
        ),
    )


def test_nothing_differs_from_itself() -> None:
    assert named(demo.read(), demo.read()) == []


def test_replicas_and_strategy_of_a_workload_are_named_and_lead_the_sentence() -> None:
    now = demo.read()
    key = "Deployment/prod/ml-worker"
    last_week = replace(with_replicas(now, key, 5, max_surge=0), digest="last week")
    assert named(last_week, now) == [(key, "replicas", "5", "6"), (key, "maxSurge", "0", "25%")]
    told = diff.answer(last_week, DiffSettings(), Inputs(others=(now,)))
    assert str(told.sentence).startswith(f"2 changes ({key}: replicas 5 → 6 and {key}: maxSurge 0 → 25%)")


def test_nodes_by_pool_and_workloads_that_came() -> None:
    few, more = snapshot(node("node-0", 1)), snapshot(node("node-0", 1), node("node-1", 1), *worker(1))
    found = named(few, more)
    assert ("pool t4", "nodes", "1", "2") in found or any(one[1:] == ("nodes", "1", "2") for one in found)
    assert ("Deployment/ml/worker", "workload", "not there", "there") in found
    assert named(few, more, "Node", "Deployment") == []
