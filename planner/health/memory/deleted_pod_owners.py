"""Finds the workload that made a deleted pod, by the pod's name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from planner.inventory.usage import Usage
from planner.kubernetes.object_records import Snapshot, Workload
from planner.kubernetes.owners import workload_keys


def pod_name_pattern(workload: Workload) -> re.Pattern[str]:
    """What the names of `workload`'s pods look like. Source: apimachinery `pkg/util/rand` (SafeEncodeString), the
    Deployment controller's template hash (up to 10 letters), the StatefulSet controller's ordinals."""
    return re.compile(re.escape(workload.name) + workload.traits.pod_suffix)


class Makers:
    """Finds the workload that made a pod of a given name."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        self._patterns: defaultdict[str, list[tuple[re.Pattern[str], Workload]]] = defaultdict(list)
        for workload in workloads:
            self._patterns[workload.namespace].append((pod_name_pattern(workload), workload))

    def of(self, namespace: str, pod: str) -> Workload | None:
        """The workload, the one with the longest name where several fit (``api`` and ``api-worker``); None: none fits."""
        fitting: Sequence[Workload] = [owner for pattern, owner in self._patterns[namespace] if pattern.fullmatch(pod)]
        return max(fitting, key=lambda workload: len(workload.name), default=None)


def usages_by_workload(snapshot: Snapshot, usages: Sequence[Usage]) -> dict[str, list[Usage]]:
    """Workload key → what its pods were seen to use; pods of a history that have gone since are known by their names."""
    if not usages:
        return {}
    keys = workload_keys(snapshot)
    places = {(pod.namespace, pod.name): keys[pod.uid] for pod in snapshot.pods}
    makers = Makers(snapshot.workloads)
    usages_of: defaultdict[str, list[Usage]] = defaultdict(list)
    for usage in usages:
        key = places.get((usage.namespace, usage.pod))
        if key is None:
            maker = makers.of(usage.namespace, usage.pod)
            key = maker.key if maker else ""
        if key:
            usages_of[key].append(usage)
    return usages_of
