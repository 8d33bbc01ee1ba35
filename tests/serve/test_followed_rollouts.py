"""What a real API server does while rollouts are followed: what is kept of each, and what came of it. No clock is waited for: events of a watch
are folded by hand, and each look is made by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from planner.ground.records import replace
from planner.history.prediction_outcomes import Judgement
from planner.history.predictions import COUNTED_DAYS, Door, PredictedRollout, RolloutEnd, line_of, read_journal
from planner.inventory import api_types
from planner.inventory.lists_from_watch_events import Picture, WatchedChanges
from planner.kubernetes.object_records import Snapshot
from planner.rollout.answers import Verdict
from planner.rollout.observed_course import Meanwhile, ObservedCourse, observe
from planner.serve import prediction_recorder
from planner.serve.prediction_recorder import PredictionWatch, predict
from planner.serve.request_limits import LIMITS
from planner.sources.append_only_journal import Journal
from tests.builders.objects import node, owner, pod, pod_spec, read_items
from tests.serve.test_predictions import InProcess, prediction

Item = dict[str, Any]
START: Final = float(int(time.time()) - 7_200)
KEY: Final = "Deployment/ml/api"


def iso(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


class Followed:
    """A cluster whose watch is told by hand, and the predictions that are kept of it."""

    def __init__(self, folder: Path) -> None:
        self.now, self.folder = START, folder
        self.said: list[str] = []
        self.objects: dict[tuple[str, str], Item] = {}
        self.picture = Picture()
        for kind in api_types.READ:
            self.picture.take(kind, [node(f"cpu-{i}") for i in range(3)] if kind == "Node" else [])
        self.write(1, "a")
        self.finish(1, "a", began=START - 3600)
        self.picture.told()
        self.watch = self.begun()
        self.watch._look()

    def begun(self) -> PredictionWatch:
        watch = PredictionWatch(
            Journal(str(self.folder), "c"), self.read, lambda: (), self.said.append, look_seconds=60.0
        )
        watch._process = InProcess()  # type: ignore[assignment] # what it runs is the same
        return watch

    def read(self) -> tuple[Snapshot, WatchedChanges]:
        changes = self.picture.told()
        return self.picture.snapshot(source="c", taken_at=self.now), changes

    def look(self, seconds: float = 5.0) -> None:
        self.now += seconds
        self.watch._look()

    def run(self, looks: int, patch: pytest.MonkeyPatch) -> None:
        """So many looks as its thread makes them."""
        turns = iter([False] * looks + [True])
        patch.setattr(self.watch._ended, "wait", lambda _: next(turns))
        self.watch._run()

    def put(self, *items: Item) -> None:
        for item in items:
            self.picture.fold(item["kind"], "MODIFIED", item)
            self.objects[item["kind"], item["metadata"]["name"]] = item

    def delete(self, kind: str, name: str) -> None:
        self.picture.fold(kind, "DELETED", self.objects.pop((kind, name)))

    def write_other(self, generation: int, *, uid: str = "o") -> None:
        """A StatefulSet of one pod, whose controller follows each write at once: that pod is on another node then."""
        template = {"metadata": {"labels": {"app": "other"}}, "spec": spec(f"o{generation}")}
        self.put({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "other", "namespace": "ml", "uid": uid, "generation": generation},
            "spec": {"replicas": 1, "serviceName": "other", "selector": {"matchLabels": {"app": "other"}}, "template": template},
        })  # fmt: skip
        self.put(
            pod("other-0", spec(f"o{generation}"), on=f"cpu-{generation}", uid=f"o-{generation}",
                owner=owner("StatefulSet", "other", uid), labels={"app": "other"})
        )  # fmt: skip

    def webhook_asked(self, generation: int, image: str) -> None:
        """A write that nothing is stored of yet: what the webhook keeps of it."""
        deployment = self.objects["Deployment", "api"]
        written = Picture()
        for kind in api_types.READ:
            written.take(kind, [])
        template = {"metadata": {"labels": {"app": "api"}}, "spec": spec(image)}
        written.fold("Deployment", "ADDED", {**deployment, "spec": {**deployment["spec"], "template": template}})
        (workload,) = written.snapshot(source="c", taken_at=self.now).workloads
        opened = ObservedCourse(
            workload=KEY, uid="d", generation=generation, began=self.now, template=workload.template
        )
        first = prediction(
            Verdict.STUCK, id=f"d-{generation}", at=self.now, uid="d", generation=generation, door=Door.WEBHOOK
        )
        self.watch._open(first, opened)

    def list_anew(self) -> None:
        """After 410: what happened meanwhile is told by no event."""
        for kind in ("Deployment", "ReplicaSet", "Pod"):
            self.picture.take(kind, [item for (listed, _), item in self.objects.items() if listed == kind])

    def write(self, generation: int, image: str, *, replicas: int = 2, paused: bool = False, uid: str = "d", restarted: str = "",
              strategy: Any = None) -> None:  # fmt: skip
        """What a user writes; the status is as it was."""
        template: Item = {"metadata": {"labels": {"app": "api"}}, "spec": spec(image)}
        if restarted:
            template["metadata"]["annotations"] = {"kubectl.kubernetes.io/restartedAt": restarted}
        known = self.objects.get(("Deployment", "api"), {"status": {}})
        self.put({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "api", "namespace": "ml", "uid": uid, "generation": generation, "creationTimestamp": iso(START - 7200)},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "api"}}, "template": template, "paused": paused,
                     "progressDeadlineSeconds": 600, **({"strategy": strategy} if strategy else {})},
            "status": known["status"],
        })  # fmt: skip

    def start(self, image: str, revision: int, began: float, *, replicas: int = 0) -> None:
        """A ReplicaSet of the template that is written; others lose their pods."""
        deployment = self.objects["Deployment", "api"]
        template = {**deployment["spec"]["template"]}
        template["metadata"] = {**template["metadata"], "labels": {"app": "api", "pod-template-hash": image}}
        known = self.objects.get(("ReplicaSet", f"api-{image}"))
        created = known["metadata"]["creationTimestamp"] if known else iso(began)
        self.put({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": f"api-{image}", "namespace": "ml", "uid": f"rs-{image}", "creationTimestamp": created,
                         "annotations": {"deployment.kubernetes.io/revision": str(revision)}, "ownerReferences": [owner("Deployment", "api", "d")]},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "api"}}, "template": template},
            "status": {"replicas": replicas, "readyReplicas": replicas},
        })  # fmt: skip

    def pod(self, image: str, number: int, at: float, *, is_ready: bool = True) -> None:
        by = owner("ReplicaSet", f"api-{image}", f"rs-{image}")
        item = pod(f"api-{image}-{number}", spec(image), on="cpu-0", owner=by, uid=f"p-{image}-{number}",
                   labels={"app": "api", "pod-template-hash": image})  # fmt: skip
        item["metadata"]["creationTimestamp"] = iso(at)
        ready = {"type": "Ready", "status": "True" if is_ready else "False", "lastTransitionTime": iso(at + 3)}
        item["status"]["conditions"] = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": iso(at)},
            ready,
        ]
        self.put(item)

    def finish(
        self, generation: int, image: str, revision: int = 1, *, began: float, replicas: int = 2, made: bool = True
    ) -> None:
        """All that a rollout leaves once it is done."""
        for old in [item for (kind, _), item in self.objects.items() if kind == "ReplicaSet"]:
            self.put({**old, "spec": {**old["spec"], "replicas": 0}})
        if made:
            self.start(image, revision, began, replicas=replicas)
            for number in range(replicas):
                self.pod(image, number, began)
        for kind, name in [key for key in self.objects if key[0] == "Pod" and not key[1].startswith(f"api-{image}-")]:
            self.delete(kind, name)
        deployment = self.objects["Deployment", "api"]
        status = {"observedGeneration": generation, "conditions": [{
            "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "lastUpdateTime": iso(began + 3), "lastTransitionTime": iso(START - 7000),
        }]} | dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas)  # fmt: skip
        self.put({**deployment, "status": status})

    @property
    def kept(self) -> dict[str, PredictedRollout]:
        rollouts, damaged = read_journal(Journal(str(self.folder), "c").lines())
        assert damaged == 0
        return {rollout.prediction.id: rollout for rollout in rollouts}

    @property
    def ends(self) -> dict[str, str]:
        return {key: rollout.outcome.outcome.value if rollout.outcome else "open" for key, rollout in self.kept.items()}


def spec(image: str) -> Item:
    made = pod_spec(cpu="1")
    return {**made, "containers": [{**made["containers"][0], "image": image}]}


@pytest.fixture
def cluster(tmp_path: Path) -> Followed:
    return Followed(tmp_path)


# ── what begins a rollout ────────────────────────────────────────────────────────────────────────────────────────────
def test_a_restart_of_the_template_is_one_and_a_scale_is_none(cluster: Followed) -> None:
    cluster.write(2, "a", replicas=3)
    cluster.look()
    assert cluster.kept == {}
    cluster.write(3, "a", replicas=3, restarted="now")
    cluster.look()
    assert cluster.ends == {"d-3": "open"}
    cluster.start("b", 2, cluster.now)
    cluster.finish(3, "b", 2, began=cluster.now, replicas=3)
    cluster.look()
    assert cluster.ends == {"d-3": "completed"}


def test_a_template_and_a_scale_at_once_are_one_rollout(cluster: Followed) -> None:
    cluster.write(2, "b")
    cluster.write(3, "b", replicas=3)
    cluster.look()
    assert cluster.ends == {"d-2": "open"}
    cluster.write(4, "b", replicas=4)  # its autoscaler, midway
    cluster.look()
    cluster.finish(4, "b", 2, began=cluster.now, replicas=4)
    cluster.look()
    outcome = cluster.kept["d-2"].outcome
    assert outcome is not None
    assert (cluster.ends, outcome.meanwhile) == ({"d-2": "completed"}, (Meanwhile.SCALED,))


def test_without_events_a_scaled_rollout_is_the_one_that_the_webhook_was_asked_about(cluster: Followed) -> None:
    cluster.webhook_asked(2, "b")
    cluster.write(2, "b")
    cluster.write(3, "b", replicas=3)
    cluster.picture.told()  # nobody was told of it
    cluster.look()
    assert {key: rollout.prediction.door for key, rollout in cluster.kept.items()} == {"d-2": Door.WEBHOOK}


def test_two_rollouts_in_one_look_are_both_kept(cluster: Followed) -> None:
    cluster.write(2, "b")
    cluster.write(3, "c")
    cluster.look()
    assert cluster.ends == {"d-2": "overtaken", "d-3": "open"}
    cluster.finish(3, "c", 3, began=cluster.now)
    cluster.look()
    assert cluster.ends == {"d-2": "overtaken", "d-3": "completed"}


def test_an_undo_in_the_same_look_is_a_rollout_of_its_own(cluster: Followed) -> None:
    cluster.write(2, "b")
    cluster.start("b", 2, cluster.now)
    cluster.write(3, "a")
    cluster.finish(3, "a", 3, began=cluster.now)
    cluster.look()
    assert cluster.ends == {"d-2": "overtaken", "d-3": "completed"}
    assert cluster.kept["d-3"].prediction.verdict is Verdict.COMPLETES


def test_an_undo_that_is_not_begun_is_not_done_by_the_condition_before_it(cluster: Followed) -> None:
    cluster.write(2, "b")
    cluster.finish(2, "b", 2, began=cluster.now)
    cluster.look()
    cluster.write(3, "a")
    cluster.start("a", 3, cluster.now)
    deployment = cluster.objects["Deployment", "api"]
    cluster.put({**deployment, "status": {**deployment["status"], "observedGeneration": 3, "updatedReplicas": 0}})
    cluster.look(1.0)
    assert cluster.ends == {"d-2": "completed", "d-3": "open"}


def test_a_pause_holds_a_rollout_until_it_ends(cluster: Followed) -> None:
    cluster.write(2, "b", paused=True)
    cluster.look()
    assert cluster.kept == {}
    cluster.write(3, "b")
    cluster.look()
    assert cluster.ends == {"d-3": "open"}
    assert cluster.kept["d-3"].prediction.verdict is Verdict.COMPLETES
    cluster.finish(3, "b", 2, began=cluster.now)
    cluster.look()
    assert cluster.ends == {"d-3": "completed"}


def test_a_pause_midway_is_the_same_rollout(cluster: Followed) -> None:
    cluster.write(2, "b")
    cluster.look()
    cluster.start("b", 2, cluster.now, replicas=1)
    cluster.write(3, "b", paused=True)
    cluster.look()
    cluster.write(4, "b")
    cluster.look()
    cluster.finish(4, "b", 2, began=cluster.now)
    cluster.look()
    assert [*cluster.ends] == ["d-2"]
    assert cluster.watch.counts == {Judgement.RIGHT: 1} or cluster.watch.counts == {Judgement.MEANWHILE: 1}


def test_no_pods_are_rolled_out_at_once(cluster: Followed) -> None:
    cluster.write(2, "a", replicas=0)
    cluster.finish(2, "a", 1, began=START, replicas=0)
    cluster.look()
    cluster.write(3, "b", replicas=0)
    cluster.look()
    cluster.finish(3, "b", 2, began=cluster.now, replicas=0)
    cluster.look()
    assert cluster.ends == {"d-3": "completed"}
    assert cluster.kept["d-3"].prediction.verdict is Verdict.COMPLETES


def test_jobs_and_what_waits_for_hands_are_no_rollouts(cluster: Followed) -> None:
    for generation, image in ((1, "a"), (2, "b")):
        template = {"metadata": {"labels": {"app": "x"}}, "spec": spec(image)}
        own: Item = {
            "selector": {"matchLabels": {"app": "x"}},
            "template": template,
            "updateStrategy": {"type": "OnDelete"},
        }
        for kind, more in (("DaemonSet", {}), ("StatefulSet", {"replicas": 1, "serviceName": "x"})):
            meta = {"name": "x", "namespace": "ml", "uid": kind, "generation": generation}
            cluster.put({"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": {**own, **more}})
        meta = {"name": "x", "namespace": "ml", "uid": "job", "generation": generation}
        cluster.put(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": meta,
                "spec": {"suspend": generation == 1, "template": template},
            }
        )
        cluster.look()
    assert cluster.kept == {}
    for kind in ("DaemonSet", "StatefulSet"):  # the same with a controller that replaces pods
        item = cluster.objects[kind, "x"]
        rolls = {**item["spec"], "updateStrategy": {"type": "RollingUpdate"}}
        cluster.put({**item, "spec": rolls, "metadata": {**item["metadata"], "generation": 3}})
        cluster.look()
        other = {**rolls, "template": {"metadata": {"labels": {"app": "x"}}, "spec": spec("c")}}
        cluster.put({**item, "spec": other, "metadata": {**item["metadata"], "generation": 4}})
        cluster.look()
    assert {*cluster.kept} == {"DaemonSet-4", "StatefulSet-4"}


# ── what comes of it ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_began_and_ended_while_the_watch_was_down_is_told_by_its_objects(cluster: Followed) -> None:
    cluster.write(2, "b")
    cluster.finish(2, "b", 2, began=cluster.now + 20)
    cluster.picture.told()
    cluster.list_anew()
    cluster.look(60.0)
    outcome = cluster.kept["d-2"].outcome
    assert outcome is not None
    assert (outcome.outcome, outcome.began, outcome.is_whole) == (RolloutEnd.COMPLETED, START + 20, False)


def test_a_workload_that_is_deleted_or_made_anew_is_not_seen_to_its_end(cluster: Followed) -> None:
    cluster.write(2, "b")
    cluster.look()
    cluster.delete("Deployment", "api")
    cluster.write(1, "c", uid="e")
    cluster.look()
    assert cluster.ends == {"d-2": "not_seen"}


@pytest.mark.parametrize(("image", "outcome"), [("b", "completed"), ("c", "overtaken")])
def test_a_restart_of_the_server_loses_none(cluster: Followed, image: str, outcome: str) -> None:
    cluster.write(2, "b")
    cluster.look()
    cluster.start("b", 2, cluster.now, replicas=1)
    cluster.now += 30
    cluster.write(3, image, replicas=3)  # while it is down
    cluster.finish(
        3, image, 2 if image == "b" else 3, began=cluster.now if image == "c" else cluster.now - 30, replicas=3
    )
    cluster.watch = cluster.begun()
    cluster.look()
    assert cluster.ends == {"d-2": outcome}
    assert cluster.watch.open == 0


def test_a_write_that_was_refused_is_not_the_next_one_of_its_number(cluster: Followed) -> None:
    cluster.webhook_asked(2, "refused")
    cluster.write(2, "b")
    cluster.look()
    cluster.finish(2, "b", 2, began=cluster.now)
    cluster.look()
    assert cluster.kept["d-2"].prediction.verdict is Verdict.COMPLETES
    assert cluster.ends == {"d-2": "completed"}


@pytest.mark.parametrize("is_asked_again", [True, False])
def test_what_the_webhook_is_asked_during_a_look_stays(
    cluster: Followed, monkeypatch: pytest.MonkeyPatch, is_asked_again: bool
) -> None:
    """The write of that number was refused by another webhook; the next one is stored after the look's snapshot was taken."""

    def slow(*arguments: Any, **more: Any) -> Any:
        if is_asked_again:
            cluster.webhook_asked(2, "b")
        return observe(*arguments, **more)

    cluster.webhook_asked(2, "refused")
    with monkeypatch.context() as patch:
        patch.setattr(prediction_recorder, "observe", slow)
        cluster.look(prediction_recorder.STORED_SECONDS + 1.0)
    assert cluster.ends == {"d-2": "open" if is_asked_again else "not_seen"}
    cluster.write(2, "b")
    cluster.finish(2, "b", 2, began=cluster.now)
    cluster.look()
    door = Door.WEBHOOK if is_asked_again else Door.WATCH
    assert (cluster.ends, cluster.kept["d-2"].prediction.door) == ({"d-2": "completed"}, door)


