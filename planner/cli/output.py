"""How every command prints: its formats, and a choice of tables."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from planner.cli.options_from_settings import Options, option, together
from planner.ground import table_formats
from planner.ground.errors import InputError
from planner.ground.table_formats import Rows
from planner.ground.words import literal, sentence
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import FACTS, Question, document, plain
from planner.questions.table_wording import for_people, listed

S = TypeVar("S")
A = TypeVar("A")

FORMATS = ("text", "json", "yaml", "csv", "markdown")
_ALIASES = {"table": "text"}


class _Format(click.Choice[str]):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(_ALIASES.get(value, value), param, ctx)


output_option: Final = option(
    "Output", "--output", "-o", "output_format", type=_Format(FORMATS), default="text", show_default=True, is_everyday=True,
    help="Words, a versioned document (JSON, YAML), or rows (CSV, Markdown).",
)  # fmt: skip


def printing(question: Question[Any, Any]) -> Options:
    """``--output``, ``--rows`` and, for a list, ``--fail-on``."""
    named = [*question.tables, FACTS]
    rows = option("Output", "--rows", type=click.Choice(named), default=question.first_rows or named[0], show_default=True,
                        help="What each row of CSV and Markdown is.")  # fmt: skip
    return together(*([fail_on_option(question)] if question.states else []), rows, output_option)


def fail_on_option(question: Question[Any, Any]) -> Options:
    """``--fail-on`` for a list of the question's states."""
    help_text = f"Fail if the list has one of: {', '.join(question.states)}. Join several by commas."
    return option(
        "Output", "--fail-on", type=_States(tuple(question.states)), default=(), metavar="STATE", help=help_text
    )


class _States(click.ParamType[Any]):
    name = "states"

    def __init__(self, states: tuple[str, ...]) -> None:
        self.states = states

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        states = tuple(part.strip() for part in value.split(",") if part.strip())
        if unknown := [state for state in states if state not in self.states]:
            self.fail(f"{unknown[0]!r} is not one of {', '.join(self.states)}.", param, ctx)
        return states


def show(
    output: str,
    question: Question[S, A],
    snapshots: Snapshot | Sequence[Snapshot],
    settings: S,
    answer: A,
    *,
    text: Callable[[], None],
    rows: str = "",
    also: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Print `answer` as asked; `text` prints the words, `rows` of another question stand for its first ones. Where it depends on a list
    that wasn't seen, that is printed."""
    rows = rows if rows in (*question.tables, FACTS) else ""
    clusters = [snapshots] if isinstance(snapshots, Snapshot) else snapshots
    lacking = question.not_known(snapshots, answer)
    if lacking and output in ("csv", "markdown"):
        click.echo(f"headroom: {lacking}", err=True)
    elif lacking and output == "text":
        click.echo(f"{sentence(lacking.what)} {sentence(lacking.fix)}")
    elif output in ("json", "yaml"):
        write_document(output, document(question, snapshots, settings, answer, *also))
    elif output in ("csv", "markdown"):
        listing = None if rows == FACTS else question.listing(rows)
        if listing is not None and output == "markdown":
            write_markdown(
                listed(listing, answer, is_written=True), getattr(answer, "sentence", ""), listing.unknown_of(answer)
            )
        else:
            write_rows(output, question.rows(answer, rows), headline=getattr(answer, "sentence", ""))
        if listing is not None and not listing.is_shown and (note := listing.note(answer)):
            click.echo(note, err=True)
    else:
        text()
    if output == "text":
        told(unseen.kind for snapshot in clusters for unseen in question.lacks(snapshot))


TOLD: Final = "planner.cli.told"


def told(kinds: Iterable[str]) -> None:
    """Remember that the answer named these kinds, which weren't seen: the end of the command doesn't name them again."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[TOLD] = {*context.meta.get(TOLD, ()), *kinds}


def write_document(output: str, content: Mapping[str, Any]) -> None:
    """A document on standard output."""
    if output == "json":
        click.echo(table_formats.as_json(content), nl=False)
    else:
        click.echo(as_yaml(content), nl=False)


def as_yaml(content: Mapping[str, Any]) -> str:
    """A document as YAML."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml's where it is there
    return str(yaml.dump(plain(content), Dumper=dumper, sort_keys=False, allow_unicode=True, width=120))


def write_file(path: Path, content: str | bytes) -> None:
    """A file, whole or not at all: what stood there stays until all of the new one is written, with its permissions.

    A device or a pipe is written into, a link followed; neither is put away for a file.

    Raises
    ------
    InputError
        When it can't be written.
    """
    payload = content.encode() if isinstance(content, str) else content
    try:
        file_status = _stat(path)
        if file_status is not None and stat.S_ISDIR(file_status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder")
        if file_status is not None and not stat.S_ISREG(file_status.st_mode):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb") as stream:  # a closed pipe refuses
                os.set_blocking(stream.fileno(), True)
                stream.write(payload)
            return
        target = path.resolve()
        temporary_file = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            temporary_file.write_bytes(payload)
            if file_status is not None:
                temporary_file.chmod(stat.S_IMODE(file_status.st_mode))
            temporary_file.replace(target)
        finally:
            temporary_file.unlink(missing_ok=True)
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a NUL
        error_text = (error.strerror if isinstance(error, OSError) else "") or "no such path"
        raise InputError(f"can't be written: {error_text}", where=str(path), fix="Check the folder") from None


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def write_rows(output: str, rows: Rows, *, headline: str = "") -> None:
    """Rows on standard output, as CSV or as a Markdown table under `headline`; unknown values are empty."""
    if output == "csv":
        click.echo(table_formats.as_csv(rows), nl=False)
    else:
        write_markdown(for_people(rows), headline)


def write_markdown(rows: Rows, headline: str, unknown: str = "") -> None:
    """Rows for people on standard output, as a table of Markdown under `headline`."""
    heading = f"{literal(headline)}\n\n" if headline else ""
    click.echo(heading + table_formats.as_markdown(rows, unknown=unknown), nl=False)
