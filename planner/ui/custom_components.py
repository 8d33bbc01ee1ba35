"""Page components with a script of their own: film, strategy grid, seat map. Each is registered once a server."""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.figures.film import file


@st.cache_resource(show_spinner=False)
def component(name: str, call: str) -> Any:
    """The part drawn by `name`.js and styled by `name`.css; `call`: what draws, with `place`, `data` and `setTriggerValue` at hand."""
    draws = f"const place = parentElement.querySelector('.place'); return data && {call};"
    return st.components.v2.component(
        f"headroom_{name}", html='<div class="place"></div>', css=file(f"{name}.css"),
        js=f"{file('dom.js')}\n{file(f'{name}.js')}\nexport default ({{data, parentElement, setTriggerValue}}) => {{ {draws} }};\n",
    )  # fmt: skip
