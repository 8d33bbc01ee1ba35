"""What has become three times slower is told; a slow evening is not."""

import json

from tests.bench.regression import KNOWN, MOST, slower


def test_three_times_slower_is_told() -> None:
    assert slower({"a": 2.0 * MOST}, {"a": 2.0}) == []
    assert slower({"a": 2.0 * MOST + 0.1, "b": 1.0}, {"a": 2.0, "b": 1.0}) == ["a"]


def test_a_figure_that_nobody_wrote_down_is_told() -> None:
    assert slower({"new": 0.1}, {}) == ["new"]


def test_what_is_known_are_ratios() -> None:
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    assert known
    assert all(ratio > 0 for ratio in known.values())
