"""Turns a run into an answer: each workload's outcome, timeline, end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from planner.ground.records import replace
from planner.ground.well_known_names import is_extended_resource
from planner.ground.words import NO_WORDS, Text, count, duration, listing, plural, short_name
from planner.inventory.finding_texts import DAEMON_NODES, finding
from planner.inventory.patch_and_undo import Applied, applied
from planner.kubernetes.autoscaler_replica_bounds import settled_replicas
from planner.kubernetes.node_properties import is_ready
from planner.kubernetes.object_records import EMPTY, Finding, FrozenMap, Node, PodSpec, Severity, Snapshot, Workload
from planner.kubernetes.pod_template_kinds import templated
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import tolerates_taints
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.rollout.answers import (
    GROWING_REASONS,
    MEANWHILE,
    NODES_ON_THEIR_WAY,
    Extremes,
    PendingPods,
    Placement,
    PodState,
    Reason,
    RolloutResult,
    Ties,
    TimelineRow,
    Verdict,
    VolumeCure,
    WorkloadRollout,
)
from planner.rollout.clock import LONGEST_RETRY_MS
from planner.rollout.controllers.daemonset import daemon_nodes, daemon_spec
from planner.rollout.doubts import Doubt, Effect, each_once
from planner.rollout.in_flight import flight_words as told_of
from planner.rollout.kueue_evictions import eviction_words
from planner.rollout.ownership import workloads_by_owner
from planner.rollout.pod_counts import Moment
from planner.rollout.pod_durations import PodTimes, seconds_at
from planner.rollout.prepared_change import Scenario
from planner.rollout.room_when_empty import RoomWhenEmpty
from planner.rollout.run import Revision, Run
from planner.rollout.silent_node_cures import cures, with_cures
from planner.rollout.simulation_limits import LIMITS
from planner.rollout.stuck_diagnosis import Impasse, explain, placed_words, volume_name, volume_waits
from planner.rollout.unknowns import Unknown, of_its_node, unplayed_hooks
from planner.rollout.verdict_wording import stay_ready
from planner.scheduling.cluster import Cluster


def until_they_come(timeline: tuple[TimelineRow, ...], arrivals: Collection[str]) -> tuple[TimelineRow, ...]:
    """The timeline with a word in the rows before nodes arrive; `arrivals`: how those events are told."""
    comes = [any(f"meanwhile {words}" in row.event for words in arrivals) for row in timeline]
    return tuple(
        replace(row, event=f"{row.event}; {NODES_ON_THEIR_WAY}") if is_next else row
        for row, is_next in zip(timeline, (*comes[1:], False), strict=True)
    )


def unknown_finding(key: str, unknown: Unknown) -> Finding:
    """What isn't known of a workload's rollout, as a finding."""
    return Finding(
        severity=Severity.WARNING, code="answer-incomplete", object=key, what=unknown.what, fix=unknown.fix
    )  # fmt: skip


def unsimulated_admission(snapshot: Snapshot, revisions: Sequence[Revision]) -> Iterator[Finding]:
    """Webhooks and policies that may change or refuse what is rolled out. A dry run asks those that see the workload; its pods' come only
    when its controller makes them."""
    for revision in revisions:
        after = revision.after
        if hooks := unplayed_hooks(snapshot, revision):
            names = ", ".join(f"{hook.kind} {hook.name}" for hook in hooks)
            what = f"{names} may change or refuse these pods or the workload: what they do is not played"
            fix = "A dry run of the workload doesn't ask them: they see its pods, which its controller makes later"
            if any(hook.is_about(after.traits.group, after.traits.resource) for hook in hooks):
                fix = "See what a dry run says: kubectl apply --dry-run=server"
            yield Finding(severity=Severity.INFO, code="admission-not-played", object=after.key, what=what, fix=fix)


def owned_by(snapshot: Snapshot, revisions: Sequence[Revision]) -> Iterator[Finding]:
    """Workloads that another object made: where what is asked for has to be set."""
    for revision in revisions:
        owner = revision.after.owner
        if owner is None or revision.placed is not None or not revision.after.traits.rolls_out:
            continue
        unplayed_owner = next(
            (unplayed for unplayed in snapshot.unplayed if owner.uid and unplayed.uid == owner.uid), None
        )
        row = templated(unplayed_owner.kind, f"{unplayed_owner.api_group}/") if unplayed_owner is not None else None
        # an operator may hand a strategy on: KServe's InferenceService its spec.predictor.deploymentStrategy
        through = row.updates.through if row is not None and row.updates is not None else ""
        place = f"spec.{through}.deploymentStrategy there" if through else "it there"
        what = f"belongs to {owner.kind} {owner.name}, whose controller sets back what is set on it"
        yield Finding(
            severity=Severity.INFO, code="owned-by-another", object=revision.after.key, what=what, fix=f"Set {place}"
        )


def retried_quota_run(run: Run, revisions: Sequence[Revision]) -> Iterator[Finding]:
    """A rollout that goes on only when a ReplicaSet tries once more to make the pods that a quota refused it.

    Source: client-go `util/workqueue/default_rate_limiters.go`: the delay doubles from 5 ms up to 1,000 s; kubernetes#98656.
    """
    if run.retried:
        yield Finding(
            severity=Severity.INFO, code="quota-retried", object=revisions[0].after.key,
            what="a quota refuses pods on the way, and who makes them tries again ever more rarely: each time it may take up to "
            f"{duration(LONGEST_RETRY_MS / 1_000)} more than is said",
            fix="Raise the quota by what the surge asks for, or set maxSurge to 0",
        )  # fmt: skip


def turned_away(run: Run, revisions: Sequence[Revision]) -> Iterator[Finding]:
    """Pods that name a node without room for them: they don't wait, as they are played, but fail, and others are made at once.
    Source: kubernetes pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/cm/devicemanager; `IsPodActive` in pkg/controller."""
    cluster = run.simulation.cluster
    for after in (revision.after for revision in revisions):
        on, new = cluster.node_index.get(after.template.spec.node_name), run.new_shapes.get(after.key)
        comes = on is not None and new is not None and on in new.candidates and is_ready(cluster.nodes[on])
        waits = comes and any(m.pending for m in run.moments[after.key])
        if waits and not of_its_node(cluster, after.template.spec):
            yield Finding(
                severity=Severity.WARNING, code="pods-turned-away", object=after.key,
                what="its pods name their node (nodeName): while that has no room, its kubelet refuses each one (OutOf…, "
                "UnexpectedAdmissionError), and the next is made at once, again and again",
                fix="Give a nodeSelector in place of nodeName: such pods wait for room",
            )  # fmt: skip


def volumes_elsewhere(run: Run, revisions: Sequence[Revision], cures: Sequence[VolumeCure] = ()) -> Iterator[Finding]:
    """Pods that kube-scheduler put where their volume can't follow: nothing of it shows in what is scheduled."""
    names = run.simulation.cluster.node_names
    for key in (revision.after.key for revision in revisions if not run.done[revision.after.key]):
        # The first pod that waits stands for its volume: reversed, so that it is written last.
        waits = {wait.volume.key: wait for wait in reversed(volume_waits(run, key))}
        for wait in waits.values():
            holders = listing([f"{pod.namespace}/{pod.name}" for pod in wait.pods], 3)
            what = (
                f"{volume_name(wait)} is attached to {listing([names[place] for place in wait.holders])}"
                f"{f' for {holders}' if holders else ''}, and {wait.pod.name} was placed on {names[wait.pod.node]}: it waits in "
                "ContainerCreating (Multi-Attach error) until no pod there uses it"
            )
            fix = "; or: ".join(str(cure.sentence) for cure in cures) or _SHARED
            yield Finding(severity=Severity.WARNING, code="volume-on-two-nodes", object=key, what=what, fix=fix)


