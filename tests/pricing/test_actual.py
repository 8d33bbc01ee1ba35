"""What was billed beside what the list says: the forms as their vendors export them, joined by resource, figures by hand.

Never a percentage that is wrong in silence: what of a bill isn't compared is told, with its amount.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.pricing.billed_costs import Invoice, Reconciled, reconciled
from planner.pricing.price_book import PriceBook
from planner.pricing.projected_bill import bill
from planner.sources import demo
from planner.sources.bills import load_bill
from planner.sources.prices import embedded_book
from tests.architecture.tree import ROOT
from tests.builders import aks, eks
from tests.builders.objects import read_items
from tests.prices_of_a_day import shipped

BOOK = embedded_book()
DAYS = ("2026-10-01T00:00:00Z", "2026-10-31T00:00:00Z")
HOURS = 720.0
Row = dict[str, Any]


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


def as_csv(rows: list[Row]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def compared(snapshot: Snapshot, text: str, book: PriceBook = BOOK) -> Reconciled:
    return reconciled(bill(book, snapshot), snapshot.nodes, Invoice(text, where="bill"))


def rows_of(snapshot: Snapshot, factor: float = 1.0, book: PriceBook = BOOK) -> list[Row]:
    """A month of 720 hours of every node at `factor` of the estimate, in two SKUs and two halves."""
    found = []
    known = {node.name: node for node in snapshot.nodes}
    for one in bill(book, snapshot).nodes:
        cost = one.cost.total / 730 * HOURS * factor
        for sku, share in (("Core", 0.6), ("RAM", 0.4)):
            for begin, end, hours in ((DAYS[0], "2026-10-16T00:00:00Z", 360), ("2026-10-16T00:00:00Z", DAYS[1], 360)):
                found.append(
                    {
                        "ResourceId": known[one.node.node].provider_id or f"//compute/projects/p/instances/{one.node.node}",
                        "ResourceName": one.node.node, "ChargeCategory": "Usage", "SkuMeter": sku, "BilledCost": cost * share / 2,
                        "EffectiveCost": cost * share / 2, "BillingCurrency": "USD", "ChargePeriodStart": begin, "ChargePeriodEnd": end,
                        "ConsumedQuantity": hours, "ConsumedUnit": "Hours",
                    }
                )  # fmt: skip
    return found


# ── what is joined ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_line_that_no_peer_has(snapshot: Snapshot) -> None:
    """36,971.90 in the list, 7.7% less on the bill: 34,125."""
    found = compared(snapshot, as_csv(rows_of(snapshot, 0.923)))
    assert str(found.sentence) == "The bill says 34,125 a month for 24 nodes, the list 36,972: −7.7%."
    assert found.list_usd == pytest.approx(36_971.90, abs=0.02)
    assert not found.unbilled
    assert not found.left_out
    assert found.parts[0].machine_type == "a2-highgpu-4g"
    assert found.parts[0].billed_usd_per_hour == pytest.approx(found.parts[0].list_usd_per_hour * 0.923, rel=1e-5)
    assert found.parts[0].skus == ("Core", "RAM")


def test_the_document_tells_an_invoice_of_the_prices_that_its_examples_have(snapshot: Snapshot) -> None:
    with shipped():
        book = embedded_book()
        found = compared(snapshot, as_csv(rows_of(snapshot, 0.923, book)), book)
    assert f"*{found.sentence}*" in " ".join((ROOT / "docs" / "prices.md").read_text("utf-8").split())


def test_nodes_that_are_not_on_the_bill_are_not_compared(snapshot: Snapshot) -> None:
    rows = [row for row in rows_of(snapshot) if "t4" in row["ResourceName"]]
    rows.append({**rows[0], "ResourceId": "disk-1", "ResourceName": "disk-1", "EffectiveCost": 1e6})
    found = compared(snapshot, as_csv(rows))
    assert (found.nodes, len(found.unbilled)) == (6, 18)
    assert found.billed_usd == found.list_usd == pytest.approx(2_629.14, abs=0.01)
    assert "18 nodes with a price are not on it" in str(found.sentence)
    assert "$1,000,000 of resources that are no nodes here" in str(found.sentence)


OTHERS: list[tuple[Row, str]] = [
    ({"ChargeCategory": "Tax", "ResourceId": "", "ResourceName": ""}, "$500 of taxes"),
    ({"ChargeCategory": "Credit"}, "$500 of credits and promotions"),
    ({"ChargeCategory": "Purchase", "ResourceId": "", "ResourceName": ""}, "$500 of purchases"),
    ({"ResourceId": "", "ResourceName": ""}, "$500 of lines without a resource"),
    ({"ServiceCategory": "Networking"}, "$500 of disks, traffic and addresses"),
    ({"SkuMeter": "Network Inter Zone Data Transfer Out", "ConsumedUnit": "gibibyte"}, "$500 of disks"),
    ({"SkuMeter": "USE1-DataTransfer-Regional-Bytes", "ConsumedUnit": "GB"}, "$500 of disks"),
    ({"SkuMeter": "Balanced PD Capacity in Seoul", "ConsumedUnit": "gibibyte month"}, "$500 of disks"),
    ({"SkuMeter": "Standard Public IP"}, "$500 of disks"),
    ({"ResourceId": "/another/i-1", "ResourceName": "i-1"}, "$500 of resources that are no nodes here"),
]


@pytest.mark.parametrize(("what", "said"), OTHERS, ids=[f"{number} {said}" for number, (_, said) in enumerate(OTHERS)])
def test_what_is_no_machine_s_price_changes_no_percentage_and_is_told(snapshot: Snapshot, what: Row, said: str) -> None:
    rows = rows_of(snapshot)
    found = compared(snapshot, as_csv([*rows, {**rows[0], "EffectiveCost": 500.0, "BilledCost": 500.0, **what}]))
    assert found.share == pytest.approx(0, abs=1e-6)
    assert said in str(found.sentence)
    assert sum(usd for _, usd in found.left_out) == pytest.approx(500)


@pytest.mark.parametrize(
    "sku", ["SSD backed Local Storage in Seoul", "N1 Predefined Instance Core running in Seoul", "BoxUsage:m5.large"]
)
def test_what_is_a_machine_s_price_is_counted(snapshot: Snapshot, sku: str) -> None:
    rows = rows_of(snapshot)
    found = compared(
        snapshot,
        as_csv([*rows, {**rows[0], "SkuMeter": sku, "ConsumedUnit": "gibibyte month", "EffectiveCost": 500.0}]),
    )
    assert not found.left_out
    assert found.billed_usd - found.list_usd == pytest.approx(500 / 720 * 730, abs=0.1)


def test_a_refund_is_of_its_node(snapshot: Snapshot) -> None:
    """A correction of −360 for half the hours of a month: 0.5 an hour less of that node."""
    rows = rows_of(snapshot)
    back = {**rows[0], "ChargeClass": "Correction", "EffectiveCost": -360.0, "ConsumedQuantity": 0}
    found = compared(snapshot, as_csv([*rows, back]))
    assert found.billed_usd - found.list_usd == pytest.approx(-0.5 * 730, abs=0.05)


# ── hours ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_day_s_line_of_ten_hours_is_ten_hours(snapshot: Snapshot) -> None:
    """Azure bills by day, AWS by day or month where one asks for it: how many hours of it a machine ran, its quantity says."""
    row = {
        **rows_of(snapshot)[0],
        "ChargePeriodStart": "2026-10-01",
        "ChargePeriodEnd": "2026-10-02",
        "EffectiveCost": 10.0,
        "ConsumedQuantity": 10,
    }
    assert compared(snapshot, as_csv([row])).parts[0].billed_usd_per_hour == pytest.approx(1.0)


def test_a_day_s_line_that_tells_no_hours_of_a_node_that_came_then_is_not_compared(snapshot: Snapshot) -> None:
    at = datetime(2026, 10, 1, 14, tzinfo=UTC).timestamp()
    row = {
        **rows_of(snapshot)[0],
        "ChargePeriodStart": "2026-10-01",
        "ChargePeriodEnd": "2026-10-02",
        "ConsumedUnit": "",
        "ConsumedQuantity": "",
    }
    came = replace(snapshot, nodes=tuple(replace(node, created_at=at) for node in snapshot.nodes))
    found = compared(came, as_csv([row]))
    assert (found.nodes, found.unclear) == (0, (row["ResourceName"],))
    assert "The bill can't be compared" in str(found.sentence)
    assert "1 node is not compared: how long it was there" in str(found.sentence)
    before = replace(snapshot, nodes=tuple(replace(node, created_at=at - 86_400) for node in snapshot.nodes))
    assert compared(before, as_csv([row])).nodes == 1, "it was there all day"


def test_a_bill_given_twice_is_told_and_quantities_that_are_no_hours_are_not_compared(snapshot: Snapshot) -> None:
    rows = rows_of(snapshot)
    twice = compared(snapshot, as_csv([*rows, *rows]))
    assert twice.nodes == 0, "1,440 hours in 720"
    hourly = [
        {
            **row,
            "ConsumedUnit": "",
            "ConsumedQuantity": "",
            "ChargePeriodStart": f"2026-10-01T0{i}:00:00Z",
            "ChargePeriodEnd": f"2026-10-01T0{i + 1}:00:00Z",
        }
        for row in rows[:1]
        for i in range(3)
    ]
    assert "3 lines of these nodes stand there more than once" in str(
        compared(snapshot, as_csv([*hourly, *hourly])).sentence
    )
    cores = [{**row, "ConsumedQuantity": 8 * 360} for row in rows if row["ResourceName"] == rows[0]["ResourceName"]]
    assert compared(snapshot, as_csv(cores)).unclear


def test_half_a_month_has_not_the_month_s_sustained_use(snapshot: Snapshot) -> None:
    half = [row for row in rows_of(snapshot) if row["ChargePeriodStart"] == DAYS[0]]
    found = compared(snapshot, as_csv(half))
    assert found.share == pytest.approx(0, abs=1e-6)
    assert "It covers 15 d: sustained use grows with the month" in str(found.sentence)
    l4 = [row for row in half if "l4" in row["ResourceName"]]  # G2 has none
    assert "sustained" not in str(compared(snapshot, as_csv(l4)).sentence)


# ── accounts, currencies, columns ────────────────────────────────────────────────────────────────────────────────────
def test_two_accounts_with_a_node_of_one_name(snapshot: Snapshot) -> None:
    """Which of them is this cluster's, its provider id tells; without one it isn't known."""
    rows = [
        {**row, "SubAccountId": "mine", "ResourceId": f"//compute/{row['ResourceName']}"} for row in rows_of(snapshot)
    ]
    both = as_csv([*rows, *({**row, "SubAccountId": "theirs", "EffectiveCost": 1e5} for row in rows)])
    found = compared(snapshot, both)
    told = all(node.provider_id for node in snapshot.nodes)
    bare = replace(snapshot, nodes=tuple(replace(node, provider_id="") for node in snapshot.nodes))
    assert compared(bare, both).nodes == 0
    assert len(compared(bare, both).unclear) == 24
    named = replace(
        snapshot, nodes=tuple(replace(node, provider_id=f"gce://mine/z/{node.name}") for node in snapshot.nodes)
    )
    assert compared(named, both).share == pytest.approx(0, abs=1e-6)
    assert told or found.unclear


def test_other_currencies(snapshot: Snapshot) -> None:
    """Azure's columns of US dollars, Google's rate (cost ÷ rate is USD); else it is refused; none told is said."""
    euros = [
        {**row, "BillingCurrency": "EUR", "x_EffectiveCostInUsd": row["EffectiveCost"], "EffectiveCost": 9e9}
        for row in rows_of(snapshot)
    ]
    assert compared(snapshot, as_csv(euros)).share == pytest.approx(0, abs=1e-6)
    with pytest.raises(InputError, match="is in EUR"):
        compared(snapshot, as_csv([{**row, "x_EffectiveCostInUsd": ""} for row in euros]))
    untold = compared(snapshot, as_csv([{**row, "BillingCurrency": ""} for row in rows_of(snapshot)]))
    assert "It tells no currency: taken for USD." in str(untold.sentence)


def test_columns_that_lack_are_said(snapshot: Snapshot) -> None:
    rows = [{name: value for name, value in row.items() if name != "EffectiveCost"} for row in rows_of(snapshot)]
    found = compared(snapshot, as_csv(rows))
    assert found.share == pytest.approx(0, abs=1e-6)
    assert "no column EffectiveCost" in str(found.sentence)
    for name, what in (("ChargePeriodEnd", "not a time"), ("ResourceId", "")):
        rows = [
            {key: value for key, value in row.items() if key not in (name, "ResourceName")} for row in rows_of(snapshot)
        ]
        with pytest.raises(InputError, match=what or "no line of it names a resource"):
            compared(snapshot, as_csv(rows))


# ── as vendors export them ───────────────────────────────────────────────────────────────────────────────────────────
def of_aks() -> tuple[Snapshot, str, float]:
    """Microsoft Cost Management's FOCUS export: a row a scale set, meter and day; the machines share it. Half the list's price."""
    found = aks.snapshot()
    rows, known = [], {node.name: node for node in found.nodes}
    for pool in ("system", "gpu", "cheap"):
        own = [one for one in bill(BOOK, found).nodes if f"aks-{pool}-" in one.node.node]
        if not own:
            continue
        path = known[own[0].node.node].provider_id.removeprefix("azure://").partition("/virtualMachines")[0]
        rows += [
            {
                "BilledCost": 0, "EffectiveCost": sum(one.cost.total for one in own) / 730 * 24 / 2, "BillingCurrency": "USD",
                "BillingAccountId": "/providers/Microsoft.Billing/billingAccounts/1", "SubAccountId": "/subscriptions/made-up",
                "ChargeCategory": "Usage", "ChargePeriodStart": f"2026-09-{day:02}T00:00Z", "ChargePeriodEnd": f"2026-09-{day:02}T23:59:59Z",
                "ConsumedQuantity": 24 * len(own), "ConsumedUnit": "Hours", "ProviderName": "Microsoft", "ResourceId": path.upper(),
                "ResourceName": f"aks-{pool}", "SkuId": "DZH318Z08NRP/007L", "x_SkuMeterName": "D4s v5", "ServiceCategory": "Compute",
            }
            for day in range(1, 31)
        ]  # fmt: skip
    return found, as_csv(rows), 0.5


def of_eks() -> tuple[Snapshot, str, float]:
    """AWS' FOCUS export, a row an instance and hour, with its traffic; unlike the nodes' names the resource is the instance's id."""
    items = json.loads(json.dumps(eks.items()).replace(eks.REGION, "us-east-1"))
    found = read_items(items, source=eks.SAID, taken_at=eks.TAKEN_AT)
    rows, known = [], {node.name: node for node in found.nodes}
    for one in bill(BOOK, found).nodes:
        node = known[one.node.node]
        base = {
            "BillingCurrency": "USD", "BillingAccountId": "1", "SubAccountId": "123456789012", "ProviderName": "AWS", "ServiceCategory": "Compute",
            "ChargeCategory": "Usage", "ChargePeriodStart": "2026-09-01T00:00:00Z", "ChargePeriodEnd": "2026-09-01T01:00:00Z",
            "ResourceId": f"arn:aws:ec2:us-east-1:123456789012:instance/{node.provider_id.rpartition('/')[2]}",
        }  # fmt: skip
        rows.append(
            {
                **base,
                "EffectiveCost": one.cost.total / 730 * 0.72,
                "ConsumedQuantity": 1,
                "ConsumedUnit": "Hrs",
                "x_UsageType": "BoxUsage",
            }
        )
        rows.append(
            {
                **base,
                "EffectiveCost": 0.5,
                "ConsumedQuantity": 50,
                "ConsumedUnit": "GB",
                "x_UsageType": "USE1-DataTransfer-Regional-Bytes",
            }
        )
    return found, as_csv(rows), 0.72


