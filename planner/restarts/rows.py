"""The restart answer as rows of named values, for tables and CSV. None: unknown, or nothing to say."""

from __future__ import annotations

from collections.abc import Iterable

from planner.ground.tables import Row
from planner.restarts.model import Loop, RestartReport


def loop_rows(report: RestartReport) -> list[Row]:
    """One row a loop, worst first."""
    return [
        {
            "workload": loop.workload,
            "container": loop.container,
            "activity": loop.activity,
            "cause": loop.diagnosis.cause,
            "confidence": loop.diagnosis.confidence,
            "pods": len(loop.pods),
            "pods_in_all": loop.pods_in_all,
            "restarts": loop.restarts,
            "since_seconds": loop.since,
            "last_restart_seconds": loop.last_restart_at,
            "seconds_between": None if loop.seconds_between is None else round(loop.seconds_between),
            "memory_request_bytes": loop.memory_request_bytes,
            "memory_limit_bytes": loop.memory_limit_bytes,
            "working_set_bytes": loop.seen_bytes,
            "working_set_where_it_works_bytes": loop.peers.working_set_bytes if loop.peers else None,
            "suggested_memory_request_bytes": loop.suggestion.memory_request_bytes if loop.suggestion else None,
            "suggested_memory_limit_bytes": loop.suggestion.memory_limit_bytes if loop.suggestion else None,
            "noise_lines": len(loop.noise),
            "sentence": loop.sentence,
            "cure": loop.diagnosis.cure,
        }
        for loop in report.loops
    ]


def line_rows(loops: Iterable[Loop]) -> list[Row]:
    """One row a log line (as a template) and loop."""
    return [
        {
            "workload": loop.workload,
            "container": loop.container,
            "verdict": line.verdict,
            "line": line.template,
            "lines": line.lines,
            "failing_pods": line.failing_pods,
            "failing_pods_with_log": line.failing_pods_with_log,
            "healthy_pods": line.healthy_pods,
            "healthy_pods_with_log": line.healthy_pods_with_log,
            "healthy_pods_of_other_programs": line.healthy_elsewhere,
            "sentence": line.sentence,
        }
        for loop in loops
        for line in loop.lines
    ]
