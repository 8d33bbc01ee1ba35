"""Matches labels, nodes and taints: pure predicates over records.

Sources: apimachinery `pkg/labels/selector.go`; component-helpers `scheduling/corev1/nodeaffinity`;
component-helpers `scheduling/corev1/helpers.go` (`TolerationsTolerateTaint`). Gt and Lt are known to node selectors only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from planner.ground.errors import InputError
from planner.ground.well_known_names import TAINT_UNSCHEDULABLE
from planner.kubernetes.object_records import (
    LabelSelector,
    Node,
    NodeSelectorTerm,
    PodSpec,
    Requirement,
    Taint,
    Toleration,
)

_NO_SCHEDULE = ("NoSchedule", "NoExecute")


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
    return _compares(value, operator, requirement.values[0] if requirement.values else None)


def _compares(value: str | None, operator: str, other: str | None) -> bool:
    """Whether both are whole numbers of which the first is greater (``Gt``), or less (``Lt``); a NodePool of Karpenter's may say ``Gte`` and
    ``Lte``, too (karpenter `pkg/apis/v1/nodeclaim.go`)."""
    number, bound = as_integer(value), as_integer(other)
    if number is None or bound is None:
        return False
    if number == bound:
        return operator in ("Gte", "Lte")
    return operator in (("Gt", "Gte") if number > bound else ("Lt", "Lte"))


def labels_match(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects `labels`: None selects nothing, an empty selector everything."""
    if selector is None:
        return False
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    return all(requirement_matches(requirement, labels) for requirement in selector.match_expressions)


def is_empty(selector: LabelSelector | None) -> bool:
    """Whether a selector has no requirement at all (None included)."""
    return selector is None or not (selector.match_labels or selector.match_expressions)


def term_matches(term: NodeSelectorTerm, labels: Mapping[str, str], node_name: str) -> bool:
    """Whether a node satisfies one node selector term. An empty term matches no node."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": node_name}
    return all(requirement_matches(r, labels) for r in term.match_expressions) and all(
        requirement_matches(r, fields) for r in term.match_fields
    )


def terms_match(terms: Iterable[NodeSelectorTerm], labels: Mapping[str, str], node_name: str) -> bool:
    """Whether a node satisfies any of the terms."""
    return any(term_matches(term, labels, node_name) for term in terms)


def node_affinity_matches(spec: PodSpec, labels: Mapping[str, str], node_name: str) -> bool:
    """``nodeSelector`` and required node affinity together (`GetRequiredNodeAffinity`)."""
    for key, value in spec.node_selector.items():
        if labels.get(key) != value:
            return False
    required = spec.node_affinity.required
    return required is None or terms_match(required, labels, node_name)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration tolerates one taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if toleration.operator in ("Lt", "Gt"):
        return _compares(taint.value, toleration.operator, toleration.value)
    return bool(toleration.key) and toleration.value == taint.value


def tolerates_taints(tolerations: Iterable[Toleration], taints: Iterable[Taint]) -> bool:
    """Whether every NoSchedule and NoExecute taint is tolerated."""
    toleration_list = tuple(tolerations)
    return all(any(tolerates(t, taint) for t in toleration_list) for taint in taints if taint.effect in _NO_SCHEDULE)


def intolerable_preferences(tolerations: Iterable[Toleration], taints: Iterable[Taint]) -> int:
    """How many PreferNoSchedule taints are not tolerated (TaintToleration's raw score)."""
    toleration_list = tuple(t for t in tolerations if t.effect in ("", "PreferNoSchedule"))
    return sum(
        1
        for taint in taints
        if taint.effect == "PreferNoSchedule" and not any(tolerates(t, taint) for t in toleration_list)
    )


def tolerates_cordon(spec: PodSpec, node: Node) -> bool:
    """Whether the pod may go to the node as far as ``spec.unschedulable`` is concerned."""
    cordon = Taint(key=TAINT_UNSCHEDULABLE, value="", effect="NoSchedule")
    return not node.is_cordoned or any(tolerates(t, cordon) for t in spec.tolerations)


def named_nodes(spec: PodSpec) -> frozenset[str] | None:
    """The only nodes a pod's affinity allows by ``metadata.name``, or None when it names none.

    Source: plugins/nodeaffinity `PreFilter`: every term must name nodes with In, terms are ORed.
    """
    if not spec.node_affinity.required:
        return None
    names: set[str] = set()
    for term in spec.node_affinity.required:
        own: set[str] | None = None
        for field in term.match_fields:
            if field.key == "metadata.name" and field.operator == "In":
                own = set(field.values) if own is None else own & set(field.values)
        if own is None:
            return None
        names |= own
    return frozenset(names)


_SET: Final = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")

_EQUAL: Final = re.compile(r"([^\s=!,()]+)\s*(==|!=|=)\s*([^\s=!,()]*)")

_THERE: Final = re.compile(r"(!?)\s*([^\s=!,()]+)")


def read_selector(text: str) -> LabelSelector:
    """A label selector as kubectl's ``-l`` takes it: ``app=api,tier!=test,env in (a,b),!old``.

    Source: apimachinery `pkg/labels/selector.go`, the grammar above ``Parse``.

    Raises
    ------
    InputError
        Where it isn't one.
    """
    requirements = []
    for part in re.split(r",(?![^()]*\))", text) if text.strip() else ():
        clause = part.strip()
        if match := _SET.fullmatch(clause):
            values = tuple(value.strip() for value in match[3].split(","))
            requirements.append(
                Requirement(key=match[1], operator="In" if match[2] == "in" else "NotIn", values=values)
            )
        elif match := _EQUAL.fullmatch(clause):
            operator = "NotIn" if match[2] == "!=" else "In"
            requirements.append(Requirement(key=match[1], operator=operator, values=(match[3],)))
        elif match := _THERE.fullmatch(clause):
            requirements.append(Requirement(key=match[2], operator="DoesNotExist" if match[1] else "Exists"))
        else:
            fix = "Write it as for kubectl -l: app=api,tier!=test,env in (a,b),!old"
            raise InputError(f'"{clause[:60]}" is no label selector', where="label", fix=fix)
    return LabelSelector(match_expressions=tuple(requirements))
