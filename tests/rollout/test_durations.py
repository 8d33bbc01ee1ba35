"""How long a rollout takes, as a band: held against processes that are known (`tests.rollout.clockwork`), which the bands never see."""

from __future__ import annotations

from datetime import UTC, datetime
from math import exp, log
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from planner.capacity.node_pools import pools
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.past_durations import PastDuration, PastDurations, RolloutActivity
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.kubernetes.object_records import EMPTY, Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import DurationBand, Verdict, WorkloadRollout
from planner.rollout.deploy_timeouts import advised_seconds
from planner.rollout.prepared_change import Scenario, compiled
from planner.rollout.rollout_duration_bands import KnownDurations, _groups, _once, draw_durations
from tests.builders.objects import WHOLE, Item, read_items
from tests.quick import seeds
from tests.rollout.clockwork import Draw, Played, nothing, rolling_update
from tests.stories.objects import app, gpu_nodes, holder, rolling

DAY = 86_400.0
NOW = 1_790_000_000.0
KEY = "Deployment/ml/app"
IMAGE = "registry.example/app:1"
POOL = PoolLimits(name="gpu", source=LimitSource.GCLOUD, is_autoscaled=True, maximum=60)
WAVES = 6  # of nodes that came before


def iso(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def event(reason: str, pod: Item, message: str, at: float, host: str = "") -> Item:
    meta = pod["metadata"]
    about = {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"namespace": meta["namespace"], "name": f"{meta['uid']}.{reason.lower()}"},
        "involvedObject": about, "reason": reason, "message": message, "source": {"component": "kubelet", "host": host},
        "firstTimestamp": iso(at), "lastTimestamp": iso(at),
    }  # fmt: skip


def timed(pod: Item, created: float, scheduled: float, ready: float) -> None:
    """The pod's own times, as a kubelet and the scheduler write them: whole seconds."""
    pod["metadata"]["creationTimestamp"] = iso(created)
    pod["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": iso(scheduled)},
        {"type": "Ready", "status": "True", "lastTransitionTime": iso(ready)},
    ]


def pulled_words(seconds: float) -> str:
    took = f"{seconds:.3f}s ({seconds + 0.001:.3f}s including waiting). Image size: 4096 bytes."
    return f'Successfully pulled image "{IMAGE}" in {took}' if seconds else f'Container image "{IMAGE}" already present on machine'  # fmt: skip


def lived(items: list[Item], played: Played, began: float) -> list[Item]:
    """Gives the pods their times; the events of that rollout."""
    pods, told = [one for one in items if one["kind"] == "Pod"], []
    for pod, one in zip(pods, played.pods, strict=True):
        timed(pod, began + one.created, began + one.scheduled, began + one.ready)
        told.append(event("Pulled", pod, pulled_words(one.pulled), began + one.scheduled + one.pulled))
        if one.after is not None:
            told.append(event("FailedScheduling", pod, "0/9 nodes are available", began + one.created))
    for place, (since, _) in played.ended.items():
        old = {"metadata": {"namespace": "ml", "name": f"app-1-old{place}", "uid": f"old-{place}"}}
        told.append(event("Killing", old, "Stopping container main", began + since, host=f"gpu-{place}"))
    return told


class Case(NamedTuple):
    """A workload of a known process. `arrives`: until the nodes come on which its first pods find room; `pulls_next`: whether the nodes of
    its next rollout lack its image; `spread`: of the nodes that came before."""

    replicas: int
    surge: int
    unavailable: int
    free: int
    grace: float
    start_up: Draw
    ends: Draw | None = None
    pull: Draw | None = None
    pulls_next: bool = False
    arrives: Draw | None = None

    def play(self, pulls: bool | None = None) -> Played:
        pulls = self.pulls_next if pulls is None else pulls
        return rolling_update(
            self.replicas, self.surge, self.unavailable, free=self.free, start_up=self.start_up,
            ends=self.ends or (lambda: self.grace), pull=self.pull if self.pull and pulls else nothing, arrives=self.arrives,
        )  # fmt: skip


