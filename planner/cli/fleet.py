"""``headroom fleet``: several clusters side by side."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import click

from planner.cli import output, terminal
from planner.cli.cluster import read_clusters
from planner.cli.given import price_book, price_options
from planner.ground.tables import Rows, as_text
from planner.questions.fleet import (
    QUESTION,
    FleetAnswer,
    FleetSettings,
    answer,
    cluster_rows,
    model_rows,
    workload_rows,
)
from planner.questions.question import Given
from planner.questions.wording import for_people

_MOST = 40  # lines of workloads in words


@click.command("fleet")
@click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER...")
@price_options
@output.printing(QUESTION)
def command(
    clusters: tuple[str, ...],
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    fail_on: tuple[str, ...],
    rows: str,
    output_format: str,
) -> int:
    """Several clusters side by side: GPUs by model over all of them, what is stuck where, what each costs, and workloads
    that several have.

    store:URL without a cluster is the latest snapshot of each of its clusters.
    """
    snapshots, settings = read_clusters(clusters), FleetSettings()
    found = answer(snapshots[0], settings, Given(book=price_book(own_prices, discounts), others=tuple(snapshots[1:])))
    output.show(output_format, QUESTION, snapshots, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshots, found, fail_on)


def _print(found: FleetAnswer) -> None:
    terminal.say(found.sentence)
    _table("clusters", cluster_rows(found))
    _table("GPUs by model", model_rows(found))
    shared = [row for row in workload_rows(found) if row["differs"]]
    _table("workloads that several clusters have, and that differ", shared[:_MOST])
    if len(shared) > _MOST:
        click.echo(f"  and {len(shared) - _MOST:,} more: --rows workloads -o csv")


def _table(title: str, rows: Rows) -> None:
    if rows:
        click.echo(f"\n{title}\n{indent(as_text(for_people(rows)), '  ')}", nl=False)
