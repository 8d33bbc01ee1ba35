"""Reads price tables from files: the embedded snapshot, the last refresh, and the user's own prices."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from planner.ground.errors import InputError, SourceError
from planner.kubernetes.clouds import CLOUDS, Cloud
from planner.pricing.cloud_price_lists import PriceList, read_list
from planner.pricing.machine_price import parse_custom_type, predefined_shape
from planner.pricing.owned_commitments import parse_commitments
from planner.pricing.price_book import OwnedCommitment, PriceBook, PriceChange
from planner.pricing.price_history import read_changes
from planner.pricing.price_table_parser import OWN_SOURCE, UNIT_COLUMNS, PriceTable, compose, newer_totals, read_table
from planner.sources import bounded_reading
from planner.sources.shipped_files import data_folder

REFRESH_SOURCE: Final = "Cloud Billing Catalog"

# Later tables win: rows taken apart go over totals.
TABLES: Final = (
    "gcp_totals_all_regions.csv",
    "gcp_totals_more_families.csv",
    "gcp_prices.csv",
    "gcp_unit_prices.csv",
    "gcp_gpu_prices.csv",
    "gcp_flex_start_prices.csv",
    "gcp_commitment_prices.csv",
    "gcp_local_ssd_prices.csv",
)
TABLES_VARIABLE: Final = "HEADROOM_PRICE_TABLES"
"""Names a folder with tables of another day: of those that come with the planner the ones that it has stand in their place."""
LISTED: Final = tuple(cloud for cloud in CLOUDS if cloud.prices)


def refreshed_file() -> Path:
    """Where ``headroom costs --price-list refresh`` writes and everything else looks, unless told another file."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache else Path.home() / ".cache") / "headroom" / "gcp-prices.csv"


@lru_cache(maxsize=1)
def snapshot_as_of() -> str:
    """The newest day of the tables that come with the planner (ISO); each row has its own."""
    header, *lines = _embedded("gcp_prices.csv").splitlines()
    assert header.endswith(",as_of")
    return max(line.rpartition(",")[2] for line in lines)


def snapshot_source() -> str:
    """``price snapshot of 2026-08-20``."""
    return f"price snapshot of {snapshot_as_of()}"


@lru_cache(maxsize=1)
def _embedded_tables() -> tuple[PriceTable, ...]:
    tables = tuple(
        read_table(_embedded(name), where=name, source=snapshot_source(), as_of=snapshot_as_of(), is_checked=True)
        for name in TABLES
    )
    return (*tables, newer_totals(tables, load_changes()))


def list_file(cloud: Cloud) -> Path:
    """Where ``headroom costs --price-list refresh --cloud`` writes the list of a cloud."""
    return refreshed_file().with_name(f"{cloud.prices}-prices.csv")


@lru_cache(maxsize=1)
def _embedded_lists() -> tuple[PriceList, ...]:
    """Of lines that the tests have looked at, as `read_list` does."""
    return tuple(
        PriceList(
            seller=cloud.seller, source=f"{cloud.seller} on-demand list", text=_embedded(f"{cloud.prices}_ondemand.csv")
        )
        for cloud in LISTED
    )


def read_list_file(path: Path, cloud: Cloud) -> PriceList:
    """One that a refresh wrote.

    Raises
    ------
    InputError
        For a file that isn't one, or was damaged since.
    """
    return read_list(_read(path), where=str(path), seller=cloud.seller, source=f"{cloud.seller} price list")


@lru_cache(maxsize=1)
def _places() -> dict[str, tuple[PriceTable, str]]:
    """Machine type → table and key of one of its rows."""
    return {key.rpartition(" ")[0]: (table, key) for table in _embedded_tables() for key in table.machines}


def machine_shape(machine_type: str) -> tuple[float, float, int] | None:
    """(vCPUs, GiB, GPUs built in) of a machine type of Google's; None for one that neither the book nor the name tells."""
    if (place := _places().get(machine_type)) is not None:
        row = place[0].machines[place[1]]
        return row.vcpus, row.memory_gib, int(row.gpu_count)
    custom = parse_custom_type(machine_type)
    if custom is not None:
        return custom.vcpus, custom.memory_gib, 0
    shape = predefined_shape(machine_type)
    return None if shape is None else (*shape, 0)


