"""Will these changes finish, why not, and what would help."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

from planner.budget import part
from planner.capacity import node_pools
from planner.capacity.growth import GROWING_REASONS, Growth, grow, waiting_shape
from planner.capacity.node_pools import NodePool
from planner.capacity.scale_ups import failed_scale_ups
from planner.errors import ChangeError
from planner.exit_status import ExitStatus, gravest
from planner.inventory.applied import Applied, applied
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes import kinds
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.nodes import ARRIVAL_SOURCE, ARRIVAL_WORDS
from planner.kubernetes.records import EMPTY, AdmissionHook, Finding, FrozenMap, Labels, Severity, Snapshot, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.shares import parse_share, rolling_limits
from planner.quantity import parse
from planner.questions.placement import blocked_by, displaced
from planner.questions.pool_settings import PoolSettings
from planner.questions.prepared import Prepared, Scenario, compiled, manifest_namespace, prepare, unread_files
from planner.questions.question import EXIT, NOTHING, Fact, Given, Question, column_of, fact, unit_of
from planner.questions.scaled import At, at_bound
from planner.rollout import grid as grids
from planner.rollout.answers import (
    OtherInFlight,
    PodState,
    Reason,
    Remedy,
    RolloutResult,
    StrategyGrid,
    TimelineRow,
    Verdict,
    WorkloadRollout,
)
from planner.rollout.in_flight import told as told_of
from planner.rollout.meanwhile import OtherClocks, hedged, moved, on_other_clocks, scaled_at_once, unread_autoscalers
from planner.rollout.ownership import workloads_by_owner
from planner.rollout.pod_counts import Moment
from planner.rollout.remedies import find_remedies
from planner.rollout.room import Room
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.ties import sample
from planner.rollout.timing import PodTimes, seconds_at
from planner.rollout.unknowns import Unknown, admission_hooks, unknowns
from planner.rollout.verdict import Explanation, explain, pending_pods, placed_words
from planner.rollout.wording import stay_ready
from planner.scheduling.cluster import Cluster
from planner.settings import setting, settings_within
from planner.tables import Row
from planner.vocabulary import CPU, MEMORY, NVIDIA_GPU, is_extended_resource
from planner.words import Text, count, duration, plural, short_name

_MOST_TOLD = 3  # of those in flight, by name
_MOST_ROWS = 400  # of a timeline: a chart can't show more
_MOST_SECONDS: Final = 86_400
_LABEL = re.compile(r"([\w./-]{1,317})\s*=\s*([\w.-]{0,63})", re.ASCII)  # about what the API server takes


def parse_node_selector(text: str) -> Labels:
    """``disk=ssd, zone=a``; ``none`` is the empty one.

    Raises
    ------
    ChangeError
        For anything else.
    """
    if text.lower() == "none":
        return EMPTY
    pairs = [_LABEL.fullmatch(part.strip()) for part in text.split(",")]
    if not all(pairs):
        raise ChangeError(f'"{text[:60]}" is not a node selector', mend='Write it like "disk=ssd, zone=a"')
    return FrozenMap({pair[1]: pair[2] for pair in pairs if pair})


class StrategyKind(StrEnum):
    """A workload's strategy, as Kubernetes names it."""

    ROLLING_UPDATE = kinds.ROLLING_UPDATE
    RECREATE = kinds.RECREATE
    ON_DELETE = kinds.ON_DELETE


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """What is changed, and how the rollout is played. Every change goes to each of `workloads`; `also` roll out as
    they are in the same moment."""

    workloads: tuple[str, ...] = setting(
        (), name="workload", short="-w", help="kind/namespace/name; several are changed together."
    )
    after_seconds: float = setting(
        0, label="So many seconds later", least=0, most=_MOST_SECONDS,
        help="The change comes so many seconds after those rolled out together with it; others that are in flight go on meanwhile.",
    )  # fmt: skip
    also: tuple[str, ...] = setting(
        (), label="Rolled out together with",
        help="Another workload rolled out in the same moment, as it is: they share the free capacity.",
    )  # fmt: skip
    manifest: str = setting(
        "", on_command=False, is_private=True,
        help="What kubectl apply -f would get: several documents, new workloads too.",
    )  # fmt: skip
    namespace: str = manifest_namespace()
    unread: tuple[str, ...] = unread_files()
    patch: str = setting(
        "", label="Strategic merge patch", on_command=False, is_private=True,
        help="JSON or YAML, as kubectl patch takes it. Applied first.",
    )  # fmt: skip
    strategy: StrategyKind | None = setting(None, help="Another update strategy.")
    max_surge: int | str | None = setting(
        None, label="maxSurge", parse=parse_share, form="N",
        help='Pods above the wanted number: a number or a share, such as 1 or "25%".',
    )  # fmt: skip
    max_unavailable: int | str | None = setting(
        None, label="maxUnavailable", parse=parse_share, form="N",
        help='Pods that may be missing meanwhile: a number or a share, such as 1 or "25%".',
    )  # fmt: skip
    replicas: int | None = setting(None, least=0, most=100_000, help="Replicas after the change.")
    cpu: int | None = setting(
        None, label="CPU per pod", parse=partial(parse, resource=CPU), form="Q", help="CPU request per pod: 500m or 2."
    )
    memory: int | None = setting(
        None, label="Memory per pod", parse=partial(parse, resource=MEMORY), form="Q",
        help="Memory request per pod: 8Gi.",
    )  # fmt: skip
    gpu: int | None = setting(
        None, label="GPUs per pod", parse=partial(parse, resource=NVIDIA_GPU), form="N",
        help="GPUs per pod, of the resource its pods ask for.",
    )  # fmt: skip
    node_selector: Labels | None = setting(
        None,
        parse=parse_node_selector,
        form="A=B,C=D",
        help='Node selector: key=value, key=value; "none" takes it away.',
    )
    scale_only: bool = setting(
        False, label="Only scale", help="Keep the pod template: no new revision, pods are added or removed."
    )
    never_ready: bool = setting(
        False, label="New pods never become Ready",
        help="Suppose that the new pods start and never become Ready, as with a broken image or a failing probe.",
    )  # fmt: skip
    startup_seconds: float | None = setting(
        None, label="Start-up, seconds", least=0, most=_MOST_SECONDS,
        help="From bound to Ready; else learnt from the snapshot where it shows it.",
    )  # fmt: skip
    termination_seconds: float | None = setting(
        None, label="Termination, seconds", least=0, most=_MOST_SECONDS,
        help="From deletion until the pod is gone and its GPU is free; else its grace period.",
    )  # fmt: skip
    at: At = setting(
        At.TODAY, label="At its replicas", help="Today's, or the lowest or highest that its autoscaler gives it."
    )
    seed: int = setting(0, least=0, most=2**31 - 1, help="Breaks the scheduler's ties.")
    runs: int = setting(50, least=1, most=1000, help="Placements tried at most.")
    pools: PoolSettings = settings_within(PoolSettings)
    arrival_seconds: float | None = setting(
        None, label="Until a new node takes pods, seconds", option="--node-arrival-seconds", least=0, most=_MOST_SECONDS,
        help=f"Until a new node takes pods; else {ARRIVAL_WORDS} ({ARRIVAL_SOURCE}).",
    )  # fmt: skip