_SHARED: Final = "A volume that several nodes may have at once (ReadWriteMany) avoids it"


def less_sure(sentence: str, but: str | Text) -> Text:
    """`sentence` with what may decide otherwise, wherever it is told."""
    return Text(f"{sentence}. {but}" if but else sentence)


def jointly(parts: Sequence[WorkloadRollout], shown: WorkloadRollout, but: str | Text = "") -> tuple[Text, Text]:
    """How several rollouts go together, in a sentence and in a dozen words; `shown` is the one that decides. `but`: what may decide
    otherwise, which one alone has said."""
    if len(parts) == 1:
        return shown.sentence, shown.headline
    done, every = [p.verdict is Verdict.COMPLETES for p in parts], f"{len(parts):,}"
    if all(done):
        takes = duration(max(p.seconds for p in parts))
        return (
            less_sure(f"completes: all {every} rollouts finish together", but),
            Text(f"all {every} finish together, in about {takes}"),
        )
    first = parts[done.index(False)] if shown.verdict is Verdict.COMPLETES else shown
    is_once = first.verdict in (Verdict.NEEDS_GROWTH, Verdict.EVICTIONS_BY_QUEUE)
    finished_text, verb = f"{sum(done):,} of {every}", "" if is_once else "is "
    return (
        less_sure(f"{finished_text} rollouts finish; {first.workload} {verb}{shown.sentence}", but),
        Text(f"{finished_text} finish; of {short_name(first.workload)} {shown.headline}"),
    )


