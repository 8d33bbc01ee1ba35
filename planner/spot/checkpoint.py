"""Checkpointed jobs: closed forms for their duration on nodes that are interrupted.

Symbols: M mean time between losses, R restart time, T work of a job, tau work between checkpoints, delta time to write
one; all in hours.
"""

from __future__ import annotations

from math import ceil, inf, sqrt

import numpy as np

from planner.ground.records import Record
from planner.spot.assumptions import Assumptions, Work
from planner.spot.interruption import NEVER_PER_HOUR, Floats, Lives

_NEGLIGIBLE = 1e-12


class Pattern(Record):
    """A job as the node sees it: `pieces` pieces of `piece_hours` (work and checkpoint), the last one shorter.

    The last piece ends with the job's own result, not with a checkpoint. `keeps_all`: an interruption loses no more
    than `lost_hours` (serving, or a checkpoint written on notice).
    """

    jobs: int  # per node and month
    work_hours: float  # T: useful work of one job
    span_hours: float  # T and its checkpoints: the job's time on a node that isn't lost
    piece_hours: float  # tau + delta, inf without checkpoints
    pieces: int
    keeps_all: bool
    lost_hours: float = 0.0
    scale: float = 1.0  # the month's hours / (jobs × work_hours): whole jobs are simulated, results are scaled

    @property
    def useful_share(self) -> float:
        return self.work_hours / self.span_hours


def pattern_of(assumptions: Assumptions) -> Pattern:
    """The month's work of one node: a whole number of jobs, or one service that never ends."""
    month = assumptions.hours_per_month
    if assumptions.work is Work.SERVING:
        return Pattern(
            jobs=1,
            work_hours=month,
            span_hours=month,
            piece_hours=inf,
            pieces=1,
            keeps_all=True,
            lost_hours=lost_request_hours(assumptions.request_seconds, assumptions.window_seconds),
        )
    work = assumptions.job_minutes / 60
    interval, write = assumptions.checkpoint_minutes / 60, assumptions.checkpoint_seconds / 3600
    pieces = ceil(work / interval - 1e-9) if interval else 1
    jobs = max(1, round(month / work))
    return Pattern(
        jobs=jobs,
        work_hours=work,
        span_hours=work + (pieces - 1) * write,
        piece_hours=interval + write if pieces > 1 else inf,
        pieces=pieces,
        keeps_all=assumptions.saves,
        scale=month / (jobs * work),
    )


def lost_request_hours(request_seconds: float, window_seconds: float) -> float:
    """Work in flight that one interruption loses on a busy server.

    A request of length q is met at a random moment; it is lost when it needs longer than the notice w, and what it had
    done by then is done again: the mean of (q − r) over rests r between w and q is (q − w)² / 2q.
    """
    beyond = max(0.0, request_seconds - window_seconds)
    return beyond * beyond / (2 * request_seconds) / 3600 if beyond else 0.0


def young_hours(write_hours: float, mean_hours: float) -> float:
    """Work between checkpoints that loses least, to first order: sqrt(2 delta M).

    Source: Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974.
    """
    return sqrt(2 * write_hours * mean_hours)


def daly_hours(write_hours: float, mean_hours: float) -> float:
    """Work between checkpoints that loses least, to higher order.

    Source: Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006.
    """
    if write_hours >= 2 * mean_hours:
        return mean_hours
    ratio = write_hours / (2 * mean_hours)
    return young_hours(write_hours, mean_hours) * (1 + sqrt(ratio) / 3 + ratio / 9) - write_hours


def useful_hours_per_life(pattern: Pattern, lives: Lives, hazard: float, bulk: float, restart: float) -> float:
    """E[useful work that one node's life leaves behind]; 0 when a piece never fits into a life.

    A life that ends in the k-th piece keeps k − 1 of them: the sum over k of P(life > R + k pieces). The last, shorter
    piece of a job counts as the average one; exact without checkpoints, and with pieces of one length.
    """
    if pattern.keeps_all:
        up = lives.mean(hazard, bulk) - lives.mean(hazard, bulk, restart)
        reached = float(lives.survival(np.array([restart]), hazard)[0]) * float(np.exp(-bulk * restart))
        return max(0.0, up - pattern.lost_hours * reached) * pattern.useful_share
    piece = pattern.span_hours / pattern.pieces
    return pattern.work_hours / pattern.pieces * _pieces_survived(lives, hazard, bulk, restart, piece)


def _pieces_survived(lives: Lives, hazard: float, bulk: float, restart: float, piece: float) -> float:
    """The sum over k ≥ 1 of P(life > R + k × piece)."""
    total = hazard + bulk
    if lives.table is None and np.isinf(lives.cap_hours):
        return float(np.exp(-total * (restart + piece)) / -np.expm1(-total * piece)) if total >= NEVER_PER_HOUR else inf
    longest = min(lives.cap_hours, float(lives.table[-1]) if lives.table is not None else inf)
    count = int(min(max(0.0, longest - restart) / piece, 2_000_000)) + 1
    ends: Floats = np.asarray(restart + piece * np.arange(1, count + 1), dtype=np.float64)
    alive = lives.survival(ends, hazard) * np.exp(-bulk * ends)
    return float(alive[alive > _NEGLIGIBLE].sum())
