"""Spot savings of the whole cluster: which workloads move, which nodes go, which spot nodes come.

The figures are of whole nodes. On-demand nodes alike (pool, machine type, prices) are one pool; workloads that may go leave
it one after another for new spot nodes like its own, and what stays is packed more tightly (`planner.spot.node_consolidation`, with
the scheduler's filters). What packing frees with nothing on spot is told apart. A pool's workloads leave in the order of
what each saves by itself per pod-hour at risk, and only as far as that saves something.

    on demand = kept + freed          saved = freed by moving − spot nodes that come

What a pool's moves free and bring is shared out among them by what each bears of the pool's bill, whatever their order; no
move saves more than it bears: what is left over was idle, and has no owner. `in_whole` is what one workload has of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import ceil, inf
from typing import Any, Final

import numpy as np

from planner.ground import garbage_collector, parallel_parts
from planner.ground.errors import NotKnownError
from planner.ground.percentiles import percentiles
from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOSTNAME, HOURS_PER_MONTH, ZONE
from planner.ground.words import Text, count, plural, usd
from planner.kubernetes import shell_commands
from planner.kubernetes.clouds import AS_SPOT, seller_of
from planner.kubernetes.node_properties import (
    NO_POOL,
    arrival_seconds,
    gpu_model,
    is_spot,
    machine_type,
    node_pool,
    physical_gpus,
    region,
)
from planner.kubernetes.object_records import EMPTY, FrozenMap, Node, Pod, Snapshot
from planner.kubernetes.requests import requested_gpus
from planner.pricing.allocation import AllocationKind, Bought, Cents, RequestedShare, allocated_cents, bought, shares
from planner.pricing.cent_rounding import shared_out
from planner.pricing.flexible_commitments import FLEXIBLE, flexible_usd_per_hour
from planner.pricing.machine_price import OWN_BILL
from planner.pricing.node_pool_costs import ClusterCost, NodeCost, cluster_cost
from planner.pricing.node_price import price_node, refresh_commands, unsold
from planner.pricing.price_book import PartKind, Price, PriceBook, Provisioning
from planner.pricing.price_history import move_days, spot_moves
from planner.pricing.projected_bill import NAMESPACE, WORKLOAD, asking_pods, cost_cluster, held_by_node, holders
from planner.rollout.prepared_change import compiled
from planner.spot.assumptions import Assumptions, Capacity, Fallback
from planner.spot.economics import expected_saved_usd
from planner.spot.interruption import mean_gap_hours, mean_life_hours
from planner.spot.monte_carlo import moving_apart
from planner.spot.node_consolidation import Packing, PoolDeparture, Repacked, nodes_alike
from planner.spot.purchase_option_comparison import PAID, SPENT, STEADY, SUSTAINED, Way, marked, way
from planner.spot.savings_inputs import job_hours, pods_to_a_node, rates_of, workloads
from planner.spot.suitability import (
    Fitness,
    Suitability,
    check_workload,
    guess_gang,
    pods_by_workload,
    protected,
    why_unsuitable,
)

# Workloads × nodes of a pool up to which each is tried by itself and leaves by itself; above, they leave in batches.
_ONE_BY_ONE: Final = 600
_BATCHES: Final = 2
_OF_MONTHS: Final = frozenset({"runs", "seed"})  # of simulated months, of which the whole has none


class Move(Record):
    """One workload leaving one pool, USD a month.

    `saved_usd`: its part of what the pool's moves save together; `expected_usd` less what interruptions and moves of the spot
    price cost in the mean; `alone_usd`: by itself, whole nodes only; `repacked_usd`: by itself, the rest of the pool packed
    more tightly (None: not worked out). `risk_pod_hours`: pod-hours a month that aren't Ready, expected.
    """

    workload: str
    fitness: Fitness
    node_pool: str
    pods: int
    freed_nodes: float  # a part where several workloads leave a pool
    spot_nodes: float
    freed_usd: float
    spot_usd: float
    saved_usd: float
    expected_usd: float
    alone_usd: float | None
    repacked_usd: float | None
    risk_pod_hours: float
    is_worth_it: bool  # it is part of the whole
    p5_usd: float = 0.0  # as `expected_usd`, in months with the dearest and the cheapest spot prices of twenty
    p95_usd: float = 0.0
    place: int = 0  # in the order of all moves, from 1


class Bearer(Record):
    """What a namespace bears, or what is idle, before and after; USD a month in whole cents.

    `saved_usd`: by how much less it bears, packing included, before losses. `expected_usd`: what its workloads' moves save, expected, as
    the rows of the moves have it; both add up to the sums of the whole.
    """

    name: str
    share: AllocationKind
    on_demand_usd: float
    kept_usd: float
    freed_usd: float
    spot_before_usd: float
    spot_after_usd: float
    saved_usd: float
    expected_usd: float = 0.0


class FleetSavings(Record):
    """The cluster, USD a month. `on_demand_usd` = `kept_usd` + `freed_usd`, to the cent.

    Attributes
    ----------
    bill_usd : all nodes with a price, after sustained use
    freed_usd : of on-demand nodes that go; of it `packing_usd` go before anything moves to spot
    spot_usd : of spot nodes that come
    packing_drains : the commands that empty those, one after another; their pods fit the other `packing_of` nodes of the same pools
    saved_usd : `freed_usd` − `packing_usd` − `spot_usd`
    interruptions_usd : what lost work, restarts and gaps are expected to cost of that
    moving_prices_usd : what moves of the spot price are expected to cost of that
    expected_usd : what is left; `p5_usd` to `p95_usd` in 9 of 10 months, as spot prices move
    idle_usd : of `saved_usd`, what is no workload's: capacity that was not requested
    moves : in order, most saved per pod-hour at risk first; then those that would save nothing
    bearers : namespaces and what is idle, before and after
    """

    sentence: Text
    bill_usd: float
    on_demand_usd: float
    kept_usd: float
    freed_usd: float
    packing_usd: float
    spot_usd: float
    saved_usd: float
    interruptions_usd: float
    moving_prices_usd: float
    expected_usd: float
    p5_usd: float
    p95_usd: float
    idle_usd: float
    on_demand_nodes: int
    unpriced_nodes: int
    no_spot_price_nodes: int  # of `on_demand_nodes`: they stay where they are, as it is not known what they would save
    freed_nodes: tuple[str, ...]
    packing_nodes: tuple[str, ...]
    spot_nodes: int
    moves: tuple[Move, ...]
    bearers: tuple[Bearer, ...]
    kept_off: tuple[tuple[str, str], ...]  # workload, why it stays where it is
    ways: tuple[Way, ...]  # every way of buying the on-demand nodes
    workloads: tuple[str, ...]  # all that were looked at
    fitness: tuple[Fitness, ...]  # … of each
    borne: FrozenMap[float]  # workload → what it bears of the on-demand nodes' bill, without what is idle
    as_of: str
    packing_of: int = 0  # nodes of the pools that packing frees some of
    packing_drains: tuple[str, ...] = ()
    is_of_log: bool = True  # on-demand nodes with a price on spot: the log of price changes is of their cloud


class _NodeKind(Record):
    """Nodes alike. Month: after sustained use."""

    name: str
    nodes: tuple[int, ...]
    template: Node
    month_usd: float
    spot_month_usd: float
    demand: Price
    spot_moves: tuple[float, float, float]  # of the spot price, over its age and a month: in the mean, and P5 and P95

    def moved_usd(self, spot_usd: float) -> tuple[float, float, float]:
        """What moves of the price add to `spot_usd`: in the mean, and P5 and P95."""
        mean, p5, p95 = self.spot_moves
        return spot_usd * mean, spot_usd * p5, spot_usd * p95


class _Risk(Record):
    """What interruptions cost of one pod, a month; `preemptible_usd` where no node lives longer than 24 hours."""

    usd: float
    preemptible_usd: float
    pod_hours: float
    pods_to_a_node: int


class _Exact(Record):
    """A move before it is rounded to cents."""

    move: Move
    kind: _NodeKind
    risk_usd: float
    preemptible_risk_usd: float

    def with_part(self, freed_usd: float, spot_usd: float, freed_nodes: float, spot_nodes: float) -> _Exact:
        """The same move with its part of what the pool's moves free and bring."""
        saved = freed_usd - spot_usd
        expected = saved - self.risk_usd - self.kind.moved_usd(spot_usd)[0]
        part = replace(
            self.move, freed_usd=freed_usd, spot_usd=spot_usd, saved_usd=saved, expected_usd=expected,
            freed_nodes=freed_nodes, spot_nodes=spot_nodes,
        )  # fmt: skip
        return replace(self, move=part)


