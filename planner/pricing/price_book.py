"""The price book: list prices of machines and components, and the answer of a lookup.

Words of FOCUS (FinOps Open Cost and Usage Specification) for money: `list_unit_price` is the public price before any
agreement, a contracted price is the list price less the negotiated discount of its `pricing_category`; `region_id`,
`sku_id`, `billing_currency`. All prices are US dollars per hour unless a name says otherwise, without tax.

Amounts are floats: a price has six or seven significant digits, so that the sum for a cluster of thousands of nodes is
good to far less than a cent a month. Rounding happens once, where a figure is shown.

A price that isn't known is None with a `PriceReason` and a sentence, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Final

from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import Text
from planner.kubernetes.accelerators import model_named
from planner.kubernetes.clouds import model_of_machine
from planner.kubernetes.object_records import EMPTY, FrozenMap
from planner.pricing.cloud_price_lists import PriceList


class Provisioning(StrEnum):
    """How a machine is bought. Preemptible VMs share the SKUs, and so the prices, of Spot VMs."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    PREEMPTIBLE = "preemptible"
    FLEX_START = "flex-start"
    RESERVED = "reserved"  # on a capacity reservation: what that costs, no list of machines says
    CAPACITY_BLOCK = "capacity-block"  # paid ahead for a time (EC2)
    COMMITMENT_1Y = "commitment-1y"
    COMMITMENT_3Y = "commitment-3y"

    @property
    def priced_as(self) -> Provisioning:
        """The column of the book it is read from: preemptible costs what Spot costs."""
        return Provisioning.SPOT if self is Provisioning.PREEMPTIBLE else self

    @property
    def is_reserved(self) -> bool:
        """Whether the account pays a reservation of its own, and not the list price."""
        return self in (Provisioning.RESERVED, Provisioning.CAPACITY_BLOCK)

    @property
    def pricing_category(self) -> PricingCategory:
        return _CATEGORY_OF[self]


class PricingCategory(StrEnum):
    """FOCUS `PricingCategory`."""

    STANDARD = "Standard"
    DYNAMIC = "Dynamic"
    COMMITTED = "Committed"
    OTHER = "Other"


_CATEGORY_OF: Final = {
    Provisioning.ON_DEMAND: PricingCategory.STANDARD,
    Provisioning.SPOT: PricingCategory.DYNAMIC,
    Provisioning.PREEMPTIBLE: PricingCategory.DYNAMIC,
    Provisioning.FLEX_START: PricingCategory.OTHER,
    Provisioning.RESERVED: PricingCategory.OTHER,
    Provisioning.CAPACITY_BLOCK: PricingCategory.OTHER,
    Provisioning.COMMITMENT_1Y: PricingCategory.COMMITTED,
    Provisioning.COMMITMENT_3Y: PricingCategory.COMMITTED,
}


class Component(StrEnum):
    """What a SKU of Compute Engine prices. A machine's price is the sum of its components; no SKU is a machine's."""

    CORE = "core"  # USD per vCPU-hour
    RAM = "ram"  # USD per GiB-hour
    GPU = "gpu"  # USD per GPU-hour
    LOCAL_SSD = "local-ssd"  # USD per GiB-month


LOCAL_SSD: Final = "local-ssd"  # the product of the local SSD's unit prices


class UnitKey(Record):
    """What a unit price is for.

    `product` is the machine family as the catalogue tells families apart (``n1``, ``a3``, ``a3plus``, ``n2-custom``),
    the GPU's model (``T4``), or ``local-ssd``.
    """

    component: Component
    product: str
    region_id: str
    provisioning: Provisioning

    def __str__(self) -> str:
        return f"{self.component} {self.product} {self.region_id} {self.provisioning}"


class UnitPrice(Record):
    key: UnitKey
    list_unit_price: float  # in the component's unit
    as_of: str  # ISO date
    source: str
    sku_id: str = ""
    note: str = ""
    is_own: bool = False  # from the user's own list: no negotiated discount on top


