"""The cluster with one of each kind: as its maker makes it, whole, and answered by every command and at every door."""

from __future__ import annotations

import copy
import gzip
import json
from typing import Any

import pytest
from click.testing import CliRunner

from planner.cli import COMMANDS, headroom
from planner.ground.errors import NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.inventory.change import document_of
from planner.kubernetes import workload_kinds
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.owners import held_below, unjudged
from planner.kubernetes.unplayed_kinds import LISTED
from planner.questions import findings, gate, overview, rollout, seats
from planner.questions.gate import GateSettings
from planner.questions.question import NOTHING
from planner.rollout.answers import Verdict
from planner.sources import demo
from tests.builders import ml_platform
from tests.seen import each

CLUSTER = demo.KINDS_NAME
NO_CLUSTER = {
    "costs --idle",
    "app",
    "serve",
    "mcp",
    "completion",
    "store",
    "store trends",
    "store commitments",
    "costs --price-list",
    "store sweep",
    "store snapshot",
    "anonymize",
    "dump",
}
"""Commands that ask for something else than one cluster, wait for visitors, or write."""
MORE = {
    "rollout": ("--workload", "leaderworkerset/inference/big-model"), "capacity --change": ("--change", "drain:gke-ml-h100-0"), "diff --between": ("--between", "all"),
    "spot": ("--workload", "deployment/inference/gateway"), "fleet --shape": ("--shape", "gpu=1"),
}  # fmt: skip


NOT_THERE = {
    ("ClusterTrainingRuntime", "trainer.kubeflow.org"),
    ("DynamoGraphDeployment", "nvidia.com"),
    ("InferenceService", "ome.io"),
    ("Model", "kubeai.org"),
    ("ModelServing", "workload.serving.volcano.sh"),
    ("PodCliqueSet", "grove.io"),
    ("RoleBasedGroup", "workloads.x-k8s.io"),
    ("SparkApplication", "sparkoperator.k8s.io"),
    ("TrainJob", "trainer.kubeflow.org"),
    ("TrainingRuntime", "trainer.kubeflow.org"),
}
"""Kinds that came after the platform was made; each has a case of its own in `tests/rollout/test_next_kinds.py` or `tests/questions/test_kinds.py`."""


@pytest.fixture(scope="module")
def cluster() -> Snapshot:
    return demo.read_kinds()


def test_it_is_what_its_maker_makes() -> None:
    # Unpacked, since what gzip writes into its header differs between versions of Python.
    assert gzip.decompress(ml_platform.FILE.read_bytes()).decode() == ml_platform.document(), (
        "python -m tests.builders.ml_platform"
    )
    assert len(ml_platform.packed()) < 50_000
    assert ml_platform.SAID in ml_platform.document()


def test_it_has_one_of_each_kind_and_its_pods(cluster: Snapshot) -> None:
    there = {(one.kind, one.api_group) for one in cluster.unplayed}
    bases = {"ClusterServingRuntime"}  # a namespaced one stands for both
    assert {(one.kind, one.group) for one in LISTED.values() if one.kind not in bases} - there == NOT_THERE
    assert {one.kind for one in cluster.workloads} == {kind.name for kind in workload_kinds.WORKLOADS}
    held = held_below(cluster)
    for one in cluster.unplayed:
        if one.pods and one.kind not in ("CronWorkflow", "RayCronJob"):  # these sleep
            assert held[one.key].pods, one.key
    assert {name: number for name, number in cluster.other_kinds.items() if number} == {
        "Configuration": 1,
        "Revision": 1,
        "ModelFarm": 1,
    }


def test_nothing_of_it_is_in_part_or_in_flight(cluster: Snapshot) -> None:
    assert not cluster.reading.partial
    assert not cluster.problems
    answer = overview.answer(cluster, overview.OverviewSettings())
    assert {str(one.verdict) for one in answer.workloads} == {"completes", "stuck"}


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - NO_CLUSTER))
def test_every_command_answers(name: str) -> None:
    more = MORE.get(name, ())
    called = name.split(" ")[:1] if name.rsplit(" ", maxsplit=1)[-1] in more else name.split(" ")
    arguments = [*called, CLUSTER, *more]
    if name in ("gate", "rollout") and not MORE.get(name):
        arguments += ["-f", "-"]
    if name == "diff":
        arguments = [name, CLUSTER, CLUSTER]
    pod = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x", "namespace": "training"},
            "spec": ml_platform.spec(1),
        }
    )
    ran = CliRunner().invoke(headroom, arguments, input=pod)
    if name == "capacity --queues":  # it has no Kueue, and that isn't called an empty one
        assert isinstance(ran.exception, NotKnownError)
        return
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.output
    assert ran.exit_code in {int(one) for one in ExitStatus} - {int(ExitStatus.BAD_INPUT)}, (arguments, ran.output)


