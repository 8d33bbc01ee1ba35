"""Parses price tables into a price book: the embedded snapshot, a refresh, and the user's own prices.

A table is the text of a CSV file with one of the headers in `_LAYOUTS`, told apart by its columns. The snapshot's
tables and the user's have the same columns, so that a row of data/prices/ can be copied and changed.
"""

from __future__ import annotations

import csv
import re
from collections import ChainMap, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from hashlib import blake2b
from typing import Any, Final

from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.table_formats import as_csv
from planner.kubernetes.object_records import EMPTY, FrozenMap
from planner.pricing.cloud_price_lists import PriceList
from planner.pricing.machine_price import CAUTIONS
from planner.pricing.price_book import (
    LOCAL_SSD,
    Component,
    GpuModel,
    MachinePrice,
    PriceBook,
    PriceChange,
    Provisioning,
    UnitKey,
    UnitPrice,
)
from planner.pricing.skypilot_catalogue import is_catalogue, read_catalogue

SECONDS_PER_DAY: Final = 86_400
# Spot prices may change once a day, and did so about every three weeks from April to July 2026 (reference, section 0).
STALE_AFTER_DAYS: Final = 14

OWN_SOURCE: Final = "own prices"

_DEMAND, _SPOT, _FLEX = Provisioning.ON_DEMAND, Provisioning.SPOT, Provisioning.FLEX_START
TOTALS: Final = {
    "total_ondemand": _DEMAND,
    "total_spot": _SPOT,
    "total_cud_1y": Provisioning.COMMITMENT_1Y,
    "total_cud_3y": Provisioning.COMMITMENT_3Y,
    "total_flex_start": _FLEX,  # not in the snapshot
    "total_reserved": Provisioning.RESERVED,  # only of a user's own
    "total_capacity_block": Provisioning.CAPACITY_BLOCK,
}
_HOSTS: Final = {"host_ondemand": _DEMAND, "host_spot": _SPOT}
_GPU_EACH: Final = {"gpu_each_ondemand": _DEMAND, "gpu_each_spot": _SPOT}
_DISKS: Final = {"local_ssd_ondemand": _DEMAND, "local_ssd_spot": _SPOT}
_CORES: Final = {"ondemand_usd_per_vcpu_hour": _DEMAND, "spot_usd_per_vcpu_hour": _SPOT}
_RAM: Final = {"ondemand_usd_per_gib_hour": _DEMAND, "spot_usd_per_gib_hour": _SPOT}
_GPUS: Final = {
    "ondemand_usd_per_gpu_hour": _DEMAND,
    "spot_usd_per_gpu_hour": _SPOT,
    "flex_start_usd_per_gpu_hour": _FLEX,
    "commitment_1y_usd_per_gpu_hour": Provisioning.COMMITMENT_1Y,
    "commitment_3y_usd_per_gpu_hour": Provisioning.COMMITMENT_3Y,
}
_LOCAL_SSD: Final = {"ondemand_usd_per_gib_month": _DEMAND, "spot_usd_per_gib_month": _SPOT}
_ANY_TABLE: Final = frozenset({"as_of", "source", "check", "note", "billing_currency"})
UNIT_COLUMNS: Final = (
    "component", "product", "region_id", "provisioning", "pricing_category", "list_unit_price", "pricing_unit",
    "billing_currency", "sku_id", "as_of", "source", "note",
)  # fmt: skip
PRICING_UNIT: Final = {
    Component.CORE: "vCPU-hour",
    Component.RAM: "GiB-hour",
    Component.GPU: "GPU-hour",
    Component.LOCAL_SSD: "GiB-month",
}


class _Layout(Record):
    """A kind of table: the columns that name a row, those of which one at least holds its price, and the rest."""

    name: str
    key: tuple[str, ...]
    prices: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def columns(self) -> set[str]:
        return {*self.key, *self.prices, *self.others, *_ANY_TABLE}


