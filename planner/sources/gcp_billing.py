"""Lists SKUs of Compute Engine from the Cloud Billing Catalog, through google-cloud-billing over REST.

About 32,200 SKUs in seven pages of 5,000 (autumn 2026), some tens of megabytes: for ``headroom costs --price-list refresh`` only,
never while a page is being drawn. List prices need no IAM role: an API key or any Google credentials will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from planner.ground.errors import SourceError
from planner.pricing.gcp_skus import Sku, TieredRate

if TYPE_CHECKING:
    from google.cloud.billing_v1 import CloudCatalogClient

COMPUTE_ENGINE: Final = "services/6F81-5844-456A"
PAGE_SIZE: Final = 5000  # the API's largest
LARGEST_PAGES: Final = 200  # a million SKUs: thirty times what there is

_NO_CREDENTIALS: Final = (
    'Give an API key (--api-key, or HEADROOM_BILLING_API_KEY), or run "gcloud auth application-default login"'
)


def list_skus(
    *, api_key: str = "", endpoint: str = "", timeout_seconds: float = 120.0, retry_seconds: float = 120.0
) -> Iterator[Sku]:
    """All SKUs of Compute Engine, page by page.

    Parameters
    ----------
    api_key : str
        Without one, Application Default Credentials are used.
    endpoint : str
        Another server than cloudbilling.googleapis.com, asked without credentials if no key is given.
    timeout_seconds : float
        For one page.
    retry_seconds : float
        How long a page is asked for again after 429, 500, 502, 503 or 504, or where the connection broke within it, with growing pauses
        from one second on.

    Raises
    ------
    SourceError
        Whenever the catalog can't be read to its end; SKUs given until then are a part and must not be used.
    """
    # Imported here: google-cloud-billing takes a second to load.
    import requests
    from google.api_core import exceptions, retry
    from google.auth.exceptions import GoogleAuthError
    from google.protobuf import json_format  # type: ignore[import-untyped]

    is_busy = retry.if_exception_type(
        exceptions.TooManyRequests,
        exceptions.InternalServerError,
        exceptions.BadGateway,
        exceptions.ServiceUnavailable,
        exceptions.GatewayTimeout,
    )
    again = retry.Retry(
        predicate=lambda error: is_busy(error) or _broke_off(error),
        initial=min(1.0, retry_seconds / 10),
        maximum=30.0,
        timeout=retry_seconds,
    )
    where = endpoint or "the Cloud Billing Catalog"
    try:
        yield from _pages(_client(api_key, endpoint), again, timeout_seconds, where)
    except GoogleAuthError as error:
        raise SourceError("no Google credentials can be used", where=where, fix=_NO_CREDENTIALS) from error
    except exceptions.RetryError as error:
        cause = f": {_reason(error.cause)}" if error.cause else ""
        is_break = error.cause is not None and _broke_off(error.cause)
        raise SourceError(
            f"it {'stopped answering' if is_break else 'refused'} for {retry_seconds:g} seconds{cause}",
            where=where,
            fix="Try again in a few minutes",
        ) from error
    except exceptions.GoogleAPICallError as error:
        is_key = error.code in (400, 401, 403)
        fix = "Check the API key, and that the Cloud Billing API is enabled in its project" if is_key else "Try again"
        raise SourceError(f"it answered {_reason(error)}", where=where, fix=fix) from error
    except requests.RequestException as error:
        raise SourceError(
            f"it can't be reached, or stopped answering ({type(error).__name__})",
            where=where,
            fix="Check the network and its proxy, then try again",
        ) from error
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise SourceError("its answer is cut off or not JSON", where=where, fix="Try again") from error


def _client(api_key: str, endpoint: str) -> CloudCatalogClient:
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.billing_v1 import CloudCatalogClient

    options = {**({"api_key": api_key} if api_key else {}), **({"api_endpoint": endpoint} if endpoint else {})}
    anonymous = AnonymousCredentials() if endpoint and not api_key else None  # type: ignore[no-untyped-call]
    client = CloudCatalogClient(credentials=anonymous, transport="rest", client_options=options)
    # The API redirects nowhere; a key in a header of ours would go along to whatever host an answer names.
    transport: Any = client.transport
    transport._session.max_redirects = 0
    return client


def _broke_off(error: BaseException) -> bool:
    """Whether the connection was there and broke: then the page is asked for again. One that can't be made stays away."""
    from requests import ConnectionError as Unreachable
    from requests.exceptions import ChunkedEncodingError
    from urllib3.exceptions import NewConnectionError

    cause = getattr(error.args[0], "reason", None) if error.args else None
    is_made = isinstance(error, Unreachable) and not isinstance(cause, NewConnectionError)
    return isinstance(error, ChunkedEncodingError) or is_made


def _pages(client: CloudCatalogClient, again: Any, timeout_seconds: float, where: str) -> Iterator[Sku]:
    request = {"parent": COMPUTE_ENGINE, "page_size": PAGE_SIZE, "currency_code": "USD"}
    pager = client.list_skus(request=request, retry=again, timeout=timeout_seconds)
    seen_skus: set[str] = set()
    for page in pager.pages:
        raw = type(page).pb(page)  # the plain message: its fields are read ten times as fast
        if not seen_skus:
            _check_currency(raw.skus, where)
        for sku in raw.skus:
            yield _sku(sku)
        if raw.next_page_token in seen_skus or len(seen_skus) > LARGEST_PAGES:
            raise SourceError("its pages have no end", where=where, fix="Try again later")
        seen_skus.add(raw.next_page_token)


def _check_currency(skus: Any, where: str) -> None:
    """A list of another currency's prices is told at once: none of them is taken."""
    currencies = {rate.currency_code for sku in map(_sku, skus) for rate in sku.rates}
    if currencies and "USD" not in currencies:
        what = f"its prices are in {', '.join(sorted(currencies))}, and US dollars were asked for"
        raise SourceError(what, where=where, fix="Ask the Cloud Billing Catalog itself, without --endpoint")


def _sku(raw: Any) -> Sku:
    # "A timeline in chronological order": the last entry is in force. Its effective time is the time of the query.
    expression = raw.pricing_info[-1].pricing_expression if raw.pricing_info else None
    return Sku(
        sku_id=raw.sku_id,
        description=raw.description,
        resource_family=raw.category.resource_family,
        resource_group=raw.category.resource_group,
        usage_type=raw.category.usage_type,
        service_regions=tuple(raw.service_regions),
        usage_unit=expression.usage_unit if expression is not None else "",
        rates=tuple(
            TieredRate(
                start_usage_amount=rate.start_usage_amount,
                currency_code=rate.unit_price.currency_code,
                units=rate.unit_price.units,
                nanos=rate.unit_price.nanos,
            )
            for rate in (expression.tiered_rates if expression is not None else ())
        ),
    )


def _reason(error: BaseException) -> str:
    """An API error as "429 Quota exceeded", without the address it was asked at."""
    code = getattr(error, "code", None)
    message = str(getattr(error, "message", "") or type(error).__name__)
    text = message.partition(": ")[2] if "://" in message else message
    return f"{int(code)} {text[:200]}" if code else text[:200]
