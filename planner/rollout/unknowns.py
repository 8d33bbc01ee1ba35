"""What an answer depends on and isn't known: named, and the verdict is then "unknown" rather than a guess."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.kubernetes.records import PodSpec, Presence, Snapshot
from planner.rollout.run import Revision
from planner.scheduling.cluster import Cluster
from planner.scheduling.devices import device_demand
from planner.scheduling.pod import DEFAULT_SCHEDULER
from planner.scheduling.shape import Shape

_ADD_KIND = "Add the missing kinds to kubectl get"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """`may_help`: knowing it could make a rollout complete that is stuck without it, not only the other way round."""

    what: str
    may_help: bool = False
    mend: str = _ADD_KIND


def unknowns(cluster: Cluster, revision: Revision, new: Shape | None = None) -> tuple[Unknown, ...]:
    """What is lacking for a sure answer on this workload; `new` is the shape of its new pods, where any were made."""
    snapshot = cluster.snapshot
    spec = revision.after.template.spec
    found = [*_missing_kinds(snapshot, revision, spec), *_other_scheduler(snapshot, spec)]
    if new is not None and new.storage.unknown:
        found.append(Unknown(what=new.storage.unknown))
    devices = device_demand(cluster, revision.after.namespace, spec).unknown
    if devices:
        found.append(Unknown(what=devices))
    return tuple(found)


def _missing_kinds(snapshot: Snapshot, revision: Revision, spec: PodSpec) -> Iterator[Unknown]:
    def lacks(kind: str) -> bool:
        return snapshot.presence.get(kind) in (Presence.ABSENT, Presence.REFUSED)

    needed = ["Node", "Pod"]
    if revision.after.kind == "Deployment" and revision.before is not None:
        needed.append("ReplicaSet")
    missing = [kind for kind in needed if lacks(kind)]
    if missing:
        names = " and ".join(f"{kind}s" for kind in missing)
        yield Unknown(what=f"the snapshot doesn't hold {names}", may_help=missing != ["Pod"])
    if spec.runtime_class_name and lacks("RuntimeClass"):
        name = spec.runtime_class_name
        yield Unknown(
            what=f"the pods are of RuntimeClass {name}, and the snapshot doesn't hold RuntimeClasses", may_help=True
        )
    if lacks("Namespace") and any(t.namespace_selector for t in spec.pod_affinity + spec.pod_anti_affinity):
        yield Unknown(
            what="the pods' affinity selects namespaces by label, and the snapshot doesn't hold Namespaces",
            may_help=True,
        )


def _other_scheduler(snapshot: Snapshot, spec: PodSpec) -> Iterator[Unknown]:
    """Another scheduler's pods, where there are signs that it is at work."""
    name = spec.scheduler_name
    if name != DEFAULT_SCHEDULER and any(p.node_name and p.spec.scheduler_name == name for p in snapshot.pods):
        yield Unknown(
            what=f'the pods are placed by the scheduler "{name}", whose rules Headroom doesn\'t know',
            may_help=True,
            mend="Read the answer as kube-scheduler's, which leaves these pods alone",
        )
