"""The cluster after changes: nodes added, drained, deleted, upgraded, tainted, a zone gone, a workload resized.

Each change is made on what the one before left, and the cluster comes to rest after each: pods that wait are tried
again, controllers replace what is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planner.capacity.changes import Change, ChangeKind, node_number
from planner.capacity.drain import DrainResult, DrainRun, described, drain_controller, play
from planner.capacity.growth import zone_templates
from planner.capacity.node_pools import NodePool, pools
from planner.ground.errors import ChangeError
from planner.ground.quantity import parse
from planner.ground.vocabulary import REVISION
from planner.ground.words import Text, count
from planner.inventory.change import WorkloadChange, apply_change
from planner.inventory.pool_limits import PoolLimits, UpgradeSettings, UpgradeStrategy
from planner.kubernetes.kinds import REPLICA_SET, kind_in
from planner.kubernetes.nodes import zone
from planner.kubernetes.records import FrozenMap, Node, Owner, Pod, ReplicaSet, Snapshot, Taint, Workload
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.simulation import Simulation
from planner.rollout.verdict import explain
from planner.scheduling.cluster import Cluster
from planner.scheduling.empty_node import bare_copy
from planner.scheduling.pod import LivePod

_MOST_BATCHES = 12  # of an upgrade, played; a pool of hundreds of nodes repeats itself
_NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one change came to. `is_done` is False where it doesn't get through."""

    change: Change
    is_done: bool
    sentence: Text
    drain: DrainResult | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The snapshot after the changes.

    `waiting_before`: pods that would wait without them too, once those that find room have taken it.
    """

    snapshot: Snapshot
    waiting_before: int
    steps: tuple[Step, ...]


def apply(cluster: Cluster, changes: Sequence[Change], limits: Sequence[PoolLimits] = ()) -> Changed:
    """Make the changes one after another.

    Parameters
    ----------
    limits : sequence of PoolLimits
        How pools are upgraded, where somebody says; else GKE's defaults.

    Raises
    ------
    ChangeError
        For a pool, node, zone or workload that isn't there.
    """
    steps = []
    if changes and _waiting(cluster.snapshot):  # who finds room by himself is no merit of a change
        cluster = _at_rest(cluster.snapshot)
    waiting_before = _waiting(cluster.snapshot)
    for change in changes:
        snapshot, step = _MADE_BY[change.kind](_Case(cluster, change, limits))
        steps.append(step)
        cluster = _at_rest(snapshot)
    return Changed(snapshot=cluster.snapshot, waiting_before=waiting_before, steps=tuple(steps))


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    cluster: Cluster
    change: Change
    limits: Sequence[PoolLimits]

    @property
    def snapshot(self) -> Snapshot:
        return self.cluster.snapshot

    def pool(self) -> NodePool:
        """The pool the change names."""
        known = pools(self.cluster, self.limits)
        name = self.change.target.removeprefix("pool/")
        for pool in known:
            if pool.name == name and pool.nodes:
                return pool
        names = ", ".join(pool.name for pool in known if pool.nodes)
        raise ChangeError(
            f"there is no pool {name} with nodes", where=str(self.change)[:120], mend=f"Pools: {names[:300]}"
        )

    def nodes(self) -> tuple[str, ...]:
        """The nodes the change names: one, or all of a pool."""
        if self.change.target.startswith("pool/"):
            return self.pool().nodes
        if self.change.target not in self.cluster.node_index:
            raise ChangeError(
                f"there is no node {self.change.target}", where=str(self.change)[:120], mend="Name a node, or pool/NAME"
            )
        return (self.change.target,)

    def step(self, sentence: str, *, is_done: bool = True, drain: DrainResult | None = None) -> Step:
        return Step(change=self.change, is_done=is_done, sentence=Text(sentence), drain=drain)


# ── coming to rest ───────────────────────────────────────────────────────────────────────────────────────────────────
def _at_rest(snapshot: Snapshot) -> Cluster:
    """Pods that wait are tried again; what starts becomes Ready."""
    if not _waiting(snapshot):
        return Cluster(snapshot)
    anew = tuple(replace(p, unschedulable_message="") if p.unschedulable_message else p for p in snapshot.pods)
    return Cluster(_played(Simulation(Cluster(replace(snapshot, pods=anew)))))


def _played(simulation: Simulation) -> Snapshot:
    simulation.tick_number = max(simulation.tick_number, 0)
    simulation.replacement = lambda pod: drain_controller(simulation, pod)
    simulation.settle()
    while simulation.is_moving:
        simulation.tick()
        simulation.settle()
    return simulation.snapshot_now()


# ── nodes come ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _with_nodes(snapshot: Snapshot, nodes: Sequence[Node]) -> Snapshot:
    """The snapshot with more nodes, each with the pods of the DaemonSets that run there."""
    pods: list[Pod] = []
    for node in nodes:
        for workload in snapshot.every_workload:
            spec = workload.template.spec
            if not workload.traits.is_per_node or not tolerates_taints(spec.tolerations, node.taints):
                continue
            if node_affinity_matches(spec, node.labels, node.name):
                pods.append(_daemon_pod(workload, node))
    merged = tuple(sorted((*snapshot.nodes, *nodes), key=lambda node: node.name))
    return replace(snapshot, nodes=merged, pods=(*snapshot.pods, *pods))


def _daemon_pod(workload: Workload, node: Node) -> Pod:
    name = f"{workload.name}-{node.name}"
    return Pod(
        namespace=workload.namespace,
        name=name,
        uid=f"new-{workload.namespace}-{name}",
        labels=workload.template.labels,
        spec=workload.template.spec,
        owner=Owner(kind=workload.kind, name=workload.name, uid=workload.uid),
        node_name=node.name,
        phase="Running",
        is_ready=True,
    )


def _copies(cluster: Cluster, pool: NodePool, count: int, word: str) -> tuple[Node, ...]:
    """New nodes of a pool, spread over its zones as it would grow; `word` tells them from others."""
    made = []
    for number, template in enumerate(zone_templates(cluster, pool, count), start=1):
        name, place = f"{template.name}-{word}-{number}", 1
        while name in cluster.node_index:
            place += 1
            name = f"{template.name}-{word}{place}-{number}"
        made.append(bare_copy(template, name))
    return tuple(made)


def _add(case: _Case) -> tuple[Snapshot, Step]:
    pool = case.pool()
    count = node_number(case.change, case.change.value, 1_000)
    room = pool.room()
    now = pool.node_count
    sentence = f"pool {pool.name} grows from {now} to {now + count} nodes"
    if room is not None and count > room:
        sentence += f", past what {pool.limit_text} allows"
    snapshot = _with_nodes(case.snapshot, _copies(case.cluster, pool, count, _NEW))
    return snapshot, case.step(sentence, is_done=room is None or count <= room)


# ── nodes go ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _drain(case: _Case) -> tuple[Snapshot, Step]:
    names = case.nodes()
    run = play(case.cluster, names)
    result = described(case.cluster, names, run)
    return run.simulation.snapshot_now(), case.step(str(result.sentence), is_done=result.drained, drain=result)


def _delete(case: _Case) -> tuple[Snapshot, Step]:
    names = case.nodes()
    return _lost(case, names, f"{_nodes_text(names)} deleted")


def _remove_zone(case: _Case) -> tuple[Snapshot, Step]:
    names = tuple(node.name for node in case.cluster.nodes if zone(node) == case.change.target)
    if not names:
        known = ", ".join(sorted({zone(node) for node in case.cluster.nodes} - {""}))
        raise ChangeError(
            f"no node is in zone {case.change.target}", where=str(case.change)[:120], mend=f"Zones: {known[:300]}"
        )
    return _lost(case, names, f"zone {case.change.target} with {_nodes_text(names)} gone")


def _waiting(snapshot: Snapshot) -> int:
    return sum(pod.waits for pod in snapshot.pods)


def _lost(case: _Case, names: Sequence[str], words: str) -> tuple[Snapshot, Step]:
    snapshot, gone = _without(case.cluster, names)
    before, after = _waiting(case.snapshot), _waiting(snapshot)
    sentence = f"{words}: {count(gone, 'pod')} had to go"
    sentence += (
        f", {after - before:,} of their successors find no node" if after > before else ", all find another node"
    )
    return snapshot, case.step(sentence, is_done=after <= before)


def _without(cluster: Cluster, names: Sequence[str]) -> tuple[Snapshot, int]:
    """The snapshot without these nodes, and how many pods other than daemons were on them."""
    doomed = [cluster.node_index[name] for name in names]
    world = Simulation(cluster)
    pods = [pod for node in doomed for pod in world.pods_on(node)]
    kept = tuple(node for node in cluster.nodes if node.name not in set(names))
    snapshot = _made_anew(replace(cluster.snapshot, nodes=kept), pods)
    return snapshot, sum(1 for pod in pods if not kind_in(pod.owner).is_per_node)


def _made_anew(snapshot: Snapshot, gone: Sequence[LivePod]) -> Snapshot:
    """The snapshot after these pods have vanished at once and their controllers, DaemonSets apart, have replaced them."""
    names = {(pod.namespace, pod.name) for pod in gone}
    pods = tuple(pod for pod in snapshot.pods if (pod.namespace, pod.name) not in names)
    simulation = Simulation(Cluster(replace(snapshot, pods=pods)))
    lost = Counter(pod.owner for pod in gone if not pod.is_terminating)
    for pod in {pod.owner: pod for pod in gone if pod.owner and not kind_in(pod.owner).is_per_node}.values():
        controller = drain_controller(simulation, pod, lost=lost[pod.owner])
        if controller is not None:
            simulation.controllers.setdefault(controller.key, controller)
    return _played(simulation)


def _nodes_text(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else count(len(names), "node")


# ── upgrades ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _upgrade(case: _Case) -> tuple[Snapshot, Step]:
    """Surge: so many nodes more, so many nodes missing at a time. Blue-green: the whole pool twice.

    Source: cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies (2026-07): budgets are
    respected for up to an hour, then the pods are deleted.
    """
    pool = case.pool()
    settings = case.change.settings()
    asked = pool.upgrade or UpgradeSettings()
    quota = int(settings["quota"]) if "quota" in settings else None
    if asked.strategy is UpgradeStrategy.BLUE_GREEN and not settings.keys() & {"surge", "unavailable"}:
        return _blue_green(case, pool, quota)
    wanted = int(settings.get("surge", asked.max_surge))
    unavailable = int(settings.get("unavailable", asked.max_unavailable))
    surge = wanted if quota is None else min(wanted, quota)
    how = f"surge {surge}, unavailable {unavailable}"
    if surge + unavailable == 0:
        why = f"it needs {wanted} more nodes and the quota lets in {quota}" if wanted else "surge and unavailable are 0"
        return case.snapshot, case.step(f"pool {pool.name} can't be upgraded: {why}", is_done=False)
    batch = surge + unavailable
    cluster, runs = case.cluster, []
    batches = [pool.nodes[i : i + batch] for i in range(0, pool.node_count, batch)]
    for names in batches[:_MOST_BATCHES]:
        added = _copies(cluster, pool, min(surge, len(names)), "up")
        larger = _at_rest(_with_nodes(cluster.snapshot, added))
        run = play(larger, names)
        runs.append(run)
        emptied, _ = _without(Cluster(run.simulation.snapshot_now()), names)
        again = tuple(bare_copy(cluster.nodes[cluster.node_index[n]], n) for n in names[len(added) :])
        cluster = _at_rest(_with_nodes(emptied, again))
        pool = replace(
            pool, nodes=tuple(n for n in pool.nodes if n in cluster.node_index) or tuple(n.name for n in added)
        )
    return cluster.snapshot, _upgraded(case, runs, how, len(batches))


def _blue_green(case: _Case, pool: NodePool, quota: int | None) -> tuple[Snapshot, Step]:
    count = pool.node_count
    if quota is not None and quota < count:
        sentence = (
            f"pool {pool.name} can't be upgraded blue-green: it needs {count} more nodes and the quota lets in {quota}"
        )
        return case.snapshot, case.step(sentence, is_done=False)
    larger = _at_rest(_with_nodes(case.snapshot, _copies(case.cluster, pool, count, "green")))
    run = play(larger, pool.nodes)
    snapshot, _ = _without(Cluster(run.simulation.snapshot_now()), pool.nodes)
    return snapshot, _upgraded(case, [run], f"blue-green, {count} more nodes meanwhile", 1)


def _upgraded(case: _Case, runs: Sequence[DrainRun], how: str, batches: int) -> Step:
    name = case.change.target.removeprefix("pool/")
    evicted = sum(run.evicted for run in runs)
    held = {(pod.namespace, pod.name): budget for run in runs for pod, budget, _ in run.left}
    unplaced = max(sum(1 for pod in run.simulation.queue if pod.number > 0) for run in runs)
    steps = f"{batches} steps" if batches != 1 else "1 step"
    sentence = f"pool {name} upgraded in {steps} ({how}): {evicted:,} pods evicted"
    if batches > len(runs):
        sentence += f" in the {len(runs)} steps that were played"
    if held:
        budgets = ", ".join(sorted(set(held.values()) - {""}))
        sentence += f"; {len(held):,} held back by {budgets or 'something else'} (GKE deletes them after an hour)"
    if unplaced:
        sentence += f"; at worst {unplaced:,} evicted pods wait for a node"
    return case.step(sentence, is_done=not held and not unplaced)


# ── taints ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _taint(case: _Case) -> tuple[Snapshot, Step]:
    key, _, effect = case.change.value.rpartition(":")
    taint = Taint(key=key, value="", effect=effect)
    pool = case.pool()
    nodes = tuple(
        replace(node, taints=(*(t for t in node.taints if t.key != key or t.effect != effect), taint))
        if node.name in set(pool.nodes)
        else node
        for node in case.cluster.nodes
    )
    words = f"pool {pool.name} gets the taint {key}:{effect}"
    tainted = replace(case.snapshot, nodes=nodes)
    if effect != "NoExecute":
        return tainted, case.step(f"{words}; pods that are there stay")
    world = Simulation(case.cluster)
    doomed = [
        pod
        for place in (case.cluster.node_index[n] for n in pool.nodes)
        for pod in world.pods_on(place)
        if not tolerates_taints(pod.shape.spec.tolerations, (taint,))
    ]
    snapshot = _made_anew(tainted, doomed)
    waiting = _waiting(snapshot) - _waiting(case.snapshot)
    sentence = f"{words}: {len(doomed):,} pods that don't tolerate it have to go"
    sentence += f", {waiting:,} of their successors find no node" if waiting > 0 else ""
    return snapshot, case.step(sentence, is_done=waiting <= 0)


def _untaint(case: _Case) -> tuple[Snapshot, Step]:
    pool = case.pool()
    key = case.change.value.partition(":")[0]
    members = set(pool.nodes)
    if not any(t.key == key for n in case.cluster.nodes if n.name in members for t in n.taints):
        raise ChangeError(f"pool {pool.name} has no taint {key}", where=str(case.change)[:120])
    nodes = tuple(
        replace(node, taints=tuple(t for t in node.taints if t.key != key)) if node.name in members else node
        for node in case.cluster.nodes
    )
    return replace(case.snapshot, nodes=nodes), case.step(f"pool {pool.name} loses the taint {key}")


# ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _resize(case: _Case) -> tuple[Snapshot, Step]:
    settings = case.change.settings()
    replicas = settings.pop("replicas", None)
    before = case.snapshot.workload(case.change.target)
    if before is None:
        raise ChangeError(
            f"there is no {case.change.target}", where=str(case.change)[:120], mend="Write kind/namespace/name"
        )
    requests = {name: parse(value, name) for name, value in settings.items()}
    asked = WorkloadChange(
        workload=before.key,
        replicas=None if replicas is None else node_number(case.change, replicas, 100_000, least=0),
        requests=FrozenMap(requests),
        new_revision=bool(requests),
    )
    after, has_new_template, _ = apply_change(before, asked)
    revision = Revision(before=before, after=after, has_new_template=has_new_template)
    run = simulate(case.cluster, [revision]).whole()
    words = ", ".join(
        filter(None, (f"{n} {v}" for n, v in {**settings, "replicas": replicas}.items() if v is not None))
    )
    if run.completed:
        sentence = f"{before.key} with {words}: rolled out in {run.ticks} steps"
    else:
        sentence = f"{before.key} with {words}: {explain(run, revision).sentence}"
    return _rolled_out(run, revision), case.step(sentence, is_done=run.completed)


def _rolled_out(run: Run, revision: Revision) -> Snapshot:
    """The snapshot after a rollout: the workload as changed, its new ReplicaSet known."""
    snapshot, after = run.simulation.snapshot_now(), revision.after
    workloads = tuple(after if w.key == after.key else w for w in snapshot.workloads)
    snapshot = replace(snapshot, workloads=workloads)
    if after.traits.part != REPLICA_SET.name:
        return snapshot
    held = {pod.owner: pod for pod in run.pods[after.key] if pod.is_new}
    known = [s for s in snapshot.replica_sets if s.owner is not None and s.owner.uid == after.uid]
    sizes = {s.key: 0 for s in known}
    for pod in run.pods[after.key]:
        if not pod.is_terminating:
            sizes[pod.owner] = sizes.get(pod.owner, 0) + 1
    sets = [replace(s, replicas=sizes[s.key]) if s in known else s for s in snapshot.replica_sets]
    number = max((int(s.annotations.get(REVISION, "0") or 0) for s in known), default=0) + 1
    names = {pod.uid for pod in run.pods[after.key] if pod.is_new}
    pods = snapshot.pods
    for key, pod in held.items():
        name = key.rsplit("/", 1)[-1]
        owner = Owner(kind=REPLICA_SET.name, name=name, uid=f"new-{after.uid}-{number}")
        sets.append(
            ReplicaSet(
                namespace=after.namespace, name=name, uid=owner.uid, labels=pod.shape.labels,
                annotations=FrozenMap({REVISION: str(number)}),
                owner=Owner(kind=after.kind, name=after.name, uid=after.uid),
                created_at=snapshot.taken_at, replicas=sizes.get(key, 0), selector=after.selector, template=after.template,
            )
        )  # fmt: skip
        pods = tuple(replace(p, owner=owner) if p.uid in names else p for p in pods)
    return replace(snapshot, replica_sets=tuple(sets), pods=pods)


_MADE_BY: dict[ChangeKind, Callable[[_Case], tuple[Snapshot, Step]]] = {
    ChangeKind.ADD: _add,
    ChangeKind.DRAIN: _drain,
    ChangeKind.DELETE: _delete,
    ChangeKind.UPGRADE: _upgrade,
    ChangeKind.REMOVE_ZONE: _remove_zone,
    ChangeKind.TAINT: _taint,
    ChangeKind.UNTAINT: _untaint,
    ChangeKind.RESIZE: _resize,
}
