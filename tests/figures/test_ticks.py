"""An axis that counts has whole ticks, each once."""

from __future__ import annotations

import pytest

from planner.figures.ticks import whole


@pytest.mark.parametrize(("values", "step"), [([], 1), ([0, 2], 1), ([9], 1), ([10], None), ([5_000, 3], None)])
def test_few_things_have_a_tick_each(values: list[float], step: int | None) -> None:
    assert whole(values) == {"tickformat": ",d", "dtick": step}
