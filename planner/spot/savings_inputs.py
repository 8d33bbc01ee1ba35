"""Derives a workload's savings settings from the cluster and the price book, joined with the user's assumptions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any, Final

from planner.ground.errors import InputError, NotKnownError
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting_of
from planner.ground.well_known_names import CPU, HOURS_PER_MONTH, MEMORY, SYSTEM_NAMESPACES, ZONE
from planner.ground.words import count, duration, plural, signed
from planner.inventory.input_report import hides, unseen_kind
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.disruption_budgets import protection
from planner.kubernetes.node_properties import (
    ARRIVAL_SOURCE,
    arrival_seconds,
    is_spot,
    machine_type,
    node_pool,
    physical_gpus,
    provisioning_model,
    region,
)
from planner.kubernetes.object_records import EMPTY, FrozenMap, Node, Owner, Pod, Snapshot, Workload
from planner.kubernetes.pod_properties import learn_start
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.pricing.flexible_commitments import FLEXIBLE, flexible_usd_per_hour
from planner.pricing.node_price import price_node, unsold
from planner.pricing.owned_commitments import price_committed
from planner.pricing.price_book import Price, PriceBook, Provisioning
from planner.pricing.price_history import MONTH_DAYS, move_days, spot_moves
from planner.spot.assumptions import ASSUMED, RATES, SETTINGS, Assumptions, Capacity, Fallback, SpotSettings, Work
from planner.spot.interruption import availability_of, gaps_of
from planner.spot.suitability import guess_gang, guess_work, pods_by_workload
from planner.spot.suitability_checks import counted_retries
from planner.spot.termination_notice import window_of


class Derived(Record):
    """What the cluster and the price book say. `values`: setting → value (None: nothing says); `sources`: why."""

    workload: str
    values: FrozenMap[float | None] = EMPTY
    sources: FrozenMap[str] = EMPTY
    work: Work
    work_source: str
    capacity: Capacity = Capacity.SPOT
    node_pool: str = ""
    machine_type: str = ""
    bought_as: str = ""  # how the nodes are bought now
    as_of: str = ""  # of the prices
    price_moves: tuple[float, ...] = ()  # of the spot price within `move_days`
    move_days: int = MONTH_DAYS
    works_as_gang: bool = False
    gang_source: str = "nothing says that its pods only work together"
    unsold: tuple[str, ...] = ()  # ways of buying that its nodes' cloud doesn't have
    flexible: FrozenMap[float] = EMPTY  # flexible commitment → a node's price under it, where it covers all of them
    is_running: bool = True  # a node holds a pod of it now
    counted_retries: int | None = (
        None  # the limit that disruptions count against, until the listed podFailurePolicy is there
    )
    problem: str = ""  # why there is no estimate without prices from the user

    @property
    def name(self) -> str:
        """``prod/ml-worker``."""
        return self.workload.partition("/")[2]

    @property
    def machine_types(self) -> tuple[str, ...]:
        return tuple(filter(None, self.machine_type.split(", ")))

    @property
    def is_on_spot(self) -> bool:
        """Whether its nodes are spot or preemptible ones now: what that saves is saved already."""
        return self.bought_as in (Provisioning.SPOT, Provisioning.PREEMPTIBLE)


class AssumptionRow(Record):
    """One line of the table of assumptions."""

    name: str
    label: str
    value: float | str | bool | None
    unit: str
    source: str


def workloads(snapshot: Snapshot) -> tuple[Workload, ...]:
    """The workloads a savings estimate can be asked for, those with GPUs first, then by replicas."""
    offered = [
        workload
        for workload in snapshot.workloads
        if workload.namespace not in SYSTEM_NAMESPACES and not workload.traits.is_per_node and not workload.is_finished
    ]

    def rank(workload: Workload) -> tuple[bool, int, str]:
        requests = pod_requests(workload.template.spec)
        return not (requests.keys() - {CPU, MEMORY}), -workload.replicas, workload.key

    return tuple(sorted(offered, key=rank))


def find(snapshot: Snapshot, key: str) -> Workload:
    """The workload called `key`.

    Raises
    ------
    InputError
        When there is none.
    """
    workload = snapshot.workload(key)
    if workload is None and hides(snapshot, key):
        raise unseen_kind(snapshot, key)
    if workload is None:
        raise InputError(f'there is no workload "{key[:120]}"', where=snapshot.source, fix="Write kind/namespace/name")
    return workload


class _NodeKind(Record):
    """Nodes alike that the workload's pods are on, or would be. `template`: one of them."""

    template: Node
    pods: int
    nodes: int  # that the pods fill


