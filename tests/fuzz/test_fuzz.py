from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.__main__ import run
from tests.fuzz.check import Mishandled, check
from tests.fuzz.mutations import mutated

INPUTS = 2_000
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_comes_in_is_handled(part: int) -> None:
    """2,000 inputs here, half of them dumps; 100,000 by `make trust`."""
    bad = [found for seed in range(part, INPUTS, PARTS) if (found := check(seed)) is not None]
    assert bad == []


def test_pods_that_an_older_replica_set_makes_ask_for_what_it_says() -> None:
    """Its template lost its requests, and more of its pods fit than of the Deployment's."""
    assert check(306_782) is None


def test_a_seed_is_one_input() -> None:
    assert mutated(random.Random(7)) == mutated(random.Random(7))
    assert mutated(random.Random(7)) != mutated(random.Random(8))


def test_it_goes_on_where_it_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def note(seed: int) -> Mishandled | None:
        asked.append(seed)
        return Mishandled(seed=seed, what="broken: x") if seed == 3 else None

    monkeypatch.setattr("tests.fuzz.__main__.check", note)
    assert run(5, tmp_path / "state.json")[1] == [Mishandled(seed=3, what="broken: x")]
    tried, bad, _ = run(8, tmp_path / "state.json")
    assert (tried, len(bad), asked) == (8, 1, list(range(8)))