@pytest.mark.parametrize("follows", [True, False])
def test_what_began_and_ended_in_one_look_keeps_the_webhooks_verdict(cluster: Followed, follows: bool) -> None:
    cluster.webhook_asked(2, "b")
    cluster.write(2, "b")
    if follows:
        cluster.write(3, "c")
    else:
        cluster.finish(2, "b", 2, began=cluster.now)
    cluster.look()
    kept = cluster.kept["d-2"]
    assert (kept.prediction.door, kept.prediction.verdict) == (Door.WEBHOOK, Verdict.STUCK)
    assert kept.prediction.lowest_ready is not None, "its numbers"
    expected = {"d-2": "overtaken", "d-3": "open"} if follows else {"d-2": "completed"}
    assert (cluster.ends, cluster.watch.counts.total()) == (expected, len(expected))


def quota(namespace: str, pods: str) -> Item:
    metadata = {"name": "most", "namespace": namespace, "uid": f"quota-{namespace}"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"pods": pods}}}


@pytest.mark.parametrize(
    ("happens", "meanwhile"),
    [
        (lambda cluster: None, ()),
        (lambda cluster: cluster.put(quota("ml", "8")), (Meanwhile.QUOTA,)),
        (lambda cluster: cluster.put(quota("other", "8")), ()),
        (lambda cluster: cluster.write(3, "b", replicas=3), (Meanwhile.SCALED,)),
        (lambda cluster: cluster.write(3, "b", strategy={"type": "Recreate"}), (Meanwhile.SPEC_CHANGED,)),
        (lambda cluster: cluster.write(3, "b", replicas=3, strategy={"type": "Recreate"}), (Meanwhile.SPEC_CHANGED,)),
    ],
)  # fmt: skip
def test_what_users_change_beside_a_rollout_is_told_of_it(
    cluster: Followed, happens: Callable[[Followed], None], meanwhile: tuple[Meanwhile, ...]
) -> None:
    """Such a prediction is judged by what it could know. One that the webhook kept has seen no spec yet: its first look is no change."""
    cluster.put(quota("ml", "9"), quota("other", "9"))
    cluster.look()
    cluster.webhook_asked(2, "b")
    cluster.write(2, "b")
    cluster.look()
    happens(cluster)
    cluster.look()
    assert cluster.watch._courses["d-2"].meanwhile == meanwhile


