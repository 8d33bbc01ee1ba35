"""The dashboard's entry: ``streamlit run app.py``.

The script is `pages/_router.py`, inside the folder of pages, and not this file: Streamlit takes a ``pages/`` folder
beside its main script for an old-style multipage app and, when the first request after a start is a deep link, runs the
page alone, without the router.
"""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from planner.serve import dashboard_mounts, health
from planner.serve.processes import process_pool
from planner.ui import link, live_view, sign_in
from planner.ui.sign_in_middleware import Doorkeeper
from planner.ui.streamlit_static_files import Frontend
from planner.ui.web_security import Guard, base_path, take_settings

PAGES = Path(__file__).parent / "pages"
NAMES = [*(page.stem for page in PAGES.glob("[!_]*.py")), *link.MOVED]

take_settings()
people = sign_in.configured()
process_pool.start()


app = st.App(
    PAGES / "_router.py",
    secrets={"auth": people.auth} if people else None,
    routes=dashboard_mounts.routes or health.routes_of_pages(live_view.start()),
    lifespan=dashboard_mounts.lifespan,
    middleware=[
        Middleware(Guard, names=[people.host] if people else [], is_https=people is not None and people.is_https),
        Middleware(Doorkeeper, sign_in=people, pages=NAMES, signed_out=sign_in.signed_out() if people else None),
        Middleware(Frontend, pages=NAMES, base=base_path()),
    ],
)