def case(seed: int) -> Case:
    """Log-normal start-ups, gamma ones, or two kinds of node of which one is slow; of some a termination within its grace period, image pulls
    in every other rollout, or nodes that have to come."""
    chance, others = Random(seed), Random(seed + 1_000)  # of start-ups, and of all else
    typical, spread = exp(chance.uniform(log(20), log(600))), chance.uniform(0.1, 0.6)
    shape = 1 / spread**2
    two = lambda: typical * exp(chance.gauss(0, 0.15)) * (2.5 if chance.random() < 0.3 else 1.0)  # noqa: E731
    kinds = [lambda: typical * exp(chance.gauss(0, spread)), lambda: chance.gammavariate(shape, typical / shape), two]
    replicas = chance.randint(3, 12)
    surge, unavailable = chance.choice([(1, 0), (1, 1), (0, 1), (2, 1), (replicas, 0)])
    found = Case(
        replicas, surge, unavailable, chance.choice([surge, surge, 1]) if surge else 0, chance.choice([1.0, 30.0]), chance.choice(kinds)
    )  # fmt: skip
    if others.random() < 0.5:
        grace = others.choice([300.0, 600.0])
        usual, scatter = grace * others.uniform(0.05, 0.4), others.uniform(0.1, 0.5)
        found = found._replace(grace=grace, ends=lambda: min(grace, usual * exp(others.gauss(0, scatter))))
    if others.random() < 0.4:
        long, width = exp(others.uniform(log(30), log(400))), others.uniform(0.1, 0.5)
        found = found._replace(pull=lambda: long * exp(others.gauss(0, width)), pulls_next=others.random() < 0.5)
    if unavailable == 0 and surge <= 2 and others.random() < 0.7:
        until, varies = others.uniform(90, 400), others.uniform(0.1, 0.4)
        found = found._replace(free=surge, arrives=lambda: min(880.0, until * exp(others.gauss(0, varies))))
    return found


def came_before(given: Case) -> list[Item]:
    """Nodes that came for pods of others, a wave a day, and those pods."""
    items: list[Item] = []
    for wave in range(WAVES if given.arrives else 0):
        assert given.arrives is not None
        asked, took = NOW - (20 + wave) * DAY, given.arrives()
        (one,) = gpu_nodes(1, pool="gpu")
        one["metadata"] |= {"name": f"came-{wave}", "uid": f"came-{wave}", "creationTimestamp": iso(asked + took * 0.7)}
        theirs = holder(f"theirs-{wave}", f"came-{wave}", gpus=1)
        timed(theirs[-1], asked, asked + took, asked + took + 5)
        items += [*theirs, one]
    return items


def items_of(given: Case, *before: float) -> tuple[list[Item], PastDurations]:
    """The cluster after a rollout that began at each of `before`, every other of which pulled, and what is known of all but the last."""
    strategy, grace = rolling(given.surge, given.unavailable), int(given.grace)
    earlier: dict[str, list[PastDuration]] = {activity: [] for activity in RolloutActivity}
    for place, began in enumerate(before[:-1]):
        played = given.play(place % 2 == 0)
        for i, one in enumerate(played.pods):
            made, at, ready = began + one.created, int(began + one.scheduled), int(began + one.ready)
            past = PastDuration(name=f"{place}-{i}", created_at=made, ended_at=ready, seconds=ready - at)
            earlier[RolloutActivity.START].append(past)
            earlier[RolloutActivity.PULL].append(replace(past, seconds=one.pulled))
        for i, (since, until) in played.ended.items():
            seconds = int(began + until) - int(began + since)
            past = PastDuration(name=f"{place}-{i}", created_at=began + since, ended_at=began + until, seconds=seconds)
            earlier[RolloutActivity.END].append(past)
    names, told = [f"gpu-{i}" for i in range(given.replicas)], list[Item]()
    items = app(names, gpus=1, strategy=strategy, terminationGracePeriodSeconds=grace)
    nodes = gpu_nodes(given.replicas + (0 if given.arrives else given.free))
    if before:
        played = given.play((len(before) - 1) % 2 == 0)
        told = lived(items, played, before[-1])
        for pod, one in zip((one for one in items if one["kind"] == "Pod"), played.pods, strict=True):
            pod["spec"]["nodeName"] = f"gpu-{one.place}"
        taken = {one.place for one in played.pods}
        nodes = [one for i, one in enumerate(gpu_nodes(given.replicas + given.free)) if i in taken or not given.arrives]  # fmt: skip
    if given.pull:
        for machine in nodes:
            listed = "registry.example/other:1" if given.pulls_next else IMAGE
            machine["status"]["images"] = [{"names": [listed], "sizeBytes": 4096}]
    return [*items, *nodes, *came_before(given), *told, *WHOLE], {
        key: {KEY: tuple(some)} for key, some in earlier.items()
    }


