"""Applies what-if changes: nodes added, drained, deleted, upgraded, tainted, a zone lost, a workload resized.

Each change is made on what the one before left, and the cluster comes to rest after each: pods that wait are tried
again, controllers replace what is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count as count_up
from math import inf

from planner.capacity.drain import DrainResult, drain_result, gone_words, simulate_drain
from planner.capacity.eviction_simulation import (
    EvictionRun,
    at_rest,
    cordoned,
    evict,
    settled_snapshot,
    with_uncordoned,
)
from planner.capacity.kueue_queues import is_of_queue, moved_words, with_quota
from planner.capacity.node_groups import labels_in_zone
from planner.capacity.node_losses import is_unplayed
from planner.capacity.node_pools import NodePool, capacity_of, pools
from planner.capacity.scale_up_simulation import zone_templates
from planner.capacity.what_if_syntax import Change, ChangeKind, whole_number
from planner.capacity.work_limits import LIMITS
from planner.ground.errors import ChangeError
from planner.ground.quantity import parse
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CONTROLLER_REVISION_HASH, HOSTNAME, RESTARTED_AT
from planner.ground.words import Text, begin_with, count, duration, plural
from planner.inventory.change import WorkloadChange, apply_change
from planner.inventory.pool_limits import PoolLimits, UpgradeSettings, UpgradeStrategy
from planner.kubernetes.clouds import cloud_of, clouds_of
from planner.kubernetes.node_properties import is_silent, zone
from planner.kubernetes.object_records import (
    FrozenMap,
    Node,
    Owner,
    Pod,
    ResourceQuota,
    Snapshot,
    Taint,
    Workload,
)
from planner.kubernetes.selectors import tolerates_taints
from planner.kubernetes.surge_and_unavailable import parse_share
from planner.kubernetes.workload_kinds import JOB, POD, kind_in
from planner.rollout.controllers.registry import making_anew
from planner.rollout.eviction_requests import take_away, these
from planner.rollout.ownership import pods_of, workloads_by_owner
from planner.rollout.run import Revision, simulate
from planner.rollout.scripted_event_playback import hear_again, is_called, retry_after_event
from planner.rollout.silent_nodes import answering, heard_again, silenced, toleration_seconds
from planner.rollout.simulation import Simulation
from planner.rollout.stuck_diagnosis import explain
from planner.rollout.volume_attachments import VOLUME_ELSEWHERE
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.template_node import bare_copy, daemons_on

_NEW = "new"
_MAX_SURGE, _MAX_UNAVAILABLE = "maxSurge", "maxUnavailable"
_NO_REQUESTS = ("replicas", _MAX_SURGE, _MAX_UNAVAILABLE)  # of what `resize` sets; all else is an amount a pod
PATIENCE_SECONDS, PATIENCE = (
    3_600.0,
    "an hour",
)  # for which GKE waits for a node's pods to be evicted before it deletes them
_TOLD = ("status_replicas", "ready_replicas", "available_replicas", "updated_replicas")


class Step(Record):
    """What one change came to. `is_done` is False where it doesn't get through, or where that isn't known (`is_known`); `budgets`: that
    hold pods of an upgrade back; `unplaced`: of its evicted pods those that wait for a node at worst."""

    change: Change
    is_done: bool
    sentence: Text
    drain: DrainResult | None = None
    budgets: tuple[str, ...] = ()
    unplaced: int = 0
    is_known: bool = True

    @property
    def mark(self) -> str:
        return ("✓" if self.is_done else "✗") if self.is_known else "?"


class Changed(Record):
    """The snapshot after the changes.

    `waiting_before`: pods that would wait without them too, once those that find room have taken it.
    """

    snapshot: Snapshot
    waiting_before: int
    steps: tuple[Step, ...]


def apply(
    cluster: Cluster, changes: Sequence[Change], limits: Sequence[PoolLimits] = (), *, is_at_rest: bool = False
) -> Changed:
    """Make the changes one after another.

    Parameters
    ----------
    is_at_rest : whether `cluster` is (`planner.capacity.eviction_simulation.at_rest`), so that it needn't come to rest once more
    limits : sequence of PoolLimits
        How pools are upgraded, where it is given; else GKE's defaults.

    Raises
    ------
    ChangeError
        For a pool, node, zone or workload that isn't there.
    """
    steps = []
    if (
        changes and not is_at_rest and _waiting(cluster.snapshot)
    ):  # a pod that finds room on its own is no merit of a change
        cluster = at_rest(cluster.snapshot)
    waiting_before = _waiting(cluster.snapshot)
    for change in changes:
        snapshot, step = _MADE_BY[change.kind](ChangeCase(cluster, change, limits))
        steps.append(step)
        cluster = at_rest(snapshot)
    return Changed(snapshot=cluster.snapshot, waiting_before=waiting_before, steps=tuple(steps))


class ChangeCase(Record, kw_only=False, eq=False):
    """One change, and the cluster that it is made on."""

    cluster: Cluster
    change: Change
    limits: Sequence[PoolLimits]

    @property
    def snapshot(self) -> Snapshot:
        return self.cluster.snapshot

    def pool(self) -> NodePool:
        """The pool the change names; one without nodes only where some are added."""
        pool_list = [
            node_pool
            for node_pool in pools(self.cluster, self.limits)
            if node_pool.nodes or self.change.kind is ChangeKind.ADD
        ]
        name = self.change.target.removeprefix("pool/")
        for pool in pool_list:
            if pool.name == name:
                return pool
        names = ", ".join(pool.name for pool in pool_list)
        raise self.refused(f"there is no pool {name} with nodes", f"Pools: {names[:300]}")

    def nodes(self) -> tuple[str, ...]:
        """The nodes the change names: one, or all of a pool."""
        if self.change.target.startswith("pool/"):
            return self.pool().nodes
        if self.change.target not in self.cluster.node_index:
            raise self.refused(f"there is no node {self.change.target}", "Name a node, or pool/NAME")
        return (self.change.target,)

    def tainted(self) -> tuple[str, tuple[str, ...]]:
        """The nodes that a taint is put on or taken off, in words and by name: all of a pool, or one where no pool has the name."""
        name = self.change.target.removeprefix("node/")
        is_pool = name == self.change.target and any(
            node_pool.name == name.removeprefix("pool/") for node_pool in pools(self.cluster, self.limits)
        )
        if name in self.cluster.node_index and not is_pool:
            return f"node {name}", (name,)
        pool = self.pool()
        return f"pool {pool.name}", pool.nodes

    def others(self) -> tuple[str, ...]:
        """All nodes but the one that a pod is moved to."""
        if self.change.value not in self.cluster.node_index:
            raise self.refused(f"there is no node {self.change.value}", "Name a node")
        return tuple(name for name in self.cluster.node_names if name != self.change.value)

    def pod(self) -> int:
        """The pod on a node that the change names, by its place in the snapshot."""
        namespace, _, name = self.change.target.partition("/")
        bound = {
            pod.name: i for i, pod in enumerate(self.snapshot.pods) if pod.namespace == namespace and pod.holds_room
        }
        if name not in bound:
            raise self._missing(f"pod {name} on a node in namespace {namespace}", POD.name, bound)
        return bound[name]

    def zone(self) -> tuple[str, ...]:
        """The nodes of the zone the change names."""
        names = tuple(node.name for node in self.cluster.nodes if zone(node) == self.change.target)
        if not names:
            zone_names = ", ".join(sorted({zone(node) for node in self.cluster.nodes} - {""}))
            raise self.refused(f"no node is in zone {self.change.target}", f"Zones: {zone_names[:300]}")
        return names

    def quota(self) -> tuple[ResourceQuota, FrozenMap[int]]:
        """The quota the change names, and what it is to let in."""
        namespace, _, name = self.change.target.partition("/")
        quota_by_name = {quota.name: quota for quota in self.snapshot.resource_quotas if quota.namespace == namespace}
        if name not in quota_by_name:
            raise self._missing(f"ResourceQuota {name} in namespace {namespace}", "ResourceQuota", quota_by_name)
        hard = {key: parse(value, key) for key, value in self.change.settings().items()}
        for key in hard:
            if key not in quota_by_name[name].hard:
                what = f"ResourceQuota {name} says nothing of {key}, so how much of it is used isn't known"
                raise self.refused(what, f"It has {', '.join(sorted(quota_by_name[name].hard))[:300]}")
        return quota_by_name[name], FrozenMap(hard)

    def job(self) -> Workload:
        """The Job the change names."""
        namespace, _, name = self.change.target.partition("/")
        jobs = {
            workload.name: workload
            for workload in self.snapshot.every_workload
            if workload.traits.is_batch and workload.namespace == namespace
        }
        if name not in jobs or jobs[name].is_finished:
            running = [job.name for job in jobs.values() if not job.is_finished]
            raise self._missing(f"Job {name} that isn't done in namespace {namespace}", JOB.name, running)
        return jobs[name]

    def gated(self) -> list[int]:
        """The waiting pods with scheduling gates that the change names, by their place in the snapshot."""
        namespace, _, name = self.change.target.partition("/")
        owners = workloads_by_owner(self.cluster)
        workload_numbers = []
        for index in self.cluster.unbound:
            pod = self.snapshot.pods[index]
            if pod.namespace == namespace and pod.spec.scheduling_gates:
                owner = pod.owner.key(namespace) if pod.owner else ""
                workload_numbers += [index] if is_called(name, pod.name, owners.get(owner, owner)) else []
        if not workload_numbers:
            raise self.refused(f"no pod of {self.change.target} waits behind a scheduling gate")
        return workload_numbers

    def workload(self) -> tuple[Workload, WorkloadChange, str]:
        """The workload the change names, what is asked of it, and that in words."""
        before = self.snapshot.workload(self.change.target)
        if before is None:
            raise self.refused(f"there is no {self.change.target}", "Write kind/namespace/name")
        is_scaled = self.change.kind is ChangeKind.REPLICAS
        is_restarted = self.change.kind is ChangeKind.ROLLOUT
        settings = {"replicas": self.change.value} if is_scaled else self.change.settings()
        replicas = settings.get("replicas")
        requests = {name: parse(value, name) for name, value in settings.items() if name not in _NO_REQUESTS}
        workload_change = WorkloadChange(
            workload=before.key,
            replicas=None if replicas is None else whole_number(self.change, replicas, 100_000, least=0),
            requests=FrozenMap(requests),
            max_surge=_share(settings.get(_MAX_SURGE)),
            max_unavailable=_share(settings.get(_MAX_UNAVAILABLE)),
            new_revision=bool(requests) or is_restarted,
        )
        if is_restarted:
            return before, workload_change, f"{before.key} restarted"
        words = ", ".join(f"{name} {value}" for name, value in settings.items())
        return before, workload_change, f"{before.key} with {words}"

    def remade(self, names: Iterable[str], make: Callable[[Node], Node]) -> tuple[Node, ...]:
        """All nodes, those of these names made others."""
        meant = set(names)
        return tuple(make(node) if node.name in meant else node for node in self.cluster.nodes)

    def _missing(self, what: str, kind: str, existing: Iterable[str]) -> ChangeError:
        names = ", ".join(sorted(existing)) or "none"
        return self.refused(f"there is no {what}", f"{kind}s there: {names[:300]}")

    def refused(self, what: str, fix: str = "") -> ChangeError:
        """That the change can't be made."""
        return ChangeError(what, where=str(self.change)[:120], fix=fix)

    def step(self, sentence: str, *, is_done: bool = True, drain: DrainResult | None = None) -> Step:
        return Step(change=self.change, is_done=is_done, sentence=Text(sentence), drain=drain)


