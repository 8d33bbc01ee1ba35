"""The pods of a run: the snapshot's, loaded when needed, and those created during the run.

A snapshot may hold tens of thousands of pods of which a rollout meets a few. So a pod of the snapshot is put in motion,
as a `LivePod`, only when it is asked for: by its index, or with all pods of its owner, node or namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from planner.ground.records import replace
from planner.ground.well_known_names import CONTROLLER_REVISION_HASH, POD_DELETION_COST
from planner.ground.work_budget import WorkBudget
from planner.kubernetes.derived import Same
from planner.kubernetes.disruption_budgets import BudgetStatus, Covered, covers, status
from planner.kubernetes.object_records import Labels, Owner, Pod, PodDisruptionBudget, PodSpec, ReplicaSet, Workload
from planner.kubernetes.workload_kinds import kind_called, kind_in
from planner.rollout.claims_from_templates import claims_made
from planner.rollout.ownership import is_failing, is_starting, pods_by_node, pods_by_owner
from planner.rollout.pods_by_state import Tally
from planner.rollout.silent_nodes import out_of_service, silent_nodes
from planner.scheduling.cluster import Cluster, once_a_cluster
from planner.scheduling.devices import device_table
from planner.scheduling.pod import NOWHERE, LivePod
from planner.scheduling.scheduler import Budget
from planner.scheduling.shape import Shape, compile_shape


class Pods:
    """The pods of a run, by index, owner, node and namespace, and what happened to them.

    Parameters
    ----------
    work : what the run may still cost
    scales : key of an owner of pods → the workload it works for, and its replicas (`planner.kubernetes.disruption_budgets.scales`)
    hears : called with the key of a pod's owner when something happened to the pod
    waits : called with a pod of the snapshot that has no node when it is put in motion, and its index
    lacks : called with a pod that has its node and isn't Ready: whether it may have to wait for a volume (`let_start`)
    stays : places of the snapshot's pods that end and never have (`RunOptions.stays`)

    Attributes
    ----------
    by_index : index in the snapshot → the pod in motion
    silent : places of nodes that don't answer → since when, on the run's clock: nothing starts or ends there
    out_of_service : places of nodes with the taint that lets pods end there all the same, and volumes be taken off
    starting, terminating : bound pods that become Ready, and that are gone, in the next tick
    maturing : those that are Ready, and not yet for their workload's ``minReadySeconds``
    touched : pods deleted or bound during the run
    news : pods in the order in which something happened to them
    """

    def __init__(
        self,
        cluster: Cluster,
        work: WorkBudget,
        scales: Mapping[str, tuple[str, int]],
        *,
        hears: Callable[[str], None],
        waits: Callable[[LivePod, int], None],
        lacks: Callable[[LivePod], bool],
        stays: frozenset[int] = frozenset(),
    ) -> None:
        self.cluster, self.snapshot = cluster, cluster.snapshot
        self.work, self._scales, self._hears, self._waits, self._lacks = work, scales, hears, waits, lacks
        self.by_index: dict[int, LivePod] = {}
        self.by_owner: dict[str, list[LivePod]] = {}  # by owner's key; some may be gone: `in_motion` leaves them out
        self._thinned: set[str] = set()  # keys of owners with a gone pod still in there
        self._owners: dict[str, dict[str, None]] = {}  # namespace → owners of pods in motion there
        self._whole: set[str] = set()  # uids of owners with every pod in motion
        self._on_node: dict[int, dict[int, LivePod]] = {}
        self._tallies: dict[str, Tally] = {}  # by owner's key
        self._shapes: dict[tuple[str, int, int], Shape] = {}  # of the snapshot's pods
        self._devices = device_table(cluster).by_pod
        self._maturing_at_first = cluster.remember(_maturing_at_first)
        self.silent = dict(silent_nodes(cluster))
        self.out_of_service = set(out_of_service(cluster))
        self._stays = stays
        self.starting: list[LivePod] = []
        self.terminating: list[LivePod] = []
        self.maturing: list[LivePod] = []
        self.touched: list[LivePod] = []
        self.news: list[LivePod] = []

    # ── coming and going ────────────────────────────────────────────────────────────────────────────────────────────
    def live(self, index: int) -> LivePod:
        """The snapshot's pod `index` as a pod in motion."""
        live_pod = self.by_index.get(index)
        if live_pod is not None:
            return live_pod
        pod = self.snapshot.pods[index]
        kind = (
            pod.namespace,
            id(pod.labels),
            id(pod.spec),
        )  # ids are safe keys: the snapshot keeps these objects alive
        shape = self._shapes.get(kind)
        if shape is None:
            about = (pod.namespace, Same(pod.labels), Same(pod.spec))
            shape = self._shapes[kind] = self.cluster.remember(_shape_of, *about)
        live = LivePod(
            shape=shape,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            owner=pod.owner.key(pod.namespace) if pod.owner else "",
            number=index - len(self.snapshot.pods),
            created_at=pod.created_at or 0.0,
            node=self.cluster.node_index.get(pod.node_name, NOWHERE) if pod.node_name else NOWHERE,
            is_lost=bool(pod.node_name) and pod.node_name not in self.cluster.node_index,
            is_ready=pod.is_ready and not self._is_on_silent(pod),
            is_terminating=pod.deleted_at is not None,
            is_running=pod.phase == "Running",
            words=pod.unschedulable_message or None,
            ready_at=pod.ready_at or 0.0,
            started_at=pod.started_at or pod.created_at or 0.0,
            restarts=max((c.restart_count for c in pod.containers), default=0),
            deletion_cost=_integer(pod.annotations.get(POD_DELETION_COST, "0")),
            revision=pod.labels.get(CONTROLLER_REVISION_HASH, ""),
            ordinal=_ordinal(pod),
            devices=self._devices.get(pod.uid, ()),
            claims_made=claims_made(self.cluster, pod),
        )
        self.by_index[index] = live
        self.add(live)
        if live.is_bound:
            self._on_node.setdefault(live.node, {})[live.number] = live
            if self.never_ends(live) if live.is_terminating else self.hangs(live):
                live.never_ready = is_failing(pod)  # counts once the node answers again
            elif live.is_terminating:
                if index not in self._stays:
                    self.terminating.append(live)
            elif live.is_ready:
                if index in self._maturing_at_first:
                    self.let_mature(live)
            else:
                # A pod that was failing when the snapshot was taken isn't expected to recover by waiting.
                live.never_ready = live.is_lost or not is_starting(pod)
                if not live.never_ready and not self._lacks(live):
                    self.starting.append(live)
        elif not live.is_terminating:
            self._waits(live, index)
        return live

    def add(self, pod: LivePod) -> None:
        """One more pod in motion."""
        self.by_owner.setdefault(pod.owner, []).append(pod)
        self._owners.setdefault(pod.namespace, {})[pod.owner] = None
        self.tell(pod)

    def bind(self, pod: LivePod, node: int) -> None:
        """A pod has got its node."""
        self._on_node.setdefault(node, {})[pod.number] = pod
        if not self._lacks(pod):
            self.let_start(pod)

    def let_start(self, pod: LivePod) -> None:
        """A pod has its node and its volumes: it becomes Ready in the next tick."""
        if not (pod.never_ready or self.hangs(pod)):
            self.starting.append(pod)

    def hangs(self, pod: LivePod) -> bool:
        """Whether the pod is on a node that doesn't answer: it doesn't get Ready."""
        return pod.node in self.silent

    def never_ends(self, pod: LivePod) -> bool:
        """Whether it doesn't end either, once it is deleted: there only a kubelet lets a pod go, unless the node is out of service."""
        return self.hangs(pod) and pod.node not in self.out_of_service

    def _is_on_silent(self, pod: Pod) -> bool:
        """`MarkPodsNotReady`, also where the snapshot was taken just before."""
        return bool(self.silent) and self.cluster.node_index.get(pod.node_name) in self.silent

    def silence(self, node: int, since: float) -> None:
        """A node's kubelet stops answering: its pods aren't Ready at once."""
        self.silent[node] = since
        self.starting = [pod for pod in self.starting if pod.node != node]
        self.terminating = [pod for pod in self.terminating if not self.never_ends(pod)]
        for pod in self.on(node):
            pod.is_ready = pod.is_maturing = False
            self.tell(pod)

    def hear_again(self, node: int) -> None:
        """The kubelet is heard again: it ends what was deleted meanwhile, and says of the others that they are Ready."""
        self._let_end(node)
        del self.silent[node]
        for pod in self.on(node):
            if not (pod.is_terminating or self._lacks(pod)):
                self.let_start(pod)
            self.tell(pod)

    def take_out_of_service(self, node: int) -> None:
        """Somebody says that the node is surely down."""
        self._let_end(node)
        self.out_of_service.add(node)

    def _let_end(self, node: int) -> None:
        """What was deleted on a node and waited for its kubelet is gone in the next tick."""
        self.terminating += [pod for pod in self.on(node) if pod.is_terminating and self.never_ends(pod)]

    def terminate(self, pod: LivePod) -> None:
        """A bound pod is deleted: it is gone in the next tick, unless only a silent kubelet could end it."""
        pod.is_terminating = True
        self.tell(pod)
        self.touched.append(pod)
        if not self.never_ends(pod):
            self.terminating.append(pod)

    def drop(self, pod: LivePod) -> None:
        """A pod is gone."""
        pod.is_gone = True
        self.tell(pod)
        self._thinned.add(pod.owner)
        if pod.is_bound:
            self._on_node.get(pod.node, {}).pop(pod.number, None)

    def tell(self, pod: LivePod) -> None:
        """Something happened to a pod."""
        self.news.append(pod)
        self._hears(pod.owner)
        tally = self._tallies.get(pod.owner)
        if tally is not None:
            tally.take(pod)

    def let_mature(self, pod: LivePod) -> None:
        """A Ready pod isn't available before ``minReadySeconds`` are over."""
        pod.is_maturing = True
        self.maturing.append(pod)

    def ripe(self) -> tuple[list[LivePod], list[LivePod]]:
        """Pods that become available in the tick that begins: before anything else in it, and at its end.

        A DaemonSet with an old pod beside each new one, which is the one its status counts, learns of it a second
        late: the recorder's tick is over by then (kubernetes `pkg/controller/daemon/daemon_controller.go` `updatePod`,
        `updateDaemonSetStatus`).
        """
        ripe = [p for p in self.maturing if p.is_maturing and not (p.is_terminating or p.is_gone)]
        late = [p for p in ripe if p.is_overdue]
        mature = [p for p in ripe if not p.is_overdue]
        in_time = {p.owner for p in mature if not self._has_surged(p)}
        for pod in mature:
            pod.is_overdue = self._has_surged(pod) and pod.owner not in in_time
        self.maturing = [p for p in mature if p.is_overdue]
        return late, [p for p in mature if not p.is_overdue]

    def _has_surged(self, pod: LivePod) -> bool:
        """Whether a pod of its owner's, one a node, is beside it."""
        sibling_pods = (p for p in self.on(pod.node) if p.owner == pod.owner and p is not pod)
        return kind_in(pod.owner).is_per_node and any(not p.is_terminating for p in sibling_pods)

    # ── their owners and nodes ───────────────────────────────────────────────────────────────────────────────────────
    def of(self, owner_key: str, uid: str) -> list[LivePod]:
        """All pods of an owner, the snapshot's included, that aren't gone."""
        if uid not in self._whole:
            self._whole.add(uid)
            for index in pods_by_owner(self.cluster).get(uid, ()):
                self.live(index)
            self.by_owner.get(owner_key, []).sort(key=lambda p: p.number)  # what was looked at before
        return self.in_motion(owner_key)

    def in_motion(self, owner_key: str) -> list[LivePod]:
        """Pods of the owner that are in motion."""
        pods = self.by_owner.setdefault(owner_key, [])
        if owner_key in self._thinned:
            self._thinned.remove(owner_key)
            pods[:] = [pod for pod in pods if not pod.is_gone]
        return pods

    def tally(self, owner_key: str, uid: str) -> Tally:
        """The owner's pods as numbers by state."""
        tally = self._tallies.get(owner_key)
        if tally is None:
            tally = self._tallies[owner_key] = Tally(self.of(owner_key, uid))
        return tally

    def on(self, node: int) -> list[LivePod]:
        """Pods bound to a node, terminating ones included."""
        return self._here(node, pods_by_node(self.cluster, None).get(node, ()))

    def below(self, node: int, priority: int) -> list[LivePod]:
        """Pods on the node with a lower priority."""
        here = self._here(node, pods_by_node(self.cluster, priority).get(node, ()))
        return [pod for pod in here if pod.priority < priority]

    def _here(self, node: int, indices: Iterable[int]) -> list[LivePod]:
        """The pods in motion on a node, with these of the snapshot."""
        for index in indices:
            self.live(index)
        return sorted(self._on_node.get(node, {}).values(), key=lambda p: p.number)

    def budgets(self, namespace: str) -> list[Budget]:
        """A namespace's disruption budgets as the disruption controller would have them now."""
        by_namespace = self.cluster.remember(_budgets)
        return [
            Budget(namespace=namespace, selector=budget.selector, allowed=self.budget_status(budget).allowed)
            for budget in by_namespace.get(namespace, ())
        ]

    def budget_status(self, budget: PodDisruptionBudget) -> BudgetStatus:
        """What the disruption controller would write of `budget` now."""
        near = self.within(budget.namespace)
        self.work.spend(len(near))
        pods = [
            Covered(pod.owner, pod.is_ready and not pod.is_terminating)
            for pod in near
            if covers(budget, pod.namespace, pod.shape.labels)
        ]
        return status(budget, pods, self._scales)

    def within(self, namespace: str) -> list[LivePod]:
        """All pods of a namespace that aren't gone, terminating ones included."""
        by_namespace = self.cluster.remember(_standing)
        for index in by_namespace.get(namespace, ()):
            self.live(index)
        owners = self._owners.get(namespace, {})
        return [p for owner in owners for p in self.by_owner[owner] if p.namespace == namespace and not p.is_gone]

    def pods_now(self, makers: Mapping[str, Owner]) -> tuple[Pod, ...]:
        """The snapshot's pods as the run has left them: gone, made and bound; pods that terminate are gone too.

        `makers`: by the key of an owner of pods, what those name that the run made.
        """
        remaining_pods = []
        for index, pod in enumerate(self.snapshot.pods):
            live = self.by_index.get(index)
            if live is None:
                remaining_pods.append(pod)
            elif not (live.is_gone or live.is_terminating):
                remaining_pods.append(self._as_it_is_now(pod, live))
            elif not live.is_gone and self.never_ends(live):
                remaining_pods.append(replace(pod, is_ready=False, deleted_at=pod.deleted_at or self.snapshot.taken_at))
        new_pods = [
            p for owned in self.by_owner.values() for p in owned if p.number > 0 and not (p.is_gone or p.is_terminating)
        ]
        for live in sorted(new_pods, key=lambda p: p.number):
            blank = Pod(
                namespace=live.namespace, name=live.name, uid=live.uid, labels=live.shape.labels, spec=live.shape.spec,
                owner=makers.get(live.owner), created_at=live.created_at,
            )  # fmt: skip
            remaining_pods.append(self._as_it_is_now(blank, live))
        return tuple(remaining_pods)

    def _as_it_is_now(self, pod: Pod, live: LivePod) -> Pod:
        if not live.is_bound:
            return replace(pod, unschedulable_message=live.message or "")
        if pod.node_name and pod.is_ready == live.is_ready:
            return pod
        return replace(
            pod,
            node_name=pod.node_name or self.cluster.node_names[live.node],
            nominated_node_name="",
            phase="Running" if live.is_running else "Pending",
            is_ready=live.is_ready,
            ready_at=live.ready_at if live.is_ready else pod.ready_at,
            started_at=live.started_at,
            scheduled_at=None,  # nothing is learned of how long it took: it was Ready after a tick
            unschedulable_message="",
        )


