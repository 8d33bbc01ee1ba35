from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from planner.cli import main
from planner.sources.prices import embedded_book, refreshed_file
from tests.pricing.catalogue import catalogue_of, wire_sku
from tests.sources.billing_server import billing_server, error, paged


@pytest.fixture(autouse=True)
def cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HEADROOM_BILLING_API_KEY", raising=False)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["costs", "--price-list", *arguments])
    return int(str(caught.value.code or 0))


def test_a_machine_with_a_gpu_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run("show", "--region", "asia-northeast3", "--machine-type", "n1-standard-8", "--gpu", "nvidia-tesla-t4") == 0
    )
    shown = capsys.readouterr()
    line = next(line for line in shown.out.splitlines() if "n1-standard-8 + 1 × T4" in line)
    assert line.split()[4:] == ["T4", "asia-northeast3", "0.8575", "625.99", "0.3737", "56%", *["no", "price"] * 3]
    assert "sustained-use discount" in shown.out
    assert "days old" in shown.err


def test_gpus_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "--gpu", "T4", "--region", "us-central1", "--output", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "headroom.prices/v1"
    assert document["as_of"] == "2026-07-16"
    (row,) = document["prices"]
    assert row["name"] == "T4 (one GPU)"
    assert row["on_demand_usd_per_hour"] == 0.35
    assert row["on_demand_usd_per_month"] == pytest.approx(255.5)
    assert row["commitment_1y_usd_per_hour"] == 0.22
    assert row["commitment_3y_usd_per_hour"] == 0.16
    assert row["spot_discount"] == pytest.approx(1 - 0.1915 / 0.35)


def test_a_region_as_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "--region", "asia-northeast3", "-o", "csv") == 0
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert len(rows) == sum(row.region_id == "asia-northeast3" for row in embedded_book().machines.values())
    assert rows["g2-standard-12"]["spot_usd_per_hour"] == "0.34846"
    assert rows["a2-ultragpu-1g"]["is_sold_on_demand"] == "False"


def test_own_prices_and_discounts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.csv"
    own.write_text("machine_type,region,total_ondemand\nn1-standard-8,asia-northeast3,0.4\n", encoding="utf-8")
    arguments = ["show", "--machine-type", "n1-standard-8", "--region", "asia-northeast3", "-o", "json"]
    assert run(*arguments, "--prices", str(own), "--discount", "standard=50%", "--discount", "Dynamic=0.5") == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = document["prices"]
    assert row["on_demand_usd_per_hour"] == 0.4
    assert row["spot_usd_per_hour"] == pytest.approx(0.18964 / 2)
    assert document["discounts"] == {"Dynamic": 0.5, "Standard": 0.5}


