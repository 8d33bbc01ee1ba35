"""The price of every rollout strategy of a workload: the grid joined with what its spare GPUs cost.

How many are spare. A cell that completes today uses what room there is: its peak beyond what the workload holds between
rollouts, at most its surge (a pod that ends late holds its GPU beside its successor's, but nobody has to keep one for
that). A cell that is stuck for want of room is played again with the nodes its surge needs; where pods wait for such
nodes already, they get theirs beside it, outside the price. A cell that more nodes don't help has no price.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import ceil
from typing import Any, Final

from planner.capacity.growth import GROWING_REASONS
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.kinds import NODE, POD, RECREATE
from planner.kubernetes.nodes import ARRIVAL_SOURCE, GPU_NODE_ARRIVAL_SECONDS, node_pool
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.records import Node, Pod, Snapshot, Strategy, Workload
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.pricing.model import Price, PriceBook, Provisioning
from planner.pricing.node import price_node, spare_terms
from planner.pricing.strategy_cost import (
    SCALE_DOWN_SECONDS,
    SpareTerms,
    StrategyCost,
    StrategyUse,
    compare_strategies,
    strategy_cost,
)
from planner.questions import prepared as prepared_question
from planner.questions import rollout as rollout_question
from planner.questions.costs import USD_A_MONTH, known_book
from planner.questions.prepared import Scenario
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.questions.rollout import RolloutSettings, scenario_of
from planner.rollout.answers import GridCell, Reason, Remedy, StrategyGrid, Verdict
from planner.rollout.grid import play_cell, rolling
from planner.scheduling.cluster import Cluster
from planner.scheduling.empty_node import empty_copy
from planner.settings import setting, settings_of, settings_within
from planner.tables import Row
from planner.words import count, listing, usd

_MOST_OTHER_NODES: Final = 8  # tried at most for pods of others that wait for the same nodes
_NAMED: Final = 3

SPARE: Final = "Spare GPUs"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareSettings:
    """How spare GPUs are bought; what is empty comes from the price book or `assumed`."""

    rollouts_per_month: float | None = setting(
        None,
        label="Rollouts a month",
        group=SPARE,
        least=0,
        most=10_000,
        assumed=20.0,
        help="How often a node is added and given back.",
        source="assumed: one each working day",
    )
    node_start_seconds: float | None = setting(
        None,
        label="Until a new node takes pods",
        unit="s",
        group=SPARE,
        least=0,
        most=86_400,
        assumed=GPU_NODE_ARRIVAL_SECONDS,
        help="It is billed from its start.",
        source=ARRIVAL_SOURCE,
    )
    scale_down_seconds: float | None = setting(
        None,
        label="Until it is taken back",
        unit="s",
        group=SPARE,
        least=0,
        most=86_400,
        assumed=SCALE_DOWN_SECONDS,
        help="A node without pods is billed until the autoscaler removes it.",
        source="cluster-autoscaler's --scale-down-unneeded-time",
    )
    on_demand_usd_per_gpu_hour: float | None = setting(
        None,
        label="GPU on demand",
        unit="USD/h",
        group=SPARE,
        least=0,
        most=1_000,
        help="One GPU with its share of the node.",
        source="the price book",
    )
    spot_usd_per_gpu_hour: float | None = setting(
        None,
        label="GPU on spot",
        unit="USD/h",
        group=SPARE,
        least=0,
        most=1_000,
        help="One GPU with its share of the node.",
        source="the price book",
    )
    usd_per_pod_hour: float | None = setting(
        None,
        label="A missing pod",
        unit="USD/h",
        group=SPARE,
        least=0,
        most=100_000,
        optional=True,
        help="What an hour with one pod fewer than the replicas costs you. Empty: pod-hours are counted and not priced.",
        source="nobody said",
    )


SETTINGS: Final = settings_of(SpareSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyCostSettings:
    """A rollout of one Deployment (the first that is named), and how spare GPUs for it are bought."""

    rollout: RolloutSettings = settings_within(RolloutSettings)
    spares: SpareSettings = settings_within(SpareSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyNeed:
    """A cell of the grid. `played` is the cell today, or with room where it lacks that; None: nodes don't help."""

    today: GridCell
    is_recreate: bool
    played: GridCell | None
    extra_gpus: int
    extra_nodes: int  # new nodes that hold as many pods more

    @property
    def name(self) -> str:
        """``Surge 1``, ``Unavailable 1``, ``Surge 1, unavailable 2``, ``Recreate``."""
        surge, unavailable = self.today.max_surge, self.today.max_unavailable
        if self.is_recreate:
            return RECREATE
        if not surge:
            return f"Unavailable {unavailable}"
        return f"Surge {surge}, unavailable {unavailable}" if unavailable else f"Surge {surge}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareNeeds:
    """What every strategy of a workload needs, before prices. `node`: one like those its new pods run on, "" if none."""

    workload: str
    replicas: int
    gpus_per_pod: int
    node: str
    needs: tuple[StrategyNeed, ...]  # row by row of the grid without 0/0, then Recreate
    others_nodes: int  # nodes that pods which wait today take, before a spare one is free
    others: tuple[str, ...]  # whose pods these are
    own_waiting: int  # pods of its own that wait today: they come before a spare one as well


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyPrice:
    """One strategy with its price.

    Attributes
    ----------
    verdict, reason : today
    needs_room : it is stuck today; the figures are those with the spare GPUs there
    extra_gpus, lowest_ready, seconds, cost : None where more nodes don't make it complete
    is_worth : no other is at least as good in Ready pods, time and spare GPUs; or it is today's, or Recreate
    """

    name: str
    max_surge: int
    max_unavailable: int
    is_recreate: bool
    is_current: bool
    verdict: Verdict
    reason: Reason
    needs_room: bool
    replicas: int
    extra_gpus: int | None
    lowest_ready: int | None
    seconds: float | None
    cost: StrategyCost | None
    is_worth: bool
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyCosts:
    """The priced grid. `sentence` compares a strategy with spare GPUs to one without."""

    workload: str
    sentence: str
    notes: tuple[str, ...]
    strategies: tuple[StrategyPrice, ...]
    terms: SpareTerms
    sources: tuple[tuple[str, str], ...]  # setting → where its value comes from
    node_pool: str
    machine_type: str
    region_id: str
    as_of: str  # of the prices


