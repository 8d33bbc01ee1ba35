"""Shows the steps of a remedy, and how a chosen change is applied and undone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from planner.ground import words
from planner.health.memory.request_suggestions import Suggestion
from planner.inventory.patch_and_undo import Applied
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.shell_commands import comment
from planner.questions.restarts import Cure
from planner.remedies.patch_outcome import Patched
from planner.rollout.answers import Step
from planner.rollout.resumable_scripts import in_context, script
from planner.ui import downloads, errors, link, live_view, verdict

_SHOWN = "shown_as"
_COMMAND, _YAML, _DIFFERENCE, _KUSTOMIZE, _HELM, _UNDO = "Command", "YAML", "Difference", "Kustomize", "Helm", "Undo"


@errors.part
def steps(todo: Sequence[Step], *, title: str, snapshot: Snapshot, key: str) -> None:
    """One block to copy, each step waited for; the same as a script that can be stopped; and what takes each step back."""
    st.code(_block((place, step, step.commands) for place, step in enumerate(todo, 1)), language=None, wrap_lines=True)
    source = f"{snapshot.source}, taken {words.moment(snapshot.taken_at)}"
    with st.container(horizontal=True):
        downloads.script(
            lambda: in_context(script(title, todo, source=source), live_view.context(snapshot)), "way-out", key=f"script-{key}",
            help="It waits after each step and can be stopped; sh way-out.sh 3 goes on with step 3.",
        )  # fmt: skip
        if undone := [(place, step, step.undo) for place, step in enumerate(todo, 1) if step.undo]:
            with st.popover("Undo", icon=":material/undo:"):
                st.code(_block(reversed(undone)), language=None, wrap_lines=True)


def _block(steps: Iterable[tuple[int, Step, Sequence[str]]]) -> str:
    """Each step's number and name as a comment, then its commands."""
    blocks = ("\n".join([comment(f"{place}. {step.what}").strip(), *lines]) for place, step, lines in steps)
    return words.printable("\n\n".join(blocks))


def suggestion(value: Suggestion, today: str = "") -> None:
    """Values for a container, beside `today`'s, and why."""
    now = f"Today: {words.literal(today)}  \n" if today else ""
    st.markdown(f"{now}Suggested: {words.literal(value.text)}")
    st.caption(words.literal(f"Why: {value.rule}. Source: {value.source}."))


def outcome(applied: Cure | Patched) -> None:
    """What the rollout of suggested values does, what isn't known of it, and the command that applies them."""
    if applied.rollout is not None:
        verdict.show(applied.rollout.verdict, applied.rollout.headline, applied.rollout.sentence)
    if applied.note:
        st.info(words.literal(applied.note))
    if applied.command:
        st.code(applied.command, language=None, wrap_lines=True)


@errors.part
def show(changes: Sequence[Applied]) -> None:
    """How each changed workload's change is applied: what of it is wanted is chosen, the rest isn't drawn."""
    if not changes:
        return
    st.header("Apply this")
    shown = link.segments(
        "Apply this as", (_COMMAND, _YAML, _DIFFERENCE, _KUSTOMIZE, _HELM, _UNDO), key=_SHOWN, label_visibility="collapsed"
    )  # fmt: skip
    for change in changes:
        if len(changes) > 1:
            st.caption(words.literal(change.workload))
        _one(change, shown)


def _one(applied_change: Applied, shown: str) -> None:
    if shown == _DIFFERENCE:
        lines = [f"{d.field}: {d.today} → {d.then}" for d in applied_change.differences]
        st.code("\n".join(lines), language=None, wrap_lines=True)
    elif shown == _HELM and not applied_change.helm_values:
        st.caption("None of a chart's usual keys is changed.")
    else:
        text = {
            _COMMAND: applied_change.command,
            _YAML: applied_change.yaml,
            _KUSTOMIZE: f"# kustomization.yaml\n{applied_change.kustomization}",
            _HELM: applied_change.helm_values,
            _UNDO: applied_change.undo,
        }[shown]
        st.code(words.printable(text), language=None, wrap_lines=True)  # colors of syntax are too pale: 2.7:1
    if not applied_change.is_whole:
        st.caption(
            "△ Some of what changes is kept in no snapshot (environment, arguments): only your own file says it."
        )