def test_types_priced_from_unit_prices(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "--machine-type", "n2-custom-4-16384", "--region", "us-central1") == 0
    assert "~0.2039" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "--region", "mars"], 'no region "mars"'),
        (["show", "--gpu", "T5"], "It has A100"),
        (["show", "--machine-type", "n9-standard-4"], 'no machine type "n9-standard-4"'),
        (["show", "--discount", "cheap=1"], "is not a discount"),
        (["show", "--discount", "Standard=-1"], "is not a discount"),
        (["show", "--discount", "Standard=1.5"], "not a share"),
        (["show", "--prices", "no-such-file.csv"], "no-such-file.csv: can't be read"),
        (["show", "--gpu-count", "0"], "--gpu-count"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_1(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 1
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == ""


def test_refresh_writes_a_file_that_show_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wire = catalogue_of(embedded_book())
    for sku in wire:
        if sku["description"] == "Nvidia L4 GPU running in europe-west4":
            sku["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]["nanos"] = 650_000_000
    wire.append(wire_sku("Nvidia Tesla T4 GPU running in Iowa", 0.36, group="GPU"))
    out = tmp_path / "new" / "prices.csv"
    with billing_server(paged(wire, 300)) as server:
        assert run("refresh", "--endpoint", server.url, "--out", str(out)) == 0
    shown = capsys.readouterr().out
    assert f"{len(wire):,} SKUs read" in shown
    assert "T4 GPU, on-demand, us-central1: 0.35 and 0.36" in shown
    assert "the old price is kept" in shown
    assert not refreshed_file().exists()
    assert run("show", "--gpu", "L4", "--region", "europe-west4", "--refreshed", str(out), "-o", "json") == 0
    shown_after = capsys.readouterr()
    rows = {row["name"]: row for row in json.loads(shown_after.out)["prices"]}
    assert rows["L4 (one GPU)"]["on_demand_usd_per_hour"] == 0.65
    assert shown_after.err == ""  # today's prices are not old


def test_what_is_taken_with_a_doubt_stands_before_what_is_not_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """A review: the one price that was taken, 40% up on Spot, stood behind 63 others, of which 20 are shown."""
    wire = catalogue_of(embedded_book())
    for sku in wire:
        is_spot_t4 = sku["description"].startswith("Nvidia Tesla T4 GPU attached to Spot")
        if is_spot_t4 or sku["description"].startswith("N2 "):
            price = sku["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]
            price["nanos"] = int(price["nanos"] * 1.4)
    with billing_server(paged(wire, 5000)) as server:
        assert run("refresh", "--endpoint", server.url) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(number for number, line in enumerate(lines) if "taken with a doubt" in line)
    taken = int(lines[head].split()[0])
    kept = int(lines[head].split(" and ")[1].split()[0])
    assert kept > 20 > taken > 0
    assert all("the old price is kept" not in line for line in lines[head + 1 : head + 1 + taken])
    assert any("T4 GPU, spot" in line for line in lines[head + 1 : head + 1 + taken])
    assert "the old price is kept" in lines[head + 1 + taken]


def test_a_second_refresh_keeps_what_the_first_one_read(capsys: pytest.CaptureFixture[str]) -> None:
    """A price that the second catalogue has twice keeps the value of the first refresh, not of the snapshot."""
    wire = catalogue_of(embedded_book())
    l4 = next(sku for sku in wire if sku["description"] == "Nvidia L4 GPU running in europe-west4")
    l4["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]["nanos"] = 650_000_000
    with billing_server(paged(wire, 5000)) as server:
        assert run("refresh", "--endpoint", server.url) == 0
    double = wire_sku("Nvidia L4 GPU running in Netherlands", 0.7, group="GPU", regions=["europe-west4"])
    with billing_server(paged([*wire, double], 5000)) as server:
        assert run("refresh", "--endpoint", server.url) == 0
    assert "0.65 in the book" in capsys.readouterr().out
    assert run("show", "--gpu", "L4", "--region", "europe-west4", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["prices"][0]["on_demand_usd_per_hour"] == 0.65


def test_a_failed_refresh_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "prices.csv"
    with billing_server(lambda *_: error(403, "PERMISSION_DENIED", "Not enabled")) as server:
        assert run("refresh", "--endpoint", server.url, "--out", str(out)) == 1
    assert "403 Not enabled" in capsys.readouterr().err
    with billing_server(paged(catalogue_of(embedded_book())[:20], 5000)) as server:
        assert run("refresh", "--endpoint", server.url, "--out", str(out)) == 1
    assert "Nothing was written" in capsys.readouterr().err
    assert not out.exists()


def test_a_damaged_file_in_the_cache_is_written_anew(capsys: pytest.CaptureFixture[str]) -> None:
    refreshed_file().parent.mkdir(parents=True)
    refreshed_file().write_text("component,product\n", encoding="utf-8")
    assert run("show", "--gpu", "L4") == 1
    assert "headroom costs --price-list refresh" in capsys.readouterr().err
    with billing_server(paged(catalogue_of(embedded_book()), 5000)) as server:
        assert run("refresh", "--endpoint", server.url) == 0
    assert "written anew" in capsys.readouterr().err
    assert run("show", "--gpu", "L4") == 0


@pytest.mark.parametrize("text", ["my notes\n", "machine_type,region,total_spot\nx,a,1\n"])
def test_a_file_of_another_kind_is_not_written_over(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text(text, encoding="utf-8")
    assert run("refresh", "--endpoint", "http://127.0.0.1:1", "--out", str(mine)) == 1
    assert "Name another file" in capsys.readouterr().err
    assert mine.read_text(encoding="utf-8") == text


def test_without_a_command_it_shows_prices(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--gpu", "T4", "--region", "us-central1") == 0
    named = capsys.readouterr().out
    assert named.startswith("1 price in US dollars an hour, before tax")
    assert run("show", "--gpu", "T4", "--region", "us-central1") == 0
    assert capsys.readouterr().out == named
    assert run() == 0
    assert len(capsys.readouterr().out.splitlines()) > 20
    assert run("--help") == 0
    assert "refresh" in capsys.readouterr().out
    assert run("shw") == 1
    assert "shw" in capsys.readouterr().err
