"""How often the band holds: windows of a process that is known, predicted from its own rates."""

from __future__ import annotations

import numpy as np
import pytest

from planner.ground.records import replace
from planner.spot.assumptions import Assumptions, Fallback, Life, Work
from planner.spot.economics import band, savings
from planner.spot.monte_carlo import simulate

WINDOWS = 1_000
MEAN_LIFE, MEAN_GAP = 10.5, 1.1
KNOWN = Assumptions(
    nodes=1,
    on_demand_usd_per_hour=1.0,
    spot_usd_per_hour=0.4,
    hazard_low_per_hour=1 / MEAN_LIFE,
    hazard_likely_per_hour=1 / MEAN_LIFE,
    hazard_high_per_hour=1 / MEAN_LIFE,
    zone_losses_per_month=0.0,
    stock_out_hours=MEAN_GAP,
    node_start_seconds=0.0,
    pod_start_seconds=0.0,
    work=Work.SERVING,
    request_seconds=0.0,
    fallback=Fallback.ON_DEMAND,
    runs=4_000,
    seed=11,
)


def on_demand_hours(rng: np.random.Generator, lives: np.ndarray, gaps: np.ndarray) -> float:
    """Hours down in one month of the process, walked spell by spell; it begins up or down as it is in the long run."""
    up = rng.random() < lives.mean() / (lives.mean() + gaps.mean())
    now, down = 0.0, 0.0
    first = True
    while now < 730.0:
        spells = lives if up else gaps
        spell = float(rng.choice(spells))
        if first:  # what is left of a spell met at a random moment: long ones are met more often
            spell = float(rng.choice(spells, p=spells / spells.sum())) * rng.random()
            first = False
        down += 0.0 if up else min(spell, 730.0 - now)
        now, up = now + spell, not up
    return down


@pytest.mark.parametrize("shape", ["exponential", "many short ones"])
def test_the_band_holds_nine_windows_of_ten(shape: str) -> None:
    rng = np.random.default_rng(20261121)
    if shape == "exponential":
        lives, gaps = rng.exponential(MEAN_LIFE, 20_000), rng.exponential(MEAN_GAP, 20_000)
        case = KNOWN
    else:  # a coefficient of variation of about 2, as in public traces
        lives, gaps = rng.weibull(0.55, 4_000) * 6.2, rng.weibull(0.6, 4_000) * 0.75
        case = replace(
            KNOWN,
            lives=tuple(Life(hours=float(hours)) for hours in lives),
            gaps=tuple(Life(hours=float(hours)) for hours in gaps),
            stock_out_hours=None,
        )
    predicted = band(simulate(case).on_demand_hours[:, 0])
    held = sum(predicted.p5 <= on_demand_hours(rng, lives, gaps) <= predicted.p95 for _ in range(WINDOWS))
    assert 0.85 * WINDOWS <= held <= 0.95 * WINDOWS


def test_a_gap_that_goes_on_is_no_end() -> None:
    """The product-limit estimator: a gap not over when last seen makes gaps longer, not shorter."""
    seen = tuple(Life(hours=hours) for hours in (1.0, 1.0, 2.0, 2.0))
    ended = replace(KNOWN, stock_out_hours=None, gaps=(*seen, Life(hours=3.0)))
    open_ = replace(KNOWN, stock_out_hours=None, gaps=(*seen, Life(hours=3.0, ended=False)))
    assert savings(open_).saved_usd.mean < savings(ended).saved_usd.mean
