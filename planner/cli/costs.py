"""``headroom costs``: what a cluster costs a month, and what of it is idle."""

from __future__ import annotations

import time
from pathlib import Path

import click

from planner.cli import output
from planner.cli.cluster import read_cluster
from planner.cli.given import price_book, price_options
from planner.pricing.book import age_warning
from planner.pricing.cluster import ClusterCost
from planner.pricing.model import PriceBook
from planner.questions.costs import QUESTION, CostsSettings, answer
from planner.questions.question import Given
from planner.tables import as_text
from planner.words import usd


@click.command("costs")
@click.argument("cluster")
@price_options
@output.printing(QUESTION)
def command(
    cluster: str, own_prices: tuple[Path, ...], discounts: tuple[str, ...], rows: str, output_format: str
) -> int:
    """What the cluster's nodes cost a month, by pool and way of buying, and what bound pods don't request of it.

    List prices less negotiated discounts. Nodes without a price are counted, never taken for free; exits 4 when no node
    has one.
    """
    snapshot, settings = read_cluster(cluster), CostsSettings()
    book = price_book(own_prices, discounts)
    found = answer(snapshot, settings, Given(book=book))
    output.show(output_format, QUESTION, snapshot, settings, found, text=lambda: _print(found, book), rows=rows)
    return QUESTION.exit_status(snapshot, found)


def _print(found: ClusterCost, book: PriceBook) -> None:
    click.echo(found.sentence)
    rows = [
        {
            "pool": pool.node_pool,
            "bought": pool.provisioning.value,
            "machine": ", ".join(pool.machine_types),
            "nodes": pool.node_count,
            "a month": _money(pool.usd_per_month),
            "idle": _money(None if pool.usd_per_month is None else pool.idle.total),
            "of that GPUs": _money(None if pool.usd_per_month is None else pool.idle.gpu),
        }
        for pool in found.pools
    ]
    click.echo(f"\n{as_text(rows, unknown='no price')}", nl=False)
    for group in found.unpriced:
        click.echo(f"\n{len(group.nodes)} without a price: {group.sentence}")
    for note in found.notes:
        click.echo(f"\n{note}")
    click.echo(f"\nUSD a month, list prices less negotiated discounts. {book.source}.")
    if warning := age_warning(found.as_of or book.as_of, time.time()):
        click.echo(warning, err=True)


def _money(amount: float | None) -> str | None:
    return None if amount is None else usd(amount)
