"""What was billed beside what the list says: the three forms, joined by resource, figures by hand."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.kubernetes.records import Snapshot
from planner.pricing.actual import read_bill, reconciled
from planner.pricing.bill import bill
from planner.sources import demo
from planner.sources.bills import load_bill
from planner.sources.prices import embedded_book

BOOK = embedded_book()
DAYS = ("2026-10-01T00:00:00Z", "2026-10-31T00:00:00Z")
HOURS = 720.0


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


def as_csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def rows_of(snapshot: Snapshot, factor: float) -> list[dict[str, Any]]:
    """A month of 720 hours of every node at `factor` of the estimate, in two SKUs and two halves."""
    found = []
    known = {node.name: node for node in snapshot.nodes}
    for one in bill(BOOK, snapshot).nodes:
        usd = one.cost.total / 730 * HOURS * factor
        for sku, share in (("Core", 0.6), ("RAM", 0.4)):
            for begin, end in ((DAYS[0], "2026-10-16T00:00:00Z"), ("2026-10-16T00:00:00Z", DAYS[1])):
                found.append(
                    {
                        "ResourceId": known[one.node.node].provider_id or f"//compute/projects/p/instances/{one.node.node}",
                        "ResourceName": one.node.node, "ChargeCategory": "Usage", "SkuMeter": sku, "BilledCost": usd * share / 2,
                        "EffectiveCost": usd * share / 2, "BillingCurrency": "USD", "ChargePeriodStart": begin, "ChargePeriodEnd": end,
                    }
                )  # fmt: skip
    return found


def test_the_line_that_no_peer_has(snapshot: Snapshot) -> None:
    """36,971.90 in the list, 7.7% less on the bill: 34,125."""
    cost = bill(BOOK, snapshot)
    found = reconciled(cost, snapshot.nodes, read_bill(as_csv(rows_of(snapshot, 0.923)), where="bill.csv"))
    assert str(found.sentence) == "The bill says 34,125 a month for 24 nodes, the list 36,972: −7.7%."
    assert found.list_usd == pytest.approx(36_971.90, abs=0.02)
    assert not found.unbilled
    assert found.parts[0].machine_type == "a2-highgpu-4g"
    assert found.parts[0].billed_usd_per_hour == pytest.approx(found.parts[0].list_usd_per_hour * 0.923, rel=1e-5)
    assert found.parts[0].skus == ("Core", "RAM")


def test_nodes_that_are_not_on_the_bill_are_not_compared(snapshot: Snapshot) -> None:
    rows = [row for row in rows_of(snapshot, 1.0) if "t4" in row["ResourceName"]]
    rows.append({**rows[0], "ResourceId": "disk-1", "ResourceName": "disk-1", "EffectiveCost": 1e6})
    found = reconciled(bill(BOOK, snapshot), snapshot.nodes, read_bill(as_csv(rows), where="bill.csv"))
    assert (found.nodes, len(found.unbilled)) == (6, 18)
    assert found.billed_usd == found.list_usd == pytest.approx(2_629.14, abs=0.01)
    assert "18 nodes with a price are not on it" in str(found.sentence)


def test_purchases_are_in_the_effective_cost_of_what_they_cover(snapshot: Snapshot) -> None:
    rows = rows_of(snapshot, 1.0)
    rows.append({**rows[0], "ChargeCategory": "Purchase", "EffectiveCost": 0.0, "BilledCost": 5_000.0})
    found = reconciled(bill(BOOK, snapshot), snapshot.nodes, read_bill(as_csv(rows), where="bill.csv"))
    assert found.share == pytest.approx(0, abs=1e-6)


def test_google_s_export_counts_its_credits(snapshot: Snapshot, tmp_path: Path) -> None:
    """A node of 0.857514 an hour for 10 hours, 30% of it given back as sustained use; nested in Parquet, flat in CSV."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = next(node.name for node in snapshot.nodes if "gpu-t4" in node.name)
    where = {"name": name, "global_name": f"//compute.googleapis.com/projects/p/zones/z/instances/{name}"}
    begin, end = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 10, 1, 10, tzinfo=UTC)
    row = {
        "sku": {"description": "N1 and T4"}, "resource": where, "cost": 8.57514, "currency": "USD",
        "credits": [{"amount": -0.3 * 8.57514, "type": "SUSTAINED_USAGE_DISCOUNT"}], "usage_start_time": begin, "usage_end_time": end,
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "export.parquet")
    flat = {
        "sku.description": "N1 and T4", "resource.name": name, "cost": 8.57514, "currency": "USD",
        "credits": json.dumps([{"amount": -0.3 * 8.57514}]), "usage_start_time": "2026-10-01 00:00:00 UTC",
        "usage_end_time": "2026-10-01 10:00:00 UTC",
    }  # fmt: skip
    (tmp_path / "export.csv").write_text(as_csv([flat]), encoding="utf-8")
    for file in ("export.parquet", "export.csv"):
        found = reconciled(bill(BOOK, snapshot), snapshot.nodes, load_bill(tmp_path / file))
        assert found.nodes == 1
        assert found.parts[0].billed_usd_per_hour == pytest.approx(0.60026, abs=1e-5)
        assert found.share == pytest.approx(0, abs=1e-5)


def test_opencost_s_allocations_are_of_their_nodes(snapshot: Snapshot) -> None:
    name = next(node.name for node in snapshot.nodes if "gpu-t4" in node.name)
    window = {"start": "2026-10-01T00:00:00Z", "end": "2026-10-02T00:00:00Z"}
    one = {"properties": {"node": name}, "window": window}
    data = [{"a": {**one, "name": "a", "totalCost": 10.0}, "b": {**one, "name": "x/__idle__", "totalCost": 4.4}}]
    found = reconciled(
        bill(BOOK, snapshot), snapshot.nodes, read_bill(json.dumps({"code": 200, "data": data}), where="a.json")
    )
    assert found.parts[0].billed_usd_per_hour == pytest.approx(0.6)
    assert found.parts[0].skus == ("requested", "idle")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a,b\n1,2\n", "no bill that is known"),
        ("cost,usage_start_time,usage_end_time,currency\n1,2026-10-01,2026-10-02,EUR\n", "is in EUR"),
        ("cost,usage_start_time,usage_end_time\nmuch,2026-10-01,2026-10-02\n", "not an amount"),
        ("cost,usage_start_time,usage_end_time\n1,2026-10-01,2026-10-02\n", "names a resource"),
        ("cost,usage_start_time,usage_end_time\n1,yesterday,2026-10-02\n", "not a time"),
        ('{"code": 400, "message": "no"}', "OpenCost"),
        ("[1, 2]", "OpenCost"),
        ("", "names a resource"),
    ],
)
def test_what_is_wrong_with_a_bill_is_said(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_bill(text, where="bill")
