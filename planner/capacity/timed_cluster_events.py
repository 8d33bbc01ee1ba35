"""Timed events during a rollout: the time of each, and how late each may come without changing the verdict.

What changes a workload is a revision that comes later and has a verdict of its own; the rest happens to the cluster
(`planner.scheduling.scripted_event`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import Final

from planner.capacity.drain import gone_words
from planner.capacity.eviction_simulation import uncordoned
from planner.capacity.kueue_queues import is_of_queue
from planner.capacity.node_pools import NodePool, capacity_of
from planner.capacity.what_if import (
    PATIENCE_SECONDS,
    Batch,
    ChangeCase,
    copies,
    quota_words,
    upgrade_batches,
    way_of_upgrading,
    without_taint,
    zone_doubt,
)
from planner.capacity.what_if_syntax import ALL, Change, ChangeKind, Later
from planner.capacity.work_limits import LIMITS
from planner.ground.errors import ChangeError, NotKnownError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import (
    DEFAULT_NAMESPACE,
    TAINT_OUT_OF_SERVICE,
    TAINT_UNREACHABLE,
    TAINT_UNSCHEDULABLE,
)
from planner.ground.words import Text, count, duration, plural
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import Pod, PodSpec, Snapshot, Taint, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.selectors import tolerates_cordon, tolerates_taints
from planner.kubernetes.workload_kinds import NODE, kind_called
from planner.rollout.answers import Bearing, EventBeside
from planner.rollout.controllers.daemonset import daemon_nodes, daemon_spec
from planner.rollout.controllers.registry import TAKE_CHANGES
from planner.rollout.in_flight import in_flight
from planner.rollout.kueue_admission import admitted_revisions
from planner.rollout.prepared_change import Prepared, Scenario, compiled, pod_times_of, prepare
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.scripted_event_playback import is_called
from planner.rollout.silent_nodes import UNREACHABLE, answering, silent_nodes
from planner.rollout.taint_evictions import evictions, short_stays
from planner.scheduling.cluster import Cluster
from planner.scheduling.scripted_event import CORDON, Happening
from planner.scheduling.shape import compile_shape

_PREFERS: Final = "PreferNoSchedule"
_HONORS: Final = "is spread over nodes without taints"
_ON_EACH: Final = "rolls out on each node without such taints"
_LAST_TURN: Final = 10_000  # of an event at another time: after those of that time
_NOBODY: Final = Batch(nodes=(), ahead=(), again=())
_WORK_UNITS: Final = 3_000_000
"""What asking for all events' latest times may cost (`planner.ground.work_budget`): a few seconds."""


class LaterEvents(Record):
    """What happens beside a rollout. `manifests`: the texts of what is applied later, in the order of those events; `limits`:
    how far pools may grow, where it is given; `first`: workloads left out of "all changes come later"."""

    first: tuple[str, ...] = ()
    later: tuple[Later, ...] = ()
    manifests: tuple[str, ...] = ()
    limits: tuple[PoolLimits, ...] = ()


class Planned(Record):
    """One event, worked out: what happens to the cluster, or the workloads that are changed; `again`: those of them that a change was made
    of before, or that are rolling out."""

    later: Later
    words: str
    happening: Happening | None = None
    keys: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()


class Timeline(Record):
    """A scenario with what happens beside it: `cluster` is the one to play on; `asked`: the changes before Kueue's say."""

    prepared: Prepared
    cluster: Cluster
    asked: tuple[Revision, ...]
    planned: tuple[Planned, ...] = ()


