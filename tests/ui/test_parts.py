"""Prices that are gone, a part that fails: the page says what is missing and shows the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from planner.figures import review_first_page
from planner.ground.errors import InputError
from planner.sources import prices
from planner.ui import session_prices
from tests.pages.visiting import said, visit


def fail(*_: Any, **__: Any) -> NoReturn:
    raise ZeroDivisionError


@pytest.fixture
def no_prices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def gone(*_: Any, **__: Any) -> NoReturn:
        raise InputError("can't be read: no such file or directory", where="gcp_prices.csv", fix="Check the path")

    session_prices._refreshed.clear()
    monkeypatch.setattr(prices, "load_book", gone)
    yield
    session_prices._refreshed.clear()


def test_a_part_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_first_page, "supplies_of", fail)
    app = visit("overview")
    words = said(app)
    assert "△ Missing" in words
    assert "How many pods wait for a node, and for how many GPUs. Headroom failed here (ZeroDivisionError)" in words
    assert "Workloads" in [one.value for one in app.header]
    assert "Our mistake" not in words


def test_prices_that_are_gone(no_prices: None) -> None:
    app = visit("overview")
    words = said(app)
    assert "gcp_prices.csv" in words
    assert "Workloads" in [one.value for one in app.header]
    assert "5 of 20 workloads would get stuck." in words
