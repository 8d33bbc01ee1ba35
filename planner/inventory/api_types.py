"""Types of Kubernetes' JSON (wire format), reduced to the fields that the planner keeps.

The decoder skips every other field without making an object of it: environment values, Secret and ConfigMap data,
most annotations and the text of commands never become part of a record. The structs are also the content the
snapshot's digest is made of, and (`PodTemplate`) the manifest a patch is merged into.

`Container.command` and `Container.args` are the exception: they are decoded, turned into `Container.start` (how the
process is started, and the program's name) by `planner.inventory.snapshot_parser`, and dropped before anything is kept.

Every field may be absent or null, which Kubernetes treats alike. Field names follow the API's JSON (camel case).
Source of the names: k8s.io/api 1.36, `core/v1`, `apps/v1`, `batch/v1`, `policy/v1`, `resource/v1` (and v1beta1,
v1beta2, of different shapes), `storage/v1`, `scheduling/v1`, `node/v1`, `autoscaling/v2`, `admissionregistration/v1`,
`metrics.k8s.io/v1beta1`.

Annotations are evaluated where they stand (no ``from __future__ import annotations``): msgspec would compile the text of each, some
600, while the first cluster is read.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import field

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.well_known_names import KEPT_ANNOTATIONS, LAST_APPLIED
from planner.kubernetes import kueue_managed_pods
from planner.kubernetes.workload_kinds import DAEMON_SET, DEPLOYMENT, NODE, PARTS, POD, REPLICA_SET, WORKLOADS

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Seconds = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
IntOrString = Int32 | str
Quantity = str | int | float
Quantities = dict[str, Quantity]
START = "headroom.dev/start"  # JSON name of `Container.start`
SLEEPS = "headroom.dev/sleeps"  # of `Command.sleeps`


class Wire(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, gc=False):
    """Base of all: camel-case names; what equals its default isn't written; trees, so not tracked by the collector."""


class Named(Wire):
    name: str = ""


S = TypeVar("S")
T = TypeVar("T")


class Present(Wire):
    """An object that matters by being there, whatever it holds."""


# ── metadata and selectors ───────────────────────────────────────────────────────────────────────────────────────────
ANNOTATION_FIELDS: dict[str, str] = {f"kept_{i}": key for i, key in enumerate(sorted(KEPT_ANNOTATIONS))}
if TYPE_CHECKING:

    class Annotations(Wire):
        """One optional text field for each key of `KEPT_ANNOTATIONS`; other keys are skipped."""
else:
    Annotations = msgspec.defstruct(
        "Annotations",
        [(name, str | None, field(name=key, default=None)) for name, key in ANNOTATION_FIELDS.items()],
        bases=(Wire,),
        module=__name__,
        kw_only=True,
        omit_defaults=True,
        gc=False,
    )


class AppliedAnnotations(Annotations):
    """A workload's: what kubectl applied is read for its fields' names, and dropped."""

    last_applied: str | None = field(name=LAST_APPLIED, default=None)


class ManagedFields(Wire):
    manager: str | None = None
    operation: str | None = None
    subresource: str | None = None
    fields_v1: Any = field(name="fieldsV1", default=None)


class OwnerReference(Wire):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(Wire):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    generation: Int64 | None = None
    labels: dict[str, str] | None = None
    annotations: Annotations | None = None
    owner_references: list[OwnerReference] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: Int64 | None = None


class WorkloadMetadata(Metadata):
    annotations: AppliedAnnotations | None = None
    managed_fields: list[ManagedFields] | None = None


class Requirement(Wire):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Wire):
    match_labels: dict[str, str] | None = None
    match_expressions: list[Requirement] | None = None


class NodeSelectorTerm(Wire):
    match_expressions: list[Requirement] | None = None
    match_fields: list[Requirement] | None = None


class NodeSelector(Wire):
    node_selector_terms: list[NodeSelectorTerm] | None = None


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
class PreferredSchedulingTerm(Wire):
    weight: Int32 = 0
    preference: NodeSelectorTerm | None = None


class NodeAffinity(Wire):
    required: NodeSelector | None = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: list[PreferredSchedulingTerm] | None = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=None
    )


