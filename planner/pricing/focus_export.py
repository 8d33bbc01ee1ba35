"""Exports the bill as rows of FOCUS 1.2, the FinOps cost specification: https://focus.finops.org/

A row is a node's charge for one holder of it, over a month of 730 hours at the state of the snapshot: a projection, and `x_Projection`
says so. Billing and charge period are the calendar month of the snapshot (UTC). `tests/pricing/focus` has the
specification's own table of columns, `tests/pricing/test_focus.py` asks each row. A snapshot isn't a bill: the columns in `UNKNOWN` stay empty, because nothing in a cluster or a price book tells them. Columns that begin
with ``x_`` are Headroom's own, as the specification has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from json import dumps, loads
from typing import Any, Final

from planner.ground.data_files import table_beside
from planner.ground.records import Record
from planner.ground.table_formats import Row
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import count
from planner.kubernetes.clouds import seller_of
from planner.kubernetes.node_properties import zone
from planner.kubernetes.object_records import FrozenMap, Node
from planner.pricing.allocation import AllocatedCost
from planner.pricing.node_pool_costs import ClusterCost, NodeCost
from planner.pricing.owned_commitments import UnusedCommitment

VERSION: Final = "1.2"

_NAMES: Final[dict[str, list[str]]] = loads(table_beside(__name__, "focus_export.json"))
COLUMNS, OWN, OF_COMMITMENTS, UNKNOWN = (tuple(names) for names in _NAMES.values())
"""The specification's, Headroom's own; of both those that are filled where the account's commitments are given, and then in the rows
they are about; and those that nothing in a cluster or a price book tells."""
_DIGITS: Final = 6  # of quantities and of costs that are a unit price times a quantity, so that the product is the cost


class Resource(Record):
    """A node as a bill knows it."""

    name: str
    resource_id: str
    availability_zone: str
    provider_name: str
    tags: FrozenMap[str]


def resource_of(node: Node) -> Resource:
    """The node's names, place and labels."""
    seller = seller_of(node)
    return Resource(
        name=node.name,
        resource_id=node.provider_id or node.uid or node.name,
        availability_zone=zone(node),
        provider_name=(seller.provider_name or seller.seller) if seller else "",
        tags=node.labels,
    )


def focus_rows(
    lines: Iterable[AllocatedCost],
    costs: Iterable[NodeCost],
    resources: Iterable[Resource],
    start: float,
    unused: Iterable[UnusedCommitment] = (),
) -> list[Row]:
    """A row a line; a line's list and contracted cost are the node's in proportion to its effective cost.

    What a commitment covers is billed by its purchase, a row of its own that costs nothing effectively: the effective cost
    lies with the rows that use it, and with a row for what isn't used. Both columns add up to the same.
    """
    focus_resources, priced = (
        {resource.name: resource for resource in resources},
        {cost.node.node: cost for cost in costs},
    )
    seller = next((resource.provider_name for resource in focus_resources.values() if resource.provider_name), None)
    every = list(lines)
    rows: list[Row] = [_row(line, priced[line.node], focus_resources[line.node], start) for line in every]
    fees, hours = defaultdict[str, float](float), defaultdict[str, float](float)
    covered: dict[str, set[str]] = defaultdict(set)
    for line in every:
        if name := priced[line.node].commitment_id:
            fees[name] += line.usd
            covered[name].add(line.node)
    for name, nodes in covered.items():
        hours[name] = HOURS_PER_MONTH * len(nodes)
    for commitment in unused:
        if commitment.usd_per_month is not None:
            cents = round(commitment.usd_per_month, 2)
            fees[commitment.commitment_id] += cents
            hours[commitment.commitment_id] += (
                commitment.nodes or not hours[commitment.commitment_id]
            ) * HOURS_PER_MONTH
            rows.append(_of_commitment(commitment.commitment_id, start, seller) | _unused_row(commitment, cents))
    for name, fee in sorted(fees.items()):
        bought = {"ChargeCategory": "Purchase", "ChargeFrequency": "Recurring", "BilledCost": round(fee, 2)}
        row_fields = {
            "ChargeDescription": f"Commitment {name}, a month",
            "CommitmentDiscountQuantity": hours[name],
            "EffectiveCost": 0.0,
            "PricingCategory": "Standard",
        }
        rows.append(_of_commitment(name, start, seller) | bought | row_fields | _priced(fee, hours[name]))
    return [{**row, **_in_pricing_currency(row)} for row in rows]


@lru_cache(maxsize=64)
def _of_any(start: float, seller: str | None) -> dict[str, Any]:
    """Every column, empty but for those that are the same in each row of the snapshot's month; made once, don't change it."""
    begin, end = _month(start)
    empty: dict[str, Any] = dict.fromkeys((*COLUMNS, *OWN))
    return empty | {
        "BillingCurrency": "USD",
        "BillingPeriodStart": begin,
        "BillingPeriodEnd": end,
        "ChargePeriodStart": begin,
        "ChargePeriodEnd": end,
        "InvoiceIssuerName": seller,
        "PricingCurrency": "USD",
        "ProviderName": seller,
        "PublisherName": seller,
        "ServiceCategory": "Compute",
        "ServiceName": "Kubernetes nodes",
        "ServiceSubcategory": "Virtual Machines",
        "x_Projection": f"730 hours at the state of {_time(start)}",
    }


