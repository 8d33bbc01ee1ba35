"""Words that are nobody's: Kubernetes' own, of clouds and of what writes events. `anonymous` keeps these and renames the rest.

Sources: kubernetes `staging/src/k8s.io/api` (enumerations, condition types and reasons), `pkg/kubelet/events/event.go`,
`pkg/kubelet/images/types.go`, `pkg/scheduler/framework/plugins/*` (`ErrReason…`), `pkg/controller/*` (events).
"""

from __future__ import annotations

import re
from typing import Final

from planner.ground import vocabulary
from planner.inventory import wire
from planner.kubernetes.accelerators import tables
from planner.kubernetes.clouds import CLOUDS
from planner.kubernetes.kinds import NODE, POD, REPLICATION_CONTROLLER
from planner.kubernetes.pod_templates import TEMPLATED

_ADDRESS: Final = r"(?<![\w.])(?:\d{1,3}([.-]))(?:\d{1,3}\1){2}\d{1,3}(?![\w.-]*\d)"
PART: Final = re.compile(rf"{_ADDRESS}|[^-./:@\s]+")
"""What a name is taken apart into; an address of IPv4 is one part, as it stands in the names of nodes too."""
WORD: Final = re.compile(rf"{_ADDRESS}|[^\W_]+(?:'[a-z]+)?")
"""What a sentence is taken apart into."""
_NUMBER: Final = re.compile(r"v?\d{1,7}(?:%|m|k|s|h|g|gb|[KMGTPE]i?)?")
_NOT_MATCHABLE: Final = frozenset({"0.0.0.0", "127.0.0.1"})

