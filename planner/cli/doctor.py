"""``headroom doctor``: what can be read, what is missing, what that costs, and the rights to add."""

from __future__ import annotations

import click

from planner.cli import output
from planner.cli.cluster import read_cluster
from planner.ground.tables import as_text
from planner.ground.words import count
from planner.inventory.account import ServerLoad
from planner.kubernetes.records import Snapshot
from planner.questions.doctor import QUESTION, DoctorAnswer, DoctorSettings, Weight, answer
from planner.questions.question import Given
from planner.questions.wording import PRESENCE
from planner.sources.cluster import CONTEXT_PREFIX


@click.command("doctor")
@click.argument("cluster")
@output.printing(QUESTION)
def command(cluster: str, rows: str, output_format: str) -> int:
    """What can be read of the cluster, what is missing, which answers that costs, and the exact rights to add.

    Exits 4 where something is missing that verdicts hang on.
    """
    snapshot, settings = read_cluster(cluster, is_told=False), DoctorSettings()
    found = answer(snapshot, settings, Given(load=_load(cluster)))
    output.show(
        output_format,
        QUESTION,
        snapshot,
        settings,
        found,
        text=lambda: _print(found, snapshot),
        rows=rows,
    )
    return QUESTION.exit_status(snapshot, found)


def _load(cluster: str) -> ServerLoad | None:
    if not cluster.startswith(CONTEXT_PREFIX):
        return None
    from planner.sources.connection import MOST_PER_MINUTE, requests_last_minute

    return ServerLoad(requests_last_minute=requests_last_minute(), most_per_minute=MOST_PER_MINUTE)


def _print(found: DoctorAnswer, snapshot: Snapshot) -> None:
    click.echo(f"{found.sentence}\n")
    shown = [
        {
            "kind": one.kind,
            "state": PRESENCE[one.presence],
            "objects": one.objects,
            "without it": str(one.costs) if one.weight is not Weight.NOTHING else "",
        }
        for one in found.kinds
    ]
    click.echo(as_text(shown), nl=False)
    for problem in found.problems:
        click.echo(f"\n{problem.severity.value}: {problem.what}. {problem.mend}")
    if found.rbac:
        click.echo(f"\nRights to add, with kubectl apply -f, and bound to who reads:\n\n{found.rbac}", nl=False)
    if found.command:
        click.echo(f"\nTo add what isn't in the input: {found.command}")
    if found.load:
        asked, most = count(found.load.requests_last_minute, "request"), found.load.most_per_minute
        click.echo(
            f"\nLoad: {asked} to the API server in the last minute, never more than {most} in any. "
            "headroom app and serve watch it: about a dozen a minute, however many look."
        )
    click.echo(f"\nfrom {snapshot.source}")
