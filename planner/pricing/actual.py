"""What was really billed, beside what the price list says: an invoice's lines joined with the cluster's nodes.

Read are rows of FOCUS (https://focus.finops.org, any vendor; effective cost, else billed), Google's billing export (BigQuery's detailed usage
cost, as CSV with its fields' names or as rows of Parquet; credits counted) and OpenCost's ``/allocation`` answer (JSON). A line belongs to a
node by its resource: the node's provider id, the last part of it, or its name. A bill is of some past time and a snapshot of a moment: what
is compared is USD an hour of the nodes that both know.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.vocabulary import HOURS_PER_MONTH
from planner.ground.words import Text, count, plural
from planner.kubernetes.records import Node
from planner.pricing.cluster import ClusterCost

_HOUR: Final = 3_600.0
_MOST_PARTS: Final = 12


class BillLine(Record):
    """One charge. `resource`: whatever names the machine; `begin`, `end`: seconds since the epoch."""

    resources: tuple[str, ...]
    sku: str
    usd: float
    begin: float
    end: float


class Billed(Record):
    """Nodes of one machine type and way of buying in both: USD an hour of a node, and a month of all of them."""

    machine_type: str
    region_id: str
    provisioning: str
    nodes: int
    list_usd_per_hour: float
    billed_usd_per_hour: float
    list_usd: float
    billed_usd: float
    skus: tuple[str, ...]  # dearest first


class Reconciled(Record):
    """`billed_usd` and `list_usd`: a month of the nodes that the bill knows; `list`: with the discounts that the estimate reckons with."""

    sentence: Text
    billed_usd: float
    list_usd: float
    share: float  # by which the bill is above the list; below 0: under it
    nodes: int
    unbilled: tuple[str, ...]  # nodes with a price that no line of the bill names
    parts: tuple[Billed, ...]  # where they part most first


def read_bill(text: str, *, where: str) -> tuple[BillLine, ...]:
    """The charges of a bill, from whichever form it has.

    Raises
    ------
    InputError
        For a form that isn't known, another currency, or no line that names a resource.
    """
    if text.lstrip("\ufeff \n\r\t")[:1] in ("{", "["):
        lines = list(_of_opencost(text, where))
    else:
        rows = csv.DictReader(text.removeprefix("\ufeff").splitlines())
        lines = list(read_rows(rows, where=where))
    if not any(line.resources for line in lines):
        mend = (
            "Export it with resources: FOCUS' ResourceId, Google's detailed usage cost, or OpenCost aggregated by node"
        )
        raise InputError("no line of it names a resource", where=where, mend=mend)
    return tuple(lines)


def read_rows(rows: Iterable[Mapping[str, Any]], *, where: str) -> Iterator[BillLine]:
    """Rows of FOCUS or of Google's export, told apart by their columns."""
    for number, row in enumerate(rows, start=2):
        place = f"{where}, line {number}"
        if "ChargePeriodStart" in row:
            yield from _of_focus(row, place)
        elif "cost" in row and any(name in row for name in ("usage_start_time", "usage_start")):
            yield from _of_google(row, place)
        else:
            mend = "Give a FOCUS table, Google's billing export, or OpenCost's /allocation JSON"
            raise InputError("is no bill that is known", where=place, mend=mend)


def _of_focus(row: Mapping[str, Any], place: str) -> Iterator[BillLine]:
    _in_dollars(row.get("BillingCurrency"), place)
    if str(row.get("ChargeCategory") or "Usage") not in ("Usage", "Credit", "Adjustment"):
        return  # purchases are in the effective cost of what they cover
    cost = row.get("EffectiveCost")
    yield BillLine(
        resources=_names(row.get("ResourceId"), row.get("ResourceName")),
        sku=str(row.get("SkuMeter") or row.get("ChargeDescription") or row.get("SkuId") or ""),
        usd=_number(row.get("BilledCost") if cost in (None, "") else cost, place, "EffectiveCost"),
        begin=_moment(row.get("ChargePeriodStart"), place),
        end=_moment(row.get("ChargePeriodEnd"), place),
    )


def _of_google(row: Mapping[str, Any], place: str) -> Iterator[BillLine]:
    _in_dollars(row.get("currency"), place)

    def field(*path: str) -> Any:
        """A nested field, or the same flattened: ``resource.global_name``, ``resource_global_name``."""
        value: Any = row
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value if value is not None else row.get(".".join(path), row.get("_".join(path)))

    given = row.get("credits") or ()
    given = json.loads(given) if isinstance(given, str) and given.lstrip().startswith("[") else given
    taken = 0.0 if isinstance(given, str) else sum(_number(one.get("amount"), place, "credits") for one in given)
    yield BillLine(
        resources=_names(field("resource", "global_name"), field("resource", "name")),
        sku=str(field("sku", "description") or ""),
        usd=_number(row.get("cost"), place, "cost") + taken,
        begin=_moment(row.get("usage_start_time", row.get("usage_start")), place),
        end=_moment(row.get("usage_end_time", row.get("usage_end")), place),
    )


