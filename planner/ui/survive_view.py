"""What one loss would break: a section of the Headroom page."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.ground import words
from planner.kubernetes.records import Snapshot
from planner.questions.question import Given
from planner.questions.survive import QUESTION, SurviveSettings
from planner.ui import cache, capacity_inputs, downloads, errors, link, sheet
from planner.ui.asked import Asked

LINK: Final = "survive"  # what links call the section by


@errors.part
def show(snapshot: Snapshot, given: Given) -> None:
    """Closed until somebody asks: on a large cluster it takes seconds."""
    st.header("What one loss would break")
    st.caption("Each node, zone, rack and each pool's spot nodes lost at once: every one is played.")
    with link.expander("Lose each node once", key=LINK, icon=":material/heart_broken:") as is_open:
        if not is_open:
            return
        asked = Asked(SurviveSettings)
        with st.grid(min_column_width=200, gap="small"):
            asked.show("label", label="Nodes that share a label, by its key")
            asked.show("upgrades")
        settings = asked.settings()
        found = cache.ask(QUESTION, snapshot, settings, capacity_inputs.priced(given))
        sheet.figures(QUESTION, found)
        st.markdown(words.literal(words.sentence(found.sentence)))
        for listing in QUESTION.listings:
            if listing.seen(found):
                st.markdown(f"**{listing.title}**")
                sheet.table(QUESTION, found, listing.name)
        sheet.notes(QUESTION, found)
        for what, text in found.manifests:
            st.caption(words.literal(what))
            st.code(text, language="yaml")
        downloads.answer(QUESTION, snapshot, settings, found)
