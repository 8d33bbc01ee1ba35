"""Monte Carlo simulation of many months of a pool's spot nodes, all nodes of all runs at once.

A lane is one node's place in the pool. It has its month's work to do and does it on one node after another, however long
that takes. Each step of the loop is one life of every lane and the gap that its loss begins: how long it lasts, what is
kept of its work, how long no other node is available. The lanes of a run share its interruption rate, those of a zone
its bulk losses with their gaps: that is what makes nodes vanish together. Where nodes of a zone only come and go
together, and where pods only work together (a gang), they are one lane.
"""

from __future__ import annotations

from dataclasses import fields
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record, dataclass
from planner.ground.work_budget import current
from planner.spot.assumptions import Assumptions, Fallback, Work
from planner.spot.checkpoint import Pattern, pattern_of
from planner.spot.interruption import Floats, gaps_of, lives_of
from planner.spot.zone_wide_losses import Booleans, BulkLosses, Ints, most_losses

LARGEST_POOL: Final = 16  # lanes per run; nodes of a larger pool are simulated in this many groups that move together
INSTANTS: Final = 8  # moments of each month at which ready nodes are counted
OVERRUN: Final = (
    2.0  # work that isn't done when the last life that began within this many months ends is finished on demand
)
_CHUNK_LANES: Final = 12_000  # lanes worked on at once: their state stays in the processor's cache
_CHUNK_LOSSES: Final = 8_000_000  # of whole zones, drawn at once: some 400 MB
_LIVES_BUDGET: Final = (
    24_000_000  # lives simulated in all; beyond its share a lane goes on at the pace it had until then
)
_FEWEST_LIVES, _MOST_LIVES = 64, 512
_LIVES_A_UNIT: Final = 4
"""Of work (`planner.ground.work_budget`), as measured; `_loss_units` has that of losses of whole zones."""
_SAME: Final = 1e-9  # two moments this close, relative to a piece of work, are one


class Months(Record, eq=False):
    """What happened in each place of each run: float64[run, lane], hours of one node unless said otherwise.

    Lanes are in the order in which nodes become spot: the first k of them are a pool of which k groups are spot.
    `spot_hours` and `on_demand_hours` are pieces of work that were kept, checkpoints included.
    """

    group: float  # nodes each lane stands for
    pattern: Pattern
    spot_hours: Floats
    on_demand_hours: Floats  # on the on-demand nodes that stand in during gaps
    on_demand_start_hours: Floats  # starting those
    lost_hours: Floats  # work done on spot and lost
    restart_hours: Floats  # paid for while a spot node and its pod start, or a gang's other nodes wait
    down_hours: Floats  # no ready node in this place
    unfinished_hours: Floats  # pieces of work that failed or weren't done in time: finished on demand
    interruptions: Floats  # count
    late_jobs: Floats  # count
    failed_jobs: Floats  # count
    ready: Booleans  # [run, lane, instant]: the place has a ready node at this moment of the month
    price_factor: Floats  # float64[run]: the spot price of the month over the price that is known
    shift_usd: Floats | float = 0.0  # a spot node's: what moves the months' mean to the expectation that is worked out


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
    life_pace: Floats  # of the month: lives and gaps are so many times as long as those that are known
    gap_pace: Floats
    lane: Ints  # the lane's number in its chunk
    ready: Booleans  # [lane, instant]
    instants: Floats  # [lane, instant], inf behind the last
    instant: Ints  # the first that hasn't been looked at
    moment: Floats  # when that is

    def keep(self, lanes: NDArray[np.intp]) -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name).take(lanes, axis=0))


_TALLIES: Final = tuple(field.name for field in fields(_Lanes))[:10]