class _Prices:
    """The prices of nodes in other ways than their own, looked up once for nodes alike."""

    def __init__(self, book: PriceBook) -> None:
        self.book = book
        self._known: dict[object, Price] = {}

    def of(self, node: Node, own: Price, way: Provisioning) -> Price:
        """The price of `node`, bought in this way; its own price is `own`."""
        disks = sum(part.quantity for part in own.parts if part.kind is PartKind.LOCAL_SSD)
        machine = (own.machine_type, own.region_id, own.gpu_model, own.gpu_count, disks, way)
        if machine not in self._known:
            self._known[machine] = price_node(self.book, node, way).price
        return self._known[machine]


class _Plan(Record, kw_only=False):
    """Every pool repacked (`kinds` and `done` in one order), and the moves of all of them in order; `demand`: nodes on demand."""

    snapshot: Snapshot
    prices: _Prices
    cost: ClusterCost
    demand: Sequence[NodeCost]
    kinds: Sequence[_NodeKind]
    done: Sequence[Repacked]
    moves: Sequence[_Exact]


def fleet_savings(snapshot: Snapshot, book: PriceBook, assumptions: Mapping[str, Any]) -> FleetSavings:
    """The whole cluster's savings by repacking; `assumptions` are assumptions for all workloads, as for one. Without any it is worked out
    once: each workload's part of it is asked for too.

    Raises
    ------
    NotKnownError
        When no node has a price.
    """
    assumptions = {name: value for name, value in assumptions.items() if name not in _OF_MONTHS}
    return (
        _worked_out(snapshot, book, assumptions)
        if assumptions
        else snapshot.derived.once(_worked_out, snapshot, book, EMPTY)
    )


@garbage_collector.resting()
def _worked_out(snapshot: Snapshot, book: PriceBook, asked: Mapping[str, Any]) -> FleetSavings:
    cost, pods = cost_cluster(book, snapshot), pods_by_workload(snapshot)
    if cost.unpriced and not cost.nodes:
        raise NotKnownError(
            f"what spot would save isn't known: none of the {count(len(snapshot.nodes), 'node')} has a price; {str(cost.unpriced[0].sentence).removeprefix('no price: ')}",
            fix="Give prices of your own as a CSV",
        )
    fitness = {
        workload.key: check_workload(
            snapshot,
            workload,
            job_minutes=asked.get("job_minutes"),
            pods=pods.get(workload.key, ()),
            with_cures=False,
            window_seconds=asked.get("window_seconds"),
        )
        for workload in workloads(snapshot)
    }
    prices = _Prices(book)
    demand = [node for node in cost.nodes if bought(node) is Bought.ON_DEMAND]
    kinds = tuple(_kinds(snapshot, prices, demand))
    if demand and not kinds:
        raise NotKnownError(
            f"what spot would save isn't known: none of the {count(len(demand), 'on-demand node')} has a price on spot "
            f"({', '.join(sorted({node_cost.node.price.machine_type for node_cost in demand}))})",
            fix=f"Read it with {_refreshed(snapshot, {cost.node.node for cost in demand})}, or give prices of your own as a CSV",
        )
    kind_of = {snapshot.nodes[i].name: number for number, kind in enumerate(kinds) for i in kind.nodes}
    on_kind = {key: Counter(kind_of.get(pod.node_name) for pod in own) for key, own in pods.items()}
    going, kept_off = _who_goes(snapshot, fitness, pods, kinds)
    demanded = {node_cost.node.node for node_cost in demand}
    here = [{key: on_kind[key][number] for key in going} for number in range(len(kinds))]
    pools: list[Callable[[], Any]] = [
        partial(_left, snapshot, kind, pods_here, asked, fitness) for kind, pods_here in zip(kinds, here, strict=True)
    ]
    bearing: Callable[[], Any] = partial(_borne, snapshot, cost, demanded, kind_of)
    # Pools don't touch each other, so that each is packed by itself, on a core of its own where there is one.
    borne, *done = parallel_parts.each([bearing, *pools], lambda part: part())
    repacked = [repacking for repacking, _ in done]
    moves = _in_order(
        [
            _shared(moves, {key: usd for (key, n), usd in borne.items() if n == number})
            for number, (_, moves) in enumerate(done)
        ]
    )
    return _summed(_Plan(snapshot, prices, cost, demand, kinds, repacked, moves), kept_off, fitness, borne)