def scenario_of(snapshot: Snapshot, settings: RolloutSettings) -> Scenario:
    """What the settings change.

    Raises
    ------
    ChangeError
        When they change nothing, or name something that isn't a workload.
    """
    changed = tuple(_change(snapshot, settings, key) for key in settings.workloads)
    return Scenario(
        changes=(*changed, *(WorkloadChange(workload=key) for key in settings.also)),
        manifest=settings.manifest,
        namespace=settings.namespace,
        unread=settings.unread,
        seed=settings.seed,
        runs=settings.runs,
        after_seconds=settings.after_seconds,
        at_once=settings.also,
    )


def gpu_resource_of(workload: Workload | None) -> str:
    """The GPU resource that the workload's containers ask for; nvidia.com/gpu where they ask for none."""
    asked = {name for container in workload.template.spec.containers for name in container.requests} if workload else ()
    return next((name for name in sorted(asked) if is_gpu_resource(name)), NVIDIA_GPU)


def _change(snapshot: Snapshot, settings: RolloutSettings, key: str) -> WorkloadChange:
    workload = snapshot.workload(key)
    asked = {CPU: settings.cpu, MEMORY: settings.memory, gpu_resource_of(workload): settings.gpu}
    requests = {name: amount for name, amount in asked.items() if amount is not None}
    kind = settings.strategy.value if settings.strategy else None
    return WorkloadChange(
        workload=key,
        patch=settings.patch,
        replicas=settings.replicas,
        strategy_kind=None if workload is not None and kind == workload.strategy.kind else kind,
        max_surge=settings.max_surge,
        max_unavailable=settings.max_unavailable,
        requests=FrozenMap(requests) if requests else EMPTY,
        node_selector=settings.node_selector,
        new_revision=not settings.scale_only,
        never_ready=settings.never_ready,
        startup_seconds=settings.startup_seconds,
        termination_seconds=settings.termination_seconds,
    )


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
    with part(is_wanted):
        return _rollout(snapshot, scenario, pools, arrival_seconds)


