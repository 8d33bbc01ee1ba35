"""Rows of FOCUS against the specification's own columns (`focus/`, v1.2), and its rules on nulls, one by one."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from planner.kubernetes.object_records import Snapshot
from planner.pricing.focus_export import COLUMNS, OWN, unfilled
from planner.pricing.owned_commitments import parse_commitments
from planner.pricing.price_book import PriceBook, PricingCategory
from planner.pricing.projected_bill import bill
from planner.questions.costs import QUESTION
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders import aks, eks
from tests.pricing.books import book_with
from tests.seen import each, premise

Row = dict[str, Any]
SPEC: Final = {
    row["column"]: row
    for row in csv.DictReader((Path(__file__).parent / "focus" / "columns_1_2.csv").read_text().splitlines())
}
UNTOLD: Final = {"BillingAccountId"}
"""Never null in the specification, and nothing in a cluster tells it: said beside the file."""
UTC: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
COMMITMENTS: Final = (
    "machine_type,region,nodes,term,usd_per_hour,id\nn1-standard-8,asia-northeast3,8,3y,0.40,seoul\n"
    "a2-highgpu-4g,asia-northeast3,1,1y,,\n"
)


def is_of(**wanted: str | None) -> Callable[[Row], bool]:
    return lambda row: all(row[name] == value for name, value in wanted.items())


def has(name: str) -> Callable[[Row], bool]:
    return lambda row: row[name] is not None


def is_used(row: Row) -> bool:
    return bool(row["ChargeCategory"] == "Usage" and row["CommitmentDiscountStatus"] != "Unused")


# "X MUST be null when not …, and MUST NOT be null when …": of each column's file, for charges that are no corrections
NOT_NULL_JUST_WHEN: Final[dict[str, Callable[[Row], bool]]] = {
    "CommitmentDiscountCategory": has("CommitmentDiscountId"),
    "CommitmentDiscountName": has("CommitmentDiscountId"),
    "CommitmentDiscountQuantity": has("CommitmentDiscountId"),
    "CommitmentDiscountStatus": lambda row: row["CommitmentDiscountId"] is not None and row["ChargeCategory"] == "Usage",
    "CommitmentDiscountType": has("CommitmentDiscountId"),
    "CommitmentDiscountUnit": has("CommitmentDiscountQuantity"),
    "ConsumedQuantity": is_used,
    "ConsumedUnit": has("ConsumedQuantity"),
    "PricingUnit": has("PricingQuantity"),
    "RegionName": has("RegionId"),
    "ResourceType": has("ResourceId"),
    "BillingAccountType": has("BillingAccountId"),
    "CapacityReservationStatus": has("CapacityReservationId"),
    "SubAccountName": has("SubAccountId"),
    "SubAccountType": has("SubAccountId"),
}  # fmt: skip
# of usage and purchases, which all of ours are
NEVER_NULL: Final = (
    "ContractedUnitPrice", "ListUnitPrice", "PricingCategory", "PricingCurrency", "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyEffectiveCost", "PricingCurrencyListUnitPrice", "PricingQuantity",
)  # fmt: skip
NULL_WITHOUT: Final = {"SkuMeter": "SkuId", "SkuPriceDetails": "SkuPriceId"}


AMAZON: Final = "machine_type,region,total_ondemand\nm5.large,eu-west-1,0.107\ng5.xlarge,eu-west-1,1.123\n"


def rows_of(snapshot: Snapshot, book: PriceBook | None = None) -> list[Row]:
    return [dict(row) for row in QUESTION.rows(bill(book or embedded_book(), snapshot), "focus")]


@pytest.fixture(scope="module", params=["demo", "commitments", "discounts", "eks", "aks"])
def rows(request: pytest.FixtureRequest) -> list[Row]:
    if request.param == "commitments":
        return rows_of(demo.read(), embedded_book().with_commitments(parse_commitments(COMMITMENTS, where="owned.csv")))
    if request.param == "discounts":
        return rows_of(
            demo.read(), embedded_book().with_discounts({PricingCategory.STANDARD: 0.15, PricingCategory.DYNAMIC: 0.05})
        )
    if request.param == "eks":  # Amazon's prices come with nobody's book: given, as a user gives them
        return rows_of(eks.snapshot(), book_with(AMAZON))
    return rows_of({"demo": demo.read, "aks": aks.snapshot}[request.param]())


def test_the_columns_are_those_of_the_specification() -> None:
    assert set(SPEC) == set(COLUMNS)
    assert len(SPEC) == 57
    assert all(name.startswith("x_") for name in OWN)


def test_each_value_has_its_type_and_form(rows: list[Row]) -> None:
    for row in each(rows):
        assert set(row) == {*COLUMNS, *OWN}
        for name, told in SPEC.items():
            value = row[name]
            if value is None:
                assert told["allows_nulls"] == "True" or name in UNTOLD | {"BillingAccountType"}, name
                continue
            if told["data_type"] == "Decimal":
                assert isinstance(value, int | float), name
            elif told["data_type"] == "JSON":
                assert isinstance(json.loads(value), dict)
            else:
                assert isinstance(value, str), name
                assert value == value.strip() != "", name
            if told["data_type"] == "Date/Time":
                assert UTC.match(value), name
            if told["value_format"] == "Currency Format":
                assert value == "USD"
            if told["allowed_values"]:
                assert value in told["allowed_values"].split("|"), name


def test_nulls_are_where_the_specification_wants_them(rows: list[Row]) -> None:
    for row in each(rows):
        for name, is_wanted in NOT_NULL_JUST_WHEN.items():
            assert (row[name] is not None) == is_wanted(row), f"{name}: {row['ChargeDescription']}"
        assert [name for name in NEVER_NULL if row[name] is None] == []
        assert [name for name, other in NULL_WITHOUT.items() if row[name] is not None and row[other] is None] == []
        assert row["ChargeClass"] is None
        assert row["ResourceName"] is not None


def test_a_unit_price_times_a_quantity_is_the_cost(rows: list[Row]) -> None:
    for row in each(rows):
        for kind in ("List", "Contracted"):
            product = row[f"{kind}UnitPrice"] * row["PricingQuantity"]
            assert product == pytest.approx(row[f"{kind}Cost"], abs=2e-6), row["ChargeDescription"]


def test_a_commitment_s_purchase_is_what_its_use_costs(rows: list[Row]) -> None:
    """ "The sum of EffectiveCost where ChargeCategory is Usage MUST equal the sum of BilledCost where it is Purchase"; what is
    bought is what is used and what isn't."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in each(rows):
        if row["CommitmentDiscountId"] is not None:
            own = sums[row["CommitmentDiscountId"]]
            kind = row["ChargeCategory"]
            own[f"{kind} hours"] += row["CommitmentDiscountQuantity"]
            own[kind] += row["BilledCost" if kind == "Purchase" else "EffectiveCost"]
            if kind == "Purchase":
                assert (row["PricingCategory"], row["EffectiveCost"], row["ChargeFrequency"]) == (
                    "Standard",
                    0,
                    "Recurring",
                )
            else:
                assert (row["PricingCategory"], row["BilledCost"]) == ("Committed", 0)
    for own in sums.values() if premise(sums) else ():
        assert own["Usage"] == pytest.approx(own["Purchase"], abs=0.006)
        assert own["Usage hours"] == pytest.approx(own["Purchase hours"], abs=0.05)  # a cent is 0.025 h


def test_the_periods_are_a_calendar_month_and_the_row_says_that_it_is_a_projection(rows: list[Row]) -> None:
    for row in each(rows):
        assert row["BillingPeriodStart"][8:] == "01T00:00:00Z" == row["BillingPeriodEnd"][8:]
        assert (row["ChargePeriodStart"], row["ChargePeriodEnd"]) == (
            row["BillingPeriodStart"],
            row["BillingPeriodEnd"],
        )
        assert row["x_Projection"].startswith("730 hours at the state of 20")


def test_what_must_not_be_null_and_is_is_said() -> None:
    said = unfilled(bill(embedded_book(), demo.read()))
    assert set(said) >= UNTOLD | {"SkuId", "SkuPriceId"}