def test_each_object_applied_again_changes_nothing(cluster: Snapshot) -> None:
    """GitOps applies everything each time."""
    document = json.loads(ml_platform.document())
    manifest = [
        {key: value for key, value in one.items() if key != "status"} for one in copy.deepcopy(document["items"])
        if (one["kind"], one["apiVersion"].rpartition("/")[0]) in {(each.kind, each.group) for each in LISTED.values() if each.asks_webhook}
    ]  # fmt: skip
    for one in each(manifest):
        one["metadata"] = {key: one["metadata"][key] for key in ("name", "namespace") if key in one["metadata"]}
        answer = gate.answer(cluster, GateSettings(manifest=json.dumps(one)))
        assert (answer.exit_status, answer.workloads) == (0, ()), (one["kind"], str(answer.sentence))


def test_what_nobody_knows_is_named_wherever_it_holds_gpus(cluster: Snapshot) -> None:
    """A pod whose owner is of a kind that is in no table."""
    farm = "ModelFarm/inference/barn"
    assert farm in {key for one in unjudged(cluster) for key in one.keys}
    said = " ".join(str(one.what) for one in findings.answer(cluster, findings.FindingsSettings()).findings)
    assert "ModelFarm" in said
    told = overview.answer(cluster, overview.OverviewSettings())
    assert "nor are" in str(told.sentence), "the kinds that hold most are named, the others counted"
    only = replace(cluster, unplayed=(), pods=tuple(one for one in cluster.pods if one.name == "barn-model-0"))
    assert "1 ModelFarm is not judged (its 1 pod holds 1 GPU)" in str(
        overview.answer(only, overview.OverviewSettings()).sentence
    )
    held: list[Any] = [seat for node in seats.answer(cluster, seats.SeatsSettings()).nodes for seat in node.seats]
    assert any(farm in str(seat) for seat in held)


def test_what_another_object_made_is_not_advised_to_be_set(cluster: Snapshot) -> None:
    """Its owner's controller sets back what kubectl sets on it: no way out patches or scales such a Deployment."""
    owned = {one.key for one in cluster.workloads if one.owner is not None and one.traits.rolls_out}
    assert {"Deployment/inference/chat-predictor", "Deployment/inference/rerank-00001-deployment"} <= owned
    for key in ("Rollout/inference/assistant", *sorted(owned)):
        answer = rollout.answer(cluster, rollout.RolloutSettings(workloads=(key,)))
        commands = [command for remedy in answer.remedies for step in remedy.steps for command in step.commands]
        for command in commands:
            made = any(one.split("/", 1)[0].lower() in command and one.rsplit("/", 1)[1] in command for one in owned)
            assert not (made and (" patch " in command or " scale " in command)), command
        told = {one.code: one for one in answer.findings if one.object == key}
        assert ("owned-by-another" in told) is (key in owned)
    chat = rollout.answer(cluster, rollout.RolloutSettings(workloads=("Deployment/inference/chat-predictor",)))
    assert any("spec.predictor.deploymentStrategy" in one.fix for one in chat.findings)


ASSISTANT = "Rollout/inference/assistant"


@pytest.mark.parametrize("spec", [{"restartAt": "2026-11-25T00:00:00Z"}, {"later": {"pods": 3}}])
def test_a_field_of_a_rollout_that_nobody_read_is_not_known_of_a_change_either(
    spec: dict[str, Any], cluster: Snapshot
) -> None:
    """By a patch and by a manifest: Argo's controller restarts pods for `restartAt`, and who knows what for the next field."""
    (field,) = spec
    (there,) = (one for one in cluster.workloads if one.key == ASSISTANT)
    manifest = document_of(there)
    manifest["spec"] |= spec
    text = json.dumps(manifest)
    patched = rollout.RolloutSettings(workloads=(there.key,), patch=json.dumps({"spec": spec}))
    for settings in (patched, rollout.RolloutSettings(manifest=text)):
        found = rollout.answer(cluster, settings, NOTHING)
        assert found.verdict is Verdict.UNKNOWN
        assert f"spec.{field} of {ASSISTANT} may change its pods, and isn't read" in str(found.sentence)
    known = '{"spec": {"paused": true, "progressDeadlineAbort": true}}'
    said = rollout.answer(cluster, rollout.RolloutSettings(workloads=(there.key,), patch=known), NOTHING)
    assert "isn't read" not in str(said.sentence)
    assert not gate.answer(cluster, GateSettings(manifest=text), NOTHING).passes
