"""What every page shares: which cluster is looked at, and how old what is known of it is."""

from __future__ import annotations

import time

import streamlit as st

from planner.ui import session, words

_STALE_SECONDS = 24 * 3600  # a working day: a plan made on older data is worth a second look


def show() -> None:
    """Source, size and age of the cluster, under the navigation."""
    snapshot = session.cluster()
    with st.sidebar, st.container(gap="xxsmall"):
        st.caption("CLUSTER")
        st.markdown(f"**{words.literal(snapshot.source)}**")
        st.caption(f"{words.count(len(snapshot.nodes), 'node')}, {words.count(len(snapshot.pods), 'pod')}")
        st.caption(f"Taken {words.moment(snapshot.taken_at)}")
        if session.is_demo():
            st.badge("Demo: a recorded cluster", icon=":material/science:", color="blue")
        elif (age := age_seconds()) > _STALE_SECONDS:
            st.badge(f"△ {words.duration(age)} old", icon=":material/schedule:", color="orange")
        st.page_link("inventory.py", label="Look at another cluster", icon=":material/upload_file:")


def age_seconds() -> float:
    """How long ago the snapshot was taken, by this machine's clock."""
    return max(0.0, time.time() - session.cluster().taken_at)
