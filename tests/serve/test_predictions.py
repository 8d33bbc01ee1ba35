"""Predictions that ``headroom serve --predictions`` keeps, beside what came: played in real order, against a server that is watched."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import pytest
from click.testing import CliRunner

from planner.cli import headroom
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.history.prediction_outcomes import Judgement, judgement_of, outcome_of
from planner.history.prediction_scores import score_predictions
from planner.history.predictions import (
    Door,
    PredictedRollout,
    Prediction,
    PredictionOutcome,
    RolloutEnd,
    line_of,
    read_journal,
)
from planner.inventory.lists_from_watch_events import WatchedChanges
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.rollout.answers import Verdict
from planner.rollout.observed_course import Meanwhile, ObservedCourse
from planner.rollout.past_rollouts import PastCourse
from planner.serve import prediction_recorder
from planner.serve import request_limits as serve_limits
from planner.serve.admission_review import WebhookReview
from planner.serve.metrics import Metrics
from planner.serve.prediction_recorder import PredictionWatch
from planner.serve.review_processes import _reviewed
from planner.serve.snapshot_refresher import Keeper
from planner.sources import source_limits
from planner.sources.api_server_connection import Connection
from planner.sources.append_only_journal import Journal
from planner.sources.store import Store, StoredSnapshot
from planner.sources.watched_cluster import LiveReader, Timing
from tests.architecture.tree import ROOT
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.quick import is_quick
from tests.reference.__main__ import compare, read_recording
from tests.serve.played_rollouts import SCRIPTS, Control, Script, play
from tests.sources.api_server import api_server
from tests.sources.living import LivingCluster

QUICK: Final = Timing(snapshot=0.005, unchanged=3600.0, watch=(600, 900), first_wait=0.01)
RECORDINGS: Final = ROOT / "tests/conformance/rollouts"
AT: Final = 1_795_900_000.0


class InProcess:
    """In place of the process beside the server."""

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def end(self) -> None:
        pass


class Watched:
    """A rollout's cluster behind a server of its own, its reader, and the watch that keeps predictions of it."""

    def __init__(self, folder: Path, living: LivingCluster, reader: LiveReader) -> None:
        self.folder, self.living, self.reader = folder, living, reader
        self.control = Control(living, self.look)
        self.watch = self.begun()

    def begun(self) -> PredictionWatch:
        """A watch that holds nothing but what the journal tells, as after a start of `headroom serve`."""
        watch = PredictionWatch(Journal(str(self.folder), "c"), self.read, lambda: (), print, look_seconds=1.0)
        watch._process = InProcess()  # type: ignore[assignment] # what it runs is the same
        return watch

    def read(self) -> tuple[Snapshot, WatchedChanges]:
        """What the reader has, once it has all that was shown, at the time of the control plane."""
        last = {kind: log[-1][0] for path, kind in self.living.kinds.items() if (log := self.living._log[path])}
        deadline = time.monotonic() + 120.0

        def is_behind() -> bool:
            versions = self.reader._picture.versions
            return (
                any(int(versions.get(kind, 0)) < version for kind, version in last.items())
                or self.reader._made_of != self.reader._now_of()
            )

        while self.reader.snapshot is None or is_behind():
            assert time.monotonic() < deadline, "the reader never caught up"
            time.sleep(0.002)
        found, changes = self.reader.followed()
        assert found is not None
        return replace(found, taken_at=self.control.now), changes

    def look(self) -> None:
        self.watch._look()


@contextmanager
def watched(folder: Path) -> Iterator[Watched]:
    living = LivingCluster(bookmark_seconds=1.0)
    with api_server(living.play) as (configuration, _):
        reader = LiveReader("test", timing=QUICK, connect=lambda name: Connection(configuration, name=name))
        reader._connection.pace.most_per_minute = 1_000_000
        reader.start()
        try:
            yield Watched(folder, living, reader)
        finally:
            reader.stop()


