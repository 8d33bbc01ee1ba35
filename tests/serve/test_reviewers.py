"""The processes that answer reviews."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from planner.cli import main
from planner.rollout.gate_policy import GatePolicy, read_policy
from planner.serve import review_processes
from planner.serve.admission_review import Silence, WebhookReview
from planner.serve.request_limits import LIMITS
from tests.architecture.tree import ROOT
from tests.builders.objects import deployment, node, pod_spec, snapshot


def test_a_mistake_costs_one_answer_and_not_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> WebhookReview:
        raise AssertionError("never comes to rest")

    recorded = json.loads((ROOT / "tests/serve/recordings/admission.json").read_text())
    body = json.dumps(recorded["steps"][0]["reviews"][0]["body"]).encode()
    cluster = snapshot(node("gpu-0", gpus=1), deployment("serve", ["gpu-0"], pod_spec(gpus=1)))
    monkeypatch.setattr(review_processes, "review", broken)
    found = review_processes._reviewed(cluster, (), body, time.monotonic() + 60)
    assert found == WebhookReview(silence=Silence.NOT_KNOWN)
    assert "a mistake of ours: AssertionError: never comes to rest" in capsys.readouterr().err


class Idle:
    """A process that knows what there is, nothing, and is asked nothing."""

    known = ()


def test_long_reviews_come_last_and_leave_one_process_to_the_others() -> None:
    several = review_processes.Reviewers(2, print)
    for body in (b"x" * review_processes.LARGE, b"first", b"y" * review_processes.LARGE, b"second"):
        several.ask(body, 0.0)
    taken = [several._next(Idle(), takes_large=True) for _ in range(4)]  # type: ignore[arg-type] # it is asked for no more
    assert [one.body[:6] for one in taken if one] == [b"first", b"second", b"xxxxxx", b"yyyyyy"]
    several.ask(b"x" * review_processes.LARGE, 0.0)
    threading.Timer(0.5, several.stop).start()
    assert several._next(Idle(), takes_large=False) is None  # type: ignore[arg-type]


def test_one_process_takes_all() -> None:
    assert [thread._args[0] for thread in review_processes.Reviewers(3, print)._threads] == [False, True, True]  # type: ignore[attr-defined]
    assert [thread._args[0] for thread in review_processes.Reviewers(1, print)._threads] == [True]  # type: ignore[attr-defined]


def test_so_many_wait_of_either_kind_and_no_more() -> None:
    one = review_processes.Reviewers(1, print)
    for body in (b"x" * review_processes.LARGE, b"short"):
        found = [one.ask(body, 0.0) for _ in range(LIMITS.questions_waiting + 1)]
        assert [answer.done() for answer in found] == [False] * LIMITS.questions_waiting + [True]


def test_who_would_wait_until_time_is_up_hears_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one = review_processes.Reviewers(2, print)
    monkeypatch.setattr("planner.serve.review_processes.time.monotonic", lambda: 100.0)
    assert not any(one.ask(b"short", 100.9).done() for _ in range(40))  # nobody knows yet how long one takes
    one._questions.clear()
    one._takes = 0.1
    found = [one.ask(b"short", 100.9).done() for _ in range(30)]
    assert found == [False] * 15 + [True] * 15  # by two, 14 are answered in 0.7 s and 15 in 0.75
    assert not one.ask(b"short", 130.0).done()  # who has more time waits
    assert not one.ask(b"x" * review_processes.LARGE, 100.9).done()  # a line of their own


def test_how_long_a_review_takes_is_told_by_those_that_were_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("planner.serve.review_processes.time.monotonic", lambda: now[0])

    class Slow:
        def review(self, *_: object) -> WebhookReview:
            now[0] += 0.5
            return WebhookReview(silence=Silence.COMPLETES)

    one = review_processes.Reviewers(1, print)
    for body, until in ((b"late", 99.0), (b"x" * review_processes.LARGE, 200.0)):
        one._answered(Slow(), review_processes._PendingReview(body, until, Future()))  # type: ignore[arg-type] # it is asked for no more
        assert one._takes == 0.0
    for _ in range(100):
        one._answered(Slow(), review_processes._PendingReview(b"short", 999.0, Future()))  # type: ignore[arg-type]
    assert one._takes == pytest.approx(0.5, rel=0.01)


class Telling:
    """A process that keeps whether it was told to look for ways out."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def review(self, *asked: object) -> WebhookReview:
        self.told.append(asked[-1])
        return WebhookReview(silence=Silence.COMPLETES)


