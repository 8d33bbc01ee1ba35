from planner.rollout.answers import Reason, Verdict
from planner.ui import verdict


def test_why_says_the_verdict_only_once() -> None:
    assert verdict.details(Verdict.STUCK, "stuck: the pod needs a GPU") == "The pod needs a GPU."
    assert verdict.details(Verdict.STUCK, "2 of 3 finish; a: is stuck.") == "2 of 3 finish; a: is stuck."


def test_every_verdict_and_reason_has_words() -> None:
    assert set(verdict.WORD) == set(verdict.GLYPH) == set(verdict.COLOUR) == set(Verdict)
    assert set(verdict.REASON) == set(Reason)
