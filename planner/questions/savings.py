"""Spot savings of one workload: the cluster and the price book joined with what the reader assumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import ceil
from typing import Any

from planner.errors import InputError
from planner.kubernetes.nodes import machine_type
from planner.kubernetes.records import FrozenMap, Node, Pod, PodDisruptionBudget, Snapshot, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import labels_match, node_affinity_matches, tolerates_taints
from planner.pricing.model import Price, PriceBook, Provisioning
from planner.pricing.node import count_physical_gpus, price_node, read_node_pool, read_provisioning
from planner.spot.assumptions import SETTINGS, Assumptions, Capacity, Work
from planner.spot.checks import start_seconds
from planner.spot.economics import Savings, savings
from planner.spot.mix import Mix, mix
from planner.spot.months import simulate
from planner.spot.suitability import Suitability, check_workload, guess_work, pods_of
from planner.spot.windows import window_of
from planner.vocabulary import CPU, MEMORY, ZONE


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
class SavingsAnswer:
    savings: Savings
    mix: Mix


def workloads(snapshot: Snapshot) -> tuple[Workload, ...]:
    """The workloads a savings estimate can be asked for, those with GPUs first, then by replicas."""
    offered = [
        workload
        for workload in snapshot.workloads
        if workload.namespace != "kube-system" and workload.kind != "DaemonSet" and not workload.is_finished
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


def answer(_snapshot: Snapshot, assumptions: Assumptions) -> SavingsAnswer:
    """What spot would save, and every mix of it. The snapshot went into the assumptions."""
    months = simulate(assumptions)
    return SavingsAnswer(savings=savings(assumptions, months), mix=mix(assumptions, months))


def derive(snapshot: Snapshot, book: PriceBook, key: str, pods: tuple[Pod, ...] | None = None) -> Derived:
    """What can be known of a workload's settings without asking anybody; `pods` are its own, where they are at hand."""
    workload = find(snapshot, key)
    pods = pods_of(snapshot, workload) if pods is None else pods
    node = _node_of(snapshot, workload, pods)
    work, why = guess_work(workload)
    names = {pod.node_name for pod in pods}
    window = window_of([one for one in snapshot.nodes if one.name in names] or snapshot.nodes)
    start = start_seconds(pods)
    values: dict[str, float | None] = {
        "window_seconds": float(window.seconds),
        "retries": None if workload.kind != "Job" else 6 if workload.backoff_limit is None else workload.backoff_limit,
    }
    sources = {"window_seconds": f"{window.what}: {window.source}"}
    if start is not None:
        values["pod_start_seconds"] = round(start, 1)
        sources["pod_start_seconds"] = f"learnt from its {sum(pod.is_ready for pod in pods)} Ready pods: median"
    if workload.kind == "Job":
        sources["retries"] = "the Job's backoffLimit"
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
    bought = read_provisioning(node)
    return Derived(
        workload=key,
        values=FrozenMap(values),
        sources=FrozenMap(sources),
        work=work,
        work_source=why,
        capacity=Capacity.PREEMPTIBLE if bought is Provisioning.PREEMPTIBLE else Capacity.SPOT,
        node_pool=read_node_pool(node),
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
        For values that are impossible, and where neither the price book nor the reader gives a price.
    """
    known = {field.name for field in fields(Assumptions)}
    given = {name: value for name, value in asked.items() if value is not None}
    if unknown := given.keys() - known:
        raise InputError(f"there is no assumption called {min(unknown)}", mend="See the list of assumptions")
    derived_values = {name: value for name, value in derived.values.items() if value is not None}
    chosen: dict[str, Any] = {"work": derived.work, "capacity": derived.capacity} | derived_values | given
    missing = [name for name in ("nodes", "on_demand_usd_per_hour", "spot_usd_per_hour") if chosen.get(name) is None]
    if missing:
        words = " and ".join(setting.label.lower() for setting in SETTINGS if setting.name in missing)
        raise InputError(
            derived.problem or f"the {words} is not known", where=derived.workload, mend=f"Give the {words} yourself"
        )
    for setting in SETTINGS:
        if setting.whole and chosen.get(setting.name) is not None:
            chosen[setting.name] = int(chosen[setting.name])
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
            name=setting.name,
            label=setting.label,
            value=getattr(assumptions, setting.name),
            unit=setting.unit,
            source=source(setting.name, setting.source),
        )
        for setting in SETTINGS
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
    pools = Counter(read_node_pool(nodes[pod.node_name]) for pod in pods if pod.node_name in nodes)
    if pools:
        pool = pools.most_common(1)[0][0]
        names = {pod.node_name for pod in pods}
        return next(node for node in snapshot.nodes if node.name in names and read_node_pool(node) == pool)
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
    gpus = count_physical_gpus(node)
    values["gpus_per_node"] = gpus or 0
    sources["gpus_per_node"] = f"node {node.name}"
    pool = read_node_pool(node)
    zones = {one.labels[ZONE] for one in snapshot.nodes if read_node_pool(one) == pool and ZONE in one.labels}
    values["zones"] = min(9, max(1, len(zones)))
    sources["zones"] = f"zones of pool {pool}: {', '.join(sorted(zones))}" if zones else "no zone label"
    budgets = [
        budget
        for budget in snapshot.pod_disruption_budgets
        if budget.namespace == workload.namespace and labels_match(budget.selector, workload.template.labels)
    ]
    pods_needed = max((_needed_pods(budget, workload.replicas) for budget in budgets), default=None)
    values["needed_nodes"] = max(0, nodes - 1) if pods_needed is None else min(nodes, ceil(pods_needed / per_node))
    sources["needed_nodes"] = (
        "one node fewer than in all (no PodDisruptionBudget)"
        if pods_needed is None
        else f"PodDisruptionBudget {budgets[0].name}: {pods_needed} of {workload.replicas} pods"
    )


def _needed_pods(budget: PodDisruptionBudget, replicas: int) -> int:
    """Pods a budget wants up; percentages round up, as the disruption controller has it."""

    def scaled(share: int | str) -> int:
        text = str(share)
        return ceil(replicas * int(text[:-1]) / 100) if text.endswith("%") else int(text)

    if budget.min_available is not None:
        return min(replicas, scaled(budget.min_available))
    return max(0, replicas - scaled(budget.max_unavailable)) if budget.max_unavailable is not None else 0


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