@pytest.mark.parametrize("made", [of_aks, of_eks])
def test_other_clouds_bills_are_joined(made: Callable[[], tuple[Snapshot, str, float]]) -> None:
    found, text, factor = made()
    assert bill(BOOK, found).nodes, "they have prices"
    told = compared(found, text)
    assert (told.nodes, told.unbilled, told.unclear) == (len(bill(BOOK, found).nodes), (), ())
    assert told.share == pytest.approx(factor - 1, abs=1e-4)


def test_scale_sets_whose_machines_have_one_number_are_not_one() -> None:
    """…/virtualMachines/0 of two scale sets: a bare number names nothing."""
    found, _, _ = of_aks()
    row = {
        "ChargeCategory": "Usage",
        "EffectiveCost": 1.0,
        "ChargePeriodStart": "2026-09-01T00:00:00Z",
        "ChargePeriodEnd": "2026-09-01T01:00:00Z",
        "ResourceId": "/subscriptions/other/virtualMachines/0",
        "BillingCurrency": "USD",
    }
    assert compared(found, as_csv([row, {**row, "ResourceId": "x"}])).nodes == 0


def google(name: str, **more: Any) -> Row:
    """A row of gcp_billing_export_resource_v1 as BigQuery has it: an hour at 0.857514, 30% of it given back as sustained use."""
    begin, end = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 10, 1, 1, tzinfo=UTC)
    where = {"name": name, "global_name": f"//compute.googleapis.com/projects/p/zones/z/instances/{name}"}
    discount = {"name": "Sustained Usage Discount", "amount": -0.3 * 0.857514, "type": "SUSTAINED_USAGE_DISCOUNT"}
    return {
        "billing_account_id": "1", "service": {"description": "Compute Engine"}, "sku": {"id": "2E", "description": "N1 and T4"},
        "usage_start_time": begin, "usage_end_time": end, "project": {"id": "p"}, "labels": [{"key": "goog-k8s-cluster-name", "value": "edu"}],
        "resource": where, "cost": 0.857514, "currency": "USD", "currency_conversion_rate": 1.0, "cost_type": "regular",
        "usage": {"amount": 3_600.0, "unit": "seconds", "pricing_unit": "hour"}, "credits": [discount], **more,
    }  # fmt: skip


