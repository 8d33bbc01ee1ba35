"""``headroom drift``: the same service in several namespaces or clusters, side by side."""

from __future__ import annotations

import json
from pathlib import Path

import click

from planner.cli.cluster import read_cluster
from planner.cli.usage_options import prometheus_options, usage_over_time
from planner.drift.model import ENVIRONMENT_WORDS, DriftReport, MatchBy, Rule, ServiceDrift, parse_same_as
from planner.drift.rows import flat_rows, matrix_rows, suggestion_rows
from planner.drift.services import drift
from planner.errors import InputError
from planner.questions.documents import drift_document
from planner.tables import as_csv, as_text


@click.command("drift")
@click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER [CLUSTER...]")
@click.option("--service", "-s", "services", multiple=True, metavar="S", help="Only this service; repeatable.")
@click.option("--match", type=click.Choice([one.value for one in MatchBy]), default=MatchBy.AUTO.value, show_default=True,
              help="What says which service a workload is. auto: app.kubernetes.io/name, else app, else its name.")  # fmt: skip
@click.option("--label", default="", metavar="L", help="The label to match by, with --match label.")
@click.option("--environment-words", default=",".join(ENVIRONMENT_WORDS), metavar="W,W",
              help="Words at the ends of names that say where something runs, not what it is.")  # fmt: skip
@click.option(
    "--same", "same_as", default="", metavar="A=B,C=D", help="Names that mean a service, by hand: backend=api."
)
@click.option("--reference", default="", metavar="E", help="The environment others are compared with; else production.")
@click.option("--all", "everything", is_flag=True, help="What is the same everywhere too, not only differences.")
@click.option("--system", is_flag=True, help="kube-system and the like too.")
@prometheus_options
@click.option("--output", "-o", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True,
              help="How to print.")  # fmt: skip
def command(
    clusters: tuple[str, ...],
    services: tuple[str, ...],
    match: str,
    label: str,
    environment_words: str,
    same_as: str,
    reference: str,
    everything: bool,
    system: bool,
    prometheus_url: str,
    prometheus_token_file: Path | None,
    days: int,
    output: str,
) -> int:
    """The same service in several namespaces or clusters: what differs, by how much, what that explains.

    With several clusters an environment is written CLUSTER/NAMESPACE, and --prometheus speaks for the first one. Exits 0
    when the question could be answered, 1 on bad input.
    """
    snapshots = [read_cluster(cluster) for cluster in clusters]
    rule = Rule(
        match_by=MatchBy(match),
        label=label,
        environment_words=tuple(filter(None, (word.strip() for word in environment_words.split(",")))),
        same_as=parse_same_as(same_as),
        reference=reference,
        with_system=system,
    )
    history = usage_over_time(snapshots[0], prometheus_url, prometheus_token_file, days)
    report = _only(drift(snapshots, rule, (history,)), services)
    if output == "json":
        digests, sources = [one.digest for one in snapshots], [one.source for one in snapshots]
        click.echo(json.dumps(drift_document(report, digests=digests, sources=sources), indent=2, ensure_ascii=False))
    elif output == "csv":
        click.echo(as_csv(flat_rows(report, everything=everything)), nl=False)
    else:
        _print(report, everything=everything)
    return 0


def _only(report: DriftReport, names: tuple[str, ...]) -> DriftReport:
    if not names:
        return report
    known = {service.service for service in report.services}
    for name in names:
        if name not in known:
            raise InputError(
                f'no service "{name}" runs in several environments',
                where="--service",
                mend=f"There are: {', '.join(sorted(known)) or 'none'}",
            )
    chosen = tuple(service for service in report.services if service.service in names)
    return DriftReport(
        services=chosen,
        environments=report.environments,
        unmatched=report.unmatched,
        ambiguous=report.ambiguous,
        sentence=report.sentence,
    )


def _print(report: DriftReport, *, everything: bool) -> None:
    click.echo(report.sentence)
    for sentence in report.ambiguous:
        click.echo(f"Note: {sentence}.")
    for service in report.services:
        click.echo()
        _print_service(service, everything=everything)


def _print_service(service: ServiceDrift, *, everything: bool) -> None:
    click.echo(f"{service.service} ({', '.join(service.environments)})")
    sentences = [one.sentence for one in service.explanations] or [service.sentence]
    for sentence in sentences:
        click.echo(f"  {sentence}")
    click.echo(as_text([dict(row) for row in matrix_rows(service, everything=everything)]), nl=False)
    for row in suggestion_rows([service]):
        click.echo(f"  {row['environment']}, {row['container']}: {row['today']}")
        click.echo(f"    suggested: {row['suggested']}")
        click.echo(f"    {row['rule']}")
        click.echo(f"    {row['source']}")
