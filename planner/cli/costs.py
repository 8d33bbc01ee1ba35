"""``headroom costs``: what a cluster costs a month, whom, and what of it is idle."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster
from planner.cli.given import price_book, price_options
from planner.ground.tables import as_text
from planner.ground.words import sentence, usd
from planner.pricing.bill import ClusterBill
from planner.pricing.book import age_warning
from planner.pricing.cluster import PoolCost
from planner.pricing.focus import VERSION
from planner.pricing.model import PriceBook
from planner.questions.costs import QUESTION, CostsSettings, answer, unfilled
from planner.questions.question import Given


@click.command("costs")
@click.argument("cluster")
@options.asked(CostsSettings)
@price_options
@output.printing(QUESTION)
@click.pass_context
def command(
    context: click.Context,
    /,
    cluster: str,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """What the cluster's nodes cost a month, by pool and way of buying, who bears it, and what nobody requests of it.

    --by shares the bill out, after sustained use: used, shared (the system's namespaces) and idle lines that add up to
    it to the cent. With --by, CSV has the columns of FOCUS 1.2. Nodes without a price are counted, never taken for
    free. Exits 4 when no node has one, or when pods weren't seen: the bill is known then, and whose it is isn't.
    """
    snapshot, settings = read_cluster(cluster), options.read(CostsSettings, asked)
    is_shared = _is_given(context, "by")
    if is_shared and not _is_given(context, "rows"):
        rows = "focus" if output_format == "csv" else "allocation"
    book = price_book(own_prices, discounts)
    found = answer(snapshot, settings, Given(book=book))
    text = partial(_print_shares if is_shared else _print, found, book)
    output.show(output_format, QUESTION, snapshot, settings, found, text=text, rows=rows)
    if rows == "focus" and output_format in ("csv", "markdown"):
        click.echo(f"FOCUS {VERSION}. A snapshot can't fill: {', '.join(unfilled(found))}.", err=True)
    return QUESTION.exit_status(snapshot, found)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _print_shares(found: ClusterBill, book: PriceBook) -> None:
    if found.bill_usd_per_month is None:
        terminal.say(found.sentence)
        return
    terminal.say(f"{found.bill_usd_per_month:,.2f} USD a month after sustained use, by {found.by}")
    table = [
        {
            found.by: line.name or line.share.value,
            "share": line.share.value,
            "USD a month": f"{line.usd:,.2f}",
            "GPUs": f"{line.gpu_usd:,.2f}",
            "CPU": f"{line.cpu_usd:,.2f}",
            "memory": f"{line.memory_usd:,.2f}",
        }
        for line in found.lines
    ]
    click.echo(f"\n{as_text(table)}", nl=False)
    if not found.is_shared_out:
        terminal.say(f"\n{sentence(found.sentence)}")
    if found.hidden_usd:
        terminal.say(f"\nhidden by the filter: {found.hidden_usd:,.2f}")
    click.echo()
    for one in found.not_in:
        terminal.say(f"not in it: {one.sentence}", indent="  ")
    _print_age(found, book)


def _print(found: ClusterBill, book: PriceBook) -> None:
    terminal.say(found.sentence)
    if found.bill_idle is not None:
        terminal.say(f"\n{found.list_sentence}")
    rows = [
        {
            "pool": pool.node_pool,
            "bought": pool.provisioning.value,
            "machine": ", ".join(pool.machine_types),
            "nodes": pool.node_count,
            "list price": _priced(pool, pool.usd_per_month),
            "after sustained use": _priced(pool, pool.sustained_use_usd_per_month),
            "idle at list price": usd(pool.idle.total) if pool.idle else _why_not(pool),
            "of that GPUs": usd(pool.idle.gpu) if pool.idle else _why_not(pool),
        }
        for pool in found.pools
    ]
    click.echo(f"\n{as_text(rows)}", nl=False)
    for group in found.unpriced:
        terminal.say(f"\n{len(group.nodes)} without a price: {group.sentence}")
    click.echo()
    for note in found.notes:
        terminal.say(f"note: {note}", indent="  ")
    for one in found.not_in:
        terminal.say(f"not in it: {one.sentence}", indent="  ")
    terminal.say(f"USD a month; list prices are less negotiated discounts. {sentence(book.source)}")
    _print_age(found, book)


def _print_age(found: ClusterBill, book: PriceBook) -> None:
    if warning := age_warning(found.as_of or book.as_of, time.time()):
        click.echo(warning, err=True)


def _priced(pool: PoolCost, amount: float | None) -> str:
    return _why_not(pool) if pool.usd_per_month is None or amount is None else usd(amount)


def _why_not(pool: PoolCost) -> str:
    return "no price" if pool.usd_per_month is None else "not known"