def derive(snapshot: Snapshot, book: PriceBook, key: str) -> Derived:
    """What can be known of a workload's settings without asking anybody."""
    workload = find(snapshot, key)
    pods = pods_by_workload(snapshot).get(workload.key, ())
    kinds = _kinds_of(snapshot, workload, pods)
    work, why = guess_work(workload)
    is_gang, why_gang = guess_gang(workload)
    names = {pod.node_name for pod in pods}
    window = window_of([node for node in snapshot.nodes if node.name in names] or snapshot.nodes)
    start = learn_start(pods)
    derived_inputs: Told = {"window_seconds": (float(window.seconds), f"{window.what}: {window.source}")}
    if start is not None:
        derived_inputs["pod_start_seconds"] = (
            round(start.seconds, 1),
            f"learnt from {count(start.pods, 'Ready pod')}: median",
        )
    if workload.traits.is_batch:
        is_there = bool(kinds) and is_spot(max(kinds, key=lambda kind: kind.pods).template)
        derived_inputs["retries"] = _retries(workload, is_there=is_there)
        derived_inputs |= job_hours(snapshot, workload)
    derived_assumptions = Derived(
        workload=key,
        work=work,
        work_source=why,
        works_as_gang=is_gang,
        gang_source=why_gang,
        is_running=any(pod.node_name for pod in pods),
        counted_retries=counted_retries(workload),
    )
    if not kinds:
        problem = f"no node of the cluster suits {workload.namespace}/{workload.name}"
        return _with_told(replace(derived_assumptions, is_running=False, problem=problem), derived_inputs)
    derived_inputs |= _of_nodes(snapshot, workload, kinds)
    prices, problem, as_of, spot_as_of = _of_prices(book, kinds)
    derived_inputs |= prices
    days = move_days(spot_as_of, snapshot.taken_at)
    main = max(kinds, key=lambda kind: kind.pods)
    derived_inputs |= _of_commitments(snapshot, book, main, derived_inputs["nodes"][0] or 0)
    bought = Provisioning(provisioning_model(main.template))
    inputs_found = replace(
        derived_assumptions,
        capacity=Capacity.PREEMPTIBLE if bought is Provisioning.PREEMPTIBLE else Capacity.SPOT,
        node_pool=", ".join(dict.fromkeys(node_pool(kind.template) for kind in kinds)),
        machine_type=", ".join(dict.fromkeys(machine_type(kind.template) for kind in kinds)),
        bought_as=bought.value,
        unsold=unsold(main.template),
        flexible=_flexible(book, kinds),
        as_of=as_of,
        price_moves=spot_moves(book.changes, days),
        move_days=days,
        problem=problem,
    )
    return _with_told(inputs_found, derived_inputs)


def _retries(workload: Workload, *, is_there: bool) -> tuple[float | None, str]:
    """How many retries disruptions use up. The checklist's cure is taken as made where the workload has yet to move (a job of
    two weeks loses its saving to six retries); on spot already (`is_there`) the limit is the one that stands."""
    limit = counted_retries(workload)
    if limit is None:
        return None, "its podFailurePolicy doesn't count disruptions"
    if is_there:
        return limit, f"the {workload.kind}'s backoffLimit"
    return (
        None,
        f"with the podFailurePolicy that the checklist lists; until then {limit}, the {workload.kind}'s backoffLimit",
    )


Told = dict[str, tuple[float | None, str]]
"""Setting → its value (None: nothing says), and who says so, or why it is not said."""


def _with_told(derived: Derived, derived_inputs: Told) -> Derived:
    """With what is known; of a Job's hours and retries also what isn't."""
    derived_values = {
        name: value
        for name, (value, _) in derived_inputs.items()
        if value is not None or name in ("hours_per_month", "retries")
    }
    return replace(
        derived,
        values=FrozenMap(derived_values),
        sources=FrozenMap({name: why for name, (_, why) in derived_inputs.items()}),
    )


