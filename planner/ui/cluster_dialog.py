"""The dialog *Cluster*: choose one, make a snapshot, see what was read; and the page of a link without its snapshot."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from planner.ground import words
from planner.ground.errors import HeadroomError, SourceError
from planner.inventory import input_report
from planner.kubernetes.object_records import Snapshot
from planner.questions import doctor
from planner.sources import cluster_dumps
from planner.ui import answer_view, errors, findings, link, pasted_manifest, session_cluster, shared_answers, uploads

_READ = "_upload_read"  # a digest or an error


@errors.part
def read(snapshot: Snapshot) -> None:
    """What was given, each kind with how it was read, what is missing and what adds it."""
    st.markdown(f"**{words.literal(snapshot.source)}**, taken {words.moment(snapshot.taken_at)}")
    st.caption(f"Content digest {snapshot.digest[:16]}: equal content gives an equal digest.")
    if lost := findings.lost(snapshot):
        st.warning(lost, title="△ Not all of it")
    st.caption(words.literal(f"What was given: {input_report.read_sentence(snapshot)}."))
    answer_view.show(doctor.QUESTION, shared_answers.ask(doctor.QUESTION, snapshot, doctor.DoctorSettings()))


@errors.part
def missing() -> None:
    """The page while the snapshot that a link names isn't at hand: which it needs, and where to give it."""
    linked_snapshot = session_cluster.wanted()
    assert linked_snapshot is not None
    if problem := session_cluster.start_problem():
        st.title("Which cluster?")
        _say_unread(problem)
        _given("Or choose another cluster in the sidebar.")
        return
    st.title("This link needs its snapshot")
    taken = f", taken {words.literal(linked_snapshot.taken)}" if linked_snapshot.taken else ""
    digest = f" (content digest {words.literal(linked_snapshot.digest)})" if linked_snapshot.digest else ""
    st.warning(
        f"It is about **{words.literal(linked_snapshot.name or 'a cluster')}**{taken}{digest}. A link alone opens no "
        "snapshot: only the browser that it was given in does, for an hour. Upload the file here, or ask who sent you the link "
        "for it: the rest of the link is kept.",
        title="? Nothing is answered for another cluster", icon=":material/link_off:",
    )  # fmt: skip
    read = st.session_state.get(_READ)
    other = next((snapshot for snapshot in session_cluster.given() if snapshot.digest == read), None)
    if other is not None:
        st.warning(
            f"△ **{words.literal(other.source)}**, taken {words.moment(other.taken_at)}, is another snapshot: its content "
            f"digest is {other.digest[:16]}. It is kept beside the others."
        )
        st.button("Answer for it all the same", on_click=session_cluster.look_at_anyway, args=(other.digest,))
    _given("Or choose another cluster in the sidebar; the link's settings are then put to that one.")


def _given(else_: str) -> None:
    _upload()
    _say_refused()
    _live()
    st.caption(else_)


def _close() -> None:
    link.close_dialog()
    if isinstance(st.session_state.get(_READ), HeadroomError):
        del st.session_state[_READ]


@st.dialog("Cluster", width="large", icon=":material/database:", on_dismiss=_close)
def dialog() -> None:
    """Another cluster, how a snapshot is made, and of this one what was read, what is missing and what was found. It closes when a
    cluster was read, and stays where a part of it was lost, which it says."""
    other, told, findings_tab = st.tabs(["Another cluster", "What was read", "Findings"])
    snapshot = session_cluster.looked_at()
    with other:
        _upload()
        if _say_refused():
            st.caption(f"Still looking at {words.literal(snapshot.source)}.")
        elif st.session_state.get(_READ) == snapshot.digest and (lost := findings.lost(snapshot)):
            st.warning(f"{words.count(len(snapshot.nodes), 'node')} read. {lost}", title="△ Not all of it")
        _live()
        pasted_manifest.show()
        with st.expander("How to make a snapshot", icon=":material/terminal:"):
            how_to()
    with told:
        read(snapshot)
    with findings_tab:
        st.caption(words.literal(words.sentence(findings.of(snapshot).sentence)))
        findings.table(findings.of(snapshot))


def _upload() -> None:
    """One batch of files is one cluster."""
    uploaded = uploads.taken(
        "Upload a snapshot", key="upload", types=cluster_dumps.UPLOADED,
        help="What kubectl get … -o json or yaml or kubectl cluster-info dump printed, a must-gather or a support bundle, "
        "plain or as zip, tar or gzip; metrics and logs may come with it. Files given together are one cluster; another "
        "one stands beside it. It stays in "
        "this server's memory, for this browser and for an hour after you left: nothing is written to disk or sent on, and values of "
        "environment variables are dropped while reading.",
    )  # fmt: skip
    if uploaded:
        with st.spinner("Reading …"):
            _look_at(lambda: session_cluster.adopt(shared_answers.work(cluster_dumps.read_uploads, uploaded)))


@st.cache_data(ttl="1m", show_spinner=False)
def _contexts() -> tuple[str, ...]:
    from planner.sources import kubeconfig  # the client takes a second to import

    return kubeconfig.contexts()


def _live() -> None:
    """The contexts of this machine's kubeconfig, where there are any."""
    contexts = _contexts()
    if not contexts:
        st.caption("A live cluster: start Headroom where a kubeconfig is, and its contexts appear here.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        context = st.selectbox("A live cluster, by kubeconfig context", contexts, key="context")
        help_text = "Lists and watches objects with your own rights; changes none."
        if st.button("Read it", icon=":material/cloud_sync:", key="read_context", help=help_text):
            with st.spinner(f"Listing {words.literal(context)} …"):
                _look_at(lambda: session_cluster.watch(context))


def _look_at(take: Callable[[], Snapshot]) -> None:
    """Look at what is taken up; a refusal is told on the next run, when the uploader is empty again."""
    try:
        snapshot = take()
    except HeadroomError as error:
        st.session_state[_READ] = error
        st.rerun()
    st.session_state[_READ] = snapshot.digest
    if not findings.lost(snapshot):
        link.close_dialog()
    st.rerun()


def _say_refused() -> bool:
    reading = st.session_state.get(_READ)
    if isinstance(reading, HeadroomError):
        _say_unread(reading)
    return isinstance(reading, HeadroomError)


def _say_unread(error: HeadroomError) -> None:
    errors.show(error, title="This cluster can't be read" if isinstance(error, SourceError) else errors.UNREADABLE)


@errors.part
def how_to() -> None:
    """The command that makes a snapshot."""
    st.caption("Run this where kubectl reaches the cluster; reading is all it needs. Then upload the file.")
    st.code(input_report.SNAPSHOT_COMMAND, language=None, wrap_lines=True)
    st.caption(
        "With metrics: kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods. With logs: kubectl cluster-info dump "
        "--all-namespaces --output json --output-directory DIR, and headroom on the command line."
    )
