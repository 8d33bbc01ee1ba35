"""Price lists of other clouds: one line a machine type and purchase option, one column a region.

The lists that come with the planner are on-demand prices; those that a refresh writes have spot prices too. Their header is
``machine_type,way,vcpus,memory_gib,gpu_model,gpu_count,as_of`` and then regions. Empty cells are prices that aren't known.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from planner.ground.errors import InputError
from planner.ground.records import Record

KEPT: Final = ("machine_type", "way", "vcpus", "memory_gib", "gpu_model", "gpu_count", "as_of")
LIST_WAYS: Final = ("on-demand", "spot")


class ListedPrice(Record):
    """A machine type in a region: way of buying → USD an hour, and the date of each. Sizes are 0 where the list has none."""

    machine_type: str
    region_id: str
    vcpus: float
    memory_gib: float
    gpu_model: str
    gpu_count: float
    usd_per_hour: Mapping[str, float]
    as_of: Mapping[str, str]


class PriceList(Record):
    """One seller's list. `text`: the whole file, its lines sorted by machine type."""

    seller: str
    source: str
    text: str

    @property
    def regions(self) -> tuple[str, ...]:
        return tuple(self._header()[len(KEPT) :])

    @property
    def machine_types(self) -> tuple[str, ...]:
        lines = self.text.split("\n")[1:]
        return tuple(dict.fromkeys(line.partition(",")[0] for line in lines if line))

    def find(self, machine_type: str, region_id: str) -> ListedPrice | None:
        """The machine type in the region; None where the list has no price of it there."""
        header = self._header()
        if region_id not in header[len(KEPT) :]:
            return None
        column, usd, dates, size = header.index(region_id), dict[str, float](), dict[str, str](), ("", "", "", "")
        for cells in self._lines(machine_type):
            if cells[column] and not _is_implausible(cells, column):
                usd[cells[1]] = self._number(cells, column, region_id)
                dates[cells[1]] = cells[6]
            size = (cells[2], cells[3], cells[4], cells[5]) if cells[2] else size
        if not usd:
            return None
        vcpus, gib, gpus = (float(text or 0) for text in (size[0], size[1], size[3]))
        return ListedPrice(
            machine_type=machine_type, region_id=region_id, vcpus=vcpus, memory_gib=gib, gpu_model=size[2], gpu_count=gpus,
            usd_per_hour=usd, as_of=dates,
        )  # fmt: skip

    def regions_of(self, machine_type: str) -> tuple[str, ...]:
        """Where the list has a price of the machine type."""
        rows = list(self._lines(machine_type))
        return tuple(
            name
            for at, name in enumerate(self._header())
            if at >= len(KEPT) and any(cells[at] and not _is_implausible(cells, at) for cells in rows)
        )

    def implausible(self, machine_type: str, region_id: str) -> tuple[str, float] | None:
        """A price that is there and refused, as it stands, and the median of all regions; None where none is."""
        header = self._header()
        column = header.index(region_id) if region_id in header[len(KEPT) :] else -1
        rows = self._lines(machine_type) if column >= 0 else ()
        cells = next((list_row for list_row in rows if list_row[column] and _is_implausible(list_row, column)), None)
        return None if cells is None else (cells[column], _median(cells))

    def _header(self) -> list[str]:
        return self.text[: self.text.find("\n")].split(",")

    def _lines(self, machine_type: str) -> Iterator[list[str]]:
        line_start = f"\n{machine_type},"
        at = -1 if not machine_type or "\n" in machine_type or "," in machine_type else self.text.find(line_start)
        while at >= 0:
            end = self.text.find("\n", at + 1)
            yield self.text[at + 1 : end if end >= 0 else None].split(",")
            at = self.text.find(line_start, at + 1)

    def _number(self, cells: list[str], column: int, name: str) -> float:
        try:
            value = float(cells[column])
        except ValueError:
            value = -1.0
        if not 0 < value < 1e5:
            fix = "Remove the file, or refresh it again"
            raise InputError(
                f'"{cells[column][:40]}" is not a price', where=f"{self.source}: {cells[0]} in {name}", fix=fix
            )
        return value