def followed(
    path: Path, folder: Path, name: str, restarts_at: int = -1
) -> tuple[dict[str, str], dict[str, PredictedRollout], bool]:
    """The truth of each rollout by its id, what the journal holds of it, and whether the steps were those of the recording."""
    recording = read_recording(path)
    script = Script(name, recording)
    with watched(folder) as cluster:

        def between(simulation: Any, moment: int) -> None:
            if moment == restarts_at:
                cluster.watch = cluster.begun()
                cluster.look()
            script.between(simulation, moment)

        outcome, simulation = play(recording, cluster.control, between=between)
        truths = script.end(cluster.control, simulation)
    rollouts, damaged = read_journal(Journal(str(folder), "c").lines())
    assert damaged == 0
    is_recorded = name == "alone" and all(compare(recording, outcome)[field] for field in ("timeline", "verdict"))
    return truths, {rollout.prediction.id: rollout for rollout in rollouts}, is_recorded


def differences(truths: dict[str, str], kept: dict[str, PredictedRollout]) -> list[str]:
    """Rollouts that were begun and of which the journal says something else, or nothing."""
    wrong = []
    for key, truth in truths.items():
        rollout = kept.get(key)
        came = "lost" if rollout is None else "open" if rollout.outcome is None else rollout.outcome.outcome.value
        if came not in truth.split(" or "):
            wrong.append(f"{key}: {came}, not {truth}")
    return wrong


def drawn(number: int, seed: int) -> list[Path]:
    """Recordings whose every change is another template, in which volumes don't wait (`tests/conformance/README.md`)."""
    paths = [
        path
        for path in sorted(RECORDINGS.glob("*.json.gz"))
        if not path.name.startswith(("volume-", "n-volumes", "p-sts-claims", "p-nothing-changes"))
    ]
    random.Random(seed).shuffle(paths)
    chosen = []
    for path in paths:
        changes = json.loads(gzip.decompress(path.read_bytes()))["change"]
        if all(
            "template" in json.dumps(change["patch"])
            for change in (changes if isinstance(changes, list) else [changes])
        ):
            chosen.append(path)
        if len(chosen) == number:
            break
    return chosen


@pytest.mark.parametrize("seed", (0, 3, 6, 7, 9)[: 1 if is_quick() else None])  # each script, three with a restart
def test_played_rollouts_come_to_what_came_of_them(seed: int, tmp_path: Path) -> None:
    name = SCRIPTS[seed % len(SCRIPTS)]
    path = drawn(10, seed=7)[seed]
    truths, kept, _ = followed(path, tmp_path, name, restarts_at=1 if seed >= len(SCRIPTS) else -1)
    assert truths
    assert not differences(truths, kept), (path.name, name)


# ── what came of it, and whether the prediction was right ────────────────────────────────────────────────────────────
def prediction(verdict: Verdict = Verdict.COMPLETES, **more: Any) -> Prediction:
    fields: dict[str, Any] = {"id": "u-2", "at": AT, "workload": "Deployment/ml/api", "uid": "u", "generation": 2}
    return Prediction(**{**fields, "door": Door.WATCH, "digest": "d" * 32, "verdict": verdict, **more})


def course(**more: Any) -> ObservedCourse:
    fields: dict[str, Any] = {"workload": "Deployment/ml/api", "uid": "u", "generation": 2, "began": AT}
    return ObservedCourse(**{**fields, **more})


DONE: Final = {"course": PastCourse.COMPLETED, "is_over": True}
HUNG: Final = {"course": PastCourse.HUNG_STILL, "was_hung": True}
LATE: Final = {**HUNG, "is_overdue": True}
NODE: Final = (Meanwhile.NODE_ADDED,)
LOST: Final = (Meanwhile.NODE_LOST,)
OTHER: Final = (Meanwhile.OTHER_WORKLOAD,)


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        ({}, None),
        (HUNG, None),  # within its deadline
        (DONE, RolloutEnd.COMPLETED),
        (LATE, RolloutEnd.STUCK),
        ({**LATE, "meanwhile": LOST, "disturbed_by": LOST}, RolloutEnd.NODE_LOST),
        ({**LATE, "meanwhile": LOST}, RolloutEnd.STUCK),  # it went when the rollout stood still already
        ({**LATE, **DONE, "meanwhile": NODE}, RolloutEnd.CURED),
        ({**LATE, **DONE}, RolloutEnd.COMPLETED),  # late, and by itself
        ({**HUNG, **DONE, "cause": "no_room", "meanwhile": NODE}, RolloutEnd.CURED),
        (
            {**HUNG, **DONE, "cause": "image_pull", "meanwhile": OTHER},
            RolloutEnd.COMPLETED,
        ),  # nobody helped a slow start
        ({"is_overtaken": True, "is_over": True}, RolloutEnd.OVERTAKEN),
        ({**LATE, "is_overtaken": True, "is_over": True}, RolloutEnd.CURED),
        ({"is_over": True}, RolloutEnd.NOT_SEEN),
    ],
)
def test_what_came_of_a_course(seen: dict[str, Any], outcome: RolloutEnd | None) -> None:
    found = outcome_of(course(**seen), AT)
    assert (found and found.outcome) is outcome


