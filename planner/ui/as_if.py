"""*As if*: changes of the cluster that every page answers with, on a bar above each page.

The list is the one that ``--change`` takes; it stands in the link. Supposing changes nothing in the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.capacity.beside_today import WhatIfAnswer, changed
from planner.capacity.changes import Change, ChangeKind, parse_changes, text_of
from planner.ground import words
from planner.ground.errors import HeadroomError
from planner.kubernetes.records import Snapshot
from planner.questions.what_if import QUESTION, WhatIfSettings
from planner.ui import cache, capacity_inputs, errors, link, session

QUICK_NODES: Final = 500  # above, what takes seconds isn't played unasked, here and on the first page


def button(changes: str, *, key: str, label: str = "Suppose it", is_first: bool = False) -> None:
    """*Suppose it*: every page answers with these changes too from now on. `is_first`: the one to press on its page."""
    st.button(
        label, key=f"suppose-{key}", icon=":material/alt_route:", on_click=_suppose, args=(changes,), type="primary" if is_first else "secondary",
        help="Every page then answers as if this were done. Nothing changes in the cluster.",
    )  # fmt: skip


def bar(today: Snapshot) -> None:
    """The bar, while something is supposed: each change, what all of them come to, and the way back."""
    text = _text()
    if not text:
        return
    with st.container(border=True, key="as_if_bar", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.markdown("**As if**", width="content")
            chips = st.container(horizontal=True, vertical_alignment="center", gap="xsmall", width="content")
            with st.popover("Edit", icon=":material/edit:", type="tertiary"):
                st.text_input("Changes, in their order", key=link.AS_IF, help="Separated by ; as --change takes them.")
            st.page_link(
                "what_if.py", label="Before and after", icon=":material/compare_arrows:", query_params={"changes": text}
            )  # fmt: skip
            st.button("Clear", key="as_if_clear", icon=":material/close:", type="tertiary", on_click=_write, args=((),))
        try:
            changes = parse_changes(text)
            _chips(chips, changes)
            _effect(today, changes)
        except HeadroomError as error:
            errors.show(error)
            st.caption("Every page answers for the cluster as it is.")


def _text() -> str:
    """What is supposed: as the link says it when one arrives, and in the link from then on, on whatever page."""
    if link.AS_IF not in st.session_state and link.AS_IF in st.query_params:
        st.session_state[link.AS_IF] = st.query_params[link.AS_IF]
    link.keep({link.AS_IF})  # though its field isn't drawn on a page
    text = str(st.session_state.get(link.AS_IF) or "")
    if text and st.query_params.get(link.AS_IF) != text:
        st.query_params[link.AS_IF] = text
    elif not text and link.AS_IF in st.query_params:
        del st.query_params[link.AS_IF]
    return text


def _chips(place: DeltaGenerator, changes: Sequence[Change]) -> None:
    for number, change in enumerate(changes):
        others = (*changes[:number], *changes[number + 1 :])
        place.button(
            f"{words.literal(_said(change))} ✕", key=f"as_if-{number}", on_click=_write, args=(others,),
            help="Don't suppose it",
        )  # fmt: skip


def _effect(today: Snapshot, changes: tuple[Change, ...]) -> None:
    """What the changes come to, and that the pages answer for it."""
    given = capacity_inputs.given(today)
    asked = WhatIfSettings(changes=changes, with_rollouts=len(today.nodes) <= QUICK_NODES)
    found = cache.ask(QUESTION, today, asked, capacity_inputs.priced(given))
    session.suppose(cache.answer(changed, today, changes, given.limits))
    st.markdown(words.literal(" · ".join(_beside(found))))
    for step in found.steps:
        if not step.is_done:
            st.caption(f"△ {words.literal(words.sentence(step.sentence))}")


def _beside(found: WhatIfAnswer) -> list[str]:
    """``15 → 16 of 20 workloads can roll out``, pending pods, money: each before and after."""
    parts = []
    before, after = found.completing_before, found.completing_after
    if before is not None and after is not None:
        parts.append(f"{_change(before, after)} workloads can roll out")
    parts.append(f"{_change(found.waiting_before, found.waiting_after)} pods are pending")
    today, then = found.usd_per_month_before, found.usd_per_month_after
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


def _suppose(text: str) -> None:
    """Suppose these beside what is supposed; for callbacks."""
    now = str(st.session_state.get(link.AS_IF) or "")
    held = now.split(";")
    st.session_state[link.AS_IF] = ";".join([*filter(None, held), *(one for one in text.split(";") if one not in held)])


def _write(changes: Sequence[Change]) -> None:
    st.session_state[link.AS_IF] = text_of(changes)
