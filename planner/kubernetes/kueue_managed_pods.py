"""Pods that Kueue manages: it keeps them gated until its quotas have room, and may evict others for them.

Source: Kueue's documentation, "Run a Kubernetes Job", "Run Plain Pods" (v1beta1, v0.14): the label on the object, or on its
pods; pods wait with the scheduling gate, jobs are suspended. Without the label an object gets its namespace's LocalQueue
``default``, from 0.12 on: kubernetes-sigs/kueue at ff69552e79ad, `pkg/controller/jobframework/defaults.go`
(`ApplyDefaultLocalQueue`, feature gate `LocalQueueDefaulting`), and for every pod that nothing of Kueue's owns
`pkg/controller/jobs/pod/pod_webhook.go` (`Default`). So it may be any kind that makes pods: which integrations are on, and in
which namespaces, is in Kueue's configuration, which is in no object. Neither is `manageJobsWithoutQueueName`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from planner.ground import words
from planner.ground.well_known_names import KUEUE_ADMISSION_GATE, KUEUE_QUEUE
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.object_records import Labels, Presence, Snapshot, Template

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

PLAYED: Final = "0.20"  # the version of the rules in `planner.scheduling.kueue`
_IMAGE: Final = re.compile(r"(?:^|/)kueue(?:-controller-manager)?:v?(\d+\.\d+)")
DEFAULT: Final = "default"  # the LocalQueue of what names none
LOCAL: Final = "LocalQueue"
_ADMITS: Final = "Kueue admits these pods"
_MAY_ADMIT: Final = "Kueue may admit these pods"


def managing_reason(snapshot: Snapshot, namespace: str, labels: Labels, templates: Iterable[Template]) -> str:
    """What says that Kueue admits, or may admit, the pods of an object of `namespace` with these labels and pod templates, "" where
    nothing does."""
    if queue_name := named_queue(labels, templates):
        return queue_name
    if namespace in _with_default(snapshot):
        return f"{_MAY_ADMIT} (its namespace has a LocalQueue named {DEFAULT}, which what names no queue gets)"
    if is_default_unseen(snapshot):
        return f"{_MAY_ADMIT} (the snapshot doesn't hold LocalQueues, and what names no queue gets one named {DEFAULT})"
    return ""


def configures(document: Mapping[str, Any]) -> bool:
    """Whether an object, as it is written, is one of Kueue's that say who is let in: all that are read but a Workload."""
    group = str(document.get("apiVersion") or "").partition("/")[0]
    return group == GROUP and document.get("kind") in KINDS and document.get("kind") != "Workload"


def is_default_unseen(snapshot: Snapshot) -> bool:
    """Whether Kueue is there and some namespace may have a default queue that wasn't seen."""
    lacks = snapshot.presence.get(LOCAL, Presence.ABSENT).is_lacking
    return lacks and snapshot.derived.once(is_there, snapshot)


def is_there(snapshot: Snapshot) -> bool:
    """Whether a list of Kueue's, or something that waits for it, shows that Kueue is installed."""
    if any(state is not Presence.ABSENT for kind, state in snapshot.presence.items() if kind in KINDS):
        return True
    workloads = snapshot.every_workload
    return any(KUEUE_QUEUE in pod.labels for pod in snapshot.pods) or any(
        named_queue(workload.labels, [template for template, _ in workload.templates]) for workload in workloads
    )


@once_a_snapshot
def version(snapshot: Snapshot) -> str:
    """Kueue's version, by the image of its controllers' pods: ``0.14``; "" where none is seen. A mirror may call it otherwise."""
    specs = {id(pod.spec): pod.spec for pod in snapshot.pods if not pod.is_terminal}.values()
    matches = [_IMAGE.search(container.image) for spec in specs for container in spec.containers]
    return next((match[1] for match in matches if match is not None), "")


def of_rules(snapshot: Snapshot) -> str:
    """By which rules of Kueue's an answer is, as words."""
    kueue_version, rules_text = version(snapshot), f"by the rules and default feature gates of Kueue {PLAYED}"
    if kueue_version == PLAYED:
        return rules_text
    if not kueue_version:
        return f"{rules_text} (which version runs here isn't seen)"
    rules_text = f"{rules_text}, though its controllers here are of {kueue_version}"
    if _numbers(kueue_version) > _numbers(PLAYED):
        return f"{rules_text}, newer than these rules"
    differs = [f"{what} since {since}" for since, what in _SINCE.items() if is_before(kueue_version, since)]
    return f"{rules_text} ({words.listing(differs, most=None)})" if differs else rules_text


_DEFAULT_SINCE: Final = "0.12"  # `LocalQueueDefaulting`
FAIR_SINCE: Final = "0.17"  # `FairSharingPreemptWithinNominal`, `FairSharingPrioritizeNonBorrowing`
_SINCE: Final = {
    "0.10": "a RayJob's submitter is counted", FAIR_SINCE: "fair sharing spares who lives on its own quota",
    "0.19": "a RayJob's submitter in SidecarMode is counted",
    "0.20": "who would be evicted for two at once is looked for again for the second",
}  # fmt: skip
"""What is otherwise in earlier versions: kueue's tags v0.9.5 to v0.19.2, `pkg/features/kube_features.go`, `rayjob_controller.go`."""


def is_before(kueue_version: str, since: str) -> bool:
    """Whether a version is older than another; "" is none."""
    return bool(kueue_version) and _numbers(kueue_version) < _numbers(since)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@once_a_snapshot
def _with_default(snapshot: Snapshot) -> frozenset[str]:
    """Namespaces with a default queue: it takes what names none."""
    return frozenset(queue.namespace for queue in snapshot.local_queues if queue.name == DEFAULT)


def default_queue(snapshot: Snapshot, namespace: str) -> str:
    """The LocalQueue that Kueue's webhooks name in what is made in a namespace and names none (`ApplyDefaultLocalQueue`), "" for none."""
    is_there = namespace in _with_default(snapshot) and not is_before(version(snapshot), _DEFAULT_SINCE)
    return DEFAULT if is_there else ""


def named_queue(labels: Labels, templates: Iterable[Template]) -> str:
    """What of the object itself says that Kueue admits its pods."""
    if queue := labels.get(KUEUE_QUEUE):
        return f"{_ADMITS} (its label {KUEUE_QUEUE}={queue})"
    for template in templates:
        if queue := template.labels.get(KUEUE_QUEUE):
            return f"{_ADMITS} (its pods' label {KUEUE_QUEUE}={queue})"
        if KUEUE_ADMISSION_GATE in template.spec.scheduling_gates:
            return f"{_ADMITS} (its pods' scheduling gate {KUEUE_ADMISSION_GATE})"
    return ""