def _refreshed(snapshot: Snapshot, names: Container[str]) -> str:
    """What reads spot prices of the clouds of the nodes called so; where the list has none, the bill."""
    named_nodes = [node for node in snapshot.nodes if node.name in names]
    nodes = [node for node in named_nodes if (of := seller_of(node)) is None or not of.prices or of.lists_spot]
    commands_known = refresh_commands(nodes)
    return " and ".join(f'"{command}"' for command in commands_known) if commands_known else OWN_BILL


def _borne(
    snapshot: Snapshot, cost: ClusterCost, demand: Container[str], kind_of: Mapping[str, int]
) -> dict[tuple[str, int | None], float]:
    """(workload, its nodes' kind) → what it bears of on-demand nodes, USD a month in whole cents; what is idle has no owner."""
    nodes, holders_by_node = {node.name: node for node in snapshot.nodes}, held_by_node(snapshot, WORKLOAD)
    sums = defaultdict[tuple[str, int | None], int](int)
    for node, name, share, cents in shares(cost.nodes, nodes, holders_by_node):
        if share is AllocationKind.USED and node in demand:
            sums[name, kind_of.get(node)] += sum(cents)
    return {key: cents / 100 for key, cents in sums.items()}


def _shared(moves: list[_Exact], borne: Mapping[str, float]) -> list[_Exact]:
    """A pool's moves with their parts of what all of them free and bring, by what each bears of the pool's bill.

    None saves more than it bears: what is over goes to the others, and what no workload can have is left out.
    """
    chosen = [move for move in moves if move.move.is_worth_it]
    names = list(dict.fromkeys(exact.move.workload for exact in chosen))
    bears = {name: borne.get(name, 0.0) for name in names}
    whole = sum(bears.values())
    freed, spot = sum(exact.move.freed_usd for exact in chosen), sum(exact.move.spot_usd for exact in chosen)
    if not whole:
        return moves
    saved = min(freed - spot, whole)  # by the same part of each: a part of what it bears is never more than it
    nodes, new = (sum(getattr(exact.move, name) for exact in chosen) for name in ("freed_nodes", "spot_nodes"))
    exact_moves = []
    for exact in moves:
        part = bears.get(exact.move.workload, 0.0) / whole
        if exact.move.is_worth_it:
            exact = exact.with_part(part * (spot + saved), part * spot, part * nodes, part * new)
        exact_moves.append(exact)
    return exact_moves


def _kinds(snapshot: Snapshot, prices: _Prices, demand: Sequence[NodeCost]) -> Iterator[_NodeKind]:
    """On-demand nodes with both prices, alike in pool, machine and prices."""
    kinds: dict[str, tuple[object, NodeCost, Price]] = {}
    taken_at = snapshot.taken_at
    node_by_name = {node.name: node for node in snapshot.nodes}
    for cost in demand:
        node = node_by_name[cost.node.node]
        spot = prices.of(node, cost.node.price, Provisioning.SPOT)
        if spot.usd_per_hour is None:
            continue
        kind = (node_pool(node), machine_type(node), cost.cost.total, spot.usd_per_hour, physical_gpus(node))
        kinds[node.name] = (kind, cost, spot)
    for nodes in nodes_alike(snapshot.nodes, {name: kind for name, (kind, _, _) in kinds.items()}):
        template = snapshot.nodes[nodes[0]]
        _, cost, spot = kinds[template.name]
        yield _NodeKind(
            name=node_pool(template) or NO_POOL,
            nodes=tuple(nodes),
            template=template,
            month_usd=cost.cost.total,
            spot_month_usd=(spot.usd_per_hour or 0.0) * HOURS_PER_MONTH,
            demand=cost.node.price,
            spot_moves=_ends(spot_moves(prices.book.changes, move_days(spot.as_of, taken_at))),
        )


def _ends(moves: Sequence[float]) -> tuple[float, float, float]:
    """Mean, P5 and P95; nothing moves where no move is known."""
    p5, p95 = percentiles(moves, (5, 95)) if moves else (0.0, 0.0)
    return float(np.mean(moves)) if moves else 0.0, float(p5), float(p95)


def _who_goes(
    snapshot: Snapshot,
    fitness: Mapping[str, Suitability],
    pods: Mapping[str, tuple[Pod, ...]],
    kinds: Iterable[_NodeKind],
) -> tuple[set[str], tuple[tuple[str, str], ...]]:
    """Workloads that may leave an on-demand node, and why the others don't."""
    places = {snapshot.nodes[i].name for kind in kinds for i in kind.nodes}
    node_names = {node.name for node in snapshot.nodes}
    going, kept_off = set(), []
    for key, suitability in fitness.items():
        where = {pod.node_name for pod in pods.get(key, ()) if pod.node_name in node_names}
        if not where:
            kept_off.append((key, "holds no node now: nothing of the bill is its own"))
        elif suitability.fitness is Fitness.OPTED_OUT:
            kept_off.append((key, "kept off spot by its annotation"))
        elif suitability.fitness is Fitness.UNSUITABLE:
            kept_off.append((key, why_unsuitable(suitability.checks)))
        elif not where & places:
            kept_off.append((key, "runs on spot already, or on nodes without a price"))
        else:
            going.add(key)
    return going, tuple(kept_off)


