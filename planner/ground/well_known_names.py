"""Every label key, resource name and annotation key that the planner knows, spelled once."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from planner.ground.data_files import table_beside

# Names that only stand beside others like them.
_LISTS: Final = msgspec.json.decode(table_beside(__name__, "well_known_names.json"))

# Resources
CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
HUGE_PAGES: Final = "hugepages-"  # a prefix: hugepages-2Mi
NVIDIA_GPU: Final = "nvidia.com/gpu"
NVIDIA_GPU_SHARED: Final = "nvidia.com/gpu.shared"
NVIDIA_MIG_PREFIX: Final = "nvidia.com/mig-"
DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"  # + a DeviceClass: its implicit resource

# Node labels: Kubernetes
AWS_ZONE_ID: Final = "topology.k8s.aws/zone-id"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"  # before 1.17; volumes and old nodes carry them still
OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"
RACKS: Final = tuple[str, ...](_LISTS["racks"])
"""What machines that fail together may share, as GPU feature discovery, Topograph, GKE, EKS and Kueue's examples say."""
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"  # on every Namespace: its own name
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ARCHITECTURE: Final = "kubernetes.io/arch"
OPERATING_SYSTEM: Final = "kubernetes.io/os"
OLD_ARCHITECTURE: Final = "beta.kubernetes.io/arch"  # which kubelets write beside the new ones still
OLD_OPERATING_SYSTEM: Final = "beta.kubernetes.io/os"
POD_TEMPLATE_HASH: Final = "pod-template-hash"
DEFAULT_SCHEDULER: Final = "default-scheduler"
"""Who places a pod that names no scheduler: kubernetes `pkg/apis/core/v1/defaults.go`."""
DEFAULT_NAMESPACE: Final = "default"
SCHEDULING_API: Final = "scheduling.k8s.io/v1"  # of PriorityClasses
STORAGE_API: Final = "storage.k8s.io/v1"  # of StorageClasses, CSIDrivers, VolumeAttachments
CONTROLLER_REVISION_HASH: Final = "controller-revision-hash"
POD_TEMPLATE_GENERATION: Final = "pod-template-generation"
DEPLOYMENT_CONFIG: Final = "deploymentconfig"  # on the pods of OpenShift's
STATEFULSET_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"

# Node labels: GKE, EKS, Karpenter, AKS, NVIDIA's feature discovery
GKE_NODE_POOL: Final = "cloud.google.com/gke-nodepool"
GKE_ACCELERATOR: Final = "cloud.google.com/gke-accelerator"
GKE_ACCELERATOR_COUNT: Final = "cloud.google.com/gke-accelerator-count"
GKE_GPU_PARTITION_SIZE: Final = "cloud.google.com/gke-gpu-partition-size"
GKE_GPU_SHARING_STRATEGY: Final = "cloud.google.com/gke-gpu-sharing-strategy"
GKE_MAX_SHARED_CLIENTS: Final = "cloud.google.com/gke-max-shared-clients-per-gpu"
GKE_SPOT: Final = "cloud.google.com/gke-spot"
GKE_PROVISIONING: Final = "cloud.google.com/gke-provisioning"
KARPENTER_NODE_POOL: Final = "karpenter.sh/nodepool"
KARPENTER_CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
KARPENTER_GPU_NAME: Final = "karpenter.k8s.aws/instance-gpu-name"
NVIDIA_GPU_PRODUCT: Final = "nvidia.com/gpu.product"
NVIDIA_GPU_COUNT: Final = "nvidia.com/gpu.count"  # physical, by GPU feature discovery
NVIDIA_GPU_REPLICAS: Final = "nvidia.com/gpu.replicas"
NVIDIA_SHARING_STRATEGY: Final = "nvidia.com/gpu.sharing-strategy"