@pytest.mark.parametrize(
    ("verdict", "seen", "judgement"),
    [
        (Verdict.COMPLETES, DONE, Judgement.RIGHT),
        (Verdict.COMPLETES, LATE, Judgement.WRONG),
        (
            Verdict.COMPLETES,
            {**LATE, "meanwhile": NODE, "disturbed_by": NODE},
            Judgement.WRONG,
        ),  # no node makes it hang
        (Verdict.COMPLETES, {**LATE, "meanwhile": LOST, "disturbed_by": LOST}, Judgement.MEANWHILE),
        (Verdict.COMPLETES, {**LATE, "meanwhile": OTHER}, Judgement.WRONG),  # after it hung
        (Verdict.COMPLETES, {**HUNG, **DONE, "cause": "no_room", "meanwhile": NODE}, Judgement.MEANWHILE),
        (Verdict.COMPLETES, {**LATE, **DONE, "meanwhile": NODE}, Judgement.WRONG),
        (Verdict.COMPLETES, {"is_overtaken": True, "is_over": True}, Judgement.NOT_KNOWN),
        (Verdict.STUCK, LATE, Judgement.RIGHT),
        (Verdict.STUCK, DONE, Judgement.WRONG),
        (Verdict.STUCK, {**DONE, "meanwhile": OTHER}, Judgement.MEANWHILE),
        (Verdict.STUCK, {**DONE, "meanwhile": LOST}, Judgement.WRONG),  # no lost node lets it complete
        (Verdict.STUCK, {**LATE, **DONE, "meanwhile": NODE}, Judgement.RIGHT),
        (Verdict.STUCK, {**HUNG, "is_overtaken": True, "is_over": True}, Judgement.RIGHT),
        (Verdict.STUCK, {"is_overtaken": True, "is_over": True}, Judgement.NOT_KNOWN),
        (Verdict.NEEDS_GROWTH, {**DONE, "nodes_added": ("n",)}, Judgement.RIGHT),
        (Verdict.NEEDS_GROWTH, DONE, Judgement.WRONG),
        (Verdict.NEEDS_GROWTH, LATE, Judgement.RIGHT),
        (Verdict.NEEDS_GROWTH, {**LATE, "nodes_added": ("n",)}, Judgement.WRONG),
        (Verdict.UNKNOWN, DONE, Judgement.NOT_KNOWN),
        (Verdict.STUCK, {"is_over": True}, Judgement.NOT_KNOWN),
        (Verdict.STUCK, {}, Judgement.OPEN),
    ],
)
def test_what_a_verdict_was_worth(verdict: Verdict, seen: dict[str, Any], judgement: Judgement) -> None:
    rollout = PredictedRollout(prediction=prediction(verdict), outcome=outcome_of(course(**seen), AT))
    assert judgement_of(rollout) is judgement


def test_scores_are_of_what_can_be_scored() -> None:
    done = PredictionOutcome(
        id="u-2", at=AT, outcome=RolloutEnd.COMPLETED, began=AT, ended=AT + 100, lowest_ready=2, pods_preempted=1
    )
    numbers: dict[str, Any] = {
        "least_seconds": 90.0,
        "most_seconds": 120.0,
        "lowest_ready": 2,
        "nodes_added": 0,
        "pods_preempted": 1,
    }
    rollouts = [
        PredictedRollout(prediction=prediction(**numbers, completes_share=0.9), outcome=done),
        PredictedRollout(
            prediction=prediction(**numbers), outcome=replace(done, ended=AT + 500, lowest_ready=1, nodes_added=1)
        ),
        PredictedRollout(
            prediction=prediction(**numbers), outcome=replace(done, ended=AT + 500, meanwhile=("node_lost",))
        ),
        PredictedRollout(prediction=prediction(Verdict.STUCK, completes_share=0.4), outcome=done),
        PredictedRollout(
            prediction=prediction(Verdict.STUCK), outcome=replace(done, outcome=RolloutEnd.CURED, was_hung=True)
        ),
        PredictedRollout(prediction=prediction(Verdict.UNKNOWN), outcome=done),
    ]
    scores = score_predictions(rollouts)
    assert (scores.right, scores.wrong, scores.not_known, scores.cured) == (4, 1, 1, 1)
    tallies = (scores.band, scores.lowest_ready, scores.nodes_added, scores.pods_preempted)
    assert [(tally.right, tally.scored) for tally in tallies] == [(1, 2), (1, 2), (1, 2), (2, 2)]
    assert scores.brier == pytest.approx((0.1**2 + 0.6**2) / 2)
    assert scores.clause == "4 of 5 right; 1 not known"
    assert (
        str(scores.sentence)
        == "3 said completes, 3 came so; 2 said stuck, 1 came so (1 cured); 1 not known; 50% ended within the band"
    )
    assert scores.predictions[0].judgement is Judgement.WRONG
    assert str(score_predictions(()).sentence) == "no prediction is kept yet"