class MachinePrice(Record):
    """One machine type in one region. Maps are Provisioning → USD per hour; what isn't known has no entry.

    `host_usd_per_hour` is vCPUs and memory only; `total_usd_per_hour` includes built-in GPUs and bundled local SSD.
    `vcpus` and `memory_gib` are as billed (``e2-small`` bills half a vCPU) and 0 where the row doesn't say.
    """

    machine_type: str
    region_id: str
    vcpus: float = 0.0
    memory_gib: float = 0.0
    gpu_model: str = ""
    gpu_count: float = 0.0  # a g4-standard-6 has an eighth of a GPU
    local_ssd_gib: float = 0.0
    is_offered: bool = True  # the region offers the type; without it the price is only what the SKUs add up to
    host_usd_per_hour: FrozenMap[float] = EMPTY
    gpu_each_usd_per_hour: FrozenMap[float] = EMPTY
    local_ssd_usd_per_hour: FrozenMap[float] = EMPTY
    total_usd_per_hour: FrozenMap[float] = EMPTY
    notes: tuple[str, ...] = ()
    as_of: str = ""
    newer_as_of: FrozenMap[str] = EMPTY  # Provisioning → date of a total that is newer than the row
    source: str = ""

    @property
    def key(self) -> str:
        return f"{self.machine_type} {self.region_id}"


class GpuModel(Record):
    """A GPU the book knows. `gke_accelerator` is the value of GKE's node label, which is Compute Engine's own name."""

    model: str
    gke_accelerator: str
    memory_gb: int
    zones: FrozenMap[tuple[str, ...]] = EMPTY  # region → zones that list it, for the regions that were read


class OwnedCommitment(Record):
    """A commitment that the account owns: so many nodes of a machine type in a region. `usd_per_hour`: of a node; None: the
    book's price of the term. With a `discount` it is a plan of USD an hour (AWS' and Azure's savings plans): `usd_per_hour` is spent each
    hour on machines of a type that fits the pattern `machine_type`, in any region where `region_id` is "", at so much off the price on demand."""

    commitment_id: str
    machine_type: str
    region_id: str
    nodes: int
    term: Provisioning
    usd_per_hour: float | None = None
    discount: float | None = None


class PriceChange(Record):
    """From `observed_on` (ISO date) on, until the next change of the same machine and region."""

    observed_on: str
    machine_type: str
    region_id: str
    on_demand_usd_per_hour: float
    spot_usd_per_hour: float | None  # None before Spot was recorded


