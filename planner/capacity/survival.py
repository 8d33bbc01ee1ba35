"""What breaks if a node, a zone, an NVLink or rack domain, or a pool's spot nodes fail; how many nodes of a pool may
fail together; and the least spare capacity that prevents it.

Nodes that are alike and carry pods that are alike are asked once. Spare nodes are there before the loss, and pods that wait
today take them first. The spare is the cheapest that the search found, not proven to be the least.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations_with_replacement, islice
from math import ceil, comb
from typing import Final

from planner.capacity.capacity_buffer_manifests import manifests
from planner.capacity.eviction_simulation import at_rest
from planner.capacity.node_losses import NONE, LossPlayer, Spares
from planner.capacity.node_losses_without_simulation import LossOutcome
from planner.capacity.what_if import apply
from planner.capacity.what_if_syntax import Change, ChangeKind
from planner.capacity.work_limits import LIMITS
from planner.ground import garbage_collector
from planner.ground.records import Record, replace
from planner.ground.well_known_names import RACKS
from planner.ground.words import Text, count, listing, plural, short_name, usd
from planner.ground.work_budget import TooLargeError, part
from planner.inventory.pool_limits import LimitSource, PoolLimits, UpgradeSettings, UpgradeStrategy
from planner.kubernetes.node_properties import NO_POOL, gpu_count, is_spot, node_pool, out_of_use, zone
from planner.kubernetes.object_records import EMPTY, Pod, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import goes_with_its_node
from planner.kubernetes.workload_kinds import REPLICA_SET, kind_called, several
from planner.pricing.node_price import price_node
from planner.pricing.price_book import PriceBook
from planner.rollout.doubt_rules import decisive_doubts, made_anew
from planner.rollout.doubts import Doubt, decisive, is_proven
from planner.rollout.prepared_change import compiled
from planner.rollout.volume_attachments import VOLUME_ELSEWHERE
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Shape, compile_alike
from planner.scheduling.template_node import empty_copy

_HEAVIEST: Final = 6  # kinds of nodes of a pool of which several are lost, where all would be too many


class Scope(StrEnum):
    NODE = "node"
    ZONE = "zone"
    RACK = "rack"  # or whatever else nodes share by a label
    SPOT = "spot nodes"


class Fewer(Record):
    """Pods of one workload. `groups`, `group_size`: of a workload that works in groups, how many of these aren't whole then."""

    workload: str
    pods: int
    groups: int = 0
    group_size: int = 1


class Spare(Record):
    """Nodes more. `like`: the node that they are like; money is of its own way of being bought, None without a price."""

    pool: str
    zone: str
    nodes: int
    usd_per_month: float | None
    like: str


class Loss(Record):
    """One loss. Of nodes that are alike the first is named, and `alike` says how many there are.

    Attributes
    ----------
    name : of the node, of the zone, of the pool that loses its spot nodes; of a rack ``label=value``
    nodes, gpus : that are lost
    pods, back : that were there but for DaemonSets' and that come back elsewhere, or make another go for it
    missing : pods fewer than before once all is at rest; `whose`: by workload
    waiting : of these, successors that wait for a node
    unattached : of these, successors that have a node and wait there for a volume that another node has
    unknown : of these, of owners that aren't played: whether they come back isn't known
    preempted, pushed : pods that are preempted, their number and their workloads
    seconds : until the last that comes back is Ready
    spare : the cheapest that was found with which no client is left waiting; empty where none was, or none is needed
    """

    scope: Scope
    name: str
    alike: int
    pool: str
    nodes: int
    gpus: int
    pods: int
    back: int
    missing: int
    whose: tuple[Fewer, ...]
    waiting: int
    unknown: int
    preempted: int
    pushed: tuple[Fewer, ...]
    seconds: float
    spare: tuple[Spare, ...] = ()
    unattached: int = 0

    @property
    def is_survived(self) -> bool:
        return not self.missing

    @property
    def is_broken(self) -> bool:
        """Whether it is known that a pod doesn't come back."""
        return self.missing > self.unknown


