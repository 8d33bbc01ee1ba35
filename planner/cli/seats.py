"""``headroom seats``: each GPU of each node, and who holds it."""

from __future__ import annotations

from typing import Any

import click

from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster
from planner.ground.tables import as_text
from planner.ground.words import listing
from planner.questions.seats import QUESTION, SeatsAnswer, SeatsSettings, answer


@click.command("seats")
@click.argument("cluster")
@options.asked(SeatsSettings)
@output.printing(QUESTION)
def command(cluster: str, rows: str, output_format: str, **asked: Any) -> int:
    """Nodes with GPUs as rows of seats: who holds each, by requests of bound pods, and whose next pod would fit."""
    snapshot, settings = read_cluster(cluster), options.read(SeatsSettings, asked)
    found = answer(snapshot, settings)
    output.show(output_format, QUESTION, snapshot, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshot, found)


def _print(found: SeatsAnswer) -> None:
    terminal.say(found.sentence)
    rows = [
        {
            "node": node.node + (f" ({node.out_of_use})" if node.out_of_use else ""),
            "pool": node.node_pool,
            "zone": node.zone,
            "model": node.name,
            "free": f"{node.gpus_free:,}/{node.gpus:,}",
            "held by": listing(sorted({seat.holder for seat in node.seats if seat.holder})),
            "next pod of": listing(node.could_take),
        }
        for node in found.nodes
    ]
    click.echo(as_text(rows), nl=False)
