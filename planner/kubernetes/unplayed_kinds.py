"""The kinds that aren't simulated: their names for the API server, kubectl and a ClusterRole.

They are made of the rows of `planner.kubernetes.pod_template_kinds`, so a kind that gets a row there is listed, watched, allowed and reviewed
without a line elsewhere. Most clusters have few of them: a group that the server doesn't have isn't asked for.
"""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record
from planner.kubernetes.pod_template_kinds import (
    BASE,
    RUNTIME_GROUP,
    RUNTIMES,
    TEMPLATED,
    TRAINING_GROUP,
    TRAINING_RUNTIMES,
)
from planner.kubernetes.workload_kinds import PARTS, WORKLOADS, several


class Listed(Record):
    """One list. `versions`: of its group, the first that is served is read; `asks_webhook`: whether a write of one is reviewed;
    `scales`: the set that ``kubectl scale`` counts, None without that subresource."""

    kind: str
    group: str
    resource: str
    versions: tuple[str, ...]
    is_namespaced: bool = True
    asks_webhook: bool = False
    scales: str | None = None

    @property
    def name(self) -> str:
        """``rayservices.ray.io``: names of kinds alone are several groups' (Service, Job)."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the API server lists them, a path a version."""
        root = f"/apis/{self.group}" if self.group else "/api"
        return tuple(f"{root}/{version}/{self.resource}" for version in self.versions)


_READ: Final = {(kind.name, kind.group) for kind in (*WORKLOADS, *PARTS)} | {("Pod", "")}

LISTED: Final = {
    listed.name: listed
    for listed in (
        *(
            Listed(
                kind=row.kind, group=row.group, resource=row.resource, versions=row.versions,
                asks_webhook=row.is_reviewed, scales=row.scales,
            )
            for row in TEMPLATED if (row.kind, row.group) not in _READ and row.versions
        ),
        *(
            Listed(kind=kind, group=group, resource=several(kind).lower(), versions=("v1alpha1",), is_namespaced=is_namespaced)
            for group, kinds in ((RUNTIME_GROUP, RUNTIMES), (TRAINING_GROUP, TRAINING_RUNTIMES))
            for kind, is_namespaced in kinds.items()
        ),
        Listed(kind=BASE, group=RUNTIME_GROUP, resource=several(BASE).lower(), versions=("v1alpha2", "v1alpha1")),
    )
}  # fmt: skip
"""By name."""

_KEPT: Final = {(listed_kind.kind, listed_kind.group) for listed_kind in LISTED.values()} | {
    (row.kind, row.group) for row in TEMPLATED
}


def is_kept(kind: str, group: str) -> bool:
    """Whether objects of a kind are of use though no rollout of theirs is played."""
    return (kind, group) in _KEPT
