"""Answers every question that needs no settings about a snapshot, to be kept in a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import msgspec

from planner.ground.errors import HeadroomError, InputError
from planner.ground.exit_status import ExitStatus
from planner.history.snapshot_rows import Answered
from planner.kubernetes.object_records import Snapshot
from planner.questions import INDEX, question_called
from planner.questions.question import Inputs, Question, plain

ASKED: Final = tuple(name for name, question_entry in INDEX.items() if question_entry.is_recorded)
"""Questions of the hall that are asked with their usual settings."""


def read_questions(text: str) -> tuple[str, ...]:
    """``overview,costs`` as names of questions; "" is all that are asked.

    Raises
    ------
    InputError
        For one that isn't among them.
    """
    question_names = tuple(part.strip() for part in text.split(",") if part.strip())
    if unknown := [question for question in question_names if question not in ASKED]:
        raise InputError(f'"{unknown[0][:40]}" is no question that is kept', fix=f"Choose of {', '.join(ASKED)}")
    return tuple(dict.fromkeys(question_names)) or ASKED


def answers(
    snapshot: Snapshot,
    inputs: Inputs,
    names: Iterable[str] = ASKED,
    on_progress: Callable[[str], None] = lambda _: None,
) -> tuple[Answered, ...]:
    """Each question's answer; one that can't be answered says why. `on_progress` hears each name before it is asked."""
    answered_list = []
    for name in names:
        on_progress(name)
        answered_list.append(_asked(question_called(name), snapshot, inputs))
    return tuple(answered_list)


def _asked(question: Question[object, object], snapshot: Snapshot, inputs: Inputs) -> Answered:
    settings = question.settings()
    written = msgspec.json.encode(plain(settings), order="sorted").decode()
    answered = partial(Answered, question=question.name, format=question.format, settings=written)
    try:
        if (why := question.not_known(snapshot)) is not None:
            raise why
        answer = question.answer(snapshot, settings, inputs)
        status, sentence = question.exit_status(snapshot, answer), str(getattr(answer, "sentence", ""))
        return answered(exit_status=status, sentence=sentence, facts=tuple(question.facts(answer)))
    except HeadroomError as error:
        return answered(exit_status=ExitStatus.NOT_KNOWN, error=str(error))
