"""Commitments that an account already owns: whole nodes of a machine type in a region for 1 or 3 years, or USD an hour.

They belong to the billing account, not to a node or a workload: no label tells which node one covers. So they are given once
(CSV) and cover on-demand nodes of their type and region, those with most requested on them first; what covers none is paid
all the same. Savings plans of AWS and Azure are USD an hour (`nodes` empty): they are spent on the nodes that nothing else covers, in the same
order, on the last one as far as they reach; what they save differs by type, so that the account's mean is given (`discount`).
Source: AWS, "How Savings Plans apply to your usage": https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-applying.html.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from math import isfinite
from typing import Final

from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CPU, HOURS_PER_MONTH
from planner.ground.words import Text
from planner.kubernetes import node_properties as node_words
from planner.kubernetes.accelerators import alike
from planner.kubernetes.clouds import seller_of
from planner.kubernetes.object_records import EMPTY, Amounts, Node
from planner.pricing.node_price import price_node
from planner.pricing.price_book import NodePrice, OwnedCommitment, Price, PriceBook, PriceReason, Provisioning

TERMS: Final = {"1y": Provisioning.COMMITMENT_1Y, "3y": Provisioning.COMMITMENT_3Y}
COLUMNS: Final = ("machine_type", "region", "nodes", "term", "usd_per_hour", "id", "discount")
_FIX: Final = f"Write the columns {', '.join(COLUMNS[:6])}; the last two may be empty"


def parse_commitments(text: str, *, where: str) -> tuple[OwnedCommitment, ...]:
    """A row a commitment: ``n1-standard-8,us-central1,4,3y,,my-commitment``.

    Raises
    ------
    InputError
        For a missing column, or a value that can't be one.
    """
    rows = csv.DictReader(text.lstrip("\ufeff").splitlines())
    lacking = [name for name in COLUMNS[:4] if name not in (rows.fieldnames or ())]
    if lacking:
        raise InputError(f'there is no column "{lacking[0]}"', where=where, fix=_FIX)
    commitments = tuple(
        _commitment(row, f"{where}, line {rows.line_num}", number) for number, row in enumerate(rows, start=1)
    )
    if len({commitment.commitment_id for commitment in commitments}) < len(commitments):
        raise InputError("two commitments have the same id", where=where, fix="Give each its own, or none")
    return commitments


def _commitment(row: Mapping[str, str | None], where: str, number: int) -> OwnedCommitment:
    cells = {name: (row.get(name) or "").strip() for name in COLUMNS}
    if cells["discount"] or (not cells["nodes"] and cells["usd_per_hour"]):
        return _plan(cells, where, number)
    if not cells["machine_type"] or not cells["region"]:
        raise InputError("the machine type or the region is empty", where=where, fix=_FIX)
    if cells["term"].lower() not in TERMS:
        raise InputError(f'"{cells["term"][:40]}" is no term', where=where, fix="Write 1y or 3y under term")
    # isdigit() takes "²", which int() doesn't; and int() refuses thousands of digits
    digits = cells["nodes"].lstrip("0")
    if not digits.isascii() or not digits.isdigit() or int(digits[:9]) > 100_000:
        raise InputError(f'"{cells["nodes"][:40]}" is no number of nodes', where=where, fix="Write 4")
    return OwnedCommitment(
        commitment_id=cells["id"] or f"commitment-{number}",
        machine_type=cells["machine_type"],
        region_id=cells["region"],
        nodes=int(digits),
        term=TERMS[cells["term"].lower()],
        usd_per_hour=_price(cells["usd_per_hour"], where),
    )


def _plan(cells: Mapping[str, str], where: str, number: int) -> OwnedCommitment:
    """``*,,,3y,12,compute-plan,0.45``: 12 USD an hour at 45% off, on any machine."""
    usd, discount, term = _price(cells["usd_per_hour"], where), _price(cells["discount"], where), cells["term"].lower()
    if term not in TERMS or not usd or discount is None or not 0 < discount < 1 or cells["nodes"]:
        fix = "Write *,,,3y,12,my-plan,0.45: a type or pattern, a region or none, no nodes, the term, USD an hour, an id, the mean share it takes off"
        raise InputError("a plan of USD an hour lacks something, or has too much", where=where, fix=fix)
    return OwnedCommitment(
        commitment_id=cells["id"] or f"commitment-{number}",
        machine_type=cells["machine_type"] or "*",
        region_id=cells["region"],
        nodes=0,
        term=TERMS[term],
        usd_per_hour=usd,
        discount=discount,
    )


def _price(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not isfinite(value) or not 0 <= value <= 1000:
        raise InputError(f'"{text[:40]}" is no price of a node-hour in USD', where=where, fix="Write 0.6, or nothing")
    return value


def covered(
    book: PriceBook, nodes: Iterable[Node], requested: Mapping[str, Amounts] = EMPTY
) -> dict[str, OwnedCommitment]:
    """Node → the commitment that covers it; in the order in which they are given."""
    if not book.commitments:
        return {}
    free: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        if node_words.provisioning_model(node) == Provisioning.ON_DEMAND:
            free.setdefault((node_words.machine_type(node), node_words.region(node)), []).append(node)

    def rank(node: Node) -> tuple[int, int, str]:
        requests = requested.get(node.name, EMPTY)
        # No label tells which node a commitment covers. Nodes in use come first, so that an idle one that goes saves its on-demand
        # price; then by name, the same in every run.
        return -alike(requests), -requests.get(CPU, 0), node.name

    commitments_by_node: dict[str, OwnedCommitment] = {}
    for commitment in book.commitments:
        candidate_nodes = sorted(free.get((commitment.machine_type, commitment.region_id), ()), key=rank)
        commitments_by_node |= {node.name: commitment for node in candidate_nodes[: commitment.nodes]}
        free[commitment.machine_type, commitment.region_id] = candidate_nodes[commitment.nodes :]
    # Plans come after: they may be spent on any machine, a commitment of machines on its own type only.
    free_nodes = sorted((node for nodes_left in free.values() for node in nodes_left), key=rank)
    for plan in book.commitments:
        if plan.discount is not None:
            commitments_by_node |= _spent(
                book, plan, [node for node in free_nodes if node.name not in commitments_by_node]
            )
    return commitments_by_node


def _spent(book: PriceBook, plan: OwnedCommitment, nodes: Iterable[Node]) -> dict[str, OwnedCommitment]:
    """Node → the plan as it is spent on it: an hour of the node costs so much, a part of it on demand where the plan reaches no further."""
    remaining_usd, covered_nodes = plan.usd_per_hour or 0.0, {}
    for node in nodes:
        cloud, demand = seller_of(node), price_node(book, node).usd_per_hour
        is_meant = fnmatchcase(node_words.machine_type(node), plan.machine_type)
        is_here = plan.region_id in ("", node_words.region(node))
        if (
            remaining_usd < _LEAST_USD
            or cloud is None
            or not cloud.has_savings_plans
            or not demand
            or not is_meant
            or not is_here
        ):
            continue
        under = demand * (1 - (plan.discount or 0.0))
        share = min(1.0, remaining_usd / under)
        remaining_usd -= share * under
        covered_nodes[node.name] = replace(plan, usd_per_hour=share * under + (1 - share) * demand)
    return covered_nodes


_LEAST_USD: Final = 1e-9


def price_committed(book: PriceBook, node: Node, owned: OwnedCommitment) -> NodePrice:
    """What a covered node costs: the price that was given, else the book's of the term. Its list price stays that on demand."""
    demand, node_price = price_node(book, node), price_node(book, node, owned.term)
    price = node_price.price
    if owned.usd_per_hour is not None:
        price = _as_given(demand.price, owned.term, owned.usd_per_hour)
    return replace(node_price, price=replace(price, list_usd_per_hour=demand.price.list_usd_per_hour))


