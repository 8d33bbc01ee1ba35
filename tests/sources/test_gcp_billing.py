"""The Billing Catalog's client against a local server that speaks its REST wire format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.ground.errors import SourceError
from planner.pricing.gcp_skus import Sku
from planner.pricing.price_refresh_rules import check_coverage, compare_catalogue
from planner.sources.gcp_billing import list_skus
from planner.sources.prices import embedded_book
from tests.ports import dead
from tests.pricing.catalogue import as_sku, catalogue_of, wire_sku
from tests.sources.billing_server import Answer, Asked, billing_server, error, page, paged

T4 = wire_sku("Nvidia Tesla T4 GPU running in Americas", 0.35, group="GPU", sku_id="49C6-9328-AC0B")
A100 = wire_sku("Nvidia Tesla A100 GPU running in Americas", 2.933908, group="GPU", sku_id="039F-D0DA-4055")


def read(url: str, **more: float) -> list[Sku]:
    return list(list_skus(endpoint=url, **{"retry_seconds": 0.5, "timeout_seconds": 20.0, **more}))  # type: ignore[arg-type]


def test_every_page_is_read_with_what_the_api_wants() -> None:
    wire = catalogue_of(embedded_book())
    with billing_server(paged(wire, 100)) as server:
        skus = read(server.url)
    assert skus == [as_sku(sku) for sku in wire]
    assert len(server.asked) == -(-len(wire) // 100)
    assert {asked.path for asked in server.asked} == {"/v1/services/6F81-5844-456A/skus"}
    assert all(asked.query["currencyCode"] == ["USD"] and asked.query["pageSize"] == ["5000"] for asked in server.asked)
    assert "pageToken" not in server.asked[0].query
    assert server.asked[1].query["pageToken"] == ["AAA100"]
    result = compare_catalogue(embedded_book(), skus, as_of="2026-11-20", source="test")
    check_coverage(embedded_book(), result)
    assert not result.disagreements


def test_an_api_key_goes_into_a_header() -> None:
    with billing_server(paged([T4], 10)) as server:
        skus = list(list_skus(api_key="k-123", endpoint=server.url))
    assert skus[0].rates[0].unit_price == 0.35
    headers = {name.lower(): value for name, value in server.asked[0].headers.items()}
    assert headers["x-goog-api-key"] == "k-123"
    assert "key" not in server.asked[0].query


def test_whole_dollars_and_missing_fields_are_read() -> None:
    bare = {"skuId": "X", "description": "nothing else"}
    with billing_server(paged([A100, bare], 10)) as server:
        first, second = read(server.url)
    assert (first.rates[0].units, first.rates[0].nanos) == (2, 933_908_000)
    assert first.service_regions == ("us-central1",)
    assert second.rates == ()
    assert second.usage_unit == ""


def test_the_last_entry_of_the_timeline_counts() -> None:
    sku = wire_sku("Nvidia Tesla T4 GPU running in Americas", 0.35, group="GPU")
    older = wire_sku("Nvidia Tesla T4 GPU running in Americas", 0.95, group="GPU")
    sku["pricingInfo"] = [*older["pricingInfo"], *sku["pricingInfo"]]
    with billing_server(paged([sku], 10)) as server:
        assert read(server.url)[0].rates[0].unit_price == 0.35


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_refused_page_is_asked_for_again(code: int) -> None:
    def answer(number: int, asked: Asked) -> Answer:
        if number == 1:
            return error(code, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Requests'")
        return page([A100], "") if "pageToken" in asked.query else page([T4], "AAA1")

    with billing_server(answer) as server:
        assert [sku.sku_id for sku in read(server.url, retry_seconds=30.0)] == ["49C6-9328-AC0B", "039F-D0DA-4055"]
    assert len(server.asked) == 3


def test_the_key_goes_to_no_other_host() -> None:
    """A redirect isn't followed: its target is asked for nothing."""
    with (
        billing_server(paged([T4], 10)) as other,
        billing_server(lambda *_: (302, b"", {"Location": f"{other.url}/v1/services"})) as server,
        pytest.raises(SourceError, match="can't be reached, or stopped answering"),
    ):
        list(list_skus(api_key="k-123", endpoint=server.url, retry_seconds=0.5))
    assert len(server.asked) == 1
    assert not other.asked