_UNIT_LAYOUT: Final = _Layout(
    name="unit prices of a refresh", key=UNIT_COLUMNS[:4], prices=("list_unit_price",), others=UNIT_COLUMNS[4:]
)
_LAYOUTS: Final = (
    _Layout(
        name="machine types",
        key=("machine_type", "region"),
        prices=tuple(TOTALS),
        others=(
            *("family", "vcpus", "memory_gib", "gpu_model", "gpu_count", "local_ssd_gib", "offered", "gpu_zones"),
            *(*_HOSTS, *_GPU_EACH, *_DISKS),
        ),
    ),
    _Layout(
        name="GPUs",
        key=("gpu_model", "region"),
        prices=tuple(_GPUS),
        others=("gke_accelerator", "gpu_memory_gb", "zones", "v9_listed_ondemand"),
    ),
    _Layout(
        name="vCPUs and memory",
        key=("family", "region"),
        prices=(*_CORES, *_RAM),
        others=("machine_types_fitted", "max_relative_residual"),
    ),
    _UNIT_LAYOUT,
    _Layout(name="local SSD", key=("region",), prices=tuple(_LOCAL_SSD), others=()),
)


class PriceTable(Record):
    """What one CSV file holds. `machines`: `MachinePrice.key` → price."""

    machines: Mapping[str, MachinePrice] = EMPTY
    units: tuple[UnitPrice, ...] = ()
    gpu_models: tuple[GpuModel, ...] = ()
    digest: str = ""


def read_table(
    text: str, *, where: str, source: str, as_of: str = "", is_own: bool = False, is_checked: bool = False
) -> PriceTable:
    """Read a price table.

    Parameters
    ----------
    text : str
        CSV with a header; empty cells stand for prices that aren't known.
    where : str
        The file's name, for errors.
    source : str
        Where the prices come from, in words; a `source` column of unit prices goes before it.
    as_of : str
        ISO date for rows without one; "" leaves them undated.
    is_own : bool
        Whether these are the user's own prices, from which no negotiated discount is taken.
    is_checked : bool
        Whether every row was read before (those that come with the planner, in its tests): a machine's row is then
        read where it is asked for.

    Raises
    ------
    InputError
        For anything that isn't such a table, with the line and the column: an unknown header, a price of 0 or less or
        with a decimal comma, a zone where a region belongs, another currency, two prices for one thing.
    """
    digest = blake2b(f"{is_own}{source}{as_of}{text}".encode(), digest_size=16).hexdigest()
    empty = InputError("has a header and no prices", where=where, fix="Add a line for each price")
    if is_catalogue(text):
        listed = read_catalogue(text, where=where, source=source, as_of=as_of)
        if not listed:
            raise empty
        return PriceTable(machines=FrozenMap({row.key: row for row in listed}), digest=digest)
    # The shipped table has thousands of rows, and a command asks for few: each is read when it is asked for.
    if is_checked and text.startswith("machine_type,"):
        machines = Machines(text, where, as_of, source)
        return PriceTable(machines=machines, digest=digest)
    rows = _Rows(text, where)
    layout = rows.layout
    priced: dict[str, MachinePrice] = {}
    units: list[UnitPrice] = []
    gpus: list[GpuModel] = []
    line_by_key: dict[tuple[str, ...], int] = {}
    for row in rows:
        if not is_checked:
            row.check(layout)
        key = tuple(row[column] for column in layout.key)
        if key in line_by_key:
            raise row.error(
                f"{' in '.join(key)} was priced in line {line_by_key[key]} already", fix="Keep one of the lines"
            )
        line_by_key[key] = row.line
        if is_own and not any(row[column] for column in layout.prices):
            raise row.error(f"{' in '.join(key)} has no price", fix=f"Fill one of {', '.join(layout.prices)}")
        dated = row["as_of"] or as_of
        if layout.name == "machine types":
            priced[" ".join(key)] = _machine(row, dated, source)
            continue
        row_units, model = _units(row, layout, dated, source)
        units += [replace(unit, is_own=True) for unit in row_units] if is_own else row_units
        gpus += [model] if model else []
    if not line_by_key:
        raise empty
    return PriceTable(machines=FrozenMap(priced), units=tuple(units), gpu_models=tuple(gpus), digest=digest)


