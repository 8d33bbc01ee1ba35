"""The price of one machine an hour: looked up, or summed from unit prices, or "no price" with the reason.

In order: the user's own price; unit prices newer than the book's row (a refresh); the row of the book; unit prices of
the family, for predefined types without a row and for custom types.

Sources: data/prices/README.md (2026-07-16) for prices and their cautions; Compute Engine's pages on machine families
for the shapes; reference notes on the Billing Catalog for how SKUs add up to a machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from planner.ground.data_files import table_beside
from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import Text, count, unit_price
from planner.kubernetes.clouds import CLOUDS
from planner.pricing.price_book import (
    LOCAL_SSD,
    Component,
    MachinePrice,
    PartKind,
    Price,
    PriceBook,
    PricePart,
    PriceReason,
    Provisioning,
    UnitPrice,
)
from planner.pricing.sustained_use import SUSTAINED_USE_DISCOUNT

OF_POOL: Final = "pool:"
"""Begins the name of what stands for a machine type in one's own prices: any node of that pool, whatever its labels say."""

ANYWHERE: Final = "any"  # the region of such a row

_TOLD: Final = json.loads(table_beside(__name__, "machines.json"))
GIB_PER_VCPU: Final[dict[str, dict[str, float]]] = _TOLD["gib_per_vcpu"]
"""Family → of its predefined types; the unit prices were fitted on all types of a family, so they hold for each of them. C2, C2D, C4A,
T2D and T2A aren't in the snapshot: a refresh brings their unit prices."""
SHARED_CORES: Final[dict[str, tuple[float, float]]] = {
    name: (cpus, gib) for name, (cpus, gib) in _TOLD["shared_cores"].items()
}
"""Shared-core type → vCPUs as billed (its node shows 2), and GiB."""
CAUTIONS: Final[list[tuple[str, str, str]]] = _TOLD["cautions"]
"""What a type's name begins with, region ("": any), and the caution of data/prices/README.md ("What to know before using it")."""

# Custom types have SKUs of their own, "about +5%" over the predefined ones (prices/README.md, 2026-07-16).
CUSTOM_PREMIUM: Final = 1.05
# GiB per vCPU above which memory of a custom type is extended memory (Compute Engine, "custom machine types").
EXTENDED_ABOVE_GIB_PER_VCPU: Final = {"n1": 6.5, "n2": 8.0, "n2d": 8.0, "n4": 8.0}

# Families the catalog keeps apart from the one in the type's name. A4's GPU slice includes the host.
HOST_PRODUCT: Final = {"a3-megagpu": "a3plus", "a3-ultragpu": "a3ultra", "a4-highgpu": ""}
# "A4, A3 Ultra and a3-highgpu-1g/2g/4g are not sold on demand" (prices/README.md, 2026-07-16).
NOT_SOLD_ON_DEMAND: Final = re.compile(r"a4-|a3-ultragpu-|a3-highgpu-[124]g\Z")

_PREDEFINED: Final = re.compile(r"([a-z]\d[a-z]?)-(standard|highmem|highcpu)-(\d{1,3})\Z")
_CUSTOM: Final = re.compile(r"(?:(n1|n2|n2d|n4|e2)-)?custom-(?:(micro|small|medium)-|(\d{1,3})-)(\d{3,7})(-ext)?\Z")


class CustomType(Record):
    """A custom machine type taken apart. `vcpus` as billed."""

    family: str
    vcpus: float
    memory_gib: float
    extended_gib: float  # of `memory_gib`, what is billed as extended memory


