"""Pods that have gone, known by their names: which workload made them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from planner.kubernetes.records import Workload


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
        """The workload, the one with the longest name where several fit (``api`` and ``api-worker``); None: nobody."""
        fitting: Sequence[Workload] = [one for pattern, one in self._patterns[namespace] if pattern.fullmatch(pod)]
        return max(fitting, key=lambda one: len(one.name), default=None)
