"""A rollout whose end is counted goes as the one that is played to its end."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

from planner.ground.work_budget import UnwantedError, allowed
from planner.inventory.change import WorkloadChange
from planner.questions.question import plain
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import Placement, RolloutResult
from planner.rollout.prepared_change import Scenario
from planner.rollout.run import Run, simulate
from planner.rollout.tie_break_sensitivity import holds_in_every_placement
from tests.bench import clusters, crowd
from tests.properties.random_rollouts import case_of, engine
from tests.properties.test_flying_clusters import roomy
from tests.quick import floor, seeds
from tests.reference.flying_clusters import flying_case

SEEDS = seeds(80)


def _told(run: Run) -> tuple[object, ...]:
    shapes = {key: shape.asks for key, shape in run.new_shapes.items()}
    return run.moments, run.status, run.finished_at, run.done, run.ticks, run.owners, run.replicas, shapes, run.retried


def _places(run: Run) -> list[tuple[str, int]]:
    return [(pod.name, pod.node) for pods in run.pods.values() for pod in pods]


def test_the_moments_are_those_that_are_played() -> None:
    counted = 0
    for seed in SEEDS:
        for case in (case_of(seed), roomy(case_of(seed)), roomy(flying_case(seed).case)):
            for luck in (0, 1):
                short, long = engine(case, luck, may_count=True), engine(case, luck)
                assert _told(short.run) == _told(long.run), seed
                if not short.run.is_counted:
                    continue
                counted += 1
                if holds_in_every_placement(short.run, short.revisions):
                    assert holds_in_every_placement(long.run, long.revisions), seed
                on = short.run.played_on()
                assert (_told(on), _places(on)) == (_told(long.run), _places(long.run)), seed
    assert counted > floor(30)


@pytest.mark.parametrize(
    "snapshot", [crowd.snapshot(3), clusters.snapshot(clusters.lay_out(60))], ids=["crowded", "quiet"]
)
def test_the_whole_answer_is_the_one_that_is_played(snapshot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of drawn strategies, numbers of replicas and templates; who waits elsewhere hears of pods that go."""
    luck, counted = random.Random(1), 0

    def answered(change: WorkloadChange, seed: int) -> RolloutResult:
        return rollout_with_remedies.rollout(
            snapshot, Scenario(changes=(change,), seed=seed, runs=2, with_remedies=False)
        )

    def never_counted(*asked: Any, may_count: bool = False, **way: Any) -> Run:
        return simulate(*asked, **way)

    deployments = [one for one in snapshot.workloads if one.kind == "Deployment"]
    for workload in luck.sample(deployments, 30):
        change = WorkloadChange(
            workload=workload.key, replicas=luck.choice((None, 1, 3, workload.replicas * 2, 40)),
            max_surge=luck.choice((1, 3, "25%", "100%")), max_unavailable=luck.choice((0, 1, "25%", "100%")),
        )  # fmt: skip
        seed = luck.randrange(9)
        short = answered(change, seed)
        with monkeypatch.context() as patch:
            patch.setattr(rollout_with_remedies, "simulate", never_counted)
            assert plain(answered(change, seed)) == plain(short), change
        if isinstance(short.placement, Placement):
            counted += 1
            kept = pickle.loads(pickle.dumps(short))
            assert isinstance(kept.placement, tuple)
            assert kept == short
    assert counted >= 5


def test_where_pods_are_is_told_whoever_reads_it_and_whatever_was_asked_before() -> None:
    """An answer is kept: whoever asked first may have left, and what else was asked may have cost all that it may."""
    counted = 0
    for seed in range(20):
        case, left = roomy(case_of(seed)), list[str]()
        with allowed(lambda left=left: not left) as budget:  # type: ignore[misc]
            run = engine(case, may_count=True).run
        if not run.is_counted:
            continue
        counted += 1
        budget.left, budget.unseen = 0, 10**6
        left.append("whoever asked")
        on, long = run.played_on(), engine(case).run
        assert (_told(on), _places(on)) == (_told(long), _places(long)), seed
        assert budget.left == 0  # and whoever reads it within a question gets nothing back
    assert counted >= 3


def test_what_was_broken_off_half_way_isnt_told() -> None:
    def interrupted() -> tuple[tuple[str, str, str], ...]:
        asked.append(1)
        if len(asked) == 1:
            raise UnwantedError("interrupted")
        return (("prod", "half", "way"),)

    asked = list[int]()
    placement = Placement(interrupted)
    with pytest.raises(UnwantedError):
        len(placement)
    with pytest.raises(RuntimeError, match="interrupted"):
        len(placement)
