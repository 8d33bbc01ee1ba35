"""Own lives and gaps: from looks and events, with what is still there or taken down counted as such."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from planner.ground.work_budget import allowed
from planner.inventory.spot_node_lifetimes import NodeEvent, NodeSeen, NodeSign, Watch, together, until
from planner.spot.assumptions import Life
from planner.spot.fitted_node_lifetimes import from_files, gaps_of_spells, own_history, rate_band, spells_of
from planner.spot.interruption import life_table

HOUR = 3_600.0
POOL = "spot"


def watch(
    nodes: list[tuple[str, float, float]], looks: list[float], events: list[tuple[str, NodeSign, float]] | None = None
) -> Watch:
    """Nodes by name from one hour to another, seen at every look at which they were there."""
    seen = []
    for name, created, ended in nodes:
        there = [at for at in looks if created <= at < ended]
        if there:
            seen.append(
                NodeSeen(
                    cluster="c", node=name, node_pool=POOL, machine_type="n1-standard-8", created_at=created * HOUR,
                    first_at=there[0] * HOUR, last_at=there[-1] * HOUR,
                )
            )  # fmt: skip
    told = tuple(NodeEvent(cluster="c", node=name, told=what, at=at * HOUR) for name, what, at in events or [])
    return Watch(source="looks", looks=(("c", tuple(at * HOUR for at in looks)),), nodes=tuple(seen), events=told)


def every(step: float, last: float) -> list[float]:
    return [float(at) for at in np.arange(0.0, last + step / 2, step)]


def test_an_end_lies_between_two_looks_and_what_is_there_is_no_end() -> None:
    found = {one.created_at: one for one in spells_of(watch([("a", 0, 10.2), ("b", 1, 99)], every(1, 20)))}
    assert found[0.0].ended_at == 10.5 * HOUR
    assert (found[0.0].was_lost, found[0.0].within) == (True, HOUR)
    assert (found[1.0 * HOUR].was_lost, found[1.0 * HOUR].is_over) == (False, False)


def test_an_event_tells_the_moment() -> None:
    seen = watch([("a", 0, 10.2)], every(1, 20), [("a", NodeSign.GONE, 10.25)])
    (one,) = spells_of(seen)
    assert (one.ended_at, one.within) == (10.25 * HOUR, 0.0)


def test_what_an_autoscaler_took_down_was_not_lost() -> None:
    seen = watch([("a", 0, 10.2)], every(1, 20), [("a", NodeSign.TAKEN_DOWN, 10.1), ("a", NodeSign.GONE, 10.25)])
    (one,) = spells_of(seen)
    assert (one.was_lost, one.is_over) == (False, True)
    assert not list(gaps_of_spells(seen, (one,)))


def test_a_node_that_comes_back_under_its_name_is_another_node() -> None:
    """GKE gives a preempted node's name to the next one."""
    seen = watch([("a", 0, 10.2), ("a", 10.7, 99)], every(0.1, 20))
    spells = tuple(spells_of(seen))
    assert [one.was_lost for one in spells] == [True, False]
    (gap,) = gaps_of_spells(seen, spells)
    assert gap.ended_at - gap.lost_at == pytest.approx(0.5 * HOUR, abs=0.1 * HOUR)


def test_a_node_met_when_it_was_old_counts_from_then_on() -> None:
    found = own_history(watch([("a", -100, 4.2), ("b", 2, 99)], every(0.1, 20)))
    assert found.node_hours == pytest.approx(4.2 + 18, abs=0.2)
    assert found.lives[0].since == 100
    assert found.lost == 1


def test_events_alone_tell_of_nodes_that_nobody_saw() -> None:
    """One snapshot: two nodes are there, a third of their instance group came and went within the hour of events."""
    events = [("g-1-c", NodeSign.REGISTERED, 0.2), ("g-1-c", NodeSign.GONE, 0.7), ("other", NodeSign.GONE, 0.5)]
    seen = watch([("g-1-a", -3, 9), ("g-1-b", -5, 9)], [1.0], events)
    found = own_history(seen)
    assert (found.nodes, found.lost, found.still_there) == (3, 1, 2)
    assert min(life.hours for life in found.lives) == pytest.approx(0.5)
    assert found.node_hours == pytest.approx(0.5 + 0.8 + 0.8)  # from the first event on


def test_gaps_that_looks_cannot_tell_are_not_told() -> None:
    nodes = [("a", 0.0, 30.0), ("b", 31.0, 60.0), ("c", 62.0, 99.0)]
    daily, often = own_history(watch(nodes, every(12, 96))), own_history(watch(nodes, every(0.1, 96)))
    assert daily.gaps == ()
    assert "default stays" in str(daily.sentence)
    assert [life.hours for life in often.gaps if life.ended] == pytest.approx([1.0, 2.0], abs=0.1)


