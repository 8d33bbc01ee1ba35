"""What an answer isn't sure of: one list, from which alone "proven" follows, and records that refuse the contrary."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from planner.ground.records import replace
from planner.ground.words import Text
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Finding, FrozenMap, Presence, Severity
from planner.questions.gate import GateAnswer, GateSettings
from planner.questions.gate import answer as gate
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.doubts import Doubt, Effect, each_once, is_proven
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import WHOLE, Item, deployment, node, owner, pod, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, rolling

QUOTA, LIMITS = "ResourceQuota", "LimitRange"
ERROR = Finding(severity=Severity.ERROR, code="can-not-work", object=WORKER, what="it can't work")


def doubt(could_change: Effect, about: str = "somebody") -> Doubt:
    return Doubt(about=about, why=Text("it may do something"), could_change=could_change)


def rolled(*items: Item | list[Item], gpus: int = 2, lacks: str = "", **change: Any) -> RolloutResult:
    """A restart of the worker of one GPU, on a node of so many."""
    worker = deployment("worker", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(1, 0))
    found = snapshot(WHOLE, node("gpu-0", gpus=gpus), worker, *items)
    if lacks:
        found = replace(found, presence=FrozenMap({**found.presence, lacks: Presence.ABSENT}))
    asked = WorkloadChange(workload=WORKER, **change)
    return rollout_with_remedies.rollout(found, Scenario(changes=(asked,), with_remedies=False))


def is_called_proven(found: RolloutResult) -> bool:
    assert found.ties is not None
    return found.ties.proven


def test_proven_follows_from_the_list_alone() -> None:
    assert is_proven([], [])
    assert is_proven([doubt(Effect.NOTHING), doubt(Effect.TIME)], [replace(ERROR, severity=Severity.WARNING)])
    assert not is_proven([doubt(Effect.NOTHING), doubt(Effect.VERDICT)], [])
    assert not is_proven([], [ERROR])


def test_the_gravest_doubts_come_first_and_each_once() -> None:
    given = [doubt(Effect.NOTHING), doubt(Effect.VERDICT), doubt(Effect.TIME), doubt(Effect.VERDICT)]
    assert [one.could_change for one in each_once(given)] == [Effect.VERDICT, Effect.TIME, Effect.NOTHING]


@pytest.mark.parametrize(
    "made",
    [
        lambda found: replace(found, findings=(*found.findings, ERROR)),
        lambda found: replace(found, doubts=(*found.doubts, doubt(Effect.VERDICT))),
        lambda found: replace(found, verdict=Verdict.NEEDS_GROWTH, ties=None, findings=(ERROR,)),
        lambda found: replace(found, verdict=Verdict.STUCK, findings=(ERROR,)),  # it is called proven
    ],
    ids=["completes with an error", "proven beside a doubt", "needs growth with an error", "proven beside an error"],
)
def test_an_answer_that_contradicts_itself_cannot_be_built(made: Callable[[RolloutResult], RolloutResult]) -> None:
    found = rolled()
    assert (found.verdict, is_called_proven(found)) == (Verdict.COMPLETES, True)
    with pytest.raises(ValueError, match="an answer"):
        made(found)


@pytest.mark.parametrize(
    "made",
    [
        lambda found: replace(found, findings=(replace(ERROR, severity=Severity.WARNING),)),
        lambda found: replace(found, doubts=(doubt(Effect.TIME),)),
        lambda found: replace(found, verdict=Verdict.STUCK, ties=None, findings=(ERROR,)),
    ],
    ids=["a warning", "proven beside a doubt of time", "stuck with an error"],
)
def test_an_answer_that_does_not_can(made: Callable[[RolloutResult], RolloutResult]) -> None:
    assert made(rolled()) != rolled()


def passed() -> GateAnswer:
    settings = GateSettings(
        manifest='{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "ml"}}'
    )
    return gate(snapshot(WHOLE, node("gpu-0", gpus=1)), settings)


def test_a_gate_that_passes_holds_no_error() -> None:
    assert passed().passes
    with pytest.raises(ValueError, match="can-not-work"):
        replace(passed(), findings=(ERROR,))
    assert replace(passed(), passes=False, exit_status=2, findings=(ERROR,)).findings == (ERROR,)


@pytest.mark.parametrize("lacks", [QUOTA, LIMITS])
def test_a_list_that_may_refuse_each_pod_is_missing(lacks: str) -> None:
    found = rolled(lacks=lacks)
    assert (found.verdict, is_called_proven(found)) == (Verdict.COMPLETES, False)
    [missing] = found.doubts
    assert (missing.about, missing.could_change) == (f"{lacks}s", Effect.VERDICT)
    assert f"/api/v1/{lacks.lower()}s" in missing.advice
    assert str(missing.sentence).startswith(f"could change the verdict: whether {lacks}s refuse pods isn't known")


def test_what_is_stuck_no_quota_lets_through() -> None:
    found = rolled(gpus=1, lacks=QUOTA)
    assert (found.verdict, [one for one in found.doubts if QUOTA in one.about]) == (Verdict.STUCK, [])


def test_a_change_that_makes_no_pods_hangs_on_no_quota() -> None:
    found = rolled(lacks=QUOTA, new_revision=False, replicas=0)
    assert not [one for one in found.doubts if QUOTA in one.about]
    grows = rolled(lacks=QUOTA, new_revision=False, replicas=2)
    assert [one for one in grows.doubts if QUOTA in one.about]


def test_an_error_beside_a_rollout_that_would_complete_makes_it_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_with_remedies, "scaled_at_once", lambda *_: (ERROR,))
    found = rolled()
    assert (found.verdict, found.ties) == (Verdict.UNKNOWN, None)
    assert str(found.sentence).startswith("not known: it can't work. Without that, it completes")
    assert (found.findings[0], found.doubts[0].about) == (ERROR, WORKER)
    stuck = rolled(gpus=1)
    assert (stuck.verdict, stuck.ties and stuck.ties.proven) == (Verdict.STUCK, False)


@pytest.mark.parametrize(("on", "is_doubted"), [("gpu-0", False), ("", True)])
def test_an_object_that_stays_as_it_is_is_not_proven_where_its_pod_waits(on: str, *, is_doubted: bool) -> None:
    spec = pod_spec(gpus=2)
    job = {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "train", "namespace": "ml", "uid": "pytorchjob-train"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "restartPolicy": "Never", "template": {"spec": spec}}}},
    }  # fmt: skip
    waits = pod("train-worker-0", spec, on=on, owner=owner("PyTorchJob", "train", "pytorchjob-train"))
    found = snapshot(WHOLE, node("gpu-0", gpus=2 if on else 1), waits, job)
    result = rollout_with_remedies.rollout(found, Scenario(manifest=json.dumps(job), with_remedies=False))
    assert result.verdict is Verdict.COMPLETES
    said = [str(doubt.why) for doubt in result.doubts if "waits for a node" in str(doubt.why)]
    assert said == (["1 pod of it waits for a node, and the change brings none"] if is_doubted else [])
