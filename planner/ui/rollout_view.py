"""The answer to a rollout, shown: verdict and key figures first, then one section at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from planner.capacity import usable_devices as usable_question
from planner.capacity.usable_devices import UsableDevices
from planner.figures import palette, rollout_timeline, wait_for
from planner.ground import words
from planner.ground.records import replace
from planner.ground.tables import columns
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.kinds import kind_in
from planner.kubernetes.records import Snapshot
from planner.questions import rollout as rollout_question
from planner.questions.question import Given
from planner.questions.rollout import RolloutSettings, timeline_rows
from planner.questions.wording import for_people
from planner.rollout.answers import Remedy, RemedyKind, RolloutResult, Verdict, WorkloadRollout
from planner.rollout.doubts import AS_DOUBTS
from planner.rollout.film import scarce_resource
from planner.rollout.scaled import At
from planner.ui import (
    apply_view,
    as_if,
    cache,
    certificate_view,
    charts,
    downloads,
    errors,
    film_view,
    findings,
    frame,
    link,
    pasted_manifest,
    rollout_inputs,
    spares,
    strategy_view,
    tables,
    tiles,
    verdict,
)

_DO, _STRATEGIES, _HAPPENS, _STEPS = "What to do", "Every strategy", "What happens", "Step by step"


def answered(snapshot: Snapshot, settings: RolloutSettings, given: Given) -> RolloutResult:
    """The answer, shown as soon as it is known: first for one placement, then, where chance has a say, for all tried.

    Ways out are looked for after that; until then the verdict stands without them.
    """
    first = settings.workloads[0] if settings.workloads else ""
    differs = rollout_inputs.differs(settings, snapshot.workload(first))
    pasted_manifest.note(snapshot)
    asked_for(differs)
    place, rest = st.container(), st.empty()
    asked = (snapshot.digest, settings, given)
    early = None
    if st.session_state.get(_ANSWERED) != asked:  # else the whole answer is kept
        early = cache.ask(
            replace(rollout_question.QUESTION, answer=rollout_question.first_answer), snapshot, settings, given
        )
        box = place.empty()
        with box.container():
            answer(early)
        with rest.container():
            result = cache.ask(rollout_question.QUESTION, snapshot, settings, given)
    else:
        result, box = cache.ask(rollout_question.QUESTION, snapshot, settings, given), place.empty()
    st.session_state[_ANSWERED] = asked
    if early is None or _shown(early) != _shown(result):
        with box.container():
            answer(result)
    with rest.container():
        # The room comes with the whole answer: in the box above, all of that would be drawn twice at once.
        rooms = [
            pasted_manifest.room(part.workload, part.room.sentence)
            for part in result.workloads
            if part.room is not None
        ]
        if pasted_manifest.is_one(snapshot):
            for room in rooms:
                st.caption(f":material/straighten: {room}")
            rooms = []
        if not differs:
            st.caption("For a new template, with everything else as it is today.")
        if result.ties is not None:
            sure = " (proven)" if result.ties.proven else ""
            st.caption(
                f":material/casino: This rollout {words.literal(result.ties.outcome)}{sure}.",
                help=" ".join(rooms) or None,
            )
        for doubt in result.doubts:
            st.caption(f":material/help: {words.literal(words.sentence(doubt.sentence))}")
        for event in result.meanwhile:
            st.caption(f":material/schedule: Meanwhile, {words.literal(event.sentence)}.")
        if result.preempted:
            victims = words.literal(", ".join(result.preempted))
            st.warning(f"△ Evicted to make room (preemption): {victims}", icon=":material/priority_high:")
        findings.show([one for one in result.findings if one.code not in AS_DOUBTS])
    return result


def played(snapshot: Snapshot, settings: RolloutSettings) -> tuple[Snapshot, RolloutSettings]:
    """The cluster at the replicas that are asked for, and the settings that are put to it."""
    if settings.at is At.TODAY:
        return snapshot, settings
    return cache.answer(rollout_question.at_replicas, snapshot, settings), replace(settings, at=At.TODAY)


_STEP = {"event": "", "seconds": "after", "ready": "Ready in all"}
_FEW_STEPS = 12  # shown at once, of the first way out
_ANSWERED = "_rollout_answered"
_POOL = "NodePool/"  # how a step names the node pool that it resizes


def _shown(result: RolloutResult) -> object:
    """What `answer` shows of a result."""
    parts = tuple(
        (w.lowest_ready, w.peak_pods, w.seconds, w.scheduler_message, w.exceeds_deadline) for w in result.workloads
    )
    return result.verdict, result.reason, result.sentence, parts, result.peak_held, result.growth


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
def answer(result: RolloutResult) -> None:
    """The verdict first, then the key figures, then Kubernetes' own words."""
    verdict.show(result.verdict, result.headline, result.sentence)
    _figures(result)
    if result.growth and result.verdict is Verdict.NEEDS_GROWTH and len(result.workloads) > 1:  # else it is said above
        st.caption(f":material/trending_up: {words.literal(result.growth)}")
    for message in dict.fromkeys(filter(None, (w.scheduler_message or w.quota_message for w in result.workloads))):
        with st.expander("In Kubernetes' own words, as kubectl describe would show them", icon=":material/terminal:"):
            st.code(str(message), language=None, wrap_lines=True)


