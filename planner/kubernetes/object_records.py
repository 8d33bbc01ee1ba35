"""Frozen records of Kubernetes objects (pods, nodes, workloads, …) with only the fields that the planner needs.

Amounts are integers in canonical units (`planner.ground.quantity`): millicores for ``cpu``, bytes for memory and storage,
devices else. Times are seconds since the epoch (float) or None. Absent fields carry Kubernetes' own default where the
API server would have set one. No record holds an environment value, Secret or ConfigMap data, or an annotation outside
`well_known_names.KEPT_ANNOTATIONS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeVar

from planner.ground.records import WRITTEN_NAME, Record, dataclass
from planner.ground.well_known_names import (
    CONTROLLER_REVISION_HASH,
    DEFAULT_SCHEDULER,
    POD_TEMPLATE_HASH,
    ROLLOUTS_POD_TEMPLATE_HASH,
)
from planner.kubernetes.argo_and_lws_rollouts import BlueGreen, Canary, Groups, Progress
from planner.kubernetes.derived import DerivedValues
from planner.kubernetes.field_privacy import (
    Expression,
    Handler,
    Image,
    Inside,
    Message,
    NodeKey,
    Path,
    PodKey,
    SharedName,
    State,
    Tells,
    Uid,
    Word,
    WorkloadKey,
)
from planner.kubernetes.workload_kinds import REPLICA_SET, ROLLING_UPDATE, Kind, kind_called

V = TypeVar("V")


class FrozenMap(Mapping[str, V], Generic[V]):
    """A hashable mapping from str; equal to another one with the same items. For labels and resource amounts."""

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[str, V] | None = None) -> None:
        initial_items = items._items if isinstance(items, FrozenMap) else items
        self._items: dict[str, V] = dict(initial_items) if initial_items else {}
        self._hash: int | None = None

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    if not TYPE_CHECKING:  # as `Mapping` has and types them, without its detours

        def get(self, key, /, default=None):
            return self._items.get(key, default)

        def __contains__(self, key):
            return key in self._items

        def keys(self):
            return self._items.keys()

        def values(self):
            return self._items.values()

        def items(self):
            return self._items.items()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenMap):
            return self._items is other._items or self._items == other._items
        return self._items == other

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"

    def __getstate__(self) -> dict[str, V]:
        return self._items

    def __setstate__(self, items: dict[str, V]) -> None:
        self._items, self._hash = items, None


Labels = FrozenMap[str]
Amounts = FrozenMap[int]
EMPTY: FrozenMap[Any] = FrozenMap()


# ── selectors ────────────────────────────────────────────────────────────────────────────────────────────────────────
class Requirement(Record):
    """``key operator values``; the operator is one of In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str = ""
    operator: Word = ""
    values: tuple[str, ...] = ()


class LabelSelector(Record):
    """All of `match_labels` and all of `match_expressions`. An empty selector matches everything.

    Where the API allows a selector to be absent, the field holds None, which matches nothing.
    """

    match_labels: Labels = EMPTY
    match_expressions: tuple[Requirement, ...] = ()


class NodeSelectorTerm(Record):
    """All of `match_expressions` (labels) and `match_fields` (metadata.name); an empty term matches nothing."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class PreferredTerm(Record):
    weight: int
    term: NodeSelectorTerm


class NodeAffinity(Record):
    """`required`: any of the terms, None when nothing is required (an empty tuple matches no node)."""

    required: tuple[NodeSelectorTerm, ...] | None = None
    preferred: tuple[PreferredTerm, ...] = ()


class PodAffinityTerm(Record):
    label_selector: LabelSelector | None
    topology_key: NodeKey
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[PodKey, ...] = ()
    mismatch_label_keys: tuple[PodKey, ...] = ()
    weight: int = 0  # 0: required; 1..100: preferred


class TopologySpreadConstraint(Record):
    max_skew: int
    topology_key: NodeKey
    when_unsatisfiable: Word  # DoNotSchedule | ScheduleAnyway
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: Word = "Honor"
    node_taints_policy: Word = "Ignore"
    match_label_keys: tuple[PodKey, ...] = ()


class Taint(Record):
    key: str
    value: str
    effect: Word  # NoSchedule | PreferNoSchedule | NoExecute


class Toleration(Record):
    key: str = ""  # empty with Exists: every taint
    operator: Word = "Equal"  # Equal | Exists | Lt | Gt
    value: str = ""
    effect: Word = ""  # empty: every effect
    toleration_seconds: int | None = None


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
class CommandForm(StrEnum):
    """How a container's process is started, which decides whether it sees SIGTERM."""

    IMAGE = "image"  # no command given: the image's entrypoint, unknown here
    EXEC = "exec"  # ["python", "worker.py"]: the program is process 1
    SHELL = "shell"  # ["sh", "-c", "python worker.py"]: the shell is process 1 and doesn't pass signals on
    SHELL_EXEC = "shell_exec"  # ["sh", "-c", "exec python worker.py"]: the shell is replaced by the program
    SHELL_TRAP = "shell_trap"  # ["sh", "-c", "trap … TERM; python worker.py & wait"]: the shell hears SIGTERM itself
    INIT_SHELL = (
        "init_shell"  # ["tini", "--", "sh", "-c", "python worker.py"]: the init tells the shell, which ends alone
    )


class Probe(Record):
    handler: Handler  # http | tcp | exec | grpc
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3


class HostPort(Record):
    port: int
    protocol: str = "TCP"
    host_ip: str = "0.0.0.0"


class SecurityContext(Record):
    """What the Pod Security Standards look at in a pod's or a container's ``securityContext``; None: not given."""

    is_privileged: bool = False
    may_escalate: bool | None = None  # allowPrivilegeEscalation
    added_capabilities: tuple[str, ...] = ()
    dropped_capabilities: tuple[str, ...] = ()
    proc_mount: str | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    seccomp: str | None = None  # types of the profiles
    app_armor: str | None = None
    se_linux: tuple[str, str, str] | None = None  # type, user, role
    is_host_process: bool = False  # Windows
    sysctls: tuple[str, ...] = ()


NO_SECURITY_CONTEXT = SecurityContext()


