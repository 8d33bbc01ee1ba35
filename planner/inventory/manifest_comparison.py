"""Compares a manifest's object with the cluster's, for kinds that don't roll out: the same or different.

``kubectl apply`` changes what the manifest says otherwise, and takes away what it applied before and the manifest no longer
says (kubectl `pkg/cmd/apply`, "How apply calculates differences and merges changes"). What the object says beyond that
(defaults, other controllers' fields) stays.
"""

from __future__ import annotations

from enum import Enum, auto

from planner.inventory.redacted_value_digests import leaves_of
from planner.kubernetes.object_records import Pod, ReplicaSet, Template, Unplayed
from planner.kubernetes.pod_template_kinds import Templated


class Sameness(Enum):
    SAME = auto()
    ASSUMED = auto()  # if nothing that the manifest leaves out had been applied before
    DIFFERENT = auto()


def compare_objects(manifest: Unplayed, live_object: Unplayed, row: Templated | None) -> Sameness:
    """Whether applying `manifest` leaves the pods of `live_object` as they are. `row`: of their kind, where it is in the table."""
    has_same_pods = (
        manifest.is_told
        and live_object.is_told
        and manifest.is_suspended == live_object.is_suspended
        and _alike(manifest, live_object)
    )
    if row is not None and row.is_by_template and has_same_pods:
        return Sameness.SAME
    manifest_leaves, live_leaves = leaves_of(manifest.said), leaves_of(live_object.said)
    if not (
        manifest_leaves <= live_leaves and leaves_of(manifest.said_of_itself) <= leaves_of(live_object.said_of_itself)
    ):
        return Sameness.DIFFERENT
    # ``kubectl apply`` deletes what was applied and is left out now: nothing is deleted only if the manifest has all of
    # it.
    if manifest_leaves == live_leaves or (live_object.applied and leaves_of(live_object.applied) <= manifest_leaves):
        return Sameness.SAME
    return Sameness.ASSUMED if has_same_pods and not live_object.applied else Sameness.DIFFERENT


def _alike(manifest: Unplayed, live_object: Unplayed) -> bool:
    return [(pod.role, pod.count) for pod in manifest.pods] == [
        (pod.role, pod.count) for pod in live_object.pods
    ] and all(
        manifest_pods.template.makes_the_same_pods(other.template)
        for manifest_pods, other in zip(manifest.pods, live_object.pods, strict=True)
    )


def is_same_pod(manifest_template: Template, live_pod: Pod) -> bool:
    """Whether a manifest says of a Pod what is so: its containers, what they ask for, and where it may run.

    The rest can't be changed, or moves no pod (kubernetes `pkg/apis/core/validation/validation.go` `ValidatePodUpdate`).
    """
    spec, now = manifest_template.spec, live_pod.spec
    manifest_containers, theirs = (
        {container.name: container for container in (*pod_spec.containers, *pod_spec.init_containers)} for pod_spec in (spec, now)
    )  # fmt: skip
    return (
        manifest_containers.keys() <= theirs.keys()
        and all(
            container.image == theirs[name].image and container.requests.items() <= theirs[name].requests.items()
            for name, container in manifest_containers.items()
        )
        and spec.node_selector.items() <= now.node_selector.items()
        and manifest_template.labels.items() <= live_pod.labels.items()
    )


def is_same_set(manifest_template: Template, replicas: int, live_set: ReplicaSet) -> bool:
    """Whether a manifest says of a ReplicaSet what is so."""
    return replicas == live_set.replicas and manifest_template.makes_the_same_pods(live_set.template)
