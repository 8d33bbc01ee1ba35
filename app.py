"""The dashboard's entry: ``streamlit run app.py``.

The script is `pages/_router.py`, inside the folder of pages, and not this file: Streamlit takes a ``pages/`` folder
beside its main script for an old-style multipage app and, when the first request after a start is a deep link, runs the
page alone, without the router.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from planner.serve import health
from planner.ui import live_view, pool, sign_in
from planner.ui.gate import Gate
from planner.ui.web import Guard

PAGES = Path(__file__).parent / "pages"

people = sign_in.configured()
pool.start()


def dashboard(routes: Sequence[BaseRoute] = (), lifespan: Callable[[Any], Any] | None = None) -> st.App:
    """The pages; `routes` stand beside them (``headroom serve --dashboard``), else whether it lives and is ready."""
    app = st.App(  # by this name and in this form, or ``streamlit run`` doesn't find it: it reads the source, not the module
        PAGES / "_router.py",
        secrets={"auth": people.auth} if people else None,
        routes=routes or health.routes(live_view.start()),
        lifespan=lifespan,
        middleware=[
            Middleware(Guard),
            Middleware(Gate, sign_in=people, pages=[page.stem for page in PAGES.glob("[!_]*.py")]),
        ],
    )
    return app


app = dashboard()