def parse_custom_type(machine_type: str) -> CustomType | None:
    """``custom-8-32768`` (N1), ``n2-custom-8-98304-ext``, ``e2-custom-medium-4096``; None for every other name.

    Memory is written in MiB. Source: Compute Engine, "Create a VM with a custom machine type".
    """
    match = _CUSTOM.match(machine_type)
    if match is None:
        return None
    family, shared, vcpus, mib, extended = match.groups()
    family = family or "n1"
    if shared and family != "e2":
        return None
    count = SHARED_CORES[f"e2-{shared}"][0] if shared else float(vcpus)
    memory = int(mib) / 1024
    limit = EXTENDED_ABOVE_GIB_PER_VCPU.get(family, 8.0) * count
    return CustomType(
        family=family, vcpus=count, memory_gib=memory, extended_gib=max(0.0, memory - limit) if extended else 0.0
    )


def host_product(machine_type: str) -> str:
    """The catalog's family of a type's vCPUs and memory; "" where no SKU prices the host apart."""
    series = "-".join(machine_type.split("-")[:2])
    return HOST_PRODUCT.get(series, machine_type.split("-", 1)[0])


def price_machine(
    book: PriceBook,
    machine_type: str,
    region_id: str,
    provisioning: Provisioning = Provisioning.ON_DEMAND,
    *,
    gpu: str = "",
    gpu_count: float = 0,
    local_ssd_gib: float = 0,
) -> Price:
    """The price of a machine with what is attached to it.

    Parameters
    ----------
    machine_type, region_id : str
        ``n1-standard-8``, ``asia-northeast3``.
    gpu, gpu_count :
        GPUs attached to an N1 machine, by the book's word (``T4``) or GKE's label (``nvidia-tesla-t4``). Families with
        GPUs built in (A2, A3, G2, …) need neither, and both are ignored for them.
    local_ssd_gib :
        Local SSD attached on top of what the type bundles.

    Returns
    -------
    Price
        `usd_per_hour` None, with the reason and a sentence, where any part has no price.
    """
    return _price(book, machine_type, region_id, provisioning, gpu, gpu_count, local_ssd_gib)


@lru_cache(maxsize=16_384)  # a cluster's thousands of nodes are a few kinds of machine
def _price(
    book: PriceBook,
    machine_type: str,
    region_id: str,
    provisioning: Provisioning,
    gpu: str,
    gpu_count: float,
    local_ssd_gib: float,
) -> Price:
    ask = _Question(book, machine_type, region_id, provisioning)
    try:
        sums = [ask.host()]
        if gpu_count and not sums[0].gpu_count and not ask.takes_gpus_on_trust:
            sums.append(ask.attached_gpus(gpu, gpu_count))
        if local_ssd_gib:
            sums.append(ask.attached_local_ssd(local_ssd_gib))
    except _MissingPrice as refused:
        return ask.refuse(refused)
    return ask.answer(sums)


def gpu_hour_price(
    book: PriceBook, gpu: str, region_id: str, provisioning: Provisioning = Provisioning.ON_DEMAND
) -> Price:
    """The price of one GPU for an hour, without the machine it sits in.

    `gpu` is the book's word or GKE's label. For GPUs that come only with their machine (A100, L4, …) this is the GPU's
    own SKU, a part of the machine's price.
    """
    ask = _Question(book, "", region_id, provisioning)
    try:
        return ask.answer([ask.attached_gpus(gpu, 1, anywhere=True)])
    except _MissingPrice as refused:
        return ask.refuse(refused)


def no_price(machine_type: str, region_id: str, provisioning: Provisioning, reason: PriceReason, why: str) -> Price:
    """That a machine has no price, and why."""
    return Price(
        machine_type=machine_type,
        region_id=region_id,
        provisioning=provisioning,
        usd_per_hour=None,
        reason=reason,
        sentence=Text(f"no price: {why}"),
    )


class _MissingPrice(Exception):
    """There is no price, and why."""

    def __init__(self, reason: PriceReason, why: str, fix: str = "") -> None:
        super().__init__(why)
        self.reason, self.why, self.fix = reason, why, fix


_COMPONENTS_OF: Final = {
    PartKind.MACHINE: {Component.CORE, Component.RAM},
    PartKind.GPU: {Component.GPU},
    PartKind.LOCAL_SSD: {Component.LOCAL_SSD},
}


