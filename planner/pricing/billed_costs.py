"""Compares a cloud invoice with list prices: joins the invoice's lines with the cluster's nodes.

Read are rows of FOCUS (https://focus.finops.org, any vendor; effective cost, else billed), Google's billing export (BigQuery's detailed usage
cost, as JSON, Parquet, or CSV with its fields' names), AWS' CUR 2.0 (and the older one), Azure's cost details and OpenCost's ``/allocation`` answer (JSON). A line belongs to a node by its resource:
the node's provider id, the last part of it, or its name; on Azure a scale set's lines are all its nodes'. A bill is of some past time and a
snapshot of a moment: what is compared is USD an hour of the nodes that both know, machines only. Whatever of the bill isn't in that is told.

Not counted are taxes, purchases (in FOCUS they are in the effective cost of what they cover), credits that are no price (FOCUS' ChargeCategory
Credit, Google's PROMOTION), and Google's credits of commitments, whose fees name no node.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from math import isfinite
from typing import Any, Final

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import Text, count, duration, moment, plural, signed, usd
from planner.kubernetes.node_properties import machine_type, node_pool, physical_gpus, provisioning_model, region
from planner.kubernetes.object_records import Node
from planner.pricing.machine_price import ANYWHERE, OF_POOL
from planner.pricing.node_pool_costs import ClusterCost, NodeCost
from planner.pricing.price_book import Provisioning
from planner.pricing.price_table_parser import TOTALS

_HOUR: Final = 3_600.0
_MOST_PARTS: Final = 12
_LEAST_USD: Final = 0.005
_WHOLE_MONTH_HOURS: Final = 27 * 24.0
_NO_BILL: Final = (
    "Give a FOCUS table, Google's billing export, AWS' CUR, Azure's cost details, or OpenCost's /allocation JSON"
)
_OF_OPENCOST: Final = "Save what /allocation answers with aggregate=node&includeIdle=true&idleByNode=true"

MACHINE: Final = "machines"
"""What a line is for; all else is told apart. Disks and traffic may name a node as their resource, and aren't in its price."""
_BESIDE, _TAX, _CREDIT = "disks, traffic and addresses", "taxes", "credits and promotions"
_COMMITTED, _BOUGHT = "credits of commitments, whose fees name no node", "purchases"
_UNNAMED, _ELSEWHERE = "lines without a resource", "resources that are no nodes here"
_UNPRICED, _UNCLEAR = "nodes without a price in the list", "nodes that aren't compared"
_AT_NOTHING: Final = "usage that a reservation or savings plan covers, which this export of actual cost has at 0"
_OF_CUR: Final = {
    "Tax": _TAX, "Credit": _CREDIT, "Refund": _CREDIT, "Fee": _BOUGHT, "RIFee": _BOUGHT, "SavingsPlanRecurringFee": _BOUGHT,
    "SavingsPlanUpfrontFee": _BOUGHT,
}  # fmt: skip
_DISCOUNTS_OF_CUR: Final = ("EdpDiscount", "PrivateRateDiscount", "RiVolumeDiscount", "BundledDiscount", "SppDiscount")
_OF_AZURE: Final = {
    "purchase": _BOUGHT,
    "unusedreservation": _BOUGHT,
    "unusedsavingsplan": _BOUGHT,
    "refund": _CREDIT,
    "tax": _TAX,
}
_CATEGORIES: Final = {"Tax": _TAX, "Purchase": _BOUGHT, "Credit": _CREDIT}  # FOCUS' ChargeCategory
_NOT_A_MACHINE: Final = re.compile(
    r"(?<!local )\bdisks?\b|\bpd\b|data.?transfer|network|egress|ingress|snapshot|bandwidth|\bip\b|\bebs:|(?<![a-z])gi?b$|gibibyte$|bytes?$"
)
_OF_A_MACHINE: Final = ("cpuCost", "cpuCostAdjustment", "ramCost", "ramCostAdjustment", "gpuCost", "gpuCostAdjustment")
_HOURS: Final = frozenset({"hours", "hour", "hrs", "hr", "h", "1 hour"})


