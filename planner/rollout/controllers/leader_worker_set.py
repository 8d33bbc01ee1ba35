"""LeaderWorkerSet: groups of a leader and its workers, replaced group by group.

Its leaders are a StatefulSet's pods, whose partition and replicas it moves; each leader owns the StatefulSet of its workers, which goes
with it. Source: lws 0.8 `pkg/controllers/leaderworkerset_controller.go` (``rollingUpdateParameters``, ``getReplicaStates``,
``updateConditions``), `pkg/controllers/pod_controller.go`, `pkg/webhooks/pod_webhook.go`; kubernetes
`pkg/controller/garbagecollector` for what goes with a leader.

Recorded with 0.8. Where a pod of the snapshot shows that its controller is 0.9 or later, by its image, two rules are that
version's, from its source (lws #705, #778).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from hashlib import sha1
from typing import NamedTuple

from planner.ground.records import dataclass, replace
from planner.ground.well_known_names import (
    LWS_EXCLUSIVE,
    LWS_GROUP_INDEX,
    LWS_GROUP_KEY,
    LWS_NAME,
    LWS_REPLICAS,
    LWS_REVISION,
    LWS_SUBGROUP_EXCLUSIVE,
    LWS_SUBGROUP_INDEX,
    LWS_SUBGROUP_KEY,
    LWS_WORKER_INDEX,
)
from planner.kubernetes.argo_and_lws_rollouts import AFTER_START, LEADER_READY, RECREATES_GROUP, Groups
from planner.kubernetes.object_records import (
    FrozenMap,
    Labels,
    LabelSelector,
    Owner,
    PodAffinityTerm,
    PodSpec,
    Requirement,
    Strategy,
    Template,
    Workload,
)
from planner.kubernetes.surge_and_unavailable import scaled_value
from planner.kubernetes.workload_kinds import POD, ROLLING_UPDATE, STATEFUL_SET
from planner.rollout.clock import Controller
from planner.rollout.controllers.protocol import RolloutController
from planner.rollout.controllers.revisions import NEW_REVISION
from planner.rollout.controllers.statefulset import StatefulSetController
from planner.rollout.ownership import workloads_by_key
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod


class _State(NamedTuple):
    """Of one group."""

    is_ready: bool
    is_updated: bool


class LeaderSet(StatefulSetController):
    """The StatefulSet of the leaders."""

    owner: LeaderWorkerSetController

    def aim(self, simulation: Simulation, replicas: int, partition: int) -> bool:
        """Writes the replicas and the partition; whether they changed."""
        if (self.replicas, self.partition) == (replicas, partition):
            return False
        if replicas != self.replicas:
            self.scale(simulation, replicas)
            simulation.scales[self.key] = (self.owner.key, replicas)
        self.partition, self._seen = partition, -1
        simulation.clock.wake(self.key)
        return True

    def objects(self, simulation: Simulation) -> Iterator[Workload]:
        """Itself, with the replicas of the LeaderWorkerSet that it was last made for, and the partition that it has now."""
        written = {LWS_REPLICAS: str(self.owner.replicas_told)}
        for workload in super().objects(simulation):
            strategy, labels = replace(workload.strategy, partition=self.partition), {LWS_REVISION: self.owner.revision}
            yield replace(
                workload, replicas=self.replicas, strategy=strategy, labels=FrozenMap({**workload.labels, **labels}),
                annotations=FrozenMap({**workload.annotations, **written}),
                owner=Owner(kind=self.owner.workload.kind, name=self.owner.workload.name, uid=self.owner.workload.uid),
            )  # fmt: skip

    def _dressed(self, template: Template, ordinal: int, name: str) -> tuple[Labels, PodSpec]:
        return self.owner.leader_of(template, ordinal, name, is_new=ordinal >= self.partition)


@dataclass(slots=True, eq=False)
class WorkerSet(Controller):
    """The StatefulSet of one leader's workers, which are made all at once.

    `revision`: the LeaderWorkerSet's, which it was made for. `is_deleted`: its leader is gone, so it is too, and its pods go.
    """

    key: str
    uid: str
    owner: LeaderWorkerSetController
    leader: LivePod
    revision: str
    template: Template
    mine: list[LivePod] = field(default_factory=list)
    is_deleted: bool = False

    def begin(self, leader: LivePod, revision: str, template: Template) -> None:
        """Another of its name, of the leader that came after."""
        self.leader, self.revision, self.template = leader, revision, template
        self.mine, self.is_deleted = [], False

    def pods(self, simulation: Simulation) -> list[LivePod]:
        """Its pods that aren't gone, and those of the one before it that aren't either."""
        return simulation.pods.of(self.key, self.uid)

    def objects(self, simulation: Simulation) -> Iterator[Workload]:
        """Itself, owned by its leader; nothing once that has gone."""
        if not self.is_deleted:
            labels = FrozenMap({LWS_NAME: self.owner.workload.name, LWS_REVISION: self.revision})
            own = [pod for pod in self.own() if not pod.is_terminating]
            yield Workload(
                kind=STATEFUL_SET.name, namespace=self.leader.namespace, name=self.leader.name, uid=self.uid, labels=labels,
                template=self.template, replicas=self.owner.groups.size - 1, pod_management_policy="Parallel",
                owner=Owner(kind=POD.name, name=self.leader.name, uid=self.leader.uid), start_ordinal=1,
                status_replicas=len(own), ready_replicas=sum(pod.is_ready for pod in own), selector=LabelSelector(match_labels=labels),
            )  # fmt: skip

    def own(self) -> list[LivePod]:
        """Pods that it has made, or was read with."""
        self.mine = [pod for pod in self.mine if not pod.is_gone]
        return self.mine

    def sync(self, simulation: Simulation) -> bool:
        if self.is_deleted:
            standing = [pod for pod in self.pods(simulation) if not pod.is_terminating]
            for pod in standing:
                simulation.delete(pod)
            return bool(standing)
        taken = {pod.ordinal for pod in self.pods(simulation)}
        # Index 0 is the leader, which the leaders' StatefulSet makes.
        missing = [index for index in range(1, self.owner.groups.size) if index not in taken]
        created_workers = [self.owner.make_worker(simulation, self, index) for index in missing]
        surplus = [pod for pod in self.own() if pod.ordinal >= self.owner.groups.size and not pod.is_terminating]
        for pod in surplus:
            simulation.delete(pod)
        return any(created_workers) or bool(surplus)

    def is_ready(self) -> bool:
        """`StatefulsetReady`: 0.8 counts the pods that were made, since 0.9 (#705) those that are available."""
        counted = [pod for pod in self.own() if pod.is_available] if self.owner.is_later else self.own()
        return len(counted) == self.owner.groups.size - 1


class LeaderWorkerSetController(RolloutController):
    """One LeaderWorkerSet. `before` is what its old revision looks like."""

    def __init__(
        self, simulation: Simulation, workload: Workload, *, has_new_template: bool, before: Workload | None = None
    ) -> None:
        assert workload.groups is not None
        assert workload.worker_template is not None
        self.workload, self.before = workload, before or workload
        self.groups: Groups = workload.groups
        self.is_later = simulation.cluster.remember(_is_later)
        self.key, self.replicas = workload.key, workload.replicas
        self.partition = workload.strategy.partition
        leader_set = workloads_by_key(simulation.cluster).get(STATEFUL_SET.key(workload.namespace, workload.name))
        self.is_begun = not has_new_template
        self.old_revision = leader_set.labels.get(LWS_REVISION, "") if leader_set is not None else ""
        self.is_unseen = has_new_template or leader_set is None  # no StatefulSet of leaders has its revision yet
        self.revision = _next_revision(self.old_revision) if self.is_unseen else self.old_revision
        replicas_text = leader_set.annotations.get(LWS_REPLICAS, "") if leader_set is not None else ""
        self.replicas_told = (
            int(replicas_text) if replicas_text.isascii() and replicas_text.isdecimal() else self.before.replicas
        )
        self.leaders = self._leaders(
            simulation, leader_set, has_new_template=has_new_template and leader_set is not None
        )
        self.workers: dict[int, WorkerSet] = {}  # by group
        self._own(simulation, self.leaders)
        for pod in self.leaders.all_pods(simulation):
            leader_set = workloads_by_key(simulation.cluster).get(STATEFUL_SET.key(pod.namespace, pod.name))
            if leader_set is not None and leader_set.owner is not None and leader_set.owner.uid == pod.uid:
                revision = leader_set.labels.get(LWS_REVISION, "")
                worker_set = WorkerSet(
                    key=leader_set.key,
                    uid=leader_set.uid,
                    owner=self,
                    leader=pod,
                    revision=revision,
                    template=leader_set.template,
                )
                worker_set.mine = [*worker_set.pods(simulation)]
                self.workers[pod.ordinal] = worker_set
                self._own(simulation, worker_set)

    def _leaders(self, simulation: Simulation, stateful_set: Workload | None, *, has_new_template: bool) -> LeaderSet:
        lws = self.workload
        labels = FrozenMap(
            {**lws.template.labels, LWS_NAME: lws.name, LWS_WORKER_INDEX: "0", LWS_REVISION: self.revision}
        )
        template = replace(lws.template, labels=labels)
        if stateful_set is None:
            stateful_set = Workload(
                kind=STATEFUL_SET.name, namespace=lws.namespace, name=lws.name, uid=f"{lws.uid}-leaders", template=template,
                replicas=lws.replicas, pod_management_policy="Parallel", strategy=Strategy(kind=ROLLING_UPDATE),
                selector=LabelSelector(match_labels=FrozenMap({LWS_NAME: lws.name, LWS_WORKER_INDEX: "0"})),
            )  # fmt: skip
        after = replace(stateful_set, template=template) if has_new_template else stateful_set
        leader_set = LeaderSet(
            after, stateful_set, has_new_template=has_new_template, again=self.revision, is_unseen=has_new_template
        )
        leader_set.owner = self
        return leader_set

    def _own(self, simulation: Simulation, set_controller: LeaderSet | WorkerSet) -> None:
        simulation.controllers[set_controller.key] = set_controller
        simulation.scales[set_controller.key] = (self.key, self.replicas)

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def owners(self) -> tuple[str, ...]:
        return (self.leaders.key, *(worker.key for worker in self.workers.values()))

    def all_pods(self, simulation: Simulation) -> list[LivePod]:
        workers = (pod for worker in self.workers.values() for pod in worker.pods(simulation))
        return [*self.leaders.all_pods(simulation), *workers]

    def never_starts(self, simulation: Simulation) -> bool:
        """Whether a new revision has begun and not one pod of it can come: the surge is gone, and no group may be missing."""
        surge = min(scaled_value(self.workload.strategy.max_surge, self.replicas, round_up=True), self.replicas)
        missing = scaled_value(self.workload.strategy.max_unavailable, self.replicas, round_up=False)
        has_new = any(pod.is_new for pod in self.all_pods(simulation))
        is_dropped = not self.is_later and surge >= self.replicas and missing == 0
        return self.is_unseen and not has_new and is_dropped

    def status(self, simulation: Simulation) -> dict[str, int]:
        """The numbers of ``status``: groups, of which it counts those that go too."""
        states = [self._state(simulation, pod) for pod in self.leaders.all_pods(simulation)]
        return {
            "replicas": len(states),
            "readyReplicas": sum(state.is_ready for state in states),
            "updatedReplicas": sum(state.is_updated for state in states),
        }

    def is_complete(self, simulation: Simulation) -> bool:
        """`updateConditions`: Available."""
        if not self.is_begun:
            return False
        states = {pod.ordinal: self._state(simulation, pod) for pod in self.leaders.all_pods(simulation)}
        group_states = [states.get(index, _State(False, False)) for index in range(self.replicas)]
        is_there = self.leaders.replicas == len(states) == self.replicas
        return (
            is_there
            and all(group_state.is_ready for group_state in group_states)
            and all(group_state.is_updated for group_state in group_states[self.partition :])
        )

    def _state(self, simulation: Simulation, leader: LivePod) -> _State:
        """`getReplicaStates`: a leader that goes is Ready as long as it says so."""
        is_ready, is_updated = leader.is_ready, leader.shape.labels.get(LWS_REVISION, "") == self.revision
        if self.groups.size > 1:
            workers = self.workers.get(leader.ordinal)
            if workers is None or workers.is_deleted:
                return _State(False, False)
            is_ready = is_ready and workers.is_ready()
            is_updated = is_updated and workers.revision == self.revision
        return _State(is_ready, is_updated)

    # ── doing ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def scale(self, simulation: Simulation, replicas: int) -> None:
        self.workload = replace(self.workload, replicas=replicas)
        self.replicas = replicas
        simulation.scales[self.key] = (self.key, replicas)
        simulation.clock.wake(self.key)

    def sync(self, simulation: Simulation) -> bool:
        busy = self._collect(simulation)
        busy = self._restart_groups(simulation) or busy
        busy = self._make_worker_sets(simulation) or busy
        replicas, partition = self._parameters(simulation)
        self.is_begun, self.replicas_told = True, self.replicas
        return self.leaders.aim(simulation, replicas, max(partition, self.partition)) or busy

    def _parameters(self, simulation: Simulation) -> tuple[int, int]:
        """`rollingUpdateParameters`: (replicas, partition) of the leaders' StatefulSet."""
        replicas_wanted, replicas_now, partition = self.replicas, self.leaders.replicas, self.leaders.partition
        surge = min(scaled_value(self.workload.strategy.max_surge, replicas_wanted, round_up=True), replicas_wanted)
        # The rollout begins with all groups below the partition: none is replaced until it falls
        # (`rollingUpdateParameters`).
        if not self.is_begun:
            return replicas_wanted if self.is_later and replicas_now < replicas_wanted else self._with_surge(
                replicas_wanted, surge
            ), min(replicas_wanted, replicas_now)
        if partition == 0 and replicas_now == replicas_wanted:
            return replicas_wanted, 0
        if self.is_later and replicas_now < replicas_wanted:
            return replicas_wanted, partition
        states = self._states(simulation, replicas_now)
        unready = sum(not all(state) for state in states[:replicas_wanted]) + max(0, replicas_wanted - replicas_now)
        replicas = self._with_surge(unready, surge)
        if self.replicas_told != replicas_wanted:
            return replicas, min(partition, replicas_wanted + surge)
        step = scaled_value(self.workload.strategy.max_unavailable, replicas_wanted, round_up=False)
        step += surge - (replicas_wanted + surge - replicas_now)
        return replicas, self._partition(states, replicas_now, step, partition)

    def _with_surge(self, unready: int, surge: int) -> int:
        """``wantReplicas``: surge groups are given back one by one as the last groups are replaced, by 0.8 before they are made where
        there are no more groups than the surge; 0.9 (#778) keeps as many as maxUnavailable leaves."""
        if unready > surge:
            return self.replicas + surge
        may_miss = scaled_value(self.workload.strategy.max_unavailable, self.replicas, round_up=False)
        return self.replicas + max(0, unready - (may_miss if self.is_later else 1))

    def _partition(self, states: list[_State], leader_replicas: int, step: int, current: int) -> int:
        """`rollingUpdatePartition`."""
        done = next((place for place, group_state in enumerate(reversed(states)) if not all(group_state)), len(states))
        lowest = max(0, leader_replicas - done - step)
        partition = lowest + sum(not state.is_ready for state in states[:lowest])
        for index in range(min(partition, leader_replicas - 1), lowest - 1, -1):
            if states[index].is_ready and not states[index].is_updated:
                break
            partition = index
        return min(partition, current)

    def _states(self, simulation: Simulation, count: int) -> list[_State]:
        states = [_State(False, False)] * count
        for pod in self.leaders.all_pods(simulation):
            if pod.ordinal < count:
                states[pod.ordinal] = self._state(simulation, pod)
        return states

    def _collect(self, simulation: Simulation) -> bool:
        """The garbage collector: workers go with their leader."""
        busy = False
        for worker in self.workers.values():
            if worker.leader.is_gone and not worker.is_deleted:
                worker.is_deleted = busy = True
                simulation.clock.wake(worker.key)
        return busy

    def _restart_groups(self, simulation: Simulation) -> bool:
        """`handleRestartPolicy`: a worker that goes takes its leader with it, and so its whole group."""
        if self.groups.restarts not in RECREATES_GROUP:
            return False
        busy = False
        for worker in self.workers.values():
            leader = worker.leader
            # another revision: the worker goes with its old leader, and a new one comes with the new leader
            is_same = leader.shape.labels.get(LWS_REVISION, "") == worker.revision
            if worker.is_deleted or leader.is_terminating or leader.is_gone or not is_same:
                continue
            own = worker.own()
            if not any(pod.is_terminating for pod in own):
                continue
            # RecreateGroupAfterStart waits for a whole group (`pendingPodsInGroup`): else one whose images are pulled would be begun anew
            # for ever.
            is_whole = len(own) >= self.groups.size - 1 and all(pod.is_bound for pod in (leader, *own))
            if self.groups.restarts == AFTER_START and not is_whole:
                continue
            simulation.delete(leader)
            worker.is_deleted = busy = True  # in the foreground: the leader stays until they are gone
            simulation.clock.wake(worker.key)
        return busy

    def _make_worker_sets(self, simulation: Simulation) -> bool:
        """`PodReconciler`: a StatefulSet of workers for each leader."""
        if self.groups.size == 1:
            return False
        busy = False
        for leader in self.leaders.all_pods(simulation):
            worker_set = self.workers.get(leader.ordinal)
            if leader.is_terminating or (worker_set is not None and worker_set.leader is leader):
                continue
            if worker_set is not None and not worker_set.is_deleted:
                continue  # it is there still
            if self.groups.starts == LEADER_READY and not leader.is_ready:
                continue
            if LWS_EXCLUSIVE in self.workload.annotations and not leader.is_bound:
                continue
            revision = leader.shape.labels.get(LWS_REVISION, "")
            template = (self.workload if revision == self.revision else self.before).worker_template
            assert template is not None  # of a group made anew below the partition it is the old revision's
            if worker_set is not None:
                worker_set.begin(leader, revision, template)
            else:
                key, uid = STATEFUL_SET.key(leader.namespace, leader.name), f"{leader.uid}-workers"
                worker_set = WorkerSet(
                    key=key, uid=uid, owner=self, leader=leader, revision=revision, template=template
                )
                self.workers[leader.ordinal] = worker_set
                self._own(simulation, worker_set)
            simulation.clock.wake(worker_set.key)
            busy = True
        return busy

    # ── pods ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def leader_of(self, template: Template, ordinal: int, name: str, *, is_new: bool) -> tuple[Labels, PodSpec]:
        """A leader's labels and spec, as the webhook makes them."""
        group = group_key(self.workload.namespace, name)
        labels = {**template.labels, LWS_GROUP_INDEX: str(ordinal), LWS_GROUP_KEY: group}
        labels.setdefault(LWS_REVISION, self.revision if is_new else self.old_revision)
        spec = template.spec
        topology = self.workload.annotations.get(LWS_EXCLUSIVE)
        if topology:
            spec = exclusively(spec, LWS_GROUP_KEY, group, topology)
        if self.groups.sub_group_size and self.groups.sub_group_kind != "LeaderExcluded":
            labels, spec = self._in_sub_group(labels, spec, name, "0")
        return FrozenMap(labels), spec

    def make_worker(self, simulation: Simulation, workers: WorkerSet, index: int) -> bool:
        """A worker of a leader; whether the API server takes it."""
        leader, name = workers.leader, f"{workers.leader.name}-{index}"
        labels = {
            **workers.template.labels,
            LWS_NAME: self.workload.name,
            LWS_GROUP_INDEX: str(leader.ordinal),
            LWS_GROUP_KEY: group_key(leader.namespace, leader.name),
            LWS_REVISION: workers.revision,
            LWS_WORKER_INDEX: str(index),
        }
        spec = workers.template.spec
        topology = self.workload.annotations.get(LWS_EXCLUSIVE)
        if topology and leader.is_bound:
            value = simulation.cluster.nodes[leader.node].labels.get(topology)
            if value is None:
                return False  # its StatefulSet isn't made on a node without the label
            spec = replace(spec, node_selector=FrozenMap({**spec.node_selector, topology: value}))
        if self.groups.sub_group_size:
            labels, spec = self._in_sub_group(labels, spec, leader.name, self._sub_group(index))
        pod = simulation.create(
            workers.key, leader.namespace, name, FrozenMap(labels), spec, None,
            is_new=self.is_unseen and workers.revision == self.revision, ordinal=index, revision=workers.revision,
        )  # fmt: skip
        if pod is not None:
            workers.mine.append(pod)
        return pod is not None

    def _sub_group(self, index: int) -> str:
        """`getSubGroupIndex`."""
        size, below = self.groups.size, self.groups.sub_group_size
        has_extra_leader = (size - 1) % below == 0 and size % below != 0
        return str((index - 1 if has_extra_leader else index) // below)

    def _in_sub_group(
        self, labels: dict[str, str], spec: PodSpec, leader: str, index: str
    ) -> tuple[dict[str, str], PodSpec]:
        key = group_key(leader, index)
        topology = self.workload.annotations.get(LWS_SUBGROUP_EXCLUSIVE)
        labels = {**labels, LWS_SUBGROUP_INDEX: index, LWS_SUBGROUP_KEY: key}
        return labels, exclusively(spec, LWS_SUBGROUP_KEY, key, topology) if topology else spec


_IMAGE = re.compile(r"(?:^|/)lws(?:-controller)?:v?(\d+)\.(\d+)")


def versions_seen(cluster: Cluster) -> list[tuple[int, int]]:
    """The versions of LeaderWorkerSet's controllers in the snapshot, by their images."""
    images = {container.image for pod in cluster.snapshot.pods for container in pod.spec.containers}
    matches = [match for image in images if (match := _IMAGE.search(image))]
    return [(int(image_match[1]), int(image_match[2])) for image_match in matches]


def _is_later(cluster: Cluster) -> bool:
    """Whether a controller of LeaderWorkerSet is seen that is 0.9 or later."""
    return any(seen >= (0, 9) for seen in versions_seen(cluster))


def _next_revision(revision: str) -> str:
    """Stands for the hash of a template that no group has yet."""
    return NEW_REVISION if revision != NEW_REVISION else f"{NEW_REVISION}-2"


def group_key(namespace: str, name: str) -> str:
    """`genGroupUniqueKey`."""
    return sha1(f"{namespace}/{name}".encode(), usedforsecurity=False).hexdigest()


def exclusively(spec: PodSpec, label: str, value: str, topology: str) -> PodSpec:
    """`SetExclusiveAffinities`: together with its own, apart from all others'."""
    own = LabelSelector(match_expressions=(Requirement(key=label, operator="In", values=(value,)),))
    others = LabelSelector(
        match_expressions=(
            Requirement(key=label, operator="Exists"),
            Requirement(key=label, operator="NotIn", values=(value,)),
        )
    )
    return replace(
        spec,
        pod_affinity=(*spec.pod_affinity, PodAffinityTerm(label_selector=own, topology_key=topology)),
        pod_anti_affinity=(*spec.pod_anti_affinity, PodAffinityTerm(label_selector=others, topology_key=topology)),
    )
