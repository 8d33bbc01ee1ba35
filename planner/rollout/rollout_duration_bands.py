"""How long a rollout takes, as a band: its course is played again and again, with each pod's start-up drawn from those that were seen.

The engine's steps wait for the slowest of their pods. Controllers don't: they make the next pod as soon as one is available or gone. So a
course is read from the timeline as a chain (which start or deletion waits for how many others), and played with drawn times.

Start-ups are learnt from the pods' own times, a group a rollout. Their logarithms are taken to scatter around the rollout's mean. Each
draw has a mean and a variance of its own, as few pods tell them (Student's t and chi-squared: Gelman, *Bayesian Data Analysis*, 3.2), and
between the pods that were seen and that normal distribution it mixes (a Dirichlet process: Ferguson 1973).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import mean, variance
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.ground.percentiles import percentiles
from planner.ground.records import Record
from planner.ground.words import Text, count, duration_between
from planner.kubernetes.pods import LONGEST_START_SECONDS, PodStart, PodStarts, pod_start
from planner.kubernetes.records import Workload
from planner.rollout.answers import DurationBand, PodState, TimelineRow, WorkloadRollout
from planner.rollout.ownership import workloads_by_owner
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


class StartUps(Record):
    """What is known of a workload's start-ups.

    Attributes
    ----------
    rollouts : logarithms of the seconds that its pods took, a tuple a rollout
    scatter, freedom : variance of such a logarithm around its rollout's mean, over all workloads of the cluster, and its degrees of freedom
    """

    rollouts: tuple[tuple[float, ...], ...]
    scatter: float
    freedom: int

    @property
    def pods(self) -> int:
        return sum(map(len, self.rollouts))


@once_a_cluster
def _starts(cluster: Cluster) -> PodStarts:
    keys, starts = workloads_by_owner(cluster), dict[str, list[PodStart]]()
    for pod in cluster.snapshot.pods:
        start = pod_start(pod)
        key = keys.get(pod.owner.key(pod.namespace)) if pod.owner is not None else None
        if start is not None and key is not None:
            starts.setdefault(key, []).append(start)
    return {key: tuple(some) for key, some in starts.items()}


def _by_rollout(starts: Iterable[PodStart]) -> tuple[tuple[float, ...], ...]:
    """Logarithms of their seconds; pods that came one after another are of one rollout."""
    groups: list[list[PodStart]] = []
    for start in sorted(starts, key=lambda one: (one.created_at, one.ready_at, one.pod)):
        if (
            not groups
            or start.created_at - max(earlier_start.ready_at for earlier_start in groups[-1]) > _PAUSE_SECONDS
        ):
            groups.append([])
        groups[-1].append(start)
    return tuple(tuple(float(np.log(one.seconds + _TICK)) for one in some) for some in groups)


@once_a_cluster
def _scatter(cluster: Cluster) -> tuple[float, int]:
    """Variance around each rollout's mean over all workloads, and its degrees of freedom."""
    groups = [group for starts in _starts(cluster).values() for group in _by_rollout(starts) if len(group) > 1]
    freedom = sum(len(group) - 1 for group in groups)
    return (sum(variance(group) * (len(group) - 1) for group in groups) / freedom if freedom else 0.0), freedom


def start_ups(cluster: Cluster, key: str, earlier: PodStarts) -> StartUps | None:
    """None where too few pods tell how far start-ups scatter."""
    every = [*_starts(cluster).get(key, ()), *earlier.get(key, ())]
    every.sort(key=lambda start: start.ready_at, reverse=True)
    once = {
        (start.pod, start.created_at): start for start in every if start.seconds < LONGEST_START_SECONDS
    }  # as it got Ready first
    starts = sorted(once.values(), key=lambda start: start.ready_at)[-LIMITS.pods_of_a_course :]
    scatter, freedom = _scatter(cluster)
    start_up = StartUps(rollouts=_by_rollout(starts), scatter=scatter, freedom=min(freedom, _SHARED_FREEDOM))
    own = start_up.pods - len(start_up.rollouts)
    return start_up if start_up.pods and own + start_up.freedom >= _FEWEST_FREEDOM else None


# ── draws ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def draw_start_ups(known: StartUps, draws: int, pods: int, chance: np.random.Generator) -> Seconds:
    """Seconds of so many pods in so many rollouts, a row a rollout."""
    groups, number = known.rollouts, known.pods
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
        np.append(ends, row + 1.0, axis=1).ravel(), chance.random((draws, pods)) + row, side="right"
    )
    chosen = np.minimum(chosen - row * (number + 1), number)
    normal = chance.normal(size=(draws, pods)) * spread[:, None]
    width = 0.9 * number**-0.2  # Silverman's, of the standard deviation
    scale = spread / np.sqrt(within) if within > 0 else np.zeros(draws)
    seen = np.append(offsets, 0.0)[chosen] * scale[:, None]
    smooth = (seen + width * normal) / np.sqrt(1 + width**2)
    drawn = np.where(chosen < number, smooth, normal)
    return np.asarray(np.maximum(np.exp(centre[:, None] + drawn) - _TICK, 0.0))