def flattened(row: Row, by: str) -> Row:
    """As people flatten it for CSV."""
    found = {
        f"{name}{by}{key}": value
        for name in ("sku", "resource", "usage", "project")
        for key, value in row[name].items()
    }
    return found | {name: row[name] for name in ("cost", "currency", "cost_type")} | {
        "credits": json.dumps(row["credits"]), "usage_start_time": "2026-10-01 00:00:00 UTC", "usage_end_time": "2026-10-01 01:00:00 UTC",
    }  # fmt: skip


def test_google_s_export_in_each_of_its_forms(snapshot: Snapshot, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = google(next(node.name for node in snapshot.nodes if "gpu-t4" in node.name))
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "export.parquet")
    lines = json.dumps(row, default=lambda at: f"{at:%Y-%m-%d %H:%M:%S} UTC")
    (tmp_path / "lines.json").write_text(
        f"{lines}\n{json.dumps({**json.loads(lines), 'cost_type': 'tax', 'cost': 9})}\n", encoding="utf-8"
    )
    (tmp_path / "list.json").write_text(f"[{lines}]", encoding="utf-8")
    for by, name in ((".", "dots"), ("_", "lines")):
        (tmp_path / f"{name}.csv").write_text(as_csv([flattened(row, by)]), encoding="utf-8")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(as_csv([flattened(row, ".")]).encode()))
    for file in ("export.parquet", "lines.json", "list.json", "dots.csv", "lines.csv", "packed.csv.gz"):
        found = reconciled(bill(BOOK, snapshot), snapshot.nodes, load_bill(tmp_path / file))
        assert found.nodes == 1, file
        assert found.parts[0].billed_usd_per_hour == pytest.approx(0.60026, abs=1e-5)
        assert found.share == pytest.approx(0, abs=1e-5)
        assert "It covers 1 h" in str(found.sentence)