# ── what each strategy needs ─────────────────────────────────────────────────────────────────────────────────────────
class _Case:
    """One workload's rollout on today's cluster, and on one with more nodes."""

    def __init__(self, snapshot: Snapshot, scenario: Scenario, key: str) -> None:
        prepared = prepared_question.prepare(snapshot, scenario)
        place = next(i for i, r in enumerate(prepared.revisions) if r.after.key == key)
        before, self.workload = prepared.revisions[place].before, prepared.revisions[place].after
        self.cluster = prepared_question.compiled(prepared.snapshot)
        self.gpus = _gpus(self.workload)
        self.at_rest = max(self.gpus * self.workload.replicas, _gpus(before) * before.replicas if before else 0)
        self.node = _node_for(self.cluster, self.workload) if self.gpus else None
        self.pods_per_node = _pods_per_node(self.cluster, self.node, self.workload) if self.node else 1
        self._revisions, self._pod_times, self._seed = prepared.revisions, prepared.pod_times[place], scenario.seed
        keys = workload_keys(self.cluster.snapshot)
        pods = (self.cluster.snapshot.pods[i] for i in self.cluster.waiting)
        self.own_waiting = sum(keys.get(pod.uid) == key for pod in pods)
        self._grown: dict[int, Cluster] = {0: self.cluster}

    def lacks_room(self, cell: GridCell) -> bool:
        return self.node is not None and cell.verdict is Verdict.STUCK and cell.reason in GROWING_REASONS

    def with_room(self, cell: GridCell, strategy: Strategy, others: int) -> GridCell:
        """The cell with the nodes its surge needs, and `others` for pods that wait today."""
        assert self.node is not None
        count = ceil(cell.max_surge / self.pods_per_node) + others
        if count not in self._grown:
            new = tuple(empty_copy(self.cluster, self.node, i) for i in range(count))
            self._grown[count] = self.cluster.grown(new)
        return play_cell(
            self._grown[count], self._revisions, self.workload.key, strategy, cell.max_surge, cell.max_unavailable,
            seed=self._seed, pod_times=self._pod_times,
        )  # fmt: skip

    def need(self, cell: GridCell, strategy: Strategy, others: int) -> StrategyNeed:
        played = self.with_room(cell, strategy, others) if self.lacks_room(cell) else cell
        is_recreate = strategy.kind == RECREATE
        surge = 0 if is_recreate else cell.max_surge
        extra = min(max(0, played.peak_gpus - self.at_rest), surge * self.gpus) if _completes(played) else 0
        return StrategyNeed(
            today=cell,
            is_recreate=is_recreate,
            played=played if _completes(played) else None,
            extra_gpus=extra,
            extra_nodes=ceil(ceil(extra / self.gpus) / self.pods_per_node) if extra else 0,
        )