class BillLine(Record):
    """One charge. `resources`: whatever names what it is for; `begin`, `end`: seconds since the epoch; `hours`: a machine's, where told."""

    resources: tuple[str, ...]
    sku: str
    usd: float
    begin: float
    end: float
    hours: float | None = None
    is_timed: bool = False  # its times are the machine's own, not the bill's periods
    account: str = ""
    kind: str = MACHINE


class Invoice:
    """A bill's charges, read as they are asked for; `notes`: what lacks on it, known once they were."""

    def __init__(self, text: str | Iterable[Mapping[str, Any]], *, where: str) -> None:
        self.notes: set[str] = set()
        self.lines = self._read(text, where)

    def _read(self, text: str | Iterable[Mapping[str, Any]], where: str) -> Iterator[BillLine]:
        is_named = False
        for line in self._of_text(text, where) if isinstance(text, str) else self._of_rows(text, where):
            is_named = is_named or bool(line.resources)
            yield line
        if not is_named:
            fix = "Export it with resources: FOCUS' ResourceId, Google's detailed usage cost, or OpenCost aggregated by node"
            raise InputError("no line of it names a resource", where=where, fix=fix)

    def _of_text(self, text: str, where: str) -> Iterator[BillLine]:
        text = text.lstrip("\ufeff \n\r\t")
        if not text.startswith(("{", "[")):
            try:
                yield from self._of_rows(csv.DictReader(f"{line}\n" for line in text.split("\n")), where)
            except csv.Error as error:
                raise InputError(f"is no CSV: {error}", where=where, fix=_NO_BILL) from error
            return
        try:
            first = json.loads(text.partition("\n")[0]) if text.startswith("{") and "\n{" in text else None
            rows = (
                text.rstrip().split("\n") if isinstance(first, dict) else None
            )  # one object a line, as BigQuery writes them
            document = None if rows else json.loads(text)
            if isinstance(document, list) and {"cost", "ChargePeriodStart"} & {
                *(_object(document[0]) if document else ())
            }:
                rows = document
        except (ValueError, RecursionError) as error:
            raise InputError("is no JSON that is whole", where=where, fix=_NO_BILL) from error
        yield from (
            self._of_rows((_object(row, where) for row in rows), where) if rows else self._of_opencost(document, where)
        )

    def _of_rows(self, rows: Iterable[Mapping[str, Any]], where: str) -> Iterator[BillLine]:
        """Rows of FOCUS or of Google's export, told apart by their columns."""
        for number, row in enumerate(rows, start=2):
            place = f"{where}, line {number}"
            if "ChargePeriodStart" in row:
                yield self._of_focus(row, place)
            elif "cost" in row and any(name in row for name in ("usage_start_time", "usage_start")):
                yield from self._of_google(row, place)
            elif "line_item_line_item_type" in row or "lineItem/LineItemType" in row:
                yield from self._of_cur(row if "line_item_line_item_type" in row else _snake(row), place)
            elif {"resourceid", "chargetype", "quantity"} <= (
                own := {str(name).lower(): value for name, value in row.items()}
            ).keys():
                yield self._of_azure(own, place)
            else:
                raise InputError("is no bill that is known", where=place, fix=_NO_BILL)

    def _of_focus(self, row: Mapping[str, Any], place: str) -> BillLine:
        currency, column = str(row.get("BillingCurrency") or ""), "EffectiveCost"
        if "EffectiveCost" not in row:
            self.notes.add("It has no column EffectiveCost: what commitments cover counts as it was billed.")
        if row.get("EffectiveCost") in (None, ""):
            column = "BilledCost"
        if currency not in ("", "USD") and row.get(f"x_{column}InUsd") not in (None, ""):  # Azure's
            column = f"x_{column}InUsd"
        else:
            self._in_dollars(currency, place)
        sku = next(
            (str(row[name]) for name in ("SkuMeter", "x_UsageType", "ChargeDescription", "SkuId") if row.get(name)), ""
        )
        unit = str(row.get("ConsumedUnit") or row.get("PricingUnit") or "").strip().lower()
        amount = row.get("ConsumedQuantity") if row.get("ConsumedUnit") else row.get("PricingQuantity")
        is_beside = row.get("ServiceCategory") in ("Networking", "Storage") or _is_beside(sku, unit)
        seller = str(row.get("ProviderName") or row.get("ServiceProviderName") or "").lower()
        is_told = unit in _HOURS and amount not in (None, "") and "google" not in seller  # Google counts hours of cores
        return BillLine(
            resources=_names(row.get("ResourceId"), row.get("ResourceName")),
            sku=sku,
            usd=_number(row.get(column), place, column),
            begin=_moment(row.get("ChargePeriodStart"), place),
            end=_moment(row.get("ChargePeriodEnd"), place),
            hours=_number(amount, place, "ConsumedQuantity") if is_told else None,
            account=str(row.get("SubAccountId") or row.get("BillingAccountId") or ""),
            kind=_CATEGORIES.get(str(row.get("ChargeCategory")), _BESIDE if is_beside else MACHINE),
        )  # fmt: skip

    def _of_cur(self, row: Mapping[str, Any], place: str) -> Iterator[BillLine]:
        """AWS' Cost and Usage Report. Usage that a plan or a reservation covers counts at its effective cost, and what cancels its list
        price (SavingsPlanNegation) isn't counted, as in FOCUS' EffectiveCost.

        Source: docs.aws.amazon.com/cur/latest/userguide: table-dictionary-cur2-line-item, savings plan, reservation columns.
        """
        of, kind = str(row.get("line_item_line_item_type") or ""), MACHINE
        column = "line_item_net_unblended_cost"
        columns = [column, "line_item_unblended_cost"]
        if of == "SavingsPlanNegation" or (of in _DISCOUNTS_OF_CUR and row.get(column) not in (None, "")):
            return  # the net cost of usage has the discount
        if of == "SavingsPlanCoveredUsage":
            columns = ["savings_plan_net_savings_plan_effective_cost", "savings_plan_savings_plan_effective_cost"]
        elif of == "DiscountedUsage":
            columns = ["reservation_net_effective_cost", "reservation_effective_cost"]
        column = next((name for name in columns if row.get(name) not in (None, "")), columns[-1])
        self._in_dollars(row.get("line_item_currency_code"), place)
        sku, unit = str(row.get("line_item_usage_type") or ""), str(row.get("pricing_unit") or "").strip().lower()
        is_machine = row.get("line_item_product_code") == "AmazonEC2" and not _is_beside(sku, unit)
        kind = _OF_CUR.get(of, MACHINE if is_machine else _BESIDE)
        yield BillLine(
            resources=_names(row.get("line_item_resource_id")),
            sku=sku,
            usd=_number(row.get(column), place, column),
            begin=_moment(row.get("line_item_usage_start_date"), place),
            end=_moment(row.get("line_item_usage_end_date"), place),
            hours=_number(row.get("line_item_usage_amount"), place, "line_item_usage_amount")
            if unit in _HOURS
            else None,
            account=str(row.get("line_item_usage_account_id") or ""),
            kind=kind,
        )

    def _of_azure(self, row: Mapping[str, Any], place: str) -> BillLine:
        """Azure's cost details of Cost Management (enterprise agreements and customer agreements name columns in other cases); `row` in
        lower case. A day a line.

        Source: learn.microsoft.com/azure/cost-management-billing/automate/understand-usage-details-fields.
        """
        currency = str(row.get("billingcurrency") or row.get("billingcurrencycode") or "")
        column = "costinbillingcurrency" if "costinbillingcurrency" in row else "cost"
        if currency not in ("", "USD") and row.get("costinusd") not in (None, ""):
            column = "costinusd"
        else:
            self._in_dollars(currency, place)
        cost, sku = _number(row.get(column), place, column), str(row.get("metername") or "")
        unit, category = (
            str(row.get("unitofmeasure") or "").strip().lower(),
            str(row.get("metercategory") or "Virtual Machines"),
        )
        kind = _OF_AZURE.get(str(row.get("chargetype")).lower(), MACHINE if category == "Virtual Machines" else _BESIDE)
        if kind == MACHINE and not cost and str(row.get("pricingmodel")).lower() in ("reservation", "savingsplan"):
            kind = _AT_NOTHING  # an export of amortized cost has its price
        begin = _moment(_us_date(row.get("date")), place)
        return BillLine(
            resources=_names(row.get("resourceid")),
            sku=sku,
            usd=cost,
            begin=begin,
            end=begin + 24 * _HOUR,
            hours=_number(row.get("quantity"), place, "quantity") if unit in _HOURS else None,
            account=str(row.get("subscriptionid") or row.get("subscriptionguid") or ""),
            kind=kind,
        )

    def _of_google(self, row: Mapping[str, Any], place: str) -> Iterator[BillLine]:
        def field(*path: str) -> Any:
            """A nested field, or the same flattened: ``resource.global_name``, ``resource_global_name``."""
            value: Any = row
            for name in path:
                value = value.get(name) if isinstance(value, Mapping) else None
            return value if value is not None else row.get(".".join(path), row.get("_".join(path)))

        rate, currency = row.get("currency_conversion_rate"), row.get("currency")
        is_told = rate not in (None, "") and currency != "USD"
        in_usd = _number(rate, place, "currency_conversion_rate") if is_told else 1.0
        if in_usd <= 0 or (in_usd == 1.0 and currency != "USD"):
            self._in_dollars(currency, place)
        sku, unit = str(field("sku", "description") or ""), str(field("usage", "pricing_unit") or "").lower()
        is_tax = row.get("cost_type") == "tax"
        kind = _TAX if is_tax else _BESIDE if _is_beside(sku, unit) else MACHINE
        begin = _moment(row.get("usage_start_time", row.get("usage_start")), place)
        end = _moment(row.get("usage_end_time", row.get("usage_end")), place)
        if "credits" not in row:
            self.notes.add("It has no column credits: discounts for use aren't in it.")
        amounts = {kind: _number(row.get("cost"), place, "cost")}
        for credit in _credits(row.get("credits"), place):
            which = str(credit.get("type") or "")
            # Discounts for sustained use lower the price of the node; credits of commitments are paid elsewhere and name no node.
            of = _CREDIT if which == "PROMOTION" else _COMMITTED if which.startswith("COMMITTED_USAGE") else kind
            amounts[of] = amounts.get(of, 0.0) + _number(credit.get("amount"), place, "credits")
        names, account = _names(field("resource", "global_name"), field("resource", "name")), field("project", "id")
        for of, amount in amounts.items():
            yield BillLine(
                resources=names, sku=sku, usd=amount / in_usd, begin=begin, end=end, account=str(account or ""), kind=of
            )

    def _of_opencost(self, document: Any, where: str) -> Iterator[BillLine]:
        """Allocations with the node that they are of: CPU, memory and GPUs. What is idle of a node is its, too, and must be told."""
        try:
            windows = document["data"] if isinstance(document, dict) else document
            every = [allocation for window in windows for allocation in (window or {}).values()]
            # Without idle by node the sum is what pods requested, and would be compared with the price of whole nodes.
            if not any("__idle__" in str(allocation.get("name")) and _node_of(allocation) for allocation in every):
                what = "has nothing idle by node: what nodes cost isn't in it"
                raise InputError(what, where=where, fix=_OF_OPENCOST)
            self.notes.add("OpenCost tells no currency: taken for USD.")
            for usage in every:
                window = usage.get("window") or {}
                machine = (
                    sum(float(usage.get(name) or 0.0) for name in _OF_A_MACHINE)
                    if "cpuCost" in usage
                    else float(usage["totalCost"])
                )
                begin, end = (_moment(usage.get(name) or window.get(name), where) for name in ("start", "end"))
                sku = "idle" if "__idle__" in str(usage.get("name")) else "requested"
                for kind, usd in ((MACHINE, machine), (_BESIDE, float(usage.get("totalCost") or machine) - machine)):
                    yield BillLine(
                        resources=_node_of(usage),
                        sku=sku,
                        usd=usd,
                        begin=begin,
                        end=end,
                        is_timed="start" in usage,
                        kind=kind,
                    )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError("is not OpenCost's /allocation answer", where=where, fix=_OF_OPENCOST) from error

    def _in_dollars(self, currency: object, place: str) -> None:
        if currency in (None, ""):
            self.notes.add("It tells no currency: taken for USD.")
        elif currency != "USD":
            raise InputError(f"is in {str(currency)[:10]}", where=place, fix="Export it in USD, or with its rate")