class Together(Record):
    """How many nodes of a pool may be lost at once, whichever they are. `breaks`: some that may not; `is_every`: every choice of one
    more was played or counted, or one was found that may not; `is_proven`: and nothing of the answer's doubts could change that."""

    pool: str
    nodes: int
    survived: int
    is_every: bool
    is_proven: bool
    breaks: tuple[str, ...] = ()


class Upgrade(Record):
    """A pool's upgrade; `budgets`: those that hold pods back; `is_known`: whether it gets through is known."""

    pool: str
    strategy: UpgradeStrategy
    is_done: bool
    budgets: tuple[str, ...]
    sentence: Text
    is_known: bool = True


class Survival(Record):
    """What was found. `spare`: with which no client is left waiting whichever one node is lost, where `is_for_all`; else for those that
    were looked for. `too_large`: whose loss costs more than one may; `unread`: kinds that weren't
    read, and might hold an upgrade back; `doubts`: what could make pods come back otherwise."""

    sentence: Text
    losses: tuple[Loss, ...]
    together: tuple[Together, ...]
    spare: tuple[Spare, ...]
    is_for_all: bool
    upgrades: tuple[Upgrade, ...]
    manifests: tuple[tuple[str, str], ...] = ()
    too_large: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    def nodes(self, *, broken: bool = False, with_gpus: bool = False) -> int:
        """How many nodes there are, or of them those that are single points of failure."""
        node_losses = (loss for loss in self.losses if loss.scope is Scope.NODE and (loss.gpus or not with_gpus))
        return sum(loss.alike for loss in node_losses if loss.is_broken or not broken)

    @property
    def unknown_nodes(self) -> int:
        """How many nodes are neither single points of failure nor can fail: whether the pods that are missing come back isn't known."""
        node_losses = (loss for loss in self.losses if loss.scope is Scope.NODE)
        return sum(loss.alike for loss in node_losses if loss.missing and not loss.is_broken)

    @property
    def headline(self) -> str:
        """``12 of 24 nodes are single points of failure``"""
        nodes, broken = self.nodes(), self.nodes(broken=True)
        if not nodes:
            return f"too large to be played: {listing(self.too_large)}" if self.too_large else "there is no node"
        if broken:
            return f"{broken:,} of {count(nodes, 'node')} {plural(broken, 'is a single point', 'are single points')} of failure"
        if self.unknown_nodes:
            return f"not known for {self.unknown_nodes:,} of {count(nodes, 'node')}: whether their pods come back"
        return f"each of {count(nodes, 'node')} can fail alone: every pod comes back"

    @property
    def usd_per_month(self) -> float | None:
        prices = [spare.usd_per_month for spare in self.spare]
        return None if None in prices else sum(price or 0.0 for price in prices)


