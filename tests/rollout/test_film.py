"""Films: what a frame holds is what the engine counted at that moment, and nothing is drawn that wasn't played."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from planner.capacity.simulation_films import rollout_film
from planner.ground.records import replace
from planner.ground.work_budget import allowed
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import PodState, Verdict, WorkloadRollout
from planner.rollout.film import ELSEWHERE, Doing, Film, kept
from planner.rollout.prepared_change import Scenario
from planner.rollout.simulation_limits import LIMITS
from planner.sources import demo

SNAPSHOT = demo.read()
ROLLING = [one.key for one in SNAPSHOT.workloads if one.traits.rolls_out]


def filmed(snapshot: Snapshot, key: str, **change: int) -> tuple[Film | None, WorkloadRollout]:
    scenario = Scenario(changes=(WorkloadChange(workload=key, **change),))  # type: ignore[arg-type]
    [shown] = rollout(snapshot, scenario).workloads
    return rollout_film(snapshot, scenario, shown), shown


@cache
def of_demo(key: str) -> tuple[Film | None, WorkloadRollout]:
    return filmed(SNAPSHOT, key)


def states(film: Film, frame: int, key: str) -> dict[str, int]:
    found = Counter[str]()
    for block in film.at(frame):
        if block.workload == key:
            found[_state(block.doing, is_new=block.is_new)] += 1
    return {state.value: found[state.value] for state in PodState}


def _state(doing: Doing, *, is_new: bool) -> str:
    match doing:
        case Doing.READY:
            return (PodState.NEW_READY if is_new else PodState.OLD_READY).value
        case Doing.STARTING:
            return (PodState.NEW_STARTING if is_new else PodState.OLD_NOT_READY).value
        case Doing.WAITING:
            return PodState.PENDING.value
        case Doing.TERMINATING:
            return PodState.TERMINATING.value


@pytest.mark.parametrize("key", ROLLING)
def test_a_frame_holds_what_the_engine_counted(key: str) -> None:
    film, shown = of_demo(key)
    assert film is not None
    assert (film.is_stuck, film.wait_for) == (shown.verdict is Verdict.STUCK, shown.wait_for)
    assert len(film.frames) == len(shown.timeline)
    for number, (frame, row) in enumerate(zip(film.frames, shown.timeline, strict=True)):
        assert (frame.tick, frame.seconds, frame.ready, frame.event) == (row.tick, row.seconds, row.ready, row.event)
        if film.more_nodes:
            continue  # what has no row isn't drawn
        assert states(film, number, key) == dict(row.counts)
        own = [block for block in film.at(number) if block.workload == key and block.node >= 0]
        if film.resource:
            held = sum(end - start for block in own for start, end in block.seats)
            assert held == frame.held == row.held_by_workload.get(film.resource, 0)


@pytest.mark.parametrize("key", ROLLING)
def test_no_seat_is_taken_twice_and_none_moves(key: str) -> None:
    film, _ = of_demo(key)
    assert film is not None
    assert len(film.nodes) <= LIMITS.film_nodes
    assert all(block.node != ELSEWHERE or not block.seats for block in film.blocks)
    places: dict[tuple[str, int], object] = {}
    for number in range(len(film.frames)):
        taken = Counter(
            (block.node, seat) for block in film.at(number) for span in block.seats for seat in range(*span)
        )
        assert all(amount == 1 for amount in taken.values())
        assert all(seat < film.nodes[node].seats for node, seat in taken)  # nobody holds more than there is
        for block in film.at(number):
            if block.node >= 0:
                assert places.setdefault((block.pod, block.node), block.seats) == block.seats


def test_the_moment_of_deadlock_is_the_last() -> None:
    film, _ = filmed(SNAPSHOT, "Deployment/prod/llm-serve")
    assert film is not None
    end = len(film.frames) - 1
    waits = [block for block in film.at(end) if block.is_new]
    assert [(block.doing, block.amount) for block in waits] == [(Doing.WAITING, 4)]
    old = [block for block in film.at(end) if block.node >= 0]
    assert [(film.nodes[block.node].pool, block.seats, block.is_new) for block in old] == [
        ("gpu-a100", ((0, 4),), False)
    ] * 2
    assert film.wait_for[-1].target == film.wait_for[0].source  # a cycle
    others = {block.workload for block in film.at(end) if block.node < 0} - {"Deployment/prod/llm-serve"}
    assert "Deployment/llm-lab/llm-canary" in others  # it waits for the same


def test_a_strategy_of_the_grid_is_played() -> None:
    other, shown = filmed(SNAPSHOT, "Deployment/prod/ml-worker", max_surge=0, max_unavailable=3)
    assert other is not None
    assert min(frame.ready for frame in other.frames) == shown.lowest_ready == 3


def refused(kind: str) -> FrozenMap[Presence]:
    return FrozenMap({**SNAPSHOT.presence, kind: Presence.REFUSED})


@pytest.mark.parametrize(
    "blind",
    [replace(SNAPSHOT, presence=refused("Pod"), pods=()), replace(SNAPSHOT, presence=refused("Node"), nodes=())],
    ids=["pods", "nodes"],
)
def test_what_was_not_played_has_no_film(blind: Snapshot) -> None:
    film, shown = filmed(blind, "Deployment/prod/llm-serve")
    assert (shown.verdict, film) == (Verdict.UNKNOWN, None)
    seen, seen_shown = filmed(SNAPSHOT, "Deployment/prod/llm-serve")
    assert seen is not None
    assert rollout_film(blind, Scenario(changes=(WorkloadChange(workload=seen.about[0]),)), seen_shown) is None


def test_what_was_cut_has_no_film() -> None:
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/prod/ml-worker"),))
    [shown] = rollout(SNAPSHOT, scenario).workloads
    with allowed(units=2_000):
        assert rollout_film(SNAPSHOT, scenario, shown) is None


def test_chosen_moments_keep_both_ends() -> None:
    assert kept(5) == [0, 1, 2, 3, 4]
    assert (kept(1_000)[0], kept(1_000)[-1], len(kept(1_000)) <= 121) == (0, 999, True)
