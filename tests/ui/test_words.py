import pytest

from planner.rollout.answers import Reason, Verdict
from planner.ui import verdict, words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (59.6, "1 min"), (250, "4 min 10 s"), (3600, "1 h"), (7500, "2 h 5 min"), (90061, "1 d 1 h")],
)
def test_duration_has_two_units_at_most(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(45, "~ 45 s"), (887, "~ 15 min"), (11_520, "~ 3.2 h"), (900_000, "~ 10 d")]
)
def test_an_estimate_has_one_unit(seconds: float, said: str) -> None:
    assert words.about(seconds) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1536, "1.5 KiB"),
        (2**34, "16 GiB"),
        (500 * 2**30, "500 GiB"),
        (2**60, "1,024 PiB"),
    ],
)
def test_bytes_have_three_digits_or_the_whole_number(value: float, said: str) -> None:
    assert words.bytes_text(value) == said


def test_count_knows_one_from_many() -> None:
    assert (words.count(1, "node"), words.count(1523, "node")) == ("1 node", "1,523 nodes")
    assert words.count(2, "class", "classes") == "2 classes"


@pytest.mark.parametrize(
    "text", ["![x](http://e.example)", "**b**", ":red[x]", "$x$", "<img>", "a_b", "`c`", "|", "# h"]
)
def test_literal_leaves_no_markdown(text: str) -> None:
    said = words.literal(text)
    assert said.replace("\\", "") == text
    special = [place for place, letter in enumerate(said) if letter in "`*_[]()<>#$:~|!"]
    assert all(said[place - 1] == "\\" for place in special)


def test_a_time_that_is_not_known_is_said() -> None:
    assert words.moment(0) == "at a time the input doesn't tell"
    assert words.moment(1_784_194_200) == "2026-07-16 09:30 UTC"


def test_why_says_the_verdict_only_once() -> None:
    assert verdict.why(Verdict.STUCK, "stuck: the pod needs a GPU") == "The pod needs a GPU."
    assert verdict.why(Verdict.STUCK, "2 of 3 finish; a: is stuck.") == "2 of 3 finish; a: is stuck."


def test_every_verdict_and_reason_has_words() -> None:
    assert set(verdict.WORD) == set(verdict.GLYPH) == set(verdict.COLOUR) == set(Verdict)
    assert set(verdict.REASON) == set(Reason)


@pytest.mark.parametrize(
    ("seconds", "said"), [(89, "~ 89 s"), (94, "~ 2 min"), (5_399, "~ 90 min"), (5_400, "~ 1.5 h")]
)
def test_an_estimate_has_the_unit_the_verdict_has(seconds: float, said: str) -> None:
    assert words.about(seconds) == said
