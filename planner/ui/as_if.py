"""*As if*: a bar above each page with changes of the cluster that every page answers with, and the dialog that edits
them.

The list is the one that ``--change`` takes; it stands in the link. Supposing changes nothing in the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.capacity.change_comparison import WhatIfAnswer, changed
from planner.capacity.what_if_syntax import FORMS, Change, ChangeKind, parse_change, parse_changes, text_of
from planner.ground import words
from planner.ground.errors import HeadroomError, InputError
from planner.kubernetes.node_properties import node_pool, zone
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import kind_called
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.what_if import QUESTION, WhatIfSettings
from planner.ui import (
    answer_view,
    downloads,
    errors,
    film_view,
    link,
    pool_limit_inputs,
    session_cluster,
    shared_answers,
    tables,
    verdict,
)
from planner.ui.settings_form import SettingsForm


def button(
    changes: str,
    *,
    key: str,
    label: str = "Suppose it",
    is_first: bool = False,
    in_dialog: bool = False,
    forgets: Callable[[], None] | None = None,
) -> None:
    """*Suppose it*: every page answers with these changes too from now on. `is_first`: the one to press on its page; `in_dialog`: which
    closes then; `forgets`: takes back what is typed there and would stand over the changes."""
    pressed = st.button(
        label, key=f"suppose-{key}", icon=":material/alt_route:", on_click=_pressed, args=(changes, in_dialog, forgets), type="primary" if is_first else "secondary",
        help="Every page then answers as if this were done. Nothing changes in the cluster.",
    )  # fmt: skip
    if pressed and in_dialog:
        st.rerun()


def _pressed(changes: str, in_dialog: bool, forgets: Callable[[], None] | None) -> None:
    if forgets is not None:
        forgets()
    suppose(changes)
    if in_dialog:
        link.close_dialog()


def bar(today: Snapshot) -> None:
    """The bar, while something is supposed: each change, what all of them come to, and the way back."""
    linked = _take_up()
    if not linked:
        return
    with st.container(border=True, key="as_if_bar", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.markdown("**As if**", width="content")
            chips = st.container(horizontal=True, vertical_alignment="center", gap="xsmall", width="content")
            st.button(
                "Before and after", key="as_if_open", icon=":material/compare_arrows:", type="tertiary",
                on_click=link.open_dialog, args=("changes",),
            )  # fmt: skip
            st.button("Clear", key="as_if_clear", icon=":material/close:", type="tertiary", on_click=write, args=("",))
        try:
            changes = parse_changes(linked)
            _chips(chips, changes)
            _effect(today, changes)
        except HeadroomError as error:
            errors.show(error)
            st.caption("Every page answers for the cluster as it is.")


def text() -> str:
    """What is supposed."""
    return str(st.session_state.get(link.AS_IF) or "")


def _take_up() -> str:
    """What is supposed: as the link says it when one arrives, and in the link from then on, on whatever page."""
    if link.AS_IF not in st.session_state and link.AS_IF in st.query_params:
        st.session_state[link.AS_IF] = st.query_params[link.AS_IF]
    if text() and st.query_params.get(link.AS_IF) != text():
        st.query_params[link.AS_IF] = text()
    elif not text() and link.AS_IF in st.query_params:
        del st.query_params[link.AS_IF]
    return text()


def _chips(place: DeltaGenerator, changes: Sequence[Change]) -> None:
    for number, change in enumerate(changes):
        others = (*changes[:number], *changes[number + 1 :])
        place.button(
            f"{words.literal(_said(change))} ✕", key=f"as_if-{number}", on_click=write, args=(text_of(others),),
            help="Don't suppose it",
        )  # fmt: skip


def _effect(today: Snapshot, changes: tuple[Change, ...]) -> None:
    """What the changes come to, and that the pages answer for it."""
    inputs = pool_limit_inputs.given(today)
    pools = PoolSettings(limits=pool_limit_inputs.typed())
    question_settings = WhatIfSettings(changes=changes, with_rollouts=shared_answers.is_quick(today), pools=pools)
    what_if_answer = shared_answers.ask(QUESTION, today, question_settings, pool_limit_inputs.priced(inputs))
    session_cluster.suppose(shared_answers.answer(changed, today, changes, pools.known(inputs)))
    st.markdown(words.literal(" · ".join(_beside(what_if_answer))))
    for step in what_if_answer.steps:
        if not step.is_done:
            st.caption(f"△ {words.literal(words.sentence(step.sentence))}")


def _beside(what_if_answer: WhatIfAnswer) -> list[str]:
    """``15 → 16 of 20 workloads can roll out``, pending pods, money: each before and after."""
    parts = []
    before, after = what_if_answer.completing_before, what_if_answer.completing_after
    if before is not None and after is not None:
        parts.append(f"{_change(before, after)} workloads can roll out")
    parts.append(f"{_change(what_if_answer.waiting_before, what_if_answer.waiting_after)} pods are pending")
    today, then = what_if_answer.usd_per_month_before, what_if_answer.usd_per_month_after
    if today is not None and then is not None:
        parts.append(f"{'+' if then >= today else '−'}{words.usd(abs(then - today))} a month")
    return parts


def _change(before: int, after: int) -> str:
    return f"{before:,} → {after:,}" if before != after else f"{after:,}"


def _said(change: Change) -> str:
    """A change in a few words: ``+1 node gpu-t4``, ``inference-api: maxSurge 0, maxUnavailable 1``."""
    if change.kind is ChangeKind.ADD:
        return f"+{words.count(int(change.value), 'node')} {change.target}"
    name = change.target.rsplit("/", 1)[-1]
    value = change.value.replace(",", ", ").replace(":", " ")
    if change.kind in (ChangeKind.RESIZE, ChangeKind.QUOTA):
        return f"{name}: {value}"
    return f"{change.kind} {name}" + (f" {value}" if value else "")


def suppose(changes: str) -> None:
    """Suppose these beside what is supposed; for callbacks."""
    held = text().split(";")
    write(";".join([*filter(None, held), *(change for change in changes.split(";") if change not in held)]))


def write(changes: str) -> None:
    """Suppose these and nothing else; for callbacks."""
    st.session_state[link.AS_IF] = changes


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
    _add(today := session_cluster.looked_at())
    st.session_state[_TEXT] = text()
    st.text_input(
        "Changes, in their order", key=_TEXT, on_change=lambda: write(str(st.session_state[_TEXT])), help="Separated by ; as --change takes them.",
        placeholder="add:gpu-t4=1;drain:pool/web",
    )  # fmt: skip
    asked = SettingsForm(WhatIfSettings)
    asked.show("limits", placeholder="gpu-t4=8, web=2-12")
    with errors.shown():
        if changes := parse_changes(text()):
            wanted = asked.settings(changes=changes, rollouts=shared_answers.is_quick(today))
            given = pool_limit_inputs.priced(pool_limit_inputs.given(today))
            _before_and_after(what_if_answer := shared_answers.ask(QUESTION, today, wanted, given))
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
        suppose(str(parse_change(text)))
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
def _before_and_after(answer: WhatIfAnswer) -> None:
    """What the changes come to: each step, the figures before and after, what fits and which rollouts go otherwise."""
    through = all(step.is_done for step in answer.steps)
    title = "✓ Every change gets through" if through else "△ Not every change gets through"
    if through and any(changed_verdict.before == "completes" for changed_verdict in answer.verdicts):
        title = "△ Every change gets through, and workloads no longer complete"
    verdict.box(title, words.sentence(answer.sentence))
    steps = QUESTION.listing("steps")
    if steps is not None and steps.line is not None:
        for step in steps.items(answer):
            st.markdown("  \n".join(words.literal(line) for line in steps.line(step).splitlines()))
    answer_view.table(QUESTION, answer, "figures", placeholder="not known")
    for name in ("fits", "verdicts"):
        if (listing := QUESTION.listing(name)) is not None and listing.seen(answer):
            st.caption(words.capital(listing.title_of(answer)))
            answer_view.table(QUESTION, answer, name)
