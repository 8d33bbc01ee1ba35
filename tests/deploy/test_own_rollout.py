"""Headroom asked of Headroom: whether its own rollout finishes, and what it finds about its own manifests."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from planner.inventory import cluster_oddities
from planner.kubernetes.object_records import CommandForm, FrozenMap, Severity, Snapshot, Workload
from planner.kubernetes.pod_security import enforced, forbidden
from planner.kubernetes.qos import QosClass, qos_class
from planner.questions import rollout
from planner.questions.rollout import RolloutSettings
from planner.rollout.answers import Verdict
from planner.spot.suitability import check_workload
from planner.spot.suitability_checks import Check, Status
from tests.builders.objects import deployment, node, snapshot
from tests.deploy.chart import DEPLOY

CHECKS = (
    Check.CONTROLLER,
    Check.GRACE_PERIOD,
    Check.SIGTERM,
    Check.PRE_STOP,
    Check.START_UP,
    Check.RETRIES,
    Check.BUDGET,
)


def own() -> dict[str, Any]:
    return next(
        one for one in yaml.safe_load_all((DEPLOY / "headroom.yaml").read_text()) if one["kind"] == "Deployment"
    )


def namespace() -> dict[str, Any]:
    return next(one for one in yaml.safe_load_all((DEPLOY / "headroom.yaml").read_text()) if one["kind"] == "Namespace")


def jobs() -> list[dict[str, Any]]:
    every = yaml.safe_load_all((DEPLOY / "snapshot.yaml").read_text())
    return [one["spec"]["jobTemplate"]["spec"]["template"]["spec"] for one in every]


def cluster(*, cpu: str, memory: str, strategy: dict[str, Any] | None = None) -> Snapshot:
    """One node of this size with Headroom on it."""
    only = node("only", cpu=cpu, memory=memory, extra={"ephemeral-storage": "20Gi"})
    spec = own()["spec"]
    items = deployment(
        "headroom", ["only"], spec["template"]["spec"], namespace="headroom", strategy=strategy or spec["strategy"]
    )
    return snapshot(only, items)


def asked(of: Snapshot) -> Verdict:
    return rollout.answer(of, RolloutSettings(workloads=("Deployment/headroom/headroom",))).verdict


@pytest.mark.parametrize(("cpu", "memory"), [("4", "8Gi"), ("500m", "3Gi")])
def test_its_own_rollout_finishes_even_where_nothing_is_free(cpu: str, memory: str) -> None:
    assert asked(cluster(cpu=cpu, memory=memory)) is Verdict.COMPLETES


def test_another_strategy_would_be_stuck_there() -> None:
    """So that the test above can fail."""
    held_up = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    assert asked(cluster(cpu="500m", memory="3Gi", strategy=held_up)) is Verdict.STUCK


def workload(of: Snapshot) -> Workload:
    (found,) = of.workloads
    return found


def test_it_holds_its_own_rules() -> None:
    of = cluster(cpu="4", memory="8Gi")
    found = {one.check: one for one in check_workload(of, workload(of)).checks}
    assert {one: found[one].status for one in CHECKS if found[one].status not in (Status.OK, Status.UNSEEN)} == {}
    worth = [
        one for one in cluster_oddities.check(of) if one.severity is not Severity.INFO and "headroom" in one.object
    ]
    assert worth == []


@pytest.mark.parametrize("spec", [own()["spec"]["template"]["spec"], *jobs()])
def test_pods_are_sound(spec: dict[str, Any]) -> None:
    items = deployment("headroom", ["only"], spec, namespace="headroom")
    pod = workload(snapshot(node("only"), items)).template.spec
    (container,) = pod.containers
    assert container.command_form is CommandForm.EXEC, "process 1 hears SIGTERM"
    assert container.requests["memory"] == container.limits["memory"], "nobody is evicted or killed for what others use"
    assert "cpu" in container.requests
    assert "cpu" not in container.limits, "a limit would only make it slower"
    assert qos_class(pod) is QosClass.BURSTABLE
    assert forbidden(enforced(FrozenMap(namespace()["metadata"]["labels"])), pod) == ()
    assert spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
    written = {one["mountPath"] for one in spec["containers"][0]["volumeMounts"] if not one.get("readOnly")}
    assert written == {"/tmp"}
