"""What the Compare page asks and shows: two snapshots, or one and a what-if; only what differs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.ground import words
from planner.history.levels import History
from planner.kubernetes.records import Snapshot
from planner.questions.diff import QUESTION, DiffSettings
from planner.questions.question import Given
from planner.ui import cache, capacity_inputs, downloads, errors, prices, sheet
from planner.ui.asked import Asked


def settings() -> DiffSettings:
    """Changes as text; they are in the link."""
    asked = Asked(DiffSettings)
    asked.show("changes", placeholder="drain:pool/gpu-t4")
    return asked.settings()


def show(
    snapshot: Snapshot, asked: DiffSettings, others: Sequence[Snapshot], history: History | None, place: DeltaGenerator
) -> None:
    """What differs, in a sentence at `place`: after the changes where there are some, else from the other snapshot to this one."""
    first, then = (snapshot, ()) if asked.changes else (others[0], (snapshot,))
    limits = capacity_inputs.stated(snapshot)
    given = Given(limits=limits, book=prices.book(), others=then, history=None if asked.changes else history)
    with errors.shown():
        found = cache.answer(QUESTION.answer, first, asked, given)
        place.info(words.literal(found.sentence), icon=":material/difference:")
        for note in QUESTION.notes(found):
            st.caption(words.literal(words.sentence(note)))
        sheet.parts(
            QUESTION, found, *(one.name for one in QUESTION.listings if one.items(found) and one.name != "numbers")
        )
        if found.numbers:
            with st.expander("Every number that differs", icon=":material/numbers:"):
                sheet.table(QUESTION, found, "numbers")
        downloads.answer(QUESTION, [first, *then], asked, found)
