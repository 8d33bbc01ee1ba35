"""``headroom overview``: every workload's own rollout, were it changed now."""

from __future__ import annotations

from typing import Any, Final

import click

from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster
from planner.ground.tables import as_text
from planner.kubernetes.records import Snapshot
from planner.questions.overview import QUESTION, ClusterOverview, OverviewSettings, answer, by_trouble
from planner.rollout.wording import WORD

_ALL: Final = OverviewSettings()
_ROOM: Final = 48  # letters; longer names push what is said of them aside


@click.command("overview")
@click.argument("cluster")
@options.asked(OverviewSettings)
@output.printing(QUESTION)
def command(cluster: str, fail_on: tuple[str, ...], rows: str, output_format: str, **asked: Any) -> int:
    """Every workload's own rollout if its template changed now, with everything else as it is; GPUs by model.

    Exits 0 when the question is answered, 4 when nodes or pods are missing from the snapshot or a list that was refused
    leaves a workload unknown; --fail-on stuck exits 2 when a workload could not be rolled out, --fail-on unknown 4.
    """
    settings = options.read(OverviewSettings, asked)
    return answer_overview(read_cluster(cluster), rows, output_format, fail_on, settings)


def answer_overview(
    snapshot: Snapshot, rows: str, output_format: str, fail_on: tuple[str, ...], settings: OverviewSettings = _ALL
) -> int:
    """Print it; the exit status."""
    found = answer(snapshot, settings)
    output.show(output_format, QUESTION, snapshot, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshot, found, fail_on)


def _print(found: ClusterOverview) -> None:
    terminal.say(found.sentence)
    room = min(_ROOM, max((len(line.workload) for line in found.workloads), default=0))
    for line in by_trouble(found.workloads):
        said = f"{line.workload:<{room}}  {line.headline}"
        terminal.say_verdict(line.verdict, f"{WORD[line.verdict].lower():<13}", said, indent=" " * 13)
    if found.gpus:
        is_shut = any(line.out_of_use for line in found.gpus)
        is_labelled = any(line.labels for line in found.gpus)
        rows = [
            {
                "GPU model": line.name,
                **({"label": ", ".join(line.labels)} if is_labelled else {}),
                "nodes": line.node_count,
                "in all": line.allocatable,
                "held": line.requested,
                "free": line.free,
                **({"out of use": line.out_of_use} if is_shut else {}),
                "wanted": line.pending,
            }
            for line in found.gpus
        ]
        click.echo(f"\n{as_text(rows)}", nl=False)
    terminal.say(f"\nfrom {found.source}")
