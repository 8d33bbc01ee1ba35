"""Kinds that make pods are named in tables; everybody else asks the rows: what `tests.house.kinds` sees, and what it lets be."""

from __future__ import annotations

import ast

import pytest

from tests.house.kinds import literals


@pytest.mark.parametrize(
    "code",
    [
        'workload.kind == "Deployment"',
        'workload.kind in ("StatefulSet", "DaemonSet")',
        'f"ReplicaSet/{namespace}/{name}"',
        'key.startswith("Job/")',
        '{"Deployment": 1}',
        'event.object_kind != "Pod"',
        'Owner(kind="Node", name=name)',
        'match kind:\n    case "StatefulSet":\n        pass',
        'f"Pod/{name}"',
    ],
)
def test_a_kind_named_in_code_is_found(code: str) -> None:
    assert list(literals(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ['"""Deployment/prod/api"""', '{"Pod": pod.key}', 'print("Jobs go on")', 'select("Node")']
)
def test_words_for_people_are_not(code: str) -> None:
    assert not list(literals(ast.parse(code)))
