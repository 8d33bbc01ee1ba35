"""The Inventory's parts: what was read, another cluster, and how to make a snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import streamlit as st

from planner.ground import words
from planner.ground.errors import HeadroomError
from planner.inventory import account, wire
from planner.kubernetes.listed import LISTED, is_kept
from planner.kubernetes.records import Presence, Snapshot
from planner.questions.wording import PRESENCE
from planner.sources import kubectl
from planner.ui import cache, errors, findings, pasted_manifest, session, tables, uploads

_READ = "_upload_read"  # a digest or an error
_DIALOG = "-dialog"


@errors.part
def read(snapshot: Snapshot) -> None:
    """Source, time, digest, and each kind with its presence."""
    st.markdown(f"**{words.literal(snapshot.source)}**, taken {words.moment(snapshot.taken_at)}")
    st.caption(f"Content digest {snapshot.digest[:16]}: equal content gives an equal digest.")
    counts = _counts(snapshot)
    rows = [
        {"kind": kind, "objects": counts.get(kind), "state": PRESENCE[presence]}
        for kind, presence in snapshot.presence.items()
        if kind not in LISTED or presence is Presence.REFUSED
    ]
    compared = Counter(unplayed.kind for unplayed in snapshot.unplayed if is_kept(unplayed.kind, unplayed.api_group))
    rows += [
        {"kind": kind, "objects": number, "state": "compared with manifests; its rollout isn't played"}
        for kind, number in sorted(compared.items())
    ]
    rows += [
        {"kind": kind, "objects": number, "state": "– not used by Headroom"}
        for kind, number in sorted(snapshot.other_kinds.items())
    ]
    tables.show(rows, alt=f"{words.count(len(rows), 'kind')} of objects and whether they were read")


def _counts(snapshot: Snapshot) -> dict[str, int]:
    """Kind → objects, for the kinds kept in a field of their own."""
    counts: dict[str, int] = {}
    for kind, known in wire.READ.items():
        if snapshot.presence.get(kind) is Presence.PRESENT:
            records = getattr(snapshot, known.field)
            is_shared = sum(other.field == known.field for other in wire.READ.values()) > 1
            counts[kind] = sum(record.kind == kind for record in records) if is_shared else len(records)
    return counts


@errors.part
def missing() -> None:
    """The page while the snapshot that a link names isn't at hand: which it needs, and where to give it."""
    asked = session.wanted()
    assert asked is not None
    if problem := session.start_problem():
        st.title("Which cluster?")
        errors.show(problem)
        _given("Or choose another cluster in the sidebar.")
        return
    st.title("This link needs its snapshot")
    taken = f", taken {words.literal(asked.taken)}" if asked.taken else ""
    digest = f" (content digest {words.literal(asked.digest)})" if asked.digest else ""
    st.warning(
        f"It is about **{words.literal(asked.name or 'a cluster')}**{taken}{digest}. A link alone opens no "
        "snapshot: only the browser that it was given in does, for an hour. Upload the file here, or ask who sent you the link "
        "for it: the rest of the link is kept.",
        title="? Nothing is answered for another cluster", icon=":material/link_off:",
    )  # fmt: skip
    read = st.session_state.get(_READ)
    other = next((snapshot for snapshot in session.given() if snapshot.digest == read), None)
    if other is not None:
        st.warning(
            f"△ **{words.literal(other.source)}**, taken {words.moment(other.taken_at)}, is another snapshot: its content "
            f"digest is {other.digest[:16]}. It is kept beside the others."
        )
        st.button("Answer for it all the same", on_click=session.look_at_anyway, args=(other.digest,))
    _given("Or choose another cluster in the sidebar; the link's settings are then put to that one.")


def _given(else_: str) -> None:
    _upload()
    _say_refused()
    _live()
    st.caption(else_)


@errors.part
def another_cluster() -> None:
    """Upload, or a live context. What can't be read leaves the cluster looked at as it was."""
    _upload()
    _say_read()
    _live()
    pasted_manifest.show("")


def ask() -> None:
    """Opens the dialog, without what was refused before."""
    if isinstance(st.session_state.get(_READ), HeadroomError):
        del st.session_state[_READ]
    _dialog()


