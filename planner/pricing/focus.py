"""The bill as rows of FOCUS, the FinOps Open Cost and Usage Specification, version 1.2: https://focus.finops.org/

A row is a node's charge for one holder of it, over a month of 730 hours from the moment of the snapshot. A snapshot isn't
a bill: the columns in `UNKNOWN` stay empty, because nothing in a cluster or a price book tells them. Columns that begin
with ``x_`` are Headroom's own, as the specification has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from json import dumps
from typing import Any, Final

from planner.ground.tables import Row
from planner.ground.vocabulary import HOURS_PER_MONTH
from planner.ground.words import count
from planner.kubernetes.clouds import seller_of
from planner.kubernetes.nodes import zone
from planner.kubernetes.records import FrozenMap, Node
from planner.pricing.allocation import AllocatedCost
from planner.pricing.cluster import NodeCost, UnusedCommitment

VERSION: Final = "1.2"

COLUMNS: Final = (
    "AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency",
    "BillingPeriodEnd", "BillingPeriodStart", "CapacityReservationId", "CapacityReservationStatus", "ChargeCategory",
    "ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart",
    "CommitmentDiscountCategory", "CommitmentDiscountId", "CommitmentDiscountName", "CommitmentDiscountQuantity",
    "CommitmentDiscountStatus", "CommitmentDiscountType", "CommitmentDiscountUnit", "ConsumedQuantity", "ConsumedUnit",
    "ContractedCost", "ContractedUnitPrice", "EffectiveCost", "InvoiceId", "InvoiceIssuerName", "ListCost",
    "ListUnitPrice", "PricingCategory", "PricingCurrency", "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyEffectiveCost", "PricingCurrencyListUnitPrice", "PricingQuantity", "PricingUnit", "ProviderName",
    "PublisherName", "RegionId", "RegionName", "ResourceId", "ResourceName", "ResourceType", "ServiceCategory",
    "ServiceName", "ServiceSubcategory", "SkuId", "SkuMeter", "SkuPriceDetails", "SkuPriceId", "SubAccountId",
    "SubAccountName", "SubAccountType", "Tags",
)  # fmt: skip
OWN: Final = ("x_AllocatedTo", "x_Share", "x_NodePool", "x_GpuCost", "x_CpuCost", "x_MemoryCost")

OF_COMMITMENTS: Final = (
    "CommitmentDiscountCategory", "CommitmentDiscountId", "CommitmentDiscountName", "CommitmentDiscountQuantity",
    "CommitmentDiscountStatus", "CommitmentDiscountType", "CommitmentDiscountUnit",
)  # fmt: skip
"""Filled where the account's commitments are given, and then in the rows they are about."""
UNKNOWN: Final = (
    "BillingAccountId", "BillingAccountName", "BillingAccountType", "CapacityReservationId", "CapacityReservationStatus",
    "ChargeClass", "CommitmentDiscountCategory", "CommitmentDiscountId", "CommitmentDiscountName",
    "CommitmentDiscountQuantity", "CommitmentDiscountStatus", "CommitmentDiscountType", "CommitmentDiscountUnit",
    "ConsumedQuantity", "ConsumedUnit", "InvoiceId", "InvoiceIssuerName", "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyEffectiveCost", "PricingCurrencyListUnitPrice", "RegionName", "SkuId", "SkuMeter", "SkuPriceId",
    "SubAccountId", "SubAccountName", "SubAccountType",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
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
    known, priced = {one.name: one for one in resources}, {cost.node.node: cost for cost in costs}
    period = _time(start), _time(start + HOURS_PER_MONTH * 3600)
    every = list(lines)
    rows: list[Row] = [_row(line, priced[line.node], known[line.node], period) for line in every]
    fees: dict[str, float] = {}
    nodes: dict[str, NodeCost] = {}
    for line in every:
        cost = priced[line.node]
        if cost.commitment_id:
            fees[cost.commitment_id] = fees.get(cost.commitment_id, 0.0) + line.usd
            nodes.setdefault(cost.commitment_id, cost)
    for one in unused:
        if one.usd_per_month is not None:
            cents = round(one.usd_per_month, 2)
            fees[one.commitment_id] = fees.get(one.commitment_id, 0.0) + cents
            rows.append(_of_commitment(one.commitment_id, period) | _unused_row(one, cents))
    for name, fee in sorted(fees.items()):
        bought = {"ChargeCategory": "Purchase", "ChargeFrequency": "Recurring", "BilledCost": round(fee, 2)}
        said = {
            "ChargeDescription": f"Commitment {name}, a month",
            "PricingCategory": "Committed",
            "EffectiveCost": 0.0,
        }
        rows.append(_of_commitment(name, period) | bought | said)
    return rows


def _of_commitment(name: str, period: tuple[str | None, str | None]) -> dict[str, Any]:
    """A row that is about a commitment and no node."""
    empty: dict[str, Any] = dict.fromkeys((*COLUMNS, *OWN))
    return (
        empty
        | _committed(name)
        | {
            "BilledCost": 0.0,
            "BillingCurrency": "USD",
            "BillingPeriodStart": period[0],
            "BillingPeriodEnd": period[1],
            "ChargePeriodStart": period[0],
            "ChargePeriodEnd": period[1],
            "PricingCurrency": "USD",
            "ResourceId": name,
            "ResourceName": name,
            "ResourceType": "Commitment",
            "ServiceCategory": "Compute",
            "ServiceName": "Kubernetes nodes",
            "ServiceSubcategory": "Virtual Machines",
        }
    )


def _committed(name: str) -> dict[str, Any]:
    return {
        "CommitmentDiscountCategory": "Usage",
        "CommitmentDiscountId": name,
        "CommitmentDiscountName": name,
        "CommitmentDiscountType": "Resource-based commitment",
        "CommitmentDiscountUnit": "Hours",
    }


def _unused_row(one: UnusedCommitment, cents: float) -> dict[str, Any]:
    return {
        "ChargeCategory": "Usage",
        "ChargeDescription": f"{count(one.nodes, 'node')} {one.machine_type}, {one.term}: unused",
        "ChargeFrequency": "Usage-Based",
        "CommitmentDiscountQuantity": one.nodes * HOURS_PER_MONTH,
        "CommitmentDiscountStatus": "Unused",
        "EffectiveCost": cents,
        "PricingCategory": "Committed",
        "RegionId": one.region_id,
        "x_Share": "unused commitment",
    }


def _time(seconds: float) -> str | None:
    """In ISO 8601; None where the snapshot's clock says a year that no calendar has (after 9999)."""
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None


def _row(line: AllocatedCost, cost: NodeCost, node: Resource, period: tuple[str | None, str | None]) -> Row:
    price = cost.node.price
    effective = cost.effective.total
    hours = HOURS_PER_MONTH * (line.usd / effective if effective else 0.0)
    row: dict[str, Any] = dict.fromkeys((*COLUMNS, *OWN))
    is_covered = bool(cost.commitment_id)
    contracted = cost.on_demand_usd_per_hour if is_covered else price.usd_per_hour
    if is_covered:
        used = {"CommitmentDiscountStatus": "Used", "CommitmentDiscountQuantity": round(hours, 4)}
        row |= _committed(cost.commitment_id) | used
    return row | {
        "AvailabilityZone": node.availability_zone or None,
        "BilledCost": 0.0 if is_covered else line.usd,
        "BillingCurrency": "USD",
        "BillingPeriodStart": period[0],
        "BillingPeriodEnd": period[1],
        "ChargeCategory": "Usage",
        "ChargeDescription": f"{price.machine_type}, {price.provisioning}, {line.share} of node {node.name}",
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": period[0],
        "ChargePeriodEnd": period[1],
        "ContractedCost": round((contracted or 0.0) * hours, 2),
        "ContractedUnitPrice": contracted,
        "EffectiveCost": line.usd,
        "ListCost": round((price.list_usd_per_hour or 0.0) * hours, 2),
        "ListUnitPrice": price.list_usd_per_hour,
        "PricingCategory": price.pricing_category.value,
        "PricingCurrency": "USD",
        "PricingQuantity": round(hours, 4),
        "PricingUnit": "Hours",
        "ProviderName": node.provider_name or None,
        "PublisherName": node.provider_name or None,
        "RegionId": price.region_id,
        "ResourceId": node.resource_id,
        "ResourceName": node.name,
        "ResourceType": "Node",
        "ServiceCategory": "Compute",
        "ServiceName": "Kubernetes nodes",
        "ServiceSubcategory": "Virtual Machines",
        "SkuPriceDetails": dumps({"x_MachineType": price.machine_type, "x_Provisioning": price.provisioning.value}),
        "Tags": dumps(dict(sorted(node.tags.items()))),
        "x_AllocatedTo": line.name or None,
        "x_Share": line.share.value,
        "x_NodePool": cost.node.node_pool or None,
        "x_GpuCost": line.gpu_usd,
        "x_CpuCost": line.cpu_usd,
        "x_MemoryCost": line.memory_usd,
    }
