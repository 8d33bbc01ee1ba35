"""While a question is worked out: after a second a line says what is being done, how far and for how long, with a way to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from planner.ground import words
from planner.ground.progress import told_to
from planner.questions import INDEX, WORKING

FIRST_SECONDS: Final = 1.0
_STOPPED: Final = "_stopped"
_numbers = count()  # of stop buttons: each has a name of its own


def doing(question: Callable[..., object]) -> str:
    """What is done meanwhile, in words."""
    question_entry = INDEX.get(question.__module__.rpartition(".")[2])
    return question_entry.doing if question_entry else WORKING


def is_stopped(key: str) -> bool:
    """Whether the question was stopped here; then that is said, with a way to work it out after all."""
    if st.session_state.get(_STOPPED) != key:
        return False
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Stopped before it was worked out.")
        again, args = st.session_state.pop, (_STOPPED, None)
        st.button("Work it out", key=f"again-{key}", icon=":material/play_arrow:", on_click=again, args=args)
    return True


@contextmanager
def shown(key: str, what: str, is_wanted: Callable[[], bool]) -> Iterator[Callable[[], bool]]:
    """Gives `is_wanted` that, asked again and again while the work goes on, draws the line from the first second on; the page
    ends here where the question was stopped before."""
    if is_stopped(key):
        st.stop()
    began, said, done = time.monotonic(), "", what
    place: DeltaGenerator | None = None  # of the line: drawn by the run that waits, where the page has got to
    text: DeltaGenerator | None = None

    def listen(doing: str, share: float) -> None:
        nonlocal done
        done = f"{doing}, {share:.0%}"

    def asked() -> bool:
        nonlocal place, text, said
        seconds = time.monotonic() - began
        if seconds < FIRST_SECONDS or get_script_run_ctx(suppress_warning=True) is None:
            return is_wanted()
        if place is None or text is None:
            place = st.empty()
            with place.container(horizontal=True, vertical_alignment="center"):
                text = st.empty()
                st.button("Stop", key=f"stop-{next(_numbers)}", icon=":material/stop:", on_click=_stop, args=(key,))
        now = f":material/hourglass_top: {words.literal(done)} … {words.duration(int(seconds))}"
        if now != said:
            text.markdown(now)
            said = now
        return is_wanted()

    try:
        with told_to(listen):
            yield asked
    finally:
        if place is not None:
            place.empty()


def _stop(key: str) -> None:
    """The run that works it out ends, and the next one doesn't begin it again."""
    st.session_state[_STOPPED] = key
