"""What spot would save in the whole cluster: which workloads move, which nodes then go, which spot nodes come.

The figures are of whole nodes. On-demand nodes alike (pool, machine type, prices) are one pool; workloads that may go leave
it one after another for new spot nodes like its own, and what stays is packed more tightly (`planner.capacity.repack`, with
the scheduler's filters). What packing frees with nothing on spot is told apart. A pool's workloads leave in the order of
what each saves by itself per pod-hour at risk, and only as far as that saves something.

    on demand = kept + freed          saved = freed by moving − spot nodes that come
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Final

from planner import collector
from planner.capacity.repack import Leaving, Packing, Repacked, nodes_alike
from planner.kubernetes.nodes import arrival_seconds, machine_type, node_pool, physical_gpus
from planner.kubernetes.records import FrozenMap, Node, Pod, Snapshot
from planner.kubernetes.startup import learn_start
from planner.pricing.allocation import Held, Share, allocated_cents
from planner.pricing.cents import shared_out
from planner.pricing.cluster import ClusterCost, NodeCost, cluster_cost
from planner.pricing.model import Price, PriceBook, Provisioning
from planner.pricing.node import price_node
from planner.questions.costs import WORKLOAD, bound_pods, cost_cluster, held_by_node, holders, requested_by_node
from planner.questions.prepared import compiled
from planner.questions.spot_inputs import pods_to_a_node, rates_of, workloads
from planner.spot.assumptions import Assumptions, Fallback
from planner.spot.economics import expected_saved_usd
from planner.spot.interruption import gaps_of, mean_life_hours
from planner.spot.suitability import Fitness, Suitability, check_workload, pods_by_workload, why_unsuitable
from planner.spot.ways import Way, marked
from planner.vocabulary import GKE_SPOT, HOURS_PER_MONTH
from planner.words import Text, count, plural, usd

# Workloads × nodes of a pool up to which each is tried by itself and leaves by itself; above, they leave in batches.
_ONE_BY_ONE: Final = 600
_BATCHES: Final = 2
MAY_GO: Final = (Fitness.READY, Fitness.NEEDS_CHANGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One workload leaving one pool, USD a month.

    `saved_usd`: in the whole, at this place in the order; `expected_usd` less what interruptions cost; `alone_usd`: by itself,
    whole nodes only; `repacked_usd`: by itself, the rest of the pool packed more tightly (None: not worked out).
    `risk_pod_hours`: pod-hours a month that aren't Ready, expected.
    """

    workload: str
    fitness: Fitness
    node_pool: str
    pods: int
    freed_nodes: float  # a share where several workloads leave at once
    spot_nodes: float
    freed_usd: float
    spot_usd: float
    saved_usd: float
    expected_usd: float
    alone_usd: float | None
    repacked_usd: float | None
    risk_pod_hours: float
    is_worth_it: bool  # it is part of the whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """What a namespace bears, or what is idle, before and after; USD a month in whole cents."""

    name: str
    share: Share
    on_demand_usd: float
    kept_usd: float
    freed_usd: float
    spot_before_usd: float
    spot_after_usd: float
    saved_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSavings:
    """The cluster, USD a month. `on_demand_usd` = `kept_usd` + `freed_usd`, to the cent.

    Attributes
    ----------
    bill_usd : all nodes with a price, after sustained use
    freed_usd : of on-demand nodes that go; of it `packing_usd` go before anything moves to spot
    spot_usd : of spot nodes that come
    saved_usd : `freed_usd` − `packing_usd` − `spot_usd`
    interruptions_usd : what lost work, restarts and gaps are expected to cost of that
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
    expected_usd: float
    on_demand_nodes: int
    freed_nodes: tuple[str, ...]
    packing_nodes: tuple[str, ...]
    spot_nodes: int
    moves: tuple[Move, ...]
    bearers: tuple[Bearer, ...]
    kept_off: tuple[tuple[str, str], ...]  # workload, why it stays where it is
    ways: tuple[Way, ...]  # every way of buying the on-demand nodes
    workloads: tuple[str, ...]  # all that were looked at
    fitness: tuple[Fitness, ...]  # … of each
    as_of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Nodes alike. Month: after sustained use."""

    name: str
    nodes: tuple[int, ...]
    template: Node
    month_usd: float
    spot_month_usd: float
    demand: Price


