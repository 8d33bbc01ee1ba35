"""A page that was left or changed stops its work: what it asked for is given up, and isn't kept."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.prepared_change import Scenario
from planner.sources import demo
from planner.ui import shared_answers

SCENARIO = Scenario(changes=(WorkloadChange(workload="Deployment/prod/llm-serve", replicas=1_000),), runs=1)


class Ended(BaseException):
    """What Streamlit raises in a run that has to end."""


def test_a_page_that_was_left_stops_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            raise Ended

    monkeypatch.setattr(
        shared_answers, "get_script_run_ctx", lambda *, suppress_warning: SimpleNamespace(yield_check=look)
    )
    snapshot: Snapshot = demo.read()
    with pytest.raises(Ended):
        shared_answers.answer(rollout, snapshot, SCENARIO)
    assert looks == 2
    assert shared_answers.answer(rollout, snapshot, SCENARIO).verdict  # nothing half done was kept


def test_an_answer_that_is_kept_is_as_it_would_come_from_a_process() -> None:
    """Where pods are is worked out when it is read, from the engine's run, which holds a snapshot that may be old by then."""
    assert type(shared_answers.answer(rollout, demo.read(), SCENARIO).placement) is tuple


def test_without_a_page_everything_is_wanted() -> None:
    assert shared_answers.is_wanted()
