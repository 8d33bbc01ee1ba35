"""What the Drift page asks: how services are recognised, which cluster to compare with, which service to look at."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from planner import words
from planner.drift.model import ENVIRONMENT_WORDS, DriftReport, MatchBy, ServiceDrift
from planner.errors import HeadroomError
from planner.kubernetes.records import Snapshot
from planner.questions.drift import DriftSettings
from planner.sources import kubectl
from planner.ui import errors, link
from planner.ui.asked import Asked

_OTHERS, _HANDLED = "_other_clusters", "_other_clusters_handled"
_MOST_CLUSTERS = 4
_MOST_LIKE_PRODUCTION = "the most production-like"


def settings(environments: Sequence[str]) -> DriftSettings:
    """How services are recognised; every part of it is in the link."""
    asked = Asked(DriftSettings)
    with st.expander("Which workloads are the same service", icon=":material/tune:"):
        left, right = st.columns(2)
        with left:
            by = asked.show("match")
            if by is MatchBy.LABEL:
                asked.show("label", placeholder="team.example/service")
        with right:
            reference = link.select("Compared with", [_MOST_LIKE_PRODUCTION, *environments], key="reference")
        asked.show("environment_words", placeholder=", ".join(ENVIRONMENT_WORDS))
        asked.show("same", placeholder="backend=api, shop-web=web")
        asked.show("system")
    return asked.settings(**({"reference": reference} if reference in environments else {}))


def service(report: DriftReport) -> ServiceDrift:
    """The service to look at (there is at least one)."""
    names = [one.service for one in report.services]
    return report.services[names.index(link.select("Service", names, key="service"))]


def everything() -> bool:
    """Whether rows that are the same everywhere are shown too."""
    return link.toggle("Show what is the same as well", key="everything")


def other_clusters() -> tuple[Snapshot, ...]:
    """The clusters uploaded in this session to compare with."""
    return tuple(st.session_state.get(_OTHERS, ()))


def upload() -> None:
    """Another cluster beside this one, for services whose environments are clusters."""
    with st.expander("Compare with another cluster", icon=":material/upload_file:"):
        st.caption("Its snapshot stays in this session's memory, beside the cluster every page looks at.")
        files = st.file_uploader(
            "Upload snapshots", type=kubectl.UPLOADED, accept_multiple_files=True, key="_other_uploads"
        )
        handled = tuple(file.file_id for file in files)
        if handled != st.session_state.get(_HANDLED, ()):
            st.session_state[_HANDLED] = handled
            read: list[Snapshot] = []
            for file in files[:_MOST_CLUSTERS]:
                try:
                    with st.spinner(f"Reading {words.literal(file.name)} …"):
                        read.append(kubectl.read_bytes(file.getvalue(), name=file.name))
                except HeadroomError as error:
                    errors.show(error)
                    return
            st.session_state[_OTHERS] = tuple(read)
            st.rerun()
        for snapshot in other_clusters():
            st.caption(f"✓ {words.literal(snapshot.source)}, taken {words.moment(snapshot.taken_at)}")