def timeline(prepared: Prepared, later_events: LaterEvents, *, namespace: str = DEFAULT_NAMESPACE) -> Timeline:
    """The events worked out against what is prepared; `namespace` is of objects applied later that name none.

    Raises
    ------
    ChangeError
        For what isn't there, and for two changes of one workload that aren't played.
    NotKnownError
        Where what an event brings isn't told by the snapshot.
    """
    cluster = compiled(prepared.snapshot)
    if not later_events.later:
        is_timed = bool(
            evictions(cluster)
        )  # evictions have times of their own, so start-ups and ends need their seconds, not only steps
        revisions = prepared.timed if is_timed else admitted_revisions(prepared.snapshot, prepared.revisions)
        return Timeline(prepared=replace(prepared, revisions=revisions), cluster=cluster, asked=prepared.revisions)
    texts = iter(later_events.manifests)
    texts_by_change = {later: next(texts, "") for later in later_events.later if later.change.kind is ChangeKind.APPLY}
    planned: list[Planned] = []
    for later in sorted(later_events.later, key=lambda event: event.after_seconds):
        case = ChangeCase(cluster, later.change, later_events.limits)
        if later.change.kind is ChangeKind.ADD:
            cluster, planned_event = _added(case, later, len(planned))
        elif later.change.kind is ChangeKind.UPGRADE:
            cluster, planned_event = _upgraded(case, later, prepared)
        elif later.change.kind is ChangeKind.ANSWERS:
            cluster, planned_event = _answers(case, later, prepared, planned)
        elif later.change.kind in (ChangeKind.UNCORDON, ChangeKind.UNTAINT):
            cluster, planned_event = _opened(case, later, prepared, planned)
        elif later.change.kind is ChangeKind.ROLLOUT and (rollout_keys := _asked(later, prepared, later_events.first)):
            prepared, planned_event = _deferred(cluster, later, prepared, rollout_keys)
        elif later.change.kind in (ChangeKind.APPLY, ChangeKind.RESIZE, ChangeKind.REPLICAS, ChangeKind.ROLLOUT):
            text = texts_by_change.get(later, "")
            prepared, planned_event = _changed(case, later, prepared, text, namespace, turn=1 + len(planned))
        else:
            planned_event = _happening(case, later, prepared)
        if planned_event.happening is not None:
            planned_event = replace(planned_event, happening=replace(planned_event.happening, turn=1 + len(planned)))
        planned.append(planned_event)
    _check_upgrades(cluster, planned)
    return Timeline(
        prepared=replace(prepared, revisions=prepared.timed),
        asked=prepared.timed,
        cluster=cluster.expecting(tuple(event.happening for event in planned if event.happening is not None)),
        planned=tuple(planned),
    )


# ── what happens to the cluster ──────────────────────────────────────────────────────────────────────────────────────
def _added(case: ChangeCase, later_event: Later, place: int) -> tuple[Cluster, Planned]:
    pool, number = case.pool(), int(later_event.change.value)
    _check_devices(case, pool)
    nodes = copies(case.cluster, pool, number, f"later{place}")
    words = f"{pool.growth_words(number)}{pool.limit_words(number, capacity_of(case.cluster, pool))}"
    grown = case.cluster.grown(nodes)
    happening = Happening(
        after_seconds=later_event.after_seconds, words=words, nodes_come=tuple(node.name for node in nodes)
    )
    return grown, Planned(later=later_event, words=words, happening=happening)


def _upgraded(case: ChangeCase, later_event: Later, prepared: Prepared) -> tuple[Cluster, Planned]:
    """Drains one after another. Of nodes that go together as many come before as the pool's surge says, the others as they have gone."""
    pool, way = case.pool(), way_of_upgrading(case)
    if way.why_not:
        raise case.refused(f"pool {pool.name} can't be upgraded{way.why_not}")
    _check_devices(case, pool)
    _check_cordons(case, pool.nodes, prepared)
    if doubt := zone_doubt(case, way):
        raise _not_played(f"not known: {doubt}", later_event)
    batches = upgrade_batches(case, way)
    if len(batches) > LIMITS.upgrade_stages:
        raise _not_played(
            f"pool {pool.name} is upgraded in {len(batches):,} steps, more than {LIMITS.upgrade_stages}", later_event
        )
    words = f"pool {pool.name} is upgraded in {count(len(batches), 'step')} ({way.how})"
    stages: list[Happening] = []
    # A stage takes the last batch's old nodes away, and brings its new nodes and the surge of the next batch at once;
    # the last stage only ends the last batch.
    for step, (before, now) in enumerate(zip([_NOBODY, *batches], [*batches, _NOBODY], strict=True)):
        old_nodes, names = before.nodes, now.nodes
        come = tuple(node.name for node in (*before.again, *now.ahead))
        sentence = (
            f"{_nodes(old_nodes)} replaced, step {step:,} of {len(batches):,} of the upgrade of {pool.name}"
            if step
            else words
        )
        stages.append(
            Happening(
                after_seconds=PATIENCE_SECONDS,
                words=sentence,
                nodes_come=come,
                nodes_go=old_nodes,
                closes=names,
                drains=names,
            )
        )
    first = replace(stages[0], after_seconds=later_event.after_seconds, stages=tuple(stages[1:]))
    new = tuple(node for batch in batches for node in (*batch.ahead, *batch.again))
    return case.cluster.grown(new), Planned(later=later_event, words=words, happening=first)


def _check_upgrades(cluster: Cluster, planned: Sequence[Planned]) -> None:
    """What else happens to nodes of a pool that is upgraded depends on how far it is then.

    Raises
    ------
    NotKnownError
        Where something does.
    """
    happening = [(event, event.happening) for event in planned if event.happening is not None]
    touched = {
        event.later: {node_pool(cluster.nodes[cluster.node_index[name]]) for name in what.nodes}
        for event, what in happening
    }
    for planned_event, other in permutations((event for event, _ in happening), 2):
        pools = touched[planned_event.later] & touched[other.later]
        if planned_event.later.change.kind is ChangeKind.UPGRADE and pools:
            why = f"how far pool {min(pools)} is upgraded when that comes isn't known ({other.words})"
            raise _not_played(why, planned_event.later)