class PriceBook(Record, eq=False):
    """All prices. Built by `planner.pricing.price_table_parser`; looked into by `planner.pricing.machine_price` and `…node`.

    `machines`: `MachinePrice.key` → price; `own_machines` the same from the user's own list, which wins; `units`: text
    of a `UnitKey` → price; `gpu_models`: model → GPU; `discounts`: `PricingCategory` → negotiated share off the list
    price, 0 ≤ share < 1, taken off everything but the user's own prices; `changes`: the log of list
    prices, of which `planner.pricing.price_history` tells how far Spot moves. Books made of the same tables and discounts
    have the same `digest`, are equal, and can stand for one another in caches.
    """

    as_of: str  # ISO date of the newest layer; each price carries its own date
    source: str
    digest: str
    billing_currency: str = "USD"
    machines: Mapping[str, MachinePrice] = EMPTY
    own_machines: FrozenMap[MachinePrice] = EMPTY
    units: FrozenMap[UnitPrice] = EMPTY
    gpu_models: FrozenMap[GpuModel] = EMPTY
    discounts: FrozenMap[float] = EMPTY
    changes: tuple[PriceChange, ...] = ()
    commitments: tuple[OwnedCommitment, ...] = ()  # that the account owns already
    lists: tuple[PriceList, ...] = ()  # of other clouds; of two of one seller the later wins

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PriceBook) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def machine(self, machine_type: str, region_id: str) -> MachinePrice | None:
        """A row of the book, or of another cloud's list; the user's own rows stand in `own_machines`."""
        if (machine := self.machines.get(f"{machine_type} {region_id}")) is not None:
            return machine
        listed_rows = [
            (price_list, row)
            for price_list in self.lists
            if (row := price_list.find(machine_type, region_id)) is not None
        ]
        if not listed_rows:
            return None
        prices = {way: usd for _, row in listed_rows for way, usd in row.usd_per_hour.items()}
        dates = {way: as_of for _, row in listed_rows for way, as_of in row.as_of.items()}
        # A list may have a machine's price without its size.
        size = next((row for _, row in reversed(listed_rows) if row.vcpus), listed_rows[-1][1])
        return MachinePrice(
            machine_type=size.machine_type,
            region_id=size.region_id,
            vcpus=size.vcpus,
            memory_gib=size.memory_gib,
            gpu_model=size.gpu_model or (model_of_machine(size.machine_type) if size.gpu_count else ""),
            gpu_count=size.gpu_count,
            total_usd_per_hour=FrozenMap(prices),
            as_of=min(dates.values()),
            source=f"{listed_rows[-1][0].source} of {min(dates.values())}",
        )

    def places(self, machine_type: str) -> tuple[str, ...]:
        """Regions in which the book or a list has the machine type."""
        rows = {key.rpartition(" ")[2] for key in self._keys(machine_type)}
        return tuple(sorted(rows.union(*(price_list.regions_of(machine_type) for price_list in self.lists))))

    def of_type(self, machine_type: str) -> tuple[MachinePrice, ...]:
        """The book's rows of it, in all regions."""
        return tuple(self.machines[key] for key in self._keys(machine_type))

    def _keys(self, machine_type: str) -> list[str]:
        start = f"{machine_type} "
        return [key for key in self.machines if key.startswith(start) and key.rpartition(" ")[0] == machine_type]

    def unit(self, component: Component, product: str, region_id: str, provisioning: Provisioning) -> UnitPrice | None:
        """The unit price, or None. Preemptible is looked up as Spot."""
        key = UnitKey(component=component, product=product, region_id=region_id, provisioning=provisioning.priced_as)
        unit_price: UnitPrice | None = self.units.get(str(key))
        return unit_price

    def gpu_model(self, name: str) -> GpuModel | None:
        """The GPU called `name`: the book's own word (``T4``), GKE's accelerator label (``nvidia-tesla-t4``), or whatever
        else one model is called (`model_named`)."""
        every = self.gpu_models.values()
        model_by_name = self.gpu_models.get(name) or next((gpu for gpu in every if gpu.gke_accelerator == name), None)
        return model_by_name or next((gpu for gpu in every if model_named(gpu.model) == model_named(name)), None)

    def contracted(self, list_price: float, category: PricingCategory) -> float:
        """A list price after the negotiated discount of its category."""
        return list_price * (1.0 - float(self.discounts.get(category.value, 0.0)))

    def with_discounts(self, discounts: dict[PricingCategory, float]) -> PriceBook:
        """The same book with negotiated discounts: category → share off the list price, ``0.15`` for 15%.

        Raises
        ------
        InputError
            For a share outside 0 ≤ share < 1.
        """
        for category, share in discounts.items():
            if not 0 <= share < 1:
                raise InputError(
                    f"a discount of {share:g} on {category} prices is not a share of the price",
                    fix="Give 0.15 for 15%: 0 or more, less than 1",
                )
        discount_map = FrozenMap(
            {category.value: float(share) for category, share in sorted(discounts.items()) if share}
        )
        digest = (
            blake2b(f"{self.digest} {discount_map!r}".encode(), digest_size=16).hexdigest()
            if discount_map
            else self.digest
        )
        return replace(self, discounts=discount_map, digest=digest)

    def with_commitments(self, owned: tuple[OwnedCommitment, ...]) -> PriceBook:
        """The same book for an account that owns these commitments."""
        digest = blake2b(f"{self.digest} {owned!r}".encode(), digest_size=16).hexdigest() if owned else self.digest
        return replace(self, commitments=owned, digest=digest)


