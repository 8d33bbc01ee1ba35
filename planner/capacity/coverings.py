"""The lightest of some pods that leave enough room behind: a small covering problem with several resources, solved by branching.

Pods that weigh and give the same are one kind. What is still lacking most is covered first, by each kind that helps; a branch
ends where what it can't do without is no lighter than what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from planner.capacity.limits import LIMITS
from planner.ground.records import Record

Given = tuple[float, tuple[int, ...]]
"""Weight of a pod, and what it gives of each resource that lacks."""


class Covering(Record, kw_only=False):
    """`picked`: places of the given; `least`: no covering weighs less, `weight` where the search came to its end."""

    weight: float
    picked: tuple[int, ...]
    least: float


def covering(lacks: Sequence[int], given: Sequence[Given]) -> Covering | None:
    """The lightest covering of what `lacks`; None where all together don't do."""
    order = sorted(range(len(given)), key=lambda place: given[place])
    found = _covering(tuple(lacks), tuple(given[place] for place in order))
    if found is None:
        return None
    return Covering(found.weight, tuple(order[place] for place in found.picked), found.least)


@lru_cache(maxsize=20_000)
def _covering(lacks: tuple[int, ...], given: tuple[Given, ...]) -> Covering | None:
    if any(sum(amounts[row] for _, amounts in given) < lack for row, lack in enumerate(lacks)):
        return None
    search = _Search(given)
    search.branch(lacks, search.counts(), 0.0, ())
    assert search.best is not None
    weight, kinds = search.best
    least = weight if search.branches < LIMITS.branches else min(weight, search.at_least(lacks, search.counts()))
    places = {kind: list(members) for kind, members in search.members.items()}
    return Covering(weight, tuple(places[kind].pop() for kind in kinds), least)


class _Search:
    def __init__(self, given: Sequence[Given]) -> None:
        self.members: dict[Given, list[int]] = {}
        for place, one in enumerate(given):
            self.members.setdefault(one, []).append(place)
        self.best: tuple[float, tuple[Given, ...]] | None = None
        self.branches = 0
        rows = range(len(given[0][1])) if given else range(0)
        self._by_row = [  # the most a weight first
            sorted((member for member in self.members if member[1][row] > 0), key=lambda one: one[0] / one[1][row])
            for row in rows
        ]

    def counts(self) -> dict[Given, int]:
        return {one: len(members) for one, members in self.members.items()}

    def at_least(self, lacks: Sequence[int], left: dict[Given, int]) -> float:
        """What any covering weighs: of each resource alone, with parts of pods."""
        most = 0.0
        for row, lack in enumerate(lacks):
            weight, rest = 0.0, lack
            for one in self._by_row[row] if lack > 0 else ():
                number = left.get(one, 0)
                each = one[1][row]
                if number * each >= rest:
                    weight += one[0] * rest / each
                    rest = 0
                    break
                weight, rest = weight + one[0] * number, rest - number * each
            if rest > 0:
                return float("inf")
            most = max(most, weight)
        return most

    def branch(self, lacks: tuple[int, ...], left: dict[Given, int], weight: float, kinds: tuple[Given, ...]) -> None:
        """Cover what is left; the first branch takes what helps most, so that there is something to be better than."""
        if all(lack <= 0 for lack in lacks):
            if self.best is None or weight < self.best[0]:
                self.best = weight, kinds
            return
        if self.best is not None:
            self.branches += 1
            if self.branches >= LIMITS.branches or weight + self.at_least(lacks, left) >= self.best[0] - 1e-12:
                return
        lacking = [row for row, lack in enumerate(lacks) if lack > 0]
        row = max(
            lacking, key=lambda one: lacks[one] / max(1, max((g[1][one] for g, n in left.items() if n), default=1))
        )
        left = dict(left)
        helping = sorted(
            (one for one in self._by_row[row] if left.get(one)),
            key=lambda one: one[0] / min(1.0, sum(min(one[1][r], lacks[r]) / lacks[r] for r in lacking)),
        )
        for one in helping:
            rest = tuple(lack - amount for lack, amount in zip(lacks, one[1], strict=True))
            self.branch(rest, {**left, one: left[one] - 1}, weight + one[0], (*kinds, one))
            del left[one]
            if self.best is not None and self.at_least(lacks, left) == float("inf"):
                return
