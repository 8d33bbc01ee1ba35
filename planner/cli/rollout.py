"""``headroom rollout``: will this change finish, why not, and what would help."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from planner.capacity.node_pools import pools
from planner.cli.cluster import one_reader_of_stdin, read_cluster
from planner.cli.prices import read_discounts
from planner.errors import ChangeError, InputError
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import parse_typed_limits
from planner.kubernetes.records import Snapshot
from planner.kubernetes.shares import parse_share
from planner.questions import overview as overview_question
from planner.questions import prepared as prepared_question
from planner.questions import rollout as rollout_question
from planner.questions import strategy_costs as plan_strategy_cost
from planner.questions.documents import rollout_document
from planner.questions.prepared import Scenario
from planner.questions.strategy_costs import StrategyCosts, StrategyPrice
from planner.rollout.answers import RolloutResult, Verdict
from planner.sources import node_pools
from planner.sources.prices import load_book
from planner.tables import as_text
from planner.words import duration, usd

EXIT_STATUS = {Verdict.COMPLETES: 0, Verdict.STUCK: 2, Verdict.NEEDS_GROWTH: 3, Verdict.UNKNOWN: 2}


@click.command("rollout")
@click.argument("cluster")
@click.option("--workload", "-w", "workloads", multiple=True, help="kind/namespace/name; several roll out together.")
@click.option(
    "--patch",
    "patch_file",
    help='Strategic merge patch, JSON or YAML: a file, "-", or the JSON itself as for kubectl patch -p.',
)
@click.option("--filename", "-f", "manifest_files", multiple=True, help="Manifest as for kubectl apply -f.")
@click.option("--replicas", type=click.IntRange(min=0), help="Replicas after the change.")
@click.option("--max-surge", help='Number or share, such as 1 or "25%".')
@click.option("--max-unavailable", help='Number or share, such as 1 or "25%".')
@click.option("--recreate", is_flag=True, help="Strategy Recreate.")
@click.option("--never-ready", is_flag=True, help="Suppose that the new pods start and never become Ready.")
@click.option("--startup-seconds", type=click.FloatRange(min=0), help="From scheduled to Ready; else learnt.")
@click.option("--seed", type=int, default=0, show_default=True, help="Breaks the scheduler's ties.")
@click.option("--runs", type=click.IntRange(1, 1000), default=50, show_default=True, help="Placements tried at most.")
@click.option(
    "--node-pools", "pool_files", multiple=True, metavar="FILE",
    help="How far node pools may grow: gcloud container node-pools list --format=json, Karpenter NodePools, or the "
    "cluster-autoscaler-status ConfigMap; repeatable.",
)  # fmt: skip
@click.option("--limits", default="", metavar="TEXT", help="Limits by hand: gpu-t4=8,web=2-12.")
@click.option(
    "--node-arrival-seconds",
    type=click.FloatRange(min=0),
    help="Until a new node takes pods; else 300 with GPUs, 150 without.",
)
@click.option("--costs", "with_costs", is_flag=True,
              help="What each strategy's spare GPUs cost a month, against the Ready pods it gives up.")  # fmt: skip
@click.option("--rollouts-per-month", type=click.FloatRange(0, 10_000), help="For --costs; else 20.")
@click.option("--scale-down-seconds", type=click.FloatRange(min=0),
              help="For --costs: until the autoscaler takes a node back; else 600.")  # fmt: skip
@click.option("--prices", "own", multiple=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="For --costs: a CSV of your own prices; repeatable.")  # fmt: skip
@click.option("--discount", "discounts", multiple=True, metavar="CATEGORY=SHARE",
              help="For --costs: negotiated discount, such as Standard=0.15; repeatable.")  # fmt: skip
@click.option(
    "--output",
    "-o",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Words, or a versioned document (headroom.rollout/v1).",
)
def command(
    cluster: str,
    workloads: tuple[str, ...],
    patch_file: str | None,
    manifest_files: tuple[str, ...],
    replicas: int | None,
    max_surge: str | None,
    max_unavailable: str | None,
    recreate: bool,
    never_ready: bool,
    startup_seconds: float | None,
    seed: int,
    runs: int,
    pool_files: tuple[str, ...],
    limits: str,
    node_arrival_seconds: float | None,
    with_costs: bool,
    rollouts_per_month: float | None,
    scale_down_seconds: float | None,
    own: tuple[Path, ...],
    discounts: tuple[str, ...],
    output: str,
) -> int:
    """Will this rollout finish?

    Prints the verdict and exits 0 (completes), 2 (stuck), 3 (needs growth) or 1 (bad input). Without --workload or
    --filename it lists every workload's own rollout.
    """
    one_reader_of_stdin(cluster, *manifest_files, patch_file or "")
    snapshot = read_cluster(cluster)
    if not workloads and not manifest_files:
        _list(snapshot)
        return 0
    changes = tuple(
        WorkloadChange(
            workload=workload,
            patch=_patch(patch_file) if patch_file else "",
            replicas=replicas,
            strategy_kind="Recreate" if recreate else None,
            max_surge=None if max_surge is None else parse_share(max_surge, where="--max-surge"),
            max_unavailable=None
            if max_unavailable is None
            else parse_share(max_unavailable, where="--max-unavailable"),
            never_ready=never_ready,
            startup_seconds=startup_seconds,
        )
        for workload in workloads
    )
    manifest = "\n---\n".join(_read(name) for name in manifest_files)
    scenario = Scenario(changes=changes, manifest=manifest, seed=seed, runs=runs)
    given = [one for name in pool_files for one in node_pools.read(name)]
    known = node_pools.stated(snapshot, given) + parse_typed_limits(limits)
    growing = pools(prepared_question.compiled(snapshot), known) if known else ()
    result = rollout_question.rollout(snapshot, scenario, growing, node_arrival_seconds)
    costs = None
    if with_costs:
        asked = {
            "rollouts_per_month": rollouts_per_month,
            "scale_down_seconds": scale_down_seconds,
            "node_start_seconds": node_arrival_seconds,
        }
        book = load_book(own).with_discounts(read_discounts(discounts))
        costs = plan_strategy_cost.costs_of(snapshot, scenario, result.workloads[0].workload, book, asked)
    if output == "json":
        document = rollout_document(
            result, scenario=scenario, digest=snapshot.digest, source=snapshot.source, costs=costs
        )
        click.echo(json.dumps(document, indent=2))
    else:
        _print(result, snapshot)
        if costs is not None:
            _print_costs(costs)
    return EXIT_STATUS[result.verdict]


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


def _list(snapshot: Snapshot) -> None:
    overview = overview_question.overview(snapshot)
    click.echo(overview.sentence)
    for line in overview.workloads:
        click.echo(f"{line.verdict.value:<12} {line.workload}  {line.sentence}")


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
