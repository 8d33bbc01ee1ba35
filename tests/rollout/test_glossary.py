"""The glossary explains every word of a verdict, once, and speaks plainly itself."""

from __future__ import annotations

import re

from planner.rollout.answers import Reason, Verdict
from planner.rollout.glossary import TERMS, as_markdown
from planner.rollout.verdict_wording import REASON, WORD, words

WORDS = list(TERMS)


def test_every_verdict_and_reason_is_explained() -> None:
    lower = {word.lower() for word in WORDS}
    assert {WORD[verdict].lower() for verdict in Verdict} <= lower
    assert {REASON[reason].lower() for reason in Reason if reason is not Reason.NONE} <= lower


def test_each_word_stands_once_by_the_alphabet_and_has_a_sentence() -> None:
    assert len({word.lower() for word in WORDS}) == len(WORDS)
    assert sorted(WORDS, key=str.casefold) == WORDS
    for word, meaning in TERMS.items():
        assert meaning.endswith(".")
        assert len(meaning) < 180
        assert word.lower() not in meaning.lower().split()[:2], word


def test_it_is_markdown_without_surprises() -> None:
    assert not re.search(r"[<>`$]", as_markdown())
    assert as_markdown().count("\n") == len(TERMS) - 1


def test_what_is_unknown_is_said_once() -> None:
    assert words(Verdict.UNKNOWN, Reason.UNKNOWN) == "? Unknown"
    assert words(Verdict.STUCK, Reason.UNKNOWN) == "✗ Stuck: unknown"
    assert words(Verdict.UNKNOWN, Reason.OTHER_SCHEDULER) == "? Unknown: another scheduler's"