@lru_cache(maxsize=1)
def embedded_book() -> PriceBook:
    """The price book that comes with the planner, and nothing else: the same on every machine."""
    return compose(
        _embedded_tables(),
        as_of=snapshot_as_of(),
        source=snapshot_source(),
        changes=load_changes(),
        lists=_embedded_lists(),
    )


def own_table(text: str, where: str) -> PriceTable:
    """One's own prices, as a CSV has them.

    Raises
    ------
    InputError
        For what isn't a price table.
    """
    return read_table(text, where=where, source=OWN_SOURCE, is_own=True)


def load_book(
    own: Iterable[Path | PriceTable] = (), *, refreshed: Path | None = None, is_refreshed: bool = True
) -> PriceBook:
    """The embedded book under the last refresh under the user's own tables.

    Parameters
    ----------
    own : paths or tables
        CSV files of the user's own prices, or what was read of them.
    refreshed : Path, optional
        A file written by a refresh; `refreshed_file()` is read, if it is there, when none is named and `is_refreshed`.

    Raises
    ------
    InputError
        For a file that can't be read or isn't a price table.
    """
    path = refreshed or refreshed_file()
    own_tables = [
        own_prices if isinstance(own_prices, PriceTable) else own_table(_read(own_prices), own_prices.name)
        for own_prices in own
    ]
    tables = _embedded_tables()
    as_of, source = snapshot_as_of(), snapshot_source()
    if is_refreshed and (refreshed is not None or path.is_file()):
        newer = read_refreshed(path)
        newest = max(unit.as_of for unit in newer.units)
        tables, as_of = (*tables, newer), max(as_of, newest)
        source = f"{REFRESH_SOURCE} of {newest} over the {snapshot_source()}"
    files = ((cloud, list_file(cloud)) for cloud in LISTED if is_refreshed)
    lists = (*_embedded_lists(), *(read_list_file(path, cloud) for cloud, path in files if path.is_file()))
    return compose(tables, own=own_tables, as_of=as_of, source=source, changes=load_changes(), lists=lists)


def read_refreshed(path: Path) -> PriceTable:
    """The table a refresh wrote.

    Raises
    ------
    InputError
        For a file that isn't one, or was damaged since.
    """
    text = _read(path)
    fix = 'Remove it, or run "headroom costs --price-list refresh" again'
    if not text.startswith(",".join(UNIT_COLUMNS)):
        raise InputError('was not written by "headroom costs --price-list refresh"', where=str(path), fix=fix)
    try:
        table = read_table(text, where=str(path), source=REFRESH_SOURCE)
    except InputError as error:
        raise InputError(error.what, where=error.where, fix=fix) from error
    if any(not unit.as_of for unit in table.units):
        raise InputError("has prices without a date", where=str(path), fix=fix)
    return table


def load_commitments(path: Path) -> tuple[OwnedCommitment, ...]:
    """The account's commitments.

    Raises
    ------
    InputError
        For a file that can't be read or isn't a list of them.
    """
    return parse_commitments(_read(path), where=path.name)


@lru_cache(maxsize=1)
def load_changes() -> tuple[PriceChange, ...]:
    """The embedded history of list prices, weekly from 2022-02 to 2026-07."""
    name = "gcp_price_changes.csv"
    return read_changes(_embedded(name), where=name)


def _embedded(name: str) -> str:
    """A table that came with the planner: no user's input, so that no bound is looked up for it; or that of another day in its place."""
    other = Path(os.environ.get(TABLES_VARIABLE, "")) / name
    is_other = bool(os.environ.get(TABLES_VARIABLE)) and other.is_file()
    return (other if is_other else data_folder() / "prices" / name).read_text("utf-8")


def _read(path: Path) -> str:
    return bounded_reading.read_text(path, fix="Save it as CSV in UTF-8")


def write_refreshed(path: Path, text: str) -> None:
    """Write a refreshed table in one step: a reader sees the old file or the new one, never a part.

    Raises
    ------
    SourceError
        When the file can't be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        reason = error.strerror or type(error).__name__
        raise SourceError(
            f"can't be written ({reason})", where=str(path), fix="Name another file with --out"
        ) from error