class _Sum(Record):
    """Parts of a price and what has to be said about them."""

    parts: tuple[PricePart, ...]
    as_of: str
    source: str
    notes: tuple[str, ...] = ()
    is_estimate: bool = False
    gpu_model: str = ""
    gpu_count: float = 0.0

    @classmethod
    def of(
        cls, units: list[UnitPrice], parts: Iterable[PricePart], *, gpu_model: str = "", gpu_count: float = 0
    ) -> _Sum:
        """Parts made from unit prices: as old as the oldest of them, with the notes of all."""
        own = {unit.key.component for unit in units if unit.is_own}
        return cls(
            parts=tuple(replace(part, is_own=bool(own & _COMPONENTS_OF[part.kind])) for part in parts),
            as_of=min(unit.as_of for unit in units),
            source="; ".join(dict.fromkeys(unit.source for unit in units)),
            notes=tuple(dict.fromkeys(unit.note for unit in units if unit.note)),
            gpu_model=gpu_model,
            gpu_count=gpu_count,
        )


_REFRESH: Final = 'Read today\'s prices with "headroom costs --price-list refresh", or give your own as a CSV'
OWN_BILL: Final = '"headroom costs CLUSTER --actual BILL --write-prices OWN.csv"'
_OF_LIST: Final = (
    'Give your own as a CSV, or read them with "headroom costs --price-list refresh --cloud {cloud} --region {region}"'
)
_OF_BILL: Final = (
    f"{{seller}}'s public list has none: take your own from your bill with {OWN_BILL}, or give them as a CSV"
)


