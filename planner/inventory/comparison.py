"""What a manifest says of an object that is there already, where its kind isn't rolled out: the same, or something else.

``kubectl apply`` changes what the manifest says otherwise, and takes away what it applied before and the manifest no longer
says (kubectl `pkg/cmd/apply`, "How apply calculates differences and merges changes"). What the object says beyond that
(defaults, other controllers' fields) stays.
"""

from __future__ import annotations

from enum import Enum, auto

from planner.inventory.sealed import leaves_of
from planner.kubernetes.pod_templates import Templated
from planner.kubernetes.records import Pod, ReplicaSet, Template, Unplayed


class Sameness(Enum):
    SAME = auto()
    ASSUMED = auto()  # if nothing that the manifest leaves out had been applied before
    DIFFERENT = auto()


def compared(given: Unplayed, there: Unplayed, row: Templated | None) -> Sameness:
    """Whether applying `given` leaves the pods of `there` as they are. `row`: of their kind, where it is in the table."""
    has_same_pods = (
        given.is_told and there.is_told and given.is_suspended == there.is_suspended and _alike(given, there)
    )
    if row is not None and row.is_by_template and has_same_pods:
        return Sameness.SAME
    asked, said = leaves_of(given.said), leaves_of(there.said)
    if not (asked <= said and leaves_of(given.said_of_itself) <= leaves_of(there.said_of_itself)):
        return Sameness.DIFFERENT
    if asked == said or (there.applied and leaves_of(there.applied) <= asked):
        return Sameness.SAME
    return Sameness.ASSUMED if has_same_pods and not there.applied else Sameness.DIFFERENT


def _alike(given: Unplayed, there: Unplayed) -> bool:
    return [(pod.role, pod.count) for pod in given.pods] == [(pod.role, pod.count) for pod in there.pods] and all(
        mine.template.makes_the_same_pods(other.template) for mine, other in zip(given.pods, there.pods, strict=True)
    )


def is_same_pod(given: Template, there: Pod) -> bool:
    """Whether a manifest says of a Pod what is so: its containers, what they ask for, and where it may run.

    The rest can't be changed, or moves no pod (kubernetes `pkg/apis/core/validation/validation.go` `ValidatePodUpdate`).
    """
    spec, now = given.spec, there.spec
    mine, theirs = (
        {container.name: container for container in (*some.containers, *some.init_containers)} for some in (spec, now)
    )  # fmt: skip
    return (
        mine.keys() <= theirs.keys()
        and all(
            container.image == theirs[name].image and container.requests.items() <= theirs[name].requests.items()
            for name, container in mine.items()
        )
        and spec.node_selector.items() <= now.node_selector.items()
        and given.labels.items() <= there.labels.items()
    )


def is_same_set(given: Template, replicas: int, there: ReplicaSet) -> bool:
    """Whether a manifest says of a ReplicaSet what is so."""
    return replicas == there.replicas and given.makes_the_same_pods(there.template)
