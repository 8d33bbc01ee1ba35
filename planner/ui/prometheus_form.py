"""A form that reads from a Prometheus server, for this session and this snapshot.

The address is never part of a link, and nothing is asked before a user presses the button: a link must not make this
server call another one. The token stays in this session and is not kept after the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

import streamlit as st

from planner.ground import words
from planner.ground.errors import HeadroomError
from planner.ground.records import Record
from planner.kubernetes.object_records import Snapshot
from planner.serve.processes.snapshot_fingerprint import identity
from planner.sources.prometheus_usage import Prometheus
from planner.ui import errors, session_cluster

T = TypeVar("T")
_DAYS = (1, 3, 7, 14, 30)


class _FormReading(Record, Generic[T]):
    identity: str  # of the snapshot it belongs to
    found: T
    sentence: str


class Form(Record, Generic[T]):
    """What is read: `ask` takes the server and the days before the snapshot, `said` counts what it found."""

    key: str
    ask: Callable[[Prometheus, Snapshot, int], T]
    said: Callable[[T], str]
    read: str  # over what was read
    back: str  # on the button that forgets it
    days: int = 7

    def kept(self, snapshot: Snapshot) -> T | None:
        """What was read for this snapshot in this session; None: nothing."""
        stored_reading = self._kept(snapshot)
        return None if stored_reading is None else stored_reading.found

    def _kept(self, snapshot: Snapshot) -> _FormReading[T] | None:
        stored_reading = st.session_state.get(f"{self.key}_read")
        own = identity(session_cluster.as_read(snapshot))
        is_its = isinstance(stored_reading, _FormReading) and stored_reading.identity == own
        return cast("_FormReading[T]", stored_reading) if is_its else None

    def show(self, snapshot: Snapshot, before: str) -> None:
        """Address, token, days and the button; `before` is said while nothing was read."""
        stored_reading = self._kept(snapshot)
        if stored_reading is not None:
            st.success(words.literal(stored_reading.sentence), title=self.read)
            st.button(
                self.back, key=f"{self.key}_back", on_click=lambda: st.session_state.pop(f"{self.key}_read", None)
            )
        else:
            st.caption(before)
        with st.form(f"{self.key}_form", border=False):
            url = st.text_input("Address", key=f"{self.key}_url", placeholder="http://prometheus.example:9090")
            token = st.text_input("Bearer token (optional)", key=f"{self.key}_token", type="password")
            span = st.selectbox("Days before the snapshot", _DAYS, index=_DAYS.index(self.days), key=f"{self.key}_days")
            pressed = st.form_submit_button("Read", icon=":material/download:")
        if pressed:
            self._read(snapshot, url, token, span)

    def _read(self, snapshot: Snapshot, url: str, token: str, days: int) -> None:
        try:
            with st.spinner("Asking Prometheus …"):
                server = Prometheus(url=url, token=token)
                usages = self.ask(server, snapshot, days)
        except HeadroomError as error:
            errors.show(error)
            return
        summary = f"{self.said(usages)} over {words.count(days, 'day')} from {server.address}"
        warned = f" The server warns: {server.warnings[0]}" if server.warnings else ""
        own = identity(session_cluster.as_read(snapshot))
        new_reading = _FormReading(identity=own, found=usages, sentence=f"{summary}.{warned}")
        st.session_state[f"{self.key}_read"] = new_reading
        st.rerun()
