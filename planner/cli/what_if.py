"""``headroom what-if``: the cluster after changes, answered like today's."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import click

from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster
from planner.cli.given import pool_limits, pool_options, price_book, price_options
from planner.ground.tables import Rows, as_text
from planner.ground.words import plural
from planner.questions.question import Given
from planner.questions.what_if import QUESTION, WhatIfAnswer, WhatIfSettings, answer, gpu_figures
from planner.rollout.wording import WORD, details


@click.command("what-if")
@click.argument("cluster")
@options.asked(WhatIfSettings)
@pool_options
@price_options
@output.printing(QUESTION)
def command(
    cluster: str,
    pool_files: tuple[str, ...],
    gke: str | None,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """The cluster after changes, made one after another, beside today's.

    Drains respect PodDisruptionBudgets. Exits 2 where a change doesn't get through.
    """
    snapshot, settings = read_cluster(cluster), options.read(WhatIfSettings, asked)
    known = Given(limits=pool_limits(snapshot, pool_files, gke), book=price_book(own_prices, discounts))
    found = answer(snapshot, settings, known)

    def text() -> None:
        _print(found)
        terminal.say(f"\nfrom {snapshot.source}")

    output.show(output_format, QUESTION, snapshot, settings, found, text=text, rows=rows)
    return QUESTION.exit_status(snapshot, found)


def _table(rows: Rows) -> None:
    click.echo(indent(as_text(rows), "  "), nl=False)


def _print(found: WhatIfAnswer) -> None:
    terminal.say(f"what if {found.changes}")
    terminal.say(found.sentence)
    for step in found.steps:
        terminal.say(f"  {'✓' if step.is_done else '✗'} {step.sentence}")
        for held in step.drain.held_back[:10] if step.drain else ():
            terminal.say(f"      {held.pod} on {held.node}: {held.why}")
        for one in step.drain.unplaced[:10] if step.drain else ():
            terminal.say(
                f"      {one.count} of {one.workload} {plural(one.count, 'waits', 'wait')} ({one.before} did before): {one.message}"
            )
    _table([{"": name, "today": before, "then": after} for name, before, after in _beside(found)])
    for change in found.verdicts:
        terminal.say(
            f"  {change.workload}: {WORD[change.before].lower()} → {WORD[change.after].lower()}: {details(change.after, change.sentence)}"
        )


def _beside(found: WhatIfAnswer) -> list[tuple[str, int, int]]:
    rows = [(f"{one.noun} {one.called}", one.today, one.then) for one in gpu_figures(found)]
    rows.append(("pods waiting", found.waiting_before, found.waiting_after))
    if found.completing_before is not None and found.completing_after is not None:
        rows.append(("rollouts that complete", found.completing_before, found.completing_after))
    if found.unknown_before or found.unknown_after:
        rows.append(("rollouts not known", found.unknown_before or 0, found.unknown_after or 0))
    if found.usd_per_month_before is not None and found.usd_per_month_after is not None:
        rows.append(("USD a month", round(found.usd_per_month_before), round(found.usd_per_month_after)))
    return rows + [(f"more of {one.shape}", one.before, one.after) for one in found.fits if one.before != one.after]