def _check_devices(case: ChangeCase, pool: NodePool) -> None:
    if any(resource_slice.node_name in pool.nodes for resource_slice in case.snapshot.resource_slices):
        raise NotKnownError(
            f"which devices a new node of pool {pool.name} has isn't known: ResourceSlices tell them of nodes that are there",
            fix="Ask without this event, or with nodes of a pool without ResourceSlices",
        )


def happening_of(cluster: Cluster, change: Change, revisions: Sequence[Revision], after_seconds: float) -> Happening:
    """What one change of the cluster alone does to it beside a rollout.

    Raises
    ------
    ChangeError
        For what isn't there.
    NotKnownError
        Where it isn't played beside a rollout.
    """
    prepared = Prepared(snapshot=cluster.snapshot, revisions=tuple(revisions), pod_times=(), findings=())
    later = Later(after_seconds=after_seconds, change=change)
    happening = _happening(ChangeCase(cluster, change, ()), later, prepared).happening
    assert happening is not None, "it changes no workload"
    return happening


def _happening(case: ChangeCase, later_event: Later, prepared: Prepared) -> Planned:
    kind, target, at = later_event.change.kind, later_event.change.target, later_event.after_seconds
    if kind is ChangeKind.DELETE:
        happening = Happening(after_seconds=at, words=f"{_nodes(case.nodes())} deleted", nodes_go=case.nodes())
    elif kind is ChangeKind.REMOVE_ZONE:
        nodes = case.zone()
        happening = Happening(after_seconds=at, words=f"zone {target} with {_nodes(nodes)} gone", nodes_go=nodes)
    elif kind is ChangeKind.DRAIN:
        nodes = case.nodes()
        _check_cordons(case, nodes, prepared)
        bare = [
            f"{p.namespace}/{p.name}"
            for p in case.snapshot.pods
            if p.node_name in nodes and p.holds_room and p.owner is None
        ]
        by_force = f" with --force ({gone_words(bare)})" if bare else ""
        words = f"{_nodes(nodes)} drained{by_force}"
        happening = Happening(after_seconds=at, words=words, closes=nodes, drains=nodes)
    elif kind is ChangeKind.STOPS_ANSWERING:
        nodes = case.nodes()
        _check_tolerance(case, nodes, prepared, later_event)
        verb = plural(len(nodes), "stops", "stop")
        happening = Happening(after_seconds=at, words=f"{_nodes(nodes)} {verb} answering", silences=nodes)
    elif kind is ChangeKind.FORCE_DELETE:
        case.pod()
        happening = Happening(after_seconds=at, words=f"pod {target} deleted by force", deletes=(target,))
    elif kind is ChangeKind.TAINT:
        happening = _tainted(case, later_event, prepared)
    elif kind is ChangeKind.MOVE:
        others = case.others()
        _check_cordons(case, others, prepared)
        words = f"pod {target} moved to {later_event.change.value}"
        happening = Happening(after_seconds=at, words=words, evicts=(case.pod(),), leads_to=later_event.change.value)
    elif kind is ChangeKind.EVICT:
        happening = Happening(after_seconds=at, words=f"pod {target} evicted", evicts=(case.pod(),))
    elif kind is ChangeKind.QUOTA:
        if is_of_queue(later_event.change):
            raise ChangeError(
                "a ClusterQueue's quota isn't changed beside a rollout: what Kueue lets in meanwhile isn't played",
                where=str(later_event.change),
                fix="Ask headroom capacity --change, or headroom capacity --queues --change",
            )
        quota, hard = case.quota()
        words = quota_words(later_event.change)
        happening = Happening(after_seconds=at, words=words, quota=f"{quota.namespace}/{quota.name}", hard=hard)
    elif kind is ChangeKind.JOB_ENDS:
        happening = Happening(after_seconds=at, words=f"Job {target} ends", ends=case.job().key)
    else:
        # The change itself may bring the gated pods, which no list of today has; else one must wait behind a gate now
        # (`gated` refuses).
        if not any(_is_gated(revision, target) for revision in prepared.revisions):
            case.gated()
        happening = Happening(after_seconds=at, words=f"pods of {target} lose their scheduling gates", ungates=target)
    return Planned(later=later_event, words=happening.words, happening=happening)


