"""An outside name is spelt once: in planner/ground/well_known_names.py, nowhere else as a literal."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from planner.ground import well_known_names
from tests.seen import each

PLANNER = Path(__file__).parents[2] / "planner"
# a label key, an annotation key, an extended resource: a domain, a slash, a name
OUTSIDE = re.compile(r"(?:[a-z0-9-]+\.)+[a-z0-9]+/[A-Za-z0-9][A-Za-z0-9._-]*-?")
# tables of outside names, a row each: that is where those rows stand
TABLES = {
    "kubernetes/accelerators.json",
    "kubernetes/accelerators.py",
    "kubernetes/known_admission_webhooks.json",
    "kubernetes/clouds.json",
    "kubernetes/workload_kinds.json",
    "remedies/cluster_from_manifests.json",
}


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that aren't docstrings, or of a table beside one, with their lines."""
    if path.suffix != ".py":
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield from ((number, text) for text in re.split(r'["\t]', line))
        return
    tree = ast.parse(path.read_text())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PLANNER.rglob("*.*")):
        name = path.relative_to(PLANNER).as_posix()
        if path.suffix in (".py", ".json", ".tsv", ".txt") and name != "ground/well_known_names.py":
            yield name, path


def spelt() -> set[str]:
    """The names of `vocabulary` that no everyday word is: those with a sign in them."""
    texts = {value for name, value in vars(well_known_names).items() if name.isupper() and isinstance(value, str)}
    return {text for text in texts if re.search(r"[/.-]", text)}


def test_no_name_of_the_vocabulary_is_spelt_again() -> None:
    known = spelt()
    again = [
        f"planner/{name}:{line}: {text!r} is in planner/ground/well_known_names.py"
        for name, path in each(modules()) if name not in TABLES
        for line, text in literals(path) if text in known
    ]  # fmt: skip
    assert not again, "\n".join(again)


def test_an_outside_name_that_two_modules_need_is_in_the_vocabulary() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for name, path in each(modules()):
        for _, text in () if name in TABLES else literals(path):
            if OUTSIDE.fullmatch(text):
                places[text].add(name)
    twice = {text: sorted(names) for text, names in places.items() if len(names) > 1}
    assert not twice


def test_the_checks_see_a_copy(tmp_path: Path) -> None:
    module = tmp_path / "copy.py"
    module.write_text(
        '"""A docstring may name topology.kubernetes.io/zone."""\n\nZONE = "topology.kubernetes.io/zone"\n'
    )
    table = tmp_path / "copy.json"
    table.write_text('{\n  "zone": ["topology.kubernetes.io/zone", "in topology.kubernetes.io/zone"]\n}\n')
    for path in (module, table):
        assert [text for _, text in literals(path) if text in spelt()] == ["topology.kubernetes.io/zone"]
