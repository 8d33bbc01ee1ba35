"""What would unblock all, on its page; what the autoscalers' highest replicas come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.ground import words
from planner.kubernetes.records import Snapshot
from planner.questions.peak import QUESTION as PEAK
from planner.questions.peak import PeakSettings
from planner.questions.plan import QUESTION, Numbered, PlanSettings, alike, doubt_of, price_of
from planner.questions.question import Given
from planner.remedies.measures import MeasureKind
from planner.remedies.plan import PlanAnswer
from planner.ui import as_if, cache, capacity_inputs, downloads, errors, link, opening, sheet, tiles
from planner.ui.asked import Asked

_MOST_CARDS = 20  # measures that a person reads; the downloads have all
_MOST_COMMANDS = 5  # more of them scroll
_SCROLLED = 240  # pixels
_PLAYED = (
    "This order was played as a whole, with the whole plan in place: rollouts that let another through come first, then those that need "
    "nothing, those that need what costs nothing, and those that share spare nodes, so that the nodes are there once."
)
_BY_ITSELF = (
    "Each rollout was played by itself, with the whole plan in place: that all complete one after another isn't known."
)


def given(snapshot: Snapshot) -> Given:
    """How far pools may grow, and prices, where they can be read."""
    return capacity_inputs.priced(capacity_inputs.given(snapshot))


@errors.part
def at_the_peak(place: DeltaGenerator, snapshot: Snapshot) -> None:
    """Which rollouts go at their autoscaler's highest replicas, where any has one."""
    if snapshot.autoscalers and not QUESTION.not_known(snapshot):
        peak = cache.ask(PEAK, snapshot, PeakSettings())
        if peak.lines:
            place.caption(words.literal(f"At the peak: {peak.sentence}."))


def settings() -> PlanSettings:
    """The budgets; each is in the link."""
    asked = Asked(PlanSettings)
    with asked.more("Budgets") as is_drawn:
        if is_drawn:
            with st.grid(min_column_width=240, gap="small"):
                asked.show("least_ready_percent")
                asked.show("most_nodes", placeholder="no limit")
                asked.show("most_usd", placeholder="no limit")
                asked.show("rollouts_per_month", format="%g")
                asked.show(
                    "limits", placeholder="gpu-t4=8, web=2-12", help="Limits from a file are given on What fits."
                )
    return asked.settings()


@errors.part
def show(snapshot: Snapshot, found: PlanAnswer, asked: PlanSettings, place: DeltaGenerator) -> None:
    """The sentence, at `place`, which tells nodes and money, and three figures, then what to do, in which order, and what is left."""
    with place:
        box = st.info if not found.total else st.success if found.ready_all == found.total else st.warning
        box(words.literal(words.sentence(found.sentence)), icon=":material/checklist:")
    with st.grid(3, min_column_width=170):
        tiles.share("Can roll out now", found.ready_now, found.total)
        tiles.share("Without any money", found.ready_free, found.total)
        tiles.share("With all of the plan", found.ready_all, found.total)
    for note in filter(None, (found.price_note, doubt_of(found))):
        st.caption(f"△ {words.literal(note)}")
    names = ["What to do", "What is left", "In which order to roll out"]
    do, left, order = link.tabs(names, key="part")
    with do:
        if every := ";".join(one.change for one in found.measures if one.change):
            as_if.button(every, key="all", label="Suppose all of it", is_first=True)
        if not found.measures:
            st.caption("Nothing has to be done." if not found.left else "No measure was found.")
        cards = alike(found.measures)
        for card in cards[:_MOST_CARDS]:
            _measures(card)
        if more := sum(len(card) for card in cards[_MOST_CARDS:]):
            st.caption(
                f"and {words.count(more, 'more measure')}: all of them, with their commands, are in the downloads below"
            )
    with left:
        if not found.left:
            st.caption("✓ Nothing.")
        else:
            sheet.table(QUESTION, found, "left", opens=lambda one: opening.rollout(one.workload), key="left")
        for doubt in found.doubts:
            st.caption(f":material/help: {words.literal(words.sentence(doubt.sentence))}")
    with order:
        st.caption(_PLAYED if found.is_order_played else _BY_ITSELF)
        if found.order:
            sheet.table(
                QUESTION, found, "order", is_whole=True, opens=lambda of: opening.rollout(of[1].workload), key="order"
            )
            st.caption(opening.SELECT)
        else:
            st.caption("No workload can be rolled out.")
    downloads.answer(QUESTION, snapshot, asked, found)


def _measures(card: Sequence[Numbered]) -> None:
    """One measure, or several that are the same for other workloads."""
    (number, measure), *others = card
    makes = sum(len(measure.makes) for _, measure in card)
    with st.container(border=True, gap="xsmall"):
        said = [f"unblocks {words.count(makes, 'workload')}"] if makes else ["needed by the next ones"]
        if measure.kind is MeasureKind.NODES:
            said.append(price_of(measure))
        else:
            said.append("no money")
        limit = f"  \n△ {words.literal(words.sentence(measure.limit))}" if measure.limit else ""
        badges = " ".join(f":blue-badge[{words.literal(text)}]" for text in said)
        commands, undo = ([getattr(measure, name) for _, measure in card] for name in ("command", "undo"))
        height: Literal["content"] | int = "content" if len(card) <= _MOST_COMMANDS else _SCROLLED
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(f"**{number}.** {words.literal(measure.what)}{limit}  \n{badges}")
            if changes := ";".join(filter(None, (measure.change for _, measure in card))):
                as_if.button(changes, key=f"measure-{number}")
            with st.popover("Undo", icon=":material/undo:", type="tertiary"):
                st.code(words.printable("\n".join(undo)), language=None, wrap_lines=True, height=height)
        if others:
            same = [f"{place}. {words.short_name(measure.workload)}" for place, measure in others]
            st.markdown(words.literal(f"The same for {words.listing(same)}."))
        st.code(words.printable("\n".join(commands)), language=None, wrap_lines=True, height=height)
