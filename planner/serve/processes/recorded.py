"""Every question that needs no settings, asked of a snapshot for a store: what is kept of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import msgspec

from planner.ground.errors import HeadroomError, InputError
from planner.ground.exit_status import ExitStatus
from planner.history.rows import Answered
from planner.kubernetes.records import Snapshot
from planner.questions import INDEX, question_called
from planner.questions.question import Given, Question, plain

ASKED: Final = tuple(name for name, entry in INDEX.items() if entry.is_recorded)
"""Questions of the hall that are asked with their usual settings."""


def read_questions(text: str) -> tuple[str, ...]:
    """``overview,costs`` as names of questions; "" is all that are asked.

    Raises
    ------
    InputError
        For one that isn't among them.
    """
    wanted = tuple(part.strip() for part in text.split(",") if part.strip())
    if unknown := [one for one in wanted if one not in ASKED]:
        raise InputError(f'"{unknown[0][:40]}" is no question that is kept', mend=f"Choose of {', '.join(ASKED)}")
    return tuple(dict.fromkeys(wanted)) or ASKED


def answers(
    snapshot: Snapshot,
    given: Given,
    names: Iterable[str] = ASKED,
    told: Callable[[str], None] = lambda _: None,
) -> tuple[Answered, ...]:
    """Each question's answer; one that can't be answered says why. `told` hears each name before it is asked."""
    found = []
    for name in names:
        told(name)
        found.append(_asked(question_called(name), snapshot, given))
    return tuple(found)


def _asked(question: Question[object, object], snapshot: Snapshot, given: Given) -> Answered:
    settings = question.settings()
    written = msgspec.json.encode(plain(settings), order="sorted").decode()
    said = partial(Answered, question=question.name, format=question.format, settings=written)
    try:
        if (why := question.not_known(snapshot)) is not None:
            raise why
        answer = question.answer(snapshot, settings, given)
        status, sentence = question.exit_status(snapshot, answer), str(getattr(answer, "sentence", ""))
        return said(exit_status=status, sentence=sentence, facts=tuple(question.facts(answer)))
    except HeadroomError as error:
        return said(exit_status=ExitStatus.NOT_KNOWN, error=str(error))