class Container(Record):
    name: str
    image: Image = ""
    requests: Amounts = EMPTY
    limits: Amounts = EMPTY
    host_ports: Annotated[tuple[HostPort, ...], Tells.NOTHING] = ()
    restart_policy: Word | None = None  # "Always" on an init container makes it a sidecar
    command_form: CommandForm = CommandForm.IMAGE
    program: Inside[str] = ""  # the program's name only ("python", "gunicorn"), never its arguments
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    has_pre_stop: bool = False
    pre_stop_seconds: int | None = None  # that a preStop hook sleeps at least; None: not known to, or there is none
    resource_claims: tuple[str, ...] = ()  # names of entries in PodSpec.resource_claims
    security: Annotated[SecurityContext, Tells.NOTHING] = NO_SECURITY_CONTEXT
    handler_hosts: Inside[tuple[str, ...]] = ()  # other hosts that its probes and lifecycle hooks ask

    @property
    def is_sidecar(self) -> bool:
        """Whether it, an init container, keeps running beside the others."""
        return self.restart_policy == "Always"


class ClaimTemplate(Record):
    """What a PersistentVolumeClaim asks for; `storage_class_name` None: the cluster's default class."""

    name: str = ""  # in a StatefulSet's volumeClaimTemplates: the volume's
    storage_class_name: SharedName | None = None
    requested_bytes: int = 0
    access_modes: tuple[Word, ...] = ()
    selector: LabelSelector | None = None
    volume_mode: Word = "Filesystem"


class Volume(Record):
    """`kind` is the volume source's name in the API (``persistentVolumeClaim``, ``emptyDir``, ``hostPath``, …)."""

    name: str
    kind: Word
    claim_name: str = ""  # for persistentVolumeClaim; for ephemeral the claim is <pod>-<volume>
    claim_template: ClaimTemplate | None = None  # of a claim a controller makes: ephemeral, or a StatefulSet's
    medium: Word = ""  # for emptyDir: "Memory" counts against the memory limit
    size_limit_bytes: int | None = None
    host_path: Word = ""  # for hostPath: the system's directory that it is in, "" for every other path
    disk_id: str = ""  # for gcePersistentDisk, awsElasticBlockStore and the like (VolumeRestrictions)
    read_only: bool = False


class PodClaim(Record):
    """An entry of ``spec.resourceClaims``: a named claim, or a template a claim is made from."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Record):
    """The part of a pod that decides where it can go; equal for all pods of one template. Hashable: intern it."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Amounts = EMPTY
    pod_requests: Amounts | None = None  # pod-level resources (spec.resources), None when not given
    pod_limits: Amounts | None = None
    node_selector: Annotated[Labels, Tells.NODE_KEY] = EMPTY
    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    topology_spread: tuple[TopologySpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    node_name: Word = ""  # only in a template or a change; a bound pod's node is Pod.node_name
    priority_class_name: SharedName = ""
    priority: int | None = None  # set on pods by admission; on templates only when written there
    preemption_policy: Word | None = None  # PreemptLowerPriority | Never
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    host_users: bool = True  # False: the pod has a user namespace of its own
    os: Word = ""  # "windows", "linux" or not given
    security: Annotated[SecurityContext, Tells.NOTHING] = NO_SECURITY_CONTEXT
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodClaim, ...] = ()
    scheduler_name: SharedName = DEFAULT_SCHEDULER
    scheduling_gates: tuple[str, ...] = ()
    runtime_class_name: SharedName = ""
    restart_policy: Word = "Always"
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
    has_readiness_gates: bool = False
    service_account_name: Inside[str] = ""  # empty: "default"
    injection: Annotated[Labels, Tells.NOTHING] = EMPTY  # of a template: its annotations that Istio's injector heeds
    unmodelled: tuple[Word, ...] = ()  # fields that are set, could change a verdict, and aren't modeled

    @property
    def sidecars(self) -> tuple[Container, ...]:
        return tuple(container for container in self.init_containers if container.is_sidecar)


class Owner(Record):
    """The controlling owner reference. `api_group`: of its apiVersion, "" for the core's, and where that isn't told."""

    kind: Word
    name: str
    uid: Uid
    api_group: Word = ""

    def key(self, namespace: str) -> str:
        """``ReplicaSet/prod/api-5d8f7``; an owner is in the namespace of what it owns."""
        return f"{self.kind}/{namespace}/{self.name}"


class ContainerState(Record):
    """One container status. `state` and `last_state` are running | waiting | terminated | "" (none)."""

    name: str
    is_init: bool = False
    ready: bool = False
    started: bool | None = None
    restart_count: Inside[int] = 0
    state: State = ""
    reason: Inside[str] = ""  # of a waiting or terminated state
    message: Message = ""  # of a terminated state only where the runtime wrote it (`status_reasons.RUNTIME_MESSAGES`)
    exit_code: Inside[int | None] = None
    signal: Inside[int | None] = None
    started_at: float | None = None
    finished_at: Inside[float | None] = None
    last_state: Inside[State] = ""
    last_reason: Inside[str] = ""
    last_message: Message = ""  # as `message`
    last_exit_code: Inside[int | None] = None
    last_signal: Inside[int | None] = None
    last_started_at: Inside[float | None] = None
    last_finished_at: Inside[float | None] = None