@garbage_collector.resting()
def survival(
    snapshot: Snapshot, *, label: str = "", upgrades: bool = False, limits: Sequence[PoolLimits] = (),
    book: PriceBook | None = None, is_brief: bool = False,
) -> Survival:  # fmt: skip
    """Every loss, played or counted; `label`: nodes that share its value are lost at once too. `is_brief`: without several of a pool,
    and without the spare for what is lost together.

    Raises
    ------
    TooLargeError
        When it costs more than a question may.
    """
    cluster = at_rest(compiled(snapshot).snapshot)
    player = LossPlayer(cluster)
    kinds = _alike(cluster)
    units = LIMITS.loss_units * LIMITS.loss_nodes // max(LIMITS.loss_nodes, cluster.node_count)
    played, too_large, hopeless = list[tuple[_Lost, LossOutcome]](), list[str](), set[Scope]()
    names = cluster.node_names
    single = (_Lost(scope=Scope.NODE, name=names[kind[0]], nodes=(kind[0],), alike=len(kind)) for kind in kinds)
    for lost in (*single, *_at_once(cluster, label)):
        if lost.scope in hopeless:  # a smaller one was too large
            too_large.append(lost.name)
            continue
        try:
            with part(units=units):
                played.append((lost, player.lose(lost.nodes)))
        except TooLargeError:
            too_large.append(lost.name)
            if lost.scope is not Scope.NODE:
                hopeless.add(lost.scope)
    order = sorted(range(len(played)), key=lambda i: (-played[i][1].waiting, played[i][0].name))
    search = _SpareSearch(player, book)
    spares_by_loss = {i: search.spares_for(*played[i]) for i in order if played[i][0].scope is Scope.NODE}
    alone = [(lost, outcome, spares_by_loss[i]) for i, (lost, outcome) in enumerate(played) if lost.scope is Scope.NODE]
    spare, is_for_all = search.for_each(alone)
    at_once = _SpareSearch(player, book)  # another: what is said of one node is the same with them and without
    spares_by_loss |= {} if is_brief else {i: at_once.spares_for(*played[i]) for i in order if i not in spares_by_loss}
    losses = tuple(
        _told(cluster, *loss_played, search.spares(spares_by_loss.get(i))) for i, loss_played in enumerate(played)
    )
    good = {lost.nodes[0] for lost, outcome, _ in alone if not outcome.missing}
    judged_nodes = {
        lost.nodes[0]
        for lost, outcome, _ in alone
        if not outcome.unknown or sum(outcome.missing.values()) > outcome.unknown
    }
    is_for_all = is_for_all and len(alone) == len(kinds)
    together = () if is_brief else tuple(_together(player, kinds, good, judged_nodes))
    doubts = () if is_brief else _doubts(player)
    survival_answer = Survival(
        sentence=Text(), losses=losses, doubts=doubts,
        together=tuple(replace(pool_loss, is_proven=pool_loss.is_proven and is_proven(doubts, ())) for pool_loss in together), spare=search.spares(spare),
        is_for_all=is_for_all, upgrades=tuple(_upgrades(cluster, limits)) if upgrades else (),
        unread=tuple(filter(snapshot.lacks, ("PodDisruptionBudget",))) if upgrades else (), manifests=search.manifests(spare), too_large=tuple(sorted(too_large)),
    )  # fmt: skip
    return replace(survival_answer, sentence=Text(_sentence(survival_answer)))


# ── what is lost ─────────────────────────────────────────────────────────────────────────────────────────────────────
class _Lost(Record):
    scope: Scope
    name: str
    nodes: tuple[int, ...]
    alike: int = 1


def _alike(cluster: Cluster) -> list[list[int]]:
    """Nodes of one shape, place and pool, with pods that are alike."""
    pods: dict[int, Counter[object]] = defaultdict(Counter)
    for pod in cluster.snapshot.pods:
        if pod.holds_room and pod.node_name in cluster.node_index and not goes_with_its_node(pod):
            pods[cluster.node_index[pod.node_name]][_whose(cluster, pod)] += 1
    nodes_by_kind: dict[object, list[int]] = {}
    for place, node in enumerate(cluster.nodes):
        amounts = cluster.allocatable[:, place].tobytes()
        racks = tuple(node.labels.get(key) for key in RACKS)
        carried = frozenset(pods[place].items()) if place in pods else frozenset()
        about = (node_pool(node), zone(node), racks, out_of_use(node), node.taints, carried)
        nodes_by_kind.setdefault((int(cluster.node_class[place]), amounts, *about), []).append(place)
    return list(nodes_by_kind.values())


def _whose(cluster: Cluster, pod: Pod) -> object:
    """What tells a pod from those that are made anew in the same way and go to the same nodes."""
    if pod.owner is None or kind_called(pod.owner.kind).has_ordinals or pod.spec.volumes or pod.spec.resource_claims:
        return pod.uid
    shape = compile_alike(cluster, pod.namespace, pod.labels, pod.spec)
    if shape.is_plain and pod.owner.kind == REPLICA_SET.name:
        return pod.namespace, shape.asks, shape.priority, shape.may_preempt, shape.candidates.tobytes()
    return pod.owner.key(pod.namespace)


