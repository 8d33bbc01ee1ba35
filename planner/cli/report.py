"""``headroom report``: the capacity review as a file to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from planner.cli import options, output, plain, terminal, waiting
from planner.cli.cluster import one_reader_of_stdin, read_cluster
from planner.ground import tables
from planner.ground.errors import InputError
from planner.ground.words import count, literal, sentence
from planner.questions.question import Given, Want, document
from planner.questions.report import QUESTION, ReportSettings, Review, review

FORMATS: Final = {".html": "html", ".htm": "html", ".md": "markdown", ".csv": "csv", ".json": "json"}
_WANTS: Final = (Want.POOLS, Want.PRICES, Want.USAGE, Want.OTHERS, Want.CLOCK)


@click.command("report", cls=options.ShortHelp)
@click.argument("cluster")
@click.option("--to", "files", multiple=True, required=True, metavar="FILE",
              help="Where it is written; the name's end says how: .html, .md, .csv, .json; repeatable.")  # fmt: skip
@click.option("--before", metavar="CLUSTER", help="An earlier snapshot: the review then begins with what changed.")
@options.asked(ReportSettings)
@plain.taking(*_WANTS)
def command(cluster: str, files: tuple[str, ...], before: str | None, **asked: Any) -> int:
    """The capacity review as one file: verdicts, GPUs, what is stranded, cost, savings, memory, restarts, drift, findings.

    The HTML has its charts in it, works without a network, asks no other server, and can be printed.
    """
    one_reader_of_stdin(cluster, before or "")
    forms = [_form(name) for name in files]
    snapshot = read_cluster(cluster)
    settings = options.read(ReportSettings, asked)
    others = (read_cluster(before),) if before else ()
    given = plain.given_of(plain.Called((cluster,), [snapshot, *others], settings, asked), *_WANTS)
    found = review(snapshot, settings, given, waiting.doing)
    for name, form in zip(files, forms, strict=True):
        content = written(found, settings, given, form)
        output.write_file(Path(name), content)
        terminal.say(f"{name}: {len(content.encode()) / 1e6:.1f} MB, {count(len(found.chapters), 'chapter')}")
    terminal.say(str(found.answer.sentence))
    return QUESTION.exit_status(snapshot, found.answer)


def _form(name: str) -> str:
    form = FORMATS.get(Path(name).suffix.lower())
    if form is None:
        raise InputError("its end says no form", where=name, mend=f"Give it one of {', '.join(FORMATS)}")
    return form


def written(found: Review, settings: ReportSettings, given: Given, form: str) -> str:
    """The review in one of the forms."""
    if form == "html":
        from planner.figures import report

        return report.html(found)
    if form == "json":
        both = [found.snapshot, *given.others]
        return tables.as_json(document(QUESTION, both, settings, found.answer, *found.documents()))
    if form == "csv":
        rows = [{"chapter": chapter.chapter.title, **row} for chapter in found.chapters for row in chapter.rows]
        return tables.as_csv(rows)
    return _markdown(found)


def _markdown(found: Review) -> str:
    from planner.figures.first_page import lines

    parts = [f"# Capacity review of {literal(found.snapshot.source)}\n"]
    for line in lines(found):
        step = f" **Next:** {literal(line.step)}" if line.step else ""
        parts.append(f"- **{line.about}**: {literal(sentence(line.said))}{step}")
    parts.append("")
    for chapter in found.chapters:
        parts.append(f"## {literal(chapter.chapter.title)}\n")
        if chapter.chapter.not_known:
            parts.append(f"Not known: {literal(chapter.chapter.not_known)}\n")
        elif chapter.said:
            parts.append(f"{literal(chapter.said)}\n")
        parts.append(tables.as_markdown(chapter.shown) or "None.\n")
        if chapter.more:
            parts.append(f"… and {chapter.more:,} more rows: JSON and CSV have them all.\n")
    parts.append("## What is not known\n")
    parts.append("".join(f"- {literal(one)}\n" for one in found.answer.not_known) or "Nothing that was asked for.\n")
    parts.append("## Inputs and their ages\n")
    parts.append(tables.as_markdown([{"input": one.name, "of": one.taken or None} for one in found.answer.inputs]))
    return "\n".join(parts)
