"""Kueue's topology-aware placement: the fewest domains with room for a workload's pods, level by level.

Source: kueue `pkg/cache/scheduler/tas_flavor_snapshot.go` at 00c45514 (`findTopologyAssignment`, `findLevelWithFitDomains`,
`updateCountsToMinimumGeneric`, `sortedDomains`, `fillInCounts`), `tas_nodes_cache.go` (which nodes count), `tas_flavor.go` (what is
used on them); with the feature gates that are on by default. Not here: slices, leaders of groups, and preferred node affinity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from planner.ground.records import replace
from planner.ground.well_known_names import HOSTNAME
from planner.kubernetes.node_properties import is_ready
from planner.kubernetes.object_records import Node, Pod, QueuedSet, ResourceFlavor
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.scheduling.kueue.cohort_tree import Queue
from planner.scheduling.kueue.pending_workload import NO_PLACES, Assignment, Lack, Mode, Wanting

Place = tuple[str, ...]
"""The values of a domain's labels, from the highest level to its own."""
PODS: Final = "pods"
OWN_POD: Final = "kueue.x-k8s.io/podset"
"""The label of pods that Kueue lets in."""


class Domain:
    """A domain with those below it; `room`: pods that fit, or that it gets."""

    __slots__ = ("below", "place", "room")

    def __init__(self, place: Place) -> None:
        self.place, self.below, self.room = place, list[Domain](), 0


class TopologyAssignment(NamedTuple):
    """How many pods each domain of the lowest level gets; none where they don't fit, and then how many would."""

    domains: Mapping[Place, int]
    most: int = 0


