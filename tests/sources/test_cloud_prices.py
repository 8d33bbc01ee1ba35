"""Refreshing other clouds' lists, against local servers that speak Azure's and AWS' formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.cli import main
from planner.pricing.cloud_price_lists import KEPT, format_list, read_list
from planner.pricing.machine_price import price_machine
from planner.pricing.price_book import Provisioning
from planner.sources.prices import embedded_book, load_book
from tests.sources.billing_server import Answer, Asked, billing_server

DEMAND, SPOT = Provisioning.ON_DEMAND, Provisioning.SPOT


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "headroom"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["prices", "refresh", *arguments])
    return int(str(caught.value.code or 0))


# ── Azure ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def meter(machine: str, usd: float, **other: Any) -> dict[str, Any]:
    """An item of the Retail Prices API, with all its fields."""
    short = machine.removeprefix("Standard_").replace("_", " ")
    return {
        "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": usd, "unitPrice": usd, "armRegionName": "westeurope",
        "location": "EU West", "effectiveStartDate": "2026-11-01T00:00:00Z", "meterId": "000a794b-bdb0-58be-a0cd-0c3a0f222923",
        "meterName": short, "productId": "DZH318Z0BQPS", "skuId": "DZH318Z0BQPS/00TG", "productName": "Virtual Machines Dsv5 Series",
        "skuName": short, "serviceName": "Virtual Machines", "serviceId": "DZH313Z7MMC8", "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour", "type": "Consumption", "isPrimaryMeterRegion": True, "armSkuName": machine, **other,
    }  # fmt: skip


def westeurope() -> list[dict[str, Any]]:
    """Every machine known there at the price known, so that the list is whole."""
    (listed,) = (one for one in embedded_book().lists if one.seller == "Azure")
    return [
        meter(name, row.usd_per_hour["on-demand"])
        for name in listed.machine_types
        if (row := listed.find(name, "westeurope")) is not None
        and name not in ("Standard_D4s_v5", "Standard_NC24ads_A100_v4")
    ]


def azure(items: list[dict[str, Any]], size: int = 400) -> Callable[[int, Asked], Answer]:
    def answer(_: int, asked: Asked) -> Answer:
        assert asked.path == "/api/retail/prices"
        assert "armRegionName eq 'westeurope'" in asked.query["$filter"][0]
        at = int(asked.query.get("$skip", ["0"])[0])
        more = at + size < len(items)
        host = asked.headers["Host"]
        link = (
            f"http://{host}/api/retail/prices?$filter=armRegionName%20eq%20'westeurope'&$skip={at + size}"
            if more
            else None
        )
        page = {"BillingCurrency": "USD", "CustomerEntityId": "Default", "CustomerEntityType": "Retail"}
        return (
            200,
            json.dumps({**page, "Items": items[at : at + size], "NextPageLink": link, "Count": size}).encode(),
            {},
        )

    return answer


def test_azure_s_list_is_read_page_by_page(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [
        *westeurope(),
        meter("Standard_D4s_v5", 0.231),  # 0.23 in the book
        meter("Standard_D4s_v5", 0.0462, meterName="D4s v5 Spot", skuName="D4s v5 Spot"),
        meter("Standard_D4s_v5", 0.09, meterName="D4s v5 Low Priority", skuName="D4s v5 Low Priority"),
        meter("Standard_D4s_v5", 0.415, productName="Virtual Machines Dsv5 Series Windows"),
        meter("Standard_D4s_v5", 0.31, productName="Dsv5 Series Cloud Services"),
        meter("Standard_D4s_v5", 0.11, type="Reservation", reservationTerm="1 Year"),
        meter("Standard_NC24ads_A100_v4", 9.9),  # far from the book's 4.775
        meter("Standard_NC24ads_A100_v4", 1.2, meterName="NC24ads A100 v4 Spot", skuName="NC24ads A100 v4 Spot"),
        meter("Standard_E4s_v5", 0.9, meterName="E4s v5 Spot", skuName="E4s v5 Spot"),  # above on demand
        meter("Standard_Made_up", 1.0),
        meter("Standard_Made_up", 2.0),
        meter("Standard_D14", 0.236555, meterName="D14/DS14 Spot", skuName="D14 Spot", type="DevTestConsumption"),
    ]
    with billing_server(azure(items)) as server:
        assert run("--cloud", "azure", "--region", "westeurope", "--endpoint", server.url) == 0
    said = capsys.readouterr().out
    assert len(server.asked) == -(-len(items) // 400) > 3
    assert (
        "Standard_NC24ads_A100_v4, on-demand, westeurope: 9.9, 4.775 in the book of 2026-06-18; it moved by +107%; the old price is kept"
        in said
    )
    assert "Standard_Made_up, on-demand, westeurope: 1 and 2; the list has 2 prices for it; left out" in said
    assert "Standard_E4s_v5, spot, westeurope: 0.9; it is not below the price on demand" in said
    book = load_book()
    prices = {way: price_machine(book, "Standard_D4s_v5", "westeurope", way) for way in (DEMAND, SPOT)}
    assert (prices[DEMAND].usd_per_hour, prices[SPOT].usd_per_hour) == (0.231, 0.0462)
    assert prices[DEMAND].as_of > "2026-06-18"
    kept = price_machine(book, "Standard_NC24ads_A100_v4", "westeurope", DEMAND)
    assert kept.usd_per_hour == 4.775
    assert price_machine(book, "Standard_NC24ads_A100_v4", "westeurope", SPOT).usd_per_hour == 1.2
    assert price_machine(book, "Standard_Made_up", "westeurope", DEMAND).usd_per_hour is None
    assert price_machine(book, "Standard_D4s_v5", "eastus", DEMAND).usd_per_hour == 0.192  # as the planner brings it
    assert (cache / "azure-prices.csv").is_file()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda n, a: (503, b"{}", {}), "it answered 503"),
        (lambda n, a: (200, b'{"Items": [', {}), "its answer is cut off or not JSON"),
        (lambda n, a: (200, b'{"Items": 7}', {}), "its answer has another form"),
        (lambda n, a: (200, b"[" * 100_000, {}), "cut off or not JSON"),
        (lambda n, a: (200, b" " * (33 * 2**20), {}), "its page has no end"),
        (lambda n, a: (429, b"slow down", {"Retry-After": "86400"}), "it answered 429"),
        (lambda n, a: (200, b'{"Items": [], "NextPageLink": null}', {}), "only 0 of 1,"),
        (lambda n, a: (200, b'{"Items": [], "NextPageLink": "http://elsewhere.example/x"}', {}), "its next page is on another server"),
        (lambda n, a: (200, json.dumps({"Items": [], "NextPageLink": f"http://{a.headers['Host']}/api/retail/prices"}).encode(), {}), "its pages have no end"),
    ],
)  # fmt: skip
def test_what_isn_t_read_to_its_end_writes_nothing(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: Callable[[int, Asked], Answer], said: str
) -> None:  # fmt: skip
    monkeypatch.setattr("urllib3.util.Retry.sleep", lambda *_, **__: None)
    with billing_server(answer) as server:
        assert run("--cloud", "azure", "--region", "westeurope", "--endpoint", server.url) == 1
    assert said in capsys.readouterr().err
    assert not (cache / "azure-prices.csv").exists()


def test_a_page_that_is_refused_for_once_is_asked_for_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """429 with a day's Retry-After: it isn't waited for."""
    monkeypatch.setattr("urllib3.util.Retry._sleep_backoff", lambda _: None)
    whole = azure(westeurope())

    def answer(number: int, asked: Asked) -> Answer:
        return (429, b"", {"Retry-After": "86400"}) if number == 1 else whole(number, asked)

    with billing_server(answer) as server:
        assert run("--cloud", "azure", "--region", "westeurope", "--endpoint", server.url) == 0
    assert "machine types taken" in capsys.readouterr().out


def test_an_answer_that_breaks_off_is_asked_for_again(capsys: pytest.CaptureFixture[str]) -> None:
    """The head came whole, so that urllib3 asks no second time; one that breaks off each time is given up, and nothing is written."""
    for whole, cloud, region in (
        (azure(westeurope()), "azure", "westeurope"),
        (aws([offer("m5.large", 0.107, 2, "8 GiB")]), "aws", "eu-west-1"),
    ):
        for broken, status in (({1}, 0), (set(range(99)), 1)):

            def answer(
                number: int, asked: Asked, whole: Callable[[int, Asked], Answer] = whole, broken: set[int] = broken
            ) -> Answer:
                code, body, headers = whole(number, asked)
                return code, body, {"Content-Length": str(len(body) + 100)} if number in broken else headers

            with billing_server(answer) as server:
                assert run("--cloud", cloud, "--region", region, "--endpoint", server.url) == status
    said = capsys.readouterr()
    assert said.out.count("taken, written to") == 2
    assert said.err.count("stopped answering (ChunkedEncodingError)") == 2


def test_a_list_in_another_currency_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    def in_euros(number: int, asked: Asked) -> Answer:
        code, body, headers = azure(westeurope())(number, asked)
        return code, body.replace(b"USD", b"EUR"), headers

    in_yuan = aws([offer("m5.large", 0.7, 2, "8 GiB", Currency="CNY")])
    for answer, cloud, region in ((in_euros, "azure", "westeurope"), (in_yuan, "aws", "eu-west-1")):
        with billing_server(answer) as server:
            assert run("--cloud", cloud, "--region", region, "--endpoint", server.url) == 1
    said = capsys.readouterr().err
    assert "its prices are in EUR, and US dollars are needed" in said
    assert "its prices are in CNY, and US dollars are needed" in said


def test_what_is_taken_with_a_doubt_stands_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Spot that moved by 40 % since the last refresh is taken, and told before 63 things that are not."""
    spot = {"meterName": "D4s v5 Spot", "skuName": "D4s v5 Spot"}
    asked = ("--cloud", "azure", "--region", "westeurope", "--endpoint")
    with billing_server(azure([*westeurope(), meter("Standard_D4s_v5", 0.05, **spot)])) as server:
        assert run(*asked, server.url) == 0
    made = [meter(f"Standard_Made_{number}", usd) for number in range(63) for usd in (1.0, 2.0)]
    with billing_server(azure([*westeurope(), *made, meter("Standard_D4s_v5", 0.07, **spot)])) as server:
        assert run(*asked, server.url) == 0
    said = capsys.readouterr().out.splitlines()
    first = next(line for line in said if "moved" in line or "left out" in line)
    assert first.strip().startswith("Standard_D4s_v5, spot, westeurope: 0.07, 0.05 in the book")
    assert first.endswith("it moved by +40%; the new price is taken")