def spare_needs(snapshot: Snapshot, scenario: Scenario, grid: StrategyGrid) -> SpareNeeds:
    """What each cell of `grid` needs of spare GPUs; `grid` is that of `rollout_question.strategy_grid` for the same scenario."""
    case = _Case(snapshot, scenario, grid.workload)
    cells = tuple(_cells(grid))
    first = next(((cell, strategy) for cell, strategy in cells if case.lacks_room(cell)), None)
    others = 0
    if first is not None:
        own = ceil(case.own_waiting / case.pods_per_node)
        tried = range(own, own + _MOST_OTHER_NODES + 1)
        others = next((count for count in tried if _completes(case.with_room(*first, count))), own)
    return SpareNeeds(
        workload=grid.workload,
        replicas=case.workload.replicas,
        gpus_per_pod=case.gpus,
        node=case.node.name if case.node else "",
        needs=tuple(case.need(cell, strategy, others) for cell, strategy in cells),
        others_nodes=others,
        others=_waiting_for(case.cluster, case.node, case.workload) if case.node and others else (),
        own_waiting=case.own_waiting,
    )


def _cells(grid: StrategyGrid) -> Iterator[tuple[GridCell, Strategy]]:
    for row in grid.cells:
        for cell in row:
            if cell.is_valid:
                yield cell, rolling(cell.max_surge, cell.max_unavailable)
    yield grid.recreate, Strategy(kind=RECREATE)


def _completes(cell: GridCell) -> bool:
    return cell.verdict is Verdict.COMPLETES


def _gpus(workload: Workload) -> int:
    """GPUs that one pod asks for."""
    return requested_gpus(workload.template.spec)


def _node_for(cluster: Cluster, workload: Workload) -> Node | None:
    """A node that takes the workload's new pods when empty: of the pool most of its pods run on, if that has one."""
    spec = workload.template.spec
    asked = pod_requests(spec)
    fitting = [
        node
        for node in cluster.nodes
        if node_affinity_matches(spec, node.labels, node.name)
        and tolerates_taints(spec.tolerations, node.taints)
        and all(node.allocatable.get(name, 0) >= amount for name, amount in asked.items())
    ]
    keys = workload_keys(cluster.snapshot)
    mine = Counter(pod.node_name for pod in cluster.snapshot.pods if keys.get(pod.uid) == workload.key)
    pools: Counter[str] = Counter()
    for node in cluster.nodes:
        pools[node_pool(node)] += mine[node.name]
    return max(fitting, key=lambda node: pools[node_pool(node)], default=None)


