"""Will these changes finish, why not, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from planner.capacity.growth import GROWING_REASONS, Growth, grow, waiting_shape
from planner.capacity.node_pools import NodePool
from planner.errors import ChangeError
from planner.kubernetes.records import Finding, FrozenMap, Severity, Snapshot, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.shares import rolling_limits
from planner.questions.placement import blocked_by, displaced
from planner.questions.prepared import Prepared, Scenario, compiled, prepare
from planner.rollout import grid as grids
from planner.rollout.answers import (
    PodState,
    Reason,
    Remedy,
    RolloutResult,
    StrategyGrid,
    TimelineRow,
    Verdict,
    WorkloadRollout,
)
from planner.rollout.budget import allowed
from planner.rollout.ownership import workloads_by_owner
from planner.rollout.pod_counts import Moment
from planner.rollout.remedies import find_remedies
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.ties import sample
from planner.rollout.timing import PodTimes, seconds_at
from planner.rollout.unknowns import Unknown, admission_hooks, unknowns
from planner.rollout.verdict import explain, pending_pods, placed_words
from planner.scheduling.cluster import Cluster
from planner.vocabulary import is_extended_resource
from planner.words import Text, count, duration

_MOST_ROWS = 400  # of a timeline: a chart can't show more


def rollout(
    snapshot: Snapshot,
    scenario: Scenario,
    pools: tuple[NodePool, ...] = (),
    arrival_seconds: float | None = None,
    is_wanted: Callable[[], bool] | None = None,
) -> RolloutResult:
    """Will these changes finish, why not, and what would help.

    Parameters
    ----------
    pools : tuple of NodePool
        Pools that may grow within their limits; without any, the cluster stays as it is.
    arrival_seconds : float, optional
        Until a new node takes pods; else `planner.capacity.growth`'s stated default.
    is_wanted : Callable, optional
        Asked now and then while the rollout is played; when it says no, the work stops (`UnwantedError`).

    Raises
    ------
    ChangeError
        When the scenario doesn't apply to the snapshot.
    """
    with allowed(is_wanted):
        return _rollout(snapshot, scenario, pools, arrival_seconds)


def _rollout(
    snapshot: Snapshot, scenario: Scenario, pools: tuple[NodePool, ...], arrival_seconds: float | None
) -> RolloutResult:
    prepared = prepare(snapshot, scenario)
    cluster = compiled(prepared.snapshot)
    first = simulate(cluster, prepared.revisions, seed=scenario.seed)
    run, ties = sample(cluster, prepared.revisions, first, seed=scenario.seed, runs=scenario.runs)
    keys = workload_keys_by_owner(run)
    parts = tuple(
        _workload_rollout(run, revision, pod_times, keys)
        for revision, pod_times in zip(prepared.revisions, prepared.pod_times, strict=True)
    )
    stuck = next((p for p in parts if p.verdict is not Verdict.COMPLETES), None)
    remedies: tuple[Remedy, ...] = ()
    if stuck is not None and stuck.verdict is Verdict.STUCK and scenario.with_remedies:
        place = parts.index(stuck)
        why = explain(run, prepared.revisions[place])
        remedies = find_remedies(
            cluster, prepared.revisions, stuck.workload, run, why, prepared.pod_times[place], seed=scenario.seed
        )
        remedies = tuple(_with_limit(remedy, pools) for remedy in remedies)
    told = stuck or max(parts, key=lambda p: p.seconds)
    unknown = tuple(u for r in prepared.revisions for u in unknowns(cluster, r, run.new_shapes.get(r.after.key)))
    verdict, sentence = told.verdict, told.sentence
    decisive = next((u for u in unknown if u.may_help or verdict is Verdict.COMPLETES), None)
    if decisive is not None:
        verb = "" if verdict is Verdict.COMPLETES else "is "
        verdict = Verdict.UNKNOWN
        sentence = Text(f"not known: {decisive.what}. Without that, it {verb}{told.sentence}")
    twice = _attached_twice(run, prepared.revisions)
    if twice:
        sentence = Text(f"{sentence}. But {twice[0].what}")
    result = RolloutResult(
        verdict=verdict,
        reason=told.reason,
        sentence=Text(sentence if len(parts) == 1 else _joint_sentence(parts, str(sentence))),
        workloads=parts,
        ticks=run.ticks,
        seconds=max(p.seconds for p in parts),
        peak_held=_peak_held(run),
        capacity=_capacity(cluster),
        pending=pending_pods(run, keys),
        timeline=parts[0].timeline,
        placement=_placement(run),
        ties=ties,
        remedies=remedies,
        findings=prepared.findings
        + twice
        + _not_played(prepared.snapshot, prepared.revisions)
        + tuple(_unknown_finding(prepared.revisions[0].after, u) for u in unknown)
        + blocked_by(cluster, run, prepared.revisions),
        preempted=displaced(run, prepared.revisions),
    )
    if stuck is None or not pools or stuck.reason not in GROWING_REASONS:
        return result
    answer = grow(
        cluster, prepared.revisions, run, waiting_shape(run, stuck.workload), pools,
        seed=scenario.seed, arrival_seconds=arrival_seconds,
    )  # fmt: skip
    if answer.growth is None:
        more = f"; {answer.sentence}" if answer.sentence else ""
        return replace(result, growth=answer.sentence, sentence=Text(f"{result.sentence}{more}"))
    return _needs_growth(result, prepared, answer.growth, keys)


def _with_limit(remedy: Remedy, pools: tuple[NodePool, ...]) -> Remedy:
    """A remedy that adds nodes, with what the pool's own limit says to that."""
    pool = next((p for p in pools if remedy.node_template and remedy.node_template in p.nodes), None)
    if pool is None:
        return remedy
    if pool.maximum is not None and len(pool.nodes) + remedy.extra_nodes > pool.maximum:
        more = f"the pool has {len(pool.nodes)} of at most {pool.maximum} nodes, so its maximum has to be raised first"
    elif pool.is_autoscaled is False:
        more = "the pool has a fixed size, so somebody has to resize it"
    else:
        return remedy
    return replace(remedy, sentence=Text(f"{remedy.sentence}; {more}"))


