"""Reads prices in SkyPilot's catalog columns as a user's own list: AWS' and Azure's machines, spot by zone.

Columns (skypilot-org/skypilot-catalog, v8): InstanceType, AcceleratorName, AcceleratorCount, vCPUs, MemoryGiB, GpuInfo, Price, SpotPrice,
Region, AvailabilityZone, Arch. A row is a machine type in a zone; AWS' zones are ids (``use1-az4``, the node's label
``topology.k8s.aws/zone-id``), as names of zones differ from account to account. A spot price equal to the one on demand says that there is no
spot market. The catalog has no licence: it is read from the user's own copy.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import Final

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.kubernetes.object_records import FrozenMap
from planner.pricing.price_book import MachinePrice, Provisioning

_NEEDED: Final = frozenset({"InstanceType", "Region", "Price"})
_MOST_USD: Final = 1e5  # an hour


def is_catalogue(text: str) -> bool:
    """Whether the first line has the catalog's columns."""
    return frozenset(text.removeprefix("\ufeff").partition("\n")[0].strip().split(",")) >= _NEEDED


def read_catalogue(text: str, *, where: str, source: str, as_of: str) -> tuple[MachinePrice, ...]:
    """A row of each machine type and region, with the median of its zones' spot prices, and one of each zone that has its own.

    Raises
    ------
    InputError
        For a cell that is no number or no price, with its line; and for Google's table, which lists hosts and GPUs apart.
    """
    zones: dict[tuple[str, str], dict[str, MachinePrice]] = defaultdict(dict)
    reader = csv.DictReader(text.removeprefix("\ufeff").splitlines())
    try:
        for cells in reader:
            line = f"{where}, line {reader.line_num}"
            if not cells["InstanceType"]:
                fix = "Leave Google's table out: the book has Google's prices, taken apart"
                raise InputError("has a row without a machine type", where=line, fix=fix)
            machine = _machine(cells, line, source, as_of)
            if machine.total_usd_per_hour:
                zones[machine.machine_type, machine.region_id][(cells.get("AvailabilityZone") or "").strip()] = machine
    except csv.Error as error:
        raise InputError(f"is not CSV ({error})", where=f"{where}, line {reader.line_num}") from error
    return tuple(row for rows in zones.values() for row in _of_region(rows))


def _machine(cells: dict[str, str], line: str, source: str, as_of: str) -> MachinePrice:
    demand, spot = (_number(cells, name, line) for name in ("Price", "SpotPrice"))
    # Where there is no spot market the catalog repeats the price on demand.
    has_market = spot and spot != demand
    prices = {
        Provisioning.ON_DEMAND.value: demand or 0.0,
        Provisioning.SPOT.value: spot if has_market and spot else 0.0,
    }
    gpus = _number(cells, "AcceleratorCount", line) or 0.0
    return MachinePrice(
        machine_type=cells["InstanceType"].strip(),
        region_id=cells["Region"].strip(),
        vcpus=_number(cells, "vCPUs", line) or 0.0,
        memory_gib=_number(cells, "MemoryGiB", line) or 0.0,
        gpu_model=(cells.get("AcceleratorName") or "").strip() if gpus else "",
        gpu_count=gpus,
        total_usd_per_hour=FrozenMap({bought: usd for bought, usd in prices.items() if usd}),
        as_of=as_of,
        source=source,
    )


def _number(cells: dict[str, str], name: str, line: str) -> float | None:
    text = (cells.get(name) or "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < _MOST_USD:
        raise InputError(
            f'"{text[:40]}" is not a number of this kind', where=f"{line}, column {name}", fix="Write it like 0.526"
        )
    return value


def _of_region(rows: dict[str, MachinePrice]) -> Iterator[MachinePrice]:
    first, spot = next(iter(rows.values())), Provisioning.SPOT.value
    every = [usd for row in rows.values() if (usd := row.total_usd_per_hour.get(spot)) is not None]
    if len(set(every)) < 2:
        yield first
        return
    totals = FrozenMap({**first.total_usd_per_hour, spot: median(every)})
    note = f"spot: the median of {len(every)} zones, {min(every):g} to {max(every):g}; a node's label topology.k8s.aws/zone-id tells its own"
    yield replace(first, total_usd_per_hour=totals, notes=(note,))
    for zone, row in rows.items():
        if zone:
            yield replace(row, region_id=zone)