@once_a_cluster
def unfinished(cluster: Cluster) -> list[int]:
    """Indices of the bound pods that start, and become Ready, or terminate, and go: from the first moment.

    On silent nodes none starts, and none ends but those that are deleted on a node with the `out-of-service` taint: the garbage collector
    of pods removes them without the kubelet (kubernetes `pkg/controller/podgc/gc_controller.go` `gcTerminating`).
    """
    pods, silent = cluster.snapshot.pods, silent_nodes(cluster).keys()
    indices = [i for group in cluster.groups for i in group.pods if group.is_terminating or is_starting(pods[i])]
    endless = silent - out_of_service(cluster)
    return [
        i
        for i in indices
        if not silent
        or cluster.node_index.get(pods[i].node_name) not in (silent if pods[i].deleted_at is None else endless)
    ]


def _maturing_at_first(cluster: Cluster) -> frozenset[int]:
    """Indices of pods that aren't available yet by their owner's status: the last ones that got Ready."""
    snapshot, indices = cluster.snapshot, set[int]()
    owners: tuple[ReplicaSet | Workload, ...] = snapshot.replica_sets + snapshot.every_workload
    for owner in owners:
        count = owner.ready_replicas - owner.available_replicas
        if owner.min_ready_seconds and count > 0:
            own = [i for i in pods_by_owner(cluster).get(owner.uid, ()) if snapshot.pods[i].is_ready]
            indices.update(sorted(own, key=lambda i: -(snapshot.pods[i].ready_at or 0.0))[:count])
    return frozenset(indices)


def _shape_of(cluster: Cluster, namespace: str, labels: Same[Labels], spec: Same[PodSpec]) -> Shape:
    """The shape of a pod of the snapshot, found again without comparing specs."""
    return compile_shape(cluster, namespace, labels.value, spec.value)


def _budgets(cluster: Cluster) -> dict[str, list[PodDisruptionBudget]]:
    budgets: dict[str, list[PodDisruptionBudget]] = {}
    for budget in cluster.snapshot.pod_disruption_budgets:
        budgets.setdefault(budget.namespace, []).append(budget)
    return budgets


def _standing(cluster: Cluster) -> dict[str, list[int]]:
    """Namespace → indices of its pods that aren't Succeeded or Failed."""
    pods: dict[str, list[int]] = {}
    for index, pod in enumerate(cluster.snapshot.pods):
        if not pod.is_terminal:
            pods.setdefault(pod.namespace, []).append(index)
    return pods


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def _ordinal(pod: Pod) -> int:
    if pod.owner is None or not kind_called(pod.owner.kind).has_ordinals:
        return -1
    return _integer(pod.name.rpartition("-")[2])
