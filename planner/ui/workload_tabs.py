"""Tabs of a workload's page: spot; memory and restarts with evidence and fix; the service's other environments."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, Literal

import streamlit as st

from planner.ground import words
from planner.ground.table_formats import alike
from planner.health.drift import shown_environments
from planner.health.drift.listing_rows import matrix_rows
from planner.health.drift.model import EnvironmentSuggestion, ServiceDrift
from planner.health.restarts.model import Activity, Confidence, LineVerdict, LogLine, Loop
from planner.kubernetes.object_records import Snapshot
from planner.questions import drift, memory, restarts
from planner.questions.memory import MemoryWhatIf
from planner.questions.question import Inputs, Question
from planner.spot.savings_inputs import workloads
from planner.ui import (
    answer_view,
    apply_view,
    errors,
    findings,
    health_inputs,
    link,
    object_page_links,
    page_frame,
    savings_view,
    shared_answers,
    tables,
    verdict,
)

ROLLOUT: Final = "Rollout"
SPOT: Final = "Spot"
_WHAT_IF: Final = "What another request or limit would change"


def tabs(key: str, *, rolls_out: bool) -> Sequence[Any]:
    """What is told of the workload, one in sight at a time; of a Job no rollout, and of a manifest (`key` is "") nothing else."""
    if not key:
        return [st.container()]
    names = (SPOT, object_page_links.HEALTH, object_page_links.ELSEWHERE)
    asked = (savings_view.PARAMETERS, health_inputs.OF_WHAT_IF, health_inputs.RULE)
    holds = {parameter: name for name, parameters in zip(names, asked, strict=True) for parameter in parameters}
    if rolls_out:
        return link.tabs([ROLLOUT, *names], key="about", holds=holds)
    return [None, *link.tabs(names, key="about", holds=holds)]


@errors.part
def show(snapshot: Snapshot, key: str, spot: Any, health: Any, elsewhere: Any) -> None:
    """What the tab in sight says; the others are not worked out."""
    with spot:
        if spot.open and key in {workload.key for workload in workloads(snapshot)}:
            savings_view.show(snapshot, key)
        elif spot.open:
            st.caption("What spot saves is asked of a Deployment, a StatefulSet or a Job.")
    with health:
        if health.open:
            _restarts(snapshot, key)
            _memory(snapshot, key)
            with st.grid(2):
                health_inputs.add_logs(snapshot)
                health_inputs.ask_usage(snapshot)
    with elsewhere:
        if elsewhere.open:
            _drift(snapshot, key)


def _unseen(question: Question[Any, Any], snapshot: Snapshot) -> bool:
    """Whether what the question depends on wasn't read, which is said in its place."""
    if lacking := question.not_known(snapshot):
        errors.show(lacking)
    return bool(lacking)


@errors.part
def _restarts(snapshot: Snapshot, key: str) -> None:
    """Its containers that restart or don't start: the evidence and the cure."""
    if _unseen(restarts.QUESTION, snapshot):
        return
    logged = health_inputs.with_uploaded_logs(snapshot)
    given = Inputs(usages=health_inputs.usages(snapshot))
    report = shared_answers.ask(restarts.QUESTION, logged, restarts.RestartsSettings(cures=0), given).report
    loops = [loop for loop in report.loops if loop.workload == key]
    if not loops:
        st.markdown("✓ None of its containers restarts or fails to start.")
    for loop in loops:
        loop_details(loop, logged)


@errors.part
def _memory(snapshot: Snapshot, key: str) -> None:
    """Risks of memory that are about it, and what another request or limit would change."""
    if _unseen(memory.QUESTION, snapshot):
        return
    place = st.container()
    kubelet, stats = health_inputs.kubelet(snapshot)
    plan = shared_answers.ask(memory.QUESTION, snapshot, memory.MemorySettings(kubelet=kubelet), Inputs(stats=stats))
    about = [finding for finding in plan.findings if finding.object == key]
    with place:
        findings.show(about)
        if not about:
            st.markdown("✓ Its node's memory is no risk to it: nothing was found.")
    is_open = link.says(health_inputs.OF_WHAT_IF)
    with link.expander(_WHAT_IF, key="memory_what_if", icon=":material/difference:", is_open=is_open) as is_drawn:
        if is_drawn:
            change = health_inputs.what_if(snapshot, key)
            memory_change(shared_answers.answer(memory.memory_what_if, snapshot, kubelet, change, stats))