def _needs_growth(result: RolloutResult, prepared: Prepared, growth: Growth, keys: dict[str, str]) -> RolloutResult:
    """The stuck result turned into what the rollout is once the pool has grown; why it is stuck today stays."""
    run, wait = growth.run, growth.arrival_seconds
    parts = []
    for today, revision, pod_times in zip(result.workloads, prepared.revisions, prepared.pod_times, strict=True):
        grown = _workload_rollout(run, revision, pod_times, keys)
        if today.verdict is Verdict.COMPLETES:
            parts.append(today)
            continue
        seconds = grown.seconds + wait
        parts.append(
            replace(
                grown,
                verdict=Verdict.NEEDS_GROWTH,
                reason=today.reason,
                sentence=Text(
                    f"{growth.sentence}; about {duration(seconds)}, {duration(wait)} of it until nodes arrive. "
                    f"Today it is {today.sentence}"
                ),
                seconds=seconds,
                exceeds_deadline=grown.exceeds_deadline or wait > (grown.progress_deadline_seconds or float("inf")),
                timeline=_after_waiting(today.timeline, grown.timeline, wait),
                wait_for=today.wait_for,
                scheduler_message=today.scheduler_message,
            )
        )
    told = next(p for p in parts if p.verdict is Verdict.NEEDS_GROWTH)
    return replace(
        result,
        verdict=Verdict.NEEDS_GROWTH,
        sentence=Text(told.sentence if len(parts) == 1 else _joint_sentence(parts, str(told.sentence))),
        workloads=tuple(parts),
        ticks=run.ticks,
        seconds=max(p.seconds for p in parts),
        peak_held=_peak_held(run),
        capacity=_capacity(run.simulation.cluster),
        pending=pending_pods(run, keys),
        timeline=parts[0].timeline,
        placement=_placement(run),
        ties=None,
        growth=Text(growth.sentence),
    )


def _after_waiting(
    today: tuple[TimelineRow, ...], grown: tuple[TimelineRow, ...], wait: float
) -> tuple[TimelineRow, ...]:
    """The grown rollout's timeline, with what is seen until the nodes have arrived before it."""
    before = [replace(row, event=f"{row.event}; nodes are on their way") for row in today if row.tick == 0]
    return (grown[0], *before, *(replace(row, seconds=row.seconds + wait) for row in grown[1:]))


def _unknown_finding(workload: Workload, unknown: Unknown) -> Finding:
    return Finding(
        severity=Severity.WARNING, code="answer-incomplete", object=workload.key, what=unknown.what, mend=unknown.mend
    )  # fmt: skip


