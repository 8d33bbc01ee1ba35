"""``headroom plan``: the least that makes every workload rollable."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from planner.capacity.readiness import MeasureKind, PlanAnswer
from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster
from planner.cli.given import price_book, price_options
from planner.ground.progress import told_to
from planner.ground.tables import as_text
from planner.ground.words import usd
from planner.questions.plan import QUESTION, PlanSettings, answer
from planner.questions.question import Given
from planner.rollout.wording import WORD


@click.command("plan")
@click.argument("cluster")
@options.asked(PlanSettings)
@price_options
@output.printing(QUESTION)
def command(
    cluster: str,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    fail_on: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """The least that makes every workload rollable: strategies, quotas, spare nodes, and the order of rollouts.

    What costs nothing comes first; then as few nodes as do, within the budgets. Everything is simulated together. Exits 0;
    --fail-on left exits 5 when the plan leaves a workload that can't be rolled out.
    """
    snapshot = read_cluster(cluster)
    settings = options.read(PlanSettings, asked)
    with told_to(_told):
        found = answer(snapshot, settings, Given(book=price_book(own_prices, discounts)))
    _told("", 1.0)
    output.show(output_format, QUESTION, snapshot, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshot, found, fail_on)


def _told(doing: str, share: float) -> None:
    """One line on a terminal, written over; nothing elsewhere."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[2K{f'{share:.0%} {doing[:60]} …' if doing else ''}", err=True, nl=False)


def _print(found: PlanAnswer) -> None:
    terminal.say(f"{found.sentence}.")
    for place, one in enumerate(found.measures, 1):
        price = ""
        if one.kind is MeasureKind.NODES:
            month, once = (
                "no price" if amount is None else usd(amount) for amount in (one.usd_per_month, one.usd_per_rollout)
            )
            price = f": {month} a month kept, {once} for one rollout"
        click.echo()
        terminal.say(f"{one.what}{price}", head=f"{place}. ", indent="   ")
        click.echo(f"   {one.command}")
        click.echo(f"   undo: {one.undo}")
    needing = [one for one in found.order if one.needs]
    if needing:
        click.echo("\nIn this order, after all others:")
        turns = [
            {
                "": turn.workload,
                "after": ", ".join(map(str, turn.needs)),
                "at worst": f"{turn.lowest_ready} of {turn.replicas} Ready",
            }
            for turn in needing
        ]
        click.echo(indent(as_text(turns), "   "), nl=False)
    if found.left:
        click.echo("\nLeft:")
        for left in found.left:
            word = f"   {WORD[left.verdict].lower():<13}"
            terminal.say_verdict(left.verdict, word, f"{left.workload}  {left.why}", indent=" " * 16)
    if found.price_note:
        click.echo(f"\n{found.price_note}")