# ── AWS ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
# the header of a list of 2025-09-12, as seen in a public note on how to read it
COLUMNS = (
    "SKU", "OfferTermCode", "RateCode", "TermType", "PriceDescription", "EffectiveDate", "StartingRange", "EndingRange",
    "Unit", "PricePerUnit", "Currency", "RelatedTo", "LeaseContractLength", "PurchaseOption", "OfferingClass",
    "Product Family", "serviceCode", "Location", "Location Type", "Instance Type", "Current Generation", "Instance Family",
    "vCPU", "Physical Processor", "Clock Speed", "Memory", "Storage", "Network Performance", "Processor Architecture",
    "Storage Media", "Volume Type", "Max Volume Size", "Max IOPS/volume", "Max IOPS Burst Performance",
    "Max throughput/volume", "Provisioned", "Tenancy", "EBS Optimized", "Operating System", "License Model", "Group",
    "Group Description", "Transfer Type", "From Location", "From Location Type", "To Location", "To Location Type",
    "usageType", "operation", "AvailabilityZone", "CapacityStatus", "ClassicNetworkingSupport", "Dedicated EBS Throughput",
    "ECU", "Elastic Graphics Type", "Enhanced Networking Supported", "From Region Code", "GPU", "GPU Memory", "Instance",
    "Instance Capacity - 10xlarge", "Instance Capacity - 12xlarge", "Instance Capacity - 16xlarge",
    "Instance Capacity - 18xlarge", "Instance Capacity - 24xlarge", "Instance Capacity - 2xlarge",
    "Instance Capacity - 32xlarge", "Instance Capacity - 4xlarge", "Instance Capacity - 8xlarge",
    "Instance Capacity - 9xlarge", "Instance Capacity - large", "Instance Capacity - medium", "Instance Capacity - metal",
    "Instance Capacity - xlarge", "instanceSKU", "Intel AVX2 Available", "Intel AVX Available", "Intel Turbo Available",
    "MarketOption", "Normalization Size Factor", "Physical Cores", "Pre Installed S/W", "Processor Features", "Product Type",
    "Region Code", "Resource Type", "serviceName", "SnapshotArchiveFeeType", "To Region Code", "Volume API Name",
    "VPCNetworkingSupport",
)  # fmt: skip