@st.fragment
@errors.part
def sections(snapshot: Snapshot, settings: RolloutSettings, result: RolloutResult, given: Given) -> None:
    """What else there is to know, one section at a time: what isn't looked at isn't worked out."""
    rollout_inputs.answer_adopted()
    rollout = choose_workload(result)
    shown = link.segments(
        "Section", (_DO, _STRATEGIES, _HAPPENS, _STEPS), key="section", label_visibility="collapsed"
    )  # fmt: skip
    if shown == _DO:
        apply_view.show(result.apply)
        remedies(result, snapshot, spares.remedy_price(snapshot, None))
        if not result.apply and not result.remedies:
            st.caption(
                "It completes as it is: apply your change. Every strategy that it could have is beside this."
                if result.verdict is Verdict.COMPLETES
                else "No way out was found among those that are tried: other strategies, fewer pods, more nodes, another quota."
            )
        certificate_view.show(snapshot, settings, given)
        film_view.fetched()
    elif shown == _STRATEGIES:
        strategy_view.show(snapshot, settings, given, result, rollout)
    elif shown == _HAPPENS:
        film_view.rollout(snapshot, settings, given, result, rollout)
        usable = cache.answer(
            usable_question.usable_devices, snapshot, rollout_question.scenario_of(snapshot, settings)
        )
        timeline(result, rollout, next(one for one in usable if one.workload == rollout.workload))
        if rollout.wait_for:
            st.header("Who waits for whom")
            charts.show(wait_for.figure(rollout.wait_for), key="wait_for", alt=wait_for.alt(rollout.wait_for))
    else:
        steps(rollout)
        pending(result)


@errors.part
def download(snapshot: Snapshot, settings: RolloutSettings, result: RolloutResult) -> None:
    """The answer as a document, with what its strategies cost, and its timeline as rows: made when asked for."""
    given = spares.typed()  # now: the document is made later, where neither link nor widgets can be read
    downloads.show(
        "rollout",
        document=lambda: spares.document(
            snapshot, settings, result, strategy_view.costs_of(snapshot, settings, result, given)
        ),
        rows=lambda: timeline_rows(result.workloads),
    )


def _figures(result: RolloutResult) -> None:
    first = result.workloads[0]
    gpus = [name for name in result.capacity if is_gpu_resource(name)]
    if len(result.workloads) > 1:
        st.caption(f"Of {words.literal(first.workload)}:")
    with st.grid(min_column_width=150):
        if kind_in(first.workload).rolls_out:  # a Job has no Ready replicas to keep
            tiles.share("Lowest Ready", first.lowest_ready, first.replicas)
        tiles.show("Most pods at once", first.peak_pods)
        for name in gpus:
            label = "GPUs in use" if len(gpus) == 1 else words.literal(f"{name} in use")
            told = f"Most {words.literal(name)} held at once by all pods of the cluster, of all that its nodes have."
            tiles.share(label, result.peak_held.get(name, 0), result.capacity[name], hint=told)
        is_over = first.verdict not in (Verdict.STUCK, Verdict.UNKNOWN)
        tiles.show("Takes about", words.duration(first.seconds) if is_over else "never", hint=_basis(first))
        waiting = sum(pods.count for pods in result.pending)
        tiles.show("Pods left waiting", waiting, hint="In the whole cluster.")
    if first.duration is not None:
        st.caption(f":material/timer: {words.literal(words.sentence(first.duration.sentence))}")
    for cutoff in (one for one in first.cutoffs if one.is_short):
        st.caption(f"△ {words.literal(words.sentence(cutoff.sentence))}")
    if first.duration is None and first.exceeds_deadline and first.progress_deadline_seconds is not None:
        deadline = words.duration(first.progress_deadline_seconds)
        st.caption(
            f"△ progressDeadlineSeconds ({deadline}) passes without progress: kubectl rollout status fails then."
        )


def _basis(rollout: WorkloadRollout) -> str:
    startup = f"Start-up {words.duration(rollout.startup_seconds)} ({rollout.startup_source or 'default'})"
    return (
        f"{startup}, termination {words.duration(rollout.termination_seconds)}, {words.count(rollout.ticks, 'step')}."
    )


