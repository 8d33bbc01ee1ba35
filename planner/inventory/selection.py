"""Which labels a selector selects, for checks and changes (the scheduler's own, vectorised, is in `scheduling`).

Source: apimachinery `pkg/labels/selector.go` `Requirement.Matches`.
"""

from __future__ import annotations

from planner.inventory.model import Labels, LabelSelector, Requirement


def selects(selector: LabelSelector | None, labels: Labels) -> bool:
    """Whether `selector` selects an object with `labels`; None selects nothing, an empty selector everything."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        _meets(requirement, labels) for requirement in selector.match_expressions
    )


def _meets(requirement: Requirement, labels: Labels) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False