class _Question:
    """One look into the book; its methods give a `_Sum`, or raise a `_MissingPrice` that says what is missing."""

    def __init__(self, book: PriceBook, machine_type: str, region_id: str, provisioning: Provisioning) -> None:
        self.book = book
        self.machine_type = machine_type
        self.region_id = region_id
        self.provisioning = provisioning
        self.column = provisioning.priced_as
        self.row = book.machine(machine_type, region_id)
        self.own = book.own_machines.get(f"{machine_type} {region_id}")

    @property
    def _fix(self) -> str:
        seller = next(
            (price_list.seller for price_list in self.book.lists if price_list.regions_of(self.machine_type)), ""
        )
        cloud = next((cloud_row for cloud_row in CLOUDS if cloud_row.seller == seller and cloud_row.prices), None)
        if cloud is None:
            return _REFRESH
        if self.column is not Provisioning.ON_DEMAND and not (self.column is Provisioning.SPOT and cloud.lists_spot):
            return _OF_BILL.format(seller=seller)
        return _OF_LIST.format(cloud=cloud.prices, region=self.region_id)

    @property
    def takes_gpus_on_trust(self) -> bool:
        """Whether the price is the user's own for a type other than N1, or of another cloud's list: GPUs are in it."""
        if self.own is not None and not self._is_n1 and self.column in self.own.total_usd_per_hour:
            return True
        return self.row is not None and f"{self.machine_type} {self.region_id}" not in self.book.machines

    @property
    def _is_n1(self) -> bool:
        return self.machine_type.startswith(("n1-", "custom-"))

    # ── the machine itself ───────────────────────────────────────────────────────────────────────────────────────────
    def host(self) -> _Sum:
        row = self.row
        if self.own is not None and self.column in self.own.total_usd_per_hour:
            return self._from_row(self.own, is_own=True)
        if self.provisioning.is_reserved:
            why = f"{self.machine_type} is bought as {self.provisioning}, which isn't paid at the list price on demand"
            column = f"total_{self.provisioning.replace('-', '_')}"
            raise _MissingPrice(PriceReason.RESERVED, why, f"Give its price as a CSV of your own, column {column}")
        if row is not None:
            refreshed = self._from_units(row)
            if refreshed is not None:
                return refreshed
            if self.column in row.total_usd_per_hour:
                return self._from_row(row)
            if self.column is Provisioning.FLEX_START:
                estimate = self._flex_start_estimate(row)
                if estimate is not None:
                    return estimate
            raise self._no_provisioning_price()
        custom = parse_custom_type(self.machine_type)
        if custom is not None:
            return self._custom(custom)
        shape = predefined_shape(self.machine_type)
        if shape is not None:
            unit_row = MachinePrice(
                machine_type=self.machine_type, region_id=self.region_id, vcpus=shape[0], memory_gib=shape[1]
            )
            unit_sum = self._from_units(unit_row)
            if unit_sum is not None:
                note = f"from unit prices: whether {self.region_id} offers {self.machine_type} isn't in the book"
                return replace(unit_sum, notes=(*unit_sum.notes, note))
            if self.book.unit(Component.CORE, host_product(self.machine_type), self.region_id, Provisioning.ON_DEMAND):
                raise self._no_provisioning_price()
        raise self._unknown_type()

    def _from_row(self, row: MachinePrice, *, is_own: bool = False) -> _Sum:
        total = row.total_usd_per_hour[self.column]
        host = row.host_usd_per_hour.get(self.column)
        each = row.gpu_each_usd_per_hour.get(self.column)
        ssd = row.local_ssd_usd_per_hour.get(self.column) or 0.0
        if row.gpu_count and each:
            # What is left of the published total: the row's own host figure is rounded to five decimals.
            host_remainder = None if host == 0 else total - row.gpu_count * each - ssd
            parts = _parts(row, host_remainder, each, ssd / row.local_ssd_gib if ssd else None)
        else:
            includes = f" with {row.gpu_count:g} × {row.gpu_model}" if row.gpu_count else ""
            parts = [_part(PartKind.MACHINE, row.machine_type + includes, total)]
        since = row.newer_as_of.get(self.column)
        moved = (f"{self.column} price since {since}, from the log of price changes",) if since else ()
        return _Sum(
            parts=tuple(replace(part, is_own=is_own) for part in parts),
            as_of=since or row.as_of,
            source=row.source,
            notes=(*moved, *row.notes),
            gpu_model=row.gpu_model,
            gpu_count=row.gpu_count,
        )

    def _from_units(self, row: MachinePrice) -> _Sum | None:
        """The machine as the sum of its SKUs, if every part has a unit price and one of them is newer than the row."""
        product = host_product(self.machine_type)
        unit_keys: list[tuple[Component, str, float]] = []
        if product:
            unit_keys += [(Component.CORE, product, row.vcpus), (Component.RAM, product, row.memory_gib)]
        if row.gpu_count:
            unit_keys.append((Component.GPU, row.gpu_model, row.gpu_count))
        if (
            row.local_ssd_gib and product
        ):  # an A4's price may hold its disks already (`product`): counting them could count them twice
            unit_keys.append((Component.LOCAL_SSD, LOCAL_SSD, row.local_ssd_gib))
        units = [self._unit(component, name) for component, name, _ in unit_keys]
        prices = [unit for unit in units if unit is not None]
        if not row.vcpus or not prices or len(prices) < len(unit_keys):
            return None
        if row.as_of and not any(unit.is_own or unit.as_of > row.as_of for unit in prices):
            return None
        rates = {component: unit.list_unit_price for (component, _, _), unit in zip(unit_keys, prices, strict=True)}
        host = row.vcpus * rates[Component.CORE] + row.memory_gib * rates[Component.RAM] if product else None
        ssd = rates.get(Component.LOCAL_SSD)
        parts = _parts(row, host, rates.get(Component.GPU), None if ssd is None else ssd / HOURS_PER_MONTH)
        return _Sum.of(prices, parts, gpu_model=row.gpu_model, gpu_count=row.gpu_count)

    def _flex_start_estimate(self, row: MachinePrice) -> _Sum | None:
        """GPUs at their Flex-start price, vCPUs and memory cut by the same ratio, local SSD at its on-demand price.

        Checked where a published total is known: a2-highgpu-1g in us-central1 comes to 2.020 an hour, as in a public
        note of 2026-08-02 (reference, section 0).
        """
        flex = self._unit(Component.GPU, row.gpu_model) if row.gpu_count else None
        each = row.gpu_each_usd_per_hour.get(Provisioning.ON_DEMAND)
        host = row.host_usd_per_hour.get(Provisioning.ON_DEMAND)
        if flex is None or not each or host is None:
            return None
        ratio = flex.list_unit_price / each
        ssd = row.local_ssd_usd_per_hour.get(Provisioning.ON_DEMAND) if row.local_ssd_gib else None
        gib_hour = ssd / row.local_ssd_gib if ssd else None
        rule = (
            f"Flex-start price of the GPU, vCPUs and memory at the same {ratio:.0%} of on demand"
            f"{', local SSD at its on-demand price' if row.local_ssd_gib else ''}: an estimate"
        )
        return _Sum(
            parts=tuple(_parts(row, host * ratio, flex.list_unit_price, gib_hour)),
            as_of=min(flex.as_of, row.as_of),
            source=flex.source,
            notes=(rule, *([flex.note] if flex.note else []), *row.notes),
            is_estimate=True,
            gpu_model=row.gpu_model,
            gpu_count=row.gpu_count,
        )

    def _custom(self, custom: CustomType) -> _Sum:
        family, is_estimate = f"{custom.family}-custom", False
        core, ram = self._unit(Component.CORE, family), self._unit(Component.RAM, family)
        if core is None or ram is None:
            core, ram = self._unit(Component.CORE, custom.family), self._unit(Component.RAM, custom.family)
            is_estimate = True
        if core is None or ram is None:
            if self.book.unit(Component.CORE, custom.family, self.region_id, Provisioning.ON_DEMAND) is not None:
                raise self._no_provisioning_price()
            raise self._unknown_type()
        units = [core, ram]
        plain_gib = custom.memory_gib - custom.extended_gib
        usd = custom.vcpus * core.list_unit_price + plain_gib * ram.list_unit_price
        if is_estimate:
            usd *= CUSTOM_PREMIUM
        if custom.extended_gib:
            extended = self._unit(Component.RAM, f"{custom.family}-custom-ext")
            if extended is None:
                raise _MissingPrice(
                    PriceReason.EXTENDED_MEMORY,
                    f"{custom.extended_gib:g} GiB of {self.machine_type} are extended memory, which has a price of its "
                    f"own that the book doesn't hold",
                    _REFRESH,
                )
            units.append(extended)
            usd += custom.extended_gib * extended.list_unit_price
        custom_sum = _Sum.of(units, [_part(PartKind.MACHINE, self.machine_type, usd)])
        if not is_estimate:
            return custom_sum
        rule = "unit prices of the predefined types plus 5%, as custom types are billed: an estimate"
        return replace(custom_sum, notes=(rule, *custom_sum.notes), is_estimate=True)

    # ── what is attached ─────────────────────────────────────────────────────────────────────────────────────────────
    def attached_gpus(self, gpu: str, count: float, *, anywhere: bool = False) -> _Sum:
        gpu_model = self.book.gpu_model(gpu)
        if gpu_model is None:
            raise _MissingPrice(
                PriceReason.UNKNOWN_GPU,
                f'the book has no GPU called "{gpu}"' if gpu else "the node doesn't say which GPUs it has",
                f"It has {', '.join(sorted(self.book.gpu_models))}" if gpu else "",
            )
        if not anywhere and not self._is_n1:
            raise _MissingPrice(
                PriceReason.UNKNOWN_GPU,
                f"{self.machine_type} has no built-in GPU and GPUs can be attached to N1 machines only",
            )
        unit = self._attached(Component.GPU, gpu_model.model, PriceReason.NO_GPU_PRICE, f"a {gpu_model.model}")
        part = _part(PartKind.GPU, gpu_model.model, unit.list_unit_price, count)
        return _Sum.of([unit], [part], gpu_model=gpu_model.model, gpu_count=count)

    def attached_local_ssd(self, gib: float) -> _Sum:
        unit = self._attached(Component.LOCAL_SSD, LOCAL_SSD, PriceReason.NO_LOCAL_SSD_PRICE, "local SSD")
        return _Sum.of([unit], [_part(PartKind.LOCAL_SSD, "local SSD", unit.list_unit_price / HOURS_PER_MONTH, gib)])

    def _attached(self, component: Component, product: str, reason: PriceReason, what: str) -> UnitPrice:
        unit = self._unit(component, product)
        if unit is None:
            why = f"the {self.provisioning} price of {what} in {self.region_id} isn't in the book"
            raise _MissingPrice(reason, why, _REFRESH)
        return unit

    # ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def answer(self, sums: list[_Sum]) -> Price:
        category = self.provisioning.pricing_category
        parts = tuple(
            part
            if part.is_own
            else replace(part, contracted_unit_price=self.book.contracted(part.list_unit_price, category))
            for part_sum in sums
            for part in part_sum.parts
        )
        usd = sum(part.usd_per_hour for part in parts)
        sustained = usd - sum(self._sustained_use_usd(part) for part in parts)
        is_sold, notes = self._sold(sums)
        if sustained < usd:
            notes = (*notes, f"up to {1 - sustained / usd:.0%} less when it runs all month (sustained-use discount)")
        gpu = next((part_sum for part_sum in sums if part_sum.gpu_count), None)
        price = Price(
            machine_type=self.machine_type,
            region_id=self.region_id,
            provisioning=self.provisioning,
            usd_per_hour=usd,
            list_usd_per_hour=sum(part.list_usd_per_hour for part in parts),
            sustained_use_usd_per_hour=sustained,
            reason=PriceReason.NONE,
            sentence=Text(),
            parts=parts,
            gpu_model=gpu.gpu_model if gpu else "",
            gpu_count=gpu.gpu_count if gpu else 0.0,
            notes=notes,
            is_estimate=any(part_sum.is_estimate for part_sum in sums),
            is_sold=is_sold,
            as_of=min(part_sum.as_of for part_sum in sums),
            source="; ".join(dict.fromkeys(part_sum.source for part_sum in sums)),
        )
        return replace(price, sentence=Text(_sentence(price)))

    def _sustained_use_usd(self, part: PricePart) -> float:
        """What a full month's sustained use takes off a part, USD per hour. GPUs attached to N1 count as N1 does."""
        if self.provisioning is not Provisioning.ON_DEMAND or part.is_own or part.kind is PartKind.LOCAL_SSD:
            return 0.0
        family = "n1" if self._is_n1 else self.machine_type.split("-", 1)[0]
        return part.usd_per_hour * SUSTAINED_USE_DISCOUNT.get(family, 0.0)

    def _sold(self, sums: list[_Sum]) -> tuple[bool, tuple[str, ...]]:
        notes = list(dict.fromkeys(note for part_sum in sums for note in part_sum.notes))
        is_sold = True
        if self.row is not None and not self.row.is_offered and self.own is None:
            is_sold = False
            notes.append(f"{self.region_id} did not offer {self.machine_type} on {self.row.as_of}: a sum of SKU prices")
        is_reference = self.provisioning is Provisioning.ON_DEMAND and NOT_SOLD_ON_DEMAND.match(self.machine_type)
        if is_reference and self.own is None:
            is_sold = False
            notes.append(f"{self.machine_type} is not sold on demand: a price to compare with, not one to buy at")
        return is_sold, tuple(notes)

    def refuse(self, refused: _MissingPrice) -> Price:
        why = f"{refused.why}. {refused.fix}" if refused.fix else refused.why
        return no_price(self.machine_type, self.region_id, self.provisioning, refused.reason, why)

    def _no_provisioning_price(self) -> _MissingPrice:
        return _MissingPrice(
            PriceReason.NO_PROVISIONING_PRICE,
            f"the {self.provisioning} price of {self.machine_type} in {self.region_id} isn't in the book",
            self._fix,
        )

    def _unknown_type(self) -> _MissingPrice:
        elsewhere = self.book.places(self.machine_type)
        if elsewhere:
            others = count(len(elsewhere), "other region")
            return _MissingPrice(
                PriceReason.NOT_IN_REGION,
                f"{self.machine_type} isn't in the book for {self.region_id}, but for {others}",
                self._fix,
            )
        return _MissingPrice(
            PriceReason.UNKNOWN_MACHINE_TYPE,
            f'the book has no machine type "{self.machine_type}"',
            "Give its price as a CSV of your own",
        )

    def _unit(self, component: Component, product: str) -> UnitPrice | None:
        return self.book.unit(component, product, self.region_id, self.column)