def _snake(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the older CUR by the names of 2.0: ``line_item_usage_amount`` of ``lineItem/UsageAmount``."""
    return {
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("/", "_").lower(): value
        for name, value in row.items()
        if name
    }


def _us_date(text: object) -> object:
    """``2026-11-26`` of ``11/26/2026``."""
    month, _, day_and_year = str(text).partition("/")
    day, _, year = day_and_year.partition("/")
    return f"{year}-{month:0>2}-{day:0>2}" if year else text


def _object(row: object, where: str = "") -> Mapping[str, Any]:
    try:
        row_object = json.loads(row) if isinstance(row, str) and where else row
    except (ValueError, RecursionError) as error:
        raise InputError("is no JSON that is whole", where=where, fix=_NO_BILL) from error
    return row_object if isinstance(row_object, Mapping) else {}


def _node_of(allocation: Mapping[str, Any]) -> tuple[str, ...]:
    properties = allocation.get("properties") or {}
    return _names(properties.get("providerID"), properties.get("node"))


def _is_beside(sku: str, unit: str) -> bool:
    return bool(_NOT_A_MACHINE.search(sku.lower()) or _NOT_A_MACHINE.search(unit))


def _credits(credit_document: object, place: str) -> Iterable[Mapping[str, Any]]:
    """Google's list of credits: as it is, as text, or as one sum."""
    if credit_document in (None, "", "[]"):
        return ()
    try:
        credit_list = json.loads(credit_document) if isinstance(credit_document, str) else credit_document
    except (ValueError, RecursionError):
        credit_list = None
    if isinstance(credit_list, int | float):
        return ({"amount": credit_list},)
    if isinstance(credit_list, list) and all(isinstance(credit, Mapping) for credit in credit_list):
        return credit_list
    fix = "Write it with TO_JSON_STRING(credits)"
    raise InputError("is no list of credits", where=f"{place}, column credits", fix=fix)


def _names(*candidate_names: object) -> tuple[str, ...]:
    """Whatever may name the machine: each text, and the last part of its path; a bare number names nothing."""
    names = [str(word).strip().lower() for word in candidate_names if word not in (None, "")]
    every = [*names, *(name.rstrip("/").rpartition("/")[2] for name in names)]
    return tuple(dict.fromkeys(name for name in every if name and not name.isdigit()))


def _number(value: object, place: str, column: str) -> float:
    try:
        amount = float(str(value))
        if isfinite(amount):
            return amount
    except ValueError:
        pass
    raise InputError(f'"{str(value)[:40]}" is not an amount', where=f"{place}, column {column}", fix="Write 0.42")


def _moment(value: object, place: str) -> float:
    try:
        at = datetime.fromisoformat(str(value).strip().replace(" UTC", "+00:00"))
    except ValueError:
        fix = "Write it like 2026-07-16T00:00:00Z"
        raise InputError(f'"{str(value)[:40]}" is not a time', where=place, fix=fix) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


# ── beside the list ──────────────────────────────────────────────────────────────────────────────────────────────────
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


class BilledPrice(Record):
    """What an hour of such a node really costs: a row of a price list of one's own. `machine_type` and `region_id` are ``pool:NAME`` and
    ``any`` where one type has nodes that differ in GPUs."""

    machine_type: str
    region_id: str
    provisioning: Provisioning
    usd_per_hour: float
    nodes: tuple[str, ...]


class Reconciled(Record):
    """`billed_usd` and `list_usd`: a month of the nodes that the bill knows; `list`: with the discounts that the estimate reckons with."""

    sentence: Text
    billed_usd: float
    list_usd: float
    share: float  # by which the bill is above the list; below 0: under it
    nodes: int
    unbilled: tuple[str, ...]  # nodes with a price that no line of the bill names
    unclear: tuple[str, ...]  # … that it names, and doesn't say for how many hours, or in several accounts
    parts: tuple[Billed, ...]  # where they part most first
    left_out: tuple[tuple[str, float], ...]  # what of the bill isn't in it, USD as they stand there, most first
    prices: tuple[BilledPrice, ...] = ()  # of every node that it names clearly, those without a price in the list too
    unpriceable: tuple[str, ...] = ()  # nodes of which it gives no price
    until: str = ""  # the last day of the lines of these nodes


def reconciled(cost: ClusterCost, nodes: Iterable[Node], bill: Invoice) -> Reconciled:
    """The bill of the nodes that it knows beside their price in the list, a month; in parts where they differ."""
    node_by_name = {node.name: node for node in nodes}
    own = {name: _own_names(node) for name, node in node_by_name.items()}
    by_name, machines, left_out = _sorted_out(bill, set(chain.from_iterable(own.values())))
    groups: dict[tuple[str, str, str], list[tuple[NodeCost, Mapping[str, float]]]] = defaultdict(list)
    unbilled, unclear, part_of = list[str](), list[str](), dict[int, str]()
    lines_of = {
        name: list({id(line): line for each in names for line in by_name.get(each, ())}.values())
        for name, names in own.items()
    }
    rates = {
        name: joined for name, node in node_by_name.items() if (joined := _joined(node, lines_of[name])) is not None
    }
    for node_cost in cost.nodes:
        node, price = node_by_name[node_cost.node.node], node_cost.node.price
        lines, joined = lines_of[node.name], rates.get(node.name)
        part_of |= {id(line): _UNCLEAR if joined is None else "" for line in lines}
        if joined is None:
            (unclear if lines else unbilled).append(node.name)
        else:
            groups[price.machine_type, price.region_id, node_cost.node.provisioning.value].append((node_cost, joined))
    counted = [line for line in machines if not part_of.get(id(line), _UNPRICED)]
    for line in machines:
        if of := part_of.get(id(line), _UNPRICED):
            left_out[of] += line.usd
    # The largest differences first: a reservation or a discount that the list doesn't know stands at the top.
    parts = sorted(
        (_part(key, group_costs) for key, group_costs in groups.items()),
        key=lambda bill_part: -abs(bill_part.billed_usd - bill_part.list_usd),
    )
    billed_usd, list_usd = sum(part.billed_usd for part in parts), sum(part.list_usd for part in parts)
    share = billed_usd / list_usd - 1 if list_usd else 0.0
    number = sum(part.nodes for part in parts)
    first = f"The bill says {billed_usd:,.0f} a month for {count(number, 'node')}, the list {list_usd:,.0f}: {signed(share)}."
    none = "The bill can't be compared." if unclear else "The bill names none of these nodes."
    sentences = [first if number else none]
    if unbilled:
        sentences.append(f"{count(len(unbilled), 'node')} with a price {plural(len(unbilled), 'is', 'are')} not on it.")
    if unclear:
        sentences.append(f"{count(len(unclear), 'node')} {plural(len(unclear), 'is', 'are')} not compared: how long {plural(len(unclear), 'it was', 'they were')} there, or in which account, isn't clear from it.")  # fmt: skip
    amounts = sorted(
        ((of, usd) for of, usd in left_out.items() if abs(usd) >= _LEAST_USD), key=lambda amount: -abs(amount[1])
    )
    if amounts:
        sentences.append(
            f"Not in that, of what stands there: {', '.join(f'{usd(amount)} of {of}' for of, amount in amounts)}."
        )
    sentences += [
        *_doubts(counted, [node_cost for group in groups.values() for node_cost, _ in group]),
        *sorted(bill.notes),
    ]
    return Reconciled(
        sentence=Text(" ".join(sentences)),
        billed_usd=round(billed_usd, 2),
        list_usd=round(list_usd, 2),
        share=share,
        nodes=number,
        unbilled=tuple(unbilled),
        unclear=tuple(unclear),
        parts=tuple(parts),
        left_out=tuple(amounts),
        prices=tuple(_prices(node_by_name, rates)),
        unpriceable=tuple(name for name in node_by_name if name not in rates or not machine_type(node_by_name[name])),
        until=max((moment(line.end - 1)[:10] for line in machines), default=""),
    )


def _prices(node_by_name: Mapping[str, Node], rates: Mapping[str, Mapping[str, float]]) -> Iterator[BilledPrice]:
    """The mean hour of nodes alike in machine, region and way of buying: so many of it are what the bill says of them all."""
    shapes = defaultdict[tuple[str, str], set[int | None]](set)
    for node in node_by_name.values():
        shapes[machine_type(node), region(node)].add(physical_gpus(node))
    alike = defaultdict[tuple[str, str, Provisioning], list[str]](list)
    for name in rates:
        node = node_by_name[name]
        of = machine_type(node), region(node)
        # a price of N1 is the host's: its GPUs are attached
        if node_pool(node) and (len(shapes[of]) > 1 or (of[0].startswith(("n1-", "custom-")) and physical_gpus(node))):
            of = f"{OF_POOL}{node_pool(node)}", ANYWHERE
        if of[0]:
            alike[(*of, Provisioning(provisioning_model(node)).priced_as)].append(name)
    for (machine, place, way), names in sorted(alike.items()):
        hour = sum(sum(rates[name].values()) for name in names) / len(names)
        yield BilledPrice(
            machine_type=machine, region_id=place, provisioning=way, usd_per_hour=hour, nodes=tuple(names)
        )


def price_list(reconciliation: Reconciled) -> str:
    """The bill's prices as the CSV of machine types that `planner.pricing.price_table_parser.read_table` reads: a list of one's own, with discounts,
    reservations and savings plans in it."""
    column = {way: name for name, way in TOTALS.items()}
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for price in reconciliation.prices:
        row = rows.setdefault((price.machine_type, price.region_id), {})
        row[column[price.provisioning]] = f"{price.usd_per_hour:.10g}"
    used = [name for name in TOTALS if any(name in row for row in rows.values())]
    lines = [",".join(("machine_type", "region", *used, "as_of"))]
    lines += [
        ",".join((*key, *(row.get(name, "") for name in used), reconciliation.until)) for key, row in rows.items()
    ]
    return "\n".join(lines) + "\n"


def _own_names(node: Node) -> tuple[str, ...]:
    """What a bill may call a node. A scale set's lines (Azure) name no machine of it."""
    path = node.provider_id.lower().removeprefix("azure://")
    scale_set, is_of_one, _ = path.partition("/virtualmachines/")
    return _names(
        path, *([scale_set + "/"] if is_of_one and "/virtualmachinescalesets/" in scale_set else []), node.name
    )


def _sorted_out(
    bill: Invoice, node_names: set[str]
) -> tuple[Mapping[str, list[BillLine]], list[BillLine], defaultdict[str, float]]:
    """The machines' lines that name a node, by its names; and what all others come to."""
    by_name, left_out = defaultdict[str, list[BillLine]](list), defaultdict[str, float](float)
    machines = []
    for line in bill.lines:
        named = node_names.intersection(line.resources)
        if line.kind == MACHINE and named:
            machines.append(line)
            for name in named:
                by_name[name].append(line)
        else:
            left_out[_UNNAMED if line.kind == MACHINE and not line.resources else _ELSEWHERE if line.kind == MACHINE else line.kind] += line.usd  # fmt: skip
    return by_name, machines, left_out


def _joined(node: Node, lines: Sequence[BillLine]) -> Mapping[str, float] | None:
    """Its own charges, SKU → USD an hour of it; None where nothing names it, or not clearly: several accounts have one of its name, or its hours aren't told.

    A machine's hours are told (the most of one SKU), else the time that its lines cover: vCPUs, memory and GPUs of one hour are one hour.
    A line of more than an hour may be of less of it, unless the node was there before it began.
    """
    accounts = {line.account for line in lines}
    # "gke-prod-node-1" may be there in two projects: the provider id of the node says which of them is meant.
    if len(accounts) > 1:
        lines = [line for line in lines if line.account and line.account.lower() in node.provider_id.lower().split("/")]
        accounts = {line.account for line in lines}
    if not lines or len(accounts) > 1:
        return None
    is_shared = not any(name in line.resources for name in _names(node.provider_id.lower().removeprefix("azure://"), node.name) for line in lines)  # fmt: skip
    hours_by_sku, skus = defaultdict[str, float](float), defaultdict[str, float](float)
    for line in lines:
        hours_by_sku[line.sku] += line.hours or 0.0
        skus[line.sku] += line.usd
    covered, hours = _hours(lines), max(hours_by_sku.values())
    if not hours:
        came, first = node.created_at or 0.0, min(line.begin for line in lines)
        is_rough = (
            any(line.end - line.begin > _HOUR + 1 and not line.is_timed for line in lines) and came > first + _HOUR
        )
        hours = 0.0 if is_shared or is_rough else covered
    # More hours than the clock had: two machines share the name, and their bill can't be told apart.
    if not hours or (hours > 1.01 * covered and not is_shared):
        return None
    return {sku: amount / hours for sku, amount in skus.items()}


def _hours(lines: Iterable[BillLine]) -> float:
    """The time that lines cover, each moment once."""
    covered, until = 0.0, float("-inf")
    for begin, end in sorted((line.begin, line.end) for line in lines):
        covered += max(0.0, end - max(begin, until))
        until = max(until, end)
    return covered / _HOUR


def _part(key: tuple[str, str, str], priced_nodes: Sequence[tuple[NodeCost, Mapping[str, float]]]) -> Billed:
    skus: dict[str, float] = defaultdict(float)
    for sku, amount in chain.from_iterable(joined.items() for _, joined in priced_nodes):
        skus[sku] += amount
    listed = sum(cost.cost.total for cost, _ in priced_nodes)
    billed = sum(skus.values())
    return Billed(
        machine_type=key[0],
        region_id=key[1],
        provisioning=key[2],
        nodes=len(priced_nodes),
        list_usd_per_hour=round(listed / HOURS_PER_MONTH / len(priced_nodes), 6),
        billed_usd_per_hour=round(billed / len(priced_nodes), 6),
        list_usd=round(listed, 2),
        billed_usd=round(billed * HOURS_PER_MONTH, 2),
        skus=tuple(sorted((sku for sku in skus if sku), key=lambda sku: -skus[sku])[:_MOST_PARTS]),
    )


def _doubts(lines: Sequence[BillLine], costs: Iterable[NodeCost]) -> Iterator[str]:
    """What makes the bill another than that of a whole month, once."""
    same = Counter((line.resources, line.sku, line.begin, line.end, line.usd) for line in lines)
    if twice := sum(number - 1 for number in same.values()):
        yield f"{count(twice, 'line')} of these nodes {plural(twice, 'stands', 'stand')} there more than once: it may hold a bill twice."
    hours = _hours(lines)
    is_discounted = any(
        not node_cost.commitment_id and node_cost.cost.total < node_cost.list_usd_per_month - _LEAST_USD
        for node_cost in costs
    )
    if lines and hours < _WHOLE_MONTH_HOURS and is_discounted:
        yield f"It covers {duration(hours * _HOUR)}: sustained use grows with the month, and is in the list as of a whole one."
