"""The common part of the Deployment and Argo Rollout controllers: they create pods through ReplicaSets."""

from __future__ import annotations

from itertools import chain, count

from planner.ground.records import replace
from planner.ground.well_known_names import DESIRED_REPLICAS, REVISION
from planner.kubernetes.object_records import FrozenMap, Owner, ReplicaSet, Workload
from planner.kubernetes.workload_kinds import REPLICA_SET
from planner.rollout.admission import object_count
from planner.rollout.controllers.protocol import RolloutController
from planner.rollout.controllers.replicaset import ReplicaSetController
from planner.rollout.pods_by_state import ENDING
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import LivePod

NEW_HASH = "new"  # stands for the hash of a template that doesn't exist yet


class OverSets(RolloutController):
    """One such workload with the change in it. `desired_annotation`: in which its ReplicaSets say how many replicas it had when it last
    scaled them; `revision_annotation`: in which they are numbered."""

    desired_annotation, revision_annotation = DESIRED_REPLICAS, REVISION

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.key = workload.key
        self.replicas = workload.replicas
        self.min_ready_seconds = workload.min_ready_seconds
        self.all_sets: list[ReplicaSetController] = []  # the old ones, and a new one last

    def owners(self) -> tuple[str, ...]:
        return tuple(controller.key for controller in self.all_sets)

    def all_pods(self, simulation: Simulation) -> list[LivePod]:
        return [pod for controller in self.all_sets for pod in controller.pods(simulation)]

    def is_terminating(self, simulation: Simulation) -> bool:
        return any(controller.tally(simulation).count(ENDING) for controller in self.all_sets)

    def scale(self, simulation: Simulation, replicas: int) -> None:
        """A user writes its replicas."""
        self.workload = replace(self.workload, replicas=replicas)
        self.replicas = replicas
        for key in (self.key, *self.owners()):
            simulation.scales[key] = (self.key, replicas)
        simulation.clock.wake(self.key)

    def own(self, simulation: Simulation, set_controller: ReplicaSetController) -> None:
        """Take a ReplicaSet for its own, after those that it has."""
        self.all_sets.append(set_controller)
        simulation.controllers[set_controller.key] = set_controller
        simulation.scales[set_controller.key] = (self.key, self.replicas)

    def unused_hash(self) -> str:
        """Stands for the hash of a template that no ReplicaSet has yet."""
        names = {replica_set.name for replica_set in self.all_sets}
        hashes = chain((NEW_HASH,), (f"{NEW_HASH}-{number}" for number in count(2)))
        return next(free_hash for free_hash in hashes if f"{self.workload.name}-{free_hash}" not in names)

    def new_set(
        self, simulation: Simulation, replicas: int, *, maximum: int | None = None
    ) -> ReplicaSetController | None:
        """The ReplicaSet of its new template, made; None where a quota refuses it."""
        workload, new_hash = self.workload, self.unused_hash()
        name = f"{workload.name}-{new_hash}"
        counted = object_count("replicasets.apps")
        if not simulation.make_object(self.key, REPLICA_SET.name, workload.namespace, name, counted):
            return None
        own, latest = {workload.traits.part_hash_label: new_hash}, max(map(self._revision, self.all_sets), default=0)
        labels = FrozenMap({**workload.template.labels, **own})
        set_record = ReplicaSet(
            namespace=workload.namespace, name=name, uid=f"{workload.uid}/{new_hash}", labels=labels,
            annotations=FrozenMap({self.revision_annotation: str(latest + 1)}),
            owner=Owner(kind=workload.kind, name=workload.name, uid=workload.uid, api_group=workload.traits.group), created_at=simulation.clock.now, replicas=replicas, template=replace(workload.template, labels=labels),
            selector=replace(workload.selector, match_labels=FrozenMap({**workload.selector.match_labels, **own})),
        )  # fmt: skip
        controller = ReplicaSetController(
            set_record, is_new=True, desired=self.replicas, maximum=maximum, desired_annotation=self.desired_annotation,
            min_ready_seconds=self.min_ready_seconds, related=self.owners,
        )  # fmt: skip
        self.own(simulation, controller)
        return controller

    def _revision(self, set_controller: ReplicaSetController) -> int:
        text = set_controller.annotations.get(self.revision_annotation, "")
        return int(text) if text.isascii() and text.isdecimal() else 0