# ── the journal ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_journal_loses_nothing_to_a_line_that_was_cut_off(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "prod/eu")
    assert journal.append(line_of(prediction()), AT)
    file = next(tmp_path.glob("predictions/cluster=prod%2Feu/day=*.jsonl"))
    file.write_bytes(file.read_bytes() + b'{"outcome": {"id": "u-')  # a machine stopped
    assert Journal(str(tmp_path), "prod/eu").append(line_of(prediction(id="u-3")), AT)
    rollouts, damaged = read_journal(Journal(str(tmp_path)).lines())
    assert [rollout.prediction.id for rollout in rollouts] == ["u-2", "u-3"]
    assert damaged == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [("completes_share", 1e308), ("completes_share", 1.5), ("seconds", -1.0), ("at", 1e300), ("replicas", 2**70)],
)
def test_a_line_with_numbers_that_no_prediction_has_is_damaged(field: str, value: float) -> None:
    """A share of 1e308 ended what scores are made of."""
    good = {
        "id": "u-1",
        "at": 1.0,
        "workload": "Deployment/a/b",
        "uid": "u",
        "generation": 1,
        "door": "watch",
        "digest": "d",
        "verdict": "stuck",
    }
    outcome = {"id": "u-1", "at": 9.0, "outcome": "completed", "began": 2.0, "cause": "told_by_a_later_release"}
    lines = [
        json.dumps({"prediction": good | {"completes_share": 1.0}}).encode(),
        json.dumps({"outcome": outcome}).encode(),
    ]
    rollouts, damaged = read_journal([*lines, json.dumps({"prediction": good | {field: value}}).encode()])
    assert (len(rollouts), damaged) == (1, 1)
    assert score_predictions(rollouts, damaged).predictions[0].cause == "told by a later release"


def test_a_journal_is_bounded_and_forgets_old_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(str(tmp_path), "c")
    monkeypatch.setattr("planner.sources.append_only_journal.LIMITS", replace(source_limits.LIMITS, journal_bytes=10))
    assert journal.append(b"12345678", AT)
    assert not journal.append(b"90", AT)
    assert journal.append(b"9", AT + 91 * 86_400)
    assert [*journal.lines()] == [b"9"]
    folder = next(tmp_path.rglob("*.jsonl")).parent
    with (folder / "day=2099-01-01.jsonl").open("wb") as file:
        file.truncate(100 * 2**30)  # which takes no room on the disk
    os.mkfifo(folder / "day=2099-01-02.jsonl")
    (folder / "day=2099-01-03.jsonl").symlink_to(
        "a" * 300
    )  # asking what it is fails, as in a folder that may not be entered
    (folder / "day=2000-01-01.jsonl").mkdir()
    assert [len(line) for line in journal.lines()] == [1, 20], "as much as a day may have, twice"
    assert journal.append(b"7", AT + 92 * 86_400), "a folder under the name of an old day stops nothing"
    with pytest.raises(InputError, match="bucket"):
        Journal("s3://bucket/path", "c")