def _tainted(case: ChangeCase, later_event: Later, prepared: Prepared) -> Happening:
    """A taint that no coming pod tolerates closes the nodes, one that all tolerate evicts those there when their seconds are over."""
    key, _, effect = later_event.change.value.rpartition(":")
    (where, nodes), taint = case.tainted(), Taint(key=key, value="", effect=effect)
    words = f"{where} gets the taint {key}:{effect}"
    if effect == _PREFERS:
        raise _not_played(f"a taint {_PREFERS} changes which nodes are preferred", later_event)
    closes = nodes if _keeps_away(case, nodes, (taint,), prepared, later_event) else ()
    executes = effect == "NoExecute"
    ends = _that_stays_a_while(case, nodes, taint) if executes and closes else ""
    if ends:
        raise _not_played(f"{ends} tolerates {key} for some seconds", later_event)
    return Happening(
        after_seconds=later_event.after_seconds, words=words, closes=closes, bar=key, expels=taint if executes else None,
        tainted=() if closes else nodes,
    )  # fmt: skip


def _answers(
    case: ChangeCase, later_event: Later, prepared: Prepared, planned: Sequence[Planned]
) -> tuple[Cluster, Planned]:
    """Nodes that are heard again: silent ones of the snapshot, or such that an event before made silent."""
    names = case.nodes()
    silent = {case.cluster.node_names[place] for place in silent_nodes(case.cluster)}
    before = {name for event in planned if event.happening is not None for name in event.happening.silences}
    if not silent.union(before).intersection(names):
        is_heard = f"{plural(len(names), 'answers', 'answer')} already"
        raise ChangeError(f"{_nodes(names)} {is_heard}", where=str(later_event)[:120])
    cluster = answering(case.cluster, names)
    _check_tolerance(ChangeCase(cluster, later_event.change, case.limits), names, prepared, later_event)
    words = f"{_nodes(names)} {plural(len(names), 'answers', 'answer')} again"
    happening = Happening(after_seconds=later_event.after_seconds, words=words, answers=names)
    return cluster, Planned(later=later_event, words=words, happening=happening)


def _check_tolerance(case: ChangeCase, names: Sequence[str], prepared: Prepared, later_event: Later) -> None:
    """Pods that may go to nodes that don't answer aren't played while those come to answer, or don't any more; a DaemonSet's are.

    Raises
    ------
    NotKnownError
        Where some are there that may be made anew, or wait.
    """
    for name, spec, is_daemons in _may_come(case, names, prepared):
        if _honors(spec) or (not is_daemons and tolerates_taints(spec.tolerations, UNREACHABLE[:1])):
            raise _not_played(f"{name} {_HONORS if _honors(spec) else f'tolerates {TAINT_UNREACHABLE}'}", later_event)


def _opened(
    case: ChangeCase, later_event: Later, prepared: Prepared, planned: Sequence[Planned]
) -> tuple[Cluster, Planned]:
    """Nodes that take pods again. Those that are closed in the snapshot are compiled open, and begin closed; others were closed by an
    event before."""
    is_cordon, cluster, bar = later_event.change.kind is ChangeKind.UNCORDON, case.cluster, CORDON
    where, names = ("", case.nodes()) if is_cordon else case.tainted()
    nodes = {name: cluster.nodes[cluster.node_index[name]] for name in names}
    if is_cordon:
        shut = tuple(name for name, node in nodes.items() if node.is_cordoned)
        words, none = f"{_nodes(names)} uncordoned", f"{_nodes(names)}: not cordoned"
    else:
        bar = later_event.change.value.partition(":")[0]
        shut = tuple(name for name, node in nodes.items() if any(taint.key == bar for taint in node.taints))
        words, none = f"{where} loses the taint {bar}", f"{where} has no taint {bar}"
    before = [event.happening for event in planned if event.happening is not None and event.happening.bar == bar]
    if not shut and not any({*planned_event.closes, *planned_event.tainted} & set(names) for planned_event in before):
        raise ChangeError(none, where=str(later_event)[:120])
    # Closed in the snapshot already: it is compiled as open, so that its filters are known, and the run begins with it closed.
    if shut:
        removed_taints = {
            taint for name in shut for taint in nodes[name].taints if taint.key == (bar or TAINT_UNSCHEDULABLE)
        }
        if any(taint.effect == _PREFERS for taint in removed_taints):
            raise _not_played(f"a taint {_PREFERS} changes which nodes are preferred", later_event)
        then = {name: uncordoned(nodes[name]) if bar == CORDON else without_taint(nodes[name], bar) for name in shut}
        lifted = {
            cluster.node_index[name]: tuple(t for t in nodes[name].taints if t.key == bar and t.effect == "NoExecute")
            for name in (shut if bar != CORDON else ())
        }
        cluster = cluster.with_nodes(tuple(then.get(node.name, node) for node in cluster.nodes), lifted)
        after = ChangeCase(cluster, later_event.change, case.limits)
        if bar == CORDON:
            _check_cordons(after, shut, prepared)
            cluster = cluster.closing(shut, bar)
        elif _keeps_away(after, shut, tuple(removed_taints), prepared, later_event):
            cluster = cluster.closing(shut, bar)
        elif bar == TAINT_OUT_OF_SERVICE:  # pods there end until then, and only a node that begins closed by it says so
            raise _not_played(f"who may come to {where} tolerates {bar}", later_event)
    happening = Happening(after_seconds=later_event.after_seconds, words=words, opens=names, bar=bar)
    return cluster, Planned(later=later_event, words=words, happening=happening)


