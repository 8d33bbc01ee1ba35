"""Which pods would have to move: a section where the answer is that something doesn't fit."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.capacity.movable import Least
from planner.figures import moves_curve
from planner.ground import words
from planner.ground.words import moment
from planner.kubernetes.records import Snapshot
from planner.questions.make_room import QUESTION, MakeRoomSettings
from planner.questions.question import Given
from planner.rollout.scripts import in_context
from planner.ui import cache, charts, downloads, errors, film_view, link, live_view, prices, sheet
from planner.ui.asked import Asked

LINK: Final = "make_room"  # what links call the section by


@errors.part
def show(snapshot: Snapshot, shape: str) -> None:
    """For a typed shape, else for all pods that wait; nothing where there is neither."""
    waiting = sum(pod.waits for pod in snapshot.pods)
    if not (waiting or shape):
        return
    st.header("Make room")
    whom = (
        f"places for {shape}"
        if shape
        else f"{words.count(waiting, 'pod')} that {words.plural(waiting, 'waits', 'wait')}"
    )
    st.caption(
        words.literal(f"Which pods would have to move to make room: {whom}. The fewest evictions, every one played.")
    )
    with link.expander("Which pods would have to move", key=LINK, icon=":material/move_down:") as is_open:
        if not is_open:
            return
        asked = Asked(MakeRoomSettings)
        with st.grid(min_column_width=200, gap="small"):
            least = asked.show("least", label="The least")
            if shape:
                asked.show("count", label="Places")
            if least is Least.COST:
                asked.show("checkpoint_minutes", label="Checkpoints of Jobs, every (min)")
        settings = asked.settings(shape=shape)
        given = Given(book=prices.book())
        found = cache.ask(QUESTION, snapshot, settings, given)
        sheet.figures(QUESTION, found)
        st.markdown(words.literal(words.sentence(found.sentence)))
        if found.moves:
            film_view.room(snapshot, settings.asked(given.book))
        if len(found.curve) > 1:
            charts.show(moves_curve.figure(found), key="room_curve", alt=moves_curve.alt(found))
        for listing in QUESTION.listings:
            if listing.items(found):
                st.markdown(f"**{listing.title}**")
                sheet.table(QUESTION, found, listing.name)
        for note in QUESTION.notes(found):
            st.caption(words.literal(note))
        if found.steps and QUESTION.script is not None:
            told = QUESTION.script(found, f"{snapshot.source}, taken {moment(snapshot.taken_at)}")
            told = in_context(told, live_view.context(snapshot))
            st.download_button(
                "All steps as a script", data=told, file_name="make-room.sh", mime="text/x-shellscript",
                icon=":material/terminal:", on_click="ignore",
            )  # fmt: skip
        downloads.answer(QUESTION, snapshot, settings, found)