def _as_given(demand: Price, term: Provisioning, usd_per_hour: float) -> Price:
    share = usd_per_hour / demand.usd_per_hour if demand.usd_per_hour else 0.0
    return replace(
        demand,
        provisioning=term,
        usd_per_hour=usd_per_hour,
        sustained_use_usd_per_hour=usd_per_hour,
        reason=PriceReason.NONE,
        sentence=Text(f"{demand.machine_type} in {demand.region_id}, {term}, as given"),
        parts=tuple(replace(part, contracted_unit_price=part.contracted_unit_price * share) for part in demand.parts),
    )


class UnusedCommitment(Record):
    """What of a commitment covers no node, and is paid all the same; `usd_per_month` None: no price of it is known. `nodes` is 0 of a plan
    of USD an hour."""

    commitment_id: str
    machine_type: str
    region_id: str
    term: Provisioning
    nodes: int
    usd_per_month: float | None


def unused(
    book: PriceBook, nodes: Iterable[Node], taken: Mapping[str, OwnedCommitment]
) -> tuple[UnusedCommitment, ...]:
    """Commitments that cover fewer nodes than they are paid for; without a price where neither the account nor a node like it tells."""
    like = (
        {(node_words.machine_type(node), node_words.region(node)): node for node in nodes} if book.commitments else {}
    )
    unused_plans = [
        plan
        for commitment in book.commitments
        if commitment.discount is not None
        for plan in _left_of_plan(book, commitment, nodes, taken)
    ]
    for owned_commitment in book.commitments:
        if owned_commitment.discount is not None:
            continue
        unused_nodes = owned_commitment.nodes - sum(owned == owned_commitment for owned in taken.values())
        node, hourly = (
            like.get((owned_commitment.machine_type, owned_commitment.region_id)),
            owned_commitment.usd_per_hour,
        )
        if hourly is None and node is not None:
            hourly = price_node(book, node, owned_commitment.term).usd_per_hour
        if unused_nodes:
            usd = None if hourly is None else unused_nodes * hourly * HOURS_PER_MONTH
            unused_plans.append(
                UnusedCommitment(
                    commitment_id=owned_commitment.commitment_id, machine_type=owned_commitment.machine_type, region_id=owned_commitment.region_id, term=owned_commitment.term,
                    nodes=unused_nodes, usd_per_month=usd,
                )
            )  # fmt: skip
    return tuple(unused_plans)