class Pod(Record):
    namespace: str
    name: str
    uid: Uid
    labels: Labels
    spec: PodSpec
    owner: Owner | None = None
    annotations: Labels = EMPTY
    created_at: float | None = None
    deleted_at: float | None = None  # metadata.deletionTimestamp: the pod is terminating
    deletion_asked_at: float | None = None  # that less metadata.deletionGracePeriodSeconds
    node_name: Word = ""  # empty: not bound
    nominated_node_name: Word = ""
    phase: Word = "Pending"  # Pending | Running | Succeeded | Failed | Unknown
    is_ready: bool = False
    ready_at: float | None = None  # last transition of the Ready condition
    scheduled_at: float | None = None  # last transition of PodScheduled, when True
    unschedulable_message: Message = ""  # PodScheduled=False, reason Unschedulable
    started_at: float | None = None  # status.startTime
    containers: tuple[ContainerState, ...] = ()
    qos_class: Word = ""
    reason: Inside[str] = ""  # status.reason, such as Evicted or NodeLost
    message: Message = ""  # status.message: the kubelet's words on that reason
    claim_names: Annotated[Labels, Tells.NAMES] = EMPTY  # PodClaim.name → name of the ResourceClaim generated for it
    annotation_digests: Inside[
        tuple[str, ...]
    ] = ()  # of one pod a revision (`sealed.annotation_digests`); (): not looked at

    @property
    def is_terminal(self) -> bool:
        """Succeeded or Failed: it holds no resources any more."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def holds_room(self) -> bool:
        """Bound and not finished: what it asks for is taken on its node."""
        return bool(self.node_name) and not self.is_terminal

    @property
    def waits(self) -> bool:
        """Whether kube-scheduler has still to find it a node: unbound, not finished, not being deleted, behind no gate.

        Source: kubernetes `pkg/scheduler/schedule_one.go` `skipPodSchedule`, plugin SchedulingGates.
        """
        is_open = self.deleted_at is None and not self.spec.scheduling_gates
        return not self.node_name and not self.is_terminal and is_open


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
class TopologyManagerPolicy(StrEnum):
    """``topologyManagerPolicy`` of a kubelet; the last two refuse pods."""

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE_NUMA_NODE = "single-numa-node"

    @property
    def refuses(self) -> bool:
        return self in (TopologyManagerPolicy.RESTRICTED, TopologyManagerPolicy.SINGLE_NUMA_NODE)


class KubeletConfiguration(Record):
    """What decides in a kubelet's own configuration whether it admits a pod: how it aligns CPUs, memory and devices.

    Attributes
    ----------
    is_pod_scope : topologyManagerScope is ``pod``: all containers of a pod are aligned together
    is_cpu_static, is_memory_static : cpuManagerPolicy is ``static``, memoryManagerPolicy is ``Static``
    gives_whole_cores : full-pcpus-only of cpuManagerPolicyOptions
    """

    topology_manager_policy: TopologyManagerPolicy = TopologyManagerPolicy.NONE
    is_pod_scope: bool = False
    is_cpu_static: bool = False
    is_memory_static: bool = False
    gives_whole_cores: bool = False


class Node(Record):
    name: str
    uid: str = ""
    labels: Labels = EMPTY
    annotations: Labels = EMPTY
    taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False  # spec.unschedulable
    allocatable: Amounts = EMPTY
    capacity: Amounts = EMPTY
    conditions: Labels = EMPTY  # type → status: Ready, MemoryPressure, DiskPressure, …
    silent_since: float | None = None  # where Ready is Unknown: since when, as the taint or else the condition says
    images: FrozenMap[int] = EMPTY  # image name → bytes, for ImageLocality
    provider_id: str = ""
    kubelet_version: str = ""
    created_at: float | None = None
    is_deleting: bool = False
    volumes_attached: tuple[Path, ...] = ()  # as its status names them: plugin, driver and handle
    kubelet: KubeletConfiguration | None = None  # where the input tells it


# ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────────
class Template(Record):
    """A pod template. `manifest` is its JSON (a ``PodTemplateSpec``) cut down to the kept fields, so that a patch can
    be merged into it, with digests for the rest; ReplicaSets' have none. `unread` is a digest of all that the template
    says beyond the record's fields (environment, arguments, …), comparable within one process."""

    labels: Labels
    spec: PodSpec
    annotations: Labels = EMPTY
    manifest: Inside[bytes] = b"{}"
    unread: Word = ""

    def makes_the_same_pods(self, other: Template) -> bool:
        """`EqualIgnoreHash` (kubernetes `pkg/controller/deployment/util/deployment_util.go`)."""
        return self.shows_the_same(other) and self.annotations == other.annotations and self.unread == other.unread

    def shows_the_same(self, other: Template) -> bool:
        """Whether the pods of both are alike in what is kept of pods: `unread`, such as their environment, isn't."""
        hashes = {POD_TEMPLATE_HASH: "", ROLLOUTS_POD_TEMPLATE_HASH: ""}
        own_labels, theirs = ({**template.labels, **hashes} for template in (self, other))
        return own_labels == theirs and self.spec == other.spec


class Strategy(Record):
    """Update strategy as written. `max_surge` and `max_unavailable` are an int, a text such as ``"25%"``, or None where
    the field doesn't exist (Recreate, OnDelete). `kind`: RollingUpdate | Recreate | OnDelete, an Argo Rollout's Canary |
    BlueGreen, whose own fields are in `canary` or `blue_green`."""

    kind: Word = ROLLING_UPDATE
    max_surge: Annotated[int | str | None, Tells.NOTHING] = None
    max_unavailable: Annotated[int | str | None, Tells.NOTHING] = None
    partition: int = 0
    canary: Canary | None = None
    blue_green: BlueGreen | None = None


class Workload(Record):
    """Deployment, StatefulSet, DaemonSet, Job, …, by `kind`. Fields of other kinds keep their defaults."""

    kind: Word
    namespace: str
    name: str
    uid: Uid = ""
    generation: int = 0
    labels: Labels = EMPTY
    annotations: Labels = EMPTY
    created_at: float | None = None
    replicas: int = 1  # spec.replicas; Job: parallelism; DaemonSet: 0 (one per node)
    selector: LabelSelector = LabelSelector()
    template: Template
    strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    progress_deadline_seconds: int | None = None  # Deployment: 600 by default
    revision_history_limit: int = 10
    is_paused: bool = False
    pod_management_policy: Word = "OrderedReady"  # StatefulSet: OrderedReady | Parallel
    service_name: str = ""
    start_ordinal: int = 0  # StatefulSet spec.ordinals.start
    claim_templates: tuple[ClaimTemplate, ...] = ()  # StatefulSet volumeClaimTemplates
    current_revision: str = ""  # StatefulSet status.currentRevision (a controller-revision-hash)
    update_revision: str = ""  # StatefulSet status.updateRevision
    observed_generation: int | None = None
    status_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    updated_replicas: int = 0
    completions: int | None = None  # Job
    backoff_limit: int | None = None  # Job
    active_deadline_seconds: int | None = None  # Job
    ignores_disruptions: bool = False  # Job: podFailurePolicy ignores pods that a disruption ended
    fails_on_disruption: bool = False  # Job: podFailurePolicy fails it as a whole when a disruption has ended a pod
    counts_ended_only: bool = False  # Job: a pod that terminates hasn't failed yet
    has_limit_each_index: bool = False  # Job: each index has a backoffLimit of its own
    failed_pods: int = 0  # Job
    succeeded_pods: int = 0  # Job
    is_finished: bool = False  # Job with condition Complete or Failed
    is_deleting: bool = False
    owner: Owner | None = None  # a Job's CronJob
    conditions: Annotated[Labels, Tells.NOTHING] = EMPTY  # type → "status/reason"
    progressing_at: float | None = None  # Deployment: when its condition Progressing was last written
    progressing_since: float | None = None  # and since when it has its status
    refusal_message: Message = ""  # Deployment: what the API server says of pods that it refuses (ReplicaFailure)
    applied: Inside[str] = ""  # which fields were applied, as JSON (`inventory.last_applied`); "": it doesn't say
    progress: Progress | None = None  # Argo Rollout
    template_of: WorkloadKey = ""  # Argo Rollout: key of the workload that has its pod template (workloadRef)
    groups: Groups | None = None  # LeaderWorkerSet
    worker_template: Template | None = None  # LeaderWorkerSet; `template` is its leaders'

    @property
    def templates(self) -> tuple[tuple[Template, int], ...]:
        """The templates of its pods, and how many pods of each there shall be."""
        if self.groups is None or self.worker_template is None:
            return ((self.template, self.replicas),)
        return (self.template, self.replicas), (self.worker_template, self.replicas * (self.groups.size - 1))

    @property
    def pods_wanted(self) -> int:
        """How many pods there shall be of one that has replicas; a group has several."""
        return self.replicas * self.groups.size if self.groups is not None else self.replicas

    @property
    def key(self) -> str:
        """``Deployment/prod/ml-worker``: the workload's name everywhere in results, links and the CLI."""
        return f"{self.kind}/{self.namespace}/{self.name}"

    @property
    def traits(self) -> Kind:
        """Its kind's row in the table."""
        return kind_called(self.kind)


