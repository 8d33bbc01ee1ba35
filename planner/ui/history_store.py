"""The store of history that the dashboard uses (``HEADROOM_STORE``); for the demo without one, the demo's own.

A link or a user can't name another: the server would read whatever address they give.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from math import ceil
from typing import Final

import streamlit as st

from planner.ground import words
from planner.ground.errors import HeadroomError, InputError, NotKnownError
from planner.ground.records import replace
from planner.history import snapshot_names
from planner.history.prediction_scores import PredictionScores, score_predictions
from planner.history.predictions import COUNTED_DAYS, read_journal
from planner.history.store_queries import History
from planner.inventory.past_job_durations import RUN_DAYS, Lengths, lengths_of
from planner.inventory.spot_node_lifetimes import Watch
from planner.kubernetes.object_records import Snapshot
from planner.sources import append_only_journal, demo
from planner.sources.store import Store, StoredSnapshot, days_before, latest_of
from planner.ui import errors, link, session_cluster, sign_in

VARIABLE: Final = "HEADROOM_STORE"
MADE: Final = (
    "The demo's two earlier moments are made up, to show this page. Your own: `headroom store snapshot` and "
    f"`{VARIABLE}=URL`, a folder or a bucket."
)
_DAYS: Final = 90  # that trends look back at least


def _made() -> str:
    """Where the history is that was made for the demo, while one of its moments is looked at and no store is named; else ""."""
    url = str(demo.history_folder())
    of_demo = {snapshot.snapshot for snapshot in _snapshots(url, demo.DEMO_NAME)}
    return (
        url
        if not os.environ.get(VARIABLE) and snapshot_names.snapshot_id(session_cluster.looked_at()) in of_demo
        else ""
    )


def _url() -> str:
    return os.environ.get(VARIABLE) or _made()


def is_made() -> bool:
    """Whether it is the demo's own."""
    return bool(_made())


def is_there() -> bool:
    """Whether there is a store; says how to name one, and where what is shown was made."""
    if os.environ.get(VARIABLE):
        return True
    if _made():
        st.caption(MADE)
        return True
    st.info(
        "History comes from a store. Let a cron job run `headroom store snapshot context:NAME --store URL`, and start the dashboard "
        f"with `{VARIABLE}=URL`: a folder, s3://bucket/path or gs://bucket/path.",
        title="? No store is named",
    )
    return False


@st.cache_resource(ttl="5m", max_entries=64, show_spinner="Reading the store …")
def _clusters(url: str) -> tuple[str, ...]:
    return Store(url).clusters()


@st.cache_resource(ttl="5m", max_entries=64, show_spinner="Reading the store …")
def _snapshots(url: str, cluster: str) -> tuple[StoredSnapshot, ...]:
    return Store(url).snapshots((cluster,))


@st.cache_resource(ttl="5m", max_entries=16, show_spinner="Reading the store …")
def _history(url: str, clusters: tuple[str, ...], days: float | None = None, until: float | None = None) -> History:
    return Store(url).history(clusters, None if days is None else days_before(time.time(), days), until)


@st.cache_resource(ttl="1h", max_entries=8, show_spinner="Reading a snapshot …")
def _snapshot(url: str, stored: StoredSnapshot) -> Snapshot:
    """Called by its time here, where it is kept: another record at each visit would have its name worked out anew, and its tables."""
    return replace(Store(url).snapshot(stored), source=f"{stored.cluster}@{snapshot_names.time_text(stored.taken_at)}")


@st.cache_resource(ttl="5m", max_entries=4, show_spinner="Reading the store …")  # of all snapshots of all clusters
def _node_watch(url: str, until: float) -> tuple[Watch, tuple[str, ...]]:
    store = Store(url)
    return store.node_watch(until=until), store.left_out


def node_watch(until: float) -> Watch:
    """When the spot nodes of all its clusters came and went, by `until`."""
    watch, left_out = _node_watch(os.environ[VARIABLE], until)
    _warn_of(left_out)
    return watch


def _warn_of(left_out: Sequence[str]) -> None:
    """Say what of the store wasn't read."""
    if left_out:
        title = f"△ {words.count(len(left_out), 'part')} of the store couldn't be read"
        st.warning(words.literal(left_out[0]), title=title)


@st.cache_resource(ttl="5m", max_entries=16, show_spinner="Reading the store …")
def _runs(url: str, cluster: str, until: float) -> tuple[Lengths, tuple[str, ...]]:
    place = snapshot_names.SnapshotAddress(url=url, cluster=cluster, time=snapshot_names.LATEST)
    store = Store(url)
    return lengths_of(store.runs_seen(place, days_before(until, RUN_DAYS), until)), store.left_out


def runs(snapshot: Snapshot) -> Lengths | None:
    """How long Jobs held quota before, where the store has a cluster of the snapshot's name; None for a user who sees some
    namespaces only, and, which is said, where it can't be read."""
    try:
        its = {snapshot.source, snapshot.source.rpartition("@")[0]}
        name = next((cluster for cluster in clusters() if cluster in its), "")
        if not name or not sign_in.sees_all():
            return None
        lengths, left_out = _runs(os.environ[VARIABLE], name, snapshot.taken_at)
        _warn_of(left_out)
        return lengths
    except HeadroomError as error:
        st.warning(words.literal(str(error)), title="△ How long Jobs took before can't be read")
        return None


