"""A way out as a script: a real shell runs it, and kubectl only takes notes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from planner.inventory.change import WorkloadChange
from planner.kubernetes.shell_commands import chain, comment, remark
from planner.questions import rollout as rollout_question
from planner.questions.rollout import RolloutSettings
from planner.remedies import rollout_with_remedies
from planner.remedies.levers.user_change_steps import steps_of
from planner.rollout.answers import RemedyKind, Step, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.resumable_scripts import script
from planner.sources import demo
from tests.builders.objects import deployment, node, pod_spec, snapshot

SERVE = "Deployment/prod/llm-serve"


def asked(**change: object) -> tuple[str, int]:
    result = rollout_with_remedies.rollout(demo.read(), Scenario(changes=(WorkloadChange(workload=SERVE, **change),)))  # type: ignore[arg-type]
    title, steps = steps_of(result)
    return script(title, steps, source="demo"), len(steps)


def run(
    folder: Path, text: str, *arguments: str, kubectl: str = "", typed: str = "", **env: str
) -> tuple[int, list[str], str]:
    """Exit status, what kubectl was called with, and what was said on standard error."""
    note = folder / "note"
    note.unlink(missing_ok=True)
    (folder / "kubectl").write_text(f'#!/bin/sh\necho "$@" >> {note}\n{kubectl}\n')
    (folder / "kubectl").chmod(0o755)
    (folder / "way-out.sh").write_text(text)
    done = subprocess.run(
        ["sh", "way-out.sh", *arguments], check=False, cwd=folder, capture_output=True, text=True, timeout=60,
        input=typed, env={"PATH": f"{folder}:{os.environ['PATH']}", **env},
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


def test_a_step_that_fails_ends_it_and_what_was_lent_is_given_back(tmp_path: Path) -> None:
    text, _ = asked()
    fails = 'case "$*" in "rollout status deployment/llm-serve"*) exit 7;; esac'
    status, calls, said = run(tmp_path, text, kubectl=fails, HEADROOM_CHANGE="applied")
    assert status == 7
    assert "Stopped in step 3 of 4" in said
    assert calls[-1] == "scale deployment/llm-canary -n llm-lab --replicas=1"
    assert [call for call in calls if "--replicas=1" in call] == calls[
        -1:
    ]  # not before the rollout is done or given up
    assert "To take back step 3: kubectl rollout undo deployment/llm-serve -n prod" in said
    assert "To take back step 2: kubectl patch deployment/llm-serve" in said
    assert '"maxSurge": 1, "maxUnavailable": 0' in said
    assert "Go on: sh way-out.sh\n" in said  # from the start: the room isn't there any more
    status, calls, _ = run(tmp_path, text, "4", HEADROOM_CHANGE="applied")
    assert (status, len(calls)) == (0, 1)


def test_what_can_not_be_given_back_is_told(tmp_path: Path) -> None:
    text, _ = asked()
    fails = 'case "$*" in *--replicas=1|"rollout status deployment/llm-serve"*) exit 1;; esac'
    status, _, said = run(tmp_path, text, kubectl=fails, HEADROOM_CHANGE="applied")
    assert status == 1
    assert "Still to be given back: kubectl scale deployment/llm-canary -n llm-lab --replicas=1" in said
    fails = 'case "$*" in *--replicas=1) exit 1;; esac'
    status, _, said = run(tmp_path, text, kubectl=fails, HEADROOM_CHANGE="applied")
    assert (status, "Stopped in step 4 of 4" in said) == (1, True)
    assert "To take back" not in said  # the rollout itself is through


def test_it_can_be_stopped(tmp_path: Path) -> None:
    text, _ = asked()
    stops = f'case "$*" in "rollout status"*) kill -{int(signal.SIGINT)} $PPID; sleep 1;; esac'
    status, calls, said = run(tmp_path, text, kubectl=stops, HEADROOM_CHANGE="applied")
    assert status == 130
    assert "Stopped in step 1 of 4" in said
    assert [call.rpartition("=")[2] for call in calls if call.startswith("scale")] == ["0", "1"]
    assert not any(call.startswith("patch") for call in calls)


def test_the_chain_in_one_line_gives_back_whatever_fails(tmp_path: Path) -> None:
    result = rollout_with_remedies.rollout(demo.read(), Scenario(changes=(WorkloadChange(workload=SERVE),)))
    chain = next(one.command for one in result.remedies if one.kind is RemedyKind.FREE_CAPACITY)
    for failing in ("rollout status deployment/llm-canary", "patch", "apply", "rollout status deployment/llm-serve"):
        status, calls, _ = run(tmp_path, chain, kubectl=f'case "$*" in "{failing}"*) exit 7;; esac')
        assert status == 7
        assert failing in calls[-2]
        assert calls[-1] == "scale deployment/llm-canary -n llm-lab --replicas=1"


@pytest.mark.parametrize("typed", ["\n", ""])
def test_a_comment_in_a_chain_swallows_nothing(tmp_path: Path, typed: str) -> None:
    """What is done by hand is waited for; where nobody says that it is done, the chain ends there, and what was lent is given back."""
    noted = "kubectl get b" + comment("its note: it isn't one;  # more")
    quoted = "kubectl get c '  # no' note"
    texts = ["kubectl get a", noted, remark(r"get n0's kubelet to answer \n again"), quoted]
    chains = (
        chain(texts), chain(texts, always=[remark("by hand too"), "kubectl get back"]), chain(texts, on_failure=[noted, "kubectl get back"]),
    )  # fmt: skip
    assert not any("\n" in line for line in chains), "what shows it in one line would let a comment swallow the rest"
    each = [f"get {name}" for name in ("a", "b", *(["c   # no note"] if typed else []))]
    status, calls, _ = run(tmp_path, chains[0], typed=typed)
    assert (status == 0, calls) == (bool(typed), each)
    status, calls, _ = run(tmp_path, chains[1], typed=typed * 2)
    assert (status == 0, calls) == (bool(typed), [*each, "get back"])
    status, calls, _ = run(tmp_path, chains[2], typed=typed)
    assert (status == 0, calls) == (bool(typed), each if typed else [*each, "get b", "get back"])
    assert chain([noted]) == noted


def test_each_loan_is_given_back_and_the_line_fails_with_it(tmp_path: Path) -> None:
    line = chain(["kubectl get a"], always=["kubectl get b", "kubectl get c"])
    for failing, status in (("", 0), ("get a", 1), ("get b", 1), ("get c", 1)):
        assert run(tmp_path, line, kubectl=f'case "$*" in "{failing}") exit 1;; esac')[:2] == (
            status,
            ["get a", "get b", "get c"],
        )


@pytest.mark.parametrize("place", range(2))
def test_every_way_out_waits_for_the_rollout_it_is_for(place: int) -> None:
    result = rollout_with_remedies.rollout(demo.read(), Scenario(changes=(WorkloadChange(workload=SERVE),)))
    assert result.verdict is Verdict.STUCK
    remedy = result.remedies[place]
    assert any("rollout status deployment/llm-serve" in one for step in remedy.steps for one in step.commands)
    if remedy.kind is RemedyKind.FREE_CAPACITY:
        wanted, *back = remedy.command.split("; ")  # the line fails where the rollout or the giving back did
        assert wanted.count(" && ") == 4
        assert back == ["rc=$?", f"{remedy.steps[-1].commands[0]} || rc=$?", "(exit $rc)"]


def test_a_change_that_completes_is_a_script_of_itself() -> None:
    worker = "Deployment/prod/ml-worker"
    change = WorkloadChange(workload=worker, max_surge=1, max_unavailable=1)
    result = rollout_with_remedies.rollout(demo.read(), Scenario(changes=(change,)))
    title, (step,) = steps_of(result)
    assert title == "the change"
    assert step.commands[0].startswith("kubectl patch deployment/ml-worker")
    assert step.commands[1].startswith("kubectl rollout status deployment/ml-worker -n prod --timeout=")


def test_a_step_that_no_shell_can_do_is_waited_for(tmp_path: Path) -> None:
    """Without anybody to press Enter it stops, and goes on after it."""
    steps = (
        Step(what="1 more node", commands=("# grow node pool gpu from 1 to 2 nodes",)),
        Step(what="Apply", commands=("kubectl apply -f CHANGE.yaml",), is_change=True),
    )
    text = script("grow", steps, source="test")
    status, calls, said = run(tmp_path, text, HEADROOM_CHANGE="new.yaml")
    assert (status, calls) == (1, [])
    assert "By hand: grow node pool gpu from 1 to 2 nodes" in said
    assert "Go on: sh way-out.sh 2" in said
    assert run(tmp_path, text, "2", HEADROOM_CHANGE="new.yaml")[:2] == (0, ["apply -f new.yaml"])


NAMELESS = """
apiVersion: batch/v1
kind: Job
metadata: {generateName: train-, namespace: ml}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
"""


def test_what_gets_its_name_when_it_is_created_is_created_and_can_not_be_waited_for() -> None:
    """kubectl apply refuses it."""
    cluster = snapshot(node("gpu-0", gpus=2), deployment("api", ["gpu-0", "gpu-0"], pod_spec(gpus=1)))
    result = rollout_question.answer(cluster, RolloutSettings(manifest=NAMELESS))
    remedy = next(one for one in result.remedies if one.kind is RemedyKind.FREE_CAPACITY)
    assert "kubectl create -f CHANGE.yaml ||" in remedy.command
    assert "kubectl wait" not in remedy.command
    title, steps = steps_of(result, result.remedies.index(remedy) + 1)
    assert 'kubectl create -f "$HEADROOM_CHANGE"' in script(title, steps, source="test")


def test_what_is_not_there_yet_is_not_patched() -> None:
    """kubectl would say NotFound: it goes into the manifest."""
    new = deployment("new", [], pod_spec(gpus=1), strategy={"type": "RollingUpdate"})[0]
    new["spec"] |= {"replicas": 1}
    new["spec"]["template"]["spec"] = {**pod_spec(gpus=1), "nodeSelector": {"disk": "ssd"}}
    cluster = snapshot(node("gpu-0", gpus=2), deployment("other", ["gpu-0"], pod_spec()))
    result = rollout_question.answer(cluster, RolloutSettings(manifest=json.dumps(new)))
    remedy = next(one for one in result.remedies if one.kind is RemedyKind.FIX_SELECTOR)
    assert remedy.command.startswith("# write it into CHANGE.yaml: ")
    assert '"nodeSelector": {"disk": null}' in remedy.command
    assert not any(one.startswith("kubectl patch") for step in remedy.steps for one in step.commands)
    assert remedy.steps[-1].undo == ("kubectl delete deployment/new -n ml",)


def test_the_room_that_new_pods_keep_is_not_given_back() -> None:
    cluster = snapshot(node("gpu-0", gpus=2), deployment("api", ["gpu-0", "gpu-0"], pod_spec(gpus=1)))
    named = NAMELESS.replace("generateName: train-", "name: train")
    result = rollout_question.answer(cluster, RolloutSettings(manifest=named))
    remedy = next(one for one in result.remedies if one.kind is RemedyKind.FREE_CAPACITY)
    assert remedy.title == "One pod of ml/api fewer until there is other room"
    assert remedy.command.endswith("|| { kubectl scale deployment/api -n ml --replicas=2; false; }")
    assert "kubectl wait job.batch/train -n ml '--for=jsonpath={.status.ready}=1'" in remedy.command
    assert len(remedy.steps) == 2
