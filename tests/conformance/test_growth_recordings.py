"""Growth as recorded autoscalers did it: every verdict, and of those that grow pool and number to the bar."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from planner.rollout.answers import Verdict
from tests.conformance import growth_cases
from tests.conformance.comparison import Comparison
from tests.conformance.counts import RENEW, counted, told

HERE = Path(__file__).parent / "growth"

# Decided by chance: equals wait, fewer nodes come than it takes for all, and who is backing off just then is tried last. Of these
# two, which ask the same, one was recorded to complete and one to be stuck.
UNDECIDED = {"others-take-all", "others-big"}
LEAST_SHARE = 0.95


@pytest.fixture(scope="module")
def compared() -> list[Comparison]:
    return list(growth_cases.compare(HERE))


def test_every_recording_is_compared(compared: list[Comparison]) -> None:
    assert len({one.case for one in compared}) == len(list(HERE.rglob("*.json.gz"))) == 96


def test_every_verdict_agrees(compared: list[Comparison]) -> None:
    assert {one.case for one in compared if one.is_verdict and not one.agrees} == UNDECIDED
    assert counted(compared) == told("growth"), RENEW


def test_where_chance_decides_it_is_not_known_and_said_so() -> None:
    for name in UNDECIDED:
        found = growth_cases.play(json.loads(gzip.decompress((HERE / f"{name}.json.gz").read_bytes())))
        assert found.verdict is Verdict.UNKNOWN
        assert "is chance" in str(found.sentence)
        assert "With its own first it completes" in str(found.sentence)
        assert found.ties is None


def test_nothing_is_said_to_complete_that_did_not(compared: list[Comparison]) -> None:
    verdicts = [one for one in compared if one.is_verdict and one.expected == "stuck"]
    assert len(verdicts) > 30
    assert {one.case for one in verdicts if one.got != "stuck"} <= UNDECIDED


def test_no_verdict_is_wrong_in_silence(compared: list[Comparison]) -> None:
    assert {one.got for one in compared if one.is_verdict and not one.agrees} == {"unknown"}


@pytest.mark.parametrize("field", ["pool", "number within one"])
def test_pool_and_number_are_right_to_the_bar(compared: list[Comparison], field: str) -> None:
    found = [one for one in compared if one.field == field]
    assert len(found) > 50
    assert sum(one.agrees for one in found) / len(found) >= LEAST_SHARE


def test_nodes_that_come_unasked_are_those_that_came(compared: list[Comparison]) -> None:
    found = [one for one in compared if one.family == "alone, yet it grows" and one.field == "added"]
    assert [one.case for one in found if not one.agrees] == []
    assert sum(bool(one.expected) for one in found) == 3
