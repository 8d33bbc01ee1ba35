"""The priority with which a pod is admitted.

Source: kubernetes `plugin/pkg/admission/priority/admission.go` (`admitPod`, `getDefaultPriorityClass`) and
`pkg/apis/scheduling/v1/helpers.go` (the classes that exist in every cluster, listed or not).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from planner.ground.records import replace
from planner.kubernetes.object_records import PodSpec, Presence, PriorityClass, ReplicaSet, Snapshot, Workload

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_CRITICAL_PRIORITY: Final = 2 * HIGHEST_USER_PRIORITY  # from here on the cluster itself needs the pod
SYSTEM_NODE_CRITICAL: Final = "system-node-critical"
_BUILT_IN: Final = {
    priority_class.name: priority_class
    for priority_class in (
        PriorityClass(name="system-cluster-critical", value=SYSTEM_CRITICAL_PRIORITY),
        PriorityClass(name=SYSTEM_NODE_CRITICAL, value=SYSTEM_CRITICAL_PRIORITY + 1_000),
    )
}
Classes = Mapping[str, PriorityClass]


def classes_in(snapshot: Snapshot) -> dict[str, PriorityClass]:
    """The snapshot's priority classes by name; where it doesn't hold the kind, those that its pods show.

    A class that a pod has and its owner's template doesn't name is the global default.
    """
    classes = {priority_class.name: priority_class for priority_class in snapshot.priority_classes}
    if snapshot.presence.get("PriorityClass") is not Presence.PRESENT:
        for spec in {id(pod.spec): pod.spec for pod in snapshot.pods}.values():
            name = spec.priority_class_name
            if name and spec.priority is not None and name not in classes:
                policy = spec.preemption_policy or "PreemptLowerPriority"
                classes[name] = PriorityClass(name=name, value=spec.priority, preemption_policy=policy)
        for name in _given_by_default(snapshot) & set(classes):
            classes[name] = replace(classes[name], is_global_default=True)
    return classes


def _given_by_default(snapshot: Snapshot) -> set[str]:
    """Class names of pods that got them at admission: their owner's template names none; "" where such a pod has none."""
    owners: tuple[ReplicaSet | Workload, ...] = snapshot.replica_sets + snapshot.every_workload
    unnamed = {owner.uid for owner in owners if owner.uid and not owner.template.spec.priority_class_name}
    return {pod.spec.priority_class_name for pod in snapshot.pods if pod.owner and pod.owner.uid in unnamed}


def tells_default(snapshot: Snapshot) -> bool:
    """Whether the snapshot says which class, if any, pods get that name none: it lists the classes, or pods show it."""
    if snapshot.presence.get("PriorityClass") is Presence.PRESENT or not snapshot.pods:
        return True
    return bool(_given_by_default(snapshot)) or any(not pod.spec.priority_class_name for pod in snapshot.pods)


def class_called(name: str, classes: Classes) -> PriorityClass | None:
    """The priority class of that name; None where there is none."""
    return classes.get(name) or _BUILT_IN.get(name)


def class_of(spec: PodSpec, classes: Classes) -> PriorityClass | None:
    """The class a pod of `spec` is admitted with: the named one, else the global default, the lowest of several."""
    if spec.priority_class_name:
        return class_called(spec.priority_class_name, classes)
    defaults = [priority_class for priority_class in classes.values() if priority_class.is_global_default]
    return min(defaults, key=lambda priority_class: priority_class.value, default=None)


def class_name(spec: PodSpec, classes: Classes) -> str:
    """The class name a pod of `spec` is admitted with, whether or not there is such a class; "" where it has none."""
    priority_class = None if spec.priority_class_name else class_of(spec, classes)
    return priority_class.name if priority_class else spec.priority_class_name


def priority(spec: PodSpec, classes: Classes) -> int:
    """The pod's priority: as admitted, else of its class, else 0."""
    if spec.priority is not None:
        return spec.priority
    priority_class = class_of(spec, classes)
    return priority_class.value if priority_class else 0
