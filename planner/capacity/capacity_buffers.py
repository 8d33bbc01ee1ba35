"""Spare room that an autoscaler keeps or that a user requested: CapacityBuffers and ProvisioningRequests.

A buffer's pods are in no cluster: kube-scheduler gives their room to any pod, and cluster-autoscaler, which has them wait
beside the real ones in each loop, then brings nodes for them. For pods that consume a ProvisioningRequest it brings none: it brings them
for the request. Placeholder pods need no rule of their own: they are pods, which may be pushed out and then wait.

Source: kubernetes/autoscaler `cluster-autoscaler/processors/capacitybuffer/pod_list_processor.go` (`Process`, `provision`),
`processors/provreq/pods_filter.go` (`Process`), `provisioningrequest/checkcapacity/provisioningclass.go` (`checkCapacity`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from planner.capacity.cluster_autoscaler import shape_for_grown_cluster
from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CONSUMES_REQUEST
from planner.ground.work_budget import too_large
from planner.kubernetes.object_records import CapacityBuffer, Finding, Labels, ProvisioningRequest, Severity, Snapshot
from planner.rollout.run import Revision, Run
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.pod import LivePod
from planner.scheduling.shape import compile_shape
from planner.scheduling.state import State

BUFFER: Final = "CapacityBuffer"
_REQUEST: Final = "ProvisioningRequest"
_ACTIVE: Final = "buffer.x-k8s.io/active-capacity"
_CHECKS: Final = frozenset({"check-capacity.autoscaling.x-k8s.io", "check-capacity.kubernetes.io"})


def provisioned_buffer_pods(cluster: Cluster) -> tuple[LivePod, ...]:
    """The pods that cluster-autoscaler has wait for the buffers it provisions: none is admitted, so none has its class' priority.

    Raises
    ------
    TooLargeError
        When they are too many to play.
    """
    snapshot, buffer_pods = cluster.snapshot, list[LivePod]()
    templates = {(pod_template.namespace, pod_template.name): pod_template for pod_template in snapshot.pod_templates}
    for buffer in snapshot.capacity_buffers:
        if _why_not(snapshot, buffer):
            continue
        if len(buffer_pods) + buffer.replicas > LIMITS.buffer_pods:
            raise too_large()
        template = templates[buffer.namespace, buffer.template]
        spec = replace(template.spec, priority_class_name="")
        shape = compile_shape(cluster, buffer.namespace, template.labels, spec)
        buffer_pods += [
            LivePod(
                shape=shape, namespace=buffer.namespace, name=f"capacity-buffer-{buffer.name}-{i}", number=0, created_at=0.0,
                uid=f"{_name(buffer)}/{i}", owner=_name(buffer),
            )
            for i in range(buffer.replicas)
        ]  # fmt: skip
    return tuple(buffer_pods)


def _name(of: CapacityBuffer) -> str:
    return f"{BUFFER}/{of.namespace}/{of.name}"


def _why_not(snapshot: Snapshot, buffer: CapacityBuffer) -> str:
    """Why no room is kept for the buffer, as far as is known."""
    if buffer.strategy != _ACTIVE:
        return f"its strategy is {buffer.strategy or 'not in its status'}"
    for condition in ("ReadyForProvisioning", "Provisioning"):
        status, _, reason = buffer.conditions.get(condition, "").partition("/")
        if status != "True":
            return f"its condition {condition} is {status or 'not there'}" + (f" ({reason})" if reason else "")
    if all(
        (pod_template.namespace, pod_template.name) != (buffer.namespace, buffer.template)
        for pod_template in snapshot.pod_templates
    ):
        return f"the snapshot doesn't hold PodTemplate {buffer.template}"
    return ""


def nodes_for(state: State, pods: Iterable[LivePod], used: set[int]) -> set[int]:
    """Where the pods would be, on nodes that are `used` anyhow as far as they fit; `state` is changed."""
    node_numbers = set[int]()
    for pod in pods:
        shape = shape_for_grown_cluster(state.cluster, pod.shape)
        nodes = [] if pod.is_gated else [int(node) for node in feasible_nodes(state, shape)]
        if nodes:
            place = next((node for node in nodes if node in used or node in node_numbers), nodes[0])
            state.add(shape, place)
            node_numbers.add(place)
    return node_numbers


def unsimulated_buffers(snapshot: Snapshot) -> tuple[Finding, ...]:
    """The buffers and booked room that aren't played, each with the reason."""
    gaps = [
        (f"{_name(buffer)} keeps no room in what is played: {why}", "More nodes may come, to fill it up again")
        for buffer in snapshot.capacity_buffers
        if (why := _why_not(snapshot, buffer)) and buffer.replicas
    ]
    gaps += [
        (
            f"room that {_REQUEST} {request.namespace}/{request.name} has booked is played as free",
            "More nodes may come for others",
        )
        for request in snapshot.provisioning_requests
        if _is(request, "Provisioned") and not _is(request, "BookingExpired")
    ]
    return tuple(
        Finding(severity=Severity.INFO, code="spare-not-played", object="", what=what, fix=fix) for what, fix in gaps
    )


