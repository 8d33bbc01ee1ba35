"""The cluster of this session, an embedded one or the user's, and the link that names it.

A link names the cluster, the digest of its content and when it was taken. Where that very content isn't at hand, nothing
is answered: a page for another cluster than the one that was sent would be worse than none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from planner.ground import words
from planner.ground.errors import HeadroomError, InputError
from planner.ground.records import Record
from planner.inventory import input_report
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE
from planner.serve.processes.snapshot_fingerprint import identity
from planner.sources import accelerator_file, demo
from planner.sources import cluster_argument as cluster_source
from planner.ui import link, live_view, sign_in, upload_cache

CHOICE: Final = "cluster"  # the widget's key and the link's parameter
DIGEST: Final = "digest"
TAKEN: Final = "taken"
_GIVEN: Final = "_clusters"  # the user's own snapshots, the newest last
_NEXT: Final = "_cluster_next"  # what to look at from the next run on
_WANTED: Final = "_cluster_wanted"  # what a link names and isn't at hand
_SUPPOSED: Final = "_cluster_supposed"  # what pages of this run answer for
_WRITTEN: Final = "_cluster_written"  # what this session wrote into the link
_EMBEDDED: Final = demo.EMBEDDED
_MOST_GIVEN: Final = 3
_DIGITS: Final = 16  # of a digest, in a link and under What was read


class LinkedSnapshot(Record):
    """The snapshot that a link names: as the link tells it, so nothing of it can be trusted to be true."""

    name: str
    digest: str
    taken: str


@st.cache_resource(show_spinner="Reading the cluster …")
def _embedded(name: str) -> Snapshot:
    """An embedded cluster, read once for all sessions (frozen, so it can be shared)."""
    return _EMBEDDED[name]()


def given() -> tuple[Snapshot, ...]:
    """The user's own snapshots, the newest last; the one that the dashboard was started with before them."""
    started = _start()
    own = [
        *([started] if started.startswith(cluster_source.CONTEXT_PREFIX) else []),
        *(f"{cluster_source.CONTEXT_PREFIX}{context}" for context in live_view.watched()),
    ]
    live = [live_view.pinned(fromkey.removeprefix(cluster_source.CONTEXT_PREFIX)) for fromkey in dict.fromkeys(own)]
    begun = None if started in ("", *own, *_EMBEDDED) else _begun(started)
    first = [sign_in.seen(begun)] if isinstance(begun, Snapshot) else []
    return (*first, *live, *st.session_state.get(_GIVEN, ()))


def _begun(spec: str) -> Snapshot | HeadroomError:
    """The cluster that the dashboard was started with, or why it can't be read."""
    try:
        return _started_with(spec)
    except HeadroomError as error:
        return error


def start_problem() -> HeadroomError | None:
    """Why the cluster that the dashboard was started with can't be read, where nothing else is looked at yet."""
    linked_snapshot = wanted()
    problem = _begun(_start()) if linked_snapshot is not None and linked_snapshot.name == _start() else None
    return problem if isinstance(problem, HeadroomError) else None


def _start() -> str:
    """CLUSTER of ``headroom app``."""
    return os.environ.get(cluster_source.CLUSTER_VARIABLE, "")


@st.cache_resource(show_spinner="Reading the cluster …")
def _started_with(spec: str) -> Snapshot:
    """The cluster that the dashboard was started with, read once for all sessions."""
    return cluster_source.read_cluster(spec)


def names() -> dict[str, Snapshot | None]:
    """What can be looked at, by the name it is called here; None for an embedded one that isn't read yet."""
    clusters: dict[str, Snapshot | None] = dict.fromkeys(_EMBEDDED)
    for snapshot in given():
        name = f"{snapshot.source} (given)" if snapshot.source in _EMBEDDED else snapshot.source
        clusters[
            name if name not in clusters else f"{name}, {words.moment(snapshot.taken_at)}, {snapshot.digest[:6]}"
        ] = snapshot
    return clusters


def called(name: str) -> Snapshot:
    """What is called so."""
    return names()[name] or sign_in.seen(_embedded(name))


@st.cache_resource(show_spinner=False)
def _own_accelerators() -> bool:
    """The tables that HEADROOM_ACCELERATORS names, read once for all sessions."""
    accelerator_file.use()
    return True


