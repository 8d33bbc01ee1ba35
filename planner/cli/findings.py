"""``headroom findings``: what is worth a person's attention in a cluster."""

from __future__ import annotations

import time
from typing import Any

import click

from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster
from planner.inventory import wire
from planner.questions.findings import QUESTION, WORD, FindingsAnswer, FindingsSettings, answer
from planner.questions.question import Given
from planner.sources.cluster import EMBEDDED


@click.command("findings")
@click.argument("cluster")
@options.asked(FindingsSettings)
@output.printing(QUESTION)
def command(cluster: str, fail_on: tuple[str, ...], rows: str, output_format: str, **asked: Any) -> int:
    """What is worth a person's attention: damaged and missing input, objects that contradict each other, restarts,
    differences that explain trouble, risks of memory. The gravest first.

    Exits 0; --fail-on error,warning exits 5 when there is one.
    """
    snapshot, settings = read_cluster(cluster), options.read(FindingsSettings, asked)
    found = answer(snapshot, settings, Given(now=time.time(), is_embedded=cluster in EMBEDDED))
    output.show(output_format, QUESTION, snapshot, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshot, found, fail_on)


def _print(found: FindingsAnswer) -> None:
    output.told(wire.READ)  # each that is missing is a finding
    terminal.say(found.sentence)
    for one in found.findings:
        about = f"{one.object}: " if one.object else ""
        mend = f". {one.mend}" if one.mend else ""
        terminal.say(f"{WORD[one.severity]}: {about}{one.what}{mend}", indent="  ")
