"""Drift joined with the scheduler: what giving one environment the suggested values would do there."""

from __future__ import annotations

from dataclasses import dataclass

from planner.drift.model import EnvironmentSuggestion
from planner.kubernetes.records import Snapshot
from planner.questions.patched import put
from planner.rollout.answers import RolloutResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedRollout:
    """A suggestion as a patch, and the engine's answer to it; `note` says why there is none."""

    suggestion: EnvironmentSuggestion
    patch_yaml: str
    command: str
    rollout: RolloutResult | None
    note: str = ""


def adopt(snapshot: Snapshot, suggestion: EnvironmentSuggestion) -> SuggestedRollout:
    """What rolling `suggestion` out in its own cluster (`snapshot`) would do."""
    found = put(snapshot, suggestion.workload, suggestion.suggestion.patch)
    return SuggestedRollout(
        suggestion=suggestion,
        patch_yaml=found.patch_yaml,
        command=found.command,
        rollout=found.rollout,
        note=found.note,
    )