class PodAffinityTerm(Wire):
    label_selector: LabelSelector | None = None
    topology_key: str = ""
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(Wire):
    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(Wire):
    required: list[PodAffinityTerm] | None = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: list[WeightedPodAffinityTerm] | None = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Affinity(Wire):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Wire):
    max_skew: Count = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Count | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class Toleration(Wire):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None


class Resources(Wire):
    requests: Quantities | None = None
    limits: Quantities | None = None
    claims: list[Named] | None = None


class ContainerPort(Wire):
    container_port: Count | None = None
    host_port: Count | None = None
    protocol: str | None = None
    host_ip: str | None = field(name="hostIP", default=None)


class Handler(Wire):
    """An ``httpGet`` or ``tcpSocket`` of a probe or a lifecycle hook: only whether it goes to another host."""

    host: str | None = None


class Probe(Wire):
    http_get: Handler | None = None
    tcp_socket: Handler | None = None
    exec: Present | None = None
    grpc: Present | None = None
    initial_delay_seconds: Count | None = None
    timeout_seconds: Count | None = None
    period_seconds: Count | None = None
    success_threshold: Count | None = None
    failure_threshold: Count | None = None


class Command(Wire):
    """`sleeps` is this project's own field, put in the place of the command: the seconds that it sleeps at least."""

    command: list[str] | None = None
    sleeps: Count | None = field(name=SLEEPS, default=None)


class Sleep(Wire):
    seconds: Count | None = None


class Hook(Wire):
    http_get: Handler | None = None
    tcp_socket: Handler | None = None
    exec: Command | None = None
    sleep: Sleep | None = None


class Lifecycle(Wire):
    post_start: Hook | None = None
    pre_stop: Hook | None = None


class Capabilities(Wire):
    add: list[str] | None = None
    drop: list[str] | None = None


class Profile(Wire):
    """A ``seccompProfile`` or an ``appArmorProfile``."""

    type: str | None = None


class SeLinuxOptions(Wire):
    type: str | None = None
    user: str | None = None
    role: str | None = None


class WindowsOptions(Wire):
    host_process: bool | None = None


class SecurityContext(Wire):
    """A pod's or a container's: the fields that the Pod Security Standards look at."""

    privileged: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities | None = None
    proc_mount: str | None = None
    run_as_non_root: bool | None = None
    run_as_user: Int64 | None = None
    seccomp_profile: Profile | None = None
    app_armor_profile: Profile | None = None
    se_linux_options: SeLinuxOptions | None = None
    windows_options: WindowsOptions | None = None
    sysctls: list[Named] | None = None


class Container(Wire):
    """`start` is this project's own field: "form program", put in the place of command and args."""

    name: str = ""
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    start: str | None = field(name=START, default=None)
    resources: Resources | None = None
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[Present] | None = None
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    security_context: SecurityContext | None = None


class Disk(Wire):
    """A claim, or a disk by whatever its kind tells it apart."""

    claim_name: str = ""
    pd_name: str = ""
    volume_id: str = field(name="volumeID", default="")
    disk_uri: str = field(name="diskURI", default="")
    iqn: str = ""
    pool: str | None = None
    image: str = ""
    read_only: bool | None = None


class HostPath(Wire):
    """`directory` is this project's own field, put in the place of the path: the system's directory that it is in."""

    path: str | None = None
    directory: str | None = field(name="headroom.dev/directory", default=None)


class EmptyDir(Wire):
    medium: str | None = None
    size_limit: str | int | float | None = None


class PersistentVolumeClaimSpec(Wire):
    volume_name: str | None = None
    storage_class_name: str | None = None
    resources: Resources | None = None
    access_modes: list[str] | None = None
    selector: LabelSelector | None = None
    volume_mode: str | None = None


class ClaimTemplate(Wire):
    spec: PersistentVolumeClaimSpec | None = None


class EphemeralVolume(Wire):
    volume_claim_template: ClaimTemplate | None = None