@once_a_snapshot
def _runs(snapshot: Snapshot) -> tuple[dict[str, list[Pod]], dict[Owner, list[Workload]]]:
    """Owner's key → all pods that are its; what makes Jobs → those it made."""
    pods, jobs = defaultdict[str, list[Pod]](list), defaultdict[Owner, list[Workload]](list)
    for pod in snapshot.pods:
        if pod.owner is not None:
            pods[pod.owner.key(pod.namespace)].append(pod)
    for workload in snapshot.workloads:
        if workload.traits.is_batch and workload.owner is not None:
            jobs[workload.owner].append(workload)
    return pods, jobs


def job_hours(snapshot: Snapshot, workload: Workload) -> Told:
    """How long a Job runs and how often, as far as runs of it and of its CronJob's other Jobs are seen.

    A Job isn't there all month: without a run that was seen its hours stay unknown.
    """
    pods_of_owner, jobs = _runs(snapshot)
    # A CronJob's Jobs are runs of one thing: last night's, which has ended, tells how long tonight's will take.
    kin = {workload.key: workload} | {job.key: job for job in (jobs.get(workload.owner, ()) if workload.owner else ())}
    job_pods = [pod for key in kin for pod in pods_of_owner.get(key, ())]
    ended = [
        max(ends) - pod.started_at
        for pod in job_pods
        if pod.started_at is not None and pod.is_terminal
        if (ends := [state.finished_at for state in pod.containers if state.finished_at is not None])
    ]
    so_far = [
        snapshot.taken_at - pod.started_at for pod in job_pods if pod.started_at is not None and not pod.is_terminal
    ]
    if not ended and not so_far:
        return {"hours_per_month": (None, f"no run of this {workload.kind} is seen")}
    hours = (median(ended) if ended else max(so_far)) / 3600
    begun = sorted(job.created_at for job in kin.values() if job.created_at is not None)
    each = median([later - before for before, later in pairwise(begun)]) / 3600 if len(begun) > 1 else None
    length = "the median of runs that ended" if ended else "it has run so long so far, and goes on"
    often = f"one each {duration(each * 3600)}" if each else "one run a month: no other of it is seen"
    a_month = max(0.01, min(hours * (HOURS_PER_MONTH / each if each else 1), HOURS_PER_MONTH))
    return {
        "hours_per_month": (round(a_month, 2), f"runs of {duration(hours * 3600)} ({length}), {often}"),
        "job_minutes": (round(max(0.01, hours * 60), 2), length),
    }


def assume(derived: Derived, assumptions: Mapping[str, Any]) -> Assumptions:
    """What is derived, with what was asked for in its place.

    Raises
    ------
    InputError
        For values that are impossible.
    NotKnownError
        Where neither the price book nor the reader gives a price.
    """
    field_names = {field.name for field in fields(Assumptions)}
    overrides = {name: value for name, value in assumptions.items() if value is not None}
    if unknown := overrides.keys() - field_names:
        raise InputError(f"there is no assumption called {min(unknown)}", fix="See the list of assumptions")
    if overrides.get("capacity") in derived.unsold:
        raise InputError(
            f"its nodes' cloud sells nothing as {overrides['capacity']}", where="capacity", fix="Take spot"
        )
    derived_values = {name: value for name, value in derived.values.items() if value is not None}
    chosen: dict[str, Any] = {
        "work": derived.work,
        "capacity": derived.capacity,
        "works_as_gang": derived.works_as_gang,
        "price_moves": derived.price_moves,
        "move_days": derived.move_days,
    }
    chosen |= derived_values | rates_of(overrides) | overrides
    needed = ["nodes", "on_demand_usd_per_hour", "spot_usd_per_hour"]
    needed += ["hours_per_month"] if "hours_per_month" in derived.values else []
    missing = [name for name in needed if chosen.get(name) is None]
    if missing:
        words = " and ".join(setting.label.lower() for setting in SETTINGS if setting.name in missing)
        raise NotKnownError(
            derived.problem or derived.sources.get(missing[0]) or f"the {words} is not known",
            where=derived.workload,
            fix=f"Give the {words} yourself",
        )
    for setting in SETTINGS:
        if setting.whole and chosen.get(setting.name) is not None:
            chosen[setting.name] = int(chosen[setting.name])
    if "nodes" in overrides and "needed_nodes" not in overrides:
        chosen["needed_nodes"] = max(0, chosen["nodes"] - 1)
    chosen_assumptions = Assumptions(**chosen)
    gaps_of(chosen_assumptions)  # refuses what contradicts itself
    return chosen_assumptions