def _not_played(why: str, later_event: Later) -> NotKnownError:
    return NotKnownError(
        f"{why}: that isn't played while a rollout goes on", where=str(later_event)[:120],
        fix=f"headroom capacity --change {later_event.change.kind}:… plays it by itself",
    )  # fmt: skip


def _moving(cluster: Cluster, prepared: Prepared) -> list[Workload]:
    """Workloads that roll out, or are in flight."""
    flights = (flight.workload for flight in in_flight(cluster))
    return [*(r.after for r in prepared.revisions), *(workload for workload in flights if workload is not None)]


def _may_come(case: ChangeCase, names: Sequence[str], prepared: Prepared) -> Iterator[tuple[str, PodSpec, bool]]:
    """(name, spec, whether it is a DaemonSet's) of those that may be made or placed meanwhile and may go to these nodes: those that roll
    out, that wait, that are there, and those that others may preempt. A DaemonSet's pods tolerate more than its template says."""
    cluster, here = case.cluster, {case.cluster.node_index[name] for name in names}
    moving = _moving(cluster, prepared)
    yield from (
        (workload.key, workload.template.spec, True)
        for workload in moving
        if workload.traits.is_per_node and not here.isdisjoint(daemon_nodes(cluster, daemon_spec(workload)))
    )
    candidates = [
        (workload.key, workload.namespace, t.labels, t.spec)
        for workload in moving
        for t, _ in (() if workload.traits.is_per_node else workload.templates)
    ]
    waiting = [pod for pod in case.snapshot.pods if not pod.node_name]
    # A pod that is placed elsewhere comes to these nodes only if it is preempted, by one of a higher priority.
    specs = (*(t.spec for workload in moving for t, _ in workload.templates), *(pod.spec for pod in waiting))
    highest = max((0, *(cluster.priority_of(spec) for spec in specs)))
    placed_pods = [pod for pod in case.snapshot.pods if pod.node_name and not _stays_there(pod)]
    placed_pods = [pod for pod in placed_pods if pod.node_name in names or cluster.priority_of(pod.spec) < highest]
    pods = {(pod.namespace, id(pod.labels), id(pod.spec)): pod for pod in (*waiting, *placed_pods)}.values()
    candidates += [
        (f"pod {pod.namespace}/{pod.name}", pod.namespace, pod.labels, _as_made_again(case, pod)) for pod in pods
    ]
    for name, namespace, labels, spec in candidates:
        if not here.isdisjoint(compile_shape(cluster, namespace, labels, spec).candidates.tolist()):
            yield name, spec, False


def _as_made_again(case: ChangeCase, pod: Pod) -> PodSpec:
    """A pod's spec, with the node that its workload's template names: of the pod itself `node_name` says only where it is."""
    workload = case.snapshot.workload(workload_keys(case.snapshot)[pod.uid])
    named = workload.template.spec.node_name if workload is not None else ""
    return replace(pod.spec, node_name=named) if named else pod.spec


def _meets(spec: PodSpec, taints: Iterable[Taint]) -> list[Taint]:
    """The taints that count for such a pod: one that names its node is its kubelet's, which looks at NoExecute alone (kubernetes
    `pkg/kubelet/lifecycle/predicate.go` `generalFilter`)."""
    return [taint for taint in taints if taint.effect == "NoExecute" or not spec.node_name]


def _stays_there(pod: Pod) -> bool:
    """Whether it is its node's own: a DaemonSet's pod, or one that the kubelet itself makes (a mirror pod)."""
    return pod.owner is not None and (pod.owner.kind == NODE.name or kind_called(pod.owner.kind).is_per_node)


def _keeps_away(
    case: ChangeCase, names: Sequence[str], taints: Sequence[Taint], prepared: Prepared, later_event: Later
) -> bool:
    """Whether these taints keep everybody away from the nodes who may come.

    Raises
    ------
    NotKnownError
        Where they keep some away and others not: which nodes a pod may go to is worked out once.
    """
    tolerant, intolerant = "", ""
    for name, spec, is_daemons in _may_come(case, names, prepared):
        if is_daemons or _honors(spec):
            raise _not_played(f"{name} {_ON_EACH if is_daemons else _HONORS}", later_event)
        if tolerates_taints(spec.tolerations, _meets(spec, taints)):
            tolerant = tolerant or name
        else:
            intolerant = intolerant or name
    if tolerant and intolerant:
        raise _not_played(f"{tolerant} tolerates the taint and {intolerant} doesn't", later_event)
    return not tolerant


