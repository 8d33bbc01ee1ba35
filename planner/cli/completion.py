"""``headroom completion``: prints the script with which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    r"""A script for bash, zsh or fish that completes commands, options, and workloads, namespaces and pools of the named file.

    \b
    bash: add to ~/.bashrc: source <(headroom completion bash)
    zsh:  add to ~/.zshrc, after compinit: source <(headroom completion zsh)
    fish: headroom completion fish > ~/.config/fish/completions/headroom.fish
    """
    from planner.cli import headroom

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(completion_class(headroom, {}, "headroom", "_HEADROOM_COMPLETE").source())
    return 0
