"""CEL over objects of which a part is known: what an unknown field can't change is decided, and nothing else."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from planner.scheduling.cel_with_unknowns import condition
from planner.scheduling.partially_known_objects import ABSENT, UNKNOWN, ClosedFields, OpenList, Outcome
from tests.seen import each

OBJECT: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"namespace": "ml", "labels": ClosedFields({"app": "a", "hash": UNKNOWN}, frozenset({"made"})), "name": UNKNOWN},
    "spec": {"containers": OpenList([{"name": "main", "resources": {"limits": {"gpu": UNKNOWN}}}])},
}  # fmt: skip
NEW: dict[str, Any] = {"object": OBJECT, "oldObject": None, "request": {"operation": "CREATE", "userInfo": {}}}
LABELS = "object.metadata.labels"
YES, NO, FAILS, OPEN = Outcome.TRUE, Outcome.FALSE, Outcome.ERROR, Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("object.kind == 'Pod' && request.operation in ['CREATE']", YES),
        ("object.metadata.namespace != 'ml'", NO),
        ("oldObject == null", YES),
        ("oldObject != null && oldObject.spec == object.spec", NO),
        # what is known decides, on either side
        ("'system:nodes' in request.userInfo.groups && object.kind == 'Node'", NO),
        ("object.kind == 'Node' && 'system:nodes' in request.userInfo.groups", NO),
        ("object.kind == 'Pod' || request.userInfo.username == 'x'", YES),
        ("!('system:nodes' in request.userInfo.groups)", OPEN),
        ("request.userInfo.username == request.userInfo.username", OPEN),
        # fields
        (f"has({LABELS}.app)", YES), (f"has({LABELS}.team)", NO), (f"has({LABELS}.hash)", YES), (f"has({LABELS}.made)", OPEN),
        ("has(object.metadata.annotations)", OPEN), ("has(object.metadata.name)", YES), ("object.metadata.name == 'x'", OPEN),
        (f"{LABELS}['app'] == 'b'", NO), (f"{LABELS}['team'] == 'b'", FAILS), (f"{LABELS}['hash'] == 'b'", OPEN),
        (f"'team' in {LABELS}", NO), (f"'made' in {LABELS}", OPEN), (f"!('app' in {LABELS})", NO),
        (f"has({LABELS}.team) && {LABELS}['team'] == 'b'", NO),
        (f"has({LABELS}.team) ? {LABELS}.team == 'b' : {LABELS}.app.startsWith('a')", YES),
        ("has(object.metadata.made_up.deeper)", OPEN), (f"has({LABELS}.team.deeper)", FAILS),
        # lists, and objects by their keys
        ("object.spec.containers.exists(c, 'gpu' in c.resources.limits)", YES),
        ("object.spec.containers.exists(c, c.name == 'side')", OPEN),
        ("object.spec.containers.all(c, c.name == 'side')", NO),
        ("object.spec.containers.all(c, c.name == 'main')", OPEN),
        ("object.spec.containers.exists(c, has(c.resources.limits) && 'gpu' in c.resources.limits)", YES),
        ("size(object.spec.containers) == 1", OPEN), ("'x' in object.spec.containers", OPEN),
        (f"{LABELS}.exists(key, key == 'app')", YES), (f"{LABELS}.exists(key, key == 'team')", OPEN),
        ("['a', 'b'].exists(x, x == 'c')", NO), ("[].all(x, false)", YES),
        # what isn't known here
        ("object.metadata.?labels.app.orValue('') == 'b'", OPEN), ("authorizer.group('').resource('pods').check('get').allowed()", OPEN),
        ("has(made(object).field)", OPEN), ("object.spec.containers.map(c, c.name) == ['x']", OPEN), ("1 == 'a' && true", NO),
    ],
)  # fmt: skip
def test_what_is_known_decides(expression: str, outcome: Outcome) -> None:
    assert condition(expression, NEW) is outcome


def test_an_object_without_labels_fails_where_one_is_asked_for() -> None:
    bare = {"object": {"metadata": {"labels": ABSENT}}}
    assert condition(f"has({LABELS})", bare) is NO
    assert condition(f"has({LABELS}.app)", bare) is FAILS
    assert condition(f"has({LABELS}) && {LABELS}.app == 'a'", bare) is NO


def test_what_is_decided_holds_whatever_the_unknown_is() -> None:
    """Each expression over an object with unknown parts, beside all objects that it may be."""
    atoms = ["'a' in object.l", "object.l.a == 'x'", "has(object.l.b)", "object.n == 1", "object.l.exists(k, k == 'b')"]
    forms = ["{0} && {1}", "{0} || {1}", "!({0}) && {1}", "({0}) ? ({1}) : !({1})"]
    partly = {"object": {"l": ClosedFields({"a": UNKNOWN}, frozenset({"b"})), "n": UNKNOWN}}
    wholes = [
        {"object": ClosedFields({"l": ClosedFields({"a": a, **b}), "n": n})}
        for a, b, n in product("xy", ({}, {"b": "z"}), (1, 2))
    ]
    decided = 0
    for form, left, right in each(list(product(forms, atoms, atoms))):
        expression = form.format(left, right)
        outcome = condition(expression, partly)
        if outcome is not OPEN:
            decided += 1
            assert {condition(expression, whole) for whole in wholes} == {outcome}, expression
    assert decided > 5
