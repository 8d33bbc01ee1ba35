"""Reads SKUs of the Cloud Billing Catalog as unit prices: what each prices, or why it is skipped.

The catalog has no SKU for a machine type, and no field that says what a SKU is: only its description does. A
description is matched as a whole, from its start to `` running in`` or `` attached to``; anything else, such as looking
for a GPU's name inside it, has cost others wrong numbers. The place named in it is ignored: `service_regions` says
where a SKU holds ("Americas" is three regions, and some regions go by two names).

Source: reference notes on prices, sections 1 and 2 (autumn 2026), with the records and traps listed there; custom types
and commitments of N1 by their descriptions as they stand in public price tools.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Final

from planner.ground.data_files import table_beside
from planner.ground.records import Record
from planner.pricing.price_book import LOCAL_SSD, Component, Provisioning, UnitKey, UnitPrice


class TieredRate(Record):
    """`units` whole dollars and `nanos` billionths, from `start_usage_amount` on."""

    start_usage_amount: float
    currency_code: str
    units: int
    nanos: int

    @property
    def unit_price(self) -> float:
        return (self.units * 1_000_000_000 + self.nanos) / 1e9


class Sku(Record):
    """One SKU as the catalogue has it, cut down to what a price needs; `rates` are those in force now."""

    sku_id: str
    description: str
    resource_family: str
    resource_group: str
    usage_type: str
    service_regions: tuple[str, ...]
    usage_unit: str
    rates: tuple[TieredRate, ...]


class Rejection(StrEnum):
    """Why a SKU is not a price of the book."""

    OTHER_RESOURCE = "other_resource"  # network, licences, disks, TPUs, images: not asked for
    OTHER_PRODUCT = "other_product"  # premiums, sole tenancy, reservations, suspended VMs, calendar mode
    UNKNOWN_PRODUCT = "unknown_product"  # a vCPU, memory or GPU SKU with a description that isn't understood
    USAGE_TYPE = "usage_type"  # the usage type contradicts the description
    UNIT = "unit"
    CURRENCY = "currency"
    ZERO = "zero"  # a placeholder
    TIERED = "tiered"  # the price depends on the amount
    NO_REGION = "no_region"


# Words of SKUs that resemble a machine's part and are something else (traps 1 and 7). Flex-start is let through by
# its own two forms; other Dynamic Workload Scheduler SKUs are not.
_NOT_A_MACHINE: Final = re.compile(
    r"calendar mode|reserved|reservation|capacity optimized|sole tenan|premium|suspended|licens|windows|overcommit|"
    r"\bdws\b",
    re.IGNORECASE,
)
_FLEX_PREFIX: Final = re.compile(r"DWS (?:Defined Duration|Flex Start) ")
_FLEX_ATTACHED: Final = re.compile(r" attached to DWS (?:Defined Duration|Flex Start) VMs\b")
_SPOT_PREFIX: Final = re.compile(r"(?:Spot )?Preemptible ")
_SPOT_ATTACHED: Final = re.compile(r" attached to (?:Spot )?Preemptible VMs\b")
_COMMITMENT: Final = re.compile(r"Commitment v1: (.+?) in .+ for ([13]) Years?\Z")
_PLACE: Final = re.compile(r" (?:running )?in .+\Z")

_NAMES: Final[dict[str, dict[str, str]]] = json.loads(table_beside(__name__, "gcp_skus.json"))
"""``gpus``: the GPU as its SKU spells it → the book's word. Exact: "Nvidia Tesla A100" is not "Nvidia Tesla A100 80GB" (trap 3).
``families``: what stands before "Instance" where it isn't the series' own name → the family."""
# "N2 Instance Core", "N2D AMD Instance Ram", "A3Plus Instance Core", "N2 Custom Extended Instance Ram", "A2 Core" …
_HOST: Final = re.compile(r"(?P<family>.+?)(?: Instance)? (?P<part>Core|Cpu|Ram)\Z", re.IGNORECASE)
_SERIES: Final = re.compile(r"([A-Z]\d[A-Z]?)(?: AMD| Arm)?\Z")
_CUSTOM: Final = re.compile(
    r"(?:(?P<series>[A-Z]\d[A-Z]?)(?: AMD)? Custom|Custom (?P<after>[A-Z]\d[A-Z]?))(?P<extended> Extended)?\Z"
)

_UNIT: Final = {
    Component.CORE: "h",
    Component.GPU: "h",
    Component.RAM: "GiBy.h",  # not "h": filtering on that loses all memory (trap 5)
    Component.LOCAL_SSD: "GiBy.mo",
}
# N1's vCPUs and memory share one group: the description tells them apart.
_GROUPS: Final = {"CPU", "RAM", "GPU", "N1Standard", "LocalSSD"}
_USAGE_OF: Final = {"Commit1Yr": Provisioning.COMMITMENT_1Y, "Commit3Yr": Provisioning.COMMITMENT_3Y}


def read_sku(sku: Sku, as_of: str, source: str) -> tuple[UnitPrice, ...] | Rejection:
    """The unit prices a SKU stands for, one a region, or why it stands for none."""
    if sku.resource_group not in _GROUPS or sku.resource_family not in ("Compute", "Storage"):
        return Rejection.OTHER_RESOURCE
    product = read_description(sku.description, sku.usage_type)
    if isinstance(product, Rejection):
        return product
    component, name, provisioning = product
    if sku.usage_unit != _UNIT[component]:
        return Rejection.UNIT
    price = _price(sku.rates)
    if isinstance(price, Rejection):
        return price
    regions = [region for region in sku.service_regions if region != "global"]
    if not regions:
        return Rejection.NO_REGION
    return tuple(
        UnitPrice(
            key=UnitKey(component=component, product=name, region_id=region, provisioning=provisioning),
            list_unit_price=price,
            as_of=as_of,
            source=source,
            sku_id=sku.sku_id,
        )
        for region in regions
    )


def read_description(description: str, usage_type: str) -> tuple[Component, str, Provisioning] | Rejection:
    """What a description prices, and how it is bought: the component, the product and the provisioning.

    The usage type alone can't tell: Flex-start SKUs carry ``OnDemand`` (trap 1), and so do Spot SKUs of some GPUs
    (trap 2). It must not contradict the text, though.
    """
    text = description.strip()
    commitment = _COMMITMENT.match(text)
    if commitment is not None:
        if _NOT_A_MACHINE.search(text):
            return Rejection.OTHER_PRODUCT
        bought = Provisioning.COMMITMENT_1Y if commitment[2] == "1" else Provisioning.COMMITMENT_3Y
        if _USAGE_OF.get(usage_type) is not bought:
            return Rejection.USAGE_TYPE
        return _product(commitment[1].removesuffix(" running"), bought, is_commitment=True)
    if usage_type not in ("OnDemand", "Preemptible"):
        return Rejection.OTHER_PRODUCT
    text, bought = _take_mode(text, usage_type)
    if _NOT_A_MACHINE.search(text) or text.startswith("Commitment"):
        return Rejection.OTHER_PRODUCT
    if bought is Provisioning.FLEX_START and usage_type == "Preemptible":
        return Rejection.USAGE_TYPE
    return _product(_PLACE.sub("", text), bought, is_commitment=False)


def _take_mode(text: str, usage_type: str) -> tuple[str, Provisioning]:
    """The description without the words that say how it is bought, and what they say."""
    for patterns, bought in (
        ((_FLEX_PREFIX, _FLEX_ATTACHED), Provisioning.FLEX_START),
        ((_SPOT_PREFIX, _SPOT_ATTACHED), Provisioning.SPOT),
    ):
        prefix, attached = patterns
        if match := prefix.match(text):
            return text[match.end() :], bought
        if attached.search(text):
            return attached.sub("", text), bought
    return text, Provisioning.SPOT if usage_type == "Preemptible" else Provisioning.ON_DEMAND


def _product(
    name: str, bought: Provisioning, *, is_commitment: bool
) -> tuple[Component, str, Provisioning] | Rejection:
    if name in _NAMES["gpus"]:
        return Component.GPU, _NAMES["gpus"][name], bought
    if name == "SSD backed Local Storage":
        return Component.LOCAL_SSD, LOCAL_SSD, bought
    if is_commitment and name in ("Cpu", "Ram"):  # N1's commitments name no family
        return Component.CORE if name == "Cpu" else Component.RAM, "n1", bought
    host = _HOST.match(name)
    family = _family(host["family"]) if host is not None else ""
    if host is None or not family:
        return Rejection.UNKNOWN_PRODUCT
    return Component.RAM if host["part"].lower() == "ram" else Component.CORE, family, bought


def _family(name: str) -> str:
    """The family of a host SKU's words before "Instance", as the book spells it; "" if they name none."""
    if name in _NAMES["families"]:
        return _NAMES["families"][name]
    custom = _CUSTOM.match(name)
    if custom is not None:
        series = (custom["series"] or custom["after"]).lower()
        return f"{series}-custom-ext" if custom["extended"] else f"{series}-custom"
    series = _SERIES.match(name)
    return series[1].lower() if series is not None else ""


def _price(rates: tuple[TieredRate, ...]) -> float | Rejection:
    """The one price of a SKU. Zero rates are placeholders, or a free tier before the price (trap 4)."""
    if any(rate.currency_code != "USD" for rate in rates):
        return Rejection.CURRENCY
    prices = {rate.unit_price for rate in rates if rate.unit_price > 0}
    if not prices:
        return Rejection.ZERO
    return prices.pop() if len(prices) == 1 else Rejection.TIERED
