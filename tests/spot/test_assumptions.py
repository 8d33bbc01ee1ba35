from dataclasses import fields
from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.spot.assumptions import COUNTED, SETTINGS, Assumptions
from planner.spot.savings_columns import ASSUMPTION
from planner.spot.savings_inputs import AssumptionRow


def make(**changed: Any) -> Assumptions:
    given: dict[str, Any] = {"nodes": 6, "on_demand_usd_per_hour": 0.7, "spot_usd_per_hour": 0.3}
    return Assumptions(**given | changed)


def test_every_setting_is_an_assumption_with_the_same_default() -> None:
    defaults = {field.name: field.default for field in fields(Assumptions)}
    for setting in SETTINGS:
        assert setting.name in defaults
        if setting.assumed is not None:
            assert defaults[setting.name] == setting.assumed, setting.name
        assert setting.source
        assert setting.help


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [(1, "zones", "zone"), (1, "retries", "retry"), (2, "zones", "zones"), (0, "nodes", "nodes"), (1, "h", "h"), (None, "retries", "retries")],
)  # fmt: skip
def test_one_of_a_thing_has_the_unit_of_one(value: float | None, unit: str, said: str) -> None:
    row = AssumptionRow(name="a", label="it", value=value, unit=unit, source="the default")
    (column,) = (column for column in ASSUMPTION if column.name == "unit")
    assert column.words is not None
    assert column.words(row) == said
    assert COUNTED.keys() <= {setting.unit for setting in SETTINGS}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("availability", 1.01),
        ("availability", float("nan")),
        ("nodes", -1),
        ("hazard_high_per_hour", -1.0),
        ("late_factor", 0.5),
        ("spot_usd_per_hour", float("inf")),
        ("job_minutes", 0.0),
    ],
)
def test_value_outside_its_bounds_is_refused_by_name(name: str, value: float) -> None:
    label = next(setting.label for setting in SETTINGS if setting.name == name)
    with pytest.raises(InputError) as caught:
        make(**{name: value})
    assert caught.value.where == label
    assert caught.value.fix.startswith("Give ")


def test_rates_must_be_in_order() -> None:
    with pytest.raises(InputError, match="not in order"):
        make(hazard_low_per_hour=0.01, hazard_likely_per_hour=0.001)


@pytest.mark.parametrize("name", ["base_nodes", "needed_nodes", "committed_nodes"])
def test_part_of_the_pool_is_not_more_than_the_pool(name: str) -> None:
    with pytest.raises(InputError, match="7 of 6 nodes"):
        make(**{name: 7})


def test_commitment_needs_its_price() -> None:
    with pytest.raises(InputError, match="price isn't given"):
        make(committed_nodes=2)
    assert make(committed_nodes=2, committed_usd_per_hour=0.5).committed_usd == 2 * 0.5 * 730


def test_checkpoint_on_notice_needs_time() -> None:
    assert make(saves_on_notice=True, checkpoint_seconds=15, window_seconds=15).saves
    assert not make(saves_on_notice=True, checkpoint_seconds=16, window_seconds=15).saves
    assert not make(checkpoint_seconds=1).saves


def test_stand_in_costs_what_on_demand_does_unless_said() -> None:
    assert make().fallback_usd_per_hour == 0.7
    assert make(stand_in_usd_per_hour=0.9).fallback_usd_per_hour == 0.9