class Volume(Wire):
    """The sources of `VolumeSource` in core/v1; exactly one is set (none: an emptyDir)."""

    name: str = ""
    persistent_volume_claim: Disk | None = None
    ephemeral: EphemeralVolume | None = None
    empty_dir: EmptyDir | None = None
    gce_persistent_disk: Disk | None = None
    aws_elastic_block_store: Disk | None = None
    azure_disk: Disk | None = None
    cinder: Disk | None = None
    rbd: Disk | None = None
    iscsi: Disk | None = None
    host_path: HostPath | None = None
    secret: Present | None = None
    config_map: Present | None = None
    downward_api: Present | None = field(name="downwardAPI", default=None)
    projected: Present | None = None
    csi: Present | None = None
    image: Present | None = None
    nfs: Present | None = None
    glusterfs: Present | None = None
    flex_volume: Present | None = None
    cephfs: Present | None = None
    flocker: Present | None = None
    fc: Present | None = None
    azure_file: Present | None = None
    vsphere_volume: Present | None = None
    quobyte: Present | None = None
    photon_persistent_disk: Present | None = None
    portworx_volume: Present | None = None
    scale_io: Present | None = field(name="scaleIO", default=None)
    storageos: Present | None = None
    git_repo: Present | None = None


class PodResourceClaim(Wire):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None
    source: "PodResourceClaim | None" = None  # v1alpha2's nesting


class PodOs(Wire):
    name: str | None = None


class PodSpec(Wire):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: Quantities | None = None
    resources: Resources | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    tolerations: list[Toleration] | None = None
    node_name: str | None = None
    priority_class_name: str | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None
    host_network: bool | None = None
    host_pid: bool | None = field(name="hostPID", default=None)
    host_ipc: bool | None = field(name="hostIPC", default=None)
    host_users: bool | None = None
    os: PodOs | None = None
    security_context: SecurityContext | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[PodResourceClaim] | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[Named] | None = None
    runtime_class_name: str | None = None
    restart_policy: str | None = None
    termination_grace_period_seconds: Seconds | None = None
    active_deadline_seconds: Seconds | None = None
    readiness_gates: list[Present] | None = None
    service_account_name: str | None = None
    scheduling_group: Present | None = None


class PodCondition(Wire):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: datetime | None = None


class RunningState(Wire):
    started_at: datetime | None = None


class WaitingState(Wire):
    reason: str | None = None
    message: str | None = None


class TerminatedState(Wire):
    exit_code: Int32 | None = None
    signal: Int32 | None = None
    reason: str | None = None
    message: str | None = None  # may hold the program's output: `read_pod` drops it unless the runtime wrote it
    started_at: datetime | None = None
    finished_at: datetime | None = None


class State(Wire):
    running: RunningState | None = None
    waiting: WaitingState | None = None
    terminated: TerminatedState | None = None


class ContainerStatus(Wire):
    name: str = ""
    ready: bool | None = None
    started: bool | None = None
    restart_count: Count | None = None
    state: State | None = None
    last_state: State | None = None
    resources: Resources | None = None
    allocated_resources: Quantities | None = None


class PodClaimStatus(Wire):
    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(Wire):
    phase: str | None = None
    conditions: list[PodCondition] | None = None
    start_time: datetime | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    qos_class: str | None = None
    reason: str | None = None
    message: str | None = None
    nominated_node_name: str | None = None
    resource_claim_statuses: list[PodClaimStatus] | None = None
    resources: Resources | None = None
    allocated_resources: Quantities | None = None


class Object(Wire):
    """What every object has."""

    metadata: Metadata | None = None


class Specified(Object, Generic[S]):
    spec: S | None = None


class Whole(Specified[S], Generic[S, T]):
    status: T | None = None


class Pod(Object):
    spec: PodSpec | None = None
    status: PodStatus | None = None


NO_TEXT = msgspec.Raw(b"")


class PodTemplate(Object):
    """A ``PodTemplateSpec``."""

    spec: PodSpec | None = None


# ── nodes, namespaces ────────────────────────────────────────────────────────────────────────────────────────────────
class Taint(Wire):
    key: str = ""
    value: str | None = None
    effect: str = ""
    time_added: datetime | None = None


class NodeCondition(Wire):
    type: str = ""
    status: str = ""
    last_heartbeat_time: datetime | None = None
    last_transition_time: datetime | None = None


class Image(Wire):
    names: list[str] | None = None
    size_bytes: Int64 | None = None


class Namespace(Object):
    pass


# ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────────
class RollingUpdate(Wire):
    max_surge: IntOrString | None = None
    max_unavailable: IntOrString | None = None
    partition: Count | None = None


