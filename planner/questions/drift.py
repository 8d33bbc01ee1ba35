"""Drift joined with the scheduler: what giving one environment the suggested values would do there."""

from __future__ import annotations

from dataclasses import dataclass

from planner.drift.model import EnvironmentSuggestion
from planner.errors import HeadroomError
from planner.inventory.change import WorkloadChange
from planner.kubernetes.records import Snapshot
from planner.questions import rollout as rollout_question
from planner.questions.prepared import Scenario
from planner.questions.restarts import patch_yaml
from planner.rollout.answers import RolloutResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedRollout:
    """A suggestion as a patch, and the engine's answer to it; `note` says why there is none."""

    suggestion: EnvironmentSuggestion
    patch_yaml: str
    rollout: RolloutResult | None
    note: str = ""


def adopt(snapshot: Snapshot, suggestion: EnvironmentSuggestion) -> SuggestedRollout:
    """What rolling `suggestion` out in its own cluster (`snapshot`) would do."""
    patch = patch_yaml(suggestion.suggestion)
    change = WorkloadChange(workload=suggestion.workload, patch=patch)
    try:
        result = rollout_question.rollout(snapshot, Scenario(changes=(change,), with_remedies=False))
    except HeadroomError as error:
        return SuggestedRollout(suggestion=suggestion, patch_yaml=patch, rollout=None, note=str(error))
    return SuggestedRollout(suggestion=suggestion, patch_yaml=patch, rollout=result)