# ── one pool ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _left(
    snapshot: Snapshot,
    kind: _NodeKind,
    here: Mapping[str, int],
    assumptions: Mapping[str, Any],
    fitness: Mapping[str, Suitability],
) -> tuple[Repacked, list[_Exact]]:
    """One pool after those have left that save something by leaving, and each leaving; `here`: workload → its pods in it."""
    movers = sorted((key for key, number in here.items() if number), key=lambda key: (-here[key], key))
    most = {key: most for key in movers if (most := _most_to_a_node(snapshot, key)) is not None}
    packing = Packing(compiled(snapshot), kind.nodes, movers, most)
    tightened, start = packing.tighten(), packing.mark
    losses = cache(partial(_lost, kind))  # alike workloads share one simulation of months
    risks = {key: _risk(snapshot, kind, key, here[key], fitness[key], assumptions, losses) for key in movers}
    one_by_one = len(movers) * len(kind.nodes) <= _ONE_BY_ONE
    alone = {key: _saved(kind, packing.alone(key, repacks=False)) for key in movers} if one_by_one else {}
    repacked = {key: _saved(kind, packing.alone(key)) for key in movers} if one_by_one else {}

    def rank(key: str) -> tuple[float, str]:
        gain = repacked.get(key, here[key] * (kind.month_usd - kind.spot_month_usd) / risks[key].pods_to_a_node)
        return -(gain - here[key] * risks[key].usd) / max(here[key] * risks[key].pod_hours, 1e-9), key

    ordered = sorted(movers, key=rank)
    size = 1 if one_by_one else ceil(len(ordered) / _BATCHES)
    steps: list[tuple[PoolDeparture, tuple[int, int, int]]] = []
    totals = [0.0]
    for batch in (tuple(ordered[i : i + size]) for i in range(0, len(ordered), size)):
        step = packing.leave(*batch)
        steps.append((step, packing.mark))
        lost = sum(here[key] * risks[key].usd for key in batch)
        lost += kind.moved_usd(len(step.opened) * kind.spot_month_usd)[0]
        totals.append(totals[-1] + _saved(kind, step) - lost)
    best = max(range(len(totals)), key=lambda i: (round(totals[i], 2), -i))
    if best < len(steps):
        packing.undo(steps[best - 1][1] if best else start)
    moves = [
        _move(kind, step, key, here, risks, fitness[key].fitness, alone, repacked, is_worth_it=i < best)
        for i, (step, _) in enumerate(steps)
        for key in step.workloads
    ]
    return packing.result(tightened, [step for step, _ in steps[:best]]), moves


def _most_to_a_node(snapshot: Snapshot, key: str) -> int | None:
    """How many of a workload's pods one spot node may take with it: so many as its disruption budget lets be missing, and where
    it asks to be spread over nodes, no more than share one now. None: nothing says."""
    workload, pods = snapshot.workload(key), pods_by_workload(snapshot).get(key, ())
    assert workload is not None
    limits = []
    if (allowed := protected(snapshot, key).allowed) is not None:
        limits.append(max(1, allowed))
    spec = workload.template.spec
    keys = [rule.topology_key for rule in spec.pod_anti_affinity] + [rule.topology_key for rule in spec.topology_spread]
    if HOSTNAME in keys:
        on = Counter(pod.node_name for pod in pods if pod.node_name)
        limits.append(max(on.values(), default=1))
    return min(limits, default=None)


def _saved(kind: _NodeKind, step: PoolDeparture) -> float:
    return len(step.freed) * kind.month_usd - len(step.opened) * kind.spot_month_usd


def _risk(
    snapshot: Snapshot,
    kind: _NodeKind,
    key: str,
    pods: int,
    fitness: Suitability,
    assumptions: Mapping[str, Any],
    lost: _Lost,
) -> _Risk:
    """What one of so many pods loses on spot, from the closed forms: nodes are billed all month, whatever runs on them. Pods of a gang
    all start again when one of their nodes goes."""
    workload = snapshot.workload(key)
    assert workload is not None
    start = fitness.start
    risk_inputs: dict[str, Any] = {"work": fitness.work, "window_seconds": float(fitness.window.seconds)}
    risk_inputs |= {"pod_start_seconds": round(start.seconds, 1)} if start else {}
    observed_hours = job_hours(snapshot, workload) if workload.traits.is_batch else {}
    risk_inputs |= {name: value for name, (value, _) in observed_hours.items() if name == "job_minutes"}
    each = pods_to_a_node(kind.template, workload)
    if guess_gang(workload)[0] and (nodes := ceil(pods / each)) > 1:
        zones = {snapshot.nodes[i].labels.get(ZONE, "") for i in kind.nodes}
        risk_inputs |= {"works_as_gang": True, "nodes": nodes, "zones": min(9, len(zones))}
    risk_inputs |= {name: value for name, value in assumptions.items() if name not in OF_ONE} | rates_of(assumptions)
    usd, preemptible_usd, pod_hours = lost(tuple(risk_inputs.items()))
    return _Risk(usd=usd / each, preemptible_usd=preemptible_usd / each, pod_hours=pod_hours, pods_to_a_node=each)


_Lost = Callable[[tuple[tuple[str, Any], ...]], tuple[float, float, float]]  # `_lost` of one kind of node


def _lost(kind: _NodeKind, risk_inputs: tuple[tuple[str, Any], ...]) -> tuple[float, float, float]:
    """What a node loses a month on spot and as a preemptible one, USD, and the hours in which a pod isn't Ready."""
    start = arrival_seconds(has_gpus=physical_gpus(kind.template) != 0)
    case = Assumptions(
        on_demand_usd_per_hour=kind.month_usd / HOURS_PER_MONTH,
        stand_in_usd_per_hour=kind.demand.usd_per_hour,
        spot_usd_per_hour=kind.spot_month_usd / HOURS_PER_MONTH,
        **{"nodes": 1, "node_start_seconds": start, **dict(risk_inputs)},
    )
    usd, preemptible_usd = (
        max(
            0.0,
            kind.month_usd
            - kind.spot_month_usd
            - expected_saved_usd(assumptions, assumptions.hazard_per_hour) / case.nodes,
        )
        for assumptions in (case, replace(case, capacity=Capacity.PREEMPTIBLE))
    )
    life, gap = mean_life_hours(case), mean_gap_hours(case)
    if case.works_as_gang:  # any of its nodes, and any of its zones
        life = (
            1 / (moving_apart(case) * case.hazard_per_hour + case.zones * case.zone_hazard_per_hour)
            if life < inf
            else life
        )
    # a pod isn't Ready for a restart at each loss, and for the gap where nothing stands in
    away = case.restart_hours + (gap if case.fallback is Fallback.WAIT else 0.0)
    hours = min(HOURS_PER_MONTH, HOURS_PER_MONTH / (life + gap) * away) if life + gap < float("inf") else 0.0
    return usd, preemptible_usd, hours


# assumptions that are about one workload's nodes
OF_ONE: Final = frozenset(
    {
        *("nodes", "base_nodes", "needed_nodes", "committed_nodes", "hours_per_month", "works_as_gang", "capacity"),
        *("on_demand_usd_per_hour", "stand_in_usd_per_hour", "spot_usd_per_hour", "gpus_per_node"),
    }
)