def choose() -> None:
    """The choice between the embedded clusters and the user's own, as the link names it."""
    _own_accelerators()
    live_view.begin()
    st.session_state.pop(_SUPPOSED, None)
    for snapshot in st.session_state.get(_GIVEN, ()):
        upload_cache.keep(snapshot.digest[:_DIGITS], snapshot, len(snapshot.nodes) + len(snapshot.pods))
    _follow_link()
    every = names()
    if _NEXT in st.session_state:
        digest, linked_snapshot = st.session_state.pop(_NEXT), wanted()
        if linked_snapshot is None or digest.startswith(linked_snapshot.digest):
            st.session_state.pop(_WANTED, None)
            look_at(digest)
    elif st.session_state.get(CHOICE) not in every and wanted() is None and _is_unread():
        st.session_state[_WANTED] = LinkedSnapshot(name=_start(), digest="", taken="")
    elif st.session_state.get(CHOICE) not in every and wanted() is None:
        embedded = _start() if _start() in _EMBEDDED else demo.DEMO_NAME
        st.session_state[CHOICE] = list(every)[-1] if given() else embedded
    index = 0 if wanted() is None else None
    st.selectbox("Cluster", list(every), index=index, key=CHOICE, placeholder="not here", on_change=_chosen)
    if wanted() is None:
        _write_link()


def _is_unread() -> bool:
    """Whether the dashboard was started with a cluster that can't be read: another one isn't shown in its place unasked."""
    started = _start()
    is_named = started not in ("", *_EMBEDDED) and not started.startswith(cluster_source.CONTEXT_PREFIX)
    return is_named and isinstance(_begun(started), HeadroomError)


def look_at(digest: str) -> None:
    """Choose the snapshot given with this digest; before the widget, or in a callback."""
    st.session_state[CHOICE] = next(name for name, named in names().items() if named and named.digest == digest)


def look_at_anyway(digest: str) -> None:
    """Answer a link for another snapshot than it names; for callbacks."""
    look_at(digest)
    _chosen()


def _follow_link() -> None:
    """Take up the cluster that the link names, where the link isn't one that this session wrote."""
    linked_snapshot = _linked()
    if linked_snapshot == st.session_state.get(_WRITTEN) or not (linked_snapshot.name or linked_snapshot.digest):
        return
    st.session_state[_WRITTEN] = linked_snapshot
    linked_name = _found(linked_snapshot)
    if linked_name is None and _recalled(linked_snapshot.digest):
        linked_name = _found(linked_snapshot)
    if linked_name is None:
        st.session_state[_WANTED] = linked_snapshot
    st.session_state[CHOICE] = linked_name


def _recalled(digest: str) -> bool:
    """Whether a snapshot was given in this browser before its page was loaded again; it is given again then."""
    own, given_before = upload_cache.find(digest[:_DIGITS]), st.session_state.get(_GIVEN, ())
    if not isinstance(own, Snapshot):
        return False
    st.session_state[_GIVEN] = (*(snapshot for snapshot in given_before if snapshot.digest != own.digest), own)[
        -_MOST_GIVEN:
    ]
    return True


def beside(asked: str) -> dict[str, Snapshot]:
    """The other snapshots that were given in this session, as a list calls them, each with its digest: by it a link that `asked` for one
    finds it again after its page was loaded again."""
    if digest := asked.rpartition("(")[2].removesuffix(")"):
        _recalled(digest)
    others = [snapshot for snapshot in st.session_state.get(_GIVEN, ()) if snapshot.digest != looked_at().digest]
    return {called_beside(snapshot): snapshot for snapshot in others}


def called_beside(snapshot: Snapshot) -> str:
    """Its name, when it was taken, and its digest."""
    return f"{snapshot.source}, {words.moment(snapshot.taken_at)} ({snapshot.digest[:_DIGITS]})"


def _linked() -> LinkedSnapshot:
    name, digest, taken = (st.query_params.get(parameter, "")[:200] for parameter in (CHOICE, DIGEST, TAKEN))
    return LinkedSnapshot(name=name, digest=digest, taken=taken)


def _found(linked_snapshot: LinkedSnapshot) -> str | None:
    return next((name for name, snapshot in names().items() if _is(linked_snapshot, name, snapshot)), None)


def _is(snapshot_link: LinkedSnapshot, name: str, candidate_snapshot: Snapshot | None) -> bool:
    if not snapshot_link.digest:
        return snapshot_link.name == name
    if candidate_snapshot is None and snapshot_link.name != name:  # an embedded one that is not asked for isn't read
        return False
    return len(snapshot_link.digest) >= min(_DIGITS, len(called(name).digest)) and called(name).digest.startswith(
        snapshot_link.digest
    )


