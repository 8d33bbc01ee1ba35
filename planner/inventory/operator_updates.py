"""What a changed custom resource does to its pods, if its controller isn't simulated step by step.

The rules are `planner.kubernetes.operator_update_rules`; here they meet the object as it is and as it shall be. Only what both tell whole is
answered: an object midway in a change of before, or one that loses pods, isn't known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from planner.ground.records import Record, replace
from planner.ground.words import count, with_article
from planner.inventory.redacted_value_digests import leaves_of
from planner.kubernetes.object_records import PodsAlike, Snapshot, Unplayed
from planner.kubernetes.operator_update_rules import UpdateEffect, Updates
from planner.kubernetes.owners import held_below, lacked_pods, uids_below
from planner.kubernetes.pod_template_kinds import Idle, Templated

NOT_RECORDED: Final = "by-rules"
"""The code of the finding that names the project of the rules, and says that they weren't recorded."""


class ChangeCourse(Record):
    """What is to be placed for a change: `sets`, pod by pod or as its kind has it. `old`: the pods that give them their place, `leaving`: the uids of
    those that go before; `lacked`: how many of them were missing before, and are made anew whether it changes or not.
    `idle`: none of its pods moves. `refused`: the change is, and why, as a sentence without a full stop. `ignored`:
    nothing comes of it, ever, and why."""

    way: UpdateEffect
    updates: Updates
    sets: tuple[PodsAlike, ...] = ()
    old: tuple[PodsAlike, ...] = ()
    leaving: frozenset[str] = frozenset()
    lacked: int = 0
    idle: Idle = Idle.NO
    refused: str = ""
    ignored: str = ""

    def words(self, kind: str) -> str:
        """The project of the rules, for a finding."""
        if self.lacked:
            pods = count(self.lacked, "pod of it is", "pods of it are")
            return f"by the rules of {self.updates.project}, not recorded: {pods} missing, and its controller makes them anew"
        return f"by the rules of {self.updates.project}, not recorded: {with_article(kind)} that changes {self.way}"


def course(
    snapshot: Snapshot,
    given_object: Unplayed,
    live_object: Unplayed,
    row: Templated,
    sets: Sequence[PodsAlike],
    without_added: Unplayed | None = None,
) -> ChangeCourse | None:
    """What a manifest's object does to the pods of the one that is there; None where that isn't known. `sets`: what it asks for;
    `without_added`: the manifest's object without groups that it adds at the end, where it adds some."""
    updates = row.updates
    if updates is None or not (given_object.is_told and live_object.is_told) or row.groups is not None:
        return None
    way = updates.way_of(_after(given_object.way, live_object))
    if way in (UpdateEffect.UNKNOWN, UpdateEffect.THROUGH) or _is_midway(snapshot, live_object):
        return None
    if given_object.is_suspended != live_object.is_suspended:
        # all its pods come where it was suspended; that they leave isn't played, nor another template that its webhook may refuse
        is_played = (
            not given_object.is_suspended
            and sets
            and (way is not UpdateEffect.REFUSED or _is_same(given_object, live_object))
        )
        return ChangeCourse(way=way, updates=updates, sets=tuple(sets)) if is_played else None
    if given_object.is_suspended:
        if way is UpdateEffect.REFUSED and not _is_same(
            given_object, live_object, is_fixed=bool(updates.while_suspended)
        ):
            return None  # its webhook takes labels, annotations, node selector, tolerations and gates then, and nothing else
        return ChangeCourse(way=way, updates=updates, sets=tuple(sets), idle=Idle.SUSPENDED)
    is_same = _is_same(given_object, live_object)
    more = _more(given_object.pods, live_object.pods)
    # The same template and numbers: applying it changes no pod.
    if is_same and more == {}:
        return unchanged_course(snapshot, live_object, updates, sets)
    old = live_object.pods
    below = uids_below(snapshot, live_object.key)
    if way is UpdateEffect.NEXT:
        field, values = updates.one_at_a_time
        alone = bool(field) and _after(given_object.concurrency, live_object, live_object.concurrency) in values
        return ChangeCourse(way=way, updates=updates, sets=tuple(sets), leaving=below if alone else frozenset())
    if is_same and updates.leaves_numbers:
        explanation = "leaves as many pods as run until something else of it changes"
        return ChangeCourse(
            way=way, updates=updates, sets=tuple(sets), idle=Idle.THERE, ignored=f"{updates.project} {explanation}"
        )
    if (
        without_added is not None
        and _is_same(without_added, live_object)
        and _comes_last(given_object, without_added, live_object)
    ):
        # KubeRay adds groups that come last to the cluster that is there (`isClusterSpecHashEqual`, partial)
        return _grown(snapshot, live_object, UpdateEffect.STAYS, updates, sets, more)
    if not is_same and way is UpdateEffect.BESIDE:
        if {pod.role for pod in given_object.pods} - {pod.role for pod in live_object.pods}:
            return None  # which of the groups is the new one depends on their order
        return ChangeCourse(way=way, updates=updates, sets=tuple(sets), old=old)
    if not is_same and way is UpdateEffect.AFTER:
        return ChangeCourse(way=way, updates=updates, sets=tuple(sets), old=old, leaving=below)
    if way is UpdateEffect.REFUSED and (not is_same or updates.has_fixed_number):
        return ChangeCourse(
            way=way, updates=updates, refused=f"{updates.project} refuses to change its pods while it isn't suspended"
        )
    return _grown(snapshot, live_object, way, updates, sets, more)


