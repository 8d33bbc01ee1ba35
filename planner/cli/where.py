"""``headroom where``: a shape or a manifest against several clusters."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import click

from planner.cli import options, output
from planner.cli.cluster import one_reader_of_stdin, read_clusters
from planner.cli.given import pool_limits, pool_options, price_book, price_options
from planner.ground.tables import as_text
from planner.questions.question import Given
from planner.questions.where import QUESTION, WhereAnswer, WhereSettings, answer, cluster_rows
from planner.questions.wording import for_people
from planner.sources import manifests


@click.command("where")
@click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER...")
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE", help="A manifest, or - for standard input; repeatable."
)
@options.asked(WhereSettings)
@pool_options
@price_options
@output.printing(QUESTION)
def command(
    clusters: tuple[str, ...],
    files: tuple[str, ...],
    pool_files: tuple[str, ...],
    gke: str | None,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """Where would this fit? Pods of a shape, or what a manifest makes, against each CLUSTER: verdict, room, price.

    Where it fits comes first, of those the cheapest. --node-pools are of the first CLUSTER. Exits 0 where it fits
    somewhere, 2 where it fits nowhere, 3 where a pool has to grow, 4 where it isn't known.
    """
    one_reader_of_stdin(*clusters, *files)
    snapshots = read_clusters(clusters)
    given_manifests = manifests.read(files, recursive=False) if files else manifests.Manifests(text="", places={})
    settings = options.read(WhereSettings, asked, manifest=given_manifests.text, unread=given_manifests.unread)
    given = Given(
        limits=pool_limits(snapshots[0], pool_files, gke),
        book=price_book(own_prices, discounts),
        others=tuple(snapshots[1:]),
    )
    found = answer(snapshots[0], settings, given)
    output.show(output_format, QUESTION, snapshots, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.status(found)


def _print(found: WhereAnswer) -> None:
    click.echo(f"{found.sentence}\n\n{indent(as_text(for_people(cluster_rows(found))), '  ')}", nl=False)
