"""Downloads other clouds' price lists for ``headroom costs --price-list refresh --cloud``. No key is needed.

Azure: Retail Prices API, a page of JSON of 100 to 1,000 items each, and the address of the next
(https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices, read 2026-11). Spot is a meter of its own.
AWS: bulk price list, a CSV file of some hundred megabytes a region, of which no more than a line is held; which of its rows are a
plain machine is as Karpenter asks for them (karpenter-provider-aws, pkg/providers/pricing/pricing.go)
(https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-the-aws-price-list-bulk-api-fetching-price-list-files-manually.html,
read 2026-11). It has no spot prices: these need credentials.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from planner.ground.errors import InputError, SourceError
from planner.ground.records import Record
from planner.ground.words import Text
from planner.kubernetes.clouds import Cloud
from planner.pricing.cloud_price_lists import ListedPrice, PriceList
from planner.sources.source_limits import LIMITS

AZURE: Final = "https://prices.azure.com"
AWS: Final = "https://pricing.us-east-1.amazonaws.com"
_AWS_INDEX: Final = "/offers/v1.0/aws/AmazonEC2/current/region_index.json"
_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 60.0
LARGEST_MOVE: Final = 0.30  # of a price on demand, above which the old one is kept, as of Google's
LEAST_COVERAGE: Final = 0.5
_REGION: Final = re.compile(r"[a-z][a-z0-9-]{2,40}\Z")
_T = TypeVar("_T")


class ListRefresh(Record):
    """What a cloud's list gave: rows of the regions asked for, and what wasn't simply taken over, in words."""

    rows: tuple[ListedPrice, ...]
    doubts: tuple[Text, ...]


def read_prices(
    cloud: Cloud, regions: Iterable[str], price_lists: Iterable[PriceList], *, as_of: str, endpoint: str = ""
) -> ListRefresh:
    """Today's list of the regions, checked against those known.

    Raises
    ------
    InputError
        For what is no region's name.
    SourceError
        When the list can't be read to its end, or a region has fewer than half of the machine types known in it.
    """
    lists = [price_list for price_list in price_lists if price_list.seller == cloud.seller]
    rows: list[ListedPrice] = []
    doubts: list[Text] = []
    for region in regions:
        if not _REGION.match(region):
            raise InputError(
                f'"{region[:40]}" is not a region', fix="Write it as the node's label topology.kubernetes.io/region"
            )
        where = endpoint or _ENDPOINTS[cloud.prices]
        try:
            prices, sizes, of_two = _READERS[cloud.prices](_session(), where.rstrip("/"), region)
        except requests.RequestException as error:
            reason = f"it can't be reached, or stopped answering ({type(error).__name__})"
            raise SourceError(reason, where=where, fix="Check the network and its proxy, then try again") from error
        doubts += of_two
        rows += _checked(prices, sizes, lists, region, as_of, doubts)
        _check_whole(prices, lists, region, where)
    return ListRefresh(rows=tuple(rows), doubts=tuple(doubts))


_Prices = dict[str, dict[str, float]]  # machine type → way of buying → USD an hour
_Sizes = dict[str, tuple[float, float, float]]  # vCPUs, GiB, GPUs
_Read = tuple[_Prices, _Sizes, list[Text]]


def _checked(
    prices: _Prices, sizes: _Sizes, lists: list[PriceList], region: str, as_of: str, doubts: list[Text]
) -> Iterator[ListedPrice]:
    for machine_type, ways in sorted(prices.items()):
        rows = [row for price_list in lists if (row := price_list.find(machine_type, region)) is not None]
        old = {way: usd for row in rows for way, usd in row.usd_per_hour.items()}
        dates = {way: date for row in rows for way, date in row.as_of.items()}
        demand = ways.get("on-demand")
        taken, days = {}, {}
        for way, usd in ways.items():
            name, before = f"{machine_type}, {way}, {region}: {usd:g}", old.get(way)
            if way == "spot" and demand is not None and usd >= demand:
                doubts.append(Text(f"{name}; it is not below the price on demand, {demand:g}; left out"))
                continue
            is_far = before is not None and abs(usd / before - 1) > LARGEST_MOVE
            keeps = is_far and way == "on-demand"
            if is_far and before is not None:
                outcome = "the old price is kept" if keeps else "the new price is taken"
                doubt_text = (
                    f"{name}, {before:g} in the book of {dates[way]}; it moved by {usd / before - 1:+.0%}; {outcome}"
                )
                doubts.insert(
                    len(doubts) if keeps else 0, Text(doubt_text)
                )  # what is taken with a doubt changes figures: first
            taken[way], days[way] = (before, dates[way]) if keeps and before is not None else (usd, as_of)
        if taken:
            vcpus, gib, gpus = sizes.get(machine_type, (0.0, 0.0, 0.0))
            sized_row = next((row for row in reversed(rows) if row.vcpus), None)
            yield ListedPrice(
                machine_type=machine_type, region_id=region, vcpus=vcpus or (sized_row.vcpus if sized_row else 0.0),
                memory_gib=gib or (sized_row.memory_gib if sized_row else 0.0), gpu_model=sized_row.gpu_model if sized_row else "",
                gpu_count=gpus or (sized_row.gpu_count if sized_row else 0.0), usd_per_hour=taken, as_of=days,
            )  # fmt: skip


def _check_whole(prices: _Prices, lists: list[PriceList], region: str, where: str) -> None:
    known_types = {
        name
        for price_list in lists
        if region in price_list.regions
        for name in price_list.machine_types
        if price_list.find(name, region) is not None
    }
    if not prices or len(known_types & set(prices)) < LEAST_COVERAGE * len(known_types):
        message = f"only {len(known_types & set(prices)):,} of {len(known_types):,} known machine types of {region} were in it"
        raise SourceError(message, where=where, fix="Nothing was written; check the region's name, or try again later")


# ── Azure ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _azure(session: requests.Session, endpoint: str, region: str) -> _Read:
    price_filter = f"serviceName eq 'Virtual Machines' and armRegionName eq '{region}' and priceType eq 'Consumption'"
    query: dict[str, str] | None = {"api-version": "2023-01-01-preview", "currencyCode": "USD", "$filter": price_filter}
    address, seen_addresses = f"{endpoint}/api/retail/prices", set[str]()
    prices_by_meter: dict[tuple[str, str], set[float]] = defaultdict(set)
    while address:
        if address in seen_addresses or len(seen_addresses) >= LIMITS.price_pages:
            raise SourceError("its pages have no end", where=endpoint, fix="Try again later")
        seen_addresses.add(address)
        page = _json(session, address, endpoint, query)
        try:
            _check_currency({str(page["BillingCurrency"])} if page.get("BillingCurrency") else set(), endpoint)
            for meter in page["Items"]:
                if (meter_price := _azure_meter(meter, region)) is not None:
                    prices_by_meter[meter_price[0], meter_price[1]].add(meter_price[2])
            address, query = str(page.get("NextPageLink") or ""), None  # the link holds the query
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SourceError("its answer has another form", where=endpoint, fix="Try again later") from error
        if address and urlsplit(address).hostname != urlsplit(endpoint).hostname:
            raise SourceError("its next page is on another server", where=endpoint, fix="Try again later")
    prices: _Prices = defaultdict(dict)
    doubts = []
    for (machine_type, way), values in sorted(prices_by_meter.items()):
        if len(values) > 1:
            both = " and ".join(f"{usd:g}" for usd in sorted(values))
            doubts.append(
                Text(f"{machine_type}, {way}, {region}: {both}; the list has {len(values)} prices for it; left out")
            )
            continue
        prices[machine_type][way] = values.pop()
    return dict(prices), {}, doubts


def _azure_meter(meter: dict[str, Any], region: str) -> tuple[str, str, float] | None:
    """(machine type, way, USD an hour) of a virtual machine with Linux; None for every other meter."""
    names = f"{meter['meterName']} {meter['skuName']}"
    product, machine_type, usd = str(meter["productName"]), str(meter["armSkuName"]), float(meter["retailPrice"])
    is_other = (
        "Windows" in product or "Cloud Services" in product or "CloudServices" in product or "Low Priority" in names
    )
    is_machine = (
        machine_type.startswith("Standard_") and meter["type"] == "Consumption" and meter["unitOfMeasure"] == "1 Hour"
    )
    is_here = (
        meter["armRegionName"] == region
        and meter["currencyCode"] == "USD"
        and not float(meter.get("tierMinimumUnits") or 0)
    )
    if is_other or not is_machine or not is_here or not 0 < usd < 1e5 or "," in machine_type:
        return None
    return machine_type, "spot" if "Spot" in names else "on-demand", usd


# ── AWS ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
_OF_A_PLAIN_MACHINE: Final = {  # no capacity block; who has all of a machine of metal is alone on it
    "TermType": "OnDemand", "Operating System": "Linux", "Pre Installed S/W": "NA", "CapacityStatus": "Used", "MarketOption": "OnDemand",
    "Unit": "Hrs", "Currency": "USD",
}  # fmt: skip
_TENANCY: Final = {"Compute Instance": "Shared", "Compute Instance (bare metal)": "Dedicated"}


def _aws(session: requests.Session, endpoint: str, region: str) -> _Read:
    index = _json(session, endpoint + _AWS_INDEX, endpoint, None)
    places = index.get("regions") if isinstance(index, dict) else None
    place = places.get(region) if isinstance(places, dict) else None
    path = str(place.get("currentVersionUrl") or "") if isinstance(place, dict) else ""
    if not path.startswith("/") or path.startswith("//"):
        raise SourceError(f'it has no region "{region}"', where=endpoint, fix="Write it like eu-west-1")
    address = endpoint + path.removesuffix(".json") + ".csv"

    def read() -> _Read:
        with session.get(address, stream=True, timeout=(_CONNECT_SECONDS, _READ_SECONDS)) as answer:
            _refused(answer, endpoint)
            return _aws_prices(csv.reader(_lines(answer, endpoint), strict=True), endpoint, region)

    return _read_again(read)


def _lines(answer: requests.Response, endpoint: str) -> Iterator[str]:
    size, unfinished_line = 0, b""
    for piece in answer.iter_content(2**16):
        size += len(piece)
        *lines, unfinished_line = (unfinished_line + piece).split(b"\n")
        if size > LIMITS.price_bytes or len(unfinished_line) > LIMITS.price_line_bytes:
            raise SourceError("its list has no end", where=endpoint, fix="Try again later")
        yield from (f"{line.decode('utf-8', errors='replace')}\n" for line in lines)
    if unfinished_line:
        yield unfinished_line.decode("utf-8", errors="replace")


def _aws_prices(rows: Iterator[list[str]], endpoint: str, region: str) -> _Read:
    prices: _Prices = defaultdict(dict)
    sizes: _Sizes = {}
    doubts: list[Text] = []
    currencies: set[str] = set()
    is_cut = SourceError("its list is cut off, or has another form", where=endpoint, fix="Try again later")
    try:
        columns = next(
            (cells for cells in rows if cells and cells[0] == "SKU"), None
        )  # after five lines about the file
        if columns is None:
            raise is_cut
        for cells in rows:
            if len(cells) != len(columns):
                raise is_cut
            row = dict(zip(columns, cells, strict=True))
            currencies.add(row["Currency"])
            if _TENANCY.get(row["Product Family"]) != row["Tenancy"]:
                continue
            if any(row[name] != value for name, value in _OF_A_PLAIN_MACHINE.items()):
                continue
            machine_type, usd = row["Instance Type"], float(row["PricePerUnit"])
            if not 0 < usd < 1e5 or not machine_type or "," in machine_type:
                continue
            if prices[machine_type].setdefault("on-demand", usd) != usd:
                doubts.append(
                    Text(
                        f"{machine_type}, on-demand, {region}: {usd:g} and {prices[machine_type]['on-demand']:g}; left out"
                    )
                )
            gib = float(row["Memory"].removesuffix(" GiB").replace(",", "")) if row["Memory"].endswith(" GiB") else 0.0
            gpus = row["GPU"] if row["GPU"].isdigit() else "0"  # empty or NA where there is none
            sizes[machine_type] = (float(row["vCPU"] or 0), gib, float(gpus))
    except (csv.Error, ValueError, KeyError) as error:
        raise is_cut from error
    if not prices:
        _check_currency(currencies, endpoint)
    unclear = {str(doubt).partition(",")[0] for doubt in doubts}
    return {name: ways for name, ways in prices.items() if ways and name not in unclear}, sizes, doubts


# ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _session() -> requests.Session:
    session = requests.Session()
    again = Retry(
        total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504), raise_on_status=False,
        respect_retry_after_header=False,  # a server may name a day
    )  # fmt: skip
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(max_retries=again))
    return session


def _read_again(read: Callable[[], _T]) -> _T:
    """What `read` gives; again where the connection broke within an answer, which urllib3's `Retry` doesn't see: it ends with the head."""
    for _ in range(2):
        try:
            return read()
        except requests.exceptions.ChunkedEncodingError:
            continue
    return read()


def _check_currency(currencies: set[str], endpoint: str) -> None:
    """A list of another currency's prices is told at once: none of them is taken."""
    if currencies and "USD" not in currencies:
        what = f"its prices are in {', '.join(sorted(currencies))}, and US dollars are needed"
        raise SourceError(what, where=endpoint, fix="Nothing was written; ask the cloud itself, without --endpoint")


def _json(session: requests.Session, address: str, endpoint: str, query: dict[str, str] | None) -> Any:
    def read() -> bytes:
        with session.get(address, params=query, stream=True, timeout=(_CONNECT_SECONDS, _READ_SECONDS)) as answer:
            _refused(answer, endpoint)
            buffer = bytearray()
            for piece in answer.iter_content(2**16):
                buffer += piece
                if len(buffer) > LIMITS.price_page_bytes:
                    raise SourceError("its page has no end", where=endpoint, fix="Try again later")
            return bytes(buffer)

    json_bytes = _read_again(read)
    try:
        return json.loads(json_bytes)
    except (ValueError, RecursionError) as error:
        raise SourceError("its answer is cut off or not JSON", where=endpoint, fix="Try again") from error


def _refused(answer: requests.Response, endpoint: str) -> None:
    if answer.status_code != requests.codes.ok:
        raise SourceError(f"it answered {answer.status_code}", where=endpoint, fix="Try again in a few minutes")


_ENDPOINTS: Final = {"azure": AZURE, "aws": AWS}
_READERS: Final[dict[str, Callable[[requests.Session, str, str], _Read]]] = {"azure": _azure, "aws": _aws}