def workload_keys_by_owner(run: Run) -> dict[str, str]:
    """Owner key (``ReplicaSet/ml/worker-5cf5``) → workload key, for the snapshot's owners and the new ones."""
    keys = dict(workloads_by_owner(run.simulation.cluster))
    for key, pods in run.pods.items():
        keys.update({p.owner: key for p in pods})
    return keys


def peak_held(run: Run) -> FrozenMap[int]:
    """The most of each resource that the changed pods held at once."""
    peak: dict[str, int] = {}
    for moment in next(iter(run.moments.values())):
        for name, amount in moment.held.items():
            peak[name] = max(peak.get(name, 0), amount)
    return FrozenMap(peak)


def capacity_of(cluster: Cluster) -> FrozenMap[int]:
    """What the nodes have of each extended resource."""
    return FrozenMap(
        {name: int(cluster.allocatable[row].sum()) for name, row in cluster.row.items() if is_extended_resource(name)}
    )


def placement_of(run: Run) -> Sequence[tuple[str, str, str]]:
    """Where the changed pods ended: namespace, name and node of each."""

    def in_the_end() -> tuple[tuple[str, str, str], ...]:
        played = run.played_on()
        return () if played.is_cut else _places(played)  # none are known where that is too large to play

    return Placement(in_the_end) if run.is_counted else _places(run)


def _places(run: Run) -> tuple[tuple[str, str, str], ...]:
    names = run.simulation.cluster.node_names
    pods = (pod for workload_pods in run.pods.values() for pod in workload_pods)
    return tuple((p.namespace, p.name, names[p.node]) for p in pods if p.is_bound and not p.is_lost)


def _stuck(run: Run, revision: Revision, why: Impasse) -> str:
    """Why it is, and that no strategy helps where the nodes couldn't hold all its pods anyway."""
    if why.reason not in GROWING_REASONS:
        return str(why.sentence)
    most, replicas = RoomWhenEmpty.of(run, revision).most(run.simulation.cluster), run.replicas[revision.after.key]
    if not most or most >= replicas:
        return str(why.sentence)
    return f"{why.sentence}. With nothing else on them the nodes that match hold at most {most:,} of its {count(replicas, 'pod')}"