_APART: Final = 3.0
_FEWEST_REGIONS: Final = 5


def _is_implausible(cells: Sequence[str], column: int) -> bool:
    """Whether a price on demand is less than a third, or more than three times, the median of the type's regions: a slip in the list.

    Azure's of 18 June 2026 has fifteen such (F64ams_v6 in newzealandnorth at 0.719, elsewhere about 7); all others lie between 0.33
    and 2.4 times their median. Spot prices differ as much by nature.
    """
    if cells[1] != LIST_WAYS[0] or sum(map(bool, cells[len(KEPT) :])) < _FEWEST_REGIONS:
        return False
    try:
        usual, usd = _median(cells), float(cells[column])
    except ValueError:  # no price: `_number` says so
        return False
    return not usual / _APART <= usd <= usual * _APART


def _median(cells: Sequence[str]) -> float:
    return median(float(cell) for cell in cells[len(KEPT) :] if cell)


def read_list(text: str, *, where: str, seller: str, source: str) -> PriceList:
    """A list from a file's text; its lines are looked at here, its prices where they are asked for.

    Raises
    ------
    InputError
        For a file with another header, or a line with more or fewer cells.
    """
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    fix = "Remove the file, or refresh it again"
    columns = lines[0].split(",")
    if tuple(columns[: len(KEPT)]) != KEPT or len(columns) == len(KEPT):
        raise InputError("is not a list of prices by region", where=where, fix=fix)
    commas = len(columns) - 1
    for number, line in enumerate(lines[1:], start=2):
        if line.count(",") != commas or line.split(",", 2)[1] not in LIST_WAYS:
            raise InputError("is not a line of a price list", where=f"{where}, line {number}", fix=fix)
    return PriceList(seller=seller, source=source, text="\n".join([*lines, ""]))


def format_list(rows: Iterable[ListedPrice], earlier_list: PriceList | None = None) -> str:
    """Rows as the text that `read_list` reads, over those of `earlier_list` in other regions."""
    cells: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    sizes: dict[str, tuple[str, str, str, str]] = {}
    dates: dict[tuple[str, str], str] = {}
    new = list(rows)
    fresh = {row.region_id for row in new}
    for kept_row in csv.DictReader(earlier_list.text.splitlines()) if earlier_list else ():
        key = kept_row["machine_type"], kept_row["way"]
        sizes[key[0]] = (kept_row["vcpus"], kept_row["memory_gib"], kept_row["gpu_model"], kept_row["gpu_count"])
        cells[key] = {name: usd for name, usd in kept_row.items() if name not in (*KEPT, *fresh) and usd}
        dates[key] = kept_row["as_of"]
    for row in new:
        if row.vcpus:
            shape = (
                f"{row.vcpus:g}",
                f"{row.memory_gib:g}",
                row.gpu_model,
                f"{row.gpu_count:g}" if row.gpu_count else "",
            )
            sizes[row.machine_type] = shape
        for way, usd in row.usd_per_hour.items():
            key = row.machine_type, way
            # A row has one date for all its regions, the oldest of its prices: none looks fresher than it is.
            dates[key] = min(dates.get(key) or row.as_of[way], row.as_of[way]) if cells[key] else row.as_of[way]
            cells[key][row.region_id] = repr(usd)
    regions = sorted({name for region_cells in cells.values() for name in region_cells})
    lines = [",".join([*KEPT, *regions])]
    for key in sorted(key for key, region_cells in cells.items() if region_cells):
        size = sizes.get(key[0], ("", "", "", ""))
        lines.append(",".join([*key, *size, dates[key], *(cells[key].get(name, "") for name in regions)]))
    return "\n".join([*lines, ""])