def _rollout(
    snapshot: Snapshot, scenario: Scenario, pools: tuple[NodePool, ...], arrival_seconds: float | None
) -> RolloutResult:
    prepared = prepare(snapshot, scenario)
    cluster = compiled(prepared.snapshot)
    first = simulate(cluster, prepared.revisions, seed=scenario.seed)
    run, ties = sample(cluster, prepared.revisions, first, seed=scenario.seed, runs=scenario.runs)
    clocks = OtherClocks()
    if not run.is_cut and scenario.runs:
        clocks = on_other_clocks(cluster, prepared.revisions, run, seed=scenario.seed)
        moves = moved(cluster, prepared.revisions, run, seed=scenario.seed)
        unread = unread_autoscalers(prepared.snapshot, prepared.revisions)
        ties = hedged(ties, run.completed, clocks=clocks, moves=moves, unread=unread)
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
    unknown = tuple(
        (r.after.key, u) for r in prepared.revisions for u in unknowns(cluster, r, run.new_shapes.get(r.after.key))
    ) + tuple((one.key, Unknown(what=one.what, may_help=one.may_help, mend=one.mend)) for one in prepared.unknown)
    sentence = Text(told.sentence if len(parts) == 1 else _joint_sentence(parts, str(told.sentence)))
    twice = _attached_twice(run, prepared.revisions)
    if twice:
        sentence = Text(f"{sentence}. But {twice[0].what}")
    if clocks.sentence:
        sentence = Text(f"{sentence}. But {clocks.sentence}")
    result = RolloutResult(
        verdict=told.verdict,
        reason=told.reason,
        sentence=sentence,
        headline=told.headline if len(parts) == 1 else _joint_headline(parts, told.headline),
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
        + scaled_at_once(run, prepared.revisions)
        + _others_in_flight(cluster, run)
        + _not_played(prepared.snapshot, prepared.revisions)
        + tuple(_unknown_finding(key, u) for key, u in unknown)
        + blocked_by(cluster, run, prepared.revisions),
        preempted=displaced(run, prepared.revisions),
        in_flight=tuple(
            OtherInFlight(workload=one.key, since=one.since, is_overdue=one.is_overdue, sentence=told_of(cluster, one))
            for one in run.others
        ),
        apply=_applied(scenario, prepared.revisions),
    )
    if stuck is not None and pools and stuck.reason in GROWING_REASONS:
        result = _grown(result, prepared, cluster, run, stuck.workload, pools, keys, scenario.seed, arrival_seconds)
    return _as_far_as_known(result, [one for _, one in unknown])


def _as_far_as_known(result: RolloutResult, unknown: Sequence[Unknown]) -> RolloutResult:
    """`result`, not known where what isn't known could make it another: no placement proves anything then."""
    decisive = next((u for u in unknown if u.may_help or result.verdict is not Verdict.STUCK), None)
    if decisive is None or result.verdict is Verdict.UNKNOWN:
        return result
    verb = "" if len(result.workloads) > 1 else "it is " if result.verdict is Verdict.STUCK else "it "
    return replace(
        result,
        verdict=Verdict.UNKNOWN,
        headline=Text("whether it finishes hangs on what isn't known"),
        sentence=Text(f"not known: {decisive.what}. Without that, {verb}{result.sentence}"),
        ties=None,
    )


def _grown(
    result: RolloutResult, prepared: Prepared, cluster: Cluster, run: Run, stuck: str, pools: tuple[NodePool, ...],
    keys: dict[str, str], seed: int, arrival_seconds: float | None,
) -> RolloutResult:  # fmt: skip
    """The stuck result, or what it comes to once a pool has grown, where one may."""
    answer = grow(
        cluster, prepared.revisions, run, waiting_shape(run, stuck), pools,
        seed=seed, arrival_seconds=arrival_seconds,
    )  # fmt: skip
    if answer.growth is None:
        more = f"; {answer.sentence}" if answer.sentence else ""
        return replace(result, growth=answer.sentence, sentence=Text(f"{result.sentence}{more}"))
    return _needs_growth(result, prepared, answer.growth, keys)


