"""``headroom drift``: the same service in several namespaces or clusters, side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster
from planner.cli.given import prometheus_options, usage_over_time
from planner.drift import telling
from planner.drift.model import DriftReport, ServiceDrift
from planner.drift.rows import matrix_rows, suggestion_rows
from planner.questions.drift import QUESTION, DriftSettings, answer
from planner.questions.question import Given


@click.command("drift")
@click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER [CLUSTER...]")
@options.asked(DriftSettings)
@click.option("--all", "everything", is_flag=True, help="What is the same everywhere too, not only differences.")
@prometheus_options()
@output.printing(QUESTION)
def command(
    clusters: tuple[str, ...],
    everything: bool,
    prometheus_url: str,
    prometheus_token_file: Path | None,
    days: int,
    fail_on: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """The same service in several namespaces or clusters: what differs, by how much, what that explains.

    With several clusters an environment is written CLUSTER/NAMESPACE, and --prometheus speaks for the first one. Exits 0
    when the question is answered; --fail-on explains exits 5 when a difference explains trouble.
    """
    snapshots = [read_cluster(cluster) for cluster in clusters]
    settings = options.read(DriftSettings, asked)
    history = usage_over_time(snapshots[0], prometheus_url, prometheus_token_file, days)
    report = answer(snapshots[0], settings, Given(usages=history, others=tuple(snapshots[1:])))
    shown = "all" if everything and rows == next(iter(QUESTION.tables)) else rows
    text = partial(_print, report, everything=everything)
    output.show(output_format, QUESTION, snapshots, settings, report, text=text, rows=shown)
    return QUESTION.exit_status(snapshots, report, fail_on)


def _print(report: DriftReport, *, everything: bool) -> None:
    terminal.say(report.sentence)
    for sentence in report.ambiguous:
        terminal.say(f"Note: {sentence}.")
    for service in report.services:
        click.echo()
        _print_service(service, everything=everything)


def _print_service(service: ServiceDrift, *, everything: bool) -> None:
    told = telling.of_service(service)
    terminal.say(f"{service.service} ({', '.join(told.environments)})")
    sentences = [one.sentence for one in service.explanations] or [service.sentence]
    for sentence in sentences:
        terminal.say(f"  {sentence}")
    terminal.say_rows([dict(row) for row in matrix_rows(told, everything=everything)])
    if said := telling.said_of(len(told.environments), len(service.environments)):
        terminal.say(f"  {said} -o csv has all of them.")
    for row in suggestion_rows([service]):
        terminal.say(f"  {row['environment']}, {row['container']}: {row['today']}")
        terminal.say(f"    suggested: {row['suggested']}")
        terminal.say(f"    {row['rule']}")
        terminal.say(f"    {row['source']}")