def rates_of(overrides: Mapping[str, Any]) -> dict[str, float]:
    """The interruption rate that a given share of time up and a given gap come to, where no rate is given."""
    share, gap = overrides.get("availability"), overrides.get("stock_out_hours")
    if share in (None, 0, 1) or gap is None or overrides.keys() & {*RATES, "lives"}:
        return {}
    bulk = overrides.get("zone_losses_per_month", ASSUMED["zone_losses_per_month"]) / HOURS_PER_MONTH
    return dict.fromkeys(RATES, max(0.0, (1 - share) / (share * gap) - bulk))


def table(derived: Derived, overrides: Mapping[str, Any], assumptions: Assumptions) -> tuple[AssumptionRow, ...]:
    """Every assumption with its value and where it comes from: what the page shows and the exports carry."""
    stated_values = {name: value for name, value in overrides.items() if value is not None}
    from_given = rates_of(stated_values)

    def source(name: str, otherwise: str) -> str:
        if name in stated_values:
            return str(derived.sources.get(name, "given")) if name == "zone_losses_per_month" else "given"
        if name in from_given:
            return "follows from the given gap and share of time up"
        return str(derived.sources.get(name, otherwise))

    shown: dict[str, float] = {
        "stock_out_hours": gaps_of(assumptions).mean_hours,
        "availability": availability_of(assumptions),
    }
    follows = (
        {"stock_out_hours": "follows from the rate and the share of time up"} if "availability" in stated_values else {}
    )
    if assumptions.gaps:
        follows |= {"stock_out_hours": "the observed gaps", "availability": "follows from the observed gaps"}
    if assumptions.lives:
        follows |= dict.fromkeys(RATES, "not used: the observed lives stand for it")
    rows = [
        AssumptionRow(
            name=setting.name,
            label=setting.label,
            value=round(shown[setting.name], 4) if setting.name in shown else getattr(assumptions, setting.name),
            unit=setting.unit,
            source=source(setting.name, follows.get(setting.name, setting.source)),
        )
        for setting in SETTINGS
    ]
    low, high = (signed(move) for move in _ends(assumptions.price_moves))
    moved = "P5 and P95 of the last year in the log of price changes, over the price's age and a month"
    otherwise: dict[
        str, tuple[Any, str]
    ] = {  # the value where the user gave none, and its source; "": the setting's own source
        "capacity": (derived.capacity, f"bought now: {derived.bought_as or 'nothing'}"),
        "work": (derived.work, derived.work_source),
        "fallback": (Fallback.ON_DEMAND, "assumed: not given"),
        "saves_on_notice": (False, "assumed: not given"),
        "goes_together": (False, ""),
        "works_as_gang": (derived.works_as_gang, derived.gang_source),
    }
    spoken: list[tuple[str, str, Any, Any, str]] = []
    for name, (usual, why) in otherwise.items():
        setting = setting_of(SpotSettings, name)
        spoken.append((name, setting.label, getattr(assumptions, name), usual, why or setting.source))
    spoken += [
        ("lives", "Observed lives", len(assumptions.lives), 0, "none: the interruption rate is used"),
        ("gaps", "Observed gaps", len(assumptions.gaps), 0, "none: the mean gap is used"),
        ("price_moves", f"Moves of the spot price within {assumptions.move_days} days", f"{low} to {high}", None,
         moved if assumptions.price_moves else "none: the log of price changes isn't given"),
    ]  # fmt: skip
    for name, label, value, usual, why in spoken:
        # a widget always has a value: one equal to the default wasn't given by the user
        source_text = derived.sources.get(name, "given") if name in stated_values and value != usual else why
        text = value if isinstance(value, bool) else str(getattr(value, "value", value))
        rows.append(AssumptionRow(name=name, label=label, value=text, unit="", source=source_text))
    return tuple(rows)


def _ends(moves: tuple[float, ...]) -> tuple[float, float]:
    """The 5th and 95th of a hundred."""
    return (moves[round(0.05 * (len(moves) - 1))], moves[round(0.95 * (len(moves) - 1))]) if moves else (0.0, 0.0)


