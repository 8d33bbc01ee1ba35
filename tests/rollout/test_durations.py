"""How long a rollout takes, as a band: held against processes that are known (`tests.rollout.clockwork`), which the bands never see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import exp, log
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from planner.inventory.change import WorkloadChange
from planner.kubernetes.pods import PodStart
from planner.kubernetes.records import Snapshot
from planner.remedies.rollouts import rollout
from planner.rollout.answers import DurationBand, Verdict, WorkloadRollout
from planner.rollout.deploy_timeouts import advised_seconds
from planner.rollout.prepared_change import Scenario
from planner.rollout.rollout_duration_bands import StartUps, draw_start_ups
from tests.builders.objects import WHOLE, Item, read_items
from tests.rollout.clockwork import Born, rolling_update
from tests.stories.objects import app, gpu_nodes, rolling

DAY = 86_400.0
NOW = 1_790_000_000.0
KEY = "Deployment/ml/app"


def iso(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def lived(items: list[Item], born: Sequence[Born], began: float) -> None:
    """The pods' own times, as a kubelet and the scheduler write them: whole seconds."""
    pods = [one for one in items if one["kind"] == "Pod"]
    for pod, one in zip(pods, born, strict=True):
        pod["metadata"]["creationTimestamp"] = iso(began + one.created)
        pod["status"]["conditions"] = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": iso(began + one.scheduled)},
            {"type": "Ready", "status": "True", "lastTransitionTime": iso(began + one.ready)},
        ]


class Case(NamedTuple):
    """A workload of a known process."""

    replicas: int
    surge: int
    unavailable: int
    free: int
    ends_after: float
    start_up: Callable[[], float]

    def play(self) -> Any:
        return rolling_update(
            self.replicas,
            self.surge,
            self.unavailable,
            free=self.free,
            start_up=self.start_up,
            ends_after=self.ends_after,
        )


def case(chance: Random) -> Case:
    """Log-normal start-ups, gamma ones, or two kinds of node of which one pulls the image first."""
    typical, spread = exp(chance.uniform(log(20), log(600))), chance.uniform(0.1, 0.6)
    shape = 1 / spread**2
    two = lambda: typical * exp(chance.gauss(0, 0.15)) * (2.5 if chance.random() < 0.3 else 1.0)  # noqa: E731
    kinds = [lambda: typical * exp(chance.gauss(0, spread)), lambda: chance.gammavariate(shape, typical / shape), two]
    replicas = chance.randint(3, 12)
    surge, unavailable = chance.choice([(1, 0), (1, 1), (0, 1), (2, 1), (replicas, 0)])
    return Case(
        replicas, surge, unavailable, chance.choice([surge, surge, 1]) if surge else 0, chance.choice([1.0, 30.0]), chance.choice(kinds)
    )  # fmt: skip


def items_of(given: Case, *before: float) -> tuple[list[Item], tuple[PodStart, ...]]:
    """The cluster after a rollout that began at each of `before`, and what is known of the pods of all but the last."""
    strategy, grace = rolling(given.surge, given.unavailable), int(given.ends_after)
    names = [f"gpu-{i}" for i in range(given.replicas)]
    items = app(names, gpus=1, strategy=strategy, terminationGracePeriodSeconds=grace)
    earlier: list[PodStart] = []
    for place, began in enumerate(before):
        born = given.play().pods
        if place + 1 == len(before):
            lived(items, born, began)
            continue
        earlier += [
            PodStart(pod=f"{place}-{i}", created_at=began + one.created, scheduled_at=int(began + one.scheduled), ready_at=int(began + one.ready))
            for i, one in enumerate(born)
        ]  # fmt: skip
    return [*items, *gpu_nodes(given.replicas + given.free), *WHOLE], tuple(earlier)


def cluster(given: Case, *before: float) -> tuple[Snapshot, tuple[PodStart, ...]]:
    items, earlier = items_of(given, *before)
    return read_items(items, taken_at=NOW), earlier