def offer(machine: str, usd: float, vcpus: int, memory: str, gpus: str = "", **other: str) -> str:
    cells = {
        "SKU": "ABCD", "OfferTermCode": "JRTCKXETXF", "RateCode": "ABCD.JRTCKXETXF.6YS6EN2CT7", "TermType": "OnDemand",
        "PriceDescription": f"${usd} per On Demand Linux {machine} Instance Hour", "EffectiveDate": "2026-11-01", "StartingRange": "0",
        "EndingRange": "Inf", "Unit": "Hrs", "PricePerUnit": f"{usd:.10f}", "Currency": "USD", "Product Family": "Compute Instance",
        "serviceCode": "AmazonEC2", "Location": "EU (Ireland)", "Instance Type": machine, "vCPU": str(vcpus), "Memory": memory,
        "Tenancy": "Shared", "Operating System": "Linux", "License Model": "No License required", "GPU": gpus,
        "operation": "RunInstances", "CapacityStatus": "Used", "Pre Installed S/W": "NA", "Region Code": "eu-west-1",
        "Location Type": "AWS Region", "Current Generation": "Yes", "Storage": "EBS only", "usageType": f"EU-BoxUsage:{machine}",
        "AvailabilityZone": "NA", "ECU": "NA", "GPU Memory": "NA", "MarketOption": "OnDemand", "Processor Features": "AVX; AVX2",
        **{name.replace("_", " "): value for name, value in other.items()},
    }  # fmt: skip
    return ",".join(
        f'"{cells[name]}"' if cells.get(name) else "" for name in COLUMNS
    )  # empty cells have no quotes there


