"""How long a rollout takes, as a band: simulated many times with durations of starts, terminations, image pulls and new
nodes drawn from past ones.

The engine's steps wait for the slowest of their pods. Controllers don't: they make the next pod as soon as one is available or gone. So a
course is read from the timeline as a chain (which start or deletion waits for how many others), and played with drawn times.

Each of the four is learned from what was seen of it (`planner.inventory.past_durations`), a group a rollout. Their logarithms are taken to
scatter around the rollout's mean. Each draw has a mean and a variance of its own, as few pods tell them (Student's t and chi-squared:
Gelman, *Bayesian Data Analysis*, 3.2), and between the pods that were seen and that normal distribution it mixes (a Dirichlet process:
Ferguson 1973). Of what wasn't seen often enough the one number stands that is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from statistics import mean, variance
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.ground.percentiles import percentiles
from planner.ground.records import Record, replace
from planner.ground.words import Text, count, duration, duration_between, listing
from planner.inventory.past_durations import (
    PastDuration,
    PastDurations,
    RolloutActivity,
    longest_terminations,
    past_durations,
)
from planner.kubernetes.object_records import Workload
from planner.kubernetes.pod_properties import LONGEST_START_SECONDS
from planner.rollout.answers import NODES_ON_THEIR_WAY, DurationBand, PodState, TimelineRow, WorkloadRollout
from planner.rollout.doubt_rules import nodes_for
from planner.rollout.image_pulls import lacking_share
from planner.rollout.simulation_limits import LIMITS
from planner.scheduling.cluster import Cluster, once_a_cluster

Seconds = NDArray[np.float64]
"""A value a draw."""

_PAUSE_SECONDS: Final = 600.0  # after so long without a start the next pod is another rollout's
_TICK: Final = 0.5  # timestamps are whole seconds
_FEWEST_FREEDOM: Final = 2  # degrees of freedom below which a variance isn't known
_SHARED_FREEDOM: Final = 4  # as which the scatter of the cluster's other workloads counts
_FEWEST_ROLLOUTS: Final = 3  # with which one rollout's mean is told from another's
_DIFFERENT: Final = 1.5  # times what pods of one rollout explain: means that differ more are of rollouts that differ
_NORMAL: Final = 5.0  # pods as which the normal distribution counts beside those seen


class KnownDurations(Record):
    """What is known of how long one activity takes a workload's pods, or a pool's nodes.

    Attributes
    ----------
    rollouts : logarithms of the seconds that it took, a tuple a rollout; of nodes one tuple, with a number for all that came together
    scatter, freedom : variance of such a logarithm around its rollout's mean, over all workloads of the cluster, and its degrees of freedom
    """

    rollouts: tuple[tuple[float, ...], ...]
    scatter: float
    freedom: int

    @property
    def number(self) -> int:
        return sum(map(len, self.rollouts))


def _groups(activity: RolloutActivity, seen: Iterable[PastDuration]) -> tuple[tuple[float, ...], ...]:
    """Logarithms of their seconds; pods that came one after another are of one rollout."""
    groups: list[list[PastDuration]] = []
    until = -inf  # when the last of the latest group was over
    for past in sorted(seen, key=lambda past: (past.created_at, past.ended_at, past.name)):
        if activity is RolloutActivity.PULL and not past.seconds:
            continue  # the images were there
        if past.created_at - until > _PAUSE_SECONDS:
            groups.append([])
            until = past.ended_at
        groups[-1].append(past)
        until = max(until, past.ended_at)
    logarithms = [[float(np.log(past.seconds + _TICK)) for past in some] for some in groups]
    if activity is RolloutActivity.ARRIVAL:  # the engine waits for all nodes that come together
        logarithms = [[max(some) for some in logarithms]] if logarithms else []
    return tuple(map(tuple, logarithms))


@once_a_cluster
def _scatter(cluster: Cluster, activity: RolloutActivity) -> tuple[float, int]:
    """Variance around each rollout's mean over all workloads, and its degrees of freedom."""
    every = past_durations(cluster.snapshot)[activity].values()
    groups = [group for seen in every for group in _groups(activity, seen) if len(group) > 1]
    freedom = sum(len(group) - 1 for group in groups)
    return (sum(variance(group) * (len(group) - 1) for group in groups) / freedom if freedom else 0.0), freedom


