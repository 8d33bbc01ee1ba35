"""Finds the cheapest set of pods whose eviction frees enough room: a covering problem, solved by branching.

Pods that weigh and give the same are one kind. What is still lacking most is covered first, by each kind that helps; a branch
ends where what it can't do without is no lighter than what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record

Given = tuple[float, tuple[int, ...]]
"""Weight of a pod, and what it gives of each resource that lacks."""


class Covering(Record, kw_only=False):
    """`picked`: places of the given; `least`: no covering weighs less, `weight` where the search came to its end."""

    weight: float
    picked: tuple[int, ...]
    least: float


def covering(lacks: Sequence[int], lenders: Sequence[Given]) -> Covering | None:
    """The lightest covering of what `lacks`; None where all together don't do."""
    order = sorted(range(len(lenders)), key=lambda place: lenders[place])
    cover = _covering(tuple(lacks), tuple(lenders[place] for place in order))
    if cover is None:
        return None
    return Covering(cover.weight, tuple(order[place] for place in cover.picked), cover.least)


@lru_cache(maxsize=20_000)
def _covering(lacks: tuple[int, ...], lenders: tuple[Given, ...]) -> Covering | None:
    if any(sum(amounts[row] for _, amounts in lenders) < lack for row, lack in enumerate(lacks)):
        return None
    search = _CoverSearch(lenders)
    search.branch(lacks, search.counts(), 0.0, ())
    assert search.best is not None
    weight, kinds = search.best
    # A search that was cut off proves nothing of its best. The relaxation, which takes parts of pods, still is a bound.
    least = weight if search.branches < LIMITS.branches else min(weight, search.at_least(lacks, search.counts()))
    places = {kind: list(members) for kind, members in search.members.items()}
    return Covering(weight, tuple(places[kind].pop() for kind in kinds), least)


class _CoverSearch:
    def __init__(self, lenders: Sequence[Given]) -> None:
        self.members: dict[Given, list[int]] = {}
        for place, lender in enumerate(lenders):
            self.members.setdefault(lender, []).append(place)
        self.best: tuple[float, tuple[Given, ...]] | None = None
        self.branches = 0
        rows = range(len(lenders[0][1])) if lenders else range(0)
        self._by_row = [  # the most a weight first
            sorted((member for member in self.members if member[1][row] > 0), key=lambda pair: pair[0] / pair[1][row])
            for row in rows
        ]

    def counts(self) -> dict[Given, int]:
        return {lender: len(members) for lender, members in self.members.items()}

    def at_least(self, lacks: Sequence[int], remaining: dict[Given, int]) -> float:
        """What any covering weighs: of each resource alone, with parts of pods."""
        most = 0.0
        for row, lack in enumerate(lacks):
            weight, shortfall = 0.0, lack
            for lender in self._by_row[row] if lack > 0 else ():
                number = remaining.get(lender, 0)
                each = lender[1][row]
                if number * each >= shortfall:
                    weight += lender[0] * shortfall / each
                    shortfall = 0
                    break
                weight, shortfall = weight + lender[0] * number, shortfall - number * each
            if shortfall > 0:
                return float("inf")
            most = max(most, weight)
        return most

    def branch(
        self, lacks: tuple[int, ...], remaining: dict[Given, int], weight: float, kinds: tuple[Given, ...]
    ) -> None:
        """Cover what is left; the first branch takes what helps most, so that there is something to be better than."""
        if all(lack <= 0 for lack in lacks):
            if self.best is None or weight < self.best[0]:
                self.best = weight, kinds
            return
        if self.best is not None:
            self.branches += 1
            if self.branches >= LIMITS.branches or weight + self.at_least(lacks, remaining) >= self.best[0] - 1e-12:
                return
        lacking = [row for row, lack in enumerate(lacks) if lack > 0]
        # First the resource that needs the most pods even of its largest lender: it leaves the fewest choices.
        row = max(
            lacking,
            key=lambda resource_row: (
                lacks[resource_row] / max(1, max((g[1][resource_row] for g, n in remaining.items() if n), default=1))
            ),
        )
        remaining = dict(remaining)
        helping = sorted(
            (lender for lender in self._by_row[row] if remaining.get(lender)),
            key=lambda lender: lender[0] / min(1.0, sum(min(lender[1][r], lacks[r]) / lacks[r] for r in lacking)),
        )
        for offer in helping:
            shortfall = tuple(lack - amount for lack, amount in zip(lacks, offer[1], strict=True))
            self.branch(shortfall, {**remaining, offer: remaining[offer] - 1}, weight + offer[0], (*kinds, offer))
            # Each covering with this kind was looked at: later branches go without it, so that no set is tried in two
            # orders.
            del remaining[offer]
            if self.best is not None and self.at_least(lacks, remaining) == float("inf"):
                return
