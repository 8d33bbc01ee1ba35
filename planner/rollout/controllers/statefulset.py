"""StatefulSet: pods with an ordinal, replaced from the highest down to the partition.

Source: kubernetes `pkg/controller/statefulset/stateful_set_control.go` of 1.36. ``maxUnavailable`` counts only where it
is set: the API server drops the field while the feature gate MaxUnavailableStatefulSet is off (its default).
"""

from __future__ import annotations

from dataclasses import replace

from planner.kubernetes.kinds import ON_DELETE
from planner.kubernetes.records import ClaimTemplate, FrozenMap, PodSpec, Volume, Workload
from planner.kubernetes.shares import scaled_value
from planner.rollout.admission import object_count, volume_claim_usage
from planner.rollout.controllers import revisions
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import LivePod
from planner.scheduling.storage import claims_by_key
from planner.vocabulary import CONTROLLER_REVISION_HASH, POD_INDEX, STATEFULSET_POD_NAME

NEW_REVISION = "new"


class StatefulSetController:
    """One StatefulSet during a rollout. `before` is what its old revision looks like, `again` the hash of a revision
    that a change goes back to."""

    retry_at: float | None = None

    def __init__(self, workload: Workload, before: Workload, *, has_new_template: bool, again: str = "") -> None:
        self.workload = workload
        self.before = before
        self.key = workload.key
        self.replicas = workload.replicas
        self.min_ready_seconds = workload.min_ready_seconds
        current = before.update_revision or before.current_revision or "current"
        self.current_revision = before.current_revision or current
        self.update_revision = (again or NEW_REVISION) if has_new_template else current
        self.is_changed = has_new_template
        self.partition = workload.strategy.partition
        self._made_revision = False
        self._made_claims: set[str] = set()
        self.is_parallel = workload.pod_management_policy == "Parallel"
        self.max_unavailable = workload.strategy.max_unavailable
        self._seen = -1  # of what happened to its pods, when it last had nothing to do

    @classmethod
    def start(
        cls, simulation: Simulation, workload: Workload, *, before: Workload | None, has_new_template: bool
    ) -> StatefulSetController:
        if before is None or not has_new_template:
            return cls(workload, before or workload, has_new_template=False)
        again = revisions.used_again(simulation, before, workload)
        controller = cls(workload, before, has_new_template=True, again=again)
        for pod in controller.all_pods(simulation):
            pod.is_new = pod.revision == again
        return controller

    def owners(self) -> tuple[str, ...]:
        return (self.key,)

    def all_pods(self, simulation: Simulation) -> list[LivePod]:
        return simulation.pods_of(self.key, self.workload.uid)

    def is_terminating(self, simulation: Simulation) -> bool:
        return any(p.is_terminating for p in self.all_pods(simulation))

    def status(self, simulation: Simulation) -> dict[str, int]:
        pods = self.all_pods(simulation)
        standing = [p for p in pods if not p.is_terminating]
        ready = [p for p in pods if p.is_ready]
        updated = sum(1 for p in standing if p.revision == self.update_revision)
        current = sum(1 for p in standing if p.revision == self.current_revision)
        if self.is_complete(simulation) and not self.partition:
            current = updated
        return {
            "replicas": len(pods),
            "readyReplicas": len(ready),
            "availableReplicas": sum(p.is_available for p in ready),
            "updatedReplicas": updated,
            "currentReplicas": current,
        }

    def is_complete(self, simulation: Simulation) -> bool:
        """``kubectl rollout status``: the ordinals from the partition up are updated, and all are Ready."""
        if self.workload.strategy.kind == ON_DELETE:
            return self._all_ready(simulation) and self.update_revision == self.current_revision
        standing = [p for p in self.all_pods(simulation) if not p.is_terminating]
        updated = sum(1 for p in standing if p.revision == self.update_revision)
        wanted = max(0, self.replicas - self.partition)
        return updated >= wanted and self._all_ready(simulation) and len(standing) == self.replicas

    def _all_ready(self, simulation: Simulation) -> bool:
        return sum(1 for p in self.all_pods(simulation) if p.is_ready and not p.is_terminating) >= self.replicas

    def sync(self, simulation: Simulation) -> bool:
        if self._seen == simulation.told[self.key]:  # since then nothing did
            return False
        busy = self._sync(simulation)
        if not busy and self.key not in simulation.refusals:
            self._seen = simulation.told[self.key]
        return busy

    def _sync(self, simulation: Simulation) -> bool:
        if not self._has_revision(simulation):
            return False
        start = self.workload.start_ordinal
        by_ordinal = {p.ordinal: p for p in self.all_pods(simulation)}
        simulation.budget.spend(len(by_ordinal) // 4)  # every one of them is looked at, four in a microsecond
        if self.is_parallel:
            simulation.foresee_pods(self.replicas - len(by_ordinal))
        ordinals = range(start, start + self.replicas)
        busy = False
        for ordinal in ordinals:
            pod = by_ordinal.get(ordinal)
            if pod is None:
                pod = self._create(simulation, ordinal)
                if pod is None:
                    return busy
                by_ordinal[ordinal] = pod
                busy = True
                if not self.is_parallel:
                    return True
            elif not self.is_parallel and _is_unavailable(pod):
                return busy
        condemned = sorted((p for o, p in by_ordinal.items() if o not in ordinals), key=lambda p: -p.ordinal)
        broken = next((p for p in reversed(condemned) if _is_unavailable(p)), None)
        for pod in condemned:
            if not self.is_parallel and _is_unavailable(pod) and (pod.is_terminating or pod is not broken):
                return busy
            if pod.is_terminating:
                continue
            simulation.delete(pod)
            if not self.is_parallel:
                return True
            busy = True
        if self.workload.strategy.kind == ON_DELETE:
            return busy
        return self._update(simulation, by_ordinal, start) or busy

    def _has_revision(self, simulation: Simulation) -> bool:
        """Whether the new revision's ControllerRevision is there, or was made; nothing is done as long as a quota
        refuses it (`performUpdate`)."""
        if self.update_revision == NEW_REVISION and not self._made_revision:
            name, counted = f"{self.workload.name}-{NEW_REVISION}", object_count("controllerrevisions.apps")
            where = self.workload.namespace
            self._made_revision = simulation.make_object(self.key, "ControllerRevision", where, name, counted)
            return self._made_revision
        return True

    def _update(self, simulation: Simulation, by_ordinal: dict[int, LivePod], start: int) -> bool:
        lowest = start + self.partition
        targets = [by_ordinal[o] for o in range(start + self.replicas - 1, start - 1, -1) if o in by_ordinal]
        if self.max_unavailable is not None:
            allowed = max(1, scaled_value(self.max_unavailable, self.replicas, round_up=False))
            room = allowed - sum(_is_unavailable(p) for p in targets)
            if room <= 0:
                return False
            old = [p for p in targets if p.ordinal >= lowest and self._is_old(p) and not p.is_terminating]
            for pod in old[:room]:
                simulation.delete(pod)
            return bool(old)
        for pod in targets:
            if pod.ordinal < lowest:
                break
            if self._is_old(pod) and not pod.is_terminating:
                simulation.delete(pod)
                return True
            if _is_unavailable(pod):
                return False
        return False

    def _is_old(self, pod: LivePod) -> bool:
        return pod.revision != self.update_revision

    def _create(self, simulation: Simulation, ordinal: int) -> LivePod | None:
        """`newVersionedStatefulSetPod`: below the partition the current revision, else the new one."""
        is_old = ordinal < self.workload.start_ordinal + self.partition
        template = self.before.template if is_old else self.workload.template
        revision = self.current_revision if is_old else self.update_revision
        name = f"{self.workload.name}-{ordinal}"
        if not all(self._has_claim(simulation, one, name) for one in self.workload.claim_templates):
            return None
        labels = FrozenMap(
            {
                **template.labels,
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
            self._with_claims(template.spec, name),
            self.workload.selector,
            is_new=not is_old and self.is_changed,
            ordinal=ordinal,
            revision=revision,
        )

    def _has_claim(self, simulation: Simulation, template: ClaimTemplate, pod_name: str) -> bool:
        """Whether a pod's claim is there, or was made (`createPersistentVolumeClaims`): a quota may refuse it, and then
        there is no pod."""
        name, where = f"{template.name}-{pod_name}", self.workload.namespace
        if (where, name) in simulation.cluster.remember(claims_by_key) or name in self._made_claims:
            return True
        counted = volume_claim_usage(simulation.snapshot, template)
        if not simulation.make_object(self.key, "PersistentVolumeClaim", where, name, counted):
            return False
        self._made_claims.add(name)
        return True

    def _with_claims(self, spec: PodSpec, pod_name: str) -> PodSpec:
        """volumeClaimTemplates become claims named ``<template>-<pod>``, made where there are none."""
        if not self.workload.claim_templates:
            return spec
        claims = tuple(
            Volume(
                name=one.name,
                kind="persistentVolumeClaim",
                claim_name=f"{one.name}-{pod_name}",
                claim_template=one,
            )
            for one in self.workload.claim_templates
        )
        others = tuple(v for v in spec.volumes if v.name not in {one.name for one in self.workload.claim_templates})
        return replace(spec, volumes=others + claims)


def _is_unavailable(pod: LivePod) -> bool:
    """`isUnavailable`."""
    return pod.is_terminating or not pod.is_available
