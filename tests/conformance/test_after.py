"""Clusters after their rollouts, recorded on real control planes: what `headroom review` tells of each list, beside the truth.

``after.jsonl.gz``: 51 histories of Kubernetes 1.36.3 as 121 lists (10 minutes, 2 hours, 3 days later, and of six kinds only), one a line: the
list, what was played, and what of it still stands in that list. README.md beside it says more.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from planner.rollout.in_flight_report import under_way
from planner.rollout.past_report import HUNG
from planner.rollout.past_rollouts import PastCourse, PastRollout, past_rollouts
from planner.rollout.prepared_change import compiled
from planner.rollout.rollout_backtest import would_have_told
from tests.builders.objects import read_items

NEAR_SECONDS: Final = 30.0
BARS: Final = {
    "rollouts": 0.95, "courses": 0.95, "hangs": 0.95, "causes": 0.95, "hung still": 0.95, "cures": 0.9, "durations": 0.9,
}  # fmt: skip
"""Of what can still be seen in a list, which share has to be told."""
COURSES: Final = {
    "complete": PastCourse.COMPLETED, "hung then cured": PastCourse.HUNG_THEN_CURED, "hung still": PastCourse.HUNG_STILL,
    "overtaken by another revision": PastCourse.OVERTAKEN,
}  # fmt: skip
CAUSES: Final = {
    "no-room-for-surge": "no_room", "quota": "quota", "selector-or-taint": "selector_or_taint", "never-ready (readiness)": "never_ready",
    "crash loop": "crash_loop", "image pull": "image_pull", "zone volume": "zone_volume", "paused": "paused",
    "admission refused (FailedCreate)": "admission_refused", "other": "other",
}  # fmt: skip
Truth = dict[str, Any]


@cache
def lists() -> tuple[dict[str, Any], ...]:
    with gzip.open(Path(__file__).with_name("after.jsonl.gz"), "rt", encoding="utf-8") as file:
        return tuple(json.loads(line) for line in file)


@cache
def told(name: str) -> tuple[PastRollout, ...]:
    case = next(one for one in lists() if one["name"] == name)
    return past_rollouts(compiled(read_items(case["cluster"]["items"])))


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def key(workload: Mapping[str, str]) -> str:
    return f"{workload['kind']}/{workload['namespace']}/{workload['name']}"


def in_pairs(rollouts: list[Truth], rows: tuple[PastRollout, ...]) -> dict[int, int]:
    """Place of a rollout that was played → of the row that tells of it: the nearest begin first, what can be seen before what can't."""
    near = []
    for i, truth in enumerate(rollouts):
        for j, row in enumerate(rows):
            far = NEAR_SECONDS if row.began is None else abs(seconds(row.began) - seconds(truth["began"]))
            if row.workload == key(truth["workload"]) and far <= NEAR_SECONDS:
                near.append((not truth["seen"]["happened"], far, i, j))
    pairs: dict[int, int] = {}
    for _, _, i, j in sorted(near):
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


def is_told_first(row: PastRollout, truth: Truth) -> bool:
    """Whether a row that no rollout stands behind names the revision that its workload was made with, and no hang."""
    if row.course in HUNG:
        return False
    made = any(
        one["workload"] and key(one["workload"]) == row.workload and "made" in one["what"]
        for one in truth["happenings"]
    )
    of_setup = row.workload in map(key, truth["setup"]["workloads"])
    is_old = row.began is None or seconds(row.began) <= seconds(truth["setup"]["ended"]) + NEAR_SECONDS
    return made or (of_setup and is_old)


def judged(case: dict[str, Any], rows: tuple[PastRollout, ...]) -> Iterator[tuple[str, bool, str]]:
    """(what is judged, whether it is right, where) of one list; what is judged is "invented" of what never happened."""
    truth = case["truth"]
    seen = {one["id"]: one for one in truth["seen"]}
    rollouts = [{**one, "seen": seen[one["id"]]} for one in truth["happenings"] if one["verdict"] != "not a rollout"]
    pairs = in_pairs(rollouts, rows)
    for i, one in enumerate(rollouts):
        row = rows[pairs[i]] if i in pairs else None
        yield from ((what, is_right, f"{case['name']} {one['id']}: {row}") for what, is_right in _judged(one, row))
    firsts = Counter[str]()
    for j, row in enumerate(rows):
        if j not in pairs.values():
            firsts[row.workload] += 1
            yield "invented", is_told_first(row, truth) and firsts[row.workload] == 1, f"{case['name']}: {row}"


