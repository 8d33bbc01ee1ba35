"""YAML as Kubernetes reads it, within bounds."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import InputError
from planner.inventory.reading_limits import LIMITS
from planner.inventory.yaml_text import DEEPEST, yaml_documents
from tests.seen import premise


def read(text: str) -> Any:
    [value] = yaml_documents(text, "x.yaml")
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", "a"),
        ("1", 1),
        ("-7", -7),
        ("+7", 7),
        ("0", 0),
        ("010", 8),
        ("0o10", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_000", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.", 1.0),
        ("08", 8.0),
        ("true", True),
        ("Yes", True),
        ("off", False),
        ("null", None),
        ("~", None),
        ("", None),
        ('"1"', "1"),
        ("'true'", "true"),
        ("!!str 1", "1"),
        ("!!int 1", 1),
        ("!!float 1", 1),
        ("! 1", "1"),
        ("512Mi", "512Mi"),
        ("1.2.3", "1.2.3"),
        ("25%", "25%"),
        ("2026-11-20T09:00:00Z", "2026-11-20T09:00:00Z"),
        ("12:30", "12:30"),
        ("-", [None]),
        ("=", "="),
        (".nan", ".nan"),
        ("[1, {a: b}]", [1, {"a": "b"}]),
        ("1: a\ntrue: b", {"1": "a", "true": "b"}),
        ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
        ("1" * 100, "1" * 100),
    ],
)
def test_values(text: str, value: Any) -> None:
    got = read(f"v: {text}")["v"] if "\n" not in text and ":" not in text and text != "-" else read(text)
    assert got == value
    assert type(got) is type(value)


def test_aliases_and_merges() -> None:
    text = "base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: {<<: [*b, {x: 9, z: 4}]}\nthree: *b\n"
    assert read(text) == {
        "base": {"x": 1, "y": 2},
        "one": {"x": 1, "y": 3},
        "two": {"x": 1, "y": 2, "z": 4},
        "three": {"x": 1, "y": 2},
    }


def test_several_documents() -> None:
    assert list(yaml_documents("a: 1\n---\n---\nb: 2\n...\n", "x")) == [{"a": 1}, None, {"b": 2}]
    assert list(yaml_documents("", "x")) == []
    assert list(yaml_documents("# only a comment\n", "x")) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [", r"isn't YAML.*line 2"),
        ("a: b: c", r"mapping values are not allowed.*line 1"),
        ("\ta: b", r"isn't YAML"),
        ("a: *x", r"stands for nothing"),
        ("a: &a [*a]", r"stands for nothing, or for itself"),
        ("!!python/object:os.system x", r"has no meaning in Kubernetes"),
        ("!!binary aGVsbG8=", r"has no meaning"),
        ("!!int x", r"isn't what its tag says"),
        ("? [a]\n: b", r"key isn't a text"),
        ("a: {<<: 3}", r'"<<" must stand before a mapping'),
        ("a: \x00", r"isn't YAML"),
    ],
)
def test_what_is_refused(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what) as refused:
        list(yaml_documents(text, "x.yaml"))
    assert refused.value.where == "x.yaml"
    assert refused.value.fix


def test_of_a_key_given_twice_the_last_counts_and_it_is_told() -> None:
    repeated: list[str] = []
    [value] = yaml_documents("a: 1\nb: {c: 1, c: 2}\na: 3\n", "x", repeated)
    assert value == {"a": 3, "b": {"c": 2}}
    assert repeated == ['"c" (line 2)', '"a" (line 3)']


def test_a_long_text_repeated_by_aliases_is_bounded_by_its_letters() -> None:
    lines = [f"a: &a {'x' * 100_000}", "items:", *["- *a"] * 1000]
    with pytest.raises(InputError, match="aliases unfold"):
        read("\n".join(lines))


def test_nesting_is_bounded() -> None:
    assert read("[" * DEEPEST + "]" * DEEPEST)
    for text in ("[" * 100_000, "- " * 100_000, "{a: " * 100_000):
        with pytest.raises(InputError, match="nested more than"):
            read(text)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ("exceeded maximum nesting depth", "nested more than 100 levels deep"),
        ("found a tab", "it isn't YAML: found a tab"),
    ],
)
def test_libyamls_own_bound_of_nesting_is_said_as_ours(
    problem: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of PyYAML 6.0.4 on."""

    def parse(*_: object, **__: object) -> object:
        raise yaml.scanner.ScannerError(problem=problem)

    monkeypatch.setattr(yaml, "parse", parse)
    with pytest.raises(InputError, match=words):
        read("a: 1")


def test_what_aliases_unfold_to_is_bounded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    with pytest.raises(InputError, match=f"unfold to more than {LIMITS.unfolded_values:,}"):
        read("\n".join(lines))


# libyaml reads NEL and the Unicode line separators as line breaks, wherever they stand; digits, because PyYAML leaves a
# text such as 0E0 unquoted, which Kubernetes (and we) read as a number
TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs", "Nd"], exclude_characters="\u2028\u2029"), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_reads_back_what_a_yaml_writer_wrote(value: Any) -> None:
    assert read(yaml.safe_dump(value, allow_unicode=True)) == value


@given(st.text(alphabet="ab:-[]{}&*!'\"|>#%?,\n \t0.", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    documents = None
    with suppress(InputError):
        documents = list(yaml_documents(text, "x"))
    premise(documents)