@pytest.mark.parametrize(
    ("more", "an_hour", "said"),
    [
        ({"credits": [{"amount": -0.857514, "type": "PROMOTION"}]}, 0.857514, "−$0.86 of credits and promotions"),
        (
            {"credits": [{"amount": -0.857514, "type": "COMMITTED_USAGE_DISCOUNT"}]},
            0.857514,
            "−$0.86 of credits of commitments",
        ),
        ({"credits": [{"amount": -0.1, "type": "DISCOUNT"}]}, 0.757514, ""),
        (
            {"currency": "KRW", "currency_conversion_rate": 1_400.0, "cost": 0.857514 * 1_400, "credits": []},
            0.857514,
            "",
        ),
    ],
)
def test_google_s_credits_and_currencies(snapshot: Snapshot, more: Row, an_hour: float, said: str) -> None:
    """By hand: 0.857514 for an hour, less what is a discount. A promotion is none, nor what a commitment paid for elsewhere covers."""
    row = google(next(node.name for node in snapshot.nodes if "gpu-t4" in node.name), **more)
    found = reconciled(bill(BOOK, snapshot), snapshot.nodes, Invoice([row], where="bill"))
    assert found.parts[0].billed_usd_per_hour == pytest.approx(an_hour, abs=1e-6)
    assert said in str(found.sentence)