def _share(text: str | None) -> int | str | None:
    return None if text is None else parse_share(text)


# ── nodes come ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _with_nodes(snapshot: Snapshot, nodes: Sequence[Node]) -> Snapshot:
    """The snapshot with more nodes, each with the pods of the DaemonSets that run there, of their latest revision."""
    coming = [(workload, node) for node in nodes for workload in daemons_on(snapshot, node)]
    theirs = {workload.uid for workload, _ in coming}
    new_pods = sorted(
        (pod for pod in snapshot.pods if pod.owner and pod.owner.uid in theirs), key=lambda pod: pod.created_at or 0.0
    )
    # Sorted by age, so that each DaemonSet's newest pod, which is of its latest revision, is written last.
    latest = {pod.owner.uid: pod.labels.get(CONTROLLER_REVISION_HASH, "") for pod in new_pods if pod.owner}
    pods = (_daemon_pod(workload, node, latest.get(workload.uid, "")) for workload, node in coming)
    merged = tuple(sorted((*snapshot.nodes, *nodes), key=lambda node: node.name))
    snapshot = replace(snapshot, nodes=merged, pods=(*snapshot.pods, *pods))
    return _daemons_told(snapshot, Counter(workload.key for workload, _ in coming), 1)


def _daemons_told(snapshot: Snapshot, pods: Counter[str], sign: int) -> Snapshot:
    """The snapshot with so many pods more or fewer in its DaemonSets, by key: else each that is at rest counts as midway."""
    return replace(
        snapshot,
        workloads=tuple(
            replace(workload, **{name: getattr(workload, name) + sign * pods[workload.key] for name in _TOLD})
            if pods[workload.key]
            else workload
            for workload in snapshot.workloads
        ),
    )


