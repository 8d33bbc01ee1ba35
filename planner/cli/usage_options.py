"""What ``restarts`` and ``drift`` share: use over time from Prometheus as options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from planner.errors import InputError
from planner.inventory.usage import Usage
from planner.kubernetes.records import Snapshot
from planner.sources.prometheus import Prometheus, usage_before


def prometheus_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--prometheus``, ``--prometheus-token-file`` and ``--days``."""
    for option in (
        click.option("--days", type=click.IntRange(1, 90), default=7, show_default=True,
                     help="How many days before the snapshot Prometheus is asked for."),
        click.option("--prometheus-token-file", type=click.Path(path_type=Path, dir_okay=False, exists=True), metavar="FILE",
                     help="A file with a bearer token for it."),
        click.option("--prometheus", "prometheus_url", default="", metavar="URL",
                     help="Use over time from here, instead of the snapshot's one moment of metrics-server."),
    ):  # fmt: skip
        command = option(command)
    return command


def usage_over_time(snapshot: Snapshot, url: str, token_file: Path | None, days: int) -> tuple[Usage, ...] | None:
    """What Prometheus knows of the snapshot's namespaces; None where no address is given."""
    if not url:
        return None
    try:
        token = token_file.read_text(encoding="utf-8").strip() if token_file else ""
    except (OSError, UnicodeDecodeError):
        raise InputError(
            "can't be read as text", where=str(token_file), mend="Name a file that holds the token only"
        ) from None
    server = Prometheus(url=url, token=token)
    found = usage_before(server, snapshot, days)
    for warning in server.warnings:
        click.echo(f"Prometheus warns: {warning}", err=True)
    return found
