"""How long pods and nodes took, as a snapshot shows it; what doesn't tell it is left out."""

from __future__ import annotations

from typing import Any

import pytest

from planner.inventory.past_durations import RolloutActivity, _Gone, past_durations
from tests.builders.objects import Item, deployment, node, owner, pod, pod_spec, read_items
from tests.rollout.test_durations import NOW, event, timed

KEY = "Deployment/ml/app"
AT = NOW - 1_000
WAITED = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu"
STOPPING = "Stopping container main"


def seconds_of(activity: RolloutActivity, *items: Item) -> dict[str, list[float]]:
    found = past_durations(read_items(items, taken_at=NOW))[activity]
    return {about: [past.seconds for past in some] for about, some in found.items()}


def app(ready: float = 60.0) -> list[Item]:
    items = deployment("app", ["n0"], pod_spec(gpus=1))
    timed(items[-1], AT, AT, AT + ready)
    return items


# ── image pulls ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ('Successfully pulled image "a:1" in 12.3s (34s including waiting). Image size: 1234 bytes.', 34.0),
        ('Successfully pulled image "a:1" in 12.3s (34s including waiting)', 34.0),
        ('Successfully pulled image "a:1" in 12.3s', 12.3),
        ('Successfully pulled image "a:1" in 50.5s.', 50.5),
        ('Successfully pulled image "a:1" in 1m5.25s (1m10.5s including waiting). Image size: 1234 bytes.', 60.0),
        ('Successfully pulled image "a:1" in 512.7ms (513ms including waiting). Image size: 1234 bytes.', 0.0),
        ('Container image "a:1" already present on machine', 0.0),
    ],
    ids=["with its size", "waiting", "alone", "with a dot", "more than its start-up", "a check", "present"],
)
def test_a_pull_is_as_long_as_its_event_says(message: str, seconds: float) -> None:
    items = app()
    pulled = event("Pulled", items[-1], message, AT + 30)
    assert seconds_of(RolloutActivity.PULL, *items, pulled) == {KEY: [pytest.approx(seconds)]}


def test_a_pull_without_a_time_lasts_from_pulling_to_pulled() -> None:
    items = app()
    begun = event("Pulling", items[-1], 'Pulling image "a:1"', AT + 2)
    pulled = event("Pulled", items[-1], 'Successfully pulled image "a:1"', AT + 27)
    assert seconds_of(RolloutActivity.PULL, *items, begun, pulled) == {KEY: [25.0]}
    assert seconds_of(RolloutActivity.PULL, *items, pulled) == {}
    assert seconds_of(RolloutActivity.PULL, *items) == {}


def test_a_pod_with_two_containers_needs_both_events() -> None:
    items = app()
    items[-1]["spec"]["containers"] = [*items[-1]["spec"]["containers"], {"name": "proxy", "image": "b:1"}]
    first = event("Pulled", items[-1], 'Successfully pulled image "a:1" in 5s (5s including waiting)', AT + 5)
    second = event("Pulled", items[-1], 'Successfully pulled image "b:1" in 7s (9s including waiting)', AT + 14)
    second["metadata"]["name"] += ".2"
    assert seconds_of(RolloutActivity.PULL, *items, first) == {}
    assert seconds_of(RolloutActivity.PULL, *items, first, second) == {KEY: [14.0]}


# ── terminations ─────────────────────────────────────────────────────────────────────────────────────────────────────
def gone(name: str = "app-1-old", host: str = "n0", message: str = STOPPING, at: float = AT - 40) -> Item:
    return event("Killing", pod(name, pod_spec(), uid=f"old-{name}"), message, at, host=host)


def waited(items: list[Item]) -> Item:
    return event("FailedScheduling", items[-1], WAITED, AT - 45)


def test_who_waited_for_the_room_tells_when_a_pod_was_gone() -> None:
    items = app()
    assert seconds_of(RolloutActivity.END, *items, gone(), waited(items)) == {KEY: [40.0]}


@pytest.mark.parametrize(
    "killed",
    [
        [gone(), gone("app-1-other")],
        [gone(host="n1")],
        [gone(host="")],
        [gone(message="Container main failed liveness probe, will be restarted")],
        [gone(at=AT + 5)],
        [gone("stranger-7-old")],
    ],
    ids=["of two one", "another node", "no node", "a restart", "later", "nobody's"],
)
def test_what_doesnt_tell_whose_room_it_was_is_no_termination(killed: list[Item]) -> None:
    items = app()
    assert seconds_of(RolloutActivity.END, *items, *killed, waited(items)) == {}


def test_a_wait_longer_than_the_grace_period_was_for_something_else() -> None:
    """Its grace period is 30 s, and until its room is another's it may take as long again."""
    items = app()
    assert seconds_of(RolloutActivity.END, *items, gone(at=AT - 60), waited(items)) == {KEY: [60.0]}
    assert seconds_of(RolloutActivity.END, *items, gone(at=AT - 61), waited(items)) == {}
    hours_ago = gone("app-1-other", at=AT - 3_000)  # and leaves no doubt whose room it was
    assert seconds_of(RolloutActivity.END, *items, hours_ago, gone(), waited(items)) == {KEY: [40.0]}


