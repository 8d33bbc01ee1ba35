"""The page of a workload: verdict, the strategy grid with the film beside it, and remedies."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.ground import words
from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.questions import rollout as rollout_question
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings, timeline_rows
from planner.rollout.answers import Remedy, RemedyKind, RolloutResult, Verdict, WorkloadRollout
from planner.rollout.doubts import AS_DOUBTS, is_proven
from planner.rollout.scaled_cluster import At
from planner.ui import (
    answer_view,
    apply_view,
    as_if,
    downloads,
    errors,
    film_view,
    findings,
    link,
    page_frame,
    pasted_manifest,
    rollout_inputs,
    shared_answers,
    strategy_prices_view,
    strategy_view,
    verdict,
)


def show(
    snapshot: Snapshot, settings: RolloutSettings, given: Inputs, place: DeltaGenerator, tab: DeltaGenerator
) -> None:
    """The page's answer: verdict, grid and film as soon as they are known, first for one placement, then, where chance has a say, for all
    tried; the ways out are looked for after that. `place`: of the verdict, above what can be changed; `tab`: of the rest, where it is in
    sight."""
    first = settings.workloads[0] if settings.workloads else ""
    differs = rollout_inputs.differs(settings, snapshot.workload(first))
    asked = (snapshot.digest, settings, given)
    whole = None  # where it is kept it is answered at once
    if st.session_state.get(_ANSWERED) == asked or pasted_manifest.is_one(snapshot):
        whole = shared_answers.ask(rollout_question.QUESTION, snapshot, settings, given)
    early = whole or shared_answers.ask(_FIRST, snapshot, settings, given)
    is_open = getattr(tab, "open", None) is not False
    with place:
        pasted_manifest.note(snapshot)
        asked_for(differs)
        box, beside = st.empty(), st.empty()
        with box.container():
            answer(early, is_whole=is_open)
    with tab:
        strategies = _played(snapshot, settings, given, early) if is_open else None
    result = whole or shared_answers.ask(rollout_question.QUESTION, snapshot, settings, given)
    st.session_state[_ANSWERED] = asked
    with place:
        if _shown(early) != _shown(result):
            with box.container():
                answer(result, is_whole=is_open)
        with beside.container():
            notes(result, snapshot, differs, is_whole=is_open)
    if strategies is not None:
        with strategies:
            download(snapshot, settings, result)
        with tab:
            remedies(result, snapshot)


def _played(snapshot: Snapshot, settings: RolloutSettings, given: Inputs, early: RolloutResult) -> DeltaGenerator:
    """The grid with what is applied, whose column it gives, and the film beside it."""
    now, played = at_replicas(snapshot, settings)
    rollout = choose_workload(early)
    strategies, film = st.columns([5, 8], gap="large")
    below = st.container()
    with strategies:
        strategy_view.show(now, played, given, rollout, below)
        apply_view.show(early.apply)
    with film, page_frame.folded("The film", "film"):
        film_view.rollout(now, played, given, early, rollout)
    return strategies


@errors.part
def notes(result: RolloutResult, snapshot: Snapshot, differs: str, *, is_whole: bool) -> None:
    """What the verdict depends on; `is_whole`: and what else was found."""
    rooms = [
        pasted_manifest.room(part.workload, part.room.sentence) for part in result.workloads if part.room is not None
    ]
    if pasted_manifest.is_one(snapshot):
        for room in rooms:
            st.caption(f":material/straighten: {room}")
        rooms = []
    said = [] if differs else ["For a new template, with everything else as it is today."]
    if result.ties is not None:
        sure = " (proven)" if result.ties.proven else ""
        said.append(f"This rollout {words.literal(result.ties.outcome)}{sure}.")
    lines = [" ".join([":material/casino:", *said])]
    lines += [f":material/help: {words.literal(words.sentence(doubt.sentence))}" for doubt in result.doubts]
    lines += [f":material/schedule: Meanwhile, {words.literal(event.sentence)}." for event in result.meanwhile]
    st.caption("  \n".join(lines), help=" ".join([_basis(result.workloads[0]), *rooms]))
    if result.preempted:
        victims = words.literal(", ".join(result.preempted))
        st.warning(f"△ Evicted to make room (preemption): {victims}", icon=":material/priority_high:")
    if is_whole:
        findings.show([finding for finding in result.findings if finding.code not in AS_DOUBTS])


def at_replicas(snapshot: Snapshot, settings: RolloutSettings) -> tuple[Snapshot, RolloutSettings]:
    """The cluster at the replicas that are asked for, and the settings that are put to it."""
    if settings.at is At.TODAY:
        return snapshot, settings
    return shared_answers.answer(rollout_question.at_replicas, snapshot, settings), replace(settings, at=At.TODAY)


_FIRST = replace(rollout_question.QUESTION, answer=rollout_question.first_answer)
_ANSWERED = "_rollout_answered"


def _shown(outcome: RolloutResult) -> object:
    """What `answer` shows of a result."""
    parts = tuple(
        (w.lowest_ready, w.peak_pods, w.seconds, w.scheduler_message, w.exceeds_deadline) for w in outcome.workloads
    )
    return outcome.verdict, outcome.reason, outcome.sentence, parts, outcome.peak_held, outcome.growth


@errors.part
def asked_for(differs: str) -> None:
    """Which settings the verdict is for, where they aren't today's, and the way back."""
    if differs:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"For **{words.literal(differs)}**")
            st.button(
                "Back to today's", icon=":material/undo:", key="back_to_today", type="tertiary",
                on_click=rollout_inputs.back_to_today,
            )  # fmt: skip


@errors.part
def answer(result: RolloutResult, *, is_whole: bool) -> None:
    """The verdict in a sentence; `is_whole`: the reason in full, and in Kubernetes' own words, where one asks for it."""
    reason = verdict.in_short(result.verdict, result.headline, result.sentence)
    if not is_whole:
        return
    if result.growth and result.verdict is Verdict.NEEDS_GROWTH and len(result.workloads) > 1:  # else it is said above
        st.caption(f":material/trending_up: {words.literal(result.growth)}")
    first = result.workloads[0]
    if first.duration is not None:
        st.caption(f":material/timer: {words.literal(words.sentence(first.duration.sentence))}")
    for cutoff in (short for short in first.cutoffs if short.is_short):
        st.caption(f"△ {words.literal(words.sentence(cutoff.sentence))}")
    if first.duration is None and first.exceeds_deadline and first.progress_deadline_seconds is not None:
        deadline = words.duration(first.progress_deadline_seconds)
        st.caption(
            f"△ progressDeadlineSeconds ({deadline}) passes without progress: kubectl rollout status fails then."
        )
    messages = dict.fromkeys(filter(None, (w.scheduler_message or w.quota_message for w in result.workloads)))
    if not (reason or messages or result.pending):
        return
    with st.expander("Why, and in Kubernetes' own words", icon=":material/terminal:"):
        st.markdown(words.literal(reason))
        for message in messages:
            st.code(str(message), language=None, wrap_lines=True)
        if result.pending:
            st.markdown("**Pods that are pending at the end, in the whole cluster**")
            names = ("namespace", "owner", "pods", "scheduler_message")
            answer_view.table(rollout_question.QUESTION, result, "pending", names=names, placeholder="never tried")