class PriceReason(StrEnum):
    """Why there is no price; NONE when there is one."""

    NONE = "none"
    NO_MACHINE_TYPE = "no_machine_type"  # the node has no instance-type label
    NO_REGION = "no_region"  # … no region or zone label
    AUTOPILOT = "autopilot"  # billed by what pods request, not by node
    RESERVED = "reserved"  # paid by a reservation: the list price isn't what it costs
    OTHER_CLOUD = "other_cloud"  # an EKS, AKS or other node, and no price of the user's own
    UNKNOWN_MACHINE_TYPE = "unknown_machine_type"
    NOT_IN_REGION = "not_in_region"  # the book has the type, elsewhere
    NO_PROVISIONING_PRICE = "no_provisioning_price"  # … but not bought in this way
    UNKNOWN_GPU = "unknown_gpu"
    UNKNOWN_GPU_COUNT = "unknown_gpu_count"  # shared GPUs of an unknown physical number
    NO_GPU_PRICE = "no_gpu_price"
    NO_LOCAL_SSD_PRICE = "no_local_ssd_price"
    EXTENDED_MEMORY = "extended_memory"  # custom types with extended memory: a SKU of its own
    CAPACITY_MISMATCH = "capacity_mismatch"  # the node is larger than the machine its label names


class PartKind(StrEnum):
    MACHINE = "machine"  # vCPUs and memory, or the whole machine where the book doesn't take it apart
    GPU = "gpu"
    LOCAL_SSD = "local-ssd"


class PricePart(Record):
    """`quantity` × unit price = USD per hour; `pricing_unit` is FOCUS' word for what is counted."""

    kind: PartKind
    name: str
    quantity: float
    pricing_unit: str  # "machine-hour" | "GPU-hour" | "GiB-hour"
    list_unit_price: float
    contracted_unit_price: float  # after the negotiated discount
    is_own: bool = False  # from the user's own list

    @property
    def list_usd_per_hour(self) -> float:
        return self.quantity * self.list_unit_price

    @property
    def usd_per_hour(self) -> float:
        return self.quantity * self.contracted_unit_price


class Price(Record):
    """The answer for one machine, bought in one way. `usd_per_hour` is None exactly when `reason` isn't NONE.

    `usd_per_hour` is after the negotiated discount, `list_usd_per_hour` before. `sustained_use_usd_per_hour` is what an
    hour comes to when the machine runs a whole month on demand and its family has a sustained-use discount; else it
    equals `usd_per_hour`. `is_sold`: the machine can be bought in this way here; if not, the price is a reference
    only and must not be proposed. `is_estimate`: the sum uses a stated rule, not published prices alone (`notes`).
    """

    machine_type: str
    region_id: str
    provisioning: Provisioning
    usd_per_hour: float | None
    reason: PriceReason
    sentence: Text
    list_usd_per_hour: float | None = None
    sustained_use_usd_per_hour: float | None = None
    parts: tuple[PricePart, ...] = ()
    gpu_model: str = ""
    gpu_count: float = 0.0
    notes: tuple[str, ...] = ()
    is_estimate: bool = False
    is_sold: bool = True
    as_of: str = ""  # of the oldest price in the sum
    source: str = ""

    @property
    def pricing_category(self) -> PricingCategory:
        return self.provisioning.pricing_category

    @property
    def usd_per_month(self) -> float | None:
        """At the full price; `sustained_use_usd_per_month` is what is paid."""
        return None if self.usd_per_hour is None else self.usd_per_hour * HOURS_PER_MONTH

    @property
    def sustained_use_usd_per_month(self) -> float | None:
        """Of a machine that runs all month, after the discount for it."""
        hourly = self.sustained_use_usd_per_hour
        return None if hourly is None else hourly * HOURS_PER_MONTH

    @property
    def sustained_use_discount(self) -> float:
        """Share taken off a whole month."""
        full, month = self.usd_per_hour, self.sustained_use_usd_per_hour
        return 1 - month / full if full and month is not None else 0.0

    def part_usd_per_hour(self, kind: PartKind) -> float | None:
        """What the parts of `kind` cost; None where that isn't known (no price, or GPUs not priced apart)."""
        is_apart = any(part.kind is PartKind.GPU for part in self.parts)
        if self.usd_per_hour is None or (kind is not PartKind.LOCAL_SSD and self.gpu_count and not is_apart):
            return None
        return sum(part.usd_per_hour for part in self.parts if part.kind is kind)


class NodePrice(Record):
    """A node's price, read from its labels."""

    node: str
    node_pool: str  # "" where no pool label is set
    price: Price

    @property
    def usd_per_hour(self) -> float | None:
        return self.price.usd_per_hour

    @property
    def provisioning(self) -> Provisioning:
        return self.price.provisioning

    @property
    def sentence(self) -> str:
        return str(self.price.sentence)