class CanaryScale(Wire):
    replicas: Count | None = None
    weight: Count | None = None
    match_traffic_weight: bool | None = None


class Pause(Wire):
    duration: IntOrString | None = None


class CanaryStep(Wire):
    set_weight: Count | None = None
    pause: Pause | None = None
    set_canary_scale: CanaryScale | None = None
    analysis: Present | None = None
    experiment: Present | None = None
    set_header_route: Present | None = None
    set_mirror_route: Present | None = None
    plugin: Present | None = None


class Istio(Wire):
    destination_rule: Present | None = None


class TrafficRouting(Wire):
    max_traffic_weight: Count | None = None
    istio: Istio | None = None
    alb: Present | None = None
    smi: Present | None = None
    apisix: Present | None = None
    ambassador: Present | None = None
    nginx: Present | None = None
    app_mesh: Present | None = None
    traefik: Present | None = None


class Canary(Wire):
    """An Argo Rollout's, as far as it says how many pods there are."""

    steps: list[CanaryStep] | None = None
    max_surge: IntOrString | None = None
    max_unavailable: IntOrString | None = None
    traffic_routing: TrafficRouting | None = None
    stable_service: str | None = None
    canary_service: str | None = None
    ping_pong: Present | None = None
    dynamic_stable_scale: bool | None = None
    min_pods_per_replica_set: Count | None = None
    scale_down_delay_seconds: Count | None = None
    abort_scale_down_delay_seconds: Count | None = None
    replica_progress_threshold: Present | None = None
    anti_affinity: Present | None = None
    analysis: Present | None = None


class BlueGreen(Wire):
    active_service: str | None = None
    preview_service: str | None = None
    preview_replica_count: Count | None = None
    auto_promotion_enabled: bool | None = None
    auto_promotion_seconds: Count | None = None
    max_unavailable: IntOrString | None = None
    scale_down_delay_seconds: Count | None = None
    abort_scale_down_delay_seconds: Count | None = None
    anti_affinity: Present | None = None
    pre_promotion_analysis: Present | None = None
    post_promotion_analysis: Present | None = None


class Strategy(Wire):
    type: str | None = None
    rolling_update: RollingUpdate | None = None
    canary: Canary | None = None
    blue_green: BlueGreen | None = None


class GroupStrategy(Wire):
    """A LeaderWorkerSet's."""

    type: str | None = None
    rolling_update_configuration: RollingUpdate | None = None


class SubGroups(Wire):
    type: str | None = None
    sub_group_size: Count | None = None


class LeaderWorkerTemplate(Wire):
    size: Count | None = None
    restart_policy: str | None = None
    leader_template: PodTemplate | None = None
    worker_template: PodTemplate | None = None
    sub_group_policy: SubGroups | None = None
    volume_claim_templates: list[Present] | None = None


class TemplateReference(Wire):
    kind: str | None = None
    name: str | None = None


class Ordinals(Wire):
    start: Count | None = None


class _TemplateOnly(Wire):
    template: msgspec.Raw = NO_TEXT


class Templated(Wire):
    """A workload of which only the pod template matters, as it is written."""

    spec: _TemplateOnly | None = None


class ExitCodes(Wire):
    operator: str = ""
    values: list[int] | None = None


class FailureRule(Wire):
    action: str = ""
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: list[PodCondition] | None = None


class FailurePolicy(Wire):
    rules: list[FailureRule] | None = None


class WorkloadSpec(Wire):
    """The specs of Deployment, ReplicaSet, StatefulSet, DaemonSet, Job and the kinds of others that are played together."""

    replicas: Count | None = None
    selector: LabelSelector | None = None
    template: PodTemplate | None = None
    strategy: Strategy | None = None
    update_strategy: Strategy | None = None
    min_ready_seconds: Count | None = None
    progress_deadline_seconds: Count | None = None
    revision_history_limit: Count | None = None
    paused: bool | None = None
    pod_management_policy: str | None = None
    service_name: str | None = None
    ordinals: Ordinals | None = None
    volume_claim_templates: "list[PersistentVolumeClaim] | None" = None
    parallelism: Count | None = None
    completions: Count | None = None
    backoff_limit: Count | None = None
    backoff_limit_per_index: Count | None = None
    pod_replacement_policy: str | None = None
    active_deadline_seconds: Seconds | None = None
    pod_failure_policy: FailurePolicy | None = None
    suspend: bool | None = None
    workload_ref: TemplateReference | None = None
    rollout_strategy: GroupStrategy | None = None
    leader_worker_template: LeaderWorkerTemplate | None = None
    startup_policy: str | None = None


