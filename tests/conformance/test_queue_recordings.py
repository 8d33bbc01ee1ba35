"""What Kueue, KubeRay, JobSet and LeaderWorkerSet did, as recorded: nothing is said that isn't so, and not known is no more than measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import applied_cases, queue_cases
from tests.conformance.comparison import Comparison
from tests.conformance.counts import RENEW, counted, told

HERE = Path(__file__).parent

# Queues released at once with fair sharing: Kueue's first cycles saw only some (README of the recordings, "order").
IN_ORDER = {"fair-0-0", "fair-1-0", "fair-2-0", "fair-3-0"}


@pytest.fixture(scope="module")
def of_kueue() -> list[Comparison]:
    return list(queue_cases.compare(HERE / "queues"))


@pytest.fixture(scope="module")
def of_kinds() -> list[Comparison]:
    return list(applied_cases.compare(HERE / "kinds4"))


def test_no_answer_about_kueue_is_wrong(of_kueue: list[Comparison]) -> None:
    assert len({one.case for one in of_kueue}) == len(list((HERE / "queues").glob("*.json.gz"))) == 81
    assert {one.case for one in of_kueue if not one.agrees and one.field != "known"} == IN_ORDER
    assert sum(one.field == "at rest" for one in of_kueue) == 42
    assert counted(of_kueue) == told("queues"), RENEW


def test_no_more_about_kueue_is_unknown_than_was_measured(of_kueue: list[Comparison]) -> None:
    assert sum(one.field == "known" and not one.agrees for one in of_kueue) <= 6


def test_no_answer_about_other_kinds_is_wrong(of_kinds: list[Comparison]) -> None:
    assert len({one.case for one in of_kinds}) == len(list((HERE / "kinds4").rglob("*.json.gz"))) == 37
    assert [(one.case, one.field) for one in of_kinds if not one.agrees and one.field != "known"] == []
    assert counted(of_kinds) == told("kinds4"), RENEW


def test_changes_of_ray_are_known_with_the_defaults_of_its_schema(of_kinds: list[Comparison]) -> None:
    """KubeRay 1.7 writes ``priority: 0`` into each worker group of all 17."""
    known = {one.case: one.agrees for one in of_kinds if one.field == "known" and one.case.startswith("ray")}
    assert len(known) == 17
    assert all(known.values())
    jobs = {one.case for one in of_kinds if one.field == "known" and one.case.startswith("jobset") and not one.agrees}
    assert jobs == {"jobset-resume-full"}  # its recording holds no list of Pods
