"""Drift joined with the scheduler: what giving one environment the suggested values would do there."""

from __future__ import annotations

from dataclasses import dataclass

from planner import plan
from planner.errors import HeadroomError
from planner.inventory.model import Snapshot
from planner.memory.drift_model import EnvironmentSuggestion
from planner.plan_restarts import patch_yaml
from planner.results import RolloutResult
from planner.scenario import Scenario, WorkloadChange


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
        result = plan.rollout(snapshot, Scenario(changes=(change,), with_remedies=False))
    except HeadroomError as error:
        return SuggestedRollout(suggestion=suggestion, patch_yaml=patch, rollout=None, note=str(error))
    return SuggestedRollout(suggestion=suggestion, patch_yaml=patch, rollout=result)