@errors.part
def download(snapshot: Snapshot, settings: RolloutSettings, result: RolloutResult) -> None:
    """The answer as a document, with what its strategies cost, and its timeline as rows: made when asked for."""
    # now: the document is made later, where neither link nor widgets can be read
    spare_terms = strategy_prices_view.typed()
    downloads.show(
        "rollout",
        document=lambda: strategy_prices_view.document(
            snapshot, settings, result, strategy_view.costs_of(snapshot, settings, result, spare_terms)
        ),
        rows=lambda: timeline_rows(result.workloads),
    )


def _basis(rollout: WorkloadRollout) -> str:
    startup = f"Start-up {words.duration(rollout.startup_seconds)} ({rollout.startup_source or 'default'})"
    return (
        f"{startup}, termination {words.duration(rollout.termination_seconds)}, {words.count(rollout.ticks, 'step')}."
    )


def choose_workload(rollout_result: RolloutResult) -> WorkloadRollout:
    """The workload drawn below: the only one, or the one picked."""
    if len(rollout_result.workloads) == 1:
        return rollout_result.workloads[0]
    for workload in rollout_result.workloads:
        with st.container(horizontal=True, vertical_alignment="center"):
            verdict.badge(workload.verdict, workload.reason)
            st.markdown(words.literal(workload.workload))
        st.caption(words.literal(words.sentence(workload.headline)))
    key = link.segments("Timeline of", [workload.workload for workload in rollout_result.workloads], key="shown")
    return next(workload for workload in rollout_result.workloads if workload.workload == key)


