"""How old the prices are that a page promises money with, by this machine's clock: said after two weeks."""

from __future__ import annotations

import time

import streamlit as st

from planner.ground import words
from planner.pricing.book import age_warning


def show(as_of: str) -> None:
    """A warning where prices of this ISO date ("" none was used) are old."""
    if as_of and (warning := age_warning(as_of, time.time())):
        st.caption(f"△ {words.literal(warning)} Newer ones can be given as *Prices of your own*.")
