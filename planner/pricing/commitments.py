"""Commitments that an account owns already: whole nodes of a machine type in a region, for 1 or 3 years.

They belong to the billing account, not to a node or a workload: no label tells which node one covers. So they are given once
(CSV) and cover on-demand nodes of their type and region, those with most requested on them first; what covers none is paid
all the same.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Final

from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.vocabulary import CPU, HOURS_PER_MONTH
from planner.ground.words import Text
from planner.kubernetes import nodes as node_words
from planner.kubernetes.accelerators import alike
from planner.kubernetes.records import EMPTY, Amounts, Node
from planner.pricing.model import NodePrice, OwnedCommitment, Price, PriceBook, PriceReason, Provisioning
from planner.pricing.node import price_node

TERMS: Final = {"1y": Provisioning.COMMITMENT_1Y, "3y": Provisioning.COMMITMENT_3Y}
COLUMNS: Final = ("machine_type", "region", "nodes", "term", "usd_per_hour", "id")
_MEND: Final = f"Write the columns {', '.join(COLUMNS)}; the last two may be empty"


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
        raise InputError(f'there is no column "{lacking[0]}"', where=where, mend=_MEND)
    found = tuple(
        _commitment(row, f"{where}, line {rows.line_num}", number) for number, row in enumerate(rows, start=1)
    )
    if len({commitment.commitment_id for commitment in found}) < len(found):
        raise InputError("two commitments have the same id", where=where, mend="Give each its own, or none")
    return found


def _commitment(row: Mapping[str, str | None], where: str, number: int) -> OwnedCommitment:
    cells = {name: (row.get(name) or "").strip() for name in COLUMNS}
    if not cells["machine_type"] or not cells["region"]:
        raise InputError("the machine type or the region is empty", where=where, mend=_MEND)
    if cells["term"].lower() not in TERMS:
        raise InputError(f'"{cells["term"][:40]}" is no term', where=where, mend="Write 1y or 3y under term")
    if not cells["nodes"].isascii() or not cells["nodes"].isdigit() or not 0 < int(cells["nodes"][:9]) <= 100_000:
        raise InputError(f'"{cells["nodes"][:40]}" is no number of nodes', where=where, mend="Write 4")
    return OwnedCommitment(
        commitment_id=cells["id"] or f"commitment-{number}",
        machine_type=cells["machine_type"],
        region_id=cells["region"],
        nodes=int(cells["nodes"]),
        term=TERMS[cells["term"].lower()],
        usd_per_hour=_price(cells["usd_per_hour"], where),
    )


def _price(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not isfinite(value) or not 0 <= value <= 1000:
        raise InputError(f'"{text[:40]}" is no price of a node-hour in USD', where=where, mend="Write 0.6, or nothing")
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
        asked = requested.get(node.name, EMPTY)
        return -alike(asked), -asked.get(CPU, 0), node.name

    found: dict[str, OwnedCommitment] = {}
    for commitment in book.commitments:
        some = sorted(free.get((commitment.machine_type, commitment.region_id), ()), key=rank)
        found |= {node.name: commitment for node in some[: commitment.nodes]}
        free[commitment.machine_type, commitment.region_id] = some[commitment.nodes :]
    return found


def price_committed(book: PriceBook, node: Node, owned: OwnedCommitment) -> NodePrice:
    """What a covered node costs: the price that was given, else the book's of the term. Its list price stays that on demand."""
    demand, found = price_node(book, node), price_node(book, node, owned.term)
    price = found.price
    if owned.usd_per_hour is not None:
        price = _as_given(demand.price, owned.term, owned.usd_per_hour)
    return replace(found, price=replace(price, list_usd_per_hour=demand.price.list_usd_per_hour))


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
    """What of a commitment covers no node, and is paid all the same; `usd_per_month` None: no price of it is known."""

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
    found = []
    for one in book.commitments:
        left = one.nodes - sum(owned == one for owned in taken.values())
        node, hourly = like.get((one.machine_type, one.region_id)), one.usd_per_hour
        if hourly is None and node is not None:
            hourly = price_node(book, node, one.term).usd_per_hour
        if left:
            usd = None if hourly is None else left * hourly * HOURS_PER_MONTH
            found.append(
                UnusedCommitment(
                    commitment_id=one.commitment_id, machine_type=one.machine_type, region_id=one.region_id, term=one.term,
                    nodes=left, usd_per_month=usd,
                )
            )  # fmt: skip
    return tuple(found)


def paid_for(book: PriceBook, nodes: Iterable[Node], like: Node) -> int:
    """How many new nodes like `like` are paid for already: by commitments that cover none of `nodes`; no spot node is."""
    if not book.commitments or node_words.provisioning_model(like) != Provisioning.ON_DEMAND:
        return 0
    nodes, kind = tuple(nodes), (node_words.machine_type(like), node_words.region(like))
    free = unused(book, nodes, covered(book, nodes))
    return sum(one.nodes for one in free if (one.machine_type, one.region_id) == kind)