def test_who_began_to_wait_when_the_pod_had_to_be_gone_tells_nothing() -> None:
    items = app()
    late = event("FailedScheduling", items[-1], WAITED, AT - 9)
    assert seconds_of(RolloutActivity.END, *items, gone(), late) == {}
    in_time = event("FailedScheduling", items[-1], WAITED, AT - 10)
    assert seconds_of(RolloutActivity.END, *items, gone(), in_time) == {KEY: [40.0]}


def test_the_stop_of_a_restart_before_is_another() -> None:
    items = app()
    before, last = gone(at=AT - 900), gone(at=AT - 38)
    before["metadata"]["name"] += ".before"
    assert seconds_of(RolloutActivity.END, *items, before, last, waited(items)) == {KEY: [38.0]}
    sidecar = gone(at=AT - 36)  # the first container's stop counts
    sidecar["metadata"]["name"] += ".sidecar"
    assert seconds_of(RolloutActivity.END, *items, last, sidecar, waited(items)) == {KEY: [38.0]}
    summed = gone(at=AT - 900)
    summed["lastTimestamp"], summed["count"] = last["lastTimestamp"], 2
    assert seconds_of(RolloutActivity.END, *items, summed, waited(items)) == {KEY: [38.0]}


def test_a_name_of_two_owners_tells_of_neither() -> None:
    items = app()
    killed = gone("batch-old")
    meta, spec = {"name": "batch", "namespace": "ml", "uid": "job"}, {"template": {"spec": pod_spec()}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
    assert seconds_of(RolloutActivity.END, *items, job, killed, waited(items)) == {"Job/ml/batch": [40.0]}
    sets = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {**meta, "uid": "sts"},
        "spec": {**stateful()[0]["spec"]},
    }
    assert seconds_of(RolloutActivity.END, *items, job, sets, killed, waited(items)) == {}


