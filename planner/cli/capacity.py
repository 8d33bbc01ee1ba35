"""``headroom capacity``: what is left, what still fits, what is stranded."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent
from typing import Any

import click

from planner.capacity.fragmentation import Fragments
from planner.capacity.headroom import Fit
from planner.capacity.room import PoolLine, PoolOffer
from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster
from planner.cli.given import pool_limits, pool_options
from planner.ground.tables import Row, Rows, as_text
from planner.ground.words import roughly
from planner.kubernetes.nodes import Sharing
from planner.questions.capacity import QUESTION, CapacityAnswer, CapacitySettings, answer
from planner.questions.question import Given


@click.command("capacity")
@click.argument("cluster")
@options.asked(CapacitySettings)
@pool_options
@output.printing(QUESTION)
def command(
    cluster: str, pool_files: tuple[str, ...], gke: str | None, rows: str, output_format: str, **asked: Any
) -> int:
    """What is left of the cluster, and what still fits.

    Counts are those of the real scheduler's rules: pods of a shape are placed until the first doesn't fit.
    """
    snapshot, settings = read_cluster(cluster), options.read(CapacitySettings, asked)
    found = answer(snapshot, settings, Given(limits=pool_limits(snapshot, pool_files, gke)))

    def text() -> None:
        _print(found, settings.shapes)
        terminal.say(f"\nfrom {snapshot.source}")

    output.show(output_format, QUESTION, snapshot, settings, found, text=text, rows=rows)
    return QUESTION.exit_status(snapshot, found)


def _table(rows: Rows) -> None:
    click.echo(indent(as_text(rows), "  "), nl=False)


def _print(answer: CapacityAnswer, texts: tuple[str, ...]) -> None:
    terminal.say(answer.sentence)
    for text, one in zip(texts, answer.shapes, strict=False):  # of none it is known without pods
        terminal.say(f"\n{text}: {one.sentence}")
        if one.message:
            terminal.say(f"  kube-scheduler: {one.message}")
    terminal.say("\nresources (requested by bound pods)")
    is_any_shut = any(line.free_cordoned for line in answer.resources)
    _table(
        [
            {
                "resource": line.resource,
                "allocatable": roughly(line.allocatable, line.resource),
                "requested": _roughly(line.requested, line.resource),
                "free": _roughly(line.free, line.resource),
                **({"out of use": _roughly(line.free_cordoned, line.resource)} if is_any_shut else {}),
                "wanted": _roughly(line.pending, line.resource),
            }
            for line in answer.resources
        ]
    )
    terminal.say("\nnode pools")
    rows: list[Row] = []
    is_shut = any(one.out_of_use for place in answer.pools for one in place.offers)
    for place in answer.pools:
        pool = place.pool
        rows.append(
            {
                "pool": pool.name,
                "nodes": pool.node_count,
                "machine": ", ".join(pool.machine_types) or "?",
                "GPUs": "; ".join(f"{one.allocatable:,} {_called(place, one)}" for one in place.offers) or "0",
                "free": _each(one.free for one in place.offers),
                **({"out of use": _each(one.out_of_use for one in place.offers)} if is_shut else {}),
                "bought": ", ".join(pool.provisioning) or "?",
                "limits": pool.limit_text,
            }
        )
    _table(rows)
    if answer.fragments is not None:
        terminal.say(f"\nwhat fits (standard: {answer.standard_basis})")
        _table([_fit_row(one) for one in (*answer.standard, *answer.workloads)])
        _print_stranded(answer.fragments)
    for finding in answer.findings:
        terminal.say(f"\n{finding.severity.value}: {finding.what}. {finding.mend}")


def _each(numbers: Iterable[int | None]) -> str:
    return "; ".join("–" if number is None else f"{number:,}" for number in numbers) or "0"


def _roughly(amount: int | None, resource: str) -> str | None:
    return None if amount is None else roughly(amount, resource)


def _print_stranded(found: Fragments) -> None:
    terminal.say(f"\nfree GPUs: {found.sentence}")
    for size in found.sizes[1:]:
        reasons = ", ".join(f"{gpus} {reason}" for reason, gpus, _ in size.by_reason)
        usable = size.free - size.stranded
        click.echo(
            f"  pods of {size.gpus}: {usable} of {size.free} usable" + (f" (stranded: {reasons})" if reasons else "")
        )


def _called(place: PoolLine, one: PoolOffer) -> str:
    """``T4``, ``time slices``: the model of whole devices, where the pool has one."""
    return place.pool.accelerator if one.sharing is Sharing.WHOLE and place.pool.accelerator else one.noun


def _fit_row(one: Fit) -> Row:
    if one.unknown:
        return {"shape": one.shape, "more": "?", "then": f"not known: {one.unknown}"}
    number = f"{one.count:,}" + ("+" if one.is_at_least else "")
    stops = ", ".join(map(str, one.obstacles[:2]))
    if one.quota_limit is not None and one.quota_limit < one.count:
        stops += f"; quota {one.quota} lets in {one.quota_limit}"
    return {"shape": one.shape, "more": number, "then": stops}