def _that_stays_a_while(case: ChangeCase, names: Sequence[str], taint: Taint) -> str:
    """A pod there that has to go for the taint some time after it, though none like it may come."""
    node_pods = (pod for pod in case.snapshot.pods if pod.node_name in names)
    return next((f"pod {pod.namespace}/{pod.name}" for pod in node_pods if any(short_stays(pod.spec, (taint,)))), "")


def _honors(spec: PodSpec) -> bool:
    return any(constraint.node_taints_policy == "Honor" for constraint in spec.topology_spread)


def _check_cordons(case: ChangeCase, names: Sequence[str], prepared: Prepared) -> None:
    """Pods that a cordon doesn't keep off a node, and those that are spread over nodes without taints, aren't played while one
    comes or goes.

    Raises
    ------
    NotKnownError
        Where some are there that may be made anew, or wait.
    """
    nodes = [replace(case.cluster.nodes[case.cluster.node_index[name]], is_cordoned=True) for name in names]
    for name, spec, is_daemons in _may_come(case, names, prepared):
        goes_there = is_daemons or bool(spec.node_name) or any(tolerates_cordon(spec, node) for node in nodes)
        if _honors(spec) or goes_there:
            raise NotKnownError(
                f"{name} {_HONORS if _honors(spec) else 'goes to cordoned nodes, too'}, and a cordon beside it isn't played",
                fix=f"headroom capacity --change {case.change.kind}:… plays it by itself",
            )


def _nodes(names: Sequence[str]) -> str:
    return f"node {names[0]}" if len(names) == 1 else count(len(names), "node")


def _is_gated(revision: Revision, target: str) -> bool:
    namespace, _, name = target.partition("/")
    is_meant = revision.after.namespace == namespace and is_called(name, "", revision.after.key)
    return is_meant and any(template.spec.scheduling_gates for template, _ in revision.templates)


# ── what changes workloads ───────────────────────────────────────────────────────────────────────────────────────────
def _changed(
    case: ChangeCase, later_event: Later, prepared: Prepared, text: str, namespace: str, *, turn: int
) -> tuple[Prepared, Planned]:
    revision_by_key = {revision.after.key.lower(): revision for revision in prepared.revisions}
    own_revision = revision_by_key.get(later_event.change.target.lower())
    if later_event.change.kind is ChangeKind.REPLICAS and (
        own_revision is not None or _flies(case.cluster, later_event.change.target)
    ):
        return prepared, _scaled(later_event, own_revision)
    if later_event.change.kind is ChangeKind.APPLY:
        if not text:
            raise ChangeError(
                "no file is read here", where=str(later_event)[:120], fix="headroom rollout --then takes one"
            )
        scenario = Scenario(manifest=text, namespace=namespace)
        words = f"{later_event.change.target} is applied"
    else:
        _, workload_change, words = case.workload()
        scenario = Scenario(changes=(workload_change,))
    before = _as_changed(prepared)
    more = prepare(before, scenario)
    # Something besides workloads makes another snapshot (a quota, an autoscaler): a run has one, from its beginning
    # to its end.
    if more.snapshot is not before:
        raise ChangeError(
            "only workloads are applied while a rollout goes on", where=str(later_event)[:120],
            fix="Leave quotas, autoscalers and other objects out of that file, or apply them with the change",
        )  # fmt: skip
    for revision, times in zip(more.revisions, more.pod_times, strict=True):
        change = replace(revision, after_seconds=later_event.after_seconds, times=times, words=words, turn=turn)
        prepared = _with_change(case.cluster, later_event, prepared, change)
    keys = frozenset(revision.after.key for revision in more.revisions)
    again = frozenset(r.after.key for r in prepared.revisions if r.after.key in keys and r.changes)
    whole = replace(prepared, findings=prepared.findings + more.findings, unknown=prepared.unknown + more.unknown)
    return whole, Planned(later=later_event, words=words, keys=keys, again=again)


def _as_changed(prepared: Prepared) -> Snapshot:
    """The snapshot with its workloads as the changes so far make them: a manifest that is applied then is compared with those."""
    latest = {r.after.key: (r, *r.changes)[-1].after for r in prepared.revisions}
    if not any(workload.key in latest for workload in prepared.snapshot.workloads):
        return prepared.snapshot
    workloads = tuple(latest.pop(workload.key, workload) for workload in prepared.snapshot.workloads)
    return replace(prepared.snapshot, workloads=(*workloads, *latest.values()))