def _judged(one: Truth, row: PastRollout | None) -> Iterator[tuple[str, bool]]:
    sees, is_slow = one["seen"], "slow start" in (one.get("cure_note") or "")
    is_cured = one["verdict"] == "hung then cured" and not is_slow
    is_hung = is_cured or (one["verdict"] == "hung still" and not is_slow)
    course = row.course if row is not None else None
    if sees["happened"]:
        yield "rollouts", row is not None and (row.began is not None or not sees["duration_bounds"])
    if sees["hung"] and not is_hung and not is_slow:
        yield "courses", course is COURSES[one["verdict"]]
    if one["verdict"] == "hung still":
        yield "hung still", course is PastCourse.HUNG_STILL
    if not is_hung and not is_slow and row is not None:
        yield "invented", course not in HUNG
    if is_hung and sees["hung"]:
        yield "hangs", course in HUNG
    if is_hung and sees["cause"]:
        yield "causes", row is not None and row.cause == CAUSES[one["cause"]]
    if is_cured and sees["hung"] and sees["cause"]:
        yield "cures", row is not None and row.cure == one["cure"].replace(" ", "_")
    if is_cured and sees["hung"] and sees["duration_bounds"]:
        span, was = (row.hung_seconds if row is not None else None), one["hung"]["seconds"]
        is_near = (
            span is not None and span.least - 10 <= was <= span.most + 10 and span.most - span.least <= max(30, was)
        )
        yield "durations", is_near


def test_what_can_still_be_seen_is_told_and_nothing_is_invented() -> None:
    counts, right, faults = Counter[str](), Counter[str](), list[str]()
    for case in lists():
        for what, is_right, where in judged(case, told(case["name"])):
            counts[what] += 1
            right[what] += is_right
            faults += [] if is_right else [f"{what}: {where}"]
    assert len(lists()) == 121
    assert set(counts) == {*BARS, "invented"}
    assert right["invented"] == counts["invented"], faults
    assert {what: right[what] / counts[what] for what, bar in BARS.items() if right[what] < bar * counts[what]} == {}, (
        faults
    )


def without(kinds: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], tuple[PastRollout, ...]]]:
    for case in lists():
        items = [item for item in case["cluster"]["items"] if item["kind"] not in kinds]
        yield case, past_rollouts(compiled(read_items(items)))


@pytest.mark.parametrize(
    "kinds",
    [("Event",), ("ControllerRevision",), ("ReplicaSet",), ("Event", "ControllerRevision", "Lease")],
    ids=", ".join,
)
def test_of_fewer_lists_less_is_told_and_nothing_is_invented(kinds: tuple[str, ...]) -> None:
    verdicts = [one for case, rows in without(kinds) for one in judged(case, rows)]
    assert [where for what, is_right, where in verdicts if what == "invented" and not is_right] == []
    assert sum(is_right for what, is_right, _ in verdicts if what == "rollouts") > 30


def test_a_rollout_that_hangs_still_is_under_way_with_its_cause() -> None:
    """Whatever its controller has to do: pods that wait or never get Ready, a pause, pods that somebody has to delete."""
    asked = Counter[str]()
    for case in lists():
        cluster = compiled(read_items(case["cluster"]["items"]))
        found = {one.workload: one for one in under_way(cluster)}
        still = {key(one["workload"]): one for one in case["truth"]["happenings"] if one["verdict"] == "hung still"}
        for workload, one in still.items():
            asked[one["cause"]] += 1
            assert found[workload].is_rolling, case["name"]
            assert found[workload].cause == CAUSES[one["cause"]], case["name"]
        done = {
            key(one["workload"]) for one in case["truth"]["happenings"] if one["verdict"] == "complete"
        } - still.keys()
        assert not [one for one in done if one in found and found[one].is_rolling], case["name"]
    assert asked.keys() == {
        "no-room-for-surge", "never-ready (readiness)", "paused", "quota", "admission refused (FailedCreate)", "other", "crash loop",
    }  # fmt: skip


def test_what_it_would_have_told_before_is_claimed_only_where_the_cluster_can_be_made_again() -> None:
    """Ten minutes later, where nothing but the rollout's pods came or went: one without room, one that the API server refuses. Once events are
    gone nobody knows what else was there then."""
    claimed = Counter[tuple[str, bool]]()
    for case in lists():
        cluster = compiled(read_items(case["cluster"]["items"]))
        for one in past_rollouts(cluster):
            verdict = would_have_told(cluster, one)
            if verdict is not None:
                assert (case["truth"]["age"], one.course) == ("10m", PastCourse.HUNG_STILL), case["name"]
                claimed[str(one.cause), verdict] += 1
    assert claimed == {("no_room", True): 1, ("admission_refused", True): 1}