def _is_sound(past: PastDuration) -> bool:
    """Whether it may have been so: no longer than a start may be, nor than from its first moment to its last, which are whole seconds."""
    return 0 <= past.seconds < LONGEST_START_SECONDS and past.seconds <= past.ended_at - past.created_at + 1


def _once(every: Iterable[PastDuration]) -> Iterator[PastDuration]:
    """Each once: rows of one name that overlap are of one pod or node, as several snapshots told of it. The earliest end counts, as it got
    Ready or took a pod first, and of these the latest beginning: an event tells it, from which on others are inferred."""
    chosen: PastDuration | None = None
    until = -inf
    for past in sorted(every, key=lambda past: (past.name, past.created_at, past.ended_at)):
        is_new = chosen is None or past.name != chosen.name or past.created_at > until
        if chosen is not None and is_new:
            yield chosen
        if chosen is None or is_new or (past.ended_at, -past.created_at) < (chosen.ended_at, -chosen.created_at):
            chosen = past
        until = past.ended_at if is_new else max(until, past.ended_at)
    if chosen is not None:
        yield chosen


def _seen(cluster: Cluster, activity: RolloutActivity, about: str, earlier: PastDurations) -> list[PastDuration]:
    """In the snapshot and before, the latest last."""
    every = [*past_durations(cluster.snapshot)[activity].get(about, ()), *earlier.get(activity, {}).get(about, ())]
    longest = longest_terminations(cluster.snapshot).get(about, inf) if activity is RolloutActivity.END else inf
    once = _once(past for past in every if _is_sound(past) and past.seconds <= longest)
    return sorted(once, key=lambda past: past.ended_at)[-LIMITS.pods_of_a_course :]


def _known(cluster: Cluster, activity: RolloutActivity, seen: Iterable[PastDuration]) -> KnownDurations | None:
    """None where too few tell how far they scatter."""
    scatter, freedom = _scatter(cluster, activity)
    known = KnownDurations(rollouts=_groups(activity, seen), scatter=scatter, freedom=min(freedom, _SHARED_FREEDOM))
    own = known.number - len(known.rollouts)
    return known if known.number and own + known.freedom >= _FEWEST_FREEDOM else None


class _StartUps(NamedTuple):
    """How long pods start, and apart from it how long they pull images, where that is known: such a share of them does."""

    start: KnownDurations
    pull: KnownDurations | None = None
    pulling_share: float = 0.0
    are_pulls_assumed: bool = False


def _start_ups(cluster: Cluster, after: Workload, key: str, earlier: PastDurations) -> _StartUps | None:
    """What was seen of them has the pulls of then. They are taken off and drawn apart where another share of the new pods pulls."""
    seen = _seen(cluster, RolloutActivity.START, key, earlier)
    whole = _known(cluster, RolloutActivity.START, seen)
    if whole is None:
        return None
    share = lacking_share(cluster, after.template.spec, nodes_for(cluster, after))
    pulls = _seen(cluster, RolloutActivity.PULL, key, earlier)
    seconds = {(past.name, past.created_at): past.seconds for past in pulls}
    known = [past for past in seen if (past.name, past.created_at) in seconds]
    pulled_share = sum(bool(past.seconds) for past in pulls) / len(pulls) if pulls else None
    if share is None or share == pulled_share:
        return _StartUps(whole)
    # Snapshots round differently, and a store's rows are another's: a pull that is longer than its start-up leaves nothing.
    bare = [replace(past, seconds=max(0.0, past.seconds - seconds[past.name, past.created_at])) for past in known]
    start, pull = _known(cluster, RolloutActivity.START, bare), _known(cluster, RolloutActivity.PULL, pulls)
    if start is None or (share and pull is None):
        return _StartUps(whole, are_pulls_assumed=share > 0 or pulled_share is None)
    return _StartUps(start, pull, share)


