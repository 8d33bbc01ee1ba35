"""Films of drains, losses and moves: they end as their answers say."""

from __future__ import annotations

from collections import Counter

import pytest

from planner.capacity.drain import drain_result, simulate_drain
from planner.capacity.eviction_simulation import at_rest
from planner.capacity.node_losses import LossPlayer
from planner.capacity.rollout_readiness import overview
from planner.capacity.simulation_films import change_film
from planner.capacity.what_if import ChangeCase, upgrade_steps
from planner.capacity.what_if_syntax import parse_change
from planner.ground.errors import ChangeError
from planner.ground.words import count
from planner.remedies.make_room import RoomRequest, make_room, room_film
from planner.remedies.rollout_with_remedies import stuck_film
from planner.rollout.film import Doing, Film
from planner.sources import demo
from tests.seen import premise

SNAPSHOT = demo.read()
A100 = "gke-edu-gpu-a100-7f3a00"


def taken(film: Film, frame: int) -> Counter[tuple[int, int]]:
    return Counter((block.node, seat) for block in film.at(frame) for span in block.seats for seat in range(*span))


@pytest.mark.parametrize("name", [node.name for node in SNAPSHOT.nodes if "gpu" in node.name])
def test_a_drain_ends_as_its_answer_says(name: str) -> None:
    film, cluster = change_film(SNAPSHOT, parse_change(f"drain:{name}")), at_rest(SNAPSHOT)
    run = simulate_drain(cluster, [name])
    said = drain_result(cluster, [name], run)
    if not premise(film) or film is None:
        assert not said.evicted
        return
    pushed_out = [pod for pod in run.simulation.preempted if pod not in run.moved]
    assert film.wanted == said.evicted + len(pushed_out)
    last = film.frames[-1]
    assert last.ready == sum(number for _, number in said.moved_to)
    assert last.waiting == sum(one.count - one.before for one in said.unplaced)
    assert film.is_stuck == bool(last.waiting or said.held_back)
    assert all(amount == 1 for frame in range(len(film.frames)) for amount in taken(film, frame).values())


def test_a_lost_zone_ends_as_the_loss_does() -> None:
    cluster = at_rest(SNAPSHOT)
    zone = "asia-northeast3-a"
    nodes = [
        number for number, node in enumerate(cluster.nodes) if node.labels.get("topology.kubernetes.io/zone") == zone
    ]
    film, found = change_film(SNAPSHOT, parse_change(f"remove-zone:{zone}")), LossPlayer(cluster).lose(nodes)
    assert film is not None
    assert film.wanted == found.pods + sum(found.preempted.values())
    assert film.frames[0].ready == 0
    assert (film.frames[-1].waiting, film.frames[-1].seconds) == (found.waiting, found.seconds)
    gone = {cluster.node_names[number] for number in nodes}
    left = {film.nodes[block.node].name for block in film.at(len(film.frames) - 1) if block.node >= 0}
    assert left.isdisjoint(gone)
    assert {one.name for one in film.nodes if one.note == "lost"} == gone & {one.name for one in film.nodes}


def test_moves_that_make_room_start_what_the_plan_says() -> None:
    shape = "gpu=1,cpu=4,memory=8Gi"
    film, made = (
        room_film(SNAPSHOT, RoomRequest(shape=shape, number=2)),
        make_room(SNAPSHOT, RoomRequest(shape=shape, number=2)),
    )
    assert film is not None
    assert (film.wanted, film.frames[-1].ready, film.frames[-1].waiting) == (2, len(made.starts), 2 - len(made.starts))
    moved = {block.pod for block in film.blocks if block.doing is Doing.TERMINATING}
    assert moved == {move.pod for move in made.moves}
    started = {block.pod: film.nodes[block.node].name for block in film.at(len(film.frames) - 1) if block.node >= 0}
    assert all(started[start.pod] == start.node for start in made.starts)


def test_no_moves_no_film() -> None:
    assert make_room(SNAPSHOT).moves == ()
    assert room_film(SNAPSHOT, RoomRequest()) is None


def test_the_review_has_a_film_of_a_circle() -> None:
    film = stuck_film(SNAPSHOT, overview(SNAPSHOT))
    assert film is not None
    assert film.is_stuck
    assert film.wait_for[-1].target == film.wait_for[0].source
    assert stuck_film(SNAPSHOT, None) is None


def test_a_change_without_a_film_is_refused() -> None:
    with pytest.raises(ChangeError, match="no film"):
        change_film(SNAPSHOT, parse_change("add:gpu-t4=1"))
    with pytest.raises(ChangeError, match="no node"):
        change_film(SNAPSHOT, parse_change("drain:nobody"))


@pytest.mark.parametrize(
    ("settings", "steps"),
    [("", 6), ("=surge:2,unavailable:1", 2), ("=surge:0,unavailable:2", 3), ("=surge:0,unavailable:6", 1)],
)
def test_an_upgrade_is_shown_to_its_end(settings: str, steps: int) -> None:
    """Every step as `what_if` plays it: nodes that come, a drain of those that go, and at its end the pods that the next finds."""
    change = parse_change(f"upgrade:gpu-t4{settings}")
    film = change_film(SNAPSHOT, change)
    assert film is not None
    played = list(upgrade_steps(ChangeCase(at_rest(SNAPSHOT), change, ())))
    assert len(played) == played[0].of == steps
    held = sum(len(one.run.left) for one in played)
    assert film.title == (
        f"{change}; {count(held, 'pod')} held back, deleted after an hour, which isn't in the times"
        if held
        else str(change)
    )
    assert film.is_stuck == bool(film.frames[-1].waiting or played[-1].run.left)
    said = [frame.event.partition(": ")[0] for frame in film.frames if ": " in frame.event]
    assert list(dict.fromkeys(said)) == ([f"step {n} of {steps}" for n in range(1, steps + 1)] if steps > 1 else [])
    went = {name for one in played for name in one.nodes}
    assert {one.name for one in film.nodes if one.note.startswith("out")} == went, "all that go have a row"
    came = {name for one in played for name in one.cluster.node_names} - {node.name for node in SNAPSHOT.nodes}
    assert {one.name for one in film.nodes if one.note.startswith("in")} <= came
    assert [one.seconds for one in film.frames] == sorted(one.seconds for one in film.frames)
    assert max(one.ready for one in film.frames) <= film.wanted
    end = film.at(len(film.frames) - 1)
    last = played[-1].run.simulation.snapshot_now()
    there = {f"{pod.namespace}/{pod.name}": pod.node_name for pod in last.pods if pod.node_name}
    for block in end:
        if block.node >= 0 and block.doing is not Doing.TERMINATING:
            assert there[block.pod] == film.nodes[block.node].name, "at its end each pod is where the last step left it"
    drawn = {block.pod for block in end if block.node >= 0}
    rows = {one.name for one in film.nodes}
    assert {
        name for name, node in there.items() if node in rows and name in {block.pod for block in film.blocks}
    } <= drawn


def test_an_upgrade_that_cannot_begin_has_no_film() -> None:
    assert change_film(SNAPSHOT, parse_change("upgrade:gpu-t4=surge:1,unavailable:0,quota:0")) is None