class Weight(Wire):
    weight: Int32 | None = None


class Weights(Wire):
    canary: Weight | None = None


class CanaryStatus(Wire):
    weights: Weights | None = None


class BlueGreenStatus(Wire):
    active_selector: str | None = None
    scale_up_preview_check_point: bool | None = None


class PauseCondition(Wire):
    reason: str | None = None


class WorkloadCondition(Wire):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_update_time: datetime | None = None
    last_transition_time: datetime | None = None


class WorkloadStatus(Wire):
    observed_generation: Int64 | str | None = None  # a text in Argo's
    replicas: Count | None = None
    ready_replicas: Count | None = None
    available_replicas: Count | None = None
    updated_replicas: Count | None = None
    current_revision: str | None = None
    update_revision: str | None = None
    desired_number_scheduled: Count | None = None
    number_ready: Count | None = None
    number_available: Count | None = None
    updated_number_scheduled: Count | None = None
    active: Count | None = None
    failed: Count | None = None
    succeeded: Count | None = None
    ready: Int32 | None = None
    conditions: list[WorkloadCondition] | None = None
    stable_rs: str | None = field(name="stableRS", default=None)
    current_pod_hash: str | None = None
    current_step_index: Int32 | None = None
    abort: bool | None = None
    promote_full: bool | None = None
    controller_pause: bool | None = None
    pause_conditions: list[PauseCondition] | None = None
    canary: CanaryStatus | None = None
    blue_green: BlueGreenStatus | None = None


class Workload(Object):
    metadata: WorkloadMetadata | None = None
    spec: WorkloadSpec | None = None
    status: WorkloadStatus | None = None


class ControllerRevision(Object):
    """`data`: whatever its owner's controller wrote, as plain values."""

    data: Any = None
    revision: Int64 = 0


class RevisionSpec(Wire):
    template: PodTemplate | None = None


class RevisionData(Wire):
    """What the controllers of StatefulSets and DaemonSets write: a patch that brings the template back."""

    spec: RevisionSpec | None = None


# ── policy ───────────────────────────────────────────────────────────────────────────────────────────────────────────
class LimitRangeItem(Wire):
    type: str = ""
    min: Quantities | None = None
    max: Quantities | None = None
    default: Quantities | None = None
    default_request: Quantities | None = None
    max_limit_request_ratio: Quantities | None = None


class ScaleTarget(Wire):
    kind: str = ""
    name: str = ""


class ScaledObjectSpec(Wire):
    """keda.sh/v1alpha1: defaults 0 and 100 replicas, and a Deployment."""

    scale_target_ref: ScaleTarget | None = None
    idle_replica_count: Count | None = None
    min_replica_count: Count | None = None
    max_replica_count: Count | None = None


class ScaledObjectStatus(Wire):
    paused_replica_count: Count | None = None


# ── storage ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class VolumeNodeAffinity(Wire):
    required: NodeSelector | None = None


class ObjectReference(Wire):
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class CsiSource(Wire):
    driver: str = ""
    volume_handle: str = ""


class FlexSource(Wire):
    driver: str = ""


class IscsiSource(Wire):
    target_portal: str = ""
    iqn: str = ""
    lun: int = 0


class AttachedVolume(Wire):
    name: str = ""


class AttachedSource(Wire):
    persistent_volume_name: str | None = None


class CsiLimit(Wire):
    count: Count | None = None


class CsiNodeDriver(Wire):
    name: str = ""
    allocatable: CsiLimit | None = None


# ── devices (dynamic resource allocation) ────────────────────────────────────────────────────────────────────────────
class CelSelector(Wire):
    expression: str = ""


class DeviceSelector(Wire):
    cel: CelSelector | None = None


class DeviceAttribute(Wire):
    string: str | None = None
    int_: Int64 | None = field(name="int", default=None)
    bool_: bool | None = field(name="bool", default=None)
    version: str | None = None


class CapacityRange(Wire):
    min: str | int | float | None = None
    max: str | int | float | None = None
    step: str | int | float | None = None