@errors.part
def _drift(snapshot: Snapshot, key: str) -> None:
    """The same service in other environments: what differs, and what its readings suggest."""
    if _unseen(drift.QUESTION, snapshot):
        return
    place, others = st.container(), health_inputs.other_clusters()
    rule = health_inputs.drift_settings((snapshot, *others))
    given = Inputs(usages=health_inputs.usages(snapshot), others=others)
    report = shared_answers.ask(drift.QUESTION, snapshot, rule, given)
    service = next((service for service in report.services if key in service.workloads), None)
    with place:
        if service is None:
            st.caption(f"No other environment runs {words.literal(words.short_name(key))} by the rule below.")
            return
        service_drift(service, everything=link.toggle("Show what is the same as well", key="everything"))
        suggestions(service, snapshot, key)


_Colour = Literal["red", "orange", "gray", "blue", "green"]
_COLOUR: Final[dict[Activity, _Colour]] = {
    Activity.NOT_STARTING: "red",
    Activity.LOOPING: "red",
    Activity.SILENT: "orange",
    Activity.RECURRING: "orange",
    Activity.GONE: "gray",
    Activity.SETTLED: "green",
}
_CONFIDENCE: Final = {
    Confidence.CERTAIN: "certain: Kubernetes says so",
    Confidence.LIKELY: "likely: several signs agree",
    Confidence.POSSIBLE: "possible: few signs",
}
_LINE: Final = {LineVerdict.NOISE: "✓", LineVerdict.ONLY_FAILING: "✗", LineVerdict.UNSURE: "?"}


def loop_details(loop: Loop, snapshot: Snapshot) -> None:
    """One loop: the story, why, and what would help."""
    story(loop)
    why, what = st.columns(2, gap="large")
    with why, page_frame.folded("Why: the evidence", "evidence"):
        st.header("Why: the evidence")
        evidence(loop)
    with what:
        st.header("What would help")
        cure(loop, snapshot)
    if not loop.has_log:
        lacking = "none of these pods was read: add one below, or make the snapshot with kubectl cluster-info dump"
        st.caption(f"Its log: {lacking if loop.container else 'gone with its pods'}.")
        return
    meant = words.plural(len(loop.suspects), "means", "mean")
    title = f"Its log: {words.count(len(loop.suspects), 'line')} that {meant} something, {len(loop.noise):,} of noise"
    with st.expander(title, icon=":material/description:"):
        lines(loop)


@errors.part
def story(loop: Loop) -> None:
    """State, cause and confidence, then the sentence."""
    with st.container(horizontal=True):
        st.badge(loop.activity.words, color=_COLOUR[loop.activity])
        st.badge(loop.diagnosis.cause.words, color="blue")
        st.badge(_CONFIDENCE[loop.diagnosis.confidence], color="gray")
    st.markdown(words.literal(loop.sentence))


@errors.part
def evidence(loop: Loop) -> None:
    """What the cause rests on, one line each: where it is from, and what it says."""
    st.markdown(
        "\n".join(f"- :gray[{line.source.words}:] {words.literal(line.text)}" for line in loop.diagnosis.evidence)
    )


@errors.part
def cure(loop: Loop, snapshot: Snapshot) -> None:
    """What would help; where values are suggested, whether there is room and what their rollout does."""
    st.markdown(f"**{words.literal(loop.diagnosis.cure)}.**")
    restart_cure = shared_answers.answer(restarts.cure, snapshot, loop)
    if restart_cure is None:
        return
    apply_view.suggestion(restart_cure.suggestion)
    st.markdown(words.literal(restart_cure.room_sentence))
    apply_view.outcome(restart_cure)