def test_a_later_line_stands_for_the_earlier(tmp_path: Path) -> None:
    stuck = PredictionOutcome(id="u-2", at=AT, outcome=RolloutEnd.STUCK, began=AT, was_hung=True, is_overdue=True)
    lines = [
        line_of(prediction()),
        line_of(stuck),
        line_of(prediction(seconds=30.0)),
        line_of(replace(stuck, outcome=RolloutEnd.CURED)),
    ]
    ((rollout,), _) = read_journal(lines)
    assert rollout.prediction.seconds == 30.0
    assert rollout.outcome is not None
    assert rollout.outcome.outcome is RolloutEnd.CURED


def test_an_outcome_is_not_of_the_next_write_of_that_number(tmp_path: Path) -> None:
    """The API server refused the first one, so that the next one got its generation."""
    journal, now = Journal(str(tmp_path), "c"), time.time()
    refused = PredictionOutcome(id="u-2", at=now, outcome=RolloutEnd.NOT_SEEN, began=now)
    journal.append(line_of(prediction(at=now)), now)
    journal.append(line_of(refused), now)
    assert following(tmp_path, lambda: (snapshot(), WatchedChanges())).open == 0
    journal.append(line_of(prediction(Verdict.STUCK, at=now)), now)
    assert following(tmp_path, lambda: (snapshot(), WatchedChanges())).open == 1
    ((rollout,), _) = read_journal(journal.lines())
    assert (rollout.prediction.verdict, rollout.outcome) == (Verdict.STUCK, None)


# ── the webhook ──────────────────────────────────────────────────────────────────────────────────────────────────────
def written(cluster: Snapshot, patch: dict[str, Any], *, keeps: bool = True) -> WebhookReview:
    """The review of a write of ``Deployment/ml/serve``, as an API server sends it and a process of the webhook answers it."""
    spec = pod_spec(gpus=1, cpu="3", memory="6Gi")
    old = deployment("serve", ["gpu-0"], spec)[0]
    old["metadata"] |= {"generation": 1}
    new = json.loads(json.dumps(old))
    new["metadata"] |= {"generation": 2}
    new["spec"] |= patch
    request = {
        "uid": "r", "operation": "UPDATE", "namespace": "ml", "name": "serve", "object": new, "oldObject": old,
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).encode()
    return _reviewed(cluster, (), body, time.monotonic() + 60.0, keeps=keeps)


def test_the_webhooks_verdict_is_kept_before_its_answer_and_stays(tmp_path: Path) -> None:
    spec = pod_spec(gpus=1, cpu="3", memory="6Gi")
    cluster = snapshot(node("gpu-0", pool="gpu", gpus=1), deployment("serve", ["gpu-0"], spec))
    cluster = replace(cluster, taken_at=time.time())
    template = {
        "metadata": {"labels": {"app": "serve"}},
        "spec": {**spec, "containers": [{**spec["containers"][0], "image": "new"}]},
    }
    journal = Journal(str(tmp_path), "c")
    watch = PredictionWatch(journal, lambda: (cluster, WatchedChanges()), lambda: (), print, look_seconds=60.0)
    watch.keep(written(cluster, {"replicas": 2}))  # no rollout: only scaled
    assert [*journal.lines()] == []
    review = written(cluster, {"template": template}, keeps=False)
    assert (review.is_stuck, review.written, review.rollout) == (True, None, None)  # a template isn't sent for nothing
    watch.keep(written(cluster, {"template": template}))
    ((rollout,), _) = read_journal(journal.lines())
    kept = rollout.prediction
    assert (kept.id, kept.door, kept.verdict) == ("d-serve-2", Door.WEBHOOK, Verdict.STUCK)
    assert kept.digest == cluster.digest
    watch._add(replace(kept, door=Door.WATCH, verdict=Verdict.COMPLETES, lowest_ready=0), course(uid="d-serve"))
    ((rollout,), _) = read_journal(journal.lines())
    assert (rollout.prediction.verdict, rollout.prediction.lowest_ready) == (Verdict.STUCK, 0)
    assert watch.counts[Judgement.OPEN] == 1


def following(folder: Path, read: Callable[[], tuple[Snapshot, WatchedChanges]], say: Any = print) -> PredictionWatch:
    """A watch whose looks are made by hand, in this process."""
    watch = PredictionWatch(Journal(str(folder), "c"), read, lambda: (), say, look_seconds=60.0)
    watch._process = InProcess()  # type: ignore[assignment] # what it runs is the same
    return watch