@errors.part
def timeline(result: RolloutResult, rollout: WorkloadRollout, devices: UsableDevices) -> None:
    """The rollout over time, against the devices its new pods can use; whose they were is said below."""
    resource = scarce_resource(rollout.requests)
    usable, everywhere = devices.allocatable.get(resource), devices.whole_cluster.get(resource, 0)
    if usable is not None:
        usable += result.capacity.get(resource, 0) - everywhere  # nodes that growth added match
    is_whole = usable == result.capacity.get(resource, 0)
    drawn = rollout_timeline.figure(rollout, usable, is_whole_cluster=is_whole)
    charts.show(drawn, key="timeline", alt=rollout_timeline.alt(rollout))
    if usable is not None:
        st.caption(
            f"The new pods match {words.count(devices.node_count, 'node')} with {devices.allocatable[resource]:,} "
            f"{words.literal(resource)} of the cluster's {everywhere:,}; before the change this workload holds "
            f"{devices.own[resource]:,} of them, others {devices.others[resource]:,}."
        )


def choose_workload(result: RolloutResult) -> WorkloadRollout:
    """The workload drawn below: the only one, or the one picked."""
    if len(result.workloads) == 1:
        return result.workloads[0]
    for workload in result.workloads:
        with st.container(horizontal=True, vertical_alignment="center"):
            verdict.badge(workload.verdict, workload.reason)
            st.markdown(words.literal(workload.workload))
        st.caption(words.literal(words.sentence(workload.headline)))
    key = link.segments("Timeline of", [workload.workload for workload in result.workloads], key="shown")
    return next(workload for workload in result.workloads if workload.workload == key)


@errors.part
def remedies(result: RolloutResult, snapshot: Snapshot, price: Callable[[Remedy], str]) -> None:
    """Ways out, each simulated: what it costs, and its steps. `price` says what nodes it adds cost."""
    if not result.remedies:
        return
    st.header("Ways out", help="Each was simulated on this snapshot and completes. Every step waits until it is done.")
    beside = st.columns([2, 1], gap="medium") if len(result.remedies) > 1 else (st.container(),)
    for place, remedy in enumerate(result.remedies):
        with beside[min(place, 1)], st.container(border=True):
            _remedy(remedy, place, price(remedy), snapshot)


def _remedy(remedy: Remedy, place: int, price: str, snapshot: Snapshot) -> None:
    st.markdown(f"**{words.literal(remedy.title)}**  \n{words.literal(words.sentence(remedy.sentence))}")
    said = [
        f"lowest Ready {remedy.lowest_ready:,} of {remedy.replicas:,}",
        words.about(remedy.seconds),
        "no extra GPU" if not remedy.extra_gpus else f"{words.count(remedy.extra_gpus, 'GPU')} more",
        *([price] if price else []),
    ]
    st.markdown(" ".join(f":blue-badge[{words.literal(one)}]" for one in said))
    steps = partial(apply_view.steps, remedy.steps, title=str(remedy.title), snapshot=snapshot, key=str(place))
    if not place and len(remedy.steps) <= _FEW_STEPS:
        with frame.folded("Steps", "steps"):
            steps()
    else:
        with link.expander("Steps", key=f"steps_{place}", icon=":material/format_list_numbered:") as is_open:
            if is_open:
                steps()
    if remedy.kind is RemedyKind.ADD_NODE and (changes := _nodes_added(remedy)):
        as_if.button(changes, key=f"way-{place}")
    if remedy.patch_yaml and remedy.kind is not RemedyKind.FREE_CAPACITY:  # there the patch is only a part of the cure
        st.button(
            "Try it here", key=f"try-{place}", icon=":material/play_arrow:", on_click=rollout_inputs.adopt_patch,
            args=(remedy.patch_yaml,),
        )  # fmt: skip


def _nodes_added(remedy: Remedy) -> str:
    """The nodes that its steps add, as `--change` takes them; "" where a step says no pool."""
    pools = [step for step in remedy.steps if step.target.startswith(_POOL) and step.target.count("/") == 1]
    return ";".join(f"add:{step.target.removeprefix(_POOL)}={int(step.after) - int(step.before)}" for step in pools)


@errors.part
def pending(result: RolloutResult) -> None:
    """Pods that wait at the end, in the whole cluster."""
    st.header("Pods left waiting")
    rows = [
        {"namespace": p.namespace, "owner": p.owner, "pods": p.count, "kube-scheduler says": p.message or "never tried"}
        for p in result.pending
    ]
    tables.show(rows, alt=f"{words.count(len(rows), 'group')} of pods left waiting", empty="No pod is left waiting.")


@errors.part
def steps(rollout: WorkloadRollout) -> None:
    """The timeline as a table."""
    rows = timeline_rows([rollout])
    moved = [name for name in columns(rows) if name not in ("workload", "step") and any(row[name] for row in rows)]
    states = {state.value: name for state, name in palette.POD_STATE_NAME.items()}
    names = {"event": "", "seconds": "after", **{name: states.get(name, _STEP.get(name, "")) for name in moved}}
    tables.show(for_people(rows, names), alt=f"{rollout.workload} step by step", empty="Nothing moves.")