class PodsAlike(Record):
    """`count` pods of one template; `is_last`: they are made when all others of their object are Ready."""

    role: str
    template: Template
    count: int
    is_last: bool = False


class FluxRelease(Record):
    """A HelmRelease or a Kustomization of Flux, as far as it tells how long it waits for what it applies.

    Attributes
    ----------
    release : what Helm calls it; `target_namespace`: where it is applied
    seconds, is_default : how long it waits, None: not at all; and whether that is nowhere set
    retries, uninstalls : how often a HelmRelease tries again after an upgrade that failed (-1: without end), after which remediation
    health_checks : keys of what a Kustomization waits for; None: all that is applied
    """

    kind: Word
    name: str
    namespace: str
    release: str
    target_namespace: str
    seconds: float | None
    is_default: bool
    retries: int = 0
    uninstalls: bool = False
    health_checks: tuple[WorkloadKey, ...] | None = None

    @property
    def key(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


class Unplayed(Record):
    """An object of a kind that isn't played: what tells whether a manifest says the same of its pods.

    Attributes
    ----------
    api_group : of its kind; "" is the core group
    pods : of its own fields, where its kind is in the table; `is_told`: those are all of its pods, and it isn't being deleted
    status_replicas, ready_replicas : pods that its status counts, and Ready ones, where its kind's row tells
    said, said_of_itself, applied : digests of the values of all but its metadata, of its labels and annotations, and of what
        ``kubectl apply`` noted (`planner.inventory.redacted_value_digests.leaves`), comparable within one process; "" of nothing
    runtime : of one that gives others' pods their template: what is kept of it (`planner.inventory.referenced_pod_templates`)
    held_to, applied_paths : digests of what has to stay for an answer, and of the paths alone of what ``kubectl apply`` noted
    paths_of_pods, applied_of_pods : digests of the paths alone of what its pods depend on, in the object and in what was applied
    fixed_of_pods : of a kind that may change in part while it is suspended, the same as `said_of_pods` without that part
    release : of Flux's that wait for what they apply
    said_of_pods, way, concurrency : of a kind with modelled changes (`planner.kubernetes.operator_update_rules`): digests of what its pods depend on, and
        what its fields say that choose what becomes of them
    """

    kind: Word
    api_group: Word
    namespace: str
    name: str
    uid: Uid = ""
    owner: Owner | None = None
    pods: tuple[PodsAlike, ...] = ()
    is_told: bool = False
    is_suspended: bool = False
    said: Inside[str] = ""
    said_of_itself: Inside[str] = ""
    applied: Inside[str] = ""
    said_of_pods: str = ""
    fixed_of_pods: str = ""
    way: str = ""
    concurrency: str = ""
    held_to: str = ""
    applied_paths: str = ""
    paths_of_pods: str = ""
    applied_of_pods: str = ""
    runtime: str = ""
    release: FluxRelease | None = None
    status_replicas: int = 0
    ready_replicas: int = 0

    @property
    def key(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


class ReplicaSet(Record):
    """`kind`: a ReplicationController does the same."""

    namespace: str
    name: str
    uid: Uid
    labels: Labels
    annotations: Labels  # revision, desired-replicas, max-replicas
    owner: Owner | None
    created_at: float | None
    replicas: int
    selector: LabelSelector
    template: Template
    min_ready_seconds: int = 0
    status_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    kind: Word = REPLICA_SET.name

    @property
    def key(self) -> str:
        return kind_called(self.kind).key(self.namespace, self.name)


class ControllerRevision(Record):
    """A template that a StatefulSet or DaemonSet has or had, the latest with the highest `number`.

    `template`: None where another kind's controller made it, which may write anything.
    """

    namespace: str
    name: str
    uid: Uid
    labels: Labels = EMPTY
    owner: Owner | None = None
    number: int = 0
    created_at: float | None = None
    template: Template | None = None

    @property
    def hash(self) -> str:
        """What the label `CONTROLLER_REVISION_HASH` of its pods says: a DaemonSet's revisions have it too, a StatefulSet's
        pods have their revision's name.

        Source: kubernetes `pkg/controller/daemon/update.go` `constructHistory`, `snapshot`;
        `pkg/controller/statefulset/stateful_set_utils.go` `setPodRevision`.
        """
        return self.labels.get(CONTROLLER_REVISION_HASH, self.name)


# ── policy, storage, devices ─────────────────────────────────────────────────────────────────────────────────────────
class Namespace(Record):
    name: str
    labels: Labels = EMPTY
    is_deleting: bool = False  # metadata.deletionTimestamp


class PodDisruptionBudget(Record):
    """`min_available` and `max_unavailable`: int, "50%", or None; exactly one is set."""

    namespace: str
    name: str
    selector: LabelSelector | None = None
    min_available: Annotated[int | str | None, Tells.NOTHING] = None
    max_unavailable: Annotated[int | str | None, Tells.NOTHING] = None
    unhealthy_pod_eviction_policy: Word = "IfHealthyBudget"
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0


class PriorityClass(Record):
    name: str
    value: int = 0
    is_global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class RuntimeClass(Record):
    """What admission adds to pods of this class (KEP-688, KEP-585)."""

    name: str
    overhead: Amounts = EMPTY
    node_selector: Labels = EMPTY
    tolerations: tuple[Toleration, ...] = ()


class HorizontalPodAutoscaler(Record):
    """Which workload (`target`: its key, as `Workload.key`) it scales, and between which replicas. `kind`: KEDA's
    ScaledObject is read as the autoscaler that KEDA makes of it; `idle`: what that sets while no trigger is active, `is_paused`:
    it leaves the replicas alone."""

    namespace: str
    name: str
    target: WorkloadKey
    minimum: int = 1
    maximum: int = 0
    kind: Word = "HorizontalPodAutoscaler"
    idle: int | None = None
    is_paused: bool = False


class Service(Record):
    namespace: str
    name: str
    selector: Labels = EMPTY


class AdmissionRule(Record):
    """``operations`` on ``groups``/``resources``; ``*`` stands for all of them. `is_of_cluster`: of objects without a namespace alone."""

    operations: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    is_of_cluster: bool = False


class AdmissionHook(Record):
    """What may change or refuse objects on their way into the cluster: a webhook, or a policy with expressions.

    `name` is the configuration's or policy's (a webhook's own behind a slash); `selector`s None select everything. `conditions`: CEL
    expressions of its ``matchConditions``.
    """

    kind: str  # {Mutating,Validating}WebhookConfiguration | {Mutating,Validating}AdmissionPolicy
    name: str = ""
    rules: tuple[AdmissionRule, ...] = ()
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    is_required: bool = True  # failurePolicy Fail: without an answer the object is refused
    conditions: tuple[Expression, ...] = ()

    def is_about(self, group: str, resource: str) -> bool:
        """Whether objects of that resource, in a namespace, that are created or changed are among those it sees."""
        return any(
            not rule.is_of_cluster
            and not {"*", "CREATE", "UPDATE"}.isdisjoint(rule.operations)
            and not {"*", group}.isdisjoint(rule.groups)
            and not {"*", "*/*", resource}.isdisjoint(rule.resources)
            for rule in self.rules
        )


class WebhookConfiguration(Record):
    name: str
    kind: str
    hooks: tuple[AdmissionHook, ...] = ()


class AdmissionPolicyBinding(Record):
    """`selectors` narrow what the policy's own rules match; only with action Deny anything is refused."""

    name: str
    policy: str = ""
    policy_kind: str = "ValidatingAdmissionPolicy"
    denies: bool = True  # or changes
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None


class ResourceQuota(Record):
    """`hard` and `used`: quota keys (``requests.cpu``, ``pods``, ``requests.nvidia.com/gpu``, …) → amounts.

    `scopes` and `scope_selector` (requirements with the scope's name as key) limit which pods count.
    """

    namespace: str
    name: str
    hard: Amounts = EMPTY
    used: Amounts = EMPTY
    scopes: tuple[Word, ...] = ()
    scope_selector: tuple[Requirement, ...] = ()


class LimitRangeItem(Record):
    kind: Word  # Container | Pod | PersistentVolumeClaim
    minimum: Amounts = EMPTY
    maximum: Amounts = EMPTY
    default_limits: Amounts = EMPTY
    default_requests: Amounts = EMPTY
    max_limit_request_ratio: FrozenMap[float] = EMPTY


class LimitRange(Record):
    namespace: str
    name: str
    items: tuple[LimitRangeItem, ...] = ()


FLEX_VOLUME: Final = "flexvolume-"
"""With it a FlexVolume's driver is named as a plugin (kubernetes `pkg/volume/flexvolume/plugin.go` `GetPluginName`)."""


class PersistentVolume(Record):
    name: str
    labels: Labels = EMPTY
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    claim: tuple[str, str] | None = None  # (namespace, name)
    storage_class_name: str = ""
    capacity_bytes: int = 0
    access_modes: tuple[str, ...] = ()
    phase: str = ""
    csi_driver: str = ""
    handle: str = ""  # by which its driver knows it, and nodes' `volumes_attached`
    is_local: bool = False
    is_san: bool = False  # iSCSI or Fibre Channel: attached by Kubernetes' own plugins
    volume_mode: str = "Filesystem"

    @property
    def attached_name(self) -> str:
        """As nodes' ``status.volumesAttached`` names it; "" where that isn't known.

        Source: kubernetes `pkg/volume/util/util.go` `GetUniqueVolumeName`, `pkg/volume/{csi,flexvolume,iscsi}` `GetVolumeName`.
        """
        if self.csi_driver.startswith(FLEX_VOLUME):
            return f"{self.csi_driver}/{self.name}"
        if not self.handle:
            return ""
        return (
            f"kubernetes.io/iscsi/{self.handle}"
            if self.is_san
            else f"kubernetes.io/csi/{self.csi_driver}^{self.handle}"
        )


class PersistentVolumeClaim(Record):
    namespace: str
    name: str
    volume_name: str = ""  # empty: not bound
    template: ClaimTemplate = ClaimTemplate()
    phase: Word = ""
    selected_node: Word = ""  # of a claim being provisioned: the node it is for
    is_deleting: bool = False
    is_new: bool = False  # a manifest brings it: the provisioner of volumes hasn't seen it yet

    @property
    def access_modes(self) -> tuple[str, ...]:
        return self.template.access_modes


class StorageClass(Record):
    name: str
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[NodeSelectorTerm, ...] = ()
    is_default: bool = False
    created_at: float | None = None


class CsiDriver(Record):
    """`tells_capacity`: kube-scheduler makes no volume of it where its CSIStorageCapacities leave no room. `driver`: its
    name, as StorageClasses call it. `attaches`: its volumes are attached to a node before a pod there starts
    (``attachRequired``, true by default)."""

    name: str
    driver: str
    tells_capacity: bool = False
    attaches: bool = True


class VolumeAttachment(Record):
    """That a PersistentVolume is to be attached to a node; `is_attached`: it is."""

    name: str
    volume_name: str = ""
    node_name: Word = ""
    is_attached: bool = False


class CsiStorageCapacity(Record):
    """How large a volume of a StorageClass can be made on the nodes that `nodes` selects; None: on none."""

    namespace: str
    name: str
    storage_class_name: SharedName = ""
    nodes: LabelSelector | None = None
    largest_bytes: int | None = None


class CsiNode(Record):
    """`limits`: CSI driver → volumes it can attach to the node; drivers without a limit are not in it."""

    name: str
    limits: FrozenMap[int] = EMPTY


class Version(str):
    """An attribute of a device that is a version: equal to the same version, and to no plain text."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class DeviceClass(Record):
    name: str
    selectors: tuple[Expression, ...] = ()  # CEL expressions
    extended_resource_name: str = ""
    created_at: float | None = None  # of classes that stand for one extended resource the newest counts


class CapacityPolicy(Record):
    """Which parts of a capacity may be asked for: `values`, or from `minimum` on in steps; `default`: where none is."""

    default: int | None = None
    values: tuple[int, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None


class Device(Record):
    """`attributes`: qualified or plain name → str | int | bool; `capacity`: name → exact integer amount. `is_shared`: several
    claims may have a part of its capacity, as `policies` say.

    `node_name`, `all_nodes` and `node_selector` count where its slice leaves them to each device.
    """

    name: str
    attributes: FrozenMap[str | int | bool] = EMPTY
    capacity: FrozenMap[int] = EMPTY
    taints: tuple[Taint, ...] = ()
    counters: tuple[tuple[str, str, int], ...] = ()  # consumed: (counter set, counter, amount)
    node_name: str = ""
    all_nodes: bool = False
    node_selector: NodeSelectorTerm | None = None
    is_shared: bool = False
    policies: FrozenMap[CapacityPolicy] = EMPTY
    is_complex: bool = False  # waits for conditions, or is shared and uses counters: answered "unknown"


class ResourceSlice(Record):
    name: str
    driver: str = ""
    pool: str = ""
    generation: int = 0
    slice_count: int = 1
    node_name: str = ""
    all_nodes: bool = False
    node_selector: NodeSelectorTerm | None = None
    is_per_device: bool = False  # each device says itself which nodes reach it
    counters: tuple[tuple[str, str, int], ...] = ()  # of the pool: (counter set, counter, amount)
    devices: tuple[Device, ...] = ()


class DeviceRequest(Record):
    """`allocation_mode`: ExactCount (then `count`) | All. `first_available`: alternatives, the first that fits counts."""

    name: str
    device_class_name: SharedName = ""
    selectors: tuple[Expression, ...] = ()  # CEL expressions
    allocation_mode: Word = "ExactCount"
    count: int = 1
    is_admin: bool = False
    tolerations: tuple[Toleration, ...] = ()
    first_available: tuple[DeviceRequest, ...] = ()
    capacity: Amounts = EMPTY  # of each device: a part of a shared one, the least of another


class DeviceConstraint(Record):
    """Devices of `requests` (all, when empty) agree in one attribute, or all differ in it."""

    requests: tuple[Path, ...] = ()
    match_attribute: Word = ""
    distinct_attribute: Word = ""


class ClaimSpec(Record):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()


class ResourceClaim(Record):
    namespace: str
    name: str
    spec: ClaimSpec = ClaimSpec()
    owner: Owner | None = None  # the pod it was made for
    is_allocated: bool = False
    allocated: Annotated[tuple[tuple[str, str, str], ...], Tells.NOTHING] = ()
    """(driver, pool, device), without admin access, which takes nothing."""
    consumed: tuple[Amounts, ...] = ()  # what of each of them, where it is shared
    node_selector: tuple[NodeSelectorTerm, ...] | None = None  # of the allocation
    reserved_for: tuple[Uid, ...] = ()  # pod uids


class DeviceTaintRule(Record):
    """A taint on devices: those of `driver`, `pool` and `device`, each "" for any."""

    name: str
    taint: Taint
    driver: str = ""
    pool: str = ""
    device: str = ""


class ResourceClaimTemplate(Record):
    namespace: str
    name: str
    spec: ClaimSpec = ClaimSpec()


class PodTemplate(Record):
    """core/v1 PodTemplate: what others name."""

    namespace: str
    name: str
    labels: Labels = EMPTY
    spec: PodSpec


class CapacityBuffer(Record):
    """Room that cluster-autoscaler keeps for `replicas` pods like the PodTemplate `template`, as its status says."""

    namespace: str
    name: str
    template: str = ""
    replicas: int = 0
    strategy: Word = ""
    conditions: Annotated[Labels, Tells.NOTHING] = EMPTY  # type → "status/reason"


class ProvisioningRequest(Record):
    """Nodes asked of cluster-autoscaler for pods that name it."""

    namespace: str
    name: str
    class_name: Word = ""
    conditions: Annotated[Labels, Tells.NOTHING] = EMPTY  # type → "status/reason"


class KarpenterNodePool(Record):
    """Karpenter's: which nodes it may bring, and how many."""

    name: str
    limits: Amounts = EMPTY  # of its nodes' capacity in all; ``nodes``: how many
    replicas: int | None = None  # a static one keeps so many
    is_deleting: bool = False
    is_ready: bool = True  # else it brings no node until it is
    weight: int = 0
    consolidate_after: Word = ""  # ``30s``, ``Never``
    consolidation_policy: Word = ""
    kept_from: tuple[str, ...] = ()  # Empty, Underutilized: of these reasons a budget lets no node go, at no time
    labels: Labels = EMPTY
    taints: tuple[Taint, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    least_values: FrozenMap[int] = EMPTY  # ``minValues``, by label


class NodeClaim(Record):
    """A node that Karpenter asked its cloud for; a node like others once it is initialized."""

    name: str
    is_deleting: bool = False
    node: str = ""  # that it has become, once that has registered
    is_initialized: bool = False
    launched_at: float | None = None
    capacity: Amounts = EMPTY  # this and the next: known once it is launched
    allocatable: Amounts = EMPTY
    labels: Labels = EMPTY
    taints: tuple[Taint, ...] = ()
    requirements: tuple[Requirement, ...] = ()


class Event(Record):
    namespace: str
    object_kind: str
    object_name: str
    object_uid: str
    kind: str  # Normal | Warning
    reason: str
    message: Message
    count: int = 1
    first_seen_at: float | None = None
    last_seen_at: float | None = None
    component: str = ""
    host: str = ""  # the node whose kubelet tells it


class ContainerMetrics(Record):
    container: str
    cpu_millicores: int
    working_set_bytes: int


class PodMetrics(Record):
    namespace: str
    name: str
    taken_at: float | None = None
    window_seconds: float = 0.0
    containers: tuple[ContainerMetrics, ...] = ()


class PodLog(Record):
    """Log lines of one container as a dump, an upload or the API gave them."""

    namespace: str
    pod: str
    container: str  # empty: the dump doesn't say
    is_previous: bool
    lines: tuple[str, ...]


# ── Kueue ────────────────────────────────────────────────────────────────────────────────────────────────────────────
class ResourceFlavor(Record):
    """Kueue's: machines of one kind. `topology`: the Topology that says which of them are near to each other."""

    name: str
    node_labels: Labels = EMPTY
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""


class FlavorQuota(Record):
    """What a queue or cohort has of one resource in one flavor; limits None: none."""

    flavor: str
    resource: str
    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class QuotaGroup(Record):
    """A resource group: its flavors are tried in this order, all its resources get the same."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]
    quotas: tuple[FlavorQuota, ...] = ()


class Cohort(Record):
    """Queues that lend each other what they don't use. `weight`: in fair sharing."""

    name: str
    parent: str = ""
    groups: tuple[QuotaGroup, ...] = ()
    weight: float = 1.0


class ClusterQueue(Record):
    """`strategy`: BestEffortFIFO | StrictFIFO. `selector`: namespaces that may use it, None: none. `stop`: None | Hold | HoldAndDrain.
    `checks`: admission checks, each with the flavors it is for, () for all. `unmodelled`: fields that are set, could change an answer, and
    aren't modelled. `is_active`: what its condition says, None: nothing."""

    name: str
    cohort: str = ""
    groups: tuple[QuotaGroup, ...] = ()
    strategy: str = "BestEffortFIFO"
    selector: LabelSelector | None = None
    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str = "BorrowingOverPreemption"
    within_queue: str = "Never"
    reclaim: str = "Never"
    borrow_policy: str = "Never"
    borrow_threshold: int | None = None
    weight: float = 1.0
    checks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    stop: str = "None"
    is_active: bool | None = None
    has_share: bool = False  # its status has a weighted share: Kueue shares fairly
    unmodelled: tuple[str, ...] = ()


class LocalQueue(Record):
    """A namespace's way into a ClusterQueue."""

    namespace: str
    name: str
    cluster_queue: str = ""
    stop: str = "None"


class QueuedSet(Record):
    """Pods of a Kueue Workload that are alike. `least`: fewest with which it starts, None: all; `level`: of a topology, "" where
    it asks for none or for any; `is_required`: all of them in one domain of that level; `has_slices`: parts of them together;
    `asks`: what Kueue counted for each pod, None where it doesn't say."""

    name: str
    count: int
    spec: PodSpec = PodSpec()
    least: int | None = None
    is_topological: bool = False
    level: str = ""
    is_required: bool = False
    has_slices: bool = False
    group: str = ""
    asks: Amounts | None = None


class CountedSet(Record):
    """What Kueue counted that all pods of a set ask for, while they wait."""

    name: str
    asks: Amounts = EMPTY


class GrantedSet(Record):
    """What a pod set was given: resource → flavor, and how much of each; `count`: for how many pods, None: for all of the set."""

    name: str
    count: int | None = None
    flavors: Labels = EMPTY
    use: Amounts = EMPTY


class QueuedWorkload(Record):
    """Kueue's Workload: what was, or is to be, admitted as a whole.

    Attributes
    ----------
    conditions : type → "status/reason"; `changed_at`: type → when, in seconds since the epoch
    admitted_by : name of the ClusterQueue that gave it quota, "" while none did; `granted`: what it got
    owner : what it was made for; None of a group of Pods (`is_group`), whose name it has
    checks : admission check → its state: Pending | Ready | Retry | Rejected
    counted : what Kueue counted of each pod set when it found no quota for it
    undeclared : resources that Kueue refused it for, since no resource group of its ClusterQueue has them
    gone : pod set → how many of its pods have ended for good and hold no quota
    longest_seconds : it is ended after so long
    """

    namespace: str
    name: str
    uid: str = ""
    queue: str = ""
    created_at: float | None = None
    owner: Owner | None = None
    is_group: bool = False
    sets: tuple[QueuedSet, ...] = ()
    priority: int = 0
    is_wanted: bool = True
    conditions: Labels = EMPTY
    changed_at: FrozenMap[float] = EMPTY
    admitted_by: str = ""
    granted: tuple[GrantedSet, ...] = ()
    checks: Labels = EMPTY
    counted: tuple[CountedSet, ...] = ()
    undeclared: tuple[str, ...] = ()
    gone: FrozenMap[int] = EMPTY
    longest_seconds: int | None = None
    unmodelled: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def is_said(self, condition: str) -> bool:
        """Whether a condition is True."""
        return self.conditions.get(condition, "").startswith("True")


class WorkloadPriorityClass(Record):
    name: str
    value: int = 0


class AdmissionCheck(Record):
    """Who says, after the quota, whether a workload may start."""

    name: str
    controller: str = ""
    is_active: bool | None = None


class Topology(Record):
    """Node labels from the widest level to the narrowest."""

    name: str
    levels: tuple[str, ...] = ()


# ── findings, snapshot ───────────────────────────────────────────────────────────────────────────────────────────────
class Severity(StrEnum):
    ERROR = "error"  # something can't work, or part of the input was not usable
    WARNING = "warning"
    INFO = "info"


class Finding(Record):
    """One thing worth a person's attention."""

    severity: Severity
    code: Annotated[str, Tells.OURS]  # stable, e.g. "pod-wants-unknown-resource"
    object: str  # "Deployment/prod/ml-worker", "Node/gpu-0", or "" for the whole snapshot
    what: Annotated[str, Tells.SENTENCE]
    fix: str = field(default="", metadata={WRITTEN_NAME: "mend"})


class Presence(StrEnum):
    PRESENT = "present"  # listed (perhaps with no objects in it)
    ABSENT = "absent"  # not in what was given
    REFUSED = "refused"  # the API server answered 403
    INFERRED = "inferred"  # not in what was given, but told by other objects
    PARTIAL = "partial"  # some of them are missing: cut off, damaged, or told of by others

    @property
    def hides(self) -> bool:
        """Whether it is known that objects may be missing; a kind that is absent may just have none."""
        return self in (Presence.REFUSED, Presence.PARTIAL)

    @property
    def is_lacking(self) -> bool:
        """Whether there may be objects that weren't seen: none was given, or some are missing, or the list was refused."""
        return self in (Presence.ABSENT, Presence.REFUSED, Presence.PARTIAL)


class Reading(Record):
    """Where everything that was given went: ``objects == used + repeated + unreadable + sum(other_kinds)``, always.

    Attributes
    ----------
    files : looked into, those of folders and archives one by one; each page of an API server's answers is one
    passed_over : why → how many files weren't looked into
    objects : objects of Kubernetes found
    used : kept in the snapshot
    repeated : the same object again
    unreadable : objects of a kind that is used which can't be read; each is named in `Snapshot.problems`
    other_kinds : kinds that aren't used → how many
    foreign, foreign_files : values that are no objects of Kubernetes, and how many of the files hold some
    by_shape : of `objects`, those that don't say their kind
    resource_versions : of a live cluster: kind → the resourceVersion that its list is of
    partial : kinds of which some objects are missing → how that is known
    contradicted : kind, namespace and name of objects that are there in several states, of which nothing tells the latest
    custom_schemas : ``group/version/Kind`` of CustomResourceDefinitions → their schemas, packed (`planner.inventory.custom_resource_validation`)
    """

    files: int = 0
    passed_over: FrozenMap[int] = EMPTY
    objects: int = 0
    used: int = 0
    repeated: int = 0
    unreadable: int = 0
    other_kinds: FrozenMap[int] = EMPTY
    foreign: int = 0
    foreign_files: int = 0
    by_shape: int = 0
    resource_versions: FrozenMap[str] = EMPTY
    partial: FrozenMap[str] = EMPTY
    contradicted: tuple[tuple[str, str, str], ...] = ()
    custom_schemas: FrozenMap[bytes] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A cluster at one moment. Tuples are in the order they were read, except that `nodes` are sorted by name."""

    taken_at: float  # seconds since the epoch; the "now" of every computation
    source: str  # for people: a file's name or a context's name
    digest: str  # hex BLAKE2b of the content; equal content gives equal digests
    nodes: tuple[Node, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    pods: tuple[Pod, ...] = ()
    workloads: tuple[Workload, ...] = ()  # Deployments, StatefulSets, DaemonSets, Jobs, …: `kinds.WORKLOADS`
    others: tuple[Workload, ...] = ()
    """Those that the reader may not see, by other names (`inventory.namespace_redaction`): counted, never listed."""
    made: tuple[Workload, ...] = ()  # that another workload makes its pods through: a LeaderWorkerSet's StatefulSets
    unplayed: tuple[Unplayed, ...] = ()  # objects of kinds that aren't played, and of unknown kinds
    replica_sets: tuple[ReplicaSet, ...] = ()
    controller_revisions: tuple[ControllerRevision, ...] = ()
    pod_disruption_budgets: tuple[PodDisruptionBudget, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()
    autoscalers: tuple[HorizontalPodAutoscaler, ...] = ()
    services: tuple[Service, ...] = ()
    service_accounts: tuple[tuple[str, str], ...] = ()
    """(namespace, name) of those that a manifest brings; they aren't listed."""
    webhook_configurations: tuple[WebhookConfiguration, ...] = ()  # mutating and validating
    admission_policies: tuple[AdmissionHook, ...] = ()
    admission_policy_bindings: tuple[AdmissionPolicyBinding, ...] = ()
    resource_quotas: tuple[ResourceQuota, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    persistent_volumes: tuple[PersistentVolume, ...] = ()
    persistent_volume_claims: tuple[PersistentVolumeClaim, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    csi_nodes: tuple[CsiNode, ...] = ()
    csi_drivers: tuple[CsiDriver, ...] = ()
    volume_attachments: tuple[VolumeAttachment, ...] = ()
    csi_storage_capacities: tuple[CsiStorageCapacity, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
    resource_slices: tuple[ResourceSlice, ...] = ()
    resource_claims: tuple[ResourceClaim, ...] = ()
    resource_claim_templates: tuple[ResourceClaimTemplate, ...] = ()
    device_taint_rules: tuple[DeviceTaintRule, ...] = ()
    resource_flavors: tuple[ResourceFlavor, ...] = ()
    cohorts: tuple[Cohort, ...] = ()
    cluster_queues: tuple[ClusterQueue, ...] = ()
    local_queues: tuple[LocalQueue, ...] = ()
    queued_workloads: tuple[QueuedWorkload, ...] = ()  # Kueue's Workloads
    workload_priority_classes: tuple[WorkloadPriorityClass, ...] = ()
    admission_checks: tuple[AdmissionCheck, ...] = ()
    topologies: tuple[Topology, ...] = ()
    pod_templates: tuple[PodTemplate, ...] = ()
    capacity_buffers: tuple[CapacityBuffer, ...] = ()
    provisioning_requests: tuple[ProvisioningRequest, ...] = ()
    node_pools: tuple[KarpenterNodePool, ...] = ()
    node_claims: tuple[NodeClaim, ...] = ()
    events: tuple[Event, ...] = ()
    pod_metrics: tuple[PodMetrics, ...] = ()
    logs: tuple[PodLog, ...] = ()
    presence: FrozenMap[Presence] = EMPTY  # for every kind the planner knows
    reading: Reading = Reading()  # where everything that was given went
    problems: tuple[Finding, ...] = field(default=())  # what reading found damaged or odd
    derived: DerivedValues = field(default_factory=DerivedValues, init=False, repr=False, compare=False)

    @property
    def other_kinds(self) -> FrozenMap[int]:
        """Kinds the planner doesn't use → how many there were."""
        return self.reading.other_kinds

    @property
    def every_workload(self) -> tuple[Workload, ...]:
        """What the engine reckons with, seen or not, and what others make."""
        return self.workloads + self.others + self.made if self.others or self.made else self.workloads

    def lacks(self, kind: str) -> bool:
        """Whether the kind was looked for and not given, or not all of it, or refused."""
        presence = self.presence.get(kind)
        return presence is not None and presence.is_lacking

    def if_known(self, value: V, *kinds: str) -> V | None:
        """`value`, which depends on the lists of `kinds`; None where one of them wasn't given, not all of it, or was refused.

        What is missing isn't nothing: without its pods a node isn't empty, and without nodes there is no room to tell.
        """
        return None if any(self.lacks(kind) for kind in kinds) else value

    def workload(self, key: str) -> Workload | None:
        """The workload named by `key` (``Deployment/prod/ml-worker``, kind in any case), or None."""
        kind, _, name = key.partition("/")
        return self.derived.once(_workloads_by_key, self).get(f"{kind.lower()}/{name}")


def _workloads_by_key(snapshot: Snapshot) -> dict[str, Workload]:
    """By key with the kind in lower case; of several the first."""
    return {
        f"{workload.kind.lower()}/{workload.namespace}/{workload.name}": workload
        for workload in reversed(snapshot.workloads)
    }
