"""Assigns a flavor to each pod set of a workload: it fits, needs preemption, or never fits.

Source: kueue `pkg/scheduler/flavorassigner/flavorassigner.go`, `podset_reducer.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from planner.ground.records import replace
from planner.kubernetes.object_records import (
    ClusterQueue,
    FrozenMap,
    NodeAffinity,
    NodeSelectorTerm,
    PodSpec,
    QueuedSet,
    QuotaGroup,
    ResourceFlavor,
)
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.scheduling.kueue.cohort_tree import Queue, Use, lowest_that_fits
from planner.scheduling.kueue.pending_workload import (
    NO_MATCH,
    TOO_MUCH,
    WAITS,
    AssignedFlavor,
    Assignment,
    Lack,
    Mode,
    Possible,
    SetGiven,
    Wanting,
    requests_per_pod,
    spare,
)

PODS: Final = "pods"
Oracle = Callable[[str, str, int], tuple[Possible, int]]
"""Of flavor, resource and amount: what a preemption for it alone would be, and how high it would borrow then."""


class _Granular(NamedTuple):
    way: Possible
    borrow: int


_WORST: Final = _Granular(Possible.NO_FIT, 2**31)
_BEST: Final = _Granular(Possible.FIT, 0)
_MODE: Final = {Possible.NO_FIT: Mode.NO_FIT, Possible.FIT: Mode.FIT}  # the others: Mode.PREEMPT


class Flavors(NamedTuple):
    """What flavors are: their objects by name, and the levels of those that have a topology (None: it isn't known)."""

    objects: Mapping[str, ResourceFlavor]
    levels: Mapping[str, tuple[str, ...] | None] = FrozenMap()


class Assigner:
    """Finds the flavors of one workload in its ClusterQueue; `is_fair`, `uncounted`: as in `Rules`."""

    def __init__(
        self, wanting: Wanting, queue: Queue, flavors: Flavors, oracle: Oracle, *, is_fair: bool = False,
        uncounted: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self._wanting, self._queue, self._flavors = wanting, queue, flavors
        self._oracle, self._is_fair, self._uncounted = oracle, is_fair, uncounted
        every = [flavors.objects.get(name) for group in queue.spec.groups for name in group.flavors]
        self._is_topological = bool(every) and all(flavor is not None and flavor.topology for flavor in every)

    def assign(
        self,
        counts: Sequence[int] | None = None,
        tried: Sequence[Mapping[str, int]] = (),
        allowed: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Assignment:
        """With all its pods, or with `counts` of each set.

        `tried`: by pod set and resource the flavor last tried, where the search goes on; `allowed`: by pod set and resource the only one.
        """
        sets = [
            queued_set if counts is None else replace(queued_set, count=counts[number])
            for number, queued_set in enumerate(self._wanting.sets)
        ]
        groups: dict[str, list[int]] = {}
        for number, queued_set in enumerate(sets):
            # No name has a NUL in it: a pod set without a group is a group of its own.
            groups.setdefault(queued_set.group or f"\0{number}", []).append(number)
        use: Use = {}
        set_assignments: list[SetGiven] = []
        borrow = 0
        for numbers in groups.values():
            members = [sets[number] for number in numbers]
            requests = [self._asked(member) for member in members]
            assignments, lacks = self._of_group(numbers, members, requests, use, tried, allowed)
            is_lacking = False
            for queued_set, wants in zip(members, requests, strict=True):
                own = (
                    {name: assignments[name] for name in wants if name in assignments}
                    if assignments is not None
                    else {}
                )
                set_assignments.append(SetGiven(queued_set.name, queued_set.count, own, lacks, bool(wants)))
                for name, each in own.items():
                    borrow = max(borrow, each.borrow)
                    # The next pod sets find the flavor's quota without what this one takes.
                    use[each.flavor, name] = use.get((each.flavor, name), 0) + wants[name]
                is_lacking = is_lacking or (bool(wants) and not own)
            if is_lacking:
                return Assignment(sets=tuple(set_assignments), use=use, borrow=borrow, mode=Mode.NO_FIT)
        mode = min((set_assignment.mode for set_assignment in set_assignments), default=Mode.NO_FIT)
        return Assignment(sets=tuple(set_assignments), use=use, borrow=borrow, mode=mode)

    def _asked(self, queued_set: QueuedSet) -> dict[str, int]:
        wants = {name: amount * queued_set.count for name, amount in requests_per_pod(queued_set).items()}
        counted = {
            name: amount for name, amount in wants.items() if name not in self._uncounted or self._queue.group_of(name)
        }
        if self._queue.group_of(PODS) is not None:
            counted[PODS] = queued_set.count
        # A set that asks for nothing else is let in by an excluded prefix and not by `IgnoreUndeclared` (`assignFlavors`
        # `atLeastOnePodsAssignmentFailed`): it lacks what it asks for.
        return counted or wants

    def _of_group(
        self,
        numbers: list[int],
        members: list[QueuedSet],
        requests: list[dict[str, int]],
        use: Use,
        tried: Sequence[Mapping[str, int]],
        allowed: Mapping[str, Mapping[str, str]] | None,
    ) -> tuple[dict[str, AssignedFlavor] | None, tuple[Lack, ...]]:
        """Resource → what pod sets that go together get; None where one of them isn't had."""
        together: dict[str, int] = {}
        for set_requests in requests:
            for name, amount in set_requests.items():
                together[name] = together.get(name, 0) + amount
        flavor_by_resource: dict[str, AssignedFlavor] = {}
        lacks: list[Lack] = []
        # What no resource group has comes last: a workload that its groups never take is refused whatever the configuration leaves out.
        for name in sorted(together, key=lambda name: (self._queue.group_of(name) is None, name)):
            if name in flavor_by_resource or (together[name] == 0 and self._queue.group_of(name) is None):
                continue
            # A workload that couldn't preempt in its last cycle goes on with the flavor after the one it tried
            # (`LastTriedFlavorIdx`).
            start = tried[numbers[0]].get(name, -1) + 1 if tried else 0
            only = {each.get(name) for member in members if (each := (allowed or {}).get(member.name, {}))}
            got, why = self._flavor_for(members, together, name, use, start, only if allowed else None)
            if not got:
                return None, tuple(why)
            flavor_by_resource.update(got)
            lacks += why
        return flavor_by_resource, tuple(lacks)

    def _flavor_for(
        self,
        members: list[QueuedSet],
        requests: Mapping[str, int],
        resource: str,
        use: Use,
        start: int,
        only: set[str | None] | None,
    ) -> tuple[dict[str, AssignedFlavor], list[Lack]]:
        """The best flavor of the resource's group, for all resources of it that are asked for."""
        group = self._queue.group_of(resource)
        if group is None:
            return {}, [Lack(NO_MATCH, "", resource, 0, f"no resource group has {resource}")]
        lacks: list[Lack] = []
        best: dict[str, tuple[_Granular, str]] = {}
        best_mode, last = _WORST, -1
        for number in range(start, len(group.flavors)):
            last, flavor = number, group.flavors[number]
            if only is not None and flavor not in only:
                continue
            if why := self._mismatch(flavor, members, group):
                lacks.append(Lack(NO_MATCH, flavor, resource, 0, why))
                continue
            flavor_by_name, mode, flavor_lacks = self._in_flavor(flavor, group, requests, use)
            lacks += flavor_lacks
            if not _tries_next(mode, self._queue.spec):
                best, best_mode = flavor_by_name, mode
                break
            if _is_preferred(mode, best_mode, self._queue.spec):
                best, best_mode = flavor_by_name, mode
        # After the last flavor the next cycle begins with the first again.
        tried = -1 if last == len(group.flavors) - 1 else last
        flavors_by_resource = {
            name: AssignedFlavor(flavor, _MODE.get(granular.way, Mode.PREEMPT), granular.borrow, tried)
            for name, (granular, flavor) in best.items()
        }
        return flavors_by_resource, [] if best_mode.way == Possible.FIT else lacks

    def _in_flavor(
        self, flavor: str, group: QuotaGroup, requests: Mapping[str, int], use: Use
    ) -> tuple[dict[str, tuple[_Granular, str]], _Granular, list[Lack]]:
        """How each resource is had in this flavor; of all of them the worst way."""
        flavor_by_name: dict[str, tuple[_Granular, str]] = {}
        lacks: list[Lack] = []
        worst = _BEST
        for name in sorted(requests):
            if name not in group.resources:
                continue
            granular, why = self._within_quota(flavor, name, use.get((flavor, name), 0) + requests[name])
            if why is not None:
                lacks.append(why)
            if _is_preferred(worst, granular, self._queue.spec):
                worst = granular
            if worst.way != Possible.NO_FIT:
                flavor_by_name[name] = granular, flavor
        return flavor_by_name, worst, lacks

    def _within_quota(self, flavor: str, name: str, amount: int) -> tuple[_Granular, Lack | None]:
        fr, queue = (flavor, name), self._queue
        most = queue.at_most(fr)
        if amount > most:
            return _Granular(Possible.NO_FIT, 0), Lack(TOO_MUCH, flavor, name, amount - most)
        borrow, is_more_above = lowest_that_fits(queue, fr, amount)
        free = queue.free(fr)
        if amount <= free:
            return _Granular(Possible.FIT, borrow), None
        lack = Lack(WAITS, flavor, name, amount - free)
        rule = queue.spec
        may_force = rule.borrow_policy != "Never" or (self._is_fair and rule.reclaim != "Never")
        if queue.quota(fr).nominal >= amount or is_more_above or may_force:
            possible, after = self._oracle(flavor, name, amount)
            return _Granular(possible, after), lack
        return _Granular(Possible.NO_FIT, borrow), lack

    # ── which flavors are for which pods ─────────────────────────────────────────────────────────────────────────────
    def _mismatch(self, name: str, members: list[QueuedSet], group: QuotaGroup) -> str:
        """Why the flavor's nodes aren't for these pods; "" where they are."""
        flavor = self._flavors.objects.get(name)
        if flavor is None:
            return f"there is no ResourceFlavor {name}"
        for member in members:
            if why := self._topology_mismatch(flavor, member, group):
                return why
            if not tolerates_taints((*member.spec.tolerations, *flavor.tolerations), flavor.taints):
                return f"the pods don't tolerate a taint of flavor {name}"
            if not node_affinity_matches(_narrowed(member.spec, flavor), flavor.node_labels, ""):
                return f"flavor {name} isn't what the pods' node selector or affinity asks for"
        return ""

    def _topology_mismatch(self, flavor: ResourceFlavor, queued_set: QueuedSet, group: QuotaGroup) -> str:
        if not queued_set.is_topological:
            is_implied = self._is_topological
            return (
                f"flavor {flavor.name} is for pods that ask for a topology"
                if flavor.topology and not is_implied
                else ""
            )
        if not flavor.topology:
            is_met = any(amount and name in group.resources for name, amount in requests_per_pod(queued_set).items())
            return f"flavor {flavor.name} has no topology" if is_met else ""
        levels = self._flavors.levels.get(flavor.name)
        if levels is not None and queued_set.level and queued_set.level not in levels:
            return f"flavor {flavor.name} has no topology level {queued_set.level}"
        return ""


def _narrowed(spec: PodSpec, flavor: ResourceFlavor) -> PodSpec:
    """Only what is said of the flavor's own labels; a term of affinity that says nothing of them lets every flavor pass."""
    keys = flavor.node_labels
    terms: list[NodeSelectorTerm] = []
    for term in spec.node_affinity.required or ():
        expressions = tuple(expression for expression in term.match_expressions if expression.key in keys)
        if not expressions:
            terms = []
            break
        terms.append(NodeSelectorTerm(match_expressions=expressions))
    return PodSpec(
        node_selector=FrozenMap({key: value for key, value in spec.node_selector.items() if key in keys}),
        node_affinity=NodeAffinity(required=tuple(terms) or None),
    )


def _is_preferred(a: _Granular, b: _Granular, rule: ClusterQueue) -> bool:
    """Whether `a` is better than `b`."""
    if Possible.NO_FIT in (a.way, b.way):
        return a.way != Possible.NO_FIT
    if (a.way == Possible.NONE) != (b.way == Possible.NONE):
        return b.way == Possible.NONE
    by_way = (a.way, -a.borrow), (b.way, -b.borrow)
    by_borrow = (-a.borrow, a.way), (-b.borrow, b.way)
    own_rank, theirs = by_borrow if rule.preference == "PreemptionOverBorrowing" else by_way
    return own_rank > theirs


def _tries_next(mode: _Granular, rule: ClusterQueue) -> bool:
    if mode.way in (Possible.NO_FIT, Possible.NONE):
        return True
    if mode.way in (Possible.PREEMPT, Possible.RECLAIM) and rule.when_can_preempt == "TryNextFlavor":
        return True
    return mode.borrow != 0 and rule.when_can_borrow == "TryNextFlavor"


def fewer(wanting: Wanting, step: int) -> tuple[int, ...]:
    """Numbers of pods of each set with which it may start: all of them at step 0, the fewest at the last (`PodSetReducer`)."""
    return tuple(queued_set.count - spare(queued_set) * step // wanting.spare for queued_set in wanting.sets)
