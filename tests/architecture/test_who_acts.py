"""docs/rollout.md has a line for everything that may act during a rollout."""

from __future__ import annotations

import re

import pytest

from tests.architecture.tree import ROOT

# kube-controller-manager's controllers that make, delete, move or stop pods, volumes and nodes (kubernetes
# `cmd/kube-controller-manager/names/controller_names.go`), and who else does; each with a word of its line.
ACTORS = {
    "deployment": "Deployment, ", "replicaset": "ReplicaSet, ", "statefulset": "StatefulSet", "daemonset": "DaemonSet",
    "replicationcontroller": "ReplicationController", "job": "Job controller", "cronjob": "CronJobs",
    "horizontal-pod-autoscaler": "HorizontalPodAutoscaler", "disruption": "disruption controller", "resourcequota": "quotas",
    "namespace": "namespaces being deleted", "pod-garbage-collector": "pods of nodes that are gone",
    "garbage-collector": "owners that are gone", "node-lifecycle": "node lifecycle", "taint-eviction": "lifecycle controller, taint eviction",
    "device-taint-eviction": "device taint eviction", "persistentvolume-binder": "provisioners", "attachdetach": "attach and detach",
    "kubelet": "kubelet", "scheduler": "kube-scheduler", "keda": "KEDA", "vpa": "VerticalPodAutoscaler",
    "scale-up": "adding nodes", "scale-down": "taking nodes away", "descheduler": "descheduler", "upgrades": "node upgrades",
    "spot": "spot loss", "people": "other people, GitOps", "webhooks": "admission webhooks", "operators": "operators",
    "argo": "Argo Rollouts'", "new-pods": "pods that somebody makes", "leases": "leases",
    "drivers": "drivers of devices", "queues": "Kueue", "other-queues": "Volcano",
}  # fmt: skip


def lines() -> list[str]:
    """What stands first in each line of the table."""
    text = (ROOT / "docs" / "rollout.md").read_text(encoding="utf-8")
    table = text.partition("| who may act |")[2].partition("\n\n")[0]
    return re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[1:]


@pytest.mark.parametrize("actor", ACTORS)
def test_everything_that_may_act_has_one_line(actor: str) -> None:
    assert len([line for line in lines() if ACTORS[actor] in line]) == 1


def test_every_line_is_asked_about() -> None:
    assert [line for line in lines() if not any(word in line for word in ACTORS.values())] == []
