"""Every row of ``finding_texts.json`` is told by somebody, who gives what its sentences name."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter

import pytest

from planner.inventory import finding_texts, input_report, kubectl_apply
from planner.inventory.change import NOT_READ
from planner.inventory.indirect_pod_effects import LATER
from planner.inventory.snapshot_parser import REFUSAL

_BY_NAME = {
    "NOT_READ": NOT_READ,
    "REFUSAL": REFUSAL,
    "input_report.UNCHECKED": input_report.UNCHECKED,
    "input_report.LEFT_OUT": input_report.LEFT_OUT,
}
_TOLD_BY_VARIABLE = {
    "gpu-node-cordoned", "gpu-node-not-ready", "helm-hook", "helm-hook:without pods", "manifest-new-namesake",
    "duplicate-object", "duplicate-object:later", "duplicate-uid", "file-empty", "document-unreadable:file", "document-unreadable:in YAML", "input-cut-off:in YAML", input_report.EXPIRES, f"{input_report.EXPIRES}:own",
    finding_texts.DAEMON_NODES, finding_texts.GROWS_TO,
}  # fmt: skip


def _calls() -> list[tuple[str, set[str]]]:
    """(row, names that are given) of each call that names its row."""
    found = []
    for room in ("inventory", "sources"):
        for path in Path("planner", room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "finding":
                    row = _row(node.args[0])
                    if row is not None:
                        found.append((row, {one.arg or "*" for one in node.keywords} - {"severity"}))
    return found


def _row(named: ast.expr) -> str | None:
    """Written out, by one of the names above, or as a kind of what acts later; None where a variable says it."""
    if isinstance(named, ast.Constant):
        return str(named.value)
    if isinstance(named, ast.JoinedStr) and ast.unparse(named).startswith("f'{LATER}:"):
        return LATER + "".join(str(one.value) for one in named.values[1:] if isinstance(one, ast.Constant))
    return _BY_NAME.get(ast.unparse(named))


@pytest.mark.parametrize(("row", "given"), _calls())
def test_who_tells_gives_what_the_sentences_name(row: str, given: set[str]) -> None:
    known = finding_texts._ROWS[row]
    named = {name for text in (known.what, known.fix) for _, name, _, _ in Formatter().parse(text) if name}
    assert given == named


def test_every_row_is_told() -> None:
    assert {row for row, _ in _calls()} | _TOLD_BY_VARIABLE == set(finding_texts._ROWS)


_WHY_BY_VARIABLE = {"defines", "lets begin", "not in the table"}  # of a table, or what stands for none


def test_why_an_object_is_not_known_is_told_with_what_its_sentence_names() -> None:
    told: dict[object, set[object]] = {}
    for module in ("kubectl_apply", "indirect_pod_effects"):
        for node in ast.walk(ast.parse(Path("planner/inventory", f"{module}.py").read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            given = {one.arg: one.value for one in node.keywords}
            if node.func.id == "_unknown" and isinstance(node.args[0], ast.Constant):
                told[node.args[0].value] = {*given} - {"gpus", "may_help"} | {"key"}
            row, names = given.get("row"), given.get("given")
            if node.func.id == "Unsure" and isinstance(row, ast.Constant) and isinstance(names, ast.Dict):
                told[row.value] = {one.value for one in names.keys if isinstance(one, ast.Constant)} | {"key"}
    named = {
        row: {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}
        for row, texts in kubectl_apply._WHY.items()
    }
    assert told == {row: names | {"key"} for row, names in named.items() if row not in _WHY_BY_VARIABLE}