def part_of(found: Snapshot, earlier: tuple[PodStart, ...] = (), **change: Any) -> WorkloadRollout:
    scenario = Scenario(changes=(WorkloadChange(workload=KEY, new_revision=True, **change),), runs=1)
    return rollout(found, scenario, starts={KEY: earlier}).workloads[0]


def band_of(given: Case, *before: float) -> DurationBand:
    part = part_of(*cluster(given, *before))
    assert part.verdict is Verdict.COMPLETES
    assert part.duration is not None
    return part.duration


# ── how often it is right ────────────────────────────────────────────────────────────────────────────────────────────
FUTURES = 10


def coverage(seeds: range, *before_days: int) -> float:
    """The share of later rollouts of the same process within the band; no band saw one of them."""
    within = played = 0
    for seed in seeds:
        given = case(Random(seed))
        band = band_of(given, *(NOW - days * DAY for days in before_days))
        for _ in range(FUTURES):
            within += band.least_seconds <= given.play().seconds <= band.most_seconds
            played += 1
    return within / played


@pytest.mark.parametrize("before_days", [(1,), (9, 7, 5, 3, 1)], ids=["a snapshot", "a store of five rollouts"])
def test_a_band_of_eight_in_ten_holds_eight_in_ten(before_days: tuple[int, ...]) -> None:
    assert 0.75 <= coverage(range(200), *before_days) <= 0.85


def test_an_advised_timeout_cuts_off_none_that_completes_and_is_at_most_twice_the_95_percent_point() -> None:
    for seed in range(200):
        given = case(Random(seed))
        band = band_of(given, NOW - DAY)
        advised = advised_seconds(band.late_seconds)
        assert given.play().seconds <= advised <= 2 * band.late_seconds, seed


def test_a_band_is_the_processs_own_where_many_pods_tell_it() -> None:
    """Two hundred pods of one kind: the ends of the band are those of two hundred later rollouts, to a tenth."""
    chance = Random(1)
    given = Case(200, 40, 10, 40, 5.0, lambda: 60 * exp(chance.gauss(0, 0.3)))
    band = band_of(given, NOW - DAY)
    later = sorted(given.play().seconds for _ in range(200))
    assert band.least_seconds == pytest.approx(later[20], rel=0.1)
    assert band.most_seconds == pytest.approx(later[180], rel=0.1)
    assert (band.pods, band.rollouts) == (200, 1)


def test_few_pods_are_less_sure_than_many() -> None:
    """The same spread of start-ups: with three pods the ends of what is drawn are further apart than with thirty."""
    few = StartUps(rollouts=((4.0, 4.2, 4.4),), scatter=0.0, freedom=0)
    many = StartUps(rollouts=(few.rollouts[0] * 10,), scatter=0.0, freedom=0)
    ends = [
        np.percentile(draw_start_ups(known, 2_000, 5, np.random.default_rng(1)), (5, 50, 95)) for known in (few, many)
    ]
    assert ends[0][2] / ends[0][0] > 1.5 * ends[1][2] / ends[1][0]
    assert ends[0][1] == pytest.approx(exp(4.2), rel=0.1)
    assert ends[1][1] == pytest.approx(exp(4.2), rel=0.1)


# ── what isn't known ─────────────────────────────────────────────────────────────────────────────────────────────────
STEADY = Case(4, 1, 0, 1, 5.0, lambda: 60.0)


def test_without_pods_times_there_is_no_band() -> None:
    items = app([f"gpu-{i}" for i in range(4)], gpus=1)
    part = part_of(read_items([*items, *gpu_nodes(5), *WHOLE], taken_at=NOW))
    assert (part.verdict, part.duration, part.cutoffs) == (Verdict.COMPLETES, None, ())


def test_a_start_up_that_is_given_is_one_number_and_no_band() -> None:
    found, _ = cluster(STEADY, NOW - DAY)
    assert part_of(found, startup_seconds=90).duration is None


def test_what_is_stuck_has_no_band() -> None:
    found, _ = cluster(STEADY, NOW - DAY)
    part = part_of(found, never_ready=True)
    assert (part.verdict, part.duration) == (Verdict.STUCK, None)