def predefined_shape(machine_type: str) -> tuple[float, float] | None:
    """(vCPUs, GiB) of a predefined type as billed, from its name; None where the name doesn't tell."""
    if machine_type in SHARED_CORES:
        return SHARED_CORES[machine_type]
    match = _PREDEFINED.match(machine_type)
    gib = GIB_PER_VCPU.get(match[1], {}).get(match[2]) if match is not None else None
    return None if match is None or gib is None else (float(match[3]), float(match[3]) * gib)


_COUNTED: Final = {PartKind.MACHINE: "machine-hour", PartKind.GPU: "GPU-hour", PartKind.LOCAL_SSD: "GiB-hour"}


def _part(kind: PartKind, name: str, each: float, quantity: float = 1) -> PricePart:
    return PricePart(
        kind=kind,
        name=name,
        quantity=quantity,
        pricing_unit=_COUNTED[kind],
        list_unit_price=each,
        contracted_unit_price=each,
    )


def _parts(row: MachinePrice, host: float | None, gpu_each: float | None, disk_gib: float | None) -> list[PricePart]:
    """vCPUs and memory, GPUs, and local SSD of a type: those that have a price (USD an hour) of their own."""
    parts = [] if host is None else [_part(PartKind.MACHINE, row.machine_type, host)]
    parts += [] if gpu_each is None else [_part(PartKind.GPU, row.gpu_model, gpu_each, row.gpu_count)]
    return parts + ([] if disk_gib is None else [_part(PartKind.LOCAL_SSD, "local SSD", disk_gib, row.local_ssd_gib)])


def _sentence(price: Price) -> str:
    """``n1-standard-8 with 1 × T4, on-demand, asia-northeast3: $0.8575 an hour (machine $0.4875, GPU $0.3700)``."""
    gpus = f"{price.gpu_count:g} × {price.gpu_model}" if price.gpu_count else ""
    machine_text = " with ".join(word for word in (price.machine_type, gpus) if word)
    words = {PartKind.MACHINE: "machine", PartKind.GPU: "GPU", PartKind.LOCAL_SSD: "local SSD"}
    parts = [f"{words[part.kind]} {unit_price(part.list_usd_per_hour)}" for part in price.parts]
    shown = f" ({', '.join(parts)})" if len(parts) > 1 else ""
    less = ""
    if price.list_usd_per_hour and price.usd_per_hour is not None and price.usd_per_hour < price.list_usd_per_hour:
        less = f", {1 - price.usd_per_hour / price.list_usd_per_hour:.1%} off the list price"
    assert price.usd_per_hour is not None
    about = "about " if price.is_estimate else ""
    return f"{machine_text}, {price.provisioning}, {price.region_id}: {about}{unit_price(price.usd_per_hour)} an hour{shown}{less}"