def compose(
    tables: Iterable[PriceTable],
    *,
    own: Iterable[PriceTable] = (),
    as_of: str,
    source: str,
    changes: tuple[PriceChange, ...] = (),
    lists: tuple[PriceList, ...] = (),
) -> PriceBook:
    """One book of several tables; a later table wins over an earlier one, own tables over all others.

    An own row that leaves out the machine's shape takes it from the row below it.
    """
    tables, own = tuple(tables), tuple(own)
    machines = _machines(tables)
    units: dict[str, UnitPrice] = {}
    gpus: dict[str, GpuModel] = {}
    own_machines = {key: row for table in own for key, row in table.machines.items()}
    digest = blake2b(f"{as_of} {source} {changes}".encode(), digest_size=16)
    for price_list in lists:
        digest.update(f"{price_list.seller} {price_list.source} {price_list.text}".encode())
    for is_own, layer in ((False, tables), (True, own)):
        for table in layer:
            digest.update(f"{is_own} {table.digest}".encode())
            units.update({str(unit.key): unit for unit in table.units})
            for gpu in table.gpu_models:
                gpus[gpu.model] = _merge_gpu(gpus.get(gpu.model), gpu)
    for key, row in own_machines.items():
        below = machines.get(key)
        if below is not None and not row.vcpus:
            model, number = row.gpu_model or below.gpu_model, row.gpu_count or below.gpu_count
            own_machines[key] = replace(
                row, vcpus=below.vcpus, memory_gib=below.memory_gib, gpu_model=model, gpu_count=number
            )
    return PriceBook(
        as_of=as_of,
        source=source,
        digest=digest.hexdigest(),
        machines=machines,
        own_machines=FrozenMap(own_machines),
        units=FrozenMap(units),
        gpu_models=FrozenMap(gpus),
        changes=changes,
        lists=lists,
    )


def newer_totals(tables: Iterable[PriceTable], changes: Iterable[PriceChange]) -> PriceTable:
    """The rows of `tables` with a newer total for machine and region in the log of price changes.

    How a new total is shared out between vCPUs, memory and GPUs the log doesn't tell: the parts of a price that moved are
    left out.
    """
    rows = _machines(tables)
    latest = {
        f"{price_change.machine_type} {price_change.region_id}": price_change for price_change in changes
    }  # in order of time
    machines = []
    for key, change in latest.items():
        row = rows.get(key)
        if row is None or change.observed_on <= row.as_of:
            continue
        totals = {_DEMAND.value: change.on_demand_usd_per_hour}
        totals |= {_SPOT.value: change.spot_usd_per_hour} if change.spot_usd_per_hour is not None else {}
        moved = {bought for bought, usd in totals.items() if row.total_usd_per_hour.get(bought) != usd}
        if moved:
            machines.append(
                replace(
                    row,
                    host_usd_per_hour=_without(row.host_usd_per_hour, moved),
                    gpu_each_usd_per_hour=_without(row.gpu_each_usd_per_hour, moved),
                    local_ssd_usd_per_hour=_without(row.local_ssd_usd_per_hour, moved),
                    total_usd_per_hour=FrozenMap({**row.total_usd_per_hour, **totals}),
                    newer_as_of=FrozenMap(dict.fromkeys(sorted(moved), change.observed_on)),
                )
            )
    digest = blake2b(
        repr([(row.key, row.newer_as_of, row.total_usd_per_hour) for row in machines]).encode(), digest_size=16
    )
    return PriceTable(machines=FrozenMap({row.key: row for row in machines}), digest=digest.hexdigest())


def _machines(tables: Iterable[PriceTable]) -> Mapping[str, MachinePrice]:
    """Those of all tables; a later one wins."""
    layers: list[Any] = [table.machines for table in tables]
    return ChainMap(*reversed(layers))


def _without(prices: FrozenMap[float], ways: set[str]) -> FrozenMap[float]:
    return FrozenMap({bought: usd for bought, usd in prices.items() if bought not in ways})


def format_units(units: Iterable[UnitPrice]) -> str:
    """Unit prices as the CSV that `read_table` reads: sorted, every number in full."""
    rows = []
    for unit in sorted(units, key=lambda unit: str(unit.key)):
        key, way = unit.key, unit.key.provisioning
        cells = (
            *(key.component.value, key.product, key.region_id, way.value, way.pricing_category.value),
            *(
                unit.list_unit_price,
                PRICING_UNIT[key.component],
                "USD",
                unit.sku_id,
                unit.as_of,
                unit.source,
                unit.note,
            ),
        )
        rows.append(dict(zip(UNIT_COLUMNS, cells, strict=True)))
    return as_csv(rows)