@st.cache_resource(ttl="5m", max_entries=16, show_spinner=False)
def _predictions(url: str, cluster: str) -> PredictionScores:
    since = time.time() - COUNTED_DAYS * 86_400.0
    rollouts, lost = read_journal(append_only_journal.Journal(url, cluster).lines(since))
    return score_predictions([rollout for rollout in rollouts if rollout.prediction.at >= since], lost)


def predictions(snapshot: Snapshot) -> PredictionScores | None:
    """What `headroom serve --predictions` kept of this cluster in the last days, beside what came. None where nothing is kept under its name,
    and for a user who sees some namespaces only: a prediction names workloads of all."""
    url = os.environ.get(append_only_journal.VARIABLE) or os.environ.get(VARIABLE)
    if not url or not sign_in.sees_all():
        return None
    name = snapshot.source.removeprefix("context:")
    try:  # a snapshot of a store is called NAME@TIME, and a context's name may have an @ of its own
        kept = [_predictions(url, cluster) for cluster in (name, name.rpartition("@")[0]) if cluster]
    except InputError:  # a bucket, which has no journal
        return None
    return next((scores for scores in kept if scores.predictions), None)


def clusters() -> tuple[str, ...]:
    """The names of the store's clusters; () without a store."""
    url = os.environ.get(VARIABLE)
    return _clusters(url) if url else ()


def latest(cluster: str) -> Snapshot:
    """The newest snapshot of a cluster, called by its name."""
    return _seen(_url(), latest_of(_snapshots(_url(), cluster), time.time()))


def _seen(url: str, stored_snapshot: StoredSnapshot) -> Snapshot:
    return sign_in.seen(_snapshot(url, stored_snapshot))


def history(back_to: float | None) -> History:
    """The history that the page looks at, of which clusters, as the link has it: of 90 days, or `back_to` a moment before.

    Raises
    ------
    NotKnownError
        For a user who sees some namespaces only: a history names workloads of all, and nothing of it is left out by halves.
    """
    if not sign_in.sees_all():
        what = "history is kept of all namespaces together, and you see some of them"
        raise NotKnownError(
            what, where="the store", fix="Ask a user who sees all namespaces, or look at a single snapshot of the store"
        )
    if demo_store := _made():  # of fixed days, and of one cluster: nothing to choose
        return _history(demo_store, (), None)
    chosen = link.choices("Clusters", clusters(), key="clusters", placeholder="all")
    url = os.environ[VARIABLE]
    days = _DAYS if back_to is None else max(_DAYS, ceil((time.time() - back_to) / 86_400))
    stored_history = _history(url, chosen, days)
    _warn_of(stored_history.left_out)
    return stored_history


@errors.part
def since() -> tuple[Snapshot, Snapshot, History | None] | None:
    """What changed, from when until when, as the link has it: between a time of the store and a later one, or from another
    snapshot that was given in this session until the one looked at; None where there is neither. The history is of all
    namespaces together: None for a user who sees some.
    """
    given = session_cluster.beside(st.query_params.get("from", ""))
    url = _url()
    known = _clusters(url) if url else ()
    if not (known or given):
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        cluster = (
            link.select("Cluster of the store", known, key="of_store", width=220) if len(known) > 1 else "".join(known)
        )
        times = {
            snapshot_names.time_text(stored_moment.taken_at): stored_moment
            for stored_moment in (_snapshots(url, cluster) if cluster else ())
        }
        newest = list(reversed(times))
        offered = [*given, *times]
        before = (newest[1:2] or offered)[0]
        link.name({"from": before, **({"to": newest[0]} if newest else {})})
        asked = link.select("Changed since", offered, key="from", default=before, is_always=True, width=360)
        if asked in given:
            ends = sorted((given[asked], session_cluster.looked_at()), key=lambda snapshot: snapshot.taken_at)
            return ends[0], ends[1], None
        until = link.select("Until", newest, key="to", is_always=True, width=260)
    ends = sorted((_seen(url, times[text]) for text in (asked, until)), key=lambda snapshot: snapshot.taken_at)
    if not sign_in.sees_all():
        return ends[0], ends[1], None
    between = _history(url, (cluster,), until=ends[1].taken_at)
    _warn_of(between.left_out)
    return ends[0], ends[1], between


def moment() -> None:
    """A moment of the past for every page."""
    url = _url()
    with st.expander("Ask every page about another time", icon=":material/history:"):
        cluster = link.select("Cluster of the store", _clusters(url), key="moment_of")
        every = _snapshots(url, cluster)
        texts = {snapshot_names.time_text(stored.taken_at): stored for stored in reversed(every)}
        chosen = link.select("Taken", list(texts), key="moment")
        if st.button("Look at it", icon=":material/visibility:", key="look-at-moment"):
            session_cluster.adopt(_seen(url, texts[chosen]))
            st.rerun()
        st.caption(f"{words.count(len(every), 'snapshot')} of {words.literal(cluster)} in the store.")
