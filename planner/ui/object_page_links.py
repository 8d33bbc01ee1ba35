"""Links to an object's page (workload, rollout, node). A link carries the state of that page only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import streamlit as st

from planner.ground.records import Record
from planner.ground.words import literal, shortened
from planner.kubernetes.object_records import Finding
from planner.kubernetes.workload_kinds import NODE, kind_in

SELECT: Final = "Click a name, or select its row, to open its rollout."
_LONGEST_NAME: Final = 40  # letters that a column and a phone have room for
HEALTH: Final = "Memory and restarts"  # tabs of a workload's page
ELSEWHERE: Final = "Same service elsewhere"
_TABS: Final = {"restarts-": HEALTH, "environments-": ELSEWHERE, "memory-": HEALTH}  # by the codes of findings
_NOTHING: Final[Mapping[str, str]] = {}


class PageLink(Record):
    """A page and the parameters of its link."""

    page: str
    query: Mapping[str, str] = field(default_factory=dict)


def link(target: PageLink, name: str, glyph: str = "", icon: str | None = None) -> None:
    """A link called by an object's name. Streamlit cuts a long one at its end, where names differ: its middle goes instead."""
    label = f"{glyph} **{literal(shortened(name, _LONGEST_NAME))}**".strip()
    whole = literal(name) if len(name) > _LONGEST_NAME else None
    st.page_link(target.page, label=label, query_params=dict(target.query), help=whole, icon=icon)


def rollout(workload: str) -> PageLink | None:
    """A workload's own page; None for kinds that don't roll out, and for what is no workload."""
    return PageLink(page="rollout.py", query={"workload": workload}) if kind_in(workload).rolls_out else None


def workload(key: str, tab: str, more: Mapping[str, str] = _NOTHING) -> PageLink:
    """A tab of the page of a workload, or of a pod that none made; `more`: other parameters of the link."""
    return PageLink(page="rollout.py", query={"workload": key, "about": tab, **more})


def node(key: str) -> PageLink:
    """Who is evicted first on a node."""
    return PageLink(page="health.py", query={"nodes": "true", "node": key.partition("/")[2]})


def of(finding: Finding) -> PageLink | None:
    """Where a finding is told in full; None for one about what was read, and for kinds without a page."""
    key = finding.object
    if key.startswith(f"{NODE.name}/"):
        return node(key)
    tab = next((tab for code, tab in _TABS.items() if finding.code.startswith(code)), "")
    return workload(key, tab) if tab and key else rollout(key)


def selected(event: Any, click: Any, targets: Sequence[PageLink | None]) -> None:
    """Open what was selected in a table, or whose name was clicked."""
    rows = [click.row] if click is not None else event.selection.rows if event is not None else []
    if rows and (target := targets[rows[0]]) is not None:
        st.switch_page(target.page, query_params=dict(target.query))