def _left_of_plan(
    book: PriceBook, plan: OwnedCommitment, nodes: Iterable[Node], taken: Mapping[str, OwnedCommitment]
) -> Iterator[UnusedCommitment]:
    """What of a plan's USD an hour is spent on no node."""
    spent, discount = 0.0, plan.discount or 0.0
    for node in nodes:
        own, demand = taken.get(node.name), price_node(book, node).usd_per_hour
        if own is not None and own.commitment_id == plan.commitment_id and demand:
            # What the plan covers of the node costs (1 - discount) of its price, the rest all of it: own = demand -
            # share x demand x discount. A plan is spent at its discounted price.
            share = (demand - (own.usd_per_hour or 0.0)) / (demand * discount)
            spent += share * demand * (1 - discount)
    if (unused_usd := (plan.usd_per_hour or 0.0) - spent) > _LEAST_USD:
        yield UnusedCommitment(
            commitment_id=plan.commitment_id, machine_type=plan.machine_type, region_id=plan.region_id, term=plan.term,
            nodes=0, usd_per_month=unused_usd * HOURS_PER_MONTH,
        )  # fmt: skip


def paid_for(book: PriceBook, nodes: Iterable[Node], like: Node) -> int:
    """How many new nodes like `like` are paid for already: by commitments that cover none of `nodes`; no spot node is."""
    if not book.commitments or node_words.provisioning_model(like) != Provisioning.ON_DEMAND:
        return 0
    nodes, kind = tuple(nodes), (node_words.machine_type(like), node_words.region(like))
    free = unused(book, nodes, covered(book, nodes))
    return sum(commitment.nodes for commitment in free if (commitment.machine_type, commitment.region_id) == kind)