_ENUMERATIONS: Final = """
Always Never OnFailure IfNotPresent ClusterFirst ClusterFirstWithHostNet Default None File FallbackToLogsOnError
Exists DoesNotExist In NotIn Gt Lt Equal NoSchedule PreferNoSchedule NoExecute Honor Ignore DoNotSchedule ScheduleAnyway
Pending Running Succeeded Failed Unknown Active Terminating NotTerminating Bound Available Released Lost BestEffort
Burstable Guaranteed NotBestEffort PriorityClass CrossNamespacePodAffinity VolumeAttributesClass
RollingUpdate Recreate OnDelete OrderedReady Parallel Indexed NonIndexed IfHealthyBudget AlwaysAllow
PreemptLowerPriority Immediate WaitForFirstConsumer Filesystem Block Memory HugePages
ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod Retain Delete Recycle ExactCount All Exact Equivalent Fail
TCP UDP SCTP HTTP HTTPS RuntimeDefault Unconfined Localhost Unmasked NET_BIND_SERVICE ALL
CREATE UPDATE DELETE CONNECT Warning Normal Container Pod True False
Ready Initialized ContainersReady PodScheduled PodReadyToStartContainers DisruptionTarget PodResizePending
PodResizeInProgress MemoryPressure DiskPressure PIDPressure NetworkUnavailable Progressing ReplicaFailure Complete
Suspended SuccessCriteriaMet FailureTarget AbleToScale ScalingActive ScalingLimited SufficientPods InsufficientPods
MinimumReplicasAvailable MinimumReplicasUnavailable NewReplicaSetAvailable NewReplicaSetCreated ReplicaSetUpdated
FoundNewReplicaSet ReplicaSetCreateError ProgressDeadlineExceeded DeploymentPaused DeploymentResumed FailedCreate
ContainerCreating PodInitializing CrashLoopBackOff ImagePullBackOff ErrImagePull ErrImageNeverPull ErrImageInspect
InvalidImageName RegistryUnavailable CreateContainerConfigError CreateContainerError PreCreateHookError
PreStartHookError PostStartHookError RunContainerError StartError ContainerCannotRun ContainerStatusUnknown
OOMKilled Completed Error DeadlineExceeded Evicted NodeLost NodeAffinity NodeShutdown Preempting Preempted
OutOfcpu OutOfmemory OutOfpods UnexpectedAdmissionError Terminated Shutdown NodePorts TaintManagerEviction
TerminationByKubelet PodGC DeletionByTaintManager DeletionByPodGC EvictionByEvictionAPI PreemptionByScheduler
Scheduled FailedScheduling Unschedulable SchedulingGated SchedulerError WaitingForGates NotTriggerScaleUp TriggeredScaleUp
ScaleDown ScaleUpTimedOut FailedToScaleUpGroup ScaledUpGroup ScaleUpFailed Nominated Evict DisruptionBlocked
Pulling Pulled BackOff Created Started Killing Unhealthy ProbeWarning ProbeError FailedKillPod FailedSync
FailedValidation FailedPreStopHook FailedPostStartHook FailedMount FailedAttachVolume SuccessfulAttachVolume
FailedDetachVolume VolumeResizeFailed FailedMapVolume FailedBinding ProvisioningFailed ProvisioningSucceeded
ExternalProvisioning Provisioning ExternalExpanding WaitForPodScheduled VolumeMismatch NodeNotReady NodeReady
NodeNotSchedulable NodeSchedulable NodeHasSufficientMemory NodeHasInsufficientMemory NodeHasDiskPressure
NodeHasNoDiskPressure NodeHasSufficientPID NodeAllocatableEnforced Rebooted Starting Stopping InvalidDiskCapacity
RegisteredNode RemovingNode DeletingNode EvictionThresholdMet FreeDiskSpaceFailed ImageGCFailed ContainerGCFailed
SystemOOM OOMKilling TaskHung KernelOops Sandbox SandboxChanged FailedCreatePodSandBox FailedPodSandBoxStatus
NetworkNotReady DNSConfigForming HostPortConflict MissingClusterDNS ScalingReplicaSet SuccessfulCreate SuccessfulDelete
FailedDelete SuccessfulRescale DesiredReplicasComputed FailedGetResourceMetric FailedComputeMetricsReplicas
FailedRescale DeploymentRollback NoPods NotEnoughPods CalculateExpectedPodCountFailed BackoffLimitExceeded
SawCompletedJob JobAlreadyActive MissSchedule Preemption PreemptionVictim NodePreempted TerminateScheduled
GuestTerminate InstanceTerminate SpotInterruption RebalanceRecommendation PreemptScheduled FreezeScheduled ReadOnly
KubeletHasSufficientMemory KubeletHasNoDiskPressure KubeletHasSufficientPID KubeletReady KubeletNotReady
NodeStatusUnknown NodeStatusNeverUpdated MultiplePodDisruptionBudgets Synced FailedUpdate Resizing ResizeCompleted
Deferred Infeasible AsExpected TooManyReplicas TooFewReplicas ReadyForNewScale DesiredWithinRange ValidMetricFound
configMap secret emptyDir hostPath persistentVolumeClaim projected downwardAPI ephemeral csi nfs iscsi fc
serviceAccountToken gcePersistentDisk awsElasticBlockStore azureDisk azureFile cephfs cinder flexVolume glusterfs
portworxVolume quobyte rbd scaleIO storageos vsphereVolume gitRepo image type productName architecture brand
cudaComputeCapability driverVersion cudaDriverVersion uuid index minor profile parentUUID pciBusID pcieRoot numaNode
memory multiprocessors copyEngines decoders encoders ofaEngines jpegEngines
StrictFIFO BestEffortFIFO MayStopSearch TryNextFlavor BorrowingOverPreemption PreemptionOverBorrowing LowerPriority
LowerOrNewerEqualPriority Any Hold HoldAndDrain QuotaReserved Admitted Finished PodsReady PodsReadyTimeout AdmissionCheck
ClusterQueueStopped LocalQueueStopped Inadmissible Requeued Retry Rejected Deactivated
"""
_NAMES: Final = """
kube system default public lease node nodes pod pods container cluster critical gke gk3 gce gcp aws azure eks aks ec2 internal
compute provider true false none never off on present app env name environment k8s component version tier team in kubernetes
io metadata namespace hostname os arch linux windows amd64 arm64 beta instance part managed by created controller uid job
completion index batch template hash generation revision statefulset role master control plane worker com org net dev google
cloud amazonaws nvidia gpu amd intel x registry docker gcr quay ghcr pkg gitlab github azurecr ecr mcr microsoft public
latest stable nvcr coredns scheduler manager proxy kubelet etcd cpu memory storage ephemeral requests limits count hugepages
services configmaps secrets persistentvolumeclaims replicationcontrollers resourcequotas loadbalancers nodeports
deployments replicasets statefulsets daemonsets jobs cronjobs apps anonymous status phase resource attachable volumes csi
"""
_PROGRAMS: Final = """
python python2 python3 sh bash ash dash zsh java node npm yarn ruby perl php php-fpm go dotnet gunicorn uvicorn celery uwsgi
hypercorn streamlit jupyter torchrun deepspeed accelerate ray vllm tritonserver trtllm mpirun nginx httpd envoy haproxy
redis-server redis postgres mysqld mongod sleep tail cat tini dumb-init catatonit supervisord env exec poetry uv conda
"""
_SENTENCES: Final = """
0/N nodes are available: node(s) didn't match Pod's node affinity/selector, had untolerated taint(s) that the pod didn't
tolerate, were unschedulable, Insufficient, didn't match pod anti-affinity rules, didn't satisfy existing pods, match pod
topology spread constraints (missing required label), didn't have free ports for the requested pod ports, had volume node
affinity conflict, exceed max volume count, no available persistent volumes to bind, didn't find available, Too many pods,
cannot allocate all claims, could not allocate, no new claims to deallocate, resourceclaim is being deleted, not created yet,
preemption: Preemption is not helpful for scheduling, No preemption victims found for incoming pod, unbound immediate
PersistentVolumeClaims, pod has, persistentvolumeclaim not found, waiting for a volume to be created either by the external
provisioner or manually by the system administrator, claim bound with, running PreBind plugin create extended resources
Scheduling is blocked due to non-empty scheduling gates, Successfully assigned to, Created Started Stopping Killing pod container
Scaled up down replica set from to, Deleted, New size reason above below target current metrics resource utilization all
unable get fetch compute invalid did not receive returned by API server could find requested
Error creating: is forbidden: exceeded quota: failed quota: must specify requested: used: limited: maximum minimum usage per is limit
combined from similar events, violates PodSecurity restricted baseline privileged admission webhook denied the request
Back-off restarting failed container in pod pulling image, Successfully pulled image, including waiting size bytes already present
on machine and can be accessed, failed to pull unpack resolve reference image code desc rpc notfound manifest unauthorized
authentication required authorization pull access repository does exist or may require login no basic auth credentials
secret configmap references non-existent key couldn't object namespace not registered serviceaccount look service account
Readiness Liveness Startup probe failed errored timed out Get Head connection refused reset peer dial tcp context deadline
exceeded while awaiting headers HTTP statuscode command exited with, will be restarted, client http https healthz readyz
MountVolume.SetUp AttachVolume.Attach failed for volume waiting mount unmounted attached volumes list of condition multi-attach
already exclusively one node can't another, references no such file directory permission read only
The node was low on resource: threshold quantity available, Container was using request which exceeds its of, has larger
consumption, ephemeral local storage usage exceeds total limit of containers, emptyDir, memory disk inodes pressure
Memory cgroup out kill process task score total-vm anon-rss file-rss shmem-rss oom killer invoked victim
marking deletion cancelling of pods, taint manager evicting evicted preempted on higher priority deleting status now
NodeNotReady NodeReady, kubelet stopped posting network runtime ready docker containerd starting started rebooted boot id
scale-up triggered max reached group timed backoff after skipped, nodes would fit new pending, not helpful, pool quota stockout
does have enough resources zone region capacity try again later currently unavailable insufficient instance error no because
job has reached the specified limit backoff was active longer than deadline completed saw finished missed start time
sandbox changed killed re-created create setup clean teardown plugin cni network address assign ip range addresses
evict disrupt budget disruption allowed violate would needs multiple matching found calculating expected healthy desired
an a of to by at as be been it its this that these which who what when where why how than then there they if but with without
until since each every other others own some any none more most less least only also still just so very two three
seconds minutes hours days second minute hour day s ms m h ago older newest last first next between both same
doesn't isn't aren't hasn't can't couldn't cannot unknown known read unreadable damaged missing left out
device devices driver attributes capacity compareTo isGreaterThan isLessThan quantity semver matches contains startsWith
endsWith size exists true false null d e g i
"""


