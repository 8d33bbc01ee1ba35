"""Runs parts of one question on all cores: forked copies of this process take parts until none is left.

A copy has all that was read and compiled without being sent it (``fork``, so on Linux only), and gives back what it found. It is made
once work has taken a while, so that small clusters never pay for it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from planner.ground import garbage_collector, parallel_parts
from planner.ground.work_budget import WorkBudget, current
from planner.serve.processes import workers
from planner.serve.processes.process_limits import LIMITS

_ALONE_SECONDS: Final = 1.0  # of this process since it was asked, reading included, before copies are made
_NUMBER: Final = 4  # bytes of a bundle's number in the pipe

_Found = dict[int, tuple[bool, Any]]  # number → whether it ended, and with what; or the error


def way() -> parallel_parts.Way | None:
    """Over as many processes as work; None where it can't be more than this one."""
    count = workers() if sys.platform == "linux" else 1
    alone = time.process_time() + _ALONE_SECONDS
    return (lambda number, do, are_long: _over(number, do, count, alone, are_long)) if count > 1 else None


def _over(number: int, do: Callable[[int], Any], count: int, alone: float, are_long: bool) -> list[Any]:
    """What came of every part. The first error, by number, is raised, as one after another would have raised it."""
    if threading.current_thread() is not threading.main_thread():  # another thread may hold what a copy would wait for
        return [do(part) for part in range(number)]
    outcomes: list[Any] = []
    with parallel_parts.by(None):  # a part has no parts
        while len(outcomes) < number and not are_long and time.process_time() < alone:
            outcomes.append(do(len(outcomes)))
        task_range = range(len(outcomes), number)
        budget = current()
        before = budget.left
        ended, spent = _shared(task_range, do, min(count, len(task_range)), budget) if len(task_range) > 1 else ({}, 0)
        if spent > budget.left:  # together they cost too much: which of them isn't played is told by their order
            budget.left, ended, spent = before, {}, 0
        budget.spend(spent)
        for part in task_range:
            is_found, value = ended[part] if part in ended else (True, do(part))  # a copy that was killed told nothing
            if not is_found:
                raise value
            outcomes.append(value)
    return outcomes


def _shared(remaining_range: range, do: Callable[[int], Any], count: int, budget: WorkBudget) -> tuple[_Found, int]:
    """(what this process and its copies found, what the copies spent)."""
    size = -(-len(remaining_range) // LIMITS.bundles)
    bundles = [remaining_range[start : start + size] for start in range(0, len(remaining_range), size)]
    taken, write_end = os.pipe()
    os.write(write_end, b"".join(bundle.to_bytes(_NUMBER, "big") for bundle in range(len(bundles))))
    os.close(write_end)
    garbage_collector.put_aside()
    parent = os.getpid()
    copies = [_copied(lambda: _all_found(bundles, taken, do, parent), budget) for _ in range(count - 1)]
    ended: _Found = {}
    spent = 0
    try:
        ended |= _all_found(bundles, taken, do, None)
        for _, pipe in copies:
            with os.fdopen(pipe, "rb", closefd=False) as answer_pipe:
                pipe_bytes = answer_pipe.read()
            if pipe_bytes:
                with garbage_collector.resting(keeps=True):
                    theirs, cost = pickle.loads(pipe_bytes)  # noqa: S301 - of our own copy
                ended |= theirs
                spent += cost
    finally:
        os.close(taken)
        for pid, pipe in copies:
            os.close(pipe)
            os.kill(pid, signal.SIGKILL)  # it has told all, or no caller wants it any more
            os.waitpid(pid, 0)
    return ended, spent


def _all_found(bundles: Sequence[range], taken: int, do: Callable[[int], Any], parent: int | None) -> _Found:
    """What is found of the bundles with the numbers that this process gets."""
    outcomes: _Found = {}
    while number_bytes := os.read(taken, _NUMBER):
        if parent is not None and os.getppid() != parent:
            break  # no client is left who would hear it
        for part in bundles[int.from_bytes(number_bytes, "big")]:
            try:
                outcomes[part] = True, do(part)
            except Exception as error:  # noqa: BLE001 - raised where it would have been, one after another
                outcomes[part] = False, error
    return outcomes


def _copied(work: Callable[[], _Found], budget: WorkBudget) -> tuple[int, int]:
    """(pid, pipe) of a copy that does `work` and tells it, with what it spent of the budget."""
    heard, write_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # the thread that shows progress takes no lock that a copy needs
        pid = os.fork()
    if pid:
        os.close(write_end)
        return pid, heard
    os.close(heard)
    return _tell(write_end, work, budget)


def _tell(pipe_number: int, work: Callable[[], _Found], budget: WorkBudget) -> NoReturn:
    """Do it, tell it, and end without what a process does at its end, which is the parent's to do."""
    try:
        before = budget.left
        outcomes = work()
        with os.fdopen(pipe_number, "wb") as pipe, garbage_collector.resting():
            pipe.write(pickle.dumps((outcomes, before - budget.left), pickle.HIGHEST_PROTOCOL))
    finally:
        os._exit(0)
