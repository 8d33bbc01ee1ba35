"""What Kueue does with a workload that waits, in words: of everybody who says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from planner.ground.words import Text, listing, roughly
from planner.kubernetes.records import QueuedWorkload
from planner.scheduling.kueue.play import Outcome, Verdict
from planner.scheduling.kueue.wanting import NO_MATCH, TOO_MUCH, Lack

_ON_QUOTA: Final = (Outcome.QUOTA, Outcome.NEVER, Outcome.BEHIND)


def name_of(one: QueuedWorkload) -> str:
    """``Job/team-a/train``."""
    return one.owner.key(one.namespace) if one.owner is not None else f"Workload/{one.key}"


def why(one: Verdict, names: Mapping[str, str]) -> Text:
    """What it waits for."""
    if one.outcome is Outcome.BEHIND:
        return Text(f"the queue is StrictFIFO, and {names.get(one.after, one.after)} is first")
    if one.given and one.outcome in (Outcome.LET_IN, Outcome.EVICTS, Outcome.CHECK):
        got = sorted({given.flavor for each in one.given for given in each.flavors.values()})
        said = f"quota of {listing(got)}" if got else "it asks for no quota"
        return Text(f"{said}; {one.why}" if one.why else said)
    if one.outcome not in _ON_QUOTA or not one.lacks:
        return Text(one.why)
    of_each_flavor = {(each.flavor, each.resource): each for each in one.lacks}
    return Text(listing(list(map(lack_words, of_each_flavor.values())), most=None))


def lack_words(one: Lack) -> str:
    """``8 nvidia.com/gpu of a100 too few are free``."""
    if one.kind == NO_MATCH:
        return one.said
    amount = f"{roughly(one.missing, one.resource)} {one.resource}"
    if one.kind == TOO_MUCH:
        return f"{amount} more of {one.flavor} than the queue can ever have"
    return f"{amount} of {one.flavor} too few are free"