def _move(
    kind: _NodeKind,
    step: PoolDeparture,
    key: str,
    here: Mapping[str, int],
    risks: Mapping[str, _Risk],
    fitness: Fitness,
    alone: Mapping[str, float],
    repacked: Mapping[str, float],
    *,
    is_worth_it: bool,
) -> _Exact:
    """A workload of a batch has the batch's nodes by its share of the nodes that the batch's pods fill."""
    filled = {workload: here[workload] / risks[workload].pods_to_a_node for workload in step.workloads}
    share = filled[key] / sum(filled.values())
    freed, spot = share * len(step.freed) * kind.month_usd, share * len(step.opened) * kind.spot_month_usd
    risk = here[key] * risks[key].usd
    move = Move(
        workload=key,
        fitness=fitness,
        node_pool=kind.name,
        pods=here[key],
        freed_nodes=share * len(step.freed),
        spot_nodes=share * len(step.opened),
        freed_usd=freed,
        spot_usd=spot,
        saved_usd=freed - spot,
        expected_usd=freed - spot - risk - kind.moved_usd(spot)[0],
        alone_usd=round(alone[key], 2) if key in alone else None,
        repacked_usd=round(repacked[key], 2) if key in repacked else None,
        risk_pod_hours=here[key] * risks[key].pod_hours,
        is_worth_it=is_worth_it,
    )
    return _Exact(move=move, kind=kind, risk_usd=risk, preemptible_risk_usd=here[key] * risks[key].preemptible_usd)


def _in_order(pools: Sequence[list[_Exact]]) -> tuple[_Exact, ...]:
    """The moves of all pools, most saved per pod-hour at risk first; within a pool in its own order."""
    waiting = [[move for move in moves if move.move.is_worth_it] for moves in pools]
    ordered: list[_Exact] = []
    while any(waiting):
        firsts = (moves for moves in waiting if moves)
        first = max(firsts, key=lambda moves: moves[0].move.expected_usd / max(moves[0].move.risk_pod_hours, 1e-9))
        ordered.append(first.pop(0))
    ordered += (exact_move for moves in pools for exact_move in moves if not exact_move.move.is_worth_it)
    return tuple(replace(exact, move=replace(exact.move, place=place)) for place, exact in enumerate(ordered, start=1))


# ── the whole ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _summed(
    plan: _Plan,
    kept_off: tuple[tuple[str, str], ...],
    fitness: Mapping[str, Suitability],
    borne: Mapping[tuple[str, int | None], float],
) -> FleetSavings:
    snapshot, cost, demand = plan.snapshot, plan.cost, plan.demand
    kinds, done, moves = plan.kinds, plan.done, plan.moves
    packed = tuple(node for repacked in done for node in repacked.tightened)
    freed = packed + tuple(node for repacked in done for step in repacked.steps for node in step.freed)
    was = allocated_cents(cost.nodes, {node.name: node for node in snapshot.nodes}, held_by_node(snapshot, NAMESPACE))
    now = allocated_cents(*_after(plan, set(freed)))
    on_demand, staying_cents = _of(was, Bought.ON_DEMAND), _of(now, Bought.ON_DEMAND)
    spot = _of(now, Bought.OTHER) - _of(was, Bought.OTHER)
    month = {node_cost.node.node: node_cost.cost.total for node_cost in demand}
    freed_cents, packing = on_demand - staying_cents, round(100 * sum(month[node] for node in packed))
    chosen = [move for move in moves if move.move.is_worth_it]
    # What no move claims: half a freed node that was idle before belongs to nobody's move, and stands as a line of its own.
    idle = round((freed_cents - packing - spot) / 100 - sum(exact.move.saved_usd for exact in chosen), 2)
    found_moves = tuple(
        _in_cents(moves, (freed_cents - packing) / 100 - idle, spot / 100, len(freed) - len(packed), done)
    )
    interruptions = round(sum(round(exact.risk_usd, 2) for exact in chosen), 2)
    saved = (freed_cents - packing - spot) / 100
    moved, p5, p95 = (
        round(sum(round(exact.kind.moved_usd(exact.move.spot_usd)[i], 2) for exact in chosen), 2) for i in range(3)
    )
    sums: dict[str, float] = defaultdict(float)
    for (name, _), usd_a_month in borne.items():
        sums[name] = round(sums[name] + usd_a_month, 2)
    unused = round(sum(commitment.usd_per_month or 0.0 for commitment in cost.unused_commitments), 2)
    savings = FleetSavings(
        sentence=Text(),
        bill_usd=sum(map(sum, was.values())) / 100 + unused,
        on_demand_usd=on_demand / 100,
        kept_usd=staying_cents / 100,
        freed_usd=freed_cents / 100,
        packing_usd=packing / 100,
        spot_usd=spot / 100,
        saved_usd=saved,
        interruptions_usd=interruptions,
        moving_prices_usd=moved,
        expected_usd=round(saved - interruptions - moved, 2),
        p5_usd=round(saved - interruptions - p95, 2),
        p95_usd=round(saved - interruptions - p5, 2),
        idle_usd=idle,
        on_demand_nodes=len(demand),
        unpriced_nodes=sum(len(group.nodes) for group in cost.unpriced),
        no_spot_price_nodes=len(demand) - sum(len(kind.nodes) for kind in kinds),
        freed_nodes=freed,
        packing_nodes=packed,
        packing_of=sum(len(kind.nodes) for kind, repacked in zip(kinds, done, strict=True) if repacked.tightened),
        packing_drains=tuple(
            shell_commands.command(
                "kubectl",
                "drain",
                shell_commands.positional(node, "NODE"),
                "--ignore-daemonsets",
                "--delete-emptydir-data",
            )
            for node in packed
        ),
        spot_nodes=sum(len(repacked.new_nodes) for repacked in done),
        moves=found_moves,
        bearers=tuple(_bearers(_by_way(was), _by_way(now), found_moves, idle)),
        kept_off=kept_off,
        ways=_ways(plan, (staying_cents + spot) / 100, interruptions + moved),
        borne=FrozenMap(sums),
        workloads=tuple(fitness),
        fitness=tuple(suitability.fitness for suitability in fitness.values()),
        as_of=cost.as_of,
        is_of_log=all((of := seller_of(kind.template)) is not None and of.has_price_log for kind in kinds),
    )
    return replace(savings, sentence=Text(_sentence(savings)))


