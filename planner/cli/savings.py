"""``headroom savings``: is a workload fit for spot, and what would it save?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from planner.cli.cluster import read_cluster
from planner.cli.prices import read_discounts
from planner.errors import InputError
from planner.kubernetes.records import Snapshot
from planner.pricing.model import PriceBook
from planner.questions import savings as plan_savings
from planner.questions.documents import savings_document, savings_rows
from planner.questions.savings import AssumptionRow, SavingsAnswer
from planner.sources.prices import load_book
from planner.spot.assumptions import SETTINGS, Capacity, Fallback, Life, Work
from planner.spot.checks import CHECK_NAME, Status
from planner.spot.interruption import parse_lives
from planner.spot.suitability import Suitability, pods_by_workload
from planner.tables import as_csv, as_text
from planner.words import count, duration, usd

_FILE = click.Path(path_type=Path, dir_okay=False)
_LIST_RUNS = 1000  # simulated months a workload when all are listed


def _assumption_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each assumption, with its unit, source and default."""
    for setting in reversed(SETTINGS):
        unit = f" ({setting.unit})" if setting.unit else ""
        default = "" if setting.default is None else f" Default {setting.default:g}: {setting.source}."
        option = click.option(
            f"--{setting.name.replace('_', '-')}",
            type=int if setting.whole else float,
            metavar="N",
            help=f"{setting.label}{unit}.{default or f' Else from {setting.source}.'}",
        )
        command = option(command)
    return command


@click.command("savings")
@click.argument("cluster")
@click.option("--workload", "-w", help="kind/namespace/name. Without it every workload is listed.")
@click.option("--capacity", type=click.Choice([one.value for one in Capacity]), help="What is bought instead.")
@click.option("--work", type=click.Choice([one.value for one in Work]), help="Jobs or serving; guessed otherwise.")
@click.option("--fallback", type=click.Choice([one.value for one in Fallback]), help="While no spot node is to be had.")
@click.option("--saves-on-notice", is_flag=True, default=None, help="On SIGTERM the worker writes a checkpoint.")
@click.option("--lives", "lives_file", type=_FILE, metavar="FILE", help="Observed lifetimes: CSV, hours,ended.")
@_assumption_options
@click.option(
    "--prices", "own", multiple=True, type=_FILE, metavar="FILE", help="A CSV of your own prices; repeatable."
)
@click.option("--discount", "discounts", multiple=True, metavar="CATEGORY=SHARE",
              help="Negotiated discount, such as Standard=0.15; repeatable.")  # fmt: skip
@click.option(
    "--output",
    "-o",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How it is printed.",
)
def command(
    cluster: str,
    workload: str | None,
    lives_file: Path | None,
    own: tuple[Path, ...],
    discounts: tuple[str, ...],
    output: str,
    **asked: Any,
) -> int:
    """Is a workload fit for spot, and what would it really save?

    Lost work, restarts and hours without capacity come off the saving, which is given as a band over simulated months.
    Every assumption has an option; what isn't given comes from the cluster and the price book. Exits 0.
    """
    snapshot = read_cluster(cluster)
    book = load_book(own).with_discounts(read_discounts(discounts))
    chosen = _enums(asked) | {"lives": _lives(lives_file)}
    if workload is None:
        _list(snapshot, book, chosen, output)
        return 0
    found = plan_savings.find(snapshot, workload)
    derived = plan_savings.derive(snapshot, book, found.key)
    assumptions = plan_savings.assume(derived, chosen)
    answer = plan_savings.answer(snapshot, assumptions)
    fitness = plan_savings.suitability(snapshot, found.key, assumptions.capacity, chosen["job_minutes"])
    table = plan_savings.table(derived, chosen, assumptions)
    if output == "json":
        document = savings_document(
            answer, fitness=fitness, assumptions=table, derived=derived, digest=snapshot.digest, source=snapshot.source
        )
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif output == "csv":
        click.echo(as_csv(savings_rows(answer, table)), nl=False)
    else:
        _print(answer, fitness, table)
    return 0


def _enums(asked: dict[str, Any]) -> dict[str, Any]:
    kinds = {"capacity": Capacity, "work": Work, "fallback": Fallback}
    return {name: kinds[name](value) if name in kinds and value else value for name, value in asked.items()}