def _daemon_pod(workload: Workload, node: Node, revision: str) -> Pod:
    name = f"{workload.name}-{node.name}"
    labels = workload.template.labels
    return Pod(
        namespace=workload.namespace,
        name=name,
        uid=f"new-{workload.namespace}-{name}",
        labels=FrozenMap({**labels, CONTROLLER_REVISION_HASH: revision}) if revision else labels,
        spec=workload.template.spec,
        owner=Owner(kind=workload.kind, name=workload.name, uid=workload.uid),
        node_name=node.name,
        phase="Running",
        is_ready=True,
    )


def copies(cluster: Cluster, pool: NodePool, count: int, word: str) -> tuple[Node, ...]:
    """New nodes of a pool, spread over its zones as it would grow; `word` tells them from others."""
    new_nodes = []
    for number, template in enumerate(zone_templates(cluster, pool, count), start=1):
        name, place = f"{template.name}-{word}-{number}", 1
        while name in cluster.node_index:
            place += 1
            name = f"{template.name}-{word}{place}-{number}"
        new_nodes.append(bare_copy(template, name))
    return tuple(new_nodes)


def _add(case: ChangeCase) -> tuple[Snapshot, Step]:
    pool = case.pool()
    count = whole_number(case.change, case.change.value, 1_000)
    used = capacity_of(case.cluster, pool)
    snapshot = _with_nodes(case.snapshot, copies(case.cluster, pool, count, _NEW))
    sentence = f"{pool.growth_words(count)}{pool.limit_words(count, used)}"
    return snapshot, case.step(sentence, is_done=not pool.past(count, used))


# ── nodes go ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _drain(case: ChangeCase) -> tuple[Snapshot, Step]:
    names = case.nodes()
    run = simulate_drain(case.cluster, names)
    drain = drain_result(case.cluster, names, run)
    return run.simulation.snapshot_now(), case.step(
        str(drain.sentence), is_done=drain.drained and not drain.lost, drain=drain
    )