def _of(cents: Mapping[tuple[Bought, str, AllocationKind], Cents], way: Bought) -> int:
    return sum(sum(parts) for (purchase, _, _), parts in cents.items() if purchase is way)


def _in_cents(
    moves: Sequence[_Exact], freed_usd: float, spot_usd: float, freed_nodes: int, done: Sequence[Repacked]
) -> Iterator[Move]:
    """The moves in whole cents (and hundredths of nodes); of those that are part of the whole they add up to it."""
    chosen = [move.move for move in moves if move.move.is_worth_it]
    totals = {"freed_usd": freed_usd, "spot_usd": spot_usd, "freed_nodes": float(freed_nodes)}
    totals["spot_nodes"] = float(sum(len(repacked.new_nodes) for repacked in done))
    parts = {name: iter(shared_out([getattr(m, name) for m in chosen], total)) for name, total in totals.items()}
    for move in moves:
        gone_usd, come_usd, nodes, new = (
            next(parts[name]) / 100 if move.move.is_worth_it else round(getattr(move.move, name), 2) for name in parts
        )
        saved, risk = round(gone_usd - come_usd, 2), round(move.risk_usd, 2)
        mean, p5, p95 = (round(moved, 2) for moved in move.kind.moved_usd(move.move.spot_usd))
        yield replace(
            move.move,
            freed_usd=gone_usd,
            spot_usd=come_usd,
            freed_nodes=nodes,
            spot_nodes=new,
            saved_usd=saved,
            expected_usd=round(saved - risk - mean, 2),
            p5_usd=round(saved - risk - p95, 2),
            p95_usd=round(saved - risk - p5, 2),
        )


_COMMITTED: Final = {"1-year commitment": Provisioning.COMMITMENT_1Y, "3-year commitment": Provisioning.COMMITMENT_3Y}
_BINDING: Final[dict[str, Provisioning | int]] = {**_COMMITTED, **FLEXIBLE}
_QUEUES: Final = "none for up to 7 days; how long one queues isn't known"
_LIKE_SPOT: Final = "the moves in their order, and what each workload's checklist says"


def _ways(plan: _Plan, repacked_usd: float, interruptions_usd: float) -> tuple[Way, ...]:
    """The on-demand nodes bought in each way, node for node; what has no price in a way stays on demand, and is named. The mix
    packs each pool more tightly and buys it in the cheapest way that is known for it. No nodes, no ways."""
    demand, node_by_name = plan.demand, {node.name: node for node in plan.snapshot.nodes}
    if not demand:
        return ()

    def each(node_cost: NodeCost, way: Provisioning | int) -> float | None:
        if isinstance(way, int):
            hour = flexible_usd_per_hour(node_cost.node.price, way)
            return None if hour is None else hour * HOURS_PER_MONTH
        price = plan.prices.of(node_by_name[node_cost.node.node], node_cost.node.price, way)
        return price.usd_per_month if price.is_sold else None

    def node_for_node(name: str, bought_as: Provisioning | int, risk: str, asks: str) -> Way:
        amounts = [each(cost, bought_as) for cost in demand]
        lacking = [cost for cost, amount in zip(demand, amounts, strict=True) if amount is None]
        if len(lacking) == len(demand):
            return way(name, None, f"no price of {len(lacking):,} of {count(len(amounts), 'node')}", asks)
        if lacking:
            machines = ", ".join(sorted({cost.node.price.machine_type for cost in lacking}))
            stay = sum(cost.cost.total for cost in lacking)
            risk_text = f"{risk}. No price of {len(lacking):,} of {count(len(amounts), 'node')} ({machines}): they stay on demand ({usd(stay)})"
            return way(name, sum(amount or 0.0 for amount in amounts) + stay, risk_text, asks, binds=risk == PAID)
        return way(name, sum(amount or 0.0 for amount in amounts), risk, asks, binds=risk == PAID)

    effective, listed = (
        sum(costs) for costs in zip(*((cost.cost.total, cost.list_usd_per_month) for cost in demand), strict=True)
    )
    nowhere = set.intersection(*(set(unsold(node_by_name[cost.node.node])) for cost in demand))
    chosen = [move for move in plan.moves if move.move.is_worth_it]
    # Preemptible nodes end after 24 h at the latest: the same moves, with that loss each day.
    capped = sum(exact.preemptible_risk_usd + exact.kind.moved_usd(exact.move.spot_usd)[0] for exact in chosen)
    ways = [
        way("on demand, list price", listed, "none beyond host maintenance", "nothing"),
        *([way(SUSTAINED, effective, "none beyond host maintenance", "nothing")] if round(listed - effective, 2) else ()),
        *(node_for_node(name, bought_as, PAID, STEADY) for name, bought_as in _COMMITTED.items()),
        *(node_for_node(name, years, PAID, SPENT) for name, years in FLEXIBLE.items() if any(each(node_cost, years) for node_cost in demand)),
        way("spot, repacked", repacked_usd, f"interruptions and moving prices are expected to cost {usd(interruptions_usd)}", _LIKE_SPOT,
            interruptions_usd),
        *([way("preemptible, repacked", repacked_usd, f"interruptions and moving prices are expected to cost {usd(capped)}",
            f"{_LIKE_SPOT}; and no node lives longer than 24 h", capped)] if Provisioning.PREEMPTIBLE not in nowhere else ()),
        *([node_for_node("flex-start", Provisioning.FLEX_START, _QUEUES,
            "that work may wait for capacity, and start anew after 7 days")] if Provisioning.FLEX_START not in nowhere else ()),
    ]  # fmt: skip
    priced = {cost.node.node: cost for cost in demand}
    mixed = [_cheapest(plan, number, priced, each) for number in range(len(plan.kinds))]
    other_usd = effective - sum(kind.month_usd * len(kind.nodes) for kind in plan.kinds)
    if mixed:
        usd_a_month = other_usd + sum(amount for _, amount, _, _ in mixed)
        risk = sum(lost for *_, lost in mixed)
        pools_text = "; ".join(f"{pool}: {name}" for pool, _, name, _ in mixed)
        ways.append(
            way("cheapest mix", usd_a_month - risk, f"interruptions and moving prices are expected to cost {usd(risk)}",
                f"what each of its ways asks. Each pool packed more tightly; {pools_text}", risk,
                binds=any(name in _BINDING for _, _, name, _ in mixed))
        )  # fmt: skip
    return marked(ways)