def _kinds_of(snapshot: Snapshot, workload: Workload, pods: tuple[Pod, ...]) -> list[_NodeKind]:
    """The kinds of node the workload runs on, or would; pods that wait count with the commonest."""
    nodes = {node.name: node for node in snapshot.nodes}
    nodes_by_kind: dict[tuple[str, ...], Node] = {}
    pod_counts: Counter[tuple[str, ...]] = Counter()
    for pod in pods:
        if (node := nodes.get(pod.node_name)) is not None:
            kind = (node_pool(node), machine_type(node), provisioning_model(node), str(physical_gpus(node)))
            nodes_by_kind.setdefault(kind, node)
            pod_counts[kind] += 1
    if not nodes_by_kind:
        spec = workload.template.spec
        requests = pod_requests(spec)
        suits = next(
            (
                node
                for node in snapshot.nodes
                if node_affinity_matches(spec, node.labels, node.name)
                and tolerates_taints(spec.tolerations, node.taints)
                and all(node.allocatable.get(name, 0) >= amount for name, amount in requests.items())
            ),
            None,
        )
        if suits is None:
            return []
        nodes_by_kind, pod_counts = {("",): suits}, Counter({("",): workload.replicas})
    else:
        commonest = pod_counts.most_common(1)[0][0]
        pod_counts[commonest] = max(0, pod_counts[commonest] + workload.replicas - sum(pod_counts.values()))
    return [
        _NodeKind(template=node, pods=pod_counts[kind], nodes=ceil(pod_counts[kind] / pods_to_a_node(node, workload)))
        for kind, node in nodes_by_kind.items()
    ]


