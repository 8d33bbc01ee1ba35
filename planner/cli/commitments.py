"""``headroom commitments``: what 1- and 3-year commitments would have saved on the use that a store remembers."""

from __future__ import annotations

import time
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from planner.cli import options, output, terminal
from planner.cli.given import price_book, price_options
from planner.cli.trends import newest
from planner.ground.tables import Rows, as_text
from planner.questions.commitments import (
    QUESTION,
    CommitmentsAnswer,
    CommitmentsSettings,
    above_rows,
    answer,
    best_rows,
)
from planner.questions.question import Given
from planner.questions.wording import for_people
from planner.sources.store import Store, days_before


@click.command("commitments")
@click.argument("store")
@click.option(
    "--cluster", "clusters", multiple=True, metavar="NAME", help="Of this cluster only; repeatable, else all."
)
@click.option("--days", type=click.FloatRange(min=1), metavar="N", help="Of the last days only.")
@options.asked(CommitmentsSettings)
@price_options
@output.printing(QUESTION)
def command(
    store: str,
    clusters: tuple[str, ...],
    days: float | None,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """Hours at each level of GPUs held on demand, per model and region; the commitments that would have cost least.

    STORE is what headroom snapshot wrote. A price is a GPU's with its share of the machine. Exits 4 where nothing can be
    said: a history of less than a week, or no price.
    """
    place, settings = Store(store), options.read(CommitmentsSettings, asked)
    history = place.history(clusters, None if days is None else days_before(time.time(), days))
    snapshots = newest(place, history.clusters)
    given = Given(book=price_book(own_prices, discounts), history=history, others=tuple(snapshots[1:]))
    found = answer(snapshots[0], settings, given)
    output.show(output_format, QUESTION, snapshots, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshots, found)


def _print(found: CommitmentsAnswer) -> None:
    terminal.say(found.sentence)
    _table("the cheapest level, USD a month", best_rows(found))
    _table("the hours above it, USD a month", above_rows(found))
    terminal.say(f"\nprices as of {found.prices_as_of}; a commitment is paid whether it is used or not")


def _table(title: str, rows: Rows) -> None:
    if rows:
        click.echo(f"\n{title}\n{indent(as_text(for_people(rows)), '  ')}", nl=False)