def _cheapest(
    plan: _Plan,
    number: int,
    priced: Mapping[str, NodeCost],
    each: Callable[[NodeCost, Provisioning | int], float | None],
) -> tuple[str, float, str, float]:
    """Pool, USD a month with what interruptions cost, the way, and that cost: of the pool packed more tightly."""
    kind, done = plan.kinds[number], plan.done[number]
    node_cost = priced[kind.template.name]
    remaining_nodes = len(kind.nodes) - len(done.tightened)
    ways: list[tuple[float, str, float]] = [(remaining_nodes * kind.month_usd, "on demand", 0.0)]
    for name, bought_as in (*_BINDING.items(), ("flex-start", Provisioning.FLEX_START)):
        if (price := each(node_cost, bought_as)) is not None:
            ways.append((remaining_nodes * price, name, 0.0))
    if done.steps:
        freed_nodes = sum(len(step.freed) for step in done.steps)
        lost = sum(move.risk_usd for move in plan.moves if move.kind.nodes == kind.nodes and move.move.is_worth_it)
        lost += kind.moved_usd(len(done.new_nodes) * kind.spot_month_usd)[0]
        spot = (remaining_nodes - freed_nodes) * kind.month_usd + len(done.new_nodes) * kind.spot_month_usd + lost
        ways.append((spot, "spot", lost))
    usd_a_month, name, lost = min(ways)
    return kind.name, usd_a_month, name, lost


def _after(plan: _Plan, freed: set[str]) -> tuple[list[NodeCost], dict[str, Node], dict[str, list[RequestedShare]]]:
    """What nodes cost, the nodes, and what is held of each, with everything moved; new nodes are like those that they replace,
    bought on spot. What is held is added up anew where a pod comes or goes."""
    snapshot, done = plan.snapshot, plan.done
    placed = {id(snapshot.pods[number]): node for repacked in done for number, node in repacked.placed.items()}
    nodes = {node.name: node for node in snapshot.nodes if node.name not in freed}
    costs = [node for node in plan.cost.nodes if node.node.node not in freed]
    for kind, repacked in zip(plan.kinds, done, strict=True):
        # A spot node is not in the input: its price is that of the node it replaces, with the spot label and without a uid.
        if repacked.new_nodes:
            labels = FrozenMap({**kind.template.labels, AS_SPOT[0]: AS_SPOT[1]})
            (like,) = cluster_cost(plan.prices.book, (replace(kind.template, uid="", labels=labels),), None).nodes
            costs += [replace(like, node=replace(like.node, node=name)) for name in repacked.new_nodes]
            nodes |= dict.fromkeys(repacked.new_nodes, kind.template)
    before = held_by_node(snapshot, NAMESPACE)
    others = {
        *placed.values(),
        *(snapshot.pods[number].node_name for repacking in done for number in repacking.placed),
    } | freed
    asking = [pod_request for pod_request in asking_pods(snapshot) if before is None or pod_request[1] in others]
    moved = ((pod, placed.get(id(pod), node), amounts) for pod, node, amounts in asking)
    holders_by_node = holders(snapshot, (pod_request for pod_request in moved if pod_request[1] not in freed))
    return (
        costs,
        nodes,
        holders_by_node | {node: node_holders for node, node_holders in (before or {}).items() if node not in others},
    )


_Cents = Mapping[tuple[str, AllocationKind], tuple[int, int]]
"""(name, share) → cents on on-demand nodes and on others."""


def _bearers(was: _Cents, now: _Cents, moves: Iterable[Move], idle_usd: float) -> Iterator[Bearer]:
    """Who bears what before and after, so that each column adds up to the sums of the whole. `idle_usd`: of what is saved, no workload's."""
    expected = Counter[tuple[str, AllocationKind]]({("", AllocationKind.IDLE): round(100 * idle_usd)})
    for move in moves:
        if move.is_worth_it:
            expected[move.workload.split("/")[1], AllocationKind.USED] += round(100 * move.expected_usd)
    names = sorted(
        {*was, *now}, key=lambda key: (list(AllocationKind).index(key[1]), -sum(was.get(key, (0, 0))), key[0])
    )
    for name, share in names:
        (demand, spot), (staying_cents, spot_after) = was.get((name, share), (0, 0)), now.get((name, share), (0, 0))
        yield Bearer(
            name=name or share.value,
            share=share,
            on_demand_usd=demand / 100,
            kept_usd=staying_cents / 100,
            freed_usd=(demand - staying_cents) / 100,
            spot_before_usd=spot / 100,
            spot_after_usd=spot_after / 100,
            saved_usd=(demand + spot - staying_cents - spot_after) / 100,
            expected_usd=expected[name, share] / 100,
        )


def _by_way(cents: Mapping[tuple[Bought, str, AllocationKind], Cents]) -> _Cents:
    """What is committed stays, and is paid, either way: left out."""
    sums: dict[tuple[str, AllocationKind], list[int]] = defaultdict(lambda: [0, 0])
    for (bought_as, name, share), amounts in cents.items():
        if bought_as is not Bought.COMMITTED:
            sums[name, share][bought_as is Bought.OTHER] += sum(amounts)
    return {key: (demand, spot) for key, (demand, spot) in sums.items()}


def gpus_leaving(snapshots: Iterable[Snapshot], book: PriceBook) -> dict[tuple[str, str], tuple[int, int]]:
    """GPU model and region → GPUs held on demand today that the plan moves to spot, and those of pods that go by themselves once the
    rollouts in flight are done; no moves of clusters of which no plan is known."""
    gpus_by_model: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for snapshot in snapshots:
        nodes = {node.name: node for node in snapshot.nodes if not is_spot(node)}
        moved = set(_moving_pods(snapshot, book))
        for place, uids in enumerate((moved, _surplus_pods(snapshot) - moved)):
            for pod in snapshot.pods if uids else ():
                if pod.uid in uids and (node := nodes.get(pod.node_name)) is not None:
                    gpus_by_model[gpu_model(node), region(node)][place] += requested_gpus(pod.spec)
    return {key: (moving, surplus) for key, (moving, surplus) in gpus_by_model.items()}