@st.dialog("Another cluster", width="medium", icon=":material/upload_file:")
def _dialog() -> None:
    """The same over any page, and how a snapshot is made; it closes when a cluster was read, and where a part of it was lost,
    *What was read* opens, which says so."""
    _upload(_DIALOG)
    if _say_refused() and session.wanted() is None:
        st.caption(f"Still looking at {words.literal(session.looked_at().source)}.")
    _live(_DIALOG)
    pasted_manifest.show(_DIALOG)
    with st.expander("How to make a snapshot", icon=":material/terminal:"):
        how_to()
    if session.wanted() is None:
        st.page_link("inventory.py", label="What was read of this one, and all findings", icon=":material/inventory_2:")


def _upload(where: str = "") -> None:
    """One batch of files is one cluster."""
    given = uploads.taken(
        "Upload a snapshot", key=f"upload{where}", types=kubectl.UPLOADED,
        help="What kubectl get … -o json or yaml or kubectl cluster-info dump printed, a must-gather or a support bundle, "
        "plain or as zip, tar or gzip; metrics and logs may come with it. Files given together are one cluster; another "
        "one stands beside it. It stays in "
        "this server's memory, for this browser and for an hour after you left: nothing is written to disk or sent on, and values of "
        "environment variables are dropped while reading.",
    )  # fmt: skip
    if given:
        with st.spinner("Reading …"):
            _look_at(lambda: session.adopt(cache.work(kubectl.read_uploads, given)), where)


@st.cache_data(ttl="1m", show_spinner=False)
def _contexts() -> tuple[str, ...]:
    from planner.sources import kubeconfig  # the client takes a second to import

    return kubeconfig.contexts()


def _live(where: str = "") -> None:
    """The contexts of this machine's kubeconfig, where there are any."""
    contexts = _contexts()
    if not contexts:
        st.caption("A live cluster: start Headroom where a kubeconfig is, and its contexts appear here.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        context = st.selectbox("A live cluster, by kubeconfig context", contexts, key=f"context{where}")
        told = "Lists and watches objects with your own rights; changes none."
        if st.button("Read it", icon=":material/cloud_sync:", key=f"read_context{where}", help=told):
            with st.spinner(f"Listing {words.literal(context)} …"):
                _look_at(lambda: session.watch(context), where)


def _look_at(take: Callable[[], Snapshot], where: str = "") -> None:
    """Look at what is taken up; a refusal is told on the next run, when the uploader is empty again: of a dialog alone, which
    stays open."""
    try:
        found = take()
    except HeadroomError as error:
        st.session_state[_READ] = error
        st.rerun(scope="fragment" if where else "app")
    st.session_state[_READ] = found.digest
    if where and session.wanted() is None and findings.lost(found):
        st.switch_page("inventory.py")
    st.rerun()


def _say_refused() -> bool:
    found = st.session_state.get(_READ)
    if isinstance(found, HeadroomError):
        errors.show(found)
    return isinstance(found, HeadroomError)


def _say_read() -> None:
    snapshot = session.looked_at()
    if _say_refused():
        st.caption(f"Still looking at {words.literal(snapshot.source)}.")
    elif st.session_state.get(_READ) == snapshot.digest:
        lost = findings.lost(snapshot)
        where = "\n\nWhat else was found: see the findings." if lost else ""
        box = st.warning if lost else st.success
        box(
            f"{'△' if lost else '✓'} Read {words.count(len(snapshot.nodes), 'node')} and "
            f"{words.count(len(snapshot.pods), 'pod')}. {lost}{where}".rstrip(),
        )
        st.caption(words.literal(f"What was given: {account.read_sentence(snapshot)}."))
        if lacking := account.missing_sentence(snapshot):
            st.caption(words.literal(f"{lacking[:1].upper()}{lacking[1:]}. This adds it:"))
            st.code(account.missing_command(snapshot), language=None, wrap_lines=True)


@errors.part
def how_to() -> None:
    """The command that makes a snapshot."""
    st.caption("Run this where kubectl reaches the cluster; reading is all it needs. Then upload the file.")
    st.code(account.SNAPSHOT_COMMAND, language=None, wrap_lines=True)
    st.caption(
        "With metrics: kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods. With logs: kubectl cluster-info dump "
        "--all-namespaces --output json --output-directory DIR, and headroom on the command line."
    )