class CapacityPolicy(Wire):
    default: str | int | float | None = None
    valid_values: list[str | int | float] | None = None
    valid_range: CapacityRange | None = None


class DeviceCapacity(Wire):
    value: str | int | float = "0"
    request_policy: CapacityPolicy | None = None


class CounterSet(Wire):
    """Counters a pool has (then `name`) or a device consumes (then `counter_set`)."""

    name: str = ""
    counter_set: str = ""
    counters: dict[str, DeviceCapacity] | None = None


class DeviceBody(Wire):
    """A device's content: under ``basic`` in v1alpha3 and v1beta1, in the device itself since v1beta2."""

    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity | str] | None = None
    taints: list[Taint] | None = None
    consumes_counters: list[CounterSet] | None = None
    allow_multiple_allocations: bool | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    binding_conditions: list[str] | None = None


class Device(DeviceBody):
    name: str = ""
    basic: DeviceBody | None = None


class ExactRequest(Wire):
    device_class_name: str | None = None
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str | None = None
    count: Count | None = None
    admin_access: bool | None = None
    tolerations: list[Toleration] | None = None
    capacity: Resources | None = None


class SubRequest(ExactRequest):
    name: str = ""


class DeviceRequest(ExactRequest):
    """Flat in v1beta1, under ``exactly`` since v1beta2."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: list[SubRequest] | None = None


class AllocatedDevice(Wire):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    consumed_capacity: Quantities | None = None


class AllocatedDevices(Wire):
    results: list[AllocatedDevice] | None = None


class Allocation(Wire):
    devices: AllocatedDevices | None = None
    node_selector: NodeSelector | None = None


class DeviceTaintSelector(Wire):
    driver: str | None = None
    pool: str | None = None
    device: str | None = None


# ── Kueue ────────────────────────────────────────────────────────────────────────────────────────────────────────────
class FlavorResourceQuota(Wire):
    name: str = ""
    nominal_quota: str | int | float = 0
    borrowing_limit: str | int | float | None = None
    lending_limit: str | int | float | None = None


class FlavorQuotas(Wire):
    name: str = ""
    resources: list[FlavorResourceQuota] | None = None


class ResourceGroup(Wire):
    covered_resources: list[str] | None = None
    flavors: list[FlavorQuotas] | None = None


class CheckRule(Wire):
    name: str = ""
    on_flavors: list[str] | None = None


class TypedCondition(Wire):
    type: str = ""
    status: str = ""
    reason: str | None = None
    last_transition_time: datetime | None = None
    message: str | None = None  # of Kueue's Workloads only: read for names of resources, never kept


class DisruptionBudget(Wire):
    nodes: str = "10%"
    reasons: list[str] | None = None
    schedule: str | None = None
    duration: str | None = None


class NodePoolRequirement(Requirement):
    min_values: int | None = None


class CheckState(Wire):
    name: str = ""
    state: str | None = None


class ReclaimablePods(Wire):
    name: str = ""
    count: Count = 0


class TopologyLevel(Wire):
    node_label: str = ""


# ── objects that are a spec, or a spec and a status ──────────────────────────────────────────────────────────────────
PersistentVolumeClaim = Specified[PersistentVolumeClaimSpec]
ScaledObject = Whole[ScaledObjectSpec, ScaledObjectStatus]


# ── events, metrics ──────────────────────────────────────────────────────────────────────────────────────────────────
class EventSource(Wire):
    component: str | None = None
    host: str | None = None


class EventSeries(Wire):
    count: Count | None = None
    last_observed_time: datetime | None = None


class Event(Object):
    """core/v1, and events.k8s.io/v1 with its other names (``regarding``, ``note``, ``deprecated…``)."""

    involved_object: ObjectReference | None = None
    regarding: ObjectReference | None = None
    type: str | None = None
    reason: str | None = None
    message: str | None = None
    note: str | None = None
    count: Count | None = None
    deprecated_count: Count | None = None
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: EventSeries | None = None
    source: EventSource | None = None
    deprecated_source: EventSource | None = None
    reporting_component: str | None = None
    reporting_controller: str | None = None
    reporting_instance: str | None = None


class ContainerUsage(Wire):
    name: str = ""
    usage: Quantities | None = None


class Readable(NamedTuple):
    """A kind the planner reads. `versions`: those of its API group, the first that is installed is read."""

    field: str  # of `records.Snapshot`; several kinds may share one
    group: str  # "" is the core group
    resource: str  # what kubectl and a ClusterRole call it
    versions: tuple[str, ...] = ("v1",)
    is_namespaced: bool = True
    is_rare: bool = False  # many servers don't have it, so kubectl's line leaves it out


class _Row(msgspec.Struct):
    """A kind's row in ``api_types.json``; resource and field are its plural, as Kubernetes spells resources and this project fields."""

    name: str
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    field: str = ""
    is_namespaced: bool = True
    is_rare: bool = False


