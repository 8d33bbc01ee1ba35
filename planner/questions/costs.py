"""The question *costs*: a cluster's monthly cost by owner, from its nodes' prices and its pods' requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, Final

from planner.capacity.display_filter import Filter, Selection
from planner.capacity.rollout_readiness import filtered
from planner.ground.answer_layout import USD_A_MONTH, Column, Figure, Listing
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting, settings_within
from planner.ground.table_formats import Row
from planner.ground.words import count, usd
from planner.kubernetes.node_properties import NO_POOL
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD
from planner.pricing.allocation import AllocatedCost, AllocationKind
from planner.pricing.focus_export import COLUMNS, OWN, VERSION, focus_rows, unfilled
from planner.pricing.node_pool_costs import PoolCost
from planner.pricing.projected_bill import NAMESPACE, POOL, WORKLOAD, ClusterBill, bill
from planner.questions.question import NOTHING, Inputs, Question, Want, known_book


class CostsSettings(Record):
    by: str = setting(
        NAMESPACE, form="namespace|label:NAME|pool|workload",
        is_everyday=True, help="How the bill is shared out: to namespaces, the values of a label of pods (else of their namespace), "
        "node pools or workloads.",
    )  # fmt: skip
    count_usage: bool = setting(
        False, label="Count what is used", is_everyday=True, help="A workload that uses more than it requests pays for its use, as in OpenCost."
    )  # fmt: skip
    share_idle: bool = setting(
        False, label="Share idle and shared",
        is_everyday=True, help="The workloads share idle and system cost, by what each bears.",
    )  # fmt: skip
    filter: Filter = settings_within(Filter)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: CostsSettings, inputs: Inputs = NOTHING) -> ClusterBill:
    """`bill` with the price book that was given.

    Raises
    ------
    InputError
        Without a price book, or when the bill can't be shared out so.
    """
    bill_options = {"counts_usage": settings.count_usage, "shares_idle": settings.share_idle}
    whole = bill(known_book(inputs), snapshot, settings.by, **bill_options)
    return narrowed(whole, filtered(snapshot, settings.filter))


def narrowed(whole: ClusterBill, kept: Selection) -> ClusterBill:
    """The lines and pools that are let through. What no pod holds and what all share stays; so do a label's values, which
    aren't one namespace's or pool's. The sums are the whole bill's."""
    if kept.is_all:
        return whole
    passes = {NAMESPACE: kept.namespace, WORKLOAD: kept.workload, POOL: kept.pool}.get(whole.by)
    lines = tuple(
        line
        for line in whole.lines
        if passes is None or (line.share is not AllocationKind.USED and whole.by != POOL) or passes(line.name)
    )
    pools = tuple(pool for pool in whole.pools if kept.pool(pool.node_pool or NO_POOL))
    hidden = len(whole.lines) - len(lines) + len(whole.pools) - len(pools)
    cents = sum(round(100 * line.usd) for line in whole.lines) - sum(round(100 * line.usd) for line in lines)
    sentence = (
        f"{kept.headline(len(lines), len(whole.lines), 'line')} ({usd(cents / 100)}). Whole cluster: {whole.sentence}"
    )
    return replace(
        whole, lines=lines, pools=pools, hidden=hidden, hidden_usd=cents / 100, sentence=type(whole.sentence)(sentence)
    )


def _idle(part: str) -> Callable[[Any], float | None]:
    """What is not requested of the bill, in all or of that part."""
    return lambda cost_line: getattr(idle, part) if (idle := cost_line.idle) else None


def _list(of: PoolCost | ClusterBill) -> float | None:
    return None if of.usd_per_month is None else of.list_usd_per_month


def _notes(answer: ClusterBill) -> Iterator[str]:
    for group in answer.unpriced:
        more = f" (and {len(group.nodes) - 1:,} more)" if len(group.nodes) > 1 else ""
        yield f"△ {count(len(group.nodes), 'node')}: {group.sentence}{more}"
    yield from (f"note: {note}" for note in answer.notes)
    yield from (f"not in it: {not_in.sentence}" for not_in in answer.not_in)


def _basis(answer: ClusterBill) -> str:
    return " after sustained use" if round(answer.list_usd_per_month - (answer.usd_per_month or 0.0), 2) else ""


def _borne(answer: ClusterBill) -> str:
    if answer.bill_usd_per_month is None:
        return ""
    hidden = f", with {usd(answer.hidden_usd)} that the filter hides," if answer.hidden_usd else ""
    return (
        f"USD a month{_basis(answer)}; the lines{hidden} add up to the bill, {usd(answer.bill_usd_per_month)}, to the "
        f"cent. Shared: the system's namespaces. Idle: not requested."
    ) + (" Who uses the nodes bears both here, by weight." if answer.shares_idle else "")


_POOLS: Final[Listing[ClusterBill, PoolCost]] = Listing(
    name="pools",
    title="node pools",
    empty="No nodes, so nothing to pay for.",
    unknown=lambda answer: "no price" if answer.idle or not answer.nodes else "not known",
    note=lambda answer: f"USD a month{_basis(answer)}. List prices are less negotiated discounts." if answer.nodes else "",
    columns=(
        Column("node_pool", words=lambda pool: pool.node_pool or NO_POOL, label="node_pool"),
        Column("bought", lambda pool: pool.provisioning, label="provisioning"),
        Column("machine_types", lambda pool: ", ".join(pool.machine_types),
            words=lambda pool: ", ".join(filter(None, pool.machine_types)) or "unknown",
        ),
        Column("nodes", lambda pool: pool.node_count, metric="pool_nodes", unit="nodes"),
        Column("nodes_without_price", lambda pool: pool.unpriced_count, heading="without a price",
            words=lambda pool: f"{pool.unpriced_count:,}" if pool.unpriced_count else "",
        ),
        Column("usd_per_month", heading="bill $/month", metric="pool_cost_with_sustained_use", unit=USD_A_MONTH),
        Column("idle_usd_per_month", _idle("total"), heading="idle $/month", metric="pool_idle_with_sustained_use",
            unit=USD_A_MONTH,
        ),
        Column("idle_gpu_usd_per_month", _idle("gpu"), heading="of that GPUs"),
        Column("idle_cpu_usd_per_month", _idle("cpu"), heading="CPU"),
        Column("idle_memory_usd_per_month", _idle("memory"), heading="memory"),
        Column("list_usd_per_month", _list, heading="list $/month"),
        Column("reason"),
    ),
)  # fmt: skip


def _allocation(answer: ClusterBill) -> tuple[Column[AllocatedCost], ...]:
    return (
        Column(answer.by, lambda line: line.name or line.share.value),
        Column("", lambda line: line.name, label="name"),
        Column("share", label="share"),
        Column("usd_per_month", lambda line: line.usd, heading="$/month", metric="allocated_cost", unit=USD_A_MONTH, also={"by": answer.by}),
        Column("gpu_usd_per_month", lambda line: line.gpu_usd, heading="GPUs"),
        Column("cpu_usd_per_month", lambda line: line.cpu_usd, heading="CPU"),
        Column("memory_usd_per_month", lambda line: line.memory_usd, heading="memory"),
    )  # fmt: skip


_ALLOCATION: Final[Listing[ClusterBill, AllocatedCost]] = Listing(
    name="allocation",
    title="who it is for",
    items=lambda answer: answer.lines,
    empty="No node has a price, so there is no bill to share out.",
    note=_borne,
    columns=_allocation,
)
_FOCUS: Final[Listing[ClusterBill, Row]] = Listing(
    name="focus",
    items=lambda answer: focus_rows(
        answer.by_node, answer.nodes, answer.resources, answer.starts_at, unused=answer.unused_commitments
    ),
    is_shown=False,
    unknown="",
    note=lambda answer: f"FOCUS {VERSION}. A snapshot can't fill: {', '.join(unfilled(answer))}.",
    columns=tuple(Column(name, itemgetter(name)) for name in (*COLUMNS, *OWN)),
)

QUESTION: Final = Question(
    name="costs",
    settings=CostsSettings,
    answer=answer,
    figures=(
        Figure("cost", _list, USD_A_MONTH),
        Figure("nodes_without_price", lambda bill: sum(len(group.nodes) for group in bill.unpriced), "nodes"),
        Figure("cost_with_sustained_use", lambda answer: answer.usd_per_month, USD_A_MONTH),
        *(Figure("idle_with_sustained_use", _idle(part), USD_A_MONTH, also={"paid_for": part}) for part in ("gpu", "cpu", "memory")),
        Figure("nodes_priced", lambda answer: len(answer.nodes), "nodes"),
    ),
    listings=(_POOLS, _ALLOCATION, _FOCUS),
    notes=_notes,
    given_rows={"by": {"csv": "focus", "markdown": "allocation"}},
    about="""What the cluster's nodes cost a month, by pool, way of buying and owner, and what of it isn't requested.

    --by shares the bill out, after sustained use: used, shared (the system's namespaces) and idle lines that add up to
    it to the cent. With --by, CSV has the columns of FOCUS 1.2. Nodes without a price are counted, never taken for
    free. Exits 4 when no node has one, or when pods weren't seen: the bill is known then, its owners aren't.
    """,
    wants=(Want.PRICES,),
    status=lambda answer: ExitStatus.NOT_KNOWN if answer.usd_per_month is None else ExitStatus.ANSWERED,
    hangs_on=(NODE.name,),
    parts_hang_on=(POD.name,),
)  # fmt: skip
