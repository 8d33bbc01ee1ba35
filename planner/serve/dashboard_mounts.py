"""Endpoints beside the pages if ``headroom serve --dashboard`` runs both in one process; `app.py` mounts them.

Streamlit looks for ``app = st.App(…)`` in the text of app.py, so that it can't be a function that is given them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.routing import BaseRoute

warning: Callable[[], str] = str  # of the server's certificate, "" where there is none
routes: Sequence[BaseRoute] = ()
lifespan: Callable[[Any], Any] | None = None
