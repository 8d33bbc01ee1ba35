"""``headroom report``: writes the capacity review to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from planner.cli import options_from_settings, output, progress_line, question_commands, terminal
from planner.cli.cluster_argument import one_reader_of_stdin, read_cluster
from planner.ground import table_formats
from planner.ground.errors import InputError
from planner.ground.words import count, literal, sentence
from planner.inventory.archives import in_units
from planner.questions.question import Inputs, Want, document
from planner.questions.report import QUESTION, Report, ReportSettings, review

FORMATS: Final = {".html": "html", ".htm": "html", ".md": "markdown", ".csv": "csv", ".json": "json"}
_WANTS: Final = (Want.POOLS, Want.PRICES, Want.USAGE, Want.OTHERS, Want.CLOCK)


@click.command("report", cls=options_from_settings.ShortHelp)
@click.argument("cluster")
@click.option("--to", "files", multiple=True, required=True, metavar="FILE",
              help="Where it is written; the extension is the format: .html, .md, .csv, .json; repeatable.")  # fmt: skip
@click.option("--before", metavar="CLUSTER", help="An earlier snapshot: the review then begins with what changed.")
@options_from_settings.asked(ReportSettings)
@question_commands.taking(*_WANTS)
def command(cluster: str, files: tuple[str, ...], before: str | None, **asked: Any) -> int:
    """The capacity review as one file: verdicts, GPUs, what is stranded, cost, savings, memory, restarts, drift, findings.

    The HTML has its charts in it, works without a network, asks no other server, and can be printed.
    """
    one_reader_of_stdin(cluster, before or "")
    forms = [_form(name) for name in files]
    snapshot = read_cluster(cluster)
    settings = options_from_settings.read(ReportSettings, asked)
    others = (read_cluster(before),) if before else ()
    called = question_commands.Called((cluster,), [snapshot, *others], settings, asked)
    inputs = question_commands.given_of(called, *_WANTS)
    cluster_review = review(snapshot, settings, inputs, progress_line.doing)
    for name, form in zip(files, forms, strict=True):
        content = written(cluster_review, settings, inputs, form)
        output.write_file(Path(name), content)
        terminal.say(f"{name}: {in_units(len(content.encode()))}, {count(len(cluster_review.chapters), 'chapter')}")
    terminal.say(str(cluster_review.answer.sentence))
    return question_commands.with_left_out(QUESTION.exit_status(snapshot, cluster_review.answer), called)


def _form(name: str) -> str:
    form = FORMATS.get(Path(name).suffix.lower())
    if form is None:
        raise InputError("its extension names no format", where=name, fix=f"Give it one of {', '.join(FORMATS)}")
    return form


def written(report_answer: Report, settings: ReportSettings, inputs: Inputs, form: str) -> str:
    """The review in one of the forms."""
    if form == "html":
        from planner.figures import html_report

        return html_report.html(report_answer)
    if form == "json":
        both = [report_answer.snapshot, *inputs.others]
        return table_formats.as_json(
            document(QUESTION, both, settings, report_answer.answer, *report_answer.documents())
        )
    if form == "csv":
        rows = [{"chapter": chapter.chapter.title, **row} for chapter in report_answer.chapters for row in chapter.rows]
        return table_formats.as_csv(rows)
    return _markdown(report_answer)


def _markdown(cluster_review: Report) -> str:
    from planner.figures.review_first_page import lines

    parts = [f"# Capacity review of {literal(cluster_review.snapshot.source)}\n"]
    for line in lines(cluster_review):
        step = f" **Next:** {literal(line.step)}" if line.step else ""
        parts.append(f"- **{line.about}**: {literal(sentence(line.said))}{step}")
    parts.append("")
    for chapter in cluster_review.chapters:
        parts.append(f"## {literal(chapter.chapter.title)}\n")
        if chapter.chapter.not_known:
            parts.append(f"Not known: {literal(chapter.chapter.not_known)}\n")
        elif chapter.said:
            parts.append(f"{literal(chapter.said)}\n")
        parts.append(table_formats.as_markdown(chapter.shown) or "None.\n")
        if chapter.more:
            parts.append(f"… and {chapter.more:,} more rows: JSON and CSV have them all.\n")
    parts.append("## What is not known\n")
    parts.append(
        "".join(f"- {literal(gap)}\n" for gap in cluster_review.answer.not_known) or "Nothing that was asked for.\n"
    )
    parts.append("## Inputs and their ages\n")
    parts.append(
        table_formats.as_markdown(
            [{"input": input_line.name, "of": input_line.taken or None} for input_line in cluster_review.answer.inputs]
        )
    )
    return "\n".join(parts)
