"""The sentences of every command, on a large cluster, on a crowded one and on broken input, and those of every error in the code: in one
process, as `make test-all` runs it. What counts as plain is `test_sentences`'."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.tree import ROOT, parsed, python_files
from tests.builders import objects
from tests.pages.visiting import said, visit
from tests.rules.test_sentences import (
    MOST_NUMBERS,
    MOST_WORDS,
    NUMBER,
    RIDDLES,
    helps,
    printed,
    too_long,
    twice_relative,
)
from tests.seen import each

QUESTIONS: Final[tuple[tuple[str, ...], ...]] = (
    ("overview",), ("overview", "--findings"), ("overview", "--plan"), ("capacity",), ("capacity", "--queues"), ("costs",), ("costs", "--idle"),
    ("memory",), ("restarts",), ("review",), ("doctor",), ("make-room",), ("survive",), ("drift",), ("seats",), ("savings",),
)  # fmt: skip
"""Commands that take a cluster and nothing else."""
LARGE: Final = tuple(words for words in QUESTIONS if words[-1] not in {"--plan", "make-room", "survive", "savings"})
"""Those of a large cluster: the others take seconds each, and say there what they say of the crowded one."""
BROKEN: Final = {
    "missing.json": None,
    "empty.json": "",
    "cut.json": '{"kind": "List", "items": [{"kind": "Pod", "meta',
    "list.json": "[1, 2, 3]",
    "prose.txt": "hello",
    "open.yaml": "a: 1\nb: [",
    "a-pod.json": '{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "alone"}, "spec": {"containers": 7}}',
}
PAGES: Final = sorted(path.stem for path in (ROOT / "pages").glob("[!_]*.py"))
_MANY: Final = 300
_SPEAKING: Final = {"wrong", "refused", "Finding", "Unknown", "UnknownObject", "UsageError", "BadParameter", "decisive", "Doubt", "_stuck", "_unknown"}  # fmt: skip
_SAID: Final = ("what", "fix", "why", "advice", "message")


def crowded() -> list[objects.Item]:
    """Every node's one GPU is held, and as many pods wait."""
    names = [f"n-{i}" for i in range(_MANY)]
    serving = objects.deployment("serve", names, objects.pod_spec(gpus=1))
    training = objects.deployment("train", [""] * _MANY, objects.pod_spec(gpus=1))
    nodes = [objects.node(name, gpus=1, cpu="8", memory="32Gi", pool="gpu") for name in names]
    return [*nodes, *serving, *training, objects.budget("serve", minAvailable=_MANY)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crowded cluster, and what is no input at all."""
    path = tmp_path_factory.mktemp("inputs")
    (path / "crowded.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": crowded()}))
    for name, content in BROKEN.items():
        if content is not None:
            (path / name).write_text(content)
    return path


def first_sentence(out: str) -> str:
    return re.split(r"(?<=[\w)%])[.:;](?= |\n|$)", out)[0]


def faults(out: str) -> Iterator[str]:
    """What isn't plain in an answer: its first sentence has at most 25 words, three numbers and one relative clause, no line is a riddle, and
    no sentence of it has two relative clauses."""
    first = first_sentence(out)
    if not first.strip():
        yield "it says nothing"
    if len(first.split()) > MOST_WORDS or twice_relative(first):
        yield f"long: {first}"
    if len(NUMBER.findall(first)) > MOST_NUMBERS:
        yield f"numbers: {first}"
    yield from (f"a riddle: {line}" for line in out.splitlines() if RIDDLES.search(line))
    yield from (f"two relative clauses: {one}" for line in out.splitlines() for one in twice_relative(line))


def test_the_check_sees_what_it_is_for() -> None:
    assert [one.split(":")[0] for one in faults("3 of 4 pods of 5 nodes in 6 zones. They mend\nthe pods that wait on nodes which go")] == [
        "numbers", "a riddle", "two relative clauses"
    ]  # fmt: skip
    assert list(faults("")) == ["it says nothing"]
    assert list(faults(" ".join(["word"] * 26))) != []
    assert list(faults("5 of 20 workloads would get stuck if changed now.")) == []


@pytest.mark.parametrize(("cluster", "questions"), [("openb", LARGE), ("crowded.json", QUESTIONS)])
def test_each_command_is_plain(
    cluster: str, questions: tuple[tuple[str, ...], ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    found = {" ".join(words): list(faults(printed(words[0], cluster, *words[1:], "-q"))) for words in each(questions)}
    assert {words: one for words, one in found.items() if one} == {}


@pytest.mark.parametrize("page", PAGES)
def test_each_page_is_plain(page: str) -> None:
    """Of the crowded cluster, as a user's own."""
    text = re.sub(r"<[^>]*>", " ", said(visit(page, objects.snapshot(crowded()))))
    assert len(text) > 1_000
    assert [line for line in text.splitlines() if RIDDLES.search(line)] == []
    assert [one for line in text.splitlines() for one in twice_relative(line)] == []


@pytest.mark.parametrize("name", BROKEN)
def test_broken_input_is_told_plainly(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for words in each(QUESTIONS):
        out = printed(words[0], name, *words[1:], "-q")
        assert [*faults(out), *(f"long: {one}" for line in out.splitlines() for one in too_long(line))] == [], words
        assert "Traceback" not in out, words


def test_every_help_is_plain_as_it_is_printed() -> None:
    for name in each(sorted({name for name, _ in helps()})):
        out = re.sub(r"\s+", " ", printed(name, "--help"))
        assert out.startswith("Usage: headroom"), name
        assert not RIDDLES.search(out), name


def spoken() -> Iterator[tuple[str, str]]:
    """(place, text) of what errors, findings and doubts of the code say; X for what is put in."""
    for path in python_files("planner", "pages"):
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name.endswith("Error") or name in _SPEAKING:
                for part in (*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in _SAID)):
                    if isinstance(part, ast.JoinedStr):
                        yield (
                            f"{path}:{node.lineno}",
                            "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in part.values),
                        )
                    elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield f"{path}:{node.lineno}", part.value


def test_errors_of_the_code_are_plain() -> None:
    every = [one for one in spoken() if " " in one[1]]
    assert len(every) > 700
    assert [one for one in every if too_long(one[1]) or twice_relative(one[1])] == []
