"""``headroom trends``: what a store's history says, and when GPUs are full."""

from __future__ import annotations

import time
from textwrap import indent
from typing import Any, Final

import click

from planner.cli import options, output, terminal
from planner.ground.tables import Row, as_text
from planner.history.days import Period
from planner.kubernetes.records import Snapshot
from planner.questions import trends
from planner.questions.question import Given
from planner.questions.trends import QUESTION, TrendsAnswer, TrendsSettings, answer
from planner.sources.store import Store, days_before

MOST_TROUBLED: Final = 30  # workloads that the text names


@click.command("trends")
@click.argument("store")
@click.option(
    "--cluster", "clusters", multiple=True, metavar="NAME", help="Of this cluster only; repeatable, else all."
)
@click.option("--days", type=click.FloatRange(min=1), metavar="N", help="Of the last days only.")
@options.asked(TrendsSettings)
@output.printing(QUESTION)
def command(
    store: str, clusters: tuple[str, ...], days: float | None, rows: str, output_format: str, **asked: Any
) -> int:
    """GPUs allocatable, held, free and waited for, cost and verdicts by day; since when; and when each model is full.

    STORE is what headroom snapshot wrote. "Full in about n weeks" is a band, or "no trend" where there is none; of less
    than 14 days nothing is said, and the exit status is 4.
    """
    place, settings = Store(store), options.read(TrendsSettings, asked)
    history = place.history(clusters, None if days is None else days_before(time.time(), days))
    snapshots = newest(place, history.clusters)
    found = answer(snapshots[0], settings, Given(history=history))
    output.show(output_format, QUESTION, snapshots, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshots, found)


def newest(store: Store, clusters: tuple[str, ...]) -> list[Snapshot]:
    """The latest snapshot of each cluster."""
    last = {one.cluster: one for one in store.snapshots(clusters)}
    return [store.snapshot(one) for one in last.values()]


def _print(found: TrendsAnswer) -> None:
    terminal.say(found.sentence)
    lines = [line for line in found.lines if line.period is Period.ALL or not line.node_pool]
    if lines:
        terminal.say("\nGPUs that pods hold or wait for, highest of each day")
        rows: list[Row] = [
            {
                "model": line.gpu_model or line.resource,
                "pool": line.node_pool or "all",
                "hours": line.period.value,
                "now": int(line.trend.today),
                "of": int(line.trend.limit),
                "band held": f"{line.trend.held} of {line.trend.tried} weeks" if line.trend.tried else None,
                "": line.sentence,
            }
            for line in lines
        ]
        click.echo(indent(as_text(rows), "  "), nl=False)
    if money := trends.money_words(found):
        terminal.say(f"\ncost: {money}")
    troubled = trends.in_trouble(found.streaks)
    if troubled:
        terminal.say("\nsince when")
        named = len(found.clusters) > 1
        since: list[Row] = [
            {
                "verdict": one.verdict,
                "workload": one.workload,
                **({"cluster": one.cluster} if named else {}),
                "since": trends.since(one),
            }
            for one in troubled[:MOST_TROUBLED]
        ]
        click.echo(indent(as_text(since), "  "), nl=False)
        if len(troubled) > MOST_TROUBLED:
            terminal.say(f"  and {len(troubled) - MOST_TROUBLED:,} more: --rows since -o csv")