def workload_rollout(
    run: Run,
    revision: Revision,
    pod_times: PodTimes,
    pending: Iterable[PendingPods],
    but: str = "",
    ties: Ties | None = None,
) -> WorkloadRollout:
    """What became of one changed workload. `pending`: all that wait at the end (`pending_pods`); `but`: what may decide otherwise, which is
    said of it where nothing else changes; `ties`: of the placements tried, of which `run` is the one that is shown."""
    after = revision.after
    key = after.key
    moments = run.moments[key]
    times = seconds_at(moments, pod_times, run.tick_ends)
    done = run.done[key]
    cured = cures(run, revision)
    why = None if done else with_cures(explain(run, revision), cured)
    surge, unavailable = rolling_limits(after)
    shown = Extremes(lowest_ready=run.lowest_ready(key), peak_pods=run.most_pods(key))
    worst = shown if ties is None else ties.extremes.get(key, shown)
    end = _end(run, key)
    seconds = times[end]
    sentence, headline = (
        (_stuck(run, revision, why), why.headline)
        if why
        else _completes(run, revision, worst.lowest_ready, seconds, end, ties)
    )
    if why is None and revision.evicts:
        sentence, headline = after_evictions_words(revision, sentence, headline)
    deadline = after.progress_deadline_seconds
    return WorkloadRollout(
        workload=key,
        verdict=run.verdict(key),
        reason=why.reason if why else Reason.NONE,
        sentence=less_sure(sentence, but if len(run.revisions) == 1 else ""),
        headline=Text(headline),
        replicas=_desired(run, after),
        max_surge=surge,
        max_unavailable=unavailable,
        strategy_kind=after.strategy.kind,
        is_new_revision=revision.has_new_template,
        peak_pods=worst.peak_pods,
        lowest_ready=worst.lowest_ready,
        shown_peak_pods=shown.peak_pods if shown.peak_pods != worst.peak_pods else None,
        shown_lowest_ready=shown.lowest_ready if shown.lowest_ready != worst.lowest_ready else None,
        is_lowest_bound=worst.is_bound,
        ticks=moments[end].tick,
        seconds=seconds,
        progress_deadline_seconds=deadline,
        exceeds_deadline=deadline is not None and _longest_wait(moments[: end + 1], times[: end + 1]) > deadline,
        final=FrozenMap(run.status[key]),
        pending=tuple(pods for pods in pending if pods.workload == key),
        timeline=_timeline(moments, times, run.awaited[key]),
        wait_for=why.wait_for if why else (),
        requests=pod_requests(after.template.spec),
        cures=cured,
        scheduler_message=Text(why.scheduler_message if why else ""),
        quota_message=Text(why.quota_message if why else ""),
        startup_seconds=pod_times.startup_seconds,
        startup_source=pod_times.source,
        termination_seconds=pod_times.termination_seconds,
        termination_source=pod_times.termination_source,
        evicts=revision.evicts,
    )


def after_evictions_words(revision: Revision, sentence: str, headline: str | Text) -> tuple[str, str]:
    """The words of a rollout that completes, where Kueue evicts others for it first."""
    others = listing([eviction.workload for eviction in revision.evicts], 3)
    sentence_text = f"completes once {eviction_words(revision.evicts)}; {sentence.removeprefix('completes: ')}"
    return sentence_text, f"Kueue evicts {others} for it; {headline}"


def _end(run: Run, key: str) -> int:
    """Index of the moment at which the workload was done, else of the last."""
    finished = run.finished_moment[key]
    return finished if finished >= 0 else len(run.moments[key]) - 1


def _longest_wait(moments: Sequence[Moment], times: Sequence[float]) -> float:
    """Longest time without progress: the Deployment controller's deadline starts anew with each new Ready pod."""
    longest = since = 0.0
    best = moments[0]
    for moment, time in zip(moments, times, strict=True):
        if moment.new_ready > best.new_ready or moment.old_ready + moment.old_not_ready < best.old_ready + best.old_not_ready:  # fmt: skip
            longest, since, best = max(longest, time - since), time, moment
    return max(longest, times[-1] - since)


