"""Rollouts between an autoscaler's bounds: the cluster is taken there, and the rollout played from it."""

from __future__ import annotations

from typing import Any

import pytest

from planner.ground.errors import ChangeError
from planner.ground.work_budget import TooLargeError, allowed
from planner.kubernetes.autoscaler_replica_bounds import autoscaler_of
from planner.kubernetes.object_records import Snapshot
from planner.questions import peak
from planner.questions import rollout as rollout_question
from planner.questions.question import NOTHING
from planner.questions.rollout import RolloutSettings
from planner.rollout.answers import Reason, Verdict
from planner.rollout.scaled_cluster import At, scaled
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, rolling
from tests.rollout.test_admission import quota


def autoscaler(least: int, most: int) -> Item:
    return {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"namespace": "ml", "name": "worker"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "worker"}, "minReplicas": least, "maxReplicas": most},
    }  # fmt: skip


def keda(**spec: Any) -> Item:
    return {
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"namespace": "ml", "name": "scaled"},
        "spec": {"scaleTargetRef": {"name": "worker"}, **spec},
    }  # fmt: skip


def cluster(scaler: Item, *more: Item, gpus: int = 4, replicas: int = 2) -> Snapshot:
    worker = deployment("worker", ["gpu-0"] * replicas, pod_spec(gpus=1), strategy=rolling(1, 0))
    return snapshot(node("gpu-0", pool="gpu", gpus=gpus), worker, scaler, *more)


def test_a_rollout_that_goes_at_night_only() -> None:
    (line,) = peak.answer(cluster(autoscaler(1, 4)), peak.PeakSettings(), NOTHING).lines
    assert [(one.replicas, one.reached, one.verdict) for one in (line.lowest, line.today, line.highest)] == [
        (1, 1, Verdict.COMPLETES), (2, 2, Verdict.COMPLETES), (4, 4, Verdict.STUCK)
    ]  # fmt: skip
    assert line.highest.reason is Reason.HOLD_AND_WAIT
    assert line.only_when_few
    said = str(peak.answer(cluster(autoscaler(1, 4)), peak.PeakSettings(), NOTHING).sentence)
    assert (
        said
        == "1 workload is scaled by autoscalers; only while there are few pods, at night perhaps, can ml/worker be rolled out"
    )


def test_one_that_goes_at_any_hour() -> None:
    found = peak.answer(cluster(autoscaler(1, 3)), peak.PeakSettings(), NOTHING)
    assert not found.lines[0].only_when_few
    assert "all can be rolled out at their highest replicas" in str(found.sentence)


def test_a_peak_that_has_no_room() -> None:
    (line,) = peak.answer(cluster(autoscaler(1, 9)), peak.PeakSettings(), NOTHING).lines
    assert (line.highest.replicas, line.highest.reached, line.highest.verdict) == (9, 4, Verdict.STUCK)


@pytest.mark.parametrize(
    ("spec", "bounds"), [({}, (0, 100)), ({"minReplicaCount": 2, "maxReplicaCount": 6}, (2, 6))], ids=str
)
def test_kedas_scaled_objects_are_read_with_its_defaults(spec: Item, bounds: tuple[int, int]) -> None:
    found = autoscaler_of(cluster(keda(**spec)), WORKER)
    assert found is not None
    assert (found.kind, found.minimum, found.maximum) == ("ScaledObject", *bounds)


def test_a_quota_counts_the_pods_of_the_peak() -> None:
    hard = quota({"pods": "4"}, {"pods": "2"})
    (line,) = peak.answer(cluster(autoscaler(1, 4), hard, gpus=9), peak.PeakSettings(), NOTHING).lines
    assert (line.today.verdict, line.highest.verdict, line.highest.reason) == (
        Verdict.COMPLETES, Verdict.STUCK, Reason.QUOTA
    )  # fmt: skip


def test_every_verdict_can_be_asked_at_a_bound() -> None:
    found = cluster(autoscaler(1, 4))
    results = {at: rollout_question.answer(found, RolloutSettings(workloads=(WORKER,), at=at)) for at in At}
    assert [(at.value, one.verdict, one.workloads[0].replicas) for at, one in results.items()] == [
        ("today", Verdict.COMPLETES, 2), ("lowest", Verdict.COMPLETES, 1), ("highest", Verdict.STUCK, 4)
    ]  # fmt: skip
    other = RolloutSettings(workloads=(WORKER,), at=At.HIGHEST, max_surge=0, max_unavailable=1)
    assert rollout_question.answer(found, other).verdict is Verdict.COMPLETES


def test_without_an_autoscaler_there_is_no_bound_to_ask_for() -> None:
    found = snapshot(node("n-0"), deployment("worker", ["n-0"], pod_spec()))
    with pytest.raises(ChangeError, match="no autoscaler of the snapshot scales Deployment/ml/worker"):
        rollout_question.answer(found, RolloutSettings(workloads=(WORKER,), at=At.HIGHEST))
    assert (
        str(peak.answer(found, peak.PeakSettings(), NOTHING).sentence)
        == "no autoscaler scales a workload that rolls out"
    )


def test_a_peak_too_large_to_play_is_not_known_and_not_called_one_that_goes() -> None:
    found = peak.answer(cluster(autoscaler(1, 2**31 - 1)), peak.PeakSettings(), NOTHING)
    assert (found.lines[0].highest.verdict, found.lines[0].highest.reached) == (Verdict.UNKNOWN, None)
    assert "too large to play through" in str(found.lines[0].highest.sentence)
    assert str(found.sentence) == "1 workload is scaled by autoscalers; of 1 it is not known at their highest replicas"


def test_nothing_is_built_on_a_scaling_that_was_cut() -> None:
    there = cluster(autoscaler(1, 300))
    worker = there.workload(WORKER)
    assert worker is not None
    with allowed(units=2_000), pytest.raises(TooLargeError):
        scaled(there, worker, 60)
