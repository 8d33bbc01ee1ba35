"""Kinds that make pods are named in tables; everybody else asks the rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.kubernetes import kinds
from tests.architecture.tree import parsed, python_files

TABLES = {
    Path("planner/kubernetes/kinds.py"),
    Path("planner/kubernetes/pod_templates.py"),  # by API group: where each kind has its pod templates
    Path("planner/inventory/shapes.py"),  # objects that don't say their kind: what each looks like
}
FILES = [path for path in python_files("planner", "pages", "app.py") if path not in TABLES]
# A person's words too ("Pod", a column), so only where something is decided by them.
WORDS = {kinds.POD.name, kinds.NODE.name, kinds.ROLLOUT.name}
NAMES = ({kind.name for kind in (*kinds.WORKLOADS, *kinds.PARTS)} | {"CronJob", "ReplicationController"}) - WORDS


def literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """The texts that name a kind, or begin a key with one."""
    decided = {id(text) for place in ast.walk(tree) if _decides(place) for text in ast.walk(place)}
    told = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in told:
            continue
        name, slash, _ = node.value.partition("/")
        if (name in NAMES and (slash or name == node.value)) or (name in WORDS and (slash or id(node) in decided)):
            yield node


def _decides(place: ast.AST) -> bool:
    return isinstance(place, ast.Compare | ast.MatchValue) or (isinstance(place, ast.keyword) and place.arg == "kind")


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_kind_is_named_outside_the_table(path: Path) -> None:
    found = [f"{path}:{node.lineno} {node.value!r}" for node in literals(parsed(path))]
    assert not found, f"ask the row of planner/kubernetes/kinds.py what the kind does: {found}"


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