@errors.part
def remedies(result: RolloutResult, snapshot: Snapshot) -> None:
    """Ways out, each simulated: what it costs, and its steps."""
    st.header("Ways out", help="Each was simulated on this snapshot and completes. Every step waits until it is done.")
    if not result.remedies:
        st.caption(
            "It completes as it is."
            if result.verdict is Verdict.COMPLETES
            else "No way out was found among those that are tried: other strategies, fewer pods, more nodes, another quota."
        )
    is_sure = is_proven(result.doubts, result.findings)
    for place, remedy in enumerate(result.remedies):
        with st.container(border=True, gap="xsmall"):
            _remedy(remedy, place, snapshot, is_sure=is_sure)


def _remedy(remedy: Remedy, place: int, snapshot: Snapshot, *, is_sure: bool) -> None:
    more_gpus = f"{words.count(remedy.extra_gpus, 'GPU')} more" if remedy.extra_gpus else "no extra GPU"
    badge_texts = [
        f"{remedy.lowest_ready:,} of {remedy.replicas:,} Ready",
        words.about(remedy.seconds),
        strategy_prices_view.remedy_price(snapshot, remedy) or more_gpus,
        *(["proven"] if remedy.is_proven and is_sure else []),
    ]
    badges = " ".join(f":blue-badge[{words.literal(badge)}]" for badge in badge_texts)
    # where capacity is freed, the patch is only a part of the cure
    is_patched = bool(remedy.patch_yaml) and remedy.kind is not RemedyKind.FREE_CAPACITY
    what, *act = st.columns([6, 1] if remedy.change or is_patched else 1, vertical_alignment="center")
    with what:
        st.markdown(f"**{place + 1}. {words.literal(remedy.title)}** {badges}")
        if remedy.extra_nodes:  # what the pool's own limit says to it
            st.caption(words.literal(words.sentence(remedy.sentence)))
    for column in act:
        if remedy.change:
            is_strategy = remedy.kind is RemedyKind.SWITCH_STRATEGY
            forgets = rollout_inputs.forget_strategy if is_strategy else None
            with column:
                as_if.button(remedy.change, key=f"way-{place}", forgets=forgets)
        else:
            column.button(
                "Suppose it", key=f"try-{place}", icon=":material/play_arrow:", on_click=rollout_inputs.adopt_patch,
                args=(remedy.patch_yaml,), help="This page then answers as if its patch were applied.",
            )  # fmt: skip
    with link.expander("Steps and script", key=f"steps_{place}", icon=":material/format_list_numbered:") as is_open:
        if is_open:
            st.markdown(words.literal(words.sentence(remedy.sentence)))
            apply_view.steps(remedy.steps, title=str(remedy.title), snapshot=snapshot, key=str(place))
