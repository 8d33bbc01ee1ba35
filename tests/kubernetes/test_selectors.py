"""Labels, nodes and taints: every operator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.kubernetes.object_records import (
    FrozenMap,
    LabelSelector,
    Node,
    NodeAffinity,
    NodeSelectorTerm,
    PodSpec,
    Requirement,
    Taint,
    Toleration,
)
from planner.kubernetes.selectors import (
    intolerable_preferences,
    is_empty,
    labels_match,
    named_nodes,
    node_affinity_matches,
    requirement_matches,
    term_matches,
    tolerates,
    tolerates_cordon,
    tolerates_taints,
)

LABELS = {"pool": "gpu", "size": "8", "tier": ""}
NO_SCHEDULE = Taint(key="gpu", value="t4", effect="NoSchedule")


@pytest.mark.parametrize(
    ("operator", "key", "values", "expected"),
    [
        ("In", "pool", ("gpu", "cpu"), True),
        ("In", "pool", ("cpu",), False),
        ("In", "absent", ("gpu",), False),
        ("NotIn", "pool", ("cpu",), True),
        ("NotIn", "pool", ("gpu",), False),
        ("NotIn", "absent", ("gpu",), True),
        ("Exists", "tier", (), True),
        ("Exists", "absent", (), False),
        ("DoesNotExist", "pool", (), False),
        ("DoesNotExist", "absent", (), True),
        ("Gt", "size", ("7",), True),
        ("Gt", "size", ("8",), False),
        ("Gt", "pool", ("7",), False),
        ("Gt", "absent", ("7",), False),
        ("Lt", "size", ("9",), True),
        ("Lt", "size", ("8",), False),
        ("Lt", "size", ("nine",), False),
        ("Near", "size", ("8",), False),
    ],
)
def test_operators(operator: str, key: str, values: tuple[str, ...], expected: bool) -> None:
    assert requirement_matches(Requirement(key=key, operator=operator, values=values), LABELS) is expected


@given(st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz")), st.sampled_from("abc"), st.sampled_from("xyz"))
def test_in_and_not_in_are_opposites(labels: dict[str, str], key: str, value: str) -> None:
    inside = requirement_matches(Requirement(key=key, operator="In", values=(value,)), labels)
    assert inside is not requirement_matches(Requirement(key=key, operator="NotIn", values=(value,)), labels)


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert not labels_match(None, LABELS)
    assert labels_match(LabelSelector(), LABELS)
    assert is_empty(None)
    assert is_empty(LabelSelector())
    both = LabelSelector(
        match_labels=FrozenMap({"pool": "gpu"}),
        match_expressions=(Requirement(key="size", operator="Gt", values=("9",)),),
    )
    assert not is_empty(both)
    assert not labels_match(both, LABELS)


def test_terms_are_alternatives_and_an_empty_term_matches_no_node() -> None:
    other = NodeSelectorTerm(match_expressions=(Requirement(key="pool", operator="In", values=("cpu",)),))
    by_name = NodeSelectorTerm(match_fields=(Requirement(key="metadata.name", operator="In", values=("n-1",)),))
    assert not term_matches(NodeSelectorTerm(), LABELS, "n-1")
    spec = PodSpec(node_affinity=NodeAffinity(required=(other, by_name)))
    assert node_affinity_matches(spec, LABELS, "n-1")
    assert not node_affinity_matches(spec, LABELS, "n-2")
    assert not node_affinity_matches(PodSpec(node_affinity=NodeAffinity(required=())), LABELS, "n-1")


def test_the_node_selector_holds_beside_the_affinity() -> None:
    by_name = NodeSelectorTerm(match_fields=(Requirement(key="metadata.name", operator="In", values=("n-1",)),))
    spec = PodSpec(node_selector=FrozenMap({"pool": "cpu"}), node_affinity=NodeAffinity(required=(by_name,)))
    assert not node_affinity_matches(spec, LABELS, "n-1")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(key="gpu", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="gpu", value="t4"), True),
        (Toleration(key="gpu", value="l4"), False),
        (Toleration(key="cpu", operator="Exists"), False),
    ],
)
def test_tolerations(toleration: Toleration, expected: bool) -> None:
    assert tolerates(toleration, NO_SCHEDULE) is expected


@pytest.mark.parametrize(("operator", "bound", "expected"), [("Lt", "9", True), ("Lt", "8", False), ("Gt", "7", True)])
def test_numeric_tolerations(operator: str, bound: str, expected: bool) -> None:
    taint = Taint(key="loss", value="8", effect="NoSchedule")
    assert tolerates(Toleration(key="loss", operator=operator, value=bound), taint) is expected


def test_a_preference_is_not_in_the_way() -> None:
    soft = Taint(key="spot", value="", effect="PreferNoSchedule")
    assert tolerates_taints((), (soft,))
    assert not tolerates_taints((), (soft, NO_SCHEDULE))
    assert intolerable_preferences((), (soft, NO_SCHEDULE)) == 1
    assert intolerable_preferences((Toleration(key="spot", operator="Exists"),), (soft,)) == 0
    assert intolerable_preferences((Toleration(key="spot", operator="Exists", effect="NoSchedule"),), (soft,)) == 1


def test_a_cordon_is_a_taint() -> None:
    cordoned = Node(name="n", is_cordoned=True)
    assert not tolerates_cordon(PodSpec(), cordoned)
    assert tolerates_cordon(PodSpec(tolerations=(Toleration(operator="Exists"),)), cordoned)


def test_nodes_named_by_every_term() -> None:
    def naming(*names: str) -> NodeSelectorTerm:
        return NodeSelectorTerm(match_fields=(Requirement(key="metadata.name", operator="In", values=names),))

    free = NodeSelectorTerm(match_expressions=(Requirement(key="pool", operator="Exists"),))
    assert named_nodes(PodSpec()) is None
    assert named_nodes(PodSpec(node_affinity=NodeAffinity(required=(naming("a"), naming("b", "c"))))) == frozenset(
        "abc"
    )
    assert named_nodes(PodSpec(node_affinity=NodeAffinity(required=(naming("a"), free)))) is None
