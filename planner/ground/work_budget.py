"""A budget for a question's work, and whether its caller still wants the answer.

Work is counted, not timed, so that the same question has the same answer on every machine; a unit is about a
microsecond of one core. What a question may cost is generous, and stated: about two minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from planner.ground.errors import NotKnownError
from planner.ground.records import dataclass

QUESTION_UNITS = 120_000_000
SEARCH_UNITS = QUESTION_UNITS // 12
"""Of a search within a question, such as which nodes would help: about ten seconds. The answer doesn't wait for a search that goes on
forever."""
LIST_UNITS = 5 * QUESTION_UNITS  # of a question made of other questions, all together: about ten minutes
TOO_LARGE = "too large to play through"
_GLANCE_UNITS = 20_000  # between two looks whether the answer is still wanted


class TooLargeError(NotKnownError):
    """A question costs more work than it may."""


def too_large() -> TooLargeError:
    """What is told of a question that costs too much."""
    return TooLargeError(f"the question is {TOO_LARGE}", fix="Ask for fewer replicas, nodes or simulated months")


class UnwantedError(Exception):
    """No caller waits for the answer any more. It is no `HeadroomError`: a part of a question that fails is left out and the
    rest goes on, and here nothing is to go on."""


@dataclass(slots=True, eq=False)
class WorkBudget:
    """What is `left` of a question's work; `is_wanted` is asked now and then."""

    left: int = QUESTION_UNITS
    is_wanted: Callable[[], bool] | None = None
    unseen: int = 0  # of work since it was asked

    def foresee(self, units: int) -> None:
        """Work that can't but follow: what can't be paid isn't begun.

        Raises
        ------
        TooLargeError
            When the question may cost no more.
        """
        if units > self.left:
            raise too_large()

    def spend(self, units: int) -> None:
        """Count work that is about to be done.

        Raises
        ------
        TooLargeError
            When the question may cost no more.
        UnwantedError
            When no caller waits for the answer any more.
        """
        if units > self.left:
            raise too_large()
        self.left -= units
        self.unseen += units
        if self.is_wanted is not None and self.unseen >= _GLANCE_UNITS:
            self.unseen = 0
            if not self.is_wanted():
                raise UnwantedError("this answer isn't wanted any more")


_current: ContextVar[WorkBudget | None] = ContextVar("budget", default=None)


def current() -> WorkBudget:
    """The budget of the question being answered; a new one where none is."""
    return _current.get() or WorkBudget()


@contextmanager
def part(is_wanted: Callable[[], bool] | None = None, *, units: int = QUESTION_UNITS) -> Iterator[WorkBudget]:
    """A question, or one within another: what is asked within may cost as much as a question, or `units`, and what the one around it
    has left."""
    whole = current()
    units = min(units, whole.left)
    with allowed(is_wanted, units=units) as budget:
        budget.unseen = whole.unseen
        try:
            yield budget
        finally:
            whole.left -= units - budget.left
            whole.unseen = budget.unseen


@contextmanager
def allowed(is_wanted: Callable[[], bool] | None = None, *, units: int = QUESTION_UNITS) -> Iterator[WorkBudget]:
    """What is asked within may cost so much together, and stops when `is_wanted` says no."""
    outer = _current.get()
    budget = WorkBudget(units, is_wanted or (outer.is_wanted if outer else None))
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)
