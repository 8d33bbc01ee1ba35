"""A row for each cloud that runs Kubernetes nodes, and for tools that label nodes (Karpenter, kOps).

Sources: the label references of GKE, EKS, Karpenter, AKS, OKE, DOKS, IBM, LKE, Scaleway, Vultr, Civo, Exoscale, ACK, CCE, TKE,
CoreWeave, Gardener, kOps and HyperShift; kubernetes/autoscaler's ``cloudprovider/*`` (`GPULabel`); the device plugins' feature
discovery. The rows are in ``clouds.json``, in the order in which their labels count where a node has several; its `note`s are for people.

GPU models of machine types: docs.aws.amazon.com/ec2/latest/instancetypes/ac.html, cloud.google.com/compute/docs/gpus,
learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated, docs.oracle.com/iaas/Content/Compute/References/computeshapes.htm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Final, cast

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.records import Record
from planner.kubernetes.object_records import Node

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
    quota_command : words of the command that writes what an account may have, ``{region}`` in them; `quotas_gpus`: GPUs have quotas of
        their own there
    resize : words of a command that gives a pool another size, ``{pool}`` and ``{nodes}`` in them; `resize_note` says what else to know
    brings : what is said in place of that where something brings nodes by itself, ``{}`` the pool
    fee_usd_per_hour, fee_is_less : for each cluster, and what may be taken off it, in words
    version_has : what the kubelets' version has in clusters that it runs itself
    prices : what the files of its price list begin with (data/prices), where it isn't the book's own
    surges_in_zone : a node that is there while one is upgraded comes in that one's zone
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
    quota_command: Labels = ()
    quotas_gpus: bool = False
    quota_unit: str = ""  # of machines without that: "vcpus", "cores"
    resize: Labels = ()
    resize_note: str = ""
    brings: str = ""
    fee_usd_per_hour: float = 0.0
    fee_is_less: str = ""
    version_has: str = ""
    prices: str = ""
    has_savings_plans: bool = False  # sells commitments of USD an hour on whole machines
    lists_spot: bool = False  # its public price list has spot prices
    has_price_log: bool = False  # the log of price changes that comes with the planner is of it
    surges_in_zone: bool = False
    admits_tolerations: bool = False

    def sells(self, how: str) -> bool:
        """Whether nodes may be bought so: some label of it says so."""
        return any(how in values.values() for values in self.bought.values())

    def label_of(self, how: str, value: str) -> str:
        """The label that says with this value that a node was bought so; "" where none does."""
        return next((label for label, values in self.bought.items() if values.get(value) == how), "")


CLOUDS: Final = typed_json.decode(table_beside(__name__, "clouds.json"), tuple[Cloud, ...])
_BY_NAME: Final = {cloud.name: cloud for cloud in CLOUDS}
KUBERNETES, GKE, KARPENTER = (_BY_NAME[name] for name in ("Kubernetes", "GKE", "Karpenter"))
AUTOPILOT_PREFIX: Final = "gk3-"  # what GKE Autopilot names its nodes; nodes of Standard clusters begin with gke-
GKE_NOTICE: Final = cast(Notice, GKE.notice)
BOUGHT: Final = {key: values for cloud in CLOUDS for key, values in cloud.bought.items()}
"""Of every cloud; what stands first counts."""


AS_SPOT: Final = next((key, value) for key, values in BOUGHT.items() for value, how in values.items() if how == SPOT)
"""A label and its value that make a node one on spot, whatever its others say of that."""


def group_beginnings(pool: str) -> Labels:
    """What the names of autoscalers' groups of nodes begin with where a pool is called so: ``eks-<pool>-``."""
    return tuple(cloud.group.format(pool) for cloud in CLOUDS if cloud.group)


def labels_of_new(cloud: Cloud, *, pool: str, machine: str, model: str, count: int, bought: str) -> dict[str, str]:
    """What a new node of a pool is labeled with by its cloud; `model` as the cloud calls it, "" for none."""
    labels = {cloud.pool[0]: pool, KUBERNETES.machine_type[0]: machine}
    if model:
        labels |= {cloud.model[0]: model, cloud.count[0]: str(count)}
    for key, values in cloud.bought.items():
        if values.get("true") == bought:
            labels[key] = "true"
    return labels


def labels_of(what: str) -> Labels:
    """The labels that say `what` (a field of `Cloud`), in all clouds; what stands first counts."""
    return tuple(label for cloud in CLOUDS for label in getattr(cloud, what))


def brought_by(node: Node) -> str:
    """Who brings such nodes by itself as pods wait, as its labels say: ``Karpenter``; "" where none does."""
    return next(
        (
            cloud.name
            for cloud in CLOUDS
            if cloud.brings and any(pool_label in node.labels for pool_label in cloud.pool)
        ),
        "",
    )


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
    cloud_by_label = next((cloud for mark, cloud in _MARKS.items() if mark in labels), None)
    if cloud_by_label is None and any(label.startswith(tuple(_BEGINNINGS)) for label in labels):
        cloud_by_label = next(
            cloud for mark, cloud in _BEGINNINGS.items() if any(label.startswith(mark) for label in labels)
        )
    sold = _sold(node)
    return cloud_by_label or (sold if sold and sold.is_told_by_scheme else None)


def clouds_of(nodes: Iterable[Node]) -> Iterator[Cloud]:
    """Who runs these nodes: each cloud once, as soon as a node tells it."""
    seen_clouds: set[str] = set()
    for node in nodes:
        cloud = cloud_of(node)
        if cloud and cloud.name not in seen_clouds:
            seen_clouds.add(cloud.name)
            yield cloud


def brings_of(label: str) -> str:
    """What brings nodes to the pools that this label names by itself; "" where nothing does."""
    return next((cloud.brings for cloud in CLOUDS if label in cloud.pool), "")


def seller_of(node: Node) -> Cloud | None:
    """Whose machine the node is: by its provider id, as cloud controller managers write it, else as its labels tell."""
    return _sold(node) or cloud_of(node)


def _sold(node: Node) -> Cloud | None:
    return _SELLERS.get(node.provider_id.partition("://")[0])


@lru_cache(1_024)
def model_of_machine(machine_type: str) -> str:
    """The GPU model that a machine type has by its name, else ""."""
    matches = ((re.match(pattern, machine_type), model) for cloud in CLOUDS for pattern, model in cloud.machines)
    return next((match.expand(model) for match, model in matches if match), "")
