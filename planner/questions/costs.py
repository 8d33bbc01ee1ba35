"""What a snapshot's cluster costs a month, and whom: its nodes' prices joined with what its pods request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.settings import setting, settings_within
from planner.ground.tables import Row
from planner.ground.words import usd
from planner.kubernetes.kinds import NODE, POD
from planner.kubernetes.nodes import NO_POOL
from planner.kubernetes.records import Snapshot
from planner.pricing.allocation import Share
from planner.pricing.bill import NAMESPACE, POOL, USD_A_MONTH, WORKLOAD, ClusterBill, bill
from planner.pricing.focus import OF_COMMITMENTS, UNKNOWN, focus_rows
from planner.pricing.model import PriceBook
from planner.questions.filters import Filter, Kept
from planner.questions.overview import kept_by
from planner.questions.question import NOTHING, Fact, Given, Question, fact


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsSettings:
    by: str = setting(
        NAMESPACE,
        form="namespace|label:NAME|pool|workload",
        help="Whom the bill is shared out to: namespaces, the values of a label of pods (else of their namespace), "
        "node pools or workloads.",
    )
    filter: Filter = settings_within(Filter)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: CostsSettings, given: Given = NOTHING) -> ClusterBill:
    """`bill` with the price book that was given.

    Raises
    ------
    InputError
        Without a price book, or when the bill can't be shared out so.
    """
    return narrowed(bill(known_book(given), snapshot, settings.by), kept_by(snapshot, settings.filter))


def narrowed(whole: ClusterBill, kept: Kept) -> ClusterBill:
    """The lines and pools that are let through. What nobody holds and what all share stays; so do a label's values, which
    aren't one namespace's or pool's. The sums are the whole bill's."""
    if kept.is_all:
        return whole
    passes = {NAMESPACE: kept.namespace, WORKLOAD: kept.workload, POOL: kept.pool}.get(whole.by)
    lines = tuple(
        one
        for one in whole.lines
        if passes is None or (one.share is not Share.USED and whole.by != POOL) or passes(one.name)
    )
    pools = tuple(pool for pool in whole.pools if kept.pool(pool.node_pool or NO_POOL))
    hidden = len(whole.lines) - len(lines) + len(whole.pools) - len(pools)
    cents = sum(round(100 * one.usd) for one in whole.lines) - sum(round(100 * one.usd) for one in lines)
    sentence = (
        f"{kept.headline(len(lines), len(whole.lines), 'line')} ({usd(cents / 100)}). Whole cluster: {whole.sentence}"
    )
    return replace(
        whole, lines=lines, pools=pools, hidden=hidden, hidden_usd=cents / 100, sentence=type(whole.sentence)(sentence)
    )


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


def facts(answer: ClusterBill) -> Iterator[Fact]:
    """What the cluster costs, what of it is idle, each pool, and who bears it; a pool without a price has none."""
    for line in answer.lines:
        yield fact("allocated_cost", line.usd, USD_A_MONTH, by=answer.by, name=line.name, share=line.share)
    is_known = answer.usd_per_month is not None
    yield fact("cost", answer.usd_per_month, USD_A_MONTH)
    yield fact("cost_with_sustained_use", answer.sustained_use_usd_per_month if is_known else None, USD_A_MONTH)
    for part in ("gpu", "cpu", "memory"):
        yield fact("cost_idle", getattr(answer.idle, part) if answer.idle else None, USD_A_MONTH, paid_for=part)
    yield fact("nodes_priced", len(answer.nodes), "nodes")
    yield fact("nodes_without_price", sum(len(group.nodes) for group in answer.unpriced), "nodes")
    for pool in answer.pools:
        place = {"node_pool": pool.node_pool, "provisioning": pool.provisioning}
        yield fact("pool_nodes", pool.node_count, "nodes", **place)
        yield fact("pool_cost", pool.usd_per_month, USD_A_MONTH, **place)
        yield fact("pool_idle", pool.idle.total if pool.idle else None, USD_A_MONTH, **place)


def allocation_rows(answer: ClusterBill) -> list[Row]:
    """Who bears the bill, USD a month in whole cents: their sum is the bill."""
    return [
        {
            answer.by: line.name or line.share.value,
            "share": line.share,
            "usd_per_month": line.usd,
            "gpu_usd_per_month": line.gpu_usd,
            "cpu_usd_per_month": line.cpu_usd,
            "memory_usd_per_month": line.memory_usd,
        }
        for line in answer.lines
    ]


def bill_in_focus(answer: ClusterBill) -> list[Row]:
    """The bill as rows of FOCUS: a row a node and holder."""
    return focus_rows(
        answer.by_node, answer.nodes, answer.resources, answer.starts_at, unused=answer.unused_commitments
    )


def unfilled(answer: ClusterBill) -> tuple[str, ...]:
    """The columns of FOCUS that this bill can't fill: those of commitments only where none is given."""
    is_owned = bool(answer.unused_commitments) or any(one.commitment_id for one in answer.nodes)
    return tuple(name for name in UNKNOWN if not (is_owned and name in OF_COMMITMENTS))


def pool_rows(answer: ClusterBill) -> list[Row]:
    """One row a pool and way of buying; money is USD a month, empty where no node has a price."""
    rows: list[Row] = []
    for pool in answer.pools:
        is_known, idle = pool.usd_per_month is not None, pool.idle
        rows.append(
            {
                "node_pool": pool.node_pool,
                "bought": pool.provisioning,
                "machine_types": ", ".join(pool.machine_types),
                "nodes": pool.node_count,
                "nodes_without_price": pool.unpriced_count,
                "usd_per_month": _money(pool.usd_per_month),
                "idle_usd_per_month": _money(idle.total if idle else None),
                "idle_gpu_usd_per_month": _money(idle.gpu if idle else None),
                "idle_cpu_usd_per_month": _money(idle.cpu if idle else None),
                "idle_memory_usd_per_month": _money(idle.memory if idle else None),
                "with_sustained_use_usd_per_month": _money(pool.sustained_use_usd_per_month if is_known else None),
                "reason": pool.reason,
            }
        )
    return rows


def _money(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 2)


def _status(answer: ClusterBill) -> ExitStatus:
    return ExitStatus.NOT_KNOWN if answer.usd_per_month is None else ExitStatus.ANSWERED


QUESTION: Final = Question(
    name="costs",
    settings=CostsSettings,
    result=ClusterBill,
    answer=answer,
    facts=facts,
    tables={"pools": pool_rows, "allocation": allocation_rows, "focus": bill_in_focus},
    status=_status,
    hangs_on=(NODE.name,),
    parts_hang_on=(POD.name,),
)