# ── what comes after a rollout's end is another story ────────────────────────────────────────────────────────────────
def later(text: str, by: float) -> str:
    return datetime.fromtimestamp(seconds(text) + by, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def conditions(item: Any) -> dict[str, Any]:
    return {one["type"]: one for one in item.get("status", {}).get("conditions", ())}


def rolled_out(items: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Deployments whose latest rollout is done, with their condition that says so."""
    for item in items:
        condition = conditions(item).get("Progressing", {}) if item["kind"] == "Deployment" else {}
        if condition.get("reason") == "NewReplicaSetAvailable":
            yield item, condition


def pause(items: list[Any]) -> None:
    for item, condition in rolled_out(items):
        at = later(condition["lastUpdateTime"], 60)
        item["spec"]["paused"] = True
        condition.update(status="Unknown", reason="DeploymentPaused", lastUpdateTime=at, lastTransitionTime=at)


def pause_and_resume(items: list[Any]) -> None:
    for _, condition in rolled_out(items):
        condition["lastUpdateTime"] = condition["lastTransitionTime"] = later(condition["lastUpdateTime"], 60)


def get_ready_again(items: list[Any]) -> None:
    for item in items:
        told = conditions(item) if item["kind"] == "Pod" else {}
        if told.get("Ready", {}).get("status") == "True":
            told["Ready"]["lastTransitionTime"] = later(told["Ready"]["lastTransitionTime"], 60)


def fail_later(items: list[Any]) -> None:
    for item in items:
        told = conditions(item) if item["kind"] == "Pod" else {}
        if told.get("Ready", {}).get("status") == "True":
            told["Ready"].update(status="False", lastTransitionTime=later(told["Ready"]["lastTransitionTime"], 100))


def scale_down(items: list[Any]) -> None:
    """To one pod, the one that was made last: Deployments of finished rollouts."""
    for item, _ in rolled_out(items):
        own = [
            one
            for one in items
            if one["kind"] == "ReplicaSet" and owner_of(one) == item["metadata"]["uid"] and one["spec"]["replicas"]
        ]
        for part in (item, *own):
            part["spec"]["replicas"] = 1
        for part in own:
            pods = [one for one in items if one["kind"] == "Pod" and owner_of(one) == part["metadata"]["uid"]]
            pods.sort(key=lambda one: str(one["metadata"]["creationTimestamp"]))
            for pod in pods[:-1]:
                items.remove(pod)


def owner_of(item: Any) -> str:
    return str(item["metadata"].get("ownerReferences", [{}])[0].get("uid", ""))


@pytest.mark.parametrize("happens", [pause, pause_and_resume, get_ready_again, fail_later, scale_down])
@pytest.mark.parametrize("dropped", ["", "Event"])
def test_what_happens_after_a_rollout_makes_no_hang_of_it(happens: Callable[[list[Any]], None], dropped: str) -> None:
    judgments = Counter[tuple[str, bool]]()
    for case in lists():
        items = [item for item in copy.deepcopy(case["cluster"]["items"]) if item["kind"] != dropped]
        happens(items)
        found = [*judged(case, past_rollouts(compiled(read_items(items))))]
        assert not [where for what, is_right, where in found if what == "invented" and not is_right]
        judgments.update((what, is_right) for what, is_right, _ in found)
    assert judgments["invented", True] > 40
    assert judgments["rollouts", True] > 100


def make_pods_anew(items: list[Any]) -> None:
    """Of each finished rollout one pod, minutes later: it is evicted, waits five minutes for room, and its container crashes twice."""
    done = {item["metadata"]["uid"] for item, _ in rolled_out(items)}
    sets = {item["metadata"]["uid"] for item in items if item["kind"] == "ReplicaSet" and owner_of(item) in done}
    sets |= {item["metadata"]["uid"] for item in items if item["kind"] in ("StatefulSet", "DaemonSet")}
    for uid in sets:
        pods = [item for item in items if item["kind"] == "Pod" and owner_of(item) == uid]
        told = [conditions(pod) for pod in pods]
        if not pods or any(one.get("Ready", {}).get("status") != "True" for one in told):
            continue
        at = later(max(one["Ready"]["lastTransitionTime"] for one in told), 180)
        pod, one = pods[-1], told[-1]
        pod["metadata"] |= {"creationTimestamp": at, "uid": f"{pod['metadata']['uid']}-anew"}
        one["PodScheduled"]["lastTransitionTime"] = pod["status"]["startTime"] = later(at, 300)
        one["Ready"]["lastTransitionTime"] = later(at, 400)
        for container in pod["status"].get("containerStatuses", ()):
            container |= {"restartCount": 2, "state": {"running": {"startedAt": later(at, 390)}}}


def test_a_pod_that_is_made_anew_begins_no_rollout_and_makes_none_hang() -> None:
    judgments = Counter[tuple[str, bool]]()
    for case in lists():
        if case["truth"]["age"] == "10m":
            items = copy.deepcopy(case["cluster"]["items"])
            make_pods_anew(items)
            found = [*judged(case, past_rollouts(compiled(read_items(items))))]
            assert not [where for what, is_right, where in found if what == "invented" and not is_right]
            judgments.update((what, is_right) for what, is_right, _ in found)
    assert judgments["invented", True] > 15
    assert judgments["rollouts", True] > 30