def _at_once(cluster: Cluster, label: str) -> Iterator[_Lost]:
    """Groups of at least two nodes, each once, the smallest of a scope first."""
    groups: dict[tuple[Scope, str], list[int]] = defaultdict(list)
    for place, node in enumerate(cluster.nodes):
        if zone(node):
            groups[Scope.ZONE, zone(node)].append(place)
        for key in dict.fromkeys((*RACKS, *([label] if label else []))):
            if node.labels.get(key):
                groups[Scope.RACK, f"{key}={node.labels[key]}"].append(place)
        if is_spot(node):
            groups[Scope.SPOT, node_pool(node) or NO_POOL].append(place)
    for (scope, name), places in sorted(
        groups.items(), key=lambda domain: (domain[0][0], len(domain[1]), domain[0][1])
    ):
        # A group of one node is that node's own loss, which is asked by itself.
        if len(places) > 1:
            yield _Lost(scope=scope, name=name, nodes=tuple(places))


def _told(cluster: Cluster, lost: _Lost, outcome: LossOutcome, spare: tuple[Spare, ...]) -> Loss:
    nodes = [cluster.nodes[place] for place in lost.nodes]
    pools = {node_pool(node) for node in nodes}
    return Loss(
        scope=lost.scope, name=lost.name, alike=lost.alike, pool=next(iter(pools)) if len(pools) == 1 else "",
        nodes=len(nodes), gpus=sum(gpu_count(node) for node in nodes), pods=outcome.pods,
        back=max(0, outcome.pods - sum(outcome.missing.values())), missing=sum(outcome.missing.values()), whose=fewer_of(outcome.missing, outcome.torn),
        waiting=outcome.waiting, unknown=outcome.unknown, preempted=sum(outcome.preempted.values()), pushed=fewer_of(outcome.preempted),
        seconds=outcome.seconds, spare=spare, unattached=outcome.unattached,
    )  # fmt: skip


def fewer_of(pods: Mapping[str, int], torn: Mapping[str, tuple[int, int]] = EMPTY) -> tuple[Fewer, ...]:
    """The workloads with fewer pods, most first."""
    return tuple(
        Fewer(workload=key, pods=pods[key], groups=torn.get(key, (0, 1))[0], group_size=torn.get(key, (0, 1))[1])
        for key in sorted(pods, key=lambda key: (-pods[key], key))
    )


# ── several of a pool ────────────────────────────────────────────────────────────────────────────────────────────────
def _comes_back(cluster: Cluster) -> set[str]:
    """Workloads with a pod that is made anew when its node is lost."""
    keys, pods = workload_keys(cluster.snapshot), cluster.snapshot.pods
    return {keys[pod.uid] for pod in pods if pod.holds_room and not goes_with_its_node(pod)}


def _doubts(player: LossPlayer) -> tuple[Doubt, ...]:
    """What could make pods come back otherwise: what every rule doubts of those that are made anew, and that a loss is played once."""
    doubts = decisive_doubts(player.cluster, made_anew(player.cluster, _comes_back(player.cluster)))
    why = "a loss is played once, and kube-scheduler may choose otherwise among equal nodes"
    return (*doubts, *([decisive("placement", why)] if player.has_chance else []))


