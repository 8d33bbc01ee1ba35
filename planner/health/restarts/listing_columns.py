"""Columns of the listings of restart loops and their log lines. None: unknown, or not applicable."""

from __future__ import annotations

from typing import Final, TypeAlias

from planner.ground.answer_layout import Column
from planner.ground.words import short_name
from planner.health.restarts.model import LogLine, Loop

LineOf: TypeAlias = tuple[Loop, LogLine]


LOOP: Final[tuple[Column[Loop], ...]] = (
    Column("workload", words=lambda loop: short_name(loop.workload), label="workload"),
    Column("container", label="container"),
    Column("activity", heading="state", metric="restart_activity"),
    Column("cause", lambda loop: loop.diagnosis.cause, metric="restart_cause"),
    Column("confidence", lambda loop: loop.diagnosis.confidence, metric="restart_confidence"),
    Column("pods", lambda loop: len(loop.pods), words=lambda loop: f"{len(loop.pods)}/{loop.pods_in_all}", metric="restarting_pods", unit="pods"),
    Column("pods_in_all", heading=None),
    Column("restarts", metric="restarts", unit="restarts"),
    Column("since_seconds", lambda loop: loop.since, heading=None),
    Column("last_restart_seconds", lambda loop: loop.last_restart_at, heading="last"),
    Column("seconds_between", lambda loop: None if loop.seconds_between is None else round(loop.seconds_between), heading=None),
    Column("", lambda loop: loop.seconds_between, metric="seconds_between_restarts", unit="seconds"),
    Column("memory_request_bytes", heading=None),
    Column("memory_limit_bytes", heading=None),
    Column("working_set_bytes", lambda loop: loop.seen_bytes, heading=None),
    Column("working_set_where_it_works_bytes", lambda loop: loop.peers.working_set_bytes if loop.peers else None, heading=None),
    Column("suggested_memory_request_bytes", lambda loop: (loop.suggestion.memory_request_bytes or None) if loop.suggestion else None, heading=None, metric="suggested_memory_request", unit="bytes"),
    Column("suggested_memory_limit_bytes", lambda loop: loop.suggestion.memory_limit_bytes if loop.suggestion else None, heading=None),
    Column("noise_lines", lambda loop: len(loop.noise), heading=None),
    Column("sentence", heading=None),
    Column("cure", lambda loop: loop.diagnosis.cure, heading=None),
)  # fmt: skip

WHY: Final[tuple[Column[Loop], ...]] = (
    Column("what", words=lambda loop: str(loop.diagnosis.what)),
    Column("cure", heading="what would help", words=lambda loop: str(loop.diagnosis.cure)),
)
"""What a table has of a loop where no story follows it."""

LINE: Final[tuple[Column[LineOf], ...]] = (
    Column("workload", lambda of: of[0].workload),
    Column("container", lambda of: of[0].container),
    Column("verdict", lambda of: of[1].verdict),
    Column("line", lambda of: of[1].template),
    Column("lines", lambda of: of[1].lines),
    Column("failing_pods", lambda of: of[1].failing_pods),
    Column("failing_pods_with_log", lambda of: of[1].failing_pods_with_log),
    Column("healthy_pods", lambda of: of[1].healthy_pods),
    Column("healthy_pods_with_log", lambda of: of[1].healthy_pods_with_log),
    Column("healthy_pods_of_other_programs", lambda of: of[1].healthy_elsewhere),
    Column("sentence", lambda of: of[1].sentence),
)
