"""The capacity review as one self-contained HTML file: text, tables and charts. It loads nothing from a server.

The page says so itself: its Content-Security-Policy lets no request out, so that neither a name out of a cluster nor a chart
can make one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, Final

from planner.figures import film
from planner.figures.answer_charts import BarPart, Chart, charts
from planner.figures.review_first_page import lines
from planner.ground.table_formats import UNKNOWN, columns, is_amounts, shown
from planner.ground.words import count, duration, printable, sentence
from planner.questions.report import Report, Written

_LONG: Final = 60  # characters of a cell that gets room to wrap in
_SHORT: Final = 24  # characters of a cell that stays in one line: a name is then read, and copied, whole
_POLICY: Final = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def html(review: Report) -> str:
    """The whole file."""
    answer, snapshot = review.answer, review.snapshot
    title = f"Capacity review of {snapshot.source}"
    drawn = [(name, chart) for name, question in review.asked.items() for chart in charts(name, question.answer)]
    parts = [
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<meta name='referrer' content='no-referrer'>\n<link rel='icon' href='data:,'>",
        f"<title>{_text(title)}</title>\n<style>\n{film.file('report.css')}{film.file('film.css') if review.film else ''}</style>\n</head>\n<body>\n<header>",
        f"<h1>{_text(title)}</h1>",
        *_first_page(review),
        "</header>",
        "<nav aria-label='Chapters'><ul>",
        *(
            f"<li><a href='#c{place}'>{_text(chapter.chapter.title)}</a></li>"
            for place, chapter in enumerate(review.chapters)
        ),
        "<li><a href='#unknown'>What is not known</a></li><li><a href='#inputs'>Inputs and their ages</a></li>",
        "</ul></nav>\n<main>",
        *_film(review),
        *(_chapter(place, written, drawn) for place, written in enumerate(review.chapters)),
        "<section id='unknown'><h2>What is not known</h2>",
        f"<ul>{''.join(f'<li>{_text(gap)}</li>' for gap in answer.not_known)}</ul>"
        if answer.not_known
        else "<p>Nothing that was asked for.</p>",
        "</section>\n<section id='inputs'><h2>Inputs and their ages</h2>",
        _table(
            [
                {
                    "input": input_age.name,
                    "of": input_age.taken or None,
                    "age": None if input_age.age_seconds is None else duration(input_age.age_seconds),
                }
                for input_age in answer.inputs
            ]
        ),
        "</section>\n</main>",
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _first_page(review: Report) -> Iterator[str]:
    """What is stuck, what waits, what one loss breaks, money: a sentence each, with the next step."""
    place_of = {written.chapter.question: place for place, written in reversed(list(enumerate(review.chapters)))}
    yield "<dl class='lead'>"
    for line in lines(review):
        step = f"<p><strong>Next:</strong> {_text(line.step)}</p>" if line.step else ""
        about = f"<a href='#c{place_of[line.question]}'>{_text(line.about)}</a>" if line.question else _text(line.about)
        yield f"<dt>{about}</dt><dd><p>{_text(sentence(line.said))}</p>{step}</dd>"
    lacking = len(review.answer.not_known)
    yield "</dl>" + (
        f"<p class='soft'>{count(lacking, 'thing')} not known: <a href='#unknown'>which</a>.</p>" if lacking else ""
    )


def _chapter(place: int, chapter_text: Written, drawn: Iterable[tuple[str, Chart]]) -> str:
    chapter = chapter_text.chapter
    body = [f"<section id='c{place}'><h2>{_text(chapter.title)}</h2>"]
    if chapter.not_known:
        body.append(f"<p class='bad'>Not known: {_text(chapter.not_known)}</p>")
    elif chapter_text.said:
        body.append(f"<p>{_text(chapter_text.said)}</p>")
    body += [_chart(chart) for question, chart in drawn if (question, chart.table) == (chapter.question, chapter.table)]
    if chapter_text.shown:
        body.append(_table(chapter_text.shown))
    elif not chapter.not_known:
        body.append("<p class='soft'>None.</p>")
    if chapter_text.more:
        body.append(f"<p class='soft'>… and {chapter_text.more:,} more rows: JSON and CSV have them all.</p>")
    return "\n".join([*body, "</section>"])


def _film(review: Report) -> Iterator[str]:
    """The rollout that is stuck, step by step; its words stand there for who has no scripts."""
    if review.film is None:
        return
    description = film.alt(review.film)
    content = json.dumps(film.film_document(review.film)).replace("<", "\\u003c")
    yield (
        f"<section id='film'><h2>A rollout that is stuck, step by step</h2>\n<div class='show'><p>{_text(description)}</p></div>"
        f"<script type='application/json' id='told'>{content}</script>\n<script>{film.file('dom.js')}{film.file('film.js')}\n"
        "film(document.querySelector('.show'), JSON.parse(document.getElementById('told').textContent));</script></section>"
    )


def _chart(chart: Chart) -> str:
    """Bars one after another as elements with a width: without a script, and the browser's find finds each."""
    ends = [
        sum(length or 0 for length in lengths) for lengths in zip(*(part.lengths for part in chart.parts), strict=True)
    ]
    keys = "".join(f"<span><i{_look(part)}></i>{_text(part.name)}</span>" for part in chart.parts)
    rows = []
    for place, name in enumerate(chart.rows):
        bars = "".join(
            f"<i{_look(part, length / max(ends))}></i>" for part in chart.parts if (length := part.lengths[place])
        )
        rows.append(
            f"<div><span>{_text(name)}</span><span class='track'>{bars}</span><span>{_text(' · '.join(chart.words(place)))}</span></div>"
        )
    return (
        f"<figure class='chart' aria-label='{_text(chart.alt)}'><p class='keys'>{keys}<span>{_text(chart.unit)}</span></p>\n"
        + "\n".join(rows)
        + f"\n<figcaption class='soft'>{_text(chart.alt)}</figcaption></figure>"
    )


def _look(part: BarPart, share: float | None = None) -> str:
    """Color, hatching and width of a bar's part."""
    width = "" if share is None else f"width:{100 * share:.2f}%;"
    return f"{' class=hatched' if part.is_hatched else ''} style='{width}--c:{part.colour}'"


def _table(rows: Any) -> str:
    names = columns(rows)
    right = {name for name in names if is_amounts(rows, name)}

    def cell(tag: str, name: str, text: str) -> str:
        size = "long" if len(text) > _LONG else "whole" if len(text) <= _SHORT else ""
        kind = " class=amount" if name in right else f" class={size}" if size else ""
        return f"<{tag}{kind}>{_text(text)}</{tag}>"

    head = "".join(cell("th", name, name) for name in names)
    body = "\n".join(
        f"<tr>{''.join(cell('td', name, shown(row.get(name), UNKNOWN)) for name in names)}</tr>" for row in rows
    )
    return f"<div class='table'><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"


def _text(text: object) -> str:
    return escape(printable(str(text), one_line=True), quote=True)
