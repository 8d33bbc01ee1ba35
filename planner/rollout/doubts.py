"""Doubts of an answer as values in one list, and whether the answer is still proven with them.

A rule adds a doubt by a function of `planner.rollout.doubt_rules.RULES`, or as an `Unknown` of `planner.rollout.unknowns`,
which makes the verdict *not known*. Every door shows the whole list: none picks from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from planner.ground.records import Record
from planner.ground.words import Text
from planner.inventory.indirect_pod_effects import LATER
from planner.kubernetes.object_records import Finding, Severity


class Effect(StrEnum):
    """What a doubt could change of an answer."""

    NOTHING = "nothing"
    TIME = "time"
    VERDICT = "verdict"


_EFFECTS: Final = {
    Effect.NOTHING: "changes nothing",
    Effect.TIME: "could change the time",
    Effect.VERDICT: "could change the verdict",
}


AS_DOUBTS: Final = frozenset({"answer-incomplete", "admission-not-played", LATER})
"""Codes of findings that stand among the doubts as well: who shows those to people leaves these out."""


class Doubt(Record):
    """One thing that an answer isn't sure of.

    Attributes
    ----------
    about : who or what: a webhook, a list, an autoscaler, a workload
    why : what it may do, and why that isn't played
    could_change : what of the answer
    advice : the command or the change after which it is known, "" where there is none
    """

    about: str
    why: Text
    could_change: Effect
    advice: str = ""

    @property
    def sentence(self) -> Text:
        """The whole doubt in one sentence, as every door shows it."""
        why = str(self.why)
        sentence = f"{_EFFECTS[self.could_change]}: {why if self.about in why else f'{self.about}: {why}'}"
        return Text(f"{sentence}. {self.advice}" if self.advice else sentence)


def decisive(about: str, why: str, advice: str = "") -> Doubt:
    """One that could change the verdict."""
    return Doubt(about=about, why=Text(why), could_change=Effect.VERDICT, advice=advice)


def is_proven(doubts: Iterable[Doubt], findings: Iterable[Finding]) -> bool:
    """Whether nothing can make an answer another: the one place where that is decided.

    No doubt could change the verdict; a bound that was reached, a list that is missing, a controller or a webhook that isn't known are
    such doubts. A finding of severity error says that something can't work, which no proof goes with.
    """
    return not any(doubt.could_change is Effect.VERDICT for doubt in doubts) and not has_error(findings)


def has_error(findings: Iterable[Finding]) -> bool:
    """Whether one of them says that something can't work."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def check_answer(*, passes: bool, is_called_proven: bool, doubts: Sequence[Doubt], findings: Sequence[Finding]) -> None:
    """Refuses what no record of an answer may hold: an error beside a verdict that passes, or "proven" beside what takes it away.

    Raises
    ------
    ValueError
        For such a one: its maker has to decide which of the two is true.
    """
    if passes and has_error(findings):
        raise ValueError(f"an answer that passes holds an error: {[finding.code for finding in findings]}")
    if is_called_proven and not is_proven(doubts, findings):
        raise ValueError(f"an answer is called proven beside {[doubt.about for doubt in doubts]}")


def of_findings(findings: Iterable[Finding]) -> tuple[Doubt, ...]:
    """What a manifest does to pods that are made later, as doubts: no verdict of today depends on it."""
    return tuple(
        Doubt(about=finding.object, why=Text(finding.what), could_change=Effect.NOTHING, advice=finding.fix)
        for finding in findings
        if finding.code == LATER
    )


def each_once(doubts: Iterable[Doubt]) -> tuple[Doubt, ...]:
    """Each once, those that could change the most first."""
    gravity = [Effect.VERDICT, Effect.TIME, Effect.NOTHING]
    return tuple(sorted(dict.fromkeys(doubts), key=lambda doubt: gravity.index(doubt.could_change)))