def _completes(
    run: Run, revision: Revision, lowest: int, seconds: float, end: int, ties: Ties | None
) -> tuple[str, str]:
    """In a sentence, and in a dozen words without the verdict."""
    after, takes = revision.after, f"about {duration(seconds)}"
    steps, pods = run.moments[after.key][end].tick, _desired(run, after)
    if revision.placed is not None and revision.placed.idle:
        return f"completes: {revision.placed.idle_words}", revision.placed.idle_words
    if not revision.has_new_template and steps == 0:
        return "completes: nothing has to move", "nothing has to move"
    if placed := placed_words(run, revision):
        return f"completes: {placed}, Ready in {takes}", f"its pods are placed and Ready in {takes}"
    waiting = sum(not pod.is_bound for pod in run.pods[after.key]) if after.groups is not None else 0
    but = f"; {count(waiting, 'pod')} of its groups wait{'s' * (waiting == 1)} for a node all the same: LeaderWorkerSet asks for them since 0.9"
    ready = f"at worst {lowest:,} of {count(pods, 'pod is', 'pods are')} Ready"
    if ties is not None and lowest != (own := run.lowest_ready(after.key)):
        ready += f" in {ties.runs:,} placements, {own:,} in the one shown"
    completion_text = f"completes in {count(steps, 'step')}, {takes}; {ready}"
    return f"{completion_text}{but if waiting else ''}", f"it finishes in {takes}; {stay_ready(lowest, pods)}"


def left_out_nodes(cluster: Cluster, revisions: Sequence[Revision]) -> Iterator[Finding]:
    """Of each DaemonSet that doesn't run on all nodes: on how many, and what keeps it from the others (`nodeShouldRunDaemonPod`)."""
    for revision in revisions:
        if revision.placed is not None or not revision.after.traits.is_per_node:
            continue
        spec = daemon_spec(revision.after)
        targets = set(daemon_nodes(cluster, spec))
        others = [node for place, node in enumerate(cluster.nodes) if place not in targets]
        if not others:
            continue
        reasons = Counter(_why_left_out(spec, node) for node in others)
        reasons_text = "; ".join(
            f"{number:,} {plural(number, 'has', 'have')} {why}" for why, number in reasons.most_common()
        )
        nodes = count(len(cluster.nodes), "node")
        yield finding(DAEMON_NODES, revision.after.key, targets=f"{len(targets):,}", nodes=nodes, why=reasons_text)


def _why_left_out(spec: PodSpec, node: Node) -> str:
    """``the taint nvidia.com/gpu=present:NoSchedule``: the first that the pods don't tolerate, else another reason."""
    for taint in node.taints:
        if not tolerates_taints(spec.tolerations, (taint,)):
            return f"the taint {taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
    return "labels that the node selector or affinity rules out" if not spec.node_name else "another name"


def _desired(run: Run, after: Workload) -> int:
    desired_pods = replace(after, replicas=run.replicas[after.key]).pods_wanted
    return run.status[after.key].get("desiredNumberScheduled", desired_pods)