@errors.part
def lines(loop: Loop) -> None:
    """Alarming log lines, noise apart."""
    meaning, noise = st.columns(2, gap="large")
    with meaning:
        st.markdown("**Means something**")
        _lines(loop.suspects, "No alarming line that working pods don't print as well.")
    with noise:
        st.markdown("**Noise: pods that work print it too**")
        _lines(loop.noise, "None of the alarming lines is printed by pods that work.")


def _lines(log_lines: Sequence[LogLine], empty: str) -> None:
    if not log_lines:
        st.caption(empty)
    for line in log_lines:
        with st.container(border=True, gap="xsmall"):
            st.code(line.template, language=None, wrap_lines=True)
            st.caption(f"{_LINE[line.verdict]} {words.literal(line.sentence)}. {words.count(line.lines, 'line')} here.")


_MOST_RISKS: Final = 8
_FEW_VALUES, _VALUES_PIXELS = 5, 180  # of more values the table scrolls


@errors.part
def memory_change(answer: MemoryWhatIf) -> None:
    """The sentence, the rollout's verdict, and every value that changes."""
    if not answer.differences and answer.rollout is None:
        st.info(f"{answer.sentence} Change a value above.", icon=":material/difference:")
        return
    if answer.rollout is not None:
        verdict.show(answer.rollout.verdict, answer.rollout.headline, answer.sentence)
    else:
        st.info(words.literal(answer.sentence), icon=":material/difference:")
    height = _VALUES_PIXELS if len(answer.differences) > _FEW_VALUES else "content"
    answer_view.table(memory.WHAT_IF, answer, "differences", height=height)
    for title, findings_group in (("Risks that go", answer.cured), ("Risks that come", answer.caused)):
        if findings_group:
            st.caption(title)
            findings.show(findings_group, at_most=_MOST_RISKS)
    if answer.command:
        st.code(answer.command, language=None, wrap_lines=True)


_MOST_EXPLAINED = 3
_MOST_SUGGESTIONS = 4  # each is put to the engine


def _alike(rows: Sequence[Mapping[str, object]], names: Sequence[str], alone: Container[str]) -> dict[str, str]:
    """Columns that are the same in every row as one: the first's name → the heading, such as ``dev-0 and 41 more``."""
    groups = alike(names, lambda name: (name if name in alone else "", tuple(row[name] for row in rows)))
    return {group_names[0]: str(words.listing(group_names, most=1)) for group_names in groups}


@errors.part
def service_drift(service: ServiceDrift, *, everything: bool) -> None:
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
    if shown_text := shown_environments.said_of(len(excerpt.environments), len(service.environments)):
        st.caption(words.literal(f"{shown_text} The download has all of them."))
    st.caption(
        f"In brackets: against {words.literal(service.reference)}. Measured values are what was seen, not a need."
    )


@errors.part
def suggestions(service: ServiceDrift, snapshot: Snapshot, key: str) -> None:
    """What the readings suggest, with the rule, and what adopting it would do."""
    if not service.suggestions:
        st.caption("Nothing measured suggests other values.")
        return
    own = [suggestion for suggestion in service.suggestions if suggestion.workload == key]
    with st.grid(2, gap="small"):
        for suggestion in (own or service.suggestions)[:_MOST_SUGGESTIONS]:
            with st.container(border=True):
                _suggestion(suggestion, snapshot)


def _suggestion(suggestion: EnvironmentSuggestion, snapshot: Snapshot) -> None:
    value = suggestion.suggestion
    st.markdown(f"**{words.literal(suggestion.environment)}**, container {words.literal(value.container)}")
    apply_view.suggestion(value, today=str(suggestion.today))
    if "/" in suggestion.environment or snapshot.workload(suggestion.workload) is None:
        return  # of another cluster: its rollout is asked for there
    adopted = shared_answers.answer(drift.adopt, snapshot, suggestion)
    apply_view.outcome(adopted)
    with st.expander("As YAML", icon=":material/code:"):
        st.code(adopted.patch_yaml, language=None)