def test_each_pod_that_is_gone_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of a node that wait one after another: as many looks as pods, not as many as pairs."""
    number, looks = 300, 0
    items = deployment("app", ["n0"] * number, pod_spec(gpus=1))
    found = list[Item]()
    for place, one in enumerate(one for one in items if one["kind"] == "Pod"):
        timed(one, AT, AT + 100 * place, AT + 100 * place + 60)
        found += [gone(f"app-1-old{place}", at=AT + 100 * place - 20)]
        found += [event("FailedScheduling", one, WAITED, AT + 100 * place - 25)]

    class Counted(_Gone):
        def __getattribute__(self, name: str) -> Any:
            nonlocal looks
            looks += name == "since"
            return super().__getattribute__(name)

    monkeypatch.setattr("planner.inventory.past_durations._Gone", Counted)
    assert seconds_of(RolloutActivity.END, *items, *found) == {KEY: [20.0] * number}
    assert number <= looks < 10 * number


def test_an_event_of_the_year_1_has_no_time() -> None:
    items = app()
    first = {**gone(), "firstTimestamp": "0001-01-01T00:00:00Z", "lastTimestamp": "0001-01-01T00:00:00Z"}
    assert seconds_of(RolloutActivity.END, *items, first, waited(items)) == {}
    never = {**waited(items), "firstTimestamp": "0001-01-01T00:00:00Z"}
    assert seconds_of(RolloutActivity.END, *items, gone(), never) == {}


def test_who_found_room_at_once_tells_nothing() -> None:
    assert seconds_of(RolloutActivity.END, *app(), gone()) == {}


def stateful(uid: str = "new") -> list[Item]:
    meta = {"name": "web", "namespace": "ml", "uid": "sts"}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "replicas": 1, "serviceName": "web"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()}
    one = pod("web-0", pod_spec(), on="n0", labels={"app": "web"}, owner=owner("StatefulSet", "web", "sts"), uid=uid)
    timed(one, AT, AT + 1, AT + 20)
    return [{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": {**spec, "template": template}}, one]  # fmt: skip


def test_the_next_pod_of_a_name_is_made_when_the_one_before_it_is_gone() -> None:
    found = [*stateful(), gone("web-0", at=AT - 300), gone("web-0", at=AT - 25)]
    found[-1]["involvedObject"]["uid"], found[-1]["metadata"]["name"] = "later", "later.killing"
    assert seconds_of(RolloutActivity.END, *found) == {"StatefulSet/ml/web": [25.0]}
    assert seconds_of(RolloutActivity.END, *stateful(), gone("web-0", at=AT + 25)) == {}
    assert seconds_of(RolloutActivity.END, *stateful(), gone("web-0", at=AT - 60)) == {"StatefulSet/ml/web": [60.0]}
    assert seconds_of(RolloutActivity.END, *stateful(), gone("web-0", at=AT - 7_200)) == {}  # scaled to 0 in between
    assert seconds_of(RolloutActivity.START, *stateful()) == {"StatefulSet/ml/web": [19.0]}


def deleted(finished: float | None, **event_of: Any) -> list[Item]:
    items = app()
    items[-1]["metadata"]["deletionTimestamp"] = items[-1]["metadata"]["creationTimestamp"]
    state: Item = {"running": {}}
    if finished is not None:
        at = event("", items[-1], "", finished)["firstTimestamp"]
        state = {"terminated": {"exitCode": 0, "finishedAt": at}}
    items[-1]["status"]["containerStatuses"] = [{"name": "main", "image": "a:1", "imageID": "", "ready": False, "restartCount": 0, "state": state}]  # fmt: skip
    return items


def test_a_pod_whose_containers_have_finished_tells_how_long_they_took() -> None:
    assert seconds_of(RolloutActivity.END, *deleted(AT - 12)) == {}  # since when nobody tells
    items = deleted(AT - 12)
    told = event("Killing", items[-1], STOPPING, AT - 20)
    assert seconds_of(RolloutActivity.END, *items, told) == {KEY: [8.0]}
    restarted = event("Killing", items[-1], STOPPING, AT - 5_000)
    restarted["metadata"]["name"] += ".before"
    assert seconds_of(RolloutActivity.END, *items, restarted, told) == {KEY: [8.0]}
    assert seconds_of(RolloutActivity.END, *items, restarted) == {}
    assert seconds_of(RolloutActivity.END, *deleted(None), told) == {}
    assert seconds_of(RolloutActivity.END, *deleted(AT - 60), told) == {}  # it had finished before


@pytest.mark.parametrize(("asked", "seconds"), [(20.0, [8.0]), (11.0, []), (5_000.0, [])])
@pytest.mark.parametrize("grace", [10, 45])
def test_a_pod_that_is_being_deleted_tells_itself_since_when(asked: float, seconds: list[float], grace: int) -> None:
    """Its deletionTimestamp has the grace period of the request in it, whichever that was. What a finalizer keeps for an hour tells nothing."""
    items = deleted(AT - 12)
    until = event("", items[-1], "", AT - asked + grace)["firstTimestamp"]
    items[-1]["metadata"] |= {"deletionTimestamp": until, "deletionGracePeriodSeconds": grace}
    assert seconds_of(RolloutActivity.END, *items) == ({KEY: seconds} if seconds else {})


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def came(made: float) -> Item:
    one = node("n0", pool="gpu", gpus=1)
    one["metadata"]["creationTimestamp"] = event("", pod("a", pod_spec()), "", made)["firstTimestamp"]
    return one


def placed(created: float, scheduled: float = AT) -> list[Item]:
    items = app()
    timed(items[-1], created, scheduled, scheduled + 60)
    return items


def test_a_node_that_came_for_a_pod_tells_how_long_it_took() -> None:
    items = placed(AT - 200)
    assert seconds_of(RolloutActivity.ARRIVAL, *items, came(AT - 60)) == {"gpu": [200.0]}
    asked = event("TriggeredScaleUp", items[-1], "pod triggered scale-up", AT - 190)
    assert seconds_of(RolloutActivity.ARRIVAL, *items, came(AT - 60), asked) == {"gpu": [190.0]}
    named = event("Nominated", items[-1], "Pod should schedule on: nodeclaim/gpu-x7k2p", AT - 185)
    assert seconds_of(RolloutActivity.ARRIVAL, *items, came(AT - 60), named) == {"gpu": [185.0]}
    there = event("Nominated", items[-1], "Pod should schedule on: node/n0", AT - 185)
    assert seconds_of(RolloutActivity.ARRIVAL, *items, came(AT - 60), there) == {"gpu": [200.0]}


def test_the_pod_that_was_placed_first_tells_since_when_its_node_was_asked_for() -> None:
    items = deployment("app", ["n0", "n0"], pod_spec(gpus=1))
    first, second = (one for one in items if one["kind"] == "Pod")
    timed(first, AT - 100, AT, AT + 60)
    timed(second, AT - 700, AT + 50, AT + 110)
    assert seconds_of(RolloutActivity.ARRIVAL, *items, came(AT - 60)) == {"gpu": [100.0]}
    timed(second, AT - 700, AT, AT + 60)  # at once: the one that waited longer, if nothing tells for which it was asked
    assert seconds_of(RolloutActivity.ARRIVAL, *items, came(AT - 60)) == {"gpu": [700.0]}
    asked = event("TriggeredScaleUp", first, "pod triggered scale-up", AT - 90)
    assert seconds_of(RolloutActivity.ARRIVAL, *items, came(AT - 60), asked) == {"gpu": [90.0]}


@pytest.mark.parametrize(
    ("created", "made"),
    [(AT - 200, AT - 300), (AT - 200, AT + 10), (AT - 5_000, AT - 60)],
    ids=["there before", "after it", "longer than a node may take"],
)
def test_a_node_that_didnt_come_for_the_pod_tells_nothing(created: float, made: float) -> None:
    assert seconds_of(RolloutActivity.ARRIVAL, *placed(created), came(made)) == {}