def cluster(given: Case, *before: float) -> tuple[Snapshot, PastDurations]:
    items, earlier = items_of(given, *before)
    return read_items(items, taken_at=NOW), earlier


def part_of(found: Snapshot, earlier: PastDurations = EMPTY, grows: bool = False, **change: Any) -> WorkloadRollout:
    scenario = Scenario(
        changes=(WorkloadChange(workload=KEY, new_revision=True, **change),), runs=1, with_remedies=False
    )
    return rollout(found, scenario, pools(compiled(found), (POOL,)) if grows else (), seen=earlier).workloads[0]


def band_of(given: Case, *before: float) -> DurationBand:
    part = part_of(*cluster(given, *before), grows=given.arrives is not None)
    assert part.verdict is (Verdict.NEEDS_GROWTH if given.arrives else Verdict.COMPLETES)
    assert part.duration is not None
    return part.duration


# ── how often it is right ────────────────────────────────────────────────────────────────────────────────────────────
FUTURES = 10


def coverage(seeds: range, *before_days: int) -> float:
    """The share of later rollouts of the same process within the band; no band saw one of them."""
    within = played = 0
    for seed in seeds:
        given = case(seed)
        band = band_of(given, *(NOW - days * DAY for days in before_days))
        for _ in range(FUTURES):
            within += band.least_seconds <= given.play().seconds <= band.most_seconds
            played += 1
    return within / played


@pytest.mark.parametrize("before_days", [(1,), (9, 7, 5, 3, 1)], ids=["a snapshot", "a store of five rollouts"])
def test_a_band_of_eight_in_ten_holds_eight_in_ten(before_days: tuple[int, ...]) -> None:
    assert 0.75 <= coverage(seeds(200, share=4), *before_days) <= 0.85