def found(pattern: re.Pattern[str], text: str) -> list[str]:
    """What of `text` is as `PART` or `WORD` says, in its order."""
    return [one.group() for one in pattern.finditer(text)]


def _parts_of_tables() -> set[str]:
    """Of label keys, resources and kinds that the planner knows by name."""
    texts = [value for value in vars(vocabulary).values() if isinstance(value, str)]
    texts += [text for value in vars(vocabulary).values() if isinstance(value, frozenset | tuple) for text in value]
    texts += [one.resource for one in tables().accelerators]
    texts += VALUED
    texts += [
        key for one in CLOUDS for key in (*one.pool, *one.marks, *one.zone, *one.region, *one.machine_type, *one.count)
    ]
    return {part.rstrip("*") for text in texts if len(text) < 80 for part in found(PART, text)}


VALUED: Final = (
    *dict.fromkeys(
        key
        for one in CLOUDS
        for key in (*one.zone, *one.region, *one.machine_type, *one.model, *one.count, *one.bought)
    ),
    vocabulary.ARCHITECTURE,
    vocabulary.OPERATING_SYSTEM,
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    vocabulary.GKE_GPU_PARTITION_SIZE,
    vocabulary.GKE_GPU_SHARING_STRATEGY,
    vocabulary.GKE_MAX_SHARED_CLIENTS,
    vocabulary.NVIDIA_GPU_REPLICAS,
    vocabulary.NVIDIA_SHARING_STRATEGY,
)
"""Label keys whose values everybody has: zones, machine types, GPU models, how a node was bought."""
_OF_MACHINES: Final = (
    "karpenter.k8s.aws/instance-", "eks.amazonaws.com/instance-", "karpenter.azure.com/sku-", "karpenter.k8s.gcp/instance-",
    "karpenter.kwok.sh/instance-", "cloud.google.com/machine-family", "cloud.google.com/gke-gpu-driver-version",
    "cloud.google.com/gke-os-distribution", "cloud.google.com/gke-max-pods-per-node", "cloud.google.com/gke-cpu-scaling-level",
)  # fmt: skip
"""What keys begin with that tell a machine's family, size and parts: NodePools choose by them."""
_KINDS: Final = {NODE.name, POD.name, REPLICATION_CONTROLLER, *wire.READ, *(one.kind for one in TEMPLATED)}
ENUMERATIONS: Final = frozenset(_ENUMERATIONS.split()) | _KINDS
NAMES: Final = frozenset(_NAMES.split()) | ENUMERATIONS | _parts_of_tables()
PROGRAMS: Final = frozenset(_PROGRAMS.split())
_SAID: Final = frozenset(word.lower() for word in re.findall(r"[A-Za-z']+", _SENTENCES + _ENUMERATIONS + _NAMES))


def is_plain_number(part: str) -> bool:
    """A short number, which is an amount, a port, a version; a long one is an account's, an address tells a machine."""
    return part in _NOT_MATCHABLE or _NUMBER.fullmatch(part) is not None


def is_valued(key: str) -> bool:
    """Whether a label's key and its values are the same in everybody's cluster."""
    return key in VALUED or key.startswith(_OF_MACHINES)


def is_said(word: str) -> bool:
    """Whether a word of a sentence is one that Kubernetes and clouds say."""
    return word.lower() in _SAID or word in NAMES or is_plain_number(word)
