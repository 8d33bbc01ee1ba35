"""``headroom anonymise``: the cluster under other names, to be shown to others."""

from __future__ import annotations

import gzip
from pathlib import Path

import click

from planner.cli import output
from planner.cli.cluster import read_cluster
from planner.drift.model import ENVIRONMENT_WORDS
from planner.ground.words import count
from planner.history.anonymous import anonymised
from planner.spot.suitability import BACKGROUND


@click.command("anonymise")
@click.argument("cluster")
@click.option("--to", "file", required=True, metavar="FILE", help="Where it is written: JSON, gzipped where the name ends in .gz.")  # fmt: skip
def command(cluster: str, file: str) -> int:
    """Write the cluster with every name replaced, each always by the same one.

    Every command reads the file as a CLUSTER, and answers as for the cluster itself up to names. Numbers, times, zones,
    machine types, GPU models, resources, programs and words that say what something is for (dev, prod, batch, train) stay; log lines are left out.
    """
    snapshot = read_cluster(cluster)
    content = anonymised(snapshot, ENVIRONMENT_WORDS, BACKGROUND)
    output.write_file(Path(file), gzip.compress(content, mtime=0) if file.endswith(".gz") else content)
    nodes, pods = count(len(snapshot.nodes), "node"), count(len(snapshot.pods), "pod")
    click.echo(
        f"{file}: {nodes}, {pods}, {len(content) / 1e6:.1f} MB. Look at it before you hand it on: headroom doctor {file}"
    )
    return 0
