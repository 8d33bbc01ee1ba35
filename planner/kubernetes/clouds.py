"""A cloud is a row: what Headroom knows of each that runs Kubernetes nodes, and of tools that label them (Karpenter, kOps).

Sources: the label references of GKE, EKS, Karpenter, AKS, OKE, DOKS, IBM, LKE, Scaleway, Vultr, Civo, Exoscale, ACK, CCE, TKE,
CoreWeave, Gardener, kOps and HyperShift; kubernetes/autoscaler's ``cloudprovider/*`` (`GPULabel`); the device plugins' feature
discovery. Rows stand in the order in which their labels count where a node has several.

GPU models of machine types: docs.aws.amazon.com/ec2/latest/instancetypes/ac.html, cloud.google.com/compute/docs/gpus,
learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated, docs.oracle.com/iaas/Content/Compute/References/computeshapes.htm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Final

from planner.ground.records import Record
from planner.ground.vocabulary import (
    AKS_ACCELERATOR,
    AKS_AGENT_POOL,
    AKS_SCALE_SET_PRIORITY,
    EKS_CAPACITY_TYPE,
    EKS_NODE_GROUP,
    GKE_ACCELERATOR,
    GKE_ACCELERATOR_COUNT,
    GKE_FLEX_START,
    GKE_NODE_POOL,
    GKE_PREEMPTIBLE,
    GKE_PROVISIONING,
    GKE_SPOT,
    INSTANCE_TYPE,
    KARPENTER_CAPACITY_TYPE,
    KARPENTER_GPU_NAME,
    KARPENTER_NODE_POOL,
    NVIDIA_GPU_COUNT,
    NVIDIA_GPU_PRODUCT,
    OLD_REGION,
    OLD_ZONE,
    REGION,
    ZONE,
)
from planner.kubernetes.records import Node

ON_DEMAND: Final = "on-demand"
SPOT: Final = "spot"
PREEMPTIBLE: Final = "preemptible"
FLEX_START: Final = "flex-start"
RESERVED: Final = "reserved"  # on an On-Demand Capacity Reservation
CAPACITY_BLOCK: Final = "capacity-block"  # of EC2's Capacity Blocks for ML: paid ahead, for a time

Labels = tuple[str, ...]


class Notice(Record):
    """How long ahead a cloud says that it takes a spot node: what an ordinary pod gets of it, in words, and who says so."""

    seconds: int
    what: str
    source: str


class Cloud(Record):
    """Attributes
    ----------
    name : who runs the nodes
    seller, provider_name : whose machines they are; FOCUS' `ProviderName` where it is another
    scheme : provider ids begin with it
    is_told_by_scheme : its machines are its own cluster's; Google's may be a kOps cluster's
    marks : labels that only its nodes have; one that ends with ``/`` is the beginning of some
    writes : beginnings of the labels that it writes on new nodes itself, beside those a person asks for
    pool, zone, region, machine_type, model, count : labels that say so; `pool_kind`: what its pools are called
    group : what the name of an autoscaler's group of nodes begins with, ``{}`` its pool
    bought : label → value (lower case) → how the node was bought, where it isn't on demand
    machines : patterns of machine types → the GPU model, also as a group of the pattern
    spot_label, is_spot_tainted : how to select its spot nodes, and whether they carry it as a taint
    notice : of spot nodes
    rehearsal : what an interruption tried on purpose is, and the words of the command, NODE and ZONE the node's
    resize : words of a command before a pool's name, after it; the number of nodes comes last
    brings : what is said in place of that where something brings nodes by itself, ``{}`` the pool
    fee_usd_per_hour, fee_is_less : for each cluster, and what may be taken off it, in words
    version_has : what the kubelets' version has in clusters that it runs itself
    prices : what the files of its price list begin with (data/prices), where it isn't the book's own
    admits_tolerations : its API server has the plugin ExtendedResourceToleration on
    """

    name: str
    seller: str = ""
    provider_name: str = ""
    scheme: str = ""
    is_told_by_scheme: bool = True
    marks: Labels = ()
    writes: Labels = ()
    pool: Labels = ()
    pool_kind: str = ""
    group: str = ""
    zone: Labels = ()
    region: Labels = ()
    machine_type: Labels = ()
    model: Labels = ()
    count: Labels = ()
    bought: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    machines: tuple[tuple[str, str], ...] = ()
    spot_label: tuple[str, str] | None = None
    is_spot_tainted: bool = False
    notice: Notice | None = None
    rehearsal: tuple[str, Labels] | None = None
    resize: tuple[Labels, Labels] | None = None
    brings: str = ""
    fee_usd_per_hour: float = 0.0
    fee_is_less: str = ""
    version_has: str = ""
    prices: str = ""
    has_price_log: bool = False  # the log of price changes that comes with the planner is of it
    admits_tolerations: bool = False

    def sells(self, how: str) -> bool:
        """Whether nodes may be bought so: some label of it says so."""
        return any(how in values.values() for values in self.bought.values())

    def label_of(self, how: str, value: str) -> str:
        """The label that says with this value that a node was bought so; "" where none does."""
        return next((label for label, values in self.bought.items() if values.get(value) == how), "")


KUBERNETES: Final = Cloud(
    name="Kubernetes",
    zone=(ZONE, OLD_ZONE),
    region=(REGION, OLD_REGION),
    machine_type=(INSTANCE_TYPE, "beta.kubernetes.io/instance-type"),
)
AUTOPILOT_PREFIX: Final = "gk3-"  # what GKE Autopilot names its nodes; nodes of Standard clusters begin with gke-
GKE_NOTICE: Final = Notice(
    seconds=15,
    what="GKE gives ordinary pods 15 of the 30 s before a preemption, the other 15 to system pods",
    source="https://docs.cloud.google.com/kubernetes-engine/docs/concepts/spot-vms (2026-11)",
)
GKE: Final = Cloud(
    name="GKE",
    has_price_log=True,
    seller="Google Cloud",
    scheme="gce",
    is_told_by_scheme=False,
    marks=(GKE_NODE_POOL,),
    writes=("cloud.google.com/", "topology.gke.io/"),
    pool=(GKE_NODE_POOL,),
    pool_kind="GKE node pool",
    model=(GKE_ACCELERATOR, "cloud.google.com/gke-tpu-accelerator"),
    count=(GKE_ACCELERATOR_COUNT,),
    bought={
        GKE_FLEX_START: {"true": FLEX_START},
        GKE_PREEMPTIBLE: {"true": PREEMPTIBLE},
        GKE_PROVISIONING: {"flex-start": FLEX_START, "preemptible": PREEMPTIBLE, "spot": SPOT},
        GKE_SPOT: {"true": SPOT},
    },
    machines=(
        (r"a2-(highgpu|megagpu)-", "A100"),
        (r"a2-ultragpu-", "A100-80GB"),
        (r"a3-(highgpu|megagpu|edgegpu)-", "H100"),
        (r"a3-ultragpu-", "H200"),
        (r"a4-highgpu-", "B200"),
        (r"a4x-highgpu-", "GB200"),
        (r"g2-standard-", "L4"),
        (r"g4-standard-", "RTX-PRO-6000"),
    ),
    spot_label=(GKE_SPOT, "true"),
    is_spot_tainted=True,
    notice=GKE_NOTICE,
    rehearsal=(
        "a real preemption (the node is stopped: choose one you can spare)",
        ("gcloud", "compute", "instances", "simulate-maintenance-event", "NODE", "--zone", "ZONE"),
    ),
    resize=(("gcloud", "container", "clusters", "resize", "CLUSTER", "--node-pool"), ("--num-nodes",)),
    fee_usd_per_hour=0.10,  # https://cloud.google.com/kubernetes-engine/pricing (2026): for each cluster, of whatever mode
    fee_is_less="less the account's free tier",
    version_has="-gke.",
    admits_tolerations=True,
)
DEVICE_PLUGINS: Final = Cloud(
    name="feature discovery",
    model=(NVIDIA_GPU_PRODUCT, "amd.com/gpu.product-name", "beta.amd.com/gpu.product-name", "gpu.intel.com/product"),
    count=(NVIDIA_GPU_COUNT,),
)
KARPENTER: Final = Cloud(
    name="Karpenter",
    pool=(KARPENTER_NODE_POOL, "karpenter.sh/provisioner-name"),
    pool_kind="Karpenter NodePool",
    brings="Karpenter adds nodes to NodePool {} while pods wait, within its limits: kubectl get nodepools.karpenter.sh {}",
    model=(
        KARPENTER_GPU_NAME, "eks.amazonaws.com/instance-gpu-name", "karpenter.azure.com/sku-gpu-name",
        "karpenter.k8s.aws/instance-accelerator-name",
    ),
    count=(
        "karpenter.k8s.aws/instance-gpu-count", "eks.amazonaws.com/instance-gpu-count", "karpenter.azure.com/sku-gpu-count",
        "karpenter.k8s.aws/instance-accelerator-count",
    ),
    bought={  # karpenter.sh/docs/tasks/odcrs: a Capacity Block is "reserved" too, its type says more
        "karpenter.k8s.aws/capacity-reservation-type": {"capacity-block": CAPACITY_BLOCK},
        KARPENTER_CAPACITY_TYPE: {"spot": SPOT, "reserved": RESERVED},
    },
)  # fmt: skip
EKS: Final = Cloud(
    name="EKS",
    seller="AWS",
    prices="aws",
    fee_usd_per_hour=0.10,  # https://aws.amazon.com/eks/pricing (2026): a version in standard support
    fee_is_less="in standard support, 0.60 an hour in extended",
    version_has="-eks-",
    scheme="aws",
    marks=(EKS_NODE_GROUP, "karpenter.k8s.aws/"),
    pool=(EKS_NODE_GROUP, "alpha.eksctl.io/nodegroup-name"),
    pool_kind="EKS node group",
    group="eks-{}-",
    bought={EKS_CAPACITY_TYPE: {"spot": SPOT, "capacity_block": CAPACITY_BLOCK}},
    machines=(
        (r"p2\.", "K80"),
        (r"p3\.", "V100"),
        (r"p3dn\.", "V100-32GB"),
        (r"p4d\.", "A100"),
        (r"p4de\.", "A100-80GB"),
        (r"p5\.", "H100"),
        (r"p5en?\.", "H200"),
        (r"p6-b200\.", "B200"),
        (r"p6-b300\.", "B300"),
        (r"p6e-gb200\.", "GB200"),
        (r"g3s?\.", "M60"),
        (r"g4dn\.", "T4"),
        (r"g4ad\.", "radeon-pro-v520"),
        (r"g5\.", "A10G"),
        (r"g5g\.", "T4G"),
        (r"(g6|gr6|g6f|gr6f)\.", "L4"),
        (r"g6e\.", "L40S"),
        (r"g7e\.", "RTX-PRO-6000"),
        (r"inf1\.", "inferentia"),
        (r"inf2\.", "inferentia2"),
        (r"trn1n?\.", "trainium"),
        (r"trn2u?\.", "trainium2"),
    ),
    spot_label=(EKS_CAPACITY_TYPE, "SPOT"),
    notice=Notice(
        seconds=120,
        what="EC2 gives notice two minutes ahead; a termination handler or Karpenter has to turn it into a drain",
        source="Amazon EC2, Spot instance interruption notices: two minutes",
    ),
    rehearsal=(
        "a real interruption (an experiment of aws:ec2:send-spot-instance-interruptions)",
        ("aws", "fis", "start-experiment", "--experiment-template-id", "TEMPLATE"),
    ),
)
KOPS: Final = Cloud(name="kOps", pool=("kops.k8s.io/instancegroup",))
AKS: Final = Cloud(
    name="AKS",
    seller="Azure",
    prices="azure",
    fee_usd_per_hour=0.10,  # https://azure.microsoft.com/pricing/details/kubernetes-service (2026)
    fee_is_less="in the Standard tier; none in the Free tier",
    provider_name="Microsoft",
    scheme="azure",
    marks=(AKS_AGENT_POOL,),
    pool=(AKS_AGENT_POOL, "agentpool"),
    pool_kind="AKS agent pool",
    group="aks-{}-",
    bought={AKS_SCALE_SET_PRIORITY: {"spot": SPOT}},
    machines=(
        (r"Standard_N[A-Z]+\d+\w*?_([A-Z]+\d+[A-Z]*)_v\d+\Z", r"\1"),  # Standard_NC24ads_A100_v4
        (r"Standard_NC\d+r?s_v3\Z", "V100"),
        (r"Standard_NC\d+r?s_v2\Z", "P100"),
        (r"Standard_NC\d+r?\Z", "K80"),
        (r"Standard_ND\d+r?s_v2\Z", "V100"),
        (r"Standard_ND\d+r?s\Z", "P40"),
        (r"Standard_ND96asr_v4\Z", "A100"),
        (r"Standard_NV\d+(s_v3|_v3)?\Z", "M60"),
        (r"Standard_NV\d+as_v4\Z", "MI25"),
    ),
    spot_label=(AKS_SCALE_SET_PRIORITY, "spot"),
    is_spot_tainted=True,
    notice=Notice(
        seconds=30,
        what="Azure announces the eviction at least 30 s ahead; AKS then drains the node, as well as it can",
        source="https://learn.microsoft.com/azure/aks/node-auto-drain; Azure Scheduled Events: at least 30 seconds",
    ),
    rehearsal=(
        "a real eviction",
        ("az", "vmss", "simulate-eviction", "--resource-group", "GROUP", "--name", "SCALE_SET", "--instance-id", "ID"),
    ),
)
OKE: Final = Cloud(
    name="OKE",
    seller="Oracle",
    scheme="oci",
    pool=("oke.oraclecloud.com/pool.name",),
    bought={"oci.oraclecloud.com/oke-is-preemptible": {"true": SPOT}},
    machines=(
        (r"(BM|VM)\.GPU2\.", "P100"),
        (r"(BM|VM)\.GPU3\.", "V100"),
        (r"BM\.GPU4\.", "A100"),
        (r"BM\.GPU\.A100-v2\.", "A100-80GB"),
        (
            r"(?:BM|VM)\.GPU\.(A10|L40S|H100|H200|B200|B300|GB200|GB300|MI300X|MI355X)T?(?:-v\d+)?\.",
            r"\1",
        ),  # BM.GPU.H100.8
    ),
)
OTHERS: Final = (
    Cloud(
        name="DOKS", seller="DigitalOcean", scheme="digitalocean", pool=("doks.digitalocean.com/node-pool",),
        model=("doks.digitalocean.com/gpu-model",),
    ),
    Cloud(name="HyperShift", pool=("hypershift.openshift.io/nodePool",)),
    Cloud(
        name="IBM Cloud", pool=("ibm-cloud.kubernetes.io/worker-pool-name",), zone=("ibm-cloud.kubernetes.io/zone",),
        region=("ibm-cloud.kubernetes.io/region",), machine_type=("ibm-cloud.kubernetes.io/machine-type",),
    ),
    Cloud(name="LKE", pool=("lke.linode.com/pool-id",)),
    Cloud(name="Scaleway", pool=("k8s.scaleway.com/pool-name",)),
    Cloud(name="Vultr", pool=("vke.vultr.com/node-pool",)),
    Cloud(name="Civo", pool=("kubernetes.civo.com/civo-node-pool",)),
    Cloud(name="Exoscale", pool=("node.exoscale.net/nodepool-name",)),
    Cloud(
        name="ACK", pool=("alibabacloud.com/nodepool-id", "node.alibabacloud.com/nodepool-id"),
        model=("aliyun.accelerator/nvidia_name", "alibabacloud.com/gpu-card-model"), count=("aliyun.accelerator/nvidia_count",),
    ),
    Cloud(name="CCE", pool=("cce.cloud.com/cce-nodepool",)),
    Cloud(
        name="TKE", pool=("tke.cloud.tencent.com/nodepool-id", "node.tke.cloud.tencent.com/machineset"),
    ),
    Cloud(
        name="CoreWeave", pool=("compute.coreweave.com/node-pool",), model=("gpu.nvidia.com/model", "gpu.nvidia.com/class"),
        count=("gpu.nvidia.com/count",),
    ),
    Cloud(name="Gardener", pool=("worker.gardener.cloud/pool",)),
    Cloud(name="OpenStack", seller="OpenStack", scheme="openstack", pool=("magnum.openstack.org/nodegroup",)),
    Cloud(
        name="other tools",
        pool=("nodepool", "node-pool", "nodegroup", "node-group"),
        model=("skypilot.co/accelerator", "accelerator", AKS_ACCELERATOR, "k8s.amazonaws.com/accelerator"),  # people write these
        bought={
            "spotinst.io/node-lifecycle": {"spot": SPOT},
            "node.kubernetes.io/lifecycle": {"spot": SPOT, "ec2spot": SPOT},
            "node-role.kubernetes.io/spot-worker": {"true": SPOT, "": SPOT},
        },
    ),
)  # fmt: skip
CLOUDS: Final = (KUBERNETES, GKE, DEVICE_PLUGINS, KARPENTER, EKS, KOPS, AKS, OKE, *OTHERS)
BOUGHT: Final = {key: values for cloud in CLOUDS for key, values in cloud.bought.items()}
"""Of every cloud; what stands first counts."""


AS_SPOT: Final = next((key, value) for key, values in BOUGHT.items() for value, how in values.items() if how == SPOT)
"""A label and its value that make a node one on spot, whatever its others say of that."""


def group_beginnings(pool: str) -> Labels:
    """What the names of autoscalers' groups of nodes begin with where a pool is called so: ``eks-<pool>-``."""
    return tuple(cloud.group.format(pool) for cloud in CLOUDS if cloud.group)


