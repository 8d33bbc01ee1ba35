"""A test that looks at nothing holds of nothing: what it goes through is counted, and none of it is a fault."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, TypeVar

T = TypeVar("T")
_FEW: Final = 4  # cases of one test, as somebody runs who chose them

may_refuse = suppress
"""Of hostile input either outcome is right: it is read, and what is asserted then holds, or it is refused with this error and no other."""

# Test without its case → [of how many cases the premise held, of how many it was asked].
_premises: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])


def each(values: Iterable[T]) -> Iterator[T]:
    """The values, one after another; that there is none is a fault."""
    number = 0
    for value in values:
        number += 1
        yield value
    assert number, "there is none to look at"


def premise(holds: object) -> bool:
    """Whether what the test is about is there, in this case of it: over all its cases that has to hold once."""
    held = _premises[_test()]
    held[0] += bool(holds)
    held[1] += 1
    return bool(holds)


def unheld(module: str) -> list[str]:
    """The tests of a file (``tests/x/test_y.py``) whose premise held in no case, and that had some."""
    here = {name: counts for name, counts in _premises.items() if name.startswith(f"{module}::")}
    for name in here:
        del _premises[name]
    return [name for name, (held, asked) in here.items() if not held and asked > _FEW]


def _test() -> str:
    return os.environ["PYTEST_CURRENT_TEST"].partition("[")[0].partition(" (")[0]