def aws(lines: list[str]) -> Callable[[int, Asked], Answer]:
    head = ['"FormatVersion","v1.0"', '"Disclaimer","This pricing list is for informational purposes only. All prices are subject to the additional terms"',
            '"Publication Date","2026-11-20T19:05:11Z"', '"Version","20261120190511"', '"OfferCode","AmazonEC2"',
            ",".join(f'"{name}"' for name in COLUMNS)]  # fmt: skip
    place = {
        "regionCode": "eu-west-1",
        "currentVersionUrl": "/offers/v1.0/aws/AmazonEC2/20261120190511/eu-west-1/index.json",
    }
    index = {
        "formatVersion": "v1.0",
        "disclaimer": "",
        "publicationDate": "2026-11-20T19:05:11Z",
        "regions": {"eu-west-1": place},
    }

    def answer(_: int, asked: Asked) -> Answer:
        if asked.path == "/offers/v1.0/aws/AmazonEC2/current/region_index.json":
            return 200, json.dumps(index).encode(), {}
        assert asked.path == "/offers/v1.0/aws/AmazonEC2/20261120190511/eu-west-1/index.csv"
        return 200, "\n".join([*head, *lines, ""]).encode(), {}

    return answer


def test_aws_s_list_is_read_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        offer("m5.large", 0.107, 2, "8 GiB"),
        offer("m5.large", 0.199, 2, "8 GiB", Operating_System="Windows"),
        offer("m5.large", 0.114, 2, "8 GiB", Tenancy="Dedicated"),
        offer("m5.large", 0.167, 2, "8 GiB", **{"Pre Installed S/W": "SQL Web"}),
        offer("m5.large", 0.0, 2, "8 GiB", CapacityStatus="AllocatedCapacityReservation"),
        offer("m5.large", 0.067, 2, "8 GiB", TermType="Reserved"),
        offer("m5.large", 0.05, 2, "8 GiB", MarketOption="CapacityBlock"),
        offer("m5.metal", 5.136, 96, "384 GiB", Tenancy="Dedicated", Product_Family="Compute Instance (bare metal)"),
        offer("m5.metal", 0.0, 96, "384 GiB", Product_Family="Compute Instance (bare metal)"),
        '"K7QT","4NA7Y494T4","K7QT.4NA7Y494T4.2TG2D8R56U","Reserved","Upfront Fee","2026-11-01",,,"Quantity","2750","USD"'
        + "," * (len(COLUMNS) - 11),
        offer("g4dn.xlarge", 0.587, 4, "16 GiB", "1"),
        offer("p4d.24xlarge", 23.05, 96, "1,152 GiB", "8"),
        offer("x9.made", 1.0, 4, "16 GiB"),
        offer("x9.made", 1.5, 4, "16 GiB"),
    ]
    with billing_server(aws(lines)) as server:
        assert run("--cloud", "aws", "--region", "eu-west-1", "--endpoint", server.url) == 0
    said = capsys.readouterr().out
    assert "4 prices of 4 machine types taken" in said
    assert "x9.made, on-demand, eu-west-1: 1.5 and 1; left out" in said
    book = load_book()
    assert price_machine(book, "m5.large", "eu-west-1").usd_per_hour == 0.107
    assert price_machine(book, "m5.metal", "eu-west-1").usd_per_hour == 5.136
    row = book.machine("p4d.24xlarge", "eu-west-1")
    assert row is not None
    assert (row.vcpus, row.memory_gib, row.gpu_model, row.gpu_count) == (96, 1_152, "A100", 8)
    assert price_machine(book, "m5.large", "eu-west-1", SPOT).usd_per_hour is None
    assert price_machine(book, "m5.large", "us-east-1").usd_per_hour == 0.096