def _is(request: ProvisioningRequest, condition: str) -> bool:
    return request.conditions.get(condition, "").startswith("True")


# ── pods that consume a ProvisioningRequest ──────────────────────────────────────────────────────────────────────────
class Consumers(Record):
    """Which pods name a ProvisioningRequest: of the snapshot by uid, of workloads that change by their key."""

    pods: frozenset[str]
    workloads: frozenset[str]

    @classmethod
    def of(cls, snapshot: Snapshot, revisions: Sequence[Revision]) -> Consumers:
        """The consumers of a snapshot and a change."""
        return cls(
            pods=frozenset(pod.uid for pod in snapshot.pods if not pod.node_name and request_named(pod.annotations)),
            workloads=frozenset(
                revision.after.key
                for revision in revisions
                if any(request_named(template.annotations) for template, _ in revision.after.templates)
            ),
        )

    def without(self, run: Run, pods: Iterable[LivePod]) -> list[LivePod]:
        """The pods for which nodes are brought all the same."""
        own = {id(pod) for key in self.workloads for pod in run.pods.get(key, ()) if pod.is_new}
        return [pod for pod in pods if pod.uid not in self.pods and id(pod) not in own]


def request_named(annotations: Labels) -> str:
    """The ProvisioningRequest that pods with these annotations consume, "" for none."""
    return next((annotations[key] for key in CONSUMES_REQUEST if key in annotations), "")


def provisioning_request_effect(snapshot: Snapshot, revision: Revision) -> tuple[str, bool]:
    """What the workload's ProvisioningRequest means for nodes that its pods wait for, and whether that is known; ("", True) for none."""
    named = next(
        (name for template, _ in revision.after.templates if (name := request_named(template.annotations))), ""
    )
    if not named:
        return "", True
    namespace = revision.after.namespace
    requests = [
        candidate
        for candidate in snapshot.provisioning_requests
        if (candidate.namespace, candidate.name) == (namespace, named)
    ]
    what = f"{_REQUEST} {namespace}/{named}"
    if not requests:
        return (
            f"whether nodes come for {what}, which its pods consume, isn't known: the snapshot doesn't hold it",
            False,
        )
    (request,) = requests[:1]
    none = f"the autoscaler adds no node for pods that consume {what}"
    if _is(request, "Failed"):
        return f"{none}, which has failed", True
    if _is(request, "Provisioned"):
        return f"{none}, which has its nodes", True
    if request.class_name in _CHECKS:
        return f"{none}, which only asks whether there is room ({request.class_name})", True
    return (
        f"whether nodes come for {what} (class {request.class_name or 'unknown'}), which its pods consume, isn't known",
        False,
    )
