"""Selects which logs to read from a live cluster: containers in trouble, and a few healthy ones to compare."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from planner.health.restarts.causes import is_troubled
from planner.health.restarts.container_observations import ContainerCase, Population, cases
from planner.health.restarts.log_limits import LIMITS
from planner.kubernetes.object_records import Snapshot


class WantedLog(NamedTuple):
    namespace: str
    pod: str
    container: str
    is_previous: bool


def wanted_logs(snapshot: Snapshot) -> tuple[WantedLog, ...]:
    """At most `LIMITS.logs` logs: of up to three pods of each container in trouble (the run before too, where there was
    one), of pods that run and aren't Ready, and of up to three working pods of the same program."""
    population = Population(cases(snapshot))
    log_requests: dict[WantedLog, None] = {}
    taken: Counter[tuple[str, str]] = Counter()
    for case in population.cases:
        if not (is_troubled(case) or _hangs(case)) or taken[case.key] >= LIMITS.pods_of_a_container:
            continue
        taken[case.key] += 1
        for is_previous in (True, False) if case.state.restart_count else (False,):
            log_requests[_log_of(case, is_previous=is_previous)] = None
        # Working pods to compare with are read once a container, whichever of its pods is in trouble.
        if taken[case.key] == 1:
            for peer in population.peers(case)[: LIMITS.peers]:
                log_requests[_log_of(peer, is_previous=False)] = None
    return tuple(log_requests)[: LIMITS.logs]


def _hangs(case: ContainerCase) -> bool:
    """It runs and isn't Ready: children may be killed inside, which only its log shows."""
    return case.state.state == "running" and not case.pod.is_ready and case.pod.deleted_at is None


def _log_of(case: ContainerCase, *, is_previous: bool) -> WantedLog:
    return WantedLog(
        namespace=case.pod.namespace, pod=case.pod.name, container=case.container.name, is_previous=is_previous
    )
