"""All plans worth having for a rollout, or the proof that there is none, with the levers as switches."""

from __future__ import annotations

import streamlit as st

from planner.ground import words
from planner.kubernetes.records import Snapshot
from planner.questions.certificate import QUESTION, CertificateSettings, notes
from planner.questions.question import Given
from planner.questions.rollout import RolloutSettings
from planner.remedies.knobs import Lever
from planner.ui import apply_view, cache, capacity_inputs, errors, link, sheet

_LABELS = {
    Lever.STRATEGY: "Strategies",
    Lever.ORDER: "Order",
    Lever.LEND: "Others lend",
    Lever.NODES: "Nodes",
    Lever.MOVES: "Moves",
    Lever.QUOTA: "Quotas",
    Lever.TEMPLATE: "Pod template",
    Lever.PODS: "Pods, once stuck",
}


@errors.part
def show(snapshot: Snapshot, settings: RolloutSettings, given: Given) -> None:
    """The section. Nothing of it is worked out before it is opened."""
    if settings.meanwhile.then or QUESTION.not_known(snapshot):
        return
    with link.expander(
        "Is there anything else? All plans, or the proof that there is none",
        key="certificate",
        icon=":material/verified:",
    ) as is_open:
        if is_open:
            _opened(snapshot, settings, given)


def _opened(snapshot: Snapshot, settings: RolloutSettings, given: Given) -> None:
    st.caption("What may a plan use?")
    with st.grid(min_column_width=180, gap="small"):
        used = [lever for lever in Lever if link.toggle(_LABELS[lever], key=f"lever_{lever}", default=True)]
    if not used:
        st.caption("Switch on what a plan may use.")
        return
    asked = CertificateSettings(rollout=settings, levers=",".join(used))
    found = cache.ask(QUESTION, snapshot, asked, capacity_inputs.priced(given))
    box = st.success if found.plans and found.is_proven else st.info if found.plans else st.warning
    box(
        words.literal(words.sentence(found.sentence)),
        icon=":material/verified:" if found.is_proven else ":material/search:",
    )
    for note in notes(found):
        st.caption(words.literal(note))
    if not found.plans:
        return
    sheet.table(QUESTION, found, "plans", is_whole=True, key="plans")
    names = [f"{number}. {plan.title}" for number, plan in enumerate(found.plans, 1)]
    shown = link.select("Steps of plan", names, key="plan")
    plan = found.plans[names.index(shown)]
    st.caption(words.literal(words.sentence(plan.sentence)))
    apply_view.steps(plan.steps, title=plan.title, snapshot=snapshot, key="certificate")
