"""What becomes of the pods of an object that a manifest changes, where its controller isn't played step by step.

The rules are `planner.kubernetes.updates`; here they meet the object as it is and as it shall be. Only what both tell whole is
answered: an object midway in a change of before, or one that loses pods, isn't known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from planner.ground.records import Record, replace
from planner.ground.words import with_article
from planner.inventory.sealed import leaves_of
from planner.kubernetes.owners import held_below, uids_below
from planner.kubernetes.pod_templates import Idle, Templated
from planner.kubernetes.records import PodsAlike, Snapshot, Unplayed
from planner.kubernetes.updates import Updates, Way

NOT_RECORDED: Final = "by-rules"
"""The code of the finding that says by whose rules an answer is, and that they weren't recorded."""


class Course(Record):
    """What is to be placed for a change: `sets`, pod by pod or as its kind has it. `old`: whose place they take, `leaving`: the uids of
    those that go before. `idle`: none of its pods moves. `refused`: the change is, and why, as a sentence without a full stop. `ignored`:
    nothing comes of it, ever, and why."""

    way: Way
    updates: Updates
    sets: tuple[PodsAlike, ...] = ()
    old: tuple[PodsAlike, ...] = ()
    leaving: frozenset[str] = frozenset()
    idle: Idle = Idle.NO
    refused: str = ""
    ignored: str = ""

    def words(self, kind: str) -> str:
        """By whose rules, for a finding."""
        return f"by the rules of {self.updates.project}, not recorded: {with_article(kind)} that changes {self.way}"


def course(
    snapshot: Snapshot,
    given: Unplayed,
    there: Unplayed,
    row: Templated,
    sets: Sequence[PodsAlike],
    without_added: Unplayed | None = None,
) -> Course | None:
    """What a manifest's object does to the pods of the one that is there; None where that isn't known. `sets`: what it asks for;
    `without_added`: the manifest's object without groups that it adds at the end, where it adds some."""
    updates = row.updates
    if updates is None or not (given.is_told and there.is_told) or row.groups is not None:
        return None
    way = updates.way_of(_after(given.way, there))
    if way in (Way.UNKNOWN, Way.THROUGH) or _is_midway(snapshot, there):
        return None
    if given.is_suspended != there.is_suspended:
        # all its pods come where it was suspended; that they leave isn't played, nor another template that its webhook may refuse
        is_played = not given.is_suspended and sets and (way is not Way.REFUSED or _is_same(given, there))
        return Course(way=way, updates=updates, sets=tuple(sets)) if is_played else None
    if given.is_suspended:
        if way is Way.REFUSED and not _is_same(given, there, is_fixed=bool(updates.while_suspended)):
            return None  # its webhook takes labels, annotations, node selector, tolerations and gates then, and nothing else
        return Course(way=way, updates=updates, sets=tuple(sets), idle=Idle.SUSPENDED)
    is_same = _is_same(given, there)
    more = _more(given.pods, there.pods)
    if is_same and more == {}:
        return Course(way=way, updates=updates, sets=tuple(sets), idle=Idle.THERE)
    old = there.pods
    below = uids_below(snapshot, there.key)
    if way is Way.NEXT:
        field, values = updates.one_at_a_time
        alone = bool(field) and _after(given.concurrency, there, there.concurrency) in values
        return Course(way=way, updates=updates, sets=tuple(sets), leaving=below if alone else frozenset())
    if is_same and updates.leaves_numbers:
        said = "leaves as many pods as run until something else of it changes"
        return Course(way=way, updates=updates, sets=tuple(sets), idle=Idle.THERE, ignored=f"{updates.project} {said}")
    if without_added is not None and _is_same(without_added, there) and _comes_last(given, without_added, there):
        # KubeRay adds groups that come last to the cluster that is there (`isClusterSpecHashEqual`, partial)
        return _grown(snapshot, there, Way.STAYS, updates, sets, more)
    if not is_same and way is Way.BESIDE:
        if {pod.role for pod in given.pods} - {pod.role for pod in there.pods}:
            return None  # which of the groups is the new one hangs on their order
        return Course(way=way, updates=updates, sets=tuple(sets), old=old)
    if not is_same and way is Way.AFTER:
        return Course(way=way, updates=updates, sets=tuple(sets), old=old, leaving=below)
    if way is Way.REFUSED and (not is_same or updates.has_fixed_number):
        return Course(
            way=way, updates=updates, refused=f"{updates.project} refuses to change its pods while it isn't suspended"
        )
    return _grown(snapshot, there, way, updates, sets, more)


def _grown(
    snapshot: Snapshot,
    there: Unplayed,
    way: Way,
    updates: Updates,
    sets: Sequence[PodsAlike],
    more: Mapping[str, int] | None,
) -> Course | None:
    """The pods that come to those that stay."""
    if more is None:
        return None
    if not more or updates.has_fixed_number:
        return Course(way=way, updates=updates, sets=tuple(sets), idle=Idle.THERE)
    held = held_below(snapshot).get(there.key)
    if held is None or not held.pods:
        return None  # it may have finished, or wait to be let in
    added = tuple(replace(alike, count=more[alike.role]) for alike in sets if more.get(alike.role))
    return Course(way=way, updates=updates, sets=added)


def _is_same(given: Unplayed, there: Unplayed, *, is_fixed: bool = False) -> bool:
    """Whether a manifest says nothing new of what the pods hang on: what it leaves out was filled in, unless it had been applied.
    `is_fixed`: of what may not change while it is suspended."""
    asked, said = (leaves_of(one.fixed_of_pods if is_fixed else one.said_of_pods) for one in (given, there))
    return asked <= said and leaves_of(there.applied_of_pods) <= leaves_of(given.paths_of_pods)


def _comes_last(given: Unplayed, without_added: Unplayed, there: Unplayed) -> bool:
    """Whether nothing stood where it adds groups: one without pods might."""
    added = leaves_of(given.paths_of_pods) - leaves_of(without_added.paths_of_pods)
    return added.isdisjoint(leaves_of(there.paths_of_pods))


def _more(given: Sequence[PodsAlike], there: Sequence[PodsAlike]) -> dict[str, int] | None:
    """Role → pods that come to those it has; None where one has fewer, or goes, or two have one name."""
    now = {alike.role: alike.count for alike in there}
    then = {alike.role: alike.count for alike in given}
    if len(now) < len(there) or len(then) < len(given) or any(then.get(role, 0) < count for role, count in now.items()):
        return None
    return {role: count - now.get(role, 0) for role, count in then.items() if count > now.get(role, 0)}


def _after(given: str, there: Unplayed, now: str | None = None) -> str:
    """What a field says once a manifest is applied: what it leaves out stays, unless it was applied before."""
    stays = there.way if now is None else now
    return given or ("" if there.applied else stays)


def _is_midway(snapshot: Snapshot, there: Unplayed) -> bool:
    """Whether several objects of one kind are its own: a change of before isn't over."""
    own = [one.kind for one in snapshot.unplayed if one.owner is not None and one.owner.uid == there.uid and there.uid]
    return len(own) != len(set(own))