def _not_played(snapshot: Snapshot, revisions: Sequence[Revision]) -> tuple[Finding, ...]:
    """Webhooks and policies that may change or refuse what is rolled out."""
    found = []
    for revision in revisions:
        hooks = admission_hooks(snapshot, revision)
        if hooks:
            names = ", ".join(f"{hook.kind} {hook.name}" for hook in hooks)
            found.append(
                Finding(
                    severity=Severity.INFO, code="admission-not-played", object=revision.after.key,
                    what=f"{names} may change or refuse these pods or the workload: what they do is not played",
                    mend="See what a dry run says: kubectl apply --dry-run=server",
                )
            )  # fmt: skip
    return tuple(found)


def _attached_twice(run: Run, revisions: Sequence[Revision]) -> tuple[Finding, ...]:
    """A pod that kube-scheduler puts where its volume can't follow: nothing of it shows in what is scheduled."""
    names = run.simulation.cluster.node_names
    found: dict[str, Finding] = {}
    for claim, holder, pod in run.simulation.attached_twice:
        if pod.is_new and claim not in found:
            what = (
                f"the volume of claim {claim} (ReadWriteOnce) is attached to node {names[holder.node]}, and a new pod was "
                f"placed on {names[pod.node]} while {holder.name} still runs: it waits in ContainerCreating "
                "(Multi-Attach error) as long as that one does"
            )
            mend = "Use maxSurge 0 or the strategy Recreate, or a volume that several nodes may hold (ReadWriteMany)"
            found[claim] = Finding(
                severity=Severity.ERROR, code="volume-on-two-nodes", object=revisions[0].after.key, what=what, mend=mend
            )
    return tuple(found.values())


def _joint_sentence(parts: Sequence[WorkloadRollout], sentence: str) -> str:
    done = sum(p.verdict is Verdict.COMPLETES for p in parts)
    if done == len(parts):
        return f"completes: all {len(parts)} rollouts finish together"
    stuck = next(p for p in parts if p.verdict is not Verdict.COMPLETES)
    verb = "" if stuck.verdict is Verdict.NEEDS_GROWTH else "is "
    return f"{done} of {len(parts)} rollouts finish; {stuck.workload} {verb}{sentence}"


def workload_keys_by_owner(run: Run) -> dict[str, str]:
    """Owner key (``ReplicaSet/ml/worker-5cf5``) → workload key, for the snapshot's owners and the new ones."""
    found = dict(workloads_by_owner(run.simulation.cluster))
    for key, pods in run.pods.items():
        found.update({p.owner: key for p in pods})
    return found


def _peak_held(run: Run) -> FrozenMap[int]:
    peak: dict[str, int] = {}
    for moment in next(iter(run.moments.values())):
        for name, amount in moment.held.items():
            peak[name] = max(peak.get(name, 0), amount)
    return FrozenMap(peak)


def _capacity(cluster: Cluster) -> FrozenMap[int]:
    return FrozenMap(
        {name: int(cluster.allocatable[row].sum()) for name, row in cluster.row.items() if is_extended_resource(name)}
    )


def _placement(run: Run) -> tuple[tuple[str, str, str], ...]:
    names = run.simulation.cluster.node_names
    return tuple((p.namespace, p.name, names[p.node]) for pods in run.pods.values() for p in pods if p.is_bound)


def _workload_rollout(run: Run, revision: Revision, pod_times: PodTimes, keys: dict[str, str]) -> WorkloadRollout:
    after = revision.after
    key = after.key
    moments = run.moments[key]
    times = seconds_at(moments, pod_times)
    done = run.done[key]
    why = None if done else explain(run, revision)
    surge, unavailable = rolling_limits(after)
    lowest = min(m.ready for m in moments[1:])
    end = _end(run, key)
    seconds = times[end]
    deadline = after.progress_deadline_seconds
    return WorkloadRollout(
        workload=key,
        verdict=run.verdict(key),
        reason=why.reason if why else Reason.NONE,
        sentence=Text(why.sentence if why else _completes(run, revision, lowest, seconds, end)),
        replicas=after.replicas,
        max_surge=surge,
        max_unavailable=unavailable,
        strategy_kind=after.strategy.kind,
        is_new_revision=revision.has_new_template,
        peak_pods=max(m.pods for m in moments[1:]),
        lowest_ready=lowest,
        ticks=moments[end].tick,
        seconds=seconds,
        progress_deadline_seconds=deadline,
        exceeds_deadline=deadline is not None and _longest_wait(moments, times) > deadline,
        final=FrozenMap(run.status[key]),
        pending=tuple(p for p in pending_pods(run, keys) if p.workload == key),
        timeline=_timeline(moments, times),
        wait_for=why.wait_for if why else (),
        requests=pod_requests(after.template.spec),
        scheduler_message=Text(why.scheduler_message if why else ""),
        quota_message=Text(why.quota_message if why else ""),
        startup_seconds=pod_times.startup_seconds,
        startup_source=pod_times.source,
        termination_seconds=pod_times.termination_seconds,
    )


