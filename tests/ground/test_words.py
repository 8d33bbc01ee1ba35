"""One spelling of durations, bytes, money, amounts, plurals and moments."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground import words
from tests.architecture.tree import ROOT, parsed, python_files
from tests.seen import each

SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"), (0.4, "0 s"), (45.4, "45 s"), (59.6, "1 min"), (250, "4 min 10 s"), (599.7, "10 min"), (887, "15 min"),
        (3_600, "1 h"), (5_000, "1 h 23 min"), (7_500, "2 h 5 min"), (86_399, "24 h"), (90_061, "25 h 1 min"), (176_000, "2 d 1 h"),
        (863_999, "10 d"), (1_700_000, "20 d"),
    ],
)  # fmt: skip
def test_a_duration_has_two_units_at_most(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said
    assert words.about(seconds) == f"~ {said}"


@given(st.floats(0, 4e8))
def test_a_duration_is_off_by_half_of_its_smallest_unit(seconds: float) -> None:
    said = words.duration(seconds)
    read = sum(int(number) * SECONDS[unit] for number, unit in re.findall(r"(\d+) (\w+)", said))
    assert abs(read - seconds) <= max(0.5, Fraction(1, 18) * seconds)
    assert len(said.split()) <= 4


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KiB"), (1010 * 2**20, "1,010 MiB"), (2**34, "16 GiB"),
        (500 * 2**30, "500 GiB"), (2**60, "1,024 PiB"), (-(2**20), "-1 MiB"),
    ],
)  # fmt: skip
def test_bytes_have_three_digits_or_the_whole_number(value: float, said: str) -> None:
    assert words.measured_bytes(value) == said


@pytest.mark.parametrize(
    ("amount", "said"),
    [(1234.4, "$1,234"), (12.3, "$12.30"), (-5, "−$5.00"), (99.5, "$100"), (-0.001, "$0.00"), (0, "$0")],
)
def test_money_is_written_with_as_many_digits_as_it_bears(amount: float, said: str) -> None:
    assert words.usd(amount) == said


@pytest.mark.parametrize(
    ("amount", "resource", "said"),
    [
        (1500, "cpu", "1500m"), (12_345, "cpu", "12.3"), (2**30, "memory", "1Gi"), (10_307_921_510, "memory", "9.6Gi"),
        (1_234_567, "nvidia.com/gpu", "1,234,567"), (2_640, "pods", "2,640"), (1_000_000, "cpu", "1,000"), (-2000, "cpu", "−2"), (-10_307_921_510, "memory", "−9.6Gi"),
    ],
)  # fmt: skip
def test_an_amount_in_a_sentence_is_short(amount: int, resource: str, said: str) -> None:
    assert words.roughly(amount, resource) == said


def test_a_kind_has_its_article_as_it_is_said() -> None:
    names = ("Deployment", "Ingress", "InferenceService", "HTTPRoute", "MPIJob", "MutatingWebhookConfiguration", "User")
    said = [words.with_article(name).split()[0] for name in names]
    assert said == ["a", "an", "an", "an", "an", "a", "a"]


def test_count_knows_one_from_many() -> None:
    assert (words.count(1, "node"), words.count(1523, "node")) == ("1 node", "1,523 nodes")
    assert words.count(2, "class", "classes") == "2 classes"
    assert [words.plural(number, "has", "have") for number in (0, 1, 2)] == ["have", "has", "have"]
    assert [words.spelled(number) for number in (0, 6, 10, 1234)] == ["no", "six", "ten", "1,234"]


def test_a_list_says_how_many_it_leaves_out() -> None:
    names = ["a", "b", "c", "d", "e"]
    assert [words.listing(names[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert words.listing(names) == "a, b, c and 2 more"
    assert words.listing(names, None) == "a, b, c, d and e"


@pytest.mark.parametrize(
    "text", ["![x](http://e.example)", "**b**", ":red[x]", "$x$", "<img>", "a_b", "`c`", "|", "# h"]
)
def test_literal_leaves_no_markdown(text: str) -> None:
    said = words.literal(text)
    assert said.replace("\\", "").replace("\u2060", "") == text
    assert "http" not in said.replace("\u2060http", ""), "no address becomes a link"
    special = [found.start() for found in re.finditer(r"[`*_\[\]<>#$~|]|:(?=[a-z/])", said)]
    assert all(said[place - 1] == "\\" for place in special)


@pytest.mark.parametrize("text", ["stuck: 1 of 2, at 09:30", "no GPU is free (8 of 8 are held)!"])
def test_what_means_nothing_in_markdown_stays_as_it_is(text: str) -> None:
    assert words.literal(text) == text


def test_a_time_that_is_not_known_is_said() -> None:
    assert words.moment(0) == "at a time the input doesn't tell"
    assert words.moment(1_784_194_200) == "2026-07-16 09:30 UTC"


# ── words are shown, not asked ───────────────────────────────────────────────────────────────────────────────────────
SAID = words.Text("stuck: the new pod waits")


DECISIONS: dict[str, Callable[[Any], object]] = {
    "in": lambda text: "stuck" in text,
    "equal": lambda text: text == "stuck: the new pod waits",
    "unequal": lambda text: text != "",
    "equal from the left": lambda text: text == "",
    "startswith": lambda text: text.startswith("stuck"),
    "endswith": lambda text: text.endswith("waits"),
    "split": lambda text: text.split(":"),
    "partition": lambda text: text.partition(":"),
    "removesuffix": lambda text: text.removesuffix("."),
    "lower": lambda text: text.lower(),
    "index": lambda text: text[0],
    "list": list,
    "len": len,
    "less": lambda text: text < "t",
    "plus": lambda text: text + ".",
    "match": lambda text: re.match("stuck", text),
    "key": lambda text: {str(SAID): 1}[text],
}


@pytest.mark.parametrize("name", DECISIONS)
def test_no_decision_is_read_out_of_words(name: str) -> None:
    with pytest.raises((TypeError, AttributeError)):
        DECISIONS[name](SAID)


def test_words_are_shown_joined_kept_and_compared_with_each_other() -> None:
    assert str(SAID) == f"{SAID}" == "stuck: the new pod waits"
    assert f"{words.Text('a'):>3}|" == "  a|"
    assert ", ".join(map(str, [words.Text("a"), words.Text("b")])) == "a, b"
    assert (words.Text(SAID) == SAID, words.Text("x") == SAID, hash(SAID) == hash(words.Text(str(SAID)))) == (
        True,
        False,
        True,
    )
    assert (bool(SAID), bool(words.NO_WORDS)) == (True, False)
    assert all(pickle.loads(pickle.dumps(SAID, protocol)) == SAID for protocol in range(pickle.HIGHEST_PROTOCOL + 1))
    assert copy.deepcopy(SAID) == SAID
    assert msgspec.to_builtins({"sentence": SAID}, enc_hook=str) == {"sentence": "stuck: the new pod waits"}
    assert words.literal(words.Text("a_b")) == r"a\_b"
    assert words.sentence(SAID) == "Stuck: the new pod waits."


LOW_ROOMS = ("capacity", "drift", "memory", "pricing", "restarts", "rollout", "spot")


def test_sentences_of_answers_are_words_for_people() -> None:
    """A record's field named `sentence` or `…_message` can't be asked."""
    found = [
        f"{path}:{field.lineno}"
        for path in each(python_files(*(f"planner/{room}" for room in LOW_ROOMS)))
        for record in ast.walk(parsed(path))
        if isinstance(record, ast.ClassDef)
        for field in record.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and (field.target.id == "sentence" or field.target.id.endswith(("_sentence", "_message")))
        and "Text" not in ast.unparse(field.annotation)
    ]
    assert not found


# ── nobody else spells them ──────────────────────────────────────────────────────────────────────────────────────────
_UNIT = re.compile(r"^ ?(?:s|min|minutes?|h|hours?|d|days?|KiB|MiB)\b")
_PLURAL = re.compile(
    r"""\{?['"]s?['"] if [^{}\n]* == 1 else ['"]s?['"]|['"](\w+)['"] if [^{}\n]* == 1 else ['"]\1s['"]"""
)
OTHERS = [path for path in python_files("planner", "pages") if path != Path("planner/ground/words.py")]


def test_no_rounded_number_has_a_unit_of_time_beside_it() -> None:
    """An f-string that rounds a number and writes a unit of time or bytes after it is a second spelling."""
    found = [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path in each(OTHERS)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.JoinedStr)
        for value, after in zip(node.values, node.values[1:], strict=False)
        if isinstance(value, ast.FormattedValue)
        and value.format_spec is not None
        and isinstance(after, ast.Constant)
        and _UNIT.match(str(after.value))
    ]
    assert not found, "planner.ground.words has `duration` and `measured_bytes`"


def test_nobody_else_makes_plurals() -> None:
    found = [str(path) for path in each(OTHERS) if _PLURAL.search((ROOT / path).read_text(encoding="utf-8"))]
    assert not found, "planner.ground.words has `count` and `plural`"


def test_a_name_begins_a_sentence_as_it_is_written() -> None:
    for name, begun in (
        ("sp0", "node sp0"),
        ("a", "node a"),
        ("gpu-0", "gpu-0"),
        ("10.0.0.7", "10.0.0.7"),
        ("4a", "4a"),
    ):
        assert words.begin_with(name, "node") == begun
        assert name in words.sentence(f"{words.begin_with(name, 'node')} deleted")


def test_a_time_between_two_that_read_the_same_is_told_once() -> None:
    assert words.duration_between(700.0, 1_300.0) == "12 min to 22 min"
    assert words.duration_between(700.0, 725.0) == "about 12 min"