@dataclass(frozen=True, slots=True, kw_only=True)
class _Risk:
    """What interruptions cost of one pod, a month."""

    usd: float
    pod_hours: float
    pods_to_a_node: int


@collector.resting()
def fleet_savings(snapshot: Snapshot, book: PriceBook, asked: Mapping[str, Any]) -> FleetSavings:
    """The whole cluster's savings by repacking; `asked` are assumptions for all workloads, as for one."""
    cost, pods = cost_cluster(book, snapshot), pods_by_workload(snapshot)
    fitness = {
        one.key: check_workload(
            snapshot, one, job_minutes=asked.get("job_minutes"), pods=pods.get(one.key, ()), with_cures=False
        )
        for one in workloads(snapshot)
    }
    kinds = tuple(_kinds(snapshot, book, cost))
    kind_of = {snapshot.nodes[i].name: number for number, kind in enumerate(kinds) for i in kind.nodes}
    on_kind = {key: Counter(kind_of.get(pod.node_name) for pod in own) for key, own in pods.items()}
    going, kept_off = _who_goes(snapshot, fitness, pods, kinds)
    done = [
        _left(snapshot, kind, {key: on_kind[key][number] for key in going}, pods, asked, fitness)
        for number, kind in enumerate(kinds)
    ]
    repacked = [one for one, _ in done]
    moves = _in_order([moves for _, moves in done])
    return _summed(snapshot, book, cost, kinds, repacked, moves, kept_off, fitness)


def _kinds(snapshot: Snapshot, book: PriceBook, cost: ClusterCost) -> Iterator[_Kind]:
    """On-demand nodes with both prices, alike in pool, machine and prices."""
    found: dict[str, tuple[object, NodeCost, Price]] = {}
    known = {node.name: node for node in snapshot.nodes}
    for one in cost.nodes:
        if one.node.provisioning is not Provisioning.ON_DEMAND:
            continue
        node = known[one.node.node]
        spot = price_node(book, node, Provisioning.SPOT).price
        if spot.usd_per_hour is None:
            continue
        kind = (node_pool(node), machine_type(node), one.effective.total, spot.usd_per_hour, physical_gpus(node))
        found[node.name] = (kind, one, spot)
    for nodes in nodes_alike(snapshot.nodes, {name: kind for name, (kind, _, _) in found.items()}):
        template = snapshot.nodes[nodes[0]]
        _, one, spot = found[template.name]
        yield _Kind(
            name=node_pool(template) or "no pool",
            nodes=tuple(nodes),
            template=template,
            month_usd=one.effective.total,
            spot_month_usd=(spot.usd_per_hour or 0.0) * HOURS_PER_MONTH,
            demand=one.node.price,
        )


def _who_goes(
    snapshot: Snapshot, fitness: Mapping[str, Suitability], pods: Mapping[str, tuple[Pod, ...]], kinds: Iterable[_Kind]
) -> tuple[set[str], tuple[tuple[str, str], ...]]:
    """Workloads that may leave an on-demand node, and why the others don't."""
    places = {snapshot.nodes[i].name for kind in kinds for i in kind.nodes}
    known = {node.name for node in snapshot.nodes}
    going, kept_off = set(), []
    for key, found in fitness.items():
        where = {pod.node_name for pod in pods.get(key, ()) if pod.node_name in known}
        if not where:
            kept_off.append((key, "holds no node now: nothing of the bill is its own"))
        elif found.fitness is Fitness.OPTED_OUT:
            kept_off.append((key, "kept off spot by its annotation"))
        elif found.fitness is Fitness.UNSUITABLE:
            kept_off.append((key, why_unsuitable(found.checks)))
        elif not where & places:
            kept_off.append((key, "runs on spot already, or on nodes without a price"))
        else:
            going.add(key)
    return going, tuple(kept_off)