def _lives(path: Path | None) -> tuple[Life, ...] | None:
    if path is None:
        return None
    try:
        return parse_lives(path.read_text(encoding="utf-8"), where=path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("can't be read as text", where=str(path), mend="Give a CSV in UTF-8") from error


def _list(snapshot: Snapshot, book: PriceBook, asked: dict[str, Any], output: str) -> None:
    """One line a workload: fitness, and what spot would save."""
    rows: list[dict[str, object]] = []
    pods_by_key = pods_by_workload(snapshot)
    for workload in plan_savings.workloads(snapshot):
        pods = pods_by_key.get(workload.key, ())
        derived = plan_savings.derive(snapshot, book, workload.key, pods)
        fitness = plan_savings.suitability(snapshot, workload.key, derived.capacity, asked["job_minutes"], pods)
        row: dict[str, object] = {"workload": workload.key, "fit": fitness.fitness.value.replace("_", " ")}
        try:
            assumptions = plan_savings.assume(derived, {"runs": _LIST_RUNS} | _given(asked))
        except InputError as error:
            rows.append(
                row | {"nodes": None, "on_demand_usd": None, "p5_usd": None, "saved_usd": None, "why": error.what}
            )
            continue
        saved = plan_savings.answer(snapshot, assumptions).savings
        rows.append(
            row
            | {
                "nodes": assumptions.nodes,
                "on_demand_usd": round(saved.on_demand_usd, 2),
                "p5_usd": round(saved.saved_usd.p5, 2),
                "saved_usd": round(saved.saved_usd.p50, 2),
                "why": f"bought now: {derived.bought_as}" + (", saves already" if derived.is_on_spot else ""),
            }
        )
    if output == "json":
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    elif output == "csv":
        click.echo(as_csv(rows), nl=False)
    else:
        click.echo(as_text(rows), nl=False)
        click.echo(f"\nUSD a month, {_LIST_RUNS:,} simulated months each. Details: --workload NAME", err=True)


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


def _print(answer: SavingsAnswer, fitness: Suitability, assumptions: tuple[AssumptionRow, ...]) -> None:
    saved = answer.savings
    click.echo(saved.sentence)
    click.echo(fitness.sentence)
    click.echo("")
    click.echo(as_text(
        [
            {"step": step.name, "mean": usd(step.usd.mean), "P5": usd(step.usd.p5), "P50": usd(step.usd.p50),
             "P95": usd(step.usd.p95)}
            for step in saved.steps
        ]
    ), nl=False)  # fmt: skip
    click.echo("")
    click.echo(saved.break_even.sentence)
    click.echo(answer.mix.sentence)
    needed = count(next(int(row.value or 0) for row in assumptions if row.name == "needed_nodes"), "node")
    click.echo(
        f"Interruptions a month: {saved.interruptions.p50:,.0f}. Fewer than {needed} ready: "
        f"{duration(saved.shortfall_hours * 3_600)} a month."
    )
    if saved.jobs:
        click.echo(f"Jobs late: {saved.late_jobs.p50:,.0f} of {saved.jobs:,.0f}; failed: {saved.failed_jobs.p50:,.0f}.")
    if saved.best_checkpoint_minutes is not None:
        click.echo(f"Best time between checkpoints: {duration(saved.best_checkpoint_minutes * 60)} (Daly).")
    for note in saved.notes:
        click.echo(note)
    click.echo("")
    _print_checks(fitness)
    click.echo("")
    click.echo(
        as_text(
            [
                {"assumption": row.label, "value": row.value, "unit": row.unit, "where it comes from": row.source}
                for row in assumptions
            ]
        ),
        nl=False,
    )


def _print_checks(fitness: Suitability) -> None:
    for check in fitness.checks:
        click.echo(f"[{check.status.value}] {CHECK_NAME[check.check]}: {check.evidence}")
        if check.cure and check.status is not Status.OK:
            click.echo(f"    cure: {check.cure}")
        for line in check.by_hand.splitlines():
            click.echo(f"    {line}")
    if fitness.patch_yaml:
        click.echo(f"\n# patch of {fitness.workload}\n{fitness.patch_yaml}")
    if fitness.objects_yaml:
        click.echo(f"# objects to add\n{fitness.objects_yaml}")
    for command in fitness.commands:
        click.echo(f"# shows: {command.proves}\n{command.command}")
