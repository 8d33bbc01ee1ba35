"""The Drift page's words and tables."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import streamlit as st

from planner.ground import words
from planner.ground.tables import alike
from planner.health.drift import shown_environments
from planner.health.drift.listing_rows import matrix_rows
from planner.health.drift.model import DriftReport, EnvironmentSuggestion, ServiceDrift
from planner.kubernetes.records import Snapshot
from planner.questions import drift as plan_drift
from planner.ui import cache, drift_inputs, errors, page_filter, tables, tiles, verdict

_MOST_EXPLAINED = 3
_BESIDE = 2  # suggestions in a row


@errors.part
def headline(report: DriftReport) -> None:
    """The answer in a sentence, then three figures."""
    explained = [service for service in report.services if service.explanations]
    differing = sum(bool(service.differences) for service in report.services)
    title = "△ A difference explains trouble" if explained else "✓ No trouble that a difference explains"
    verdict.box(page_filter.only(title if report.services else "? Nothing to compare"), report.sentence)
    with st.grid(3, min_column_width=150):
        tiles.show("Services compared", len(report.services))
        tiles.show("That differ", differing)
        tiles.show("In trouble because of it", len(explained))
    for sentence in report.ambiguous[:5]:
        st.caption(f"△ {words.literal(sentence)}")


@errors.part
def services(report: DriftReport) -> None:
    """Services × environments: in each cell replicas, memory and restarts."""
    every = shown_environments.environments(report)
    cells = [{name: _cell(service, name) for name in every} for service in report.services]
    columns = _alike(cells, every, {service.reference for service in report.services if service.differences})
    if len(columns) > shown_environments.MOST_SIDE_BY_SIDE:
        columns = {name: name for name in shown_environments.of_report(report)}
    rows = [
        {"Service": service.service}
        | {head: row[name] for name, head in columns.items()}
        | {"What it says": service.sentence}
        for service, row in zip(report.services, cells, strict=True)
    ]
    tables.show(
        rows,
        alt=str(report.sentence),
        names=list(columns.values()),
        empty=page_filter.nothing(
            "service", "No service runs in two environments: upload another cluster below, or edit the rule."
        ),
    )
    if len(columns) == shown_environments.MOST_SIDE_BY_SIDE:
        _say_shown(len(columns), len(every))


def _alike(rows: Sequence[Mapping[str, object]], names: Sequence[str], alone: Container[str]) -> dict[str, str]:
    """Columns that are the same in every row as one: the first's name → the heading, such as ``dev-0 and 41 more``."""
    groups = alike(names, lambda name: (name if name in alone else "", tuple(row[name] for row in rows)))
    return {group_names[0]: str(words.listing(group_names, most=1)) for group_names in groups}


def _say_shown(shown: int, every: int) -> None:
    if shown_text := shown_environments.said_of(shown, every):
        st.caption(words.literal(f"{shown_text} The download has all of them."))


def _cell(service: ServiceDrift, environment: str) -> str:
    if environment not in service.environments:
        return ""
    index = service.environments.index(environment)
    memory = next((r.cells[index] for r in service.rows if r.aspect.value == "memory limit"), None)
    memory = memory or next((r.cells[index] for r in service.rows if r.aspect.value == "memory request"), None)
    number = service.restarts[index]
    restarted = (
        f"✗ {words.count(number, 'restart')}" if number else "✓ no restarts" if number == 0 else "restarts not known"
    )
    return ", ".join([*([memory.text] if memory and memory.text != "none" else []), restarted])


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
def suggestions(service: ServiceDrift, snapshot: Snapshot) -> None:
    """What the readings suggest, with the rule, and what adopting it would do."""
    if not service.suggestions:
        st.caption("Nothing measured suggests other values.")
        return
    card_columns = st.columns(_BESIDE, gap="small")
    for place, suggestion in enumerate(drift_inputs.suggestions(service)):
        with card_columns[place % _BESIDE], st.container(border=True):
            _suggestion(suggestion, snapshot)


def _suggestion(suggestion: EnvironmentSuggestion, snapshot: Snapshot) -> None:
    value = suggestion.suggestion
    st.markdown(f"**{words.literal(suggestion.environment)}**, container {words.literal(value.container)}")
    st.markdown(f"Today: {words.literal(suggestion.today)}  \nSuggested: {words.literal(value.text)}")
    st.caption(words.literal(f"Why: {value.rule}. Source: {value.source}."))
    if "/" in suggestion.environment or snapshot.workload(suggestion.workload) is None:
        return  # of another cluster: its rollout is asked for there
    adopted = cache.answer(plan_drift.adopt, snapshot, suggestion)
    if adopted.rollout is not None:
        verdict.show(adopted.rollout.verdict, adopted.rollout.headline, adopted.rollout.sentence)
    elif adopted.note:
        st.info(words.literal(adopted.note))
    if adopted.command:
        st.code(adopted.command, language=None, wrap_lines=True)
    with st.expander("As YAML", icon=":material/code:"):
        st.code(adopted.patch_yaml, language=None)
