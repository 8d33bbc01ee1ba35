"""Sentences that people read: no riddle's word in any of them, at most one relative clause, and headlines that are short.

Sentences stand in tables beside modules and next to their value, so all of them are listed: tables, help, errors and texts of the code,
documents, and what commands print and pages show of the demo and of broken input.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Final

import click
import pytest

from planner.cli import COMMANDS, headroom, main
from tests.architecture.tree import ROOT, parsed, project_files, python_files
from tests.pages.visiting import visit

RIDDLES: Final = re.compile(
    r"\b(mend(s|ed|ing)?|whoever|somebody|nobody|himself|herself|rollable|hold and wait)\b", re.IGNORECASE
)
STABLE: Final = {
    "mend",
    "nobody",
    "nobody requests",
    "workload_rollable",
    "cost_nobody_asked_for",
}  # names in documents and metrics: they stay
_SAYING: Final = "so|such|say|says|said|tells|know|knows|known|see|shows|mean|means|check"
RELATIVE: Final = re.compile(
    rf"\b(?:which|who|whose|whom|{''.join(f'(?<!{word} )' for word in _SAYING.split('|'))}that)\b", re.IGNORECASE
)
NUMBER: Final = re.compile(r"(?<![\w.])\$?\d[\d,.]*%?")
MOST_WORDS: Final = 25
MOST_NUMBERS: Final = 3

TABLES: Final = [
    "inventory/finding_texts.json", "inventory/kubectl_apply.json", "rollout/glossary.json", "health/restarts/causes.json",
    "health/memory/risks.json", "spot/checklist.json", "spot/assumptions.json",
]  # fmt: skip


def sentences(text: str) -> list[str]:
    """The parts of a text that are read one by one: to a full stop, a semicolon or a colon; what is quoted counts as a word."""
    plain = re.sub(r"`[^`]*`|\"[^\"]*\"|\{[^{}]*\}", "X", re.sub(r"\s+", " ", text))
    return [part for part in re.split(r"(?<=[\w)%])[.!?](?= |$)|[;:] ", plain) if part.strip()]


def too_long(text: str) -> list[str]:
    return [one for one in sentences(text) if len(one.split()) > MOST_WORDS]


def twice_relative(text: str) -> list[str]:
    return [one for one in sentences(text) if len(RELATIVE.findall(one)) > 1]


def values(document: Any) -> Iterator[str]:
    """The texts of a table, without the names of its fields."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for one in document.values() if isinstance(document, dict) else document:
            yield from values(one)


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """(place, text) of every literal of the code that isn't a docstring, f-strings with X for what is put in."""
    found: list[tuple[str, str]] = []
    for path in python_files("planner", "pages"):
        tree = parsed(path)
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                whole = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
                found.append((f"{path}:{node.lineno}", whole))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (prose | parts):
                found.append((f"{path}:{node.lineno}", node.value))
    return tuple(found)


def helps() -> Iterator[tuple[str, str]]:
    for name in COMMANDS:
        command = headroom.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        yield name, command.help or ""
        yield from ((name, option.help or "") for option in command.params if isinstance(option, click.Option))


def printed(*words: str) -> str:
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out), suppress(SystemExit):
        main(list(words))
    return out.getvalue()


def test_the_checks_see_what_they_are_for() -> None:
    assert RIDDLES.search("Ask whoever runs it")
    assert twice_relative("the pods that wait on nodes which go")
    assert not twice_relative("It says that pods wait: those that have no node")
    assert too_long(" ".join(["word"] * 26))
    assert len(NUMBER.findall("1 of 27 GPUs cost $4,974 (13%) on gpu-t4")) == 4


def test_no_text_of_the_code_is_a_riddle() -> None:
    assert len(texts()) > 10_000
    assert [one for one in texts() if one[1] not in STABLE and RIDDLES.search(one[1])] == []


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_sentences_are_plain(name: str) -> None:
    table = json.loads((ROOT / "planner" / name).read_text(encoding="utf-8"))
    every = list(values(table))
    assert len(every) > 10
    assert [text for text in every if RIDDLES.search(text)] == []
    assert [text for text in every if twice_relative(text) or too_long(text)] == []


