"""A service in several environments: what differs, and what its readings suggest."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import streamlit as st

from planner.ground import words
from planner.ground.tables import alike
from planner.health.drift import shown_environments
from planner.health.drift.listing_rows import matrix_rows
from planner.health.drift.model import EnvironmentSuggestion, ServiceDrift
from planner.kubernetes.records import Snapshot
from planner.questions import drift as plan_drift
from planner.ui import apply_view, cache, errors, health_inputs, tables

_MOST_EXPLAINED = 3
_BESIDE = 2  # suggestions in a row


def _alike(rows: Sequence[Mapping[str, object]], names: Sequence[str], alone: Container[str]) -> dict[str, str]:
    """Columns that are the same in every row as one: the first's name → the heading, such as ``dev-0 and 41 more``."""
    groups = alike(names, lambda name: (name if name in alone else "", tuple(row[name] for row in rows)))
    return {group_names[0]: str(words.listing(group_names, most=1)) for group_names in groups}


def _say_shown(shown: int, every: int) -> None:
    if shown_text := shown_environments.said_of(shown, every):
        st.caption(words.literal(f"{shown_text} The download has all of them."))


@errors.part
def one(service: ServiceDrift, *, everything: bool) -> None:
    """One service: the sentences, and the matrix."""
    groups = alike(service.explanations, lambda reason: str(reason.sentence).replace(reason.environment, ""))
    for alike_explanations in groups[:_MOST_EXPLAINED]:
        st.warning(
            words.literal(alike_explanations[0].sentence),
            title=f"△ {words.literal(words.listing([reason.environment for reason in alike_explanations], most=1))}",
        )
    if others := [explanation.environment for group in groups[_MOST_EXPLAINED:] for explanation in group]:
        st.caption(f"△ So it is in {words.literal(words.listing(others))}, with their own numbers.")
    if not service.explanations:
        st.markdown(words.literal(service.sentence))
    excerpt = service
    rows = matrix_rows(excerpt, everything=everything)
    columns = _alike(rows, service.environments, {service.reference})
    if len(columns) > shown_environments.MOST_SIDE_BY_SIDE:
        excerpt = shown_environments.of_service(service)
        rows, columns = matrix_rows(excerpt, everything=everything), {name: name for name in excerpt.environments}
    tables.small(
        [{"what": row["what"], **{head: row[name] for name, head in columns.items()}} for row in rows],
        names=list(columns.values()), empty="Nothing differs between these environments.",
    )  # fmt: skip
    _say_shown(len(excerpt.environments), len(service.environments))
    st.caption(
        f"In brackets: against {words.literal(service.reference)}. Measured values are what was seen, not a need."
    )


@errors.part
def suggestions(service: ServiceDrift, snapshot: Snapshot, key: str) -> None:
    """What the readings suggest, with the rule, and what adopting it would do."""
    if not service.suggestions:
        st.caption("Nothing measured suggests other values.")
        return
    card_columns = st.columns(_BESIDE, gap="small")
    for place, suggestion in enumerate(health_inputs.suggestions(service, key)):
        with card_columns[place % _BESIDE], st.container(border=True):
            _suggestion(suggestion, snapshot)


def _suggestion(suggestion: EnvironmentSuggestion, snapshot: Snapshot) -> None:
    value = suggestion.suggestion
    st.markdown(f"**{words.literal(suggestion.environment)}**, container {words.literal(value.container)}")
    apply_view.suggestion(value, today=str(suggestion.today))
    if "/" in suggestion.environment or snapshot.workload(suggestion.workload) is None:
        return  # of another cluster: its rollout is asked for there
    adopted = cache.answer(plan_drift.adopt, snapshot, suggestion)
    apply_view.outcome(adopted)
    with st.expander("As YAML", icon=":material/code:"):
        st.code(adopted.patch_yaml, language=None)
