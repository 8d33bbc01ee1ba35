"""The dialog *Unblock all* of the page Now; and rollouts at the autoscalers' highest replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.ground import words
from planner.kubernetes.object_records import Snapshot
from planner.questions.peak import QUESTION as PEAK
from planner.questions.peak import PeakSettings
from planner.questions.plan import QUESTION, PlanSettings, doubt_of, narrowed
from planner.remedies.levers.user_change_steps import as_shown
from planner.remedies.plan_actions import MeasureKind, Numbered, alike, price_of
from planner.remedies.readiness_planner import PlanAnswer
from planner.rollout.resumable_scripts import in_context, script
from planner.ui import (
    answer_view,
    as_if,
    downloads,
    errors,
    link,
    live_view,
    object_page_links,
    page_filter,
    pool_limit_inputs,
    session_cluster,
    shared_answers,
)
from planner.ui.settings_form import SettingsForm

_MOST_CARDS = 20  # measures that a person reads; the downloads have all
_MOST_COMMANDS = 5  # more of them scroll
_SCROLLED = 240  # pixels
_ASIDE = (MeasureKind.ORDER, MeasureKind.LEND)
_PLAYED = (
    "This order was played as a whole, with the whole plan in place: rollouts that let another through come first, then those that need "
    "nothing, those that need what costs nothing, and those that share spare nodes, so that the nodes are there once."
)
_BY_ITSELF = (
    "Each rollout was played by itself, with the whole plan in place: that all complete one after another isn't known."
)


@errors.part
def at_the_peak(place: DeltaGenerator, snapshot: Snapshot) -> None:
    """Which rollouts go at their autoscaler's highest replicas, where any has one."""
    if snapshot.autoscalers and not QUESTION.not_known(snapshot):
        peak = shared_answers.ask(PEAK, snapshot, PeakSettings())
        if peak.lines:
            place.caption(words.literal(f"At the peak: {peak.sentence}."))


@st.dialog("Suppose all of it", width="large", icon=":material/checklist:", on_dismiss=link.close_dialog)
def dialog() -> None:
    """The least that lets every workload roll out, within budgets that are in the link: its steps, and a button that supposes all."""
    snapshot, said, asked = session_cluster.cluster(), st.container(), SettingsForm(PlanSettings)
    with errors.shown():
        with asked.more("Budgets") as is_drawn:
            if is_drawn:
                with st.grid(min_column_width=200, gap="small"):
                    for name, more in _BUDGETS.items():
                        asked.show(name, **more)
        wanted, given = asked.settings(), pool_limit_inputs.priced(pool_limit_inputs.given(snapshot))
        plan_answer = shared_answers.ask_unless_stopped(QUESTION, snapshot, wanted, given)
    if plan_answer is not None:
        show(snapshot, narrowed(plan_answer, page_filter.kept(snapshot)), wanted, said)


_BUDGETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "least_ready_percent": {},
    "most_nodes": {"placeholder": "no limit"},
    "most_usd": {"placeholder": "no limit"},
    "rollouts_per_month": {"format": "%g"},
    "limits": {"placeholder": "gpu-t4=8, web=2-12", "help": "Limits from a file are given on Capacity."},
}


@errors.part
def show(snapshot: Snapshot, plan: PlanAnswer, asked: PlanSettings, place: DeltaGenerator) -> None:
    """The sentence and the button at `place`, then the steps, what is left, and the order of rollouts."""
    with place:
        box = st.info if not plan.total else st.success if plan.ready_all == plan.total else st.warning
        box(words.literal(words.sentence(plan.sentence)), icon=":material/checklist:")
        if every := ";".join(measure.change for measure in plan.measures if measure.change):
            as_if.button(every, key="all", label="Suppose all of it", is_first=True, in_dialog=True)
    for note in filter(None, (plan.price_note, doubt_of(plan))):
        st.caption(f"△ {words.literal(note)}")
    if not plan.measures:
        st.caption("Nothing has to be done." if not plan.left else "No measure was found.")
    cards = alike(plan.measures)
    for card in cards[:_MOST_CARDS]:
        _measures(card)
    if more := sum(len(card) for card in cards[_MOST_CARDS:]):
        st.caption(
            f"and {words.count(more, 'more measure')}: all of them, with their commands, are in the downloads below"
        )
    if plan.measures:
        downloads.script(lambda: _script(snapshot, plan), "unblock-all")
    if plan.left:
        st.subheader("What is left")
        answer_view.table(QUESTION, plan, "left", opens=lambda row: object_page_links.rollout(row.workload), key="left")
    for doubt in plan.doubts:
        st.caption(f":material/help: {words.literal(words.sentence(doubt.sentence))}")
    if plan.order:
        with st.expander("In which order to roll out", icon=":material/format_list_numbered:"):
            st.caption(_PLAYED if plan.is_order_played else _BY_ITSELF)
            answer_view.table(QUESTION, plan, "order", is_whole=True)
    downloads.answer(QUESTION, snapshot, asked, plan)


def _script(snapshot: Snapshot, plan_answer: PlanAnswer) -> str:
    """The commands of the measures, in their order, each with how it is undone."""
    steps = [
        # what only holds while another rolls out is a comment, at which the script waits
        as_shown(str(measure.what), measure.undo, f"# {measure.command}" if measure.kind in _ASIDE else measure.command)
        for measure in plan_answer.measures
    ]
    said = script(
        str(plan_answer.sentence), steps, source=f"{snapshot.source}, taken {words.moment(snapshot.taken_at)}"
    )
    return in_context(said, live_view.context(snapshot))


def _measures(card: Sequence[Numbered]) -> None:
    """One measure, or several that are the same for other workloads."""
    (number, measure), *others = card
    makes = sum(len(measure.makes) for _, measure in card)
    with st.container(border=True, gap="xsmall"):
        said = [f"unblocks {words.count(makes, 'workload')}"] if makes else ["needed by the next ones"]
        said.append(price_of(measure) if measure.kind is MeasureKind.NODES else "no money")
        limit = f"  \n△ {words.literal(words.sentence(measure.limit))}" if measure.limit else ""
        badges = " ".join(f":blue-badge[{words.literal(text)}]" for text in said)
        commands, undo = ([getattr(measure, name) for _, measure in card] for name in ("command", "undo"))
        height: Literal["content"] | int = "content" if len(card) <= _MOST_COMMANDS else _SCROLLED
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(f"**{number}.** {words.literal(measure.what)}{limit}  \n{badges}")
            if changes := ";".join(filter(None, (measure.change for _, measure in card))):
                as_if.button(changes, key=f"measure-{number}", in_dialog=True)
            with st.popover("Undo", icon=":material/undo:", type="tertiary"):
                st.code(words.printable("\n".join(undo)), language=None, wrap_lines=True, height=height)
        if others:
            same = [f"{place}. {words.short_name(measure.workload)}" for place, measure in others]
            st.markdown(words.literal(f"The same for {words.listing(same)}."))
        st.code(words.printable("\n".join(commands)), language=None, wrap_lines=True, height=height)