def test_an_advised_timeout_cuts_off_none_that_completes_and_is_at_most_twice_the_95_percent_point() -> None:
    for seed in seeds(200, share=4):
        given = case(seed)
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
    few = KnownDurations(rollouts=((4.0, 4.2, 4.4),), scatter=0.0, freedom=0)
    many = KnownDurations(rollouts=(few.rollouts[0] * 10,), scatter=0.0, freedom=0)
    ends = [
        np.percentile(draw_durations(known, 2_000, 5, np.random.default_rng(1)), (5, 50, 95)) for known in (few, many)
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


# ── what is measured, and what is assumed ────────────────────────────────────────────────────────────────────────────
def test_a_termination_that_nobody_saw_is_assumed_and_said_so() -> None:
    """All pods find room beside the old ones: nobody waits for an old pod's end."""
    found, earlier = cluster(Case(4, 4, 0, 4, 30.0, lambda: 60.0), NOW - DAY)
    band = part_of(found, earlier).duration
    assert band is not None
    assert band.assumed == ("termination",)
    assert band.terminations == 0
    # The estimate of a minute and a half, which the answer tells beside it, isn't within "about 1 min" for no reason.
    assert str(band.sentence).endswith(
        "(by the start-ups of 4 pods; assumed: termination 30 s, its grace period); until the last old pod is gone its steps take 1 min 30 s, "
        "each as long as the slowest pod in it: a start-up 1 min, a termination 30 s"
    )
    given = part_of(found, earlier, termination_seconds=5.0)
    assert given.duration is not None
    assert (given.termination_source, given.duration.assumed) == ("given", ())


def test_terminations_that_were_seen_take_the_place_of_the_grace_period() -> None:
    """Six pods, each in the room of the one before it: an hour of grace, of which ten seconds are used."""
    chance = Random(2)
    band = band_of(Case(6, 0, 1, 0, 3600.0, lambda: 60.0, ends=lambda: chance.uniform(8, 12)), NOW - DAY)
    assert (band.terminations, band.assumed) == (6, ())
    assert 6 * 60 < band.least_seconds < band.most_seconds < 6 * 80


def test_nodes_that_came_tell_how_long_the_next_take() -> None:
    chance = Random(4)
    steady = Case(3, 1, 0, 1, 1.0, lambda: 60.0, arrives=lambda: chance.uniform(95, 105))
    found, earlier = cluster(steady, NOW - DAY)
    band = part_of(found, earlier, grows=True).duration
    assert band is not None
    assert band.node_arrivals == WAVES
    assert 95 + 3 * 60 < band.least_seconds < band.most_seconds < 110 + 3 * 64
    items = [one for one in items_of(steady, NOW - DAY)[0] if not one["metadata"]["name"].startswith(("came-", "theirs-"))]  # fmt: skip
    assumed = part_of(read_items(items, taken_at=NOW), earlier, grows=True).duration
    assert assumed is not None
    assert assumed.assumed == ("node arrival",)
    assert "; assumed: new nodes take pods after 5 min)" in str(assumed.sentence)
    assert assumed.node_arrivals == 0


@pytest.mark.parametrize("pulls_next", [False, True], ids=["present", "pulled anew"])
def test_pulls_are_taken_off_start_ups_where_the_images_are_there(pulls_next: bool) -> None:
    """All pods pulled for 200 s of their 260: where the next do so too, that is in their start-ups; else it isn't drawn."""
    band = band_of(Case(6, 6, 0, 6, 1.0, lambda: 60.0, pull=lambda: 200.0, pulls_next=pulls_next), NOW - DAY)
    assert (band.pods, band.image_pulls) == (6, 0)
    assert band.most_seconds == pytest.approx(260 if pulls_next else 60, rel=0.05)


def test_pulls_are_drawn_apart_where_more_pods_pull_than_did() -> None:
    given = Case(6, 6, 0, 6, 1.0, lambda: 60.0, pull=lambda: 200.0, pulls_next=True)
    band = band_of(given, NOW - 2 * DAY, NOW - DAY)  # the first pulled, the second didn't
    assert (band.pods, band.image_pulls) == (12, 6)
    assert band.least_seconds == pytest.approx(260, rel=0.05)


def test_pulls_that_no_pod_had_are_assumed() -> None:
    """No start-up seen has a pull in it, and the next pods pull: how long isn't known."""
    items, _ = items_of(Case(6, 6, 0, 6, 1.0, lambda: 60.0, pull=lambda: 0.0, pulls_next=True), NOW - DAY)
    band = part_of(read_items(items, taken_at=NOW)).duration
    assert band is not None
    assert band.assumed == ("image pull", "termination")


def test_a_pull_longer_than_its_start_up_leaves_nothing_of_it() -> None:
    """A store's rows of one pod may be of two looks, and be wrong."""
    found, earlier = cluster(
        Case(6, 6, 0, 6, 1.0, lambda: 60.0, pull=lambda: 200.0, pulls_next=False), NOW - 2 * DAY, NOW - DAY
    )
    starts = earlier[RolloutActivity.START][KEY]
    longer = tuple(replace(past, seconds=past.seconds + 30) for past in starts)
    wrong = {
        **earlier,
        RolloutActivity.PULL: {KEY: tuple(replace(past, ended_at=past.ended_at + 60) for past in longer)},
    }
    assert any(pull.seconds > start.seconds for pull, start in zip(longer, starts, strict=True))
    band = part_of(found, wrong).duration
    assert band is not None
    assert 0 < band.least_seconds <= band.most_seconds < 60


@pytest.mark.parametrize(
    ("longer", "pods"), [(0.0, 12), (1e6, 6), (-1e6, 6)], ids=["sound", "longer than it lived", "less than none"]
)
def test_a_row_longer_than_the_pod_lived_is_none(longer: float, pods: int) -> None:
    found, earlier = cluster(Case(6, 1, 0, 1, 1.0, lambda: 60.0), NOW - 2 * DAY, NOW - DAY)
    rows = tuple(replace(past, seconds=past.seconds + longer / 1e3) for past in earlier[RolloutActivity.START][KEY])
    band = part_of(found, {RolloutActivity.START: {KEY: rows}}).duration
    assert band is not None
    assert band.pods == pods


def test_pods_of_one_rollout_are_compared_with_its_latest_end_only() -> None:
    """A pod that took long keeps those together that came in its time; of many pods each is looked at a few times."""

    def row(place: float, took: float) -> PastDuration:
        return PastDuration(name=f"p{place}", created_at=NOW + place, ended_at=NOW + place + took, seconds=60.0)

    assert [
        len(some)
        for some in _groups(RolloutActivity.START, [row(0, 5_000), row(10, 60), row(5_500, 60), row(6_200, 60)])
    ] == [3, 1]
    looks = 0

    class Counted(PastDuration):
        def __getattribute__(self, name: str) -> Any:
            nonlocal looks
            looks += name == "ended_at"
            return super().__getattribute__(name)

    number = 300
    rows = [
        Counted(name=f"p{place:03}", created_at=NOW + place, ended_at=NOW + place + 60, seconds=60.0)
        for place in range(number)
    ]
    assert [len(some) for some in _groups(RolloutActivity.START, rows)] == [number]
    assert number <= looks < 10 * number


def test_one_arrival_that_several_snapshots_tell_is_one() -> None:
    """While its events are there, since the node was asked for; later, since the pod was made; and later of another pod."""
    told = PastDuration(name="n", created_at=NOW - 290, ended_at=NOW, seconds=290)
    inferred = PastDuration(name="n", created_at=NOW - 400, ended_at=NOW, seconds=400)
    second = PastDuration(name="n", created_at=NOW - 350, ended_at=NOW + 40, seconds=390)
    anew = PastDuration(name="n", created_at=NOW + DAY, ended_at=NOW + DAY + 100, seconds=100)
    other = PastDuration(name="m", created_at=NOW - 290, ended_at=NOW, seconds=290)
    for rows in ([told, inferred, second, anew, other], [other, anew, second, inferred, told]):
        assert {*_once(rows)} == {told, anew, other}


def test_terminations_of_a_store_that_the_grace_period_doesnt_allow_are_none() -> None:
    """Rows of a longer grace period, or of a pod that was gone for long: its grace period is 300 s, and until it is gone 330."""
    given = Case(6, 0, 1, 0, 300.0, lambda: 10.0, ends=lambda: 70.0)
    found, _ = cluster(given, NOW - DAY)
    counts = []
    for seconds in (330.0, 331.0):
        row = PastDuration(name="", created_at=NOW - 9e5, ended_at=NOW - 9e5 + seconds, seconds=seconds)
        rows = tuple(replace(row, name=f"old{i}") for i in range(4))
        band = part_of(found, {RolloutActivity.END: {KEY: rows}}).duration
        assert band is not None
        counts.append(band.terminations)
    assert counts == [10, 6]


@pytest.mark.parametrize("told", [False, True], ids=["without events", "told"])
def test_pulls_that_nothing_tells_stay_in_the_start_ups_and_are_said(told: bool) -> None:
    """The next pods pull nothing: whether those that were seen did isn't known without their events."""
    items, _ = items_of(Case(6, 6, 0, 6, 1.0, lambda: 60.0, pull=lambda: 200.0), NOW - DAY)
    kept = [one for one in items if told or one.get("reason") != "Pulled"]
    band = part_of(read_items(kept, taken_at=NOW)).duration
    assert band is not None
    assert ("image pull" in band.assumed) is not told
    assert band.most_seconds == pytest.approx(60 if told else 260, rel=0.05)
