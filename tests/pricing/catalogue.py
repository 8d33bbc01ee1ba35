"""A Billing Catalog for the tests: SKUs in the REST wire format, made after the records of the real one.

Descriptions, units, groups and usage types are those of the reference notes on prices (sections 1 and 2); the prices are
the embedded book's, so that a refresh against it changes nothing unless a test wants it to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from zlib import crc32

from planner.pricing.gcp_skus import Sku, TieredRate
from planner.pricing.price_book import Component, PriceBook, Provisioning

GROUPS = {Component.CORE: "CPU", Component.RAM: "RAM", Component.GPU: "GPU", Component.LOCAL_SSD: "LocalSSD"}
UNITS = {Component.CORE: "h", Component.RAM: "GiBy.h", Component.GPU: "h", Component.LOCAL_SSD: "GiBy.mo"}
GPU_WORDS = {
    "T4": "Nvidia Tesla T4 GPU",
    "P4": "Nvidia Tesla P4 GPU",
    "P100": "Nvidia Tesla P100 GPU",
    "V100": "Nvidia Tesla V100 GPU",
    "A100": "Nvidia Tesla A100 GPU",
    "A100-80GB": "Nvidia Tesla A100 80GB GPU",
    "L4": "Nvidia L4 GPU",
    "H100": "Nvidia H100 80GB GPU",
    "H100-MEGA": "Nvidia H100 80GB Mega GPU",
    "H200": "H200 141GB GPU",
    "RTX-PRO-6000": "RTX 6000 96GB",
}
FAMILY_WORDS = {"n1": "N1 Predefined", "n2d": "N2D AMD", "c3d": "C3D AMD"}


def wire_sku(
    description: str,
    usd: float,
    *,
    usage: str = "OnDemand",
    group: str = "CPU",
    family: str = "Compute",
    unit: str = "h",
    regions: Iterable[str] = ("us-central1",),
    currency: str = "USD",
    sku_id: str = "",
    rates: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """One SKU as the REST API writes it: `units` a string, zero fields left out, one entry on the timeline."""
    billionths = round(usd * 1_000_000_000)
    price: dict[str, Any] = {"currencyCode": currency}
    if billionths >= 1_000_000_000:
        price["units"] = str(billionths // 1_000_000_000)
    if billionths % 1_000_000_000:
        price["nanos"] = billionths % 1_000_000_000
    sku_id = sku_id or f"{crc32(f'{description} {usage} {regions} {usd}'.encode()):08X}"
    regions = list(regions)
    return {
        "name": f"services/6F81-5844-456A/skus/{sku_id}",
        "skuId": sku_id,
        "description": description,
        "category": {
            "serviceDisplayName": "Compute Engine",
            "resourceFamily": family,
            "resourceGroup": group,
            "usageType": usage,
        },
        "serviceRegions": regions,
        "pricingInfo": [
            {
                "summary": "",
                "pricingExpression": {
                    "usageUnit": unit,
                    "displayQuantity": 1,
                    "tieredRates": rates if rates is not None else [{"startUsageAmount": 0, "unitPrice": price}],
                    "usageUnitDescription": "hour",
                    "baseUnit": "s",
                    "baseUnitConversionFactor": 3600,
                },
                "currencyConversionRate": 1,
                "effectiveTime": "2026-11-20T08:00:00.000Z",
            }
        ],
        "serviceProviderName": "Google",
        "geoTaxonomy": {"type": "REGIONAL", "regions": regions},
    }


def as_sku(wire: dict[str, Any]) -> Sku:
    """The record the pure mapping reads, as `planner.sources.gcp_billing` makes it."""
    expression = wire["pricingInfo"][-1]["pricingExpression"]
    return Sku(
        sku_id=wire["skuId"],
        description=wire["description"],
        resource_family=wire["category"]["resourceFamily"],
        resource_group=wire["category"]["resourceGroup"],
        usage_type=wire["category"]["usageType"],
        service_regions=tuple(wire["serviceRegions"]),
        usage_unit=expression["usageUnit"],
        rates=tuple(
            TieredRate(
                start_usage_amount=rate["startUsageAmount"],
                currency_code=rate["unitPrice"]["currencyCode"],
                units=int(rate["unitPrice"].get("units", 0)),
                nanos=rate["unitPrice"].get("nanos", 0),
            )
            for rate in expression["tieredRates"]
        ),
    )


def catalogue_of(book: PriceBook) -> list[dict[str, Any]]:
    """A catalogue that says what the book says; SKUs of one price and product are one, in several regions."""
    regions: dict[tuple[str, float, str, str, str], list[str]] = defaultdict(list)
    for unit in book.units.values():
        key = unit.key
        words, usage = _words(key.component, key.product, key.provisioning)
        regions[words, unit.list_unit_price, usage, GROUPS[key.component], UNITS[key.component]].append(key.region_id)
    return [
        wire_sku(
            words.format(place="Americas" if len(found) > 1 else found[0]),
            price,
            usage=usage,
            group="N1Standard" if "N1 Predefined" in words else group,
            family="Storage" if group == "LocalSSD" else "Compute",
            unit=unit,
            regions=sorted(found),
            sku_id=f"{at:04X}-0000-0000",
        )
        for at, ((words, price, usage, group, unit), found) in enumerate(sorted(regions.items()))
    ]


_YEARS = {Provisioning.COMMITMENT_1Y: "1 Year", Provisioning.COMMITMENT_3Y: "3 Years"}
_USAGE = {Provisioning.COMMITMENT_1Y: "Commit1Yr", Provisioning.COMMITMENT_3Y: "Commit3Yr"}


def _words(component: Component, product: str, bought: Provisioning) -> tuple[str, str]:
    spot = bought is Provisioning.SPOT
    usage = "Preemptible" if spot else "OnDemand"
    if bought in _YEARS:
        return f"Commitment v1: {GPU_WORDS[product]} running in {{place}} for {_YEARS[bought]}", _USAGE[bought]
    if component is Component.LOCAL_SSD:
        return f"SSD backed Local Storage{' attached to Spot Preemptible VMs' if spot else ''} in {{place}}", usage
    if component is Component.GPU:
        if product == "B200":
            return f"{'Spot Preemptible ' if spot else ''}A4 Nvidia B200 (1 gpu slice) running in {{place}}", "OnDemand"
        mode = {Provisioning.SPOT: "Spot Preemptible", Provisioning.FLEX_START: "DWS Defined Duration"}.get(bought)
        attached = f" attached to {mode} VMs" if mode else ""
        return f"{GPU_WORDS[product]}{attached} running in {{place}}", usage
    family = FAMILY_WORDS.get(product, product.upper())
    part = "Core" if component is Component.CORE else "Ram"
    return f"{'Spot Preemptible ' if spot else ''}{family} Instance {part} running in {{place}}", usage
