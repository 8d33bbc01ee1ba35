"""What is said beside a commitment's figures: ten days are no basis for three years, and GPUs need a reservation."""

from __future__ import annotations

from planner.history.commitment_cost_curve import Point
from planner.history.commitments_by_gpu_model import Term, _cautions
from planner.pricing.price_book import Provisioning

DAY = 86_400.0
BEST = Point(level=4, usd_per_month=1.0, saved_usd=4_827.0, saved_after_fall_usd=3_218.0)
TERM = Term(term=Provisioning.COMMITMENT_3Y, usd_per_gpu_hour=1.0, best=BEST, points=(BEST,))


def said(levels: list[int]) -> str:
    """Of one look a day."""
    series = [[(i * DAY, level) for i, level in enumerate(levels)]]
    return _cautions((TERM,), series, (len(levels) - 1) * DAY, 24.0 * (len(levels) - 1))


def test_ten_days_and_use_that_has_halved_are_said() -> None:
    """A review: six days of 4 A100s, four days of 2: "4 GPUs for 3 years saves 4,827" while 2 are held."""
    found = said([4] * 6 + [2] * 5)
    assert "10 d of history" in found
    assert "use has fallen from 4 to" in found
    assert "no advice for 3 years" in found
    assert "need a reservation attached" in found


def test_a_long_and_steady_history_has_its_three_years() -> None:
    found = said([4] * 120)
    assert "no advice" not in found
    assert "history" not in found
    assert "reservation" in found