def labels_of_new(cloud: Cloud, *, pool: str, machine: str, model: str, count: int, bought: str) -> dict[str, str]:
    """What a new node of a pool is labelled with by its cloud; `model` as the cloud calls it, "" for none."""
    found = {cloud.pool[0]: pool, KUBERNETES.machine_type[0]: machine}
    if model:
        found |= {cloud.model[0]: model, cloud.count[0]: str(count)}
    for key, values in cloud.bought.items():
        if values.get("true") == bought:
            found[key] = "true"
    return found


def labels_of(what: str) -> Labels:
    """The labels that say `what` (a field of `Cloud`), in all clouds; what stands first counts."""
    return tuple(label for cloud in CLOUDS for label in getattr(cloud, what))


def brought_by(node: Node) -> str:
    """Who brings such nodes by itself as pods wait, as its labels say: ``Karpenter``; "" where none does."""
    return next((cloud.name for cloud in CLOUDS if cloud.brings and any(one in node.labels for one in cloud.pool)), "")


def may_be_written(label: str, *, has_gpus: bool) -> bool:
    """Whether a cloud may write the label on the first node of a pool, of a machine with or without accelerators."""
    for cloud in CLOUDS:
        if label.startswith(cloud.writes) and cloud.writes:
            return has_gpus or label not in (*cloud.model, *cloud.count)
    return False