def age_days(as_of: str, now: float) -> float:
    """Days from the start of the ISO date `as_of` (UTC) to `now` (seconds since the epoch); never negative."""
    published_at = (date.fromisoformat(as_of) - date(1970, 1, 1)).days * SECONDS_PER_DAY
    return max(0.0, (now - published_at) / SECONDS_PER_DAY)


def age_warning(as_of: str, now: float) -> str:
    """A sentence when prices are older than two weeks, else "". How newer ones come, each door says."""
    days = int(age_days(as_of, now))
    if days <= STALE_AFTER_DAYS:
        return ""
    return f"Prices are of {as_of}, {days} days old: spot prices may change every day."


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
_PRICE: Final = re.compile(r"\d+(\.\d*)?([eE]-?\d+)?\Z|\.\d+\Z", re.ASCII)
_REGION: Final = re.compile(r"[a-z][a-z0-9-]*\Z", re.ASCII)
_ZONE: Final = re.compile(r"[a-z]+-[a-z]+\d+-[a-z]\Z", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)


class _Row:
    """One line of a table; its methods check a cell and name line and column in their errors."""

    __slots__ = ("_at", "_cells", "line", "where")

    def __init__(self, cells: list[str], at: Mapping[str, int], where: str, line: int) -> None:
        self._cells, self._at = cells, at  # `at`: column → place
        self.where = where
        self.line = line

    def __getitem__(self, column: str) -> str:
        at = self._at.get(column)
        return "" if at is None else self._cells[at].strip()

    def error(self, what: str, *, column: str = "", fix: str = "") -> InputError:
        place = f"{self.where}, line {self.line}" + (f", column {column}" if column else "")
        return InputError(what, where=place, fix=fix)

    def number(self, column: str, *, least: float = 0.0) -> float | None:
        """The cell as a number of at least `least`, None where it is empty."""
        text = self[column]
        if not text:
            return None
        if not _PRICE.match(text):
            raise self.error(
                f'"{text[:40]}" is not a number',
                column=column,
                fix="Write it with a point and no sign, such as 0.3675",
            )
        value = float(text)
        if not least <= value < 1e9:
            raise self.error(f"{text[:40]} is out of range", column=column)
        return value

    def price(self, column: str) -> float | None:
        """The cell as a price; None where it is empty. 0 is refused: nothing here is free."""
        value = self.number(column)
        if value == 0:
            raise self.error("0 is not a price", column=column, fix="Leave the cell empty where the price is unknown")
        return value

    def check(self, layout: _Layout) -> None:
        """What any row of the layout has to have."""
        for column in layout.key:
            if not self[column]:
                raise self.error("is empty", column=column)
            if column in ("region", "region_id"):
                if _ZONE.match(self[column]):
                    raise self.error(f'"{self[column]}" is a zone', column=column, fix="Write its region")
                if not _REGION.match(self[column]):
                    raise self.error(f'"{self[column]}" is not a region', column=column, fix="Such as asia-northeast3")
        if self["billing_currency"] not in ("", "USD"):
            raise self.error(
                f"prices in {self['billing_currency']} can't be used", column="billing_currency", fix="Convert to USD"
            )
        if self["as_of"] and not _DATE.match(self["as_of"]):
            raise self.error(f'"{self["as_of"]}" is not a date', column="as_of", fix="Write it like 2026-07-16")

    def prices(self, columns: Mapping[str, Provisioning], *, zero: bool = False) -> FrozenMap[float]:
        """Provisioning → price, for the columns that are filled. `zero`: 0 says that another part includes it."""
        prices: dict[str, float] = {}
        for column, provisioning in columns.items():
            value = self.number(column) if zero else self.price(column)
            if value is not None:
                prices[provisioning.value] = value
        return FrozenMap(prices)