# ── one pool ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _left(
    snapshot: Snapshot,
    kind: _Kind,
    here: Mapping[str, int],
    pods: Mapping[str, tuple[Pod, ...]],
    asked: Mapping[str, Any],
    fitness: Mapping[str, Suitability],
) -> tuple[Repacked, list[Move]]:
    """One pool after those have left whose leaving saves something, and each leaving; `here`: workload → its pods in it."""
    movers = sorted((key for key, number in here.items() if number), key=lambda key: (-here[key], key))
    packing = Packing(compiled(snapshot), kind.nodes, movers)
    tightened, start = packing.tighten(), packing.mark
    risks = {key: _risk(snapshot, kind, key, pods[key], fitness[key], asked) for key in movers}
    one_by_one = len(movers) * len(kind.nodes) <= _ONE_BY_ONE
    alone = {key: _saved(kind, packing.alone(key, repacks=False)) for key in movers} if one_by_one else {}
    repacked = {key: _saved(kind, packing.alone(key)) for key in movers} if one_by_one else {}

    def rank(key: str) -> tuple[float, str]:
        gain = repacked.get(key, here[key] * (kind.month_usd - kind.spot_month_usd) / risks[key].pods_to_a_node)
        return -(gain - here[key] * risks[key].usd) / max(here[key] * risks[key].pod_hours, 1e-9), key

    ordered = sorted(movers, key=rank)
    size = 1 if one_by_one else ceil(len(ordered) / _BATCHES)
    steps: list[tuple[Leaving, tuple[int, int, int]]] = []
    totals = [0.0]
    for batch in (tuple(ordered[i : i + size]) for i in range(0, len(ordered), size)):
        step = packing.leave(*batch)
        steps.append((step, packing.mark))
        lost = sum(here[key] * risks[key].usd for key in batch)
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


def _saved(kind: _Kind, step: Leaving) -> float:
    return len(step.freed) * kind.month_usd - len(step.opened) * kind.spot_month_usd


def _risk(
    snapshot: Snapshot,
    kind: _Kind,
    key: str,
    pods: tuple[Pod, ...],
    fitness: Suitability,
    asked: Mapping[str, Any],
) -> _Risk:
    """What one pod loses on spot, from the closed forms: nodes are billed all month, whatever runs on them."""
    workload = snapshot.workload(key)
    assert workload is not None
    start = learn_start(pods)
    given: dict[str, Any] = {"work": fitness.work, "window_seconds": float(fitness.window.seconds)}
    given |= {"pod_start_seconds": round(start.seconds, 1)} if start else {}
    given |= {"node_start_seconds": arrival_seconds(has_gpus=physical_gpus(kind.template) != 0)}
    given |= {name: value for name, value in asked.items() if name not in _OF_ONE} | rates_of(asked)
    case = Assumptions(
        nodes=1,
        on_demand_usd_per_hour=kind.month_usd / HOURS_PER_MONTH,
        stand_in_usd_per_hour=kind.demand.usd_per_hour,
        spot_usd_per_hour=kind.spot_month_usd / HOURS_PER_MONTH,
        **given,
    )
    each = pods_to_a_node(kind.template, workload)
    rates = (case.hazard_low_per_hour, case.hazard_likely_per_hour, case.hazard_high_per_hour)
    lost = max(0.0, kind.month_usd - kind.spot_month_usd - expected_saved_usd(case, sum(rates) / 3))
    return _Risk(usd=lost / each, pod_hours=_down_hours(case), pods_to_a_node=each)


