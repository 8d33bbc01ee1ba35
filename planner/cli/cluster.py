"""CLUSTER for every command: read, and what could not be used of it said on standard error."""

from __future__ import annotations

from typing import BinaryIO, Final

import click

from planner.kubernetes.records import Severity, Snapshot
from planner.sources import cluster as source

_MOST_SHOWN: Final = 5


def read_cluster(spec: str, *, stdin: BinaryIO | None = None) -> Snapshot:
    """The snapshot named by `spec` (`planner.sources.cluster.read_cluster`).

    Parts that could not be used don't end the command: an answer from the rest is still an answer, said to be so.
    """
    snapshot = source.read_cluster(spec, stdin=stdin)
    lost = [problem for problem in snapshot.problems if problem.severity is Severity.ERROR]
    for problem in lost[:_MOST_SHOWN]:
        place = f"{problem.object}: " if problem.object else ""
        mend = f". {problem.mend}" if problem.mend else ""
        click.echo(f"headroom: warning: {place}{problem.what}{mend}", err=True)
    if len(lost) > _MOST_SHOWN:
        click.echo(f"headroom: warning: {len(lost) - _MOST_SHOWN} more like these", err=True)
    return snapshot
