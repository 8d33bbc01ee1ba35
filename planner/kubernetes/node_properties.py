"""A node's properties from its labels and status: pool, GPU model, zone, machine type, Ready, takes new pods."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from math import ceil
from typing import Final

from planner.ground.well_known_names import (
    EPHEMERAL_STORAGE,
    GKE_GPU_PARTITION_SIZE,
    GKE_GPU_SHARING_STRATEGY,
    GKE_MAX_SHARED_CLIENTS,
    HAMI_REGISTER,
    NVIDIA_GPU,
    NVIDIA_GPU_COUNT,
    NVIDIA_GPU_PRODUCT,
    NVIDIA_GPU_REPLICAS,
    NVIDIA_GPU_SHARED,
    NVIDIA_MIG_PREFIX,
    NVIDIA_SHARING_STRATEGY,
    TAINT_NOT_READY,
    TAINT_OUT_OF_SERVICE,
    TAINT_UNREACHABLE,
    TAINT_UNSCHEDULABLE,
    VIRTUAL_KUBELET,
)
from planner.ground.words import plural
from planner.kubernetes.accelerators import (
    Unit,
    accelerator,
    alike,
    is_gpu_resource,
    model_named,
    once,
    tables,
    unit,
)
from planner.kubernetes.clouds import GKE, ON_DEMAND, PREEMPTIBLE, SPOT, cloud_of, model_of_machine
from planner.kubernetes.object_records import Node

NO_POOL = "no pool"  # what people read, and a filter takes, where a node tells no pool
# GKE writes them on nodes of a pool with local SSDs attached: as ephemeral storage, and as raw block devices.
LOCAL_SSD_LABELS = ("cloud.google.com/gke-ephemeral-storage-local-ssd", "cloud.google.com/gke-local-nvme-ssd")
LOCAL_SSD_GIB = 375  # of one disk
_FORMATTED = 0.95  # of a disk at least is left once it is formatted
# From the first pod that finds no node to a node that takes it. With GPUs 4 to 6 minutes were told (VM and driver;
# kubernetes/autoscaler#3464, 2020), without 2 to 3 (GKE; kubernetes/test-infra#18607, 2020). Both can be set.
GPU_NODE_ARRIVAL_SECONDS = 300.0
NODE_ARRIVAL_SECONDS = 150.0
ARRIVAL_SOURCE = "kubernetes/autoscaler#3464 with GPUs, kubernetes/test-infra#18607 without"
ARRIVAL_WORDS = f"{GPU_NODE_ARRIVAL_SECONDS:.0f} with GPUs, {NODE_ARRIVAL_SECONDS:.0f} without"
_MINOR = re.compile(r"v?1\.(\d+)")
ROLE = "node-role.kubernetes.io/"
CORDONED, NOT_READY = "cordoned", "not Ready"
# What the node lifecycle controller writes on nodes that are out of use (pkg/controller/nodelifecycle, taintKeyToNodeConditionMap).
TAINTS_OUT_OF_USE = frozenset({TAINT_UNSCHEDULABLE, TAINT_NOT_READY, TAINT_UNREACHABLE})

_NUMBERED_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d+(?=[a-z-])")


def pool_label(node: Node) -> str:
    """The label that names the node's pool, "" where none does."""
    return next((label for label in tables().pool if node.labels.get(label)), "")


def node_pool(node: Node) -> str:
    """The pool's name: node pool (GKE), node group (EKS), NodePool (Karpenter), agent pool (AKS) and what others call it.

    Where no label says, the roles of an OpenShift or kOps node stand for it; "" where it has none.
    """
    label = pool_label(node)
    if label:
        return str(node.labels[label])
    roles = sorted(key.removeprefix(ROLE) for key in node.labels if key.startswith(ROLE))
    return ", ".join(roles)


def has_local_ssd(node: Node) -> bool:
    """Whether GKE says that local SSDs are attached to the node."""
    return any(label in node.labels for label in LOCAL_SSD_LABELS)


def local_ssd_gib(node: Node) -> int | None:
    """GiB of local SSD on the node; None where there are some and it doesn't tell how many.

    As ephemeral storage they are one file system over all of them, and nothing else is (GKE's
    ``--ephemeral-storage-local-ssd``): the node's capacity tells how many disks of 375 GiB it takes. Raw ones no node counts.
    """
    if not has_local_ssd(node):
        return 0
    size = node.capacity.get(EPHEMERAL_STORAGE, 0) / (LOCAL_SSD_GIB * 2**30)
    disks = ceil(size)
    is_told = node.labels.get(LOCAL_SSD_LABELS[0]) == "true" and LOCAL_SSD_LABELS[1] not in node.labels
    return disks * LOCAL_SSD_GIB if is_told and disks and size >= _FORMATTED * disks else None


