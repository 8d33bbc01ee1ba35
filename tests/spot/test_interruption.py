import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import InputError
from planner.spot.assumptions import Assumptions, Capacity, Life
from planner.spot.interruption import Lives, lives_of, parse_lives

RNG_SEED = 7


def of(capacity: Capacity = Capacity.SPOT, lives: tuple[Life, ...] = ()) -> Lives:
    return lives_of(
        Assumptions(nodes=1, on_demand_usd_per_hour=1, spot_usd_per_hour=0.5, capacity=capacity, lives=lives)
    )


def test_exponential_lives_have_their_mean_and_survival() -> None:
    drawn = of().draw(np.random.default_rng(RNG_SEED), np.full(200_000, 0.1))
    assert drawn.mean() == pytest.approx(10, rel=0.01)
    assert (drawn > 5).mean() == pytest.approx(float(of().survival(np.array([5.0]), 0.1)[0]), abs=0.004)
    assert of().mean(0.1) == pytest.approx(10)


def test_preemptible_lives_end_after_24_hours() -> None:
    lives = of(Capacity.PREEMPTIBLE)
    drawn = lives.draw(np.random.default_rng(RNG_SEED), np.full(200_000, 0.05))
    assert drawn.max() == 24
    assert drawn.mean() == pytest.approx(lives.mean(0.05), rel=0.01)
    assert lives.mean(0.0) == 24
    assert lives.survival(np.array([23.9, 24.0]), 0.0).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("rate", [0.0, 0.03])
def test_nodes_met_at_a_random_moment_have_half_their_life_left_or_less(rate: float) -> None:
    """Renewal theory: the rest of a life met at random has mean E[L²] / 2 E[L]."""
    lives = of(Capacity.PREEMPTIBLE)
    whole = lives.draw(np.random.default_rng(1), np.full(400_000, rate))
    left = lives.draw_remaining(np.random.default_rng(2), np.full(400_000, rate))
    assert left.mean() == pytest.approx((whole**2).mean() / (2 * whole.mean()), rel=0.01)


def test_a_rate_of_0_is_a_node_that_stays() -> None:
    assert np.isinf(of().draw(np.random.default_rng(RNG_SEED), np.zeros(3))).all()
    assert of().mean(0.0) == np.inf


def test_mean_counts_bulk_losses_and_a_limit() -> None:
    assert of().mean(0.1, 0.1) == pytest.approx(5)
    assert of().mean(0.1, 0.0, until=2) == pytest.approx(10 * (1 - np.exp(-0.2)))


def test_observed_lives_are_drawn_as_often_as_they_were_seen() -> None:
    lives = of(lives=tuple(Life(hours=hours) for hours in (1.0, 2.0, 2.0, 10.0)))
    drawn = lives.draw(np.random.default_rng(RNG_SEED), np.zeros(100_000))
    assert {float(value) for value in np.unique(drawn)} == {1.0, 2.0, 10.0}
    assert (drawn == 2).mean() == pytest.approx(0.5, abs=0.01)
    assert lives.mean(99.0) == pytest.approx(3.75, abs=0.01)


def test_vms_still_running_are_not_taken_for_lost() -> None:
    """Kaplan and Meier by hand: losses at 1 h (of 4), 3 h (of 2): survival 3/4, then 3/8; one censored at 2 h, one at 5."""
    seen = (Life(hours=1.0), Life(hours=2.0, ended=False), Life(hours=3.0), Life(hours=5.0, ended=False))
    lives = of(lives=seen)
    alive = lives.survival(np.array([0.5, 1.5, 3.0]), 0.0)
    assert alive == pytest.approx([1.0, 0.75, 0.375], abs=0.001)
    assert lives.table is not None
    beyond = lives.table[lives.table > 3.0]
    assert beyond.size / lives.table.size == pytest.approx(0.375, abs=0.001)
    assert beyond.mean() == pytest.approx(3 + 11 / 2, rel=0.01)  # pooled: 11 VM-hours, 2 losses


@given(st.lists(st.tuples(st.floats(0.01, 500), st.booleans()), min_size=1, max_size=30))
def test_survival_never_rises(seen: list[tuple[float, bool]]) -> None:
    observed = (Life(hours=1.0), *(Life(hours=hours, ended=ended) for hours, ended in seen))
    lives = of(lives=observed)
    alive = lives.survival(np.linspace(0, 600, 200), 0.0)
    assert alive[0] == 1
    assert (np.diff(alive) <= 1e-12).all()


def test_lifetimes_are_read_from_csv() -> None:
    assert parse_lives("hours,ended\n7.5,yes\n12,no\n3,\n") == (
        Life(hours=7.5),
        Life(hours=12.0, ended=False),
        Life(hours=3.0),
    )
    assert parse_lives("\ufeffzone,hours\na,2\n") == (Life(hours=2.0),)


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("life\n3\n", 'no column "hours"', "lifetimes"),
        ("", 'no column "hours"', "lifetimes"),
        ("hours\nten\n", '"ten" is not a number of hours', "lifetimes, line 2"),
        ("hours\n3\n-1\n", '"-1" is not a number of hours', "lifetimes, line 3"),
        ("hours\nnan\n", '"nan" is not a number of hours', "lifetimes, line 2"),
        ("hours,ended\n3,maybe\n", '"maybe" is neither yes nor no', "lifetimes, line 2"),
        ("hours,ended\n3,no\n", "no life in it ended", "lifetimes"),
        ("[" * 200_000, "it isn't CSV", "lifetimes"),
    ],
)
def test_damaged_lifetimes_are_refused_with_the_line(text: str, what: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_lives(text)
    assert what in caught.value.what
    assert caught.value.where == where
    assert caught.value.fix