def test_a_way_out_is_looked_for_while_nobody_waits() -> None:
    process = Telling()
    one = review_processes.Reviewers(1, print)
    for _ in range(3):
        one.ask(b"short", time.monotonic() + 60)
    one.ask(b"x" * review_processes.LARGE, time.monotonic() + 60)  # those wait in a line of their own, and come last
    for _ in range(4):
        asked = one._next(Idle(), takes_large=True)  # type: ignore[arg-type] # it is asked for no more
        assert asked is not None
        one._answered(process, asked)  # type: ignore[arg-type]
    assert process.told == [False, False, True, True]


def test_who_comes_while_another_process_has_nothing_to_do_doesnt_wait() -> None:
    """Two come at once, as of a sync: the first to wake holds Python's lock, so that it would see the second one's in the line."""
    process = Telling()
    one = review_processes.Reviewers(2, print)
    other = threading.Thread(target=one._next, args=(Idle(), False), daemon=True)
    other.start()
    deadline = time.monotonic() + 60
    while not process.told and time.monotonic() < deadline:
        with one._has_more:  # the other can't wake before this one has begun
            if one._idle:
                one.ask(b"short", deadline)
                one.ask(b"short", deadline)
                asked = one._questions.popleft()
                one._answered(process, asked)  # type: ignore[arg-type]
                one.ask(b"short", deadline)
                one._answered(process, asked)  # type: ignore[arg-type]
    one.stop()
    other.join()
    assert process.told == [True, False]


def test_the_policy_of_the_gate_is_asked() -> None:
    recorded = json.loads((ROOT / "tests/serve/recordings/admission.json").read_text())
    bodies = {step["name"]: step["reviews"][0]["body"] for step in recorded["steps"]}
    body = json.dumps(bodies["patch-image"]).encode()
    full = snapshot(node("gpu-0", gpus=1), deployment("serve", ["gpu-0"], pod_spec(gpus=1, cpu="3", memory="6Gi")))
    until = time.monotonic() + 60
    assert review_processes._reviewed(full, (), body, until, GatePolicy()).is_stuck
    lenient = read_policy('[gate]\nfail = ["unknown"]\n', "headroom.toml")
    assert review_processes._reviewed(full, (), body, until, lenient).silence is Silence.BY_POLICY


def test_serve_refuses_a_policy_that_it_can_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "headroom.toml"
    policy.write_text('[gate]\nfail = ["stuk"]\n')
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "demo", "--policy", str(policy)])
    assert stopped.value.code == 1
    assert "Give a list of stuck" in capsys.readouterr().err


def test_what_was_let_through_is_remembered_for_a_while_but_for_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    one, now = review_processes.Reviewers(1, print), [100.0]
    monkeypatch.setattr("planner.serve.review_processes.time.monotonic", lambda: now[0])
    one.remember(b"first")
    one.remember(b"x" * review_processes.LARGE)
    now[0] += 30
    one.remember(b"second")
    assert one._remembered() == (b"first", b"second")
    now[0] += 31
    assert one._remembered() == (b"second",)
    for number in range(100):
        one.remember(b"%d" % number)
    assert len(one._remembered()) == LIMITS.writes_remembered


def test_the_review_of_our_own_is_one_that_is_answered() -> None:
    cluster = snapshot(node("gpu-0", gpus=1), deployment("serve", ["gpu-0"], pod_spec(gpus=1)))
    found = review_processes._reviewed(cluster, (), review_processes._OF_OUR_OWN, time.monotonic() + 60)
    assert found.silence in (
        Silence.COMPLETES,
        Silence.NOT_KNOWN,
    )  # played: whether classes were listed is all it hangs on
    assert found.workload == "Deployment/headroom/first-review"
    assert not found.rolls