def minor_version(node: Node) -> int | None:
    """The minor version of its kubelet, ``31`` of ``v1.31.2-gke.100``; None where it doesn't tell. The API server is of that
    one or a later one (Kubernetes' version skew policy)."""
    match = _MINOR.match(node.kubelet_version)
    return int(match[1]) if match else None


def is_gke(node: Node) -> bool:
    """Whether Google Kubernetes Engine runs the node: it labels every one. A provider id ``gce://`` is of any VM of Google's."""
    return cloud_of(node) is GKE


def gpu_model(node: Node) -> str:
    """The accelerator's model, by one name whatever the label calls it (`model_named`), else as the machine type tells; "" else."""
    return model_named(gpu_label(node)) or model_of_machine(machine_type(node))


def gpu_label(node: Node) -> str:
    """What the node's own label calls its model, such as ``nvidia-tesla-t4``; "" without one."""
    stated = (str(node.labels[label]) for label in tables().model if label in node.labels)
    return next((name for name in stated if model_named(name)), "")


def labels_beside(nodes: Collection[Node]) -> tuple[str, ...]:
    """What the nodes' own labels call their models, where that is another word: it stands beside the model, for selectors."""
    return tuple(sorted({gpu_label(node) for node in nodes} - {"", *map(gpu_model, nodes)}))


def machine_type(node: Node) -> str:
    """The machine type as labeled, else ""."""
    return _first(node, tables().machine_type)


def zone(node: Node) -> str:
    """The zone, else the region, else ""."""
    return _first(node, tables().zone) or _first(node, tables().region)


def region(node: Node) -> str:
    """The region as labeled, else that of the zone, else ""."""
    return _first(node, tables().region) or region_of_zone(_first(node, tables().zone))


def region_of_zone(name: str) -> str:
    """The region in a zone's name: ``us-east-1a`` and ``us-west-2-lax-1a`` (AWS) begin with it, ``asia-northeast3-b`` and ``eastus-1``
    (Google, Azure) have it before the last hyphen; "" in a name without one."""
    numbered = _NUMBERED_REGION.match(name)
    return numbered[0] if numbered else name.rpartition("-")[0]


def _first(node: Node, labels: tuple[str, ...]) -> str:
    return next((str(node.labels[label]) for label in labels if node.labels.get(label)), "")


def gpu_count(node: Node) -> int:
    """Allocatable devices, where there are none slices, where there are none shares: nothing is added that isn't alike. A
    virtual kubelet has none (`is_virtual`)."""
    return 0 if is_virtual(node) else alike(node.allocatable)


def unoffered(node: Node) -> dict[str, int]:
    """Devices that the node has and doesn't offer, by resource: a device that is unhealthy, or all of them while the device plugin is
    away, count in `capacity` and not in `allocatable`. Not what its cards were cut from, where it offers slices or shares of them.

    Source: kubernetes `pkg/kubelet/cm/devicemanager/manager.go` `GetCapacity`, `markResourceUnhealthy`.
    """
    offers_any = alike(node.allocatable) > 0
    if is_virtual(node):
        return {}
    return {
        name: amount - node.allocatable.get(name, 0)
        for name, amount in once(node.capacity).items()
        if amount > node.allocatable.get(name, 0)
        and is_gpu_resource(name)
        and (node.allocatable.get(name) or not offers_any)
    }


def provisioning_model(node: Node) -> str:
    """How a node was bought, by its labels: ``flex-start``, ``preemptible``, ``spot``, ``reserved``, ``capacity-block``, else
    ``on-demand``.

    A commitment is an agreement of the billing account, not of the node: no label tells it, nor that of a reservation on GKE.
    """
    of = tables().bought
    provisioning_models = (of[key].get(str(node.labels[key]).lower(), "") for key in of if key in node.labels)
    return next((bought for bought in provisioning_models if bought), ON_DEMAND)


def provisioning_label(node: Node, how: str) -> tuple[str, str] | None:
    """The node's label that tells that it was bought so (`provisioning_model`): of its maker."""
    labels = ((key, str(node.labels[key]), bought) for key, bought in tables().bought.items() if key in node.labels)
    return next(((key, value) for key, value, bought in labels if bought.get(value.lower()) == how), None)