def opencost(node: str, /, **more: Any) -> Row:
    return {
        "properties": {"node": node},
        "window": {"start": "2026-10-01T00:00:00Z", "end": "2026-10-02T00:00:00Z"},
        **more,
    }


def test_opencost_s_allocations_are_of_their_nodes(snapshot: Snapshot) -> None:
    """CPU, memory and GPUs of 20 hours of a day, volumes and traffic apart: (10 + 4.4 − 2.4) ÷ 20."""
    name = next(node.name for node in snapshot.nodes if "gpu-t4" in node.name)
    times = {"start": "2026-10-01T04:00:00Z", "end": "2026-10-02T00:00:00Z"}
    used = opencost(
        name, name="a", cpuCost=4.0, ramCost=1.6, gpuCost=2.0, pvCost=2.0, networkCost=0.4, totalCost=10.0, **times
    )
    idle = opencost(name, name=f"c/{name}/__idle__", cpuCost=4.4, totalCost=4.4, **times)
    text = json.dumps({"code": 200, "data": [{"a": used, "b": idle}]})
    found = compared(snapshot, text)
    assert found.parts[0].billed_usd_per_hour == pytest.approx(0.6)
    assert found.parts[0].skus == ("requested", "idle")
    assert "$2.40 of disks, traffic and addresses" in str(found.sentence)
    assert "tells no currency" in str(found.sentence)


