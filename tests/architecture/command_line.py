"""docs/command-line.md, made from what ``--help`` says; ``make docs`` writes it, a test compares it."""

from __future__ import annotations

import click
from click.testing import CliRunner

from planner.cli import COMMANDS, headroom
from tests.architecture.tree import ROOT

DOCUMENT = ROOT / "docs" / "command-line.md"
HEAD = """\
# The command line

Made from `headroom --help` by `make docs`. Exit status: 0 yes, 2 stuck, 3 needs growth, 1 bad input or usage.
"""


def rendered() -> str:
    """The whole document: the help of `headroom`, of each command and of its subcommands."""
    parts = [HEAD, _section([])]
    for name in COMMANDS:
        parts.append(_section([name]))
        command = headroom.get_command(click.Context(headroom), name)
        if isinstance(command, click.Group):
            parts += [_section([name, below]) for below in command.commands]
    return "\n".join(parts)


def _section(path: list[str]) -> str:
    said = CliRunner().invoke(headroom, [*path, "--help"], prog_name="headroom", terminal_width=100)
    return f"## {' '.join(['headroom', *path])}\n\n```text\n{said.output.rstrip()}\n```\n"


if __name__ == "__main__":
    DOCUMENT.write_text(rendered(), encoding="utf-8")
