"""A month replayed minute by minute: the slow and plain way, written apart from the planner's lives.

Nothing of `planner.spot.monte_carlo` or `planner.spot.checkpoint` is used. Time goes in steps of one minute; in each a node
may be lost, a zone may be lost, a gap may end, and a place in the pool works, waits or starts. All runs and
places go through the same minute together, which is the only cleverness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.spot.assumptions import Assumptions, Capacity, Fallback, Work

MINUTES_PER_HOUR = 60
LONGEST_MONTHS = 2

Minutes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """Mean node-hours per place, and counts."""

    spot_hours: float  # paid on spot
    on_demand_hours: float  # paid on demand, starting included
    lost_hours: float
    restart_hours: float
    down_hours: float
    unfinished_hours: float
    interruptions: float
    late_jobs: float
    failed_jobs: float
    ready_share: float  # of places, over the month


def replay(a: Assumptions, *, runs: int, seed: int) -> Replayed:
    """Times in `a` must be whole minutes; the interruption rate must be one rate."""
    assert a.hazard_low_per_hour == a.hazard_high_per_hour
    assert not a.lives
    assert a.checkpoint_seconds % 60 == 0 or not a.checkpoint_minutes
    rng = np.random.default_rng(seed)
    places, zones = a.nodes, a.zones
    shape = (runs, places)
    zone = np.arange(places) % zones
    month = round(a.hours_per_month * MINUTES_PER_HOUR)
    start_minutes = round(a.restart_hours * MINUTES_PER_HOUR)
    job = round(a.job_minutes) if a.work is Work.JOBS else month
    piece, write = round(a.checkpoint_minutes), round(a.checkpoint_seconds / 60)
    jobs = max(1, round(month / job)) if a.work is Work.JOBS else 1

    lose = 1 - np.exp(-a.hazard_likely_per_hour / MINUTES_PER_HOUR)
    lose_zone = 1 - np.exp(-a.zone_hazard_per_hour / MINUTES_PER_HOUR)
    never = a.availability == 0
    gap = 10**12 if never else (a.stock_out_hours or 0) * MINUTES_PER_HOUR
    # what a place does: a spot node (with its age and minutes until ready), nothing, or an on-demand node
    rate = (a.hazard_likely_per_hour + a.zone_hazard_per_hour) / MINUTES_PER_HOUR
    cap_minutes = 24 * MINUTES_PER_HOUR if a.capacity is Capacity.PREEMPTIBLE else np.inf
    mean_life = (1 - np.exp(-rate * cap_minutes)) / rate
    has_spot = rng.random(shape) < (0.0 if never else mean_life / (mean_life + gap))
    out_until = np.where(has_spot, 0.0, _gap_lengths(rng, shape, gap))  # the place's own gap
    zone_out_until = np.zeros((runs, zones))  # its zone's
    until_ready = np.zeros(shape, dtype=np.int64)
    cap = 24 * MINUTES_PER_HOUR if a.capacity is Capacity.PREEMPTIBLE else 10**9
    age = _first_ages(rng, shape, a.hazard_likely_per_hour, cap)
    stand_in_until_ready = np.full(shape, -1, dtype=np.int64)  # −1: no on-demand node
    if a.fallback is Fallback.ON_DEMAND:
        stand_in_until_ready[~has_spot] = 0  # it came before the month

    done_jobs = np.zeros(shape, dtype=np.int64)
    saved = np.zeros(shape, dtype=np.int64)  # minutes of the running job that are safe
    since = np.zeros(shape, dtype=np.int64)  # minutes worked since then
    writing = np.zeros(shape, dtype=np.int64)  # minutes of a checkpoint written so far
    wall = np.zeros(shape, dtype=np.int64)  # minutes since the running job began
    attempts = np.zeros(shape, dtype=np.int64)
    begun = np.zeros(shape, dtype=bool)

    t = dict.fromkeys(("spot", "demand", "lost", "restart", "down", "cut", "late", "failed", "ready"), 0.0)
    unfinished = np.zeros(shape)
    late_after = a.late_factor * job

    for minute in range(LONGEST_MONTHS * month):
        busy = done_jobs < jobs
        if minute >= month and not busy.any():
            break
        # a lost place looks for a node again
        out = (out_until > minute) | (zone_out_until[:, zone] > minute)
        if a.fallback is Fallback.ON_DEMAND:
            need = busy & ~has_spot & (stand_in_until_ready < 0) & out
            stand_in_until_ready[need] = start_minutes
        can = busy & ~has_spot & ~out
        has_spot |= can
        until_ready[can] = start_minutes
        age[can] = 0

        spot_ready = has_spot & (until_ready == 0)
        stand_in_ready = stand_in_until_ready == 0
        ready = spot_ready | stand_in_ready
        works = busy & ready
        if minute < month:
            t["ready"] += float((ready | ~busy).mean())
        t["spot"] += float((busy & has_spot).sum())
        t["demand"] += float((busy & (stand_in_until_ready >= 0) & ~spot_ready).sum())
        t["restart"] += float((busy & has_spot & (until_ready > 0)).sum())
        t["down"] += float((busy & ~ready).sum())

        # a minute of work, or of writing a checkpoint
        begun |= works
        wall[busy & begun] += 1
        left = job - saved - since
        writes = works & (piece > 0) & (since == piece) & (left > 0)
        writing[writes] += 1
        finished_writing = writes & (writing >= write)
        saved[finished_writing] += since[finished_writing]
        since[finished_writing] = 0
        writing[finished_writing] = 0
        since[works & ~writes] += 1
        ends = works & (saved + since >= job)
        t["late"] += float((ends & (attempts > 0) & (wall > late_after)).sum())
        done_jobs[ends] += 1
        for state in (saved, since, writing, wall, attempts):
            state[ends] = 0
        begun[ends] = False

        # time passes for nodes
        until_ready[has_spot & (until_ready > 0)] -= 1
        stand_in_until_ready[stand_in_until_ready > 0] -= 1
        back = spot_ready & (stand_in_until_ready >= 0)
        stand_in_until_ready[back] = -1
        age[has_spot] += 1

        # losses at the end of the minute
        zone_lost = rng.random((runs, zones)) < lose_zone
        taken = rng.random(shape) < lose
        lost = has_spot & (taken | (age >= cap) | zone_lost[:, zone]) & (done_jobs < jobs)
        begins = (
            lost & taken & ~zone_lost[:, zone]
        )  # one that is only too old is had again at once: its end is no stock-out
        out_until = np.where(begins, minute + 1 + _gap_lengths(rng, shape, gap), out_until)
        ends_zone = minute + 1 + _gap_lengths(rng, (runs, zones), gap)
        zone_out_until = np.where(zone_lost, np.maximum(zone_out_until, ends_zone), zone_out_until)
        worked_on_spot = lost & spot_ready & ~back
        t["cut"] += float(lost.sum())
        has_spot &= ~lost
        if a.work is Work.JOBS and not (a.saves_on_notice and a.checkpoint_seconds <= a.window_seconds):
            t["lost"] += float((since[worked_on_spot] + writing[worked_on_spot]).sum())
            since[worked_on_spot] = 0
            writing[worked_on_spot] = 0
        hit = lost & (stand_in_until_ready < 0)  # a job that an on-demand node carries on isn't hit
        attempts[hit] += 1
        if a.retries is not None and a.work is Work.JOBS:
            fails = hit & (attempts > a.retries)
            t["failed"] += float(fails.sum())
            t["lost"] += float((saved[fails] + since[fails]).sum())
            unfinished[fails] += job
            done_jobs[fails] += 1
            for state in (saved, since, writing, wall, attempts):
                state[fails] = 0
            begun[fails] = False

    rest = done_jobs < jobs
    unfinished += np.where(rest, (jobs - done_jobs) * job - saved - since, 0)
    t["late"] += float((jobs - done_jobs)[rest].sum())
    size = runs * places
    hours = size * MINUTES_PER_HOUR
    return Replayed(
        spot_hours=t["spot"] / hours,
        on_demand_hours=t["demand"] / hours,
        lost_hours=t["lost"] / hours,
        restart_hours=t["restart"] / hours,
        down_hours=t["down"] / hours,
        unfinished_hours=float(unfinished.sum()) / hours,
        interruptions=t["cut"] / size,
        late_jobs=t["late"] / size,
        failed_jobs=t["failed"] / size,
        ready_share=t["ready"] / month,
    )


def _gap_lengths(rng: np.random.Generator, shape: tuple[int, int], mean: float) -> NDArray[np.float64]:
    return rng.exponential(mean, shape) if mean else np.zeros(shape)


def _first_ages(rng: np.random.Generator, shape: tuple[int, int], hazard: float, cap: int) -> Minutes:
    """Ages of nodes that a pool running for long has: only a cap makes them matter."""
    if cap >= 10**9:
        return np.zeros(shape, dtype=np.int64)
    minutes = np.arange(cap)
    weight = np.exp(-hazard / MINUTES_PER_HOUR * minutes)
    return rng.choice(minutes, size=shape, p=weight / weight.sum())
