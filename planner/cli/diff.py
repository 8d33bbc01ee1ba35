"""``headroom diff``: two snapshots, or one against a what-if; only what differs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from planner.cli import options, output, terminal
from planner.cli.cluster import one_reader_of_stdin, read_cluster
from planner.cli.given import pool_limits, pool_options, price_book, price_options
from planner.ground.tables import as_text
from planner.history import names
from planner.history.levels import History
from planner.questions.diff import (
    QUESTION,
    DiffAnswer,
    DiffSettings,
    answer,
    finding_rows,
    number_rows,
    since_rows,
    workload_rows,
)
from planner.questions.question import Given
from planner.questions.wording import for_people


@click.command("diff")
@click.argument("cluster")
@click.argument("other", required=False)
@options.asked(DiffSettings)
@pool_options
@price_options
@output.printing(QUESTION)
def command(
    cluster: str,
    other: str | None,
    pool_files: tuple[str, ...],
    gke: str | None,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """What differs between CLUSTER and OTHER, or between CLUSTER and itself after --change.

    Workloads that became stuck or rollable, GPUs by model, cost, savings and findings; nothing that is the same. Workloads
    are compared by kind, namespace and name.
    """
    one_reader_of_stdin(cluster, other or "")
    snapshot = read_cluster(cluster)
    others = (read_cluster(other),) if other else ()
    settings = options.read(DiffSettings, asked)
    given = Given(
        limits=pool_limits(snapshot, pool_files, gke),
        book=price_book(own_prices, discounts),
        others=others,
        history=_history(cluster, other or ""),
    )
    found = answer(snapshot, settings, given)
    both = [snapshot, *others]
    output.show(output_format, QUESTION, both, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(both, found)


def _print(found: DiffAnswer) -> None:
    terminal.say(found.sentence)
    click.echo()
    for rows in (workload_rows(found), number_rows(found), finding_rows(found)):
        if rows:
            click.echo(as_text(for_people(rows)))
    for one in found.notes:
        terminal.say(f"note: {one}")
        click.echo()
    terminal.say(f"from {found.before} to {found.after}")
    if found.since:
        click.echo(f"\nsince when\n{as_text(for_people(since_rows(found)))}", nl=False)


def _history(cluster: str, other: str) -> History | None:
    """Of two times of one cluster in a store: what its snapshots said until the later one."""
    if not (names.is_place(cluster) and names.is_place(other)):
        return None
    from planner.sources.store import Store

    first, last = names.read_place(cluster), names.read_place(other)
    if (first.url, first.cluster) != (last.url, last.cluster):
        return None
    store = Store(last.url)
    later = max((store.at(one, now=time.time()) for one in (first, last)), key=lambda one: one.taken_at)
    return store.history((later.cluster,), until=later.taken_at)