# ── draws ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def draw_durations(known: KnownDurations, draws: int, number_of_each: int, chance: np.random.Generator) -> Seconds:
    """Seconds of so many pods in so many rollouts, a row a rollout."""
    groups, number = known.rollouts, known.number
    means = [mean(group) for group in groups]
    offsets = np.array([seconds - centre for group, centre in zip(groups, means, strict=True) for seconds in group])
    own = number - len(groups)
    within = float(offsets @ offsets) / own if own else known.scatter
    if own:  # of a group of few the offsets are too small
        offsets = offsets * np.sqrt(number / own)
    freedom = own + known.freedom
    shared = known.scatter if known.freedom else 0.0
    spread = np.sqrt((own * within + known.freedom * shared) / chance.chisquare(freedom, draws))
    centre, wander = _centres(known, means, within, draws, chance)
    centre = centre + wander + chance.normal(size=draws) * spread / np.sqrt(number)
    weights = chance.dirichlet([*np.ones(number), _NORMAL], draws)
    row = np.arange(draws)[:, None]  # each draw has its stretch of one rising line
    ends = np.cumsum(weights, axis=1)[:, :-1] + row
    chosen = np.searchsorted(
        np.append(ends, row + 1.0, axis=1).ravel(), chance.random((draws, number_of_each)) + row, side="right"
    )
    chosen = np.minimum(chosen - row * (number + 1), number)
    normal = chance.normal(size=(draws, number_of_each)) * spread[:, None]
    width = 0.9 * number**-0.2  # Silverman's, of the standard deviation
    scale = spread / np.sqrt(within) if within > 0 else np.zeros(draws)
    seen = np.append(offsets, 0.0)[chosen] * scale[:, None]
    smooth = (seen + width * normal) / np.sqrt(1 + width**2)
    drawn = np.where(chosen < number, smooth, normal)
    return np.asarray(np.maximum(np.exp(centre[:, None] + drawn) - _TICK, 0.0))


def _centres(
    known: KnownDurations, means: Sequence[float], within: float, draws: int, chance: np.random.Generator
) -> tuple[Seconds, Seconds]:
    """The mean of all rollouts, and how far the next one's is from it, where several tell that they differ."""
    groups, number = known.rollouts, len(means)
    every = mean(seconds for group in groups for seconds in group)
    if number < _FEWEST_ROLLOUTS:
        return np.full(draws, every), np.zeros(draws)
    between = max(0.0, variance(means) - _DIFFERENT * within * mean(1 / len(group) for group in groups))
    centre = mean(means) if between else every
    return np.full(draws, centre), chance.standard_t(number - 1, draws) * np.sqrt(between * (1 + 1 / number))


# ── the chain ────────────────────────────────────────────────────────────────────────────────────────────────────────
class _Batch(NamedTuple):
    """Starts and deletions that begin at one moment, and after how many others of a kind each does (`waits_for`: "starts", "ends", or
    "all" with so many seconds more, until nodes come where `awaits_nodes`)."""

    starts: int
    starts_wait_for: str
    ends: int
    ends_wait_for: str
    pause: float
    awaits_nodes: bool


