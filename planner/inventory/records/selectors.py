"""Reads selectors, terms, tolerations and taints."""

from __future__ import annotations

from planner.inventory import api_types
from planner.inventory.records.read_context import Shared
from planner.kubernetes import object_records as model


def read_selector(shared: Shared, selector: api_types.LabelSelector | None) -> model.LabelSelector | None:
    """A label selector; None (which matches nothing) where the API lets it be absent."""
    if selector is None:
        return None
    return model.LabelSelector(
        match_labels=shared.labels(selector.match_labels),
        match_expressions=read_requirements(selector.match_expressions),
    )


def read_requirements(requirements: list[api_types.Requirement] | None) -> tuple[model.Requirement, ...]:
    """Requirements, of labels or fields."""
    return tuple(
        model.Requirement(key=requirement.key, operator=requirement.operator, values=tuple(requirement.values or ()))
        for requirement in requirements or ()
    )


def read_term(term: api_types.NodeSelectorTerm | None) -> model.NodeSelectorTerm:
    """A node selector term."""
    if term is None:
        return model.NodeSelectorTerm()
    return model.NodeSelectorTerm(
        match_expressions=read_requirements(term.match_expressions), match_fields=read_requirements(term.match_fields)
    )


def read_terms(selector: api_types.NodeSelector | None) -> tuple[model.NodeSelectorTerm, ...]:
    """The terms of a node selector."""
    return tuple(read_term(term) for term in selector.node_selector_terms or ()) if selector else ()


def read_toleration(toleration: api_types.Toleration) -> model.Toleration:
    """A toleration; an operator left out is Equal."""
    return model.Toleration(
        key=toleration.key or "",
        operator=toleration.operator or "Equal",
        value=toleration.value or "",
        effect=toleration.effect or "",
        toleration_seconds=toleration.toleration_seconds,
    )


def read_tolerations(tolerations: list[api_types.Toleration]) -> tuple[model.Toleration, ...]:
    """Tolerations, in their order."""
    return tuple(read_toleration(toleration) for toleration in tolerations)


def read_taints(taints: list[api_types.Taint]) -> tuple[model.Taint, ...]:
    """Taints, in their order."""
    return tuple(model.Taint(key=taint.key, value=taint.value or "", effect=taint.effect) for taint in taints)
