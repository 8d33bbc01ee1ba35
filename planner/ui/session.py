"""The cluster this session looks at: the embedded demo until the user gives another one."""

from __future__ import annotations

import streamlit as st

from planner.inventory.model import Snapshot
from planner.sources import demo

_KEY = "_cluster"


@st.cache_resource(show_spinner="Reading the demo cluster …")
def demo_cluster() -> Snapshot:
    """The embedded demo, read once for all sessions (frozen, so it can be shared)."""
    return demo.read()


def cluster() -> Snapshot:
    """The snapshot every page answers for."""
    snapshot = st.session_state.get(_KEY)
    return snapshot if isinstance(snapshot, Snapshot) else demo_cluster()


def is_demo() -> bool:
    """Whether the user has given no cluster yet."""
    return _KEY not in st.session_state


def adopt(snapshot: Snapshot) -> None:
    """Look at `snapshot` from now on, in this session only."""
    st.session_state[_KEY] = snapshot


def back_to_demo() -> None:
    """Forget the user's cluster."""
    st.session_state.pop(_KEY, None)
