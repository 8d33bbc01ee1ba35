"""Finds the revision of a StatefulSet or DaemonSet that a template belongs to.

Their controllers compare ControllerRevisions. Where the snapshot holds none of a workload, its pods are compared in their
place. Source: kubernetes `pkg/controller/history/controller_history.go` `FindEqualRevisions`, `pkg/controller/daemon/update.go`
`Match`.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import chain, count

from planner.ground.well_known_names import (
    CONTROLLER_REVISION_HASH,
    POD_INDEX,
    POD_TEMPLATE_GENERATION,
    REGION,
    STATEFULSET_POD_NAME,
    ZONE,
)
from planner.kubernetes.object_records import Pod, PodSpec, Template, Volume, Workload
from planner.rollout.admission import object_count
from planner.rollout.controllers.protocol import RolloutController
from planner.rollout.ownership import pods_by_owner, revision_of, revisions_by_owner
from planner.rollout.pods_by_state import ENDING
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import LivePod

# labels that the controller adds, and the API server when a pod is bound (admission plugin PodTopologyLabels)
_ADDED = frozenset({CONTROLLER_REVISION_HASH, POD_INDEX, POD_TEMPLATE_GENERATION, STATEFULSET_POD_NAME, REGION, ZONE})


NEW_REVISION = "new"  # stands for the hash of a template that doesn't exist yet


class OverRevisions(RolloutController):
    """What the controllers of StatefulSets and DaemonSets have in common: their pods are their own, and each new template is a
    ControllerRevision."""

    lacks_revision: bool
    """Its new revision's ControllerRevision isn't made: until then its status doesn't observe the change either."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.key = workload.key
        self.min_ready_seconds = workload.min_ready_seconds
        self.made_templates: list[tuple[Template, str]] = []  # with the hashes of their revisions, as changes made them

    def known_revision(self, simulation: Simulation, before: Workload, workload: Workload) -> str:
        """The hash of the revision that the template of a second change goes back to, `before` being the first's; "" where there is none."""
        if before.template.makes_the_same_pods(workload.template):
            return ""  # it is restarted
        cached_hashes = (
            hash_ for template, hash_ in self.made_templates if template.makes_the_same_pods(workload.template)
        )
        return next(cached_hashes, "") or used_again(simulation, before, workload)

    def all_pods(self, simulation: Simulation) -> list[LivePod]:
        return simulation.pods.of(self.key, self.workload.uid)

    def is_terminating(self, simulation: Simulation) -> bool:
        return simulation.pods.tally(self.key, self.workload.uid).count(ENDING) > 0

    def has_revision(self, simulation: Simulation) -> bool:
        """Whether the new revision's ControllerRevision is there, or was made; nothing is done as long as a quota
        refuses it (`performUpdate`, `constructHistory`)."""
        if self.lacks_revision:
            name, counted = f"{self.workload.name}-{NEW_REVISION}", object_count("controllerrevisions.apps")
            where = self.workload.namespace
            self.lacks_revision = not simulation.make_object(self.key, "ControllerRevision", where, name, counted)
        return not self.lacks_revision


def unused_revision(simulation: Simulation, workload: Workload) -> str:
    """Stands for the hash of a template that no pod of the workload has yet."""
    taken = {_hash(pod) for pod in _pods(simulation, workload)}
    taken.update(pod.revision for pod in simulation.pods.of(workload.key, workload.uid))
    hashes = chain((NEW_REVISION,), (f"{NEW_REVISION}-{number}" for number in count(2)))
    return next(free_hash for free_hash in hashes if free_hash not in taken)


def used_again(simulation: Simulation, before: Workload, after: Workload) -> str:
    """The hash of the revision that `after`'s template goes back to; "" where there is none, or the change is a restart.

    Of pods only what they show is compared (not their environment): a template that differs from today's in nothing that
    pods show is then taken as a new one (`ownership.untold_undo` says so).
    """
    if before.template.makes_the_same_pods(after.template):
        return ""
    if after.uid in revisions_by_owner(simulation.cluster):
        return revision_of(simulation.cluster, after)
    spec = simulation.admission.prepare(after.namespace, after.template.spec, after.template.labels)
    today = simulation.admission.prepare(before.namespace, before.template.spec, before.template.labels)
    if _shown(after.template, spec) == _shown(before.template, today):
        return ""
    claims = {template.name for template in after.claim_templates}
    return next((_hash(pod) for pod in _pods(simulation, after) if _looks_like(pod, after.template, spec, claims)), "")


def newest(simulation: Simulation, workload: Workload) -> str:
    """The hash of the revision that a DaemonSet's template is; "" where it isn't told: then pods of one are of that.

    Without ControllerRevisions it is the latest that has pods.
    """
    if revision_name := revision_of(simulation.cluster, workload):
        return revision_name
    pods = [pod for pod in _pods(simulation, workload) if _hash(pod)]
    return _hash(max(pods, key=_generation)) if len({_hash(pod) for pod in pods}) > 1 else ""


def _pods(simulation: Simulation, workload: Workload) -> list[Pod]:
    return [simulation.snapshot.pods[i] for i in pods_by_owner(simulation.cluster).get(workload.uid, ())]


def _hash(pod: Pod) -> str:
    return str(pod.labels.get(CONTROLLER_REVISION_HASH, ""))


def _generation(pod: Pod) -> int:
    text = pod.labels.get(POD_TEMPLATE_GENERATION, "")
    return int(text) if text.isdecimal() else 0


def _shown(template: Template, spec: PodSpec) -> tuple[object, ...]:
    return dict(template.labels), *_compared(spec), _volumes(spec), frozenset(spec.tolerations)


def _looks_like(pod: Pod, template: Template, spec: PodSpec, claims: Set[str]) -> bool:
    """`claims`: the names of volumes that a StatefulSet puts in place of the template's."""
    if _volumes(pod.spec, claims) != _volumes(spec, claims):
        return False
    labels = {key: value for key, value in pod.labels.items() if key in template.labels or key not in _ADDED}
    tolerated = set(pod.spec.tolerations).issuperset(template.spec.tolerations)  # admission adds some
    return labels == template.labels and _compared(pod.spec) == _compared(spec) and tolerated


def _volumes(spec: PodSpec, besides: Set[str] = frozenset()) -> frozenset[Volume]:
    return frozenset(volume for volume in spec.volumes if volume.name not in besides)


def _compared(spec: PodSpec) -> tuple[object, ...]:
    """What a pod has as its template says it."""
    return (
        spec.containers,
        spec.init_containers,
        spec.pod_requests,
        spec.pod_limits,
        spec.node_selector,
        spec.pod_affinity,
        spec.pod_anti_affinity,
        spec.topology_spread,
        spec.priority_class_name,
        spec.host_network,
        spec.resource_claims,
        spec.runtime_class_name,
        spec.scheduler_name,
        spec.termination_grace_period_seconds,
    )
