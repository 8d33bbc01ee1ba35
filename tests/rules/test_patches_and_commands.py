"""Suggested values, a patch put to the engine and the commands for it: one rule, whoever asks."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from planner.ground.records import replace
from planner.health.drift.service_differences import drift
from planner.health.memory.kubelet import KubeletSettings
from planner.health.memory.what_if import MemoryChange
from planner.inventory.change import WorkloadChange
from planner.kubernetes import name_validation, shell_commands
from planner.kubernetes.object_records import Snapshot
from planner.questions import drift as drift_question
from planner.questions import memory as memory_question
from planner.questions import restarts as restarts_question
from planner.remedies import rollout_with_remedies
from planner.remedies.patch_outcome import simulate_patch
from planner.rollout.answers import Remedy
from planner.rollout.prepared_change import Scenario
from planner.sources import demo
from planner.spot.suitability import check_workload
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import rolling
from tests.rollout.test_admission import quota

EVIL = [
    "a;touch owned",
    "a\ntouch owned",
    "$(touch owned)",
    "`touch owned`",
    "a'b\"c",
    "--kubeconfig=evil",
    "a b",
    "🐳",
]

PLAN = restarts_question.answer(demo.read(), restarts_question.RestartsSettings())
SUGGESTED = PLAN.cures[0].suggestion


# ── suggested values ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_restarts_and_drift_suggest_the_same_values() -> None:
    """dev/api: Drift said CPU 130m, Restarts nothing of CPU."""
    found = demo.read()
    by_restarts = {(one.workload, one.container): one.suggestion for one in PLAN.cures}
    by_drift = {
        (one.workload, one.suggestion.container): one.suggestion for service in drift((found,)).services
        for one in service.suggestions
    }  # fmt: skip
    shared = by_restarts.keys() & by_drift.keys()
    assert ("Deployment/dev/api", "api") in shared
    assert {key: by_restarts[key] for key in shared} == {key: by_drift[key] for key in shared}
    assert by_restarts["Deployment/dev/api", "api"].cpu_request_millicores == 130


# ── a patch put to the engine ────────────────────────────────────────────────────────────────────────────────────────
def test_memory_restarts_drift_and_rollout_get_one_answer_to_one_patch() -> None:
    found = demo.read()
    cure = next(one for one in PLAN.cures if one.workload == "Deployment/dev/celery")
    suggested = next(
        one for service in drift((found,)).services for one in service.suggestions if one.workload == cure.workload
    )
    value = cure.suggestion
    assert value.cpu_request_millicores is None
    change = MemoryChange(
        workload=cure.workload, container=cure.container, request_bytes=value.memory_request_bytes,
        limit_bytes=value.memory_limit_bytes,
    )  # fmt: skip
    settings = KubeletSettings()
    memory = memory_question.memory_what_if(found, settings, change)
    adopted = drift_question.adopt(found, suggested)
    asked = WorkloadChange(workload=cure.workload, patch=json.dumps(value.patch))
    direct = rollout_with_remedies.rollout(found, Scenario(changes=(asked,), with_remedies=False))
    assert cure.rollout == memory.rollout == adopted.rollout == direct
    assert cure.command == memory.command == adopted.command
    assert cure.patch_yaml == adopted.patch_yaml


@pytest.mark.parametrize(
    ("key", "note"),
    [
        ("Job/batch/embed-nightly", "A Job isn't rolled out: its next pods take the new values."),
        ("Deployment/dev/gone", "No workload of this snapshot makes this pod anew: change what made it."),
    ],
)
def test_what_is_not_rolled_out_is_said_in_one_way(key: str, note: str) -> None:
    found = simulate_patch(demo.read(), key, {"spec": {}})
    assert (found.rollout, found.command, found.note, found.error) == (None, "", note, None)


def test_what_the_api_server_refuses_is_said_and_kept() -> None:
    """A request above the limit: a note for those who suggest, the error itself for who typed it."""
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "x", "resources": {}}]}}}}
    found = simulate_patch(demo.read(), "Deployment/dev/api", patch)
    assert found.rollout is None
    assert found.error is not None
    assert found.note == f"The rollout can't be worked out: {found.error.what}."


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_a_hostile_name_stays_one_word(name: str) -> None:
    """shlex splits as a POSIX shell does: whatever a name holds is one word of one command, and no option."""
    key = f"Deployment/{name}/{name}"
    change = {"spec": {"template": {"spec": {"containers": [{"name": name}]}}}}
    assert shlex.split(shell_commands.patch(key, change)) == [
        "kubectl", "patch", f"deployment/{name}", "-n", name, "-p", json.dumps(change)
    ]  # fmt: skip
    assert shlex.split(shell_commands.scale(key, 2)) == [
        "kubectl",
        "scale",
        f"deployment/{name}",
        "-n",
        name,
        "--replicas=2",
    ]
    assert shlex.split(f"true{shell_commands.comment(name)}", comments=True) == ["true"]
    assert "\n" not in shell_commands.comment(f"{name}\u2028\x85")


@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_a_shell_runs_nothing_but_what_was_meant(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command for a cluster of hostile names, run by a real shell where kubectl and gcloud only take notes.

    Reading refuses such names (tests/inventory/test_names.py): here they come through, for this is the second wall.
    """
    for check in ("check_object", "check_labels", "check_dns_label", "check_reference", "check_resource"):
        monkeypatch.setattr(name_validation, check, lambda *_, **__: None)
    offered = every_command(name)
    assert {"patch", "scale", "exec", "delete"} <= {shlex.split(one, comments=True)[1] for one in offered}
    note = tmp_path / "note"
    for program in ("kubectl", "gcloud"):
        (tmp_path / program).write_text(f'#!/bin/sh\nprintf "%s\\0" {program} "$@" >> {note}\nprintf "\\1" >> {note}\n')
        (tmp_path / program).chmod(0o755)
    (tmp_path / "script").write_text("\n".join(offered) + "\n", encoding="utf-8")
    here = tmp_path / "here"
    here.mkdir()
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(tmp_path / "script")], check=False, cwd=here, env={"PATH": path}, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr, list(here.iterdir())) == (0, b"", [])
    calls = [call.split("\0")[:-1] for call in note.read_text(encoding="utf-8").split("\1")[:-1]]
    assert len(calls) >= len(offered)
    for _, verb, first, *rest in calls:
        if [verb, first, *rest] == ["apply", "-f", "CHANGE.yaml"]:
            continue  # the user's own manifest, in whose place nothing of a cluster stands
        assert verb in ("patch", "scale", "rollout", "exec", "delete", "container", "compute")
        assert first == "status" if verb == "rollout" else not first.startswith("-")
        assert not any(word.startswith("--kubeconfig") and before[:1] != "-" for before, word in pairwise(rest))


