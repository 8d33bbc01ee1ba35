"""Jobs that a strategy kills on its way are told apart from other pods that it preempts."""

from __future__ import annotations

import pytest

from planner.inventory.change import WorkloadChange
from planner.rollout.prepared_change import Scenario
from planner.rollout.strategy_grid import strategy_grid
from tests.builders import objects


@pytest.mark.parametrize(("kind", "killed"), [("Job", 1), ("StatefulSet", 0)])
def test_a_preempted_pod_of_a_job_is_a_killed_job(kind: str, killed: int) -> None:
    """Surge 1 needs the 2 CPUs that a pod of lower priority holds; Recreate comes when its own are free."""
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
    }
    template = {"metadata": {"labels": {"app": "low"}}, "spec": objects.pod_spec(cpu="2")}
    low = {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "low", "namespace": "ml", "uid": "low"},
        "spec": {"template": template, "selector": {"matchLabels": {"app": "low"}}}
        | ({"parallelism": 1, "completions": 1} if kind == "Job" else {"replicas": 1, "serviceName": "low"}),
        "status": {"active": 1} if kind == "Job" else {"replicas": 1},
    }
    snapshot = objects.snapshot(
        urgent,
        objects.node("n1", cpu="4"),
        objects.deployment("web", ["n1"], objects.pod_spec(cpu="2", priorityClassName="urgent", priority=1000)),
        low,
        objects.pod(
            "low-0", objects.pod_spec(cpu="2"), on="n1", labels={"app": "low"}, owner=objects.owner(kind, "low", "low")
        ),
    )
    grid = strategy_grid(
        snapshot, Scenario(changes=(WorkloadChange(workload="Deployment/ml/web"),)), "Deployment/ml/web"
    )
    surge, recreate = grid.cells[1][0], grid.recreate
    assert (surge.evictions, surge.killed_jobs) == (1, killed)
    assert (recreate.evictions, recreate.killed_jobs) == (0, 0)
