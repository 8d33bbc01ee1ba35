"""The cluster this session looks at: one of the embedded ones, or the one the user gave."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.kubernetes.records import Snapshot
from planner.questions.identity import identity
from planner.sources import accelerators, demo
from planner.ui import link

CHOICE: Final = "cluster"  # the widget's key and the URL's parameter
_GIVEN: Final = "_cluster"  # the user's own snapshot
_NEXT: Final = "_cluster_next"  # what to look at from the next run on
_EMBEDDED: Final = {demo.DEMO_NAME: demo.read, demo.LARGE_NAME: demo.read_large}


@st.cache_resource(show_spinner="Reading the cluster …")
def _embedded(name: str) -> Snapshot:
    """An embedded cluster, read once for all sessions (frozen, so it can be shared)."""
    return _EMBEDDED[name]()


def _given() -> Snapshot | None:
    snapshot = st.session_state.get(_GIVEN)
    return snapshot if isinstance(snapshot, Snapshot) else None


def _name(given: Snapshot) -> str:
    return f"{given.source} (given)" if given.source in _EMBEDDED else given.source


@st.cache_resource(show_spinner=False)
def _own_accelerators() -> bool:
    """The tables that HEADROOM_ACCELERATORS names, read once for all sessions."""
    accelerators.use()
    return True


def choose() -> None:
    """The choice between the embedded clusters and the user's own; a link to the latter works in this session only."""
    _own_accelerators()
    if _NEXT in st.session_state:
        st.session_state[CHOICE] = st.session_state.pop(_NEXT)
    given = _given()
    names = [*_EMBEDDED, *([_name(given)] if given else [])]
    link.select("Cluster", names, key=CHOICE, default=names[-1] if given else None)


def cluster() -> Snapshot:
    """The snapshot every page answers for."""
    given = _given()
    name = st.session_state.get(CHOICE) or (_name(given) if given else demo.DEMO_NAME)
    return given if given and name == _name(given) else _embedded(name if name in _EMBEDDED else demo.DEMO_NAME)


def is_demo() -> bool:
    """Whether what is looked at came with Headroom."""
    given = _given()
    return given is None or identity(cluster()) != identity(given)


def adopt(snapshot: Snapshot) -> None:
    """Look at `snapshot` from the next run on, in this session only."""
    st.session_state[_GIVEN] = snapshot
    st.session_state[_NEXT] = _name(snapshot)
