"""The workload kinds (Deployment, StatefulSet, DaemonSet, Job, …), one row each with everything in which they differ.
Other modules name no kind.

A kind is added by its row in ``workload_kinds.json`` (a `note` there is for people), its name here, its controller in
`planner.rollout.controllers` and that one's line in the registry.
Sources: kubernetes `pkg/apis/{apps,batch}/v1/defaults.go`, `staging/src/k8s.io/api/{apps,batch}/v1/types.go`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.records import Record

ROLLING_UPDATE: Final = "RollingUpdate"
RECREATE: Final = "Recreate"
ON_DELETE: Final = "OnDelete"
CANARY: Final = "Canary"
BLUE_GREEN: Final = "BlueGreen"

ROLLOUT_STATUS: Final = "rollout status"
"""How to wait for a kind that ``kubectl rollout status`` knows: kubectl `pkg/polymorphichelpers/rollout_status.go`."""


class Scale(StrEnum):
    """What says how many pods there shall be."""

    NONE = ""
    REPLICAS = "spec.replicas"
    NODES = "one a node"
    PARALLELISM = "spec.parallelism"


class StatusFields(Record):
    """The fields of ``status`` that count pods; "" where the kind has none. A pod is *ready* when the kubelet says so,
    *available* when it has been so for minReadySeconds; the workload is when as many are as `wanted` says."""

    wanted: str = "replicas"
    ready: str = "readyReplicas"
    available: str = "availableReplicas"
    updated: str = "updatedReplicas"


class Kind(Record):
    """One kind.

    Attributes
    ----------
    name, group, version, resource : as the API spells them; `group` is "" for the core group
    part : the kind of object it makes its pods through, "" when it makes them itself
    part_hash_label : the pods' label that ends the name of such a part
    strategy_field, strategies : where its update strategy is, and which there are; none: it doesn't roll out
    default_surge, default_unavailable : of its RollingUpdate; None: absent unless given
    rounds_unavailable_up : whether a share of maxUnavailable is rounded up
    has_ordinals : whether its pods are numbered, each with a name that its successor takes over
    can_pause : whether ``spec.paused`` stops its rollouts
    progress_deadline_seconds : default of ``spec.progressDeadlineSeconds``; None: it has no such field
    undoes : what goes back to the revision before, to be followed by kind and name where kubectl does it; "" where nothing does
    waits : how kubectl waits until all its pods are there: `ROLLOUT_STATUS`, or what ``kubectl wait --for=`` takes, where a
        ``=`` at the end wants the number of pods; "" where there is no way
    has_scale : whether it has the subresource that ``kubectl scale`` writes
    pod_suffix : regular expression of what follows its name in the names of its pods, with the letters and digits that Kubernetes
        makes names up of (apimachinery `pkg/util/rand/rand.go`)
    project, source : whose it is and by which version's rules it is played, where it isn't Kubernetes' own; and the files they are in
    modelled : what of its rollouts is played, and what isn't, for people
    """

    name: str
    resource: str = ""
    group: str = ""
    version: str = "v1"
    part: str = ""
    part_hash_label: str = ""
    scale: Scale = Scale.NONE
    strategy_field: str = ""
    strategies: tuple[str, ...] = ()
    default_surge: int | str | None = None
    default_unavailable: int | str | None = None
    rounds_unavailable_up: bool = False
    has_ordinals: bool = False
    can_pause: bool = False
    progress_deadline_seconds: int | None = None
    status: StatusFields = StatusFields()
    undoes: str = "kubectl rollout undo"
    waits: str = ""
    has_scale: bool = False
    pod_suffix: str = r"(?:-\d+)?-[bcdfghjklmnpqrstvwxz2456789]{5}"
    project: str = ""
    source: str = ""
    modelled: str = ""

    @property
    def is_custom(self) -> bool:
        """Whether a cluster has it only where its project is installed."""
        return bool(self.project)

    @property
    def named(self) -> str:
        """What kubectl is told of one of them: where another group may have a kind of that name, with its group."""
        return f"{self.resource}.{self.group}" if self.is_custom else self.name.lower()

    @property
    def path(self) -> str:
        """Where the API server lists all of them."""
        root = f"/apis/{self.group}" if self.group else "/api"
        return f"{root}/{self.version}/{self.resource}"

    @property
    def rolls_out(self) -> bool:
        """Whether a change of its pod template replaces its pods."""
        return bool(self.strategies)

    @property
    def has_replicas(self) -> bool:
        return self.scale is Scale.REPLICAS

    @property
    def is_per_node(self) -> bool:
        """Whether its pods are of their nodes: they come with one and go with it."""
        return self.scale is Scale.NODES

    @property
    def is_batch(self) -> bool:
        """Whether its pods are to finish."""
        return self.scale is Scale.PARALLELISM

    @property
    def can_surge(self) -> bool:
        """Whether its RollingUpdate has a maxSurge."""
        return self.default_surge is not None

    @property
    def surges_freely(self) -> bool:
        """Whether the pods of its maxSurge go to any node, beside the old ones."""
        return self.can_surge and self.has_replicas and not self.is_custom

    def key(self, namespace: str, name: str) -> str:
        """``Deployment/prod/ml-worker``, ``Node/gpu-0``: what such an object is called everywhere."""
        return f"{self.name}/{namespace}/{name}" if namespace else f"{self.name}/{name}"


_ROWS: Final = {
    kind.name: kind for kind in typed_json.decode(table_beside(__name__, "workload_kinds.json"), tuple[Kind, ...])
}
OLD_GROUP: Final = "extensions"  # of Deployments, DaemonSets and ReplicaSets until Kubernetes 1.16
POD: Final = _ROWS["Pod"]
NODE: Final = _ROWS["Node"]
REPLICA_SET: Final = _ROWS["ReplicaSet"]
DEPLOYMENT: Final = _ROWS["Deployment"]
STATEFUL_SET: Final = _ROWS["StatefulSet"]
DAEMON_SET: Final = _ROWS["DaemonSet"]
JOB: Final = _ROWS["Job"]
ROLLOUT: Final = _ROWS["Rollout"]
LEADER_WORKER_SET: Final = _ROWS["LeaderWorkerSet"]

REPLICATION_CONTROLLER: Final = "ReplicationController"
"""Known by its pods only."""
CRON_JOB: Final = "CronJob"
"""Known as who makes Jobs."""

WORKLOADS: Final = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET, JOB, ROLLOUT, LEADER_WORKER_SET)
"""What a person names and changes: the kinds of `Snapshot.workloads`."""

PLAYED: Final = tuple(kind for kind in WORKLOADS if kind.rolls_out)
"""Those that are played."""
ROLLING: Final = tuple(kind for kind in PLAYED if not kind.is_custom)
"""Those of them that every cluster has."""
PARTS: Final = (REPLICA_SET,)
"""What a workload makes its pods through."""

ROLLING_TEXT: Final = f"{', '.join(kind.name for kind in PLAYED[:-1])} or {PLAYED[-1].name}"
"""The kinds that roll out, for a sentence."""


def kind_called(name: str) -> Kind:
    """The row of a kind; of one that isn't in the table, a row that says nothing of it."""
    return _ROWS.get(name) or Kind(name=name)