class TopologyNodes:
    """The nodes of a flavor by its topology's levels, and what is used of them; `own`: by pods that Kueue placed."""

    def __init__(self, flavor: ResourceFlavor, levels: tuple[str, ...], nodes: Iterable[Node]) -> None:
        self._flavor, self.levels, self.name = flavor, levels, flavor.topology
        self.nodes: dict[str, Place] = {}
        self._free: dict[Place, Counter[str]] = {}
        self._own: dict[Place, Counter[str]] = {}
        self._node: dict[Place, Node] = {}
        self._at: list[dict[Place, Domain]] = [{} for _ in levels]
        for node in nodes:
            labels = {**flavor.node_labels, **{key: node.labels.get(key) for key in levels}}
            is_up = not node.is_cordoned and is_ready(node)
            # A node without the label of a level, or with another than the flavor's, is in none of its domains.
            if is_up and all(value is not None and node.labels.get(key) == value for key, value in labels.items()):
                place = tuple(node.labels[key] for key in levels)
                self.nodes[node.name], self._node[place] = place, node
                self._free.setdefault(place, Counter()).update(node.allocatable)
        for place in self._free:
            self._domain(place)

    def _domain(self, place: Place) -> Domain:
        domain_by_place = self._at[len(place) - 1]
        if place not in domain_by_place:
            domain_by_place[place] = Domain(place)
            if len(place) > 1:
                self._domain(place[:-1]).below.append(domain_by_place[place])
        return domain_by_place[place]

    def use(self, pods: Iterable[Pod]) -> None:
        """Pods that are bound hold what they ask for."""
        for pod in pods:
            place = self.nodes.get(pod.node_name)
            if place is not None and not pod.is_terminal:
                amounts = {**pod_requests(pod.spec), PODS: 1}
                (self._own.setdefault(place, Counter()) if OWN_POD in pod.labels else self._free[place]).update(
                    amounts if OWN_POD in pod.labels else {name: -amount for name, amount in amounts.items()}
                )

    def held(self, resource: str) -> int:
        """What pods that Kueue let in hold of a resource on these nodes."""
        return sum(used[resource] for used in self._own.values())

    def take(self, pods: QueuedSet, domains: Mapping[Place, int], *, times: int = 1) -> None:
        """The pods of a set get their places."""
        for place, count in domains.items():
            used_amounts = self._own.setdefault(place, Counter())
            used_amounts.update({name: amount * count * times for name, amount in _asked(pods).items()})

    def give_back(self, pods: QueuedSet, domains: Mapping[Place, int]) -> None:
        """They give them back."""
        self.take(pods, domains, times=-1)

    def fits(self, pods: QueuedSet, domains: Mapping[Place, int]) -> bool:
        """Whether the places are still free."""
        return all(self._room(pods, place, is_empty=False) >= count for place, count in domains.items())

    def find(self, pods: QueuedSet, *, is_empty: bool = False) -> TopologyAssignment:
        """Where the pods of a set go; `is_empty`: if no pod of Kueue's were there."""
        for domain_by_place in self._at:
            for domain in domain_by_place.values():
                domain.room = 0
        for place, domain in self._at[-1].items():
            domain.room = self._room(pods, place, is_empty=is_empty)
        for domain_by_place in reversed(self._at[:-1]):
            for domain in domain_by_place.values():
                domain.room = sum(each.room for each in domain.below)
        is_free = not pods.level
        level = len(self.levels) - 1 if is_free else self.levels.index(pods.level)
        level, chosen, most = self._fitting(pods, level, is_free=is_free)
        if not chosen:
            return TopologyAssignment({}, most)
        chosen = _fewest(chosen, pods.count, is_free=is_free)
        # Down to the nodes: at each level as few domains as do, so that the pods stay together.
        for _ in range(level, len(self.levels) - 1):
            below = _ordered((each for domain in chosen for each in domain.below), is_free=is_free)
            chosen = _fewest(below, pods.count, is_free=is_free)
        return TopologyAssignment({domain.place: domain.room for domain in chosen if domain.room}, pods.count)

    def _fitting(self, pods: QueuedSet, level: int, *, is_free: bool) -> tuple[int, list[Domain], int]:
        """The level, and its domains that have room together; a required level is one domain's, a preferred one may be any above."""
        domains, count = _ordered(self._at[level].values(), is_free=is_free), pods.count
        most = max((domain.room for domain in domains), default=0)
        if is_free and (single := next((domain for domain in domains if domain.room >= count), None)) is not None:
            return level, [single], count
        if not is_free and domains and domains[0].room >= count:
            return level, [_tightest(domains, count)], count
        if pods.is_required:
            return level, [], most
        if level > 0 and not is_free:
            return self._fitting(pods, level - 1, is_free=is_free)
        most = sum(domain.room for domain in domains)
        return (
            (level, _fewest(domains, count, is_free=is_free, is_kept=True), count)
            if most >= count
            else (level, [], most)
        )

    def _room(self, pods: QueuedSet, place: Place, *, is_empty: bool) -> int:
        flavor, node = self._flavor, self._node.get(place)
        if node is None:
            return 0
        if self.levels[-1] == HOSTNAME and not (
            tolerates_taints((*pods.spec.tolerations, *flavor.tolerations), node.taints)
            and node_affinity_matches(pods.spec, node.labels, node.name)
        ):
            return 0
        free, own = self._free[place], Counter[str]() if is_empty else self._own.get(place, Counter[str]())
        return min(max(0, free[name] - own[name]) // amount for name, amount in _asked(pods).items() if amount > 0)


def with_places(places: Mapping[str, TopologyNodes], queue: Queue, wanting: Wanting, granted: Assignment) -> Assignment:
    """What a workload was given, with places in a topology for its pods where it asks for some, or all flavors of its queue have one;
    where it fits only if others went it is `Mode.PREEMPT`, where it never does `Mode.NO_FIT` (`flavorassigner.go` `assignFlavors`)."""
    flavors = [name for group in queue.spec.groups for name in group.flavors]
    is_implied = bool(flavors) and all(name in places for name in flavors)
    if granted.mode == Mode.NO_FIT or not any(is_implied or each.is_topological for each in wanting.sets):
        return granted
    sets, assigned_sets = {each.name: each for each in wanting.sets}, list(granted.sets)
    taken: list[tuple[TopologyNodes, QueuedSet, Mapping[Place, int]]] = []
    mode: Mode = granted.mode
    for number, each in enumerate(granted.sets):
        pods = replace(sets[each.name], count=each.pods)
        flavor = next((flavor_mode.flavor for flavor_mode in each.flavors.values() if flavor_mode.flavor in places), "")
        if not flavor or not each.pods or not (is_implied or pods.is_topological):
            continue
        where = places[flavor].find(pods, is_empty=mode == Mode.PREEMPT)
        if not where.domains:
            mode = Mode.PREEMPT if places[flavor].find(pods, is_empty=True).domains else Mode.NO_FIT
            message = f"topology {places[flavor].name} has room for {where.most} of {pods.count} pods{_at_level(pods)}"
            assigned_sets[number] = each._replace(lacks=(*each.lacks, Lack(NO_PLACES, flavor, said=message)))
            break
        if mode == Mode.PREEMPT:  # which places are free then depends on who goes
            continue
        places[flavor].take(pods, where.domains)
        taken.append((places[flavor], pods, where.domains))
        assigned_sets[number] = each._replace(places=tuple(sorted(where.domains.items())))
    # The places were only tried: whether the workload is admitted is decided later, in the cycle.
    for place, pods, domains in taken:
        place.give_back(pods, domains)
    return Assignment(sets=tuple(assigned_sets), use=granted.use, borrow=granted.borrow, mode=mode)


def _at_level(pods: QueuedSet) -> str:
    return f" in one {pods.level}" if pods.is_required else ""


def _asked(pods: QueuedSet) -> Mapping[str, int]:
    return {**pod_requests(pods.spec), PODS: 1}


def _ordered(domains: Iterable[Domain], *, is_free: bool) -> list[Domain]:
    """The roomiest first; where any place will do, the fullest first (`TASProfileMixed`)."""
    return sorted(domains, key=lambda domain: (domain.room if is_free else -domain.room, domain.place))


def _tightest(domains: list[Domain], count: int) -> Domain:
    """The first of those with the least room that is enough; the first one where none has enough."""
    enough = [domain for domain in domains if domain.room >= count]
    return min(enough, key=lambda domain: domain.room) if enough else domains[0]


def _fewest(domains: list[Domain], count: int, *, is_free: bool, is_kept: bool = False) -> list[Domain]:
    """One after another until all pods have a place, the last one the tightest that will do; `is_kept`: rooms stay as they are."""
    chosen, remaining_pods = [], count
    for place, domain in enumerate(domains):
        if remaining_pods <= 0:
            break
        last = _tightest(domains[place:], remaining_pods) if not is_free and domain.room >= remaining_pods else domain
        chosen.append(last)
        taken = min(remaining_pods, last.room)
        remaining_pods -= taken
        if not is_kept:
            last.room = taken
    return chosen