def pods_to_a_node(node: Node, workload: Workload) -> int:
    """How many of the workload's pods an empty node like `node` takes, by what they request; at least 1."""
    requests = pod_requests(workload.template.spec)
    room = [node.allocatable.get(name, 0) // amount for name, amount in requests.items() if name in node.allocatable]
    return max(1, min(room, default=1))


def _of_nodes(snapshot: Snapshot, workload: Workload, kinds: list[_NodeKind]) -> Told:
    """Nodes, GPUs per node, zones, and how many nodes must be up."""
    main = max(kinds, key=lambda kind: kind.pods)
    node, per_node = main.template, pods_to_a_node(main.template, workload)
    nodes = sum(kind.nodes for kind in kinds)
    where = f"{count(workload.replicas, 'replica')}, {per_node} to a node"
    if len(kinds) > 1:
        where = "; ".join(
            f"{count(kind.pods, 'pod')} on {count(kind.nodes, 'node')} of {node_pool(kind.template) or 'no pool'}"
            for kind in kinds
        )
    gpus = physical_gpus(node)
    pools = {node_pool(kind.template) for kind in kinds}
    zones = {
        pool_node.labels[ZONE]
        for pool_node in snapshot.nodes
        if node_pool(pool_node) in pools and ZONE in pool_node.labels
    }
    named = f"zones of {plural(len(pools), 'pool')} {', '.join(sorted(pools))}"
    guarded = protection(snapshot, workload)
    if guarded.allowed is None:
        unknown = "its PodDisruptionBudget counts a scale that the snapshot doesn't hold"
        why = unknown if guarded.budgets else "no PodDisruptionBudget"
        needed, by = max(0, nodes - 1), f"one node fewer than in all ({why})"
    else:
        pods_needed = max(0, workload.replicas - guarded.allowed)
        names = ", ".join(budget.name for budget in guarded.budgets)
        needed = min(nodes, ceil(pods_needed / per_node))
        by = f"PodDisruptionBudget {names}: {pods_needed} of {count(workload.replicas, 'pod')}"
    return {
        "nodes": (nodes, where),
        "gpus_per_node": (gpus or 0, f"node {node.name}"),
        "node_start_seconds": (arrival_seconds(has_gpus=gpus != 0), ARRIVAL_SOURCE),
        "zones": (min(9, max(1, len(zones))), f"{named}: {', '.join(sorted(zones))}" if zones else "no zone label"),
        "needed_nodes": (needed, by),
    }


def _of_commitments(snapshot: Snapshot, book: PriceBook, main: _NodeKind, nodes: float) -> Told:
    """Of the account's commitments those that would cover no node if these nodes went: they are paid all the same."""
    kind = (machine_type(main.template), region(main.template))
    owned = [commitment for commitment in book.commitments if (commitment.machine_type, commitment.region_id) == kind]
    if not owned or not nodes or _is_elsehow(main.template):
        return {}
    running_nodes = sum((machine_type(node), region(node)) == kind and not _is_elsehow(node) for node in snapshot.nodes)
    have = sum(commitment.nodes for commitment in owned)
    # A commitment covers whatever nodes run: only what these nodes' leaving uncovers counts as their cost.
    idle = int(min(have, running_nodes) - min(have, max(0, running_nodes - min(nodes, main.nodes))))
    prices = [price_committed(book, main.template, commitment).usd_per_hour for commitment in owned]
    explanation = (
        f"{have} of {kind[0]} in {kind[1]} are owned, {running_nodes} run: so many would cover none if these went"
    )
    if not idle or None in prices:
        return {"committed_nodes": (None, explanation)}
    each, ids = (
        _mean([commitment.nodes for commitment in owned], prices),
        ", ".join(commitment.commitment_id for commitment in owned),
    )
    return {"committed_nodes": (idle, explanation), "committed_usd_per_hour": (round(each, 6), ids)}


def _is_elsehow(node: Node) -> bool:
    return provisioning_model(node) != Provisioning.ON_DEMAND


_BOUGHT: Final = {
    "on_demand_usd_per_hour": Provisioning.ON_DEMAND,
    "spot_usd_per_hour": Provisioning.SPOT,
    "flex_start_usd_per_hour": Provisioning.FLEX_START,
    "committed_usd_per_hour": Provisioning.COMMITMENT_1Y,
    "committed_3y_usd_per_hour": Provisioning.COMMITMENT_3Y,
}
_NEEDED: Final = (Provisioning.ON_DEMAND, Provisioning.SPOT)


def _of_prices(book: PriceBook, kinds: list[_NodeKind]) -> tuple[Told, str, str, str]:
    """A node's price bought in each way, the mean over the nodes of several kinds; what is missing, the oldest date, and the
    oldest of spot prices."""
    derived_prices: Told = {}
    problem, as_of, spot_as_of = "", "", ""
    weights = [kind.nodes or 1 for kind in kinds]
    for name, bought in _BOUGHT.items():
        prices = [price_node(book, kind.template, bought).price for kind in kinds]
        missing = next((price for price in prices if price.usd_per_hour is None), None)
        if missing is not None:
            problem = str(problem or (missing.sentence if bought in _NEEDED else ""))
            derived_prices[name] = None, str(missing.sentence)
            continue
        if bought not in _NEEDED and not all(price.is_sold for price in prices):
            continue
        each, source = _mean(weights, [price.usd_per_hour for price in prices]), _price_source(prices, weights, bought)
        derived_prices[name] = round(each, 6), source
        as_of = min([date for date in (as_of, *(price.as_of for price in prices)) if date], default="")
        spot_as_of = min((price.as_of for price in prices), default="") if bought is Provisioning.SPOT else spot_as_of
        if bought is Provisioning.ON_DEMAND:  # one that stands in is there for less than a month
            derived_prices["stand_in_usd_per_hour"] = derived_prices[name]
            all_month = _mean(weights, [price.sustained_use_usd_per_hour for price in prices])
            if all_month < each:
                less = f"{each:.6g} less {1 - all_month / each:.0%} for sustained use all month"
                derived_prices[name] = round(all_month, 6), f"{source}; {less}"
    return derived_prices, problem, as_of, spot_as_of


def _flexible(book: PriceBook, kinds: list[_NodeKind]) -> FrozenMap[float]:
    prices = [price_node(book, kind.template, Provisioning.ON_DEMAND).price for kind in kinds]
    each = {name: [flexible_usd_per_hour(price, years) for price in prices] for name, years in FLEXIBLE.items()}
    weights = [kind.nodes or 1 for kind in kinds]
    return FrozenMap({name: _mean(weights, usd_prices) for name, usd_prices in each.items() if None not in usd_prices})


def _mean(weights: list[int], amounts: list[float | None]) -> float:
    return sum(weight * (amount or 0.0) for weight, amount in zip(weights, amounts, strict=True)) / sum(weights)


def _price_source(prices: list[Price], weights: list[int], bought: Provisioning) -> str:
    price = prices[0]
    sold = (
        ""
        if all(node_price.is_sold for node_price in prices)
        else "; not sold in this way here: a reference price only"
    )
    if len({(node_price.machine_type, node_price.region_id, node_price.usd_per_hour) for node_price in prices}) == 1:
        return f"{price.machine_type} in {price.region_id}, {bought}, as of {price.as_of}{sold}"
    parts = [
        f"{nodes} × {node_price.machine_type} at {node_price.usd_per_hour:.6g}"
        for nodes, node_price in zip(weights, prices, strict=True)
    ]
    return f"{bought}, the mean of {', '.join(parts)}, as of {min(node_price.as_of for node_price in prices)}{sold}"