@pytest.mark.parametrize(("size", "meanwhile"), [(1, (Meanwhile.OTHER_WORKLOAD,)), (2, ())])
def test_only_those_that_are_played_beside_it_does_a_prediction_know_of(
    cluster: Followed, monkeypatch: pytest.MonkeyPatch, size: int, meanwhile: tuple[Meanwhile, ...]
) -> None:
    monkeypatch.setattr(prediction_recorder, "LIMITS", replace(LIMITS, predictions_together=size))
    cluster.write_other(1)
    cluster.look()
    cluster.write(2, "b")
    cluster.write_other(2)
    cluster.look()
    assert cluster.watch._courses["d-2"].meanwhile == meanwhile
    assert {*cluster.kept} == {"d-2", "o-2"}


@pytest.mark.parametrize(("is_listed", "least"), [(False, 1), (True, 2)])
def test_a_dip_between_two_looks_is_told_by_the_watch(cluster: Followed, is_listed: bool, least: int) -> None:
    cluster.write(2, "b")
    cluster.look()
    began = cluster.now
    cluster.delete("Pod", "api-a-0")
    cluster.finish(2, "b", 2, began=began)
    if is_listed:
        cluster.list_anew()
    cluster.look()
    outcome = cluster.kept["d-2"].outcome
    assert outcome is not None
    assert (outcome.lowest_ready == least or not outcome.is_whole, outcome.is_whole) == (True, not is_listed)


