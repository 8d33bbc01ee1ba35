"""Replays the demo as a live cluster: its prepared moments one after the other, each answered by every page."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.ground import words
from planner.kubernetes.object_records import Snapshot
from planner.sources import demo
from planner.sources.store import Store

SECONDS: Final = 6.0  # that each moment stands
_PLACE: Final = "_replayed"  # which of the moments; none while nothing is played
_DRAWN: Final = "_replay_drawn"  # that which the page shows
_FRESH: Final = "_replay_fresh"  # it hasn't stood for its time yet


@st.cache_resource(show_spinner="Reading the demo's moments …")
def _moments() -> tuple[Snapshot, ...]:
    store = Store(str(demo.history_folder()))
    moments = sorted(store.snapshots((demo.DEMO_NAME,)), key=lambda stored_snapshot: stored_snapshot.taken_at)
    return tuple(store.snapshot(stored) for stored in moments)


def moment() -> Snapshot | None:
    """The moment that the demo is at in this run; None where it is as recorded."""
    place = st.session_state.get(_PLACE)
    return None if place is None else _moments()[place]


def offer() -> None:
    """The button that begins."""
    if moment() is None:
        st.button(
            "Watch it change", icon=":material/sensors:", type="tertiary", key="watch-change", on_click=_begin,
            help="The demo's two earlier moments, which are made up, and this one, one after the other: as a live cluster's pages follow it.",
        )  # fmt: skip


def show() -> None:
    """Which moment it is, over every page; nothing while nothing is played."""
    if moment() is not None:
        st.session_state[_DRAWN], st.session_state[_FRESH] = st.session_state[_PLACE], True
        _told()


@st.fragment(run_every=SECONDS)
def _told() -> None:
    """Goes on to the next moment by itself, and stands at the last."""
    place, whole = st.session_state.get(_PLACE), len(_moments())
    if place is None or place != st.session_state[_DRAWN]:
        st.rerun(scope="app")
    is_last = place + 1 == whole
    if not st.session_state.pop(_FRESH, False) and not is_last:
        st.session_state[_PLACE] = place + 1
        st.rerun(scope="app")
    taken = words.moment(_moments()[place].taken_at)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f":material/sensors: A change, made for this example: moment {place + 1} of {whole}, {taken}"
            + ("." if is_last else "; the next comes by itself.")
        )
        if is_last:
            st.button("Again", icon=":material/replay:", type="tertiary", key="watch-again", on_click=_begin)
        st.button(
            "Stop",
            icon=":material/stop:",
            type="tertiary",
            key="watch-stop",
            on_click=st.session_state.pop,
            args=(_PLACE, None),
        )


def _begin() -> None:
    st.session_state[_PLACE] = 0