def simulate(assumptions: Assumptions) -> Months:
    """`assumptions.runs` months of a pool of spot nodes only; the same seed gives the same months.

    Raises
    ------
    TooLargeError
        When they cost more work than a question may.
    """
    places = assumptions.zones if assumptions.goes_together else LARGEST_POOL
    lanes = 1 if assumptions.works_as_gang else max(1, min(assumptions.nodes, places))
    rng = np.random.Generator(np.random.SFC64(assumptions.seed))
    at_once = max(
        1, min(_CHUNK_LANES // lanes, _CHUNK_LOSSES // max(1, _zone_rows(assumptions) * _losses_a_row(assumptions)))
    )
    current().foresee(_loss_units(assumptions, assumptions.runs, lanes))
    paces = _paces(assumptions)
    most_lives = int(min(_MOST_LIVES, max(_FEWEST_LIVES, _LIVES_BUDGET // (assumptions.runs * lanes))))
    chunks = [
        _Chunk(assumptions, min(at_once, assumptions.runs - first), lanes, rng, paces[:, first : first + at_once]).run(
            most_lives
        )
        for first in range(0, assumptions.runs, at_once)
    ]
    tallies = np.concatenate([tallies for tallies, _ in chunks], axis=1).reshape(len(_TALLIES), -1, lanes)
    return Months(
        group=assumptions.nodes / lanes,
        pattern=pattern_of(assumptions),
        ready=np.concatenate([ready for _, ready in chunks]).reshape(-1, lanes, INSTANTS),
        price_factor=_price_factors(assumptions),
        **dict(zip(_TALLIES, tallies, strict=True)),
    )


def _bulk_rate(assumptions: Assumptions) -> float:
    """Losses of a whole zone an hour, as a lane feels them: a gang stops with any of its zones."""
    return assumptions.zone_hazard_per_hour * (assumptions.zones if assumptions.works_as_gang else 1)


def _zone_rows(assumptions: Assumptions) -> int:
    """Of a run, in which losses of whole zones are drawn."""
    return 1 if assumptions.works_as_gang else assumptions.zones


def _losses_a_row(assumptions: Assumptions) -> int:
    return most_losses(_bulk_rate(assumptions), assumptions.hours_per_month * OVERRUN)


def _loss_units(assumptions: Assumptions, runs: int, lanes: int) -> int:
    """Of work: drawing the losses of whole zones, and every lane's going past those of its own."""
    return runs * _losses_a_row(assumptions) * (2 * _zone_rows(assumptions) + lanes) // 40


def _price_factors(assumptions: Assumptions) -> Floats:
    """Each month's spot price over the known one: a move drawn from those that were seen."""
    if not assumptions.price_moves:
        return np.ones(assumptions.runs)
    rng = np.random.Generator(np.random.SFC64((assumptions.seed, 1)))
    every = np.resize(
        rng.permutation(np.array(assumptions.price_moves)), assumptions.runs
    )  # each as often as the others
    return 1.0 + rng.permutation(every)


def _paces(assumptions: Assumptions) -> Floats:
    """float64[2, run]: how much longer each month's lives and gaps are than those that were observed, log-normal; 1 where
    none were. What is lost in common is what is common to a month.

    Losses a month (1 / life) and gaps keep their means: exp(N(0, σ)) has the mean exp(σ²/2), with which gaps of σ 1.17 came out 1.98
    times too long.
    """
    drifts = (assumptions.life_drift if assumptions.lives else 0.0, assumptions.gap_drift if assumptions.gaps else 0.0)
    rng = np.random.Generator(np.random.SFC64((assumptions.seed, 2)))
    spread = np.array(drifts)[:, None]
    paces: Floats = np.exp(rng.standard_normal((2, assumptions.runs)) * spread + np.array([[0.5], [-0.5]]) * spread**2)
    return paces


def _rates(rng: np.random.Generator, assumptions: Assumptions, runs: int) -> Floats:
    """Each run's interruption rate per VM-hour."""
    low, high = assumptions.hazard_low_per_hour, assumptions.hazard_high_per_hour
    if low == high:
        return np.full(runs, low)
    return rng.triangular(low, assumptions.hazard_likely_per_hour, high, runs)


def moving_apart(assumptions: Assumptions) -> int:
    """Of the pool's nodes, those that are lost one by one: all, or the zones where a zone's nodes go together."""
    return max(1, min(assumptions.nodes, assumptions.zones) if assumptions.goes_together else assumptions.nodes)


class _Chunk:
    """Some runs at once: as many as the processor's cache holds."""

    def __init__(
        self, assumptions: Assumptions, runs: int, lanes: int, rng: np.random.Generator, paces: Floats
    ) -> None:
        current().spend(_loss_units(assumptions, runs, lanes))
        self.assumptions, self.rng = assumptions, rng
        self.pattern: Pattern = pattern_of(assumptions)
        self.lives = lives_of(assumptions)
        self.limit = assumptions.hours_per_month * OVERRUN
        lane: Ints = np.arange(runs * lanes)
        run_of: Ints = lane // lanes
        self.gaps = gaps_of(assumptions)
        is_gang = assumptions.works_as_gang
        # nodes that a lane feels the loss of: a gang is one lane that stops with any of its nodes
        alone, zones = moving_apart(assumptions) if is_gang else 1, _zone_rows(assumptions)
        self.share_lost, self.bulk_share_lost = (1 / alone, 1 / assumptions.zones) if is_gang else (1.0, 1.0)
        bulk_rate = _bulk_rate(assumptions)
        zone_of = run_of * zones + lane % lanes % zones
        life_pace, gap_pace = paces
        self.bulk_losses = BulkLosses(
            rng, runs * zones, bulk_rate, self.limit, zone_of, self.gaps, np.repeat(gap_pace, zones)
        )
        self.bulk_rate = bulk_rate
        hazard = _rates(rng, assumptions, runs)[run_of] * alone
        never = np.full((runs, 1), inf)
        instants = (np.arange(INSTANTS) + rng.random((runs, 1))) * (assumptions.hours_per_month / INSTANTS)
        self.state = _Lanes(
            **{name: np.zeros(lane.size) for name in (*_TALLIES, "now", "phase", "attempts")},
            jobs_left=np.full(lane.size, float(self.pattern.jobs)),
            started=np.full(lane.size, np.nan),
            is_covered=np.zeros(lane.size, dtype=bool),
            hazard=hazard,
            life_pace=life_pace[run_of],
            gap_pace=gap_pace[run_of],
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
        life, gap = self._first_lives()
        self._live(life, 0.0, gap, self._to_do(), is_first=True)
        for _ in range(most_lives):
            to_do = self._to_do()
            if (done := to_do <= 0).mean() > 0.5:
                self._retire(done)
                to_do = to_do[~done]
            if not self.state.lane.size:
                break
            cap, drawn = self.lives.cap_hours, self.lives.draw(self.rng, self.state.hazard)
            lives = np.minimum(drawn * self.state.life_pace, cap)
            # what ends because a node may live no longer isn't lost: the next is available at once
            gaps = np.where(lives < cap, self.gaps.draw(self.rng, lives.size) * self.state.gap_pace, 0.0)
            self._live(lives, self.assumptions.restart_hours, gaps, to_do)
        else:
            self._go_on_at_the_same_pace()
        self._retire(np.ones(self.state.lane.size, dtype=bool))
        return self.tallies, self.ready

    def _first_lives(self) -> tuple[Floats, Floats]:
        """What is left of the nodes that a pool running for long has when the month begins, and of the gaps in it.

        A place of mean life M and mean gap G has a node with M / (M + G).
        """
        hazard, gaps = self.state.hazard, self.gaps
        pace, gap_pace = self.state.life_pace, self.state.gap_pace
        hours_left = np.minimum(self.lives.draw_remaining(self.rng, hazard) * pace, self.lives.cap_hours)
        gap = gaps.draw(self.rng, hours_left.size) * gap_pace
        if not gaps.mean_hours:
            return hours_left, gap
        life = np.minimum(self.lives.means(hazard, self.bulk_rate) * pace, self.lives.cap_hours)
        lost = self.lives.lost_share(hazard, self.bulk_rate)
        if np.isfinite(
            self.lives.cap_hours
        ):  # of lives met at a random moment, those are met more often that reach their limit
            lost = 1 - np.clip((1 - lost) * self.lives.cap_hours / life, 0.0, 1.0)
            gap = np.where(self.rng.random(hours_left.size) < lost, gap, 0.0)
            lost = self.lives.lost_share(hazard, self.bulk_rate)
        after = gaps.mean_hours * gap_pace * lost if gaps.mean_hours < inf else np.where(lost > 0, inf, 0.0)
        up = np.where(np.isfinite(after), life / (life + np.where(np.isfinite(after), after, 0.0)), 0.0)
        is_absent = self.rng.random(hours_left.size) >= up
        return np.where(is_absent, 0.0, hours_left), np.where(
            is_absent, gaps.draw_remaining(self.rng, hours_left.size) * gap_pace, gap
        )

    def _to_do(self) -> Floats:
        """Hours of work left, checkpoints included; 0 for less than rounding errors."""
        to_do = self.state.jobs_left * self.pattern.span_hours - self.state.phase
        return np.where(to_do > _SAME * self.pattern.span_hours, to_do, 0.0)

    def _live(self, life: Floats, begins: float, gap: Floats, to_do: Floats, *, is_first: bool = False) -> None:
        """One life of each lane: a restart that takes `begins` hours, work, loss, and the gap until the next node."""
        current().spend(life.size // _LIVES_A_UNIT)
        state = self.state
        is_bulk: Booleans | None = None
        if self.bulk_losses.are_any:
            until_bulk = self.bulk_losses.next_after(state.now) - state.now
            is_bulk = until_bulk < life
            life, gap = np.minimum(life, until_bulk), np.where(is_bulk, 0.0, gap)
        restart = np.where(to_do > 0, np.minimum(life, begins), 0.0)
        worked = np.minimum(work_hours := life - restart, to_do)
        interrupted = work_hours < to_do
        begin = state.now + restart
        end = begin + worked
        self._mark_ready(begin, np.where(interrupted, end, inf), np.arange(begin.size))
        self._advance(worked, begin)
        # the stand-in goes on where the node that was to take over is lost before it is ready
        goes_on = state.is_covered & interrupted & (worked == 0)
        lost = self._lose(worked, interrupted & ~goes_on & (life > 0))
        state.spot_hours += worked - lost
        state.lost_hours += lost
        state.restart_hours += restart
        state.down_hours += np.where(state.is_covered, 0.0, restart)
        state.interruptions += interrupted & (life > 0)  # nodes that were gone when the month began were not lost in it
        state.now = end
        if self.gaps.mean_hours:
            standing = goes_on | (life <= 0) if is_first else goes_on
            self._replace(interrupted, gap, is_bulk, standing, np.where(goes_on, restart, 0.0))
        self._give_up()

    def _mark_ready(self, begin: Floats, end: Floats, at: Ints) -> None:
        """The lanes `at` have a ready node from `begin` to `end`, and had none since their last ready moment."""
        state = self.state
        if at.size == state.moment.size:
            at = np.flatnonzero(state.moment < end)
            begin, end = begin[at], end[at]
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

    def _replace(
        self, interrupted: Booleans, gap: Floats, is_bulk: Booleans | None, standing: Booleans, longer: Floats
    ) -> None:
        """No node is available in a gap: wait, or let an on-demand node stand in until spot is back.

        `standing`: a stand-in is there already, and works for `longer` hours beside the gap.
        """
        state, restart = self.state, self.assumptions.restart_hours
        state.is_covered[:] = False
        wait = np.where(interrupted, gap, 0.0)
        if is_bulk is not None:  # another loss of the whole zone may keep nodes away for longer
            over = self.bulk_losses.over_after(np.minimum(state.now + wait, self.limit))
            wait = np.where(interrupted, np.maximum(wait, over - state.now), 0.0)
        hours = np.minimum(wait, np.maximum(0.0, self.limit - state.now))
        lost: Floats | float = self.share_lost
        if is_bulk is not None and self.bulk_share_lost != lost:
            lost = np.where(is_bulk, self.bulk_share_lost, lost)
        if self.assumptions.fallback is Fallback.WAIT:
            state.down_hours += hours
            state.restart_hours += hours * (1 - lost)
            state.now += hours
            return
        is_out = wait > 0
        start = np.where(is_out & ~standing, restart, 0.0)
        worked = np.minimum(wait + longer, self._to_do())
        begin = state.now + np.where(longer > 0, restart - longer, start)
        self._advance(worked, begin)
        self._mark_ready(begin, begin + wait + longer, np.arange(wait.size))
        state.on_demand_hours += worked * lost
        state.spot_hours += worked * (1 - lost)
        state.on_demand_start_hours += start * lost
        state.restart_hours += start * (1 - lost)
        state.down_hours += start
        state.is_covered[:] = is_out
        state.now += hours

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
        unfinished_work = np.maximum(0.0, to_do - finished * more)
        up = self.rng.random(state.ready.shape) < np.clip(1 - state.down_hours / now, 0, 1)[:, None]
        state.ready |= (to_do > 0)[:, None] & (state.instants[:, :INSTANTS] > now[:, None]) & up
        for name in _TALLIES:
            setattr(state, name, getattr(state, name) * (1 + more))
        state.unfinished_hours += unfinished_work
        state.late_jobs += unfinished_work / self.pattern.span_hours

    def _retire(self, done: Booleans) -> None:
        """Write down what the lanes that are done came to, and go on without them."""
        state, ended, running_months = self.state, np.flatnonzero(done), np.flatnonzero(~done)
        lane = state.lane[ended]
        for tally, name in zip(self.tallies, _TALLIES, strict=True):
            tally[lane] = getattr(state, name).take(ended)
        self.ready[lane] = state.ready.take(ended, axis=0)
        state.keep(running_months)
        self.bulk_losses.keep(running_months)
