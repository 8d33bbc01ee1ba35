"""The argument CLUSTER of every command: reads it, and reports on standard error what could not be used."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import BinaryIO, Final

import click

from planner.cli import progress_line
from planner.cli.output import TOLD
from planner.ground import garbage_collector, parallel_parts
from planner.ground.errors import HeadroomError, InputError
from planner.ground.records import replace
from planner.history import snapshot_names
from planner.inventory import input_report
from planner.kubernetes.object_records import Severity, Snapshot
from planner.sources import bounded_reading
from planner.sources import cluster_argument as source

_WORTH_BYTES: Final = 2**24  # of all but the largest file: less is read as soon as a process is made


def read_cluster(
    spec: str, *, stdin: BinaryIO | None = None, is_told: bool = True, is_replaced: bool = False
) -> Snapshot:
    """The snapshot named by `spec` (`planner.sources.cluster_argument.read_cluster`).

    Parts that could not be used don't end the command: an answer from the rest is still an answer, said to be so, unless the
    command tells it itself (`is_told` False) or was asked to be quiet.
    """
    progress_line.doing(f"reading {spec}")
    snapshot = source.read_cluster(spec, stdin=stdin, limit_bytes=bounded_reading.limit_bytes())
    return _told(spec, snapshot, is_told=is_told, is_replaced=is_replaced)


def _told(spec: str, snapshot: Snapshot, *, is_told: bool = True, is_replaced: bool = False) -> Snapshot:
    # later, by another one: it has to be given back, and what was made of it stands in cycles with it
    if not is_replaced:
        garbage_collector.put_aside()
    progress_line.doing("working it out")
    if not is_told or progress_line.is_quiet():
        return snapshot
    for problem in snapshot.problems:
        if problem.severity is Severity.ERROR or problem.code in (
            input_report.UNCHECKED,
            input_report.EXPIRES,
            input_report.LEFT_OUT,
        ):
            place = f"{problem.object}: " if problem.object else ""
            fix = f". {problem.fix}" if problem.fix else ""
            click.echo(f"headroom: warning: {place}{problem.what}{fix}", err=True)
    for sentence in input_report.not_seen(snapshot):
        click.echo(f"headroom: warning: {sentence}", err=True)
    if not input_report.is_whole(snapshot) and spec not in source.EMBEDDED:
        click.echo(f"headroom: {input_report.read_sentence(snapshot)}", err=True)
        context = click.get_current_context(silent=True)
        if context is None:
            _tell_missing(snapshot, ())
        else:  # once the command has ended: kinds that its answer told of aren't told again
            context.call_on_close(lambda: _tell_missing(snapshot, context.meta.get(TOLD, ())))
    return snapshot


def _tell_missing(snapshot: Snapshot, but: Collection[str]) -> None:
    if lacking := input_report.missing_sentence(snapshot, but):
        click.echo(f"headroom: {lacking}. To add it: {input_report.missing_command(snapshot, but)}", err=True)


def read_clusters(specs: Sequence[str]) -> list[Snapshot]:
    """The snapshots of several CLUSTERs; a whole store (``store:URL``) is the latest of each of its clusters.

    Each is called as it was named: a context by its name, a file by its path.
    """
    one_reader_of_stdin(*specs)
    snapshots = []
    every = [source_spec for cluster_spec in specs for source_spec in source.expanded(cluster_spec)]
    for spec, snapshot in zip(every, read_each(every), strict=True):
        is_named = snapshot_names.is_place(spec) or spec in source.EMBEDDED or spec.startswith(source.CONTEXT_PREFIX)
        snapshots.append(snapshot if is_named else replace(snapshot, source=spec))
    return snapshots


def read_each(specs: Sequence[str]) -> Iterator[Snapshot]:
    """`read_cluster` of one after another; large files are read beside one another."""
    sizes = [source.bytes_to_read(spec) for spec in specs] if parallel_parts.are_shared() else [0]
    if not all(sizes) or sum(sizes) - max(sizes) < _WORTH_BYTES or sum(sizes) > bounded_reading.limit_bytes():
        yield from map(read_cluster, specs)
        return
    progress_line.doing(f"reading {', '.join(specs)}")
    for spec, read in zip(specs, parallel_parts.each(specs, _tried, are_long=True), strict=True):
        if isinstance(read, HeadroomError):
            raise read
        yield _told(spec, read)


def _tried(spec: str) -> Snapshot | HeadroomError:
    """What is read, or why nothing is: it is said after what is said of those before it."""
    try:
        return source.read_cluster(spec, limit_bytes=bounded_reading.limit_bytes())
    except HeadroomError as error:
        return error


def one_reader_of_stdin(*places: str) -> None:
    """Refuse two places that both mean standard input: the second would find it read.

    Raises
    ------
    InputError
        When more than one of `places` is ``-``.
    """
    stdin_places = [place for place_text in places for place in place_text.split(",") if place == "-"]
    if len(stdin_places) > 1:
        fix = "Write one of them to a file, and name that"
        raise InputError("two inputs can't both be read from it", where="standard input", fix=fix)