def _batches(rows: Sequence[TimelineRow], min_ready_seconds: float) -> Iterator[_Batch]:
    """What begins at each moment. New pods that wait for room begin as others end, all else as new pods are available."""
    # Of very many pods so many count as one: a time is drawn for each start and end in every draw.
    many = max(1, -(-max(sum(row.counts.values()) for row in rows) // LIMITS.pods_of_a_course))
    made = [-(-(row.counts[PodState.NEW_READY] + row.counts[PodState.NEW_STARTING]) // many) for row in rows]
    old = [row.counts[PodState.OLD_READY] + row.counts[PodState.OLD_NOT_READY] for row in rows]
    old_ended = [-(-(old[0] - left) // many) for left in old]
    for place, (before, row) in enumerate(pairwise(rows), 1):
        starts, ends = max(0, made[place] - made[place - 1]), max(0, old_ended[place] - old_ended[place - 1])
        is_starting = before.counts[PodState.NEW_STARTING] > 0
        is_ending = before.counts[PodState.TERMINATING] > 0
        is_available = is_starting or bool(min_ready_seconds and before.counts[PodState.NEW_READY])
        awaits_nodes = NODES_ON_THEIR_WAY in before.event
        if before.tick < 0:
            waits = ("", "")
        elif awaits_nodes:
            waits = ("all", "all")
        elif is_ending and (before.counts[PodState.PENDING] or not is_available):
            waits = ("ends", "starts" if is_available else "ends")
        else:
            waits = ("starts", "starts") if is_available else ("all", "all")
        yield _Batch(starts, waits[0], ends, waits[1], row.seconds - before.seconds, awaits_nodes)


class _Course:
    """Activities of one kind in all draws: when each is over, and the number-th of those that are."""

    def __init__(self, draws: int) -> None:
        self._going = np.empty((draws, 8))
        self._size = 0
        self._rows = np.arange(draws)
        self.over: list[Seconds] = []  # in their order
        self.batch = 0  # how many began together last
        self.begun = 0
        self.latest = np.zeros(draws)

    def begin(self, until: Seconds) -> None:
        if self._size == self._going.shape[1]:
            self._going = np.concatenate([self._going, np.empty_like(self._going)], axis=1)
        self._going[:, self._size] = until
        self._size += 1
        self.latest = np.maximum(self.latest, until)

    def after(self, number: int) -> Seconds:
        """When so many are over; when all are, where there are fewer."""
        while len(self.over) < number and self._size:
            going = self._going[:, : self._size]
            first = going.argmin(axis=1)
            self.over.append(going[self._rows, first])
            going[self._rows, first] = going[:, -1]
            self._size -= 1
        return self.over[min(number, len(self.over)) - 1] if self.over else np.zeros(len(self._rows))

    def needed(self, place: int, batch: int) -> int:
        """After how many of its own the place-th of a batch begins that waits for the last one."""
        share = 1 if batch <= self.batch else self.batch / batch
        return self.begun - self.batch + int(np.ceil((place + 1) * share))


class _Drawn(NamedTuple):
    """Seconds of each start-up, termination and wait for nodes, a row a draw."""

    starts: Seconds
    ends: Seconds
    arrivals: Seconds


def _play(batches: Sequence[_Batch], drawn: _Drawn, min_ready_seconds: float) -> tuple[Seconds, Seconds]:
    """How long it takes, and the longest time in which no new pod gets available, in each draw."""
    starts, ends = drawn.starts, drawn.ends
    draws = len(starts)
    kinds = {"starts": _Course(draws), "ends": _Course(draws)}
    now = np.zeros(draws)

    def begins(place: int, batch: int, waits_for: str) -> Seconds:
        course = kinds.get(waits_for)
        return now if course is None else course.after(course.needed(place, batch))

    number = ended_pods = waves = 0
    for batch in batches:
        # A barrier: nothing begins before all of the earlier batches is over, nodes on their way included.
        if "all" in (batch.starts_wait_for, batch.ends_wait_for):
            now = np.maximum(np.maximum(kinds["starts"].latest, kinds["ends"].latest), now)
            now = now + (drawn.arrivals[:, waves] if batch.awaits_nodes else batch.pause)
            waves += batch.awaits_nodes
        for place in range(max(batch.starts, batch.ends)):
            begun = begins(place, batch.starts, batch.starts_wait_for) if place < batch.starts else now
            ended = begins(place, batch.ends, batch.ends_wait_for) if place < batch.ends else now
            if place < batch.starts:
                kinds["starts"].begin(begun + starts[:, number] + min_ready_seconds)
                number += 1
            if place < batch.ends:
                kinds["ends"].begin(ended + ends[:, ended_pods])
                ended_pods += 1
        for name, some in (("starts", batch.starts), ("ends", batch.ends)):
            if some:
                kinds[name].batch, kinds[name].begun = some, kinds[name].begun + some
    course = kinds["starts"] if number else kinds["ends"]
    course.after(course.begun)
    times = np.stack([np.zeros(draws), *course.over], axis=1) if course.over else np.zeros((draws, 2))
    return np.maximum(course.latest, now), np.diff(times, axis=1).max(axis=1)


_SHARES: Final = tuple(range(5, 100, 5))


class ComingNodes(Record):
    """Nodes for which a rollout waits: their pools, and whether the time until they come was given."""

    pools: tuple[str, ...] = ()
    is_given: bool = False


NO_NODES: Final = ComingNodes()


class _Draws:
    """What is drawn of one workload's rollout: with each the words of what it is learnt from, or of the one number that is assumed."""

    def __init__(self, cluster: Cluster, earlier: PastDurations) -> None:
        self._cluster, self._earlier = cluster, earlier
        # Seeded by a constant: the same question has the same band.
        self._chance: Any = np.random.default_rng(LIMITS.duration_draws)
        self.learnt: list[str] = []
        self.assumed: dict[RolloutActivity, str] = {}
        self.numbers: dict[RolloutActivity, int] = {}  # how many each is learned from

    def draw(self, known: KnownDurations, number: int) -> Seconds:
        return draw_durations(known, LIMITS.duration_draws, number, self._chance)

    def starts(self, start_ups: _StartUps, number: int) -> Seconds:
        known, pull = start_ups.start, start_ups.pull
        words = f"start-ups of {count(known.number, 'pod')}"
        if len(known.rollouts) > 1:
            words += f" in {count(len(known.rollouts), 'rollout')}"
        self.learnt.append(words)
        starts = self.draw(known, number)
        if pull is not None and start_ups.pulling_share:
            self._note(RolloutActivity.PULL, pull.number, f"image pulls of {pull.number}")
            is_pulling = self._chance.random(starts.shape) < start_ups.pulling_share
            starts = starts + np.where(is_pulling, self.draw(pull, number), 0.0)
        elif start_ups.are_pulls_assumed:
            self.assumed[RolloutActivity.PULL] = "image pulls as among these"
        return starts

    def ends(self, part: WorkloadRollout, number: int) -> Seconds:
        known = _known(
            self._cluster, RolloutActivity.END, _seen(self._cluster, RolloutActivity.END, part.workload, self._earlier)
        )
        if not number or part.termination_source == "given" or known is None:
            if number and part.termination_source != "given":
                words = f"termination {duration(part.termination_seconds)}, its grace period"
                self.assumed[RolloutActivity.END] = words
            return np.full((LIMITS.duration_draws, number), part.termination_seconds)
        self._note(RolloutActivity.END, known.number, f"terminations of {known.number}")
        return self.draw(known, number)

    def arrivals(self, batches: Sequence[_Batch], nodes: ComingNodes) -> Seconds:
        """Until the nodes of each wave take pods: of several pools until those of the slowest do."""
        pauses = [batch.pause for batch in batches if batch.awaits_nodes]
        pools = [_seen(self._cluster, RolloutActivity.ARRIVAL, pool, self._earlier) for pool in nodes.pools]
        known = [_known(self._cluster, RolloutActivity.ARRIVAL, seen) for seen in pools]
        is_known = bool(known) and None not in known
        if not pauses or nodes.is_given or not is_known:
            if pauses and not nodes.is_given:
                self.assumed[RolloutActivity.ARRIVAL] = f"new nodes take pods after {duration(max(pauses))}"
            return np.tile(np.array(pauses), (LIMITS.duration_draws, 1))
        number = sum(map(len, pools))
        self._note(RolloutActivity.ARRIVAL, number, f"arrivals of {count(number, 'node')}")
        drawn = [self.draw(of_pool, len(pauses)) for of_pool in known if of_pool is not None]
        return np.asarray(np.max(drawn, axis=0))

    def _note(self, activity: RolloutActivity, number: int, words: str) -> None:
        self.numbers[activity] = number
        self.learnt.append(words)

    @property
    def words(self) -> str:
        """``by the start-ups of 6 pods and terminations of 4; assumed: …``."""
        assumed = f"; assumed: {listing([*self.assumed.values()], None)}" if self.assumed else ""
        return f"by the {listing(self.learnt, None)}{assumed}"


def duration_band(
    cluster: Cluster, after: Workload, part: WorkloadRollout, earlier: PastDurations, nodes: ComingNodes = NO_NODES
) -> DurationBand | None:
    """How long a rollout that ends takes; None where its pods' start-ups aren't known, or were given as one number."""
    rows = part.timeline
    if part.startup_source == "given" or len(rows) < 2 or len(rows) >= LIMITS.timeline_rows:
        return None
    start_ups = _start_ups(cluster, after, part.workload, earlier)
    batches = [*_batches(rows, after.min_ready_seconds)]
    number = sum(batch.starts for batch in batches)
    if start_ups is None or not number:
        return None
    draws, known = _Draws(cluster, earlier), start_ups.start
    drawn = _Drawn(
        starts=draws.starts(start_ups, number),
        ends=draws.ends(part, sum(batch.ends for batch in batches)),
        arrivals=draws.arrivals(batches, nodes),
    )
    whole, pauses = _play(batches, drawn, float(after.min_ready_seconds))
    least, most = (float(percentile) for percentile in percentiles(whole, (10, 90)))
    beside = _beside(part, least, most, ends=any(batch.ends for batch in batches))
    return DurationBand(
        least_seconds=least, most_seconds=most, late_seconds=float(percentiles(whole, (95,))[0]),
        percentiles=tuple(float(percentile) for percentile in percentiles(whole, _SHARES)),
        pause_percentiles=tuple(float(percentile) for percentile in percentiles(pauses, _SHARES)),
        pods=known.number, rollouts=len(known.rollouts), terminations=draws.numbers.get(RolloutActivity.END, 0),
        image_pulls=draws.numbers.get(RolloutActivity.PULL, 0), node_arrivals=draws.numbers.get(RolloutActivity.ARRIVAL, 0),
        assumed=tuple(activity.value for activity in draws.assumed),
        sentence=Text(f"8 of 10 rollouts like it take {duration_between(least, most)} ({draws.words}){beside}"),
    )  # fmt: skip


def _beside(part: WorkloadRollout, least: float, most: float, *, ends: bool) -> str:
    """Why the engine's own estimate isn't in the band, "" where it is as both are read. It goes on until old pods are gone, where some end,
    and lets all that is under way come to something at once, at its usual start-up and its whole grace period; the band ends as the last new
    pod is available, and each pod goes on by itself, in a time that was seen."""
    estimate = duration(part.seconds)
    if duration(min(max(part.seconds, least), most)) == estimate:
        return ""
    until, termination = "", ""
    if ends:
        until, termination = "until the last old pod is gone ", f", a termination {duration(part.termination_seconds)}"
    start_up = duration(part.startup_seconds)
    return (
        f"; {until}its steps take {estimate}, each as long as the slowest pod in it: a start-up {start_up}{termination}"
    )
