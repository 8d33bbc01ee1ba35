"""``headroom diff --between``: the generated command, plus a table of each service's environments side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from planner.cli import options_from_settings, terminal
from planner.cli.question_commands import Hooks, command_of
from planner.health.drift import shown_environments
from planner.health.drift.listing_rows import matrix_rows, suggestion_rows
from planner.health.drift.model import DriftReport, ServiceDrift

_ALL: Final = options_from_settings.option(
    "",
    "--all",
    "everything",
    is_flag=True,
    is_everyday=True,
    help="What is the same everywhere too, not only differences.",
)


def _print(report: DriftReport, values: Mapping[str, Any]) -> None:
    terminal.say(report.sentence)
    for sentence in report.ambiguous:
        terminal.say(f"Note: {sentence}.")
    for service in report.services:
        click.echo()
        _print_service(service, everything=values["everything"])


def _print_service(service: ServiceDrift, *, everything: bool) -> None:
    shown_drift = shown_environments.of_service(service)
    terminal.say(f"{service.service} ({', '.join(shown_drift.environments)})")
    sentences = [explanation.sentence for explanation in service.explanations] or [service.sentence]
    for sentence in sentences:
        terminal.say(f"  {sentence}")
    terminal.say_rows([dict(row) for row in matrix_rows(shown_drift, everything=everything)])
    if omission_text := shown_environments.said_of(len(shown_drift.environments), len(service.environments)):
        terminal.say(f"  {omission_text} -o csv has all of them.")
    for row in suggestion_rows([service]):
        terminal.say(f"  {row['environment']}, {row['container']}: {row['today']}")
        terminal.say(f"    suggested: {row['suggested']}")
        terminal.say(f"    {row['rule']}")
        terminal.say(f"    {row['source']}")


command = command_of("drift", Hooks(options=_ALL, text=_print))