def _moving_pods(snapshot: Snapshot, book: PriceBook) -> Iterator[str]:
    """Uids of pods that the plan moves to spot."""
    try:
        plan = fleet_savings(snapshot, book, EMPTY)
    except NotKnownError:
        return
    nodes, own = {node.name: node for node in snapshot.nodes}, pods_by_workload(snapshot)
    for move in plan.moves:
        for pod in own.get(move.workload, ()) if move.is_worth_it else ():
            node = nodes.get(pod.node_name)
            # A move is of one workload out of one pool: its pods in other pools stay.
            if node is not None and (node_pool(node) or NO_POOL) == move.node_pool:
                yield pod.uid


def _surplus_pods(snapshot: Snapshot) -> set[str]:
    """Uids of pods on nodes that go by themselves: those that terminate, and those beyond their workload's replicas, the oldest first (a
    rolling update's surge, which a controller takes back once the new pods are Ready)."""
    uids = {pod.uid for pod in snapshot.pods if pod.holds_room and pod.deleted_at is not None}
    for key, pods in pods_by_workload(snapshot).items():
        workload = snapshot.workload(key)
        if workload is None or not workload.traits.has_replicas:
            continue
        staying = [pod for pod in pods if pod.holds_room and pod.uid not in uids]
        staying.sort(key=lambda pod: pod.created_at or 0.0)
        uids |= {pod.uid for pod in staying[: max(0, len(staying) - workload.replicas)]}
    return uids


class InWhole(Record):
    """What one workload has of the whole: the same figures wherever it is asked about. USD a month.

    `bears_usd`: its share of the on-demand nodes' bill, without what is idle; `freed_usd`, `spot_usd`: its part of nodes that go
    and come; `alone_usd`, `repacked_usd`: as of `Move`. `why`: it stays; "" where it moves.
    """

    bears_usd: float
    freed_usd: float
    spot_usd: float
    freed_nodes: float
    spot_nodes: float
    expected_usd: float
    p5_usd: float
    alone_usd: float | None
    repacked_usd: float | None
    node_pools: tuple[str, ...]
    why: str


def in_whole(fleet: FleetSavings, workloads: Iterable[str]) -> dict[str, InWhole]:
    """Each workload's part: of its moves that are worth it; where none is, of what they would come to."""
    moves: dict[str, list[Move]] = {key: [] for key in workloads}
    for move in fleet.moves:
        if move.workload in moves:
            moves[move.workload].append(move)
    kept_off = dict(fleet.kept_off)
    return {key: _part(own, fleet.borne.get(key, 0.0), kept_off.get(key)) for key, own in moves.items()}


def _part(every: Sequence[Move], bears_usd: float, kept_off: str | None) -> InWhole:
    worth = [move for move in every if move.is_worth_it]
    moves = worth or every

    def total(name: str) -> float:
        return float(round(sum(getattr(move, name) for move in moves), 2))

    sums: dict[str, Any] = {name: total(name) for name in ("freed_usd", "spot_usd", "freed_nodes", "spot_nodes")}
    sums |= {name: total(name) if worth else 0.0 for name in ("expected_usd", "p5_usd")}
    for name in ("alone_usd", "repacked_usd"):
        sums[name] = None if any(getattr(move, name) is None for move in every) else total(name)
    why = kept_off or ("" if worth else "moving it saves nothing")
    return InWhole(bears_usd=bears_usd, node_pools=tuple(move.node_pool for move in moves), why=why, **sums)


def _sentence(fleet: FleetSavings) -> str:
    chosen = [move for move in fleet.moves if move.is_worth_it]
    apart = (
        f" {count(fleet.unpriced_nodes, 'node')} without a price {plural(fleet.unpriced_nodes, 'is', 'are')} not in it."
        if fleet.unpriced_nodes
        else ""
    )
    if fleet.no_spot_price_nodes:
        number = fleet.no_spot_price_nodes
        apart += f" What {count(number, 'on-demand node')} without a price on spot would save isn't known: {plural(number, 'it stays', 'they stay')}."
    packing = (
        f"Without spot, packing more tightly saves {usd(fleet.packing_usd)} a month: {len(fleet.packing_nodes):,} of "
        f"{count(fleet.packing_of, 'node')} can be drained. "
        if fleet.packing_nodes
        else ""
    )
    packing_text = " beside that" if packing else ""
    if not chosen:
        return f"{packing}Moving to spot saves nothing of the {usd(fleet.bill_usd)} a month{packing_text}.{apart}"
    freed_nodes = len(fleet.freed_nodes) - len(fleet.packing_nodes)
    names = len({move.workload for move in chosen})
    best = next((way for way in fleet.ways if way.is_cheapest), None)
    best_name = (
        "a mix of all ways" if best is not None and best.name == "cheapest mix" else f"the {best.name}" if best else ""
    )
    bound = (
        f" {'Cheaper with a commitment' if best.binds else 'Cheaper still'}: {best_name} is expected to cost {usd(best.expected_usd or 0.0)} where "
        f"on demand costs {usd(fleet.on_demand_usd)}, {usd(fleet.on_demand_usd - (best.expected_usd or 0.0))} less."
        if best is not None and best.name != "spot, repacked"
        else ""
    )
    return (
        f"{packing}Spot would save {usd(fleet.expected_usd)} of the {usd(fleet.bill_usd)} a month{_band(fleet)}: {count(names, 'workload')} "
        f"{plural(names, 'moves', 'move')}, {freed_nodes} of {count(fleet.on_demand_nodes, 'on-demand node')} {plural(freed_nodes, 'goes', 'go')} "
        f"({usd(fleet.freed_usd - fleet.packing_usd)}), {count(fleet.spot_nodes, 'spot node comes', 'spot nodes come')} "
        f"({usd(fleet.spot_usd)}). Interruptions are expected to cost {usd(fleet.interruptions_usd)}{_moved(fleet)}."
        f"{bound}{apart}"
    )


def _band(fleet: FleetSavings) -> str:
    """``, in 9 of 10 months $9,704 to $20,862``: as far as spot prices move; without a log of them there is none."""
    return "" if fleet.p5_usd == fleet.p95_usd else f", in 9 of 10 months {usd(fleet.p5_usd)} to {usd(fleet.p95_usd)}"


def _moved(fleet: FleetSavings) -> str:
    """What moves of the spot price take."""
    if fleet.p5_usd == fleet.p95_usd:
        return ", subtracted already. How far spot prices move isn't in it: there is no log of them"
    as_whose = "" if fleet.is_of_log else ", as Google's moved: no other cloud's log is there,"
    return f", and moves of the spot price{as_whose} {usd(fleet.moving_prices_usd)}: both are subtracted already"