def labels_however_bought(node: Node) -> dict[str, str]:
    """The node's labels without those that tell how it was bought."""
    return {key: value for key, value in node.labels.items() if key not in tables().bought}


def is_ready(node: Node) -> bool:
    """Whether the kubelet says that it takes pods. A node that says nothing of it is taken for Ready."""
    return node.conditions.get("Ready", "True") == "True"


def is_silent(node: Node) -> bool:
    """Whether nothing was heard from the kubelet for so long that the node lifecycle controller says so (Ready is Unknown)."""
    return node.conditions.get("Ready") == "Unknown"


def is_out_of_service(node: Node) -> bool:
    """Whether somebody has said that it is surely down: once it isn't Ready, what is deleted there goes without its kubelet.

    Source: kubernetes `pkg/controller/podgc/gc_controller.go` `gcTerminating`, which asks for the taint's key alone.
    """
    return any(taint.key == TAINT_OUT_OF_SERVICE for taint in node.taints)


def out_of_use(node: Node) -> str:
    """Why no new pod is placed on the node, `CORDONED` or `NOT_READY`; "" where pods may be: only there anything is free.

    Source: ``spec.unschedulable`` (plugins/nodeunschedulable), and the NoSchedule taint that the node lifecycle controller gives
    a node without the condition Ready True (`is_ready`).
    """
    if node.is_cordoned:
        return CORDONED
    return "" if is_ready(node) else NOT_READY


class Sharing(StrEnum):
    """How an accelerator is offered."""

    WHOLE = "whole"
    TIME_SHARING = "time-sharing"
    MPS = "MPS"
    MIG = "MIG"
    VGPU = "vGPU"
    PARTS = "parts"  # of memory or cores: no number of anything
    DEVICES = "devices (DRA)"


def sharing(node: Node, resource: str) -> Sharing:
    """How a node offers an accelerator's resource.

    Sources: GKE's sharing labels (cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus), NVIDIA's device plugin
    (``nvidia.com/gpu.shared`` where replicas are renamed) and feature discovery (``gpu.sharing-strategy``, ``gpu.replicas``, a
    product with ``-SHARED`` or, with MIG's single strategy, ``-MIG-1g.10gb``), HAMi's annotation.
    """
    of, labels = unit(resource), node.labels
    if of in (Unit.CORE, Unit.MEMORY):
        return Sharing.PARTS
    if of is Unit.SLICE:
        return Sharing.MIG
    is_nvidia = resource in (NVIDIA_GPU, NVIDIA_GPU_SHARED)
    if of is Unit.SHARE and not (is_nvidia or resource.endswith(".shared")):
        return Sharing.VGPU
    if not is_nvidia and of is Unit.DEVICE:
        return Sharing.WHOLE
    # HAMi offers a card several times under NVIDIA's own resource name, without its labels: only the annotation says
    # so.
    if any(count > 1 for count in hami_cards(node)):
        return Sharing.VGPU
    stated = (labels.get(GKE_GPU_SHARING_STRATEGY) or labels.get(NVIDIA_SHARING_STRATEGY, "")).lower()
    replicas = labels.get(NVIDIA_GPU_REPLICAS, "1")
    is_shared = (
        stated not in ("", "none")
        or GKE_MAX_SHARED_CLIENTS in labels
        or (replicas.isdecimal() and int(replicas) > 1)
        or labels.get(NVIDIA_GPU_PRODUCT, "").endswith("-SHARED")
        or of is Unit.SHARE
    )
    if is_shared:
        return (
            Sharing.MPS if stated == "mps" or labels.get("nvidia.com/mps.capable") == "true" else Sharing.TIME_SHARING
        )
    return Sharing.MIG if mig_profile(node) else Sharing.WHOLE


PART: Final = {
    Sharing.TIME_SHARING: "time slice",
    Sharing.MPS: "MPS share",
    Sharing.MIG: "MIG slice",
    Sharing.VGPU: "vGPU share",
    Sharing.DEVICES: "device",
}
"""What one unit of it is called where it is no whole device."""


