"""Downloads: made when clicked, without running the page again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from planner.ground.tables import Rows, as_csv, as_json
from planner.kubernetes.records import Snapshot
from planner.questions.question import Question
from planner.questions.question import document as document_of

S = TypeVar("S")
A = TypeVar("A")


def show(
    name: str, *, document: Callable[[], Mapping[str, Any]] | None = None, rows: Callable[[], Rows] | None = None
) -> None:
    """Buttons for `name`.json (a versioned document) and `name`.csv (rows), whichever are given."""
    with st.container(horizontal=True):
        if document is not None:
            st.download_button(
                "Download JSON",
                data=lambda: as_json(document()),
                file_name=f"{name}.json",
                mime="application/json",
                icon=":material/download:",
                on_click="ignore",
                key=f"download-{name}-json",
            )
        if rows is not None:
            st.download_button(
                "Download CSV",
                data=lambda: as_csv(rows()),
                file_name=f"{name}.csv",
                mime="text/csv",
                icon=":material/download:",
                on_click="ignore",
                key=f"download-{name}-csv",
            )


def answer(
    question: Question[S, A], snapshots: Snapshot | Sequence[Snapshot], settings: S, found: A, *, rows: str = ""
) -> None:
    """Buttons for an answer's document and its rows (`rows`: which table)."""
    show(
        question.name.replace("_", "-"),
        document=lambda: document_of(question, snapshots, settings, found),
        rows=lambda: question.rows(found, rows),
    )