# Argo Rollouts, LeaderWorkerSet
ROLLOUTS_POD_TEMPLATE_HASH: Final = "rollouts-pod-template-hash"
ROLLOUTS_REVISION: Final = "rollout.argoproj.io/revision"
ROLLOUTS_DESIRED_REPLICAS: Final = "rollout.argoproj.io/desired-replicas"
ROLLOUTS_SCALE_DOWN_DEADLINE: Final = "scale-down-deadline"
LWS_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
LWS_WORKER_INDEX: Final = "leaderworkerset.sigs.k8s.io/worker-index"
LWS_GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"
LWS_GROUP_KEY: Final = "leaderworkerset.sigs.k8s.io/group-key"
LWS_REVISION: Final = "leaderworkerset.sigs.k8s.io/template-revision-hash"
LWS_SUBGROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/subgroup-index"
LWS_SUBGROUP_KEY: Final = "leaderworkerset.sigs.k8s.io/subgroup-key"
LWS_EXCLUSIVE: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"  # an annotation
LWS_SUBGROUP_EXCLUSIVE: Final = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
LWS_REPLICAS: Final = "leaderworkerset.sigs.k8s.io/replicas"

# Annotations the snapshot may keep; everything else is dropped at the door.
REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = (
    "deployment.kubernetes.io/revision-history"  # numbers that a ReplicaSet had before it was used again
)
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"  # of a pod template: what kubectl rollout restart writes
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
CONSUMES_REQUEST: Final = (  # the name of a ProvisioningRequest, on a pod
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)
SCALE_DOWN_DISABLED: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
DEFAULT_STORAGE_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"  # read for digests, never kept
SPOT_OPT_OUT: Final = "headroom.dev/spot"  # "never" takes a workload out of the spot checklist
WARNINGS_SWITCH: Final = "headroom.dev/warnings"  # "off" on a workload: nothing is said when it is applied
HAMI_REGISTER: Final = (
    "hami.io/node-nvidia-register"  # cut down to how many pods may share each card, and its MiB: ``10x15360``
)
NODE_ARGS: Final = ("k3s.io/node-args", "rke2.io/node-args")  # of nodes: cut down to what is read of their kubelets
HAMI_CORES: Final = "nvidia.com/gpucores"  # percent of a card's cores
HAMI_MEMORY: Final = "nvidia.com/gpumem"  # MiB
HAMI_MEMORY_PERCENT: Final = "nvidia.com/gpumem-percentage"
KEDA_PAUSED: Final = "autoscaling.keda.sh/paused"
KEDA_PAUSED_REPLICAS: Final = "autoscaling.keda.sh/paused-replicas"
# Kueue
KUEUE_QUEUE: Final = "kueue.x-k8s.io/queue-name"  # a label of what is queued
KUEUE_PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"  # a label: the WorkloadPriorityClass
KUEUE_LEAST_PODS: Final = "kueue.x-k8s.io/job-min-parallelism"  # an annotation of a Job
KUEUE_POD_GROUP: Final = "kueue.x-k8s.io/pod-group-name"  # a label of Pods, or an annotation: let in together
KUEUE_GROUP_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"  # an annotation of these
KUEUE_OWNER_KIND: Final = "kueue.x-k8s.io/job-owner-gvk"  # of a Workload: ``apps/v1, Kind=StatefulSet``
KUEUE_OWNER_NAME: Final = "kueue.x-k8s.io/job-owner-name"
KUEUE_IS_GROUP: Final = "kueue.x-k8s.io/is-group-workload"
KUEUE_ADMISSION_GATE: Final = "kueue.x-k8s.io/admission"  # a scheduling gate of pods that wait for it
KUEUE_NOTES: Final = frozenset({KUEUE_LEAST_PODS, KUEUE_POD_GROUP, KUEUE_GROUP_COUNT, *_LISTS["kueue_notes"]})
"""Annotations of objects and pod templates that Kueue decides by: kueue at ff69552e79ad, `apis/` and `pkg/`."""

