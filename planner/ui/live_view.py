"""A live cluster on the pages: which snapshot a run shows, its age, and when the page is rerun.

A run answers for one snapshot from its first line to its last (`pinned`). Beside it a fragment of its own looks every other
second whether there is a newer one; where there is, the page runs again, its inputs as they are. A page that takes long is run
again the seldomer, and says how old its own answer is.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from planner.ground import words
from planner.ground.errors import HeadroomError
from planner.inventory import input_report
from planner.kubernetes.object_records import Snapshot
from planner.rollout.prepared_change import make_ready
from planner.serve import dashboard_mounts
from planner.serve.processes import process_pool
from planner.sources import watched_cluster
from planner.sources.cluster_argument import CLUSTER_VARIABLE, CONTEXT_PREFIX, context_of
from planner.ui import shared_answers, sign_in

LOOK_SECONDS: Final = 2.0
SHARE_OF_TIME: Final = 0.5  # of one core's time that goes into answering anew by itself, all sessions together
OFFERED_SECONDS: Final = 3.0  # at least, that pages begin with the same snapshot: each is worked on in every process
LOOKING_SECONDS: Final = 10.0  # a session that didn't look for so long is gone
_GLANCE_SECONDS: Final = 0.25
_PINNED: Final = "_live_pinned"  # context → the snapshot of this run
_WATCHED: Final = "_live_watched"  # contexts that this session looks at
_BEGAN, _TOOK, _ENDED = "_live_began", "_live_took", "_live_ended"


def start() -> Callable[[], bool]:
    """Begin to watch the cluster that the dashboard is started with, where it is a live one; says whether it was read."""
    spec = os.environ.get(CLUSTER_VARIABLE, "")
    if not spec.startswith(CONTEXT_PREFIX):
        return lambda: True
    context = spec.removeprefix(CONTEXT_PREFIX)
    threading.Thread(target=_try_to_read, args=(context,), daemon=True).start()
    return lambda: (reader := watched_cluster.running(context)) is not None and reader.snapshot is not None


def _try_to_read(context: str) -> None:
    with suppress(HeadroomError):  # said by the first page
        watched_cluster.reader(context)


def begin() -> None:
    """At the beginning of a run: the newest snapshot is what it answers for."""
    st.session_state[_PINNED] = {}
    st.session_state[_BEGAN] = time.monotonic()
    st.session_state[_ENDED] = 0.0


def end() -> None:
    """At the end of a run."""
    now = time.monotonic()
    st.session_state[_TOOK] = now - st.session_state.get(_BEGAN, now)
    st.session_state[_ENDED] = now


def watch(context: str) -> Snapshot:
    """Look at this cluster from now on.

    Raises
    ------
    SourceError
        When it can't be read.
    """
    live_snapshot = pinned(context)
    st.session_state[_WATCHED] = tuple(dict.fromkeys((*watched(), context)))
    return live_snapshot


def watched() -> tuple[str, ...]:
    """The contexts that this session looks at, beside that which the dashboard was started with."""
    contexts: tuple[str, ...] = st.session_state.get(_WATCHED, ())
    return contexts


def pinned(context: str) -> Snapshot:
    """The snapshot that this run answers for.

    Raises
    ------
    SourceError
        When there is none yet, and the cluster can't be read.
    """
    pinned_snapshots: dict[str, Snapshot] = st.session_state.setdefault(_PINNED, {})
    if context not in pinned_snapshots:
        with st.spinner(f"Listing {words.literal(context)} …"):
            reader = watched_cluster.reader(context)
            while (first_snapshot := reader.first(_GLANCE_SECONDS)) is None:
                shared_answers.is_wanted()  # a page that is left doesn't wait any more
        pinned_snapshots[context] = _offered_of(context, reader) or first_snapshot
    return sign_in.seen(pinned_snapshots[context])


_offered: dict[str, Snapshot] = {}  # context → what pages answer for
_in_preparation: set[str] = set()  # contexts
_guard: Final = threading.Lock()


def _offered_of(context: str, reader: watched_cluster.LiveReader) -> Snapshot | None:
    """The same for all sessions for a few seconds: each one that is answered from has to be known to the processes. The next
    one is offered once a process is ready for it; who asks meanwhile doesn't wait for that."""
    offered, newest = _offered.get(context), reader.snapshot
    if offered is None and newest is not None:
        offered = _offered.setdefault(context, newest)
    elif (
        offered is not None
        and newest is not None
        and newest is not offered
        and reader.age_seconds(offered) > OFFERED_SECONDS
    ):
        with _guard:
            is_free = context not in _in_preparation
            _in_preparation.add(context)
        if is_free:
            threading.Thread(target=_prepare, args=(context, newest, _looking()), daemon=True).start()
    return offered


