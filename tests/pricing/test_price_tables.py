"""Own price tables: what is read, and the sentence for everything that can't be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import InputError
from planner.pricing.cloud_price_lists import read_list
from planner.pricing.price_book import Component, PricingCategory, Provisioning, UnitKey, UnitPrice
from planner.pricing.price_table_parser import age_days, age_warning, format_units, read_table
from planner.sources.prices import TABLES, embedded_book, snapshot_as_of, snapshot_source
from planner.sources.shipped_files import data_folder
from tests.pricing.books import own_table
from tests.seen import may_refuse

DAY = 86_400.0
JULY_16 = 1_784_160_000.0  # 2026-07-16T00:00:00Z


def test_a_row_of_the_snapshot_can_be_copied() -> None:
    table = own_table(
        "machine_type,family,vcpus,memory_gib,gpu_model,gpu_count,local_ssd_gib,region,offered,gpu_zones,host_ondemand,"
        "host_spot,gpu_each_ondemand,gpu_each_spot,local_ssd_ondemand,local_ssd_spot,total_ondemand,total_spot,"
        "total_cud_1y,total_cud_3y,source,check,as_of\n"
        'g2-standard-8,g2,8,32,L4,1,0,asia-northeast3,yes,asia-northeast3-a,0.37702,,0.7192,,0,0,1.0,,,,me,"a, b",2026-11-01\n'
    )
    (row,) = table.machines.values()
    assert row.total_usd_per_hour == {"on-demand": 1.0}
    assert row.as_of == "2026-11-01"
    assert row.notes == ("a, b",)


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "own.csv", "is empty"),
        ("\n\n", "own.csv", "is empty"),
        ("machine_type,region,total_spot\n\n", "own.csv", "no prices"),
        ("a,b\n1,2\n", "own.csv", "not those of a price table"),
        ("machine_type,region\nx,y\n", "own.csv", "not those of a price table"),
        ("machine_type;region;total_spot\nx;y;1\n", "own.csv", "not separated by commas"),
        ("machine_type,region,total_spot,total_ondemnad\nx,y,1,2\n", "line 1", 'Did you mean "total_ondemand"'),
        ("region,ondemand_usd_per_gib_month,region\na,1,b\n", "line 1", "two columns"),
        ("machine_type,region,total_spot\nx,us-central1,0\n", "line 2, column total_spot", "0 is not a price"),
        ("machine_type,region,total_spot\nx,us-central1,-1\n", "line 2, column total_spot", "not a number"),
        ("machine_type,region,total_spot\nx,us-central1,nan\n", "line 2, column total_spot", "not a number"),
        ("machine_type,region,total_spot\nx,us-central1,inf\n", "line 2, column total_spot", "not a number"),
        ("machine_type,region,total_spot\nx,us-central1,1_0\n", "line 2, column total_spot", "not a number"),
        ("machine_type,region,total_spot\nx,us-central1,$1\n", "line 2, column total_spot", "not a number"),
        ('machine_type,region,total_spot\nx,us-central1,"1,2"\n', "line 2, column total_spot", "with a point"),
        ("machine_type,region,total_spot\nx,us-central1,1e99\n", "line 2, column total_spot", "out of range"),
        ("machine_type,region,gpu_model,gpu_count,gpu_each_spot,total_spot\nx,a,L4,2,0.6,1.0\n", "column total_spot", "GPUs and local SSD cost 1.2"),
        ("machine_type,region,total_spot\nx,us-central1,\n", "line 2", "has no price"),
        ("machine_type,region,total_spot\n,us-central1,1\n", "line 2, column machine_type", "is empty"),
        ("machine_type,region,total_spot\nx,us-central1-a,1\n", "line 2, column region", "is a zone"),
        ("machine_type,region,total_spot\nx,Seoul,1\n", "line 2, column region", "not a region"),
        ("machine_type,region,total_spot\nx,us-central1\n", "line 2", "has not 3 cells"),
        ("machine_type,region,total_spot\nx,us-central1,1,2\n", "line 2", "has not 3 cells"),
        ("machine_type,region,total_spot\nx,a,1\ny,a,1\nx,a,2\n", "line 4", "was priced in line 2 already"),
        ("machine_type,region,total_spot,billing_currency\nx,a,1,EUR\n", "column billing_currency", "EUR"),
        ("machine_type,region,total_spot,as_of\nx,a,1,yesterday\n", "column as_of", "is not a date"),
        ('machine_type,region,total_spot\n"x,a,1\n', "own.csv", "is not CSV"),
        ("component,product,region_id,provisioning,list_unit_price\ncpu,n1,a,spot,1\n", "column component", "not a component"),
        ("component,product,region_id,provisioning,list_unit_price\ncore,n1,a,cheap,1\n", "column provisioning", "not a way to buy"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_with_the_place(text: str, where: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        own_table(text)
    assert where in str(caught.value)
    assert what in str(caught.value)


def test_spaces_blank_lines_and_a_byte_order_mark_are_no_trouble() -> None:
    table = own_table("\ufeffmachine_type , region,total_spot\r\n\r\n x , us-central1 , 1.5 \r\n")
    assert list(table.machines) == ["x us-central1"]
    assert table.machines["x us-central1"].total_usd_per_hour == {"spot": 1.5}


@given(st.text(max_size=200))
def test_any_text_is_a_table_or_an_input_error(text: str) -> None:
    for candidate in (text, f"machine_type,region,total_spot\n{text}"):
        with may_refuse(InputError):
            assert own_table(candidate).machines


def test_unit_prices_survive_being_written() -> None:
    """What a refresh writes is read back as it was, to the last digit."""
    units = [
        UnitPrice(
            key=UnitKey(component=component, product=product, region_id="us-central1", provisioning=bought),
            list_unit_price=price,
            as_of="2026-11-20",
            source="here",
            sku_id="A-B",
            note='a "note", with all',
        )
        for component, product, bought, price in [
            (Component.CORE, "n1", Provisioning.ON_DEMAND, 0.0316110000001),
            (Component.GPU, "T4", Provisioning.FLEX_START, 1 / 3),
            (Component.LOCAL_SSD, "local-ssd", Provisioning.SPOT, 5e-05),
        ]
    ]
    table = read_table(format_units(units), where="x", source="there")
    assert sorted(table.units, key=str) == sorted(units, key=str)


def test_equal_books_have_equal_digests() -> None:
    assert own_table("region,spot_usd_per_gib_month\na,1\n").digest == own_table("region,spot_usd_per_gib_month\na,1\n").digest  # fmt: skip
    assert own_table("region,spot_usd_per_gib_month\na,1\n").digest != own_table("region,spot_usd_per_gib_month\na,2\n").digest  # fmt: skip


def test_books_are_equal_when_made_of_the_same() -> None:
    book = embedded_book()
    assert book.with_discounts({}) == book
    cheaper = book.with_discounts({PricingCategory.STANDARD: 0.1, PricingCategory.DYNAMIC: 0.2})
    assert cheaper != book
    assert cheaper == book.with_discounts({PricingCategory.DYNAMIC: 0.2, PricingCategory.STANDARD: 0.1})
    assert len({book, cheaper, book.with_discounts({})}) == 2


def test_prices_grow_old_in_two_weeks() -> None:
    assert age_days("2026-07-16", JULY_16) == 0
    assert age_days("2026-07-16", JULY_16 - 5 * DAY) == 0  # a clock that is behind
    assert age_days("2026-07-16", JULY_16 + 1.5 * DAY) == 1.5
    assert age_warning("2026-07-16", JULY_16 + 14.9 * DAY) == ""
    assert "15 days old" in age_warning("2026-07-16", JULY_16 + 15 * DAY)


def test_the_embedded_book_is_dated_and_in_dollars() -> None:
    book = embedded_book()
    assert book.as_of == "2026-07-16"
    assert book.billing_currency == "USD"
    assert len({row.region_id for row in book.machines.values()}) == 43
    assert all(row.as_of == "2026-07-16" for row in book.machines.values())
    assert all(unit.list_unit_price > 0 for unit in book.units.values())
    assert all(price > 0 for row in book.machines.values() for price in row.total_usd_per_hour.values())


def test_every_row_that_comes_with_the_planner_can_be_read() -> None:
    """A question reads the rows it needs; here all are read, as those of a user's own table are."""
    folder = data_folder() / "prices"
    for name in TABLES:
        text = (folder / name).read_text("utf-8")
        strict, lazy = (
            read_table(text, where=name, source=snapshot_source(), as_of=snapshot_as_of(), is_checked=is_checked)
            for is_checked in (False, True)
        )
        assert dict(strict.machines) == dict(lazy.machines)
        assert (strict.units, strict.gpu_models, strict.digest) == (lazy.units, lazy.gpu_models, lazy.digest)
        assert all(key == row.key for key, row in lazy.machines.items())
        assert list(lazy.machines) == list(strict.machines)
        assert "n1-standard-4 nowhere" not in lazy.machines
        assert "nothing us-central1" not in lazy.machines
    for price_list in embedded_book().lists:
        assert price_list == read_list(
            price_list.text, where=price_list.seller, seller=price_list.seller, source=price_list.source
        )