def test_a_page_that_breaks_off_is_asked_for_again() -> None:
    def answer(number: int, asked: Asked) -> Answer:
        status, body, headers = page([T4], "")
        return status, body, {"Content-Length": str(len(body) + 100)} if number == 0 else headers

    with billing_server(answer) as server:
        assert [sku.sku_id for sku in read(server.url, retry_seconds=30.0)] == ["49C6-9328-AC0B"]
    assert len(server.asked) == 2


def test_a_list_in_euros_says_so() -> None:
    euros = json.loads(json.dumps(T4).replace("USD", "EUR"))
    with billing_server(paged([euros], 10)) as server, pytest.raises(SourceError, match="in EUR, and US dollars"):
        read(server.url)
    with billing_server(paged([euros, T4], 10)) as server:
        assert len(read(server.url)) == 2, "some in dollars: the others are left out one by one"


def test_a_server_that_keeps_refusing_is_given_up() -> None:
    with (
        billing_server(lambda *_: error(429, "RESOURCE_EXHAUSTED", "Quota exceeded")) as server,
        pytest.raises(SourceError, match=r"refused for 0\.2 seconds: 429 Quota exceeded"),
    ):
        read(server.url, retry_seconds=0.2)


@pytest.mark.parametrize(
    ("code", "status", "message", "fix"),
    [
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "Check the API key"),
        (403, "PERMISSION_DENIED", "Cloud Billing API has not been used in project 1", "API is enabled"),
        (404, "NOT_FOUND", "Service not found", "Try again"),
    ],
)
def test_what_the_server_says_is_told(code: int, status: str, message: str, fix: str) -> None:
    with (
        billing_server(lambda *_: error(code, status, message)) as server,
        pytest.raises(SourceError) as caught,
    ):
        read(server.url)
    assert f"{code} {message}" in str(caught.value)
    assert fix in caught.value.fix
    assert "enum-encoding" not in str(caught.value)


def test_a_key_that_is_refused_is_an_error() -> None:
    message = "Request is missing required authentication credential."
    with (
        billing_server(lambda *_: error(401, "UNAUTHENTICATED", message)) as server,
        pytest.raises(SourceError, match="API key"),
    ):
        list(list_skus(api_key="k-123", endpoint=server.url))


def test_a_key_is_never_shown() -> None:
    with (
        billing_server(lambda *_: error(400, "INVALID_ARGUMENT", "API key not valid.")) as server,
        pytest.raises(SourceError) as caught,
    ):
        list(list_skus(api_key="secret-key", endpoint=server.url))
    assert "secret-key" not in str(caught.value)


@pytest.mark.parametrize("second", [b'{"skus": [{"skuId": "A', b"<html>busy</html>", b"", b'{"skus": 1}', b"\xff\xfe"])
def test_an_answer_that_is_cut_off_is_an_error_not_a_short_catalogue(second: bytes) -> None:
    def answer(number: int, _: Asked) -> Answer:
        return page([T4], "AAA1") if number == 0 else (200, second, {})

    with billing_server(answer) as server, pytest.raises(SourceError, match="cut off or not JSON"):
        read(server.url)


def test_a_connection_that_breaks_off_is_an_error() -> None:
    def answer(number: int, _: Asked) -> Answer:
        status, body, _headers = page([T4])
        return status, body, {"Content-Length": str(len(body) + 1000)}

    with billing_server(answer) as server, pytest.raises(SourceError, match="stopped answering"):
        read(server.url)


def test_a_dead_server_is_an_error() -> None:
    with dead() as refusing, pytest.raises(SourceError, match="can't be reached"):
        read(f"http://127.0.0.1:{refusing.getsockname()[1]}")


def test_pages_without_end_are_an_error() -> None:
    with billing_server(lambda *_: page([T4], "AAA1")) as server, pytest.raises(SourceError, match="have no end"):
        read(server.url)
    assert len(server.asked) == 2


def test_without_any_credentials_the_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(SourceError, match="--api-key"):
        list(list_skus())
