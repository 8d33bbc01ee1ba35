"""Every row of ``findings.json`` is told by somebody, who gives what its sentences name."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter

import pytest

from planner.inventory import account, findings, manifest
from planner.inventory.change import NOT_READ
from planner.inventory.parse import REFUSAL

_BY_NAME = {"NOT_READ": NOT_READ, "REFUSAL": REFUSAL, "account.UNCHECKED": account.UNCHECKED}
_TOLD_BY_VARIABLE = {
    "gpu-node-cordoned", "gpu-node-not-ready", "helm-hook", "helm-hook:without pods", "manifest-new-namesake",
    "duplicate-object", "duplicate-object:later", "duplicate-uid", "file-empty", "document-unreadable:file", "document-unreadable:in YAML", "input-cut-off:in YAML", account.EXPIRES, f"{account.EXPIRES}:own",
}  # fmt: skip


def _calls() -> list[tuple[str, set[str]]]:
    """(row, names that are given) of each call that names its row."""
    found = []
    for room in ("inventory", "sources"):
        for path in Path("planner", room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "finding":
                    row = (
                        node.args[0].value
                        if isinstance(node.args[0], ast.Constant)
                        else _BY_NAME.get(ast.unparse(node.args[0]))
                    )
                    if row is not None:
                        found.append((str(row), {one.arg or "*" for one in node.keywords} - {"severity"}))
    return found


@pytest.mark.parametrize(("row", "given"), _calls())
def test_who_tells_gives_what_the_sentences_name(row: str, given: set[str]) -> None:
    known = findings._ROWS[row]
    named = {name for text in (known.what, known.mend) for _, name, _, _ in Formatter().parse(text) if name}
    assert given == named


def test_every_row_is_told() -> None:
    assert {row for row, _ in _calls()} | _TOLD_BY_VARIABLE == set(findings._ROWS)


def test_why_an_object_is_not_known_is_told_with_what_its_sentence_names() -> None:
    told = {}
    for node in ast.walk(ast.parse(Path(manifest.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_unknown":
            assert isinstance(node.args[0], ast.Constant)
            told[node.args[0].value] = {one.arg for one in node.keywords} - {"gpus", "may_help"} | {"key"}
    named = {
        row: {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}
        for row, texts in manifest._WHY.items()
    }
    assert told == {row: names | {"key"} for row, names in named.items()}
