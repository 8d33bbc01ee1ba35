"""StatefulSet: pods with an ordinal, replaced from the highest down to the partition.

Source: kubernetes `pkg/controller/statefulset/stateful_set_control.go` of 1.36. ``maxUnavailable`` counts only where a
StatefulSet of the snapshot has it: the API server drops the field from others while the feature gate
MaxUnavailableStatefulSet is off (its default; `pkg/registry/apps/statefulset/strategy.go`).
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.ground.records import replace
from planner.ground.well_known_names import CONTROLLER_REVISION_HASH, POD_INDEX, STATEFULSET_POD_NAME
from planner.kubernetes.object_records import ClaimTemplate, FrozenMap, Labels, PodSpec, Template, Volume, Workload
from planner.kubernetes.surge_and_unavailable import scaled_value
from planner.kubernetes.workload_kinds import ON_DELETE
from planner.rollout.admission import volume_claim_usage
from planner.rollout.controllers.ordinals import Ordinals
from planner.rollout.controllers.revisions import OverRevisions, unused_revision, used_again
from planner.rollout.ownership import template_of_revision
from planner.rollout.pods_by_state import ENDING, READY
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.volume_placement import claims_by_key


class StatefulSetController(OverRevisions):
    """One StatefulSet during a rollout. `before` is what its old revision looks like, `again` the hash of the revision
    that a change goes to, `is_unseen` whether no ControllerRevision has its template yet."""

    def __init__(
        self, workload: Workload, before: Workload, *, has_new_template: bool, again: str = "", is_unseen: bool = False
    ) -> None:
        super().__init__(workload)
        self.before = before
        self.replicas = workload.replicas
        current = before.update_revision or before.current_revision or "current"
        self.current_revision = before.current_revision or current
        self.update_revision = again if has_new_template else current
        self.lacks_revision = is_unseen
        self.is_changed = has_new_template
        self.partition = workload.strategy.partition
        self._made_claims: set[str] = set()
        self.is_parallel = workload.pod_management_policy == "Parallel"
        self.max_unavailable = workload.strategy.max_unavailable
        self._pods: Ordinals | None = None  # made when it is first asked
        self._read = 0  # of the simulation's news
        self._seen = -1  # of what happened to its pods, when it last had nothing to do

    @classmethod
    def start(
        cls, simulation: Simulation, workload: Workload, *, before: Workload | None, has_new_template: bool
    ) -> StatefulSetController:
        if workload.strategy.max_unavailable is not None and not simulation.cluster.remember(takes_max_unavailable):
            workload = replace(workload, strategy=replace(workload.strategy, max_unavailable=None))
        if before is None or not has_new_template:
            return cls(workload, before or workload, has_new_template=False)
        again = used_again(simulation, before, workload)
        revision = again or unused_revision(simulation, workload)
        controller = cls(workload, before, has_new_template=True, again=revision, is_unseen=not again)
        controller.made_templates += [(before.template, controller.current_revision), (workload.template, revision)]
        for pod in controller.all_pods(simulation):
            pod.is_new = pod.revision == again
        return controller

    def change(self, simulation: Simulation, workload: Workload, *, before: Workload, has_new_template: bool) -> None:
        """Another template is another revision, or one that there was before; pods of every other one are old, while the current revision,
        of which pods below the partition are made, stays what it was (`getStatefulSetRevisions`)."""
        if self.is_complete(simulation) and not self.partition:
            self.before, self.current_revision = before, self.update_revision  # `completeRollingUpdate`
        self.workload, self.replicas = workload, workload.replicas
        self.min_ready_seconds = workload.min_ready_seconds
        self.partition = workload.strategy.partition
        if workload.strategy.max_unavailable is None or simulation.cluster.remember(takes_max_unavailable):
            self.max_unavailable = workload.strategy.max_unavailable
        self.is_parallel = workload.pod_management_policy == "Parallel"
        if has_new_template:
            known_revision_name = self.known_revision(simulation, before, workload)
            self.update_revision = known_revision_name or unused_revision(simulation, workload)
            self.lacks_revision, self.is_changed = not known_revision_name, True
            self.made_templates.append((workload.template, self.update_revision))
            for pod in self.all_pods(simulation):
                pod.is_new = pod.revision == self.update_revision
        self._pods, self._seen = None, -1

    def scale(self, simulation: Simulation, replicas: int) -> None:
        self.workload = replace(self.workload, replicas=replicas)
        self.replicas = replicas
        self._pods, self._seen = None, -1
        simulation.scales[self.key] = (self.key, replicas)
        simulation.clock.wake(self.key)

    def objects(self, simulation: Simulation) -> Iterator[Workload]:
        """Its workload, and which revision its status calls the current one (`completeRollingUpdate`)."""
        is_done = self.is_complete(simulation) and not self.partition
        current = self.update_revision if is_done else self.current_revision
        for workload in super().objects(simulation):
            yield replace(workload, current_revision=current, update_revision=self.update_revision)

    def status(self, simulation: Simulation) -> dict[str, int]:
        pods = self.all_pods(simulation)
        standing = [p for p in pods if not p.is_terminating]
        ready = [p for p in pods if p.is_ready]
        updated = sum(1 for p in standing if p.revision == self.update_revision)
        current = sum(1 for p in standing if p.revision == self.current_revision)
        rolls = self.workload.strategy.kind != ON_DELETE  # else currentRevision stays (`completeRollingUpdate`)
        if rolls and self.is_complete(simulation) and not self.partition:
            current = updated
        return {
            "replicas": len(pods),
            "readyReplicas": len(ready),
            "availableReplicas": sum(p.is_available for p in ready),
            "updatedReplicas": updated,
            "currentReplicas": current,
        }

    def is_complete(self, simulation: Simulation) -> bool:
        """``kubectl rollout status``: the ordinals from the partition up are updated, and all are Ready. With OnDelete old pods
        may stay as long as the template does; whichever are missing are made of the new revision (`isCurrentRevisionNeeded`). Without a
        partition the update revision is the current one only once none but its pods are there, none that a silent node keeps
        (`completeRollingUpdate`)."""
        if self.workload.strategy.kind == ON_DELETE and not self.is_changed:
            return self._all_ready(simulation)
        tally = simulation.pods.tally(self.key, self.workload.uid)
        standing = tally.count() if self.is_changed and not self.partition else tally.count(lacking=ENDING)
        updated_replicas = max(0, self.replicas - self.partition)
        is_updated = self._ordinals(simulation).updated >= updated_replicas
        return not self.lacks_revision and is_updated and self._all_ready(simulation) and standing == self.replicas

    def _all_ready(self, simulation: Simulation) -> bool:
        return simulation.pods.tally(self.key, self.workload.uid).count(READY, lacking=ENDING) >= self.replicas

    def _ordinals(self, simulation: Simulation) -> Ordinals:
        """The set's pods by ordinal, brought up to date."""
        if self._pods is None:
            start = self.workload.start_ordinal
            ordinals = range(start, start + self.replicas)
            self._pods = Ordinals(ordinals, self.update_revision, self.all_pods(simulation))
        else:
            for pod in simulation.pods.news[self._read :]:
                if pod.owner == self.key:
                    self._pods.take(pod)
        self._read = len(simulation.pods.news)
        return self._pods

    def sync(self, simulation: Simulation) -> bool:
        tally = simulation.pods.tally(self.key, self.workload.uid)
        if self._seen == tally.changes:  # since then nothing did
            return False
        busy = self._sync(simulation)
        if not busy and self.key not in simulation.refusals:
            self._seen = tally.changes
        return busy

    def _sync(self, simulation: Simulation) -> bool:
        """`performUpdate`: the first pod missing is made, then the surplus goes, then old ones; where it isn't Parallel,
        one at a time, and none as long as one before it isn't available."""
        if not self.has_revision(simulation):
            return False
        pods = self._ordinals(simulation)
        if self.is_parallel:
            simulation.foresee_pods(self.replicas - pods.count)
        busy = False
        while (missing := pods.first_missing) is not None:
            waits_for = pods.unavailable.lowest
            if not self.is_parallel and waits_for is not None and waits_for < missing:
                return False
            new_pod = self._create(simulation, missing)
            if new_pod is None or not self.is_parallel:
                return busy or new_pod is not None
            pods.take(new_pod)
            busy = True
        if not self.is_parallel and len(pods.unavailable):
            return busy
        if self.is_parallel:
            surplus = pods.surplus_standing.highest_first(len(pods.surplus_standing))
        elif (last := pods.surplus.highest) is None:
            surplus = []
        # An unhealthy surplus pod stops the scale-down, unless it is the first unhealthy one itself
        # (`processCondemned`).
        elif last == pods.surplus_unavailable.highest and (
            pods.pod(last).is_terminating or pods.surplus_unavailable.lowest != last
        ):
            return busy
        else:
            surplus = [last]
        for ordinal in surplus:
            simulation.delete(pods.pod(ordinal))
        if surplus and not self.is_parallel:
            return True
        busy = busy or bool(surplus)
        if self.workload.strategy.kind == ON_DELETE:
            return busy
        return self._update(simulation, pods) or busy

    def _update(self, simulation: Simulation, pods: Ordinals) -> bool:
        lowest = self.workload.start_ordinal + self.partition
        if self.max_unavailable is not None:
            allowed = max(1, scaled_value(self.max_unavailable, self.replicas, round_up=False))
            room = allowed - len(pods.unavailable)
            old = [ordinal for ordinal in pods.old.highest_first(max(0, room)) if ordinal >= lowest]
        else:
            first = pods.old.highest
            waits_for = pods.unavailable.highest
            # The controller walks down from the highest ordinal and waits at the first pod that isn't healthy: one
            # above blocks all below (`updateStatefulSet`).
            is_next = first is not None and first >= lowest and (waits_for is None or waits_for <= first)
            old = [first] if first is not None and is_next else []
        for ordinal in old:
            simulation.delete(pods.pod(ordinal))
        return bool(old)

    def _create(self, simulation: Simulation, ordinal: int) -> LivePod | None:
        """`newVersionedStatefulSetPod`: below the partition the current revision, else the new one."""
        is_old = ordinal < self.workload.start_ordinal + self.partition
        template, revision = self.workload.template, self.update_revision
        if is_old:  # that of the current revision, which isn't `before`'s while a rollout is under way
            revision_template = template_of_revision(simulation.cluster, self.before, self.current_revision)
            template, revision = revision_template or self.before.template, self.current_revision
        name = f"{self.workload.name}-{ordinal}"
        if not all(
            self._has_claim(simulation, claim_template, name) for claim_template in self.workload.claim_templates
        ):
            return None
        own, spec = self._dressed(template, ordinal, name)
        labels = FrozenMap(
            {
                **own,
                CONTROLLER_REVISION_HASH: revision,
                STATEFULSET_POD_NAME: name,
                POD_INDEX: str(ordinal),
            }
        )
        return simulation.create(
            self.key,
            self.workload.namespace,
            name,
            labels,
            spec_with_claims(self.workload, spec, name),
            self.workload.selector,
            is_new=not is_old and self.is_changed,
            ordinal=ordinal,
            revision=revision,
        )

    def _dressed(self, template: Template, _ordinal: int, _name: str) -> tuple[Labels, PodSpec]:
        """A pod's labels and spec, but for what every StatefulSet adds."""
        return template.labels, template.spec

    def _has_claim(self, simulation: Simulation, template: ClaimTemplate, pod_name: str) -> bool:
        """Whether a pod's claim is there, or was made (`createPersistentVolumeClaims`): a quota may refuse it, and then
        there is no pod."""
        name, where = claim_name(template, pod_name), self.workload.namespace
        if (where, name) in simulation.cluster.remember(claims_by_key) or name in self._made_claims:
            return True
        counted = volume_claim_usage(simulation.snapshot, template)
        if not simulation.make_object(self.key, "PersistentVolumeClaim", where, name, counted):
            return False
        self._made_claims.add(name)
        return True


def spec_with_claims(workload: Workload, spec: PodSpec, pod_name: str = "") -> PodSpec:
    """volumeClaimTemplates become claims named ``<template>-<pod>``, made where there are none; without a pod's name each pod that
    has the spec gets claims of its own, as it does of ordinals that were never there."""
    if not workload.claim_templates:
        return spec
    claims = tuple(
        Volume(
            name=template.name,
            kind="persistentVolumeClaim",
            claim_name=claim_name(template, pod_name) if pod_name else "",
            claim_template=template,
        )
        for template in workload.claim_templates
    )
    others = tuple(v for v in spec.volumes if v.name not in {template.name for template in workload.claim_templates})
    return replace(spec, volumes=others + claims)


def claim_name(template: ClaimTemplate, pod_name: str) -> str:
    """Source: `stateful_set_utils.go` `getPersistentVolumeClaimName`."""
    return f"{template.name}-{pod_name}"


def takes_max_unavailable(cluster: Cluster) -> bool:
    """Whether the feature gate shows to be on: one without it would have kept the field out."""
    limits_set = (
        stateful_set.strategy.max_unavailable
        for stateful_set in cluster.snapshot.every_workload
        if stateful_set.traits.has_ordinals
    )
    return any(value is not None for value in limits_set)