def _with_change(cluster: Cluster, later_event: Later, prepared: Prepared, change: Revision) -> Prepared:
    """One more change: the workload's first, or one on top of those before it.

    Raises
    ------
    NotKnownError
        Where what becomes of two changes of one workload isn't played.
    """
    key = change.after.key
    place, flying = prepared.place_of(key), next((f for f in in_flight(cluster) if f.key == key), None)
    if place is None and flying is None:
        return replace(
            prepared, revisions=(*prepared.revisions, replace(change, words="")), pod_times=(*prepared.pod_times, change.times or pod_times_of(cluster, change))
        )  # fmt: skip
    first = prepared.revisions[place] if place is not None else None
    is_early = first is not None and later_event.after_seconds < first.after_seconds
    if change.after.kind not in TAKE_CHANGES or is_early or (flying is not None and not flying.is_played):
        why = "comes before its other change" if is_early else "is rolling out when this comes"
        raise _not_played(f"{key} {why}: two changes of such a workload aren't played", later_event)
    if first is None:  # it goes on by itself until then
        assert flying is not None
        assert flying.workload is not None
        going_on = Revision(before=flying.workload, after=flying.workload, has_new_template=flying.has_new_template)
        revisions, times = (*prepared.revisions, going_on), (*prepared.pod_times, pod_times_of(cluster, going_on))
        return _with_change(cluster, later_event, replace(prepared, revisions=revisions, pod_times=times), change)
    revisions = tuple(replace(r, changes=(*r.changes, change)) if r is first else r for r in prepared.revisions)
    return replace(prepared, revisions=revisions)


def _asked(later_event: Later, prepared: Prepared, first: Sequence[str]) -> frozenset[str]:
    """The keys of changes that are asked about and come only then."""
    keys = {revision.after.key for revision in prepared.revisions if revision.after.key not in first}
    if later_event.change.target == ALL:
        return frozenset(keys)
    return frozenset(key for key in keys if key.lower() == later_event.change.target.lower())


def _deferred(
    cluster: Cluster, later_event: Later, prepared: Prepared, keys: frozenset[str]
) -> tuple[Prepared, Planned]:
    """Changes that are asked about, later than the others."""
    for key in sorted(keys):
        if _flies(cluster, key):
            raise ChangeError(
                f"{key} isn't at rest itself: what a later change of it begins with isn't known", where=str(later_event)[:120],
                fix="Ask for the change now, or when it has rolled out",
            )  # fmt: skip
    revisions = tuple(
        replace(revision, after_seconds=later_event.after_seconds) if revision.after.key in keys else revision
        for revision in prepared.revisions
    )
    words = (
        "the change comes" if later_event.change.target == ALL else f"the change of {later_event.change.target} comes"
    )
    return replace(prepared, revisions=revisions), Planned(later=later_event, words=words, keys=keys)


def _flies(cluster: Cluster, key: str) -> bool:
    return any(flight.key.lower() == key.lower() for flight in in_flight(cluster))


def _scaled(later_event: Later, revision: Revision | None) -> Planned:
    """Replicas of a workload that its controller has begun on."""
    key, replicas = (
        revision.after.key if revision is not None else later_event.change.target,
        int(later_event.change.value),
    )
    if revision is not None and (
        not revision.after.traits.has_replicas or later_event.after_seconds < revision.after_seconds
    ):
        raise ChangeError(f"{key} can't be scaled then", where=str(later_event)[:120], fix="Scale a Deployment or StatefulSet, once its change has come")  # fmt: skip
    words = f"{key} with replicas {replicas:,}"
    happening = Happening(after_seconds=later_event.after_seconds, words=words, scales=key, replicas=replicas)
    return Planned(later=later_event, words=words, happening=happening)


# ── how late ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def event_outcomes(events: Timeline, run: Run, first: Run, *, seed: int, is_asked: bool) -> tuple[EventBeside, ...]:
    """What became of each event in `run`, and how late it may come in the `first` placement; that isn't worked out where it
    isn't asked, or where another verdict is commoner than the first's."""
    bearings = _Bearings(events, first, seed)
    is_asked = is_asked and first.completed is run.completed
    return tuple(
        _told(event, run, bearings.of(event) if is_asked else _Bore(Bearing.UNKNOWN)) for event in events.planned
    )


class _Bore(Record, kw_only=False):
    bearing: Bearing
    at_seconds: float | None = None
    without: bool | None = None


def _told(event: Planned, run: Run, bore: _Bore) -> EventBeside:
    happened = event.keys <= run.waited.keys()
    if event.happening is not None or event.again:
        happened = any(what is event.happening or _is_change(what, event) for what in run.happened)
    sentence = f"after {duration(event.later.after_seconds)}, {event.words}"
    if not happened:
        sentence += ", when all is done already"
    effect_text = _said(bore, completes=run.completed)
    return EventBeside(
        event=str(event.later),
        after_seconds=event.later.after_seconds,
        happened=happened,
        sentence=Text(f"{sentence}: {effect_text}" if effect_text else sentence),
        bearing=bore.bearing,
        until_seconds=bore.at_seconds if bore.bearing is Bearing.UNTIL else None,
        from_seconds=bore.at_seconds if bore.bearing is Bearing.FROM else None,
        completes_without=bore.without,
    )