SIDECAR_ANNOTATIONS: Final = (  # of webhooks that add a container to pods with one of these alone
    "azure.workload.identity/inject-proxy-sidecar", "dapr.io/enabled", "gke-gcsfuse/volumes",
)  # fmt: skip
ISTIO_INJECT: Final = "sidecar.istio.io/inject"
ISTIO_REQUESTS: Final = ("sidecar.istio.io/proxyCPU", "sidecar.istio.io/proxyMemory")
ISTIO_LIMITS: Final = ("sidecar.istio.io/proxyCPULimit", "sidecar.istio.io/proxyMemoryLimit")
ISTIO_ANNOTATIONS: Final = frozenset({ISTIO_INJECT, *ISTIO_REQUESTS, *ISTIO_LIMITS})
KEPT_ANNOTATIONS: Final = frozenset(
    {
        *SIDECAR_ANNOTATIONS,
        *ISTIO_ANNOTATIONS,
        KEDA_PAUSED,
        KEDA_PAUSED_REPLICAS,
        HAMI_REGISTER,
        *NODE_ARGS,
        WARNINGS_SWITCH,
        ROLLOUTS_REVISION,
        ROLLOUTS_DESIRED_REPLICAS,
        ROLLOUTS_SCALE_DOWN_DEADLINE,
        LWS_EXCLUSIVE,
        LWS_SUBGROUP_EXCLUSIVE,
        LWS_REPLICAS,
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        POD_DELETION_COST,
        SAFE_TO_EVICT,
        SCALE_DOWN_DISABLED,
        DO_NOT_DISRUPT,
        *DEFAULT_STORAGE_CLASS,
        *CONSUMES_REQUEST,
        SELECTED_NODE,
        SPOT_OPT_OUT,
        *KUEUE_NOTES,
        KUEUE_OWNER_KIND,
        KUEUE_OWNER_NAME,
        KUEUE_IS_GROUP,
    }
)

APP_NAME: Final = "app.kubernetes.io/name"

# Namespaces that belong to the cluster, not to its users
SYSTEM_NAMESPACES: Final = frozenset(
    {"kube-system", "kube-public", "kube-node-lease", "gke-managed-system", "gmp-system"}
)

# Taints set by Kubernetes itself
VIRTUAL_KUBELET: Final = "virtual-kubelet.io/provider"
JOB_NAME: Final = "job-name"  # the label of a Job's pods
TAINT_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
TAINT_DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
TAINT_MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
TAINT_PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
TAINT_NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"
TAINT_NOT_READY: Final = "node.kubernetes.io/not-ready"
TAINT_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
TAINT_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"

HOURS_PER_MONTH: Final = 730  # 365 days * 24 h / 12; what cloud price lists use


IN_TREE_DRIVERS: Final[dict[str, str]] = _LISTS["in_tree_drivers"]
"""Volume source → the CSI driver that it is translated to. Source: kubernetes `csi-translation-lib/plugins`."""
IN_TREE_PROVISIONERS: Final = {name: IN_TREE_DRIVERS[of] for name, of in _LISTS["in_tree_provisioners"].items()}
"""StorageClass provisioner → the CSI driver that makes its volumes."""


@lru_cache(maxsize=4096)
def is_extended_resource(name: str) -> bool:
    """Whether `name` is an extended resource: one with a domain outside ``kubernetes.io``, or a DeviceClass's implicit one.

    Source: kubernetes `pkg/apis/core/v1/helper/helpers.go` `IsExtendedResourceName`, `pkg/scheduler/util/utils.go`
    `IsDRAExtendedResourceName`.
    """
    if name.startswith(DEVICE_CLASS_PREFIX):
        return True
    if "/" not in name or name.startswith("requests."):
        return False
    domain = name.split("/", 1)[0]
    return not (domain == "kubernetes.io" or domain.endswith(".kubernetes.io"))


CACHES: Final = frozenset[str](_LISTS["caches"])
DATA_STORES: Final = CACHES | frozenset[str](_LISTS["data_stores"])
"""Images, by their last name, of programs that keep data."""
