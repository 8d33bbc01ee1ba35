"""The capacity review as one HTML file: words, tables and charts, with everything in it. It asks nobody for anything.

The page says so itself: its Content-Security-Policy lets no request out, so that neither a name out of a cluster nor a chart
can make one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, Final

from planner.figures import film
from planner.figures.of_answers import charts
from planner.ground.tables import UNKNOWN, columns, is_amounts, shown
from planner.ground.words import duration, printable
from planner.questions.report import Review, Written

_LONG: Final = 60  # characters of a cell that gets room to wrap in
_SHORT: Final = 24  # characters of a cell that stays in one line: a name is then read, and copied, whole
_POLICY: Final = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_STYLE: Final = """
:root { --text: #1B2733; --soft: #5A6B7B; --line: #D5DCE3; --back: #FFFFFF; --shade: #F3F6F9; --bad: #9A3D00; }
@media (prefers-color-scheme: dark) { :root:not(.printed) {
  --text: #E6ECF2; --soft: #A9B7C4; --line: #33414F; --back: #10161D; --shade: #19222C; --bad: #FFAB7A; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.9rem; margin: 0 0 .25rem; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .5rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); } .bad { color: var(--bad); } .lead { font-size: 1.1rem; }
nav ul { columns: 3 16rem; padding-left: 1.1rem; } a { color: inherit; }
.table { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .87rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); max-width: 34rem; }
td.long { min-width: 15rem; } th { background: var(--shade); vertical-align: bottom; } td.whole { white-space: nowrap; }
.amount { text-align: right; } td.amount { white-space: nowrap; }
.chart { min-height: 5rem; margin: .8rem 0; background: #FFFFFF; border-radius: .5rem; }
@media (max-width: 40rem) { body { padding: .8rem; } nav ul { columns: 1; } }
@media print { :root { --text: #000; --soft: #444; --line: #BBB; --back: #FFF; --shade: #F3F6F9; --bad: #9A3D00; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; } tr, .chart { break-inside: avoid; }
  h2 { break-after: avoid; } .table { overflow: visible; } td, td.long, td.whole { min-width: 0; white-space: normal; overflow-wrap: anywhere; } }
"""
_DRAW: Final = """
for (const place of document.querySelectorAll('.chart')) {
  const told = JSON.parse(place.nextElementSibling.textContent);
  Plotly.newPlot(place, told.data, told.layout, {displayModeBar: false, staticPlot: true, responsive: true});
}
"""


def html(review: Review) -> str:
    """The whole file."""
    from plotly.offline import get_plotlyjs

    answer, snapshot = review.answer, review.snapshot
    title = f"Capacity review of {snapshot.source}"
    drawn = list(_charts(review))
    parts = [
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<meta name='referrer' content='no-referrer'>\n<link rel='icon' href='data:,'>",
        f"<title>{_text(title)}</title>\n<style>{_STYLE}{film.style() if review.film else ''}</style>\n</head>\n<body>\n<header>",
        f"<h1>{_text(title)}</h1>",
        f"<p class='lead'>{_text(answer.sentence)}</p>\n</header>",
        "<nav aria-label='Chapters'><ul>",
        *(f"<li><a href='#c{place}'>{_text(one.chapter.title)}</a></li>" for place, one in enumerate(review.chapters)),
        "<li><a href='#unknown'>What is not known</a></li><li><a href='#inputs'>Inputs and their ages</a></li>",
        "</ul></nav>\n<main>",
        *_film(review),
        *(_chapter(place, one, drawn) for place, one in enumerate(review.chapters)),
        "<section id='unknown'><h2>What is not known</h2>",
        _listed(answer.not_known) or "<p>Nothing that was asked for.</p>",
        "</section>\n<section id='inputs'><h2>Inputs and their ages</h2>",
        _table(
            [
                {
                    "input": one.name,
                    "of": one.taken or None,
                    "age": None if one.age_seconds is None else duration(one.age_seconds),
                }
                for one in answer.inputs
            ]
        ),
        "</section>\n</main>",
        f"<script>{get_plotlyjs()}</script>\n<script>{_DRAW}</script>" if drawn else "",
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _chapter(place: int, one: Written, drawn: Iterable[tuple[str, str, Any, str]]) -> str:
    chapter = one.chapter
    body = [f"<section id='c{place}'><h2>{_text(chapter.title)}</h2>"]
    if chapter.not_known:
        body.append(f"<p class='bad'>Not known: {_text(chapter.not_known)}</p>")
    elif one.said:
        body.append(f"<p>{_text(one.said)}</p>")
    body += [
        _chart(figure, alt) for question, table, figure, alt in drawn if (question, table) == (chapter.question, chapter.table)
    ]  # fmt: skip
    if one.shown:
        body.append(_table(one.shown))
    elif not chapter.not_known:
        body.append("<p class='soft'>None.</p>")
    if one.more:
        body.append(f"<p class='soft'>… and {one.more:,} more rows: JSON and CSV have them all.</p>")
    return "\n".join([*body, "</section>"])


def _film(review: Review) -> Iterator[str]:
    """The rollout that is stuck, step by step; its words stand there for who has no scripts."""
    if review.film is None:
        return
    said = film.alt(review.film)
    content = json.dumps(film.told([review.film])).replace("<", "\\u003c")
    yield (
        f"<section id='film'><h2>A rollout that is stuck, step by step</h2>\n<div class='show'><p>{_text(said)}</p></div>"
        f"<script type='application/json' id='told'>{content}</script>\n<script>{film.script()}\n"
        "film(document.querySelector('.show'), JSON.parse(document.getElementById('told').textContent));</script></section>"
    )


def _charts(review: Review) -> Iterator[tuple[str, str, Any, str]]:
    """(question, table, figure, what it says) of every chart; where there is nothing to draw there is none."""
    for question, asked in review.asked.items():
        for one in charts(question, asked.answer):
            yield question, one.table, one.figure, one.alt


def _chart(figure: Any, alt: str) -> str:
    figure.update_layout(
        template="plotly_white", font={"color": "#1B2733"}, paper_bgcolor="#FFFFFF", plot_bgcolor="#FFFFFF"
    )
    told = json.loads(figure.to_json())
    content = json.dumps({"data": told["data"], "layout": told["layout"]}).replace("<", "\\u003c")
    return (
        f"<div class='chart' role='img' aria-label='{_text(alt)}'></div>"
        f"<script type='application/json'>{content}</script><p class='soft'>{_text(alt)}</p>"
    )


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


def _listed(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{_text(one)}</li>" for one in texts)
    return f"<ul>{items}</ul>" if items else ""


def _text(text: object) -> str:
    return escape(printable(str(text), one_line=True), quote=True)