def _said(bore: _Bore, *, completes: bool) -> str:
    at = duration(bore.at_seconds or 0)
    word = "completes" if completes else "is stuck"
    return {
        Bearing.NEVER_DECIDES: f"it never decides, the rollout {word} with it and without",
        Bearing.ANY_TIME: "it may come at any time, and without it the rollout is stuck",
        Bearing.UNTIL: f"it has to come before {at}, else the rollout is stuck",
        Bearing.FROM: f"it must not come before {at}, else the rollout is stuck",
        Bearing.NEVER: "whenever it comes the rollout is stuck, and without it it completes",
        Bearing.MIXED: "the rollout completes with it at some times and not at others",
        Bearing.UNKNOWN: "",
    }[bore.bearing]


def _is_change(what: Happening | Revision, event: Planned) -> bool:
    """Whether it is a change of that event, of a workload that was changed before."""
    is_then = (
        isinstance(what, Revision) and what.after_seconds == event.later.after_seconds and what.words == event.words
    )
    return isinstance(what, Revision) and is_then and what.after.key in event.again


class _Bearings:
    """The rollout with one event at other times, the others as asked: at once, at rest, not at all, and by halving between."""

    def __init__(self, events: Timeline, run: Run, seed: int) -> None:
        self._found, self._run, self._seed = events, run, seed
        self._left = _WORK_UNITS

    def of(self, event: Planned) -> _Bore:
        if any(len(r.changes) > 1 for r in self._found.prepared.revisions if r.after.key in event.again):
            return _Bore(Bearing.UNKNOWN)  # each is one on top of those before it
        first, last, without = self._at(event, 0.0), self._at(event, WHEN_AT_REST), self._at(event, None)
        if self._run.is_cut or first is None or last is None or without is None:
            return _Bore(Bearing.UNKNOWN)
        own = self._run.completed
        if first.completed is last.completed:
            if own is not first.completed:
                return _Bore(Bearing.MIXED, without=without.completed)
            if own is without.completed:
                return _Bore(Bearing.NEVER_DECIDES, without=own)
            return _Bore(Bearing.ANY_TIME if own else Bearing.NEVER, without=without.completed)
        at = self._turning(event, (0.0, *last.tick_ends), is_early=first.completed)
        if at is None:
            return _Bore(Bearing.UNKNOWN, without=without.completed)
        is_early = event.later.after_seconds < at
        if own is not (is_early if first.completed else not is_early):
            return _Bore(Bearing.MIXED, without=without.completed)
        return _Bore(Bearing.UNTIL if first.completed else Bearing.FROM, at, without.completed)

    def _turning(self, event: Planned, times: Sequence[float], *, is_early: bool) -> float | None:
        """The first of `times` with which it isn't as at once: an event between two of them comes at the earlier."""
        low, high = 0, len(times) - 1
        while high - low > 1:
            middle = (low + high) // 2
            run = self._at(event, times[middle])
            if run is None:
                return None
            low, high = (middle, high) if run.completed is is_early else (low, middle)
        return times[high]

    def _at(self, event: Planned, seconds: float | None) -> Run | None:
        """The run with the event then, None: without it; nothing where it is too much to play."""
        if self._left <= 0:
            return None
        later = [h for h in self._found.cluster.later if h is not event.happening]
        # A workload that only this event changes doesn't roll out without it; one that it changes again does, as
        # before.
        revisions = [r for r in self._found.prepared.revisions if r.after.key not in event.keys - event.again]
        revisions = [
            replace(r, changes=self._moved(r, event, seconds)) if r.after.key in event.again else r for r in revisions
        ]
        if seconds is not None and event.happening is not None:
            later.append(replace(event.happening, after_seconds=seconds, turn=_LAST_TURN))
        elif seconds is not None:
            own_revisions = (r for r in self._found.prepared.revisions if r.after.key in event.keys - event.again)
            revisions += [replace(r, after_seconds=seconds, turn=_LAST_TURN) for r in own_revisions]
        run = simulate(self._found.cluster.expecting(tuple(later)), revisions, seed=self._seed)
        self._left -= run.work
        return None if run.is_cut else run

    @staticmethod
    def _moved(revision: Revision, event: Planned, seconds: float | None) -> tuple[Revision, ...]:
        """The later changes of a workload with that of the event at another time, None: without it."""
        others = tuple(change for change in revision.changes if not _is_change(change, event))
        if seconds is None:
            return others
        own_changes = (change for change in revision.changes if _is_change(change, event))
        return (*others, *(replace(change, after_seconds=seconds, turn=_LAST_TURN) for change in own_changes))
