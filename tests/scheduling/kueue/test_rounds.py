"""What is said of workloads that were put back as often as it is played, and not tried since."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planner.scheduling.kueue import admission_cycles
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome


def test_who_waits_after_the_last_round_isnt_known(monkeypatch: pytest.MonkeyPatch) -> None:
    one = SimpleNamespace(key="ml/a", queue="q", priority=0, queued_at=0.0, uid="1")
    told: list[tuple[Any, AdmissionOutcome]] = []
    made: Any = SimpleNamespace(
        found={"ml/a": SimpleNamespace(outcome=AdmissionOutcome.QUOTA)}, aside=[], shapes={}, waiting={},
        told=lambda which, outcome, why: told.append((which, outcome)),
    )  # fmt: skip
    rounds = []

    def sets_it_aside_after_somebody_went(_: Any) -> bool:
        rounds.append(made.waiting.pop("q", None))
        made.aside = [one]
        return True

    monkeypatch.setattr(admission_cycles, "_until_still", sets_it_aside_after_somebody_went)
    admission_cycles._cycles(made)
    assert len(rounds) == admission_cycles.ROUNDS
    assert told == [(one, AdmissionOutcome.UNKNOWN)]
