"""What the Drift page asks: how services are recognised, which cluster to compare with, which service to look at."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from planner import words
from planner.drift.model import ENVIRONMENT_WORDS, DriftReport, MatchBy, Rule, ServiceDrift, parse_same_as
from planner.errors import HeadroomError, InputError
from planner.kubernetes.records import Snapshot
from planner.sources import kubectl
from planner.ui import errors, link

_OTHERS, _HANDLED = "_other_clusters", "_other_clusters_handled"
_MOST_CLUSTERS = 4
_MATCH = {
    "auto": MatchBy.AUTO,
    "name": MatchBy.NAME,
    "app.kubernetes.io/name": MatchBy.APP_NAME,
    "app": MatchBy.APP,
    "image": MatchBy.IMAGE,
    "another label": MatchBy.LABEL,
}


def rule(environments: Sequence[str]) -> Rule:
    """The matching rule; every part of it is in the link."""
    with st.expander("Which workloads are the same service", icon=":material/tune:"):
        left, right = st.columns(2)
        with left:
            by = link.select(
                "Recognised by", list(_MATCH), key="match",
                help="auto: app.kubernetes.io/name, else app, else the workload's name",
            )  # fmt: skip
            label = ""
            if by == "another label":
                label = link.text("Label", str, key="match_label", placeholder="team.example/service") or ""
                if not label:
                    raise InputError(
                        "no label is named", where="Label", mend="Name the label that says which service it is"
                    )
        with right:
            reference = link.select("Compared with", ["the most production-like", *environments], key="reference")
        typed = link.text(
            "Words that say where something runs", _environment_words, key="environment_words",
            placeholder=", ".join(ENVIRONMENT_WORDS), help="Taken off the ends of names: api-dev and api-prod are both api",
        )  # fmt: skip
        same = link.text(
            "The same by hand", parse_same_as, key="same", placeholder="backend=api, shop-web=web",
            help="name=service, for what no rule can know",
        )  # fmt: skip
        with_system = link.toggle("kube-system too", key="system")
    return Rule(
        match_by=_MATCH[by],
        label=label,
        environment_words=typed or ENVIRONMENT_WORDS,
        same_as=same or (),
        reference="" if reference not in environments else reference,
        with_system=with_system,
    )


def _environment_words(text: str) -> tuple[str, ...]:
    return tuple(word for word in (part.strip() for part in text.replace(" ", ",").split(",")) if word)


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
            "Upload snapshots", type=["json", "yaml", "yml", "gz"], accept_multiple_files=True, key="_other_uploads"
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
