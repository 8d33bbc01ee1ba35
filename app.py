"""The dashboard's entry: ``streamlit run app.py``.

The script is `pages/_router.py`, inside the folder of pages, and not this file: Streamlit takes a ``pages/`` folder
beside its main script for an old-style multipage app and, when the first request after a start is a deep link, runs the
page alone, without the router.
"""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from planner.serve import health
from planner.ui import pool
from planner.ui.web import Guard

pool.start()

app = st.App(
    Path(__file__).parent / "pages" / "_router.py", routes=health.routes(lambda: True), middleware=[Middleware(Guard)]
)