def _pods_per_node(cluster: Cluster, node: Node, workload: Workload) -> int:
    room = empty_copy(cluster, node, 0).allocatable
    asked = pod_requests(workload.template.spec)
    return max(1, min((room.get(name, 0) // amount for name, amount in asked.items() if amount), default=1))


def _waiting_for(cluster: Cluster, node: Node, workload: Workload) -> tuple[str, ...]:
    """Whose pods wait for GPUs and could go to `node`, as namespace/name; not the workload's own."""
    keys = workload_keys(cluster.snapshot)

    def is_one(pod: Pod) -> bool:
        return (
            keys.get(pod.uid) != workload.key
            and any(is_gpu_resource(name) for name in pod_requests(pod.spec))
            and node_affinity_matches(pod.spec, node.labels, node.name)
            and tolerates_taints(pod.spec.tolerations, node.taints)
        )

    waiting = (cluster.snapshot.pods[i] for i in cluster.waiting)
    names = (keys.get(pod.uid, POD.key(pod.namespace, pod.name)).partition("/")[2] for pod in waiting if is_one(pod))
    return tuple(dict.fromkeys(names))


# ── what that costs ──────────────────────────────────────────────────────────────────────────────────────────────────
def default_terms(snapshot: Snapshot, book: PriceBook, needs: SpareNeeds) -> SpareTerms:
    """How spare GPUs for the workload are bought, as the price book and the stated defaults have it."""
    node = next((node for node in snapshot.nodes if node.name == needs.node), None)
    if node is None:
        found = SpareTerms(on_demand_usd_per_gpu_hour=None, spot_usd_per_gpu_hour=None, gpus_per_node=0)
    else:
        found = spare_terms(book, node)
    given: dict[str, Any] = {one.name: one.assumed for one in SETTINGS if one.assumed is not None}
    return replace(found, **given)


def price_strategies(
    snapshot: Snapshot, book: PriceBook, needs: SpareNeeds, asked: Mapping[str, float | None]
) -> StrategyCosts:
    """Every strategy priced; `asked` holds values for `SETTINGS` (None: the default).

    Raises
    ------
    InputError
        For values that are impossible.
    """
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    terms = replace(default_terms(snapshot, book, needs), **given)
    if "on_demand_usd_per_gpu_hour" in given:  # what one says is what one pays
        terms = replace(terms, sustained_use_discount=0.0)
    node = next((node for node in snapshot.nodes if node.name == needs.node), None)
    price = price_node(book, node, Provisioning.ON_DEMAND).price if node else None
    strategies = _worth([_priced(need, needs, terms) for need in needs.needs])
    read = f"{price.machine_type} in {price.region_id}, as of {price.as_of}" if price and price.as_of else "not known"
    return StrategyCosts(
        workload=needs.workload,
        sentence=_headline(strategies, terms) if needs.gpus_per_pod else "",
        notes=tuple(_notes(needs, terms, price)),
        strategies=strategies,
        terms=terms,
        sources=tuple(
            (one.name, "given" if one.name in given else one.source if one.assumed is not None else read)
            for one in SETTINGS
        ),
        node_pool=node_pool(node) if node else "",
        machine_type=price.machine_type if price else "",
        region_id=price.region_id if price else "",
        as_of=price.as_of if price else "",
    )


def costs_of(
    snapshot: Snapshot, scenario: Scenario, key: str, book: PriceBook, asked: Mapping[str, float | None]
) -> StrategyCosts:
    """Every strategy of the Deployment `key` priced, from the scenario on.

    Raises
    ------
    ChangeError
        When `key` is no Deployment of the scenario.
    InputError
        For values that are impossible.
    """
    grid = rollout_question.strategy_grid(snapshot, scenario, key)
    return price_strategies(snapshot, book, spare_needs(snapshot, scenario, grid), asked)


def _notes(needs: SpareNeeds, terms: SpareTerms, price: Price | None) -> Iterator[str]:
    if not needs.gpus_per_pod:
        yield "its pods ask for no GPU, and only spare GPUs are priced"
    elif price is None:
        yield "no price: no node of the cluster takes its new pods, even when empty"
    elif terms.on_demand_usd_per_gpu_hour is None:
        yield str(price.sentence)
    if needs.others_nodes:
        names = [
            *needs.others[:_NAMED],
            *([f"{len(needs.others) - _NAMED} more"] if len(needs.others) > _NAMED else []),
        ]
        own = [f"{needs.own_waiting} of its own {needs.replicas} pods"] if needs.own_waiting else []
        waiting = own + names or ["pods of others"]
        verb = "waits" if names and len(waiting) == 1 else "wait"
        yield (
            f"{listing(waiting, None)} {verb} for the same GPUs and would take {count(needs.others_nodes, 'node')} first, whatever the strategy: not in these prices"
        )


def _priced(need: StrategyNeed, needs: SpareNeeds, terms: SpareTerms) -> StrategyPrice:
    played, cost = need.played, None
    if played is not None and needs.gpus_per_pod:
        use = StrategyUse(
            name=need.name,
            replicas=needs.replicas,
            lowest_ready=played.lowest_ready,
            seconds=played.seconds,
            # whole nodes: a pod may leave GPUs of its node that no pod like it can use
            extra_gpus=max(need.extra_gpus, need.extra_nodes * terms.gpus_per_node),
            evictions=played.evictions,
        )
        cost = strategy_cost(use, terms)
    return StrategyPrice(
        name=need.name,
        max_surge=need.today.max_surge,
        max_unavailable=need.today.max_unavailable,
        is_recreate=need.is_recreate,
        is_current=need.today.is_current,
        verdict=need.today.verdict,
        reason=need.today.reason,
        needs_room=played is not None and played is not need.today,
        replicas=needs.replicas,
        extra_gpus=need.extra_gpus if played else None,
        lowest_ready=played.lowest_ready if played else None,
        seconds=played.seconds if played else None,
        cost=cost,
        is_worth=False,
        sentence=str(cost.sentence if cost else "" if played else f"{need.name} is stuck, and more nodes don't help."),
    )


def _worth(strategies: list[StrategyPrice]) -> tuple[StrategyPrice, ...]:
    """Mark those that no other beats in every respect; of equals the first."""

    def figures(one: StrategyPrice) -> tuple[float, float, float]:
        assert one.lowest_ready is not None
        assert one.seconds is not None
        return (-one.lowest_ready, one.seconds, one.cost.billed_gpus if one.cost else 0)

    completing = [one for one in strategies if one.seconds is not None]
    best: dict[tuple[float, float, float], StrategyPrice] = {}
    for one in completing:
        best.setdefault(figures(one), one)
    kept = [
        one
        for own, one in best.items()
        if not any(other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in best)
    ]
    compared = _compared(tuple(strategies))
    return tuple(
        replace(one, is_worth=one in kept or one in compared or one.is_current or one.is_recreate) for one in strategies
    )


def _compared(strategies: tuple[StrategyPrice, ...]) -> tuple[StrategyPrice | None, StrategyPrice | None]:
    """The strategy with spare GPUs that keeps all pods up with the fewest, and the best one that completes without any."""
    priced = [one for one in strategies if one.cost is not None]
    spare = [one for one in priced if one.cost is not None and one.cost.billed_gpus]
    none = [one for one in priced if one.cost is not None and not one.cost.billed_gpus and not one.needs_room]

    def rank(one: StrategyPrice) -> tuple[int, bool, int, int]:
        assert one.lowest_ready is not None
        return (-one.lowest_ready, one.is_recreate, one.max_surge, one.max_unavailable)

    return min(spare, key=rank, default=None), min(none, key=rank, default=None)


def _headline(strategies: tuple[StrategyPrice, ...], terms: SpareTerms) -> str:
    spare, none = _compared(strategies)
    if spare is None or spare.cost is None:
        return str(none.cost.sentence if none and none.cost else "No strategy completes, and more nodes don't help.")
    return str(compare_strategies(spare.cost, none.cost, terms) if none and none.cost else spare.cost.sentence)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: StrategyCostSettings, given: Given = NOTHING) -> StrategyCosts:
    """`costs_of` the first workload that the rollout changes.

    Raises
    ------
    ChangeError
        When it is no Deployment.
    InputError
        For values that are impossible, and without a price book.
    """
    scenario = scenario_of(snapshot, settings.rollout)
    key = prepared_question.prepare(snapshot, scenario).revisions[0].after.key
    return costs_of(snapshot, scenario, key, known_book(given), spare_values(settings))


def spare_values(settings: StrategyCostSettings) -> dict[str, float | None]:
    """The values of `SETTINGS`; a new node arrives when the rollout's does, where only that is said."""
    values = {one.name: getattr(settings.spares, one.name) for one in fields(SpareSettings)}
    if values[_ARRIVAL] is None:
        values[_ARRIVAL] = settings.rollout.arrival_seconds
    return values


_ARRIVAL: Final = "node_start_seconds"
_MONEY: Final = ("kept_on_demand_usd", "kept_on_spot_usd", "added_usd")
_TAKEN: Final = ("missing_pod_hours", "missing_usd", "evictions", "rollout_hours")  # a month


def facts(answer: StrategyCosts) -> Iterator[Fact]:
    """What each strategy keeps Ready, takes, and costs; no price where there is none."""
    for one in answer.strategies:
        named = {"workload": answer.workload, "strategy": one.name}
        yield fact("strategy_verdict", one.verdict.value, **named)
        yield fact("strategy_lowest_ready", one.lowest_ready, "pods", **named)
        yield fact("strategy_extra_gpus", one.extra_gpus, "GPUs", **named)
        yield fact("strategy_seconds", one.seconds, "seconds", **named)
        for name in _MONEY:
            cost = getattr(one.cost, name) if one.cost else None
            yield fact("strategy_cost", cost, USD_A_MONTH, how=name.removesuffix("_usd"), **named)
        if one.cost is not None:
            yield fact("strategy_missing_pod_hours", one.cost.missing_pod_hours, "pod-hours/month", **named)
            yield fact("strategy_missing_cost", one.cost.missing_usd, USD_A_MONTH, **named)
            yield fact("strategy_evictions", one.cost.evictions, "pods/month", **named)
            yield fact("strategy_rollout_hours", one.cost.rollout_hours, "hours/month", **named)


def strategy_rows(answer: StrategyCosts) -> list[Row]:
    """One row a strategy; money is USD a month."""
    return [
        {
            "strategy": one.name,
            "is_current": one.is_current,
            "is_worth": one.is_worth,
            "verdict": one.verdict.value,
            "reason": one.reason.value,
            "lowest_ready": one.lowest_ready,
            "replicas": one.replicas,
            "extra_gpus": one.extra_gpus,
            "seconds": one.seconds,
            **{name: getattr(one.cost, name) if one.cost else None for name in (*_MONEY, *_TAKEN)},
        }
        for one in answer.strategies
    ]


QUESTION: Final = Question(
    name="strategy_costs",
    settings=StrategyCostSettings,
    result=StrategyCosts,
    answer=answer,
    facts=facts,
    tables={"strategies": strategy_rows},
    hangs_on=(NODE.name, POD.name),
)


# ── a remedy's node ──────────────────────────────────────────────────────────────────────────────────────────────────
def remedy_cost(snapshot: Snapshot, book: PriceBook, remedy: Remedy, terms: SpareTerms | None = None) -> str:
    """What the nodes a way out adds cost, in words; "" where it adds none. `terms` tell when an added node comes and goes.

    Examples
    --------
    ``$438 a month kept, $0.53 for one rollout``
    """
    node = next((node for node in snapshot.nodes if node.name == remedy.node_template), None)
    if node is None or not remedy.extra_nodes:
        return ""
    price = price_node(book, node, Provisioning.ON_DEMAND).price
    hourly, monthly = price.usd_per_hour, price.sustained_use_usd_per_month
    if hourly is None or monthly is None:
        return "no price"
    start = terms.node_start_seconds if terms else GPU_NODE_ARRIVAL_SECONDS
    idle = terms.scale_down_seconds if terms else SCALE_DOWN_SECONDS
    kept = remedy.extra_nodes * monthly
    once = remedy.extra_nodes * hourly * (start + remedy.seconds + idle) / 3600
    return f"{usd(kept)} a month kept, {usd(once)} for one rollout"