class Machines(Mapping[str, MachinePrice]):
    """`MachinePrice.key` → price, of a table with rows that were all read before. Of thousands of rows a question needs
    a few: a machine type's lines are taken apart where it is first asked for, and a row is read where it is itself.

    `text`: of which no line goes on in the next. A process that works something out is sent all of it (pickle).
    """

    def __init__(self, text: str, where: str, as_of: str, source: str) -> None:
        header, *lines = text.splitlines()
        self._at = {name: at for at, name in enumerate(header.split(","))}
        self._where, self._as_of, self._source = where, as_of, source
        self._lines: dict[str, list[tuple[int, str]]] = defaultdict(list)  # machine type → lines, with their numbers
        for number, line in enumerate(lines, start=2):
            self._lines[line.partition(",")[0]].append((number, line))
        self._rows: dict[str, dict[str, MachinePrice | _Row]] = {}  # machine type → key → price, or what it is read of

    def _of(self, machine_type: str) -> dict[str, MachinePrice | _Row]:
        lines = self._lines.get(machine_type)
        if lines is None:
            return {}  # not kept: a caller who names machines may name any number
        if machine_type not in self._rows:
            cells = zip(lines, csv.reader((line for _, line in lines), strict=True), strict=True)
            rows = (_Row(row_cells, self._at, self._where, number) for (number, _), row_cells in cells)
            self._rows[machine_type] = {f"{machine_type} {row['region']}": row for row in rows}
        return self._rows[machine_type]

    def __getitem__(self, key: str) -> MachinePrice:
        rows = self._of(key.rpartition(" ")[0])
        price = rows[key]
        if isinstance(price, _Row):
            price = rows[key] = _machine(price, price["as_of"] or self._as_of, self._source)
        return price

    def __iter__(self) -> Iterator[str]:
        return (key for machine_type in self._lines for key in self._of(machine_type))

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))


