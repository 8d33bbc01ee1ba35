"""Kueue's queues: a section of the Headroom page, where a cluster has some."""

from __future__ import annotations

import streamlit as st

from planner.ground import words
from planner.kubernetes.records import Snapshot
from planner.questions.question import Given
from planner.questions.queues import QUESTION, QueuesSettings
from planner.ui import cache, downloads, errors, sheet, stored
from planner.ui.asked import Asked


@errors.part
def show(snapshot: Snapshot) -> None:
    """Nothing where no ClusterQueue was given."""
    if not snapshot.cluster_queues:
        return
    st.header("Queues")
    st.caption("Kueue's own rules, played on its objects: who waits, for what, and what would let them in.")
    asked = Asked(QueuesSettings)
    asked.show("changes", label="Other quotas, such as quota:QUEUE/FLAVOR/RESOURCE=8; several with a semicolon")
    settings = asked.settings()
    found = cache.ask(QUESTION, snapshot, settings, Given(runs=stored.runs(snapshot)))
    sheet.figures(QUESTION, found)
    st.markdown(words.literal(words.sentence(found.sentence)))
    for listing in QUESTION.listings:
        if listing.seen(found):
            st.markdown(f"**{listing.title}**")
            sheet.table(QUESTION, found, listing.name)
    sheet.notes(QUESTION, found)
    downloads.answer(QUESTION, snapshot, settings, found)
