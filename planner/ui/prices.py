"""The prices of a session: what came with Headroom or was refreshed since, and what its account owns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import streamlit as st

from planner.ground.errors import HeadroomError
from planner.ground.words import literal
from planner.pricing.model import OwnedCommitment, PriceBook, PriceChange
from planner.sources import prices as read
from planner.ui import uploads

COMMITMENTS: Final = "_commitments"  # what was given on the Costs page counts on every page of the session
_SAID: Final = "_price_problem_said"  # in this run


def begin() -> None:
    """At the beginning of a run: what is said once a run may be said again."""
    st.session_state.pop(_SAID, None)


def book() -> PriceBook:
    """The embedded prices under the last refresh; where that can't be read the embedded ones alone, which is said.

    With the account's commitments: those given in this session, else those the dashboard was started with
    (``HEADROOM_COMMITMENTS``); a file of them that can't be read is an error.
    """
    found, problem = _refreshed()
    owned: tuple[OwnedCommitment, ...] = uploads.kept(COMMITMENTS, ()) or _started_with()
    found = found.with_commitments(owned)
    if problem is not None and not st.session_state.get(_SAID):
        st.session_state[_SAID] = True
        st.warning(
            f"{literal(problem.where)} {literal(problem.what)}. {literal(problem.mend)} Until then the prices of "
            f"{found.as_of} are used, which came with Headroom.", title="△ The refreshed prices can't be read",
        )  # fmt: skip
    return found


@st.cache_resource(ttl="6h", show_spinner="Reading prices …")
def _refreshed() -> tuple[PriceBook, HeadroomError | None]:
    """Files are read here, not on every run of a page."""
    try:
        return read.load_book(), None
    except HeadroomError as error:
        return read.embedded_book(), error


@st.cache_resource(ttl="6h", show_spinner=False)
def _started_with() -> tuple[OwnedCommitment, ...]:
    file = os.environ.get("HEADROOM_COMMITMENTS")
    return read.load_commitments(Path(file)) if file else ()


@st.cache_resource(show_spinner="Reading the history of prices …")
def changes() -> tuple[PriceChange, ...]:
    """How list prices moved."""
    return read.load_changes()
