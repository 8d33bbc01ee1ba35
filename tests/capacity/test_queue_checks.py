"""Admission checks are named with what hangs on their controller."""

from __future__ import annotations

from typing import Any

import pytest

from planner.capacity.kueue_queues import queues
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome
from tests.capacity.teams import API, flavor, local, node, queue, read, workload


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        ("kueue.x-k8s.io/provisioning-request", "then checked: gate (a ProvisioningRequest: whether an autoscaler brings its nodes isn't known)"),
        ("kueue.x-k8s.io/multikueue", "then checked: gate (MultiKueue: which cluster takes it isn't known)"),
        ("example.com/budget", "then checked: gate"),
    ],
)  # fmt: skip
def test_a_check_is_named_by_its_controller(controller: str, said: str) -> None:
    check: dict[str, Any] = {
        "apiVersion": API,
        "kind": "AdmissionCheck",
        "metadata": {"name": "gate"},
        "spec": {"controllerName": controller},
    }
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    checked = queue("q", {"f": ("8",)}, admissionChecksStrategy={"admissionChecks": [{"name": "gate"}]})
    items = [node("n", 8), space, flavor("f"), checked, local("a", "q"), check]
    [one] = queues(read([*items, workload("a", "first", 8)])).waiting
    assert one.outcome is AdmissionOutcome.CHECK
    assert str(one.why).endswith(said)
    [full] = queues(read([*items, workload("a", "first", 9)])).waiting  # no quota: no check is asked
    assert full.outcome is AdmissionOutcome.NEVER
