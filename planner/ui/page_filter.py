"""The filter of the pages: one control, kept in the link, and a line that says what it hides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from planner.capacity.display_filter import ALL, Filter, Selection, filter_words, keep, namespaces_of
from planner.capacity.rollout_readiness import verdicts_of
from planner.ground import words
from planner.ground.errors import HeadroomError
from planner.ground.setting_declarations import setting_of
from planner.kubernetes.node_properties import NO_POOL, node_pool
from planner.kubernetes.object_records import EMPTY, Snapshot
from planner.kubernetes.selectors import read_selector
from planner.questions.overview import QUESTION, OverviewSettings
from planner.rollout.verdict_wording import WORD
from planner.serve.processes.snapshot_fingerprint import identity
from planner.ui import errors, link, pool_limit_inputs, shared_answers

WITHOUT: Final = frozenset({"clusters", "history"})
"""Pages about the whole cluster, or about several: nothing of them is filtered."""

_KEPT, _WANTED = "_kept", "_filter"
_VERDICTS: Final = {word.lower(): verdict for verdict, word in WORD.items()}


def control(snapshot: Snapshot) -> None:
    """Search and filters, under the choice of cluster; what they say is a part of the link on every page. Drawn once one opens them,
    and while they say something."""
    link.keep(link.FILTER)
    is_given = link.gives(link.FILTER)
    part = st.expander(
        "Search and filter", icon=":material/filter_alt:", expanded=is_given, key="_filter_open", on_change="rerun"
    )
    if not (is_given or part.open):
        st.session_state[_WANTED] = Filter()
        return
    with part:
        search = link.text("Search", str, key="search", placeholder="part of a name", max_chars=200)
        spaces = link.choices("Namespace", sorted(namespaces_of(snapshot)), key="namespace", placeholder="all")
        label = link.text(
            "Labels", str, key="labels", placeholder="app=api,tier!=test", help=_help("label"), max_chars=500
        )
        verdicts = link.choices("Verdict", list(_VERDICTS), key="verdict", placeholder="all", help=_help("verdict"))
        every = sorted({node_pool(node) or NO_POOL for node in snapshot.nodes})
        pools = link.choices("Node pool", every, key="pool", placeholder="all")
        try:
            read_selector(label or "")
        except HeadroomError as error:
            errors.show(error)
            label = None
    st.session_state[_WANTED] = Filter(
        search=search or "",
        namespaces=spaces,
        labels=label or "",
        verdicts=tuple(_VERDICTS[word] for word in verdicts),
        pools=pools,
    )


def _help(name: str) -> str:
    return str(setting_of(Filter, name).help)


def wanted() -> Filter:
    """The filter as it stands."""
    chosen_filter = st.session_state.get(_WANTED)
    return chosen_filter if isinstance(chosen_filter, Filter) else Filter()


def kept(snapshot: Snapshot) -> Selection:
    """What it lets through of `snapshot`; verdicts are worked out only where it asks for one."""
    query = wanted()
    if query.is_empty:
        return ALL
    inputs = pool_limit_inputs.given(snapshot)
    key = identity(snapshot), query, inputs.limits
    cached_selection = st.session_state.get(_KEPT)
    if cached_selection is None or cached_selection[0] != key:
        played = (
            verdicts_of(shared_answers.ask(QUESTION, snapshot, OverviewSettings(), inputs)) if query.verdicts else EMPTY
        )
        cached_selection = st.session_state[_KEPT] = key, keep(snapshot, query, played)
    selection: Selection = cached_selection[1]
    return selection


def line(snapshot: Snapshot, page: str) -> None:
    """At the top of a page: what is listed and how much isn't, and the way to all of it."""
    query = wanted()
    if query.is_empty:
        return
    if page in WITHOUT:
        st.caption(":material/filter_alt_off: The filter is not used on this page: it is about the whole cluster.")
        return
    selection = kept(snapshot)
    rolling = [workload.key for workload in snapshot.workloads if workload.traits.rolls_out]
    listed = sum(map(selection.workload, rolling))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/filter_alt: **Filtered:** {words.literal(selection.headline(listed, len(rolling), 'workload'))}"
        )
        st.button("Show all", icon=":material/filter_alt_off:", type="tertiary", key="show_all", on_click=show_all)


def only(title: str) -> str:
    """A headline that says when it is about the listed part only."""
    query = wanted()
    return title if query.is_empty else f"{title} (only {filter_words(query)})"


def nothing(what: str, without: str) -> str:
    """Said where nothing is listed: `without` a filter, else that no `what` passes it: the cluster may well have some."""
    return without if wanted().is_empty else f"No {what} matches the filter above."


def show_all() -> None:
    """Take the filter away; for callbacks."""
    for name in ("search", "labels"):
        st.session_state[name] = ""
    for name in ("namespace", "verdict", "pool"):
        st.session_state[name] = []


def offered(snapshot: Snapshot, keys: Sequence[str], *, key: str) -> list[str]:
    """Those of `keys`, workloads, to choose from in the widget called `key`: those that pass, and the one that a link or the
    session names, since it was asked for by name. All of them where none passes, which is said."""
    selection = kept(snapshot)
    named = {text.lower() for text in (*st.query_params.get_all(key), str(st.session_state.get(key, "")))}
    passing = [workload_key for workload_key in keys if selection.workload(workload_key)]
    if not passing and keys:
        st.caption(f"△ No workload {words.literal(selection.said)}: all of them are offered.")
        return list(keys)
    return [workload_key for workload_key in keys if selection.workload(workload_key) or workload_key.lower() in named]