def _uncordon(case: ChangeCase) -> tuple[Snapshot, Step]:
    names = case.nodes()
    again = {name for name in names if case.cluster.nodes[case.cluster.node_index[name]].is_cordoned}
    if not again:
        return case.snapshot, case.step(f"{_nodes_text(names)}: not cordoned", is_done=False)
    snapshot = with_uncordoned(case.cluster, again).snapshot
    started = _waiting(case.snapshot) - _waiting(snapshot)
    words = f"{_nodes_text(names)} uncordoned"
    return snapshot, case.step(f"{words}: {count(started, 'waiting pod')} placed" if started > 0 else words)


# ── pods go elsewhere ────────────────────────────────────────────────────────────────────────────────────────────────
def _evict(case: ChangeCase) -> tuple[Snapshot, Step]:
    """One pod evicted; one that is moved while all other nodes are cordoned."""
    cluster = case.cluster
    if case.change.kind is ChangeKind.MOVE:
        cluster = cluster.with_nodes(case.remade(case.others(), cordoned))
    place = case.pod()
    pod = case.snapshot.pods[place]
    run = evict(cluster, these([place]))
    words = f"{case.change.target} evicted from {pod.node_name}"
    own = [
        new_pod
        for new_pod in run.made
        if pod.owner and new_pod.owner == pod.owner.key(pod.namespace) and not new_pod.is_gone
    ]
    # Bound isn't started: its ReadWriteOnce volume may still be attached to the node that it was evicted from.
    away = [new_pod for new_pod in own if new_pod in run.simulation.attachments.waiting]
    is_done = bool(run.evicted and own) and all(new_pod.is_bound for new_pod in own) and not away
    if run.left:
        words = f"{case.change.target} can't be evicted: {run.left[0][2]}"
    elif not own:
        words += ": nothing makes it anew"
    elif is_done:
        words += f": its successor is on {', '.join(sorted({cluster.node_names[live_pod.node] for live_pod in own}))}"
    elif away:
        words += f": its successor is on {cluster.node_names[away[0].node]} and waits there {VOLUME_ELSEWHERE}"
    else:
        waiting = next(live_pod for live_pod in own if not live_pod.is_bound)
        words += f": its successor waits: {waiting.message or 'never tried'}"
    preempted = [live_pod for live_pod in run.simulation.preempted if live_pod not in run.moved]
    words += f"; {count(len(preempted), 'pod')} preempted for it" if preempted else ""
    return replace(run.simulation.snapshot_now(), nodes=case.snapshot.nodes), case.step(words, is_done=is_done)


# ── nodes are lost ───────────────────────────────────────────────────────────────────────────────────────────────────
def _delete(case: ChangeCase) -> tuple[Snapshot, Step]:
    is_zone = case.change.kind is ChangeKind.REMOVE_ZONE
    names = case.zone() if is_zone else case.nodes()
    words = f"zone {case.change.target} with {_nodes_text(names)} gone" if is_zone else f"{_nodes_text(names)} deleted"
    snapshot, removed_pods = _without(case.cluster, names)
    before, after = _waiting(case.snapshot), _waiting(snapshot)
    sentence = f"{words}: {count(removed_pods, 'pod')} had to go"
    world = Simulation(case.cluster)
    doomed = [pod for name in names for pod in world.pods.on(case.cluster.node_index[name])]
    unknown = sum(is_unplayed(case.cluster, pod) for pod in doomed)
    bare = _bare(doomed)
    others = (
        "" if removed_pods == unknown + len(bare) else f", all{' others' if unknown or bare else ''} find another node"
    )
    sentence += f", {after - before:,} of their successors find no node" if after > before else others
    away = _unattached(snapshot) - _unattached(case.snapshot)
    if away > 0:
        sentence += f", {away:,} of them {plural(away, 'waits', 'wait')} there {VOLUME_ELSEWHERE}"
    if unknown:
        sentence += (
            f", of {count(unknown, 'pod')} it isn't known whether {plural(unknown, 'it comes', 'they come')} back"
        )
    sentence += f"; {gone_words(bare)}" if bare else ""
    return snapshot, case.step(sentence, is_done=after <= before and away <= 0 and not bare)


def _bare(pods: Iterable[LivePod]) -> list[str]:
    """Pods that no controller recreates; a mirror pod has its node for an owner."""
    return [f"{pod.namespace}/{pod.name}" for pod in pods if not pod.owner]


def _without(cluster: Cluster, names: Sequence[str]) -> tuple[Snapshot, int]:
    """The snapshot without these nodes, and how many pods other than daemons were on them."""
    doomed = [cluster.node_index[name] for name in names]
    world = Simulation(cluster)
    pods = [pod for node in doomed for pod in world.pods.on(node)]
    remaining_nodes = tuple(node for node in cluster.nodes if node.name not in set(names))
    daemons = Counter(pod.owner for pod in pods if kind_in(pod.owner).is_per_node)
    snapshot = _made_anew(_daemons_told(replace(cluster.snapshot, nodes=remaining_nodes), daemons, -1), pods)
    return snapshot, sum(1 for pod in pods if not kind_in(pod.owner).is_per_node)


