"""What every page shares: which cluster is looked at, and how old what is known of it is."""

from __future__ import annotations

import streamlit as st

from planner.ground import words
from planner.kubernetes.kinds import NODE, POD
from planner.rollout import glossary
from planner.sources import demo
from planner.ui import filtered, findings, inventory_view, prices, review, session, sign_in


def show() -> None:
    """The choice of cluster, its size and its age, under the navigation."""
    prices.begin()
    with st.sidebar, st.container(gap="xsmall"):
        sign_in.sidebar()
        session.choose()
        if st.button("Another cluster", icon=":material/upload_file:", key="another-cluster", type="tertiary"):
            inventory_view.ask()
        if session.wanted() is not None:
            return
        snapshot = session.cluster()
        listed = ((NODE, snapshot.nodes), (POD, snapshot.pods))
        size = [
            words.count(len(some), kind.name.lower()) for kind, some in listed if some or not snapshot.lacks(kind.name)
        ]
        st.caption(f"{', '.join(size)}  \ntaken {words.moment(snapshot.taken_at)}")
        if session.is_demo():
            how = "Made-up" if snapshot.source == demo.KINDS_NAME else "Recorded"
            st.badge(f"{how} example", icon=":material/science:", color="blue")
        else:
            for finding in findings.age(snapshot):
                st.caption(f"{findings.GLYPH[finding.severity]} {words.literal(words.sentence(finding.what))}")
        filtered.control(snapshot)
        review.button(snapshot)
        with st.popover("What the words mean", icon=":material/menu_book:"):
            st.markdown(glossary.as_markdown())
