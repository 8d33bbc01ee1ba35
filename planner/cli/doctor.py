"""``headroom doctor``: the generated command, plus a shell command for users who can't run Headroom there."""

from __future__ import annotations

from typing import Final

import click

from planner.cli import options_from_settings
from planner.cli.question_commands import Hooks, command_of
from planner.inventory import input_report


def _print(context: click.Context, _param: click.Parameter, is_given: bool) -> None:
    if is_given and not context.resilient_parsing:
        click.echo(input_report.SHELL_COMMAND)
        context.exit()


_KUBECTL: Final = options_from_settings.option("", "--kubectl", is_flag=True, is_eager=True, expose_value=False, callback=_print, is_everyday=True,
    help="Print a line of shell that writes a snapshot with kubectl: of the kinds of the server, without refused ones. Needs no CLUSTER.",
)  # fmt: skip

command = command_of("doctor", Hooks(options=_KUBECTL))
