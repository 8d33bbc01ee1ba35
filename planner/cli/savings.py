"""``headroom costs --spot``: is a workload fit for spot, and what would it save?"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from planner.cli import options, output, plain, terminal
from planner.cli.cluster import read_cluster
from planner.cli.given import FILE, ask_prometheus, price_book, price_options, prometheus_options
from planner.ground.words import count, duration, usd
from planner.history import names
from planner.inventory.node_lives import Watch, together, watch_snapshots
from planner.pricing.book import age_warning
from planner.questions.question import Given
from planner.questions.savings import (
    QUESTION,
    SavingsAnswer,
    SavingsSettings,
    answer,
)
from planner.sources import bounded
from planner.spot.assumptions import Life
from planner.spot.checks import CHECK_NAME, Status
from planner.spot.fleet import FleetSavings
from planner.spot.interruption import parse_lives
from planner.spot.own_history import from_files, own_history
from planner.spot.suitability import Suitability
from planner.spot.workload import SavingsDetail


@click.command("savings")
@click.argument("cluster")
@options.asked(SavingsSettings)
@click.option("--lives", "lives_file", type=FILE, metavar="FILE", help="Observed lifetimes: CSV, hours,ended.")
@click.option(
    "--gaps",
    "gaps_file",
    type=FILE,
    metavar="FILE",
    help="Observed gaps from a loss until a node was to be had again: CSV, hours,ended.",
)
@click.option(
    "--history",
    "histories",
    multiple=True,
    metavar="FROM",
    help="When your own spot nodes came and went: store:URL, store:URL#cluster, or a CLUSTER whose events tell; repeatable.",
)
@prometheus_options(
    what="When your own spot nodes came and went, from kube_node_created and kube_node_labels here.", days=30
)
@price_options
@output.printing(QUESTION)
def command(
    cluster: str,
    histories: tuple[str, ...],
    prometheus_url: str,
    prometheus_token_file: Path | None,
    days: int,
    lives_file: Path | None,
    gaps_file: Path | None,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """Is a workload fit for spot, and what would it really save? Without --workload: what would the whole cluster save?

    For the cluster: which workloads move, which nodes then go and which spot nodes come (on demand = kept + freed), in the
    order in which to move them, and who bears what before and after. For one workload, lost work, restarts and hours without capacity come off the saving, which is given as a band over simulated months.
    Every assumption has an option; what isn't given comes from the cluster and the price book. Exits 0, and 4 where
    nobody gives a price.
    """
    if not prometheus_url and not histories:
        options.need("--prometheus or --history", ["--days"])
    snapshot, settings = read_cluster(cluster), options.read(SavingsSettings, asked)
    lives, gaps = _lives(lives_file), _lives(gaps_file)
    watches = [_watch(one, snapshot.taken_at, days) for one in histories]
    if prometheus_url:
        from planner.sources.prometheus_nodes import nodes_before

        ask = partial(nodes_before, end=snapshot.taken_at, days=days)
        watches.append(ask_prometheus(prometheus_url, prometheus_token_file, ask))
    own = own_history(together(watches)) if watches else None
    if own is None and lives:
        own = from_files(lives, gaps, lives_file.name if lives_file else "")
    given = Given(book=price_book(own_prices, discounts), lives=lives, gaps=gaps, own_history=own)
    found = answer(snapshot, settings, given)
    output.show(output_format, QUESTION, snapshot, settings, found, text=lambda: _print(found), rows=rows)
    if warning := age_warning(found.as_of, time.time()) if found.as_of else "":
        terminal.say(warning, err=True)
    return QUESTION.exit_status(snapshot, found)


def _watch(spec: str, until: float, days: int) -> Watch:
    """When nodes came and went: of a store the `days` before, of a cluster what its events tell."""
    if names.is_place(spec):
        from planner.sources.store import Store

        place = names.read_place(spec)
        clusters = (place.cluster,) if place.cluster else ()
        return Store(place.url).node_watch(clusters, since=until - days * 86_400.0, until=until)
    one = read_cluster(spec)
    return watch_snapshots([(one.source, one)])


def _lives(path: Path | None) -> tuple[Life, ...]:
    if path is None:
        return ()
    return parse_lives(bounded.read_text(path, mend="Give a CSV in UTF-8"), where=path.name)


def _print(found: SavingsAnswer) -> None:
    if found.detail is not None:
        _print_detail(found, found.detail)
    else:
        assert found.fleet is not None
        _print_fleet(found, found.fleet)
    if (own := found.own_history) is not None:
        terminal.say(f"\nOwn history. {own.sentence}")
        plain.show_listings(QUESTION, found, "own_history")


def _print_fleet(found: SavingsAnswer, fleet: FleetSavings) -> None:
    terminal.say(found.sentence)
    rows = (("on demand", fleet.on_demand_usd), ("= kept", fleet.kept_usd), ("+ freed", fleet.freed_usd),
            ("  of it by packing alone", fleet.packing_usd), ("− spot nodes that come", fleet.spot_usd),
            ("saved by spot", fleet.saved_usd), ("expected to be left", fleet.expected_usd))  # fmt: skip
    click.echo("")
    terminal.say_rows([{"USD a month": name, "": f"{usd:,.2f}"} for name, usd in rows])
    if fleet.ways:
        terminal.say("\nAll on-demand nodes, bought otherwise:")
        plain.show_listings(QUESTION, found, "ways")
    terminal.say("\nIn this order (most saved per pod-hour at risk first):")
    plain.show_listings(QUESTION, found, "moves")
    terminal.say("\nWho bears it, before and after:")
    plain.show_listings(QUESTION, found, "namespaces")
    for workload, why in fleet.kept_off:
        terminal.say(f"stays: {workload}: {why}")
    if found.hidden:
        terminal.say(
            f"hidden by the filter: {count(found.hidden, 'workload')} and {count(found.hidden_namespaces, 'namespace')}; "
            f"{usd(found.hidden_usd)} of what is saved after interruptions. The sums above are the whole cluster's."
        )
    terminal.say("\nAlone: by itself, whole nodes only; repacked: the rest of its pool packed more tightly. "
               "Details: --workload NAME", err=True)  # fmt: skip


def _print_detail(found: SavingsAnswer, detail: SavingsDetail) -> None:
    saved, fitness, assumptions = detail.estimate.savings, detail.suitability, detail.assumptions
    terminal.say(detail.sentence)
    terminal.say(fitness.sentence)
    click.echo("")
    terminal.say_rows([
        {"step": step.name, "mean": usd(step.usd.mean), "P5": usd(step.usd.p5), "P50": usd(step.usd.p50),
         "P95": usd(step.usd.p95)}
        for step in saved.steps
    ])  # fmt: skip
    plain.show_listings(QUESTION, found, "ways")
    click.echo("")
    terminal.say(saved.break_even.sentence)
    terminal.say(detail.estimate.mix.sentence)
    needed = detail.assumed.needed_nodes
    short = f" Fewer than {count(needed, 'node')} ready: {duration(saved.shortfall_hours * 3_600)} a month."
    terminal.say(f"Interruptions a month: {saved.interruptions.p50:,.0f}.{short if needed else ''}")
    if saved.jobs:
        terminal.say(
            f"Jobs late: {saved.late_jobs.p50:,.0f} of {saved.jobs:,.0f}; failed: {saved.failed_jobs.p50:,.0f}."
        )
    if saved.best_checkpoint_minutes is not None:
        terminal.say(f"Best time between checkpoints: {duration(saved.best_checkpoint_minutes * 60)} (Daly).")
    for note in saved.notes:
        terminal.say(note)
    click.echo("")
    _print_checks(fitness)
    click.echo("")
    terminal.say_rows([
        {"assumption": row.label, "value": row.value, "unit": row.unit, "where it comes from": row.source}
        for row in assumptions
    ])  # fmt: skip


def _print_checks(fitness: Suitability) -> None:
    for check in fitness.checks:
        terminal.say(f"[{check.status.value}] {CHECK_NAME[check.check]}: {check.evidence}")
        if check.cure and check.status is not Status.OK:
            terminal.say(f"    cure: {check.cure}")
        for line in check.by_hand.splitlines():
            click.echo(f"    {line}")
    if fitness.patch_yaml:
        click.echo(f"\n# patch of {fitness.workload}\n{fitness.patch_yaml}")
    if fitness.objects_yaml:
        click.echo(f"# objects to add\n{fitness.objects_yaml}")
    for command in fitness.commands:
        click.echo(f"# shows: {command.proves}\n{command.command}")