def _made_anew(snapshot: Snapshot, removed_pods: Sequence[LivePod]) -> Snapshot:
    """The snapshot after these pods have vanished at once and their controllers, DaemonSets apart, have replaced them."""
    names = {(pod.namespace, pod.name) for pod in removed_pods}
    pods = tuple(pod for pod in snapshot.pods if (pod.namespace, pod.name) not in names)
    simulation = Simulation(Cluster(replace(snapshot, pods=pods)))
    for pod in removed_pods:  # a quota that was written while they were there has room again
        simulation.admission.charge(pod.namespace, pod.shape.spec, -1)
    lost = Counter(pod.owner for pod in removed_pods if not pod.is_terminating)
    for pod in {pod.owner: pod for pod in removed_pods if pod.owner and not kind_in(pod.owner).is_per_node}.values():
        controller = making_anew(simulation, pod, lost=lost[pod.owner])
        if controller is not None:
            simulation.controllers.setdefault(controller.key, controller)
    return settled_snapshot(simulation)


def _nodes_text(names: Sequence[str]) -> str:
    return begin_with(names[0], "node") if len(names) == 1 else count(len(names), "node")


def _unattached(snapshot: Snapshot) -> int:
    """Pods that have a node and wait there for a volume that another node has."""
    return len(Simulation(Cluster(snapshot)).attachments.waiting)


def _waiting(snapshot: Snapshot) -> int:
    return sum(pod.waits for pod in snapshot.pods)


# ── nodes that don't answer ──────────────────────────────────────────────────────────────────────────────────────────
def _stops_answering(case: ChangeCase) -> tuple[Snapshot, Step]:
    """Its pods aren't Ready, and who doesn't tolerate that forever is evicted: the object stays, and its controller makes another."""
    names = case.nodes()
    taken_at = case.snapshot.taken_at
    nodes = case.remade(names, lambda node: silenced(node, taken_at))
    pods = tuple(replace(pod, is_ready=False) if pod.node_name in names else pod for pod in case.snapshot.pods)
    simulation = Simulation(Cluster(replace(case.snapshot, nodes=nodes, pods=pods)))
    places = (simulation.cluster.node_index[name] for name in names)
    node_pods = [pod for place in places for pod in simulation.pods.on(place) if not pod.is_terminating]
    # A pod that tolerates the node's taints for good (a DaemonSet's) stays, and no other is made for it.
    doomed = [pod for pod in node_pods if toleration_seconds(pod.shape.spec) < inf]
    for pod in doomed:
        take_away(simulation, pod)
    snapshot = settled_snapshot(simulation)
    waiting = _waiting(snapshot) - _waiting(case.snapshot)
    after = duration(max((toleration_seconds(pod.shape.spec) for pod in doomed), default=0.0))
    words = f"{_nodes_text(names)} {plural(len(names), 'stops', 'stop')} answering: {count(len(node_pods), 'pod')} not Ready"
    if doomed:
        words += f", {len(doomed):,} evicted after {after}"
        if any(pod.owner for pod in doomed):
            outcome = "all that are made anew find a node"
            words += f", {waiting:,} of their successors find no node" if waiting > 0 else f", {outcome}"
    bare = _bare(doomed)
    words += f"; {gone_words(bare)}" if bare else ""
    return snapshot, case.step(words, is_done=waiting <= 0 and not bare)


def _answers(case: ChangeCase) -> tuple[Snapshot, Step]:
    names = [name for name in case.nodes() if is_silent(case.cluster.nodes[case.cluster.node_index[name]])]
    if not names:
        return case.snapshot, case.step(f"{_nodes_text(case.nodes())}: answers already", is_done=False)
    simulation = Simulation(answering(case.cluster, names))
    for name in names:
        hear_again(simulation, simulation.cluster.node_index[name])
    retry_after_event(simulation)
    then = replace(settled_snapshot(simulation), nodes=case.remade(names, heard_again))
    started = _waiting(case.snapshot) - _waiting(then)
    words = f"{_nodes_text(names)} {plural(len(names), 'answers', 'answer')} again"
    return then, case.step(f"{words}: {count(started, 'waiting pod')} placed" if started > 0 else words)


def _force_delete(case: ChangeCase) -> tuple[Snapshot, Step]:
    place = case.pod()
    pod = case.snapshot.pods[place]
    snapshot = _made_anew(case.snapshot, [Simulation(case.cluster).pods.live(place)])
    earlier_uids = {old_pod.uid for old_pod in case.snapshot.pods}
    own = [
        new_pod
        for new_pod in snapshot.pods
        if new_pod.uid not in earlier_uids and pod.owner and new_pod.owner == pod.owner
    ]
    waits = next((new_pod for new_pod in own if not new_pod.node_name), None)
    words = f"{case.change.target} deleted by force from {pod.node_name}"
    if not own:
        words += ": nothing makes it anew"
    elif waits is None:
        words += f": its successor is on {', '.join(sorted({new_pod.node_name for new_pod in own}))}"
    else:
        words += f": its successor waits: {waits.unschedulable_message or 'never tried'}"
    return snapshot, case.step(words, is_done=bool(own) and waits is None)