def _applied(scenario: Scenario, revisions: Sequence[Revision]) -> tuple[Applied, ...]:
    patches = {change.workload: change.patch for change in scenario.changes}
    found = (applied(r.before, r.after, patches.get(r.after.key, "")) for r in revisions if r.before is not None)
    return tuple(one for one in found if one is not None)


def _with_limit(remedy: Remedy, pools: tuple[NodePool, ...]) -> Remedy:
    """A remedy that adds nodes, with what the pool's own limit says to that."""
    pool = next((p for p in pools if remedy.node_template and remedy.node_template in p.nodes), None)
    if pool is None:
        return remedy
    if pool.maximum is not None and len(pool.nodes) + remedy.extra_nodes > pool.maximum:
        more = (
            f"the pool has {len(pool.nodes):,} of at most {pool.maximum:,} nodes, so its maximum has to be raised first"
        )
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
                headline=Text(
                    f"it finishes in about {duration(seconds)} once pool {growth.pool.name} has "
                    f"{count(growth.nodes, 'more node', 'more nodes')}"
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
        headline=told.headline if len(parts) == 1 else _joint_headline(parts, told.headline),
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
        is_growth_automatic=growth.pool.grows_by_itself,
        findings=(*result.findings, *failed_scale_ups(compiled(prepared.snapshot), growth.pool, told.workload)),
        extra_nodes=growth.nodes,
        extra_gpus=growth.nodes * growth.pool.gpus_a_node,
        node_template=growth.pool.nodes[0],
    )


def _after_waiting(
    today: tuple[TimelineRow, ...], grown: tuple[TimelineRow, ...], wait: float
) -> tuple[TimelineRow, ...]:
    """The grown rollout's timeline, with what is seen until the nodes have arrived before it."""
    before = [replace(row, event=f"{row.event}; nodes are on their way") for row in today if row.tick == 0]
    return (grown[0], *before, *(replace(row, seconds=row.seconds + wait) for row in grown[1:]))


def _others_in_flight(cluster: Cluster, run: Run) -> tuple[Finding, ...]:
    """Those that were played beside the change, in one line."""
    if not run.others:
        return ()
    words = [str(told_of(cluster, one)) for one in run.others[:_MOST_TOLD]]
    more = f"; so {plural(len(run.others) - _MOST_TOLD, 'is', 'are')} {len(run.others) - _MOST_TOLD:,} more" if len(run.others) > _MOST_TOLD else ""  # fmt: skip
    return (
        Finding(
            severity=Severity.INFO, code="others-in-flight", object=run.others[0].key,
            what=f"{'; '.join(words)}{more}: played on beside the change",
            mend="The verdict is of a cluster in motion: ask again when they are done",
        ),
    )  # fmt: skip


def _unknown_finding(key: str, unknown: Unknown) -> Finding:
    return Finding(
        severity=Severity.WARNING, code="answer-incomplete", object=key, what=unknown.what, mend=unknown.mend
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
                    mend=_dry_run(revision, hooks),
                )
            )  # fmt: skip
    return tuple(found)


def _dry_run(revision: Revision, hooks: Sequence[AdmissionHook]) -> str:
    """A dry run asks those that see the workload; its pods' come only when its controller makes them."""
    after = revision.after
    of_workload = (after.traits.group, after.traits.resource)
    if any(hook.is_about(*of_workload) for hook in hooks):
        return "See what a dry run says: kubectl apply --dry-run=server"
    return "A dry run of the workload doesn't ask them: they see its pods, which its controller makes later"


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
        return f"completes: all {len(parts):,} rollouts finish together"
    stuck = next(p for p in parts if p.verdict is not Verdict.COMPLETES)
    verb = "" if stuck.verdict is Verdict.NEEDS_GROWTH else "is "
    return f"{done:,} of {len(parts):,} rollouts finish; {stuck.workload} {verb}{sentence}"


