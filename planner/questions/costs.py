"""What a snapshot's cluster costs a month: its nodes' prices joined with what its pods request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from planner.errors import InputError
from planner.exit_status import ExitStatus
from planner.kubernetes.kinds import NODE, POD
from planner.kubernetes.records import PodSpec, Snapshot
from planner.kubernetes.requests import sum_requests
from planner.pricing.cluster import ClusterCost, cluster_cost
from planner.pricing.model import PriceBook
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.tables import Row

USD_A_MONTH: Final = "USD/month"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsSettings:
    """Nothing is asked: every node, at the price book's prices."""


def cost_cluster(book: PriceBook, snapshot: Snapshot) -> ClusterCost:
    """The cluster's cost by pool and way of buying, and what nobody requests (`planner.pricing.cluster`).

    Pods that are bound and not finished hold what they request, terminating ones until they are gone.
    """
    bound: dict[str, dict[PodSpec, int]] = defaultdict(lambda: defaultdict(int))
    for pod in snapshot.pods:
        if pod.holds_room:
            bound[pod.node_name][pod.spec] += 1
    requested = {node: sum_requests(specs.items()) for node, specs in bound.items()}
    return cluster_cost(book, snapshot.nodes, requested)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, _settings: CostsSettings, given: Given = NOTHING) -> ClusterCost:
    """`cost_cluster` with the price book that was given."""
    return cost_cluster(known_book(given), snapshot)


def known_book(given: Given) -> PriceBook:
    """The price book that was given.

    Raises
    ------
    InputError
        Without one: no price is assumed.
    """
    if given.book is None:
        raise InputError("no price book is given", mend="Give the embedded one, or prices of your own")
    return given.book


def facts(answer: ClusterCost) -> Iterator[Fact]:
    """What the cluster costs, what of it is idle, each pool; a pool without a price has none."""
    is_known = answer.usd_per_month is not None
    yield fact("cost", answer.usd_per_month, USD_A_MONTH)
    yield fact("cost_with_sustained_use", answer.sustained_use_usd_per_month if is_known else None, USD_A_MONTH)
    for part in ("gpu", "cpu", "memory"):
        yield fact("cost_idle", getattr(answer.idle, part) if is_known else None, USD_A_MONTH, paid_for=part)
    yield fact("nodes_priced", len(answer.nodes), "nodes")
    yield fact("nodes_without_price", sum(len(group.nodes) for group in answer.unpriced), "nodes")
    for pool in answer.pools:
        place = {"node_pool": pool.node_pool, "provisioning": pool.provisioning}
        yield fact("pool_nodes", pool.node_count, "nodes", **place)
        yield fact("pool_cost", pool.usd_per_month, USD_A_MONTH, **place)
        yield fact("pool_idle", None if pool.usd_per_month is None else pool.idle.total, USD_A_MONTH, **place)


def pool_rows(answer: ClusterCost) -> list[Row]:
    """One row a pool and way of buying; money is USD a month, empty where no node has a price."""
    rows: list[Row] = []
    for pool in answer.pools:
        is_known = pool.usd_per_month is not None
        rows.append(
            {
                "node_pool": pool.node_pool,
                "bought": pool.provisioning.value,
                "machine_types": ", ".join(pool.machine_types),
                "nodes": pool.node_count,
                "nodes_without_price": pool.unpriced_count,
                "usd_per_month": _money(pool.usd_per_month),
                "idle_usd_per_month": _money(pool.idle.total if is_known else None),
                "idle_gpu_usd_per_month": _money(pool.idle.gpu if is_known else None),
                "idle_cpu_usd_per_month": _money(pool.idle.cpu if is_known else None),
                "idle_memory_usd_per_month": _money(pool.idle.memory if is_known else None),
                "with_sustained_use_usd_per_month": _money(pool.sustained_use_usd_per_month if is_known else None),
                "reason": pool.reason,
            }
        )
    return rows


def _money(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 2)


def _status(answer: ClusterCost) -> ExitStatus:
    return ExitStatus.NOT_KNOWN if answer.usd_per_month is None else ExitStatus.ANSWERED


QUESTION: Final = Question(
    name="costs",
    settings=CostsSettings,
    result=ClusterCost,
    answer=answer,
    facts=facts,
    tables={"pools": pool_rows},
    status=_status,
    hangs_on=(NODE.name, POD.name),
)
