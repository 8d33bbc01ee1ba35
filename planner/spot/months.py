"""The Monte Carlo: many months of a pool's spot nodes, life by life, all nodes of all runs at once.

A lane is one node's place in the pool. It has its month's work to do and does it on one node after another, however long
that takes. Each step of the loop is one life of every lane: how long it lasts, what is kept of its work, how long it
waits for the next node. The lanes of a run share its interruption rate, its bulk losses and its stock-outs: that is what
makes nodes vanish together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf
from typing import Final

import numpy as np

from planner.spot.assumptions import Assumptions, Fallback, Work
from planner.spot.checkpoint import Pattern, pattern_of
from planner.spot.environment import Booleans, BulkLosses, Ints, StockOuts
from planner.spot.interruption import Floats, lives_of

LARGEST_POOL: Final = 16  # lanes per run; nodes of a larger pool are simulated in this many groups that move together
INSTANTS: Final = 8  # moments of each month at which ready nodes are counted
OVERRUN: Final = (
    2.0  # work that isn't done when the last life that began within this many months ends is finished on demand
)
_CHUNK_LANES: Final = 12_000  # lanes worked on at once: their state stays in the processor's cache
_LIVES_BUDGET: Final = (
    4_000_000  # lives simulated in all; beyond its share a lane goes on at the pace it had until then
)
_FEWEST_LIVES, _MOST_LIVES = 64, 512
_SAME: Final = 1e-9  # two moments this close, relative to a piece of work, are one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Months:
    """What happened in each place of each run: float64[run, lane], hours of one node unless said otherwise.

    Lanes are in the order in which nodes become spot: the first k of them are a pool of which k groups are spot.
    `spot_hours` and `on_demand_hours` are pieces of work that were kept, checkpoints included.
    """

    group: float  # nodes each lane stands for
    pattern: Pattern
    spot_hours: Floats
    on_demand_hours: Floats  # on the on-demand nodes that stand in during stock-outs
    on_demand_start_hours: Floats  # starting those
    lost_hours: Floats  # work done on spot and lost
    restart_hours: Floats  # paid for while a spot node and its pod start
    down_hours: Floats  # no ready node in this place
    unfinished_hours: Floats  # pieces of work that failed or weren't done in time: finished on demand
    interruptions: Floats  # count
    late_jobs: Floats  # count
    failed_jobs: Floats  # count
    ready: Booleans  # [run, lane, instant]: the place has a ready node at this moment of the month


@dataclass(slots=True, kw_only=True, eq=False)
class _Lanes:
    """State of the lanes that still have work to do; float64[lane] unless said otherwise. The first ten are tallies."""

    spot_hours: Floats
    on_demand_hours: Floats
    on_demand_start_hours: Floats
    lost_hours: Floats
    restart_hours: Floats
    down_hours: Floats
    unfinished_hours: Floats
    interruptions: Floats
    late_jobs: Floats
    failed_jobs: Floats
    now: Floats
    jobs_left: Floats  # the one being worked on included
    phase: Floats  # hours into that job
    started: Floats  # when it began; NaN: it hasn't
    attempts: Floats  # how often it was interrupted
    is_covered: Booleans  # an on-demand node works until the next spot node is ready
    hazard: Floats
    lane: Ints  # the lane's number in its chunk
    ready: Booleans  # [lane, instant]
    instants: Floats  # [lane, instant], inf behind the last
    instant: Ints  # the first that hasn't been looked at
    moment: Floats  # when that is

    def keep(self, lanes: Booleans) -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name)[lanes])


_TALLIES: Final = tuple(field.name for field in fields(_Lanes))[:10]


def simulate(assumptions: Assumptions) -> Months:
    """`assumptions.runs` months of a pool all of whose nodes are spot; the same seed gives the same months."""
    lanes = min(assumptions.nodes, LARGEST_POOL)
    rng = np.random.Generator(np.random.SFC64(assumptions.seed))
    at_once = max(1, _CHUNK_LANES // lanes)
    most_lives = int(min(_MOST_LIVES, max(_FEWEST_LIVES, _LIVES_BUDGET // (assumptions.runs * lanes))))
    chunks = [
        _Chunk(assumptions, min(at_once, assumptions.runs - first), lanes, rng).run(most_lives)
        for first in range(0, assumptions.runs, at_once)
    ]
    tallies = np.concatenate([tallies for tallies, _ in chunks], axis=1).reshape(len(_TALLIES), -1, lanes)
    return Months(
        group=assumptions.nodes / lanes,
        pattern=pattern_of(assumptions),
        ready=np.concatenate([ready for _, ready in chunks]).reshape(-1, lanes, INSTANTS),
        **dict(zip(_TALLIES, tallies, strict=True)),
    )


def _rates(rng: np.random.Generator, assumptions: Assumptions, runs: int) -> Floats:
    """Each run's interruption rate per VM-hour."""
    low, high = assumptions.hazard_low_per_hour, assumptions.hazard_high_per_hour
    if low == high:
        return np.full(runs, low)
    return rng.triangular(low, assumptions.hazard_likely_per_hour, high, runs)


