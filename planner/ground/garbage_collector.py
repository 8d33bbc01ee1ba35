"""Controls Python's cyclic garbage collector, which scans kept objects repeatedly while many are created."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_resting = 0  # how many rest it now
_was_on = False
_SELDOM = 8  # times that what was made is kept: a command, which reads a few clusters, never gets there
_times = 0  # how often what was made was kept since all there is was looked through
_every = _SELDOM  # at how many times it is looked through again
_WORTH = 0.25  # of all objects, that a look has to give back: Python's own measure for its oldest
_is_aside = False  # whether something was put aside: gc.get_freeze_count goes through all of it to say so, a command's cluster each time


@contextmanager
def resting(*, keeps: bool = False) -> Iterator[None]:
    """For work that makes much and throws little away, such as reading a cluster: half of its time otherwise.

    What isn't in a cycle is given back at once all the same. The collector is the process's: it rests until the last of
    several threads is done. `keeps`: what was made stays, as a snapshot's records do. All there is then counts as old
    without being looked at, instead of being gone through as new, as younger, and as old. Python doesn't count it either, and
    so would never go through the oldest objects of a process that reads cluster after cluster (a sweep over a store): they are gone
    through now and then, the more seldom the less is found.
    """
    global _resting, _was_on  # noqa: PLW0603 - the collector is the process's, and so is who rests it
    with _lock:
        if not _resting:
            _was_on = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if not _resting and _was_on:
                if keeps and not _is_aside:  # what `settle` has put aside stays there
                    _look_through()
                    gc.freeze()
                    gc.unfreeze()  # into the oldest generation
                gc.enable()


def _look_through() -> None:
    """Give back what stands in cycles, such as a run and its simulation: half as often where that was little beside all there is."""
    global _times, _every  # noqa: PLW0603 - as above
    _times += 1
    if _times >= _every:
        given_back = gc.collect()
        is_worth_it = given_back >= _WORTH * len(gc.get_objects())
        _times, _every = 0, max(_SELDOM, _every // 2) if is_worth_it else 2 * _every


def seldom() -> None:
    """For a command, which mostly ends soon: it looks once 20,000 objects more are there, as many as some rollouts make, and not at each 700.
    What goes through all there is comes as much more seldom: a sixth of the time of some thousand rollouts. At its end nothing is looked
    through for what the system takes back at once. Who imports the library keeps Python's own ways."""
    gc.set_threshold(20_000)
    atexit.register(gc.freeze)


def clear_up() -> None:
    """Give back what was made and left in a cycle since the last time, and look at nothing older."""
    gc.collect(0)


def put_aside() -> None:
    """Look no more at what is there now: a command's cluster stays as long as it, and each pass would go through all of it.

    What of it is replaced later is given back all the same, unless it stands in a cycle; records don't.
    """
    global _is_aside  # noqa: PLW0603 - the collector is the process's, and so is what it leaves aside
    _is_aside = True
    gc.freeze()


def take_back() -> None:
    """Look again at all that was put aside: for a process that goes on after a command."""
    global _is_aside  # noqa: PLW0603 - as above
    _is_aside = False
    gc.unfreeze()


def settle() -> None:
    """`put_aside` for good, in a process that goes on: what stands in a cycle by now is given back first."""
    gc.collect()
    put_aside()