def _together(
    player: LossPlayer, kinds: Sequence[Sequence[int]], good: set[int], judged_nodes: set[int]
) -> Iterator[Together]:
    """`good`: nodes that may be lost by themselves, of those `judged_nodes`; of the others that isn't known."""
    cluster, budget = player.cluster, LIMITS.losses_together
    by_pool: dict[str, list[Sequence[int]]] = defaultdict(list)
    for alike_nodes in kinds:
        by_pool[node_pool(cluster.nodes[alike_nodes[0]])].append(alike_nodes)
    for pool, pool_groups in sorted(by_pool.items(), key=lambda pair: (sum(map(len, pair[1])), pair[0])):
        size = sum(map(len, pool_groups))
        broken = [cluster.node_names[kind[0]] for kind in pool_groups if kind[0] in judged_nodes - good][:1]
        is_good = all(node_group[0] in good for node_group in pool_groups)
        is_whole = is_good or bool(broken)
        joint_loss = Together(
            pool=pool or NO_POOL, nodes=size, survived=int(is_good), is_every=is_whole, is_proven=is_whole
        )  # fmt: skip
        if not is_good:
            yield replace(joint_loss, breaks=tuple(broken))
            continue
        # Losing the fullest nodes breaks it soonest: a counterexample among them is found in the first tries.
        heavy = sorted(
            pool_groups, key=lambda pool_nodes: -int(cluster.requested[:, pool_nodes[0]].astype(float).sum())
        )
        for number in range(2, size + 1):
            # Nodes of one kind can stand for each other, so that combinations of kinds, with repetition, are all losses
            # there are.
            is_every = comb(len(pool_groups) + number - 1, number) <= budget
            choices = combinations_with_replacement(heavy if is_every else heavy[:_HEAVIEST], number)
            lost = islice((places for choice in choices if (places := _of_each(choice))), budget)
            breaks = None
            for places in lost:
                budget -= 1
                if player.lose(places).missing:
                    breaks = tuple(cluster.node_names[place] for place in places)
                    break
            if breaks or not is_every:
                joint_loss = replace(joint_loss, is_every=bool(breaks), is_proven=bool(breaks), breaks=breaks or ())
                break
            joint_loss = replace(joint_loss, survived=number)
        yield joint_loss