def test_opencost_without_what_is_idle_by_node_is_no_price_of_nodes(snapshot: Snapshot) -> None:
    name = next(node.name for node in snapshot.nodes if "gpu-t4" in node.name)
    for idle in ({}, {"b": {"name": "__idle__", "properties": {"cluster": "c"}, "totalCost": 9.0}}):
        with pytest.raises(InputError, match="has nothing idle by node"):
            compared(snapshot, json.dumps({"data": [{"a": opencost(name, name="a", totalCost=10.0)} | idle]}))


# ── what is none ─────────────────────────────────────────────────────────────────────────────────────────────────────
GOOGLE = "cost,usage_start_time,usage_end_time"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a,b\n1,2\n", "no bill that is known"),
        (f"{GOOGLE},currency\n1,2026-10-01,2026-10-02,EUR\n", "is in EUR"),
        (f"{GOOGLE}\nmuch,2026-10-01,2026-10-02\n", "not an amount"),
        (f"{GOOGLE}\nnan,2026-10-01,2026-10-02\n", "not an amount"),
        (f"{GOOGLE}\n1e999,2026-10-01,2026-10-02\n", "not an amount"),
        (f"{GOOGLE}\n1,2026-10-01,2026-10-02\n", "names a resource"),
        (f"{GOOGLE}\n1,yesterday,2026-10-02\n", "not a time"),
        (f"{GOOGLE},credits\n1,2026-10-01,2026-10-02,SUD\n", "no list of credits"),
        (f'{GOOGLE}\n1,2026-10-01,"{"x" * 200_000}"\n', "is no CSV"),
        ('{"code": 400, "message": "no"}', "OpenCost"),
        ('{"data": [{"a": ', "no JSON that is whole"),
        (
            '{"cost": 1, "usage_start_time": "2026-10-01", "usage_end_time": "2026-10-02"}\n{"cost": ',
            "no JSON that is whole",
        ),
        ("[" * 100_000, "no JSON that is whole"),
        ("[1, 2]", "OpenCost"),
        ('[{"cost": 1}]', "no bill that is known"),
        ("", "names a resource"),
    ],
)
def test_what_is_wrong_with_a_bill_is_said(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        list(Invoice(text, where="bill").lines)
