from __future__ import annotations

from pathlib import Path

import pytest

from planner.ground.errors import InputError, SourceError
from planner.pricing.machine_price import gpu_hour_price
from planner.pricing.price_book import Component, Provisioning, UnitKey, UnitPrice
from planner.pricing.price_table_parser import format_units
from planner.sources.prices import (
    embedded_book,
    load_book,
    refreshed_file,
    write_refreshed,
)


@pytest.fixture(autouse=True)
def cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def t4(usd: float) -> str:
    key = UnitKey(component=Component.GPU, product="T4", region_id="us-central1", provisioning=Provisioning.ON_DEMAND)
    return format_units([UnitPrice(key=key, list_unit_price=usd, as_of="2026-11-20", source="Cloud Billing Catalog")])


def test_without_a_refresh_the_embedded_book_is_read() -> None:
    assert load_book() == embedded_book()


def test_the_last_refresh_lies_over_the_snapshot(cache_folder: Path) -> None:
    assert refreshed_file() == cache_folder / "headroom" / "gcp-prices.csv"
    write_refreshed(refreshed_file(), t4(0.30))
    book = load_book()
    assert book.as_of == "2026-11-20"
    assert "2026-07-16" in book.source
    assert gpu_hour_price(book, "T4", "us-central1").usd_per_hour == 0.30
    assert gpu_hour_price(book, "T4", "us-central1", Provisioning.SPOT).as_of == "2026-07-16"
    assert embedded_book().as_of == "2026-07-16"


def test_own_prices_lie_over_the_refresh(tmp_path: Path) -> None:
    write_refreshed(refreshed_file(), t4(0.30))
    own = tmp_path / "own.csv"
    own.write_text("gpu_model,region,ondemand_usd_per_gpu_hour\nT4,us-central1,0.25\n", encoding="utf-8")
    assert gpu_hour_price(load_book([own]), "T4", "us-central1").usd_per_hour == 0.25


def test_a_damaged_refresh_says_how_to_fix_it() -> None:
    write_refreshed(refreshed_file(), "component,product\n")
    with pytest.raises(InputError, match="headroom costs --price-list refresh"):
        load_book()


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: can't be read"):
        load_book([tmp_path / "none.csv"])
    with pytest.raises(InputError, match="can't be read"):
        load_book(refreshed=tmp_path / "none.csv")
    latin = tmp_path / "latin.csv"
    latin.write_bytes("machine_type,region,total_spot\nx,a,1 €\n".encode("cp1252"))
    with pytest.raises(InputError, match="not UTF-8"):
        load_book([latin])


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (target / "inside").mkdir(parents=True)
    with pytest.raises(SourceError, match="--out"):
        write_refreshed(target, "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]
