"""A way out as a script: a real shell runs it, and kubectl only takes notes."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from planner.inventory.change import WorkloadChange
from planner.questions import rollout as rollout_question
from planner.questions.prepared import Scenario
from planner.questions.scripts import script, steps_of
from planner.rollout.answers import RemedyKind, Verdict
from planner.sources import demo

SERVE = "Deployment/prod/llm-serve"


def asked(**change: object) -> tuple[str, int]:
    result = rollout_question.rollout(demo.read(), Scenario(changes=(WorkloadChange(workload=SERVE, **change),)))  # type: ignore[arg-type]
    title, steps = steps_of(result)
    return script(title, steps, source="demo"), len(steps)


def run(folder: Path, text: str, *arguments: str, kubectl: str = "", **env: str) -> tuple[int, list[str], str]:
    """Exit status, what kubectl was called with, and what was said on standard error."""
    note = folder / "note"
    note.unlink(missing_ok=True)
    (folder / "kubectl").write_text(f'#!/bin/sh\necho "$@" >> {note}\n{kubectl}\n')
    (folder / "kubectl").chmod(0o755)
    (folder / "way-out.sh").write_text(text)
    done = subprocess.run(
        ["sh", "way-out.sh", *arguments], check=False, cwd=folder, capture_output=True, text=True, timeout=60,
        env={"PATH": f"{folder}:{os.environ['PATH']}", **env},
    )  # fmt: skip
    return done.returncode, note.read_text().splitlines() if note.exists() else [], done.stderr


def test_it_waits_for_each_rollout_before_the_next_step(tmp_path: Path) -> None:
    text, steps = asked()
    assert steps == 4
    status, calls, _ = run(tmp_path, text, HEADROOM_CHANGE="new.yaml")
    assert status == 0
    assert [call.split()[:2] for call in calls] == [
        ["scale", "deployment/llm-canary"], ["rollout", "status"], ["patch", "deployment/llm-serve"],
        ["apply", "-f"], ["rollout", "status"], ["scale", "deployment/llm-canary"],
    ]  # fmt: skip
    assert all("--timeout=" in call for call in calls if call.startswith("rollout"))
    assert calls[3] == "apply -f new.yaml"


def test_a_change_that_is_applied_already_is_only_waited_for(tmp_path: Path) -> None:
    calls = run(tmp_path, asked()[0], HEADROOM_CHANGE="applied")[1]
    assert not any(call.startswith("apply") for call in calls)
    assert len(calls) == 5


def test_without_knowing_the_change_nothing_is_done(tmp_path: Path) -> None:
    status, calls, said = run(tmp_path, asked()[0])
    assert (status, calls) == (1, [])
    assert "HEADROOM_CHANGE=FILE" in said


def test_a_step_that_fails_ends_it_and_it_goes_on_from_there(tmp_path: Path) -> None:
    text, _ = asked()
    fails = 'case "$*" in "rollout status deployment/llm-serve"*) exit 1;; esac'
    status, calls, said = run(tmp_path, text, kubectl=fails, HEADROOM_CHANGE="applied")
    assert status == 1
    assert "Stopped in step 3 of 4" in said
    assert not any("--replicas=1" in call for call in calls)  # the place isn't given back before the rollout is done
    status, calls, _ = run(tmp_path, text, "4", HEADROOM_CHANGE="applied")
    assert (status, len(calls)) == (0, 1)


def test_it_can_be_stopped(tmp_path: Path) -> None:
    text, _ = asked()
    stops = f'case "$*" in "rollout status"*) kill -{int(signal.SIGINT)} $PPID; sleep 1;; esac'
    status, calls, said = run(tmp_path, text, kubectl=stops, HEADROOM_CHANGE="applied")
    assert status == 130
    assert "Stopped in step 1 of 4" in said
    assert len(calls) == 2


@pytest.mark.parametrize("place", range(2))
def test_every_way_out_waits_for_the_rollout_it_is_for(place: int) -> None:
    result = rollout_question.rollout(demo.read(), Scenario(changes=(WorkloadChange(workload=SERVE),)))
    assert result.verdict is Verdict.STUCK
    remedy = result.remedies[place]
    assert any("rollout status deployment/llm-serve" in one for step in remedy.steps for one in step.commands)
    if remedy.kind is RemedyKind.FREE_CAPACITY:
        assert "; " not in remedy.command
        assert remedy.command.count(" && ") == 5


def test_a_change_that_completes_is_a_script_of_itself() -> None:
    worker = "Deployment/prod/ml-worker"
    change = WorkloadChange(workload=worker, max_surge=1, max_unavailable=1)
    result = rollout_question.rollout(demo.read(), Scenario(changes=(change,)))
    title, (step,) = steps_of(result)
    assert title == "the change"
    assert step.commands[0].startswith("kubectl patch deployment/ml-worker")
    assert step.commands[1].startswith("kubectl rollout status deployment/ml-worker -n prod --timeout=")