class _Chunk:
    """Some runs at once: as many as the processor's cache holds."""

    def __init__(self, assumptions: Assumptions, runs: int, lanes: int, rng: np.random.Generator) -> None:
        self.assumptions, self.rng = assumptions, rng
        self.pattern: Pattern = pattern_of(assumptions)
        self.lives = lives_of(assumptions)
        self.limit = assumptions.hours_per_month * OVERRUN
        lane: Ints = np.arange(runs * lanes)
        run_of: Ints = lane // lanes
        zones = assumptions.zones
        self.bulk_losses = BulkLosses(
            rng, runs * zones, assumptions.zone_hazard_per_hour, self.limit, run_of * zones + lane % lanes % zones
        )
        self.stock_outs = StockOuts(rng, runs, assumptions, self.limit, run_of)
        hazard = _rates(rng, assumptions, runs)[run_of]
        never = np.full((runs, 1), inf)
        instants = (np.arange(INSTANTS) + rng.random((runs, 1))) * (assumptions.hours_per_month / INSTANTS)
        self.state = _Lanes(
            **{name: np.zeros(lane.size) for name in _TALLIES},
            now=np.zeros(lane.size),
            jobs_left=np.full(lane.size, float(self.pattern.jobs)),
            phase=np.zeros(lane.size),
            started=np.full(lane.size, np.nan),
            attempts=np.zeros(lane.size),
            is_covered=np.zeros(lane.size, dtype=bool),
            hazard=hazard,
            lane=lane,
            ready=np.zeros((lane.size, INSTANTS), dtype=bool),
            instants=np.concatenate([instants, never], axis=1)[run_of],
            instant=np.zeros(lane.size, dtype=np.int64),
            moment=instants[run_of, 0],
        )
        self.tallies: Floats = np.zeros((len(_TALLIES), lane.size))
        self.ready: Booleans = np.zeros((lane.size, INSTANTS), dtype=bool)

    def run(self, most_lives: int) -> tuple[Floats, Booleans]:
        """All lives, until every lane is done or has had `most_lives`; the tallies and the ready places."""
        self._live(self._first_lives(), np.zeros(self.state.now.size))
        for _ in range(most_lives):
            if (done := self._to_do() <= 0).mean() > 0.5:
                self._retire(done)
            if not self.state.lane.size:
                break
            lives = self.lives.draw(self.rng, self.state.hazard)
            self._live(lives, np.full(lives.size, self.assumptions.restart_hours))
        else:
            self._go_on_at_the_same_pace()
        self._retire(np.ones(self.state.lane.size, dtype=bool))
        return self.tallies, self.ready

    def _first_lives(self) -> Floats:
        """What is left of the nodes that a pool running for long has when the month begins.

        In a stock-out of mean length L (that began L ago on average) a node of mean life M is still there with M/(M+L).
        """
        hazard, mean_out = self.state.hazard, self.stock_outs.mean_hours
        left = self.lives.draw_remaining(self.rng, hazard)
        if mean_out:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                lost_per_hour = hazard if self.lives.table is None else 1 / self.lives.mean(0.0)
                alive = 1 / (1 + mean_out * (lost_per_hour + self.assumptions.zone_hazard_per_hour))
            gone = self.stock_outs.begins_out & (self.rng.random(left.size) >= np.nan_to_num(alive))
            left = np.where(gone, 0.0, left)
        return left

    def _to_do(self) -> Floats:
        """Hours of work left, checkpoints included; 0 for less than rounding errors."""
        to_do = self.state.jobs_left * self.pattern.span_hours - self.state.phase
        return np.where(to_do > _SAME * self.pattern.span_hours, to_do, 0.0)

    def _live(self, life: Floats, restart: Floats) -> None:
        """One life of each lane: restart, work, loss, and the way to the next node."""
        state, to_do = self.state, self._to_do()
        life = np.minimum(life, self.bulk_losses.next_after(state.now) - state.now)
        restart = np.where(to_do > 0, np.minimum(life, restart), 0.0)
        interrupted = life - restart < to_do
        worked = np.where(interrupted, life - restart, to_do)
        begin = state.now + restart
        end = begin + worked
        self._mark_ready(begin, np.where(interrupted, end, inf), np.arange(begin.size))
        self._advance(worked, begin)
        lost = self._lose(worked, interrupted)
        state.spot_hours += worked - lost
        state.lost_hours += lost
        state.restart_hours += restart
        state.down_hours += np.where(state.is_covered, 0.0, restart)
        state.interruptions += interrupted & (life > 0)  # nodes that were gone when the month began were not lost in it
        state.now = end
        self._replace(interrupted)
        self._give_up()

    def _mark_ready(self, begin: Floats, end: Floats, at: Ints) -> None:
        """The lanes `at` have a ready node from `begin` to `end`, and had none since their last ready moment."""
        state = self.state
        while True:
            reached = np.flatnonzero(state.moment[at] < end)
            if not reached.size:
                return
            at, begin, end = at[reached], begin[reached], end[reached]
            state.ready[at, state.instant[at]] = state.moment[at] >= begin
            state.instant[at] += 1
            state.moment[at] = state.instants[at, state.instant[at]]

    def _advance(self, worked: Floats, begin: Floats, at: Ints | slice = slice(None)) -> None:
        """Take the lanes `at` through `worked` hours of their jobs from `begin`; see which interrupted jobs end late."""
        state, span = self.state, self.pattern.span_hours
        phase, attempts = state.phase[at], state.attempts[at]
        ended = np.minimum(np.floor((phase + worked) / span + _SAME), state.jobs_left[at])
        any_ended = ended > 0
        started = np.where(np.isnan(state.started[at]), begin, state.started[at])
        first_end = begin + span - phase
        allowed = max(self.assumptions.late_factor * self.pattern.work_hours, span)
        state.late_jobs[at] += any_ended & (attempts > 0) & (first_end - started > allowed * (1 + _SAME))
        state.started[at] = np.where(any_ended, first_end + (ended - 1) * span, started)
        state.attempts[at] = np.where(any_ended, 0.0, attempts)
        state.jobs_left[at] -= ended
        state.phase[at] = np.maximum(0.0, phase + worked - ended * span)

    def _lose(self, worked: Floats, interrupted: Booleans) -> Floats:
        """Fall back to the last checkpoint; hours of work that are lost by it."""
        state, pattern = self.state, self.pattern
        if pattern.keeps_all:
            lost = np.where(interrupted, np.minimum(worked, pattern.lost_hours), 0.0)
        elif pattern.pieces > 1:
            saved = np.minimum(np.floor(state.phase / pattern.piece_hours + _SAME), pattern.pieces - 1)
            lost = np.where(interrupted, np.maximum(0.0, state.phase - saved * pattern.piece_hours), 0.0)
        else:
            lost = np.where(interrupted, state.phase, 0.0)
        state.phase = state.phase - lost
        state.attempts += interrupted
        if self.assumptions.retries is not None and self.assumptions.work is Work.JOBS:
            self._fail(interrupted & (state.attempts > self.assumptions.retries))
        return lost

    def _fail(self, failed: Booleans) -> None:
        """Jobs out of retries: what was saved of them was in vain, and the whole job is done again on demand."""
        state = self.state
        state.spot_hours -= np.where(failed, state.phase, 0.0)
        state.lost_hours += np.where(failed, state.phase, 0.0)
        state.failed_jobs += failed
        state.unfinished_hours += failed * self.pattern.span_hours
        state.jobs_left -= failed
        state.phase = np.where(failed, 0.0, state.phase)
        state.attempts = np.where(failed, 0.0, state.attempts)
        state.started = np.where(failed, np.nan, state.started)

    def _replace(self, interrupted: Booleans) -> None:
        """Where a node was lost in a stock-out: wait, or let an on-demand node stand in until spot is back."""
        state = self.state
        state.is_covered[:] = False
        if not self.stock_outs.mean_hours:
            return
        wait = np.where(interrupted, self.stock_outs.wait_at(state.now), 0.0)
        at = np.flatnonzero(wait)
        hours = np.minimum(wait[at], np.maximum(0.0, self.limit - state.now[at]))
        if self.assumptions.fallback is Fallback.WAIT:
            state.down_hours[at] += hours
            state.now[at] += hours
            return
        worked = np.minimum(wait[at], self._to_do()[at])
        begin = state.now[at] + self.assumptions.restart_hours
        self._advance(worked, begin, at)
        self._mark_ready(begin, begin + wait[at], at)
        state.on_demand_hours[at] += worked
        state.on_demand_start_hours[at] += self.assumptions.restart_hours
        state.down_hours[at] += self.assumptions.restart_hours
        state.is_covered[at] = True
        state.now[at] += hours

    def _give_up(self) -> None:
        """Past the limit, the rest of the work is finished on demand."""
        state = self.state
        late = (state.now >= self.limit) & (state.jobs_left > 0)
        if late.any():
            state.unfinished_hours += np.where(late, self._to_do(), 0.0)
            state.late_jobs += np.where(late, state.jobs_left, 0.0)
            state.jobs_left = np.where(late, 0.0, state.jobs_left)
            state.phase = np.where(late, 0.0, state.phase)

    def _go_on_at_the_same_pace(self) -> None:
        """After very many lives, the rest of the month goes as it went so far (the law of large numbers)."""
        state, to_do = self.state, self._to_do()
        now = np.maximum(state.now, 1e-12)
        finished = self.pattern.jobs * self.pattern.span_hours - to_do
        with np.errstate(divide="ignore"):
            more = np.where(to_do > 0, np.minimum(to_do / np.maximum(finished, 1e-300), self.limit / now - 1), 0.0)
        more = np.maximum(0.0, more)
        rest = np.maximum(0.0, to_do - finished * more)
        up = self.rng.random(state.ready.shape) < np.clip(1 - state.down_hours / now, 0, 1)[:, None]
        state.ready |= (to_do > 0)[:, None] & (state.instants[:, :INSTANTS] > now[:, None]) & up
        for name in _TALLIES:
            setattr(state, name, getattr(state, name) * (1 + more))
        state.unfinished_hours += rest
        state.late_jobs += rest / self.pattern.span_hours

    def _retire(self, done: Booleans) -> None:
        """Write down what the lanes that are done came to, and go on without them."""
        state = self.state
        self.tallies[:, state.lane[done]] = np.stack([getattr(state, name)[done] for name in _TALLIES])
        self.ready[state.lane[done]] = state.ready[done]
        state.keep(~done)
        self.bulk_losses.keep(~done)
        self.stock_outs.keep(~done)