# ── upgrades ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _upgrade(case: ChangeCase) -> tuple[Snapshot, Step]:
    """Surge: so many nodes more, so many nodes missing at a time. Blue-green: the whole pool twice.

    Source: cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies (2026-07): budgets are
    respected for up to an hour (`PATIENCE_SECONDS`), then the pods are deleted.
    """
    way = way_of_upgrading(case)
    if way.why_not:
        return case.snapshot, case.step(f"pool {case.pool().name} can't be upgraded{way.why_not}", is_done=False)
    steps = list(upgrade_steps(case))
    upgrade_step = _upgraded(case, [step.run for step in steps], way.how, steps[0].of)
    if doubt := zone_doubt(case, way, upgrade_step):
        upgrade_step = replace(upgrade_step, is_done=False, is_known=False, sentence=Text(f"not known: {doubt}"))
    return steps[-1].after, upgrade_step


def zone_doubt(case: ChangeCase, way: UpgradePace, upgrade_step: Step | None = None) -> str:
    """What the zone of a node that comes would decide, where that is not known: zone; "" where it decides nothing. `upgrade_step`: the upgrade
    with each in the zone of the one that it comes for.

    GKE gives it that zone (`Cloud.surges_in_zone`); AKS spreads nodes over zones by best effort (Azure/AKS#2529, Azure/AKS#3292), all of
    a pool's at once (blue-green, or a surge of 100%) no otherwise. So the upgrade is played with the nodes that come in each zone of the
    pool.
    """
    members = [case.cluster.nodes[case.cluster.node_index[name]] for name in case.pool().nodes]
    zones = sorted({zone(node) for node in members} - {""})
    is_told = all((cloud := cloud_of(node)) is not None and cloud.surges_in_zone for node in members)
    if is_told or len(zones) < 2 or not way.surge:
        return ""
    upgrade_step = upgrade_step or _upgraded(case, [step.run for step in upgrade_steps(case)], way.how, 0)
    for place in zones:
        runs = [step.run for step in upgrade_steps(case, place=place)]
        other = _upgraded(case, runs, way.how, len(runs))
        if other.is_done is not upgrade_step.is_done or _most_unplaced(runs) != upgrade_step.unplaced:
            by = next((f", which {cloud.name} chooses" for cloud in clouds_of(members)), "")
            other_waits, waits = (
                count(number, "evicted pod waits", "evicted pods wait")
                for number in (_most_unplaced(runs), upgrade_step.unplaced)
            )
            return f"the zone of the surge {plural(way.surge, 'node', 'nodes')}{by}: in {place} {other_waits} for a node, in the zone of the node that goes {waits}"
    return ""


class UpgradeStep(Record):
    """A step of an upgrade that was played: the cluster with the nodes that come, those that go, the drain, and the snapshot after
    it; `of`: how many steps there are."""

    cluster: Cluster
    nodes: tuple[str, ...]
    run: EvictionRun
    after: Snapshot
    of: int


def upgrade_steps(
    case: ChangeCase, watch: Callable[[Simulation, float], None] | None = None, *, place: str = ""
) -> Iterator[UpgradeStep]:
    """The steps that are played; none where it can't be upgraded. `watch` as `planner.capacity.drain.simulate_drain` has it; `place`: the zone of
    the nodes that come before others go."""
    cluster, batches = case.cluster, upgrade_batches(case, way_of_upgrading(case), place)
    for batch in batches[: LIMITS.batches]:
        larger = at_rest(_with_nodes(cluster.snapshot, batch.ahead))
        run = simulate_drain(larger, batch.nodes, watch=watch)
        emptied, _ = _without(Cluster(run.simulation.snapshot_now()), batch.nodes)
        names = batch.nodes[len(batch.ahead) :]
        again = [bare_copy(node, name) for node, name in zip(batch.again, names, strict=True)]
        cluster = at_rest(_with_nodes(emptied, again))
        yield UpgradeStep(cluster=larger, nodes=batch.nodes, run=run, after=cluster.snapshot, of=len(batches))


class Batch(Record):
    """`nodes` go together. Of the new ones `ahead` are there before, each in the zone of the one that it comes for or in another one that
    was asked for, and `again` come as they have gone: the same machines by another name, with the hostnames that they had."""

    nodes: tuple[str, ...]
    ahead: tuple[Node, ...]
    again: tuple[Node, ...]


def upgrade_batches(case: ChangeCase, way: UpgradePace, zone_ahead: str = "") -> list[Batch]:
    """The batches in their order; none where it can't be upgraded. `zone_ahead`: of the nodes that come before."""
    cluster, batches, nodes = case.cluster, list[Batch](), () if way.why_not else case.pool().nodes
    while nodes:
        names, nodes = nodes[: way.surge + way.unavailable], nodes[way.surge + way.unavailable :]
        new = list[Node]()
        for place, name in enumerate(names):
            old = cluster.nodes[cluster.node_index[name]]
            called = next(
                node_name for number in count_up() if (node_name := f"{name}-up{number}") not in cluster.node_index
            )
            moved = labels_in_zone(old, zone_ahead) if zone_ahead and place < way.surge else old.labels
            node = bare_copy(replace(old, labels=FrozenMap(moved)), called)
            hostname_label = {HOSTNAME: old.labels.get(HOSTNAME, name)} if place >= way.surge else {}
            new.append(replace(node, labels=FrozenMap({**node.labels, **hostname_label})))
        batches.append(Batch(nodes=names, ahead=tuple(new[: way.surge]), again=tuple(new[way.surge :])))
    return batches