def test_a_write_that_was_never_stored_is_not_seen(tmp_path: Path) -> None:
    cluster = snapshot(
        node("gpu-0", pool="gpu", gpus=1), deployment("serve", ["gpu-0"], pod_spec(gpus=1, cpu="3", memory="6Gi"))
    )
    looks = [replace(cluster, taken_at=time.time() + at) for at in (1.0, 2.0, 700.0)]
    watch = following(tmp_path, lambda: (looks.pop(0), WatchedChanges()))
    own: dict[str, Any] = {"workload": "Deployment/ml/serve", "uid": "d-serve"}
    watch._open(prediction(**own, id="d-serve-2"), course(**own, began=time.time()))
    watch._look()
    watch._look()
    assert watch.open == 1
    watch._look()
    ((rollout,), _) = read_journal(Journal(str(tmp_path), "c").lines())
    assert rollout.outcome is not None
    assert rollout.outcome.outcome is RolloutEnd.NOT_SEEN
    assert watch.open == 0


def test_too_many_at_once_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_recorder, "LIMITS", replace(serve_limits.LIMITS, predictions_open=1))
    watch = following(tmp_path, lambda: (snapshot(), WatchedChanges()))
    for number in range(3):
        watch._open(prediction(id=f"u-{number}"), course())
    keeper = Keeper(snapshot, lambda _: (), lambda _: None, every_seconds=60.0, know=lambda *_: None, say=print)  # type: ignore[arg-type,return-value]
    text = Metrics(keeper, predictions=watch).exposed("")[0].decode()
    assert 'headroom_predictions{judgement="open"} 1.0' in text
    assert "headroom_predictions_not_kept_total 2.0" in text


def test_a_list_that_came_to_lack_something_is_known_anew_and_a_later_time_is_not() -> None:
    """Of a live cluster its objects are the same then: `headroom serve` would answer as if it were whole."""
    whole, known = snapshot(node("a")), list[Snapshot]()
    partial = replace(whole, presence=FrozenMap({**whole.presence, "Node": Presence.PARTIAL}))
    later = replace(partial, taken_at=whole.taken_at + 60.0)
    readings, metrics_of = iter([whole, partial, later]), list[Snapshot]()
    keeper = Keeper(
        lambda: next(readings), lambda _: (), metrics_of.append, every_seconds=60.0, know=lambda found, _: known.append(found), say=print  # type: ignore[arg-type]
    )  # fmt: skip
    for _ in range(3):
        keeper.list_anew()
        keeper.tell()
    assert known == metrics_of == [whole, partial]


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def store(tmp_path: Path) -> str:
    journal, now = Journal(str(tmp_path), "prod"), time.time()
    for name, verdict, outcome in (
        ("api", Verdict.COMPLETES, RolloutEnd.COMPLETED),
        ("train", Verdict.STUCK, RolloutEnd.COMPLETED),
    ):
        key = f"Deployment/zebra-crew/{name}-acme"
        sentence = f"stuck: {key} waits" if verdict is Verdict.STUCK else "completes in 2 steps"
        journal.append(line_of(prediction(verdict, id=name, at=now, workload=key, sentence=sentence)), now)
        journal.append(line_of(PredictionOutcome(id=name, at=now, outcome=outcome, began=now, ended=now + 60)), now)
    return str(tmp_path)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(headroom, ["store", "trends", *arguments], standalone_mode=False)


def test_trends_tell_how_often_predictions_were_right(store: str) -> None:
    found = run(store, "--predictions")
    assert found.return_value == ExitStatus.ANSWERED
    assert "1 said completes, 1 came so; 1 said stuck, 0 came so." in found.output
    rows = [line for line in found.output.splitlines() if "-acme" in line]
    assert ["wrong" in rows[0], "right" in rows[1]] == [True, True]
    document = json.loads(run(store, "--predictions", "-o", "json").output)
    assert document["format"] == "headroom.predictions/v1"
    assert (document["result"]["right"], document["result"]["wrong"]) == (1, 1)
    assert run(store, "--predictions", "--cluster", "other").return_value == ExitStatus.NOT_KNOWN


def test_what_is_handed_on_has_no_names(store: str, tmp_path: Path) -> None:
    table, file = run(store, "--predictions", "--anonymize", "-o", "csv").output, tmp_path / "case.json"
    assert run(store, "--predictions", "--case", str(file)).return_value == ExitStatus.ANSWERED
    case = json.loads(file.read_text())
    assert [one["outcome"]["outcome"] for one in case["predictions"]] == ["completed"]
    assert case["predictions"][0]["prediction"]["verdict"] == "stuck"
    for text in (table, file.read_text()):
        assert "Deployment/" in text
        assert not [name for name in ("zebra", "crew", "acme") if name in text]


