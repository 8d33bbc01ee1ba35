"""Use over time from a Prometheus server, for the Restarts and Drift pages.

The address is never part of a link, and nothing is asked before somebody presses the button: a link must not make this
server call another one. The token stays in this session and is not kept after the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from planner import words
from planner.errors import HeadroomError
from planner.inventory.usage import Usage
from planner.kubernetes.records import Snapshot
from planner.questions.identity import identity
from planner.sources.prometheus import Prometheus, usage_before
from planner.ui import errors

_KEY = "_usage_history"
_DAYS = (1, 3, 7, 14, 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    identity: str  # of the snapshot it belongs to
    usages: tuple[Usage, ...]
    sentence: str


def history(snapshot: Snapshot) -> tuple[Usage, ...] | None:
    """What was read for this snapshot in this session; None: nothing, its PodMetrics count."""
    kept = st.session_state.get(_KEY)
    return kept.usages if isinstance(kept, _History) and kept.identity == identity(snapshot) else None


def ask(snapshot: Snapshot) -> None:
    """The form: address, token, days. Reading replaces the one moment of metrics-server on both pages."""
    with st.expander("Use over time, from Prometheus", icon=":material/monitoring:"):
        kept = st.session_state.get(_KEY)
        if isinstance(kept, _History) and kept.identity == identity(snapshot):
            st.success(words.literal(kept.sentence), title="✓ Used in the suggestions")
            st.button("Back to metrics-server's one moment", on_click=lambda: st.session_state.pop(_KEY, None))
        elif snapshot.pod_metrics:
            st.caption("So far the suggestions rest on one moment of metrics-server. A history knows the peaks.")
        else:
            st.caption("This snapshot holds no PodMetrics: without a history nothing is known of what containers use.")
        with st.form("prometheus", border=False):
            url = st.text_input("Address", key="_prometheus_url", placeholder="http://prometheus.example:9090")
            token = st.text_input("Bearer token (optional)", key="_prometheus_token", type="password")
            days = st.selectbox("Days before the snapshot", _DAYS, index=2, key="_prometheus_days")
            pressed = st.form_submit_button("Read", icon=":material/download:")
        if pressed:
            _read(snapshot, url, token, days)


def _read(snapshot: Snapshot, url: str, token: str, days: int) -> None:
    try:
        with st.spinner("Asking Prometheus …"):
            server = Prometheus(url=url, token=token)
            usages = usage_before(server, snapshot, days)
    except HeadroomError as error:
        errors.show(error)
        return
    said = f"{words.count(len(usages), 'container')} over {words.count(days, 'day')} from {server.address}"
    warned = f" The server warns: {server.warnings[0]}" if server.warnings else ""
    st.session_state[_KEY] = _History(identity=identity(snapshot), usages=usages, sentence=f"{said}.{warned}")
    st.rerun()