class UpgradePace(Record):
    """How a pool is upgraded: so many nodes more and so many missing at a time, in words, or why it can't be."""

    how: str
    surge: int
    unavailable: int = 0
    why_not: str = ""


def way_of_upgrading(case: ChangeCase) -> UpgradePace:
    """As the change says, else the pool's settings."""
    pool, settings = case.pool(), case.change.settings()
    upgrade = pool.upgrade or UpgradeSettings()
    quota = int(settings["quota"]) if "quota" in settings else None
    # A change that names surge or unavailable asks for a surge upgrade, whatever the pool's own strategy is.
    is_blue_green = upgrade.strategy is UpgradeStrategy.BLUE_GREEN and not settings.keys() & {"surge", "unavailable"}
    surge_nodes = pool.node_count if is_blue_green else int(settings.get("surge", upgrade.max_surge))
    lacks = f": it needs {surge_nodes} more {plural(surge_nodes, 'node')} and the quota lets in {quota}"
    if is_blue_green:
        why = f" blue-green{lacks}" if quota is not None and quota < surge_nodes else ""
        how = f"blue-green, {surge_nodes} more {plural(surge_nodes, 'node')} meanwhile"
        return UpgradePace(how=how, surge=surge_nodes, why_not=why)
    unavailable = int(settings.get("unavailable", upgrade.max_unavailable))
    surge = surge_nodes if quota is None else min(surge_nodes, quota)
    why = "" if surge + unavailable else lacks if surge_nodes else ": surge and unavailable are 0"
    return UpgradePace(
        how=f"surge {surge}, unavailable {unavailable}", surge=surge, unavailable=unavailable, why_not=why
    )


def _upgraded(case: ChangeCase, runs: Sequence[EvictionRun], how: str, batches: int) -> Step:
    name = case.change.target.removeprefix("pool/")
    evicted = sum(run.evicted for run in runs)
    held_pods = {(pod.namespace, pod.name): budget for run in runs for pod, budget, _ in run.left}
    unplaced = _most_unplaced(runs)
    lost = [f"{pod.namespace}/{pod.name}" for run in runs for pod in run.lost]
    sentence = f"pool {name} upgraded in {count(batches, 'step')} ({how}): {count(evicted, 'pod')} evicted"
    if batches > len(runs):
        sentence += f" in the {count(len(runs), 'step that was', 'steps that were')} played"
    budgets = tuple(sorted(set(held_pods.values()) - {""}))
    if held_pods:
        by = ", ".join(budgets) or "something else"
        sentence += f"; {len(held_pods):,} held back by {by} (GKE deletes them after {PATIENCE})"
    if unplaced:
        sentence += f"; at worst {count(unplaced, 'evicted pod waits', 'evicted pods wait')} for a node"
    if lost:
        sentence += f"; {gone_words(lost)}"
    return replace(case.step(sentence, is_done=not (held_pods or unplaced or lost)), budgets=budgets, unplaced=unplaced)


def _most_unplaced(runs: Iterable[EvictionRun]) -> int:
    """Of the evicted pods, how many wait for a node at worst."""
    return max(sum(1 for pod in run.simulation.queue.pods() if pod.number > 0) for run in runs)


# ── taints ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _taint(case: ChangeCase) -> tuple[Snapshot, Step]:
    key, _, effect = case.change.value.rpartition(":")
    taint = Taint(key=key, value="", effect=effect)
    where, names = case.tainted()
    words = f"{where} gets the taint {key}:{effect}"
    nodes = case.remade(names, lambda node: replace(node, taints=(*without_taint(node, key, effect).taints, taint)))
    tainted = replace(case.snapshot, nodes=nodes)
    if effect != "NoExecute":
        return tainted, case.step(f"{words}; pods that are there stay")
    world = Simulation(case.cluster)
    doomed = [
        pod
        for place in (case.cluster.node_index[n] for n in names)
        for pod in world.pods.on(place)
        if not tolerates_taints(pod.shape.spec.tolerations, (taint,))
    ]
    snapshot = _made_anew(tainted, doomed)
    waiting = _waiting(snapshot) - _waiting(case.snapshot)
    sentence = f"{words}: {count(len(doomed), 'pod')} that {plural(len(doomed), 'doesn', 'don')}'t tolerate it {plural(len(doomed), 'has', 'have')} to go"
    sentence += f", {waiting:,} of their successors find no node" if waiting > 0 else ""
    bare = _bare(doomed)
    sentence += f"; {gone_words(bare)}" if bare else ""
    return snapshot, case.step(sentence, is_done=waiting <= 0 and not bare)


def without_taint(node: Node, key: str, effect: str = "") -> Node:
    """The node without its taints of that key, of that effect where one is given."""
    return replace(
        node, taints=tuple(taint for taint in node.taints if taint.key != key or effect not in ("", taint.effect))
    )