# assumptions that are about one workload's nodes
_OF_ONE: Final = frozenset(
    {
        *("nodes", "base_nodes", "needed_nodes", "committed_nodes", "hours_per_month", "works_as_gang", "capacity"),
        *("on_demand_usd_per_hour", "stand_in_usd_per_hour", "spot_usd_per_hour", "gpus_per_node"),
    }
)


def _down_hours(case: Assumptions) -> float:
    """Hours a month in which a pod isn't Ready: each loss takes a restart, and the gap where nothing stands in."""
    life, gap = mean_life_hours(case), gaps_of(case).mean_hours
    away = case.restart_hours + (gap if case.fallback is Fallback.WAIT else 0.0)
    return min(HOURS_PER_MONTH, HOURS_PER_MONTH / (life + gap) * away) if life + gap < float("inf") else 0.0


def _move(
    kind: _Kind,
    step: Leaving,
    key: str,
    here: Mapping[str, int],
    risks: Mapping[str, _Risk],
    fitness: Fitness,
    alone: Mapping[str, float],
    repacked: Mapping[str, float],
    *,
    is_worth_it: bool,
) -> Move:
    """A workload of a batch has the batch's nodes by its share of the nodes that the batch's pods fill."""
    filled = {one: here[one] / risks[one].pods_to_a_node for one in step.workloads}
    share = filled[key] / sum(filled.values())
    freed, spot = share * len(step.freed) * kind.month_usd, share * len(step.opened) * kind.spot_month_usd
    return Move(
        workload=key,
        fitness=fitness,
        node_pool=kind.name,
        pods=here[key],
        freed_nodes=round(share * len(step.freed), 2),
        spot_nodes=round(share * len(step.opened), 2),
        freed_usd=round(freed, 2),
        spot_usd=round(spot, 2),
        saved_usd=round(freed - spot, 2),
        expected_usd=round(freed - spot - here[key] * risks[key].usd, 2),
        alone_usd=_cents(alone.get(key)),
        repacked_usd=_cents(repacked.get(key)),
        risk_pod_hours=here[key] * risks[key].pod_hours,
        is_worth_it=is_worth_it,
    )


def _cents(usd_a_month: float | None) -> float | None:
    return None if usd_a_month is None else round(usd_a_month, 2)


def _in_order(pools: Sequence[list[Move]]) -> tuple[Move, ...]:
    """The moves of all pools, most saved per pod-hour at risk first; within a pool in its own order."""
    waiting = [[move for move in moves if move.is_worth_it] for moves in pools]
    ordered: list[Move] = []
    while any(waiting):
        first = max((moves for moves in waiting if moves), key=lambda moves: _ratio(moves[0]))
        ordered.append(first.pop(0))
    return (*ordered, *(move for moves in pools for move in moves if not move.is_worth_it))


def _ratio(move: Move) -> float:
    return move.expected_usd / max(move.risk_pod_hours, 1e-9)


