"""``headroom survive``: the made command, and the manifests of its spare nodes as a file."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from planner.capacity.survival import Survival
from planner.cli import options, output, terminal
from planner.cli.plain import Called, Hooks, command_of
from planner.kubernetes.records import Presence

_OPTIONS: Final = options.option("Output", "--manifests", "manifests_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    is_everyday=True, help="Write the spare nodes' manifests there: a Deployment of placeholders, or CapacityBuffers where the cluster has them.")  # fmt: skip


def _with_manifests(called: Called, found: Survival) -> None:
    """Written where a file is named; else a line says that there are some."""
    file = called.values["manifests_file"]
    if file is not None:
        has_buffers = called.snapshots[0].presence.get("CapacityBuffer") is Presence.PRESENT
        output.write_file(file, _either(found.manifests if has_buffers else found.manifests[::-1]))
        click.echo(f"wrote {file}" if found.manifests else f"wrote {file}: no spare node was found", err=True)
    elif found.manifests and called.values["output_format"] == "text":
        terminal.say("\n--manifests FILE writes the spare nodes' manifests: placeholder pods, or CapacityBuffers.")


def _either(ways: Sequence[tuple[str, str]]) -> str:
    """The first way as it is applied, the others as comments: applied together they would keep twice the nodes."""
    parts = [
        f"# {what}\n{text if not place else textwrap.indent(text, '# ')}" for place, (what, text) in enumerate(ways)
    ]
    return "\n".join(parts)


command = command_of("survive", Hooks(options=_OPTIONS, beside=_with_manifests))