def _of_each(kinds: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """A node for each time that its kind is in; () where there aren't so many."""
    times = Counter(map(id, kinds))
    by_id = {id(alike_nodes): alike_nodes for alike_nodes in kinds}
    if any(len(by_id[key]) < number for key, number in times.items()):
        return ()
    return tuple(place for key, number in times.items() for place in by_id[key][:number])


# ── spare nodes ──────────────────────────────────────────────────────────────────────────────────────────────────────
class _SpareSearch:
    """Looks for spare nodes with which no client is left waiting."""

    def __init__(self, player: LossPlayer, book: PriceBook | None) -> None:
        self.player, self.cluster = player, player.cluster
        self._most = player.plays + LIMITS.losses_with_spare
        self._in_vain: Counter[str] = Counter()  # pool → nodes that no spare was found for
        self._known: dict[frozenset[tuple[Shape, int]], Spares] = {}
        kinds: dict[tuple[str, str], int] = {}
        for place, node in enumerate(self.cluster.nodes):
            if not out_of_use(node):
                kinds.setdefault((node_pool(node), zone(node)), place)
        self._usd: dict[int, float | None] = {}  # a month, bought as the node is; as the bill has it
        for place in kinds.values():
            price = None if book is None else price_node(book, self.cluster.nodes[place]).price
            self._usd[place] = None if price is None else price.sustained_use_usd_per_month
        self._room = {
            place: empty_copy(self.cluster, self.cluster.nodes[place], 0).allocatable for place in kinds.values()
        }

    def _cost(self, spares: Spares) -> tuple[int, float, int]:
        """Nodes without a price count first, then money; then their GPUs and themselves."""
        unknown = sum(many for place, many in spares if self._usd[place] is None)
        money = sum(many * (self._usd[place] or 0.0) for place, many in spares)
        gpus = sum(many * (1 + 100 * gpu_count(self.cluster.nodes[place])) for place, many in spares)
        return unknown, money, gpus

    def spares_for(self, lost: _Lost, outcome: LossOutcome) -> Spares | None:
        """The cheapest that is found; None where none is, and where it isn't looked for any more."""
        if not outcome.waiting or outcome.pods > LIMITS.lost_pods or len(self.cluster.waiting) > LIMITS.waiting_pods:
            return NONE if not outcome.missing else None
        pool = node_pool(self.cluster.nodes[lost.nodes[0]]) if lost.scope is Scope.NODE else ""
        if pool and self._in_vain[pool] >= LIMITS.spare_in_vain:
            return None
        away = set(lost.nodes) if lost.scope is not Scope.NODE else set()
        # A pool's spot capacity is lost at once: spare nodes of the same pools would go with it.
        if lost.scope is Scope.SPOT:
            pools = {node_pool(self.cluster.nodes[place]) for place in lost.nodes}
            away |= {place for place in self._usd if node_pool(self.cluster.nodes[place]) in pools}
        shapes = frozenset(outcome.shapes.items())
        # Losses that leave the same pods pending have the same spare: tried before a search, since most nodes of a pool
        # are alike.
        spares = self._known.get(shapes)
        if spares and not away.intersection(place for place, _ in spares) and self._does(lost, spares):
            return spares
        best = self._added(lost, outcome, away)
        best = self._cheaper(lost, outcome, away, best)
        if best is not None:
            self._known[shapes] = best
        self._in_vain[pool] += best is None
        return best

    def _does(self, lost: _Lost, spares: Spares) -> bool:
        return self.player.plays < self._most and not self.player.lose(lost.nodes, spares).waiting

    def _takers(self, shape: Shape, away: set[int], near: str) -> list[tuple[int, int]]:
        """(node to be like, pods of the shape that such a node takes), the cheapest and nearest first."""
        takers = []
        for place, room in self._room.items():
            if place in away or place not in shape.candidates:
                continue
            asks = {self.cluster.resources[row]: amount for row, amount in shape.asks if amount}
            seats = min((room.get(name, 0) // amount for name, amount in asks.items()), default=1)
            if seats:
                takers.append((place, seats))
        return sorted(
            takers,
            key=lambda taker: (*self._cost(((taker[0], 1),)), zone(self.cluster.nodes[taker[0]]) != near, taker[0]),
        )

    def _added(self, lost: _Lost, outcome: LossOutcome, away: set[int]) -> Spares | None:
        """Node after node for who is left waiting; then as many fewer as do."""
        near, spares, now = zone(self.cluster.nodes[lost.nodes[0]]), dict[int, int](), outcome
        for _ in range(LIMITS.spare_steps):
            if not now.waiting:
                break
            shape = max(
                now.shapes,
                key=lambda missing_shape: (tuple(sorted(missing_shape.asks, reverse=True)), missing_shape.namespace),
            )
            takers = self._takers(shape, away, near)
            if not takers or self.player.plays >= self._most:
                return None
            place, seats = min(takers, key=lambda taker: self._cost(((taker[0], ceil(now.shapes[shape] / taker[1])),)))
            spares[place] = spares.get(place, 0) + ceil(now.shapes[shape] / seats)
            now = self.player.lose(lost.nodes, tuple(sorted(spares.items())))
        return None if now.waiting else self._fewer([lost], tuple(sorted(spares.items())))

    def _fewer(self, losses: Sequence[_Lost], spares: Spares) -> Spares:
        """One node less of a pool, the dearest first, as long as that does."""
        for place, _ in sorted(spares, key=lambda spare: self._cost(((spare[0], 1),)), reverse=True):
            while place in dict(spares):
                less = tuple((node, many - (node == place)) for node, many in spares if many > (node == place))
                if not less or not all(self._does(lost, less) for lost in losses):
                    break
                spares = less
        return spares

    def _cheaper(self, lost: _Lost, outcome: LossOutcome, away: set[int], best: Spares | None) -> Spares | None:
        """Few nodes of one pool alone."""
        near = zone(self.cluster.nodes[lost.nodes[0]])
        shapes = {place for shape in outcome.shapes for place, _ in self._takers(shape, away, near)}
        for place in sorted(shapes, key=lambda node: self._cost(((node, 1),))):
            for many in range(1, LIMITS.spare_of_one_pool + 1):
                alone: Spares = ((place, many),)
                if best is not None and self._cost(alone) >= self._cost(best):
                    break
                if self._does(lost, alone):
                    best = alone
                    break
        return best

    def for_each(self, alone: Sequence[tuple[_Lost, LossOutcome, Spares | None]]) -> tuple[Spares, bool]:
        """What does for any one of the losses: one is there at a time, so that they share it; and whether it does for all."""
        broken = [(lost, spares) for lost, outcome, spares in alone if outcome.missing]
        most: dict[int, int] = {}
        for _, spares_of_loss in broken:
            for place, many in spares_of_loss or ():
                most[place] = max(most.get(place, 0), many)
        spares = tuple(sorted(most.items()))
        if not spares:
            return NONE, not broken
        covered = [lost for lost, spares_of_loss in broken if spares_of_loss]
        is_sure = all(self._does(lost, spares) for lost in covered)
        # The largest count of each pool is enough for every loss, but one loss's spare may serve another: fewer are
        # tried.
        spares = self._fewer(covered, spares) if is_sure else spares
        return spares, is_sure and len(covered) == len(broken)

    def spares(self, spares: Spares | None) -> tuple[Spare, ...]:
        """Spare nodes as records for people: pool, number, price."""
        spare_list = []
        for place, many in spares or ():
            node, price = self.cluster.nodes[place], self._usd[place]
            spare_list.append(
                Spare(pool=node_pool(node) or NO_POOL, zone=zone(node), nodes=many, like=node.name,
                      usd_per_month=None if price is None else many * price)
            )  # fmt: skip
        return tuple(spare_list)

    def manifests(self, spares: Spares) -> tuple[tuple[str, str], ...]:
        """What keeps these nodes, to be copied."""
        return manifests([(self.cluster.nodes[place], self._room[place], many) for place, many in spares])


# ── upgrades ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _upgrades(cluster: Cluster, limits: Sequence[PoolLimits]) -> Iterator[Upgrade]:
    """Each pool with surge as it is set, else GKE's default, and blue-green."""
    for name in dict.fromkeys(filter(None, map(node_pool, cluster.nodes))):
        pool_limits = [limit for limit in limits if limit.name == name]
        for strategy in UpgradeStrategy:
            stated_upgrade = next(
                (limit.upgrade for limit in pool_limits if limit.upgrade and limit.upgrade.strategy is strategy), None
            )
            upgrade = stated_upgrade or UpgradeSettings(strategy=strategy)
            is_surge = strategy is UpgradeStrategy.SURGE
            value = f"surge:{upgrade.max_surge},unavailable:{upgrade.max_unavailable}" if is_surge else ""
            pool_settings = PoolLimits(name=name, source=LimitSource.AUTOSCALER_STATUS, upgrade=upgrade)
            (step,) = apply(cluster, [Change(kind=ChangeKind.UPGRADE, target=name, value=value)], [pool_settings]).steps
            garbage_collector.clear_up()  # what playing it left in cycles
            yield Upgrade(
                pool=name, strategy=strategy, is_done=step.is_done, budgets=step.budgets, sentence=step.sentence,
                is_known=step.is_known,
            )  # fmt: skip


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────
_NOUNS: Final = {
    Scope.ZONE: "zone",
    Scope.RACK: "rack or NVLink domain",
    Scope.SPOT: "pool of spot nodes",
}


def _sentence(outcome: Survival) -> str:
    """``12 of 24 nodes are single points of failure: if one fails, some pods stay pending. Of 17 GPU nodes, 12. …``."""
    nodes, broken = outcome.nodes(), outcome.nodes(broken=True)
    if not nodes:
        return outcome.headline
    parts = [outcome.headline]
    if broken:
        gpus = outcome.nodes(with_gpus=True)
        broken_gpus = outcome.nodes(broken=True, with_gpus=True)
        parts = [f"{outcome.headline}: if one fails, some pods stay pending"]
        if 0 < gpus < nodes:
            parts.append(f"of {count(gpus, 'GPU node')}, {broken_gpus:,}")
    for scope, noun in _NOUNS.items():
        scope_losses = [loss for loss in outcome.losses if loss.scope is scope]
        worst = max(scope_losses, key=lambda loss: loss.missing, default=None)
        if worst is not None and worst.is_broken:
            parts.append(f"worst {noun}: {worst.name}, {count(worst.missing, 'pod')}")
    if outcome.spare:
        price = "" if outcome.usd_per_month is None else f"; {usd(outcome.usd_per_month)} a month"
        number = sum(spare.nodes for spare in outcome.spare)
        in_pools = listing([f"{spare.nodes:,} {spare.pool}" for spare in outcome.spare], None)
        covers = f"{plural(number, 'covers', 'cover')} the loss of {'any one node' if outcome.is_for_all else 'some of them'}"
        parts.append(f"{count(number, 'spare node')} ({in_pools}{price}) {covers}")
    unknown = sum(loss.unknown for loss in outcome.losses if loss.scope is Scope.NODE)
    if outcome.too_large:
        parts.append(f"too large to be played: {listing(outcome.too_large)}")
    if unknown:
        parts.append(f"not known for {count(unknown, 'pod')}: whether they come back")
    return ". ".join([parts[0], *(f"{part[0].upper()}{part[1:]}" for part in parts[1:])])


def spare_words(spare: Iterable[Spare]) -> str:
    """``1 in gpu-t4 ($438 a month)``; "" for none."""
    return ", ".join(
        f"{spare_nodes.nodes:,} in {spare_nodes.pool}"
        + ("" if spare_nodes.usd_per_month is None else f" ({usd(spare_nodes.usd_per_month)} a month)")
        for spare_nodes in spare
    )


def whose_words(shortfalls: Iterable[Fewer]) -> str:
    """``2 of prod/web, 1 of dev/api``; of groups that aren't whole, that none of their pods works."""
    return listing([f"{fewer.pods:,} of {short_name(fewer.workload)}{_torn(fewer)}" for fewer in shortfalls])


def _torn(fewer_pods: Fewer) -> str:
    if not fewer_pods.groups:
        return ""
    groups = "a group" if fewer_pods.groups == 1 else f"{fewer_pods.groups:,} groups"
    return f" ({groups} of {fewer_pods.group_size} pods {plural(fewer_pods.groups, 'is', 'are')} not whole)"


def notes(outcome: Survival) -> list[str]:
    """What the answer counts, and what it doesn't."""
    at_once = (
        "A lost node is gone at once with its pods; PodDisruptionBudgets don't apply. Times count from there: where a node only stops "
        "answering, its pods stay for 300 s by default."
    )
    one_draw = "Each loss is played once, in one of the ways in which kube-scheduler may choose among equals: another may end otherwise."
    note_list = [at_once, one_draw]
    if any(not loss.is_survived for loss in outcome.losses):
        note_list.append(
            "Spare nodes are there before the loss, and today's pending pods take them first. The spare is the cheapest that was found; "
            "no autoscaler adds any."
        )
    if unattached := max((loss.unattached for loss in outcome.losses), default=0):
        waits = f"{plural(unattached, 'has', 'have')} a node and {plural(unattached, 'waits', 'wait')} there {VOLUME_ELSEWHERE}"
        note_list.append(f"Of a loss up to {count(unattached, 'pod')} {waits}: more nodes don't help.")
    note_list += [
        f"No {several(kind)} were read: whether one holds an upgrade back isn't known." for kind in outcome.unread
    ]
    if any(not together.is_every for together in outcome.together):
        note_list.append("Of pools marked so not every choice of nodes was played.")
    return [*note_list, *(str(doubt.sentence) for doubt in outcome.doubts)]
