"""How services are recognised, which clusters to compare with, and which suggestion to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from planner.ground import words
from planner.ground.errors import InputError
from planner.ground.settings import settings_of
from planner.health.drift.model import ENVIRONMENT_WORDS, EnvironmentSuggestion, MatchBy, Rule, ServiceDrift
from planner.health.drift.service_workloads import environment_names
from planner.kubernetes.records import Snapshot
from planner.questions.drift import DriftSettings
from planner.sources import cluster_dumps
from planner.ui import findings, link, uploads
from planner.ui.settings_form import SettingsForm

RULE: Final = frozenset(setting.name for setting in settings_of(Rule))
"""Parameters of the link that say how services are recognised."""
_OTHERS = "_other_clusters"
_MOST_CLUSTERS = 4
_MOST_SUGGESTIONS = 4
_MOST_LIKE_PRODUCTION = "the most production-like"


def settings(snapshots: Sequence[Snapshot]) -> DriftSettings:
    """How services are recognised, every part of it in the link; and another cluster, for services with clusters as environments."""
    widgets, environments = SettingsForm(DriftSettings), environment_names(snapshots)
    reference = _MOST_LIKE_PRODUCTION
    with widgets.more(
        "Which workloads are the same service; compare with another cluster", but=("service", "between")
    ) as is_drawn:
        if is_drawn:
            with st.grid(2):
                if widgets.show("match") is MatchBy.LABEL:
                    widgets.show("match_label", placeholder="team.example/service")
                reference = link.select("Compared with", [_MOST_LIKE_PRODUCTION, *environments], key="reference")
            widgets.show("environment_words", placeholder=", ".join(ENVIRONMENT_WORDS))
            widgets.show("same", placeholder="backend=api, shop-web=web")
            widgets.show("system")
            _upload()
    return widgets.settings(**({"reference": reference} if reference in environments else {}))


def suggestions(service: ServiceDrift, key: str) -> tuple[EnvironmentSuggestion, ...]:
    """What is shown of its suggestions: each is put to the engine, so that of many the workload's own is shown, else a chosen one."""
    own = tuple(suggestion for suggestion in service.suggestions if suggestion.workload == key)
    if own and len(service.suggestions) > _MOST_SUGGESTIONS:
        return own
    if len(service.suggestions) <= _MOST_SUGGESTIONS:
        return service.suggestions
    names = [f"{suggestion.environment}, {suggestion.suggestion.container}" for suggestion in service.suggestions]
    chosen = link.select("Suggested for", names, key="suggested")
    return (service.suggestions[names.index(chosen)],)


def other_clusters() -> tuple[Snapshot, ...]:
    """The clusters uploaded in this session to compare with."""
    return uploads.kept(_OTHERS, ())


def _upload() -> None:
    st.caption("Another cluster's snapshot stays in this session's memory, beside the cluster every page looks at.")
    for snapshot in uploads.ask("Upload snapshots", key=_OTHERS, types=cluster_dumps.UPLOADED, nothing=(), read=_read):
        st.caption(f"{words.literal(snapshot.source)}, taken {words.moment(snapshot.taken_at)}")
        if lost := findings.lost(snapshot):
            st.warning(f"Of {words.literal(snapshot.source)} {lost}", title="△ Not all of it")


def _read(files: Sequence[tuple[str, bytes]]) -> tuple[Snapshot, ...]:
    """The clusters given before and these, one file each; one given again stands once."""
    read = [cluster_dumps.read_bytes(content, name=name) for name, content in files]
    clusters = {cluster.digest: cluster for cluster in (*other_clusters(), *read)}
    if len(clusters) > _MOST_CLUSTERS:
        raise InputError(
            f"{len(clusters)} clusters to compare with are too many",
            fix=f"Remove those given before, and give at most {_MOST_CLUSTERS}, one file a cluster",
        )
    return tuple(clusters.values())
