"""The kind of an object that doesn't say it: items of an API answer, of ``jq .items``, of a file a tool wrote.

Told by where it says it was read (``metadata.selfLink``) or by fields that only one kind has. Source of the fields:
k8s.io/api 1.36, `core/v1`, `apps/v1`, `batch/v1`, `policy/v1`, `scheduling/v1`, `storage/v1`, `metrics.k8s.io/v1beta1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from planner.inventory import wire
from planner.kubernetes import queues
from planner.kubernetes.kinds import DEPLOYMENT
from planner.kubernetes.listed import LISTED

Fields = Mapping[str, Any]


def resource_of(kind: str) -> str:
    """What kubectl calls objects of a kind that is read: ``pods``, ``priorityclasses``, ``clusterqueues.kueue.x-k8s.io``."""
    if kind in LISTED:
        return kind
    known = wire.READ[kind]
    return f"{known.resource}.{known.group}" if kind in queues.KINDS or known.group == wire.SPARE else known.resource


_PLURALS: Final = {one.resource: kind for kind, one in wire.READ.items() if one.group != wire.METRICS} | {
    "endpoints": "Endpoints",
    "configmaps": "ConfigMap", "secrets": "Secret", "serviceaccounts": "ServiceAccount", "ingresses": "Ingress",
    "cronjobs": "CronJob", "replicationcontrollers": "ReplicationController",
}  # fmt: skip


def is_object(value: object) -> bool:
    """Whether `value` looks like an object of Kubernetes: it has metadata with a name, or says kind and version."""
    if not isinstance(value, dict):
        return False
    metadata = value.get("metadata")
    has_name = isinstance(metadata, dict) and bool(metadata.get("name") or metadata.get("generateName"))
    return has_name or (isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str))


def kind_of_shape(one: Fields) -> str:
    """The kind that `one` has the shape of, "" when it can't be told."""
    metadata = one.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    told = _by_link(metadata.get("selfLink"))
    if told:
        return told
    spec, status = _fields(one, "spec"), _fields(one, "status")
    return next((kind for kind, fits in _SHAPES if fits(one, spec, status)), "")


def _by_link(link: object) -> str:
    """``/apis/apps/v1/namespaces/prod/deployments/api`` → Deployment: API servers before 1.20 wrote it."""
    if not isinstance(link, str) or not link.startswith(("/api/", "/apis/")):
        return ""
    parts = link.strip("/").split("/")
    rest = parts[2 if parts[0] == "api" else 3 :]
    if len(rest) >= 3 and rest[0] == "namespaces":
        rest = rest[2:]
    return _PLURALS.get(rest[0], "") if rest else ""


def _fields(one: Fields, name: str) -> Fields:
    value = one.get(name)
    return value if isinstance(value, dict) else {}


def _is_pod(_: Fields, spec: Fields, __: Fields) -> bool:
    return isinstance(spec.get("containers"), list)


def _is_node(_: Fields, spec: Fields, status: Fields) -> bool:
    return "allocatable" in status or bool({"nodeInfo", "daemonEndpoints"} & status.keys()) or "podCIDR" in spec


def _is_replica_set(one: Fields, spec: Fields, status: Fields) -> bool:
    if "template" not in spec or "strategy" in spec or "updateStrategy" in spec:
        return False
    owners = _fields(one, "metadata").get("ownerReferences")
    of_deployment = isinstance(owners, list) and any(
        isinstance(o, dict) and o.get("kind") == DEPLOYMENT.name for o in owners
    )
    return of_deployment or (
        "fullyLabeledReplicas" in status and _fields(spec, "selector").get("matchLabels") is not None
    )


def _is_job(_: Fields, spec: Fields, __: Fields) -> bool:
    return "template" in spec and bool({"completions", "parallelism", "backoffLimit", "completionMode"} & spec.keys())


def _is_stateful_set(_: Fields, spec: Fields, __: Fields) -> bool:
    return "template" in spec and bool({"serviceName", "podManagementPolicy", "volumeClaimTemplates"} & spec.keys())


def _is_daemon_set(_: Fields, spec: Fields, status: Fields) -> bool:
    return "template" in spec and ("updateStrategy" in spec or "desiredNumberScheduled" in status)


def _is_deployment(_: Fields, spec: Fields, __: Fields) -> bool:
    return "template" in spec and "selector" in spec and bool({"strategy", "progressDeadlineSeconds"} & spec.keys())


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(one, str) for one in value.values())


def _is_budget(_: Fields, spec: Fields, status: Fields) -> bool:
    return "disruptionsAllowed" in status or (
        "selector" in spec and "template" not in spec and bool({"minAvailable", "maxUnavailable"} & spec.keys())
    )


_SHAPES: Final[tuple[tuple[str, Callable[[Fields, Fields, Fields], bool]], ...]] = (
    ("Pod", _is_pod),
    ("Node", _is_node),
    ("CronJob", lambda _, spec, __: "jobTemplate" in spec),
    ("ReplicaSet", _is_replica_set),
    ("Job", _is_job),
    ("StatefulSet", _is_stateful_set),
    ("DaemonSet", _is_daemon_set),
    ("Deployment", _is_deployment),
    ("ReplicationController", lambda _, spec, __: "template" in spec and _is_text_map(spec.get("selector"))),
    ("PodDisruptionBudget", _is_budget),
    ("Event", lambda one, _, __: "reason" in one and bool({"involvedObject", "regarding"} & one.keys())),
    ("PodMetrics", lambda one, _, __: isinstance(one.get("containers"), list) and "timestamp" in one),
    ("PersistentVolumeClaim", lambda _, spec, __: "accessModes" in spec and "resources" in spec),
    ("PersistentVolume", lambda _, spec, __: "accessModes" in spec and "capacity" in spec),
    ("ResourceQuota", lambda _, spec, __: "hard" in spec),
    ("LimitRange", lambda _, spec, __: isinstance(spec.get("limits"), list)),
    ("PriorityClass", lambda one, _, __: isinstance(one.get("value"), int) and "spec" not in one),
    ("StorageClass", lambda one, _, __: isinstance(one.get("provisioner"), str)),
    ("Namespace", lambda _, spec, status: status.get("phase") in ("Active", "Terminating")
     and not spec.keys() - {"finalizers"}),
    ("NodeMetrics", lambda one, _, __: isinstance(one.get("usage"), dict) and "timestamp" in one),
    ("Service", lambda _, spec, __: "ports" in spec and ("clusterIP" in spec or "selector" in spec)),
    ("Endpoints", lambda one, _, __: isinstance(one.get("subsets"), list)),
    ("ConfigMap or Secret", lambda one, _, __: isinstance(one.get("data"), dict) and "spec" not in one),
)  # fmt: skip
