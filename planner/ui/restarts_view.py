"""Containers that restart or don't start: the story of each, its evidence, what would help, and its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import streamlit as st

from planner.ground import words
from planner.health.restarts.model import (
    Activity,
    Confidence,
    LineVerdict,
    LogLine,
    Loop,
)
from planner.kubernetes.records import Snapshot
from planner.questions import restarts as plan_restarts
from planner.ui import apply_view, cache, errors, page_frame

_Colour = Literal["red", "orange", "gray", "blue", "green"]
_COLOUR: Final[dict[Activity, _Colour]] = {
    Activity.NOT_STARTING: "red",
    Activity.LOOPING: "red",
    Activity.SILENT: "orange",
    Activity.RECURRING: "orange",
    Activity.GONE: "gray",
    Activity.SETTLED: "green",
}
_CONFIDENCE: Final = {
    Confidence.CERTAIN: "certain: Kubernetes says so",
    Confidence.LIKELY: "likely: several signs agree",
    Confidence.POSSIBLE: "possible: few signs",
}
_LINE: Final = {LineVerdict.NOISE: "✓", LineVerdict.ONLY_FAILING: "✗", LineVerdict.UNSURE: "?"}


def loop_details(loop: Loop, snapshot: Snapshot) -> None:
    """One loop: the story, why, and what would help."""
    story(loop)
    why, what = st.columns(2, gap="large")
    with why, page_frame.folded("Why: the evidence", "evidence"):
        st.header("Why: the evidence")
        evidence(loop)
    with what:
        st.header("What would help")
        cure(loop, snapshot)
    with st.expander(log_title(loop), icon=":material/description:"):
        lines(loop)


@errors.part
def story(loop: Loop) -> None:
    """State, cause and confidence, then the sentence."""
    with st.container(horizontal=True):
        st.badge(loop.activity.words, color=_COLOUR[loop.activity])
        st.badge(loop.diagnosis.cause.words, color="blue")
        st.badge(_CONFIDENCE[loop.diagnosis.confidence], color="gray")
    st.markdown(words.literal(loop.sentence))


@errors.part
def evidence(loop: Loop) -> None:
    """What the cause rests on, one line each: where it is from, and what it says."""
    for evidence_line in loop.diagnosis.evidence:
        st.markdown(f"- :gray[{evidence_line.source.words}:] {words.literal(evidence_line.text)}")


@errors.part
def cure(loop: Loop, snapshot: Snapshot) -> None:
    """What would help; where values are suggested, whether there is room and what their rollout does."""
    st.markdown(f"**{words.literal(loop.diagnosis.cure)}.**")
    restart_cure = cache.answer(plan_restarts.cure, snapshot, loop)
    if restart_cure is None:
        return
    apply_view.suggestion(restart_cure.suggestion)
    st.markdown(words.literal(restart_cure.room_sentence))
    apply_view.outcome(restart_cure)


def log_title(loop: Loop) -> str:
    """What is in the log, before one opens it."""
    if not loop.has_log:
        return "Its log: none was read"
    return f"Its log: {words.count(len(loop.suspects), 'line')} that {words.plural(len(loop.suspects), 'means', 'mean')} something, {len(loop.noise):,} of noise"


@errors.part
def lines(loop: Loop) -> None:
    """Alarming log lines, noise apart."""
    if not loop.container:
        st.caption("These pods have gone, and their logs with them.")
        return
    if not loop.has_log:
        st.info(
            "No log of these pods was read: add one below, or make the snapshot with kubectl cluster-info dump.",
            icon=":material/description:",
        )
        return
    meaning, noise = st.columns(2, gap="large")
    with meaning:
        st.markdown("**Means something**")
        _lines(loop.suspects, "No alarming line that working pods don't print as well.")
    with noise:
        st.markdown("**Noise: pods that work print it too**")
        _lines(loop.noise, "None of the alarming lines is printed by pods that work.")


def _lines(log_lines: Sequence[LogLine], empty: str) -> None:
    if not log_lines:
        st.caption(empty)
    for line in log_lines:
        with st.container(border=True, gap="xsmall"):
            st.code(line.template, language=None, wrap_lines=True)
            st.caption(f"{_LINE[line.verdict]} {words.literal(line.sentence)}. {words.count(line.lines, 'line')} here.")