def _timeline(moments: Sequence[Moment], times: Sequence[float], awaited: Mapping[int, str]) -> tuple[TimelineRow, ...]:
    """A row a moment; of very many moments evenly chosen ones, the first and the last kept."""
    step = max(1, -(-len(moments) // LIMITS.timeline_rows))
    shown_moments = sorted({*range(0, len(moments), step), len(moments) - 1})
    return tuple(_row(moments[i], times[i], moments[i - 1] if i else None, awaited.get(i, "")) for i in shown_moments)


def _row(moment: Moment, seconds: float, previous: Moment | None, awaits: str) -> TimelineRow:
    return TimelineRow(
        tick=moment.tick,
        seconds=seconds,
        counts=FrozenMap({state.value: getattr(moment, state.value) for state in PodState}),
        ready=moment.ready,
        held=FrozenMap(moment.held),
        held_by_workload=FrozenMap(moment.held_by_workload),
        event=event_words(previous, moment, awaits),
    )


def event_words(previous: Moment | None, moment: Moment, awaits: str = "") -> str:
    """What happened since `previous`; where that is nothing, what is waited for, if the run goes on."""
    if previous is None:
        return "before the change"
    counted = (
        (moment.new_ready - previous.new_ready, "new Ready"),
        (moment.new_starting, "starting"),
        (previous.terminating, "gone"),
        (moment.terminating, "terminating"),
        (moment.pending, "waiting for a node"),
    )
    parts = [f"{MEANWHILE}{words}" for words in moment.events] + [f"{n} {what}" for n, what in counted if n > 0]
    return ", ".join(parts) or awaits or "nothing left to do"


def with_unknowns(
    result: RolloutResult, unknown: Sequence[tuple[str, Unknown]], errors: Sequence[Finding]
) -> RolloutResult:
    """`result` with what isn't known among its doubts, and the errors that its verdict goes with."""
    reasons = [(key, detail.what, detail.fix, detail.may_help) for key, detail in unknown]
    reasons += [(error.object, error.what, error.fix, False) for error in errors]
    doubts = [
        Doubt(
            about=about, why=Text(what), advice=fix,
            could_change=Effect.VERDICT if may_help or result.verdict is not Verdict.STUCK else Effect.NOTHING,
        )
        for about, what, fix, may_help in reasons
    ]  # fmt: skip
    return replace(result, doubts=each_once((*doubts, *result.doubts)), findings=(*errors, *result.findings))


def unplayed(result: RolloutResult, unknown: Sequence[tuple[str, Unknown]]) -> RolloutResult:
    """`result` without anything that was played: of a cluster whose nodes or pods weren't seen none of it is true."""
    if result.verdict is not Verdict.UNKNOWN:  # nothing moves
        return result
    what = next(detail.what for _, detail in unknown if detail.may_help)
    text, headline = Text(f"not known: {what}"), Text("whether it finishes depends on what isn't known")
    parts = tuple(
        replace(
            workload, verdict=Verdict.UNKNOWN, reason=Reason.UNKNOWN, sentence=text, headline=headline, peak_pods=0, lowest_ready=0,
            shown_peak_pods=None, shown_lowest_ready=None, is_lowest_bound=False,
            ticks=0, seconds=0.0, exceeds_deadline=False, final=EMPTY, pending=(), timeline=(), wait_for=(),
            scheduler_message=NO_WORDS, quota_message=NO_WORDS,
        )
        for workload in result.workloads
    )  # fmt: skip
    return replace(
        result, reason=Reason.UNKNOWN, sentence=text, but=NO_WORDS, headline=headline, workloads=parts, ticks=0, seconds=0.0, peak_held=EMPTY,
        capacity=EMPTY, pending=(), timeline=(), placement=(), remedies=(), preempted=(), in_flight=(), meanwhile=(), growth=NO_WORDS,
        extra_nodes=0, extra_gpus=0, fewest_nodes=0, new_nodes=(), doubts=(),
        unasked_nodes=(), unasked_node_seconds=0.0, unasked_usd=None,
    )  # fmt: skip


def applied_changes(snapshot: Snapshot, scenario: Scenario, revisions: Sequence[Revision]) -> tuple[Applied, ...]:
    """How each change is applied and undone; one that only has replicas which its autoscaler sets is none."""
    patches = {change.workload: change.patch for change in scenario.changes}
    applied_texts = (
        applied(r.before, r.after, patches.get(r.after.key, ""), r.applied)
        for r in revisions
        if r.before is not None
        and r.after != replace(r.before, replicas=settled_replicas(snapshot, r.before))  # by itself
    )
    return tuple(change for change in applied_texts if change is not None)


def others_in_flight(cluster: Cluster, run: Run) -> Iterator[Finding]:
    """Those that were played beside the change, in one line."""
    words = [str(told_of(cluster, in_flight)) for in_flight in run.others[: LIMITS.others_named]]
    if (more := len(run.others) - LIMITS.others_named) > 0:
        words.append(f"so {plural(more, 'is', 'are')} {more:,} more")
    if words:
        yield Finding(
            severity=Severity.INFO, code="others-in-flight", object=run.others[0].key,
            what=f"{'; '.join(words)}: played on beside the change",
            fix="The verdict is of a cluster in motion: ask again when they are done",
        )  # fmt: skip