def noun_of(resource: str, how: Sharing, *, is_only: bool = True, number: int = 0, profile: str = "") -> str:
    """``GPUs``, ``time slices``, ``MIG slices 1g.5gb``: what units of a resource are, in the number's form."""
    if how is Sharing.PARTS:
        return resource
    if how is Sharing.WHOLE:
        row = accelerator(resource)
        return plural(number, row.noun) if is_only and row is not None else resource
    noun = plural(number, PART[how])
    if profile or resource.startswith(NVIDIA_MIG_PREFIX):
        return f"{noun} {profile or resource.removeprefix(NVIDIA_MIG_PREFIX)}"
    if how is Sharing.DEVICES:
        return f"{noun} of {resource} (DRA)"
    return noun if resource == NVIDIA_GPU else f"{noun} {resource}"


def mig_profile(node: Node) -> str:
    """``1g.10gb`` of a node with all GPUs cut into such slices that stand as whole GPUs: MIG's strategy "single", and
    GKE's partition size; "" else."""
    match = _MIG_PRODUCT.search(node.labels.get(NVIDIA_GPU_PRODUCT, ""))
    return match[1] if match else str(node.labels.get(GKE_GPU_PARTITION_SIZE, ""))


_MIG_PRODUCT: Final = re.compile(r"-MIG-([\w.+]+?)(-SHARED)?\Z")


def hami_cards(node: Node) -> tuple[int, ...]:
    """Of each card how many pods may share it, where HAMi's device plugin says so; () elsewhere."""
    return tuple(count for count, _ in _hami_register(node))


def hami_memory_mib(node: Node) -> int:
    """Memory of its smallest card that HAMi shares, MiB; 0 where it is not told (snapshots of before that was kept)."""
    return min((memory for _, memory in _hami_register(node)), default=0)


def _hami_register(node: Node) -> list[tuple[int, int]]:
    """Of each card how many pods may share it, and its MiB."""
    cards = [card.partition("x") for card in node.annotations.get(HAMI_REGISTER, "").split(",")]
    return [(int(number), int(memory or 0)) for number, _, memory in cards if number.isdecimal()]


def is_virtual(node: Node) -> bool:
    """Whether a virtual kubelet stands for it: what it says it has is a quota of a cloud's container service, not a machine.

    Source: the label and taint of virtual-kubelet's own command (``cmd/virtual-kubelet/internal/commands/root``), which those
    of Alibaba, Azure and Huawei keep; Tencent's says ``eklet``, Liqo's has a label of its own.
    """
    labels = node.labels
    return (
        labels.get("type") == "virtual-kubelet"
        or labels.get("liqo.io/type") == "virtual-node"
        or machine_type(node) == "eklet"
        or any(taint.key == VIRTUAL_KUBELET for taint in node.taints)
    )


def is_spot(node: Node) -> bool:
    """Whether the cloud may take the node away at any time: Spot or preemptible. Flex-start nodes run their time."""
    return provisioning_model(node) in (SPOT, PREEMPTIBLE)


def arrival_seconds(*, has_gpus: bool) -> float:
    """Until a new node takes pods, where nothing says otherwise."""
    return GPU_NODE_ARRIVAL_SECONDS if has_gpus else NODE_ARRIVAL_SECONDS


def physical_gpus(node: Node) -> int | None:
    """Physical GPUs of a node, 0 without any; None where they are shared or split and no label tells their number.

    The capacity counts shares: time-sharing and MPS multiply it, MIG replaces it by slices, and of vGPU shares nothing tells how
    many are of one card. The number is GKE's ``gke-accelerator-count`` or what NVIDIA's feature discovery counts
    (``nvidia.com/gpu.count``).
    """
    labels = node.labels
    if cards := hami_cards(node):
        return len(cards)
    is_cut = bool(mig_profile(node))
    for label in tables().count:
        stated = labels.get(label, "")
        if stated.isdecimal() and not (is_cut and label == NVIDIA_GPU_COUNT):  # MIG "single": it counts the slices
            return int(stated)
    amounts = {name: amount for name, amount in node.capacity.items() if amount and is_gpu_resource(name)}
    if not amounts:
        return 0
    if all(sharing(node, name) is Sharing.WHOLE for name in amounts):
        return alike(amounts)
    shares = labels.get(GKE_MAX_SHARED_CLIENTS) or labels.get(NVIDIA_GPU_REPLICAS, "")
    count = alike(amounts)
    is_multiplied = all(sharing(node, name) in (Sharing.TIME_SHARING, Sharing.MPS) for name in amounts)
    if not is_multiplied or not shares.isdecimal() or int(shares) < 1 or count % int(shares):
        return None
    return int(count // int(shares))