def _in_pricing_currency(row: Row) -> dict[str, Any]:
    """Prices are in the currency that is billed, and a region's name is its id: no book has another."""
    return {
        "PricingCurrencyContractedUnitPrice": row["ContractedUnitPrice"],
        "PricingCurrencyEffectiveCost": row["EffectiveCost"],
        "PricingCurrencyListUnitPrice": row["ListUnitPrice"],
        "RegionName": row["RegionId"],
    }


def _priced(usd: float, hours: float) -> dict[str, Any]:
    """What is paid for so many hours of a commitment, at one price."""
    return {
        "ContractedCost": round(usd, 2),
        "ContractedUnitPrice": usd / hours,
        "ListCost": round(usd, 2),
        "ListUnitPrice": usd / hours,
        "PricingQuantity": hours,
        "PricingUnit": "Hours",
    }


def _of_commitment(name: str, start: float, seller: str | None) -> dict[str, Any]:
    """A row that is about a commitment and no node."""
    named = {"ResourceId": name, "ResourceName": name, "ResourceType": "Commitment"}
    return _of_any(start, seller) | _committed(name) | {"BilledCost": 0.0} | named


def _committed(name: str) -> dict[str, Any]:
    return {
        "CommitmentDiscountCategory": "Usage",
        "CommitmentDiscountId": name,
        "CommitmentDiscountName": name,
        "CommitmentDiscountType": "Resource-based commitment",
        "CommitmentDiscountUnit": "Hours",
    }


def _unused_row(commitment: UnusedCommitment, cents: float) -> dict[str, Any]:
    return {
        "ChargeCategory": "Usage",
        "ChargeDescription": f"{count(commitment.nodes, 'node') if commitment.nodes else 'USD an hour for'} {commitment.machine_type}, {commitment.term}: unused",
        "ChargeFrequency": "Usage-Based",
        "CommitmentDiscountQuantity": (commitment.nodes or 1) * HOURS_PER_MONTH,
        "CommitmentDiscountStatus": "Unused",
        "EffectiveCost": cents,
        "PricingCategory": "Committed",
        "RegionId": commitment.region_id,
        "x_MachineType": commitment.machine_type,
        "x_Share": "unused commitment",
    } | _priced(cents, (commitment.nodes or 1) * HOURS_PER_MONTH)


def _time(seconds: float) -> str | None:
    """In UTC, as FOCUS writes dates (ISO 8601 with a Z); None where the snapshot's clock says a year that no calendar has (after 9999)."""
    try:
        return f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, ValueError, OSError):
        return None


def _month(seconds: float) -> tuple[str | None, str | None]:
    """The calendar month of a moment, its end exclusive; None as `_time`."""
    try:
        begin = datetime.fromtimestamp(seconds, tz=UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        end = (begin + timedelta(days=31)).replace(day=1)
    except (OverflowError, ValueError, OSError):
        return None, None
    return _time(begin.timestamp()), _time(end.timestamp())


def _row(line: AllocatedCost, cost: NodeCost, node: Resource, start: float) -> Row:
    price = cost.node.price
    effective = cost.cost.total
    hours = round(HOURS_PER_MONTH * (line.usd / effective if effective else 0.0), _DIGITS)
    row = _of_any(start, node.provider_name or None)
    # What a commitment covers was billed by the commitment's own row: the usage has an effective cost, and a billed
    # cost of 0 (FOCUS, BilledCost).
    is_covered = bool(cost.commitment_id)
    contracted = cost.on_demand_usd_per_hour if is_covered else price.usd_per_hour
    if is_covered:
        used = {"CommitmentDiscountStatus": "Used", "CommitmentDiscountQuantity": hours}
        row = row | _committed(cost.commitment_id) | used
    return row | {
        "AvailabilityZone": node.availability_zone or None,
        "BilledCost": 0.0 if is_covered else line.usd,
        "ChargeCategory": "Usage",
        "ChargeDescription": f"{price.machine_type}, {price.provisioning}, {line.share} of node {node.name}",
        "ChargeFrequency": "Usage-Based",
        "ConsumedQuantity": hours,
        "ConsumedUnit": "Hours",
        "ContractedCost": round((contracted or 0.0) * hours, _DIGITS),
        "ContractedUnitPrice": contracted,
        "EffectiveCost": line.usd,
        "ListCost": round((price.list_usd_per_hour or 0.0) * hours, _DIGITS),
        "ListUnitPrice": price.list_usd_per_hour,
        "PricingCategory": price.pricing_category.value,
        "PricingQuantity": hours,
        "PricingUnit": "Hours",
        "RegionId": price.region_id,
        "ResourceId": node.resource_id,
        "ResourceName": node.name,
        "ResourceType": "Node",
        "Tags": dumps(dict(sorted(node.tags.items()))),
        "x_AllocatedTo": line.name or None,
        "x_Share": line.share.value,
        "x_NodePool": cost.node.node_pool or None,
        "x_MachineType": price.machine_type,
        "x_Provisioning": price.provisioning.value,
        "x_GpuCost": line.gpu_usd,
        "x_CpuCost": line.cpu_usd,
        "x_MemoryCost": line.memory_usd,
    }


def unfilled(bill: ClusterCost) -> tuple[str, ...]:
    """The columns of FOCUS that this bill can't fill: those of commitments only where none is given."""
    is_owned = bool(bill.unused_commitments) or any(node.commitment_id for node in bill.nodes)
    return tuple(name for name in UNKNOWN if not (is_owned and name in OF_COMMITMENTS))
