"""``headroom store snapshot``: keeps clusters and the answers about them in a store."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any

import click

from planner.cli import progress_line, question_commands
from planner.cli.cluster_argument import one_reader_of_stdin, read_cluster
from planner.cli.input_options import pool_limits, price_options
from planner.ground import words
from planner.ground.errors import HeadroomError, InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.history import snapshot_names
from planner.history.snapshot_rows import rows_of
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.serve.processes import answers_for_store
from planner.sources.cluster_argument import CONTEXT_PREFIX
from planner.sources.store import Store, days_before


@click.command("snapshot")
@click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER...")
@click.option("--store", "url", required=True, envvar="HEADROOM_STORE", metavar="URL",
              help="A folder, file:///path, s3://bucket/path or gs://bucket/path.")  # fmt: skip
@click.option("--name", metavar="NAME", help="What the cluster is called there; else its context's or file's name.")
@click.option("--taken-at", metavar="TIME", help="When it was taken, where the input doesn't tell: 2026-11-17T09:30Z.")
@click.option("--questions", default="", metavar="NAMES",
              help=f"What is asked, joined by commas; else all: {', '.join(answers_for_store.ASKED)}.")  # fmt: skip
@click.option("--keep-days", type=click.IntRange(1), metavar="N", help="Delete days of the store that are older.")
@price_options
def command(
    clusters: tuple[str, ...],
    url: str,
    name: str | None,
    taken_at: str | None,
    questions: str,
    keep_days: int | None,
    **values: Any,
) -> int:
    """Keep each CLUSTER in a store: the whole snapshot, its nodes, pools, workloads and pods, and every answer's facts.

    For a cron job. The same snapshot is written once; a snapshot that is named as written is on disk. No environment values,
    arguments, Secrets or log lines are kept. Exits 1 where one of several could not be kept; the others are.
    """
    one_reader_of_stdin(*clusters)
    if name and len(clusters) > 1:
        raise InputError("several clusters can't have one name", where="--name", fix="Give one CLUSTER, or no name")
    store, question_names = Store(url), answers_for_store.read_questions(questions)
    inputs, failed = Inputs(book=question_commands.book_of(values)), False
    for spec in clusters:
        try:
            click.echo(_keep(store, spec, name, taken_at, question_names, inputs))
        except HeadroomError as error:
            if len(clusters) == 1:
                raise
            click.echo(f"headroom: {spec}: {error}", err=True)
            failed = True
    if keep_days is not None:
        deleted_files = store.expire(before=days_before(time.time(), keep_days))
        if deleted_files:
            click.echo(f"deleted {words.count(deleted_files, 'file')} of days before the last {keep_days}")
    return ExitStatus.BAD_INPUT if failed else ExitStatus.ANSWERED


def _keep(
    store: Store, spec: str, name: str | None, taken_at: str | None, questions: tuple[str, ...], inputs: Inputs
) -> str:
    snapshot = read_cluster(spec)
    if taken_at:
        snapshot = replace(snapshot, taken_at=_moment(taken_at))
    cluster = name or cluster_name(spec, snapshot)
    answers = answers_for_store.answers(
        snapshot,
        replace(inputs, limits=pool_limits(snapshot, (), None)),
        questions,
        lambda question: progress_line.doing(f"{cluster}: {question} (Ctrl-C stops)"),
    )
    progress_line.doing(f"{cluster}: writes")
    rows = rows_of(
        snapshot, answers, written_by=version("headroom-planner"), prices=inputs.book.digest if inputs.book else ""
    )
    is_new = store.write(cluster, snapshot, rows)
    for answered in answers:
        if answered.error:
            click.echo(f"headroom: warning: {cluster}: {answered.question} isn't answered: {answered.error}", err=True)
    place = snapshot_names.SnapshotAddress(
        url=store.url, cluster=cluster, time=snapshot_names.time_text(snapshot.taken_at)
    )
    return f"{'wrote' if is_new else 'there already:'} {place}  {words.count(len(rows['facts']), 'fact')}"


def cluster_name(spec: str, snapshot: Snapshot) -> str:
    """What a cluster is called where it is not named: its context, its name in a store, else its source."""
    if spec.startswith(CONTEXT_PREFIX):
        return spec.removeprefix(CONTEXT_PREFIX)
    return snapshot_names.read_place(spec).cluster if snapshot_names.is_place(spec) else snapshot.source


def _moment(text: str) -> float:
    moment, _ = snapshot_names.span(text, now=time.time())
    if not 0 < moment < float("inf"):
        raise InputError("it names no moment since 1970", where="--taken-at", fix="Such as 2026-11-17T09:30Z")
    return moment