def _joint_headline(parts: Sequence[WorkloadRollout], headline: Text) -> Text:
    done = [p.verdict is Verdict.COMPLETES for p in parts]
    if all(done):
        return Text(f"all {len(parts):,} finish together, in about {duration(max(p.seconds for p in parts))}")
    first = parts[done.index(False)]
    return Text(f"{sum(done):,} of {len(parts):,} finish; of {short_name(first.workload)} {headline}")


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
    pods = (pod for some in run.pods.values() for pod in some)
    return tuple((p.namespace, p.name, names[p.node]) for p in pods if p.is_bound and not p.is_lost)


def _stuck(run: Run, revision: Revision, why: Explanation) -> str:
    """Why it is, and that no strategy helps where the nodes couldn't hold all its pods anyway."""
    if why.reason not in GROWING_REASONS:
        return str(why.sentence)
    most, wanted = Room.of(run, revision).most(run.simulation.cluster), run.replicas[revision.after.key]
    if not most or most >= wanted:
        return str(why.sentence)
    return (
        f"{why.sentence}. With nothing else on them the nodes that match hold at most {most:,} of its {wanted:,} pods"
    )


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
        sentence=Text(_stuck(run, revision, why) if why else _completes(run, revision, lowest, seconds, end)),
        headline=why.headline if why else _finishes(run, revision, lowest, seconds, end),
        replicas=run.replicas[key],
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
    if revision.placed is not None and revision.placed.idle:
        return f"completes: {revision.placed.idle_words}"
    if not revision.has_new_template and steps == 0:
        return "completes: nothing has to move"
    if placed := placed_words(run, revision):
        return f"completes: {placed}, Ready in about {duration(seconds)}"
    return (
        f"completes in {count(steps, 'step')}, about {duration(seconds)}; "
        f"at worst {lowest:,} of {_desired(run, after):,} pods are Ready"
    )


def _finishes(run: Run, revision: Revision, lowest: int, seconds: float, end: int) -> Text:
    after = revision.after
    if not revision.has_new_template and run.moments[after.key][end].tick == 0:
        return Text("nothing has to move")
    pods = _desired(run, after)
    if revision.placed is not None and revision.placed.idle:
        return Text(revision.placed.idle_words)
    if revision.placed is not None:
        return Text(f"its pods are placed and Ready in about {duration(seconds)}")
    return Text(f"it finishes in about {duration(seconds)}; {stay_ready(lowest, pods)}")


def _desired(run: Run, after: Workload) -> int:
    return run.status[after.key].get("desiredNumberScheduled", run.replicas[after.key])


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
    if place is None or not prepared.revisions[place].after.traits.surges_freely:
        raise ChangeError(
            f"{workload_key} is no Deployment of the scenario", mend="The strategy grid is for a changed Deployment"
        )
    with part(is_wanted):
        return grids.strategy_grid(
            compiled(prepared.snapshot),
            prepared.revisions,
            workload_key,
            seed=scenario.seed,
            pod_times=prepared.pod_times[place],
        )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: RolloutSettings, given: Given = NOTHING) -> RolloutResult:
    """`rollout` of what was asked.

    Raises
    ------
    ChangeError
        When the settings don't apply to the snapshot.
    """
    snapshot = at_replicas(snapshot, settings)
    scenario = scenario_of(snapshot, settings)
    return rollout(snapshot, scenario, growing(snapshot, settings.pools.known(given)), settings.arrival_seconds)


def at_replicas(snapshot: Snapshot, settings: RolloutSettings) -> Snapshot:
    """The snapshot with the workloads at the replicas that are asked for: their autoscalers' lowest or highest.

    Raises
    ------
    ChangeError
        Where no autoscaler scales one of them.
    """
    for key in settings.workloads if settings.at is not At.TODAY else ():
        snapshot = at_bound(snapshot, key, settings.at)
    return snapshot


def first_answer(snapshot: Snapshot, settings: RolloutSettings, given: Given = NOTHING) -> RolloutResult:
    """The answer for the first placement only, without ways out: what is known soonest. `ties` is None where others may
    come out otherwise; `answer` says how many do."""
    snapshot = at_replicas(snapshot, settings)
    scenario = replace(scenario_of(snapshot, settings), runs=0, with_remedies=False)
    pools = growing(snapshot, settings.pools.known(given))
    found = rollout(snapshot, scenario, pools, settings.arrival_seconds)
    return found if found.ties is not None and found.ties.proven else replace(found, ties=None)


