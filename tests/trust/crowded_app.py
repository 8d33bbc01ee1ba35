"""The dashboard with the crowded cluster (208 copies of the demo) in the place of the large example, for the load test."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from planner.processes import pool
from planner.sources import demo
from planner.ui.web import Guard
from tests.bench import crowd

demo.read_large = lambda: crowd.snapshot(208)
pool.start()
app = st.App(Path(__file__).parents[2] / "pages" / "_router.py", middleware=[Middleware(Guard)])
