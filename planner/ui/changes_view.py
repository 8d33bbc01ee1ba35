"""*As if*, opened: the list of changes, put together by choosing or typed, and what they come to beside today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from planner.capacity.change_comparison import WhatIfAnswer
from planner.capacity.what_if_syntax import FORMS, ChangeKind, parse_change, parse_changes
from planner.ground import words
from planner.ground.errors import InputError
from planner.kubernetes.kinds import kind_called
from planner.kubernetes.nodes import node_pool, zone
from planner.kubernetes.records import Snapshot
from planner.questions.what_if import QUESTION, WhatIfSettings
from planner.ui import (
    answer_view,
    as_if,
    cache,
    capacity_inputs,
    downloads,
    errors,
    film_view,
    link,
    session,
    tables,
    verdict,
)
from planner.ui.settings_form import SettingsForm

_TEXT: Final = "_as_if_text"  # the field's; what is supposed is the link's
_OFFERED: Final[Mapping[ChangeKind, str]] = {  # → what it can be about
    ChangeKind.ADD: "pools",
    ChangeKind.DRAIN: "nodes",
    ChangeKind.UNCORDON: "nodes",
    ChangeKind.DELETE: "nodes",
    ChangeKind.REMOVE_ZONE: "zones",
    ChangeKind.UPGRADE: "pools",
    ChangeKind.STOPS_ANSWERING: "nodes",
    ChangeKind.ANSWERS: "nodes",
    ChangeKind.TAINT: "places",
    ChangeKind.UNTAINT: "places",
    ChangeKind.EVICT: "pods",
    ChangeKind.MOVE: "pods",
    ChangeKind.FORCE_DELETE: "pods",
    ChangeKind.RESIZE: "workloads",
    ChangeKind.REPLICAS: "workloads",
}


@st.dialog("As if", width="large", icon=":material/alt_route:", on_dismiss=link.close_dialog)
def dialog() -> None:
    """The changes and what they come to; every page answers with them once it is closed."""
    _add(today := session.looked_at())
    st.session_state[_TEXT] = as_if.text()
    st.text_input(
        "Changes, in their order", key=_TEXT, on_change=lambda: as_if.write(str(st.session_state[_TEXT])), help="Separated by ; as --change takes them.",
        placeholder="add:gpu-t4=1;drain:pool/web",
    )  # fmt: skip
    asked = SettingsForm(WhatIfSettings)
    asked.show("limits", placeholder="gpu-t4=8, web=2-12")
    with errors.shown():
        if changes := parse_changes(as_if.text()):
            wanted = asked.settings(changes=changes, rollouts=len(today.nodes) <= cache.QUICK_NODES)
            given = capacity_inputs.priced(capacity_inputs.given(today))
            _beside(what_if_answer := cache.ask(QUESTION, today, wanted, given))
            film_view.change(today, changes)
            downloads.answer(QUESTION, today, wanted, what_if_answer)
            return
    with st.expander("How changes are written", icon=":material/edit_note:"):
        tables.small([{"written": form, "does": what} for form, what in FORMS.values()])


# ── a change more ────────────────────────────────────────────────────────────────────────────────────────────────────
def _add(today: Snapshot) -> None:
    """A change chosen: its kind, what it is about, and its value where it has one."""
    kind = st.selectbox("Add a change", list(_OFFERED), format_func=_called, key="_change_kind")
    value = FORMS[kind][0].rpartition(" or ")[2].partition("=")[2]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        target = st.selectbox("Of", _targets(_OFFERED[kind], today), key=f"_target_{kind}", width=320)
        given = st.text_input("Value", key=f"_value_{kind}", placeholder=value, width=200) if value else ""
        text = f"{kind}:{target}" + (f"={given}" if given else "")
        st.button("Add", key="add-change", icon=":material/add:", disabled=not target, on_click=_append, args=(text,))


def _append(text: str) -> None:
    """One change more; one that can't be read is told beside the list."""
    try:
        as_if.suppose(str(parse_change(text)))
    except InputError as error:
        st.toast(f"△ {words.literal(str(error))}")


def _called(kind: ChangeKind) -> str:
    return f"{kind.capitalize().replace('-', ' ')}: {FORMS[kind][1]}"


def _targets(of: str, today: Snapshot) -> Sequence[str]:
    nodes, pools = [node.name for node in today.nodes], sorted({node_pool(node) for node in today.nodes} - {""})
    if of == "pods":
        return [f"{pod.namespace}/{pod.name}" for pod in today.pods if pod.holds_room]
    if of == "workloads":
        return [workload.key for workload in today.workloads if kind_called(workload.kind).has_replicas]
    if of == "zones":
        return sorted({zone(node) for node in today.nodes} - {""})
    if of == "nodes":
        return [*(f"pool/{pool}" for pool in pools), *nodes]
    return [*pools, *(f"node/{name}" for name in nodes if of == "places")]


# ── beside today ─────────────────────────────────────────────────────────────────────────────────────────────────────
@errors.part
def _beside(found: WhatIfAnswer) -> None:
    """What the changes come to: each step, the figures before and after, what fits and which rollouts go otherwise."""
    through = all(step.is_done for step in found.steps)
    title = "✓ Every change gets through" if through else "△ Not every change gets through"
    if through and any(changed.before == "completes" for changed in found.verdicts):
        title = "△ Every change gets through, and workloads no longer complete"
    verdict.box(title, words.sentence(found.sentence))
    steps = QUESTION.listing("steps")
    if steps is not None and steps.line is not None:
        for step in steps.items(found):
            st.markdown("  \n".join(words.literal(line) for line in steps.line(step).splitlines()))
    figures = QUESTION.listing("figures")
    rows = [_figure(*of) for of in (figures.items(found) if figures is not None else ())]
    tables.show(rows, alt="The figures before and after", placeholder="not known")
    for name in ("fits", "verdicts"):
        if (listing := QUESTION.listing(name)) is not None and listing.seen(found):
            st.caption(words.capital(listing.title_of(found)))
            answer_view.table(QUESTION, found, name)


def _figure(name: str, unit: str, today: float | None, then: float | None) -> dict[str, object]:
    """One figure before and after, money as such."""
    change = None if today is None or then is None else then - today
    said = [
        None if amount is None else words.usd(amount) if unit.startswith("USD") else f"{amount:,.0f}"
        for amount in (today, then, change)
    ]
    return {"figure": words.capital(name), "today": said[0], "then": said[1], "change": said[2]}