# ── the whole ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _summed(
    snapshot: Snapshot,
    book: PriceBook,
    cost: ClusterCost,
    kinds: Sequence[_Kind],
    done: Sequence[Repacked],
    moves: tuple[Move, ...],
    kept_off: tuple[tuple[str, str], ...],
    fitness: Mapping[str, Suitability],
) -> FleetSavings:
    demand = [one for one in cost.nodes if one.node.provisioning is Provisioning.ON_DEMAND]
    cents = dict(
        zip((one.node.node for one in demand), shared_out([one.effective.total for one in demand]), strict=True)
    )
    packed = tuple(node for one in done for node in one.tightened)
    freed = packed + tuple(node for one in done for step in one.steps for node in step.freed)
    new = {name: like for one in done for name, like in one.new_nodes.items()}
    spot_month = {snapshot.nodes[i].name: kind.spot_month_usd for kind in kinds for i in kind.nodes}
    spot_usd = round(sum(spot_month[like] for like in new.values()), 2)
    on_demand, gone = sum(cents.values()), sum(cents[node] for node in freed)
    packing = sum(cents[node] for node in packed)
    saved = round((gone - packing) / 100 - spot_usd, 2)
    chosen = [move for move in moves if move.is_worth_it]
    interruptions = round(sum(move.saved_usd - move.expected_usd for move in chosen), 2)
    nodes, bound = _after(snapshot, done, set(freed), new)
    cost_after = cluster_cost(book, nodes, requested_by_node(bound))
    unused = round(sum(one.usd_per_month or 0.0 for one in cost.unused_commitments), 2)
    found = FleetSavings(
        sentence=Text(),
        bill_usd=sum(shared_out([one.effective.total for one in cost.nodes])) / 100 + unused,
        on_demand_usd=on_demand / 100,
        kept_usd=(on_demand - gone) / 100,
        freed_usd=gone / 100,
        packing_usd=packing / 100,
        spot_usd=spot_usd,
        saved_usd=saved,
        interruptions_usd=interruptions,
        expected_usd=round(saved - interruptions, 2),
        on_demand_nodes=len(demand),
        freed_nodes=freed,
        packing_nodes=packed,
        spot_nodes=len(new),
        moves=moves,
        bearers=tuple(
            _bearers(
                _by_way(snapshot.nodes, cost.nodes, held_by_node(snapshot)),
                _by_way(nodes, cost_after.nodes, holders(snapshot, bound)),
            )
        ),
        kept_off=kept_off,
        ways=_ways(snapshot, book, demand, (on_demand - gone) / 100 + spot_usd, interruptions),
        workloads=tuple(fitness),
        fitness=tuple(one.fitness for one in fitness.values()),
        as_of=cost.as_of,
    )
    return replace(found, sentence=Text(_sentence(found)))


def _ways(
    snapshot: Snapshot, book: PriceBook, demand: Sequence[NodeCost], repacked_usd: float, interruptions_usd: float
) -> tuple[Way, ...]:
    """The on-demand nodes bought in each way, node for node; a way in which one of them has no price has none."""
    known = {node.name: node for node in snapshot.nodes}

    def total(bought: Provisioning) -> float | None:
        prices = [price_node(book, known[one.node.node], bought).price for one in demand]
        amounts = [price.usd_per_month if price.is_sold else None for price in prices]
        return None if None in amounts else sum(amount or 0.0 for amount in amounts)

    def way(name: str, usd_a_month: float | None, risk: str, asks: str, more: float = 0.0) -> Way:
        expected = None if usd_a_month is None else usd_a_month + more
        said = risk if usd_a_month is not None else "no price of some of the nodes"
        return Way(name=name, price_usd=usd_a_month, expected_usd=expected, interruptions=None, risk=said, asks=asks)

    paid = "never preempted; paid to its end, whether it is used or not"
    steady = "that so much is needed round the clock until it ends"
    return marked(
        [
            way("on demand, list price", sum(one.cost.total for one in demand), "none beyond host maintenance", "nothing"),
            way("on demand, sustained use", sum(one.effective.total for one in demand), "none beyond host maintenance", "nothing"),
            way("1-year commitment", total(Provisioning.COMMITMENT_1Y), paid, steady),
            way("3-year commitment", total(Provisioning.COMMITMENT_3Y), paid, steady),
            way("spot, repacked", repacked_usd, f"interruptions are expected to cost {usd(interruptions_usd)}",
                "the moves in their order, and what each workload's checklist says", interruptions_usd),
            way("flex-start", total(Provisioning.FLEX_START), "none for up to 7 days; how long one queues isn't known",
                "that work may wait for capacity, and start anew after 7 days"),
        ]
    )  # fmt: skip