def test_no_table_beside_a_module_has_a_riddle() -> None:
    paths = [path for path in project_files() if path.parts[0] == "planner" and path.suffix == ".json"]
    assert len(paths) > len(TABLES)
    every = [(path, text) for path in paths for text in values(json.loads((ROOT / path).read_text(encoding="utf-8")))]
    assert [one for one in every if RIDDLES.search(one[1])] == []


def test_help_is_plain() -> None:
    every = list(helps())
    assert len(every) > 400
    assert [one for one in every if RIDDLES.search(one[1]) or twice_relative(one[1])] == []
    assert [(name, text) for name, text in every if too_long(text)] == []


def test_no_document_is_a_riddle() -> None:
    """But the name of a user of Linux, a workload's in an example, and a name in a document."""
    paths = [
        path for path in project_files() if path.suffix == ".md" and (path.parts[0] == "docs" or len(path.parts) == 1)
    ]
    lines = [
        f"{path}: {line}"
        for path in paths if path != Path("CHANGELOG-0.1.md")
        for line in (ROOT / path).read_text(encoding="utf-8").splitlines()
        if RIDDLES.search(re.sub(r"as user \*nobody\*|deployment/prod/nobody|\"mend\"|`[^`]*`|MOST_SENTENCES", "", line))
    ]  # fmt: skip
    assert len(paths) > 50
    assert lines == []


HEADLINES: Final[tuple[tuple[str, ...], ...]] = (
    ("overview", "demo"), ("rollout", "demo", "-w", "llm-serve"), ("rollout", "demo", "-w", "ml-worker"), ("capacity", "demo"),
    ("costs", "demo"), ("survive", "demo"), ("make-room", "demo"), ("memory", "demo"), ("restarts", "demo"), ("review", "demo"),
    ("doctor", "demo"), ("diff", "demo", "demo"), ("capacity", "demo", "--queues"), ("overview", "demo", "--findings"),
    ("fleet", "demo", "demo"),
)  # fmt: skip


@pytest.mark.parametrize("words", HEADLINES, ids=" ".join)
def test_a_headline_is_short(words: tuple[str, ...]) -> None:
    """The first sentence of an answer: at most 25 words, three numbers and one relative clause; nothing below it is a riddle."""
    out = printed(*words, "-q")
    first = re.split(r"(?<=[\w)%])[.:;](?= |\n|$)", out)[0]
    assert first
    assert len(first.split()) <= MOST_WORDS, first
    assert len(NUMBER.findall(first)) <= MOST_NUMBERS, first
    assert not twice_relative(first)
    assert [line for line in out.splitlines() if RIDDLES.search(line)] == []


@pytest.mark.parametrize(
    "words", [("overview", "missing.json"), ("overview", "broken.json"), ("rollout", "demo", "-w", "ml-wroker"), ("costs", "demo", "--by", "x")], ids=" ".join
)  # fmt: skip
def test_an_error_is_one_plain_sentence(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.json").write_text('{"kind": "List", "items": [{"kind": "Pod", "meta')
    monkeypatch.chdir(tmp_path)
    out = printed(*words, "-q")
    assert out
    assert not RIDDLES.search(out)
    assert not too_long(out)


@pytest.mark.parametrize("page", ["overview", "headroom", "costs", "inventory"])
def test_boxes_of_a_page_are_plain(page: str) -> None:
    app = visit(page)
    boxes = [
        f"{box.proto.title}. {box.value}" for kind in (app.error, app.warning, app.success, app.info) for box in kind
    ]
    texts_of = [*boxes, *(str(one.value) for kind in (app.title, app.markdown, app.caption) for one in kind)]
    assert texts_of
    assert [text for text in texts_of if RIDDLES.search(text)] == []
