"""A lever is made in one place: steps and ways out in its module, and what it makes of a cluster nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from planner.remedies.lever_ranges import Lever
from planner.rollout.answers import RemedyKind
from tests.architecture.tree import parsed, python_files
from tests.seen import each

ROOM, LEVERS = Path("planner/remedies"), Path("planner/remedies/levers")
MADE = {"Step", "Remedy", "LeverPosition", "Lender", "Growing"}
"""Records of which a lever is made."""
OF_RECORDS = {"planner.rollout.answers", "planner.remedies.levers"}
MODULES = {"strategy", "nodes", "lending", "quota", "moves", "order", "template", "pods"}


def made(path: Path, tree: ast.Module) -> Iterator[str]:
    """Records of levers that a module makes: ``path:line Step``."""
    named = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(tuple(OF_RECORDS))
        for name in node.names
        if name.name in MADE
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in named:
            yield f"{path}:{node.lineno} {node.func.id}"


def clusters(path: Path, tree: ast.Module) -> Iterator[str]:
    """Where a module makes a cluster larger, a quota another or a workload smaller: ``path:line grown``."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in {"grown", "expecting"}
        ):
            if not ast.unparse(node.func.value).endswith(
                ("nodes", "knobs", "case")
            ):  # the lever's module, and its records
                yield f"{path}:{node.lineno} {ast.unparse(node.func)}"
        if isinstance(node, ast.Call) and {one.arg for one in node.keywords} & {"resource_quotas", "hard"}:
            yield f"{path}:{node.lineno} {ast.unparse(node.func)} of quotas"


def elsewhere() -> list[Path]:
    """Modules that know records of levers, and are no lever's."""
    paths = (path for path in python_files("planner") if LEVERS not in path.parents)
    return [path for path in paths if any(name in path.read_text(encoding="utf-8") for name in OF_RECORDS)]


def test_every_step_and_way_out_is_a_levers() -> None:
    for path in each(elsewhere()):
        if path == ROOM / "lever_ranges.py":  # the first position of each knob, which is no lever: as it is
            assert [line.split()[-1] for line in made(path, parsed(path))] == ["LeverPosition"]
        else:
            assert not list(made(path, parsed(path))), path


def test_what_a_lever_makes_of_a_cluster_it_makes_alone() -> None:
    for path in each(path for path in python_files(str(ROOM)) if LEVERS not in path.parents):
        assert not list(clusters(path, parsed(path))), path


def test_every_lever_is_a_module_and_every_way_out_is_one_of_theirs() -> None:
    assert {path.stem for path in python_files(str(LEVERS))} >= MODULES
    kinds = set()
    for path in each(python_files(str(LEVERS))):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "RemedyKind":
                kinds.add(node.attr)
    assert kinds == {kind.name for kind in RemedyKind}
    assert {*Lever} == {"strategy", "order", "lend", "nodes", "moves", "quota", "template", "pods"}


def test_a_step_that_is_made_elsewhere_is_seen() -> None:
    source = "from planner.rollout.answers import Step\n\nhere = Step(what='', commands=())\n"
    path = Path("planner/remedies/there.py")
    assert list(made(path, ast.parse(source))) == ["planner/remedies/there.py:3 Step"]
    assert list(clusters(path, ast.parse("cluster.grown(())\nreplace(quota, hard=one)"))) == [
        "planner/remedies/there.py:1 cluster.grown", "planner/remedies/there.py:2 replace of quotas",
    ]  # fmt: skip