def test_no_loss_leaves_the_default_and_says_what_is_known() -> None:
    found = own_history(watch([("a", 0, 99), ("b", 0, 99)], every(1, 50)))
    assert found.lives == ()
    assert "default rate stays" in str(found.sentence)
    (rate,) = [line for line in found.lines if line.name == "losses per VM-hour"]
    assert (rate.seen, rate.low) == (0, 0)
    assert rate.high == pytest.approx(2.996 / 100, rel=0.01)  # the rule of three, one-sided 95 %


def test_the_band_of_a_rate_is_garwoods() -> None:
    """Ten events: 5.43 to 16.96 (tables of the Poisson distribution, 90 %)."""
    assert rate_band(10, 1.0) == pytest.approx((5.425, 16.962), rel=1e-3)


def test_half_the_time_knows_nothing_of_the_other() -> None:
    seen = watch([("a", 0, 15.0), ("b", 12, 99)], every(1, 20), [("a", NodeSign.GONE, 14.9)])
    half = until(seen, 10 * HOUR)
    assert [(one.node, one.last_at) for one in half.nodes] == [("a", 10 * HOUR)]
    assert half.events == ()


def test_two_watches_of_one_cluster_are_one() -> None:
    nodes = [("a", 0.0, 15.0)]
    both = together([watch(nodes, every(1, 10)), watch(nodes, [5.5, 12.0, 18.0])])
    (one,) = both.nodes
    assert (one.first_at, one.last_at) == (0.0, 12.0 * HOUR)
    assert next(spells_of(both)).ended_at == 15.0 * HOUR


def process(rng: np.random.Generator, places: int, hours: float) -> list[tuple[str, float, float]]:
    """Places that are up and down by turns for so many hours: mean life 10.5 h, mean gap 1.1 h."""
    nodes = []
    for place in range(places):
        at, number = -float(rng.exponential(10.5)), 0
        while at < hours:
            ended = at + float(rng.exponential(10.5))
            nodes.append((f"n-{place}-{number}", at, ended))
            at, number = ended + float(rng.exponential(1.1)), number + 1
    return nodes


def test_a_process_that_is_known_is_found_again_and_the_band_holds() -> None:
    """Sixteen places for four weeks, looked at each five minutes: the fit is near the truth, the back-test near 90 %."""
    rng = np.random.default_rng(20261121)
    tried = held = hours_held = 0
    for _ in range(4):
        found = own_history(watch(process(rng, 16, 672.0), every(1 / 12, 672.0)))
        assert float(life_table(found.lives).mean()) == pytest.approx(10.5, rel=0.12)
        assert float(life_table(found.gaps).mean()) == pytest.approx(1.1, rel=0.2)
        tried += found.back_test.windows
        held += found.back_test.losses_held
        hours_held += found.back_test.hours_held or 0
    assert tried == 40
    assert held >= 0.8 * tried
    assert hours_held >= 0.75 * tried


def test_daily_looks_do_not_take_long_lives_for_typical() -> None:
    """Short lives between two looks are never seen; late entry makes up for it."""
    rng = np.random.default_rng(7)
    found = own_history(watch(process(rng, 40, 90 * 24.0), every(6, 90 * 24.0)))
    mean_of_seen = float(np.mean([life.hours for life in found.lives]))
    assert mean_of_seen > 12.5  # what is seen is long
    assert float(life_table(found.lives).mean()) == pytest.approx(10.5, rel=0.25)


def test_a_back_test_that_is_too_much_work_is_left_out() -> None:
    """What was seen is told all the same."""
    seen = watch(process(np.random.default_rng(7), 16, 96.0), every(1, 96.0))
    with allowed(units=1_000):
        found = own_history(seen)
    assert found.lost
    assert str(found.back_test.sentence) == "Not back-tested: too large to play through."
    assert own_history(seen).back_test.windows


def test_lives_of_a_file_are_shown_and_tested_in_their_order() -> None:
    rng = np.random.default_rng(3)
    lives = tuple(Life(hours=float(hours)) for hours in rng.exponential(8.0, 200))
    found = from_files(lives, (), "lives.csv")
    assert found.back_test.windows == 100
    assert 80 <= found.back_test.losses_held <= 98
    assert [line.name for line in found.lines][:2] == ["losses per VM-hour", "mean life"]


def test_lives_of_a_machine_type_count_for_it_where_there_are_enough() -> None:
    nodes = [("a", float(at), at + 1.5) for at in range(0, 24, 2)]
    found = own_history(watch(nodes, every(0.1, 30)))
    assert len(found.lives_for(["n1-standard-8"])) == len(found.lives) == 12
    assert found.lives_for(["g2-standard-8"]) == found.lives
    assert all(a[2] <= b[1] for a, b in pairwise(nodes))