def _end(run: Run, key: str) -> int:
    """Index of the moment at which the workload was done, else of the last."""
    finished = run.finished_at[key]
    moments = run.moments[key]
    if finished < 0:
        return len(moments) - 1
    return next((i for i, m in enumerate(moments) if m.tick == finished and i > 0), len(moments) - 1)


def _longest_wait(moments: Sequence[Moment], times: Sequence[float]) -> float:
    """Longest time without progress: the Deployment controller's deadline starts anew with each new Ready pod."""
    longest = since = 0.0
    best = moments[0]
    for moment, time in zip(moments, times, strict=True):
        if moment.new_ready > best.new_ready or moment.old_ready + moment.old_not_ready < best.old_ready + best.old_not_ready:  # fmt: skip
            longest, since, best = max(longest, time - since), time, moment
    return max(longest, times[-1] - since)


def _completes(run: Run, revision: Revision, lowest: int, seconds: float, end: int) -> str:
    after = revision.after
    steps = run.moments[after.key][end].tick
    if not revision.has_new_template and steps == 0:
        return "completes: nothing has to move"
    if placed := placed_words(run, revision):
        return f"completes: {placed}, Ready in about {duration(seconds)}"
    return (
        f"completes in {count(steps, 'step')}, about {duration(seconds)}; "
        f"at worst {lowest} of {after.replicas or _desired(run, after)} pods are Ready"
    )


def _desired(run: Run, after: Workload) -> int:
    return run.status[after.key].get("desiredNumberScheduled", after.replicas)


def _timeline(moments: Sequence[Moment], times: Sequence[float]) -> tuple[TimelineRow, ...]:
    """A row a moment; of very many moments evenly chosen ones, the first and the last kept."""
    step = max(1, -(-len(moments) // _MOST_ROWS))
    kept = sorted({*range(0, len(moments), step), len(moments) - 1})
    return tuple(_row(moments[i], times[i], moments[i - 1] if i else None) for i in kept)


def _row(moment: Moment, seconds: float, previous: Moment | None) -> TimelineRow:
    counts = {
        PodState.OLD_READY.value: moment.old_ready,
        PodState.OLD_NOT_READY.value: moment.old_not_ready,
        PodState.NEW_READY.value: moment.new_ready,
        PodState.NEW_STARTING.value: moment.new_starting,
        PodState.PENDING.value: moment.pending,
        PodState.TERMINATING.value: moment.terminating,
    }
    return TimelineRow(
        tick=moment.tick,
        seconds=seconds,
        counts=FrozenMap(counts),
        ready=moment.ready,
        held=FrozenMap(moment.held),
        held_by_workload=FrozenMap(moment.held_by_workload),
        event=_event(previous, moment),
    )


def _event(previous: Moment | None, moment: Moment) -> str:
    if previous is None:
        return "before the change"
    parts = []
    ready = moment.new_ready - previous.new_ready
    if ready > 0:
        parts.append(f"{ready} new Ready")
    if moment.new_starting:
        parts.append(f"{moment.new_starting} starting")
    gone = previous.terminating and f"{previous.terminating} gone"
    if gone:
        parts.append(gone)
    if moment.terminating:
        parts.append(f"{moment.terminating} terminating")
    if moment.pending:
        parts.append(f"{moment.pending} waiting for a node")
    return ", ".join(parts) or "nothing left to do"


def strategy_grid(
    snapshot: Snapshot, scenario: Scenario, workload_key: str, is_wanted: Callable[[], bool] | None = None
) -> StrategyGrid:
    """Every maxSurge × maxUnavailable for one Deployment of the scenario."""
    prepared = prepare(snapshot, scenario)
    place = next((i for i, r in enumerate(prepared.revisions) if r.after.key == workload_key), None)
    if place is None or prepared.revisions[place].after.kind != "Deployment":
        raise ChangeError(
            f"{workload_key} is no Deployment of the scenario", mend="The strategy grid is for a changed Deployment"
        )
    with allowed(is_wanted):
        return grids.strategy_grid(
            compiled(prepared.snapshot),
            prepared.revisions,
            workload_key,
            seed=scenario.seed,
            pod_times=prepared.pod_times[place],
        )
