from __future__ import annotations

import pytest

from planner.ground.errors import InputError
from planner.pricing.price_book import PriceChange
from planner.pricing.price_history import discount_series, read_changes
from planner.sources.prices import embedded_book, load_changes

BOOK = embedded_book()


def change(day: str, demand: float, spot: float | None, *, region: str = "us-central1", machine: str = "g2-standard-4") -> PriceChange:  # fmt: skip
    return PriceChange(
        observed_on=day,
        machine_type=machine,
        region_id=region,
        on_demand_usd_per_hour=demand,
        spot_usd_per_hour=spot,
    )


def test_a_series_changes_where_the_discount_changes() -> None:
    rows = [
        change("2024-01-01", 1.0, None),
        change("2024-02-01", 1.0, 0.4),
        change("2024-03-01", 1.0, 0.5, region="europe-west4"),
        change("2024-04-01", 2.0, 1.0, region="europe-west4"),  # the price doubled, the discount did not change
        change("2024-05-01", 1.0, 0.5),
    ]
    (series,) = discount_series(rows, BOOK)
    assert series.name == "L4"
    assert series.observed_until == "2024-05-01"
    shown = [
        (point.observed_on, point.lowest, point.median, point.highest, point.region_count) for point in series.points
    ]
    assert shown == [
        ("2024-02-01", 0.6, 0.6, 0.6, 1),
        ("2024-03-01", 0.5, 0.55, 0.6, 2),
        ("2024-05-01", 0.5, 0.5, 0.5, 2),
    ]


def test_types_of_one_gpu_are_one_series() -> None:
    rows = [change("2024-01-01", 1.0, 0.4), change("2024-01-01", 1.0, 0.5, machine="g2-standard-8")]
    assert [series.name for series in discount_series(rows, BOOK)] == ["L4"]


def test_types_a_region_does_not_offer_are_left_out() -> None:
    """Seoul has SKU prices for A100-80GB at 78 % off, and no such machine."""
    rows = load_changes()
    series = {found.name: found for found in discount_series(rows, BOOK)}
    assert "asia-northeast3" not in series["A100-80GB"].region_ids
    assert "asia-northeast3" not in series["H100"].region_ids


def test_the_recorded_history_shows_the_fall_of_the_discount() -> None:
    series = {found.name: found for found in discount_series(load_changes(), BOOK)}
    assert {"L4", "A100", "A100-80GB", "H100", "H100-MEGA", "RTX-PRO-6000"} <= set(series)
    of_iowa = [one for one in load_changes() if one.region_id == "us-central1"]
    l4 = {found.name: found for found in discount_series(of_iowa, BOOK)}["L4"]
    assert l4.points[0].median == pytest.approx(0.70, abs=0.01)  # 2023-05-08: 0.21205 of 0.706832
    assert l4.points[-1].median < 0.50
    assert list(series)[:6] == sorted(list(series)[:6])
    assert all(
        0 < point.lowest <= point.median <= point.highest < 1 for found in series.values() for point in found.points
    )


def test_every_change_is_read() -> None:
    changes = load_changes()
    assert len(changes) == 867
    assert changes[0].observed_on >= "2022-02-09"


@pytest.mark.parametrize(
    "text",
    [
        "observed_on,machine_type,region,total_ondemand\n2024-01-01,x,y,1\n",
        "observed_on,machine_type,region,total_ondemand,total_spot\n2024-01-01,x,y,,1\n",
        "observed_on,machine_type,region,total_ondemand,total_spot\n2024-01-01,x,y,a,1\n",
    ],
)
def test_a_damaged_history_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="line 2"):
        read_changes(text, where="h.csv")