def _readable(rows: Iterable[_Row]) -> dict[str, Readable]:
    readables = {}
    for row in rows:
        name = row.name
        plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}es" if name.endswith("s") else f"{name}s"
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plural).lower()
        readables[name] = Readable(
            row.field or snake, row.group, plural.lower(), row.versions, row.is_namespaced, row.is_rare
        )
    return readables


DEVICES = "resource.k8s.io"
METRICS = "metrics.k8s.io"
SPARE = "autoscaling.x-k8s.io"
_ROWS = typed_json.decode(table_beside(__name__, "api_types.json"), dict[str, list[_Row]])
READ: dict[str, Readable] = {
    NODE.name: Readable("nodes", NODE.group, NODE.resource, is_namespaced=False),
    "Namespace": Readable("namespaces", "", "namespaces", is_namespaced=False),
    POD.name: Readable("pods", POD.group, POD.resource),
    **{
        workload_kind.name: Readable("workloads", workload_kind.group, workload_kind.resource, (workload_kind.version,), is_rare=workload_kind.is_custom)
        for workload_kind in WORKLOADS
    },
    **{part.name: Readable("replica_sets", part.group, part.resource, (part.version,)) for part in PARTS},
    **_readable(_ROWS["before"]),
    **_readable(
        _Row(
            kind, kueue_managed_pods.GROUP, kueue_managed_pods.VERSIONS, field="queued_workloads" * (kind == "Workload"),
            is_namespaced=kind in kueue_managed_pods.NAMESPACED, is_rare=True,
        )
        for kind in kueue_managed_pods.KINDS
    ),
    **_readable(_ROWS["after"]),
    "PodMetrics": Readable("pod_metrics", METRICS, "pods", ("v1beta1",)),
}  # fmt: skip
"""The kinds the planner reads, in one place: the snapshot's fields, the live reader's paths, kubectl's line and the ClusterRole in
the README. Others are counted and named."""

API_GROUPS: dict[str, str] = {name: kind.group for name, kind in READ.items() if kind.group}
"""kind → API group; kinds not named here are in the core group (Event also in events.k8s.io)."""

OLD_API_GROUP = "extensions"
OLD_KINDS = frozenset(kind.name for kind in (DEPLOYMENT, REPLICA_SET, DAEMON_SET))
"""Kinds that were in `OLD_API_GROUP` before Kubernetes 1.16, with the fields they have in apps/v1."""


# ── containers of objects ────────────────────────────────────────────────────────────────────────────────────────────
class Head(msgspec.Struct, gc=False, rename="camel"):
    """What says which kind an object is."""

    kind: str | None = None
    api_version: str | None = None


class List(msgspec.Struct, gc=False, rename="camel"):
    """A document: a List (or PodList, …) with `items`, or a single object without."""

    kind: str | None = None
    api_version: str | None = None
    items: list[msgspec.Raw] | None = None
    metadata: msgspec.Raw = NO_TEXT


class Page(msgspec.Struct, gc=False, rename="camel"):
    """What the metadata of a List say where it is a page of several.

    Source: apimachinery `pkg/apis/meta/v1/types.go` `ListMeta`.
    """

    continue_: str | None = msgspec.field(name="continue", default=None)
    remaining_item_count: int | None = None


encode = msgspec.json.Encoder(order="deterministic").encode  # equal maps in another order are equal content
decode_pod_spec = typed_json.decoder(PodSpec)


def digest(content: bytes) -> bytes:
    """16 bytes: equal for equal content. SHA-256, which processors have instructions for: half the time of BLAKE2b."""
    return sha256(content).digest()[:16]
