"""What has become three times slower is told; a slow evening is not."""

import json

from tests.bench.regression import KNOWN, MOST, PIECE, piece, slower


def test_three_times_slower_is_told() -> None:
    assert slower({"a": 2.0 * MOST}, {"a": 2.0}) == []
    assert slower({"a": 2.0 * MOST + 0.1, "b": 1.0}, {"a": 2.0, "b": 1.0}) == ["a"]


def test_a_figure_that_nobody_wrote_down_is_told() -> None:
    assert slower({"new": 0.1}, {}) == ["new"]


def test_what_is_known_are_ratios() -> None:
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    assert known
    assert all(ratio > 0 for ratio in known.values())


def test_the_piece_of_python_is_the_same_work_each_time() -> None:
    """It places pods and counts them, so that what it gives tells whether it is still that work."""
    assert piece() == piece() == 2_497
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    assert sum(name.endswith(f" / {PIECE}") for name in known) == 4
