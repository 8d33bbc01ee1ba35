"""Pods that a queue lets in: Kueue keeps them from being scheduled until its quotas have room, and may evict others for them.

Source: Kueue's documentation, "Run a Kubernetes Job", "Run Plain Pods" (v1beta1, v0.14): the label on the object, or on its
pods; pods wait with the scheduling gate, jobs are suspended.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planner.ground.vocabulary import KUEUE_ADMISSION_GATE, KUEUE_QUEUE
from planner.kubernetes.records import Labels, Template

GROUP: Final = "kueue.x-k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")
KINDS: Final = {
    "ClusterQueue": "clusterqueues", "LocalQueue": "localqueues", "ResourceFlavor": "resourceflavors", "Cohort": "cohorts",
    "Workload": "workloads", "WorkloadPriorityClass": "workloadpriorityclasses", "AdmissionCheck": "admissionchecks",
    "Topology": "topologies",
}  # fmt: skip
"""Kueue's kinds that are read → what a ClusterRole calls them."""
NAMESPACED: Final = frozenset({"LocalQueue", "Workload"})
NEEDED: Final = ("ClusterQueue", "LocalQueue", "ResourceFlavor", "Workload")
"""Without the lists of these nothing is known of queues. A cluster may have no Cohort, and its queues cohorts all the same."""

_ADMITS: Final = "Kueue admits these pods"


def queued(labels: Labels, templates: Iterable[Template]) -> str:
    """What says that Kueue admits the pods of an object with these labels and pod templates, "" where nothing does."""
    if queue := labels.get(KUEUE_QUEUE):
        return f"{_ADMITS} (its label {KUEUE_QUEUE}={queue})"
    for one in templates:
        if queue := one.labels.get(KUEUE_QUEUE):
            return f"{_ADMITS} (its pods' label {KUEUE_QUEUE}={queue})"
        if KUEUE_ADMISSION_GATE in one.spec.scheduling_gates:
            return f"{_ADMITS} (its pods' scheduling gate {KUEUE_ADMISSION_GATE})"
    return ""
