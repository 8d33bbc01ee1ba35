"""``headroom capacity``: what is left, what still fits, what is stranded, and what a change would do."""

from __future__ import annotations

import json
from textwrap import indent

import click

from planner.capacity.changes import FORMS, parse_changes
from planner.capacity.headroom import Fit
from planner.cli.cluster import read_cluster
from planner.inventory.pool_limits import PoolLimits, parse_typed_limits
from planner.questions import capacity as plan_capacity
from planner.questions.capacity import CapacityAnswer, WhatIfAnswer
from planner.questions.documents import capacity_document, fit_rows
from planner.questions.overview import supplies_of
from planner.sources import gcloud, node_pools
from planner.tables import Row, Rows, as_csv, as_text
from planner.words import roughly

_CHANGES = "; ".join(f"{form} ({what})" for form, what in FORMS.values())


@click.command("capacity")
@click.argument("cluster")
@click.option("--shape", "shapes", multiple=True, metavar="TEXT", help="gpu=2,cpu=8,memory=64Gi; pool=NAME and tolerate=all may be added; repeatable.")  # fmt: skip
@click.option(
    "--what-if", "changes", multiple=True, metavar="TEXT", help=f"A change to look beyond; repeatable: {_CHANGES}."
)
@click.option(
    "--node-pools", "pool_files", multiple=True, metavar="FILE",
    help="How far node pools may grow: gcloud container node-pools list --format=json, Karpenter NodePools, or the "
    "cluster-autoscaler-status ConfigMap; repeatable.",
)  # fmt: skip
@click.option(
    "--gke", metavar="CLUSTER", help="The same live: projects/P/locations/L/clusters/C (needs headroom-planner[gke])."
)
@click.option("--limits", default="", metavar="TEXT", help="Limits by hand: gpu-t4=8,web=2-12.")
@click.option(
    "--output",
    "-o",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How to print.",
)
def command(
    cluster: str,
    shapes: tuple[str, ...],
    changes: tuple[str, ...],
    pool_files: tuple[str, ...],
    gke: str | None,
    limits: str,
    output: str,
) -> int:
    """What is left of the cluster, and what still fits.

    Counts are those of the real scheduler's rules: pods of a shape are placed until the first doesn't fit. With
    --what-if the changed cluster stands beside today's; exit status 2 where a change doesn't get through, else 0.
    """
    snapshot = read_cluster(cluster)
    known: tuple[PoolLimits, ...] = tuple(one for name in pool_files for one in node_pools.read(name))
    known += gcloud.read_live(gke) if gke else ()
    known += parse_typed_limits(limits)
    answer = plan_capacity.capacity(snapshot, known)
    typed = [plan_capacity.shape(snapshot, text) for text in shapes]
    changed = None
    if changes:
        asked = parse_changes(";".join(changes))
        changed = plan_capacity.what_if(snapshot, asked, known, shapes[0] if shapes else "")
    if output == "json":
        document = capacity_document(
            answer, shapes=typed, changed=changed, digest=snapshot.digest, source=snapshot.source
        )
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif output == "csv":
        click.echo(as_csv(fit_rows([*typed, *answer.standard, *answer.workloads])), nl=False)
    else:
        _print(answer, typed, shapes)
        if changed:
            _print_changed(changed)
        click.echo(f"\nfrom {snapshot.source}")
    return 2 if changed and not all(step.is_done for step in changed.steps) else 0


def _table(rows: Rows) -> None:
    click.echo(indent(as_text(rows), "  "), nl=False)


def _print(answer: CapacityAnswer, typed: list[Fit], texts: tuple[str, ...]) -> None:
    click.echo(answer.sentence)
    for text, one in zip(texts, typed, strict=True):
        click.echo(f"\n{text}: {one.sentence}")
        if one.message:
            click.echo(f"  kube-scheduler: {one.message}")
    click.echo("\nresources (requested by bound pods)")
    _table(
        [
            {
                "resource": line.resource,
                "allocatable": roughly(line.allocatable, line.resource),
                "requested": roughly(line.requested, line.resource),
                "free": roughly(line.free, line.resource),
                "waited for": roughly(line.pending, line.resource),
            }
            for line in answer.resources
        ]
    )
    click.echo("\nnode pools")
    rows: list[Row] = []
    for place in answer.pools:
        pool = place.pool
        gpus, held = (amounts.get(answer.fragments.resource, 0) for amounts in (place.allocatable, place.requested))
        machine = ", ".join(pool.machine_types) or "?"
        model = f" {pool.accelerator}" if gpus and pool.accelerator else ""
        rows.append(
            {
                "pool": pool.name,
                "nodes": pool.node_count,
                "machine": machine,
                "GPUs": f"{gpus}{model}",
                "free": gpus - held,
                "bought": ", ".join(pool.provisioning) or "?",
                "limits": pool.limit_text,
            }
        )
    _table(rows)
    click.echo(f"\nwhat fits (standard: {answer.standard_basis})")
    _table([_fit_row(one) for one in (*answer.standard, *answer.workloads)])
    click.echo(f"\nfree GPUs: {answer.fragments.sentence}")
    for size in answer.fragments.sizes[1:]:
        reasons = ", ".join(f"{gpus} {reason}" for reason, gpus, _ in size.by_reason)
        usable = size.free - size.stranded
        click.echo(
            f"  pods of {size.gpus}: {usable} of {size.free} usable" + (f" (stranded: {reasons})" if reasons else "")
        )
    for finding in answer.findings:
        click.echo(f"\n{finding.severity.value}: {finding.what}. {finding.mend}")


def _fit_row(one: Fit) -> Row:
    number = f"{one.count:,}" + ("+" if one.is_at_least else "")
    stops = ", ".join(map(str, one.obstacles[:2]))
    if one.quota_limit is not None and one.quota_limit < one.count:
        stops += f"; quota {one.quota} lets in {one.quota_limit}"
    return {"shape": one.shape, "more": number, "then": stops}


def _print_changed(answer: WhatIfAnswer) -> None:
    click.echo(f"\nwhat if {answer.changes}\n{answer.sentence}")
    for step in answer.steps:
        click.echo(f"  {'✓' if step.is_done else '✗'} {step.sentence}")
        for held in step.drain.held_back[:10] if step.drain else ():
            click.echo(f"      {held.pod} on {held.node}: {held.why}")
        for one in step.drain.unplaced[:10] if step.drain else ():
            click.echo(f"      {one.count} of {one.workload} wait ({one.before} did before): {one.message}")
    _table([{"": name, "today": before, "then": after} for name, before, after in _beside(answer)])
    for change in answer.verdicts:
        click.echo(f"  {change.workload}: {change.before.value} → {change.after.value}: {change.sentence}")


def _beside(answer: WhatIfAnswer) -> list[tuple[str, int, int]]:
    before, after = ({one.noun: one for one in supplies_of(side.gpus)} for side in (answer.before, answer.after))
    rows = [
        (f"{noun} {name}", getattr(before.get(noun), name, 0), getattr(after.get(noun), name, 0))
        for noun in {**before, **after}
        for name in ("allocatable", "free", "pending")
    ]
    rows.append(("pods waiting", answer.waiting_before, answer.waiting_after))
    if answer.completing_before is not None and answer.completing_after is not None:
        rows.append(("rollouts that complete", answer.completing_before, answer.completing_after))
    return rows + [(f"more of {one.shape}", one.before, one.after) for one in answer.fits if one.before != one.after]
