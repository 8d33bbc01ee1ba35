"""Download buttons: the file is made on click, without a rerun of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from planner.ground.table_formats import Rows, as_csv, as_json
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Question
from planner.questions.question import document as document_of
from planner.ui import errors

S = TypeVar("S")
A = TypeVar("A")


def show(name: str, *, document: Callable[[], Mapping[str, Any]], rows: Callable[[], Rows]) -> None:
    """Buttons for `name`.json, a versioned document, and `name`.csv."""
    with st.container(horizontal=True):
        for form, mime, make_content in (
            ("json", "application/json", lambda: as_json(document())),
            ("csv", "text/csv", lambda: as_csv(rows())),
        ):
            st.download_button(
                f"Download {form.upper()}", data=make_content, file_name=f"{name}.{form}", mime=mime, icon=":material/download:",
                on_click="ignore", key=f"download-{name}-{form}",
            )  # fmt: skip


def script(make_script: Callable[[], str], name: str, **more: Any) -> None:
    """A button for steps as a shell script called `name`.sh; `more` goes to it."""
    st.download_button(
        "All steps as a script", data=make_script, file_name=f"{name}.sh", mime="text/x-shellscript", icon=":material/terminal:",
        on_click="ignore", **more,
    )  # fmt: skip


@errors.part
def answer(
    question: Question[S, A], snapshots: Snapshot | Sequence[Snapshot], settings: S, shown: A, *, rows: str = ""
) -> None:
    """Buttons for an answer's document and its rows (`rows`: which table)."""
    show(
        question.name.replace("_", "-"),
        document=lambda: document_of(question, snapshots, settings, shown),
        rows=lambda: question.rows(shown, rows),
    )
