"""Lifetimes and gaps of the user's own spot nodes on the savings page: source, and comparison with the defaults."""

from __future__ import annotations

import streamlit as st

from planner.ground import words
from planner.inventory.spot_node_lifetimes import Watch, node_events, together, watch_snapshots
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.questions.savings import QUESTION, SavingsAnswer
from planner.serve.processes.snapshot_fingerprint import key_of
from planner.sources.prometheus_node_lifetimes import nodes_before
from planner.spot.fitted_node_lifetimes import OwnHistory, from_files, own_history
from planner.spot.interruption import parse_lives
from planner.ui import errors, history_store, link, session_prices, shared_answers, tables, uploads
from planner.ui.prometheus_form import Form

_FORM: Form[Watch] = Form(
    key="_own_nodes",
    ask=lambda server, snapshot, days: nodes_before(server, snapshot.taken_at, days),
    said=lambda watch: words.count(len(watch.nodes), "spot node"),
    read="✓ Your own nodes count",
    back="Forget them",
    days=30,
)


def given(snapshot: Snapshot) -> Inputs:
    """Prices, and the lives and gaps that were uploaded, that the store tells, or that a Prometheus told."""
    with st.expander("Your own spot nodes", icon=":material/history:"):
        st.caption("How long your own nodes lived is worth more than any default.")
        watches = [watch] if (watch := _FORM.kept(snapshot)) is not None else []
        if history_store.clusters() and link.toggle(
            "Nodes of the store", key="own_store", help="Of all its snapshots so far."
        ):
            watches.append(history_store.node_watch(snapshot.taken_at))
        if any(node_events(snapshot)) and link.toggle("Events of this snapshot", key="own_events"):
            watches.append(watch_snapshots([(snapshot.source, snapshot)]))
        how = 'Columns "hours" and "ended" (yes or no: still so). Not part of the link.'
        lives = uploads.ask_csv("Observed lifetimes", parse_lives, key="_lives", most_mib=5, help=how)
        gaps = uploads.ask_csv("Observed gaps", parse_lives, key="_gaps", most_mib=5, help=how)
        _FORM.show(snapshot, "Or from a Prometheus that scrapes kube-state-metrics with labels of nodes:")
    session_prices.ask(snapshot)
    # A watch knows when each node lived, a file only how long (`from_files`).
    own = _worked_out(key_of(watches), together(watches)) if watches else None
    if own is None and lives:
        own = from_files(lives, gaps, "the uploaded file")
    return Inputs(book=session_prices.book(), lives=lives, gaps=gaps, own_history=own)


@st.cache_resource(ttl="1h", max_entries=16, show_spinner="Fitting your own nodes' lives …")
def _worked_out(key: str, _watch: Watch) -> OwnHistory:  # noqa: ARG001 - what it is kept by
    return shared_answers.work(own_history, _watch)


@errors.part
def show(answer: SavingsAnswer) -> None:
    """Own nodes' lives and gaps, beside what is assumed of others."""
    own: OwnHistory | None = answer.own_history
    if own is None:
        return
    st.header("Your own spot nodes")
    st.markdown(words.literal(own.sentence))
    tables.small(QUESTION.rows(answer, "own_history"))
    st.caption(
        f"{words.literal(own.back_test.sentence)} From, to: 90% confidence. Lives that aren't over count as that long at "
        "least; what an autoscaler took down wasn't lost."
    )
