"""What is not played for want of room would not have completed, and every answer is the same as if it had been played."""

from __future__ import annotations

import pytest

from planner.capacity.node_pools import pools
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import parse_typed_limits
from planner.kubernetes.object_records import Strategy
from planner.kubernetes.workload_kinds import RECREATE, ROLLING_UPDATE
from planner.remedies import rollout_with_remedies
from planner.rollout import prepared_change as prepared_question
from planner.rollout.answers import RolloutResult
from planner.rollout.prepared_change import Scenario
from planner.rollout.room_when_empty import RoomWhenEmpty
from planner.rollout.run import simulate
from tests.bench import crowd
from tests.properties.random_rollouts import case_of, engine
from tests.quick import floor, seeds

STRATEGIES = (
    Strategy(kind=RECREATE),
    Strategy(kind=ROLLING_UPDATE, max_surge=0, max_unavailable=1),
    Strategy(kind=ROLLING_UPDATE, max_surge="100%", max_unavailable="50%"),
)


def test_without_room_on_empty_nodes_no_strategy_completes() -> None:
    short = enough = 0
    for seed in seeds(80):
        played = engine(case_of(seed))
        cluster = played.run.simulation.cluster
        for revision in played.revisions:
            for factor in (1, 2, 5):
                after = replace(revision.after, replicas=max(1, revision.after.replicas) * factor)
                larger = replace(revision, after=after)
                run = simulate(cluster, [larger])
                if not RoomWhenEmpty.of(run, larger).is_short(cluster, after):
                    enough += run.completed
                    continue
                short += 1
                others = [replace(larger, after=replace(after, strategy=one)) for one in STRATEGIES]
                assert not run.completed, seed
                assert not any(simulate(cluster, [one], seed=seed).completed for one in others), seed
    assert min(short, enough) > floor(25), (short, enough)


def _answers() -> dict[tuple[str, int, bool], RolloutResult]:
    """Every Deployment of a crowded cluster, scaled and rolled out or only scaled, with ways out and pools that may grow."""
    snapshot = crowd.snapshot(1)
    growing = pools(prepared_question.compiled(snapshot), parse_typed_limits("web=12,gpu-t4=30,gpu-l4=9"))
    asked = [
        WorkloadChange(workload=one.key, replicas=max(1, one.replicas) * factor, new_revision=is_new)
        for one in snapshot.workloads
        for factor in (1, 20)
        for is_new in (True, False)
        if one.kind == "Deployment"
    ]
    return {
        (one.workload, one.replicas or 0, one.new_revision): rollout_with_remedies.rollout(
            snapshot, Scenario(changes=(one,), seed=3, runs=1), growing
        )
        for one in asked
    }


def test_the_answers_are_those_of_playing_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    told = _answers()
    monkeypatch.setattr(RoomWhenEmpty, "is_short", lambda *_: False)
    monkeypatch.setattr(RoomWhenEmpty, "least_growth", lambda *_: 0)
    played = _answers()
    assert len(told) > 50
    assert sum(one.extra_nodes > 1 for one in told.values()) > 3
    for key, one in told.items():
        assert one == played[key], key
