"""What became of everything that was given, in words: what was read, what was not, what that costs, what fetches it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from planner import words
from planner.inventory.shapes import resource_of
from planner.kubernetes.kinds import DEPLOYMENT, NODE, POD, REPLICA_SET, WORKLOADS
from planner.kubernetes.records import Presence, Snapshot

_WORKLOADS: Final = tuple(kind.name for kind in WORKLOADS)

COSTS: Final[dict[str, str]] = {
    NODE.name: "where pods fit isn't known, so no verdict is",
    POD.name: "how full the nodes are isn't known, so no verdict is",
    REPLICA_SET.name: f"the revisions of a {DEPLOYMENT.name} are told from its pods, as far as they tell them",
    "PersistentVolumeClaim": "where pods with such volumes may go isn't known",
    "PersistentVolume": "where pods with bound volumes may go isn't known",
    "PodDisruptionBudget": "answered as if nothing forbade an eviction",
    "PriorityClass": "priorities are known of running pods only",
    "ResourceQuota": "answered as if there were none",
    "LimitRange": "answered as if there were none",
}
"""Kind → what answers lack without it. Of other kinds nothing is lost that an answer needs everywhere."""

_DECISIVE: Final = frozenset({NODE.name, POD.name, REPLICA_SET.name, "PersistentVolumeClaim", "PersistentVolume"})

SNAPSHOT_KINDS: Final = (
    NODE.name, "Namespace", POD.name, *_WORKLOADS[:1], REPLICA_SET.name, *_WORKLOADS[1:], "PodDisruptionBudget",
    "PriorityClass", "ResourceQuota", "LimitRange", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "Event",
)  # fmt: skip
"""What a snapshot should hold; kubectl lists them with one command."""


def get_command(kinds: Iterable[str] = SNAPSHOT_KINDS) -> str:
    """The command that writes all objects of `kinds`."""
    return f"kubectl get {','.join(resource_of(kind) for kind in kinds)} --all-namespaces --output json"


def missing(snapshot: Snapshot) -> tuple[str, ...]:
    """The kinds of `COSTS` that nothing was read of, not in the input or refused, and that something hangs on."""
    return tuple(
        kind
        for kind in COSTS
        if snapshot.presence.get(kind) is not Presence.PRESENT and (kind not in _HANGS_ON or _HANGS_ON[kind](snapshot))
    )


def _has_claims(snapshot: Snapshot) -> bool:
    specs = {pod.spec for pod in snapshot.pods} | {one.template.spec for one in snapshot.workloads}
    has_volumes = any(volume.kind == "persistentVolumeClaim" for spec in specs for volume in spec.volumes)
    return has_volumes or any(one.claim_templates for one in snapshot.workloads)


_HANGS_ON: Final[dict[str, Callable[[Snapshot], bool]]] = {
    REPLICA_SET.name: lambda snapshot: any(one.kind == DEPLOYMENT.name for one in snapshot.workloads),
    "PersistentVolumeClaim": _has_claims,
    "PersistentVolume": _has_claims,
}


def read_sentence(snapshot: Snapshot) -> str:
    """``read 83 files: 245 objects, 40 used; not used: 69 ClusterRole, …``: every object and file is in one of the
    numbers."""
    reading = snapshot.reading
    said = [
        f"read {words.count(reading.files, 'file')}: {words.count(reading.objects, 'object')}, {reading.used:,} used",
    ]
    if reading.other_kinds:
        said.append(f"not used: {_counted(reading.other_kinds)}")
    if reading.repeated:
        said.append(f"there more than once: {reading.repeated:,}")
    if reading.unreadable:
        said.append(f"damaged and left out: {reading.unreadable:,}")
    if reading.foreign:
        said.append(
            f"{words.count(reading.foreign, 'value')} in {words.count(max(1, reading.foreign_files), 'file')} "
            f"{'is no object' if reading.foreign == 1 else 'are no objects'} of Kubernetes"
        )
    if reading.passed_over:
        said.append(f"files not looked into: {_counted(reading.passed_over)}")
    return "; ".join(said)


def missing_sentence(snapshot: Snapshot) -> str:
    """What the input lacks, what that costs, and the command that fetches it; "" when nothing is lacking."""
    kinds = missing(snapshot)
    if not kinds:
        return ""
    by_cost: dict[str, list[str]] = {}
    for kind in kinds:
        by_cost.setdefault(COSTS[kind], []).append(kind)
    lacking = "; ".join(
        f"no {words.listing(some, len(some)).replace(' and ', ' or ')}: {cost}" for cost, some in by_cost.items()
    )
    return f"not in the input: {lacking}. To add it: {get_command(kinds)}"


def is_whole(snapshot: Snapshot) -> bool:
    """Whether all that was given was used, and nothing is lacking that verdicts hang on."""
    reading = snapshot.reading
    is_used = reading.objects == reading.used and not reading.foreign and not reading.passed_over
    return is_used and _DECISIVE.isdisjoint(missing(snapshot))


def _counted(counts: Mapping[str, int], most: int = 6) -> str:
    """``69 ClusterRole, 54 RoleBinding and 70 of 5 more kinds``: the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{number:,} {name}" for name, number in ranked[:most])
    rest = ranked[most:]
    return f"{shown} and {sum(number for _, number in rest):,} of {len(rest)} others" if rest else shown