def unchanged_course(
    snapshot: Snapshot, live_object: Unplayed, updates: Updates, sets: Sequence[PodsAlike] = ()
) -> ChangeCourse:
    """What comes of an object that isn't changed: `sets` are there, or those that are missing of them are made anew."""
    lacked = lacked_pods(snapshot).get(live_object.key, ())
    idle, way = (Idle.NO if lacked else Idle.THERE), updates.way_of(live_object.way)
    number = sum(alike.count for alike in lacked)
    return ChangeCourse(way=way, updates=updates, sets=lacked or tuple(sets), idle=idle, lacked=number)


def _grown(
    snapshot: Snapshot,
    live_object: Unplayed,
    way: UpdateEffect,
    updates: Updates,
    sets: Sequence[PodsAlike],
    more: Mapping[str, int] | None,
) -> ChangeCourse | None:
    """The pods that come to those that stay."""
    if more is None:
        return None
    stays = unchanged_course(snapshot, live_object, updates, sets)
    if updates.has_fixed_number or not (more or stays.lacked):
        return stays
    held_pods = held_below(snapshot).get(live_object.key)
    if not stays.lacked and (held_pods is None or not held_pods.pods):
        return None  # it may have finished, or wait to be let in
    number = Counter(more)  # those that are missing are made of the new template, too
    number.update({alike.role: alike.count for alike in stays.sets} if stays.lacked else {})
    added = tuple(replace(alike, count=number[alike.role]) for alike in sets if number[alike.role])
    return ChangeCourse(way=way, updates=updates, sets=added, lacked=stays.lacked)


def _is_same(manifest_object: Unplayed, live_object: Unplayed, *, is_fixed: bool = False) -> bool:
    """Whether a manifest says nothing new of what the pods depend on: what it leaves out was filled in, unless it had been applied.
    `is_fixed`: of what may not change while it is suspended."""
    new_leaves, live_leaves = (
        leaves_of(side.fixed_of_pods if is_fixed else side.said_of_pods) for side in (manifest_object, live_object)
    )
    return new_leaves <= live_leaves and leaves_of(live_object.applied_of_pods) <= leaves_of(
        manifest_object.paths_of_pods
    )


def _comes_last(manifest_object: Unplayed, without_added: Unplayed, live_object: Unplayed) -> bool:
    """Whether nothing stood where it adds groups: one without pods might."""
    added = leaves_of(manifest_object.paths_of_pods) - leaves_of(without_added.paths_of_pods)
    return added.isdisjoint(leaves_of(live_object.paths_of_pods))


def _more(manifest_pods: Sequence[PodsAlike], live_pods: Sequence[PodsAlike]) -> dict[str, int] | None:
    """Role → pods that come to those it has; None where one has fewer, or goes, or two have one name."""
    now = {alike.role: alike.count for alike in live_pods}
    then = {alike.role: alike.count for alike in manifest_pods}
    if (
        len(now) < len(live_pods)
        or len(then) < len(manifest_pods)
        or any(then.get(role, 0) < count for role, count in now.items())
    ):
        return None
    return {role: count - now.get(role, 0) for role, count in then.items() if count > now.get(role, 0)}


def _after(manifest_way: str, live_object: Unplayed, now: str | None = None) -> str:
    """What a field says once a manifest is applied: what it leaves out stays, unless it was applied before."""
    stays = live_object.way if now is None else now
    return manifest_way or ("" if live_object.applied else stays)


def _is_midway(snapshot: Snapshot, live_object: Unplayed) -> bool:
    """Whether several objects of one kind are its own: a change of before isn't over."""
    own = [
        child.kind
        for child in snapshot.unplayed
        if child.owner is not None and child.owner.uid == live_object.uid and live_object.uid
    ]
    return len(own) != len(set(own))
