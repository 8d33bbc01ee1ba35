"""Rows of the price book, as ``headroom costs --price-list show`` and the pages list them."""

from __future__ import annotations

from typing import Final

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.kubernetes.object_records import FrozenMap
from planner.pricing.machine_price import gpu_hour_price, price_machine
from planner.pricing.price_book import Component, MachinePrice, Price, PriceBook, Provisioning

WAYS: Final = (
    Provisioning.ON_DEMAND,
    Provisioning.SPOT,
    Provisioning.FLEX_START,
    Provisioning.COMMITMENT_1Y,
    Provisioning.COMMITMENT_3Y,
)


class PriceLine(Record):
    """A machine type, or one GPU, in one region: its price for each way of buying."""

    name: str  # "g2-standard-12", "n1-standard-8 + 1 × T4", "T4 (one GPU)"
    region_id: str
    vcpus: float
    memory_gib: float
    gpu_model: str
    gpu_count: float
    prices: FrozenMap[Price]  # Provisioning → price, with or without an amount

    @property
    def spot_discount(self) -> float | None:
        """1 − Spot / on demand, 0 … 1; None where one of them isn't known."""
        demand, spot = (self.prices[way].usd_per_hour for way in (Provisioning.ON_DEMAND, Provisioning.SPOT))
        return 1 - spot / demand if demand and spot is not None else None

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for price in self.prices.values() for note in price.notes))


def list_prices(
    book: PriceBook, *, region_id: str = "", machine_type: str = "", gpu: str = "", gpu_count: int = 1
) -> tuple[PriceLine, ...]:
    """The lines for a region, a machine type, a GPU, or any of them together.

    A machine type is listed in every region the book has it in; with a GPU named, N1 machines are priced with
    `gpu_count` of them attached. A GPU alone gives its own price in every region, then the machine types that have it
    built in. Nothing named gives all GPUs.

    Raises
    ------
    InputError
        For a GPU, a region or a machine type that isn't in the book.
    """
    model = ""
    if gpu:
        gpu_model = book.gpu_model(gpu)
        if gpu_model is None:
            raise InputError(f'the price book has no GPU "{gpu}"', fix=f"It has {', '.join(sorted(book.gpu_models))}")
        model = gpu_model.model
    regions = {row.region_id for table in (book.machines, book.own_machines) for row in table.values()}
    regions |= {region for price_list in book.lists for region in price_list.regions}
    if region_id and region_id not in regions:
        raise InputError(f'the price book has no region "{region_id}"', fix=f"It has {', '.join(sorted(regions))}")
    lines: list[PriceLine] = []
    if not machine_type and (model or not region_id):
        lines += _gpu_lines(book, model, region_id)
    if machine_type or region_id or model:
        lines += _machine_lines(book, machine_type, region_id, model, gpu_count)
    if machine_type and not lines:
        where = f" in {region_id}" if region_id else ""
        raise InputError(
            f'the price book has no machine type "{machine_type}"{where}', fix='Write it like "n1-standard-8"'
        )
    return tuple(lines)


def _gpu_lines(book: PriceBook, model: str, region_id: str) -> list[PriceLine]:
    price_keys = {
        (unit.key.product, unit.key.region_id)
        for unit in book.units.values()
        if unit.key.component is Component.GPU
        and model in ("", unit.key.product)
        and region_id in ("", unit.key.region_id)
    }
    return [
        PriceLine(
            name=f"{product} (one GPU)",
            region_id=region,
            vcpus=0.0,
            memory_gib=0.0,
            gpu_model=product,
            gpu_count=1.0,
            prices=FrozenMap({way.value: gpu_hour_price(book, product, region, way) for way in WAYS}),
        )
        for product, region in sorted(price_keys)
    ]


def _machine_lines(book: PriceBook, machine_type: str, region_id: str, model: str, gpu_count: int) -> list[PriceLine]:
    price_keys = {
        (row.machine_type, row.region_id): row
        for table in (book.machines, book.own_machines)
        for row in table.values()
        if machine_type in ("", row.machine_type) and region_id in ("", row.region_id)
    }
    for price_list in book.lists if not model or machine_type else ():
        for name in (machine_type,) if machine_type else price_list.machine_types if region_id else ():
            for region in (region_id,) if region_id else price_list.regions_of(name):
                if (name, region) not in price_keys and (machine := book.machine(name, region)) is not None:
                    price_keys[name, region] = machine
    if not price_keys and machine_type and region_id:  # custom types, and predefined ones known by unit prices only
        row = MachinePrice(machine_type=machine_type, region_id=region_id)
        line = _machine_line(book, row, model, gpu_count if model else 0)
        return [line] if any(price.usd_per_hour is not None for price in line.prices.values()) else []
    lines = []
    for _, row in sorted(price_keys.items()):
        attaches = bool(model and machine_type and not row.gpu_count)
        if not model or row.gpu_model == model or attaches:
            lines.append(_machine_line(book, row, model, gpu_count if attaches else 0))
    return lines


def _machine_line(book: PriceBook, row: MachinePrice, model: str, attached: int) -> PriceLine:
    prices = {
        way.value: price_machine(book, row.machine_type, row.region_id, way, gpu=model, gpu_count=attached)
        for way in WAYS
    }
    return PriceLine(
        name=f"{row.machine_type} + {attached} × {model}" if attached else row.machine_type,
        region_id=row.region_id,
        vcpus=row.vcpus,
        memory_gib=row.memory_gib,
        gpu_model=model if attached else row.gpu_model,
        gpu_count=float(attached) if attached else row.gpu_count,
        prices=FrozenMap(prices),
    )