@pytest.mark.parametrize(
    ("lines", "region", "said"),
    [
        (['"SKU"'], "eu-west-1", "its list is cut off, or has another form"),
        ([], "eu-west-1", "only 0 of 0 known machine types"),
        ([], "eu-west-9", 'it has no region "eu-west-9"'),
        ([], "eu west'; drop", "is not a region"),
    ],
)
def test_what_aws_doesn_t_have(capsys: pytest.CaptureFixture[str], lines: list[str], region: str, said: str) -> None:
    with billing_server(aws(lines)) as server:
        assert run("--cloud", "aws", "--region", region, "--endpoint", server.url) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("body", [b"x" * (3 * 2**20), b'"SKU"\n' + b"y" * (3 * 2**20)], ids=["no line", "one more"])
def test_a_list_of_one_endless_line_is_not_held(capsys: pytest.CaptureFixture[str], body: bytes) -> None:
    whole = aws([])

    def answer(number: int, asked: Asked) -> Answer:
        return (200, body, {}) if asked.path.endswith(".csv") else whole(number, asked)

    with billing_server(answer) as server:
        assert run("--cloud", "aws", "--region", "eu-west-1", "--endpoint", server.url) == 1
    assert "its list has no end" in capsys.readouterr().err


def test_a_cloud_and_its_regions_belong_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--cloud", "aws") == 1
    assert run("--region", "eu-west-1") == 1
    assert "a cloud and its regions belong together" in capsys.readouterr().err


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_lists_that_come_with_the_planner_hold_prices() -> None:
    """Every cell, and what a review read in them by hand."""
    found = {
        one.seller: sum(one.find(name, region) is not None for name in one.machine_types[::7] for region in one.regions)
        for one in embedded_book().lists
    }
    assert found["Azure"] > 8_000
    assert found["AWS"] > 300
    prices = {
        ("Standard_NC24ads_A100_v4", "eastus"): 3.673, ("g4dn.12xlarge", "us-east-1"): 3.912, ("p4d.24xlarge", "us-east-1"): 21.957642,
    }  # fmt: skip
    assert {key: price_machine(embedded_book(), *key).usd_per_hour for key in prices} == prices


def test_a_refresh_of_one_region_keeps_the_others() -> None:
    head = ",".join(KEPT)
    one = read_list(
        f"{head},eastus,westus\na.b,on-demand,2,8,,,2026-11-01,0.1,0.2\n", where="x", seller="Azure", source="x"
    )
    two = read_list(
        f"{head},eastus\na.b,on-demand,2,8,,,2026-11-20,0.3\na.b,spot,2,8,,,2026-11-20,0.05\n",
        where="y",
        seller="Azure",
        source="y",
    )
    new = two.find("a.b", "eastus")
    assert new is not None
    again = read_list(format_list([new], one), where="z", seller="Azure", source="z")
    east, west = again.find("a.b", "eastus"), again.find("a.b", "westus")
    assert east is not None
    assert west is not None
    assert (east.usd_per_hour, east.as_of["spot"]) == ({"on-demand": 0.3, "spot": 0.05}, "2026-11-20")
    assert (west.usd_per_hour, west.as_of) == ({"on-demand": 0.2}, {"on-demand": "2026-11-01"})
    assert (east.vcpus, east.memory_gib) == (2, 8)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        f"{','.join(KEPT)},eastus\na,on-demand,1\n",
        f"{','.join(KEPT)},eastus\na,gift,,,,,2026-11-01,1\n",
    ],
)
def test_a_damaged_file_is_told(cache: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    cache.mkdir()
    (cache / "aws-prices.csv").write_text(text)
    with pytest.raises(SystemExit):
        main(["prices", "show", "--machine-type", "g4dn.xlarge"])
    assert "refresh it again" in capsys.readouterr().err