def _prepare(context: str, snapshot: Snapshot, most: int) -> None:
    """Have at most `most` processes ready for `snapshot`, and offer it as soon as one is."""
    processes = process_pool.current()
    try:
        if processes is not None:
            for _ in islice(processes.run_in_each(make_ready, snapshot), most):
                _offered[context] = snapshot
    finally:
        _offered[context] = snapshot
        _in_preparation.discard(context)


def is_live(snapshot: Snapshot) -> bool:
    """Whether a run's snapshot is one that a reader keeps."""
    return any(sign_in.seen(candidate) is snapshot for candidate in st.session_state.get(_PINNED, {}).values())


def context(snapshot: Snapshot) -> str:
    """What kubectl has to be asked for, as `context_of` has it."""
    return context_of(CONTEXT_PREFIX if is_live(snapshot) else "", snapshot)


def show(snapshot: Snapshot) -> None:
    """The age of a live cluster's snapshot, nothing for any other; and which certificates expire."""
    certificate_problems = [problem.what for problem in snapshot.problems if problem.code == input_report.EXPIRES]
    for what in filter(None, (*certificate_problems, dashboard_mounts.warning())):
        st.warning(words.literal(f"{what[0].upper()}{what[1:]}."), title="△ Certificate")
    for context, pinned_snapshot in st.session_state.get(_PINNED, {}).items():
        if sign_in.seen(pinned_snapshot) is snapshot:
            age(context)


@st.fragment(run_every=LOOK_SECONDS)
def age(context: str) -> None:
    """How old the answers are, why they aren't refreshed, and a run of the page where there is something newer."""
    reader = watched_cluster.running(context)
    pinned_snapshot: Snapshot | None = st.session_state.get(_PINNED, {}).get(context)
    if reader is None or pinned_snapshot is None:
        return
    newest, condition = _offered_of(context, reader), reader.condition
    is_behind = newest is not None and not _is_same(pinned_snapshot, newest)
    ended = float(st.session_state.get(_ENDED) or st.session_state.get(_BEGAN, 0.0))
    took = float(st.session_state.get(_TOOK, 0.0))
    # A page that takes long is left alone for longer before it may run again by itself.
    is_due = time.monotonic() - ended >= max(LOOK_SECONDS, took * _looking() / SHARE_OF_TIME)
    if is_behind and is_due:
        st.rerun(scope="app")
    seconds = reader.age_seconds(pinned_snapshot) if is_behind else condition.age_seconds
    age_text = "as it is now" if seconds < 1.5 else f"as it was {words.duration(round(seconds))} ago"
    requests_text = f"{words.count(condition.requests, 'request')} to the API server in the last minute, {condition.most_requests:,} at most"
    st.caption(
        f":material/sensors: Live: {age_text}",
        help=f"{words.count(condition.watched, 'kind')} watched; the newest snapshot is {words.duration(condition.age_seconds)} old; "
        f"{requests_text}. A page that takes long is answered anew the seldomer.",
    )
    if condition.failing and condition.age_seconds > 2 * LOOK_SECONDS:
        why = words.literal(condition.failing)
        st.warning(
            f"Not refreshed for {words.duration(round(condition.age_seconds))}: {why}. What was known is shown.",
            title="△ Not up to date",
        )


def _is_same(snapshot: Snapshot, other: Snapshot) -> bool:
    """Whether nothing differs but the time."""
    return (snapshot.digest, snapshot.presence, snapshot.problems) == (other.digest, other.presence, other.problems)


_looked_at: dict[str, float] = {}  # session → when it looked last


def _looking() -> int:
    """Sessions that look at a live cluster now, this one among them: who changes an input shouldn't wait for the others'
    pages to be answered anew."""
    now, run = time.monotonic(), get_script_run_ctx(suppress_warning=True)
    if run is not None:
        _looked_at[run.session_id] = now
    for session, at in list(_looked_at.items()):
        if now - at > LOOKING_SECONDS:
            _looked_at.pop(session, None)
    return max(1, len(_looked_at))
