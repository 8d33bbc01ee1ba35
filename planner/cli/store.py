"""``headroom store``: lists, queries with SQL, and compacts a store of history."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import click

from planner.cli import progress_line, terminal
from planner.cli.output import output_option, write_document, write_rows
from planner.ground import words
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.table_formats import Row, as_text
from planner.history import snapshot_names
from planner.history.schema import FORMAT
from planner.sources import bounded_reading
from planner.sources.store import GRACE_SECONDS, Store, days_before

_ENTRIES_NAMED: Final = 10
_URL = click.argument("url", metavar="STORE")


@click.group("store")
def command() -> None:
    """A store of history: what is in it, asked with SQL, and kept small.

    STORE is a folder, file:///path, s3://bucket/path or gs://bucket/path. A moment of a cluster in it is a CLUSTER for
    every command: store:URL#cluster@time.
    """


@command.command("list")
@_URL
@click.option("--cluster", "clusters", multiple=True, metavar="NAME", help="Of this cluster only; repeatable.")
@output_option
def list_command(url: str, clusters: tuple[str, ...], output_format: str) -> int:
    """The snapshots in the store, each as it is written where a command takes CLUSTER."""
    store = there(url)
    rows: list[Row] = [
        {
            "cluster": stored.cluster,
            "taken": words.moment(stored.taken_at),
            "CLUSTER": str(
                snapshot_names.SnapshotAddress(
                    url=store.url, cluster=stored.cluster, time=snapshot_names.time_text(stored.taken_at)
                )
            ),
        }
        for stored in store.snapshots(clusters)
    ]
    _show(rows, output_format, empty="the store has no snapshot")
    return say_left_out(store.left_out)


@command.command("query")
@_URL
@click.argument("sql")
@click.option("--cluster", "clusters", multiple=True, metavar="NAME", help="Of this cluster only; repeatable.")
@click.option("--days", type=click.FloatRange(min=0), metavar="N", help="Of the last days only.")
@output_option
def query_command(url: str, sql: str, clusters: tuple[str, ...], days: float | None, output_format: str) -> int:
    """What DuckDB answers to SQL over the tables of docs/store.md, each row once."""
    since = None if days is None else days_before(time.time(), days)
    store = there(url)
    with bounded_reading.memory():
        records = store.query(sql, clusters, since)
    _show([{name: _cell(cell) for name, cell in row.items()} for row in records], output_format, empty="no rows")
    return say_left_out(store.left_out)


@command.command("compact")
@_URL
@click.option("--keep-days", type=click.IntRange(1), metavar="N", help="Delete days that are older.")
@click.option("--grace", "grace_seconds", type=click.FloatRange(min=0), default=GRACE_SECONDS, show_default=True,
              metavar="SECONDS", help="How long readers may still need files that were joined.")  # fmt: skip
def compact_command(url: str, keep_days: int | None, grace_seconds: float) -> int:
    """Join each day's files, delete what was joined before, and what no writer finished within a day."""
    store = there(url)
    expired = store.expire(before=days_before(time.time(), keep_days)) if keep_days else 0
    done = store.compact(
        grace_seconds=grace_seconds,
        told=lambda doing, done, total: progress_line.doing(f"{done / max(1, total):.0%} {doing} (Ctrl-C stops)"),
    )
    click.echo(
        f"joined {words.count(done.joined, 'write')} in {words.count(done.partitions, 'day of a cluster', 'days of clusters')}, "
        f"deleted {words.count(done.deleted + expired, 'file')}"
    )
    return say_left_out(store.left_out)


def there(url: str) -> Store:
    """The store at `url`.

    Raises
    ------
    InputError
        Where it is a folder that isn't there: a mistyped path would be an empty store forever, and a CronJob's status 0.
    """
    store = Store(url)
    if not store.is_there():
        fix = "Check the path; headroom store snapshot makes a store"
        raise InputError("there is no such store", where=store.url, fix=fix)
    return store


def say_left_out(left_out: Sequence[str]) -> ExitStatus:
    """Say which entries, files and rows of a store weren't read, on standard error; the status that stands for it."""
    for reason in left_out[:_ENTRIES_NAMED]:
        click.echo(f"headroom: left out of the store: {reason}", err=True)
    if len(left_out) > _ENTRIES_NAMED:
        click.echo(f"headroom: and {len(left_out) - _ENTRIES_NAMED:,} more", err=True)
    return ExitStatus.NOT_KNOWN if left_out else ExitStatus.ANSWERED


def _cell(value: Any) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return ",".join(f"{name}={amount}" for name, amount in value.items())
    return value


def _show(rows: list[Row], output_format: str, *, empty: str) -> None:
    if output_format in ("json", "yaml"):
        write_document(output_format, {"format": FORMAT, "rows": rows})
    elif output_format in ("csv", "markdown"):
        write_rows(output_format, rows)
    else:
        click.echo(as_text(rows, room=terminal.width()) or f"{empty}\n", nl=False)