def pool_kind(label: str) -> str:
    """What a pool is called that this label names: ``EKS node group``; "" where no cloud has a word for it."""
    return next((cloud.pool_kind for cloud in CLOUDS if label in cloud.pool), "")


_MARKS: Final = {mark: cloud for cloud in CLOUDS for mark in cloud.marks if not mark.endswith("/")}
_BEGINNINGS: Final = {mark: cloud for cloud in CLOUDS for mark in cloud.marks if mark.endswith("/")}
_SELLERS: Final = {cloud.scheme: cloud for cloud in CLOUDS if cloud.scheme}


def cloud_of(node: Node) -> Cloud | None:
    """Who runs the node, by its labels or its provider id; None where neither tells."""
    labels = node.labels
    told = next((cloud for mark, cloud in _MARKS.items() if mark in labels), None)
    if told is None and any(label.startswith(tuple(_BEGINNINGS)) for label in labels):
        told = next(cloud for mark, cloud in _BEGINNINGS.items() if any(label.startswith(mark) for label in labels))
    sold = _sold(node)
    return told or (sold if sold and sold.is_told_by_scheme else None)


def clouds_of(nodes: Iterable[Node]) -> Iterator[Cloud]:
    """Who runs these nodes: each cloud once, as soon as a node tells it."""
    seen: set[str] = set()
    for node in nodes:
        cloud = cloud_of(node)
        if cloud and cloud.name not in seen:
            seen.add(cloud.name)
            yield cloud


def brings_of(label: str) -> str:
    """What brings nodes to the pools that this label names by itself; "" where nothing does."""
    return next((cloud.brings for cloud in CLOUDS if label in cloud.pool), "")


def seller_of(node: Node) -> Cloud | None:
    """Whose machine the node is: by its provider id, as cloud controller managers write it, else as its labels tell."""
    return _sold(node) or cloud_of(node)


def _sold(node: Node) -> Cloud | None:
    return _SELLERS.get(node.provider_id.partition("://")[0])


_MACHINES: Final = tuple((re.compile(pattern), model) for cloud in CLOUDS for pattern, model in cloud.machines)


@lru_cache(1_024)
def model_of_machine(machine_type: str) -> str:
    """The GPU model that a machine type has by its name, else ""."""
    matches = ((pattern.match(machine_type), model) for pattern, model in _MACHINES)
    return next((found.expand(model) for found, model in matches if found), "")
