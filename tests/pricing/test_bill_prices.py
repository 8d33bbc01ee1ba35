"""A bill becomes a price list: its own prices by machine, region and way of buying, which reproduce it to the cent."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any, Final

import pytest

from planner.cli import main
from planner.ground.errors import InputError
from planner.kubernetes.object_records import Snapshot
from planner.pricing.billed_costs import Invoice, Reconciled, price_list, reconciled
from planner.pricing.price_table_parser import read_table
from planner.pricing.projected_bill import bill
from planner.sources.bills import load_bill
from planner.sources.prices import embedded_book, load_book
from tests.builders.objects import read_items

DATA: Final = Path(__file__).parent / "data" / "bills"  # made by the public schemas of three clouds, a day or some each
BOOK: Final = embedded_book()
AWS, AZURE = ("eks-l4-use1", "g6.2xlarge", "us-east-1"), ("aks-a100", "Standard_NC24ads_A100_v4", "eastus")
# USD an hour by hand: Savings Plan and list price mixed, after discounts; on spot; and the list's nodes without a price
CASES: Final = {
    "gcp_flat": (("l4-serve", "g2-standard-12", "europe-west4"), {"total_ondemand": 0.998366}, 0),
    "aws_focus": (AWS, {"total_ondemand": 0.819893, "total_spot": 0.41}, 2),
    "aws_cur2": (AWS, {"total_ondemand": 0.819893, "total_spot": 0.41}, 2),
    "azure_focus": (AZURE, {"total_ondemand": 3.23224, "total_spot": 0.75}, 2),
    "azure_actual": (AZURE, {"total_ondemand": 3.23224, "total_spot": 0.75}, 2),
}


def cluster(name: str) -> Snapshot:
    return read_items(json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))["items"])


def compared(name: str) -> tuple[Snapshot, Reconciled]:
    snapshot = cluster(CASES[name][0][0])
    return snapshot, reconciled(bill(BOOK, snapshot), snapshot.nodes, load_bill(DATA / f"{name}.csv.gz"))


@pytest.mark.parametrize("name", CASES)
def test_a_bill_becomes_a_price_list(name: str) -> None:
    (_, machine, region), right, _ = CASES[name]
    _, found = compared(name)
    (row,) = csv.DictReader(io.StringIO(price_list(found)))
    assert (row["machine_type"], row["region"], row["as_of"]) == (machine, region, "2026-11-26")
    told = {column: float(row[column]) for column in row if column.startswith("total_")}
    assert told == pytest.approx(right, abs=5e-7)
    assert not found.unpriceable


@pytest.mark.parametrize("name", CASES)
def test_the_list_reproduces_the_bill_to_the_cent(name: str) -> None:
    """Nodes without a price in the book (spot of AWS and Azure) get theirs."""
    snapshot, found = compared(name)
    without = CASES[name][2]
    assert sum(len(group.nodes) for group in bill(BOOK, snapshot).unpriced) == without
    table = read_table(price_list(found), where="own.csv", source="own prices", is_own=True)
    again = bill(load_book([table]), snapshot)
    assert not again.unpriced
    month = sum(price.usd_per_hour * len(price.nodes) for price in found.prices) * 730
    assert again.bill_usd_per_month == pytest.approx(month, abs=0.011)
    after = reconciled(again, snapshot.nodes, load_bill(DATA / f"{name}.csv.gz"))
    assert after.billed_usd == pytest.approx(after.list_usd, abs=0.011)
    assert after.nodes == len(snapshot.nodes)


def test_curs_lines_count_as_focus_counts_them() -> None:
    """A Savings Plan's covered hours at their effective cost, and their negations not; taxes and traffic apart."""
    _, by_cur = compared("aws_cur2")
    _, by_focus = compared("aws_focus")
    assert (by_cur.billed_usd, by_cur.left_out) == (by_focus.billed_usd, by_focus.left_out)
    assert by_cur.parts == by_focus.parts


def test_the_older_cur_is_the_same_bill() -> None:
    text = gzip.decompress((DATA / "aws_cur2.csv.gz").read_bytes()).decode()
    head, _, body = text.partition("\n")

    def older(name: str) -> str:
        group = next(
            one
            for one in ("savings_plan", "line_item", "identity", "bill", "pricing", "reservation", "")
            if name.startswith(one)
        )
        first, *others = group.split("_")
        return f"{first}{''.join(map(str.title, others))}/{name.removeprefix(f'{group}_').title().replace('_', '')}"

    snapshot = cluster("eks-l4-use1")
    named = f"{','.join(map(older, head.split(',')))}\n{body}"
    found = reconciled(bill(BOOK, snapshot), snapshot.nodes, Invoice(named, where="old.csv"))
    assert found.billed_usd == compared("aws_cur2")[1].billed_usd


def rows(name: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(gzip.decompress((DATA / f"{name}.csv.gz").read_bytes()).decode())))


def test_usage_at_nothing_is_no_price() -> None:
    """Azure's export of actual cost has 0 where a reservation covers: told, and no price of 0."""
    snapshot = cluster("aks-a100")
    covered = [row | {"CostInBillingCurrency": "0", "PricingModel": "Reservation"} for row in rows("azure_actual")[:1]]
    found = reconciled(bill(BOOK, snapshot), snapshot.nodes, Invoice([*covered, *rows("azure_actual")[1:]], where="a"))
    assert [price.provisioning.value for price in found.prices] == ["spot"]
    assert len(found.unpriceable) == 4


def test_a_bill_in_euros_is_refused_and_one_with_dollars_beside_them_read() -> None:
    euros = [row | {"BillingCurrency": "EUR"} for row in rows("azure_actual")]
    snapshot = cluster("aks-a100")
    with pytest.raises(InputError, match="EUR"):
        reconciled(bill(BOOK, snapshot), snapshot.nodes, Invoice(euros, where="a"))
    in_usd = [row | {"costInUsd": row["CostInBillingCurrency"], "CostInBillingCurrency": "1"} for row in euros]
    found = reconciled(bill(BOOK, snapshot), snapshot.nodes, Invoice(in_usd, where="a"))
    assert found.billed_usd == compared("azure_actual")[1].billed_usd


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["costs", *arguments])
    return int(str(caught.value.code or 0))


def test_the_command_writes_it_and_names_what_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "c.json", tmp_path / "own.csv"
    file.write_bytes(gzip.decompress((DATA / "eks-l4-use1.json.gz").read_bytes()))
    few = [row for row in rows("aws_cur2") if row["line_item_resource_id"] != "i-00000000000000001"]
    paid = tmp_path / "cur.csv"
    with paid.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(few[0]))
        writer.writeheader()
        writer.writerows(few)
    assert run(str(file), "--actual", str(paid), "--write-prices", str(out)) == 0
    said = capsys.readouterr().err
    assert "2 prices of 7 nodes written to" in " ".join(said.split())
    assert "No price of " in said
    assert run(str(file), "--prices", str(out)) == 0
    assert "a month for 8 nodes" in capsys.readouterr().out
    assert run(str(file), "--write-prices", str(out)) == 1
