"""Spot savings of one workload: the cluster and the price book joined with what the reader assumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from math import ceil
from typing import Any, Final

from planner.errors import InputError, NotKnownError
from planner.kubernetes.budgets import protection
from planner.kubernetes.kinds import NODE, POD, WORKLOADS
from planner.kubernetes.nodes import (
    ARRIVAL_SOURCE,
    arrival_seconds,
    machine_type,
    node_pool,
    physical_gpus,
    provisioning_model,
)
from planner.kubernetes.records import FrozenMap, Node, Pod, Snapshot, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.kubernetes.startup import learn_start
from planner.pricing.model import Price, PriceBook, Provisioning
from planner.pricing.node import price_node
from planner.questions.costs import USD_A_MONTH, known_book
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.settings import setting, settings_within
from planner.spot.assumptions import SETTINGS, Assumptions, Capacity, SpotSettings, Work
from planner.spot.economics import Savings, savings
from planner.spot.mix import Mix, mix
from planner.spot.months import simulate
from planner.spot.suitability import Fitness, Suitability, check_workload, guess_work, pods_by_workload, pods_of
from planner.spot.windows import window_of
from planner.tables import Row
from planner.vocabulary import CPU, MEMORY, SYSTEM_NAMESPACES, ZONE
from planner.words import Text, count, duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What the cluster and the price book say. `values`: setting → value (None: nobody says); `sources`: why."""

    workload: str
    values: FrozenMap[float | None]
    sources: FrozenMap[str]
    work: Work
    work_source: str
    capacity: Capacity
    node_pool: str
    machine_type: str
    bought_as: str  # how the nodes are bought now
    as_of: str  # of the prices
    problem: str = ""  # why there is no estimate without prices from the user

    @property
    def list_discount(self) -> float | None:
        """What spot takes off the on-demand list price of such a node."""
        full, spot = self.values.get("stand_in_usd_per_hour"), self.values.get("spot_usd_per_hour")
        return 1 - spot / full if full and spot is not None else None

    @property
    def is_on_spot(self) -> bool:
        """Whether its nodes are spot or preemptible ones now: what that saves is saved already."""
        return self.bought_as in (Provisioning.SPOT, Provisioning.PREEMPTIBLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionRow:
    """One line of the table of assumptions."""

    name: str
    label: str
    value: float | str | bool | None
    unit: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What spot would save, and every mix of it."""

    savings: Savings
    mix: Mix


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsSettings:
    workload: str = setting("", short="-w", help="kind/namespace/name. Without it every workload is listed.")
    spot: SpotSettings = settings_within(SpotSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsLine:
    """A workload in one line; money is USD a month, None where there is no estimate: `why` says so."""

    workload: str
    fitness: Fitness
    nodes: int | None
    on_demand_usd: float | None
    p5_usd: float | None
    saved_usd: float | None  # in the median month
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsDetail:
    """One workload's estimate with all it rests on."""

    derived: Derived
    assumptions: tuple[AssumptionRow, ...]
    estimate: Estimate
    suitability: Suitability
    assumed: Assumptions


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsAnswer:
    """Every workload in a line, or one with its detail."""

    sentence: Text
    lines: tuple[SavingsLine, ...]
    detail: SavingsDetail | None = None


def workloads(snapshot: Snapshot) -> tuple[Workload, ...]:
    """The workloads a savings estimate can be asked for, those with GPUs first, then by replicas."""
    offered = [
        workload
        for workload in snapshot.workloads
        if workload.namespace not in SYSTEM_NAMESPACES and not workload.traits.is_per_node and not workload.is_finished
    ]

    def rank(workload: Workload) -> tuple[bool, int, str]:
        asked = pod_requests(workload.template.spec)
        return not (asked.keys() - {CPU, MEMORY}), -workload.replicas, workload.key

    return tuple(sorted(offered, key=rank))


def find(snapshot: Snapshot, key: str) -> Workload:
    """The workload called `key`.

    Raises
    ------
    InputError
        When there is none.
    """
    workload = snapshot.workload(key)
    if workload is None:
        raise InputError(f'there is no workload "{key[:120]}"', where=snapshot.source, mend="Write kind/namespace/name")
    return workload


def suitability(
    snapshot: Snapshot,
    key: str,
    capacity: Capacity,
    job_minutes: float | None,
    pods: tuple[Pod, ...] | None = None,
) -> Suitability:
    """The spot checklist of one workload; `pods` are its own, where they are at hand."""
    return check_workload(snapshot, find(snapshot, key), capacity=capacity, job_minutes=job_minutes, pods=pods)


def estimate(assumptions: Assumptions) -> Estimate:
    """What spot would save, and every mix of it."""
    months = simulate(assumptions)
    return Estimate(savings=savings(assumptions, months), mix=mix(assumptions, months))


def derive(snapshot: Snapshot, book: PriceBook, key: str, pods: tuple[Pod, ...] | None = None) -> Derived:
    """What can be known of a workload's settings without asking anybody; `pods` are its own, where they are at hand."""
    workload = find(snapshot, key)
    pods = pods_of(snapshot, workload) if pods is None else pods
    node = _node_of(snapshot, workload, pods)
    work, why = guess_work(workload)
    names = {pod.node_name for pod in pods}
    window = window_of([one for one in snapshot.nodes if one.name in names] or snapshot.nodes)
    start = learn_start(pods)
    limit = 6 if workload.backoff_limit is None else workload.backoff_limit
    retries = limit if workload.traits.is_batch else None
    values: dict[str, float | None] = {
        "window_seconds": float(window.seconds),
        "retries": retries,
    }
    sources = {"window_seconds": f"{window.what}: {window.source}"}
    if start is not None:
        values["pod_start_seconds"] = round(start.seconds, 1)
        sources["pod_start_seconds"] = f"learnt from {count(start.pods, 'Ready pod')}: median"
    if workload.traits.is_batch:
        sources["retries"] = f"the {workload.kind}'s backoffLimit"
    if node is None:
        return Derived(
            workload=key,
            values=FrozenMap(values),
            sources=FrozenMap(sources),
            work=work,
            work_source=why,
            capacity=Capacity.SPOT,
            node_pool="",
            machine_type="",
            bought_as="",
            as_of="",
            problem=f"no node of the cluster suits {workload.namespace}/{workload.name}",
        )
    _add_nodes(values, sources, snapshot, workload, node)
    problem, as_of = _add_prices(values, sources, book, node)
    bought = Provisioning(provisioning_model(node))
    return Derived(
        workload=key,
        values=FrozenMap(values),
        sources=FrozenMap(sources),
        work=work,
        work_source=why,
        capacity=Capacity.PREEMPTIBLE if bought is Provisioning.PREEMPTIBLE else Capacity.SPOT,
        node_pool=node_pool(node),
        machine_type=machine_type(node),
        bought_as=bought.value,
        as_of=as_of,
        problem=problem,
    )


def assume(derived: Derived, asked: Mapping[str, Any]) -> Assumptions:
    """What is derived, with what was asked for in its place.

    Raises
    ------
    InputError
        For values that are impossible.
    NotKnownError
        Where neither the price book nor the reader gives a price.
    """
    known = {field.name for field in fields(Assumptions)}
    given = {name: value for name, value in asked.items() if value is not None}
    if unknown := given.keys() - known:
        raise InputError(f"there is no assumption called {min(unknown)}", mend="See the list of assumptions")
    derived_values = {name: value for name, value in derived.values.items() if value is not None}
    chosen: dict[str, Any] = {"work": derived.work, "capacity": derived.capacity} | derived_values | given
    missing = [name for name in ("nodes", "on_demand_usd_per_hour", "spot_usd_per_hour") if chosen.get(name) is None]
    if missing:
        words = " and ".join(one.label.lower() for one in SETTINGS if one.name in missing)
        raise NotKnownError(
            derived.problem or f"the {words} is not known", where=derived.workload, mend=f"Give the {words} yourself"
        )
    for one in SETTINGS:
        if one.whole and chosen.get(one.name) is not None:
            chosen[one.name] = int(chosen[one.name])
    if "nodes" in given and "needed_nodes" not in given:
        chosen["needed_nodes"] = max(0, chosen["nodes"] - 1)
    return Assumptions(**chosen)


def table(derived: Derived, asked: Mapping[str, Any], assumptions: Assumptions) -> tuple[AssumptionRow, ...]:
    """Every assumption with its value and where it comes from: what the page shows and the exports carry."""
    given = {name for name, value in asked.items() if value is not None}

    def source(name: str, otherwise: str) -> str:
        if name in given:
            return "given"
        return str(derived.sources.get(name, otherwise))

    rows = [
        AssumptionRow(
            name=one.name,
            label=one.label,
            value=getattr(assumptions, one.name),
            unit=one.unit,
            source=source(one.name, one.source),
        )
        for one in SETTINGS
    ]
    spoken: tuple[tuple[str, str, str | bool, str], ...] = (
        ("capacity", "Bought in place of on-demand", assumptions.capacity.value, f"bought now: {derived.bought_as}"),
        ("work", "Kind of work", assumptions.work.value, derived.work_source),
        ("fallback", "While no spot node is to be had", assumptions.fallback.value, "your choice"),
        ("saves_on_notice", "A checkpoint is written on notice", assumptions.saves_on_notice, "your jobs"),
        (
            "lives",
            "Observed lifetimes",
            str(len(assumptions.lives)),
            "a CSV of yours; 0: the interruption rate is used",
        ),
    )
    for name, label, value, otherwise in spoken:
        rows.append(AssumptionRow(name=name, label=label, value=value, unit="", source=source(name, otherwise)))
    return tuple(rows)


def _node_of(snapshot: Snapshot, workload: Workload, pods: tuple[Pod, ...]) -> Node | None:
    """A node of the kind the workload runs on, or would."""
    nodes = {node.name: node for node in snapshot.nodes}
    pools = Counter(node_pool(nodes[pod.node_name]) for pod in pods if pod.node_name in nodes)
    if pools:
        pool = pools.most_common(1)[0][0]
        names = {pod.node_name for pod in pods}
        return next(node for node in snapshot.nodes if node.name in names and node_pool(node) == pool)
    spec = workload.template.spec
    asked = pod_requests(spec)
    return next(
        (
            node
            for node in snapshot.nodes
            if node_affinity_matches(spec, node.labels, node.name)
            and tolerates_taints(spec.tolerations, node.taints)
            and all(node.allocatable.get(name, 0) >= amount for name, amount in asked.items())
        ),
        None,
    )


def _add_nodes(
    values: dict[str, float | None], sources: dict[str, str], snapshot: Snapshot, workload: Workload, node: Node
) -> None:
    """Nodes, GPUs per node, zones, and how many nodes must be up."""
    asked = pod_requests(workload.template.spec)
    room = [node.allocatable.get(name, 0) // amount for name, amount in asked.items() if name in node.allocatable]
    per_node = max(1, min(room, default=1))
    nodes = max(1, ceil(workload.replicas / per_node))
    values["nodes"] = nodes
    sources["nodes"] = f"{workload.replicas} replicas, {per_node} to a node"
    gpus = physical_gpus(node)
    values["gpus_per_node"] = gpus or 0
    sources["gpus_per_node"] = f"node {node.name}"
    values["node_start_seconds"] = arrival_seconds(has_gpus=gpus != 0)
    sources["node_start_seconds"] = ARRIVAL_SOURCE
    pool = node_pool(node)
    zones = {one.labels[ZONE] for one in snapshot.nodes if node_pool(one) == pool and ZONE in one.labels}
    values["zones"] = min(9, max(1, len(zones)))
    sources["zones"] = f"zones of pool {pool}: {', '.join(sorted(zones))}" if zones else "no zone label"
    guarded = protection(snapshot, workload)
    if guarded.allowed is None:
        values["needed_nodes"] = max(0, nodes - 1)
        unknown = "its PodDisruptionBudget counts a scale that the snapshot doesn't hold"
        why = unknown if guarded.budgets else "no PodDisruptionBudget"
        sources["needed_nodes"] = f"one node fewer than in all ({why})"
    else:
        pods_needed = max(0, workload.replicas - guarded.allowed)
        values["needed_nodes"] = min(nodes, ceil(pods_needed / per_node))
        names = ", ".join(budget.name for budget in guarded.budgets)
        sources["needed_nodes"] = f"PodDisruptionBudget {names}: {pods_needed} of {workload.replicas} pods"


def _add_sustained_use(values: dict[str, float | None], sources: dict[str, str], price: Price) -> None:
    """A node that runs all month gets its family's sustained-use discount without asking; one that stands in doesn't."""
    assert price.usd_per_hour is not None
    values["stand_in_usd_per_hour"] = round(price.usd_per_hour, 6)
    sources["stand_in_usd_per_hour"] = sources["on_demand_usd_per_hour"]
    monthly = price.sustained_use_usd_per_hour
    if monthly is not None and monthly < price.usd_per_hour:
        values["on_demand_usd_per_hour"] = round(monthly, 6)
        saved = 1 - monthly / price.usd_per_hour
        sources["on_demand_usd_per_hour"] += f"; {price.usd_per_hour:.6g} less {saved:.0%} for sustained use all month"


def _add_prices(
    values: dict[str, float | None], sources: dict[str, str], book: PriceBook, node: Node
) -> tuple[str, str]:
    """The node's price bought in each way; what is missing, and the date of the prices."""
    wanted = {
        "on_demand_usd_per_hour": Provisioning.ON_DEMAND,
        "spot_usd_per_hour": Provisioning.SPOT,
        "flex_start_usd_per_hour": Provisioning.FLEX_START,
        "committed_usd_per_hour": Provisioning.COMMITMENT_1Y,
    }
    problem, as_of = "", ""
    for name, bought in wanted.items():
        price = price_node(book, node, bought).price
        is_needed = bought in (Provisioning.ON_DEMAND, Provisioning.SPOT)
        if price.usd_per_hour is None:
            problem = str(problem or (price.sentence if is_needed else ""))
            sources[name] = str(price.sentence)
            continue
        if not price.is_sold and not is_needed:
            continue
        values[name] = round(price.usd_per_hour, 6)
        as_of = min(as_of or price.as_of, price.as_of)
        sold = "" if price.is_sold else "; not sold in this way here: a reference price only"
        sources[name] = f"{price.machine_type} in {price.region_id}, {bought}, as of {price.as_of}{sold}"
        if bought is Provisioning.ON_DEMAND:
            _add_sustained_use(values, sources, price)
    return problem, as_of


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
LIST_RUNS: Final = 1000  # simulated months a workload when all are listed


def answer(snapshot: Snapshot, settings: SavingsSettings, given: Given = NOTHING) -> SavingsAnswer:
    """One workload's estimate, or a line for each.

    Raises
    ------
    InputError
        When the workload isn't there, or values are impossible.
    NotKnownError
        When nobody gives a price for it.
    """
    book, asked = known_book(given), values_of(settings.spot, given)
    if settings.workload:
        derived = derive(snapshot, book, find(snapshot, settings.workload).key)
        detail = _detail(snapshot, derived, asked)
        line = _line(detail.suitability, derived, detail.assumed, detail.estimate.savings)
        return SavingsAnswer(sentence=detail.estimate.savings.sentence, lines=(line,), detail=detail)
    pods_by_key = pods_by_workload(snapshot)
    lines = []
    for workload in workloads(snapshot):
        pods = pods_by_key.get(workload.key, ())
        derived = derive(snapshot, book, workload.key, pods)
        fitness = suitability(snapshot, workload.key, derived.capacity, asked.get("job_minutes"), pods)
        try:
            assumptions = assume(derived, {"runs": LIST_RUNS} | asked)
        except InputError as error:
            lines.append(_no_line(fitness, error))
        else:
            lines.append(_line(fitness, derived, assumptions, savings(assumptions, simulate(assumptions))))
    saving = sum((line.saved_usd or 0) > 0 for line in lines)
    said = f"{count(saving, 'workload')} of {len(lines)} would save something on spot in the median month"
    return SavingsAnswer(sentence=Text(said), lines=tuple(lines))


def values_of(settings: SpotSettings, given: Given) -> dict[str, Any]:
    """What was asked, by assumption; observed lives among them."""
    every = {one.name: getattr(settings, one.name) for one in fields(SpotSettings)} | {"lives": given.lives or None}
    return {name: value for name, value in every.items() if value is not None}


def _detail(snapshot: Snapshot, derived: Derived, asked: Mapping[str, Any]) -> SavingsDetail:
    assumptions = assume(derived, asked)
    return SavingsDetail(
        derived=derived,
        assumptions=table(derived, asked, assumptions),
        estimate=estimate(assumptions),
        suitability=suitability(snapshot, derived.workload, assumptions.capacity, asked.get("job_minutes")),
        assumed=assumptions,
    )


def detail_of(answer: SavingsAnswer) -> SavingsDetail:
    """The detail, which an answer for one workload has."""
    assert answer.detail is not None
    return answer.detail


def _line(fitness: Suitability, derived: Derived, assumptions: Assumptions, saved: Savings) -> SavingsLine:
    return SavingsLine(
        workload=derived.workload,
        fitness=fitness.fitness,
        nodes=assumptions.nodes,
        on_demand_usd=saved.on_demand_usd,
        p5_usd=saved.saved_usd.p5,
        saved_usd=saved.saved_usd.p50,
        why=f"bought now: {derived.bought_as}" + (", saves already" if derived.is_on_spot else ""),
    )


def _no_line(fitness: Suitability, error: InputError) -> SavingsLine:
    return SavingsLine(
        workload=fitness.workload, fitness=fitness.fitness, nodes=None, on_demand_usd=None, p5_usd=None, saved_usd=None,
        why=error.what,
    )  # fmt: skip


def facts(answer: SavingsAnswer) -> Iterator[Fact]:
    """What each workload costs on demand and would save; of one with detail also the risks."""
    for line in answer.lines:
        named = {"workload": line.workload}
        yield fact("spot_fitness", line.fitness.value, **named)
        yield fact("on_demand_cost", line.on_demand_usd, USD_A_MONTH, **named)
        yield fact("spot_saving", line.saved_usd, USD_A_MONTH, percentile="50", **named)
        yield fact("spot_saving", line.p5_usd, USD_A_MONTH, percentile="5", **named)
    if answer.detail is None:
        return
    saved, named = answer.detail.estimate.savings, {"workload": answer.detail.derived.workload}
    yield fact("spot_interruptions", saved.interruptions.p50, "per month", **named)
    yield fact("spot_lost_hours", saved.lost_hours.p50, "node-hours/month", **named)
    yield fact("spot_shortfall_hours", saved.shortfall_hours, "hours/month", **named)
    yield fact("spot_late_jobs", saved.late_jobs.p50, "per month", **named)
    yield fact("spot_failed_jobs", saved.failed_jobs.p50, "per month", **named)
    yield fact("spot_break_even_hazard", saved.break_even.hazard_per_hour, "per VM-hour", **named)


def workload_rows(answer: SavingsAnswer) -> list[Row]:
    """One row a workload, in USD a month."""

    def money(amount: float | None) -> float | None:
        return None if amount is None else round(amount, 2)

    return [
        {
            "workload": line.workload,
            "fit": line.fitness.value.replace("_", " "),
            "nodes": line.nodes,
            "on_demand_usd": money(line.on_demand_usd),
            "p5_usd": money(line.p5_usd),
            "saved_usd": money(line.saved_usd),
            "why": line.why,
        }
        for line in answer.lines
    ]


def figure_rows(answer: SavingsAnswer) -> list[Row]:
    """The numbers with their assumptions, one a line: figures have mean and percentiles, assumptions a value."""
    if answer.detail is None:
        return workload_rows(answer)
    saved, mixed = answer.detail.estimate.savings, answer.detail.estimate.mix
    money, times = "USD a month", "a month"
    figures = [("step", step.name, step.usd, money, step.what) for step in saved.steps]
    figures += [
        (
            "mix",
            f"{one.spot_nodes} spot",
            one.net_usd,
            money,
            f"{duration(one.shortfall_hours * 3_600)} a month with too few nodes",
        )
        for one in mixed.points
    ]
    figures.append(("result", "saved", saved.saved_usd, money, "on demand less net"))
    figures += [
        ("result", name.replace("_", " "), getattr(saved, name), unit, "simulated")
        for name, unit in (
            ("interruptions", times),
            ("lost_hours", "node-hours a month"),
            ("down_hours", "node-hours a month"),
            ("late_jobs", times),
            ("failed_jobs", times),
        )
    ]
    empty: dict[str, object] = dict.fromkeys(("kind", "name", "mean", "p5", "p50", "p95", "value", "unit", "source"))
    rows: list[Row] = [
        empty
        | {"kind": kind, "name": name, "unit": unit, "source": source}
        | {"mean": band.mean, "p5": band.p5, "p50": band.p50, "p95": band.p95}
        for kind, name, band, unit, source in figures
    ]
    return rows + [
        empty | {"kind": "assumption", "name": row.name, "value": row.value, "unit": row.unit, "source": row.source}
        for row in answer.detail.assumptions
    ]


QUESTION: Final = Question(
    name="savings",
    settings=SavingsSettings,
    result=SavingsAnswer,
    answer=answer,
    facts=facts,
    tables={"figures": figure_rows, "workloads": workload_rows},
    hangs_on=(NODE.name, POD.name),
    lists=("PodDisruptionBudget", *(kind.name for kind in WORKLOADS)),
)