def every_command(name: str) -> list[str]:
    remedies = ways_out(name)
    found = [remedy.command for remedy in remedies]
    found += [command for remedy in remedies for step in remedy.steps for command in step.commands]
    snapshot = renamed(demo.read(), name)
    for workload in snapshot.workloads:
        found += [one.command for one in check_workload(snapshot, workload).commands]
    return [one for one in found if one and not one.startswith("#")]


def ways_out(name: str) -> list[Remedy]:
    """Of rollouts that are stuck for several reasons, everything called `name`."""
    own = f"Deployment/{name}/{name}"
    gpu = node("gpu-0", pool=name, gpus=2)

    def mine(*nodes: str, surge: int = 1, gpus: int = 1) -> list[Item]:
        return deployment(name, list(nodes), pod_spec(gpus=gpus), namespace=name, strategy=rolling(surge, 1 - surge))

    limit = quota({"pods": "1"})
    limit["metadata"] |= {"name": name, "namespace": name}
    other = deployment(f"{name}2", ["gpu-0", "gpu-0"], pod_spec(gpus=1), namespace=name)
    stuck = [
        snapshot(gpu, mine("gpu-0", "gpu-0")),
        snapshot(gpu, other, mine("", surge=0)),
        snapshot(node("n-0", gpus=2), mine("n-0"), limit),
    ]
    answers = [rollout_with_remedies.rollout(one, Scenario(changes=(WorkloadChange(workload=own),))) for one in stuck]
    return [remedy for answer in answers for remedy in answer.remedies]


def renamed(found: Snapshot, name: str) -> Snapshot:
    """Its first workloads with `name` for a namespace and in their names."""
    some = found.workloads[:6]
    return replace(found, workloads=tuple(replace(w, namespace=name, name=f"{name}-{w.name}") for w in some))


@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_a_hostile_container_name_stays_inside_its_field_of_the_yaml(name: str) -> None:
    written = simulate_patch(demo.read(), "Deployment/dev/none", replace(SUGGESTED, container=name).patch).patch_yaml
    (container,) = yaml.safe_load(written)["spec"]["template"]["spec"]["containers"]
    assert container["name"] == name
    assert set(container) == {"name", "resources"}
