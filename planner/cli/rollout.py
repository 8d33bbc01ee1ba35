"""``headroom rollout``: will this change finish, why not, and what would help."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from planner.cli import options, output
from planner.cli.cluster import one_reader_of_stdin, read_cluster
from planner.cli.given import pool_limits, pool_options, price_book, price_options
from planner.cli.overview import answer_overview
from planner.errors import ChangeError, InputError
from planner.kubernetes.records import Snapshot
from planner.pricing.book import age_warning
from planner.questions import rollout as rollout_question
from planner.questions import strategy_costs as costs_question
from planner.questions.question import Given, document
from planner.questions.rollout import QUESTION, RolloutSettings, StrategyKind
from planner.questions.strategy_costs import SpareSettings, StrategyCosts, StrategyCostSettings, StrategyPrice
from planner.rollout.answers import RolloutResult
from planner.tables import as_text
from planner.words import duration, usd


@click.command("rollout")
@click.argument("cluster")
@options.asked(RolloutSettings)
@click.option("--patch", "patch_file", metavar="FILE",
              help='Strategic merge patch, JSON or YAML: a file, "-", or the JSON itself as for kubectl patch -p.')  # fmt: skip
@click.option(
    "--filename", "-f", "manifest_files", multiple=True, metavar="FILE", help="Manifest as for kubectl apply -f."
)
@click.option("--recreate", is_flag=True, help="The same as --strategy Recreate.")
@pool_options
@click.option("--costs", "with_costs", is_flag=True,
              help="What each strategy's spare GPUs cost a month, against the Ready pods it gives up.")  # fmt: skip
@options.asked(SpareSettings)
@price_options
@output.printing(QUESTION)
def command(
    cluster: str,
    patch_file: str | None,
    manifest_files: tuple[str, ...],
    recreate: bool,
    pool_files: tuple[str, ...],
    gke: str | None,
    with_costs: bool,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """Will this rollout finish?

    Prints the verdict and exits 0 (completes), 2 (stuck), 3 (needs growth) or 4 (not known). Without --workload or
    --filename it lists every workload's own rollout, as headroom overview does.
    """
    one_reader_of_stdin(cluster, *manifest_files, patch_file or "")
    snapshot = read_cluster(cluster)
    if not asked["workload"] and not manifest_files:
        return answer_overview(snapshot, "", output_format, ())
    more: dict[str, Any] = {"patch": _patch(patch_file)} if patch_file else {}
    more |= {"manifest": "\n---\n".join(_read(name) for name in manifest_files)}
    more |= {"strategy": StrategyKind.RECREATE} if recreate else {}
    settings = options.read(RolloutSettings, asked, **more)
    given = Given(
        limits=pool_limits(snapshot, pool_files, gke), book=price_book(own_prices, discounts) if with_costs else None
    )
    result = rollout_question.answer(snapshot, settings, given)
    costs, also = None, []
    if with_costs:
        priced = StrategyCostSettings(rollout=settings, spares=options.read(SpareSettings, asked))
        costs = costs_question.answer(snapshot, priced, given)
        also = [document(costs_question.QUESTION, snapshot, priced, costs)]

    def text() -> None:
        _print(result, snapshot)
        if costs is not None:
            _print_costs(costs)

    output.show(output_format, QUESTION, snapshot, settings, result, text=text, rows=rows, also=also)
    return QUESTION.exit_status(snapshot, result)


def _patch(given: str) -> str:
    """A patch as ``kubectl patch -p`` takes it, or the file it is in."""
    return given if given.lstrip()[:1] in ("{", "[") else _read(given)


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", where=name, mend="Check the path") from None
    except UnicodeDecodeError:
        raise ChangeError("isn't text", where=name, mend="Give JSON or YAML in UTF-8") from None


def _print(result: RolloutResult, snapshot: Snapshot) -> None:
    click.echo(result.sentence)
    if len(result.workloads) > 1:
        for part in result.workloads:
            click.echo(f"  {part.workload}: {part.sentence}")
    for part in result.workloads:
        if part.scheduler_message:
            click.echo(f"kube-scheduler: {part.scheduler_message}")
        if part.exceeds_deadline:
            click.echo(
                f"{part.workload}: longer without progress than progressDeadlineSeconds "
                f"({duration(part.progress_deadline_seconds or 0)}), so kubectl rollout status will report a failure"
            )
    first = result.workloads[0]
    click.echo(
        f"at most {first.peak_pods} pods; start-up {duration(first.startup_seconds)} ({first.startup_source}), "
        f"termination {duration(first.termination_seconds)}; times are estimates"
    )
    if result.ties:
        click.echo(f"placement: {result.ties.sentence}")
    if result.preempted:
        click.echo(f"preempted on the way: {', '.join(result.preempted)}")
    for remedy in result.remedies:
        click.echo(f"\nway out: {remedy.title}\n  {remedy.sentence}; about {duration(remedy.seconds)}")
        if remedy.command:
            click.echo(f"  {remedy.command}")
    for finding in result.findings:
        click.echo(f"\n{finding.severity.value}: {finding.what}. {finding.mend}")
    click.echo(f"\nfrom {snapshot.source}")


def _print_costs(costs: StrategyCosts) -> None:
    """The sentence, and the strategies that no other beats in Ready pods, time and spare GPUs; JSON has all."""
    click.echo("\nWhat each strategy costs")
    if costs.sentence:
        click.echo(costs.sentence)
    for note in costs.notes:
        click.echo(note)
    shown = [one for one in costs.strategies if one.is_worth and one.cost]
    if not shown:
        return
    click.echo("")
    click.echo(as_text([_cost_row(one) for one in shown]), nl=False)
    terms = costs.terms
    click.echo(
        f"\nUSD a month: spare nodes kept on demand, kept on spot, or added for each of {terms.rollouts_per_month:g} "
        f"rollouts ({duration(terms.node_start_seconds)} before, {duration(terms.scale_down_seconds)} after it). What is stuck today "
        "is shown as it would be with them."
    )
    if costs.as_of:
        click.echo(
            f"Nodes like pool {costs.node_pool}'s: {costs.machine_type} in {costs.region_id}, as of {costs.as_of}."
        )
        if warning := age_warning(costs.as_of, time.time()):
            click.echo(warning, err=True)


def _cost_row(one: StrategyPrice) -> dict[str, object]:
    def money(amount: float | None) -> str:
        return "no price" if amount is None else usd(amount)

    cost = one.cost
    assert cost is not None
    assert one.seconds is not None
    return {
        "strategy": f"{one.name} (now)" if one.is_current else one.name,
        "today": one.verdict.value,
        "lowest Ready": f"{one.lowest_ready} of {one.replicas}",
        "extra GPUs": one.extra_gpus,
        "on demand": money(cost.kept_on_demand_usd),
        "on spot": money(cost.kept_on_spot_usd),
        "added": money(cost.added_usd),
        "takes": duration(one.seconds),
    }
