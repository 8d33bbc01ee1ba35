"""``headroom store anonymize``: writes the cluster under other names, to share it."""

from __future__ import annotations

import gzip
import sys
import textwrap
from pathlib import Path

import click

from planner.cli import output
from planner.cli.cluster_argument import read_cluster
from planner.ground.words import count
from planner.health.drift.model import ENVIRONMENT_WORDS
from planner.history.anonymization import anonymised
from planner.inventory.archives import in_units
from planner.kubernetes.object_records import Snapshot
from planner.spot.suitability import BACKGROUND


@click.command("anonymize")
@click.argument("cluster")
@click.option("--to", "file", required=True, metavar="FILE", help="Where it is written: JSON, gzipped where the name ends in .gz.")  # fmt: skip
@click.option("--yes", "is_agreed", is_flag=True, help="Write without asking; on a terminal it is asked first.")
def command(cluster: str, file: str, is_agreed: bool) -> int:
    """Write the cluster with every name replaced, each always by the same one.

    Every command reads the file as a CLUSTER, and answers as for the cluster itself up to names. What stays is listed before it is
    written: numbers, zones, machine types, GPU models, resources, known programs, words of Kubernetes' own and words that say
    what something is for (dev, prod, batch, train). Log lines are left out.
    """
    return write(read_cluster(cluster), file, is_agreed=is_agreed)


def write(snapshot: Snapshot, file: str, *, is_agreed: bool) -> int:
    """Write it under other names once that is agreed to; what stays as it was is told first."""
    anonymous = anonymised(snapshot, ENVIRONMENT_WORDS, BACKGROUND)
    click.echo("As it was in the cluster, and in the file too:", err=True)
    for sort, values in sorted(anonymous.stayed.items()):
        values_text = count(len(values), "value") if sort == "numbers" else ", ".join(sorted(values))
        line = textwrap.fill(f"{sort}: {values_text}", width=110, initial_indent="  ", subsequent_indent="    ")
        click.echo(line, err=True)
    if not is_agreed and sys.stdin.isatty() and not click.confirm(f"Write {file}?", err=True):
        click.echo("Nothing was written.", err=True)
        return 0
    output.write_file(
        Path(file), gzip.compress(anonymous.content, mtime=0) if file.endswith(".gz") else anonymous.content
    )
    nodes, pods = count(len(snapshot.nodes), "node"), count(len(snapshot.pods), "pod")
    click.echo(
        f"{file}: {nodes}, {pods}, {in_units(len(anonymous.content))}. Names were replaced; headroom doctor {file} reads it."
    )
    return 0