def _centres(
    known: StartUps, means: Sequence[float], within: float, draws: int, chance: np.random.Generator
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
    "all" with so many seconds more)."""

    starts: int
    starts_wait_for: str
    ends: int
    ends_wait_for: str
    pause: float


def _batches(rows: Sequence[TimelineRow], min_ready_seconds: float) -> Iterator[_Batch]:
    """What begins at each moment. New pods that wait for room begin as others end, all else as new pods are available."""
    many = max(1, -(-max(sum(row.counts.values()) for row in rows) // LIMITS.pods_of_a_course))
    made = [-(-(row.counts[PodState.NEW_READY] + row.counts[PodState.NEW_STARTING]) // many) for row in rows]
    old = [row.counts[PodState.OLD_READY] + row.counts[PodState.OLD_NOT_READY] for row in rows]
    gone = [-(-(old[0] - left) // many) for left in old]
    for place, (before, row) in enumerate(pairwise(rows), 1):
        starts, ends = max(0, made[place] - made[place - 1]), max(0, gone[place] - gone[place - 1])
        is_starting = before.counts[PodState.NEW_STARTING] > 0
        is_ending = before.counts[PodState.TERMINATING] > 0
        is_available = is_starting or bool(min_ready_seconds and before.counts[PodState.NEW_READY])
        if before.tick < 0:
            waits = ("", "")
        elif is_ending and (before.counts[PodState.PENDING] or not is_available):
            waits = ("ends", "starts" if is_available else "ends")
        else:
            waits = ("starts", "starts") if is_available else ("all", "all")
        yield _Batch(starts, waits[0], ends, waits[1], row.seconds - before.seconds)


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


def _play(batches: Sequence[_Batch], starts: Seconds, end_seconds: float, min_ready_seconds: float) -> tuple[Seconds, Seconds]:  # fmt: skip
    """How long it takes, and the longest time in which no new pod gets available, in each draw."""
    draws = len(starts)
    kinds = {"starts": _Course(draws), "ends": _Course(draws)}
    now = np.zeros(draws)

    def begins(place: int, batch: int, waits_for: str) -> Seconds:
        course = kinds.get(waits_for)
        return now if course is None else course.after(course.needed(place, batch))

    number = 0
    for batch in batches:
        if "all" in (batch.starts_wait_for, batch.ends_wait_for):
            now = np.maximum(np.maximum(kinds["starts"].latest, kinds["ends"].latest), now) + batch.pause
        for place in range(max(batch.starts, batch.ends)):
            begun = begins(place, batch.starts, batch.starts_wait_for) if place < batch.starts else now
            ended = begins(place, batch.ends, batch.ends_wait_for) if place < batch.ends else now
            if place < batch.starts:
                kinds["starts"].begin(begun + starts[:, number] + min_ready_seconds)
                number += 1
            if place < batch.ends:
                kinds["ends"].begin(ended + end_seconds)
        for name, some in (("starts", batch.starts), ("ends", batch.ends)):
            if some:
                kinds[name].batch, kinds[name].begun = some, kinds[name].begun + some
    course = kinds["starts"] if number else kinds["ends"]
    course.after(course.begun)
    times = np.stack([np.zeros(draws), *course.over], axis=1) if course.over else np.zeros((draws, 2))
    return np.maximum(course.latest, now), np.diff(times, axis=1).max(axis=1)


_SHARES: Final = tuple(range(5, 100, 5))


def duration_band(cluster: Cluster, after: Workload, part: WorkloadRollout, earlier: PodStarts) -> DurationBand | None:
    """How long a rollout that ends takes; None where its pods' start-ups aren't known, or were given as one number."""
    rows = part.timeline
    if part.startup_source == "given" or len(rows) < 2 or len(rows) >= LIMITS.timeline_rows:
        return None
    known = start_ups(cluster, part.workload, earlier)
    batches = [*_batches(rows, after.min_ready_seconds)]
    number = sum(batch.starts for batch in batches)
    if known is None or not number:
        return None
    # Seeded by a constant: the same question has the same band.
    chance: Any = np.random.default_rng(LIMITS.duration_draws)
    drawn = draw_start_ups(known, LIMITS.duration_draws, number, chance)
    whole, pauses = _play(batches, drawn, part.termination_seconds, float(after.min_ready_seconds))
    least, most = percentiles(whole, (10, 90))
    pods = f"start-ups of {count(known.pods, 'pod')}"
    if len(known.rollouts) > 1:
        pods += f" in {count(len(known.rollouts), 'rollout')}"
    return DurationBand(
        least_seconds=float(least), most_seconds=float(most), late_seconds=float(percentiles(whole, (95,))[0]),
        percentiles=tuple(float(percentile) for percentile in percentiles(whole, _SHARES)),
        pause_percentiles=tuple(float(percentile) for percentile in percentiles(pauses, _SHARES)),
        pods=known.pods, rollouts=len(known.rollouts),
        sentence=Text(f"8 of 10 rollouts like it take {duration_between(float(least), float(most))} (by the {pods})"),
    )  # fmt: skip
