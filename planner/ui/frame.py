"""What stands around every page: the product's name and mark, its six rooms, the views of the room that one is in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import streamlit as st

from planner.kubernetes.records import Snapshot
from planner.ui import filtered, findings, live_view, replay, web

_SQUARES: Final = (
    "#0072B2", "#0072B2", "#009E73",
    "#0072B2", "#0072B2", "#009E73",
    "#0072B2", "#D55E00", "#BBBBBB",
)  # fmt: skip
_SIDE: Final = 3  # squares in a row of the mark, which is the page's icon: seats, by who holds them
MARK: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 172 28" width="172" height="28"><title>Headroom</title>'
    "<style>text{fill:#0B1219;font:700 20px 'Source Sans 3','Source Sans Pro',system-ui,sans-serif}"
    "@media (prefers-color-scheme:dark){text{fill:#E6ECF2}}</style>"
    + "".join(
        f'<rect x="{2 + 9 * (place % _SIDE)}" y="{1 + 9 * (place // _SIDE)}" width="8" height="8" rx="1.5" fill="{fill}"/>'
        for place, fill in enumerate(_SQUARES)
    )
    + '<text x="38" y="21">Headroom</text></svg>'
)
STYLE: Final = """<style>
[data-testid="stMainBlockContainer"] {max-width: 1600px; padding-top: 4.5rem; padding-bottom: 2rem; padding-left: clamp(1rem, 3vw, 3rem);
  padding-right: clamp(1rem, 3vw, 3rem);}
:is(a, button, summary, input, textarea, [role="tab"], [role="radio"], [tabindex="0"]):focus-visible
  {outline: 3px solid #0072B2 !important; outline-offset: 2px !important;}
@media (prefers-color-scheme: dark)
  {:is(a, button, summary, input, textarea, [role="tab"], [role="radio"], [tabindex="0"]):focus-visible
    {outline-color: #56B4E9 !important;}}
[data-testid="stMetricLabel"] *, [data-testid="stMetricValue"] *, [data-testid="stBadge"] *
  {white-space: normal !important; overflow: visible !important; text-overflow: clip !important;}
@media (min-width: 641px) {[class*="st-key-fold_"] > :first-child {display: none;}}
@media (max-width: 640px)
  {[class*="st-key-fold_"]:not(:has(> :first-child input:checked)) > :not(:first-child) {display: none;}
  [data-testid="stMetric"] {padding: 0.35rem !important;}
  [data-testid="stMetric"] > div {padding: 0 !important; display: flex; flex-wrap: wrap; align-items: center; column-gap: 0.4rem;}
  [data-testid="stMetric"] label {flex: 1 0 100%; min-height: 0 !important;}
  [data-testid="stMetricLabel"] p, [data-testid="stMetricDelta"] p {font-size: 0.75rem !important; line-height: 1.2;}
  [data-testid="stMetricValue"], [data-testid="stMetricValue"] p {font-size: 1.1rem !important; padding: 0 !important; overflow-wrap: anywhere;}
  [data-testid="stMetric"] > div > :last-child {padding: 0 !important;}
  [data-testid="stGrid"]:has([data-testid="stMetric"])
    {grid-template-columns: repeat(auto-fill, minmax(6.4rem, 1fr)) !important; gap: 0.4rem !important;}
  [data-testid="stMainBlockContainer"] {padding-top: 3.75rem; padding-bottom: 1rem;}
  [data-testid="stMain"] :is([data-testid="stVerticalBlock"], [data-testid="stHorizontalBlock"]) {gap: 0.6rem !important;}
  [data-testid="stMain"] [data-testid="stAlertContainer"] {padding: 0.75rem !important;}
  [data-testid="stMain"] [data-testid="stCode"] code {font-size: 0.75rem !important;}
  [data-testid="stMain"] [data-testid="stCode"] pre {padding: 0.5rem !important;}
  [data-testid="stTable"] :is(th, td) {padding: 0.25rem !important; font-size: 0.75rem !important; overflow-wrap: anywhere;}
  [data-testid="stMain"] h2 {padding: 0.35rem 0 0.7rem !important;}
  [data-testid="stMain"] h1 {padding: 0.5rem 0 !important;}}
</style>"""
"""Ours alone, without a name out of a cluster: the width of the page, where the focus is, that large text wraps, and what a phone
folds (`folded`)."""

Views = Sequence[tuple[str, str, str, Any]]


def show(table: Mapping[str, Views], page: Any, pages: Mapping[str, Any]) -> None:
    """The rooms in the sidebar and, above the page, the views of the room of `page`; both in bold where one is. `pages`: each
    file's page. A room opens at its first view; what has no room stands in no list."""
    here = next(room for room, views in table.items() for file, *_ in views if pages[file] is page)
    with st.sidebar, st.container(gap="xxsmall"):
        for room, views in table.items():
            if room:
                file, _, icon, _ = views[0]
                st.page_link(pages[file], label=_named(room, room == here), icon=f":material/{icon}:", width="stretch")
    if here and len(table[here]) > 1:
        with st.container(horizontal=True, gap="xsmall", key="views"):
            for file, title, *_ in table[here]:
                st.page_link(pages[file], label=_named(title, pages[file] is page))


def _named(title: str, is_here: bool) -> str:
    return f"**{title}**" if is_here else title


def above(snapshot: Snapshot, page: str) -> None:
    """Over every page, where there is something to say: a live cluster, lists that weren't seen, the filter."""
    live_view.show(snapshot)
    replay.show()
    findings.not_seen(snapshot)
    filtered.line(snapshot, page)


@contextmanager
def folded(label: str, key: str) -> Iterator[None]:
    """A part that a phone shows when it is asked for, so that what one came for isn't screens away; a wider window has it as it is."""
    with st.container(key=f"fold_{key}"):
        st.toggle(label, key=f"_fold_{key}")
        yield


def begin(icon: Path) -> None:
    """Name and mark, and what the theme can't say."""
    st.set_page_config(page_title="Headroom", page_icon=web.picture(icon), layout="wide")
    st.logo(MARK, size="large")
    st.html(STYLE)
