"""``headroom costs``: who bears the bill."""

from __future__ import annotations

import csv
import io
import json

import pytest

from planner.cli import main
from planner.pricing.focus_export import COLUMNS, OWN, UNKNOWN

BILL = 36_971.90  # the demo's month, after sustained use


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["costs", "demo", *arguments])
    return int(str(caught.value.code or 0))


@pytest.mark.parametrize("by", ["namespace", "label:app", "label:team", "pool", "workload"])
def test_the_lines_are_the_bill_to_the_cent(by: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--by", by, "--output", "json") == 0
    result = json.loads(capsys.readouterr().out)["result"]
    cents = sum(round(100 * (line["gpu_usd"] + line["cpu_usd"] + line["memory_usd"])) for line in result["lines"])
    assert cents == round(100 * BILL)
    assert (result["bill_usd_per_month"], result["by"]) == (BILL, by)
    assert sum(round(100 * line["gpu_usd"]) for line in result["by_node"]) == sum(
        round(100 * line["gpu_usd"]) for line in result["lines"]
    )


def test_namespaces_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """A review's sums: prod 28,976, batch 1,694, dev 1,204, kube-system 124, idle 4,974."""
    assert run("--by", "namespace", "-o", "csv", "--rows", "allocation") == 0
    rows = {row["namespace"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    by_hand = {"prod": 28_976, "batch": 1_694, "dev": 1_204, "kube-system": 124, "idle": 4_974}
    assert {name: pytest.approx(usd, abs=0.6) for name, usd in by_hand.items()} == {
        name: float(row["usd_per_month"]) for name, row in rows.items()
    }
    assert rows["kube-system"]["share"] == "shared"


def test_csv_has_the_columns_of_focus(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--by", "namespace", "-o", "csv") == 0
    printed = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert tuple(rows[0]) == (*COLUMNS, *OWN)
    assert round(sum(float(row["EffectiveCost"]) for row in rows), 2) == BILL
    assert round(sum(float(row["ListCost"]) for row in rows)) == 38_390
    empty = {column for column in rows[0] if not any(row[column] for row in rows)}
    assert empty == set(UNKNOWN)
    assert "FOCUS 1.2. A snapshot can't fill: BillingAccountId" in printed.err
    assert {row["ChargeCategory"] for row in rows} == {"Usage"}


def test_without_by_the_bill_and_the_pools_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("$36,972 a month for 24 nodes; $4,974 of it isn't requested (13%)")
    assert "USD a month after sustained use. List prices are less negotiated discounts." in printed.out
    assert "not in it: GKE's management fee, $73.00 a month" in printed.out
    assert "128 days old" in printed.err or "days old" in printed.err


def test_nothing_else_can_be_shared_out_by(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--by", "colour") == 1
    assert "Give namespace, label:NAME, pool or workload" in capsys.readouterr().err
