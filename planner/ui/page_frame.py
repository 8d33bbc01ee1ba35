"""The frame around every page: name and logo, the menu, and the views of the current menu entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import streamlit as st

from planner.kubernetes.object_records import Snapshot
from planner.ui import findings, link, live_view, page_filter, session_cluster, session_prices, web_security

Views = Sequence[tuple[str, str, str, Any]]
_QUEUES: Final = "Queues"


def show(table: Mapping[str, Views], page: Any, pages: Mapping[str, Any], below: Callable[[], None]) -> None:
    """The rooms in the sidebar, that of `page` in bold, and what stands `below` them. `pages`: each file's page. A room opens at its
    first view; queues stand there only where the cluster has Kueue's."""
    here = _room(table, page, pages)
    with st.sidebar, st.container(gap="xxsmall"):
        places = {room: st.empty() for room in table}
        for room, place in places.items():
            if room != _QUEUES:
                _to_room(place, table[room], pages, _named(room, room == here))
    below()
    if session_cluster.wanted() is None and session_cluster.looked_at().cluster_queues:
        _to_room(places[_QUEUES], table[_QUEUES], pages, _named(_QUEUES, here == _QUEUES))


def _to_room(place: Any, views: Views, pages: Mapping[str, Any], label: str) -> None:
    file, _, icon, _ = views[0]
    place.page_link(pages[file], label=label, icon=f":material/{icon}:", width="stretch")


def _room(table: Mapping[str, Views], page: Any, pages: Mapping[str, Any]) -> str:
    return next(room for room, views in table.items() for file, *_ in views if pages[file] is page)


def head(table: Mapping[str, Views], page: Any, pages: Mapping[str, Any]) -> None:
    """The room's name as the page's title, and the room's views, that of `page` in bold. A page about one workload has a
    title of its own."""
    here = _room(table, page, pages)
    if page.url_path not in link.OF_ONE_WORKLOAD:
        st.title(here)
    if len(table[here]) > 1:
        with st.container(horizontal=True, gap="xsmall", key="views"):
            for file, title, *_ in table[here]:
                st.page_link(pages[file], label=_named(title, pages[file] is page))


def _named(title: str, is_here: bool) -> str:
    return f"**{title}**" if is_here else title


def above(snapshot: Snapshot, page: str) -> None:
    """Over every page, where there is something to say: a live cluster, lists that weren't seen, the filter."""
    live_view.show(session_cluster.looked_at())
    findings.not_seen(snapshot)
    session_prices.warn()
    page_filter.line(snapshot, page)


@contextmanager
def folded(label: str, key: str) -> Iterator[None]:
    """A part that a phone shows when it is asked for, or where the link says something of `key`, so that what one came for isn't screens
    away; a wider window has it as it is."""
    with st.container(key=f"fold_{key}"):
        st.toggle(label, value=link.says([key]), key=f"_fold_{key}")
        yield


def begin(folder: Path) -> None:
    """Name and mark, of ``icon.png`` and ``mark.svg`` (seats, by who holds them), and what the theme can't say."""
    st.set_page_config(page_title="Headroom", page_icon=web_security.picture(folder / "icon.png"), layout="wide")
    st.logo((folder / "mark.svg").read_text(encoding="utf-8"), size="large")
    st.html(Path(__file__).with_suffix(".css"))
