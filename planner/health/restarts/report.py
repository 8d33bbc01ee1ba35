"""Makes the restart report of a snapshot: loops, worst first, and their findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from planner.ground import garbage_collector
from planner.ground.records import replace
from planner.ground.well_known_names import MEMORY
from planner.ground.words import Text, count, duration, listing, short_name
from planner.health.memory.deleted_pod_owners import usages_by_workload
from planner.health.memory.request_suggestions import Suggestion, suggest
from planner.health.restarts import log_noise
from planner.health.restarts.causes import diagnose, is_troubled
from planner.health.restarts.container_case import TroubledCase, rank
from planner.health.restarts.container_observations import ContainerCase, Population, cases
from planner.health.restarts.container_pressure import pressure
from planner.health.restarts.deleted_pods import deleted_pod_loops
from planner.health.restarts.kubelet_refusal_loops import LOOPING_SECONDS, Refusals, refusals
from planner.health.restarts.model import Activity, Cause, Diagnosis, Loop, RestartReport
from planner.inventory.usage import Usage, usage_now
from planner.kubernetes.object_records import Finding, Presence, Severity, Snapshot

RECENT_SECONDS = 86_400.0
VAGUE = frozenset({Cause.ERROR_EXIT, Cause.KILLED, Cause.UNKNOWN})
_ORDER = tuple(Activity)


def restarts(snapshot: Snapshot, usages: Sequence[Usage] | None = None) -> RestartReport:
    """Which containers restart or don't start, since when, how often, why, and what would help.

    Parameters
    ----------
    snapshot : Snapshot
        Pods with their statuses; Events, logs and PodMetrics where there are any. Every answer says what was missing.
    usages : sequence of Usage, optional
        A history of use (Prometheus); without it the snapshot's PodMetrics count.
    """
    return snapshot.derived.once(_restarts, snapshot) if usages is None else _restarts(snapshot, usages)


@garbage_collector.resting()
def _restarts(snapshot: Snapshot, usages: Sequence[Usage] | None = None) -> RestartReport:
    population = Population(cases(snapshot, usages))
    diagnosed = _diagnosed(population)
    groups = _groups(diagnosed)
    measured = usage_now(snapshot) if usages is None else usages
    used = usages_by_workload(snapshot, measured) if groups else {}
    loops = [*(_loop(group, population, used) for group in groups), *deleted_pod_loops(snapshot)]
    loops.sort(key=lambda loop: (_ORDER.index(loop.activity), -loop.restarts, loop.workload, loop.container))
    return RestartReport(
        loops=tuple(loops),
        pods=len({case.pod.uid for case in population.cases}),
        containers=len(population.cases),
        pods_with_log=len({case.pod.uid for case in population.cases if case.has_log}),
        gaps=_gaps(snapshot, population),
        sentence=Text(_report_sentence(loops, population)),
    )


Diagnosed = tuple[ContainerCase, Diagnosis]


def _diagnosed(population: Population) -> list[Diagnosed]:
    diagnoses: list[Diagnosed] = []
    for case in population.cases:
        if not is_troubled(case):
            continue
        peers = population.summary(case)
        diagnoses.append((case, diagnose(TroubledCase(case=case, peers=peers, pressure=pressure(case, peers)))))
    return diagnoses


def _groups(diagnosed: Iterable[Diagnosed]) -> list[list[Diagnosed]]:
    """By workload, container and cause. Pods with a vague cause join the one cause that is known of their siblings:
    often only some pods' logs were read."""
    by_container: defaultdict[tuple[str, str], defaultdict[Cause, list[Diagnosed]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for case, diagnosis in diagnosed:
        by_container[case.key][diagnosis.cause].append((case, diagnosis))
    groups: list[list[Diagnosed]] = []
    for by_cause in by_container.values():
        specific_causes = [cause for cause in by_cause if cause not in VAGUE]
        vague = [cause for cause in by_cause if cause in VAGUE]
        if len(specific_causes) == 1 and vague:
            for cause in vague:
                by_cause[specific_causes[0]] += by_cause.pop(cause)
        groups += by_cause.values()
    return groups


def _loop(group: list[Diagnosed], population: Population, used: Used) -> Loop:
    group.sort(key=lambda diagnosed_case: diagnosed_case[0].pod.name)
    # Pods of one loop may tell different causes (one restarted before its log was read): the clearest stands for all.
    clearest, diagnosis = max(
        group, key=lambda pair: (pair[1].cause not in VAGUE, rank(pair[1].confidence), len(pair[1].evidence))
    )
    failing = [case for case, _ in group]
    siblings = population.siblings(clearest)
    peers = population.summary(clearest)
    ends = [case.ended_at for case in failing if case.ended_at is not None]
    restarted = sum(case.state.restart_count for case in failing)
    attempts = refusals(failing, siblings)
    working_set = max((case.usage.working_set_bytes for case in failing if case.usage), default=None)
    loop = Loop(
        workload=clearest.workload,
        namespace=clearest.pod.namespace,
        container=clearest.container.name,
        image=clearest.container.image,
        pods=tuple(case.pod.name for case in failing),
        pods_in_all=len(siblings),
        activity=attempts.activity
        if attempts is not None
        else min((_activity(case, diagnosis) for case in failing), key=_ORDER.index),
        restarts=restarted,
        most_restarts=max(case.state.restart_count for case in failing),
        since=_since(failing),
        last_restart_at=max(ends, default=None),
        seconds_between=_seconds_between(failing) if attempts is None else attempts.seconds_between,
        diagnosis=diagnosis if attempts is None else attempts.with_cure(diagnosis),
        memory_limit_bytes=clearest.container.limits.get(MEMORY),
        memory_request_bytes=clearest.container.requests.get(MEMORY),
        seen_bytes=working_set,
        peers=peers,
        suggestion=_suggestion(clearest, diagnosis, population, used),
        lines=log_noise.judge(failing, population),
        has_log=any(case.has_log for case in failing),
        sentence=Text(),
    )
    return _with_sentence(loop, clearest.taken_at, len(failing), attempts)


def _suggestion(case: ContainerCase, diagnosis: Diagnosis, population: Population, used: Used) -> Suggestion | None:
    if not (diagnosis.wants_memory or diagnosis.wants_cpu):
        return None
    return suggest(
        case.container,
        [usage for usage in used.get(case.workload, ()) if usage.container == case.container.name],
        [peer.usage for peer in population.peers(case) if peer.usage],
        working=[peer.container for peer in population.peers(case)],
        was_oom_killed=diagnosis.cause is Cause.OOM_OWN_LIMIT,
        is_short=True,
    )


Used = Mapping[str, Sequence[Usage]]  # workload key → what its pods were seen to use


def _activity(case: ContainerCase, diagnosis: Diagnosis) -> Activity:
    state = case.state
    if diagnosis.cause in (Cause.EVICTED, Cause.PREEMPTED) or (
        diagnosis.cause is Cause.NODE_LOST and case.pod.phase == "Failed"
    ):
        return Activity.GONE
    if state.restart_count == 0 and state.state == "waiting" and state.reason != "CrashLoopBackOff":
        return Activity.NOT_STARTING
    if state.restart_count == 0 and state.state == "running":
        return Activity.SILENT
    ago = None if case.ended_at is None else case.taken_at - case.ended_at
    if state.reason == "CrashLoopBackOff" or (state.restart_count > 1 and ago is not None and ago <= LOOPING_SECONDS):
        return Activity.LOOPING
    if ago is not None and ago > RECENT_SECONDS and state.state == "running":
        return Activity.SETTLED
    return Activity.RECURRING


def _since(failing: Sequence[ContainerCase]) -> float | None:
    warned = [
        event.first_seen_at
        for case in failing
        for event in case.events
        if event.kind == "Warning" and event.first_seen_at is not None
    ]
    if warned:
        return min(warned)
    began = [at for case in failing if (at := case.pod.started_at or case.pod.created_at) is not None]
    return min(began, default=None)


def _seconds_between(failing: Sequence[ContainerCase]) -> float | None:
    rates = [
        (case.taken_at - begin) / case.state.restart_count
        for case in failing
        if case.state.restart_count and (begin := case.pod.started_at or case.pod.created_at) is not None
    ]
    return min(rates, default=None)


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _with_sentence(loop: Loop, taken_at: float, failing: int, attempts: Refusals | None) -> Loop:
    name = short_name(loop.workload)
    container = f" ({loop.container})" if loop.container != name.rpartition("/")[2] else ""
    root = loop.diagnosis.root
    behind = f" {root[0].upper()}{root[1:]}." if root else ""
    how_often = (attempts.sentence if attempts is not None else "") or _how_often(loop, taken_at, failing)
    sentence = f"{name}{container} {loop.diagnosis.what}.{behind} {how_often}"
    return replace(loop, sentence=Text(sentence))


def _how_often(loop: Loop, taken_at: float, failing: int) -> str:
    pods = f"{failing:,} of {count(loop.pods_in_all, 'pod')}"
    if not loop.restarts:
        return f"{pods} so, no restart counted."
    each = f", up to {loop.most_restarts} a pod" if failing > 1 else ""
    pace = (
        f", one every {duration(loop.seconds_between)} on average" if loop.seconds_between and loop.restarts > 1 else ""
    )
    last = ""
    if loop.last_restart_at is not None:
        last = f", the last {duration(max(0.0, taken_at - loop.last_restart_at))} before the snapshot"
    return f"{pods}, {count(loop.restarts, 'restart')}{each}{pace}{last}."


def _report_sentence(loops: Sequence[Loop], population: Population) -> str:
    live = [loop for loop in loops if loop.is_live]
    watched = count(len(population.cases), "container")
    if not live:
        lost = sum(loop.activity is Activity.GONE for loop in loops)
        past = len(loops) - lost
        more = f"; {count(past, 'old restart')} long past" if past else ""
        more += f"; {count(lost, 'workload')} lost pods to their nodes or to others" if lost else ""
        return f"No container restarts or fails to start, of {watched} looked at{more}."
    names = listing([short_name(loop.workload) for loop in live])
    return f"{count(len(live), 'workload restarts or fails', 'workloads restart or fail')} to start, in {watched} looked at: {names}."


def _gaps(snapshot: Snapshot, population: Population) -> tuple[str, ...]:
    gaps: list[str] = []
    words = {Presence.REFUSED: "were refused (403)", Presence.ABSENT: "were not in the input"}
    for kind, kinds, use, listed in (
        ("Event", "Events", "probe failures and node losses are unknown, so few causes are certain", "events"),
        ("PodMetrics", "PodMetrics", "memory and CPU use are unknown", "pods.metrics.k8s.io"),
    ):
        # A quiet cluster may have no event at all, but none with pods that run has no PodMetrics: where nothing says
        # whether they were listed, only these are taken as not asked for.
        presence = snapshot.presence.get(kind, Presence.PRESENT if kind == "Event" else None)
        if kind == "PodMetrics" and not snapshot.pod_metrics and presence is None:
            presence = Presence.ABSENT
        if presence in words:
            how = f" Add them: kubectl get {listed} -A -o json." if presence is Presence.ABSENT else ""
            gaps.append(f"{kinds} {words[presence]}: {use}.{how}")
    if not any(case.has_log for case in population.cases):
        gaps.append(
            "There are no logs: processes killed inside a running container can't be seen, and noise can't be told apart. "
            "kubectl cluster-info dump --all-namespaces brings them."
        )
    return tuple(gaps)


# ── findings ─────────────────────────────────────────────────────────────────────────────────────────────────────────
_SEVERITY = {
    Activity.NOT_STARTING: Severity.ERROR,
    Activity.LOOPING: Severity.ERROR,
    Activity.SILENT: Severity.WARNING,
    Activity.RECURRING: Severity.WARNING,
    Activity.GONE: Severity.INFO,
    Activity.SETTLED: Severity.INFO,
}


def findings(snapshot: Snapshot) -> tuple[Finding, ...]:
    """One finding a loop that is still alive."""
    return tuple(
        Finding(
            severity=_SEVERITY[loop.activity],
            code=f"restarts-{loop.diagnosis.cause.value.replace('_', '-')}",
            object=loop.workload,
            what=str(loop.sentence).removesuffix("."),
            fix=loop.diagnosis.cure,
        )
        for loop in restarts(snapshot).loops
        if loop.activity is not Activity.SETTLED
    )
