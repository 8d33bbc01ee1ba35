"""Which labels a selector selects: the one rule for checks, changes and the scheduler.

Source: apimachinery `pkg/labels/selector.go` `Requirement.Matches`; component-helpers `scheduling/corev1/nodeaffinity`
for Gt and Lt, which only node selectors have.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.inventory.model import LabelSelector, Requirement


def as_integer(text: str | None) -> int | None:
    """A label's or taint's value as a whole number; None where it isn't one."""
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def requirement_matches(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether `labels` satisfy one requirement. NotIn and DoesNotExist hold where the key is missing."""
    value = labels.get(requirement.key)
    operator = requirement.operator
    if operator == "In":
        return value is not None and value in requirement.values
    if operator == "NotIn":
        return value is None or value not in requirement.values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if operator in ("Gt", "Lt"):
        number, bound = as_integer(value), as_integer(requirement.values[0] if requirement.values else None)
        if number is None or bound is None:
            return False
        return number > bound if operator == "Gt" else number < bound
    return False


def labels_match(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects `labels`: None selects nothing, an empty selector everything."""
    if selector is None:
        return False
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    return all(requirement_matches(requirement, labels) for requirement in selector.match_expressions)
