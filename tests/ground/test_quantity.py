"""Quantities: Kubernetes' grammar, rounding and bounds."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground import quantity
from planner.ground.errors import QuantityError
from tests.seen import may_refuse

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "resource", "amount"),
    [
        ("1", "cpu", 1000),
        ("100m", "cpu", 100),
        ("0.1", "cpu", 100),
        (".5", "cpu", 500),
        ("1.", "cpu", 1000),
        ("1u", "cpu", 1),  # rounded up
        ("+2", "cpu", 2000),
        ("2", "requests.cpu", 2000),
        ("2", "limits.cpu", 2000),
        ("128Mi", "memory", 128 * 2**20),
        ("1G", "memory", 10**9),
        ("1e3", "memory", 1000),
        ("1E3", "memory", 1000),
        ("1E", "memory", 10**18),
        ("12e-1", "memory", 2),
        ("100m", "memory", 1),
        ("0", "nvidia.com/gpu", 0),
        ("-0", "nvidia.com/gpu", 0),
        ("1Ki", "pods", 1024),
        ("9Ei", "memory", LARGEST),
        ("1e99", "memory", LARGEST),
        (2, "cpu", 2000),
        (0.5, "cpu", 500),
        (4, "nvidia.com/gpu", 4),
    ],
)
def test_parse(text: str | float, resource: str, amount: int) -> None:
    assert quantity.parse(text, resource) == amount


@pytest.mark.parametrize(
    "text",
    ["", " ", "NaN", "Inf", "1K", " 5", "5 ", "5\n", "1_000", "1,5", "0x10", "1e", "e3", "1.2.3", "--1", "1Mii", "m", "١", "1e9999"],
)  # fmt: skip
def test_what_the_api_server_refuses(text: str) -> None:
    with pytest.raises(QuantityError) as refused:
        quantity.parse(text, "memory")
    assert refused.value.fix


@pytest.mark.parametrize("text", ["-1", "-1m", "-5Gi"])
def test_negative_amounts_are_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="negative"):
        quantity.parse(text, "memory")


def test_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(QuantityError) as refused:
        quantity.parse("x" * 10_000, "memory")
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("amount", "resource", "text"),
    [
        (1500, "cpu", "1500m"),
        (2000, "cpu", "2"),
        (2**30, "memory", "1Gi"),
        (2**30 + 1, "memory", str(2**30 + 1)),
        (3 * 2**40, "storage", "3Ti"),
        (0, "memory", "0"),
        (8, "nvidia.com/gpu", "8"),
        (2**21, "hugepages-2Mi", "2Mi"),
    ],
)
def test_format_amount(amount: int, resource: str, text: str) -> None:
    assert quantity.format_amount(amount, resource) == text


@given(
    st.integers(0, LARGEST), st.sampled_from(["cpu", "requests.cpu", "memory", "requests.storage", "nvidia.com/gpu"])
)
def test_what_is_formatted_parses_back(amount: int, resource: str) -> None:
    assert quantity.parse(quantity.format_amount(amount, resource), resource) == amount


@given(st.decimals(0, 10**9, places=6), st.sampled_from(["", "n", "u", "m", "k", "M", "Ki", "Mi"]))
def test_rounding_up_never_loses_and_adds_less_than_one(number: Decimal, suffix: str) -> None:
    text = f"{number}{suffix}"
    exact = quantity.parse_decimal(text)
    assert 0 <= quantity.parse(text, "memory") - exact < 1
    assert 0 <= quantity.parse(text, "cpu") - exact * 1000 < 1


@given(st.text(max_size=12))
def test_any_text_is_an_amount_or_refused(text: str) -> None:
    with may_refuse(QuantityError):
        assert 0 <= quantity.parse(text, "memory") <= LARGEST
