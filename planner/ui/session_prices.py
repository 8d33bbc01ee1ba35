"""The prices of this session: Headroom's own or refreshed ones, and the commitments that the user's account owns."""

from __future__ import annotations

import csv
import io
import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import streamlit as st

from planner.ground.errors import HeadroomError
from planner.ground.words import count, literal
from planner.kubernetes.node_properties import NO_POOL, node_pool
from planner.kubernetes.object_records import Snapshot
from planner.pricing.machine_price import ANYWHERE, OF_POOL
from planner.pricing.node_price import price_node
from planner.pricing.price_book import OwnedCommitment, PriceBook
from planner.pricing.price_table_parser import PriceTable, age_warning
from planner.sources import prices as read
from planner.ui import errors, uploads

COMMITMENTS: Final = "_commitments"  # what was given on the Money page counts on every page of the session
_OWN: Final = "_own_prices"  # of a file; by pool of one cluster
_BY_POOL: Final = "_own_prices_by_pool"
_MOST_POOLS: Final = 5  # with a field each, those with most nodes


def book() -> PriceBook:
    """The embedded prices under the last refresh, where that can't be read the embedded ones alone (`warn` says it); one's own above.

    With the account's commitments: those given in this session, else those the dashboard was started with
    (``HEADROOM_COMMITMENTS``); a file of them that can't be read is an error.
    """
    price_book, _ = _refreshed()
    own: tuple[PriceTable, ...] = (*uploads.kept(_OWN, ()), *uploads.kept(_BY_POOL, ()))
    if own:
        price_book = _with_own(tuple(price_table.digest for price_table in own), own)
    owned: tuple[OwnedCommitment, ...] = uploads.kept(COMMITMENTS, ()) or _started_with()
    return price_book.with_commitments(owned)


def warn() -> None:
    """Say that the refreshed prices can't be read, where that is so."""
    price_book, problem = _refreshed()
    if problem is not None:
        st.warning(
            f"{literal(problem.where)} {literal(problem.what)}. {literal(problem.fix)} Until then the prices of "
            f"{price_book.as_of} are used, which came with Headroom.", title="△ The refreshed prices can't be read",
        )  # fmt: skip


@st.cache_resource(ttl="6h", show_spinner="Reading prices …")
def _refreshed() -> tuple[PriceBook, HeadroomError | None]:
    """Files are read here, not on every run of a page."""
    try:
        return read.load_book(), None
    except HeadroomError as error:
        return read.embedded_book(), error


@st.cache_resource(ttl="1h", max_entries=16, show_spinner="Reading prices …")
def _with_own(digests: tuple[str, ...], _tables: tuple[PriceTable, ...]) -> PriceBook:  # noqa: ARG001 - what it is kept by
    try:
        return read.load_book(_tables)
    except HeadroomError:  # the refreshed prices, as `book` says
        return read.load_book(_tables, is_refreshed=False)


@errors.part
def ask(snapshot: Snapshot) -> None:
    """Prices of one's own: a field for each pool that has none, or files; they count on every page of the session."""
    without = snapshot.derived.once(_without_price, snapshot, book())
    is_open = bool(snapshot.nodes) and sum(without.values()) == len(snapshot.nodes)
    with st.expander("Prices of your own", icon=":material/sell:", expanded=is_open):
        uploads.ask(
            "Prices, CSV", key=_OWN, types=["csv"], most_mib=5, nothing=(), help="As headroom's --prices takes them: "
            "machine_type, region, total_ondemand, total_spot. Not part of the link; they count on every page.",
            read=lambda files: tuple(read.own_table(uploads.text_of_csv(name, content), name) for name, content in files),
        )  # fmt: skip
        if without:
            _ask_by_pool(without)
        uploads.told(_BY_POOL)


def _without_price(snapshot: Snapshot, prices: PriceBook) -> Mapping[str, int]:
    """Pool → how many of its nodes have no price."""
    return Counter(node_pool(node) for node in snapshot.nodes if price_node(prices, node).usd_per_hour is None)


def _ask_by_pool(without: Mapping[str, int]) -> None:
    most = sorted(without, key=lambda pool: (-without[pool], pool))[:_MOST_POOLS]
    typed: dict[str, tuple[float | None, ...]] = {}
    with st.form("own-prices", border=False):
        st.caption("Of one node, USD an hour; what stays empty has no price.")
        with st.grid(min_column_width=110, gap="small"):
            for pool in most:
                name, nodes = literal(pool or NO_POOL), count(without[pool], "node")
                typed[pool] = tuple(
                    st.number_input(f"{name}, {how}", min_value=0.0, value=None, format="%.4f", help=nodes, key=f"_price {how} {pool}")
                    for how in ("on demand", "on spot")
                )  # fmt: skip
        is_given = st.form_submit_button("Use these prices", icon=":material/check:")
    prices_by_pool = {pool: both for pool, both in typed.items() if any(both)}
    if is_given and prices_by_pool:
        text = io.StringIO()
        rows = csv.writer(text)
        rows.writerow(("machine_type", "region", "total_ondemand", "total_spot"))
        rows.writerows(
            (f"{OF_POOL}{pool}", ANYWHERE, *(usd or "" for usd in both)) for pool, both in prices_by_pool.items()
        )
        table = read.own_table(text.getvalue(), "what was typed")
        before: tuple[PriceTable, ...] = uploads.kept(_BY_POOL, ())
        uploads.keep(
            _BY_POOL, (*before, table), names=[*uploads.names(_BY_POOL), *(pool or NO_POOL for pool in prices_by_pool)]
        )
        st.rerun()


@st.cache_resource(ttl="6h", show_spinner=False)
def _started_with() -> tuple[OwnedCommitment, ...]:
    file = os.environ.get("HEADROOM_COMMITMENTS")
    return read.load_commitments(Path(file)) if file else ()


def age(as_of: str) -> str:
    """A warning where prices of this ISO date ("" none was used) are old, by this machine's clock: a page promises money with them."""
    warning = age_warning(as_of, time.time()) if as_of else ""
    return f" △ {literal(warning)} Newer ones can be given as *Prices of your own*." if warning else ""
