"""Downloads: made when clicked, without running the page again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from planner.tables import Rows, as_csv


def show(
    name: str, *, document: Callable[[], Mapping[str, Any]] | None = None, rows: Callable[[], Rows] | None = None
) -> None:
    """Buttons for `name`.json (a versioned document) and `name`.csv (rows), whichever are given."""
    with st.container(horizontal=True):
        if document is not None:
            st.download_button(
                "Download JSON",
                data=lambda: json.dumps(document(), indent=2, ensure_ascii=False) + "\n",
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
