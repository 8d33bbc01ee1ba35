"""``headroom dump``: writes a cluster to one file that every command reads."""

from __future__ import annotations

import gzip
from pathlib import Path

import click

from planner.cli import anonymize, options_from_settings, output, terminal
from planner.cli.cluster_argument import read_cluster
from planner.ground.words import count, listing
from planner.history import snapshot_bytes
from planner.inventory.archives import in_units
from planner.kubernetes.object_records import Presence, Snapshot


@click.command("dump", cls=options_from_settings.ShortHelp)
@click.argument("cluster")
@click.option("--to", "file", required=True, metavar="FILE", help="Where it is written: JSON, gzipped where the name ends in .gz.")  # fmt: skip
@click.option("--anonymize", "is_anonymous", is_flag=True, help="With every name replaced, each always by the same one; what stays is listed.")  # fmt: skip
@click.option("--yes", "is_agreed", is_flag=True, help="With --anonymize: write without asking; on a terminal it is asked first.")  # fmt: skip
def command(cluster: str, file: str, is_anonymous: bool, is_agreed: bool) -> int:
    """Write the cluster as one file, which every command takes as CLUSTER and answers alike.

    Of context:NAME it asks which kinds the server has, and lists those in pages, with the rights there are. What was refused and what
    the server doesn't have is told. The file holds no Secrets, ConfigMaps, environment values, last-applied
    configurations or log lines.
    """
    if is_agreed and not is_anonymous:
        raise options_from_settings.alone("--yes", "--anonymize")
    snapshot = read_cluster(cluster)
    if is_anonymous:
        return anonymize.write(snapshot, file, is_agreed=is_agreed)
    content = snapshot_bytes.encode(snapshot)
    output.write_file(Path(file), gzip.compress(content, mtime=0) if file.endswith(".gz") else content)
    nodes, pods = count(len(snapshot.nodes), "node"), count(len(snapshot.pods), "pod")
    terminal.say(f"{file}: {nodes}, {pods}, {in_units(len(content))}. headroom overview {file} reads it.")
    for line in _seen(snapshot):
        terminal.say(line)
    return 0


def _seen(snapshot: Snapshot) -> list[str]:
    """How many kinds were listed, and which were not."""
    kinds = {state: [kind for kind, presence in snapshot.presence.items() if presence is state] for state in Presence}
    sentences = [f"Listed: {count(len(kinds[Presence.PRESENT]), 'kind')}."]
    named = {
        Presence.REFUSED: "Refused (403), so not in the file",
        Presence.PARTIAL: "In part only",
        Presence.ABSENT: "The server doesn't have, or the input doesn't hold",
    }
    return sentences + [
        f"{words}: {listing(sorted(kinds[state]), most=None)}." for state, words in named.items() if kinds[state]
    ]