@pytest.mark.parametrize(
    ("seconds", "lack", "is_damaged"),
    [
        (0.0, "", False),
        (600.0, "10 min older", False),
        (7_200.0, "no snapshot of the hour before", False),
        (0.0, "a snapshot of the hour before is damaged", True),
    ],
)
def test_a_case_holds_the_snapshot_that_the_store_has_or_says_what_is_lacking(
    seconds: float, lack: str, is_damaged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, now = Journal(str(tmp_path), "prod"), time.time()
    cluster = snapshot(node("gpu-0"), deployment("train-acme", ["gpu-0"], pod_spec(), namespace="zebra-crew"))
    cluster = replace(cluster, taken_at=now - seconds)
    other = replace(snapshot(node("gpu-1")), taken_at=now)  # of another cluster
    for name, kept in (("prod", cluster), ("other", other)):
        Store(str(tmp_path)).write(name, kept, {})
    if is_damaged:
        for file in tmp_path.rglob(f"*{cluster.digest[:16]}*"):
            file.write_bytes(b"damaged")
    digest = cluster.digest if not seconds else "0" * 32
    key, uid = "Deployment/zebra-crew/train-acme", "d-zebra-crew-train-acme"
    for name in ("a", "b"):
        journal.append(line_of(prediction(Verdict.STUCK, id=name, at=now, workload=key, uid=uid, digest=digest)), now)
        journal.append(line_of(PredictionOutcome(id=name, at=now, outcome=RolloutEnd.COMPLETED, began=now)), now)
    reads, snapshot_of = list[StoredSnapshot](), Store.snapshot

    def counted(store: Store, kept: StoredSnapshot) -> Snapshot:
        reads.append(kept)
        return snapshot_of(store, kept)

    monkeypatch.setattr(Store, "snapshot", counted)
    ran = run(str(tmp_path), "--predictions", "--case", str(tmp_path / "case.json"))
    assert 0 < len(reads) == len(set(reads))  # two predictions, and each snapshot is read once
    assert ran.return_value == ExitStatus.ANSWERED
    text = (tmp_path / "case.json").read_text()
    case = json.loads(text)["predictions"][0]
    assert "zebra" not in text
    assert "acme" not in text
    assert lack in " ".join(case["lacks"])
    assert ("snapshot" in " ".join(case["lacks"]), case["is_same_snapshot"]) == (bool(lack), not lack)
    if case["snapshot"] is not None:
        (kept,) = json.loads(text)["snapshots"].values()
        assert (
            case["prediction"]["workload"]
            == f"Deployment/{kept['workloads'][0]['namespace']}/{kept['workloads'][0]['name']}"
        )


def test_options_of_predictions_mean_nothing_without(store: str) -> None:
    assert isinstance(run(store, "--anonymize").exception, InputError)


def main(number: int, seed: int) -> None:
    """``python -m tests.serve.test_predictions 300 1``: so many recordings, each beside one script; every third with a restart."""
    import tempfile

    counts, wrong, began = Counter[str](), [], time.process_time()
    for place, path in enumerate(drawn(number, seed)):
        name = SCRIPTS[place % len(SCRIPTS)] if place % 2 else "alone"
        with tempfile.TemporaryDirectory() as folder:
            truths, kept, is_recorded = followed(path, Path(folder), name, restarts_at=1 if place % 3 == 0 else -1)
        counts["as recorded"] += is_recorded
        counts[f"played: {name}"] += 1
        counts["rollouts"] += len(truths)
        counts.update(f"truth: {truth}" for truth in truths.values())
        counts.update(f"judged: {judgement_of(rollout)}" for rollout in kept.values())
        lines = [
            f"{path.name} {name}{' restarted' if place % 3 == 0 else ''} {one}" for one in differences(truths, kept)
        ]
        wrong += lines
    totals = [f"{number:6,} {what}" for what, number in sorted(counts.items())]
    click.echo("\n".join([*wrong, *totals, f"{len(wrong):6,} differ", f"{time.process_time() - began:.0f} s of CPU"]))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