def is_namesake(kind: str, api_group: str) -> bool:
    """Whether a kind of that name is another project's than the table's (Kruise's StatefulSet); where no group is told it isn't."""
    return kind in _ROWS and api_group not in ("", OLD_GROUP, _ROWS[kind].group)


def kind_in(key: str) -> Kind:
    """The kind of a key such as ``DaemonSet/prod/agent``."""
    return kind_called(key.partition("/")[0])


_APPS_BETA: Final = ("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2")
REMOVED: Final = {
    **{(kind.name, version): 16 for kind in (*ROLLING, *PARTS) for version in _APPS_BETA},
    ("CronJob", "batch/v1beta1"): 25,
    ("CronJob", "batch/v2alpha1"): 21,
    **{(kind, "extensions/v1beta1"): 16 for kind in ("NetworkPolicy", "PodSecurityPolicy")},
    **{("Ingress", version): 22 for version in ("extensions/v1beta1", "networking.k8s.io/v1beta1")},
    ("IngressClass", "networking.k8s.io/v1beta1"): 22,
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1beta1"): 22,
    ("APIService", "apiregistration.k8s.io/v1beta1"): 22,
    ("CertificateSigningRequest", "certificates.k8s.io/v1beta1"): 22,
    ("Lease", "coordination.k8s.io/v1beta1"): 22,
    ("PriorityClass", "scheduling.k8s.io/v1beta1"): 22,
    **{
        (f"{kind}WebhookConfiguration", "admissionregistration.k8s.io/v1beta1"): 22
        for kind in ("Mutating", "Validating")
    },
    **{
        (kind, f"rbac.authorization.k8s.io/{version}"): 22
        for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
        for version in ("v1alpha1", "v1beta1")
    },
    **{(kind, "storage.k8s.io/v1beta1"): 22 for kind in ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment")},
    **{(kind, "policy/v1beta1"): 25 for kind in ("PodDisruptionBudget", "PodSecurityPolicy")},
    ("EndpointSlice", "discovery.k8s.io/v1beta1"): 25,
    ("Event", "events.k8s.io/v1beta1"): 25,
    ("HorizontalPodAutoscaler", "autoscaling/v2beta1"): 25,
    ("RuntimeClass", "node.k8s.io/v1beta1"): 25,
}
"""(kind, apiVersion) → the minor version of Kubernetes 1 that no longer serves it; those of later versions are in the packed table of
fields (`planner.inventory.kubernetes_api_schema`), which begins with 1.25.

Source: Kubernetes' *Deprecated API Migration Guide*.
"""


def no_longer_served(kind: str, api_version: str, minors: Iterable[int]) -> int | None:
    """Since which minor version no API server takes such a manifest, None where a cluster of these `minors` may.

    A cluster that doesn't tell its version is taken for one of today's.
    """
    since = REMOVED.get((kind, api_version))
    return since if since is not None and all(minor >= since for minor in minors) else None


def several(kind: str) -> str:
    """``Pods``, ``PriorityClasses``, ``CSIStorageCapacities``, ``Sandboxes``."""
    if kind.endswith("y") and kind[-2:-1] not in "aeiou":
        return f"{kind[:-1]}ies"
    return kind if kind.endswith("Metrics") else f"{kind}{'es' if kind.endswith(('s', 'x', 'z', 'ch', 'sh')) else 's'}"