def _after(
    snapshot: Snapshot, done: Sequence[Repacked], freed: set[str], new: Mapping[str, str]
) -> tuple[tuple[Node, ...], list[tuple[Pod, str]]]:
    """Nodes, and pods on theirs, with everything moved; new nodes are like those that they replace, bought on spot."""
    known = {node.name: node for node in snapshot.nodes}
    placed = {id(snapshot.pods[number]): node for one in done for number, node in one.placed.items()}
    spot = tuple(
        replace(known[like], name=name, uid="", labels=FrozenMap({**known[like].labels, GKE_SPOT: "true"}))
        for name, like in new.items()
    )
    moved = ((pod, placed.get(id(pod), node)) for pod, node in bound_pods(snapshot))
    return (
        tuple(node for node in snapshot.nodes if node.name not in freed) + spot,
        [(pod, node) for pod, node in moved if node not in freed],
    )


_Cents = Mapping[tuple[str, Share], tuple[int, int]]
"""(name, share) → cents on on-demand nodes and on others."""


def _bearers(was: _Cents, now: _Cents) -> Iterator[Bearer]:
    """Who bears what before and after, so that each column adds up to the sums of the whole."""
    names = sorted({*was, *now}, key=lambda key: (list(Share).index(key[1]), -sum(was.get(key, (0, 0))), key[0]))
    for name, share in names:
        (demand, spot), (kept, spot_after) = was.get((name, share), (0, 0)), now.get((name, share), (0, 0))
        yield Bearer(
            name=name or share.value,
            share=share,
            on_demand_usd=demand / 100,
            kept_usd=kept / 100,
            freed_usd=(demand - kept) / 100,
            spot_before_usd=spot / 100,
            spot_after_usd=spot_after / 100,
            saved_usd=(demand + spot - kept - spot_after) / 100,
        )


def _by_way(nodes: Iterable[Node], costs: Sequence[NodeCost], held: Mapping[str, list[Held]]) -> _Cents:
    known = {node.name: node for node in nodes}
    sums: dict[tuple[str, Share], list[int]] = defaultdict(lambda: [0, 0])
    uncommitted = [one for one in costs if not one.commitment_id]  # what is committed stays, and is paid, either way
    for way in (0, 1):
        some = [one for one in uncommitted if (one.node.provisioning is not Provisioning.ON_DEMAND) == bool(way)]
        for _, name, share, cents in allocated_cents(some, known, held):
            sums[name, share][way] += sum(cents)
    return {key: (demand, spot) for key, (demand, spot) in sums.items()}


@collector.resting()
def on_demand_shares(snapshot: Snapshot, book: PriceBook) -> dict[str, float]:
    """Workload → what it bears of the on-demand nodes' bill, USD a month in whole cents; what is idle is nobody's."""
    cost, nodes = cost_cluster(book, snapshot), {node.name: node for node in snapshot.nodes}
    some = [one for one in cost.nodes if one.node.provisioning is Provisioning.ON_DEMAND]
    sums: dict[str, int] = defaultdict(int)
    for _, name, share, cents in allocated_cents(some, nodes, held_by_node(snapshot, WORKLOAD)):
        if share is Share.USED:
            sums[name] += sum(cents)
    return {name: amount / 100 for name, amount in sums.items()}


def _sentence(found: FleetSavings) -> str:
    chosen = [move for move in found.moves if move.is_worth_it]
    packing = (
        f" Packing more tightly frees {count(len(found.packing_nodes), 'more node')} ({usd(found.packing_usd)}) without any spot: "
        "not in this figure."
        if found.packing_nodes
        else ""
    )
    if not chosen:
        return f"Moving to spot saves nothing of the {usd(found.bill_usd)} a month.{packing}"
    gone = len(found.freed_nodes) - len(found.packing_nodes)
    names = len({move.workload for move in chosen})
    return (
        f"Spot would save {usd(found.saved_usd)} of the {usd(found.bill_usd)} a month: {count(names, 'workload')} "
        f"{plural(names, 'moves', 'move')}, {gone} of {found.on_demand_nodes} on-demand nodes go "
        f"({usd(found.freed_usd - found.packing_usd)}), {count(found.spot_nodes, 'spot node comes', 'spot nodes come')} "
        f"({usd(found.spot_usd)}). Interruptions are expected to take {usd(found.interruptions_usd)} of it.{packing}"
    )