def _of_opencost(text: str, where: str) -> Iterator[BillLine]:
    """Allocations with the node that they are of; what is idle of a node is its too."""
    try:
        found = json.loads(text)
        windows = found["data"] if isinstance(found, dict) else found
        every = [one for window in windows for one in (window or {}).values()]
        for one in every:
            known = one.get("properties") or {}
            window = one.get("window") or {}
            yield BillLine(
                resources=_names(known.get("providerID"), known.get("node")),
                sku="idle" if "__idle__" in str(one.get("name")) else "requested",
                usd=float(one["totalCost"]),
                begin=_moment(window.get("start") or one.get("start"), where),
                end=_moment(window.get("end") or one.get("end"), where),
            )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        mend = "Save what /allocation answers with aggregate=node or without one"
        raise InputError("is not OpenCost's /allocation answer", where=where, mend=mend) from error


def _names(*told: object) -> tuple[str, ...]:
    """Whatever may name the machine: each text, and the last part of its path."""
    found = [str(one).strip().lower() for one in told if one not in (None, "")]
    return tuple(dict.fromkeys([*found, *(one.rstrip("/").rpartition("/")[2] for one in found)]))


def _in_dollars(currency: object, place: str) -> None:
    if currency not in (None, "", "USD"):
        raise InputError(f"is in {str(currency)[:10]}", where=place, mend="Export it in USD")


def _number(value: object, place: str, column: str) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise InputError(
            f'"{str(value)[:40]}" is not an amount', where=f"{place}, column {column}", mend="Write 0.42"
        ) from None


def _moment(value: object, place: str) -> float:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    try:
        at = datetime.fromisoformat(str(value).strip().replace(" UTC", "+00:00"))
    except ValueError:
        raise InputError(
            f'"{str(value)[:40]}" is not a time', where=place, mend="Write it like 2026-07-16T00:00:00Z"
        ) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


# ── beside the list ──────────────────────────────────────────────────────────────────────────────────────────────────
def reconciled(cost: ClusterCost, nodes: Iterable[Node], lines: Iterable[BillLine]) -> Reconciled:
    """The bill of the nodes that it knows beside their price in the list, a month; in parts where they differ.

    A node's hours on the bill are the time that its lines cover: several lines of one hour (vCPUs, memory, GPUs) are one hour.
    """
    by_name: dict[str, list[BillLine]] = defaultdict(list)
    for line in lines:
        for name in line.resources:
            by_name[name].append(line)
    known = {node.name: node for node in nodes}
    groups: dict[tuple[str, str, str], list[tuple[float, float, Mapping[str, float]]]] = defaultdict(list)
    unbilled: list[str] = []
    for one in cost.nodes:
        price = one.node.price
        own = _lines_of(known[one.node.node], by_name)
        hours = _hours(own)
        if not hours:
            unbilled.append(one.node.node)
            continue
        skus: dict[str, float] = defaultdict(float)
        for line in own:
            skus[line.sku] += line.usd
        billed = sum(line.usd for line in own) / hours
        groups[price.machine_type, price.region_id, one.node.provisioning.value].append(
            (one.cost.total / HOURS_PER_MONTH, billed, skus)
        )
    parts = tuple(
        sorted(
            (_part(key, found) for key, found in groups.items()), key=lambda one: -abs(one.billed_usd - one.list_usd)
        )
    )
    billed_usd, list_usd = sum(one.billed_usd for one in parts), sum(one.list_usd for one in parts)
    share = billed_usd / list_usd - 1 if list_usd else 0.0
    number = sum(one.nodes for one in parts)
    return Reconciled(
        sentence=Text(_sentence(billed_usd, list_usd, share, number, len(unbilled))),
        billed_usd=round(billed_usd, 2),
        list_usd=round(list_usd, 2),
        share=share,
        nodes=number,
        unbilled=tuple(unbilled),
        parts=parts,
    )


def _lines_of(node: Node, by_name: Mapping[str, list[BillLine]]) -> list[BillLine]:
    for name in _names(node.provider_id, node.name, node.uid):
        if name in by_name:
            return by_name[name]
    return []


def _hours(lines: Iterable[BillLine]) -> float:
    """The time that lines cover, each moment once."""
    covered, until = 0.0, float("-inf")
    for begin, end in sorted((line.begin, line.end) for line in lines):
        covered += max(0.0, end - max(begin, until))
        until = max(until, end)
    return covered / _HOUR


def _part(key: tuple[str, str, str], found: list[tuple[float, float, Mapping[str, float]]]) -> Billed:
    skus: dict[str, float] = defaultdict(float)
    for _, _, own in found:
        for sku, usd in own.items():
            skus[sku] += usd
    listed, billed = sum(one[0] for one in found), sum(one[1] for one in found)
    return Billed(
        machine_type=key[0],
        region_id=key[1],
        provisioning=key[2],
        nodes=len(found),
        list_usd_per_hour=round(listed / len(found), 6),
        billed_usd_per_hour=round(billed / len(found), 6),
        list_usd=round(listed * HOURS_PER_MONTH, 2),
        billed_usd=round(billed * HOURS_PER_MONTH, 2),
        skus=tuple(sorted((sku for sku in skus if sku), key=lambda sku: -skus[sku])[:_MOST_PARTS]),
    )


def _sentence(billed: float, listed: float, share: float, nodes: int, unbilled: int) -> str:
    if not nodes:
        return "The bill names none of these nodes."
    sign = "−" if share < 0 else "+"
    rest = f" {count(unbilled, 'node')} with a price {plural(unbilled, 'is', 'are')} not on it." if unbilled else ""
    return f"The bill says {billed:,.0f} a month for {count(nodes, 'node')}, the list {listed:,.0f}: {sign}{abs(share):.1%}.{rest}"