def growing(snapshot: Snapshot, known: tuple[PoolLimits, ...]) -> tuple[NodePool, ...]:
    """The pools that may grow; () where nobody says how far."""
    return node_pools.pools(compiled(snapshot), known) if known else ()


def facts(answer: RolloutResult) -> Iterator[Fact]:
    """The verdict, what each workload goes through, what the cluster holds at most, and how many ways out there are."""
    yield fact("rollout_verdict", answer.verdict.value)
    yield fact("rollout_seconds", answer.seconds if _ends(answer.verdict) else None, "seconds")
    yield fact("rollout_ways_out", len(answer.remedies), "ways")
    yield fact("rollout_pods_waiting", sum(pods.count for pods in answer.pending), "pods")
    for one in answer.workloads:
        named = {"workload": one.workload}
        yield fact("workload_verdict", one.verdict.value, **named)
        yield fact("workload_reason", one.reason.value, **named)
        yield fact("workload_replicas", one.replicas, "pods", **named)
        yield fact("workload_lowest_ready", one.lowest_ready, "pods", **named)
        yield fact("workload_peak_pods", one.peak_pods, "pods", **named)
        yield fact("workload_seconds", one.seconds if _ends(one.verdict) else None, "seconds", **named)
        yield fact("workload_exceeds_deadline", one.exceeds_deadline, **named)
    for name, amount in answer.capacity.items():
        yield fact("resource_capacity", amount, unit_of(name), resource=name)
        yield fact("resource_peak_held", answer.peak_held.get(name, 0), unit_of(name), resource=name)


def _ends(verdict: Verdict) -> bool:
    return verdict in (Verdict.COMPLETES, Verdict.NEEDS_GROWTH)


def timeline_rows(rollouts: Iterable[WorkloadRollout]) -> list[Row]:
    """One row a workload and quiet moment."""
    shown = list(rollouts)
    held = sorted({name for rollout in shown for row in rollout.timeline for name in row.held})
    return [
        {
            "workload": rollout.workload,
            "step": row.tick,
            "seconds": row.seconds,
            "event": row.event,
            **{state.value: row.counts.get(state.value, 0) for state in PodState},
            "ready": row.ready,
            **{column_of("held", name): row.held.get(name, 0) for name in held},
        }
        for rollout in shown
        for row in rollout.timeline
    ]


def workload_rows(answer: RolloutResult) -> list[Row]:
    """One row a changed workload."""
    return [
        {
            "workload": part.workload,
            "verdict": part.verdict,
            "reason": part.reason,
            "replicas": part.replicas,
            "lowest_ready": part.lowest_ready,
            "peak_pods": part.peak_pods,
            "seconds": part.seconds if _ends(part.verdict) else None,
            "sentence": part.sentence,
        }
        for part in answer.workloads
    ]


def remedy_rows(answer: RolloutResult) -> list[Row]:
    """One row a way out."""
    return [
        {
            "kind": remedy.kind,
            "title": remedy.title,
            "lowest_ready": remedy.lowest_ready,
            "replicas": remedy.replicas,
            "seconds": remedy.seconds,
            "extra_gpus": remedy.extra_gpus,
            "extra_nodes": remedy.extra_nodes,
            "sentence": remedy.sentence,
            "command": remedy.command,
        }
        for remedy in answer.remedies
    ]


def pending_rows(answer: RolloutResult) -> list[Row]:
    """One row a group of pods left waiting, in the whole cluster."""
    return [
        {
            "namespace": pods.namespace,
            "owner": pods.owner,
            "workload": pods.workload,
            "pods": pods.count,
            "scheduler_message": pods.message,
        }
        for pods in answer.pending
    ]


def _status(answer: RolloutResult) -> ExitStatus:
    if answer.verdict is Verdict.UNKNOWN:  # its parts say what would be without what lacks
        return ExitStatus.NOT_KNOWN
    return gravest(EXIT[verdict] for verdict in (answer.verdict, *(part.verdict for part in answer.workloads)))


QUESTION: Final = Question(
    name="rollout",
    version="v2",  # v1 held manifests and patches as they were given
    settings=RolloutSettings,
    result=RolloutResult,
    answer=answer,
    facts=facts,
    tables={
        "workloads": workload_rows,
        "timeline": lambda answer: timeline_rows(answer.workloads),
        "remedies": remedy_rows,
        "pending": pending_rows,
    },
    status=_status,
)