def wanted() -> LinkedSnapshot | None:
    """The snapshot that the link names and that isn't at hand: then nothing can be answered."""
    wanted_cluster = st.session_state.get(_WANTED)
    return wanted_cluster if isinstance(wanted_cluster, LinkedSnapshot) else None


def _chosen() -> None:
    """Another cluster by hand: the rest of the link stays."""
    st.session_state.pop(_WANTED, None)
    link.keep()


def _write_link() -> None:
    snapshot = looked_at()
    is_live = live_view.is_live(snapshot)  # then the link is to the cluster, as it is when it is opened
    now = LinkedSnapshot(
        name=str(st.session_state[CHOICE]), digest="" if is_live else snapshot.digest[:_DIGITS],
        taken="" if is_live else words.moment(snapshot.taken_at),
    )  # fmt: skip
    st.session_state[_WRITTEN] = now
    if now != _linked():
        st.query_params.update({CHOICE: now.name, DIGEST: now.digest, TAKEN: now.taken})
        if is_live:
            del st.query_params[DIGEST], st.query_params[TAKEN]


def cluster() -> Snapshot:
    """The snapshot every page answers for: the one looked at, after what is supposed of it."""
    supposed_snapshot = st.session_state.get(_SUPPOSED)
    return supposed_snapshot if isinstance(supposed_snapshot, Snapshot) else looked_at()


def suppose(snapshot: Snapshot) -> None:
    """Answer for this one in this run: what changes make of the one looked at (`planner.ui.as_if`)."""
    st.session_state[_SUPPOSED] = snapshot


def as_read(snapshot: Snapshot) -> Snapshot:
    """What files were given for: the cluster as it was read, of what is supposed of it."""
    return looked_at() if snapshot is st.session_state.get(_SUPPOSED) else snapshot


def looked_at() -> Snapshot:
    """The snapshot that was chosen, as it was read."""
    name = st.session_state.get(CHOICE)
    if isinstance(name, str) and name in names():
        return called(name)
    return given()[-1] if given() else sign_in.seen(_embedded(demo.DEMO_NAME))


def is_demo() -> bool:
    """Whether what is looked at came with Headroom."""
    return identity(looked_at()) not in {identity(snapshot) for snapshot in given()}


def forget(files: Iterable[UploadedFile]) -> None:
    """Let go of uploads that were read: Streamlit keeps their bytes as long as the session."""
    run = get_script_run_ctx(suppress_warning=True)
    if run is not None and isinstance(run.uploaded_file_mgr, MemoryUploadedFileManager):
        for file in files:
            run.uploaded_file_mgr.remove_file(run.session_id, file.file_id)


def watch(context: str) -> Snapshot:
    """Look at a live cluster from the next run on, as it changes.

    Raises
    ------
    HeadroomError
        When it can't be read, or has no node.
    """
    watched_snapshot = live_view.watch(context)
    _check_nodes(watched_snapshot)
    st.session_state[_NEXT] = watched_snapshot.digest
    return watched_snapshot


def adopt(snapshot: Snapshot) -> Snapshot:
    """Look at `snapshot` from the next run on, in this session only; else as `keep`."""
    keep(snapshot)
    st.session_state[_NEXT] = snapshot.digest
    return snapshot


def keep(snapshot: Snapshot) -> None:
    """Have `snapshot` in this session, beside those given before.

    Raises
    ------
    InputError
        Where it has no node: nothing could be answered for it.
    """
    _check_nodes(snapshot)
    others = [other for other in st.session_state.get(_GIVEN, ()) if other.digest != snapshot.digest]
    st.session_state[_GIVEN] = (*others, snapshot)[-_MOST_GIVEN:]


def _check_nodes(snapshot: Snapshot) -> None:
    if not snapshot.nodes:
        why = next((gap for gap in input_report.unseen(snapshot) if gap.kind == NODE.name and gap.state.hides), None)
        if why is not None:
            raise InputError(str(why.sentence), where=snapshot.source, fix=str(why.fix))
        raise InputError(
            "it has no nodes", where=snapshot.source,
            fix="Give the files of one cluster together, nodes among them: kubectl get nodes,pods,… -A -o json",
        )  # fmt: skip