def _untaint(case: ChangeCase) -> tuple[Snapshot, Step]:
    where, members = case.tainted()
    key = case.change.value.partition(":")[0]
    if not any(t.key == key for n in case.cluster.nodes if n.name in members for t in n.taints):
        raise case.refused(f"{where} has no taint {key}")
    nodes = case.remade(members, lambda node: without_taint(node, key))
    return replace(case.snapshot, nodes=nodes), case.step(f"{where} loses the taint {key}")


# ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _resize(case: ChangeCase) -> tuple[Snapshot, Step]:
    before, workload_change, words = case.workload()
    after, has_new_template, _ = apply_change(before, workload_change)
    if case.change.kind is ChangeKind.ROLLOUT:  # else its ReplicaSets before and after would be one to who comes later
        restarted = FrozenMap({**after.template.annotations, RESTARTED_AT: str(case.snapshot.taken_at)})
        after = replace(after, template=replace(after.template, annotations=restarted))
    revision = Revision(before=before, after=after, has_new_template=has_new_template)
    run = simulate(case.cluster, [revision]).whole()
    if run.completed:
        sentence = f"{words}: rolled out in {count(run.ticks, 'step')}"
    else:
        sentence = f"{words}: {explain(run, revision).sentence}"
    return run.simulation.snapshot_now(), case.step(sentence, is_done=run.completed)


# ── quotas, Jobs, gates ──────────────────────────────────────────────────────────────────────────────────────────────
def _quota(case: ChangeCase) -> tuple[Snapshot, Step]:
    if is_of_queue(case.change):
        moved = with_quota(case.snapshot, case.change)
        quota_text = f"ClusterQueue's quota {case.change.target} is {case.change.value}"
        return moved, case.step(f"{quota_text}; {moved_words(case.snapshot, moved)}")
    quota, hard = case.quota()
    then = replace(quota, hard=FrozenMap({**quota.hard, **hard}))
    quotas = tuple(then if old_quota is quota else old_quota for old_quota in case.snapshot.resource_quotas)
    return replace(case.snapshot, resource_quotas=quotas), case.step(quota_words(case.change))


def quota_words(change: Change) -> str:
    """``quota ml/gpus lets in requests.nvidia.com/gpu 8``."""
    return f"quota {change.target} lets in {', '.join(f'{k} {v}' for k, v in change.settings().items())}"


def _job_ends(case: ChangeCase) -> tuple[Snapshot, Step]:
    job = case.job()
    job_pods = set(pods_of(case.cluster, job))
    pods = tuple(pod for index, pod in enumerate(case.snapshot.pods) if index not in job_pods)
    done = replace(job, is_finished=True)
    workloads, others = (
        tuple(done if workload is job else workload for workload in owners)
        for owners in (case.snapshot.workloads, case.snapshot.others)
    )
    then = replace(case.snapshot, pods=pods, workloads=workloads, others=others)
    return then, case.step(f"Job {case.change.target} ends: {count(len(job_pods), 'pod')} gone")


def _ungate(case: ChangeCase) -> tuple[Snapshot, Step]:
    gated_pods = set(case.gated())
    pods = tuple(
        replace(pod, spec=replace(pod.spec, scheduling_gates=())) if index in gated_pods else pod
        for index, pod in enumerate(case.snapshot.pods)
    )
    then = at_rest(replace(case.snapshot, pods=pods)).snapshot
    names = {(case.snapshot.pods[index].namespace, case.snapshot.pods[index].name) for index in gated_pods}
    pending_pods = sum(pod.waits and (pod.namespace, pod.name) in names for pod in then.pods)
    words = f"{count(len(gated_pods), 'pod')} of {case.change.target} without scheduling gates"
    return then, case.step(
        f"{words}: {pending_pods:,} find no node" if pending_pods else f"{words}, placed", is_done=not pending_pods
    )


def _apply(case: ChangeCase) -> tuple[Snapshot, Step]:
    fix = "headroom rollout CLUSTER -f FILE asks what a manifest comes to"
    raise case.refused("apply is played beside a rollout, not by itself", fix)


_MADE_BY: dict[ChangeKind, Callable[[ChangeCase], tuple[Snapshot, Step]]] = {
    ChangeKind.ADD: _add,
    ChangeKind.DRAIN: _drain,
    ChangeKind.UNCORDON: _uncordon,
    ChangeKind.EVICT: _evict,
    ChangeKind.MOVE: _evict,
    ChangeKind.DELETE: _delete,
    ChangeKind.UPGRADE: _upgrade,
    ChangeKind.REMOVE_ZONE: _delete,
    ChangeKind.STOPS_ANSWERING: _stops_answering,
    ChangeKind.ANSWERS: _answers,
    ChangeKind.FORCE_DELETE: _force_delete,
    ChangeKind.TAINT: _taint,
    ChangeKind.UNTAINT: _untaint,
    ChangeKind.RESIZE: _resize,
    ChangeKind.REPLICAS: _resize,
    ChangeKind.ROLLOUT: _resize,
    ChangeKind.QUOTA: _quota,
    ChangeKind.JOB_ENDS: _job_ends,
    ChangeKind.UNGATE: _ungate,
    ChangeKind.APPLY: _apply,
}
