"""``headroom spot``: the generated command, plus the history of the user's own spot nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from planner.cli import options_from_settings
from planner.cli.cluster_argument import read_cluster
from planner.cli.input_options import FILE, ask_prometheus, prometheus_options
from planner.cli.question_commands import Called, Hooks, command_of
from planner.history import snapshot_names
from planner.inventory.spot_node_lifetimes import Watch, together, watch_snapshots
from planner.sources import bounded_reading
from planner.spot.assumptions import Life
from planner.spot.fitted_node_lifetimes import from_files, own_history
from planner.spot.interruption import parse_lives

_OPTIONS: Final = options_from_settings.together(
    click.option("--lives", "lives_file", type=FILE, metavar="FILE", help="Observed lifetimes: CSV, hours,ended."),
    click.option("--gaps", "gaps_file", type=FILE, metavar="FILE",
                 help="Observed gaps from a loss until a node was available again: CSV, hours,ended."),
    options_from_settings.option("", "--history", "histories", multiple=True, metavar="FROM",
                 is_everyday=True, help="When your own spot nodes came and went: store:URL, store:URL#cluster, or a CLUSTER with such Events; repeatable."),
    prometheus_options(what="When your own spot nodes came and went, from kube_node_created and kube_node_labels here.", days=30),
)  # fmt: skip


def _observed(called: Called) -> Mapping[str, Any]:
    """Lives and gaps of files, and of one's own nodes."""
    values, [snapshot], days = called.values, called.snapshots, called.values["days"]
    file, url = values["lives_file"], values["prometheus_url"]
    if not url and not values["histories"]:
        options_from_settings.need("--prometheus or --history", ["--days"])
    lives, gaps = _lives(file), _lives(values["gaps_file"])
    watches = [_watch(called, history, snapshot.taken_at, days) for history in values["histories"]]
    if url:
        from planner.sources.prometheus_node_lifetimes import nodes_before

        ask = partial(nodes_before, end=snapshot.taken_at, days=days)
        watches.append(ask_prometheus(url, values["prometheus_token_file"], ask))
    own = own_history(together(watches)) if watches else None
    if own is None and lives:
        own = from_files(lives, gaps, file.name)
    return {"lives": lives, "gaps": gaps, "own_history": own}


def _watch(called: Called, spec: str, until: float, days: int) -> Watch:
    """When nodes came and went: of a store the `days` before, of a cluster what its events tell."""
    if snapshot_names.is_place(spec):
        place = snapshot_names.read_place(spec)
        clusters = (place.cluster,) if place.cluster else ()
        return called.store(place.url).node_watch(clusters, since=until - days * 86_400.0, until=until)
    snapshot = read_cluster(spec)
    return watch_snapshots([(snapshot.source, snapshot)])


def _lives(path: Path | None) -> tuple[Life, ...]:
    if path is None:
        return ()
    return parse_lives(bounded_reading.read_text(path, fix="Give a CSV in UTF-8"), where=path.name)


command = command_of("savings", Hooks(options=_OPTIONS, brings=_observed))