@pytest.mark.parametrize(("is_before", "least"), [(True, 2), (False, 1)])
def test_a_dip_before_the_write_is_not_the_rollouts(cluster: Followed, is_before: bool, least: int) -> None:
    steps: list[Callable[[], object]] = [
        lambda: cluster.write(2, "b"),
        lambda: cluster.pod("a", 0, cluster.now, is_ready=False),
        lambda: cluster.pod("a", 0, cluster.now),
    ]
    for step in (*steps[1:], steps[0]) if is_before else steps:
        step()
    cluster.look()
    cluster.finish(2, "b", 2, began=cluster.now)
    cluster.look()
    outcome = cluster.kept["d-2"].outcome
    assert outcome is not None
    assert (outcome.lowest_ready, outcome.is_whole) == (least, True)


# ── mistakes of ours, and what is counted ────────────────────────────────────────────────────────────────────────────
def test_a_mistake_of_ours_costs_one_rollout_and_is_said_once(
    cluster: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(before: Any, now: Any, courses: Any, *changes: Any, **more: Any) -> Any:
        if any(course.workload == "Deployment/ml/odd" for course in courses):
            raise RuntimeError("KeyError")
        return observe(before, now, courses, *changes, **more)

    monkeypatch.setattr(prediction_recorder, "observe", failing)
    cluster.write(2, "b")
    cluster.look()
    odd = replace(cluster.watch._courses["d-2"], workload="Deployment/ml/odd", uid="o")
    cluster.watch._open(prediction(id="o-2", at=START, workload="Deployment/ml/odd"), odd)
    cluster.finish(2, "b", 2, began=cluster.now)
    cluster.look()
    assert cluster.ends == {"d-2": "completed", "o-2": "not_seen"}
    assert cluster.watch.errors == 2  # of all, and of that one alone
    assert len(cluster.said) == 1
    monkeypatch.setattr(prediction_recorder.PredictionWatch, "_look", lambda _: dict[str, int]()["lost"])
    cluster.run(2, monkeypatch)
    assert (cluster.watch.errors, len(cluster.said)) == (4, 2)


def test_another_mistake_of_the_same_type_is_said_too(cluster: Followed) -> None:
    for place in ("line 1", "line 2", "line 1"):
        mistake = RuntimeError("KeyError")
        mistake.add_note(place)  # its traceback in the process
        cluster.watch._report(mistake)
    assert ([said.splitlines()[-1] for said in cluster.said], cluster.watch.errors) == (["line 1", "line 2"], 3)


def test_a_mistake_of_the_look_itself_ends_no_rollout(cluster: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("KeyError")

    cluster.write(2, "b")
    cluster.write_other(1)
    cluster.look()
    cluster.write_other(2)
    cluster.look()
    with monkeypatch.context() as patch:
        patch.setattr(prediction_recorder, "observe", failing)
        cluster.look()
    assert (cluster.ends, cluster.watch.errors) == ({"d-2": "open", "o-2": "open"}, 1)
    cluster.finish(2, "b", 2, began=cluster.now)
    cluster.look()
    outcome = cluster.kept["d-2"].outcome
    assert outcome is not None
    assert (outcome.outcome, outcome.is_whole) == (RolloutEnd.COMPLETED, False), "what that look had isn't seen"


@pytest.mark.parametrize(("odd", "kept"), [({"o-2"}, {"d-2"}), ({"d-2", "o-2"}, set())])
def test_a_rollout_that_cannot_be_played_costs_no_other_prediction(
    cluster: Followed, monkeypatch: pytest.MonkeyPatch, odd: set[str], kept: set[str]
) -> None:
    def failing(before: Any, changes: Any, *more: Any) -> Any:
        if any(f"{change.after.uid}-2" in odd for change in changes):
            raise RuntimeError("AttributeError")
        return predict(before, changes, *more)

    monkeypatch.setattr(prediction_recorder, "predict", failing)
    cluster.write_other(1)
    cluster.look()
    cluster.write(2, "b")
    cluster.write_other(2)
    cluster.look()
    assert ({*cluster.kept}, cluster.watch.not_kept, len(cluster.said)) == (kept, len(odd), 1)


@pytest.mark.parametrize(("times", "kept"), [(1, {"d-2"}), (2, set())])
def test_a_look_that_ends_its_process_twice_is_not_tried_again(
    cluster: Followed, monkeypatch: pytest.MonkeyPatch, times: int, kept: set[str]
) -> None:
    def killed(*_: Any) -> Any:
        raise EOFError

    monkeypatch.setattr(prediction_recorder, "Holder", lambda **_: InProcess())
    cluster.write(2, "b")
    with monkeypatch.context() as patch:
        patch.setattr(InProcess, "run", killed)
        cluster.run(times, patch)
    assert (cluster.watch.errors, cluster.kept) == (times, {})
    cluster.run(1, monkeypatch)
    assert {*cluster.kept} == kept
    cluster.write(3, "c")
    cluster.run(1, monkeypatch)
    assert {*cluster.kept} == {*kept, "d-3"}, "it goes on"


def test_days_that_are_past_are_counted_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, now = Journal(str(tmp_path), "c"), time.time()
    journal.append(line_of(prediction(id="old", at=now - (COUNTED_DAYS - 1) * 86_400)), now)
    journal.append(line_of(prediction(id="new", at=now)), now)
    watch = PredictionWatch(journal, lambda: (read_items([]), WatchedChanges()), lambda: (), print, look_seconds=60.0)
    assert watch.counts[Judgement.OPEN] == 2
    monkeypatch.setattr(time, "time", lambda: now + 3 * 86_400)
    assert watch.counts[Judgement.OPEN] == 1
