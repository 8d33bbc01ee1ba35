"""What the Compare page asks and shows: two snapshots, or one and a what-if; only what differs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from planner.ground import words
from planner.history.levels import History
from planner.kubernetes.records import Snapshot
from planner.questions.diff import QUESTION, DiffSettings, finding_rows, number_rows, since_rows, workload_rows
from planner.questions.question import Given
from planner.questions.wording import for_people
from planner.ui import capacity_inputs, downloads, errors, prices, tables
from planner.ui.asked import Asked


def settings() -> DiffSettings:
    """Changes as text; they are in the link."""
    asked = Asked(DiffSettings)
    asked.show("changes", placeholder="drain:pool/gpu-t4")
    return asked.settings()


_FINDING = {"change": "", "severity": "", "object": "", "what": ""}


def show(snapshot: Snapshot, asked: DiffSettings, others: Sequence[Snapshot], history: History | None = None) -> None:
    """What differs: after the changes where there are some, else from the other snapshot to this one."""
    first, then = (snapshot, ()) if asked.changes else (others[0], (snapshot,))
    limits = capacity_inputs.stated(snapshot)
    given = Given(limits=limits, book=prices.book(), others=then, history=None if asked.changes else history)
    with errors.shown(), st.spinner("Comparing …"):
        found = QUESTION.answer(first, asked, given)
        st.markdown(f"**{words.literal(found.sentence)}**")
        st.caption(f"From {words.literal(found.before)} to {words.literal(found.after)}.")
        for note in found.notes:
            st.caption(words.literal(note))
        st.header("Workloads")
        tables.show(
            for_people(workload_rows(found)), alt="Workloads whose rollout goes otherwise", empty="No verdict differs."
        )
        if found.since:
            st.caption("Since when, by the store's snapshots:")
            tables.show(for_people(since_rows(found)), alt="Since when workloads that differ are as they are")
        st.header("GPUs, cost and savings")
        tables.show(
            for_people(number_rows(found)), alt="Numbers that differ, before and after", empty="No number differs."
        )
        st.header("Findings")
        tables.show(
            for_people(finding_rows(found), _FINDING),
            alt="Findings that are new or gone",
            empty="No finding is new or gone.",
        )
        downloads.answer(QUESTION, [first, *then], asked, found)