class _Rows:
    """The checked lines of a CSV text."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        lines = text.removeprefix("\ufeff").splitlines(keepends=True)
        if not lines or not lines[0].strip():
            raise InputError("is empty", where=where, fix="A price table starts with a line of column names")
        header = lines[0]
        if "," not in header and (";" in header or "\t" in header):
            raise InputError(
                "its columns are not separated by commas", where=where, fix="Save it as CSV with commas between cells"
            )
        self._reader = csv.reader(lines, strict=True)
        try:
            self.columns = [name.strip() for name in next(self._reader, ())]
        except csv.Error as error:
            raise InputError(f"is not CSV ({error})", where=f"{where}, line 1") from error
        self.layout = self._find_layout()

    def _find_layout(self) -> _Layout:
        header = set(self.columns)
        fitting = [layout for layout in _LAYOUTS if header.issuperset(layout.key) and header & set(layout.prices)]
        if not fitting:
            layouts_text = "; ".join(
                f"{', '.join(layout.key)} and {' or '.join(layout.prices)}" for layout in _LAYOUTS[:2]
            )
            raise InputError(
                f"its columns ({', '.join(self.columns)[:200]}) are not those of a price table",
                where=self.where,
                fix=f"Give {layouts_text}; docs/prices.md lists all tables",
            )
        layout = fitting[0]
        for column in self.columns:
            if column not in layout.columns:
                from difflib import get_close_matches

                near = get_close_matches(column, layout.columns, n=1)
                raise InputError(
                    f'a table of {layout.name} has no column "{column}"',
                    where=f"{self.where}, line 1",
                    fix=f'Did you mean "{near[0]}"?' if near else "Remove it, or use the column note",
                )
        if len(set(self.columns)) < len(self.columns):
            raise InputError("two columns have the same name", where=f"{self.where}, line 1")
        return layout

    def __iter__(self) -> Iterator[_Row]:
        at, reader, width = {name: at for at, name in enumerate(self.columns)}, self._reader, len(self.columns)
        try:
            for cells in reader:
                if not cells:
                    continue
                row = _Row(cells, at, self.where, reader.line_num)
                if len(cells) != width:
                    raise row.error(f"has not {width} cells, as the header has")
                yield row
        except csv.Error as error:
            raise InputError(f"is not CSV ({error})", where=f"{self.where}, line {reader.line_num}") from error


def _machine(row: _Row, as_of: str, source: str) -> MachinePrice:
    machine_type, region = row["machine_type"], row["region"]
    gpu_count = row.number("gpu_count") or 0.0
    machine = MachinePrice(
        machine_type=machine_type,
        region_id=region,
        vcpus=row.number("vcpus") or 0.0,
        memory_gib=row.number("memory_gib") or 0.0,
        gpu_model=row["gpu_model"] if gpu_count else "",
        gpu_count=gpu_count,
        local_ssd_gib=row.number("local_ssd_gib") or 0.0,
        is_offered=row["offered"] != "no",
        host_usd_per_hour=row.prices(_HOSTS, zero=True),
        gpu_each_usd_per_hour=row.prices(_GPU_EACH) if gpu_count else EMPTY,
        local_ssd_usd_per_hour=row.prices(_DISKS) if row.number("local_ssd_gib") else EMPTY,
        total_usd_per_hour=row.prices(TOTALS),
        notes=tuple(note for note in (_caution(machine_type, region, row["check"]), row["note"]) if note),
        as_of=as_of,
        source=source,
    )
    for column, bought in TOTALS.items():
        parts = gpu_count * machine.gpu_each_usd_per_hour.get(bought, 0.0)
        parts += machine.local_ssd_usd_per_hour.get(bought, 0.0)
        # The table's numbers are rounded: a machine that costs nothing beside its GPUs may seem to cost less than
        # they do.
        if parts > machine.total_usd_per_hour.get(bought, parts) * 1.0001:
            raise row.error(
                f"GPUs and local SSD cost {parts:g}, more than the machine with them",
                column=column,
                fix="A total includes GPUs and local SSD",
            )
    return machine


def _caution(machine_type: str, region: str, check: str) -> str:
    for begin, where, caution in CAUTIONS:
        if machine_type.startswith(begin) and where in ("", region):
            return caution
    agrees = check in ("", "v9 row read, equal", "sum of v9 host + GPU + local SSD")
    return "" if agrees else check


def _units(row: _Row, layout: _Layout, as_of: str, source: str) -> tuple[list[UnitPrice], GpuModel | None]:
    if layout is _UNIT_LAYOUT:
        return [_refreshed_unit(row, as_of, source)], None
    columns: dict[Component, Mapping[str, Provisioning]]
    model = None
    if layout.name == "GPUs":
        product, columns = row["gpu_model"], {Component.GPU: _GPUS}
        zones = tuple(row["zones"].split())
        model = GpuModel(
            model=product,
            gke_accelerator=row["gke_accelerator"],
            memory_gb=int(row.number("gpu_memory_gb") or 0),
            zones=FrozenMap({row["region"]: zones}) if zones else EMPTY,
        )
    elif layout.name == "local SSD":
        product, columns = LOCAL_SSD, {Component.LOCAL_SSD: _LOCAL_SSD}
    else:
        product, columns = row["family"], {Component.CORE: _CORES, Component.RAM: _RAM}
    # "v9" is what data/prices calls SkyPilot's catalogue. A note on its on-demand price says nothing of the other ways to buy.
    note = row["note"].replace("v9", "SkyPilot's catalogue")
    is_on_demand_only = row["note"].startswith("v9 lists on-demand")
    if not note and row["source"] == "v9":
        note = "read from one of the snapshot's two catalogues only"
    unit_prices = [
        UnitPrice(
            key=UnitKey(
                component=component, product=product, region_id=row["region"], provisioning=Provisioning(provisioning)
            ),
            list_unit_price=price,
            as_of=as_of,
            source=source,
            note="" if is_on_demand_only and provisioning != _DEMAND else note,
        )
        for component, names in columns.items()
        for provisioning, price in row.prices(names).items()
    ]
    return unit_prices, model


def _refreshed_unit(row: _Row, as_of: str, source: str) -> UnitPrice:
    for column, words, what in (
        ("component", Component, "a component"),
        ("provisioning", Provisioning, "a way to buy"),
    ):
        if row[column] not in list(words):
            raise row.error(f'"{row[column]}" is not {what}', column=column, fix=f"One of {', '.join(words)}")
    price = row.price("list_unit_price")
    if price is None:
        raise row.error("is empty", column="list_unit_price")
    return UnitPrice(
        key=UnitKey(
            component=Component(row["component"]),
            product=row["product"],
            region_id=row["region_id"],
            provisioning=Provisioning(row["provisioning"]).priced_as,
        ),
        list_unit_price=price,
        as_of=as_of,
        source=row["source"] or source,
        sku_id=row["sku_id"],
        note=row["note"],
    )


def _merge_gpu(earlier_model: GpuModel | None, gpu_model: GpuModel) -> GpuModel:
    if earlier_model is None:
        return gpu_model
    return GpuModel(
        model=earlier_model.model,
        gke_accelerator=earlier_model.gke_accelerator or gpu_model.gke_accelerator,
        memory_gb=earlier_model.memory_gb or gpu_model.memory_gb,
        zones=FrozenMap({**earlier_model.zones, **gpu_model.zones}),
    )
